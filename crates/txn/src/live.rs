//! The clock of a database's transactions, and the snapshots that are in use. A snapshot is taken
//! without a lock and without a look at any other transaction: a place of its own is claimed, the
//! clock is read.
//!
//! Invariants:
//! - The clock's numbers only grow. They are changed under the lock of the transaction table, in
//!   the order of [`Clock::ended`]: a reader who finds a number finds all that was set before it.
//! - A snapshot announces itself **before** it reads what it will see, with a bound from below that
//!   it has read before that. Who wants to know what is still needed reads the clock first and
//!   looks for announcements then ([`LiveSnapshots::each`]). Both steps of either side are
//!   sequentially consistent, so of the two at least one sees the other: either the announcement is
//!   found, or the snapshot sees all that the clock said to who looked.
//! - What an announcement says may be too low for a moment, never too high. A place that changes
//!   hands while it is looked at may show parts of both owners: the former does not need anything
//!   any more, and the new one sees everything that the looker knew of, by the rule above.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use access::Snapshot;
use pages::TxnId;
use parking_lot::Mutex;
use wal::Lsn;

use crate::end_ring::{LONG_AGO, Questions};

/// Places for snapshots that are taken without a lock.
const SLOTS: usize = 128;
/// How many of them a thread tries.
const TRIES: usize = 4;
/// Nobody's.
const FREE: u64 = 0;
/// Somebody's who has not announced anything.
const CLAIMED: u64 = u64::MAX;

/// What transactions have come to. On a line of its own: every snapshot reads it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Clock {
    /// Log key: what runs or begins later has written nothing below. 0: not known yet.
    hold: AtomicU64,
    /// Every id below has ended.
    oldest: AtomicU64,
    /// So has every one between `oldest` and this.
    second: AtomicU64,
    /// The number of the last end.
    ended: AtomicU64,
    /// The next id.
    next: AtomicU64,
    /// Log key of the newest fully durable commit; 0 before the first.
    commit: AtomicU64,
}

impl Clock {
    /// All ids below `next` have ended.
    pub fn new(next: u64) -> Clock {
        Clock {
            hold: AtomicU64::new(0),
            oldest: AtomicU64::new(next),
            second: AtomicU64::new(next + 1),
            ended: AtomicU64::new(LONG_AGO),
            next: AtomicU64::new(next),
            commit: AtomicU64::new(0),
        }
    }

    /// Every id below has ended.
    pub fn oldest(&self) -> u64 {
        self.oldest.load(Ordering::Acquire)
    }

    /// The next id.
    pub fn next(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    /// The newest fully durable commit, or an earlier record of its log block.
    pub fn commit(&self) -> Lsn {
        Lsn::of_key(self.commit.load(Ordering::Acquire))
    }

    /// The number that the next end gets. Under the table's lock.
    pub fn next_end(&self) -> u64 {
        self.ended.load(Ordering::Relaxed) + 1
    }

    /// An id has been given. Under the table's lock, as what follows.
    pub fn begun(&self, next: u64) {
        self.next.store(next, Ordering::Release);
    }

    /// The log that may be needed begins here. It never goes back, but when recovery brings a
    /// transaction back.
    pub fn raise_hold(&self, hold: Lsn) {
        let hold = hold.key().max(self.hold.load(Ordering::Relaxed));
        self.hold.store(hold, Ordering::Release);
    }

    /// Readers of a transaction's work have to wait for its commit. Before anybody can find that it
    /// has ended.
    pub fn raise_commit(&self, commit: Lsn) {
        let commit = commit.key().max(self.commit.load(Ordering::Relaxed));
        self.commit.store(commit, Ordering::Release);
    }

    /// End number `end` has happened and can be asked for.
    pub fn ended(&self, end: u64) {
        self.ended.store(end, Ordering::Release);
    }

    /// The two oldest ids that may be running. After [`Clock::ended`] of all below.
    pub fn set_oldest(&self, oldest: u64, second: u64) {
        self.second.store(second, Ordering::Release);
        self.oldest.store(oldest, Ordering::Release);
    }

    /// Recovery: the log from here on is needed.
    pub fn lower_hold(&self, hold: Lsn) {
        self.hold.store(hold.key(), Ordering::Release);
    }

    /// What a reader sees from now on. The oldest ids first: all below have ended at the moment
    /// that is read next.
    fn read(&self, own: TxnId) -> Snapshot {
        let oldest = self.oldest.load(Ordering::SeqCst);
        let xmin = if oldest == own.0 { self.second.load(Ordering::SeqCst) } else { oldest };
        let moment = self.ended.load(Ordering::SeqCst);
        let xmax = self.next.load(Ordering::Acquire);
        Snapshot::new(own, TxnId(xmin), TxnId(xmax), moment)
    }
}

/// What a snapshot needs kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SnapshotNeeds {
    /// It may not see transactions from here on.
    pub xmin: u64,
    /// Log key: it may read the log from here on.
    pub hold: u64,
    /// It may ask of transactions below `xmax` whether they had ended at `moment`.
    pub moment: u64,
    pub xmax: u64,
}

/// The place of one snapshot, on a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot {
    xmin: AtomicU64,
    hold: AtomicU64,
    moment: AtomicU64,
    xmax: AtomicU64,
}

impl Slot {
    fn claim(&self) -> bool {
        self.xmin.load(Ordering::Relaxed) == FREE
            && self
                .xmin
                .compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// The place is the caller's.
    fn take(&self, clock: &Clock, own: TxnId) -> Snapshot {
        self.hold.store(clock.hold.load(Ordering::Acquire), Ordering::Relaxed);
        self.moment.store(0, Ordering::Relaxed);
        self.xmax.store(u64::MAX, Ordering::Relaxed);
        self.xmin.swap(clock.oldest.load(Ordering::Acquire), Ordering::SeqCst);
        let snapshot = clock.read(own);
        self.moment.store(snapshot.moment(), Ordering::Relaxed);
        self.xmax.store(snapshot.xmax().0, Ordering::Relaxed);
        snapshot
    }

    fn needs(&self) -> Option<SnapshotNeeds> {
        let xmin = self.xmin.load(Ordering::Acquire);
        (xmin != FREE && xmin != CLAIMED).then(|| SnapshotNeeds {
            xmin,
            hold: self.hold.load(Ordering::Acquire),
            moment: self.moment.load(Ordering::Acquire),
            xmax: self.xmax.load(Ordering::Acquire),
        })
    }
}

/// The places of snapshots that found none, or that stay for long: a list under a lock.
#[derive(Debug, Default)]
struct ListedSnapshots {
    list: Vec<Option<SnapshotNeeds>>,
    free: Vec<usize>,
}

/// The place of a snapshot among those in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SnapshotPlace(u32);

/// The snapshots in use.
#[derive(Debug)]
pub(crate) struct LiveSnapshots {
    slots: Box<[Slot]>,
    others: Mutex<ListedSnapshots>,
}

/// The number of this thread among all.
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|n| *n)
}

impl Default for LiveSnapshots {
    fn default() -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        LiveSnapshots { slots, others: Mutex::default() }
    }
}

impl LiveSnapshots {
    /// Takes a snapshot of now. `stays`: it is kept for longer than a statement, and leaves the
    /// slots to others.
    pub fn take(&self, clock: &Clock, own: TxnId, stays: bool) -> (Snapshot, SnapshotPlace) {
        if !stays {
            // Each thread keeps to its slots.
            let first = thread_number() * TRIES;
            for at in (first..first + TRIES).map(|n| n % SLOTS) {
                if self.slots[at].claim() {
                    return (self.slots[at].take(clock, own), SnapshotPlace(at as u32));
                }
            }
        }
        self.take_among_others(clock, own)
    }

    /// Takes one in the place of the caller's former one.
    pub fn retake(
        &self,
        place: SnapshotPlace,
        clock: &Clock,
        own: TxnId,
    ) -> (Snapshot, SnapshotPlace) {
        match self.slots.get(place.0 as usize) {
            Some(slot) => (slot.take(clock, own), place),
            None => {
                self.release(place);
                self.take(clock, own, false)
            }
        }
    }

    /// Who looks does so under the lock, before (then this sees all that it knew) or after.
    #[cold]
    fn take_among_others(&self, clock: &Clock, own: TxnId) -> (Snapshot, SnapshotPlace) {
        let mut others = self.others.lock();
        let (hold, xmin) = (clock.hold.load(Ordering::SeqCst), clock.oldest.load(Ordering::SeqCst));
        let snapshot = clock.read(own);
        let needs =
            Some(SnapshotNeeds { xmin, hold, moment: snapshot.moment(), xmax: snapshot.xmax().0 });
        let at = match others.free.pop() {
            Some(at) => {
                others.list[at] = needs;
                at
            }
            None => {
                others.list.push(needs);
                others.list.len() - 1
            }
        };
        (snapshot, SnapshotPlace((SLOTS + at) as u32))
    }

    /// Ends a snapshot.
    pub fn release(&self, place: SnapshotPlace) {
        let at = place.0 as usize;
        if let Some(slot) = self.slots.get(at) {
            debug_assert!(slot.needs().is_some(), "a snapshot is released twice");
            slot.xmin.store(FREE, Ordering::Release);
            return;
        }
        let mut others = self.others.lock();
        let gone = others.list.get_mut(at - SLOTS).and_then(Option::take);
        debug_assert!(gone.is_some(), "a snapshot is released twice");
        if gone.is_some() {
            others.free.push(at - SLOTS);
        }
    }

    /// Calls `f` for every snapshot that does not see everything that the caller has read from the
    /// clock.
    pub fn each(&self, mut f: impl FnMut(SnapshotNeeds)) {
        fence(Ordering::SeqCst);
        self.slots.iter().filter_map(Slot::needs).for_each(&mut f);
        self.others.lock().list.iter().flatten().copied().for_each(f);
    }

    /// What they may ask.
    pub fn questions(&self) -> Questions {
        let mut live = Vec::new();
        self.each(|s| live.push((s.moment, s.xmax)));
        Questions::new(live)
    }
}
