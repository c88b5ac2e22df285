//! Operations on one row: insert, ghost, update, replace, and their compensation.
//!
//! Each adds to what the undo of the record may need, and carries what undo and older versions
//! need: the old header, the key of a B+tree's row, the bytes that it replaces. The old row headers
//! of a record are usually neighbours, so each is encoded against the one before it.

use super::only::{FirstOp, RecordPart};
use super::{
    H_NEXT_INDEX, H_SAME_LSN, H_SAME_TXN, KEYED, OP_GHOST, OP_INSERT, OP_REPLACE, OP_RESTORE,
    OP_UPDATE, OP_UPDATE_AGAIN, RecordBuilder, UNDO_ROW,
};
use crate::codec::{HEAD, Head, SHORT_PART};
use crate::error::PageError;
use crate::id::PageId;
use crate::op::{BeforeImage, LargeUpdate, WORTH};
use crate::row_header::{ROW_FLAGS, RowHeader};

/// An update of a row: `before` at `at` of its body is replaced by `new_bytes`, and its flags
/// become `flags`.
#[derive(Clone, Copy, Debug)]
pub struct RowUpdate<'a> {
    pub slot: u16,
    pub flags: u8,
    pub old: &'a RowHeader,
    pub key: Option<&'a [u8]>,
    pub at: u16,
    pub before: BeforeImage<'a>,
    pub new_bytes: &'a [u8],
}

impl RecordBuilder {
    fn note_shrunk(&mut self, old: usize, new: usize) {
        if old > new {
            self.shrunk = Some(self.page);
        }
    }

    /// Begins a row operation.
    #[inline]
    fn row_op(
        &mut self,
        op: u8,
        slot: u16,
        key: Option<&[u8]>,
        bytes: usize,
    ) -> Result<Head, PageError> {
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

    /// Adds bytes with their length: short ones to the numbers, others to the record, after the
    /// numbers so far. Returns where they will be in the record.
    #[inline(always)]
    fn put_part(&mut self, head: &mut Head, bytes: &[u8]) -> RecordPart {
        head.varint(bytes.len() as u64);
        if bytes.len() <= SHORT_PART && head.len < HEAD / 2 {
            let at = self.buf.len() + head.len;
            head.short(bytes);
            return RecordPart { at, len: bytes.len() };
        }
        self.put(head);
        head.len = 0;
        let at = self.buf.len();
        self.buf.extend_from_slice(bytes);
        RecordPart { at, len: bytes.len() }
    }

    /// As [`RecordBuilder::put_part`], where there is a key.
    #[inline]
    fn key(&mut self, head: &mut Head, key: Option<&[u8]>) -> Option<RecordPart> {
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
        self.put_insert(&mut Head::default(), slot, flags, key, value)
    }

    /// A record that is one new row of a B+tree: as [`RecordBuilder::change_in`] and
    /// [`RecordBuilder::insert`].
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
        let mut head = Head::default();
        self.head_in(&mut head, root, page);
        self.put_insert(&mut head, slot, 0, Some(key), value)
    }

    /// A new row after what its record begins with, or after what is in the record.
    #[inline]
    fn put_insert(
        &mut self,
        head: &mut Head,
        slot: u16,
        flags: u8,
        key: Option<&[u8]>,
        value: &[u8],
    ) -> Result<(), PageError> {
        let begin = self.buf.len() + head.len;
        self.row_op_in(head, OP_INSERT, slot, key, value.len())?;
        head.push(flags);
        let key = self.key(head, key);
        let new = self.put_part(head, value);
        self.put(head);
        self.note_first(begin, FirstOp { end: 0, slot, flags, key, at: 0, before: None, new });
        Ok(())
    }

    /// Marks a row as deleted.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn ghost(
        &mut self,
        slot: u16,
        old: &RowHeader,
        key: Option<&[u8]>,
    ) -> Result<(), PageError> {
        let mut head = self.row_op(OP_GHOST, slot, key, 0)?;
        self.old_header(&mut head, old);
        self.key(&mut head, key);
        self.put(&head);
        Ok(())
    }

    /// An update of a row.
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn update(&mut self, update: &RowUpdate<'_>) -> Result<(), PageError> {
        let begin = self.buf.len();
        if let Some(first) = self.put_update(&mut Head::default(), update)? {
            self.note_first(begin, first);
        }
        Ok(())
    }

    /// A record that is one update of a row of a B+tree: as [`RecordBuilder::change_in`] and
    /// [`RecordBuilder::update`]. What it is is not noted for
    /// [`Store::change`](crate::Store::change): the caller knows, and makes the change by
    /// [`Store::change_row`](crate::Store::change_row).
    ///
    /// # Errors
    /// As for every operation.
    #[inline]
    pub fn update_in(
        &mut self,
        root: PageId,
        page: PageId,
        update: &RowUpdate<'_>,
    ) -> Result<(), PageError> {
        let mut head = Head::default();
        self.head_in(&mut head, root, page);
        self.put_update(&mut head, update).map(drop)
    }

    /// An update after what its record begins with, or after what is in the record; what it is, if
    /// it carries what it replaces.
    #[inline(always)] // one call for each changed row, of a head that would be copied
    fn put_update(
        &mut self,
        head: &mut Head,
        update: &RowUpdate<'_>,
    ) -> Result<Option<FirstOp>, PageError> {
        let RowUpdate { slot, flags, old, key, at, before, new_bytes } = *update;
        let code = if before.earlier > 0 { OP_UPDATE_AGAIN } else { OP_UPDATE };
        self.row_op_in(head, code, slot, key, before.carried() + new_bytes.len())?;
        self.undo += before.len();
        self.note_shrunk(before.len(), new_bytes.len());
        if new_bytes.len() >= WORTH {
            let len = new_bytes.len() as u16; // records are shorter than 64 KB
            self.large = Some(LargeUpdate { index: (self.rows - 1) as u8, at, len });
        }
        head.push(flags);
        self.old_header(head, old);
        let key = self.key(head, key);
        head.varint(at.into());
        let there = self.put_part(head, before.head);
        if before.earlier > 0 {
            head.varint(before.earlier.into());
            self.put_part(head, before.tail);
        }
        let new = self.put_part(head, new_bytes);
        self.put(head);
        Ok((before.earlier == 0).then_some(FirstOp {
            end: 0,
            slot,
            flags,
            key,
            at,
            before: Some(there),
            new,
        }))
    }

    /// A new row in the place of a ghost: `old_value` and `new_value` are the whole body after the
    /// key.
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

    /// Compensation: the row gets this header, and `bytes` for its `current_len` body bytes at
    /// `at`.
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
}
