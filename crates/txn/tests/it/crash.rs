//! Crash tests in the normal run: some hundred seeds of the explorer. `./fuzz crash` runs more.

use std::sync::mpsc;
use std::time::Duration;

use crate::support::explorer::{Tally, explore};

const SEEDS: u64 = 300;
/// A seed takes a fraction of a second; one that is not done after this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn crashes_anywhere_lose_nothing_acknowledged() {
    let (done, results) = mpsc::channel();
    for part in 0..2 {
        let done = done.clone();
        std::thread::spawn(move || {
            for seed in (0..SEEDS).filter(|s| s % 2 == part) {
                let result = std::panic::catch_unwind(|| explore(seed));
                if done
                    .send(result.unwrap_or_else(|_| Err(format!("seed {seed} panicked"))))
                    .is_err()
                {
                    return;
                }
            }
        });
    }
    drop(done);
    let mut sum = Tally::default();
    for n in 0..SEEDS {
        let result =
            results.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("hangs after {n} seeds"));
        sum.add(&result.unwrap_or_else(|e| panic!("{e}")));
    }
    println!("{sum:?}");
    // The load must have met what it is meant to test.
    assert!(
        sum.crashed > SEEDS / 2 && sum.undone > SEEDS / 2 && sum.log_full > 5 && sum.waits > SEEDS
    );
}
