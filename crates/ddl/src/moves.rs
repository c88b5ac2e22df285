//! Tables and modules that go to another schema, in the session's transaction like a change of
//! theirs. Guarantee: the triggers of a table or view go with it.

use std::sync::Arc;

use txn::LockMode;
use types::SqlError;

use super::modules::replace;
use super::work::SchemaChange;
use catalog::{ModuleDef, ModuleHead, ModuleKind, TableDef, clock, errors};

/// Puts a table into another schema, where its names are free.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn table(work: &mut SchemaChange<'_>, table: &Arc<TableDef>, to: &str) -> Result<(), SqlError> {
    work.lock_current(table)?;
    let next = TableDef { schema: to.into(), ..TableDef::clone(table) };
    work.replace(table, next)?;
    triggers(work, table.object_id, to)
}

/// Puts a module into another schema, where its name is free.
///
/// # Errors
/// As [`table`].
pub fn module(
    work: &mut SchemaChange<'_>,
    module: &Arc<ModuleDef>,
    to: &str,
) -> Result<(), SqlError> {
    work.lock(module.object_id, LockMode::SchM)?;
    let now = work.db.catalog().modules.get(&module.object_id).cloned();
    if !now.is_some_and(|now| Arc::ptr_eq(&now, module)) {
        return Err(errors::schema_changed());
    }
    put(work, module, to)?;
    triggers(work, module.object_id, to)
}

fn put(work: &mut SchemaChange<'_>, module: &Arc<ModuleDef>, to: &str) -> Result<(), SqlError> {
    let head = ModuleHead { schema: to.into(), modify_date: clock::now(), ..module.head() };
    let after = Arc::new(ModuleDef::new(head, &module.text)?);
    replace(work, Some(module.clone()), Some(after))
}

fn triggers(work: &mut SchemaChange<'_>, parent: i32, to: &str) -> Result<(), SqlError> {
    let catalog = work.db.catalog();
    let own = |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == parent;
    catalog.modules.values().filter(own).try_for_each(|trigger| put(work, trigger, to))
}
