//! What the server counts. Each thread counts in one of several cells, so that cores do not meet at
//! a counter that every request changes; whoever reads adds the cells up.

use engine::instance::figures::Packets;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Cells of counters.
const CELLS: usize = 16;
/// Least and highest severity of an error.
const SEVERITIES: std::ops::RangeInclusive<u8> = 11..=25;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerCount {
    /// A connection was accepted.
    Connections,
    /// A request began: a batch, calls, a transaction request, a bulk load.
    Requests,
    /// An attention came.
    Attentions,
    BytesReceived,
    BytesSent,
    PacketsReceived,
    PacketsSent,
    /// A connection broke, or what came on it was no packet.
    PacketErrors,
    LoginsSucceeded,
    LoginsFailed,
}

/// Counters of one event each, then of errors by severity.
const EVENTS: usize = ServerCount::LoginsFailed as usize + 1;
const SLOTS: usize = EVENTS + (*SEVERITIES.end() - *SEVERITIES.start()) as usize + 1;

/// Its own cache lines.
#[repr(align(128))]
#[derive(Debug)]
struct Cell([AtomicU64; SLOTS]);

/// All counters of a server.
#[derive(Debug)]
pub struct Counters(Box<[Cell]>);

static NEXT_CELL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CELL: usize = NEXT_CELL.fetch_add(1, Relaxed) % CELLS;
}

impl Counters {
    /// Everything at 0.
    pub fn new() -> Counters {
        Counters((0..CELLS).map(|_| Cell(std::array::from_fn(|_| AtomicU64::new(0)))).collect())
    }

    fn slot(&self, slot: usize, more: u64) {
        CELL.with(|cell| self.0[*cell].0[slot].fetch_add(more, Relaxed));
    }

    fn sum(&self, slot: usize) -> u64 {
        self.0.iter().map(|cell| cell.0[slot].load(Relaxed)).sum()
    }

    /// It happened so many times more.
    pub fn add(&self, what: ServerCount, more: u64) {
        self.slot(what as usize, more);
    }

    /// A client was told of an error.
    pub fn error(&self, severity: u8) {
        let severity = severity.clamp(*SEVERITIES.start(), *SEVERITIES.end());
        self.slot(EVENTS + usize::from(severity - SEVERITIES.start()), 1);
    }

    /// How often it has happened.
    pub fn get(&self, what: ServerCount) -> u64 {
        self.sum(what as usize)
    }

    /// Errors that clients were told of, by severity.
    pub fn errors(&self) -> impl Iterator<Item = (u8, u64)> {
        SEVERITIES.map(|severity| {
            (severity, self.sum(EVENTS + usize::from(severity - SEVERITIES.start())))
        })
    }
}

impl Packets for Counters {
    fn received(&self) -> u64 {
        self.get(ServerCount::PacketsReceived)
    }

    fn sent(&self) -> u64 {
        self.get(ServerCount::PacketsSent)
    }

    fn errors(&self) -> u64 {
        self.get(ServerCount::PacketErrors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_together() {
        let counters = Counters::new();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    counters.add(ServerCount::BytesSent, 3);
                    counters.error(16);
                    counters.error(99);
                });
            }
        });
        assert_eq!(
            (counters.get(ServerCount::BytesSent), counters.get(ServerCount::BytesReceived)),
            (120, 0)
        );
        let errors: Vec<_> = counters.errors().filter(|(_, n)| *n > 0).collect();
        assert_eq!(errors, [(16, 40), (25, 40)]);
    }
}
