//! What a thread asks the buffer pool for while somebody wants to know it, by storage unit: the
//! pages of SET STATISTICS IO. Guarantees: each page that the thread latches for reading or
//! changing is counted once for each time, with the unit that it belongs to; traces nest, and what
//! the inner one has counted the outer one has not. A thread that is not traced pays nothing: the
//! step by which it counts its look-ups is what leads here.

use crate::id::UnitId;
use crate::page::{Page, PageType};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

/// Look-ups that a thread counts by itself before it tells the pool: a shared counter would cost
/// more than a look-up.
pub(super) const LOOKUP_STEP: u32 = 64;

thread_local! {
    /// Look-ups that the thread has not told yet.
    pub(super) static LOOKUPS: Cell<u32> = const { Cell::new(0) };
    static TRACE: RefCell<Option<Trace>> = const { RefCell::new(None) };
}

/// Pages of one kind of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageReads {
    /// Asked for, here or not.
    pub logical: u64,
    /// Of those: the thread had to read them.
    pub physical: u64,
    /// Read by others before they were asked for.
    pub ahead: u64,
}

/// What was asked for of a storage unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitReads {
    /// The store's number in the pool; 0 for the run files of queries.
    pub store: u16,
    pub unit: UnitId,
    pub pages: PageReads,
    /// Of large values.
    pub large: PageReads,
}

impl UnitReads {
    fn of_mut(&mut self, page: Option<PageType>) -> &mut PageReads {
        if page == Some(PageType::Lob) { &mut self.large } else { &mut self.pages }
    }
}

#[derive(Default)]
struct Trace {
    units: Vec<UnitReads>,
    /// Where the unit of the last page is, and its kind: lists of pages to be read ahead come from
    /// that page.
    last: (usize, Option<PageType>),
    /// The thread has read a page that it has not got yet.
    loaded: bool,
}

impl Trace {
    fn unit(&mut self, store: u16, unit: UnitId) -> usize {
        let is = |u: &UnitReads| u.store == store && u.unit == unit;
        if self.units.get(self.last.0).is_some_and(is) {
            return self.last.0;
        }
        self.units.iter().position(is).unwrap_or_else(|| {
            self.units.push(UnitReads {
                store,
                unit,
                pages: PageReads::default(),
                large: PageReads::default(),
            });
            self.units.len() - 1
        })
    }
}

/// A trace of this thread, from its making to its end.
pub struct PageTrace {
    /// The trace around it, and where the thread's count of look-ups was.
    around: Option<Trace>,
    lookups: u32,
    /// It is of the thread that has begun it.
    thread: PhantomData<*const ()>,
}

impl PageTrace {
    /// Begins.
    #[must_use]
    pub fn begin() -> PageTrace {
        let around = TRACE.replace(Some(Trace::default()));
        // Each look-up is the last of a step.
        PageTrace { around, lookups: LOOKUPS.replace(LOOKUP_STEP - 1), thread: PhantomData }
    }

    /// Whether what this thread asks for is being counted.
    #[must_use]
    #[inline]
    pub fn is_on() -> bool {
        LOOKUPS.get() == LOOKUP_STEP - 1 && TRACE.with_borrow(Option::is_some)
    }

    /// Ends, and gives what was asked for, in the order of the first page of each unit.
    #[must_use]
    pub fn end(self) -> Vec<UnitReads> {
        TRACE.with_borrow_mut(|trace| trace.take().map_or_else(Vec::new, |trace| trace.units))
    }
}

impl Drop for PageTrace {
    fn drop(&mut self) {
        TRACE.replace(self.around.take());
        LOOKUPS.set(self.lookups);
    }
}

/// A page is latched; false when nobody traces this thread.
pub(super) fn note(store: u16, page: &Page) -> bool {
    TRACE.with_borrow_mut(|trace| {
        let Some(trace) = trace else { return false };
        let loaded = std::mem::take(&mut trace.loaded);
        // Maps and the like are no table's.
        if page.unit() != UnitId(0) {
            let (at, kind) = (trace.unit(store, page.unit()), page.page_type());
            trace.last = (at, kind);
            let reads = trace.units[at].of_mut(kind);
            reads.logical += 1;
            reads.physical += u64::from(loaded);
        }
        LOOKUPS.set(LOOKUP_STEP - 1);
        true
    })
}

/// The thread has read a page into the pool.
pub(super) fn loaded() {
    TRACE.with_borrow_mut(|trace| {
        if let Some(trace) = trace {
            trace.loaded = true;
        }
    });
}

/// Pages are read ahead for the thread.
pub(crate) fn ahead(pages: usize) {
    TRACE.with_borrow_mut(|trace| {
        if let Some(trace) = trace
            && let Some(unit) = trace.units.get_mut(trace.last.0)
        {
            unit.of_mut(trace.last.1).ahead += pages as u64;
        }
    });
}

/// The thread has read so many pages of a run file.
pub fn note_run_file(pages: u64) {
    TRACE.with_borrow_mut(|trace| {
        if let Some(trace) = trace {
            let at = trace.unit(0, UnitId(0));
            let reads = &mut trace.units[at].pages;
            reads.logical += pages;
            reads.physical += pages;
        }
    });
}
