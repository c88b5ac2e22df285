//! Tables are made, dropped, emptied, and get another definition.
//! Guarantees: the table that is changed is locked, and its definition is the current one.

use std::sync::Arc;

use txn::locks::LockMode;
use types::{SqlError, msg};

use super::foreign_keys;
use super::work::{Work, units_of};
use super::{constraints, modules, shape, versioned, view_bases};
use catalog::Db;
use catalog::load::layout_of;
use catalog::{NewTable, TableDef, TableState};
use session::state::SessionCore;

/// Creates a table with its indexes, all empty. The new table is locked until the transaction ends.
///
/// Errors: 2714 the name is taken, 2760 no such schema, 1701 and 1702 too large, what the storage
/// says.
pub fn create_table(
    core: &mut SessionCore,
    db: &Arc<Db>,
    new: NewTable,
) -> Result<Arc<TableDef>, SqlError> {
    let mut work = Work::begin(core, db)?;
    let schema = work.schema(&new.schema)?;
    if new.of_view.is_none() {
        work.check_name(&schema, &new.name)?;
    }
    let filegroup = work.filegroup(&new.filegroup)?;
    let object_id = work.object_id()?;
    work.lock(object_id, LockMode::SchM)?;
    let mut columns = Vec::with_capacity(new.columns.len());
    for (i, column) in new.columns.iter().enumerate() {
        columns.push(work.column(&new.name, i as i32 + 1, column)?);
    }
    let layout = layout_of(&columns);
    shape::check(&new.name, &columns, &layout)?;
    let clustered = new.indexes.iter().position(|index| index.clustered);
    let mut storage = match clustered {
        Some(at) => work.index(&new.name, object_id, 1, &new.indexes[at], filegroup)?,
        None => work.heap(filegroup)?,
    };
    if let Some(compression) = new.compression {
        storage.options.set_compression(compression);
    }
    let mut indexes = Vec::new();
    for index in new.indexes.iter().filter(|index| !index.clustered) {
        let id = indexes.len() as i32 + 2;
        indexes.push(Arc::new(work.index(&new.name, object_id, id, index, filegroup)?));
    }
    let mut table = TableDef {
        object_id,
        schema,
        name: new.name,
        layout,
        columns,
        uniquifier: storage.index_id == 1 && !storage.unique,
        storage: Arc::new(storage),
        indexes,
        lob: None,
        overflow: None,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        lock_escalation: Default::default(),
        temporal: Default::default(),
        of_view: new.of_view,
        create_date: catalog::clock::now(),
        state: Arc::new(TableState::default()),
        seen: Default::default(),
    };
    work.renew_outside(&mut table)?;
    for check in &new.checks {
        let check = constraints::make_check(&mut work, &table, check, false)?;
        table.checks.push(check);
    }
    let mut table = Arc::new(table);
    work.check_constraint_names(&table)?;
    work.write_rows(&table)?;
    work.publish(None, Some(table.clone()))?;
    for key in &new.foreign_keys {
        table = foreign_keys::add_foreign_key(&mut work, &table, key, foreign_keys::Rows::None)?;
    }
    Ok(table)
}

/// Drops a table.
pub fn drop_table(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
) -> Result<(), SqlError> {
    let mut work = Work::begin(core, db)?;
    work.lock_current(table)?;
    versioned::check_free(db, table, false)?;
    if foreign_keys::reference_from_outside(&work.db.catalog(), table).is_some() {
        return Err(SqlError::of(msg::TABLE_REFERENCED, [&table.name]));
    }
    modules::drop_triggers(&mut work, table.object_id)?;
    work.delete_rows(table)?;
    work.forget_count(table)?;
    work.drop_units(units_of(table))?;
    work.publish(Some(table.clone()), None)
}

/// Drops the table that keeps the rows of a view.
pub(crate) fn drop_hidden(work: &mut Work<'_>, table: &Arc<TableDef>) -> Result<(), SqlError> {
    work.lock_current(table)?;
    work.delete_rows(table)?;
    work.forget_count(table)?;
    work.drop_units(units_of(table))?;
    work.publish(Some(table.clone()), None)
}

/// Empties a table by giving it new storage; an identity column starts over.
pub fn truncate_table(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
) -> Result<(), SqlError> {
    let mut work = Work::begin(core, db)?;
    work.lock_current(table)?;
    versioned::check_free(db, table, true)?;
    if let Some(view) = view_bases::indexed_over(&work.db.catalog(), table) {
        return Err(SqlError::of(
            msg::REFERENCED_BY_OBJECT,
            [&"TRUNCATE TABLE", &table.full_name(), &view.name],
        ));
    }
    if foreign_keys::reference_from_outside(&work.db.catalog(), table).is_some() {
        return Err(SqlError::of(msg::TRUNCATE_REFERENCED, [&table.name]));
    }
    let mut next = TableDef::clone(table);
    next.state = Arc::new(table.state.emptied());
    next.storage = Arc::new(work.renewed(&table.storage)?);
    next.indexes = table
        .indexes
        .iter()
        .map(|index| work.renewed(index).map(Arc::new))
        .collect::<Result<_, _>>()?;
    work.renew_outside(&mut next)?;
    let next = Arc::new(next);
    work.rewrite_rows(table, &next)?;
    work.drop_units(units_of(table))?;
    work.publish(Some(table.clone()), Some(next))
}

/// Replaces a definition whose storage stays: columns added, constraints and indexes dropped.
/// `gone` are the units that no longer belong to it, `created` those that were made by [`Work`] for
/// it.
pub fn replace(
    core: &mut SessionCore,
    db: &Arc<Db>,
    before: &Arc<TableDef>,
    after: TableDef,
) -> Result<Arc<TableDef>, SqlError> {
    let mut work = Work::begin(core, db)?;
    work.lock_current(before)?;
    work.replace(before, after)
}
