//! Tables as arguments: variables of a table type and rows that a client sends, under the names of
//! the parameters of the scope that is called. Guarantees: a table that was made for a call is
//! dropped when the call ends; a parameter is READONLY; values, defaults, keys and CHECK
//! constraints are those of an INSERT.

use std::sync::Arc;

use types::{SqlError, Value, msg};

use super::run::Run;
use super::trigger::{MAX_NESTING, too_deep};
use crate::typed_rows::TypedRows;
use bind::env::VarScope;
use catalog::TableDef;
use catalog::names::quote;
use catalog::security::Permission;
use ddl::system_functions::SystemFunctions;
use ddl::table_def;
use ddl::temps::{self, Variable};
use dml::bulk::load_rows_of;
use logical::rights::Rights;
use programs::arguments::{RpcTable, TableArg};
use programs::table_param::{TableParam, clash};
use syntax::ast::Stmt;

impl Run<'_> {
    /// Puts the tables of a call in sight of the scope that it begins.
    ///
    /// # Errors
    /// 206 a table of another type, 500 the wrong number of columns, 217 too deep; those of INSERT.
    /// Nothing is left behind then.
    pub(super) fn pass_tables(&mut self, params: &[TableParam]) -> Result<(), SqlError> {
        if params.is_empty() {
            return Ok(());
        }
        if self.core.run.nest_level >= MAX_NESTING {
            return Err(too_deep());
        }
        let passed = params.iter().try_for_each(|param| self.pass_table(param));
        if passed.is_err() {
            temps::end_scope(self.core);
        }
        passed
    }

    fn pass_table(&mut self, param: &TableParam) -> Result<(), SqlError> {
        let level = self.core.run.nest_level + 1;
        match &param.arg {
            Some(TableArg::Variable { object_id, type_id }) => {
                if *type_id != Some(param.def.type_id) {
                    return Err(clash("table", &param.def));
                }
                let kind = Variable::Borrowed { type_id: param.def.type_id };
                temps::add_variable(
                    &mut self.core.objects.temps,
                    &param.name,
                    *object_id,
                    level,
                    kind,
                );
                Ok(())
            }
            Some(TableArg::Rows(rows)) => {
                if !self.core.may_all() {
                    let mut rights = Rights::new(self.core.identity.chain);
                    let ty = (param.def.schema.as_str(), param.def.type_id);
                    rights.need_type(&self.core.db().clone(), ty, Permission::Execute);
                    self.core.check_rights(&rights.take())?;
                }
                self.check_type(param, rows)?;
                let table = self.make_table(param, level)?;
                let filled = self.fill(param, &table, rows, level);
                temps::set_readonly(&mut self.core.objects.temps, table.object_id);
                filled
            }
            None => {
                let table = self.make_table(param, level)?;
                temps::set_readonly(&mut self.core.objects.temps, table.object_id);
                Ok(())
            }
        }
    }

    /// A client that names a type means the parameter's.
    fn check_type(&self, param: &TableParam, rows: &RpcTable) -> Result<(), SqlError> {
        if rows.type_name.is_empty() {
            return Ok(());
        }
        let catalog = self.core.db().catalog();
        match catalog.find_table_type(&rows.schema, &rows.type_name) {
            Some(def) if def.type_id == param.def.type_id => Ok(()),
            Some(def) => Err(clash(&def.name, &param.def)),
            None => {
                let shown = if rows.schema.is_empty() {
                    rows.type_name.to_string()
                } else {
                    format!("{}.{}", rows.schema, rows.type_name)
                };
                Err(SqlError::of(msg::TYPE_OF_COLUMN_NOT_FOUND, [&param.name, &shown]))
            }
        }
    }

    fn make_table(&mut self, param: &TableParam, level: u32) -> Result<Arc<TableDef>, SqlError> {
        let db = self.core.db().clone();
        let new =
            table_def::from_type(SystemFunctions::of(self.core), &param.def, &param.name, &db)?;
        self.core.begin_statement(false)?;
        let made = temps::make_variable(
            self.core,
            new,
            level,
            Variable::Own { type_id: Some(param.def.type_id) },
        );
        self.core.end_statement(made)
    }

    /// Inserts a client's rows.
    fn fill(
        &mut self,
        param: &TableParam,
        table: &Arc<TableDef>,
        given: &Arc<RpcTable>,
        level: u32,
    ) -> Result<(), SqlError> {
        // A NULL table: no columns and no rows.
        if given.columns.is_empty() {
            return Ok(());
        }
        let (sent, wanted) = (given.columns.len(), table.columns.len());
        if sent != wanted {
            return Err(SqlError::of(msg::TABLE_PARAMETER_COLUMN_COUNT, [&sent, &wanted]));
        }
        let places = given.columns.iter().enumerate().filter(|(_, column)| !column.default);
        let places: Vec<(usize, usize)> =
            places.map(|(at, column)| (at, column.position)).collect();
        if let Some((_, at)) = places.iter().find(|(_, at)| table.columns[*at].identity.is_some()) {
            return Err(SqlError::of(
                msg::IDENTITY_INTO_TABLE_VARIABLE,
                [&table.columns[*at].name],
            ));
        }
        let columns: Vec<usize> = places.iter().map(|(_, position)| *position).collect();
        let (stmt, vars) = insert_of(&param.name, table, &columns)?;
        let mut rows = given.values.chunks_exact(sent);
        let mut next = |row: &mut [Value]| match rows.next() {
            None => Ok(false),
            Some(values) => {
                for (place, (at, _)) in row.iter_mut().zip(&places) {
                    *place = values[*at].clone();
                }
                Ok(true)
            }
        };
        let mut typed = TypedRows {
            rows: &mut next,
            table,
            columns: &columns,
            dialect: self.core.options.dialect,
            exact: false,
        };
        let outer = std::mem::replace(&mut self.core.objects.temps.level, level);
        let result = self.core.begin_statement(true).and_then(|()| {
            let result = load_rows_of(self.core, &stmt, &vars, &mut typed);
            self.core.end_statement(result)
        });
        self.core.objects.temps.level = outer;
        result.map(drop)
    }
}

/// `INSERT INTO @t (columns) VALUES (@1, ...)`, and its variables.
fn insert_of(
    name: &str,
    table: &TableDef,
    columns: &[usize],
) -> Result<(Stmt, VarScope), SqlError> {
    let mut vars = VarScope::new();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (i, at) in columns.iter().enumerate() {
        let (column, variable) = (&table.columns[*at], format!("@{}", i + 1));
        vars.declare(&variable, column.ty)?;
        names.push(quote(&column.name));
        values.push(variable);
    }
    let text = if columns.is_empty() {
        format!("INSERT INTO {name} DEFAULT VALUES")
    } else {
        format!("INSERT INTO {name} ({}) VALUES ({})", names.join(", "), values.join(", "))
    };
    let stmts = syntax::parse(&text).map_err(catalog::errors::syntax_error)?;
    let stmt = stmts
        .into_iter()
        .next()
        .ok_or_else(|| SqlError::internal("a table parameter made no INSERT"))?;
    Ok((stmt, vars))
}
