//! Reading a heap page by page.
//!
//! A row is returned where its home is: forwarded rows are skipped on the page they went to and
//! fetched through their stub, so each comes once however it moves during the scan.

use super::{BACK, Heap};
use crate::batch::{RowBatch, RowRef, RowState};
use crate::error::{AccessError, corrupt};
use crate::rid::Rid;
use crate::snapshot::ReadMode;
use crate::space::is_gone;
use crate::visible::{all_visible, judge, resolve_batch, watches_writers};
use pages::{FORWARD, FORWARDED, Page, PageId, PageType, ROW_HEADER, RowHeader};

/// Pages that a scan is ahead of itself, and how many are asked for at a time.
const AHEAD: usize = 256;
const STEP: usize = 64;

/// A scan of a heap. See the module's documentation.
#[derive(Debug)]
pub struct HeapScan {
    heap: Heap,
    pages: Vec<PageId>,
    at: usize,
    fetched: usize,
}

impl Heap {
    /// A scan of all rows, in allocation order of their pages. Pages that are added later are not
    /// visited: their rows are newer than the scan.
    ///
    /// # Errors
    /// Damaged allocation maps, I/O.
    pub fn scan(&self) -> Result<HeapScan, AccessError> {
        Ok(HeapScan { pages: self.page_ids()?, heap: self.clone(), at: 0, fetched: 0 })
    }

    /// How many pages it has.
    ///
    /// # Errors
    /// As [`Heap::scan`].
    pub fn page_count(&self) -> Result<usize, AccessError> {
        Ok(self.page_ids()?.len())
    }

    /// A scan of at most so many pages that lie evenly over the heap, and which share of all pages
    /// they are.
    ///
    /// # Errors
    /// As [`Heap::scan`].
    pub fn sample(&self, most: usize) -> Result<(HeapScan, f64), AccessError> {
        let mut pages = self.page_ids()?;
        let (all, most) = (pages.len(), most.max(1));
        if all <= most {
            return Ok((HeapScan { pages, heap: self.clone(), at: 0, fetched: 0 }, 1.0));
        }
        let step = all as f64 / most as f64;
        let chosen = (0..most).map(|i| pages[((i as f64 + 0.5) * step) as usize]).collect();
        pages = chosen;
        Ok((HeapScan { pages, heap: self.clone(), at: 0, fetched: 0 }, most as f64 / all as f64))
    }
}

impl Heap {
    /// The heap's pages in allocation order.
    pub(crate) fn page_ids(&self) -> Result<Vec<PageId>, AccessError> {
        let mut pages = Vec::new();
        let mut from = 0;
        while let Some(next) =
            self.space.store.unit_pages(self.space.unit()?, from, usize::MAX, &mut pages)?
        {
            from = next;
        }
        Ok(pages)
    }
}

impl Heap {
    /// Whether no row of the page that a batch was copied from has changed since, but those that
    /// lie on other pages ([`RowBatch::is_forwarded`]).
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn is_as_read(&self, batch: &RowBatch) -> Result<bool, AccessError> {
        self.space.is_as_read(batch)
    }
}

impl HeapScan {
    /// Fills `batch` with the rows of the next page that has visible rows; false at the end.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn next_batch(
        &mut self,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<bool, AccessError> {
        batch.clear();
        while let Some(&id) = self.pages.get(self.at) {
            self.read_ahead();
            self.at += 1;
            let stubs = {
                let page = match self.heap.space.store.read(id) {
                    Err(e) if is_gone(&self.heap.space.store, id, &e) => continue,
                    page => page?,
                };
                if page.page_type() != Some(PageType::Data) || page.unit() != self.heap.unit_id() {
                    continue; // freed since the list was made
                }
                self.heap.space.store.note_ghosts(&page);
                copy_page(&page, mode, batch)?
            };
            resolve_batch(&self.heap.space.store, batch, mode, false)?;
            if stubs {
                self.follow_stubs(mode, batch)?;
            }
            batch.drop_gone();
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        batch.clear();
        Ok(false)
    }

    /// The page whose rows were given last comes once more.
    pub fn again(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Asks for the pages to come, wherever they lie. What cannot be read is found by the scan.
    fn read_ahead(&mut self) {
        if self.at + (AHEAD - STEP) < self.fetched || self.pages.len() < 4 {
            return;
        }
        let from = self.fetched.max(self.at);
        let to = (self.at + AHEAD).min(self.pages.len());
        for part in self.pages[from.min(to)..to].chunks(STEP) {
            self.heap.space.store.read_ahead(part);
        }
        self.fetched = to;
    }

    fn follow_stubs(&self, mode: ReadMode<'_>, batch: &mut RowBatch) -> Result<(), AccessError> {
        for i in 0..batch.rows().len() {
            let row = batch.rows()[i];
            if row.state == RowState::Stub {
                let rid = Rid { page: batch.page(), slot: row.slot };
                let row = self.heap.load(rid, mode, batch)?;
                batch.set_row(i, row);
            }
        }
        resolve_batch(&self.heap.space.store, batch, mode, false)
    }
}

/// Copies a page's rows; tells whether there are stubs among them.
fn copy_page(page: &Page, mode: ReadMode<'_>, batch: &mut RowBatch) -> Result<bool, AccessError> {
    batch.begin_page(page);
    if page.slot_count() == 0 {
        return Ok(false);
    }
    let base = page.bytes().as_ptr() as usize;
    batch.put(page.bytes());
    let clean = all_visible(page, mode);
    let newest = watches_writers(page, mode, batch);
    let mut stubs = false;
    for slot in 0..page.slot_count() {
        let content = page.slot(slot)?;
        let Some(&flags) = content.first() else { continue };
        if content.len() < ROW_HEADER + BACK {
            return Err(corrupt(page.id(), "heap row is cut short"));
        }
        if flags & FORWARDED != 0 {
            continue;
        }
        if newest && let Some((header, _)) = RowHeader::split(content) {
            batch.writers.saw(header.txn);
        }
        let state = if flags & FORWARD != 0 {
            stubs = true;
            RowState::Stub
        } else if clean {
            RowState::Live
        } else {
            let (header, _) = RowHeader::split(content).unwrap_or_default();
            judge(&header, mode)
        };
        if state == RowState::Gone {
            continue;
        }
        let head = (content.as_ptr() as usize - base) as u32;
        batch.push(RowRef {
            head,
            at: head + ROW_HEADER as u32,
            len: (content.len() - ROW_HEADER) as u32,
            key_len: 0,
            slot,
            tail: 0,
            state,
        });
    }
    Ok(stubs)
}
