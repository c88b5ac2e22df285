//! How often the lab's intervals miss the truth, on simulated rounds with drift, places that matter
//! and noise of unequal sizes.
//!
//! ```text
//! cargo run --release -p ringwood-lab --example coverage [STUDIES]
//! ```

use ringwood_lab::frame::simulate::{Conditions, MissedIntervals, Noise, Order, simulate};

fn main() {
    let studies = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10_000);
    println!(
        "{studies} studies each; missed by the interval of a ratio, of a slow level and of a best one against the best"
    );
    for count in [6, 7, 8, 12, 16, 32] {
        let mut all = MissedIntervals::default();
        for noise in Noise::ALL {
            let missed =
                simulate(&Conditions::bad(noise), Order::Balanced, count, studies, count as u64);
            show(count, &format!("{noise:?}"), missed);
            all = all.and(missed);
        }
        show(count, "all", all);
    }
    let fixed = simulate(&Conditions::bad(Noise::Normal), Order::SlowLast, 6, studies, 1);
    show(6, "the slow one always last", fixed);
}

fn show(count: usize, what: &str, missed: MissedIntervals) {
    let share = |n: usize| 100.0 * n as f64 / missed.studies.max(1) as f64;
    println!(
        "{count:>3} rounds, {what:<26} {:5.2} % {:5.2} % {:5.2} %",
        share(missed.ratio),
        share(missed.slow),
        share(missed.best)
    );
}
