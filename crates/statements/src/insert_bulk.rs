//! INSERT BULK: what a client sends before the rows of a bulk load. The statement checks the table,
//! its columns and the hints; `Session::load_bulk` of the engine then takes the rows.

use catalog::{TableDef, errors, fold_name};
use syntax::ast::{Expr, ExprKind, InsertBulk, OptionItem, OptionValue};
use types::{SqlError, msg};

use super::{StmtCtx, resolve_table};
use ddl::option_rules;
use session::state::bulk::{BulkLoad, BulkOptions};

impl StmtCtx<'_> {
    /// Errors: 208 no such table, 207 no such column, 264 one twice, types that there are not, 155
    /// an unknown hint. The order of the rows is checked as they come.
    pub(super) fn insert_bulk(&mut self, stmt: &InsertBulk) -> Result<(), SqlError> {
        option_rules::check("INSERT BULK", &stmt.options, option_rules::INSERT_BULK)?;
        let (db, table) = resolve_table(self.core, &stmt.table)?;
        let mut columns = Vec::with_capacity(table.columns.len());
        // Places of those that come as values of another type.
        let mut converted = Vec::new();
        for column in &stmt.columns {
            let at = find(&table, &column.name.value)?;
            if columns.contains(&at) {
                return Err(errors::syntax_near(&column.name.value));
            }
            if let Some(ty) = &column.data_type
                && ddl::table_def::data_type(ty, &db.catalog())? != table.columns[at].ty
            {
                converted.push(columns.len());
            }
            columns.push(at);
        }
        if stmt.columns.is_empty() {
            let given =
                |at: &usize| table.columns[*at].identity.is_none() && !table.columns[*at].is_made();
            columns = (0..table.columns.len()).filter(given).collect();
        }
        let on = |name: &str| {
            stmt.options.iter().any(|item| item.name == name && item.value != OptionValue::Off)
        };
        let mut order = row_order(&stmt.options, &table, &columns)?;
        // The order of other values is not that of the key.
        if order.iter().any(|(place, _)| converted.contains(place)) {
            order.clear();
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
        self.core.run.pending_bulk =
            Some(Box::new(BulkLoad { db, table, columns, options, order }));
        Ok(())
    }
}

/// The position of a column. Error: 207.
fn find(table: &TableDef, name: &str) -> Result<usize, SqlError> {
    let folded = fold_name(name);
    let found = table.columns.iter().position(|c| fold_name(&c.name) == folded);
    found.ok_or_else(|| SqlError::of(msg::INVALID_COLUMN, [&name]))
}

/// The order of ORDER (...) by positions in `columns`, where the rows have all of its columns and
/// it is that of the clustered index; any other order is of no meaning. Error: 207.
pub(super) fn row_order(
    options: &[OptionItem],
    table: &TableDef,
    columns: &[usize],
) -> Result<Vec<(usize, bool)>, SqlError> {
    let mut said = Vec::new();
    for item in
        options.iter().filter(|option| option.name == "ORDER").flat_map(|option| &option.nested)
    {
        let at = match &item.value {
            OptionValue::Expr(Expr { kind: ExprKind::Column(column), .. }) => {
                find(table, &column.name.value)?
            }
            _ => return Err(errors::syntax_near("ORDER")),
        };
        said.push((at, item.unit.as_deref() == Some("DESC")));
    }
    let is_clustered = table.storage.key.iter().zip(&said).all(|(key, said)| key == said);
    let places = said.iter().map(|(at, descending)| {
        columns.iter().position(|column| column == at).map(|place| (place, *descending))
    });
    let places: Option<Vec<_>> = places.take(table.storage.key.len()).collect();
    Ok(places.filter(|_| is_clustered).unwrap_or_default())
}
