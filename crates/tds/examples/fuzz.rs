//! Random conversations, whole and damaged, for as long as asked:
//! `./fuzz wire -- SECONDS [FIRST_SEED]`. A failure names its seed.

#[path = "../tests/it/conversation/mod.rs"]
mod conversation;

use std::time::{Duration, Instant};

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let seconds = args.next().unwrap_or(60);
    let first = args.next().unwrap_or_else(|| fastrand::u64(..));
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        let seed = first.wrapping_add(rounds);
        if std::panic::catch_unwind(|| conversation::round(seed)).is_err() {
            eprintln!("seed {seed} failed: run again with `./fuzz wire {seed}`");
            std::process::exit(1);
        }
        rounds += 1;
    }
    println!("{rounds} conversations from seed {first} in {seconds} s: none failed");
}
