//! The change of one entry by its key: it is found, looked at and changed under one latch, with one
//! way down.
//!
//! Whatever would have to be waited for (another transaction's row, a ghost, a lock) is left to the
//! caller, who then reads the entry and changes it in two steps ([`BTree::fetch`],
//! [`BTree::apply_batch`]).

use super::BTree;
use super::node::leaf_entry;
use super::ways::ExpectedEntry;
use crate::Writer;
use crate::error::AccessError;
use crate::record::{difference, with_record};
use pages::{BeforeImage, PageMut, RecordBuilder, RowPatch, RowUpdate, WORTH};
use smallvec::SmallVec;
use std::ops::Range;

/// New bytes for a part of an entry's value, of the length of that part.
#[derive(Debug, Default)]
pub struct ValueEdit {
    /// Where the part begins in the value.
    pub at: usize,
    pub bytes: SmallVec<[u8; 64]>,
}

/// What the caller wants of the entry that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditWish {
    /// The part that the [`ValueEdit`] names is to have its bytes.
    Edit,
    /// It is to stay as it is.
    Leave,
    /// The caller cannot tell from the bytes: [`EditOutcome::Undecided`].
    Unknown,
}

/// What came of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    Done,
    /// The caller has left it as it is.
    Left,
    /// There is no entry with the key.
    Missing,
    /// Nothing was done: the entry is another transaction's, or deleted, or may be locked, or the
    /// caller could not tell.
    Undecided,
}

/// An edit on its way.
enum PreparedEdit {
    /// It is in the record: `part` of its bytes goes to `at` of the entry's body.
    Patch { flags: u8, at: u16, part: Range<usize> },
    /// There is nothing to be done, for this reason.
    Not(EditOutcome),
}

impl BTree {
    /// Looks for the entry with this key ([`super::ways`]) and lets `wish` say what is to become of
    /// its value. `wish` runs under the leaf's exclusive latch: it computes, and neither waits nor
    /// reads pages. `expected` is what [`BTree::look_ahead`] has told of the key.
    ///
    /// # Errors
    /// Damaged pages, I/O, the log's errors.
    #[inline]
    pub fn edit<W: Writer>(
        &self,
        w: &mut W,
        key: &[u8],
        expected: Option<ExpectedEntry>,
        wish: impl FnOnce(&[u8], &mut ValueEdit) -> EditWish,
    ) -> Result<EditOutcome, AccessError> {
        let place = expected.and_then(|expected| self.place_expected(key, expected));
        let (mut leaf, slot) = match place {
            Some(place) => place,
            None => match self.place_to_write(key)? {
                (leaf, slot, true) => (leaf, slot),
                (_, _, false) => return Ok(EditOutcome::Missing),
            },
        };
        let mut edit = ValueEdit::default();
        with_record(|rec| match self.prepare_edit(w, rec, &leaf, (key, slot), &mut edit, wish)? {
            PreparedEdit::Not(why) => Ok(why),
            PreparedEdit::Patch { flags, at, part } => {
                let new_bytes = &edit.bytes[part];
                let patch = RowPatch { slot, flags, at, old_len: new_bytes.len(), new_bytes };
                self.space.store.change_row(w, rec, &mut leaf, &patch)?;
                Ok(EditOutcome::Done)
            }
        })
    }

    /// Puts the edit into the record.
    #[inline]
    fn prepare_edit<W: Writer>(
        &self,
        w: &mut W,
        rec: &mut RecordBuilder,
        leaf: &PageMut<'_>,
        (key, slot): (&[u8], u16),
        edit: &mut ValueEdit,
        wish: impl FnOnce(&[u8], &mut ValueEdit) -> EditWish,
    ) -> Result<PreparedEdit, AccessError> {
        let entry = leaf_entry(leaf, slot)?;
        debug_assert_eq!(entry.key, key);
        let header = &entry.header;
        if header.is_ghost() || w.active_elsewhere(header.txn) || w.has_lockers(self.unit_id()) {
            return Ok(PreparedEdit::Not(EditOutcome::Undecided));
        }
        match wish(entry.value, edit) {
            EditWish::Edit => {}
            EditWish::Leave => return Ok(PreparedEdit::Not(EditOutcome::Left)),
            EditWish::Unknown => return Ok(PreparedEdit::Not(EditOutcome::Undecided)),
        }
        let Some(there) = entry.value.get(edit.at..edit.at + edit.bytes.len()) else {
            debug_assert!(false, "an edit lies within its entry");
            return Ok(PreparedEdit::Not(EditOutcome::Undecided));
        };
        let (skip, old, new) = difference(there, &edit.bytes);
        debug_assert_eq!(old, new, "an edit keeps the length");
        let offset = pages::value_offset(key) + edit.at + skip;
        let there = &there[skip..skip + old];
        let before = match there.len() {
            WORTH.. => BeforeImage::without(there, offset, w.wrote(header)),
            _ => BeforeImage::whole(there),
        };
        let after = &edit.bytes[skip..skip + new];
        let (flags, key, at) = (header.flags, Some(key), offset as u16);
        let update = RowUpdate { slot, flags, old: header, key, at, before, new_bytes: after };
        rec.update_in(self.root, leaf.page_id(), &update)?;
        Ok(PreparedEdit::Patch { flags, at, part: skip..skip + new })
    }
}
