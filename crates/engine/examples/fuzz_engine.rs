//! Fuzzes the binder and the evaluator for a while: `./fuzz engine [--seconds N] [--seed S]`.
//! Prints what went wrong with its seed, and goes on, and every ten seconds how far it is; exits
//! with 1 if anything did. `./fuzz engine SEED` runs one.

extern crate ringwood_engine as engine;

#[path = "../tests/it/support/random_sql.rs"]
mod random_sql;

use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let (mut seconds, mut seed) = (60, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
        match (name.as_str(), value) {
            ("--seconds", Some(n)) => seconds = n,
            ("--seed", Some(n)) => seed = n,
            _ => {
                eprintln!("usage: fuzz_engine [--seconds N] [--seed S]");
                return ExitCode::FAILURE;
            }
        }
    }
    let mut target = random_sql::Target::new();
    let (start, first) = (Instant::now(), seed);
    let (mut good, mut bad) = (0_u64, 0_u64);
    let mut told = start;
    loop {
        match target.try_one(seed) {
            Ok(succeeded) => good += u64::from(succeeded),
            Err(e) => {
                bad += 1;
                println!("{e}\n");
            }
        }
        seed += 1;
        if told.elapsed() >= Duration::from_secs(10) {
            told = Instant::now();
            eprintln!(
                "{} s: {} statements, {good} succeed, {bad} are faults",
                start.elapsed().as_secs(),
                seed - first
            );
        }
        if start.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
    }
    println!("{} statements, {good} succeed, {bad} are faults", seed - first);
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
