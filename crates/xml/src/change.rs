//! The data manipulation language of xml: `insert`, `delete`, `replace value of`.

use crate::error::QueryError;
use crate::eval::Run;
use crate::item::{Atom, Item};
use crate::pace::Pace;
use crate::path::Expr;
use crate::query::{External, Parser};
use crate::tree::{Document, Kind, NodeRef};
use crate::write::{Edits, InsertPosition, Inserted};

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
    pub fn apply(
        &self,
        document: &Document,
        externals: &[Option<Atom>],
        pace: &Pace<'_>,
    ) -> Result<String, QueryError> {
        let mut run = Run::new(document, NodeRef::ROOT, externals, self.variables, pace);
        let mut edits = Edits::default();
        match &self.action {
            Action::Delete(what) => {
                for item in run.eval(what)? {
                    pace.step(32)?;
                    match own(&item) {
                        Some(NodeRef { node: 0, attribute: 0, .. }) => {
                            let children = document.children(0);
                            edits.gone.extend(children.map(|id| NodeRef::ROOT.with_node(id)));
                        }
                        Some(node) => drop(edits.gone.insert(node)),
                        None => {}
                    }
                }
            }
            Action::Replace { target, value } => {
                let target = run.eval(target)?;
                let value = run.eval(value)?;
                let value = run.joined_texts(&value)?;
                if let Some(node) = target.first().and_then(own) {
                    check_replace(document, node)?;
                    // A text of nothing is no text.
                    if value.is_empty()
                        && node.attribute == 0
                        && document.node(node.node).kind() == Kind::Text
                    {
                        edits.gone.insert(node);
                    } else {
                        edits.replaced = Some((node, value));
                    }
                }
            }
            Action::Insert { what, place, target } => {
                let target = run.eval(target)?;
                let new = run.eval(what)?;
                if let Some(node) = target.first().and_then(own) {
                    insert(&mut edits, &run, node, *place, &new)?;
                }
            }
        }
        Ok(document.edited(&edits, pace)?)
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

/// 2356: what cannot have another value.
fn check_replace(document: &Document, node: NodeRef) -> Result<(), QueryError> {
    if node.attribute > 0 || !matches!(document.node(node.node).kind(), Kind::Element | Kind::Root) {
        return Ok(());
    }
    let text = "The target of 'replace value of' must be a non-metadata attribute or an element with simple typed content, \
                found 'element(*,xdt:untyped) ?'";
    Err(QueryError::new(2356, text))
}

/// Puts items in at a place.
fn insert<'r>(
    edits: &mut Edits<'r>,
    run: &'r Run<'_>,
    target: NodeRef,
    place: Place,
    items: &[Item],
) -> Result<(), QueryError> {
    let document = run.document;
    let beside = matches!(place, Place::Before | Place::After);
    if target.attribute > 0 || (beside && target.node == 0) {
        return Err(QueryError::new(2249, "The node is either not an element or it is a document node"));
    }
    let parent = if beside { document.node(target.node).parent } else { target.node };
    if !matches!(document.node(parent).kind(), Kind::Element | Kind::Root) {
        return Err(QueryError::new(2249, "The node is either not an element or it is a document node"));
    }
    let spot = match place {
        Place::First => InsertPosition::First(target.node),
        Place::Last => InsertPosition::Last(target.node),
        Place::Before => InsertPosition::Before(target.node),
        Place::After => InsertPosition::After(target.node),
    };
    let (mut list, mut attributes) = (Vec::new(), Vec::new());
    for item in items {
        run.pace.step(64)?;
        match item {
            Item::Node(node) if node.attribute > 0 => attributes.push((run.doc(*node), *node)),
            Item::Node(node) => match node.node {
                0 => list.extend(run.doc(*node).children(0).map(|id| Inserted::Node(run.doc(*node), id))),
                id => list.push(Inserted::Node(run.doc(*node), id)),
            },
            Item::Atom(atom) => list.push(Inserted::Text(atom.text().into_owned())),
        }
    }
    edits.inserted = Some((spot, list));
    // The root has none.
    if document.is_element(parent) {
        edits.attributes = Some((parent, attributes));
    }
    Ok(())
}
