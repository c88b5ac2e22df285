//! Finding the version of a row that a reader sees: from the page into the log, version by version.
//!
//! A row that the reader's snapshot does not see is taken back with the log record its header
//! names, until a version is found whose writer is seen, or the row did not exist. Latches are
//! never held meanwhile: the caller works on a copy of the row.

use crate::batch::{RowBatch, RowRef, RowState};
use crate::error::AccessError;
use crate::snapshot::{ReadMode, SnapshotRef};
use pages::{
    Page, PageId, PageOp, ROW_HEADER, RecordView, RowHeader, Store, TxnId, needs_earlier,
    previous_version, row_op,
};

/// Buffers for walking versions, kept from row to row.
#[derive(Debug, Default)]
pub(crate) struct VersionBuf {
    /// The log record at hand and where it came from: neighbours on a page often share one.
    record: Vec<u8>,
    at: Option<pages::Lsn>,
    body: Vec<u8>,
    spare: Vec<u8>,
    /// The record before the one at hand, when that one leaves out what this one has.
    earlier: Vec<u8>,
}

impl VersionBuf {
    /// The newest version that `snapshot` sees, starting from a stored row that it does not see.
    /// The body is left in the buffer (`body()`); `None` when no visible version exists. A visible
    /// ghost counts as not existing.
    pub(crate) fn resolve(
        &mut self,
        store: &Store,
        page: PageId,
        header: RowHeader,
        body: &[u8],
        snapshot: SnapshotRef<'_>,
    ) -> Result<Option<RowHeader>, AccessError> {
        self.body.clear();
        self.body.extend_from_slice(body);
        let mut header = header;
        while !snapshot.sees(header.txn) {
            match self.step(store, page, &header)? {
                Some(older) => header = older,
                None => return Ok(None),
            }
        }
        Ok(if header.is_ghost() { None } else { Some(header) })
    }

    /// The body that `resolve` found.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    fn step(
        &mut self,
        store: &Store,
        page: PageId,
        header: &RowHeader,
    ) -> Result<Option<RowHeader>, AccessError> {
        if self.at != Some(header.lsn) {
            self.at = None;
            store.log().read(header.lsn, &mut self.record)?;
            self.at = Some(header.lsn);
        }
        let view = RecordView::decode(&self.record)?;
        if view.txn() != header.txn {
            return Err(AccessError::NoVersion { lsn: header.lsn, page });
        }
        let op = row_op(&view, header.index)?;
        let older = match needs_earlier(&op.op) {
            None => previous_version(&self.body, &op.op, None, &mut self.spare)?,
            Some(old) => {
                let older =
                    with_earlier(store, page, &old, header.txn, &mut self.earlier, |earlier| {
                        Ok(previous_version(&self.body, &op.op, Some(earlier), &mut self.spare)?)
                    })?;
                // Usually the version wanted is older still, and this record the next one to read.
                std::mem::swap(&mut self.record, &mut self.earlier);
                self.at = Some(old.lsn);
                older
            }
        };
        if older.is_some() {
            std::mem::swap(&mut self.body, &mut self.spare);
        }
        Ok(older)
    }

    /// Forgets the record at hand: its LSN may belong to another database's log next time.
    pub(crate) fn reset(&mut self) {
        self.at = None;
    }
}

/// Reads the operation that made the version `old` of a row, which an update by the same
/// transaction names because it leaves out what that operation logged.
pub(crate) fn with_earlier<T>(
    store: &Store,
    page: PageId,
    old: &RowHeader,
    txn: TxnId,
    record: &mut Vec<u8>,
    f: impl FnOnce(&PageOp<'_>) -> Result<T, AccessError>,
) -> Result<T, AccessError> {
    if old.txn != txn {
        return Err(AccessError::NoVersion { lsn: old.lsn, page });
    }
    store.log().read(old.lsn, record)?;
    let view = RecordView::decode(record)?;
    if view.txn() != txn {
        return Err(AccessError::NoVersion { lsn: old.lsn, page });
    }
    f(&row_op(&view, old.index)?.op)
}

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
