//! What waiting costs: many sessions wait in the queue of one lock, and the search for deadlocks
//! looks at them. Prints the part of one processor that the process takes meanwhile.
//!
//! `./bench waiters [WAITERS] [SECONDS]`

extern crate ringwood_txn as txn;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use txn::{LockManager, LockMode, LockOwner, LockTarget, Resource, WaitArgs};

/// Seconds that the process has been on processors.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |field: usize| fields.get(field - 3).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(14) + ticks(15)) / 100.0
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let (waiters, seconds) = (args.next().unwrap_or(10_000), args.next().unwrap_or(20) as u64);
    let locks = LockManager::new();
    let table = Resource { db: 1, what: LockTarget::Table(1) };
    let mut holder = LockOwner::new(locks.clone(), 50);
    holder.lock(table, LockMode::X, WaitArgs::default()).expect("it is free");
    let through = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for n in 0..waiters {
            let mut owner = LockOwner::new(locks.clone(), 51 + n as u32);
            let through = &through;
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            let wait = move || {
                let mode = if n % 2 == 0 { LockMode::X } else { LockMode::IX };
                owner.lock(table, mode, WaitArgs::default()).expect("it is no deadlock");
                through.fetch_add(1, Relaxed);
            };
            thread.spawn_scoped(scope, wait).expect("a thread");
        }
        while locks.waiting_count() < waiters {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (before, start) = (processor(), Instant::now());
        std::thread::sleep(Duration::from_secs(seconds));
        let part = (processor() - before) / start.elapsed().as_secs_f64();
        println!("{waiters} wait: {:.2} % of a processor", part * 100.0);
        let start = Instant::now();
        holder.release_all();
        while through.load(Relaxed) < waiters {
            std::thread::sleep(Duration::from_millis(1));
        }
        println!("all had their turn after {:.2} s", start.elapsed().as_secs_f64());
    });
    assert_eq!(locks.counters().0, 0);
}
