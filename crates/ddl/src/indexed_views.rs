//! Indexed views: the first index of a view makes a table that keeps its rows, which changes of the
//! view's tables keep up (`dml::change::view_rows`); it goes with that index, and with the
//! view. Guarantees: while the rows are made nobody changes the tables; statements that were
//! compiled before are compiled again.

use std::sync::Arc;

use super::rebuild::{duplicate_key, run_dml};
use super::tables::{self, create_table};
use super::view_bases::bases;
use super::work::Work;
use bind::view_rows::rows_name;
use catalog::names::quote;
use catalog::{Db, ModuleDef, NewColumn, NewIndex, NewTable, TableDef};
use session::state::SessionCore;
use types::{SqlError, msg};

/// Makes the rows of a view with their clustered index.
///
/// # Errors
/// 1505 two rows have the key; 2601-like errors of the rows; those of keeping them up.
pub fn create(
    core: &mut SessionCore,
    db: &Arc<Db>,
    view: &Arc<ModuleDef>,
    columns: Vec<NewColumn>,
    index: NewIndex,
) -> Result<(), SqlError> {
    let bases = bases(&db.catalog(), view);
    let mut work = Work::begin(core, db)?;
    bases.iter().try_for_each(|base| work.lock_current(base))?;
    bases.iter().try_for_each(|base| check_no_policy(&work, view, base))?;
    drop(work);
    let new = NewTable {
        schema: view.schema.clone(),
        name: view.name.clone(),
        columns,
        indexes: vec![index],
        of_view: Some(view.object_id),
        ..NewTable::default()
    };
    let rows = create_table(core, db, new)?;
    let mut work = Work::begin(core, db)?;
    let names: Vec<String> = rows.columns.iter().map(|c| quote(&c.name)).collect();
    let names = names.join(", ");
    let (schema, name) = (quote(&view.schema), quote(&view.name));
    let fill =
        format!("INSERT INTO {} ({names}) SELECT {names} FROM {schema}.{name}", rows_name(&rows));
    run_dml(&mut work, &fill).map_err(|e| duplicate_key(e, &rows))?;
    renew(&mut work, &bases)?;
    // What a change of each table will do is compiled now, so that it can be then.
    for base in bases {
        let name = format!("{}.{}", quote(&base.schema), quote(&base.name));
        run_dml(&mut work, &format!("DELETE TOP (0) FROM {name}"))?;
    }
    Ok(())
}

/// 33266: who reads the view's rows would pass over the policy.
fn check_no_policy(work: &Work<'_>, view: &ModuleDef, base: &TableDef) -> Result<(), SqlError> {
    if !work.db.catalog().is_in_policy(base.object_id) {
        return Ok(());
    }
    Err(SqlError::of(msg::INDEXED_VIEW_POLICY, [&view.full_name(), &base.full_name()]))
}

/// Statements on these tables are compiled again.
fn renew(work: &mut Work<'_>, bases: &[Arc<TableDef>]) -> Result<(), SqlError> {
    bases.iter().try_for_each(|base| {
        work.publish(Some(base.clone()), Some(Arc::new(TableDef::clone(base))))
    })
}

/// Drops the rows of a view, if it keeps any.
///
/// # Errors
/// 1205, 1222; what the storage says.
pub fn drop_rows(work: &mut Work<'_>, view: &ModuleDef) -> Result<(), SqlError> {
    let catalog = work.db.catalog();
    let Some(rows) = catalog.rows_of_view(view.object_id).cloned() else { return Ok(()) };
    let bases = bases(&catalog, view);
    bases.iter().try_for_each(|base| work.lock_current(base))?;
    tables::drop_hidden(work, &rows)?;
    renew(work, &bases)
}

/// The rows of a view go by its new name.
///
/// # Errors
/// As [`drop_rows`].
pub fn rename(work: &mut Work<'_>, view: &ModuleDef, name: &str) -> Result<(), SqlError> {
    let Some(rows) = work.db.catalog().rows_of_view(view.object_id).cloned() else { return Ok(()) };
    work.lock_current(&rows)?;
    let next = TableDef { name: name.into(), ..TableDef::clone(&rows) };
    work.replace(&rows, next).map(drop)
}
