//! Statements that are told to stop at each of the questions that their compilation asks: it ends
//! there with the error of a cancel, and asks more often the more there is to compile.

#![cfg(debug_assertions)]

use crate::support::nested_sql::{self, Rule, SCHEMA, batches};
use crate::support::text::Bench;
use bind::asks;

/// The error of a statement that was told to stop.
const CANCELLED: &str = "Msg 3617";
/// Questions at which a statement is stopped: all of the first ones, then some.
const ALL: u64 = 60;
/// Questions that one may ask on its way out, for each time that its rule stands in it: what is
/// rewritten asks at each node and leaves it as it is.
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
    let rules: Vec<&Rule> = rules
        .iter()
        .filter(|rule| rule.undo.is_empty() && !(rule.text)(2).contains("\nGO\n"))
        .collect();
    let mut more = 0;
    for rule in &rules {
        let (few, many) =
            (stopped_everywhere(&mut bench, rule, 8), stopped_everywhere(&mut bench, rule, 32));
        println!("{:<40} {few} {many}", rule.name);
        more += usize::from(many > few);
    }
    // Some are refused, or mean the same however often they are repeated.
    assert!(
        more * 4 >= rules.len() * 3,
        "of {} rules {more} ask more often when there is more",
        rules.len()
    );
}

#[test]
fn queries_stop_wherever_they_ask() {
    all(nested_sql::QUERIES);
}

#[test]
fn expressions_stop_wherever_they_ask() {
    all(nested_sql::EXPRESSIONS);
}

/// Compiles a text that has not been there, stopped at a question; what was said, and how often it
/// has asked.
fn stopped(bench: &mut Bench, text: &str, at: Option<u64>) -> (String, u64) {
    asks::stop_at(at);
    let said = bench.run(&format!("{text} {}", at.unwrap_or(0)));
    let asked = asks::asked();
    asks::stop_at(None);
    (said, asked)
}

/// What a batch takes before its statements are bound, and after: its variables, its flow, its
/// secrets, its shown plans.
#[test]
fn long_batches_stop_wherever_they_ask() {
    let mut bench = Bench::new();
    batches(SCHEMA).for_each(|batch| drop(bench.run(batch)));
    let each = |n: usize, part: &dyn Fn(usize) -> String| (0..n).map(part).collect::<String>();
    let variables = each(1_500, &|i| format!("DECLARE @v{i} INT IF @v{i} = 1 GOTO l{i} l{i}: "));
    let secrets = format!("SELECT PWDCOMPARE('a', 0x02){} ", ", 1".repeat(1_000)).repeat(3);
    let tables = each(700, &|i| format!(", s t{i}"));
    let joined = format!("SELECT 1 FROM s{tables}");
    // The number: at least so many questions.
    for (option, text, least) in [
        ("NOEXEC", &variables, 40),
        ("NOEXEC", &secrets, 30),
        ("SHOWPLAN_TEXT", &joined, 700),
        ("SHOWPLAN_ALL", &joined, 700),
        ("SHOWPLAN_XML", &joined, 700),
    ] {
        bench.run(&format!("SET {option} ON"));
        // What has been compiled before is not compiled again.
        let text = &format!("{text} --{option}");
        let (said, all) = stopped(&mut bench, text, None);
        assert!(!said.contains("Msg") && all > least, "{option}: asks {all} times, {said}");
        for at in (1..=40).chain(all - 20..=all) {
            let (said, asked) = stopped(&mut bench, text, Some(at));
            assert!(
                said.contains(CANCELLED),
                "{option} of {:.40}, stopped at {at} of {all}: {said}",
                text
            );
            assert!(
                asked < at + 5_000,
                "{option} of {:.40}, stopped at {at}: asks until {asked}",
                text
            );
        }
        bench.run(&format!("SET {option} OFF"));
    }
}
