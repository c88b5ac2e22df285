//! CREATE INDEX and DROP INDEX; indexes that are built again.

use std::sync::Arc;

use syntax::ast::{CreateIndex, DropIndex, DropIndexItem};
use types::{SqlError, msg};

use super::StmtCtx;
use super::statistics::check_free_index_name;
use super::view_index::{IndexedObject, resolve_indexed};
use bind::filter::Filtered;
use catalog::errors;
use catalog::fold_name;
use catalog::given_up::Name;
use catalog::names::quote;
use catalog::statistics;
use catalog::{IndexDef, NewIndex, TableDef};
use ddl::build::build_index;
use ddl::names::duplicate_index;
use ddl::rebuild::{copy_rows, duplicate_key, rewrite};
use ddl::system_functions::SystemFunctions;
use ddl::table_def::computed;
use ddl::table_def::{self, key_columns};
use ddl::work::SchemaChange;
use ddl::{index_options, indexed_views, option_rules};
use exec::operators::context::ExecCtx;

/// 10610.
fn no_filter_on_view(index: &str, view: &str) -> SqlError {
    SqlError::of(msg::FILTER_NOT_USER_TABLE, [&index, &view])
}

/// 1987.
fn clustered_disabled(index: &str, table: &str) -> SqlError {
    SqlError::of(msg::NONCLUSTERED_ON_DISABLED, [&index, &table])
}

/// 7999: DROP_EXISTING of an index that is not there.
fn no_index(index: &str, table: &str) -> SqlError {
    SqlError::of(msg::DBCC_INDEX_NOT_FOUND, [&index, &table])
}

impl StmtCtx<'_> {
    pub(super) fn create_index(&mut self, stmt: &CreateIndex) -> Result<(), SqlError> {
        if stmt.columnstore {
            return Err(errors::not_supported("columnstore index"));
        }
        let shown = stmt.table.to_string();
        let filtered = stmt.filter.as_ref().map(|_| (stmt.name.value.as_str(), shown.as_str()));
        let (fill_factor, options) = index_options::of_new(&stmt.options, stmt.unique, filtered)?;
        let (db, table) = match resolve_indexed(self.core, &stmt.table).map_err(no_table)? {
            IndexedObject::Table(db, table) => (db, table),
            IndexedObject::View(db, view) => return self.index_view(stmt, &db, &view),
        };
        if table.of_view.is_some() && stmt.filter.is_some() {
            return Err(no_filter_on_view(&stmt.name.value, &shown));
        }
        let columns = table_def::new_columns(&table);
        let key = key_columns(&columns, &stmt.columns, &table.name)?;
        let mut included = Vec::new();
        for name in &stmt.include {
            let at = table.column(&name.value).ok_or_else(|| no_column(&name.value))?;
            table_def::check_included(&columns[at], &table.name)?;
            table_def::check_once(&name.value, at, &key, &included)?;
            included.push(at);
        }
        let filter = match &stmt.filter {
            None => None,
            Some(e) => {
                self.core.options.check_for_filters("CREATE INDEX")?;
                let of = Filtered { what: "index", name: &stmt.name.value, table: &shown };
                let functions = SystemFunctions::of(self.core);
                Some(computed::new_filter(functions, &db, of, &columns, e)?)
            }
        };
        let new = NewIndex {
            name: Some(stmt.name.value.clone()),
            unique: stmt.unique,
            clustered: stmt.clustered,
            key,
            included,
            constraint: None,
            fill_factor,
            options,
            filter,
        };
        let drop_existing = stmt.options.iter().any(|o| o.name == "DROP_EXISTING" && o.is_on());
        let old = table
            .all_indexes()
            .find(|i| fold_name(&i.name) == fold_name(&stmt.name.value))
            .cloned();
        if table.storage.options.disabled && !(new.clustered && drop_existing) {
            return Err(clustered_disabled(&stmt.name.value, &table.name));
        }
        let mut work = SchemaChange::begin(self.core, &db)?;
        work.lock_current(&table)?;
        let table = with_stored(&mut work, table, &new)?;
        match old {
            Some(old) if drop_existing => {
                if old.index_id == 1 && !new.clustered {
                    return Err(stays_clustered());
                }
                if constraint_kind(&old).is_some() {
                    let index = same_constraint(&old, &new)?;
                    return renew_as(&mut work, &table, index).map(drop);
                }
                let without = drop_from(&mut work, &table, &old)?;
                add_index(&mut work, &without, &new).map(drop)
            }
            Some(_) => Err(duplicate_index(&stmt.name.value, &table.full_name())),
            None if drop_existing => Err(no_index(&stmt.name.value, &table.full_name())),
            None => add_index(&mut work, &table, &new).map(drop),
        }
    }

    pub(super) fn drop_index(&mut self, stmt: &DropIndex) -> Result<(), SqlError> {
        for item in &stmt.items {
            self.drop_one(item, stmt.if_exists)?;
        }
        Ok(())
    }

    fn drop_one(&mut self, item: &DropIndexItem, if_exists: bool) -> Result<(), SqlError> {
        option_rules::check("DROP INDEX", &item.options, option_rules::DROP_INDEX)?;
        let shown = format!("{}.{}", item.table, item.index);
        let looked = self.core.looked();
        let found = resolve_indexed(self.core, &item.table);
        if found.as_ref().is_err_and(|e| e.number == 208) {
            self.settle_missing(&item.table, looked)?;
        }
        let (db, table) = match found {
            Ok(IndexedObject::Table(db, table)) => (db, table),
            Ok(IndexedObject::View(..)) if if_exists => return Ok(()),
            Ok(IndexedObject::View(..)) => return Err(errors::cannot_drop("index", &shown)),
            Err(e) if e.number == 208 && if_exists => return Ok(()),
            Err(e) if e.number == 208 => return Err(errors::cannot_drop("index", &shown)),
            Err(e) => return Err(e),
        };
        let name = fold_name(&item.index.value);
        let index =
            table.all_indexes().find(|i| !i.name.is_empty() && fold_name(&i.name) == name).cloned();
        let Some(index) = index else {
            return if if_exists { Ok(()) } else { Err(errors::cannot_drop("index", &shown)) };
        };
        if let Some(kind) = constraint_kind(&index) {
            return Err(SqlError::of(msg::DROP_INDEX_OF_CONSTRAINT, [&shown, &kind]));
        }
        let mut work = SchemaChange::begin(self.core, &db)?;
        if index.index_id == 1
            && let Some(view) = table.of_view.and_then(|id| db.catalog().modules.get(&id).cloned())
        {
            // The others are indexes of the rows that it keeps.
            return indexed_views::drop_rows(&mut work, &view);
        }
        work.lock_current(&table)?;
        drop_from(&mut work, &table, &index).map(drop)
    }
}

/// The index of a constraint as DROP_EXISTING makes it again: the constraint is what it was, so
/// only what it does not say may differ (directions, fill factor). Errors: 1907 for anything else.
fn same_constraint(old: &IndexDef, new: &NewIndex) -> Result<IndexDef, SqlError> {
    let columns = |key: &[(usize, bool)]| key.iter().map(|(column, _)| *column).collect::<Vec<_>>();
    let same = new.unique
        && new.included.is_empty()
        && new.filter.is_none()
        && columns(&new.key) == columns(&old.key);
    if !same {
        return Err(SqlError::of(msg::INDEX_DOES_NOT_MATCH_CONSTRAINT, [&old.name]));
    }
    if new.clustered && old.index_id != 1 {
        return Err(errors::not_supported(
            "DROP_EXISTING that makes a constraint's index clustered",
        ));
    }
    let (key, fill_factor, options) = (new.key.clone(), new.fill_factor, new.options);
    Ok(IndexDef { key, fill_factor, options, ..old.clone() })
}

fn stays_clustered() -> SqlError {
    SqlError::of(msg::CLUSTERED_TO_NONCLUSTERED, [])
}

/// The table with the values of those computed columns in its rows that an index needs.
///
/// Errors: 2729; those of the values.
pub(super) fn with_stored(
    work: &mut SchemaChange<'_>,
    mut table: Arc<TableDef>,
    index: &NewIndex,
) -> Result<Arc<TableDef>, SqlError> {
    for at in 0..table.columns.len() {
        let used = index.key.iter().any(|(k, _)| *k == at) || index.included.contains(&at);
        if used && table.columns[at].is_virtual() {
            let computed =
                computed::as_stored(SystemFunctions::of(work.core), &work.db, &table, at)?;
            let text = computed.text.to_string();
            let mut next = TableDef::clone(&table);
            next.columns[at].computed = Some(computed);
            table = rewrite(work, &table, next, Some((at, text)))?;
        }
    }
    Ok(table)
}

/// Adds an index and builds it. A clustered one takes the rows over and has the other indexes built
/// again.
pub(super) fn add_index(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    new: &NewIndex,
) -> Result<Arc<TableDef>, SqlError> {
    let filegroup = table.storage.filegroup;
    let mut next = TableDef::clone(table);
    if new.clustered {
        if table.storage.index_id == 1 {
            return Err(SqlError::of(
                msg::CLUSTERED_INDEX_EXISTS,
                [
                    &(if table.of_view.is_some() { "view" } else { "table" }),
                    &table.name,
                    &table.storage.name,
                ],
            ));
        }
        let index = work.index(&table.name, table.object_id, 1, new, filegroup)?;
        next.uniquifier = !index.unique;
        next.storage = Arc::new(index);
        return with_new_base(work, table, next);
    }
    if let Some(name) = &new.name {
        check_free_index_name(table, name)?;
    }
    // Indexes and statistics share their numbers.
    let id = statistics::free_id(table);
    let index = Arc::new(work.index(&table.name, table.object_id, id, new, filegroup)?);
    next.indexes.push(index.clone());
    next.indexes.sort_by_key(|i| i.index_id);
    check_index_name(work, table, &index)?;
    let after = work.replace(table, next)?;
    build(work, &after, &index)?;
    Ok(after)
}

fn check_index_name(
    work: &mut SchemaChange<'_>,
    table: &TableDef,
    index: &IndexDef,
) -> Result<(), SqlError> {
    if table.all_indexes().any(|i| fold_name(&i.name) == fold_name(&index.name)) {
        return Err(duplicate_index(&index.name, &table.full_name()));
    }
    if index.primary_key.or(index.unique_constraint).is_some() {
        work.wait_for_name(&Name::object(&table.schema, &index.name))?;
        work.check_free_name(&table.schema, &index.name)?;
    }
    Ok(())
}

fn build(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    index: &Arc<IndexDef>,
) -> Result<(), SqlError> {
    let db = work.db.clone();
    let mut ctx = ExecCtx { session: work.core, vars: &mut [] };
    build_index(&mut ctx, &db, table, index).map_err(|e| duplicate_key(e, table))
}

/// Copies the rows into a new base and builds the nonclustered indexes again: their locators
/// have changed.
fn with_new_base(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    mut next: TableDef,
) -> Result<Arc<TableDef>, SqlError> {
    let constraint = next.storage.primary_key.or(next.storage.unique_constraint).is_some();
    // A rebuild keeps its constraint, whose name is taken by itself.
    if constraint
        && !table.all_indexes().any(|i| fold_name(&i.name) == fold_name(&next.storage.name))
    {
        work.wait_for_name(&Name::object(&table.schema, &next.storage.name))?;
        work.check_free_name(&table.schema, &next.storage.name)?;
    }
    let mut indexes = Vec::with_capacity(next.indexes.len());
    for index in &next.indexes {
        indexes.push(Arc::new(work.renewed(index)?));
    }
    next.indexes = Vec::new();
    let sources: Vec<String> = next.columns.iter().map(|c| quote(&c.name)).collect();
    work.renew_outside(&mut next)?;
    copy_rows(work, table, &next, &sources)?;
    next.indexes = indexes.clone();
    let after = work.replace(table, next)?;
    for index in &indexes {
        build(work, &after, index)?;
    }
    Ok(after)
}

/// Takes an index away. Without its clustered index a table becomes a heap.
pub(super) fn drop_from(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    index: &IndexDef,
) -> Result<Arc<TableDef>, SqlError> {
    let mut next = TableDef::clone(table);
    if index.index_id == 1 {
        next.storage = Arc::new(work.heap(index.filegroup)?);
        next.uniquifier = false;
        return with_new_base(work, table, next);
    }
    next.indexes.retain(|i| i.index_id != index.index_id);
    table.state.statistics.remove(index.index_id);
    work.replace(table, next)
}

/// Gives an index another definition and a new unit.
fn renew_as(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    index: IndexDef,
) -> Result<Arc<TableDef>, SqlError> {
    let id = index.index_id;
    let mut changed = TableDef::clone(table);
    if id == 1 {
        changed.storage = Arc::new(index);
    } else if let Some(old) = changed.indexes.iter_mut().find(|old| old.index_id == id) {
        *old = Arc::new(index);
    }
    renew_changed(work, table, changed, id == 1, &|other| other.index_id == id)
}

/// Gives a table that is locked new units: all of it with its `base`, else the nonclustered indexes
/// that are `wanted`.
pub fn renew(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    base: bool,
    wanted: &dyn Fn(&IndexDef) -> bool,
) -> Result<(), SqlError> {
    renew_changed(work, table, TableDef::clone(table), base, wanted).map(drop)
}

/// The same for a definition whose indexes may have been changed.
pub(super) fn renew_changed(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    mut next: TableDef,
    base: bool,
    wanted: &dyn Fn(&IndexDef) -> bool,
) -> Result<Arc<TableDef>, SqlError> {
    if base {
        next.storage = Arc::new(work.renewed(&next.storage)?);
        return with_new_base(work, table, next);
    }
    let mut renewed = Vec::new();
    for index in next.indexes.iter_mut().filter(|index| wanted(index)) {
        *index = Arc::new(work.renewed(index)?);
        renewed.push(index.clone());
    }
    let after = work.replace(table, next)?;
    for index in &renewed {
        build(work, &after, index)?;
    }
    Ok(after)
}

/// What 3723 calls the constraint behind an index.
pub(super) fn constraint_kind(index: &IndexDef) -> Option<&'static str> {
    match (index.primary_key, index.unique_constraint) {
        (Some(_), _) => Some("PRIMARY KEY"),
        (_, Some(_)) => Some("UNIQUE KEY"),
        _ => None,
    }
}

pub(super) fn no_table(e: SqlError) -> SqlError {
    if e.number != 208 {
        return e;
    }
    let name = e.message.split('\'').nth(1).unwrap_or_default();
    SqlError::of(msg::OBJECT_NOT_FOUND, [&name])
}

fn no_column(name: &str) -> SqlError {
    SqlError::of(msg::COLUMN_NOT_IN_TARGET, [&name])
}
