//! Crash tests in the normal run: a few hundred seeds of the explorer. `cargo run --example crash_explorer` runs more.

mod support;

use support::explorer::{Tally, explore};

#[test]
fn crashes_anywhere_lose_nothing_acknowledged() {
    const SEEDS: u64 = 300;
    let parts: Vec<_> = (0..2u64)
        .map(|part| {
            std::thread::spawn(move || {
                let mut sum = Tally::default();
                for seed in (0..SEEDS).filter(|s| s % 2 == part) {
                    sum.add(&explore(seed).unwrap_or_else(|e| panic!("{e}")));
                }
                sum
            })
        })
        .collect();
    let mut sum = Tally::default();
    for p in parts {
        sum.add(&p.join().unwrap());
    }
    println!("{sum:?}");
    // The load must have met what it is meant to test.
    assert!(
        sum.crashed > SEEDS / 2 && sum.undone > SEEDS / 2 && sum.commits > 10 * SEEDS && sum.waits > SEEDS
    );
}
