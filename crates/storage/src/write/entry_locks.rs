//! Locks of others on the entries that a change of a row takes out.
//! Guarantee: who waits for such a lock has not changed the row yet, unless the lock came while the
//! row was being changed. Its owner has read the entry alone, may want the row next, and finds it
//! free.

use super::{Locator, RowWriter, entry_key};
use crate::{IndexStore, TableStore};
use access::{RowName, Writer};
use catalog::Db;
use catalog::errors::db_error;
use pages::{RowHeader, TxnId};
use std::sync::Arc;
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
        db: &Arc<Db>,
        txn: &mut Txn,
        store: &TableStore,
        (locator, header): (&Locator, &RowHeader),
        old: &[Value],
        wanted: &dyn Fn(&IndexStore) -> bool,
    ) -> Result<(), SqlError> {
        if header.txn == txn.id() && header.txn != TxnId(0) {
            return Ok(());
        }
        for index in store.indexes.iter().filter(|index| wanted(index)) {
            let unit = index.tree.unit_id();
            if !txn.has_lockers(unit) || !index.admits(old) {
                continue;
            }
            entry_key(index, old, &locator.bytes(), &mut self.entry_key);
            let free = txn.wait_for_lockers(unit, RowName::Key(&self.entry_key));
            free.map_err(|e| db_error(db, &e))?;
        }
        Ok(())
    }
}
