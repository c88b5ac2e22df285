//! CHECK constraints are made; constraints of all kinds are tested against the rows that are there,
//! switched, dropped. How foreign keys are made is in `foreign_keys`. Guarantees: statements that
//! were compiled before a change are compiled again.

use std::collections::HashSet;
use std::sync::Arc;

use compact_str::CompactString;
use types::{SqlError, msg};

use super::own_queries::with_env;
use super::work::SchemaChange;
use catalog::given_up::Name;
use catalog::{Catalog, CheckDef, ForeignKeyDef, NewCheck, TableDef, fold_name};
use dml::change::{check_condition, test_check, test_foreign_key};
use exec::operators::context::ExecCtx;

/// The definition of a CHECK constraint for a table of these columns.
///
/// # Errors
/// 2714 the name is taken; those of its condition.
pub fn make_check(
    work: &mut SchemaChange<'_>,
    table: &TableDef,
    new: &NewCheck,
    untrusted: bool,
) -> Result<CheckDef, SqlError> {
    let object_id = work.object_id()?;
    let at = new.column.as_ref().and_then(|name| table.column(name));
    let column = at.map(|at| &table.columns[at]);
    let name = match &new.name {
        Some(name) => name.clone(),
        None => made_up("CK", &table.name, column.map(|c| c.name.as_str()), object_id),
    };
    work.wait_for_name(&Name::object(&table.schema, &name))?;
    work.check_free_name(&table.schema, &name)?;
    let check = CheckDef {
        object_id,
        name,
        text: new.text.as_str().into(),
        condition: new.condition.clone(),
        column: column.map(|c| c.column_id),
        disabled: false,
        untrusted: untrusted || new.not_for_replication,
        not_for_replication: new.not_for_replication,
    };
    let db = work.db.clone();
    with_env(work.core, &db, |env, _| check_condition(env, table, &check))?;
    Ok(check)
}

/// Adds a CHECK constraint; with `test` the rows that are there must satisfy it.
///
/// # Errors
/// As [`make_check`]; 547.
pub fn add_check(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    new: &NewCheck,
    test: bool,
) -> Result<Arc<TableDef>, SqlError> {
    let check = make_check(work, table, new, !test)?;
    let mut next = TableDef::clone(table);
    next.checks.push(check.clone());
    let next = work.replace(table, next)?;
    if test {
        test_one(work, &next, &Constraint::Check(check))?;
    }
    Ok(next)
}

/// A constraint of a table.
pub(super) enum Constraint {
    Check(CheckDef),
    ForeignKey(ForeignKeyDef),
}

/// Tests the rows that are there.
pub(super) fn test_one(
    work: &mut SchemaChange<'_>,
    table: &TableDef,
    constraint: &Constraint,
) -> Result<(), SqlError> {
    let db = work.db.clone();
    with_env(work.core, &db, |env, core| {
        let mut ctx = ExecCtx { session: core, vars: &mut [] };
        match constraint {
            Constraint::Check(check) => test_check(env, &mut ctx, &db, table, check),
            Constraint::ForeignKey(key) => {
                let parent = env.catalog.by_id.get(&key.parent).cloned();
                let parent =
                    parent.ok_or_else(|| SqlError::internal("a foreign key has lost its table"))?;
                test_foreign_key(env, &mut ctx, &db, table, &parent, key)
            }
        }
    })
}

/// CHECK CONSTRAINT and NOCHECK CONSTRAINT: `names` are all when there are none; with `test` the
/// rows that are there must satisfy what is switched on.
///
/// # Errors
/// 4917 no such constraint, 11415-like one that cannot be switched; 547.
pub fn switch(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    names: &[&str],
    enable: bool,
    test: bool,
) -> Result<Arc<TableDef>, SqlError> {
    let wanted =
        |name: &str| names.is_empty() || names.iter().any(|n| fold_name(n) == fold_name(name));
    let mut next = TableDef::clone(table);
    let mut tests = Vec::new();
    for name in names {
        let known =
            table.checks.iter().map(|c| &c.name).chain(table.foreign_keys.iter().map(|k| &k.name));
        if !known.into_iter().any(|known| fold_name(known) == fold_name(name)) {
            return Err(SqlError::of(msg::CONSTRAINT_NOT_FOUND, [&name]));
        }
    }
    for check in next.checks.iter_mut().filter(|check| wanted(&check.name)) {
        check.untrusted |= !enable || (check.disabled && !test);
        check.disabled = !enable;
        if enable && test {
            check.untrusted = check.not_for_replication;
            tests.push(Constraint::Check(check.clone()));
        }
    }
    for key in next.foreign_keys.iter_mut().filter(|key| wanted(&key.name)) {
        key.untrusted |= !enable || (key.disabled && !test);
        key.disabled = !enable;
        if enable && test {
            key.untrusted = key.not_for_replication;
            tests.push(Constraint::ForeignKey(key.clone()));
        }
    }
    let parents: Vec<i32> = next.foreign_keys.iter().map(|key| key.parent).collect();
    let next = work.replace(table, next)?;
    touch(work, parents.into_iter().filter(|id| *id != table.object_id))?;
    tests.iter().try_for_each(|constraint| test_one(work, &next, constraint))?;
    Ok(next)
}

/// Publishes tables again, so that what was compiled for them is compiled again.
fn touch(work: &mut SchemaChange<'_>, tables: impl Iterator<Item = i32>) -> Result<(), SqlError> {
    let ids: HashSet<i32> = tables.collect();
    for id in ids {
        let Some(table) = work.db.catalog().by_id.get(&id).cloned() else { continue };
        work.lock_current(&table)?;
        work.publish(Some(table.clone()), Some(Arc::new(TableDef::clone(&table))))?;
    }
    Ok(())
}

/// Drops the CHECK or FOREIGN KEY constraint of a name; `None` when there is none.
///
/// # Errors
/// What the storage says.
pub fn drop_constraint(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    name: &str,
) -> Result<Option<Arc<TableDef>>, SqlError> {
    let folded = fold_name(name);
    let mut next = TableDef::clone(table);
    next.checks.retain(|check| fold_name(&check.name) != folded);
    next.foreign_keys.retain(|key| fold_name(&key.name) != folded);
    if next.checks.len() == table.checks.len()
        && next.foreign_keys.len() == table.foreign_keys.len()
    {
        return Ok(None);
    }
    work.replace(table, next).map(Some)
}

/// The CHECK or FOREIGN KEY constraint, here or in another table, that a column takes part in.
pub fn constraint_of_column(
    catalog: &Catalog,
    env_table: &TableDef,
    at: usize,
) -> Option<CompactString> {
    let id = env_table.columns[at].column_id;
    let check = check_of_column(env_table, at);
    let own =
        env_table.foreign_keys.iter().find(|key| key.columns.iter().any(|(own, _)| *own == id));
    let other = || {
        let keys = catalog.foreign_keys_to(env_table.object_id).into_iter();
        keys.map(|(_, key)| key).find(|key| key.columns.iter().any(|(_, other)| *other == id))
    };
    check
        .map(|c| c.name.clone())
        .or_else(|| own.map(|k| k.name.clone()))
        .or_else(|| other().map(|k| k.name))
}

/// The CHECK constraint that a column takes part in.
pub fn check_of_column(table: &TableDef, at: usize) -> Option<&CheckDef> {
    let (id, name) = (table.columns[at].column_id, fold_name(&table.columns[at].name));
    table.checks.iter().find(|check| check.column == Some(id) || mentions(&check.text, &name))
}

/// Whether a text has a word of that name, quoted or not.
fn mentions(text: &str, folded: &str) -> bool {
    syntax::lexer::tokenize(text).list.iter().any(|token| {
        let word = token.span.text(text).trim_matches(|c| matches!(c, '[' | ']' | '"'));
        fold_name(word) == *folded
    })
}

pub(super) fn made_up(kind: &str, table: &str, column: Option<&str>, id: i32) -> CompactString {
    let table: String = table.chars().take(9).collect();
    let column: String = column.unwrap_or_default().chars().take(5).collect();
    let middle = if column.is_empty() { table } else { format!("{table}__{column}") };
    format!("{kind}__{middle}__{id:08X}").into()
}
