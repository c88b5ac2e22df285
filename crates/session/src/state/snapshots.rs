//! SNAPSHOT isolation of a session: the snapshot that a transaction keeps, and what it must refuse.
//! Guarantees: a transaction in SNAPSHOT isolation reads one moment of each database; a table whose
//! definition is newer than that moment is an error, not an empty table; a row that another
//! transaction has changed since is not changed.

use std::sync::Arc;

use txn::{LockMode, SnapshotGuard};
use types::SqlError;

use super::core::SessionCore;
use catalog::Db;
use catalog::TableDef;
use catalog::errors;
use logical::isolation::Isolation;

impl SessionCore {
    /// The transaction's snapshot, taken at its first look at the database.
    pub(super) fn kept_snapshot(&mut self, db: &Arc<Db>) -> Result<Arc<SnapshotGuard>, SqlError> {
        let at = self.open_txn(db)?;
        let open = &mut self.transactions.open[at];
        let own = open.txn.id();
        let kept = open.kept.get_or_insert_with(|| Arc::new(open.txn.lasting_snapshot()));
        // The transaction got its id after the snapshot was taken. The reader that holds the
        // snapshot goes on without it: its statement's own work is none of its business.
        if kept.own() != own
            && let Some(guard) = Arc::get_mut(kept)
        {
            guard.set_own(own);
        }
        Ok(kept.clone())
    }

    /// What the isolation level has against a table's use.
    ///
    /// Errors: 3951 SNAPSHOT after another level, 3952 SNAPSHOT is not allowed, 3961 the table's
    /// definition is newer than the snapshot.
    #[inline]
    pub(super) fn check_isolation(
        &mut self,
        db: &Arc<Db>,
        table: &TableDef,
        mode: LockMode,
    ) -> Result<(), SqlError> {
        let isolation = self.options.isolation;
        let began = match self.trancount() {
            0 => isolation,
            _ => *self.transactions.began.get_or_insert(isolation),
        };
        if isolation != Isolation::Snapshot || mode == LockMode::SchM {
            return Ok(());
        }
        if !db.allows_snapshots() {
            return Err(errors::snapshot_not_allowed(&db.name()));
        }
        if began != Isolation::Snapshot {
            return Err(errors::snapshot_too_late(&db.name()));
        }
        if self.trancount() > 0 && !self.snapshot(db)?.sees(db.newest_ddl(table.object_id)) {
            return Err(errors::snapshot_ddl(&db.name()));
        }
        Ok(())
    }
}
