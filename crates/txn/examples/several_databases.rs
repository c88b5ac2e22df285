//! Runs many seeds of crash histories over two and three databases: `./fuzz databases SEEDS FROM`.
//! Prints the seeds that fail; exit code 1 if any did. Seeds with one session (0 and 1 of each six)
//! replay exactly.

#[path = "../tests/it/support/mod.rs"]
mod support;

use std::time::Instant;

use support::several::{Tally, explore};

fn argument(n: usize, default: u64) -> u64 {
    std::env::args().nth(n).and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn main() {
    let (seeds, from) = (argument(1, 2000), argument(2, 0));
    let (start, mut sum, mut failed) = (Instant::now(), Tally::default(), 0u64);
    for seed in from..from.saturating_add(seeds) {
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
    }
    println!(
        "{seeds} seeds from {from}: {failed} failed, {:.1} s, {sum:?}",
        start.elapsed().as_secs_f64()
    );
    std::process::exit(i32::from(failed > 0));
}
