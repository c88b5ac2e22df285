//! Statements that are told to stop at each of the questions that their compilation asks: it ends there with the error of a cancel,
//! and asks more often the more there is to compile.

#![cfg(debug_assertions)]

extern crate ringwood_engine as engine;

#[path = "support/nested_sql/mod.rs"]
mod nested_sql;
#[path = "support/text.rs"]
mod text;

use nested_sql::{Rule, SCHEMA, batches};
use plan::asks;
use text::Bench;

/// The error of a statement that was told to stop.
const CANCELLED: &str = "Msg 3617";
/// Questions at which a statement is stopped: all of the first ones, then some.
const ALL: u64 = 60;
/// Questions that one may ask on its way out, for each time that its rule stands in it: what is rewritten asks at each node and
/// leaves it as it is.
const MORE: u64 = 4;

/// How often compiling a rule asks, which is stopped at each of its questions.
fn stopped_everywhere(bench: &mut Bench, rule: &Rule, n: usize) -> u64 {
    let text = (rule.text)(n);
    let mut at = 1;
    loop {
        asks::stop_at(Some(at));
        let said = bench.run(&text);
        let asked = asks::asked();
        asks::stop_at(None);
        if asked < at {
            return asked;
        }
        assert!(said.contains(CANCELLED), "{} x {n}, stopped at {at}: {said}", rule.name);
        let most = at + (n as u64 + 8) * MORE;
        assert!(asked < most, "{} x {n}, stopped at {at}: asks until {asked}", rule.name);
        at += if at < ALL { 1 } else { at / 3 };
    }
}

fn all(rules: &'static [Rule]) {
    let mut bench = Bench::new();
    batches(SCHEMA).for_each(|batch| drop(bench.run(batch)));
    // What they would give is not asked for.
    bench.run("SET NOEXEC ON");
    let rules: Vec<&Rule> =
        rules.iter().filter(|rule| rule.undo.is_empty() && !(rule.text)(2).contains("\nGO\n")).collect();
    let mut more = 0;
    for rule in &rules {
        let (few, many) = (stopped_everywhere(&mut bench, rule, 8), stopped_everywhere(&mut bench, rule, 32));
        println!("{:<40} {few} {many}", rule.name);
        more += usize::from(many > few);
    }
    // Some are refused, or mean the same however often they are repeated.
    assert!(more * 4 >= rules.len() * 3, "of {} rules {more} ask more often when there is more", rules.len());
}

#[test]
fn queries_stop_wherever_they_ask() {
    all(nested_sql::QUERIES);
}

#[test]
fn expressions_stop_wherever_they_ask() {
    all(nested_sql::EXPRESSIONS);
}
