//! Operations that have no row version: formats and images of pages, raw slots, links, bits, bytes,
//! payloads.
//!
//! Guarantee: an operation goes into the record whole, or the record says [`PageError::RecordFull`]
//! and stays as it was.

use super::{
    OP_FORMAT, OP_IMAGE, OP_INSERT_RAW, OP_PAYLOAD, OP_PUT_BYTES, OP_REMOVE, OP_REPLACE_RAW,
    OP_SET_BITS, OP_SET_LINK, RecordBuilder, UNDO_ROW,
};
use crate::codec::{put_bytes, put_page_id, put_varint};
use crate::error::PageError;
use crate::id::{PAGE_SIZE, PageId, UnitId};
use crate::op::Link;
use crate::page::{HEADER_SIZE, Page, PageType, SLOT_SIZE};

impl RecordBuilder {
    /// Bytes of an upper crate that travel with the record (commit time, list of active
    /// transactions, ...).
    ///
    /// # Errors
    /// [`PageError::RecordFull`].
    pub fn payload(&mut self, bytes: &[u8]) -> Result<(), PageError> {
        self.room_for(bytes.len() + 4)?;
        self.buf.push(OP_PAYLOAD);
        put_bytes(&mut self.buf, bytes);
        Ok(())
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

    /// Like [`RecordBuilder::insert_raw`] with the content in pieces, so that the caller need not
    /// join them.
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
}

/// The used parts of a page: everything but a free area that is surely free.
fn image_parts(page: &Page) -> (&[u8], &[u8]) {
    let bytes = &page.bytes()[..];
    if page.verify().is_ok() && page.page_type().is_some_and(PageType::is_slotted) {
        let used =
            (0..page.slot_count()).filter_map(|s| page.slot_span(s).ok()).map(|r| r.end).max();
        let tail = SLOT_SIZE * page.slot_count() as usize;
        let head = used.unwrap_or(HEADER_SIZE).max(HEADER_SIZE);
        return (&bytes[..head], &bytes[PAGE_SIZE - tail..]);
    }
    let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
    (&bytes[..end.max(HEADER_SIZE)], &[])
}
