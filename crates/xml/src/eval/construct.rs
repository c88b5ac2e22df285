//! Elements that a query makes: each is a tree of its own, into which nodes of others are copied.

use super::{Items, Run};
use crate::build::Builder;
use crate::constructor::{Constructor, Content};
use crate::error::QueryError;
use crate::item::Item;

impl Run<'_> {
    /// The number of a new document, whose one node is the element.
    pub(super) fn made_of(&mut self, constructor: &Constructor) -> Result<u32, QueryError> {
        let mut built = Builder::default();
        self.construct(constructor, &mut built)?;
        self.made.push(built.finish());
        u32::try_from(self.made.len())
            .map_err(|_| QueryError::unsupported("A query that makes so many elements"))
    }

    fn construct(&mut self, constructor: &Constructor, built: &mut Builder) -> Result<(), QueryError> {
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
                    Content::Text(text) => built.put_all(text, self.pace)?,
                    Content::Value(e) => {
                        let items = self.eval(e)?;
                        built.put_all(&self.joined_texts(&items)?, self.pace)?;
                    }
                    Content::Element(_) => {}
                }
            }
            let value = built.since(mark);
            let name = built.named(name.clone())?;
            built.attribute(name, value)?;
        }
        for part in &constructor.content {
            match part {
                Content::Text(text) => built.joined_text(text, self.pace)?,
                Content::Element(inner) => self.construct(inner, built)?,
                Content::Value(e) => {
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
                Item::Node(node) if node.attribute > 0 => {
                    built.copy_attribute(self.doc(node), node, self.pace)?;
                }
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
}
