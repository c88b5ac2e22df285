//! Runs many seeds of the crash explorer: `./fuzz crash [--seeds N] [--from SEED]`. Prints progress
//! and the seeds that fail; exit code 1 if any did. A failing seed replays with `./fuzz crash
//! SEED`.

#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Instant;

use support::explorer::{Tally, explore};

fn argument(name: &str, default: u64) -> u64 {
    let mut args = std::env::args().skip_while(|a| a != name);
    args.nth(1).and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn main() {
    let (seeds, from) = (argument("--seeds", 1000), argument("--from", 0));
    let (start, mut sum, mut failed) = (Instant::now(), Tally::default(), 0u64);
    for seed in from..from.saturating_add(seeds) {
        // A panic inside a seed is a failure of that seed, not the end of the run.
        match std::panic::catch_unwind(|| explore(seed)) {
            Ok(Ok(tally)) => sum.add(&tally),
            Ok(Err(text)) => {
                failed += 1;
                println!("FAILED {text}");
            }
            Err(_) => {
                failed += 1;
                println!("FAILED seed {seed}: panic");
            }
        }
        let done = seed - from + 1;
        if done % 100 == 0 {
            println!(
                "{done} seeds, {failed} failed, {:.1} s, {sum:?}",
                start.elapsed().as_secs_f64()
            );
        }
    }
    println!(
        "{seeds} seeds from {from}: {failed} failed, {:.1} s, {sum:?}",
        start.elapsed().as_secs_f64()
    );
    std::process::exit(i32::from(failed > 0));
}
