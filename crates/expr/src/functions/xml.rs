//! The methods of the type xml as functions: the binder calls them with the document, the text of
//! the query and the values that it asks for (sql:variable, sql:column). A document may be a row of
//! nodes(): then the query starts from its node.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use compact_str::CompactString;
use types::convert::{Mode, convert};
use types::{CancelCheck, DataType, Len, SqlError, Value, msg};
use xml::{Atom, Change, Encoding, NodeRef, Pace, Query, QueryAnswer, QueryError};

use crate::parsed::Parsed;

use super::{ArgRule as A, CallCx, Function, Stability, text_arg};

const fn f(
    name: &'static str,
    result: super::ResultRule,
    nullable: bool,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: 2,
        max: 254,
        args: &[A::Any],
        result,
        strict: false,
        stability: Stability::Pure,
        nullable,
        eval,
    }
}

/// The functions of this theme; their names are those that texts cannot have.
pub const FUNCTIONS: &[Function] = &[
    f(
        "xml value()",
        |_, _| Ok(DataType::NVarChar(Len::Max)),
        true,
        |args, cx| {
            on_document(args, "value", cx, |asked, pace| {
                let value = asked.run(pace)?.value()?;
                Ok(value.map_or(Value::Null, |atom| Value::Str(atom.into_text().into())))
            })
        },
    ),
    f(
        "xml value() as bytes",
        |_, _| Ok(DataType::VarBinary(Len::Max)),
        true,
        |args, cx| {
            on_document(args, "value", cx, |asked, pace| {
                let value = asked.run(pace)?.value()?;
                Ok(value.and_then(Atom::into_bytes).map_or(Value::Null, Value::bytes))
            })
        },
    ),
    f(
        "xml query()",
        |_, _| Ok(DataType::Xml),
        true,
        |args, cx| {
            on_document(args, "query", cx, |asked, pace| {
                Ok(Value::Str(asked.run(pace)?.text()?.into()))
            })
        },
    ),
    f(
        "xml exist()",
        |_, _| Ok(DataType::Bit),
        true,
        |args, cx| {
            on_document(args, "exist", cx, |asked, pace| {
                Ok(Value::Bit(!asked.run(pace)?.is_empty()))
            })
        },
    ),
    f("xml modify()", |_, _| Ok(DataType::Xml), true, |args, cx| modify(args, false, cx)),
    f(
        "xml modify() with documents",
        |_, _| Ok(DataType::Xml),
        true,
        |args, cx| modify(args, true, cx),
    ),
];

/// An error of a query in a method.
pub fn query_error(method: &str, error: &QueryError) -> SqlError {
    match error.number {
        40_517 | 6365 | 6305..=6308 | 6320 | 6325 => {
            SqlError::new(error.number, 16, 1, &error.text)
        }
        number => SqlError::new(number, 16, 1, format!("XQuery [{method}()]: {}", error.text)),
    }
}

/// Where a text has what no document can have.
fn no_character(text: &str) -> Option<usize> {
    let other = || text.char_indices().find(|(_, c)| !xml::is_xml(*c)).map(|(at, _)| at);
    types::units::first_unpaired(text).or_else(other)
}

/// A value as a query sees it; none for NULL.
fn atom_of(value: &Value) -> Result<Option<Atom>, SqlError> {
    let text = |style| {
        convert(value, value.natural_type(), DataType::NVarChar(Len::Max), style, Mode::Explicit)
    };
    Ok(match value {
        Value::Null => None,
        Value::Str(text) => match no_character(text) {
            None => Some(Atom::Text(text.to_string())),
            Some(at) => return Err(types::illegal_character(text, at)),
        },
        Value::Bit(b) => Some(Atom::Bool(*b)),
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
            value.as_i64().map(|n| Atom::Number(n as f64))
        }
        Value::Decimal(d) => Some(Atom::Number(d.to_f64())),
        Value::Float(n) => Some(Atom::Number(*n)),
        Value::Real(n) => Some(Atom::Number(f64::from(*n))),
        Value::Money(n) => Some(Atom::Number(*n as f64 / 10_000.0)),
        Value::SmallMoney(n) => Some(Atom::Number(f64::from(*n) / 10_000.0)),
        Value::Bytes(bytes) => Some(Atom::Binary(bytes.to_vec(), Encoding::Base64)),
        _ => text(126)?.as_str().map(|text| Atom::Text(text.to_owned())),
    })
}

/// The values behind the text of the query.
fn externals(args: &[Value]) -> Result<Vec<Option<Atom>>, SqlError> {
    args.iter().skip(2).map(atom_of).collect()
}

/// Most queries that a thread keeps, and the longest text of one.
const QUERIES: usize = 16;
const LONGEST_QUERY: usize = 4 << 10;

thread_local! {
    /// Queries that were compiled last.
    static QUERIES_KEPT: RefCell<Vec<(CompactString, Rc<Query>)>> = const { RefCell::new(Vec::new()) };
}

/// The tree of a value of type xml, or of a row of nodes(), kept for the next call.
fn kept_document(text: &CompactString, cx: &mut CallCx<'_>) -> Result<Arc<Parsed>, SqlError> {
    let known = cx.rt.document().cloned();
    let parsed = Parsed::of(text, known.as_ref(), &cx.look())?;
    if known.is_none_or(|known| !Arc::ptr_eq(&known, &parsed)) {
        cx.rt.keep_document(&parsed);
    }
    Ok(parsed)
}

fn compiled(text: &str, method: &str) -> Result<Rc<Query>, SqlError> {
    let known =
        QUERIES_KEPT.with_borrow(|kept| kept.iter().find(|q| q.0 == text).map(|q| q.1.clone()));
    if let Some(known) = known {
        return Ok(known);
    }
    let query = Rc::new(Query::parse(text).map_err(|e| query_error(method, &e))?);
    if text.len() <= LONGEST_QUERY {
        QUERIES_KEPT.with_borrow_mut(|kept| {
            if kept.len() >= QUERIES {
                kept.remove(0);
            }
            kept.push((text.into(), query.clone()));
        });
    }
    Ok(query)
}

/// A query, and what it is asked of.
struct AskedQuery<'a> {
    query: &'a Query,
    parsed: &'a Parsed,
    externals: &'a [Option<Atom>],
}

impl AskedQuery<'_> {
    fn run<'r>(&'r self, pace: &'r Pace<'r>) -> Result<QueryAnswer<'r>, QueryError> {
        self.query.run(&self.parsed.document, self.parsed.from, self.externals, pace)
    }
}

type QueryFn<T> = fn(&AskedQuery<'_>, &Pace<'_>) -> Result<T, QueryError>;

fn on_document(
    args: &[Value],
    method: &str,
    cx: &mut CallCx<'_>,
    work: QueryFn<Value>,
) -> Result<Value, SqlError> {
    let Some(Value::Str(text)) = args.first() else { return Ok(Value::Null) };
    let query = compiled(text_arg(args, 1), method)?;
    let parsed = kept_document(text, cx)?;
    let asked = AskedQuery { query: &query, parsed: &parsed, externals: &externals(args)? };
    xml::watched(cx.look(), |pace| work(&asked, pace))?.map_err(|e| query_error(method, &e))
}

/// The rows of nodes(): each is made when it is asked for.
#[derive(Debug)]
pub struct Nodes {
    parsed: Option<Arc<Parsed>>,
    rest: std::vec::IntoIter<NodeRef>,
}

impl Nodes {
    /// Runs the query over the document, which may be the one that is known.
    ///
    /// # Errors
    /// Those of the query.
    pub fn new(
        args: &[Value],
        known: Option<&Arc<Parsed>>,
        look: CancelCheck<'_>,
    ) -> Result<Nodes, SqlError> {
        let Some(Value::Str(text)) = args.first() else {
            return Ok(Nodes { parsed: None, rest: Vec::new().into_iter() });
        };
        let query = compiled(text_arg(args, 1), "nodes")?;
        let parsed = Parsed::of(text, known, look)?;
        let asked = AskedQuery { query: &query, parsed: &parsed, externals: &externals(args)? };
        let nodes = xml::watched(look, |pace| Ok(asked.run(pace)?.nodes()))?;
        let nodes = nodes.map_err(|e| query_error("nodes", &e))?;
        Ok(Nodes { parsed: Some(parsed), rest: nodes.into_iter() })
    }

    /// The document that was asked.
    pub fn parsed(&self) -> Option<&Arc<Parsed>> {
        self.parsed.as_ref()
    }

    /// The next row's value.
    ///
    /// # Errors
    /// Only that the statement is to stop.
    pub fn next(&mut self, look: CancelCheck<'_>) -> Result<Option<Value>, SqlError> {
        let (Some(parsed), Some(node)) = (&self.parsed, self.rest.next()) else { return Ok(None) };
        let text = xml::watched(look, |pace| parsed.document.row_text(node, pace))?;
        Ok(Some(Value::Str(text.into())))
    }
}

/// modify(); `documents`: what it inserts are values of type xml.
fn modify(args: &[Value], documents: bool, cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(Value::Str(text)) = args.first() else {
        return Err(SqlError::of(msg::MODIFY_OF_NULL, []));
    };
    let change = Change::parse(text_arg(args, 1)).map_err(|e| query_error("modify", &e))?;
    let parsed = kept_document(text, cx)?;
    let first = if documents { change.documents() } else { 0 };
    let (inserted, others) = args[args.len().min(2)..].split_at_checked(first).unwrap_or_default();
    let document = |value: &Value| value.as_str().map(|text| Atom::Document(text.to_owned()));
    let mut externals: Vec<Option<Atom>> = inserted.iter().map(document).collect();
    for value in others {
        externals.push(atom_of(value)?);
    }
    let changed = xml::watched(cx.look(), |pace| change.apply(&parsed.document, &externals, pace))?;
    Ok(Value::Str(changed.map_err(|e| query_error("modify", &e))?.into()))
}
