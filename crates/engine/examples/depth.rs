//! Runs each statement of `tests/it/support/nested_sql/mod.rs` in sizes from 1 to 100,000, doubled:
//! `./fuzz depth [--rule NAME] [--least N] [--most N] [--stack KB] [--limit MS]`. Each rule has a
//! process of its own, so that one that ends it is known by its name. The statements run on a
//! thread with a stack of 2 MB, or as much as is asked for. A statement that runs longer than the
//! limit is told to stop, and has a second for that. Exits with 1 if a process ended, a statement
//! did not, or more than 2 GB of memory were in use.

extern crate ringwood_engine as engine;

#[path = "../tests/it/support/nested_sql/mod.rs"]
mod nested_sql;
#[path = "../tests/it/support/text.rs"]
mod text;

use nested_sql::{Rule, SCHEMA, all, batches};
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use text::{Bench, Text};

/// How long a statement that was told to stop may go on.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most memory of a process, in MB.
const MOST_MEMORY: u64 = 2_048;

struct Arguments {
    rule: Option<String>,
    least: usize,
    most: usize,
    stack: usize,
    limit: Duration,
    child: bool,
}

fn arguments() -> Option<Arguments> {
    let mut out = Arguments {
        rule: None,
        least: 1,
        most: 100_000,
        stack: 2_048,
        limit: Duration::from_secs(2),
        child: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        match name.as_str() {
            "--child" => out.child = true,
            "--rule" => out.rule = Some(given.next()?),
            "--least" => out.least = given.next()?.parse().ok().filter(|least| *least > 0)?,
            "--most" => out.most = given.next()?.parse().ok()?,
            "--stack" => out.stack = given.next()?.parse().ok()?,
            "--limit" => out.limit = Duration::from_millis(given.next()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(out)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("usage: depth [--rule NAME] [--least N] [--most N] [--stack KB] [--limit MS]");
        return ExitCode::FAILURE;
    };
    if arguments.child {
        let named = all().find(|rule| Some(rule.name) == arguments.rule.as_deref());
        return named.map_or(ExitCode::FAILURE, |rule| child(rule, &arguments));
    }
    let wanted =
        |rule: &&Rule| arguments.rule.as_deref().is_none_or(|name| rule.name.starts_with(name));
    let rules: Vec<&Rule> = all().filter(wanted).collect();
    let mut bad = 0;
    for rule in &rules {
        if let Err(fault) = parent(rule, &arguments) {
            bad += 1;
            println!("{}: {fault}", rule.name);
        }
    }
    println!("{} rules, {bad} are faults", rules.len());
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a rule in a process of its own.
fn parent(rule: &Rule, arguments: &Arguments) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let limit = arguments.limit.as_millis();
    let output = Command::new(this)
        .args(["--child", "--rule", rule.name, "--most", &arguments.most.to_string()])
        .args(["--least", &arguments.least.to_string()])
        .args(["--stack", &arguments.stack.to_string(), "--limit", &limit.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| e.to_string())?;
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        println!("{:<40} {}", rule.name, said.lines().last().unwrap_or_default());
        return Ok(());
    }
    let last = said.lines().last().unwrap_or_default();
    let errors: Vec<&str> = errors.lines().filter(|line| !line.is_empty()).take(4).collect();
    Err(format!("{}, after \"{last}\": {}", output.status, errors.join(" | ")))
}

fn child(rule: &'static Rule, arguments: &Arguments) -> ExitCode {
    let (least, most, limit) = (arguments.least, arguments.most, arguments.limit);
    let run = move || {
        let mut bench = Bench::new();
        batches(SCHEMA).for_each(|batch| assert_eq!(bench.run(batch), "(3)\n(2)\n"));
        let (mut n, mut said) = (least, String::new());
        while n <= most {
            say(&format!("{said} next {n}"));
            said = format!("{n}: {}", one(&mut bench, rule, n, limit));
            say(&said);
            n = if n < most { (n * 2).min(most) } else { n + 1 };
        }
    };
    let thread = std::thread::Builder::new().stack_size(arguments.stack << 10).spawn(run);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// A line that the parent sees although the process ends after it.
fn say(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

/// A statement of this size: as it is, and as a plan. What the last batch said.
fn one(bench: &mut Bench, rule: &Rule, n: usize, limit: Duration) -> String {
    let text = (rule.text)(n);
    let mut said = String::new();
    for batch in batches(&text) {
        said = timed(bench, batch, limit);
    }
    if !text.contains("\nGO\n") && rule.undo.is_empty() {
        for option in ["SHOWPLAN_XML", "SHOWPLAN_ALL", "STATISTICS PROFILE"] {
            bench.run(&format!("SET {option} ON"));
            timed(bench, &text, limit);
            bench.run(&format!("SET {option} OFF"));
        }
    }
    bench.run(&format!("IF @@TRANCOUNT > 0 ROLLBACK {}", rule.undo));
    said
}

/// Runs a batch, which is told to stop after some time; how it ended.
fn timed(bench: &mut Bench, batch: &str, limit: Duration) -> String {
    let (cancel, (ended, over)) = (bench.session.cancel_handle(), mpsc::channel::<()>());
    let watch = std::thread::spawn(move || {
        let until = Instant::now() + limit;
        let mut told = None;
        loop {
            if !matches!(
                over.recv_timeout(Duration::from_millis(20)),
                Err(mpsc::RecvTimeoutError::Timeout)
            ) {
                return;
            }
            if memory() > MOST_MEMORY {
                fault(&format!("{} MB of memory", memory()));
            }
            if told.is_some_and(|told: Instant| told.elapsed() > PATIENCE + limit) {
                fault("a statement does not stop");
            }
            if told.is_none() && Instant::now() >= until {
                told = Some(Instant::now());
            }
            if told.is_some() {
                cancel.cancel();
            }
        }
    });
    let (began, mut out) = (Instant::now(), Text::default());
    bench.session.execute(batch, &mut out);
    let took = began.elapsed();
    drop(ended);
    let _ = watch.join();
    if took > limit + PATIENCE {
        fault(&format!("a statement stopped after {took:?}"));
    }
    let error = out
        .out
        .lines()
        .find(|line| line.starts_with("Msg "))
        .map(|line| line.chars().take(60).collect());
    format!("{:.1} ms, {}", took.as_secs_f64() * 1e3, error.unwrap_or_else(|| "runs".to_owned()))
}

fn fault(text: &str) -> ! {
    eprintln!("{text}");
    std::process::exit(1)
}

/// Memory of the process, in MB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or_default() * 4 / 1024
}
