//! Temporary tables: tables of tempdb under names that nobody else has, known to the session that
//! made them by the names that it gave. Temporary procedures (`temp_procedures`) are on the same
//! list. Guarantees: a session sees no other session's; tables that a procedure, trigger or EXEC
//! made are dropped when it ends, all others when the session does. A drop that a rollback takes
//! back is done again then.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compact_str::CompactString;
use types::{SqlError, msg};

use super::modules::drop_module;
use super::tables::{create_table, drop_table};
use super::work::Work;
use bind::env::{TempName, TempTables};
use catalog::{Catalog, Db, NewTable, TEMPDB, TableDef, errors, fold_name};
use session::state::SessionCore;

/// Table variables that one statement drops at the end of their scope.
const TOGETHER: usize = 256;

/// Characters of a temporary table's name, as written and as it is kept.
const LONGEST: usize = 116;

/// Whether a name is one of a session's own temporary tables, not a global one.
pub fn is_local(name: &str) -> bool {
    name.starts_with('#') && !name.starts_with("##")
}

/// tempdb.
///
/// # Errors
/// Internal: the instance has none.
pub fn tempdb(core: &SessionCore) -> Result<Arc<Db>, SqlError> {
    let db = core.host().db_by_id(TEMPDB);
    db.ok_or_else(|| SqlError::internal("there is no tempdb"))
}

/// Creates a temporary table, local (`#t`) or global (`##t`).
///
/// # Errors
/// 193 the name is too long, 2714 the scope has a table of that name; those of [`create_table`].
pub fn create(core: &mut SessionCore, mut new: NewTable) -> Result<Arc<TableDef>, SqlError> {
    let db = tempdb(core)?;
    let name = new.name.clone();
    new.schema = CompactString::default();
    let level = core.run.nest_level;
    new.name = kept_name(core, &db, &name, level)?;
    let table = create_table(core, &db, new)?;
    remember(&mut core.objects.temps, &name, table.object_id, level);
    core.objects.temps.changed();
    Ok(table)
}

/// The name in tempdb of a temporary object that is about to be made: one that nobody else has, if
/// it is a local one.
///
/// # Errors
/// 193 the name is too long, 2714 the scope has an object of that name.
pub(super) fn kept_name(
    core: &mut SessionCore,
    tempdb: &Db,
    name: &CompactString,
    level: u32,
) -> Result<CompactString, SqlError> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let length = name.chars().count();
    if length > LONGEST {
        return Err(SqlError::of(msg::TEMPORARY_NAME_TOO_LONG, [&name, &LONGEST]));
    }
    forget_gone(core, tempdb);
    if !is_local(name) {
        return Ok(name.clone());
    }
    let (folded, catalog) = (fold_name(name), tempdb.catalog());
    let taken = |t: &&TempName| t.visible && t.level == level && t.name == folded;
    if core.objects.temps.list.iter().filter(taken).any(|t| is_there(&catalog, t)) {
        return Err(errors::name_taken(name));
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Ok(format!("{name}{}{number:012X}", "_".repeat(LONGEST - length)).into())
}

/// The session knows the object by this name from now on.
pub(super) fn remember(temps: &mut TempTables, name: &str, object_id: i32, level: u32) {
    temps.list.push(TempName {
        name: fold_name(name),
        object_id,
        level,
        visible: true,
        type_id: None,
        readonly: false,
        borrowed: false,
    });
}

fn is_there(catalog: &Catalog, temp: &TempName) -> bool {
    catalog.by_id.contains_key(&temp.object_id) || catalog.modules.contains_key(&temp.object_id)
}

/// Takes names off the list whose objects were dropped: without a transaction no rollback brings
/// one back. Now and then, so that it costs each table little.
fn forget_gone(core: &mut SessionCore, tempdb: &Db) {
    if core.trancount() > 0 || core.objects.temps.list.len() < core.objects.temps.most {
        return;
    }
    let catalog = tempdb.catalog();
    let list = &mut core.objects.temps.list;
    list.retain(|t| t.name.starts_with('@') || is_there(&catalog, t));
    core.objects.temps.most = 2 * list.len() + 8;
}

/// DECLARE @t TABLE. Nothing is done when the scope has it already: a DECLARE in a loop makes one.
///
/// # Errors
/// Those of [`create_table`].
pub fn declare(
    core: &mut SessionCore,
    new: NewTable,
    type_id: Option<i32>,
) -> Result<(), SqlError> {
    let db = core.host().variables_db()?;
    if core.objects.temps.find_variable(&new.name, &db).is_some() {
        return Ok(());
    }
    let level = core.run.nest_level;
    make_variable(core, new, level, Variable::Own { type_id }).map(drop)
}

/// Whose table a table variable is, and of what type.
#[derive(Clone, Copy, Debug)]
pub enum Variable {
    Own {
        type_id: Option<i32>,
    },
    /// Of a parameter: the caller's variable, READONLY.
    Borrowed {
        type_id: i32,
    },
}

/// Makes a table for a table variable of the scope at a level.
///
/// # Errors
/// Those of [`create_table`].
pub fn make_variable(
    core: &mut SessionCore,
    mut new: NewTable,
    level: u32,
    kind: Variable,
) -> Result<Arc<TableDef>, SqlError> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let db = core.host().variables_db()?;
    let name = new.name.clone();
    new.schema = CompactString::default();
    new.name = format!("#{:08X}", NUMBER.fetch_add(1, Ordering::Relaxed)).into();
    let table = create_table(core, &db, new)?;
    add_variable(&mut core.objects.temps, &name, table.object_id, level, kind);
    Ok(table)
}

/// Gives a table a name as a table variable of the scope at a level.
pub fn add_variable(
    temps: &mut TempTables,
    name: &str,
    object_id: i32,
    level: u32,
    kind: Variable,
) {
    let (type_id, borrowed) = match kind {
        Variable::Own { type_id } => (type_id, false),
        Variable::Borrowed { type_id } => (Some(type_id), true),
    };
    let name = fold_name(name);
    temps.list.push(TempName {
        name,
        object_id,
        level,
        visible: true,
        type_id,
        readonly: borrowed,
        borrowed,
    });
    temps.changed();
}

/// The table of a parameter is filled: nothing may change it from now on.
pub fn set_readonly(temps: &mut TempTables, object_id: i32) {
    for temp in temps.list.iter_mut().filter(|t| t.object_id == object_id) {
        temp.readonly = true;
    }
}

/// A batch of the client has ended: its table variables go.
pub fn end_batch(core: &mut SessionCore) {
    if core.objects.temps.list.iter().any(|t| t.name.starts_with('@')) {
        drop_where(core, |t| t.name.starts_with('@'));
    }
}

/// A scope at a level below has ended: what it made is dropped.
pub fn end_scope(core: &mut SessionCore) {
    if core
        .objects
        .temps
        .list
        .iter()
        .any(|t| (t.visible || t.borrowed) && t.level > core.run.nest_level)
    {
        let level = core.run.nest_level;
        drop_where(core, |t| t.level > level);
    }
}

/// The session has ended.
pub fn end_session(core: &mut SessionCore) {
    if !core.objects.temps.list.is_empty() {
        drop_where(core, |_| true);
    }
}

/// Drops tables and procedures; one that cannot be dropped now goes with the session, or with
/// tempdb.
fn drop_where(core: &mut SessionCore, which: impl Fn(&TempName) -> bool) {
    let (Ok(tempdb), Ok(variables)) = (tempdb(core), core.host().variables_db()) else { return };
    let db_of =
        |t: &TempName| if t.name.starts_with('@') { variables.clone() } else { tempdb.clone() };
    // Another's table stays.
    core.objects.temps.list.retain(|t| !(t.borrowed && which(t)));
    let gone: Vec<(Arc<Db>, i32)> = core
        .objects
        .temps
        .list
        .iter()
        .filter(|t| which(t))
        .map(|t| (db_of(t), t.object_id))
        .collect();
    for temp in core.objects.temps.list.iter_mut().filter(|t| which(t)) {
        temp.visible = false;
    }
    core.objects.temps.changed();
    if core.xact_state() == -1 {
        return;
    }
    let keep = (core.run.results.rowcount, core.run.results.error_number);
    let mut dropped = HashSet::new();
    let (own, others): (Vec<_>, Vec<_>) = gone.into_iter().partition(|(db, _)| db.is_autonomous());
    // Many together: a batch may have made thousands.
    for part in own.chunks(TOGETHER).chain(others.chunks(1)) {
        if drop_together(core, part).is_ok() {
            dropped.extend(part.iter().filter(|table| is_final(core, table)).map(|(_, id)| *id));
        } else if part.len() > 1 {
            // One that cannot be dropped must not keep the others.
            for table in part {
                if drop_together(core, std::slice::from_ref(table)).is_ok() && is_final(core, table)
                {
                    dropped.insert(table.1);
                }
            }
        }
    }
    core.objects.temps.list.retain(|t| !dropped.contains(&t.object_id));
    (core.run.results.rowcount, core.run.results.error_number) = keep;
}

/// Whether no rollback can bring a table back that is dropped now.
fn is_final(core: &SessionCore, (db, _): &(Arc<Db>, i32)) -> bool {
    core.trancount() == 0 || db.is_autonomous()
}

/// Drops tables and procedures, those that are still there, as one statement.
fn drop_together(core: &mut SessionCore, tables: &[(Arc<Db>, i32)]) -> Result<(), SqlError> {
    core.begin_statement(false)?;
    let result = tables.iter().try_for_each(|(db, id)| {
        let catalog = db.catalog();
        match (catalog.by_id.get(id), catalog.modules.get(id)) {
            (Some(table), _) => drop_table(core, db, table),
            (None, Some(procedure)) => drop_module(&mut Work::begin(core, db)?, procedure),
            (None, None) => Ok(()),
        }
    });
    core.end_statement(result)
}
