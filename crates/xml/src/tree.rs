//! A document or fragment as a tree, packed: 20 bytes for a node, 12 for an attribute, each name
//! once, and one text that has all that stands in them.
//! Guarantees: node 0 is the root, which is no element; numbers are in document order, and what
//! stands in a node has the numbers behind its own up to its `end`.

use std::borrow::Cow;

use compact_str::CompactString;

use crate::pace::{Pace, Stopped};

/// A name of an element or attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name {
    /// Empty for none.
    pub prefix: CompactString,
    pub local: CompactString,
    /// The namespace; empty for none.
    pub uri: CompactString,
}

impl Name {
    /// Whether both mean the same: prefixes do not count.
    pub fn is(&self, other: &Name) -> bool {
        self.local == other.local && self.uri == other.uri
    }

    /// With its prefix.
    pub(crate) fn written(&self) -> String {
        if self.prefix.is_empty() {
            self.local.to_string()
        } else {
            format!("{}:{}", self.prefix, self.local)
        }
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Root,
    Element,
    Text,
    Comment,
    Instruction,
}

/// A part of a list or text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub at: u32,
    pub len: u32,
}

impl Span {
    pub fn range(self) -> std::ops::Range<usize> {
        self.at as usize..self.at as usize + self.len as usize
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub parent: u32,
    /// The number behind the last one of what stands in it.
    pub end: u32,
    /// Of an element its attributes, else its place in the text.
    pub span: Span,
    /// The number of its name (of an element or instruction) times eight, and its kind.
    named: u32,
}

impl Node {
    pub fn new(parent: u32, kind: Kind, name: u32, span: Span) -> Node {
        Node { parent, end: 0, span, named: name << 3 | kind as u32 }
    }

    pub fn with_end(self, end: u32) -> Node {
        Node { end, ..self }
    }

    pub fn kind(&self) -> Kind {
        match self.named & 7 {
            1 => Kind::Element,
            2 => Kind::Text,
            3 => Kind::Comment,
            4 => Kind::Instruction,
            _ => Kind::Root,
        }
    }

    pub fn name(&self) -> u32 {
        self.named >> 3
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute {
    pub name: u32,
    pub value: Span,
}

/// A namespace that an element's tag declares.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredNamespace {
    pub node: u32,
    pub prefix: CompactString,
    pub uri: CompactString,
}

/// A node or an attribute of a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NodeRef {
    /// 0 the document that is asked, else the number of one that the query has made.
    pub(crate) made: u32,
    pub(crate) node: u32,
    /// 0 the node itself, else the number of its attribute from 1.
    pub(crate) attribute: u32,
}

impl NodeRef {
    /// The root of the document that is asked.
    pub const ROOT: NodeRef = NodeRef { made: 0, node: 0, attribute: 0 };

    pub(crate) fn with_node(self, node: u32) -> NodeRef {
        NodeRef { node, attribute: 0, ..self }
    }
}

#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) nodes: Vec<Node>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) names: Vec<Name>,
    /// In the order of their nodes.
    pub(crate) declared: Vec<DeclaredNamespace>,
    /// The values of attributes, and what is no element.
    pub(crate) text: String,
    /// Of the first so many nodes only the tags are there, not what else stands in them: the
    /// ancestors of the node that a row of nodes() is.
    pub(crate) partial: u32,
}

impl Default for Document {
    fn default() -> Document {
        Document {
            nodes: vec![Node::new(0, Kind::Root, 0, Span::default()).with_end(1)],
            attributes: Vec::new(),
            names: vec![Name::default()],
            declared: Vec::new(),
            text: String::new(),
            partial: 0,
        }
    }
}

impl Document {
    /// Bytes of memory that it takes, about.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.attributes.capacity() * size_of::<Attribute>()
            + self.names.capacity() * size_of::<Name>()
            + self.declared.capacity() * size_of::<DeclaredNamespace>()
            + self.text.capacity()
    }

    /// A node; the root for a number that none has.
    #[inline]
    pub(crate) fn node(&self, id: u32) -> &Node {
        self.nodes.get(id as usize).unwrap_or(&self.nodes[0])
    }

    #[inline]
    pub(crate) fn is_element(&self, id: u32) -> bool {
        self.node(id).kind() == Kind::Element
    }

    /// A text of nothing.
    pub(crate) fn is_empty_text(&self, id: u32) -> bool {
        let node = self.node(id);
        node.kind() == Kind::Text && node.span.len == 0
    }

    /// The nodes that stand in a node itself.
    pub(crate) fn children(&self, id: u32) -> impl Iterator<Item = u32> {
        let end = self.node(id).end;
        let mut next = id + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = self.node(child).end.max(child + 1);
                child
            })
        })
    }

    /// The attributes of an element.
    pub(crate) fn attributes(&self, id: u32) -> &[Attribute] {
        let node = self.node(id);
        match node.kind() {
            Kind::Element => self.attributes.get(node.span.range()).unwrap_or_default(),
            _ => &[],
        }
    }

    pub(crate) fn attribute(&self, at: NodeRef) -> Option<&Attribute> {
        self.attributes(at.node).get((at.attribute as usize).checked_sub(1)?)
    }

    pub(crate) fn name_of(&self, number: u32) -> &Name {
        self.names.get(number as usize).unwrap_or(&self.names[0])
    }

    /// The name of an element, attribute or processing instruction.
    pub(crate) fn name(&self, at: NodeRef) -> Option<&Name> {
        if at.attribute > 0 {
            return self.attribute(at).map(|a| self.name_of(a.name));
        }
        let node = self.node(at.node);
        matches!(node.kind(), Kind::Element | Kind::Instruction).then(|| self.name_of(node.name()))
    }

    pub(crate) fn part(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The text of a node and all below it, without comments.
    pub(crate) fn string_value(
        &self,
        at: NodeRef,
        pace: &Pace<'_>,
    ) -> Result<Cow<'_, str>, Stopped> {
        if at.attribute > 0 {
            return Ok(self.attribute(at).map_or("", |a| self.part(a.value)).into());
        }
        let node = self.node(at.node);
        if !matches!(node.kind(), Kind::Root | Kind::Element) {
            return Ok(self.part(node.span).into());
        }
        let mut out = Cow::Borrowed("");
        for id in at.node + 1..node.end {
            let node = self.node(id);
            pace.step(size_of::<Node>())?;
            if node.kind() == Kind::Text {
                let part = self.part(node.span);
                if out.is_empty() {
                    out = Cow::Borrowed(part);
                } else {
                    pace.step(part.len())?;
                    out.to_mut().push_str(part);
                }
            }
        }
        Ok(out)
    }

    /// What the tag of an element declares.
    pub(crate) fn declared_by(&self, id: u32) -> &[DeclaredNamespace] {
        if self.declared.is_empty() {
            return &[];
        }
        let from = self.declared.partition_point(|declared| declared.node < id);
        let rest = &self.declared[from..];
        &rest[..rest.partition_point(|declared| declared.node == id)]
    }
}
