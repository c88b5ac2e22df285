//! Redo: records of the log applied to the pages that have not seen them. Guarantees: a page
//! changes by the same function as when the record was made; a damaged page waits for the record
//! that rebuilds it, and is reported if none comes.

use crate::error::PageError;
use crate::id::PageId;
use crate::manage::FILE_LIST;
use crate::op::{ApplyCtx, apply};
use crate::record::RecordView;
use crate::store::{Store, at_lsn};
use wal::Lsn;

impl Store {
    /// Applies a record of the log to the pages that have not seen it. Records come in log order,
    /// from one thread or with the records of each page in order.
    ///
    /// # Errors
    /// Damage that the log cannot repair is found by [`Store::finish_redo`]; here I/O and
    /// misfitting records.
    pub fn redo(&self, lsn: Lsn, rec: &RecordView<'_>) -> Result<(), PageError> {
        for id in rec.pages()? {
            self.redo_page(lsn, rec, id)?;
            if id == FILE_LIST {
                self.redo_file_event(lsn, rec)?;
            }
        }
        Ok(())
    }

    fn redo_page(&self, lsn: Lsn, rec: &RecordView<'_>, id: PageId) -> Result<(), PageError> {
        let mut ops = Vec::new();
        for op in rec.ops() {
            let op = op?;
            if op.page == id {
                ops.push(op);
            }
        }
        let rebuilds = ops.first().is_some_and(|op| op.op.rebuilds_page());
        if !rebuilds && self.awaiting.lock().contains(&id) {
            return Ok(());
        }
        // A file that the list does not name any more was empty when it was taken out.
        let Ok(file) = self.file(id) else { return Ok(()) };
        if id.page >= file.pages() {
            // The growth was durable before the record; so this is a file that was cut or restored
            // shorter.
            let _turn = file.grow_turn.lock();
            file.extend_to((id.page / 8 + 1).saturating_mul(8))?;
        }
        let mut page = match self.write(id) {
            Ok(page) => page,
            Err(e) if e.is_damage() && rebuilds => self.fresh(id)?,
            Err(e) if e.is_damage() => {
                self.awaiting.lock().insert(id);
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        if page.lsn() >= lsn {
            return Ok(());
        }
        self.inner().mark_dirty(page.frame(), lsn);
        for op in &ops {
            let ctx = ApplyCtx { lsn, txn: rec.txn(), index: op.index };
            if let Err(e) = apply(page.page_mut(), id, &op.op, &ctx) {
                let e = at_lsn(lsn, id, e);
                self.fail(&e);
                return Err(e);
            }
            if op.op.rebuilds_page() {
                self.inner().mark_formatted(page.frame());
                page.filled();
                self.awaiting.lock().remove(&id);
            }
        }
        if id.page == 0 {
            self.keep_own(&mut page)?;
        }
        page.page_mut().set_lsn(lsn);
        Ok(())
    }

    /// Ends redo.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] when a damaged page was met that no record rebuilt and that is not
    /// free: a page that was freed later is nobody's, and a backup may not hold it.
    pub fn finish_redo(&self) -> Result<(), PageError> {
        let mut waiting: Vec<PageId> = self.awaiting.lock().iter().copied().collect();
        waiting.sort_unstable();
        for page in waiting {
            if self.is_allocated(page)? {
                return Err(PageError::corrupt(
                    page,
                    "the page is damaged and the log does not rebuild it",
                ));
            }
        }
        Ok(())
    }
}
