//! Random deadlocks of every kind, each of which must have its one victim soon: prints how many
//! there were, how long the longest stood, and how many victims were not needed. Fails when one
//! stood for over 6 seconds, was missed, or had a needless victim.
//!
//! `./fuzz deadlocks -- [DEADLOCKS] [SEED] [ARENAS]`

#[path = "support/deadlocks.rs"]
mod deadlocks;

use ringwood_engine::{Instance, InstanceOptions};
use std::sync::atomic::Ordering::Relaxed;

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("a number"));
    let (count, seed) = (args.next().unwrap_or(1000), args.next().unwrap_or(1));
    let arenas = args.next().unwrap_or(4) as usize;
    let folder = tempfile::tempdir().expect("a folder");
    let instance = Instance::open(InstanceOptions::new(folder.path())).expect("an instance");
    let outcome = deadlocks::make_deadlocks(&instance, arenas, count, seed);
    println!("{}", outcome.json());
    let bad = [&outcome.needless, &outcome.wrong, &outcome.missed].map(|of| of.load(Relaxed));
    let failed = bad != [0; 3] || outcome.longest_us.load(Relaxed) > 6_000_000;
    instance.close().expect("closed");
    drop(instance);
    std::process::exit(i32::from(failed));
}
