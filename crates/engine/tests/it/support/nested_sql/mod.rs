//! Statements of any size: one rule of the grammar repeated, chained or nested so many times. What
//! the server may do with each is to run it or to refuse it with an error, soon after it was told
//! to stop; never to end, nor to take all memory.
#![allow(dead_code)] // the tests and the examples use their parts

mod definitions;
mod documents;
mod expressions;
mod queries;
mod statements;

pub use self::statements::RULES as STATEMENTS;
pub use definitions::RULES as DEFINITIONS;
pub use documents::RULES as DOCUMENTS;
pub use expressions::RULES as EXPRESSIONS;
pub use queries::RULES as QUERIES;
use std::fmt::Write as _;

/// What the statements name.
pub const SCHEMA: &str = "
CREATE TABLE t (a int NOT NULL, b int NULL, c varchar(20) NULL, x xml NULL)
INSERT t VALUES (1, 2, 'x', '<r><i>1</i></r>'), (2, 3, 'y', NULL), (3, NULL, NULL, '<r/>')
CREATE TABLE s (a int NOT NULL PRIMARY KEY, b int NULL)
INSERT s VALUES (1, 1), (2, 4)";

/// A rule of the grammar, and the statement in which it stands so many times.
pub struct Rule {
    pub name: &'static str,
    pub text: fn(usize) -> String,
    /// Each run wants a name of its own: the statement makes objects, which are dropped by this.
    pub undo: &'static str,
}

const fn rule(name: &'static str, text: fn(usize) -> String) -> Rule {
    Rule { name, text, undo: "" }
}

/// `f(0)`, `f(1)`, ... with something between.
fn list(n: usize, between: &str, f: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for i in 0..n {
        if i > 0 {
            out.push_str(between);
        }
        out.push_str(&f(i));
    }
    out
}

fn around(n: usize, open: &str, inside: &str, close: &str) -> String {
    let mut out = String::with_capacity(n * (open.len() + close.len()) + inside.len());
    (0..n).for_each(|_| out.push_str(open));
    out.push_str(inside);
    (0..n).for_each(|_| out.push_str(close));
    out
}

/// `WITH c0 AS (first), c1 AS (next of c0), ... last of the last one`.
fn chained(n: usize, first: &str, next: impl Fn(usize) -> String, last: &str) -> String {
    let mut out = format!("WITH c0 AS ({first})");
    for i in 1..=n {
        let _ = write!(out, ", c{i} AS ({})", next(i - 1));
    }
    let _ = write!(out, " {}", last.replace("LAST", &format!("c{n}")));
    out
}

/// A batch for each object of a chain, separated by GO.
fn objects(n: usize, f: impl Fn(usize) -> String) -> String {
    list(n.min(60), "\nGO\n", f)
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    EXPRESSIONS.iter().chain(QUERIES).chain(DOCUMENTS).chain(STATEMENTS).chain(DEFINITIONS)
}

/// The batches of a text.
pub fn batches(text: &str) -> impl Iterator<Item = &str> {
    text.split("\nGO\n").filter(|batch| !batch.is_empty())
}
