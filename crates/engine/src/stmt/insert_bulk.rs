//! INSERT BULK: what a client sends before the rows of a bulk load. The statement checks the table, its columns and the hints;
//! [`crate::Session::load_bulk`] then takes the rows.

use catalog::{errors, fold_name};
use syntax::ast::{Expr, ExprKind, InsertBulk, OptionValue};
use types::SqlError;

use super::{StmtCtx, option_rules, resolve_table};
use exec::dml::bulk::{BulkLoad, BulkOptions};

impl StmtCtx<'_> {
    /// Errors: 208 no such table, 207 no such column, 264 one twice, types that there are not, 155 an unknown hint.
    pub(super) fn insert_bulk(&mut self, stmt: &InsertBulk) -> Result<(), SqlError> {
        option_rules::check("INSERT BULK", &stmt.options, option_rules::INSERT_BULK)?;
        let (db, table) = resolve_table(self.core, &stmt.table)?;
        let find = |name: &str| {
            let folded = fold_name(name);
            table.columns.iter().position(|c| fold_name(&c.name) == folded).ok_or_else(|| no_column(name))
        };
        let mut columns = Vec::with_capacity(table.columns.len());
        for column in &stmt.columns {
            let at = find(&column.name.value)?;
            if columns.contains(&at) {
                return Err(errors::syntax_near(&column.name.value));
            }
            if let Some(ty) = &column.data_type {
                super::table_def::data_type(ty, &db.catalog())?;
            }
            columns.push(at);
        }
        if stmt.columns.is_empty() {
            let given = |at: &usize| table.columns[*at].identity.is_none() && !table.columns[*at].is_made();
            columns = (0..table.columns.len()).filter(given).collect();
        }
        let on =
            |name: &str| stmt.options.iter().any(|item| item.name == name && item.value != OptionValue::Off);
        // In which order the rows come is of no use to the loader; that the columns are there is checked.
        for option in stmt.options.iter().filter(|option| option.name == "ORDER") {
            for item in &option.nested {
                match &item.value {
                    OptionValue::Expr(Expr { kind: ExprKind::Column(column), .. }) => {
                        find(&column.name.value)?
                    }
                    _ => return Err(errors::syntax_near("ORDER")),
                };
            }
        }
        let options = BulkOptions {
            batch: 0,
            // The identity column is in the list when its values come.
            keep_identity: columns.iter().any(|at| table.columns[*at].identity.is_some()),
            keep_nulls: on("KEEP_NULLS"),
            table_lock: on("TABLOCK"),
            ignore_constraints: !on("CHECK_CONSTRAINTS"),
            ignore_triggers: !on("FIRE_TRIGGERS"),
        };
        self.core.pending_bulk = Some(Box::new(BulkLoad { db, table, columns, options }));
        Ok(())
    }
}

fn no_column(name: &str) -> SqlError {
    SqlError::new(207, 16, 1, format!("Invalid column name '{name}'."))
}
