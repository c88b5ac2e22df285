//! Locks that a session takes for its statements: of tables and what else has a definition, and of
//! applications. Guarantee: after the wait for a definition it is still the one that the statement
//! was compiled with, else the statement is compiled again.

use std::sync::Arc;
use std::time::Duration;

use txn::{LockMode, What};
use types::{SqlError, msg};

use super::core::SessionCore;
use super::transactions::is_private;
use catalog::errors::{self, db_error};
use catalog::other::{OtherObject, SequenceDef};
use catalog::{Db, ModuleDef, TEMPDB, TableDef};
use logical::hints::TableLock;

/// How often it is looked whether a change of the catalog is settled whose commit is in the log.
const LOOK: Duration = Duration::from_millis(1);

impl SessionCore {
    /// Locks a table. The definition must still be the current one.
    ///
    /// Errors: [`errors::SCHEMA_CHANGED`] (the interpreter compiles again), 1205, 1222.
    #[inline]
    pub fn lock_table(
        &mut self,
        db: &Arc<Db>,
        table: &TableDef,
        lock: TableLock,
    ) -> Result<(), SqlError> {
        let at = self.open_txn(db)?;
        let open = &mut self.transactions.open[at];
        open.in_shared_tables |= db.id() == TEMPDB && table.is_shared();
        let txn = &mut open.txn;
        if lock.no_wait {
            txn.wait.timeout_ms = 0;
            self.transactions.no_wait = true;
        }
        let what = What::Table(table.object_id as u32);
        let locked = match lock.hold {
            false => txn.lock_statement(what, lock.mode),
            true => txn.lock(what, lock.mode),
        };
        locked.map_err(|e| db_error(db, &e))?;
        if is_private(&self.run.private_tables, table) {
            return Ok(());
        }
        if !db.is_current(table) {
            return Err(errors::schema_changed());
        }
        self.check_isolation(db, table, lock.mode)
    }

    /// Takes a lock for the transaction and waits so long for it, -1 without end; the inner error
    /// is the wait's.
    ///
    /// # Errors
    /// The transaction cannot begin.
    pub fn lock_within(
        &mut self,
        db: &Arc<Db>,
        what: What,
        mode: LockMode,
        timeout_ms: i64,
    ) -> Result<Result<(), txn::TxnError>, SqlError> {
        let at = self.open_txn(db)?;
        let txn = &mut self.transactions.open[at].txn;
        let before = std::mem::replace(&mut txn.wait.timeout_ms, timeout_ms);
        let locked = txn.lock(what, mode);
        txn.wait.timeout_ms = before;
        Ok(locked)
    }

    /// Gives a lock of the transaction back before it ends.
    ///
    /// # Errors
    /// The transaction cannot begin.
    pub fn unlock_early(&mut self, db: &Arc<Db>, resource: &txn::Resource) -> Result<(), SqlError> {
        let at = self.open_txn(db)?;
        self.transactions.open[at].txn.locks.unlock(resource);
        Ok(())
    }

    /// Locks a view while a statement uses it. Its definition must still be the current one.
    ///
    /// Errors: as [`SessionCore::lock_table`].
    pub fn lock_module(&mut self, db: &Arc<Db>, module: &Arc<ModuleDef>) -> Result<(), SqlError> {
        let at = self.open_txn(db)?;
        let txn = &mut self.transactions.open[at].txn;
        let locked = txn.lock_statement(What::Table(module.object_id as u32), LockMode::SchS);
        locked.map_err(|e| db_error(db, &e))?;
        let catalog = db.catalog();
        let current = catalog.modules.get(&module.object_id);
        if current.is_some_and(|current| Arc::ptr_eq(current, module)) {
            Ok(())
        } else {
            Err(errors::schema_changed())
        }
    }

    /// Locks a sequence while a statement takes values of it. Its definition must still be the
    /// current one.
    ///
    /// Errors: as [`SessionCore::lock_table`].
    pub fn lock_sequence(
        &mut self,
        db: &Arc<Db>,
        sequence: &Arc<SequenceDef>,
    ) -> Result<(), SqlError> {
        let at = self.open_txn(db)?;
        let txn = &mut self.transactions.open[at].txn;
        let locked = txn.lock_statement(What::Table(sequence.object_id as u32), LockMode::SchS);
        locked.map_err(|e| db_error(db, &e))?;
        match db.catalog().others.get(&sequence.object_id) {
            Some(OtherObject::Sequence(current)) if Arc::ptr_eq(current, sequence) => Ok(()),
            _ => Err(errors::schema_changed()),
        }
    }

    /// Waits for the ends of other sessions' transactions that have given a name up, as long as
    /// `giver` tells of one: what it has locked with SCH-M. False when there is none.
    ///
    /// # Errors
    /// 1205, 1222, 3617.
    pub fn wait_for_givers(
        &mut self,
        db: &Arc<Db>,
        giver: impl Fn(&Db) -> Option<i32>,
    ) -> Result<bool, SqlError> {
        let timeout = i64::from(self.options.lock_timeout);
        let mut has_waited = false;
        while let Some(object_id) = giver(db) {
            has_waited = true;
            let what = What::Table(object_id as u32);
            self.lock_within(db, what, LockMode::SchS, timeout)?.map_err(|e| db_error(db, &e))?;
            self.unlock_early(db, &txn::Resource { db: db.storage()?.id(), what })?;
            if giver(db) == Some(object_id) {
                self.pause_for_log()?;
            }
        }
        Ok(has_waited)
    }

    /// After an error that says that an object is not there (208): waits until other sessions'
    /// transactions are decided that have given up its name, and may take it back. False when there
    /// are none; whoever has given up other names is not waited for.
    ///
    /// # Errors
    /// As [`SessionCore::wait_for_givers`].
    pub fn wait_for_missing(&mut self, missing: &SqlError) -> Result<bool, SqlError> {
        let Some(called) = msg::INVALID_OBJECT.value_in(&missing.message) else { return Ok(false) };
        let (db, spid) = (self.home_of(called), self.spid());
        self.wait_for_givers(&db, |db| db.giver_of_missing(called, spid))
    }

    /// The database of an object as an error calls it.
    fn home_of(&self, called: &str) -> Arc<Db> {
        let mut parts = called.rsplit('.');
        let shared = parts.next().is_some_and(|object| object.starts_with("##"));
        let named = match parts.nth(1) {
            Some(database) => self.host().database(database).ok(),
            None if shared => self.host().db_by_id(TEMPDB),
            None => None,
        };
        named.unwrap_or_else(|| self.db().clone())
    }

    /// What another session's transaction has changed in the catalog is not settled, though its
    /// locks were waited for: they go when its commit is in the log, and the change is settled when
    /// the commit is durable. The caller waits for the locks again afterwards: it may be another
    /// transaction's by then.
    ///
    /// # Errors
    /// 3617.
    pub fn pause_for_log(&self) -> Result<(), SqlError> {
        if self.cancelled() {
            return Err(errors::cancelled());
        }
        std::thread::sleep(LOOK);
        Ok(())
    }
}
