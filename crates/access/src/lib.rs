//! Heaps, B+trees and LOBs over pages: row headers, versions, ghost records, undo of a record,
//! checks.
//!
//! Rows are bytes and index keys are memcmp-ordered bytes: nothing here knows columns. Every row
//! carries a header that names the transaction and the log record that wrote it; readers find older
//! versions through it, writers find the transaction to wait for. No function waits for a
//! transaction: it answers `Outcome::Wait` with no latch held.

mod batch;
pub mod btree;
mod check;
mod cleanup;
mod discard;
mod error;
pub mod ghost;
pub mod heap;
pub mod lob;
mod record;
mod rid;
mod snapshot;
mod space;
mod undo;
mod undo_record;
mod version;
mod visible;
mod writers;

pub use batch::{IndexEntry, RowBatch};
pub use btree::{
    BTree, Beside, Cursor, Direction, EditOutcome, EditWish, EntryChange, ExpectedEntry, IndexMove,
    MAX_ENTRY_LEN, MAX_KEY_LEN, MovedNodes, ValueEdit,
};
pub use check::{CheckFinding, CheckReport};
pub use cleanup::PageCleanup;
pub use discard::{DiscardedScan, DiscardedValue, DiscardedValues};
pub use error::AccessError;
pub use ghost::{cleanup_page, unlink_empty};
pub use heap::{Heap, HeapChange, HeapScan, MAX_ROW_LEN};
pub use lob::{LobPointer, LobSpace};
pub use rid::Rid;
pub use snapshot::{Endings, ReadMode, Snapshot, SnapshotRef};
pub use undo_record::undo_record;
pub use writers::NewestWriters;

use pages::{PageId, RecordSink, RowHeader, TxnId, UnitId};
use std::ops::Range;

/// A row, as locks name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowName<'a> {
    /// A heap row.
    Rid(Rid),
    /// An index entry; a range lock on it also covers the gap below.
    Key(&'a [u8]),
    /// The gap above the last entry of an index.
    End,
}

/// The transaction that changes rows, as far as this crate needs to know it.
///
/// Those about locks say what readers have locked. They are asked under the latch of the page that
/// is to be changed: a reader announces itself, locks, and reads the page then, so either its lock
/// is seen here or it sees the change.
pub trait Writer: RecordSink {
    /// The transaction's id.
    fn txn(&self) -> TxnId;
    /// Whether `txn` is a running transaction other than this one.
    fn active_elsewhere(&self, txn: TxnId) -> bool;
    /// The page got ghosts that are to be removed once every snapshot sees their transaction.
    fn ghosted(&mut self, unit: UnitId, page: PageId);

    /// The part of the row's body that this transaction's update wrote which the header names, if
    /// it is remembered; else an empty range. Log records of further updates leave it out of their
    /// before images.
    fn wrote(&self, header: &RowHeader) -> Range<usize> {
        let _ = header;
        0..0
    }

    /// Whether somebody may hold locks on rows of the unit. Cheap: every change asks.
    fn has_lockers(&self, unit: UnitId) -> bool {
        let _ = unit;
        false
    }

    /// Whether another transaction's lock forbids to change a row.
    fn row_locked(&mut self, unit: UnitId, row: RowName<'_>) -> bool {
        let _ = (unit, row);
        false
    }

    /// Whether another transaction's lock forbids a new entry `key` in the gap below `next`.
    fn gap_locked(&mut self, unit: UnitId, key: &[u8], next: RowName<'_>) -> bool {
        let _ = (unit, key, next);
        false
    }
}

/// What came of an attempt to change a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    Done(T),
    /// The row belongs to this running transaction: wait for it and try again.
    Wait(TxnId),
    /// Another transaction has locked the row or the gap, as the [`Writer`] said: wait for that and
    /// try again.
    Locked,
    /// The row is another version than the caller saw: read it again.
    Changed,
    /// There is no such row, or it is deleted.
    Missing,
    /// A row with this key exists.
    Duplicate,
}

impl<T> Outcome<T> {
    /// The row was not changed, and may be when it is tried again: a batch stops there.
    #[must_use]
    pub(crate) fn is_to_retry(&self) -> bool {
        matches!(self, Outcome::Wait(_) | Outcome::Locked | Outcome::Changed)
    }
}

/// What is to be done to a row.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    Delete,
    /// The row's new bytes, whole; the log gets only what differs.
    Update(&'a [u8]),
}

/// Whether a row may be changed whose header is `found`, by a caller that saw `expected`. `None`:
/// it may.
fn guard(
    w: &mut dyn Writer,
    unit: UnitId,
    row: RowName<'_>,
    found: &RowHeader,
    expected: &RowHeader,
) -> Option<Outcome<()>> {
    if w.active_elsewhere(found.txn) {
        Some(Outcome::Wait(found.txn))
    } else if found.is_ghost() {
        Some(Outcome::Missing)
    } else if found != expected {
        Some(Outcome::Changed)
    } else if w.has_lockers(unit) && found.txn != w.txn() && w.row_locked(unit, row) {
        Some(Outcome::Locked)
    } else {
        None
    }
}
