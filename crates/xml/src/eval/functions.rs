//! The functions of queries: SQL Server's list.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::{Evaluation, Items};
use crate::error::QueryError;
use crate::item::{Atom, Item};
use crate::pace::{Pace, pieces};
use crate::path::{Callee, Expr};

type Call = fn(&mut Evaluation<'_>, &[Items]) -> Result<Items, QueryError>;

/// A function; `context`: without an argument it takes the item at hand.
struct Function {
    name: &'static str,
    takes: RangeInclusive<usize>,
    context: bool,
    /// Gives as many items as it gets.
    many: bool,
    call: Call,
}

const fn f(name: &'static str, least: usize, most: usize, call: Call) -> Function {
    Function { name, takes: least..=most, context: false, many: false, call }
}

const fn of_context(name: &'static str, call: Call) -> Function {
    Function { name, takes: 0..=1, context: true, many: false, call }
}

static FUNCTIONS: &[Function] = &[
    f("true", 0, 0, |_, _| one(Atom::Bool(true))),
    f("false", 0, 0, |_, _| one(Atom::Bool(false))),
    f("not", 1, 1, |run, args| one(Atom::Bool(!run.truth(&args[0])?))),
    f("boolean", 1, 1, |run, args| one(Atom::Bool(run.truth(&args[0])?))),
    f("empty", 1, 1, |_, args| one(Atom::Bool(args[0].is_empty()))),
    f("count", 1, 1, |_, args| one(Atom::Number(args[0].len() as f64))),
    f("position", 0, 0, |run, _| one(Atom::Number(run.focus().position as f64))),
    f("last", 0, 0, |run, _| one(Atom::Number(run.focus().last as f64))),
    f("sum", 1, 1, |run, args| one(Atom::Number(numbers(run, &args[0])?.iter().sum()))),
    f("avg", 1, 1, |run, args| {
        let all = numbers(run, &args[0])?;
        if all.is_empty() {
            Ok(Vec::new())
        } else {
            one(Atom::Number(all.iter().sum::<f64>() / all.len() as f64))
        }
    }),
    f("min", 1, 1, |run, args| best(run, &args[0], true)),
    f("max", 1, 1, |run, args| best(run, &args[0], false)),
    Function {
        many: true,
        ..f("data", 1, 1, |run, args| {
            Ok(run.atoms(&args[0])?.into_iter().map(Item::from).collect())
        })
    },
    Function {
        many: true,
        ..f("distinct-values", 1, 1, |run, args| {
            let mut seen = HashSet::new();
            let mut out = Vec::new();
            for atom in run.atoms(&args[0])? {
                run.pace.step(atom.bytes())?;
                if seen.insert(atom.text().into_owned()) {
                    out.push(atom.into());
                }
            }
            Ok(out)
        })
    },
    of_context("string", |run, args| one(Atom::Text(text(run, args, 0)?))),
    of_context("number", |run, args| {
        one(Atom::Number(run.first(&args[0])?.as_ref().map_or(f64::NAN, Atom::number)))
    }),
    of_context("string-length", |run, args| {
        let mut units = 0;
        for piece in pieces(&text(run, args, 0)?, run.pace) {
            units += piece?.encode_utf16().count();
        }
        one(Atom::Number(units as f64))
    }),
    of_context("local-name", |run, args| {
        one(Atom::Text(run.name_of(&args[0]).map(|n| n.local.to_string()).unwrap_or_default()))
    }),
    of_context("namespace-uri", |run, args| {
        one(Atom::Text(run.name_of(&args[0]).map(|n| n.uri.to_string()).unwrap_or_default()))
    }),
    f("concat", 2, 64, |run, args| {
        one(Atom::Text((0..args.len()).map(|i| text(run, args, i)).collect::<Result<_, _>>()?))
    }),
    f("contains", 2, 2, |run, args| contains(&text(run, args, 0)?, &text(run, args, 1)?, run.pace)),
    f("upper-case", 1, 1, |run, args| mapped(run, &text(run, args, 0)?, str::to_uppercase)),
    f("lower-case", 1, 1, |run, args| mapped(run, &text(run, args, 0)?, str::to_lowercase)),
    f("substring", 2, 3, substring),
    f("floor", 1, 1, |run, args| rounded(run, &args[0], f64::floor)),
    f("ceiling", 1, 1, |run, args| rounded(run, &args[0], f64::ceil)),
    f("round", 1, 1, |run, args| rounded(run, &args[0], |n| (n + 0.5).floor())),
];

/// The function of a name, and how many arguments it takes.
pub(crate) fn find(name: &str) -> Option<(Callee, &'static RangeInclusive<usize>)> {
    let place = FUNCTIONS.iter().position(|f| f.name == name)?;
    let function = &FUNCTIONS[place];
    Some((Callee { name: function.name, many: function.many, place }, &function.takes))
}

/// Calls a function that [`find`] has found.
pub(super) fn call(
    run: &mut Evaluation<'_>,
    callee: Callee,
    args: &[Expr],
) -> Result<Items, QueryError> {
    let function = &FUNCTIONS[callee.place];
    let mut values = Vec::with_capacity(args.len().max(1));
    for arg in args {
        values.push(run.eval(arg)?);
    }
    if function.context && args.is_empty() {
        values.push(vec![run.focus().item.clone()]);
    }
    (function.call)(run, &values)
}

fn one(atom: Atom) -> Result<Items, QueryError> {
    Ok(vec![atom.into()])
}

fn text(run: &Evaluation<'_>, args: &[Items], at: usize) -> Result<String, QueryError> {
    let first = args.get(at).map_or(Ok(None), |items| run.first(items))?;
    Ok(first.map(Atom::into_text).unwrap_or_default())
}

fn numbers(run: &Evaluation<'_>, items: &Items) -> Result<Vec<f64>, QueryError> {
    items.iter().map(|item| Ok(run.atom(item)?.number())).collect()
}

/// Whether a text is in another one. It is looked for in stretches, which overlap by its length.
fn contains(text: &str, part: &str, pace: &Pace<'_>) -> Result<Items, QueryError> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let stretch = part.len().max(4 << 10) * 2;
    let mut at = 0;
    loop {
        let end = text.len().min(at + stretch);
        pace.step(end - at)?;
        if memchr::memmem::find(&text[at..end], part).is_some() {
            return one(Atom::Bool(true));
        }
        if end == text.len() {
            return one(Atom::Bool(false));
        }
        at = end - part.len();
    }
}

/// A text changed part by part.
fn mapped(run: &Evaluation<'_>, text: &str, map: fn(&str) -> String) -> Result<Items, QueryError> {
    let mut out = String::new();
    for piece in pieces(text, run.pace) {
        out.push_str(&map(piece?));
    }
    one(Atom::Text(out))
}

/// MIN and MAX: of numbers where all are, else of texts.
fn best(run: &Evaluation<'_>, items: &Items, least: bool) -> Result<Items, QueryError> {
    let atoms = run.atoms(items)?;
    let numeric = atoms.iter().all(|a| !matches!(a, Atom::Text(_)) && !a.number().is_nan());
    let less =
        |a: &Atom, b: &Atom| if numeric { a.number() < b.number() } else { a.text() < b.text() };
    let mut found: Option<&Atom> = None;
    for atom in &atoms {
        run.pace.step(atom.bytes())?;
        if found.is_none_or(|best| if least { less(atom, best) } else { less(best, atom) }) {
            found = Some(atom);
        }
    }
    match found {
        None => Ok(Vec::new()),
        Some(atom) if numeric => one(Atom::Number(atom.number())),
        Some(atom) => one(atom.clone()),
    }
}

fn rounded(
    run: &Evaluation<'_>,
    items: &Items,
    round: fn(f64) -> f64,
) -> Result<Items, QueryError> {
    match run.first(items)? {
        None => Ok(Vec::new()),
        Some(atom) => one(Atom::Number(round(atom.number()))),
    }
}

/// Characters from a place on, places counted from 1 and rounded.
fn substring(run: &mut Evaluation<'_>, args: &[Items]) -> Result<Items, QueryError> {
    let number = |at: usize| match args.get(at) {
        Some(items) => Ok(Some(run.first(items)?.as_ref().map_or(f64::NAN, Atom::number))),
        None => Ok::<_, QueryError>(None),
    };
    let start = number(1)?.unwrap_or(1.0).round();
    let end = number(2)?.map_or(f64::INFINITY, |length| start + length.round());
    let inside = |at: usize| (at as f64 + 1.0) >= start && (at as f64 + 1.0) < end;
    let (mut out, mut before) = (String::new(), 0);
    for piece in pieces(&text(run, args, 0)?, run.pace) {
        for c in piece?.chars() {
            if inside(before) {
                out.push(c);
            }
            before += 1;
        }
    }
    one(Atom::Text(out))
}
