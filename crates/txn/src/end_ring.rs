//! When each transaction ended: a ring of atomic words, one for each of the newest ids, and a short
//! list of what is older and still matters. Readers ask it about single transactions; they take no
//! lock, except for the few ids that the list has.
//!
//! An end has a number, from a counter that the caller keeps (`TxnTable`). Invariants:
//! - Ids are begun in ascending order, ended once, and both under the caller's lock. The word of an
//!   id at or above `floor` says 0 while it runs, then the number of its end.
//! - An id below `floor` that the list does not have ended before every live snapshot was taken, or
//!   began after it.
//! - A word is used again only after `floor` has passed its former id: whoever reads a word and
//!   then finds the id at or above `floor` has read the word of that id.
//! - `marks` has a bit for each id of the list, set before `floor` passes the id. Ids share bits: a
//!   bit that is not set proves that the list does not have the id.
//!
//! Memory is bounded by the transactions that run and those that were running when a snapshot in
//! use was taken; how many have come and gone meanwhile does not matter.

use std::sync::atomic::{AtomicU64, Ordering};

use access::Endings;
use pages::TxnId;
use parking_lot::RwLock;

/// The word of a transaction that has not ended.
const RUNNING: u64 = 0;
/// The number of every end that all live snapshots see. The counter begins here.
pub(crate) const LONG_AGO: u64 = 1;
/// Words of bits of the list's ids.
const MARKS: usize = 1024;
/// Ids that leave the ring together are this part of it.
const PARTS: u64 = 16;

/// A transaction that is too old for the ring.
#[derive(Debug, Clone, Copy)]
struct OldTxn {
    id: u64,
    end: u64,
}

/// What live snapshots may still ask: `(moment, xmax)` of each, ascending by moment, xmax being the
/// largest so far.
#[derive(Debug, Default)]
pub(crate) struct Questions(Vec<(u64, u64)>);

impl Questions {
    /// Of snapshots in any order.
    pub fn new(mut live: Vec<(u64, u64)>) -> Questions {
        live.sort_unstable();
        let mut largest = 0;
        for (_, xmax) in &mut live {
            largest = largest.max(*xmax);
            *xmax = largest;
        }
        Questions(live)
    }

    /// Whether a snapshot had seen transaction `id` begin, but not its end number `end`.
    fn concern(&self, id: u64, end: u64) -> bool {
        let before = self.0.partition_point(|(moment, _)| *moment < end);
        before > 0 && self.0[before - 1].1 > id
    }
}

/// The ends of a database's transactions.
#[derive(Debug)]
pub(crate) struct EndRing {
    words: Box<[AtomicU64]>,
    /// The oldest id that the ring has.
    floor: AtomicU64,
    /// Ascending by id.
    old: RwLock<Vec<OldTxn>>,
    marks: Box<[AtomicU64]>,
}

fn words(n: usize) -> Box<[AtomicU64]> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}

/// Where an id's mark is: word and bit.
fn mark(id: u64) -> (usize, u64) {
    let hash = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((hash >> 54) as usize % MARKS, 1 << (hash >> 48 & 63))
}

impl EndRing {
    /// A ring for `size` ids (a power of two); all below `next` have ended.
    pub fn new(size: usize, next: u64) -> EndRing {
        debug_assert!(size.is_power_of_two() && size as u64 >= PARTS);
        EndRing {
            words: words(size),
            floor: AtomicU64::new(next),
            old: RwLock::default(),
            marks: words(MARKS),
        }
    }

    fn word(&self, id: u64) -> &AtomicU64 {
        &self.words[id as usize & (self.words.len() - 1)]
    }

    /// Recovery: ids below `next` have been used. None of them runs, except those that are brought
    /// back.
    pub fn jump(&self, next: u64) {
        self.floor.store(next, Ordering::Release);
    }

    /// Recovery: a transaction below [`EndRing::jump`] comes back to life.
    pub fn bring_back(&self, id: u64) {
        debug_assert!(id < self.floor.load(Ordering::Relaxed));
        let mut old = self.old.write();
        let at = old.partition_point(|o| o.id < id);
        old.insert(at, OldTxn { id, end: RUNNING });
        let (word, bit) = mark(id);
        self.marks[word].fetch_or(bit, Ordering::Release);
    }

    /// `id` begins, the next one of all. `live` is asked when old ids have to leave the ring.
    pub fn begin(&self, id: u64, live: impl FnOnce() -> Questions) {
        let floor = self.floor.load(Ordering::Relaxed);
        debug_assert!(
            id >= floor && id - floor <= self.words.len() as u64,
            "ids begin one after the other"
        );
        if id - floor >= self.words.len() as u64 {
            self.leave(floor, &live());
        }
        self.word(id).store(RUNNING, Ordering::Release);
    }

    /// The oldest ids leave the ring; those that run or that a snapshot may ask for go to the list.
    #[cold]
    fn leave(&self, floor: u64, live: &Questions) {
        let next = floor + self.words.len() as u64 / PARTS;
        let mut old = self.old.write();
        let had = !old.is_empty();
        old.retain(|o| o.end == RUNNING || live.concern(o.id, o.end));
        old.extend((floor..next).filter_map(|id| {
            let end = self.word(id).load(Ordering::Relaxed);
            (end == RUNNING || live.concern(id, end)).then_some(OldTxn { id, end })
        }));
        if had || !old.is_empty() {
            self.mark_all(&old);
        }
        drop(old);
        self.floor.store(next, Ordering::Release);
    }

    /// The bits of ids that stay are never taken away meanwhile.
    fn mark_all(&self, old: &[OldTxn]) {
        let mut bits = vec![0; MARKS];
        for o in old {
            let (word, bit) = mark(o.id);
            bits[word] |= bit;
        }
        for (word, bits) in self.marks.iter().zip(bits) {
            if word.load(Ordering::Relaxed) != bits {
                word.store(bits, Ordering::Release);
            }
        }
    }

    /// `id` ends as number `end`. The caller makes the number known to snapshots afterwards.
    pub fn end(&self, id: u64, end: u64) {
        debug_assert!(end > LONG_AGO);
        if id >= self.floor.load(Ordering::Relaxed) {
            debug_assert_eq!(
                self.word(id).load(Ordering::Relaxed),
                RUNNING,
                "transaction {id} ended twice"
            );
            self.word(id).store(end, Ordering::Release);
            return;
        }
        let mut old = self.old.write();
        match old.binary_search_by_key(&id, |o| o.id) {
            Ok(at) => old[at].end = end,
            Err(_) => debug_assert!(false, "transaction {id} was forgotten while it ran"),
        }
    }

    /// The number of the end of a transaction that has begun; 0 while it runs.
    fn end_of(&self, id: u64) -> u64 {
        let word = self.word(id).load(Ordering::Acquire);
        if id >= self.floor.load(Ordering::Acquire) { word } else { self.end_of_old(id) }
    }

    fn end_of_old(&self, id: u64) -> u64 {
        let (word, bit) = mark(id);
        if self.marks[word].load(Ordering::Acquire) & bit == 0 {
            return LONG_AGO;
        }
        let old = self.old.read();
        old.binary_search_by_key(&id, |o| o.id).map_or(LONG_AGO, |at| old[at].end)
    }

    /// Whether a transaction that has begun has not ended.
    pub fn is_running(&self, id: u64) -> bool {
        self.end_of(id) == RUNNING
    }

    /// Ids that have left the ring and are still known.
    #[cfg(test)]
    pub fn old_ids(&self) -> usize {
        self.old.read().len()
    }
}

impl Endings for EndRing {
    #[inline]
    fn ended_by(&self, txn: TxnId, moment: u64) -> bool {
        // 0, which runs, becomes the largest number.
        self.end_of(txn.0).wrapping_sub(1) < moment
    }
}
