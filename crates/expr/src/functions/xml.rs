//! The methods of the type xml as functions: the binder calls them with the document, the text of the query and the values that it
//! asks for (sql:variable, sql:column). A document may be a row of nodes(): then the query starts from its node.

use std::cell::RefCell;
use std::rc::Rc;

use compact_str::CompactString;
use types::convert::{Mode, convert};
use types::{DataType, Len, SqlError, Value};
use xml::{Atom, Change, Document, NodeRef, Query, QueryError, Source, Whitespace};

use super::{ArgRule as A, CallCx, Function, Stability, text_arg};

const fn f(name: &'static str, result: super::ResultRule, nullable: bool, eval: super::Eval) -> Function {
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
        |args, _| {
            on_document(args, "value", |document, from, externals, query| {
                let answer = query.run(document, from, externals)?;
                Ok(answer.value().map_or(Value::Null, |atom| Value::str(atom.text())))
            })
        },
    ),
    f(
        "xml query()",
        |_, _| Ok(DataType::Xml),
        true,
        |args, _| {
            on_document(args, "query", |document, from, externals, query| {
                Ok(Value::str(query.run(document, from, externals)?.text()?))
            })
        },
    ),
    f(
        "xml exist()",
        |_, _| Ok(DataType::Bit),
        true,
        |args, _| {
            on_document(args, "exist", |document, from, externals, query| {
                Ok(Value::Bit(!query.run(document, from, externals)?.is_empty()))
            })
        },
    ),
    f("xml modify()", |_, _| Ok(DataType::Xml), true, modify),
];

/// An error of a query in a method.
pub fn query_error(method: &str, error: &QueryError) -> SqlError {
    match error.number {
        40_517 => SqlError::new(40_517, 16, 1, &error.text),
        number => SqlError::new(number, 16, 1, format!("XQuery [{method}()]: {}", error.text)),
    }
}

/// A value as a query sees it; none for NULL.
fn atom_of(value: &Value) -> Result<Option<Atom>, SqlError> {
    let text =
        |style| convert(value, value.natural_type(), DataType::NVarChar(Len::Max), style, Mode::Explicit);
    Ok(match value {
        Value::Null => None,
        Value::Str(text) => Some(Atom::Text(text.to_string())),
        Value::Bit(b) => Some(Atom::Bool(*b)),
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
            value.as_i64().map(|n| Atom::Number(n as f64))
        }
        Value::Decimal(d) => Some(Atom::Number(d.to_f64())),
        Value::Float(n) => Some(Atom::Number(*n)),
        Value::Real(n) => Some(Atom::Number(f64::from(*n))),
        Value::Money(n) => Some(Atom::Number(*n as f64 / 10_000.0)),
        Value::SmallMoney(n) => Some(Atom::Number(f64::from(*n) / 10_000.0)),
        Value::Bytes(_) => text(2)?.as_str().map(|text| Atom::Text(text.to_owned())),
        _ => text(126)?.as_str().map(|text| Atom::Text(text.to_owned())),
    })
}

/// The values behind the text of the query.
fn externals(args: &[Value]) -> Result<Vec<Option<Atom>>, SqlError> {
    args.iter().skip(2).map(atom_of).collect()
}

/// A document that was read last, and queries that were compiled last: the rows of a statement ask the same ones again.
struct Kept {
    document: Option<(CompactString, Rc<(Document, NodeRef)>)>,
    queries: Vec<(CompactString, Rc<Query>)>,
}

/// Most queries that are kept.
const QUERIES: usize = 16;

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept { document: None, queries: Vec::new() }) };
}

/// The tree of a value of type xml, or of a row of nodes(), and the node that it is.
fn document(text: &CompactString) -> Result<Rc<(Document, NodeRef)>, SqlError> {
    let known = KEPT.with_borrow(|kept| kept.document.as_ref().filter(|d| d.0 == *text).map(|d| d.1.clone()));
    if let Some(known) = known {
        return Ok(known);
    }
    let read = match Document::of_row(text) {
        Some(row) => row,
        None => {
            let document = xml::read(text, Source::Bytes, Whitespace::Kept);
            (document.map_err(|e| SqlError::new(e.number, 16, 1, e.text))?, NodeRef::ROOT)
        }
    };
    let read = Rc::new(read);
    KEPT.with_borrow_mut(|kept| kept.document = Some((text.clone(), read.clone())));
    Ok(read)
}

fn compiled(text: &str, method: &str) -> Result<Rc<Query>, SqlError> {
    let known = KEPT.with_borrow(|kept| kept.queries.iter().find(|q| q.0 == text).map(|q| q.1.clone()));
    if let Some(known) = known {
        return Ok(known);
    }
    let query = Rc::new(Query::parse(text).map_err(|e| query_error(method, &e))?);
    KEPT.with_borrow_mut(|kept| {
        if kept.queries.len() >= QUERIES {
            kept.queries.remove(0);
        }
        kept.queries.push((text.into(), query.clone()));
    });
    Ok(query)
}

type Run<T> = fn(&Document, NodeRef, &[Option<Atom>], &Query) -> Result<T, QueryError>;

fn on_document(args: &[Value], method: &str, run: Run<Value>) -> Result<Value, SqlError> {
    let Some(Value::Str(text)) = args.first() else { return Ok(Value::Null) };
    let query = compiled(text_arg(args, 1), method)?;
    let document = document(text)?;
    let externals = externals(args)?;
    run(&document.0, document.1, &externals, &query).map_err(|e| query_error(method, &e))
}

/// The rows of nodes(): a value for each node that the query gives.
///
/// # Errors
/// Those of the query.
pub fn nodes(args: &[Value]) -> Result<Vec<Value>, SqlError> {
    let Some(Value::Str(text)) = args.first() else { return Ok(Vec::new()) };
    let query = compiled(text_arg(args, 1), "nodes")?;
    let document = document(text)?;
    let externals = externals(args)?;
    let answer = query.run(&document.0, document.1, &externals).map_err(|e| query_error("nodes", &e))?;
    Ok(answer.nodes().into_iter().map(|node| Value::str(document.0.row_text(node))).collect())
}

fn modify(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(Value::Str(text)) = args.first() else {
        let text = "Mutator 'modify()' cannot be called on a null value.";
        return Err(SqlError::new(5302, 16, 1, text));
    };
    let change = Change::parse(text_arg(args, 1)).map_err(|e| query_error("modify", &e))?;
    let document = document(text)?;
    let changed = change.apply(&document.0, &externals(args)?).map_err(|e| query_error("modify", &e))?;
    Ok(Value::str(changed))
}
