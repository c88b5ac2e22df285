//! Files that become shorter: free extents at the end of a file go back to the disk.
//!
//! Nothing is logged: what is cut off is free, and a map page there is as good as none. First the
//! extents are taken from the bitmap in memory, so that nobody gets them; then the caller writes a
//! checkpoint, so that no page of them is written any more and no redo needs them; then the file is
//! cut. Guarantees: no extent that is allocated or set aside is cut off; a crash leaves the old
//! length or the new one, and the same pages in use; a file that had to grow meanwhile stays as it
//! is.

use crate::error::PageError;
use crate::files::{DataFile, FileSpec};
use crate::id::{EXTENT_PAGES, PAGE_SIZE, PageId};
use crate::record::RecordSink;
use crate::store::Store;
use std::time::Duration;
use wal::Lsn;

/// How a data file is used, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileUsage {
    /// Its size.
    pub pages: u32,
    /// Pages of extents in use, those with fixed pages among them.
    pub used: u32,
    /// The size that it can be cut to: after the last extent in use, and not below what every file
    /// has.
    pub end: u32,
    /// The size that it was made with, or the least one it has been cut to since.
    pub minimum: u32,
}

impl Store {
    /// How a data file is used.
    ///
    /// # Errors
    /// No such file; damage of a map page.
    pub fn file_usage(&self, id: u16) -> Result<FileUsage, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let space = self.space(&file)?;
        let guard = space.lock();
        let end = guard.end(id);
        let used = guard.used_below(end) * EXTENT_PAGES;
        let least = FileSpec { size: 0, ..file.spec.clone() }.pages()?;
        let minimum = file.now.read().pages()?;
        Ok(FileUsage { pages: file.pages(), used, end: (end * EXTENT_PAGES).max(least), minimum })
    }

    /// Takes the free extents after `least` pages from everybody; returns the size that the file is
    /// to be cut to by [`Store::end_cut`], `None` when there is nothing to cut off.
    ///
    /// # Errors
    /// As [`Store::file_usage`].
    pub fn begin_cut(&self, id: u16, least: u32) -> Result<Option<u32>, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let to = self.file_usage(id)?.end.max(least.next_multiple_of(EXTENT_PAGES));
        let space = self.space(&file)?;
        loop {
            let turn = self.alloc.grow.lock();
            let mut guard = space.lock();
            if to < file.pages() && guard.cut(id, to / EXTENT_PAGES) {
                self.forget_fill(file.filegroup());
                return Ok(Some(to));
            }
            if to >= file.pages() || !guard.lent_from(to / EXTENT_PAGES) {
                return Ok(None);
            }
            // A checkpoint has borrowed some of them, and needs nothing from here to come to its
            // end.
            drop((guard, turn));
            self.check_online()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Cuts a file to what [`Store::begin_cut`] has said, a checkpoint later. False: it has grown
    /// meanwhile.
    ///
    /// # Errors
    /// I/O; the file is as it was, and its extents are there again.
    pub fn end_cut(&self, id: u16, pages: u32) -> Result<bool, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let space = self.space(&file)?;
        let _turn = self.alloc.grow.lock();
        let _file_turn = file.grow_turn.lock();
        if space.lock().extents() != pages / EXTENT_PAGES {
            return Ok(false);
        }
        let cut = file.cut_to(pages);
        if cut.is_err() {
            self.regain(&file)?;
        }
        cut.map(|()| true)
    }

    /// A file is not cut after all.
    ///
    /// # Errors
    /// No such file.
    pub fn give_up_cut(&self, id: u16) -> Result<(), PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let _turn = self.alloc.grow.lock();
        self.regain(&file)
    }

    pub(super) fn regain(&self, file: &DataFile) -> Result<(), PageError> {
        self.space(file)?.lock().grow(file.spec.id, file.pages() / EXTENT_PAGES, |_| false);
        self.forget_fill(file.filegroup());
        Ok(())
    }

    /// Notes that a file has become smaller than it was made.
    ///
    /// # Errors
    /// No such file; what the sink says.
    pub fn note_minimum(
        &self,
        sink: &mut dyn RecordSink,
        id: u16,
        pages: u32,
    ) -> Result<Lsn, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let size = u64::from(pages) * PAGE_SIZE as u64;
        let lsn = self.change_header(sink, id, &[], |header| header.spec.size = size)?;
        file.now.write().size = size;
        Ok(lsn)
    }
}
