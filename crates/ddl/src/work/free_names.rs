//! Names of tables, indexes and constraints: whether one may be taken. Guarantees: a name is free
//! in its schema when it is taken (2714); whoever is making or dropping an object of that name is
//! waited for. A schema stays as long as a transaction is open that has put something into it or
//! taken out.

use compact_str::CompactString;
use txn::locks::LockMode;
use types::{SqlError, msg};

use super::Work;
use crate::names::{constraint_names, duplicate_index};
use catalog::TableDef;
use catalog::errors;
use catalog::fold_name;
use catalog::given_up::Name;
use catalog::load::is_user_schema;
use instance::catalog_locks::lock_schema;
use logical::hints::TableLock;

impl Work<'_> {
    /// The schema's name as it was created; `dbo` for an empty one. It is not dropped before the
    /// transaction ends.
    pub fn schema(&mut self, name: &str) -> Result<CompactString, SqlError> {
        let name = if name.is_empty() { "dbo" } else { name };
        let mut held = None;
        loop {
            let catalog = self.db.catalog();
            let id = catalog.schemas.get(&fold_name(name)).copied();
            match id.and_then(|id| Some((id, catalog.schema_names.get(&id)?))) {
                Some((id, _)) if is_user_schema(id) && held != Some(id) => {
                    lock_schema(self.core, &self.db, id, LockMode::SchS)?;
                    held = Some(id);
                }
                Some((_, name)) if !matches!(name.as_str(), "sys" | "INFORMATION_SCHEMA") => {
                    return Ok(name.clone());
                }
                _ => {
                    return Err(SqlError::of(msg::SCHEMA_NOT_FOUND, [&name]));
                }
            }
        }
    }

    /// Keeps the schema of something that goes from being dropped until the transaction ends: a
    /// rollback puts the thing back.
    pub(crate) fn hold_schema(&mut self, name: &str) -> Result<(), SqlError> {
        let id = self.db.catalog().schemas.get(&fold_name(name)).copied();
        match id.filter(|id| is_user_schema(*id)) {
            Some(id) => lock_schema(self.core, &self.db, id, LockMode::SchS),
            None => Ok(()),
        }
    }

    /// Waits for the end of other sessions' transactions that have given a name up and may take it
    /// back: by then it is known whether the name is free. Another may give it up at any moment:
    /// nobody gets it then ([`catalog::change::DdlChange`]), and the statement runs again.
    ///
    /// # Errors
    /// 1205, 1222, 3617.
    pub fn wait_for_name(&mut self, name: &Name) -> Result<(), SqlError> {
        let (db, spid) = (self.db.clone(), self.core.spid());
        self.core.wait_for_givers(&db, |db| db.giver_of(name, spid))?;
        Ok(())
    }

    /// Error 2714 when a table, module or constraint has the name; a table that another transaction
    /// is making or dropping is waited for.
    pub(crate) fn check_name(&mut self, schema: &str, name: &str) -> Result<(), SqlError> {
        self.wait_for_name(&Name::object(schema, name))?;
        let catalog = self.db.catalog();
        let taken = catalog.find_module(schema, name).is_some()
            || catalog.find_other(schema, name).is_some();
        if taken || self.is_constraint(schema, name) {
            return Err(errors::name_taken(name));
        }
        let Some(other) = self.db.catalog().find(schema, name).cloned() else { return Ok(()) };
        let db = self.db.clone();
        // That the schema has changed means: it was rolled back or dropped while we waited.
        self.core.lock_table(&db, &other, TableLock::of(LockMode::SchS))?;
        Err(errors::name_taken(name))
    }

    pub(crate) fn check_constraint_names(&mut self, table: &TableDef) -> Result<(), SqlError> {
        for name in constraint_names(table) {
            self.wait_for_name(&Name::object(&table.schema, name))?;
            self.check_free_name(&table.schema, name)?;
        }
        let mut seen: Vec<CompactString> = Vec::new();
        for name in constraint_names(table) {
            let folded = fold_name(name);
            if seen.contains(&folded) || folded == fold_name(&table.name) {
                return Err(errors::constraint_name_taken(name));
            }
            seen.push(folded);
        }
        let mut seen: Vec<CompactString> = Vec::new();
        for index in table.all_indexes().filter(|i| !i.name.is_empty()) {
            let folded = fold_name(&index.name);
            if seen.contains(&folded) {
                return Err(duplicate_index(&index.name, &table.full_name()));
            }
            seen.push(folded);
        }
        Ok(())
    }

    /// Error 2714 when a table, module or constraint of the schema has the name.
    pub fn check_free_name(&self, schema: &str, name: &str) -> Result<(), SqlError> {
        let catalog = self.db.catalog();
        let taken = catalog.find(schema, name).is_some()
            || catalog.find_module(schema, name).is_some()
            || catalog.find_other(schema, name).is_some()
            || self.is_constraint(schema, name);
        if taken { Err(errors::constraint_name_taken(name)) } else { Ok(()) }
    }

    fn is_constraint(&self, schema: &str, name: &str) -> bool {
        self.db.catalog().constraint_id(schema, name).is_some()
    }
}
