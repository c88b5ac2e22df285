//! Random conversations against a live server, for some seconds. Longer:
//! `./fuzz server -- SECONDS [SEED]`.

use crate::{alone, live};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Growth of memory that a few seconds of this may leave: pools, caches, and what the allocator
/// keeps.
const GROWTH: u64 = 256 << 20;

#[test]
fn a_server_survives_what_clients_send() {
    static PANICS: AtomicU64 = AtomicU64::new(0);
    let _alone = alone();
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        shown(info);
    }));
    let server = live::server();
    let report = live::run(&server, Duration::from_secs(4), 4, 1);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{report:?}");
    assert!(report.conversations > 10, "{report:?}");
    assert!(report.slowest < live::PATIENCE, "{report:?}");
    assert!(report.grown < GROWTH, "{report:?}");
}
