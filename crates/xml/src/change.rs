//! The data manipulation language of xml: `insert`, `delete`, `replace value of`.

use crate::error::QueryError;
use crate::eval::Run;
use crate::item::{Atom, Item};
use crate::path::Expr;
use crate::query::{External, Parser};
use crate::tree::{Document, Kind, NodeRef};

/// Where new nodes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    First,
    Last,
    Before,
    After,
}

#[derive(Debug)]
enum Action {
    Insert { what: Expr, place: Place, target: Expr },
    Delete(Expr),
    Replace { target: Expr, value: Expr },
}

/// A compiled change.
#[derive(Debug)]
pub struct Change {
    action: Action,
    externals: Vec<External>,
    variables: usize,
}

impl Change {
    /// Compiles a text.
    ///
    /// # Errors
    /// 2209 and its kin; 2226 the target of an insert may be several nodes, 2337 that of a replace.
    pub fn parse(text: &str) -> Result<Change, QueryError> {
        let mut parser = Parser::new(text);
        parser.prolog()?;
        let action = if parser.scan.eat_word("insert") {
            let what = parser.single()?;
            let place = place(&mut parser)?;
            let target = parser.single()?;
            if target.is_many() {
                let text = "The target of 'insert' must be a single node, found 'element(*,xdt:untyped) *'";
                return Err(QueryError::new(2226, text));
            }
            Action::Insert { what, place, target }
        } else if parser.scan.eat_word("delete") {
            Action::Delete(parser.sequence()?)
        } else if parser.scan.eat_words(&["replace", "value", "of"]) {
            let target = parser.single()?;
            if target.is_many() {
                let text = "The target of 'replace' must be at most one node, found 'node *'";
                return Err(QueryError::new(2337, text));
            }
            parser.scan.expect_word("with")?;
            Action::Replace { target, value: parser.single()? }
        } else {
            return Err(parser.scan.syntax());
        };
        if !parser.scan.is_end() {
            return Err(parser.scan.syntax());
        }
        Ok(Change { action, externals: parser.externals, variables: parser.variables })
    }

    /// As [`crate::Query::externals`].
    pub fn externals(&self) -> &[External] {
        &self.externals
    }

    /// Changes a document and gives its new text.
    ///
    /// # Errors
    /// 2356 the target has no value of its own; 40517.
    pub fn apply(&self, document: &Document, externals: &[Option<Atom>]) -> Result<String, QueryError> {
        let mut run = Run::new(document, NodeRef::ROOT, externals, self.variables);
        let mut changed = document.clone();
        match &self.action {
            Action::Delete(what) => {
                for item in run.eval(what)? {
                    if let Some(node) = own(&item) {
                        remove(&mut changed, node);
                    }
                }
                // Attributes are gone last, so that their numbers hold until then.
                drop_marked(&mut changed);
            }
            Action::Replace { target, value } => {
                let target = run.eval(target)?;
                let value = run.eval(value)?;
                let texts: Vec<String> = run.atoms(&value).iter().map(Atom::text).collect();
                if let Some(node) = target.first().and_then(own) {
                    replace(&mut changed, node, texts.join(" "))?;
                }
            }
            Action::Insert { what, place, target } => {
                let target = run.eval(target)?;
                let new = run.eval(what)?;
                if let Some(node) = target.first().and_then(own) {
                    insert(&mut changed, &run, node, *place, &new)?;
                }
            }
        }
        Ok(changed.text())
    }
}

/// A node of the document itself; what the query has made is nothing to change.
fn own(item: &Item) -> Option<NodeRef> {
    match item {
        Item::Node(node) if node.made == 0 => Some(*node),
        _ => None,
    }
}

fn place(parser: &mut Parser<'_>) -> Result<Place, QueryError> {
    let scan = &mut parser.scan;
    let place = if scan.eat_words(&["as", "first", "into"]) {
        Place::First
    } else if scan.eat_words(&["as", "last", "into"]) || scan.eat_word("into") {
        Place::Last
    } else if scan.eat_word("before") {
        Place::Before
    } else if scan.eat_word("after") {
        Place::After
    } else {
        return Err(scan.syntax());
    };
    Ok(place)
}

/// A name that no attribute has: what is to be deleted.
const GONE: &str = "\u{0}";

fn remove(document: &mut Document, node: NodeRef) {
    if node.attribute > 0 {
        if let Kind::Element(element) = &mut document.nodes[node.node as usize].kind
            && let Some(attribute) = element.attributes.get_mut(node.attribute as usize - 1)
        {
            attribute.name.local = GONE.into();
        }
    } else if node.node == 0 {
        document.nodes[0].children.clear();
    } else {
        let parent = document.node(node.node).parent;
        document.nodes[parent as usize].children.retain(|id| *id != node.node);
    }
}

fn drop_marked(document: &mut Document) {
    for node in &mut document.nodes {
        if let Kind::Element(element) = &mut node.kind {
            element.attributes.retain(|a| a.name.local != GONE);
        }
    }
}

fn replace(document: &mut Document, node: NodeRef, value: String) -> Result<(), QueryError> {
    match &mut document.nodes[node.node as usize].kind {
        Kind::Element(element) if node.attribute > 0 => {
            if let Some(attribute) = element.attributes.get_mut(node.attribute as usize - 1) {
                attribute.value = value;
            }
        }
        Kind::Text(text) | Kind::Comment(text) => *text = value,
        Kind::Instruction { content, .. } => *content = value,
        Kind::Element(_) | Kind::Root => {
            let text = "The target of 'replace value of' must be a non-metadata attribute or an element with simple typed content, \
                        found 'element(*,xdt:untyped) ?'";
            return Err(QueryError::new(2356, text));
        }
    }
    // A text of nothing is no text.
    if node.attribute == 0 && matches!(&document.node(node.node).kind, Kind::Text(text) if text.is_empty()) {
        remove(document, node);
    }
    Ok(())
}

fn insert(
    document: &mut Document,
    run: &Run<'_>,
    target: NodeRef,
    place: Place,
    items: &[Item],
) -> Result<(), QueryError> {
    let beside = matches!(place, Place::Before | Place::After);
    if target.attribute > 0 || (beside && target.node == 0) {
        return Err(QueryError::new(2249, "The node is either not an element or it is a document node"));
    }
    let parent = if beside { document.node(target.node).parent } else { target.node };
    if !matches!(document.node(parent).kind, Kind::Element(_) | Kind::Root) {
        return Err(QueryError::new(2249, "The node is either not an element or it is a document node"));
    }
    let children = &document.node(parent).children;
    let own = children.iter().position(|id| *id == target.node).unwrap_or(0);
    let mut at = match place {
        Place::First => 0,
        Place::Last => children.len(),
        Place::Before => own,
        Place::After => own + 1,
    };
    for item in items {
        let node = match item {
            Item::Node(node) if node.attribute > 0 => {
                let attribute = run.doc(*node).attribute(*node).cloned();
                if let Kind::Element(element) = &mut document.nodes[parent as usize].kind {
                    element.attributes.extend(attribute);
                }
                continue;
            }
            Item::Node(node) => {
                let copied = match node.node {
                    0 => run.doc(*node).node(0).children.clone(),
                    id => vec![id],
                };
                let first = document.node(parent).children.len();
                for id in copied {
                    document.copy(run.doc(*node), id, parent);
                }
                document.nodes[parent as usize].children.split_off(first)
            }
            Item::Atom(atom) => {
                let id = document.add(parent, Kind::Text(atom.text()));
                document.nodes[parent as usize].children.pop();
                vec![id]
            }
        };
        let count = node.len();
        document.nodes[parent as usize].children.splice(at..at, node);
        at += count;
    }
    Ok(())
}
