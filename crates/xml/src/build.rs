//! Trees are made from their beginning to their end: a node goes into the element that was opened
//! last.
//! Guarantee: what was built has the order that [`Document`] promises, however it was made.

use std::collections::HashMap;

use compact_str::CompactString;

use crate::pace::{Pace, Stopped};
use crate::tree::{Attribute, DeclaredNamespace, Document, Kind, Name, Node, NodeRef, Span};

/// Why nothing more can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildError {
    Stopped,
    /// Places in it are numbers of 32 bits.
    TooLong,
}

impl From<Stopped> for BuildError {
    fn from(_: Stopped) -> BuildError {
        BuildError::Stopped
    }
}

/// Most nodes, attributes, names, and bytes of text.
const MOST: usize = u32::MAX as usize >> 3;
const MOST_TEXT: usize = u32::MAX as usize;

/// An element that is open.
#[derive(Clone, Copy, Debug, Default)]
struct OpenElement {
    id: u32,
    /// More than text stands in it.
    has_nodes: bool,
}

#[derive(Debug)]
pub(crate) struct Builder {
    document: Document,
    /// The elements that are open, the root first.
    open: Vec<OpenElement>,
    /// The numbers of names, once there are many.
    numbers: HashMap<Name, u32>,
}

fn number(count: usize) -> Result<u32, BuildError> {
    if count < MOST { Ok(count as u32) } else { Err(BuildError::TooLong) }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            document: Document::default(),
            open: vec![OpenElement::default()],
            numbers: HashMap::new(),
        }
    }
}

impl Builder {
    /// How many elements are open, the root among them.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn is_empty(&self) -> bool {
        self.document.nodes.len() == 1
    }

    fn parent(&self) -> u32 {
        self.open.last().map_or(0, |open| open.id)
    }

    /// Notes that a node is added to the element that was opened last.
    fn note(&mut self, kind: Kind) {
        if let Some(open) = self.open.last_mut() {
            open.has_nodes |= kind != Kind::Text;
        }
    }

    /// Whether more than text stands in the element that was opened last.
    pub fn has_nodes(&self) -> bool {
        self.open.last().is_some_and(|open| open.has_nodes)
    }

    /// The names of the attributes of the element that was opened last.
    pub fn attribute_names(&self) -> impl ExactSizeIterator<Item = &Name> {
        let own = self.document.attributes(self.parent());
        own.iter().map(|attribute| self.document.name_of(attribute.name))
    }

    fn add(&mut self, kind: Kind, name: u32, span: Span) -> Result<u32, BuildError> {
        let id = number(self.document.nodes.len())?;
        self.note(kind);
        self.document.nodes.push(Node::new(self.parent(), kind, name, span).with_end(id + 1));
        Ok(id)
    }

    /// The number of a name.
    pub fn named(&mut self, name: Name) -> Result<u32, BuildError> {
        /// Names that are looked through; more have a table.
        const FEW: usize = 16;
        let names = &self.document.names;
        if names.len() <= FEW {
            if let Some(known) = names.iter().position(|known| *known == name) {
                return Ok(known as u32);
            }
        } else {
            if self.numbers.is_empty() {
                self.numbers.extend((0..).zip(names).map(|(number, name)| (name.clone(), number)));
            }
            if let Some(known) = self.numbers.get(&name) {
                return Ok(*known);
            }
        }
        let new = number(names.len())?;
        if !self.numbers.is_empty() {
            self.numbers.insert(name.clone(), new);
        }
        self.document.names.push(name);
        Ok(new)
    }

    // ---- text ----

    /// Where a text that is put now begins.
    pub fn text_mark(&self) -> usize {
        self.document.text.len()
    }

    /// Puts text that becomes an attribute's value or a node later.
    pub fn put(&mut self, text: &str) -> Result<(), BuildError> {
        if text.len() > MOST_TEXT - self.document.text.len() {
            return Err(BuildError::TooLong);
        }
        self.document.text.push_str(text);
        Ok(())
    }

    /// Puts all of a text.
    pub fn put_all(&mut self, text: &str, pace: &Pace<'_>) -> Result<(), BuildError> {
        for piece in crate::pace::pieces(text, pace) {
            self.put(piece?)?;
        }
        Ok(())
    }

    /// What was put since a mark.
    pub fn since(&self, mark: usize) -> Span {
        Span { at: mark as u32, len: (self.document.text.len() - mark) as u32 }
    }

    pub fn text_of(&self, span: Span) -> &str {
        self.document.part(span)
    }

    /// Takes back what was put since a mark.
    pub fn forget(&mut self, mark: usize) {
        self.document.text.truncate(mark);
    }

    // ---- nodes ----

    /// Opens an element, which has no name yet.
    pub fn open(&mut self) -> Result<(), BuildError> {
        let span = Span { at: number(self.document.attributes.len())?, len: 0 };
        let id = self.add(Kind::Element, 0, span)?;
        self.open.push(OpenElement { id, has_nodes: false });
        Ok(())
    }

    /// Names the element that was opened last.
    pub fn set_name(&mut self, name: u32) {
        let id = self.parent();
        if let Some(node) = self.document.nodes.get_mut(id as usize) {
            *node = Node::new(node.parent, Kind::Element, name, node.span).with_end(node.end);
        }
    }

    /// The tag of the element that was opened last declares a namespace.
    pub fn declare(&mut self, prefix: CompactString, uri: CompactString) {
        let node = self.parent();
        self.document.declared.push(DeclaredNamespace { node, prefix, uri });
    }

    /// An attribute of the element that was opened last.
    pub fn attribute(&mut self, name: u32, value: Span) -> Result<(), BuildError> {
        let id = self.parent() as usize;
        let count = number(self.document.attributes.len())?;
        let document = &mut self.document;
        let Some(node) = document.nodes.get_mut(id) else { return Ok(()) };
        if node.kind() != Kind::Element {
            return Ok(());
        }
        // They lie one behind the other: those of what stands in the element came between.
        if node.span.range().end != document.attributes.len() {
            let own = document.attributes.get(node.span.range()).unwrap_or_default().to_vec();
            node.span.at = count;
            document.attributes.extend(own);
        }
        node.span.len += 1;
        document.attributes.push(Attribute { name, value });
        Ok(())
    }

    /// The element that was opened last ends.
    pub fn close(&mut self) {
        if self.open.len() > 1
            && let Some(OpenElement { id, .. }) = self.open.pop()
        {
            self.document.nodes[id as usize].end = self.document.nodes.len() as u32;
        }
    }

    /// What was put since a mark becomes a node.
    pub fn leaf(&mut self, kind: Kind, name: u32, mark: usize) -> Result<(), BuildError> {
        let span = self.since(mark);
        self.add(kind, name, span).map(drop)
    }

    pub fn comment(&mut self, text: &str, pace: &Pace<'_>) -> Result<(), BuildError> {
        let mark = self.text_mark();
        self.put_all(text, pace)?;
        self.leaf(Kind::Comment, 0, mark)
    }

    pub fn instruction(
        &mut self,
        target: &str,
        text: &str,
        pace: &Pace<'_>,
    ) -> Result<(), BuildError> {
        let name = self.named(Name { local: target.into(), ..Name::default() })?;
        let mark = self.text_mark();
        self.put_all(text, pace)?;
        self.leaf(Kind::Instruction, name, mark)
    }

    /// A text, which is one with a text right before it.
    pub fn joined_text(&mut self, text: &str, pace: &Pace<'_>) -> Result<(), BuildError> {
        if text.is_empty() {
            return Ok(());
        }
        let parent = self.parent();
        let before = self.document.nodes.last().copied();
        let before = before.filter(|last| last.kind() == Kind::Text && last.parent == parent);
        let mut mark = self.text_mark();
        if let Some(before) = before {
            if before.span.range().end == mark {
                mark = before.span.at as usize;
            } else {
                // The value of an attribute came between.
                let again = self.text_of(before.span).to_owned();
                self.put_all(&again, pace)?;
            }
        }
        self.put_all(text, pace)?;
        let whole = self.since(mark);
        match (before, self.document.nodes.last_mut()) {
            (Some(_), Some(last)) => {
                last.span = whole;
                Ok(())
            }
            _ => self.add(Kind::Text, 0, whole).map(drop),
        }
    }

    /// A copy of a node of another document, and of all that stands in it.
    pub fn copy(&mut self, from: &Document, node: u32, pace: &Pace<'_>) -> Result<(), BuildError> {
        if from.is_empty_text(node) {
            return Ok(());
        }
        self.note(from.node(node).kind());
        let mut names: HashMap<u32, u32> = HashMap::new();
        let base = number(self.document.nodes.len())?;
        let top = self.parent();
        for id in node..from.node(node).end {
            let old = from.node(id);
            pace.step(size_of::<Node>())?;
            let name = match names.get(&old.name()) {
                Some(name) => *name,
                None => {
                    let new = self.named(from.name_of(old.name()).clone())?;
                    names.insert(old.name(), new);
                    new
                }
            };
            let span = match old.kind() {
                Kind::Element => self.copied_attributes(from, id, pace)?,
                _ => self.copied_text(from, old.span, pace)?,
            };
            let parent = if id == node { top } else { old.parent - node + base };
            let own = number(self.document.nodes.len())?;
            let end = old.end - node + base;
            self.document.nodes.push(Node::new(parent, old.kind(), name, span).with_end(end));
            for declared in from.declared_by(id) {
                self.document.declared.push(DeclaredNamespace { node: own, ..declared.clone() });
            }
        }
        Ok(())
    }

    fn copied_text(
        &mut self,
        from: &Document,
        span: Span,
        pace: &Pace<'_>,
    ) -> Result<Span, BuildError> {
        let mark = self.text_mark();
        self.put_all(from.part(span), pace)?;
        Ok(self.since(mark))
    }

    fn copied_attributes(
        &mut self,
        from: &Document,
        id: u32,
        pace: &Pace<'_>,
    ) -> Result<Span, BuildError> {
        let at = number(self.document.attributes.len())?;
        let own = from.attributes(id);
        for attribute in own {
            let name = self.named(from.name_of(attribute.name).clone())?;
            let value = self.copied_text(from, attribute.value, pace)?;
            number(self.document.attributes.len())?;
            self.document.attributes.push(Attribute { name, value });
        }
        Ok(Span { at, len: own.len() as u32 })
    }

    /// A copy of an attribute for the element that was opened last.
    pub fn copy_attribute(
        &mut self,
        from: &Document,
        at: NodeRef,
        pace: &Pace<'_>,
    ) -> Result<(), BuildError> {
        let Some(attribute) = from.attribute(at) else { return Ok(()) };
        let name = self.named(from.name_of(attribute.name).clone())?;
        let value = self.copied_text(from, attribute.value, pace)?;
        self.attribute(name, value)
    }

    /// All that was built; what is open ends.
    pub fn finish(mut self) -> Document {
        while self.open.len() > 1 {
            self.close();
        }
        self.document.nodes[0].end = self.document.nodes.len() as u32;
        self.document
    }
}
