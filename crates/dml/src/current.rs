//! WHERE CURRENT OF: the one row of the target that a cursor stands on. Guarantee: a row that
//! somebody has changed since it was fetched is left alone (16934), unless the cursor itself has.

use std::sync::Arc;

use access::RowBatch;
use catalog::Db;
use storage::TableStore;
use storage::write::{Locator, StoredRow, read_current};
use syntax::ast::CursorName;
use types::{SqlError, Value, msg};

use super::row_change::{RowChange, no_conflict};
use exec::operators::rt::Rt;
use session::state::cursors::{Concurrency, Current, CurrentRow, Cursor};

/// The row of a cursor.
#[derive(Debug)]
pub struct CurrentTarget {
    pub cursor: CursorName,
    /// Columns of the target that the change reads, in the order of its slots.
    pub reads: Vec<u16>,
    /// Columns that are set: FOR UPDATE OF must have them.
    pub sets: Vec<usize>,
    /// In SNAPSHOT isolation a version newer than the snapshot is a conflict.
    pub snapshot: bool,
}

impl CurrentTarget {
    /// Changes the row.
    ///
    /// # Errors
    /// 16916, 16917, 16929 to 16934, 16941, 16947; those of the change.
    pub fn run(
        &self,
        db: &Arc<Db>,
        store: &Arc<TableStore>,
        rt: &mut Rt<'_, '_>,
        change: &mut dyn RowChange,
    ) -> Result<u64, SqlError> {
        let cursor = rt.session().objects.cursors.find(&self.cursor)?;
        let row = self.current(&cursor, db, store)?;
        change_row(self, &cursor, &row, (db, store), rt, change)
    }

    fn current(
        &self,
        cursor: &Cursor,
        db: &Db,
        store: &TableStore,
    ) -> Result<CurrentRow, SqlError> {
        cursor.check_open()?;
        let declared = &cursor.info.declared;
        if declared.concurrency == Concurrency::ReadOnly {
            return Err(SqlError::of(msg::CURSOR_READ_ONLY, []));
        }
        let own = (db.id(), store.table.object_id);
        if let Some(list) = &declared.update_of {
            let listed = |column: &usize| list.contains(&(own.0, own.1, *column));
            if !self.sets.iter().all(listed) {
                return Err(SqlError::of(msg::COLUMN_NOT_FOR_UPDATE, []));
            }
        }
        match &*cursor.current.lock() {
            Current::None => Err(SqlError::of(msg::FETCH_BUFFER_EMPTY, [])),
            Current::Missing => Err(SqlError::of(msg::ROW_NOT_IN_FETCH_BUFFER, [])),
            Current::Row(rows) => rows
                .iter()
                .find(|row| (row.db, row.table) == own)
                .cloned()
                .ok_or_else(|| SqlError::of(msg::TABLE_NOT_OF_CURSOR, [])),
        }
    }
}

/// Changes a row of a cursor if it is as it was fetched, and notes what it is then.
fn change_row(
    target: &CurrentTarget,
    cursor: &Cursor,
    row: &CurrentRow,
    (db, store): (&Arc<Db>, &Arc<TableStore>),
    rt: &mut Rt<'_, '_>,
    change: &mut dyn RowChange,
) -> Result<u64, SqlError> {
    let mut slots = vec![Value::Null; target.reads.len()];
    let mut lookup = RowBatch::new();
    let locator = Locator::of(&row.locator)?;
    // Values outside the row are not freed before they are read.
    let _held = store.has_outside().then(|| rt.snapshot(db)).transpose()?;
    loop {
        rt.check_cancel()?;
        let txn = rt.session().txn(db)?;
        let found = read_current(db, txn, store, &row.locator, &mut lookup)?;
        if target.snapshot {
            no_conflict(db, store, rt, &lookup)?;
        }
        if !found {
            return Err(SqlError::of(msg::NO_ROWS_CHANGED, []));
        }
        let bytes = lookup.row(0);
        if bytes != row.image && row.written.as_deref() != Some(bytes) {
            return Err(SqlError::of(msg::OPTIMISTIC_CHECK_FAILED, []));
        }
        store.columns(db, bytes, &target.reads, &mut slots)?;
        if change.one(rt, StoredRow::first(&locator, &lookup), &slots)? {
            break;
        }
    }
    let txn = rt.session().txn(db)?;
    let written =
        read_current(db, txn, store, &row.locator, &mut lookup)?.then(|| lookup.row(0).to_vec());
    if let Current::Row(rows) = &mut *cursor.current.lock() {
        let own = |other: &&mut CurrentRow| {
            (other.db, other.table, &other.locator) == (row.db, row.table, &row.locator)
        };
        if let Some(row) = rows.iter_mut().find(own) {
            row.written = written;
        }
    }
    Ok(1)
}
