//! Finding the version of a row that a reader sees: from the page into the log, version by version.
//!
//! A row that the reader's snapshot does not see is taken back with the log record its header
//! names, until a version is found whose writer is seen, or the row did not exist. Latches are
//! never held meanwhile: the caller works on a copy of the row.

use crate::error::AccessError;
use crate::snapshot::SnapshotRef;
use pages::{
    PageId, PageOp, RecordView, RowHeader, Store, TxnId, needs_earlier, previous_version, row_op,
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
