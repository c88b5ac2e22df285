//! A change of schema in progress: ids, units, the rows of the system tables, the new definition.
//! Guarantees: everything is done in the session's transaction: system tables through it, storage
//! beside it (see `pending`), the catalog at once under SCH-M locks; a change that fails half-way
//! frees what it has made.

mod free_names;

use std::collections::HashSet;
use std::sync::Arc;

use access::BTree;
use pages::PageId;
use txn::locks::LockMode;
use txn::locks::LockTarget;
use types::{SqlError, Value, msg};

use super::names::{default_name, key_name};
use super::shape;
use bind::type_names::SYSNAME;
use catalog::change::{CreatedUnits, DdlChange};
use catalog::db::OpenStorage;
use catalog::errors;
use catalog::fold_name;
use catalog::load::rows_of;
use catalog::pending::{self, UnitRef};
use catalog::store::StoreError;
use catalog::systables::SysTable;
use catalog::{
    ColumnDef, Db, DefaultDef, IndexDef, KeyConstraint, NewColumn, NewFilter, NewIndex,
    OverflowUnit, RowFilter, TableDef,
};
use instance::catalog_locks::lock_catalog;
use instance::security::change::{check_not_model, forget_columns};
use logical::hints::TableLock;
use session::state::SessionCore;

/// Allocation units of a table.
pub fn units_of(table: &TableDef) -> Vec<UnitRef> {
    let mut units: Vec<UnitRef> = table
        .stored_indexes()
        .map(|i| UnitRef { unit: i.unit, first_iam: i.first_iam, filegroup: i.filegroup })
        .collect();
    let filegroup = table.storage.filegroup;
    units.extend(table.outside().map(|(_, unit, first_iam)| UnitRef {
        unit,
        first_iam,
        filegroup,
    }));
    units
}

/// A change of schema in progress.
pub struct SchemaChange<'a> {
    pub core: &'a mut SessionCore,
    pub db: Arc<Db>,
    pub open: Arc<OpenStorage>,
    created: CreatedUnits,
}

impl<'a> SchemaChange<'a> {
    /// Begins a change. Errors: 3930 in a doomed transaction, 3906 in a read-only database.
    pub fn begin(core: &'a mut SessionCore, db: &Arc<Db>) -> Result<SchemaChange<'a>, SqlError> {
        if core.xact_state() == -1 {
            return Err(errors::doomed());
        }
        let open = db.open()?;
        db.check_writable()?;
        check_not_model(db)?;
        lock_catalog(core, db, LockMode::IX)?;
        Ok(SchemaChange { core, db: db.clone(), open, created: CreatedUnits::default() })
    }
}

impl SchemaChange<'_> {
    pub(super) fn store<T>(&self, result: Result<T, StoreError>) -> Result<T, SqlError> {
        result.map_err(|e| errors::store_error(&self.db, e))
    }

    /// Locks an object's definition until the transaction ends.
    pub fn lock(&mut self, object_id: i32, mode: LockMode) -> Result<(), SqlError> {
        let db = self.db.clone();
        let txn = self.core.txn(&db)?;
        txn.lock(LockTarget::Table(object_id as u32), mode).map_err(|e| errors::db_error(&db, &e))
    }

    /// SCH-M on a table whose definition must still be the current one.
    pub fn lock_current(&mut self, table: &TableDef) -> Result<(), SqlError> {
        let db = self.db.clone();
        self.core.lock_table(&db, table, TableLock::of(LockMode::SchM))
    }

    /// A filegroup's id by name; 1921 when there is none.
    pub(super) fn filegroup(&self, name: &str) -> Result<u16, SqlError> {
        let entry = self.db.entry();
        if name.is_empty() || name.eq_ignore_ascii_case("default") {
            return Ok(self.db.settings().default_filegroup);
        }
        let folded = fold_name(name);
        match entry.filegroups.iter().position(|g| fold_name(g) == folded) {
            Some(at) => Ok(at as u16 + 1),
            None => Err(SqlError::of(msg::INVALID_FILEGROUP, [&name])),
        }
    }

    /// A new object_id.
    pub fn object_id(&self) -> Result<i32, SqlError> {
        self.store(self.open.counters.next_object(&self.open.storage, &self.open.trees))
    }

    /// A new alias type's user_type_id.
    pub fn type_id(&self) -> Result<i32, SqlError> {
        self.store(self.open.counters.next_type(&self.open.storage, &self.open.trees))
    }

    /// Keeps the alias type of a column from going until the transaction ends.
    pub fn hold_type(&mut self, alias: Option<i32>) -> Result<(), SqlError> {
        let Some(type_id) = alias.filter(|id| *id != SYSNAME) else { return Ok(()) };
        self.lock(type_id, LockMode::SchS)?;
        match self.db.catalog().alias(type_id) {
            Some(_) => Ok(()),
            None => Err(errors::schema_changed()),
        }
    }

    /// A column's definition with its DEFAULT.
    pub fn column(
        &mut self,
        table: &str,
        column_id: i32,
        new: &NewColumn,
    ) -> Result<ColumnDef, SqlError> {
        self.hold_type(new.alias)?;
        let default = match &new.default {
            None => None,
            Some(default) => {
                let object_id = self.object_id()?;
                let name = default
                    .name
                    .clone()
                    .unwrap_or_else(|| default_name(table, &new.name, object_id));
                Some(DefaultDef {
                    object_id,
                    name,
                    text: default.text.clone(),
                    expr: default.expr.clone(),
                })
            }
        };
        Ok(ColumnDef {
            column_id,
            name: new.name.clone(),
            ty: new.ty,
            nullable: new.nullable,
            collation: new.collation,
            default,
            identity: new.identity,
            computed: new.computed.clone(),
            generated: new.generated,
            alias: new.alias,
            mask: new.mask.clone(),
            traits: new.traits,
        })
    }

    /// A new allocation unit; freed again if the transaction does not commit.
    pub fn unit(&mut self, filegroup: u16) -> Result<UnitRef, SqlError> {
        let db = self.db.clone();
        let open = self.open.clone();
        let id = self.store(open.counters.next_unit(&open.storage, &open.trees))?;
        let fail = |e| errors::db_error(&db, &e);
        let reserved = open.storage.reserve_unit(filegroup).map_err(fail)?;
        let unit = UnitRef { unit: id, first_iam: reserved.first_iam(), filegroup };
        self.store(pending::list_created(&open.storage, &open.trees, &unit))?;
        self.created.units.push(unit);
        open.storage.make_unit(id, reserved).map_err(fail)?;
        let txn = self.core.txn(&db)?;
        let kept = pending::keep(txn, &open.trees, &unit);
        self.store(kept)?;
        Ok(unit)
    }

    /// An empty B+tree in a new unit: the unit and the root page.
    pub fn tree(&mut self, filegroup: u16) -> Result<(UnitRef, PageId), SqlError> {
        let unit = self.unit(filegroup)?;
        let store = self.open.storage.store().clone();
        let made = store
            .open_unit(unit.first_iam)
            .map_err(access::AccessError::from)
            .and_then(|handle| BTree::create(store, handle));
        let tree = made.map_err(|e| errors::db_error(&self.db, &e.into()))?;
        Ok((unit, tree.root()))
    }

    /// A heap in a new unit.
    pub fn heap(&mut self, filegroup: u16) -> Result<IndexDef, SqlError> {
        let unit = self.unit(filegroup)?;
        Ok(IndexDef::heap(unit.unit, unit.first_iam, filegroup))
    }

    /// An empty index in a new unit. Constraint names are made up where none is given.
    pub fn index(
        &mut self,
        table: &str,
        table_id: i32,
        index_id: i32,
        new: &NewIndex,
        filegroup: u16,
    ) -> Result<IndexDef, SqlError> {
        let constraint = match new.constraint {
            None => None,
            Some(kind) => Some((kind, self.object_id()?)),
        };
        let name = match (&new.name, constraint) {
            (Some(name), _) => name.clone(),
            (None, Some((kind, id))) => key_name(kind, table, table_id, id),
            (None, None) => return Err(SqlError::internal("an index needs a name")),
        };
        let filter = match &new.filter {
            None => None,
            Some(NewFilter { text, terms }) => {
                let (text, terms) = (text.as_str().into(), terms.clone());
                Some(Arc::new(RowFilter { object_id: self.object_id()?, text, terms }))
            }
        };
        let (unit, root) = self.tree(filegroup)?;
        Ok(IndexDef {
            index_id,
            name,
            unit: unit.unit,
            first_iam: unit.first_iam,
            root,
            unique: new.unique,
            key: new.key.clone(),
            included: new.included.clone(),
            primary_key: constraint
                .filter(|(kind, _)| *kind == KeyConstraint::Primary)
                .map(|(_, id)| id),
            unique_constraint: constraint
                .filter(|(kind, _)| *kind == KeyConstraint::Unique)
                .map(|(_, id)| id),
            fill_factor: new.fill_factor,
            filegroup,
            options: new.options,
            filter,
        })
    }

    /// The same heap or index in a new, empty unit; one that is disabled has none.
    pub fn renewed(&mut self, old: &IndexDef) -> Result<IndexDef, SqlError> {
        let mut next = old.clone();
        if !old.is_stored() {
            return Ok(next);
        }
        if old.index_id == 0 {
            let unit = self.unit(old.filegroup)?;
            (next.unit, next.first_iam) = (unit.unit, unit.first_iam);
        } else {
            let (unit, root) = self.tree(old.filegroup)?;
            (next.unit, next.first_iam, next.root) = (unit.unit, unit.first_iam, root);
        }
        Ok(next)
    }

    /// New, empty units for what lies outside the rows of a table that has new storage for them.
    pub fn renew_outside(&mut self, table: &mut TableDef) -> Result<(), SqlError> {
        (table.lob, table.overflow) = (None, None);
        self.complete_outside(table)
    }

    /// Units for what lies outside the rows of a table, where its columns ask for one that it does
    /// not have.
    pub(crate) fn complete_outside(&mut self, table: &mut TableDef) -> Result<(), SqlError> {
        if table.lob.is_none() && table.has_large() {
            let unit = self.unit(table.storage.filegroup)?;
            table.lob = Some((unit.unit, unit.first_iam));
        }
        if table.overflow.is_none() && table.may_overflow() {
            // It is made when a value comes.
            let number =
                self.store(self.open.counters.next_unit(&self.open.storage, &self.open.trees))?;
            let unit = OverflowUnit::new(number, PageId::NONE, table.storage.filegroup);
            self.created.numbered.push(unit.clone());
            table.overflow = Some(unit);
        }
        Ok(())
    }

    /// Writes a definition's rows.
    pub(crate) fn write_rows(&mut self, table: &TableDef) -> Result<(), SqlError> {
        // Nobody ever loads the definition of a table variable.
        if self.db.is_autonomous() {
            return Ok(());
        }
        let schema_id = self.db.catalog().schema_id(table);
        let (db, open) = (self.db.clone(), self.open.clone());
        let txn = self.core.txn(&db)?;
        for (system, values) in rows_of(table, schema_id) {
            open.trees.put(txn, system, &values).map_err(|e| errors::store_error(&db, e))?;
        }
        Ok(())
    }

    /// Deletes a definition's rows.
    pub(crate) fn delete_rows(&mut self, table: &TableDef) -> Result<(), SqlError> {
        if self.db.is_autonomous() {
            return Ok(());
        }
        let (db, open) = (self.db.clone(), self.open.clone());
        let txn = self.core.txn(&db)?;
        for (system, values) in rows_of(table, 0) {
            open.trees.delete(txn, system, &values).map_err(|e| errors::store_error(&db, e))?;
        }
        Ok(())
    }

    /// Writes a definition's rows in the place of another's of the same table, which is locked.
    /// Rows that both have stay: what a change and its rollback write does not grow with what the
    /// table has beside.
    pub(super) fn rewrite_rows(
        &mut self,
        before: &TableDef,
        after: &TableDef,
    ) -> Result<(), SqlError> {
        if self.db.is_autonomous() {
            return Ok(());
        }
        let rows = rows_of(after, self.db.catalog().schema_id(after));
        let place = |system: SysTable, values: &[Value]| (system.number(), system.key(values));
        let kept: HashSet<_> = rows.iter().map(|(system, values)| place(*system, values)).collect();
        let (db, open) = (self.db.clone(), self.open.clone());
        let txn = self.core.txn(&db)?;
        for (system, values) in rows_of(before, 0) {
            if !kept.contains(&place(system, &values)) {
                let deleted = open.trees.delete(txn, system, &values);
                deleted.map_err(|e| errors::store_error(&db, e))?;
            }
        }
        for (system, values) in &rows {
            let put = open.trees.put_changed(txn, *system, values);
            put.map_err(|e| errors::store_error(&db, e))?;
        }
        Ok(())
    }

    /// Deletes what is noted of a table's rows: see `catalog::row_counts` and
    /// `catalog::statistics`.
    pub(super) fn forget_count(&mut self, table: &TableDef) -> Result<(), SqlError> {
        // Nothing is noted of table variables.
        if self.db.is_autonomous() {
            return Ok(());
        }
        let (db, open) = (self.db.clone(), self.open.clone());
        let txn = self.core.txn(&db)?;
        let deleted = open.trees.delete(txn, SysTable::RowCounts, &[Value::Int(table.object_id)]);
        deleted.map_err(|e| errors::store_error(&db, e))?;
        let deleted = catalog::statistics::store::delete(&open.trees, txn, table.object_id, None);
        deleted.map_err(|e| errors::store_error(&db, e))
    }

    /// Lists units to be freed when the transaction commits.
    pub(crate) fn drop_units(&mut self, units: Vec<UnitRef>) -> Result<(), SqlError> {
        let (db, open) = (self.db.clone(), self.open.clone());
        let txn = self.core.txn(&db)?;
        for unit in &units {
            pending::list_dropped(txn, &open.trees, unit)
                .map_err(|e| errors::store_error(&db, e))?;
        }
        txn.defer(open.free_after_commit(units));
        Ok(())
    }

    /// Replaces a definition: rows, storage that is no longer named, catalog. Errors: 1701 and 1702
    /// too large.
    pub fn replace(
        &mut self,
        before: &Arc<TableDef>,
        mut after: TableDef,
    ) -> Result<Arc<TableDef>, SqlError> {
        shape::check_change(before, &after)?;
        self.complete_outside(&mut after)?;
        let after = Arc::new(after);
        // By number: a unit that was given another name is the same one.
        let kept = units_of(&after);
        let stays = |unit: &UnitRef| kept.iter().any(|k| k.unit == unit.unit);
        let gone: Vec<UnitRef> = units_of(before).into_iter().filter(|u| !stays(u)).collect();
        self.rewrite_rows(before, &after)?;
        if !gone.is_empty() {
            self.drop_units(gone)?;
        }
        let ids = |table: &TableDef| table.all_indexes().map(|i| i.index_id).collect::<Vec<_>>();
        let (old, new) = (ids(before), ids(&after));
        for id in old.iter().chain(&new).filter(|id| old.contains(id) != new.contains(id)) {
            after.state.usage.changed(*id);
        }
        self.publish(Some(before.clone()), Some(after.clone()))?;
        Ok(after)
    }

    /// Replaces two definitions that have changed units: none of them is freed.
    pub fn exchange(
        &mut self,
        a: &Arc<TableDef>,
        b: &Arc<TableDef>,
        mut after_a: TableDef,
        mut after_b: TableDef,
    ) -> Result<(), SqlError> {
        // Each has a unit for whatever its new rows may need.
        self.complete_outside(&mut after_a)?;
        self.complete_outside(&mut after_b)?;
        let (after_a, after_b) = (Arc::new(after_a), Arc::new(after_b));
        self.delete_rows(a)?;
        self.delete_rows(b)?;
        self.write_rows(&after_a)?;
        self.write_rows(&after_b)?;
        self.forget_count(a)?;
        self.forget_count(b)?;
        self.publish(Some(a.clone()), Some(after_a))?;
        self.publish(Some(b.clone()), Some(after_b))
    }

    /// Publishes the change in the catalog; a rollback takes it back.
    pub fn publish(
        &mut self,
        before: Option<Arc<TableDef>>,
        after: Option<Arc<TableDef>>,
    ) -> Result<(), SqlError> {
        if let Some(after) = &after {
            super::temp_memory::charge(self.core, after)?;
        }
        self.core.charge_ddl(before.as_deref())?;
        if let Some(before) = &before {
            if after.as_ref().is_none_or(|after| after.schema != before.schema) {
                self.hold_schema(&before.schema)?;
            }
            super::properties::follow_table(self.core, &self.db, before, after.as_deref())?;
            if let Some(after) = &after {
                forget_columns(self.core, &self.db, before, after)?;
            }
        }
        let change =
            DdlChange::table(&self.db, self.core.spid(), before, after, self.created.clone())?;
        self.created = CreatedUnits::default();
        self.core.remember_ddl(change);
        Ok(())
    }
}

impl Drop for SchemaChange<'_> {
    /// A change that failed half-way still has units to free after the statement's rollback.
    fn drop(&mut self) {
        if !self.created.is_empty() {
            let change = DdlChange::only_units(&self.db, std::mem::take(&mut self.created));
            self.core.remember_ddl(change);
        }
    }
}
