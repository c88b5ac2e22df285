//! The bytes of pages in the allocation maps, changed with the pages that they describe: one log
//! record holds both.

use super::{PFS_ALLOCATED, PFS_LEVEL};
use crate::error::PageError;
use crate::id::{PFS_INTERVAL, PageId};
use crate::pool::PageMut;
use crate::record::RecordBuilder;
use crate::store::Store;
use smallvec::SmallVec;

/// PFS pages under exclusive latches, for records that allocate, free or re-level pages. To be
/// taken after all other pages of the record.
#[derive(Debug)]
pub struct Maps<'a> {
    pages: SmallVec<[PageMut<'a>; 2]>,
}

impl<'a> Maps<'a> {
    fn byte(&self, rec: &mut RecordBuilder, page: PageId, byte: u8) -> Result<(), PageError> {
        let pfs = page.pfs_page();
        if !self.pages.iter().any(|p| p.page_id() == pfs) {
            return Err(PageError::Invalid { what: "the page's PFS page is not latched" });
        }
        rec.page(pfs);
        rec.put_bytes((page.page % PFS_INTERVAL) as u16, &[byte])
    }

    /// The record allocates the page; `level` counts for heaps, others give 0.
    ///
    /// # Errors
    /// [`PageError::RecordFull`]; [`PageError::Invalid`] when the page's PFS page is not among the
    /// latched.
    pub fn allocate(
        &self,
        rec: &mut RecordBuilder,
        page: PageId,
        level: u8,
    ) -> Result<(), PageError> {
        self.byte(rec, page, PFS_ALLOCATED | (level & PFS_LEVEL))
    }

    /// The record changes the fullness of an allocated page.
    ///
    /// # Errors
    /// As [`Maps::allocate`].
    pub fn set_level(
        &self,
        rec: &mut RecordBuilder,
        page: PageId,
        level: u8,
    ) -> Result<(), PageError> {
        self.allocate(rec, page, level)
    }

    /// The record frees the page. After the change call [`Unit::note_freed`].
    ///
    /// # Errors
    /// As [`Maps::allocate`].
    pub fn free(&self, rec: &mut RecordBuilder, page: PageId) -> Result<(), PageError> {
        self.byte(rec, page, 0)
    }

    /// The latched pages, to be handed to `Store::change` together with the others.
    pub fn pages(&mut self) -> impl Iterator<Item = &mut PageMut<'a>> {
        self.pages.iter_mut()
    }
}

impl Store {
    /// Latches the PFS pages of these pages, each once and in order.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn latch_maps(&self, pages: &[PageId]) -> Result<Maps<'_>, PageError> {
        let mut ids: SmallVec<[PageId; 8]> = pages.iter().map(|p| p.pfs_page()).collect();
        ids.sort_unstable();
        ids.dedup();
        let pages = ids.into_iter().map(|id| self.write(id)).collect::<Result<_, _>>()?;
        Ok(Maps { pages })
    }
}
