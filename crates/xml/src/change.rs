//! The data manipulation language of xml: `insert`, `delete`, `replace value of`.

use messages as msg;

use crate::error::{PLACE, QueryError};
use crate::eval::Evaluation;
use crate::item::{Atom, Item};
use crate::pace::Pace;
use crate::path::Expr;
use crate::query::{External, Parser, checked};
use crate::tree::{Document, Kind, Name, NodeRef};
use crate::write::{Edits, InsertPosition, InsertedContent};

/// Where new nodes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InsertPlace {
    First,
    Last,
    Before,
    After,
}

#[derive(Debug)]
enum ChangeAction {
    Insert { what: Expr, place: InsertPlace, target: Expr },
    Delete(Expr),
    Replace { target: Expr, value: Expr },
}

/// A compiled change.
#[derive(Debug)]
pub struct Change {
    action: ChangeAction,
    externals: Vec<External>,
    variables: usize,
    inserted: usize,
}

impl Change {
    /// Compiles a text.
    ///
    /// # Errors
    /// 2209 and its kin; 2226 the target of an insert may be several nodes, 2337 that of a
    /// replace; 6305 a query that changes nothing.
    pub fn parse(text: &str) -> Result<Change, QueryError> {
        let text = checked(text)?;
        let mut parser = Parser::new(&text);
        parser.prolog()?;
        let action = if parser.scan.eat_word("insert") {
            insertion(&mut parser)?
        } else if parser.scan.eat_word("delete") {
            ChangeAction::Delete(parser.sequence()?)
        } else if parser.scan.eat_words(&["replace", "value", "of"]) {
            replacement(&mut parser)?
        } else {
            parser.sequence()?;
            parser.end()?;
            return Err(QueryError::of(msg::XML_MODIFICATION_REQUIRED, []));
        };
        parser.end()?;
        let Parser { externals, variables, inserted, .. } = parser;
        Ok(Change { action, externals, variables, inserted })
    }

    /// How many of [`Change::externals`], from the first on, are all that it inserts: they may be
    /// documents.
    pub fn documents(&self) -> usize {
        self.inserted
    }

    /// As [`crate::Query::externals`].
    pub fn externals(&self) -> &[External] {
        &self.externals
    }

    /// Changes a document and gives its new text.
    ///
    /// # Errors
    /// 2240, 2249 nothing can be put there, 2258 an attribute beside a node, 2356 the target has no
    /// value of its own, 6307, 6308 an attribute that nothing can have, 6320, 6325 no new value;
    /// 40517.
    pub fn apply(
        &self,
        document: &Document,
        externals: &[Option<Atom>],
        pace: &Pace<'_>,
    ) -> Result<String, QueryError> {
        let mut run = Evaluation::new(document, NodeRef::ROOT, externals, self.variables, pace);
        let mut edits = Edits::default();
        match &self.action {
            ChangeAction::Delete(what) => {
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
            ChangeAction::Replace { target, value } => {
                replace(&mut edits, &mut run, target, value)?
            }
            ChangeAction::Insert { what, place, target } => {
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

/// What stands behind `insert`.
fn insertion(parser: &mut Parser<'_>) -> Result<ChangeAction, QueryError> {
    parser.cdata = true;
    let what = parser.single()?;
    parser.cdata = false;
    let external = |e: &Expr| matches!(e, Expr::External(_));
    let only_externals = match &what {
        Expr::Sequence(list) => list.iter().all(external),
        e => external(e),
    };
    if only_externals {
        parser.inserted = parser.externals.len();
    }
    let place = place(parser)?;
    let target = parser.single()?;
    if target.is_many() {
        return Err(QueryError::of(
            msg::XQUERY_INSERT_TARGET_MANY,
            [&PLACE, &"element(*,xdt:untyped) *"],
        ));
    }
    Ok(ChangeAction::Insert { what, place, target })
}

/// What stands behind `replace value of`.
fn replacement(parser: &mut Parser<'_>) -> Result<ChangeAction, QueryError> {
    let target = parser.single()?;
    if target.is_many() {
        return Err(QueryError::of(msg::XQUERY_REPLACE_TARGET_MANY, [&PLACE, &"node *"]));
    }
    parser.scan.wanted("with")?;
    let value = parser.single()?;
    if value.is_constructor() {
        return Err(QueryError::of(msg::XQUERY_REPLACE_CONSTRUCTED, [&PLACE]));
    }
    Ok(ChangeAction::Replace { target, value })
}

/// A node of the document itself; what the query has made is nothing to change.
fn own(item: &Item) -> Option<NodeRef> {
    match item {
        Item::Node(node) if node.made == 0 => Some(*node),
        _ => None,
    }
}

fn place(parser: &mut Parser<'_>) -> Result<InsertPlace, QueryError> {
    let scan = &mut parser.scan;
    let place = if scan.eat_words(&["as", "first", "into"]) {
        InsertPlace::First
    } else if scan.eat_words(&["as", "last", "into"]) || scan.eat_word("into") {
        InsertPlace::Last
    } else if scan.eat_word("before") {
        InsertPlace::Before
    } else if scan.eat_word("after") {
        InsertPlace::After
    } else {
        let near = scan.near();
        return Err(QueryError::of(msg::XQUERY_INSERT_PLACE, [&PLACE, &near]));
    };
    Ok(place)
}

/// 2356: what cannot have another value.
fn check_replace(document: &Document, node: NodeRef) -> Result<(), QueryError> {
    if node.attribute > 0 || !matches!(document.node(node.node).kind(), Kind::Element | Kind::Root)
    {
        return Ok(());
    }
    Err(QueryError::of(msg::XQUERY_REPLACE_TARGET, [&PLACE, &"element(*,xdt:untyped) ?"]))
}

/// Gives a node another value.
fn replace(
    edits: &mut Edits<'_>,
    run: &mut Evaluation<'_>,
    target: &Expr,
    value: &Expr,
) -> Result<(), QueryError> {
    let target = run.eval(target)?;
    let items = run.eval(value)?;
    let Some(node) = target.first().and_then(own) else { return Ok(()) };
    check_replace(run.document, node)?;
    if items.is_empty() && node.attribute > 0 {
        return Err(QueryError::of(msg::XML_UPDATE_WITH_EMPTY, []));
    }
    if items.is_empty() && !value.is_empty() {
        return Err(QueryError::of(msg::XML_REPLACE_WITH_EMPTY, []));
    }
    let value = run.joined_texts(&items)?;
    // A text of nothing is no text.
    let is_text = node.attribute == 0 && run.document.node(node.node).kind() == Kind::Text;
    if value.is_empty() && is_text {
        edits.gone.insert(node);
    } else {
        edits.replaced = Some((node, value));
    }
    Ok(())
}

/// 2240, 2249: what nothing can be put into, or beside.
fn check_insert(document: &Document, target: NodeRef, beside: bool) -> Result<(), QueryError> {
    let found = match (target.attribute, document.node(target.node).kind()) {
        (1.., _) => {
            let name = document.name(target).map(|name| name.written()).unwrap_or_default();
            format!("attribute({name},xdt:untypedAtomic) ?")
        }
        (0, Kind::Root) if beside => {
            "document { (element(*,xdt:untyped) ? & text ? & comment ? & processing-instruction ?) * }"
                .to_owned()
        }
        (0, Kind::Text) if !beside => "text ?".to_owned(),
        (0, Kind::Comment) if !beside => "comment ?".to_owned(),
        (0, Kind::Instruction) if !beside => "processing-instruction ?".to_owned(),
        _ => return Ok(()),
    };
    let message = match beside {
        true => msg::XQUERY_INSERT_BESIDE_TARGET,
        false => msg::XQUERY_INSERT_INTO_TARGET,
    };
    Err(QueryError::of(message, [&PLACE, &found]))
}

/// 2258, 6307, 6308: attributes that an element cannot have.
fn check_attributes(
    document: &Document,
    parent: u32,
    beside: bool,
    attributes: &[(&Document, NodeRef)],
    pace: &Pace<'_>,
) -> Result<(), QueryError> {
    let own = document.attributes(parent).iter().map(|attribute| document.name_of(attribute.name));
    let mut known: Vec<&Name> = own.collect();
    for (from, at) in attributes {
        let Some(name) = from.name(*at) else { continue };
        if beside {
            return Err(QueryError::of(
                msg::XQUERY_ATTRIBUTE_POSITION,
                [&PLACE, &format_args!("attribute({},xdt:untypedAtomic)", name.written())],
            ));
        }
        if !document.is_element(parent) {
            return Err(QueryError::attribute_outside());
        }
        pace.step(16 * (known.len() + 1))?;
        if known.iter().any(|other| other.is(name)) {
            return Err(QueryError::duplicate_attribute(name));
        }
        known.push(name);
    }
    Ok(())
}

/// Puts items in at a place: nodes as they are, values as text with a blank between two of them.
fn insert<'r>(
    edits: &mut Edits<'r>,
    run: &'r Evaluation<'_>,
    target: NodeRef,
    place: InsertPlace,
    items: &[Item],
) -> Result<(), QueryError> {
    let document = run.document;
    let beside = matches!(place, InsertPlace::Before | InsertPlace::After);
    let (mut list, mut attributes) = (Vec::new(), Vec::new());
    let mut after_atom = false;
    for item in items {
        run.pace.step(64)?;
        match item {
            Item::Node(node) if node.attribute > 0 => attributes.push((run.doc(*node), *node)),
            Item::Node(node) => match node.node {
                0 => list.extend(
                    run.doc(*node).children(0).map(|id| InsertedContent::Node(run.doc(*node), id)),
                ),
                id if run.doc(*node).is_empty_text(id) => {}
                id => list.push(InsertedContent::Node(run.doc(*node), id)),
            },
            Item::Atom(atom) => {
                let blank = if after_atom { " " } else { "" };
                let text = format!("{blank}{}", atom.text());
                if !text.is_empty() {
                    list.push(InsertedContent::Text(text));
                }
            }
        }
        after_atom = matches!(item, Item::Atom(_));
    }
    check_insert(document, target, beside)?;
    let parent = if beside { document.node(target.node).parent } else { target.node };
    check_attributes(document, parent, beside, &attributes, run.pace)?;
    let spot = match place {
        InsertPlace::First => InsertPosition::First(target.node),
        InsertPlace::Last => InsertPosition::Last(target.node),
        InsertPlace::Before => InsertPosition::Before(target.node),
        InsertPlace::After => InsertPosition::After(target.node),
    };
    edits.inserted = Some((spot, list));
    edits.attributes = Some((parent, attributes));
    Ok(())
}
