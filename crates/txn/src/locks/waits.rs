//! A blocked request: its outcome, its clock, its place in the wait-for graph, and the wait
//! statistics. Guarantees: a waiter is decided exactly once (granted, victim, cancelled or timed
//! out).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::modes::{ALL_MODES, LockMode, MODES};
use super::names::{LockRequester, Node, OwnerId, Resource};
use super::table::QueueKey;

/// Why a lock was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// LOCK_TIMEOUT passed (SQL Server error 1222). The transaction stays as it was.
    #[error("lock request time out period exceeded on {resource:?}")]
    Timeout { resource: Resource },
    /// Chosen as deadlock victim (1205). The session's transaction must be rolled back.
    #[error("session {session} is a deadlock victim on {resource:?}")]
    Deadlock { resource: Resource, session: u32 },
    /// The wait was ended from outside (KILL, attention).
    #[error("lock wait on {resource:?} cancelled")]
    Cancelled { resource: Resource },
    /// There is no memory for more locks of this owner (1204).
    #[error("no memory for a lock on {resource:?}")]
    NoMemory { resource: Resource },
}

/// How a request waits when it must.
#[derive(Debug, Clone, Copy)]
pub struct WaitArgs {
    /// LOCK_TIMEOUT in milliseconds: -1 waits without end, 0 does not wait.
    pub timeout_ms: i64,
    /// DEADLOCK_PRIORITY, -10..=10: the lowest in a deadlock gives way.
    pub priority: i8,
    /// Log bytes that the session's transactions have written: among equals the one with the least
    /// to undo gives way.
    pub log_bytes: u64,
}

impl Default for WaitArgs {
    fn default() -> Self {
        WaitArgs { timeout_ms: -1, priority: 0, log_bytes: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Waiting,
    Granted,
    Victim,
    Cancelled,
}

/// One blocked request.
#[derive(Debug)]
pub(super) struct Waiter {
    pub owner: OwnerId,
    pub session: u32,
    pub resource: Resource,
    /// The mode that will be held once granted (for a conversion: the joined mode).
    pub mode: LockMode,
    pub conversion: bool,
    /// Who runs the transaction waited for, when `resource` is one.
    pub blocker: Option<LockRequester>,
    pub args: WaitArgs,
    /// Unique per wait: an owner that waits again has another ticket.
    pub ticket: u64,
    pub since: Instant,
    verdict: Mutex<Verdict>,
    changed: Condvar,
}

/// A waiter has deadlocks looked for after it has been blocked for this long: most waits are
/// shorter.
const DETECT_AFTER: Duration = Duration::from_millis(2);

impl Waiter {
    pub fn new(
        who: &LockRequester,
        resource: Resource,
        mode: LockMode,
        args: WaitArgs,
        ticket: u64,
    ) -> Self {
        Waiter {
            owner: who.id,
            session: who.session,
            resource,
            mode,
            conversion: false,
            blocker: None,
            args,
            ticket,
            since: Instant::now(),
            verdict: Mutex::new(Verdict::Waiting),
            changed: Condvar::new(),
        }
    }

    /// Who waits.
    pub fn who(&self) -> LockRequester {
        LockRequester { id: self.owner, session: self.session }
    }

    /// Who waits, in the graph of waits.
    pub fn node(&self) -> Node {
        self.who().node()
    }

    /// Its place in the queue of its resource.
    pub fn queue_key(&self) -> QueueKey {
        (!self.conversion, self.ticket)
    }

    /// Decides the wait; false when it had been decided before.
    pub fn decide(&self, v: Verdict) -> bool {
        self.decide_and(v, || ())
    }

    /// Decides the wait and does something before who waits is woken; false, and nothing is done,
    /// when it had been decided before.
    pub fn decide_and(&self, v: Verdict, before_waking: impl FnOnce()) -> bool {
        let mut now = self.verdict.lock();
        if *now != Verdict::Waiting {
            return false;
        }
        *now = v;
        drop(now);
        before_waking();
        self.changed.notify_all();
        true
    }

    pub fn verdict(&self) -> Verdict {
        *self.verdict.lock()
    }

    /// Blocks until decided or timed out (`Waiting` is returned then). `detect` runs once, when the
    /// wait turns out long.
    pub fn wait(&self, detect: impl FnOnce()) -> Verdict {
        let deadline = (self.args.timeout_ms >= 0)
            .then(|| self.since.checked_add(Duration::from_millis(self.args.timeout_ms as u64)))
            .flatten();
        let first = self.since + DETECT_AFTER;
        let first = deadline.map_or(first, |d| d.min(first));
        if let v @ (Verdict::Granted | Verdict::Victim | Verdict::Cancelled) =
            self.wait_until(Some(first))
        {
            return v;
        }
        detect();
        self.wait_until(deadline)
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Verdict {
        let mut v = self.verdict.lock();
        while *v == Verdict::Waiting {
            match deadline {
                None => self.changed.wait(&mut v),
                Some(d) => {
                    if self.changed.wait_until(&mut v, d).timed_out() {
                        break;
                    }
                }
            }
        }
        *v
    }
}

/// Totals of one LCK_M_* wait type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWaitStat {
    /// LCK_M_S and the like.
    pub wait_type: &'static str,
    /// Waits that blocked.
    pub count: u64,
    /// Microseconds in all of them.
    pub total_us: u64,
    /// Microseconds of the longest.
    pub max_us: u64,
}

/// Wait totals by mode. Only requests that really blocked are counted.
#[derive(Debug, Default)]
pub(super) struct LockWaits {
    cells: [[AtomicU64; 3]; MODES],
    pub deadlocks: AtomicU64,
    pub timeouts: AtomicU64,
}

impl LockWaits {
    pub fn add(&self, mode: LockMode, waited: Duration) {
        let us = waited.as_micros() as u64;
        let [count, total, max] = &self.cells[mode as usize];
        count.fetch_add(1, Relaxed);
        total.fetch_add(us, Relaxed);
        max.fetch_max(us, Relaxed);
    }

    pub fn list(&self) -> Vec<LockWaitStat> {
        ALL_MODES
            .iter()
            .map(|m| {
                let [count, total, max] = &self.cells[*m as usize];
                LockWaitStat {
                    wait_type: m.wait_type(),
                    count: count.load(Relaxed),
                    total_us: total.load(Relaxed),
                    max_us: max.load(Relaxed),
                }
            })
            .filter(|s| s.count > 0)
            .collect()
    }

    pub fn clear(&self) {
        for cell in self.cells.iter().flatten() {
            cell.store(0, Relaxed);
        }
    }
}
