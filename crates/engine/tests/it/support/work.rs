//! What a query does, in counts: rows that its operators give, how often they are started, pages
//! that are read. Not times.

#![allow(dead_code)] // each test file uses its part

use super::text::Bench;

/// A line of the profile: rows, executions, operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub rows: u64,
    pub executions: u64,
    pub operator: String,
}

/// What the operators of a query did; the query must not fail.
pub fn profile(b: &mut Bench, sql: &str) -> Vec<Counted> {
    b.run("SET STATISTICS PROFILE ON");
    let said = b.run(sql);
    b.run("SET STATISTICS PROFILE OFF");
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    counted(&said)
}

fn counted(said: &str) -> Vec<Counted> {
    let line = |line: &str| {
        let mut fields = line.split('|');
        let number = |field: Option<&str>| field.and_then(|field| field.parse().ok()).unwrap_or(0);
        let (rows, executions) = (number(fields.next()), number(fields.next()));
        // A line of the tree has a bar of its own before the operator.
        let operator = line.split_once("|--").map_or("", |(_, tree)| tree);
        Counted {
            rows,
            executions,
            operator: operator.split(['(', '|']).next().unwrap_or("").to_owned(),
        }
    };
    said.lines().filter(|line| line.contains("|PLAN_ROW|")).map(line).collect()
}

/// The rows that a query gives, in order of their texts, and its work: rows and starts of all
/// operators and pages that are read.
pub fn work(b: &mut Bench, sql: &str) -> (Vec<String>, u64) {
    let said = b.run(sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
    let mut rows: Vec<String> = said.trim().lines().map(str::to_owned).collect();
    rows.sort();
    b.run("SET STATISTICS IO ON");
    let of_profile = profile(b, sql);
    let said = b.run(sql);
    b.run("SET STATISTICS IO OFF");
    let operators: u64 = of_profile.iter().map(|counted| counted.rows + counted.executions).sum();
    let pages: u64 = said.split("logical reads ").skip(1).map(leading_number).sum();
    assert!(!of_profile.is_empty() && pages > 0, "{sql}\n{said}");
    (rows, operators + pages)
}

fn leading_number(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number of reads")
}
