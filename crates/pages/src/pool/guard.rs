//! Latched pages. Dropping the guard gives the latch back.

use crate::id::PageId;
use crate::page::Page;
use crate::pool::{Mode, PoolInner, key_page};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering;

/// A page under a shared latch.
pub struct PageRef<'a> {
    pool: &'a PoolInner,
    frame: u32,
}

/// A page under an exclusive latch. It can be read; it changes only through `Store::change` and
/// `Store::redo`.
pub struct PageMut<'a> {
    pool: &'a PoolInner,
    frame: u32,
    /// The frame was made for a page to be formatted and nothing has been applied yet.
    blank: bool,
}

impl<'a> PageRef<'a> {
    /// The caller holds the frame's latch shared and hands it over.
    pub(crate) fn new(pool: &'a PoolInner, frame: u32) -> PageRef<'a> {
        PageRef { pool, frame }
    }
}

impl<'a> PageMut<'a> {
    /// The caller holds the frame's latch exclusive and hands it over.
    pub(crate) fn new(pool: &'a PoolInner, frame: u32, blank: bool) -> PageMut<'a> {
        PageMut { pool, frame, blank }
    }

    /// The page's place, also before it is formatted.
    #[must_use]
    #[inline]
    pub fn page_id(&self) -> PageId {
        key_page(self.pool.frames.get(self.frame).key.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    #[inline]
    pub(crate) fn page_mut(&mut self) -> &mut Page {
        self.pool.frames.page_mut(self.frame)
    }

    pub(crate) fn filled(&mut self) {
        self.blank = false;
    }

    #[inline]
    pub(crate) fn is_blank(&self) -> bool {
        self.blank
    }
}

impl Deref for PageRef<'_> {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        self.pool.frames.page(self.frame)
    }
}

impl Deref for PageMut<'_> {
    type Target = Page;

    #[inline]
    fn deref(&self) -> &Page {
        self.pool.frames.page(self.frame)
    }
}

impl Drop for PageRef<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.frames.get(self.frame).unlock(Mode::Shared);
    }
}

impl Drop for PageMut<'_> {
    fn drop(&mut self) {
        let frame = self.pool.frames.get(self.frame);
        if self.blank {
            let key = frame.key.load(Ordering::Relaxed);
            frame.forget_changes();
            self.pool.discard(self.frame, key);
        } else {
            frame.unlock(Mode::Exclusive);
        }
    }
}

impl fmt::Debug for PageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Debug for PageMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
