//! A document or fragment as a tree in one list of nodes.
//! Guarantees: node 0 is the root, which is no element; children of a document that was read stand behind their parents, in the
//! order of the text, so that numbers are in document order.

use compact_str::CompactString;

/// A name of an element or attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
}

#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: Name,
    pub value: String,
}

#[derive(Clone, Debug)]
pub struct Element {
    pub name: Name,
    pub attributes: Vec<Attribute>,
    /// Namespaces that its tag declares: prefix, URI.
    pub spaces: Vec<(CompactString, CompactString)>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Root,
    Element(Element),
    Text(String),
    Comment(String),
    Instruction { target: CompactString, content: String },
}

#[derive(Clone, Debug)]
pub struct Node {
    pub parent: u32,
    pub children: Vec<u32>,
    pub kind: Kind,
}

/// A node or an attribute of a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NodeRef {
    /// 0 the document that is asked, 1 what the query has made.
    pub(crate) made: u8,
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
    /// Of these nodes only the tags are there, not what else stands in them: the ancestors of the node that a row of nodes() is.
    pub(crate) partial: Vec<u32>,
}

impl Default for Document {
    fn default() -> Document {
        let root = Node { parent: 0, children: Vec::new(), kind: Kind::Root };
        Document { nodes: vec![root], partial: Vec::new() }
    }
}

impl Document {
    pub(crate) fn add(&mut self, parent: u32, kind: Kind) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { parent, children: Vec::new(), kind });
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            parent.children.push(id);
        }
        id
    }

    /// A node; the root for a number that none has.
    pub(crate) fn node(&self, id: u32) -> &Node {
        self.nodes.get(id as usize).unwrap_or(&self.nodes[0])
    }

    pub(crate) fn element(&self, id: u32) -> Option<&Element> {
        match &self.node(id).kind {
            Kind::Element(element) => Some(element),
            _ => None,
        }
    }

    pub(crate) fn attribute(&self, at: NodeRef) -> Option<&Attribute> {
        let index = (at.attribute as usize).checked_sub(1)?;
        self.element(at.node)?.attributes.get(index)
    }

    /// The name of an element, attribute or processing instruction.
    pub(crate) fn name(&self, at: NodeRef) -> Option<Name> {
        if at.attribute > 0 {
            return self.attribute(at).map(|a| a.name.clone());
        }
        match &self.node(at.node).kind {
            Kind::Element(element) => Some(element.name.clone()),
            Kind::Instruction { target, .. } => Some(Name { local: target.clone(), ..Name::default() }),
            _ => None,
        }
    }

    /// The text of a node and all below it, without comments.
    pub(crate) fn string_value(&self, at: NodeRef) -> String {
        if at.attribute > 0 {
            return self.attribute(at).map(|a| a.value.clone()).unwrap_or_default();
        }
        match &self.node(at.node).kind {
            Kind::Text(text) | Kind::Comment(text) => text.clone(),
            Kind::Instruction { content, .. } => content.clone(),
            Kind::Root | Kind::Element(_) => {
                let mut out = String::new();
                let mut open: Vec<u32> = self.node(at.node).children.iter().rev().copied().collect();
                while let Some(id) = open.pop() {
                    let node = self.node(id);
                    match &node.kind {
                        Kind::Text(text) => out.push_str(text),
                        _ => open.extend(node.children.iter().rev()),
                    }
                }
                out
            }
        }
    }

    /// Copies a node of another document, and all below it, under a node of this one.
    pub(crate) fn copy(&mut self, from: &Document, node: u32, under: u32) -> u32 {
        let copied = self.add(under, from.node(node).kind.clone());
        let mut open: Vec<(u32, u32)> =
            from.node(node).children.iter().rev().map(|child| (*child, copied)).collect();
        while let Some((id, parent)) = open.pop() {
            let own = self.add(parent, from.node(id).kind.clone());
            open.extend(from.node(id).children.iter().rev().map(|child| (*child, own)));
        }
        copied
    }

    /// The namespaces in force at a node, the innermost first: prefix, URI.
    pub(crate) fn spaces(&self, mut id: u32) -> Vec<(CompactString, CompactString)> {
        let mut out: Vec<(CompactString, CompactString)> = Vec::new();
        loop {
            if let Some(element) = self.element(id) {
                for space in &element.spaces {
                    if out.iter().all(|known| known.0 != space.0) {
                        out.push(space.clone());
                    }
                }
            }
            if id == 0 {
                return out;
            }
            id = self.node(id).parent;
        }
    }
}
