//! Locks of others on the entries that a change of a row takes out.
//! Guarantee: who waits for such a lock has not changed the row yet, unless the lock came while the
//! row was being changed. Its owner has read the entry alone, may want the row next, and finds it
//! free.

use super::{RowWriter, StoredRow, WriteContext, entry_key};
use crate::IndexStore;
use access::{RowName, Writer};
use catalog::errors::db_error;
use pages::TxnId;
use txn::Txn;
use types::{SqlError, Value};

/// Whether somebody may have locked an entry of one of these indexes. Cheap: every change asks.
pub fn any_locked<'i>(txn: &Txn, mut indexes: impl Iterator<Item = &'i IndexStore>) -> bool {
    indexes.any(|index| txn.has_lockers(index.tree.unit_id()))
}

impl RowWriter {
    /// Waits for those who have locked entries of a row that is going to be changed from `old`, in
    /// the indexes that `wanted` names. For a row of the transaction's own nobody is waited for:
    /// who wants it waits for the transaction.
    pub(super) fn wait_for_entries(
        &mut self,
        cx: &mut WriteContext<'_>,
        row: StoredRow<'_>,
        old: &[Value],
        wanted: &dyn Fn(&IndexStore) -> bool,
    ) -> Result<(), SqlError> {
        let writer = row.header.txn;
        if writer == cx.txn.id() && writer != TxnId(0) {
            return Ok(());
        }
        for index in cx.store.indexes.iter().filter(|index| wanted(index)) {
            let unit = index.tree.unit_id();
            if !cx.txn.has_lockers(unit) || !index.admits(old) {
                continue;
            }
            entry_key(index, old, &row.locator.bytes(), &mut self.entry_key);
            let free = cx.txn.wait_for_lockers(unit, RowName::Key(&self.entry_key));
            free.map_err(|e| db_error(cx.db, &e))?;
        }
        Ok(())
    }
}
