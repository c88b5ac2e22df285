//! How the time to compile the statements of `tests/it/support/nested_sql/mod.rs` grows with their
//! size: `./bench growth [--from N] [--rule NAME]`.
//! Each runs under SET NOEXEC ON with N, 2 N and 4 N of its rule, and as SHOWPLAN_XML; the shortest
//! of some runs counts. Rules that grow by more than 2.5 for a doubling are marked; those that are
//! refused by a limit are shown with the error.

extern crate ringwood_engine as engine;

#[path = "../tests/it/support/nested_sql/mod.rs"]
mod nested_sql;
#[path = "../tests/it/support/text.rs"]
mod text;

use nested_sql::{Rule, SCHEMA, all, batches};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use text::Bench;

/// Runs of each size.
const RUNS: usize = 3;
/// A doubling that takes more than this is marked.
const MOST: f64 = 2.5;
/// Shorter times say nothing of growth.
const LEAST: Duration = Duration::from_millis(3);

fn main() -> ExitCode {
    let (mut from, mut named) = (500, None);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        match (name.as_str(), given.next()) {
            ("--from", Some(n)) => from = n.parse().unwrap_or(from),
            ("--rule", Some(rule)) => named = Some(rule),
            _ => {
                eprintln!("usage: growth [--from N] [--rule NAME]");
                return ExitCode::FAILURE;
            }
        }
    }
    // A thread of its own: its stack is what an embedded instance may have.
    let run = move || {
        let mut bench = Bench::new();
        batches(SCHEMA).for_each(|batch| drop(bench.run(batch)));
        let wanted = |rule: &&Rule| named.as_deref().is_none_or(|name| rule.name.starts_with(name));
        let rules: Vec<&Rule> = all()
            .filter(|rule| rule.undo.is_empty() && !(rule.text)(2).contains("\nGO\n"))
            .collect();
        for option in ["NOEXEC", "SHOWPLAN_XML"] {
            rules
                .iter()
                .copied()
                .filter(&wanted)
                .for_each(|rule| show(&mut bench, option, rule, from));
        }
    };
    match std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .map(std::thread::JoinHandle::join)
    {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn show(bench: &mut Bench, option: &str, rule: &Rule, from: usize) {
    let times: Vec<(Duration, String)> = [from, from * 2, from * 4]
        .into_iter()
        .map(|n| least(bench, option, &(rule.text)(n)))
        .collect();
    let grows = |pair: &[(Duration, String)]| {
        pair[1].0 > LEAST && pair[1].0.as_secs_f64() > pair[0].0.as_secs_f64() * MOST
    };
    let mark = if times.windows(2).any(grows) { "*" } else { " " };
    let shown: Vec<String> = times
        .iter()
        .map(|(took, said)| format!("{:>9.1} {said:<9}", took.as_secs_f64() * 1e3))
        .collect();
    println!("{mark} {option:<12} {:<40} {}", rule.name, shown.join(" "));
}

/// The shortest of some runs, and the error that the statement ends with.
fn least(bench: &mut Bench, option: &str, text: &str) -> (Duration, String) {
    bench.run(&format!("SET {option} ON"));
    let mut least = (Duration::MAX, String::new());
    for run in 0..RUNS {
        // A text that has not been there.
        let text = format!("{text} --{run}");
        let began = Instant::now();
        let said = bench.run(&text);
        let took = began.elapsed();
        let error = said.lines().find_map(|line| line.strip_prefix("Msg ")?.split(':').next());
        if took < least.0 {
            least = (took, error.unwrap_or_default().chars().take(9).collect());
        }
        if took > Duration::from_secs(2) {
            break;
        }
    }
    bench.run(&format!("SET {option} OFF"));
    bench.run("IF @@TRANCOUNT > 0 ROLLBACK");
    least
}
