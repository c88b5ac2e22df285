//! The log record format: header, page operations, undo information.
//!
//! A record is built once in a reusable buffer, stamped and appended by a [`RecordSink`], then applied from the very
//! bytes that went to the log, so that doing and redoing cannot differ. Decoding is checked: any bytes give a value or
//! [`PageError::Record`].
//!
//! Layout: kind u8, flags u8, transaction u48, previous LSN (10), then if flagged the next LSN to undo (10) and the
//! B+tree root (6), then operations. Numbers in operations are varints. The old row headers of a record are usually
//! neighbours, so each is encoded against the one before it.

use crate::before::{Before, LargeUpdate, WORTH};
use crate::codec::{HEAD, Head, SHORT_PART, put_bytes, put_page_id, put_varint};
use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, TxnId, UnitId};
use crate::op::Link;
use crate::page::{HEADER_SIZE, Page, PageType, SLOT_SIZE};
use crate::row_header::{ROW_FLAGS, RowHeader, lsn_to_bytes};
use only::{First, Part};
use wal::Lsn;

mod boundary;
mod only;
mod view;

pub use boundary::boundary_record;
pub use view::{OpIter, RecordOp, RecordView, needs_earlier, previous_version, row_key, row_op};

/// Longest encoded record.
pub const MAX_RECORD: usize = 48 * 1024;
/// Most versioned row operations of one record; the index in a row header is a byte.
pub const MAX_ROW_OPS: usize = 255;

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

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    Begin,
    Commit,
    Abort,
    Savepoint,
    Change,
    Compensation,
    CkptBegin,
    CkptEnd,
    /// Records of upper crates, 0 to 127.
    Misc(u8),
}

impl RecordKind {
    fn to_u8(self) -> u8 {
        match self {
            RecordKind::Begin => 1,
            RecordKind::Commit => 2,
            RecordKind::Abort => 3,
            RecordKind::Savepoint => 4,
            RecordKind::Change => 5,
            RecordKind::Compensation => 6,
            RecordKind::CkptBegin => 7,
            RecordKind::CkptEnd => 8,
            RecordKind::Misc(n) => 0x80 | n,
        }
    }

    #[inline]
    fn from_u8(b: u8) -> Option<RecordKind> {
        Some(match b {
            1 => RecordKind::Begin,
            2 => RecordKind::Commit,
            3 => RecordKind::Abort,
            4 => RecordKind::Savepoint,
            5 => RecordKind::Change,
            6 => RecordKind::Compensation,
            7 => RecordKind::CkptBegin,
            8 => RecordKind::CkptEnd,
            b if b & 0x80 != 0 => RecordKind::Misc(b & 0x7f),
            _ => return None,
        })
    }
}

/// Appends records: stamps transaction and previous LSN into the builder, then puts its bytes into the log.
pub trait RecordSink {
    /// # Errors
    /// What the log says: full, offline.
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError>;

    /// Bytes that the next record should have at most, if it can be cut there; see [`wal::Log::room`].
    fn room(&self) -> usize {
        MAX_RECORD
    }
}

/// Bytes that undoing one row operation (or one new page) may log besides key and old bytes: record and page heads, old
/// header, place.
const UNDO_ROW: usize = 64;

/// Bytes of a row operation besides keys and contents, usually.
const ROW_OP: usize = 32;

/// An update of a row: see [`RecordBuilder::update`].
#[derive(Clone, Copy, Debug)]
pub struct RowUpdate<'a> {
    pub slot: u16,
    pub flags: u8,
    pub old: &'a RowHeader,
    pub key: Option<&'a [u8]>,
    pub at: u16,
    pub before: Before<'a>,
    pub new_bytes: &'a [u8],
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
    first: Option<First>,
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

    /// Begins a transaction's change of one page of a B+tree: as [`RecordBuilder::change`], `root` and `page`.
    #[inline]
    pub fn change_in(&mut self, root: PageId, page: PageId) -> &mut Self {
        let head = self.head_in(root, page);
        self.put(&head);
        self
    }

    /// Begins a transaction's change of one page of a B+tree; gives what comes before its first operation.
    #[inline(always)]
    fn head_in(&mut self, root: PageId, page: PageId) -> Head {
        self.clear();
        let mut head = Head::default();
        // Behind them is room for the transaction and its record before.
        (head.bytes[0], head.bytes[AT_FLAGS], head.len) = (RecordKind::Change.to_u8(), F_ROOT, FIXED);
        head.short(&root.to_bytes());
        self.page = page;
        head.push(OP_PAGE);
        head.page_id(page);
        self.begins = head.len;
        head
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

    /// Bytes of an upper room that travel with the record (commit time, list of active transactions, ...).
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn payload(&mut self, bytes: &[u8]) -> Result<(), PageError> {
        self.room_for(bytes.len() + 4)?;
        self.buf.push(OP_PAYLOAD);
        put_bytes(&mut self.buf, bytes);
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

    /// The record should have no more bytes than this, its first row operation aside: see [`RecordSink::room`].
    pub fn keep_to(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether a row operation that carries `bytes` of keys and contents is to go into this record: it fits, and the record
    /// keeps to its limit.
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

    /// What the compensation records for this record's operations need at most, in bytes: an undone insert logs a place, an
    /// undone update the old bytes. The log keeps this much free until the transaction ends.
    #[must_use]
    #[inline]
    pub fn undo_bytes(&self) -> usize {
        self.undo
    }

    /// A page whose rows the record makes shorter: the undo of it may find the page full and need another one.
    #[must_use]
    #[inline]
    pub fn shrunk_page(&self) -> Option<PageId> {
        self.shrunk
    }

    /// The last update of the record with an after image that later updates of the row may refer to.
    #[must_use]
    #[inline]
    pub fn large_update(&self) -> Option<LargeUpdate> {
        self.large
    }

    fn note_shrunk(&mut self, old: usize, new: usize) {
        if old > new {
            self.shrunk = Some(self.page);
        }
    }

    /// Whether there is no operation or payload yet.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        let flags = self.buf[AT_FLAGS];
        let head =
            FIXED + if flags & F_UNDO_NEXT != 0 { 10 } else { 0 } + if flags & F_ROOT != 0 { 6 } else { 0 };
        self.buf.len() == head
    }

    fn room_for(&self, bytes: usize) -> Result<(), PageError> {
        if self.room() < bytes { Err(PageError::RecordFull) } else { Ok(()) }
    }

    /// Begins a row operation.
    #[inline]
    fn row_op(&mut self, op: u8, slot: u16, key: Option<&[u8]>, bytes: usize) -> Result<Head, PageError> {
        let mut head = Head::default();
        self.row_op_in(&mut head, op, slot, key, bytes)?;
        Ok(head)
    }

    /// Begins a row operation after what is there.
    #[inline(always)]
    fn row_op_in(
        &mut self,
        head: &mut Head,
        op: u8,
        slot: u16,
        key: Option<&[u8]>,
        bytes: usize,
    ) -> Result<(), PageError> {
        let key_len = key.map_or(0, <[u8]>::len);
        if !self.can_take(bytes + key_len) {
            return Err(PageError::RecordFull);
        }
        self.rows += 1;
        self.undo += UNDO_ROW + key_len;
        head.push(if key.is_some() { op | KEYED } else { op });
        head.varint(slot.into());
        Ok(())
    }

    /// Puts the numbers that were collected into the record: the end of each operation.
    #[inline]
    fn put(&mut self, head: &Head) {
        // All of them, and cut off again: a copy of a known length is no call.
        let end = self.buf.len() + head.len;
        self.buf.extend_from_slice(&head.bytes[..HEAD]);
        self.buf.truncate(end);
    }

    /// Adds bytes with their length: short ones to the numbers, others to the record, after the numbers so far. Returns where they
    /// will be in the record.
    #[inline(always)]
    fn put_part(&mut self, head: &mut Head, bytes: &[u8]) -> Part {
        head.varint(bytes.len() as u64);
        if bytes.len() <= SHORT_PART && head.len < HEAD / 2 {
            let at = self.buf.len() + head.len;
            head.short(bytes);
            return Part { at, len: bytes.len() };
        }
        self.put(head);
        head.len = 0;
        let at = self.buf.len();
        self.buf.extend_from_slice(bytes);
        Part { at, len: bytes.len() }
    }

    /// As [`RecordBuilder::put_part`], where there is a key.
    #[inline]
    fn key(&mut self, head: &mut Head, key: Option<&[u8]>) -> Option<Part> {
        key.map(|key| self.put_part(head, key))
    }

    #[inline(always)]
    fn old_header(&mut self, head: &mut Head, h: &RowHeader) {
        let last = self.last;
        let mut b = h.flags & ROW_FLAGS;
        if h.txn == last.txn {
            b |= H_SAME_TXN;
        }
        if h.lsn == last.lsn {
            b |= H_SAME_LSN;
        }
        if h.index == last.index.wrapping_add(1) {
            b |= H_NEXT_INDEX;
        }
        // At most 23 bytes.
        head.push(b);
        if b & H_SAME_TXN == 0 {
            head.varint(h.txn.0);
        }
        if b & H_SAME_LSN == 0 {
            head.lsn(h.lsn);
        }
        if b & H_NEXT_INDEX == 0 {
            head.push(h.index);
        }
        self.last = *h;
    }

    /// # Errors
    /// [`PageError::RecordFull`], as for every operation.
    pub fn format(
        &mut self,
        kind: PageType,
        level: u8,
        unit: UnitId,
        prev: PageId,
        next: PageId,
        root: PageId,
    ) -> Result<(), PageError> {
        self.room_for(48)?;
        self.undo += UNDO_ROW;
        self.buf.extend_from_slice(&[OP_FORMAT, kind as u8, level]);
        put_varint(&mut self.buf, u64::from(unit.0));
        put_page_id(&mut self.buf, prev);
        put_page_id(&mut self.buf, next);
        put_page_id(&mut self.buf, root);
        Ok(())
    }

    /// The whole page as it is, its free area left out.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn image(&mut self, page: &Page) -> Result<(), PageError> {
        self.room_for(PAGE_SIZE + 8)?;
        let (head, tail) = image_parts(page);
        self.buf.push(OP_IMAGE);
        put_bytes(&mut self.buf, head);
        put_bytes(&mut self.buf, tail);
        Ok(())
    }

    /// A new row version: `key` for B+tree leaves, `value` the rest of the body.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn insert(
        &mut self,
        slot: u16,
        flags: u8,
        key: Option<&[u8]>,
        value: &[u8],
    ) -> Result<(), PageError> {
        self.put_insert(Head::default(), slot, flags, key, value)
    }

    /// A record that is one new row of a B+tree: as [`RecordBuilder::change_in`] and [`RecordBuilder::insert`].
    ///
    /// # Errors
    /// As for every operation.
    #[inline]
    pub fn insert_in(
        &mut self,
        (root, page): (PageId, PageId),
        slot: u16,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), PageError> {
        let head = self.head_in(root, page);
        self.put_insert(head, slot, 0, Some(key), value)
    }

    /// A new row after what its record begins with, or after what is in the record.
    #[inline]
    fn put_insert(
        &mut self,
        mut head: Head,
        slot: u16,
        flags: u8,
        key: Option<&[u8]>,
        value: &[u8],
    ) -> Result<(), PageError> {
        let begin = self.buf.len() + head.len;
        self.row_op_in(&mut head, OP_INSERT, slot, key, value.len())?;
        head.push(flags);
        let key = self.key(&mut head, key);
        let new = self.put_part(&mut head, value);
        self.put(&head);
        self.note_first(begin, First { end: 0, slot, flags, key, at: 0, before: None, new });
        Ok(())
    }

    /// Marks a row as deleted.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn ghost(&mut self, slot: u16, old: &RowHeader, key: Option<&[u8]>) -> Result<(), PageError> {
        let mut head = self.row_op(OP_GHOST, slot, key, 0)?;
        self.old_header(&mut head, old);
        self.key(&mut head, key);
        self.put(&head);
        Ok(())
    }

    /// Replaces `before` at `at` of the row's body by `new_bytes`; the row's flags become `flags`.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    #[allow(clippy::too_many_arguments)] // one argument per field of the operation
    pub fn update(
        &mut self,
        slot: u16,
        flags: u8,
        old: &RowHeader,
        key: Option<&[u8]>,
        at: u16,
        before: Before<'_>,
        new_bytes: &[u8],
    ) -> Result<(), PageError> {
        let update = RowUpdate { slot, flags, old, key, at, before, new_bytes };
        let begin = self.buf.len();
        if let Some(first) = self.put_update(Head::default(), &update)? {
            self.note_first(begin, first);
        }
        Ok(())
    }

    /// A record that is one update of a row of a B+tree: as [`RecordBuilder::change_in`] and [`RecordBuilder::update`]. What it is
    /// is not noted for [`Store::change`](crate::Store::change): the caller knows, and makes the change by
    /// [`Store::change_row`](crate::Store::change_row).
    ///
    /// # Errors
    /// As for every operation.
    #[inline]
    pub fn update_in(&mut self, root: PageId, page: PageId, update: &RowUpdate<'_>) -> Result<(), PageError> {
        let head = self.head_in(root, page);
        self.put_update(head, update).map(drop)
    }

    /// An update after what its record begins with, or after what is in the record; what it is, if it carries what it replaces.
    #[inline(always)] // one call for each changed row, of a head that would be copied
    fn put_update(&mut self, mut head: Head, update: &RowUpdate<'_>) -> Result<Option<First>, PageError> {
        let RowUpdate { slot, flags, old, key, at, before, new_bytes } = *update;
        let code = if before.earlier > 0 { OP_UPDATE_AGAIN } else { OP_UPDATE };
        self.row_op_in(&mut head, code, slot, key, before.carried() + new_bytes.len())?;
        self.undo += before.len();
        self.note_shrunk(before.len(), new_bytes.len());
        if new_bytes.len() >= WORTH {
            let len = new_bytes.len() as u16; // records are shorter than 64 KB
            self.large = Some(LargeUpdate { index: (self.rows - 1) as u8, at, len });
        }
        head.push(flags);
        self.old_header(&mut head, old);
        let key = self.key(&mut head, key);
        head.varint(at.into());
        let there = self.put_part(&mut head, before.head);
        if before.earlier > 0 {
            head.varint(before.earlier.into());
            self.put_part(&mut head, before.tail);
        }
        let new = self.put_part(&mut head, new_bytes);
        self.put(&head);
        Ok((before.earlier == 0).then_some(First { end: 0, slot, flags, key, at, before: Some(there), new }))
    }

    /// A new row in the place of a ghost: `old_value` and `new_value` are the whole body after the key.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn replace(
        &mut self,
        slot: u16,
        flags: u8,
        old: &RowHeader,
        key: Option<&[u8]>,
        old_value: &[u8],
        new_value: &[u8],
    ) -> Result<(), PageError> {
        let mut head = self.row_op(OP_REPLACE, slot, key, old_value.len() + new_value.len())?;
        self.undo += old_value.len();
        self.note_shrunk(old_value.len(), new_value.len());
        head.push(flags);
        self.old_header(&mut head, old);
        self.key(&mut head, key);
        self.put_part(&mut head, old_value);
        self.put_part(&mut head, new_value);
        self.put(&head);
        Ok(())
    }

    /// Compensation: the row gets this header, and `bytes` for its `current_len` body bytes at `at`.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn restore(
        &mut self,
        slot: u16,
        header: &RowHeader,
        at: u16,
        current_len: u16,
        bytes: &[u8],
    ) -> Result<(), PageError> {
        self.room_for(bytes.len() + 64)?;
        let mut head = Head::default();
        head.push(OP_RESTORE);
        head.varint(slot.into());
        self.old_header(&mut head, header);
        head.varint(at.into());
        head.varint(current_len.into());
        self.put_part(&mut head, bytes);
        self.put(&head);
        Ok(())
    }

    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn remove(&mut self, slot: u16, count: u16) -> Result<(), PageError> {
        self.room_for(8)?;
        self.buf.push(OP_REMOVE);
        put_varint(&mut self.buf, u64::from(slot));
        put_varint(&mut self.buf, u64::from(count));
        Ok(())
    }

    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn insert_raw(&mut self, slot: u16, content: &[u8]) -> Result<(), PageError> {
        self.raw(OP_INSERT_RAW, slot, &[content])
    }

    /// Like [`RecordBuilder::insert_raw`] with the content in pieces, so that the caller need not join them.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn insert_raw_parts(&mut self, slot: u16, parts: &[&[u8]]) -> Result<(), PageError> {
        self.raw(OP_INSERT_RAW, slot, parts)
    }

    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn replace_raw(&mut self, slot: u16, content: &[u8]) -> Result<(), PageError> {
        self.raw(OP_REPLACE_RAW, slot, &[content])
    }

    fn raw(&mut self, op: u8, slot: u16, parts: &[&[u8]]) -> Result<(), PageError> {
        let len = parts.iter().map(|p| p.len()).sum::<usize>();
        self.room_for(len + 8)?;
        self.buf.push(op);
        put_varint(&mut self.buf, u64::from(slot));
        put_varint(&mut self.buf, len as u64);
        for p in parts {
            self.buf.extend_from_slice(p);
        }
        Ok(())
    }

    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn set_link(&mut self, link: Link, to: PageId) -> Result<(), PageError> {
        self.room_for(16)?;
        self.buf.extend_from_slice(&[OP_SET_LINK, u8::from(link == Link::Next)]);
        put_page_id(&mut self.buf, to);
        Ok(())
    }

    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn set_bits(&mut self, from: u32, count: u32, value: bool) -> Result<(), PageError> {
        self.room_for(16)?;
        self.buf.push(OP_SET_BITS);
        put_varint(&mut self.buf, u64::from(from));
        put_varint(&mut self.buf, u64::from(count));
        self.buf.push(u8::from(value));
        Ok(())
    }

    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn put_bytes(&mut self, at: u16, bytes: &[u8]) -> Result<(), PageError> {
        self.room_for(bytes.len() + 8)?;
        self.buf.push(OP_PUT_BYTES);
        put_varint(&mut self.buf, u64::from(at));
        put_bytes(&mut self.buf, bytes);
        Ok(())
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

    /// For sinks: the transaction that made the record and which record of that transaction came before. A system record stays the
    /// system's, whichever thread appends it.
    #[inline]
    pub fn stamp(&mut self, txn: TxnId, prev_lsn: Lsn) {
        let (txn, prev) = if self.is_system() { (TxnId::SYSTEM, Lsn::ZERO) } else { (txn, prev_lsn) };
        // The arrays have the lengths of their places, and a record is never shorter than its fixed part.
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

/// The used parts of a page: everything but a free area that is surely free.
fn image_parts(page: &Page) -> (&[u8], &[u8]) {
    let bytes = &page.bytes()[..];
    if page.verify().is_ok() && page.page_type().is_some_and(PageType::is_slotted) {
        let used = (0..page.slot_count()).filter_map(|s| page.slot_range(s).ok()).map(|r| r.end).max();
        let tail = SLOT_SIZE * page.slot_count() as usize;
        let head = used.unwrap_or(HEADER_SIZE).max(HEADER_SIZE);
        return (&bytes[..head], &bytes[PAGE_SIZE - tail..]);
    }
    let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
    (&bytes[..end.max(HEADER_SIZE)], &[])
}
