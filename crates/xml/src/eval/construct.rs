//! Nodes that a query makes: each is a tree of its own, into which nodes of others are copied.
//! Guarantee: an element has each attribute once (6308), and those before what stands in it (6307).

use super::{Evaluation, Items};
use crate::build::Builder;
use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::path::{Constructor, ContentPart, Leaf};
use crate::read::{TextSource, Whitespace, read};
use crate::tree::{Document, Kind, NodeRef};

impl Evaluation<'_> {
    /// Keeps a new document, and gives its number.
    fn keep(&mut self, document: Document) -> Result<u32, QueryError> {
        self.made.push(document);
        u32::try_from(self.made.len())
            .map_err(|_| QueryError::unsupported("A query that makes so many elements"))
    }

    /// The number of a new document, whose one node is the element.
    pub(super) fn made_of(&mut self, constructor: &Constructor) -> Result<u32, QueryError> {
        let mut built = Builder::default();
        self.construct(constructor, &mut built)?;
        self.keep(built.finish())
    }

    /// A node that is no element; a text of no items is none.
    pub(super) fn made_leaf(&mut self, leaf: &Leaf) -> Result<Items, QueryError> {
        let mut built = Builder::default();
        let mut attribute = 0;
        match leaf {
            Leaf::Attribute(name, value) => {
                let items = self.eval(value)?;
                let value = self.joined_texts(&items)?;
                // An attribute stands in an element; this one has no name, and nobody sees it.
                built.open()?;
                let mark = built.text_mark();
                built.put_all(&value, self.pace)?;
                let value = built.since(mark);
                let name = built.named(name.clone())?;
                built.attribute(name, value)?;
                attribute = 1;
            }
            Leaf::Text(value) => {
                let items = self.eval(value)?;
                if items.is_empty() {
                    return Ok(Vec::new());
                }
                let text = self.joined_texts(&items)?;
                let mark = built.text_mark();
                built.put_all(&text, self.pace)?;
                built.leaf(Kind::Text, 0, mark)?;
            }
            Leaf::Comment(text) => built.comment(text, self.pace)?,
            Leaf::Instruction(target, text) => built.instruction(target, text, self.pace)?,
        }
        let made = self.keep(built.finish())?;
        Ok(vec![Item::Node(NodeRef { made, node: 1, attribute })])
    }

    /// What the surroundings give; of a document what stands in it.
    pub(super) fn external(&mut self, number: usize) -> Result<Items, QueryError> {
        let externals = self.externals;
        let Some(value) = externals.get(number).and_then(Option::as_ref) else {
            return Ok(Vec::new());
        };
        self.pace.step(value.bytes())?;
        let Atom::Document(text) = value else { return Ok(vec![value.clone().into()]) };
        let document = read(text, TextSource::Wide, Whitespace::Kept, self.pace)?;
        let children: Vec<u32> = document.children(0).collect();
        let made = self.keep(document)?;
        Ok(children
            .into_iter()
            .map(|node| Item::Node(NodeRef { made, node, attribute: 0 }))
            .collect())
    }

    fn construct(
        &mut self,
        constructor: &Constructor,
        built: &mut Builder,
    ) -> Result<(), QueryError> {
        built.open()?;
        let name = built.named(constructor.name.clone())?;
        built.set_name(name);
        for (prefix, uri) in &constructor.spaces {
            built.declare(prefix.clone(), uri.clone());
        }
        for (name, parts) in &constructor.attributes {
            let mark = built.text_mark();
            for part in parts {
                match part {
                    ContentPart::Text(text) => built.put_all(text, self.pace)?,
                    ContentPart::Value(e) => {
                        let items = self.eval(e)?;
                        built.put_all(&self.joined_texts(&items)?, self.pace)?;
                    }
                    ContentPart::Element(_)
                    | ContentPart::Comment(_)
                    | ContentPart::Instruction(..) => {}
                }
            }
            let value = built.since(mark);
            let name = built.named(name.clone())?;
            built.attribute(name, value)?;
        }
        for part in &constructor.content {
            match part {
                ContentPart::Text(text) => built.joined_text(text, self.pace)?,
                ContentPart::Element(inner) => self.construct(inner, built)?,
                ContentPart::Comment(text) => built.comment(text, self.pace)?,
                ContentPart::Instruction(target, text) => {
                    built.instruction(target, text, self.pace)?
                }
                ContentPart::Value(e) => {
                    let items = self.eval(e)?;
                    self.add_items(items, built)?;
                }
            }
        }
        built.close();
        Ok(())
    }

    fn add_items(&self, items: Items, built: &mut Builder) -> Result<(), QueryError> {
        let mut after_atom = false;
        for item in items {
            match item {
                Item::Atom(atom) => {
                    if after_atom {
                        built.joined_text(" ", self.pace)?;
                    }
                    built.joined_text(&atom.text(), self.pace)?;
                    after_atom = true;
                    continue;
                }
                Item::Node(node) if node.attribute > 0 => self.add_attribute(node, built)?,
                Item::Node(node) if node.node == 0 => {
                    let document = self.doc(node);
                    for id in document.children(0) {
                        built.copy(document, id, self.pace)?;
                    }
                }
                Item::Node(node) => built.copy(self.doc(node), node.node, self.pace)?,
            }
            after_atom = false;
        }
        Ok(())
    }

    fn add_attribute(&self, node: NodeRef, built: &mut Builder) -> Result<(), QueryError> {
        if built.has_nodes() {
            return Err(QueryError::attribute_outside());
        }
        let document = self.doc(node);
        let Some(name) = document.name(node) else { return Ok(()) };
        self.pace.step(16 * built.attribute_names().len())?;
        if built.attribute_names().any(|own| own.is(name)) {
            return Err(QueryError::duplicate_attribute(name));
        }
        Ok(built.copy_attribute(document, node, self.pace)?)
    }
}
