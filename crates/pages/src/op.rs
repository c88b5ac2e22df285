//! Page operations and the one function that applies them: used when a record is made and when it
//! is redone.
//!
//! `apply` is deterministic: the same page bytes, operation and context always give the same page.
//! Operations that do not fit the page give an error; nothing panics on any input.

mod before;

pub use before::{BeforeImage, LargeUpdate, LatestUpdates, WORTH};

use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, TxnId, UnitId};
use crate::page::{BODY_SIZE, HEADER_SIZE, MAX_SLOT_LEN, Page, PageType};
use crate::row_header::{GHOST, ROW_FLAGS, ROW_HEADER, RowHeader};
use wal::Lsn;

/// Which link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Prev,
    Next,
}

/// One change of one page, as decoded from a log record.
///
/// `at` in row operations counts from the first byte after the row header. In a keyed row (B+tree
/// leaf) the body is key length u16, key, value; see [`value_offset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOp<'a> {
    /// The page becomes empty, whatever it was.
    Format {
        kind: PageType,
        level: u8,
        unit: UnitId,
        prev: PageId,
        next: PageId,
        root: PageId,
    },
    /// The page becomes these bytes, with zeros between `head` and `tail`.
    Image {
        head: &'a [u8],
        tail: &'a [u8],
    },
    /// A new row version with a header made from the record. Body: with a key the leaf form, else
    /// `value` alone.
    Insert {
        slot: u16,
        flags: u8,
        key: Option<&'a [u8]>,
        value: &'a [u8],
    },
    /// Marks a row as deleted.
    Ghost {
        slot: u16,
        old: RowHeader,
        key: Option<&'a [u8]>,
    },
    /// Replaces `before` at `at` of the body by `new_bytes`; lengths may differ. The row's flags
    /// become `flags`.
    Update {
        slot: u16,
        flags: u8,
        old: RowHeader,
        key: Option<&'a [u8]>,
        at: u16,
        before: BeforeImage<'a>,
        new_bytes: &'a [u8],
    },
    /// A new row in the place of a ghost with the same key: the whole value changes.
    Replace {
        slot: u16,
        flags: u8,
        old: RowHeader,
        key: Option<&'a [u8]>,
        old_value: &'a [u8],
        new_value: &'a [u8],
    },
    /// Compensation: the given header, and `bytes` for the `current_len` bytes at `at` of the body.
    Restore {
        slot: u16,
        header: RowHeader,
        at: u16,
        current_len: u16,
        bytes: &'a [u8],
    },
    /// Slots vanish: an index closes the gap, a heap keeps empty slots.
    Remove {
        slot: u16,
        count: u16,
    },
    /// A slot with exactly this content (moved rows with their headers, inner entries, LOB pieces).
    InsertRaw {
        slot: u16,
        content: &'a [u8],
    },
    /// The slot's content becomes this.
    ReplaceRaw {
        slot: u16,
        content: &'a [u8],
    },
    SetLink {
        link: Link,
        to: PageId,
    },
    /// Bits of an allocation map, counted from the first body byte.
    SetBits {
        from: u32,
        count: u32,
        value: bool,
    },
    /// Bytes at an offset in the body of a page without slots.
    PutBytes {
        at: u16,
        bytes: &'a [u8],
    },
}

/// Where an operation comes from: what it writes into row headers.
#[derive(Clone, Copy, Debug)]
pub struct ApplyCtx {
    pub lsn: Lsn,
    pub txn: TxnId,
    /// Number of the versioned row operation within its record.
    pub index: u8,
}

/// Offset of the value in a keyed row's body.
#[must_use]
#[inline]
pub fn value_offset(key: &[u8]) -> usize {
    2 + key.len()
}

/// Splits a keyed row's body (B+tree leaf) into key and value.
#[must_use]
pub fn split_keyed(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = body.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_le_bytes(*len) as usize)
}

impl PageOp<'_> {
    /// Whether the operation makes a row version and so counts towards the index in row headers.
    #[must_use]
    #[inline]
    pub fn is_versioned(&self) -> bool {
        matches!(
            self,
            PageOp::Insert { .. }
                | PageOp::Ghost { .. }
                | PageOp::Update { .. }
                | PageOp::Replace { .. }
        )
    }

    /// Whether the operation makes the page whatever it was before.
    #[must_use]
    #[inline]
    pub(crate) fn rebuilds_page(&self) -> bool {
        matches!(self, PageOp::Format { .. } | PageOp::Image { .. })
    }
}

/// Applies one operation to a page. `id` is the page's place; the page's LSN is set by the caller
/// after the last operation of the record.
///
/// # Errors
/// [`PageError::Corrupt`] when the operation does not fit the page; the page may then be half
/// changed and must not be used.
#[inline]
pub fn apply(
    page: &mut Page,
    id: PageId,
    op: &PageOp<'_>,
    ctx: &ApplyCtx,
) -> Result<(), PageError> {
    match *op {
        PageOp::Format { kind, level, unit, prev, next, root } => {
            page.format(id, kind, level, unit);
            page.set_prev(prev);
            page.set_next(next);
            page.set_root(root);
            Ok(())
        }
        PageOp::Image { head, tail } => {
            if head.len() + tail.len() > PAGE_SIZE {
                return Err(PageError::corrupt(id, "image longer than a page"));
            }
            let bytes = page.bytes_mut();
            bytes.fill(0);
            bytes[..head.len()].copy_from_slice(head);
            bytes[PAGE_SIZE - tail.len()..].copy_from_slice(tail);
            page.set_id(id);
            Ok(())
        }
        PageOp::SetLink { link: Link::Prev, to } => {
            page.set_prev(to);
            Ok(())
        }
        PageOp::SetLink { link: Link::Next, to } => {
            page.set_next(to);
            Ok(())
        }
        PageOp::SetBits { from, count, value } => set_bits(page, from, count, value),
        PageOp::PutBytes { at, bytes } => put_bytes(page, at, bytes),
        _ => apply_slot(page, op, ctx),
    }
}

#[inline]
fn apply_slot(page: &mut Page, op: &PageOp<'_>, ctx: &ApplyCtx) -> Result<(), PageError> {
    let Some(kind) = page.page_type().filter(|k| k.is_slotted()) else {
        return Err(PageError::corrupt(page.id(), "row operation on a page without slots"));
    };
    let shift = kind != PageType::Data;
    match *op {
        PageOp::Insert { slot, flags, key, value } => {
            insert(page, slot, flags, key, value, shift, ctx)
        }
        PageOp::Ghost { slot, old, .. } => {
            need_versioned(page)?;
            page.set_row_header(slot, &made_by(ctx, old.flags | GHOST))
        }
        PageOp::Update { slot, flags, at, before, new_bytes, .. } => {
            apply_patch(page, &RowPatch { slot, flags, at, old_len: before.len(), new_bytes }, ctx)
        }
        PageOp::Replace { slot, flags, key, old_value, new_value, .. } => {
            need_versioned(page)?;
            let at = ROW_HEADER + key.map_or(0, value_offset);
            if page.slot(slot)?.len() != at + old_value.len() {
                return Err(PageError::corrupt(page.id(), "replaced row has another length"));
            }
            page.splice_slot(slot, at, old_value.len(), new_value)?;
            page.set_row_header(slot, &made_by(ctx, flags))
        }
        PageOp::Restore { slot, header, at, current_len, bytes } => {
            need_versioned(page)?;
            page.splice_slot(slot, ROW_HEADER + at as usize, current_len as usize, bytes)?;
            page.set_row_header(slot, &header)
        }
        PageOp::Remove { slot, count } => page.remove_slots(slot, count, shift),
        PageOp::InsertRaw { slot, content } => {
            check_raw(page, content)?;
            let at = page.open_slot(slot, content.len(), shift)?;
            page.write_content(at, content);
            note_raw(page, content);
            Ok(())
        }
        PageOp::ReplaceRaw { slot, content } => {
            check_raw(page, content)?;
            let old = page.slot(slot)?;
            let ghost =
                page.is_versioned() && RowHeader::split(old).is_some_and(|(h, _)| h.is_ghost());
            let len = old.len();
            page.splice_slot(slot, 0, len, content)?;
            page.add_ghosts(-i32::from(ghost));
            note_raw(page, content);
            Ok(())
        }
        _ => Err(PageError::corrupt(page.id(), "not a row operation")),
    }
}

/// What an update does to its page: the bytes that it replaces are there.
#[derive(Clone, Copy, Debug)]
pub struct RowPatch<'a> {
    pub slot: u16,
    pub flags: u8,
    /// Where in the row's body.
    pub at: u16,
    pub old_len: usize,
    pub new_bytes: &'a [u8],
}

/// The same as [`apply`] of the update.
#[inline]
pub(crate) fn apply_patch(
    page: &mut Page,
    patch: &RowPatch<'_>,
    ctx: &ApplyCtx,
) -> Result<(), PageError> {
    need_versioned(page)?;
    let at = ROW_HEADER + usize::from(patch.at);
    page.update_row(patch.slot, at, patch.old_len, patch.new_bytes, &made_by(ctx, patch.flags))
}

#[inline]
fn made_by(ctx: &ApplyCtx, flags: u8) -> RowHeader {
    RowHeader { flags: flags & ROW_FLAGS, txn: ctx.txn, lsn: ctx.lsn, index: ctx.index }
}

#[inline]
fn need_versioned(page: &Page) -> Result<(), PageError> {
    if page.is_versioned() {
        Ok(())
    } else {
        Err(PageError::corrupt(page.id(), "versioned operation on other page"))
    }
}

fn insert(
    page: &mut Page,
    slot: u16,
    flags: u8,
    key: Option<&[u8]>,
    value: &[u8],
    shift: bool,
    ctx: &ApplyCtx,
) -> Result<(), PageError> {
    need_versioned(page)?;
    let len = ROW_HEADER + key.map_or(0, value_offset) + value.len();
    let at = page.open_slot(slot, len, shift)?;
    let head = made_by(ctx, flags);
    page.write_content(at, &head.to_bytes());
    let mut to = at + ROW_HEADER;
    if let Some(key) = key {
        // open_slot limited the whole row to a page, so the key length fits u16.
        page.write_content(to, &(key.len() as u16).to_le_bytes());
        page.write_content(to + 2, key);
        to += value_offset(key);
    }
    page.write_content(to, value);
    page.add_ghosts(i32::from(head.is_ghost()));
    page.raise_newest_writer(ctx.txn);
    Ok(())
}

fn check_raw(page: &Page, content: &[u8]) -> Result<(), PageError> {
    let least = if page.is_versioned() { ROW_HEADER } else { 1 };
    if content.len() < least || content.len() > MAX_SLOT_LEN {
        return Err(PageError::corrupt(page.id(), "raw slot length out of range"));
    }
    Ok(())
}

fn note_raw(page: &mut Page, content: &[u8]) {
    if !page.is_versioned() {
        return;
    }
    if let Some((head, _)) = RowHeader::split(content) {
        page.add_ghosts(i32::from(head.is_ghost()));
        page.raise_newest_writer(head.txn);
    }
}

fn need_plain(page: &Page) -> Result<(), PageError> {
    match page.page_type() {
        Some(kind) if !kind.is_slotted() => Ok(()),
        _ => Err(PageError::corrupt(page.id(), "byte operation on a page with slots")),
    }
}

fn set_bits(page: &mut Page, from: u32, count: u32, value: bool) -> Result<(), PageError> {
    need_plain(page)?;
    let end = u64::from(from) + u64::from(count);
    if end > (BODY_SIZE * 8) as u64 {
        return Err(PageError::corrupt(page.id(), "bits beyond the page"));
    }
    let body = &mut page.bytes_mut()[HEADER_SIZE..];
    let (mut bit, end) = (from as usize, end as usize);
    while bit < end {
        if bit.is_multiple_of(8) && end - bit >= 8 {
            body[bit / 8] = if value { 0xff } else { 0 };
            bit += 8;
        } else {
            let mask = 1u8 << (bit % 8);
            if value {
                body[bit / 8] |= mask;
            } else {
                body[bit / 8] &= !mask;
            }
            bit += 1;
        }
    }
    Ok(())
}

fn put_bytes(page: &mut Page, at: u16, bytes: &[u8]) -> Result<(), PageError> {
    need_plain(page)?;
    let at = HEADER_SIZE + at as usize;
    match page.bytes_mut().get_mut(at..at + bytes.len()) {
        Some(to) => {
            to.copy_from_slice(bytes);
            Ok(())
        }
        None => Err(PageError::corrupt(page.id(), "bytes beyond the page")),
    }
}
