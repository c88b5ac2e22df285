//! Locks that a session takes for its statements: of tables and what else has a definition, and of
//! applications. Guarantee: after the wait for a definition it is still the one that the statement
//! was compiled with, else the statement is compiled again.

use std::sync::Arc;
use std::time::Duration;

use txn::{LockMode, LockTarget};
use types::{SqlError, msg};

use super::core::SessionCore;
use super::transactions::is_private;
use bind::synonym::base_of;
use catalog::errors::{self, db_error};
use catalog::other::{OtherObject, SequenceDef};
use catalog::{Db, ModuleDef, TEMPDB, TableDef, fold_name};
use logical::hints::TableLock;

/// How often it is looked whether a change of the catalog is settled whose commit is in the log.
const LOOK: Duration = Duration::from_millis(1);

/// How often a statement looks again for an object that is dropped and taken back again and again.
const MAX_LOOKS: u32 = 100;

/// A database's catalog as it was when an object was looked for there.
#[derive(Clone, Copy, Debug)]
pub struct CatalogLook {
    db: i32,
    version: u64,
    /// How often the object was not there.
    times: u32,
}

impl CatalogLook {
    /// Before the first look at a database's catalog.
    pub fn at(db: &Db) -> CatalogLook {
        CatalogLook { db: db.id(), version: db.schema_version(), times: 0 }
    }
}

/// Whether a text names something, both folded. A name of other characters than plain ones is
/// looked for wherever it stands.
fn names(text: &str, name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '$' | '#');
    match name.chars().all(is_plain) {
        true => text.split(|c: char| !is_plain(c)).any(|word| word == name),
        false => text.contains(name),
    }
}

/// What an error calls that is not there.
fn missing_name(error: &SqlError) -> Option<&str> {
    let said = error.message.as_str();
    match error.number {
        208 => msg::INVALID_OBJECT.value_in(said),
        1088 => msg::OBJECT_NOT_FOUND.value_in(said),
        4701 => msg::TRUNCATE_OBJECT_NOT_FOUND.value_in(said),
        4902 => msg::ALTER_OBJECT_NOT_FOUND.value_in(said),
        5313 => msg::SYNONYM_INVALID.value_in(said),
        8197 => msg::TRIGGER_TARGET_INVALID.value_in(said),
        _ => None,
    }
}

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
        let what = LockTarget::Table(table.object_id as u32);
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
        what: LockTarget,
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
        let locked = txn.lock_statement(LockTarget::Table(module.object_id as u32), LockMode::SchS);
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
        let locked =
            txn.lock_statement(LockTarget::Table(sequence.object_id as u32), LockMode::SchS);
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
            let what = LockTarget::Table(object_id as u32);
            self.lock_within(db, what, LockMode::SchS, timeout)?.map_err(|e| db_error(db, &e))?;
            self.unlock_early(db, &txn::Resource { db: db.storage()?.id(), what })?;
            if giver(db) == Some(object_id) {
                self.pause_for_log()?;
            }
        }
        Ok(has_waited)
    }

    /// What is known of the catalog before an object is looked for.
    pub fn looked(&self) -> CatalogLook {
        CatalogLook::at(self.names_db())
    }

    /// After an error that says that an object is not there (208 and its like): waits until other
    /// sessions' transactions are decided that have given up its name, and may take it back. False
    /// when it was not there and nobody was to be waited for; whoever has given up other names is
    /// not.
    ///
    /// # Errors
    /// As [`SessionCore::wait_for_givers`].
    pub fn wait_for_missing(
        &mut self,
        missing: &SqlError,
        looked: &mut CatalogLook,
    ) -> Result<bool, SqlError> {
        let Some((db, called)) = self.missing_object(missing) else { return Ok(false) };
        self.wait_for_object(&db, &called, looked)
    }

    /// The same where a view of another database, which a statement names in its text, has not
    /// found what its own text names.
    ///
    /// # Errors
    /// As [`SessionCore::wait_for_givers`].
    pub fn wait_in_named(
        &mut self,
        missing: &SqlError,
        text: &str,
        looked: &CatalogLook,
    ) -> Result<bool, SqlError> {
        let Some(called) = missing_name(missing).filter(|_| looked.times < MAX_LOOKS) else {
            return Ok(false);
        };
        let (spid, own) = (self.spid(), self.names_db().id());
        let named: Vec<Arc<Db>> = {
            let text = fold_name(text);
            let all = self.host().databases().into_iter();
            all.filter(|db| db.id() != own && names(&text, &fold_name(&db.name()))).collect()
        };
        let mut has_waited = false;
        for db in named {
            let Some((db, called)) = self.meant_in(db, missing, called) else { continue };
            has_waited |= self.wait_for_givers(&db, |db| db.giver_of_missing(&called, spid))?;
        }
        Ok(has_waited)
    }

    /// As [`SessionCore::wait_for_missing`] for an object of a database, perhaps with its schema.
    ///
    /// # Errors
    /// As [`SessionCore::wait_for_givers`].
    pub fn wait_for_object(
        &mut self,
        db: &Arc<Db>,
        called: &str,
        looked: &mut CatalogLook,
    ) -> Result<bool, SqlError> {
        if looked.times >= MAX_LOOKS {
            return Ok(false);
        }
        let spid = self.spid();
        let has_waited = self.wait_for_givers(db, |db| db.giver_of_missing(called, spid))?;
        // A transaction that has taken the name back since is no giver any more: a name is put
        // back before its giver goes, and the version moves before the name is there.
        let now = CatalogLook { times: looked.times + 1, ..CatalogLook::at(db) };
        let has_moved = (now.db, now.version) != (looked.db, looked.version);
        *looked = now;
        if has_moved && self.cancelled() {
            return Err(errors::cancelled());
        }
        Ok(has_waited || has_moved)
    }

    /// What becomes of an error after which the whole statement may run again: another session's
    /// transaction may have given up what the statement has not found, and is waited for. `looked`
    /// where nothing but the look itself lies between.
    pub fn unless_given_up(&mut self, error: SqlError, looked: Option<CatalogLook>) -> SqlError {
        let Some((db, called)) = self.missing_object(&error) else { return error };
        // It is not known what another database was like at the look.
        let looked = looked.filter(|looked| looked.db == db.id());
        let mut looked = looked.unwrap_or_else(|| CatalogLook::at(&db));
        match self.wait_for_object(&db, &called, &mut looked) {
            Ok(true) => errors::schema_changed(),
            Ok(false) => error,
            Err(waiting) => waiting,
        }
    }

    /// What an error says is not there, and its database.
    fn missing_object(&self, error: &SqlError) -> Option<(Arc<Db>, String)> {
        let called = missing_name(error)?;
        self.meant_in(self.home_of(called), error, called)
    }

    /// What a name in an error means in a database, and where that is; of a synonym what that
    /// stands for.
    fn meant_in(&self, db: Arc<Db>, error: &SqlError, called: &str) -> Option<(Arc<Db>, String)> {
        if error.number != msg::SYNONYM_INVALID.number() {
            return Some((db, called.to_owned()));
        }
        let mut parts = called.rsplit('.');
        let (name, schema) = (parts.next()?, parts.next().unwrap_or_default());
        let base = match db.catalog().find_other(schema, name) {
            Some(OtherObject::Synonym(synonym)) => base_of(&db, synonym),
            _ => return None,
        };
        let home = base.database.as_ref().and_then(|home| self.host().database(&home.value).ok());
        Some((home.unwrap_or(db), base.to_string()))
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
        named.unwrap_or_else(|| self.names_db().clone())
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
