//! Which rows of a page a reader sees, and what it sees in the place of those that it does not:
//! their older versions. Guarantee: no latch is held while an older version is looked for.

use crate::batch::{RowBatch, RowRef, RowState};
use crate::error::AccessError;
use crate::snapshot::ReadMode;
use pages::{Page, ROW_HEADER, RowHeader, Store};

/// Whether every row of the page belongs to the result as it stands: no ghost, and no writer that
/// the reader does not see. Forward stubs are not told by this.
#[inline]
pub(crate) fn all_visible(page: &Page, mode: ReadMode<'_>) -> bool {
    page.ghost_count() == 0
        && match mode {
            ReadMode::Snapshot(s) => page.newest_writer() < s.xmin(),
            ReadMode::Current | ReadMode::Dirty => true,
        }
}

/// Whether the batch has to be told who has written the rows of the page: it is read for newest
/// versions, and has one that is newer than those that the batch knows of.
#[inline]
pub(crate) fn watches_writers(page: &Page, mode: ReadMode<'_>, batch: &RowBatch) -> bool {
    matches!(mode, ReadMode::Current) && batch.writers.is_news(page.newest_writer())
}

/// What becomes of a row with this header.
#[inline]
pub(crate) fn judge(header: &RowHeader, mode: ReadMode<'_>) -> RowState {
    match mode {
        ReadMode::Snapshot(s) if !s.sees(header.txn) => RowState::Unseen,
        ReadMode::Current if header.is_ghost() => RowState::Ghost,
        _ if header.is_ghost() => RowState::Gone,
        _ => RowState::Live,
    }
}

/// Replaces the unseen rows of a batch by the versions that the snapshot sees. `keyed`: index
/// entries.
pub(crate) fn resolve_batch(
    store: &Store,
    batch: &mut RowBatch,
    mode: ReadMode<'_>,
    keyed: bool,
) -> Result<(), AccessError> {
    let ReadMode::Snapshot(snapshot) = mode else { return Ok(()) };
    let mut buf = std::mem::take(&mut batch.version);
    buf.reset();
    let result = (0..batch.rows().len()).try_for_each(|i| {
        let row = batch.rows()[i];
        if row.state != RowState::Unseen {
            return Ok(());
        }
        let header = batch.header_at(row.head);
        let body = batch.body(&row);
        let page = batch.page();
        let found = buf.resolve(store, page, header, body, snapshot)?;
        let row = match found {
            None => RowRef { state: RowState::Gone, ..row },
            Some(header) => put_version(batch, row, &header, buf.body(), keyed),
        };
        batch.set_row(i, row);
        Ok(())
    });
    batch.version = buf;
    result
}

/// Puts an older version into the arena in the place of what the page held.
fn put_version(
    batch: &mut RowBatch,
    row: RowRef,
    header: &RowHeader,
    body: &[u8],
    keyed: bool,
) -> RowRef {
    let head = batch.put(&header.to_bytes());
    let start = batch.put(body);
    let skip = if keyed { 2 + u32::from(row.key_len) } else { 0 };
    debug_assert_eq!((start - head) as usize, ROW_HEADER);
    // A version of the same entry has the same key, so the body is at least as long as what is
    // skipped.
    let len = (body.len() as u32).saturating_sub(skip + u32::from(row.tail));
    RowRef { head, at: start + skip, len, state: RowState::Live, ..row }
}
