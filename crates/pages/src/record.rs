//! The log record format: header, page operations, undo information.
//!
//! A record is built once in a reusable buffer, stamped and appended by a [`RecordSink`], then applied from the very
//! bytes that went to the log, so that doing and redoing cannot differ. Decoding is checked: any bytes give a value or
//! [`PageError::Record`].
//!
//! Layout: kind u8, flags u8, transaction u48, previous LSN (10), then if flagged the next LSN to undo (10) and the
//! B+tree root (6), then operations. Numbers in operations are varints. The old row headers of a record are usually
//! neighbours, so each is encoded against the one before it.

use crate::codec::{Reader, put_bytes, put_lsn, put_page_id, put_varint};
use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, TxnId, UnitId};
use crate::op::{Link, PageOp, split_keyed, value_offset};
use crate::page::{HEADER_SIZE, Page, PageType, SLOT_SIZE};
use crate::row_header::{ROW_FLAGS, RowHeader, lsn_from_bytes, lsn_to_bytes};
use smallvec::SmallVec;
use wal::Lsn;

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
    /// Upper rooms' own records, 0 to 127.
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
}

/// Builds one record in a reusable buffer.
#[derive(Debug)]
pub struct RecordBuilder {
    buf: Vec<u8>,
    rows: usize,
    last: RowHeader,
    page: PageId,
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
        };
        r.change();
        r
    }

    /// Begins a record of the kind; whatever was built before is dropped.
    pub fn begin(&mut self, kind: RecordKind) -> &mut Self {
        self.buf.clear();
        self.buf.resize(FIXED, 0);
        self.buf[0] = kind.to_u8();
        self.rows = 0;
        self.last = RowHeader::default();
        self.page = PageId::NONE;
        self
    }

    /// Begins a transaction's change.
    pub fn change(&mut self) -> &mut Self {
        self.begin(RecordKind::Change)
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
    pub fn page(&mut self, id: PageId) {
        if self.page != id {
            self.page = id;
            self.buf.push(OP_PAGE);
            put_page_id(&mut self.buf, id);
        }
    }

    /// Encoded bytes that still fit.
    #[must_use]
    pub fn room(&self) -> usize {
        // A page change costs up to 9 bytes and is not checked on its own.
        MAX_RECORD.saturating_sub(self.buf.len() + 16)
    }

    /// Whether one more versioned row operation that carries `bytes` of keys and contents fits.
    #[must_use]
    pub fn can_take(&self, bytes: usize) -> bool {
        self.rows < MAX_ROW_OPS && self.room() >= bytes + 64
    }

    /// Versioned row operations so far.
    #[must_use]
    pub fn row_ops(&self) -> usize {
        self.rows
    }

    /// Whether there is no operation or payload yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let flags = self.buf[AT_FLAGS];
        let head =
            FIXED + if flags & F_UNDO_NEXT != 0 { 10 } else { 0 } + if flags & F_ROOT != 0 { 6 } else { 0 };
        self.buf.len() == head
    }

    fn room_for(&self, bytes: usize) -> Result<(), PageError> {
        if self.room() < bytes { Err(PageError::RecordFull) } else { Ok(()) }
    }

    fn row_op(&mut self, op: u8, slot: u16, key: Option<&[u8]>, bytes: usize) -> Result<(), PageError> {
        if !self.can_take(bytes + key.map_or(0, <[u8]>::len)) {
            return Err(PageError::RecordFull);
        }
        self.rows += 1;
        self.buf.push(if key.is_some() { op | KEYED } else { op });
        put_varint(&mut self.buf, u64::from(slot));
        Ok(())
    }

    fn key(&mut self, key: Option<&[u8]>) {
        if let Some(key) = key {
            put_bytes(&mut self.buf, key);
        }
    }

    fn old_header(&mut self, h: &RowHeader) {
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
        self.buf.push(b);
        if b & H_SAME_TXN == 0 {
            put_varint(&mut self.buf, h.txn.0);
        }
        if b & H_SAME_LSN == 0 {
            put_lsn(&mut self.buf, h.lsn);
        }
        if b & H_NEXT_INDEX == 0 {
            self.buf.push(h.index);
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
        self.row_op(OP_INSERT, slot, key, value.len())?;
        self.buf.push(flags);
        self.key(key);
        put_bytes(&mut self.buf, value);
        Ok(())
    }

    /// Marks a row as deleted.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn ghost(&mut self, slot: u16, old: &RowHeader, key: Option<&[u8]>) -> Result<(), PageError> {
        self.row_op(OP_GHOST, slot, key, 0)?;
        self.old_header(old);
        self.key(key);
        Ok(())
    }

    /// Replaces `old_bytes` at `at` of the row's body by `new_bytes`; the row's flags become `flags`.
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
        old_bytes: &[u8],
        new_bytes: &[u8],
    ) -> Result<(), PageError> {
        self.row_op(OP_UPDATE, slot, key, old_bytes.len() + new_bytes.len())?;
        self.buf.push(flags);
        self.old_header(old);
        self.key(key);
        put_varint(&mut self.buf, u64::from(at));
        put_bytes(&mut self.buf, old_bytes);
        put_bytes(&mut self.buf, new_bytes);
        Ok(())
    }

    /// A new row in the place of a ghost: `old_value` and `new_value` are the whole body behind the key.
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
        self.row_op(OP_REPLACE, slot, key, old_value.len() + new_value.len())?;
        self.buf.push(flags);
        self.old_header(old);
        self.key(key);
        put_bytes(&mut self.buf, old_value);
        put_bytes(&mut self.buf, new_value);
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
        self.buf.push(OP_RESTORE);
        put_varint(&mut self.buf, u64::from(slot));
        self.old_header(header);
        put_varint(&mut self.buf, u64::from(at));
        put_varint(&mut self.buf, u64::from(current_len));
        put_bytes(&mut self.buf, bytes);
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

    /// Whether the record was begun by [`RecordBuilder::system`].
    #[must_use]
    pub fn is_system(&self) -> bool {
        self.buf[AT_FLAGS] & F_SYSTEM != 0
    }

    /// For sinks: who made the record and which record of that transaction came before. A system record stays the
    /// system's, whoever appends it.
    pub fn stamp(&mut self, txn: TxnId, prev_lsn: Lsn) {
        let (txn, prev) = if self.is_system() { (TxnId::SYSTEM, Lsn::ZERO) } else { (txn, prev_lsn) };
        self.buf[AT_TXN..AT_PREV].copy_from_slice(&txn.to_bytes());
        self.buf[AT_PREV..FIXED].copy_from_slice(&lsn_to_bytes(prev));
    }

    /// The encoded record.
    #[must_use]
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

/// A decoded record over its bytes.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    kind: RecordKind,
    flags: u8,
    txn: TxnId,
    prev_lsn: Lsn,
    undo_next: Lsn,
    root: PageId,
    body: &'a [u8],
}

/// One operation with its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOp<'a> {
    pub page: PageId,
    /// Number of the versioned row operation, which row headers keep; 0 for other operations.
    pub index: u8,
    pub op: PageOp<'a>,
}

impl<'a> RecordView<'a> {
    /// Decodes the header; operations are decoded as they are read.
    ///
    /// # Errors
    /// [`PageError::Record`] when the bytes are no record.
    pub fn decode(bytes: &'a [u8]) -> Result<RecordView<'a>, PageError> {
        let mut r = Reader { rest: bytes };
        let kind = RecordKind::from_u8(r.u8()?).ok_or(PageError::Record { what: "unknown record kind" })?;
        let flags = r.u8()?;
        if flags & !(F_SYSTEM | F_UNDO_NEXT | F_ROOT) != 0 {
            return Err(PageError::Record { what: "unknown record flags" });
        }
        let txn = TxnId::from_bytes(*r.array()?);
        let prev_lsn = lsn_from_bytes(r.array()?);
        let undo_next = if flags & F_UNDO_NEXT != 0 { lsn_from_bytes(r.array()?) } else { Lsn::ZERO };
        let root = if flags & F_ROOT != 0 { PageId::from_bytes(*r.array()?) } else { PageId::NONE };
        Ok(RecordView { kind, flags, txn, prev_lsn, undo_next, root, body: r.rest })
    }

    #[must_use]
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// The transaction; [`TxnId::SYSTEM`] for the system's records.
    #[must_use]
    pub fn txn(&self) -> TxnId {
        self.txn
    }

    #[must_use]
    pub fn is_system(&self) -> bool {
        self.flags & F_SYSTEM != 0
    }

    /// The transaction's record before this one; zero for its first.
    #[must_use]
    pub fn prev_lsn(&self) -> Lsn {
        self.prev_lsn
    }

    /// Of a compensation: the next record to undo.
    #[must_use]
    pub fn undo_next(&self) -> Lsn {
        self.undo_next
    }

    /// The B+tree of the row operations; none for heaps.
    #[must_use]
    pub fn root(&self) -> PageId {
        self.root
    }

    /// All page operations in order.
    #[must_use]
    pub fn ops(&self) -> OpIter<'a> {
        OpIter {
            r: Reader { rest: self.body },
            page: PageId::NONE,
            next: 0,
            last: RowHeader::default(),
            payload: &[],
            failed: false,
        }
    }

    /// The pages that the record changes, each once, in order of their first operation.
    ///
    /// # Errors
    /// [`PageError::Record`] when an operation cannot be decoded.
    pub fn pages(&self) -> Result<SmallVec<[PageId; 8]>, PageError> {
        let mut pages: SmallVec<[PageId; 8]> = SmallVec::new();
        for op in self.ops() {
            let page = op?.page;
            if pages.last() != Some(&page) && !pages.contains(&page) {
                pages.push(page);
            }
        }
        Ok(pages)
    }

    /// The bytes given by [`RecordBuilder::payload`]; empty when there are none.
    ///
    /// # Errors
    /// [`PageError::Record`] when an operation cannot be decoded.
    pub fn payload(&self) -> Result<&'a [u8], PageError> {
        let mut it = self.ops();
        for op in it.by_ref() {
            op?;
        }
        Ok(it.payload)
    }
}

/// Iterator over a record's operations; ends after the first error.
#[derive(Clone, Debug)]
pub struct OpIter<'a> {
    r: Reader<'a>,
    page: PageId,
    next: usize,
    last: RowHeader,
    payload: &'a [u8],
    failed: bool,
}

impl<'a> Iterator for OpIter<'a> {
    type Item = Result<RecordOp<'a>, PageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.read() {
            Ok(op) => op.map(Ok),
            Err(e) => {
                self.failed = true;
                Some(Err(e))
            }
        }
    }
}

impl<'a> OpIter<'a> {
    fn read(&mut self) -> Result<Option<RecordOp<'a>>, PageError> {
        loop {
            if self.r.rest.is_empty() {
                return Ok(None);
            }
            let code = self.r.u8()?;
            match code {
                OP_PAGE => {
                    self.page = self.r.page_id()?;
                    continue;
                }
                OP_PAYLOAD => {
                    self.payload = self.r.bytes()?;
                    continue;
                }
                _ => {}
            }
            if self.page.is_none() {
                return Err(PageError::Record { what: "operation without a page" });
            }
            let op = self.operation(code)?;
            let mut index = 0;
            if op.is_versioned() {
                index = u8::try_from(self.next)
                    .ok()
                    .filter(|_| self.next < MAX_ROW_OPS)
                    .ok_or(PageError::Record { what: "too many row operations" })?;
                self.next += 1;
            }
            return Ok(Some(RecordOp { page: self.page, index, op }));
        }
    }

    fn operation(&mut self, code: u8) -> Result<PageOp<'a>, PageError> {
        let keyed = code & KEYED != 0;
        match code & !KEYED {
            OP_INSERT | OP_GHOST | OP_UPDATE | OP_REPLACE => return self.row_operation(code & !KEYED, keyed),
            _ if keyed => return Err(PageError::Record { what: "unknown operation" }),
            _ => {}
        }
        let r = &mut self.r;
        Ok(match code {
            OP_FORMAT => {
                let kind =
                    PageType::from_u8(r.u8()?).ok_or(PageError::Record { what: "unknown page type" })?;
                let level = r.u8()?;
                let unit = UnitId(r.u32v()?);
                let prev = r.page_id()?;
                let next = r.page_id()?;
                PageOp::Format { kind, level, unit, prev, next, root: r.page_id()? }
            }
            OP_IMAGE => {
                let head = r.bytes()?;
                PageOp::Image { head, tail: r.bytes()? }
            }
            OP_RESTORE => {
                let slot = r.u16v()?;
                let header = self.old_header()?;
                let at = self.r.u16v()?;
                let current_len = self.r.u16v()?;
                PageOp::Restore { slot, header, at, current_len, bytes: self.r.bytes()? }
            }
            OP_REMOVE => {
                let slot = r.u16v()?;
                PageOp::Remove { slot, count: r.u16v()? }
            }
            OP_INSERT_RAW => {
                let slot = r.u16v()?;
                PageOp::InsertRaw { slot, content: r.bytes()? }
            }
            OP_REPLACE_RAW => {
                let slot = r.u16v()?;
                PageOp::ReplaceRaw { slot, content: r.bytes()? }
            }
            OP_SET_LINK => {
                let link = match r.u8()? {
                    0 => Link::Prev,
                    1 => Link::Next,
                    _ => return Err(PageError::Record { what: "unknown link" }),
                };
                PageOp::SetLink { link, to: r.page_id()? }
            }
            OP_SET_BITS => {
                let from = r.u32v()?;
                let count = r.u32v()?;
                PageOp::SetBits { from, count, value: r.u8()? != 0 }
            }
            OP_PUT_BYTES => {
                let at = r.u16v()?;
                PageOp::PutBytes { at, bytes: r.bytes()? }
            }
            _ => return Err(PageError::Record { what: "unknown operation" }),
        })
    }

    fn row_operation(&mut self, code: u8, keyed: bool) -> Result<PageOp<'a>, PageError> {
        let slot = self.r.u16v()?;
        let flags = if code == OP_GHOST { 0 } else { self.r.u8()? };
        if flags & !ROW_FLAGS != 0 {
            return Err(PageError::Record { what: "unknown row flags" });
        }
        let old = if code == OP_INSERT { RowHeader::default() } else { self.old_header()? };
        let key = if keyed { Some(self.r.bytes()?) } else { None };
        Ok(match code {
            OP_INSERT => PageOp::Insert { slot, flags, key, value: self.r.bytes()? },
            OP_GHOST => PageOp::Ghost { slot, old, key },
            OP_UPDATE => {
                let at = self.r.u16v()?;
                let old_bytes = self.r.bytes()?;
                PageOp::Update { slot, flags, old, key, at, old_bytes, new_bytes: self.r.bytes()? }
            }
            _ => {
                let old_value = self.r.bytes()?;
                PageOp::Replace { slot, flags, old, key, old_value, new_value: self.r.bytes()? }
            }
        })
    }

    fn old_header(&mut self) -> Result<RowHeader, PageError> {
        let b = self.r.u8()?;
        if b & !(ROW_FLAGS | H_SAME_TXN | H_SAME_LSN | H_NEXT_INDEX) != 0 {
            return Err(PageError::Record { what: "unknown row header flags" });
        }
        let txn = if b & H_SAME_TXN != 0 { self.last.txn } else { TxnId(self.r.varint()?) };
        if txn > TxnId::MAX {
            return Err(PageError::Record { what: "transaction id out of range" });
        }
        let lsn = if b & H_SAME_LSN != 0 { self.last.lsn } else { self.r.lsn()? };
        let index = if b & H_NEXT_INDEX != 0 { self.last.index.wrapping_add(1) } else { self.r.u8()? };
        self.last = RowHeader { flags: b & ROW_FLAGS, txn, lsn, index };
        Ok(self.last)
    }
}

/// The versioned row operation number `index` of a record: what a row header's LSN and index point to.
///
/// # Errors
/// [`PageError::Record`] when the record has no such operation or cannot be decoded.
pub fn row_op<'a>(record: &RecordView<'a>, index: u8) -> Result<RecordOp<'a>, PageError> {
    for op in record.ops() {
        let op = op?;
        if op.index == index && op.op.is_versioned() {
            return Ok(op);
        }
    }
    Err(PageError::Record { what: "record has no such row operation" })
}

/// The key that a row operation names; `None` for heap rows.
#[must_use]
pub fn row_key<'a>(op: &PageOp<'a>) -> Option<&'a [u8]> {
    match *op {
        PageOp::Insert { key, .. }
        | PageOp::Ghost { key, .. }
        | PageOp::Update { key, .. }
        | PageOp::Replace { key, .. } => key,
        _ => None,
    }
}

/// One version back: from `body`, a row's bytes behind its header as `op` left them, to the header and body before it.
/// The earlier body is put into `out`; `None` means that the row did not exist before.
///
/// # Errors
/// [`PageError::Record`] when the operation cannot have made this body.
pub fn previous_version(
    body: &[u8],
    op: &PageOp<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<RowHeader>, PageError> {
    const MISFIT: PageError = PageError::Record { what: "row version and log record do not fit" };
    out.clear();
    let (old, at, now, before) = match *op {
        PageOp::Insert { .. } => return Ok(None),
        PageOp::Ghost { old, .. } => {
            out.extend_from_slice(body);
            return Ok(Some(old));
        }
        PageOp::Update { old, at, old_bytes, new_bytes, .. } => {
            (old, at as usize, new_bytes.len(), old_bytes)
        }
        PageOp::Replace { old, key, old_value, new_value, .. } => {
            (old, key.map_or(0, value_offset), new_value.len(), old_value)
        }
        _ => return Err(PageError::Record { what: "not a row operation" }),
    };
    let head = body.get(..at).ok_or(MISFIT)?;
    let tail = body.get(at + now..).ok_or(MISFIT)?;
    out.extend_from_slice(head);
    out.extend_from_slice(before);
    out.extend_from_slice(tail);
    if let (PageOp::Replace { key: Some(key), .. }, Some((k, _))) = (op, split_keyed(body))
        && *key != k
    {
        return Err(MISFIT);
    }
    Ok(Some(old))
}
