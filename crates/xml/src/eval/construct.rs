//! Elements that a query makes: a tree of their own, into which nodes of the document are copied.

use super::{Items, Run};
use crate::constructor::{Constructor, Content};
use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::tree::{Attribute, Element, Kind};

impl Run<'_> {
    pub(super) fn construct(&mut self, constructor: &Constructor, under: u32) -> Result<u32, QueryError> {
        let mut attributes = Vec::with_capacity(constructor.attributes.len());
        for (name, parts) in &constructor.attributes {
            let mut value = String::new();
            for part in parts {
                match part {
                    Content::Text(text) => value.push_str(text),
                    Content::Value(e) => {
                        let items = self.eval(e)?;
                        let texts: Vec<String> = self.atoms(&items).iter().map(Atom::text).collect();
                        value.push_str(&texts.join(" "));
                    }
                    Content::Element(_) => {}
                }
            }
            attributes.push(Attribute { name: name.clone(), value });
        }
        let element =
            Element { name: constructor.name.clone(), attributes, spaces: constructor.spaces.clone() };
        let id = self.made.add(under, Kind::Element(element));
        for part in &constructor.content {
            match part {
                Content::Text(text) => self.add_text(id, text),
                Content::Element(inner) => {
                    self.construct(inner, id)?;
                }
                Content::Value(e) => {
                    let items = self.eval(e)?;
                    self.add_items(id, items);
                }
            }
        }
        if under == 0 {
            // It stands by itself, not among the others that the query has made.
            self.made.nodes[0].children.pop();
        }
        Ok(id)
    }

    fn add_text(&mut self, under: u32, text: &str) {
        if text.is_empty() {
            return;
        }
        let last = self.made.node(under).children.last().copied();
        if let Some(Kind::Text(known)) =
            last.and_then(|id| self.made.nodes.get_mut(id as usize)).map(|n| &mut n.kind)
        {
            return known.push_str(text);
        }
        self.made.add(under, Kind::Text(text.to_owned()));
    }

    fn add_items(&mut self, under: u32, items: Items) {
        let mut after_atom = false;
        for item in items {
            match item {
                Item::Atom(atom) => {
                    let text = if after_atom { format!(" {}", atom.text()) } else { atom.text() };
                    self.add_text(under, &text);
                    after_atom = true;
                    continue;
                }
                Item::Node(node) if node.attribute > 0 => {
                    let attribute = self.doc(node).attribute(node).cloned();
                    if let Kind::Element(element) = &mut self.made.nodes[under as usize].kind {
                        element.attributes.extend(attribute);
                    }
                }
                Item::Node(node) if node.made == 0 => {
                    let children = match node.node {
                        0 => self.document.node(0).children.clone(),
                        id => vec![id],
                    };
                    for id in children {
                        self.made.copy(self.document, id, under);
                    }
                }
                Item::Node(node) => {
                    let own = self.made.clone();
                    self.made.copy(&own, node.node, under);
                }
            }
            after_atom = false;
        }
    }
}
