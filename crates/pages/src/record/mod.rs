//! The log record format: header, page operations, undo information.
//!
//! A record is built once in a reusable buffer, stamped and appended by a [`RecordSink`], then
//! applied from the very bytes that went to the log, so that doing and redoing cannot differ.
//! Decoding is checked: any bytes give a value or [`PageError::Record`].
//!
//! Layout: kind u8, flags u8, transaction u48, previous LSN (10), then if flagged the next LSN to
//! undo (10) and the B+tree root (6), then operations. Numbers in operations are varints.

use crate::codec::{HEAD, Head, put_page_id};
use crate::error::PageError;
use crate::id::{PageId, TxnId};
use crate::op::LargeUpdate;
use crate::row_header::{RowHeader, lsn_to_bytes};
use only::FirstOp;
use wal::Lsn;

mod boundary;
mod kind;
mod only;
mod rows;
mod view;
mod whole;

pub use boundary::boundary_record;
pub use kind::RecordKind;
pub use rows::RowUpdate;
pub use view::{OpIter, RecordOp, RecordView, needs_earlier, previous_version, row_key, row_op};

/// Longest encoded record.
pub const MAX_RECORD: usize = 48 * 1024;
/// Most versioned row operations of one record; the index in a row header is a byte.
pub(crate) const MAX_ROW_OPS: usize = 255;

const FIXED: usize = 18;
const AT_FLAGS: usize = 1;
const AT_TXN: usize = 2;
const AT_PREV: usize = 8;
const F_SYSTEM: u8 = 1;
const F_UNDO_NEXT: u8 = 2;
const F_ROOT: u8 = 4;

const OP_PAGE: u8 = 1;
const OP_FORMAT: u8 = 2;
const OP_IMAGE: u8 = 3;
const OP_INSERT: u8 = 4;
const OP_GHOST: u8 = 5;
const OP_UPDATE: u8 = 6;
const OP_REPLACE: u8 = 7;
const OP_RESTORE: u8 = 8;
const OP_REMOVE: u8 = 9;
const OP_INSERT_RAW: u8 = 10;
const OP_REPLACE_RAW: u8 = 11;
const OP_SET_LINK: u8 = 12;
const OP_SET_BITS: u8 = 13;
const OP_PUT_BYTES: u8 = 14;
const OP_PAYLOAD: u8 = 15;
/// An update whose before image is partly in an earlier record.
const OP_UPDATE_AGAIN: u8 = 16;
/// Set in the operation byte of a row operation that carries a key.
const KEYED: u8 = 0x80;

const H_SAME_TXN: u8 = 0x08;
const H_SAME_LSN: u8 = 0x10;
const H_NEXT_INDEX: u8 = 0x20;

/// Bytes that undoing one row operation (or one new page) may log besides key and old bytes: record
/// and page heads, old header, place.
const UNDO_ROW: usize = 64;
/// Bytes of a row operation besides keys and contents, usually.
const ROW_OP: usize = 32;

/// Appends records: stamps transaction and previous LSN into the builder, then puts its bytes into
/// the log.
pub trait RecordSink {
    /// # Errors
    /// What the log says: full, offline.
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError>;

    /// Bytes that the next record should have at most, if it can be cut there; see
    /// [`wal::Log::room`].
    fn room(&self) -> usize {
        MAX_RECORD
    }
}

/// Builds one record in a reusable buffer.
#[derive(Debug)]
pub struct RecordBuilder {
    buf: Vec<u8>,
    rows: usize,
    last: RowHeader,
    page: PageId,
    undo: usize,
    shrunk: Option<PageId>,
    large: Option<LargeUpdate>,
    /// Bytes that further row operations should keep to.
    limit: usize,
    /// Where the first operation begins; 0 before its page is named.
    begins: usize,
    first: Option<FirstOp>,
}

impl Default for RecordBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordBuilder {
    /// An empty change record.
    #[must_use]
    pub fn new() -> RecordBuilder {
        let mut r = RecordBuilder {
            buf: Vec::with_capacity(512),
            rows: 0,
            last: RowHeader::default(),
            page: PageId::NONE,
            undo: 0,
            shrunk: None,
            large: None,
            limit: MAX_RECORD,
            begins: 0,
            first: None,
        };
        r.change();
        r
    }

    /// Begins a record of the kind; whatever was built before is dropped.
    #[inline]
    pub fn begin(&mut self, kind: RecordKind) -> &mut Self {
        let mut fixed = [0; FIXED];
        fixed[0] = kind.to_u8();
        self.clear();
        self.buf.extend_from_slice(&fixed);
        self
    }

    #[inline]
    fn clear(&mut self) {
        self.buf.clear();
        self.begins = 0;
        self.first = None;
        self.rows = 0;
        self.undo = 0;
        self.shrunk = None;
        self.large = None;
        self.limit = MAX_RECORD;
        self.last = RowHeader::default();
        self.page = PageId::NONE;
    }

    /// Begins a transaction's change.
    #[inline]
    pub fn change(&mut self) -> &mut Self {
        self.begin(RecordKind::Change)
    }

    /// Begins a transaction's change of one page of a B+tree: as [`RecordBuilder::change`], `root`
    /// and `page`.
    #[inline]
    pub fn change_in(&mut self, root: PageId, page: PageId) -> &mut Self {
        let mut head = Head::default();
        self.head_in(&mut head, root, page);
        self.put(&head);
        self
    }

    /// Begins a transaction's change of one page of a B+tree: `head` gets what comes before its
    /// first operation.
    #[inline(always)]
    fn head_in(&mut self, head: &mut Head, root: PageId, page: PageId) {
        self.clear();
        // Behind them is room for the transaction and its record before.
        (head.bytes[0], head.bytes[AT_FLAGS], head.len) =
            (RecordKind::Change.to_u8(), F_ROOT, FIXED);
        head.short(&root.to_bytes());
        self.page = page;
        head.push(OP_PAGE);
        head.page_id(page);
        self.begins = head.len;
    }

    /// Begins a change that is redone and never undone: allocation, page splits, ghost removal.
    pub fn system(&mut self) -> &mut Self {
        self.begin(RecordKind::Change);
        self.buf[AT_FLAGS] |= F_SYSTEM;
        self
    }

    /// Begins a compensation record; rollback continues with `undo_next`.
    pub fn compensation(&mut self, undo_next: Lsn) -> &mut Self {
        self.begin(RecordKind::Compensation);
        self.buf[AT_FLAGS] |= F_UNDO_NEXT;
        self.buf.extend_from_slice(&lsn_to_bytes(undo_next));
        self
    }

    /// The B+tree of the row operations, for undo. To be called before the first operation.
    ///
    /// # Errors
    /// [`PageError::Invalid`] when called later, or twice.
    #[inline]
    pub fn root(&mut self, root: PageId) -> Result<(), PageError> {
        let undo = if self.buf[AT_FLAGS] & F_UNDO_NEXT != 0 { 10 } else { 0 };
        if self.buf.len() != FIXED + undo {
            return Err(PageError::Invalid {
                what: "root() must come before the first operation of a record",
            });
        }
        self.buf[AT_FLAGS] |= F_ROOT;
        self.buf.extend_from_slice(&root.to_bytes());
        Ok(())
    }

    /// The following operations belong to this page.
    #[inline]
    pub fn page(&mut self, id: PageId) {
        if self.page != id {
            let first = self.is_empty();
            self.page = id;
            self.buf.push(OP_PAGE);
            put_page_id(&mut self.buf, id);
            if first {
                self.begins = self.buf.len();
            }
        }
    }

    /// Encoded bytes that still fit.
    #[must_use]
    #[inline]
    pub fn room(&self) -> usize {
        // A page change costs up to 9 bytes and is not checked on its own.
        MAX_RECORD.saturating_sub(self.buf.len() + 16)
    }

    /// Whether one more versioned row operation that carries `bytes` of keys and contents fits.
    #[must_use]
    #[inline]
    pub fn can_take(&self, bytes: usize) -> bool {
        self.rows < MAX_ROW_OPS && self.room() >= bytes + 64
    }

    /// The record should have no more bytes than this, its first row operation aside: see
    /// [`RecordSink::room`].
    pub fn keep_to(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether a row operation that carries `bytes` of keys and contents is to go into this record:
    /// it fits, and the record keeps to its limit.
    #[must_use]
    pub fn should_take(&self, bytes: usize) -> bool {
        let within = self.rows == 0 || self.buf.len() + bytes + ROW_OP <= self.limit;
        within && self.can_take(bytes)
    }

    /// Versioned row operations so far.
    #[must_use]
    pub fn row_ops(&self) -> usize {
        self.rows
    }

    /// What the compensation records for this record's operations need at most, in bytes: an undone
    /// insert logs a place, an undone update the old bytes. The log keeps this much free until the
    /// transaction ends.
    #[must_use]
    #[inline]
    pub fn undo_bytes(&self) -> usize {
        self.undo
    }

    /// A page whose rows the record makes shorter: the undo of it may find the page full and need
    /// another one.
    #[must_use]
    #[inline]
    pub fn shrunk_page(&self) -> Option<PageId> {
        self.shrunk
    }

    /// The last update of the record with an after image that later updates of the row may refer
    /// to.
    #[must_use]
    #[inline]
    pub fn large_update(&self) -> Option<LargeUpdate> {
        self.large
    }

    /// Whether there is no operation or payload yet.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        let flags = self.buf[AT_FLAGS];
        let head = FIXED
            + if flags & F_UNDO_NEXT != 0 { 10 } else { 0 }
            + if flags & F_ROOT != 0 { 6 } else { 0 };
        self.buf.len() == head
    }

    fn room_for(&self, bytes: usize) -> Result<(), PageError> {
        if self.room() < bytes { Err(PageError::RecordFull) } else { Ok(()) }
    }

    /// Puts the numbers that were collected into the record: the end of each operation.
    #[inline]
    fn put(&mut self, head: &Head) {
        // All of them, and cut off again: a copy of a known length is no call.
        let end = self.buf.len() + head.len;
        self.buf.extend_from_slice(&head.bytes[..HEAD]);
        self.buf.truncate(end);
    }

    /// Whether the record was begun by [`RecordBuilder::compensation`].
    #[must_use]
    #[inline]
    pub fn is_compensation(&self) -> bool {
        self.buf[0] == RecordKind::Compensation.to_u8()
    }

    /// Whether the record was begun by [`RecordBuilder::system`].
    #[must_use]
    #[inline]
    pub fn is_system(&self) -> bool {
        self.buf[AT_FLAGS] & F_SYSTEM != 0
    }

    /// For sinks: the transaction that made the record and which record of that transaction came
    /// before. A system record stays the system's, whichever thread appends it.
    #[inline]
    pub fn stamp(&mut self, txn: TxnId, prev_lsn: Lsn) {
        let (txn, prev) =
            if self.is_system() { (TxnId::SYSTEM, Lsn::ZERO) } else { (txn, prev_lsn) };
        // The arrays have the lengths of their places, and a record is never shorter than its fixed
        // part.
        if let Some(place) = self.buf[AT_TXN..AT_PREV].first_chunk_mut() {
            *place = txn.to_bytes();
        }
        if let Some(place) = self.buf[AT_PREV..FIXED].first_chunk_mut() {
            *place = lsn_to_bytes(prev);
        }
    }

    /// The encoded record.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buf
    }
}
