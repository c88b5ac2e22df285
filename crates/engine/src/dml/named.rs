//! What the name of a target means: the table that INSERT, UPDATE, DELETE, MERGE or OUTPUT INTO changes.
//! Guarantee: nothing that cannot be changed comes out (259 a system view, 10700 a READONLY parameter).

use std::sync::Arc;

use catalog::{Db, TableDef};
use plan::bind::from::Named;
use plan::bind::{Binder, unsupported};
use syntax::ast;
use types::SqlError;

/// The target of a statement.
pub fn target_table(binder: &Binder<'_>, target: &ast::Target) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    match target {
        ast::Target::Name(name) => match binder.resolve(name)? {
            Named::Table(db, table) => Ok((db, table)),
            Named::Module(_, module) => Err(plan::bind::module::view_as_target(&module)),
            Named::View(..) => {
                Err(SqlError::new(259, 16, 1, "Ad hoc updates to system catalogs are not allowed."))
            }
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
            let text = format!("The table-valued parameter \"{name}\" is READONLY and cannot be modified.");
            Err(SqlError::new(10700, 16, 1, text))
        }
    }
}
