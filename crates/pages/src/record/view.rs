//! Reading records: operations in order, the row operation that a row header points to, one version
//! back.
//!
//! Any bytes give a value or [`PageError::Record`]; nothing panics.

use super::{
    F_ROOT, F_SYSTEM, F_UNDO_NEXT, H_NEXT_INDEX, H_SAME_LSN, H_SAME_TXN, KEYED, MAX_ROW_OPS,
    OP_FORMAT, OP_GHOST, OP_IMAGE, OP_INSERT, OP_INSERT_RAW, OP_PAGE, OP_PAYLOAD, OP_PUT_BYTES,
    OP_REMOVE, OP_REPLACE, OP_REPLACE_RAW, OP_RESTORE, OP_SET_BITS, OP_SET_LINK, OP_UPDATE,
    OP_UPDATE_AGAIN, RecordKind,
};
use crate::codec::Reader;
use crate::error::PageError;
use crate::id::{PageId, TxnId, UnitId};
use crate::op::BeforeImage;
use crate::op::{Link, PageOp, split_keyed, value_offset};
use crate::page::PageType;
use crate::row_header::{ROW_FLAGS, RowHeader, lsn_from_bytes};
use smallvec::SmallVec;
use wal::Lsn;

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
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<RecordView<'a>, PageError> {
        let mut r = Reader { rest: bytes };
        let kind = RecordKind::from_u8(r.u8()?)
            .ok_or(PageError::Record { what: "unknown record kind" })?;
        let flags = r.u8()?;
        if flags & !(F_SYSTEM | F_UNDO_NEXT | F_ROOT) != 0 {
            return Err(PageError::Record { what: "unknown record flags" });
        }
        let txn = TxnId::from_bytes(*r.array()?);
        let prev_lsn = lsn_from_bytes(r.array()?);
        let undo_next =
            if flags & F_UNDO_NEXT != 0 { lsn_from_bytes(r.array()?) } else { Lsn::ZERO };
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
    #[inline]
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
                if self.next >= MAX_ROW_OPS {
                    return Err(PageError::Record { what: "too many row operations" });
                }
                index = self.next as u8;
                self.next += 1;
            }
            return Ok(Some(RecordOp { page: self.page, index, op }));
        }
    }

    fn operation(&mut self, code: u8) -> Result<PageOp<'a>, PageError> {
        let keyed = code & KEYED != 0;
        match code & !KEYED {
            OP_INSERT | OP_GHOST | OP_UPDATE | OP_UPDATE_AGAIN | OP_REPLACE => {
                return self.row_operation(code & !KEYED, keyed);
            }
            _ if keyed => return Err(PageError::Record { what: "unknown operation" }),
            _ => {}
        }
        let r = &mut self.r;
        Ok(match code {
            OP_FORMAT => {
                let kind = PageType::from_u8(r.u8()?)
                    .ok_or(PageError::Record { what: "unknown page type" })?;
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
            OP_UPDATE | OP_UPDATE_AGAIN => {
                let at = self.r.u16v()?;
                let mut before = BeforeImage::whole(self.r.bytes()?);
                if code == OP_UPDATE_AGAIN {
                    before.earlier = self.r.u16v()?;
                    if before.earlier == 0 {
                        return Err(PageError::Record { what: "update leaves nothing out" });
                    }
                    before.tail = self.r.bytes()?;
                }
                PageOp::Update { slot, flags, old, key, at, before, new_bytes: self.r.bytes()? }
            }
            _ => {
                let old_value = self.r.bytes()?;
                PageOp::Replace { slot, flags, old, key, old_value, new_value: self.r.bytes()? }
            }
        })
    }

    #[inline]
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
        let index =
            if b & H_NEXT_INDEX != 0 { self.last.index.wrapping_add(1) } else { self.r.u8()? };
        self.last = RowHeader { flags: b & ROW_FLAGS, txn, lsn, index };
        Ok(self.last)
    }
}

/// The versioned row operation number `index` of a record: what a row header's LSN and index point
/// to.
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

/// The version whose after image is needed to take `op` back, besides `op` itself.
#[must_use]
pub fn needs_earlier(op: &PageOp<'_>) -> Option<RowHeader> {
    match op {
        PageOp::Update { old, before, .. } if before.earlier > 0 => Some(*old),
        _ => None,
    }
}

/// One version back: from `body`, a row's bytes after its header as `op` left them, to the header
/// and body before it. `earlier` is the operation that the old header names, if [`needs_earlier`]
/// asks for it. The earlier body is put into `out`; `None` means that the row did not exist before.
///
/// # Errors
/// [`PageError::Record`] when the operation cannot have made this body.
pub fn previous_version(
    body: &[u8],
    op: &PageOp<'_>,
    earlier: Option<&PageOp<'_>>,
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
        PageOp::Update { old, at, before, new_bytes, .. } => {
            (old, at as usize, new_bytes.len(), before)
        }
        PageOp::Replace { old, key, old_value, new_value, .. } => {
            (old, key.map_or(0, value_offset), new_value.len(), BeforeImage::whole(old_value))
        }
        _ => return Err(PageError::Record { what: "not a row operation" }),
    };
    let head = body.get(..at).ok_or(MISFIT)?;
    let tail = body.get(at + now..).ok_or(MISFIT)?;
    out.extend_from_slice(head);
    before.append_to(at, earlier, out)?;
    out.extend_from_slice(tail);
    if let (PageOp::Replace { key: Some(key), .. }, Some((k, _))) = (op, split_keyed(body))
        && *key != k
    {
        return Err(MISFIT);
    }
    Ok(Some(old))
}
