//! What the name of a target means: the table that INSERT, UPDATE, DELETE, MERGE or OUTPUT INTO
//! changes. Guarantee: nothing that cannot be changed comes out (259 a system view, 10700 a
//! READONLY parameter).

use std::sync::Arc;

use super::new_row::target_columns;
use super::through::Through;
use bind::resolve::Named;
use bind::scope::Scope;
use bind::updatable::find_table;
use bind::{Binder, unsupported};
use catalog::{Db, TableDef, VARIABLES, errors, fold_name};
use logical::tree::Get;
use session::state::changes::Action;
use syntax::ast;
use types::{SqlError, msg};

/// The target of a statement.
pub fn target_table(
    binder: &Binder<'_>,
    target: &ast::Target,
) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    match target {
        ast::Target::Name(name) => match binder.resolve(name)? {
            Named::Table(db, table) => Ok((db, table)),
            Named::Module(..) => Err(errors::invalid_object(&name.to_string())),
            Named::View(..) => Err(SqlError::of(msg::SYSTEM_CATALOG_UPDATE, [])),
        },
        ast::Target::Variable(name) => {
            let (db, table) = binder.table_variable(name)?;
            check_changeable(binder, table.object_id)?;
            Ok((db, table))
        }
        ast::Target::Function { .. } => Err(unsupported("A function as target")),
    }
}

/// Error 10700 for the table of a parameter.
pub fn check_changeable(binder: &Binder<'_>, variable: i32) -> Result<(), SqlError> {
    match binder.env.temps.readonly(variable) {
        None => Ok(()),
        Some(parameter) => {
            let name = &parameter.name;
            Err(SqlError::of(msg::TABLE_PARAMETER_MODIFIED, [&name]))
        }
    }
}

/// Whether a target is a view or a common table expression.
///
/// # Errors
/// 208.
pub fn is_query(binder: &Binder<'_>, target: &ast::Target) -> Result<bool, SqlError> {
    let ast::Target::Name(name) = target else { return Ok(false) };
    if name.is_bare() && binder.is_cte(&name.name.value) {
        return Ok(true);
    }
    Ok(matches!(binder.resolve(name)?, Named::Module(_, module) if module.view().is_some()))
}

/// The position of a column. Error: 207.
pub fn table_position(table: &TableDef, name: &str) -> Result<usize, SqlError> {
    let folded = fold_name(name);
    let found = table.columns.iter().position(|c| fold_name(&c.name) == folded);
    found.ok_or_else(|| SqlError::of(msg::INVALID_COLUMN, [&name]))
}

/// What INSERT adds rows to.
pub struct InsertTarget {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub through: Option<(Through, Get)>,
}

/// The target of INSERT with this list of columns. What a view reads is not read.
///
/// # Errors
/// 208, 259, 10700; those of a change through a query.
pub fn insert_target(
    binder: &mut Binder<'_>,
    target: &ast::Target,
    names: &[ast::Ident],
) -> Result<InsertTarget, SqlError> {
    let name = match target {
        ast::Target::Name(name) if is_query(binder, target)? => name,
        _ => {
            let (db, table) = target_table(binder, target)?;
            return Ok(InsertTarget { db, table, through: None });
        }
    };
    let (tables, subqueries, rights) =
        (binder.tables.len(), binder.subqueries.len(), binder.rights.clone());
    binder.scopes.push(Scope::default());
    let bound = binder.target_query(name);
    let source = binder.scopes.pop().and_then(|mut scope| scope.sources.pop());
    let mut logical = bound?;
    binder.tables.truncate(tables);
    binder.subqueries.truncate(subqueries);
    binder.rights = rights;
    let source = source.ok_or_else(|| SqlError::internal("a view that is no source"))?;
    let through = Through::of(binder, name.to_string(), source)?;
    through.check_triggers(binder, Action::Insert)?;
    let first = match names {
        [] => through.table_of(through.names(), &mut logical),
        names => through.table_of(names.iter().map(|name| name.value.as_str()), &mut logical),
    };
    let first = first.inspect_err(|_| binder.union_target = through.union_view())?;
    let get = find_table(&mut logical, first).cloned();
    let get = get.ok_or_else(|| SqlError::internal("a view has lost its table"))?;
    if get.db.id() == VARIABLES {
        check_changeable(binder, get.table.object_id)?;
    }
    Ok(InsertTarget { db: get.db.clone(), table: get.table.clone(), through: Some((through, get)) })
}

impl InsertTarget {
    /// The positions of the columns that get values, in the statement's order.
    ///
    /// # Errors
    /// 207, 264, 4405, 4406, 8101.
    pub fn columns(&self, names: &[ast::Ident], explicit: bool) -> Result<Vec<usize>, SqlError> {
        let through = self.through.as_ref().map(|(through, get)| (through, get));
        inserted_columns(&self.table, through, names, explicit)
    }
}

/// The positions of the columns that get values, in the statement's order; all of what the rows go
/// through when none are named.
///
/// # Errors
/// 207, 264, 4405, 4406, 8101.
pub fn inserted_columns(
    table: &TableDef,
    through: Option<(&Through, &Get)>,
    names: &[ast::Ident],
    explicit: bool,
) -> Result<Vec<usize>, SqlError> {
    let Some((through, get)) = through else {
        return target_columns(table, names, explicit, &|name| table_position(table, name));
    };
    let position = |name: &str| through.position(get, name);
    if !names.is_empty() || explicit {
        return target_columns(table, names, explicit, &position);
    }
    let all: Vec<usize> = through.names().map(position).collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|at| table.columns[*at].identity.is_none()).collect())
}
