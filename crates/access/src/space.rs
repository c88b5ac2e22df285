//! Pages for structures: taking new ones and giving them back, with the allocation maps in the same
//! log record.

use crate::batch::RowBatch;
use crate::error::{AccessError, corrupt};
use pages::{
    Lsn, PFS_ALLOCATED, PageError, PageId, PageMut, PageType, RecordBuilder, RecordSink,
    ReservedPage, Store, Unit, UnitId,
};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// A structure's allocation unit. Rollback knows only its number, and looks the unit up when it
/// needs a page.
#[derive(Clone)]
pub(crate) struct Space {
    pub store: Arc<Store>,
    id: UnitId,
    unit: OnceLock<Unit>,
}

impl Space {
    pub(crate) fn new(store: Arc<Store>, unit: Unit) -> Space {
        Space { store, id: unit.id(), unit: OnceLock::from(unit) }
    }

    /// For a unit of which only the number is known.
    pub(crate) fn by_id(store: Arc<Store>, id: UnitId) -> Space {
        Space { store, id, unit: OnceLock::new() }
    }

    pub(crate) fn id(&self) -> UnitId {
        self.id
    }

    /// The unit, if it is known without a search.
    pub(crate) fn known(&self) -> Option<&Unit> {
        self.unit.get()
    }

    pub(crate) fn unit(&self) -> Result<&Unit, AccessError> {
        if let Some(unit) = self.unit.get() {
            return Ok(unit);
        }
        let found = self.store.find_unit(self.id)?;
        let found =
            found.ok_or_else(|| corrupt(PageId::NONE, "allocation unit has no IAM page"))?;
        Ok(self.unit.get_or_init(|| found))
    }

    /// Whether the page that a batch was copied from is as it was then.
    pub(crate) fn is_as_read(&self, batch: &RowBatch) -> Result<bool, AccessError> {
        match self.store.read(batch.page()) {
            Err(e) if is_gone(&self.store, batch.page(), &e) => Ok(false),
            page => page.map(|page| batch.is_of(&page)).map_err(AccessError::from),
        }
    }

    /// Whether this was a page's last change, and still is.
    pub(crate) fn is_unchanged(&self, id: PageId, lsn: Lsn) -> Result<bool, AccessError> {
        match self.store.read(id) {
            Err(e) if is_gone(&self.store, id, &e) => Ok(false),
            page => {
                page.map(|page| lsn != Lsn::ZERO && page.lsn() == lsn).map_err(AccessError::from)
            }
        }
    }

    /// Sets a page aside and gets its frame. To be called with no allocation map latched.
    pub(crate) fn take(&self) -> Result<NewPage<'_>, AccessError> {
        self.fresh(self.store.alloc_page(self.unit()?)?)
    }

    /// The same in this file, in front of its bar; `None` when there is no room.
    pub(crate) fn take_in_front(&self, file: u16) -> Result<Option<NewPage<'_>>, AccessError> {
        let reserved = self.store.alloc_in_front(self.unit()?, file)?;
        reserved.map(|reserved| self.fresh(reserved)).transpose()
    }

    fn fresh(&self, reserved: ReservedPage) -> Result<NewPage<'_>, AccessError> {
        let page = self.store.fresh(reserved.id())?;
        Ok(NewPage { page, unit: self.id, level: 0, reserved: Some(reserved) })
    }
}

/// A page that the record being built formats and allocates. Dropped before that, it is free again.
pub(crate) struct NewPage<'a> {
    page: PageMut<'a>,
    unit: UnitId,
    /// Fullness of a heap page after the record.
    pub level: u8,
    reserved: Option<ReservedPage>,
}

impl<'a> NewPage<'a> {
    pub(crate) fn id(&self) -> PageId {
        self.page.page_id()
    }

    pub(crate) fn page(&self) -> &pages::Page {
        &self.page
    }

    /// Adds the formatting of the page; it must come before the page's other operations.
    pub(crate) fn format_as(
        &self,
        rec: &mut RecordBuilder,
        kind: PageType,
        level: u8,
        prev: PageId,
        next: PageId,
        root: PageId,
    ) -> Result<(), AccessError> {
        rec.page(self.id());
        Ok(rec.format(kind, level, self.unit, prev, next, root)?)
    }

    /// Formats a B+tree node.
    pub(crate) fn format(
        &self,
        rec: &mut RecordBuilder,
        level: u8,
        prev: PageId,
        next: PageId,
        root: PageId,
    ) -> Result<(), AccessError> {
        self.format_as(rec, PageType::Index, level, prev, next, root)
    }

    /// Adds the allocation of the new pages to the record and makes the change. `left` is a heap
    /// page whose fullness is to be written along.
    pub(crate) fn change(
        store: &'a Store,
        sink: &mut dyn RecordSink,
        rec: &mut RecordBuilder,
        pages: &mut [&mut PageMut<'a>],
        new: &mut [&mut NewPage<'a>],
        left: Option<(PageId, u8)>,
    ) -> Result<(), AccessError> {
        let mut ids: SmallVec<[PageId; 8]> = new.iter().map(|n| n.id()).collect();
        ids.extend(left.map(|(id, _)| id));
        let mut maps = store.latch_maps(&ids)?;
        for n in new.iter() {
            maps.allocate(rec, n.id(), n.level)?;
        }
        if let Some((id, level)) = left {
            maps.set_level(rec, id, level)?;
        }
        let mut all: SmallVec<[&mut PageMut<'a>; 12]> = SmallVec::new();
        all.extend(pages.iter_mut().map(|p| &mut **p));
        all.extend(new.iter_mut().map(|n| &mut n.page));
        all.extend(maps.pages());
        store.change(sink, rec, &mut all)?;
        drop(all);
        for n in new {
            if let Some(reserved) = n.reserved.take() {
                reserved.keep();
            }
        }
        Ok(())
    }
}

/// Adds to the record that a new page takes the place of an old one, whose formatting is in it, and
/// makes the change.
pub(crate) fn change_and_move<'a>(
    space: &'a Space,
    rec: &mut RecordBuilder,
    latched: &mut [&mut PageMut<'a>],
    new: &mut NewPage<'a>,
    old: PageId,
) -> Result<(), AccessError> {
    let mut maps = space.store.latch_maps(&[new.id(), old])?;
    maps.allocate(rec, new.id(), new.level)?;
    maps.free(rec, old)?;
    let mut all: SmallVec<[&mut PageMut<'a>; 8]> = SmallVec::new();
    all.extend(latched.iter_mut().map(|p| &mut **p));
    all.push(&mut new.page);
    all.extend(maps.pages());
    space.store.change(&mut space.store.system(), rec, &mut all)?;
    space.store.note_freed(space.id());
    drop(all);
    space.unit()?.note_freed(&[old]);
    if let Some(reserved) = new.reserved.take() {
        reserved.keep();
    }
    Ok(())
}

/// Adds the freeing of pages to the record and makes the change. `latched` has all pages that the
/// record names; the freed ones get another LSN by an operation of the record.
pub(crate) fn change_and_free<'a>(
    space: &'a Space,
    sink: &mut dyn RecordSink,
    rec: &mut RecordBuilder,
    latched: &mut [&mut PageMut<'a>],
    freed: &[PageId],
) -> Result<(), AccessError> {
    let mut maps = space.store.latch_maps(freed)?;
    for &id in freed {
        maps.free(rec, id)?;
    }
    let mut all: SmallVec<[&mut PageMut<'a>; 16]> = SmallVec::new();
    all.extend(latched.iter_mut().map(|p| &mut **p));
    all.extend(maps.pages());
    space.store.change(sink, rec, &mut all)?;
    space.store.note_freed(space.id());
    drop(all);
    // A unit that is not open finds the pages in the maps when it is opened. Under the maps'
    // latches: a thread that reads them for the first time just now (`Store::load_pages`) must not
    // list the pages once more.
    if let Some(unit) = space.known() {
        unit.note_freed(freed);
    }
    drop(maps);
    Ok(())
}

/// Whether a page that cannot be read is one that was freed: its file is shorter, or has become
/// longer again since and holds nothing there. Only for pages that may be remembered after they
/// were freed.
pub(crate) fn is_gone(store: &Store, page: PageId, error: &PageError) -> bool {
    match error {
        PageError::NoSuchPage { .. } => true,
        e if e.is_damage() => store.pfs_byte(page).is_ok_and(|byte| byte & PFS_ALLOCATED == 0),
        _ => false,
    }
}
