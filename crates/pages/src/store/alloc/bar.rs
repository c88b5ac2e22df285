//! Files that are being vacated, and files that are to stay empty: from a page on nothing new is
//! allocated in them.
//!
//! A bar at page 0 shuts a whole file; it is out of proportional fill and does not grow. A bar
//! further back leaves the front open: what lies after it is to be moved there. Such a bar falls by
//! itself when nothing else is left to allocate, so that a shrink is never why somebody runs out of
//! space; one at page 0 falls for a rollback alone, which must not fail. Bars are in memory; that a
//! file was emptied is in its header page too ([`Store::note_emptied`]). Guarantee: once
//! [`Store::bar`] has returned, no extent past the bar is taken and no free page there is given
//! out; what was set aside before may still come to be used.

use crate::error::PageError;
use crate::id::{EXTENT_PAGES, PageId};
use crate::record::RecordSink;
use crate::store::Store;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use wal::Lsn;

/// The bars of a store, by file.
#[derive(Default)]
pub(crate) struct Bars {
    from: RwLock<HashMap<u16, u32>>,
    /// How many there are: nearly always none, and every allocation of a page asks.
    count: AtomicUsize,
}

impl Bars {
    fn set(&self, file: u16, from: Option<u32>) {
        let mut bars = self.from.write();
        match from {
            Some(page) => bars.insert(file, page),
            None => bars.remove(&file),
        };
        self.count.store(bars.len(), Ordering::SeqCst);
    }

    /// The first page that is barred.
    pub fn of(&self, file: u16) -> Option<u32> {
        if self.count.load(Ordering::SeqCst) == 0 {
            None
        } else {
            self.from.read().get(&file).copied()
        }
    }
}

impl Store {
    /// Bars the pages of a file from `page` on, which is rounded up to an extent.
    ///
    /// # Errors
    /// No such file; damage of a map page.
    pub fn bar(&self, file: u16, page: u32) -> Result<(), PageError> {
        let page = page.next_multiple_of(EXTENT_PAGES);
        let data = self.file(PageId::new(file, 0))?;
        let space = self.space(&data)?;
        let _turn = self.alloc.grow.lock();
        self.alloc.bars.set(file, Some(page));
        space.lock().limit(page / EXTENT_PAGES);
        self.forget_fill(data.filegroup());
        Ok(())
    }

    /// Bars a whole file whose maps may not be read yet: redo is still to change them.
    pub(crate) fn shut(&self, file: u16) {
        self.alloc.bars.set(file, Some(0));
    }

    /// Lifts the bar of a file.
    pub fn unbar(&self, file: u16) {
        let _turn = self.alloc.grow.lock();
        self.lift(file);
    }

    pub(super) fn lift(&self, file: u16) {
        self.alloc.bars.set(file, None);
        if let Some(space) = self.alloc.space.lock().get(&file) {
            space.lock().limit(u32::MAX);
        }
        if let Ok(data) = self.file(PageId::new(file, 0)) {
            self.forget_fill(data.filegroup());
        }
    }

    /// Whether a page lies past the bar of its file.
    #[must_use]
    pub fn is_barred(&self, page: PageId) -> bool {
        self.alloc.bars.of(page.file).is_some_and(|from| page.page >= from)
    }

    /// The first barred page of a file.
    #[must_use]
    pub fn bar_of(&self, file: u16) -> Option<u32> {
        self.alloc.bars.of(file)
    }

    /// Whether another file of the same filegroup takes new pages.
    ///
    /// # Errors
    /// No such file.
    pub fn has_sibling(&self, file: u16) -> Result<bool, PageError> {
        let filegroup = self.file(PageId::new(file, 0))?.filegroup();
        Ok(self.group_files(filegroup).iter().any(|f| f.spec.id != file))
    }

    /// Extents of a file that are free in front of its bar.
    ///
    /// # Errors
    /// As [`Store::file_extents`].
    pub fn free_in_front(&self, file: u16) -> Result<u64, PageError> {
        let data = self.file(PageId::new(file, 0))?;
        Ok(self.space(&data)?.lock().free())
    }

    /// Extents in use past the bar of a file, those with fixed pages alone not counted; 0 without a
    /// bar.
    ///
    /// # Errors
    /// As [`Store::file_extents`].
    pub fn behind_bar(&self, file: u16) -> Result<u64, PageError> {
        let Some(from) = self.alloc.bars.of(file) else { return Ok(0) };
        let data = self.file(PageId::new(file, 0))?;
        let space = self.space(&data)?;
        let used = space.lock().used_from(file, from / EXTENT_PAGES);
        Ok(used)
    }

    /// Notes in the header page of a file that it was emptied: it stays barred, after a restart
    /// too.
    ///
    /// # Errors
    /// No such file; what the sink says.
    pub fn note_emptied(&self, sink: &mut dyn RecordSink, file: u16) -> Result<Lsn, PageError> {
        self.change_header(sink, file, &[], |header| header.emptied = true)
    }
}
