//! Sources whose columns are given by a query or by rows: derived tables, VALUES, and the lists of
//! names behind them. Guarantees: each column has a name of its own (8155, 8156), and a list of
//! names is as long as what it names (8158, 8159).

use super::Binder;
use super::source::{ScopeColumn, Source};
use catalog::fold_name;
use expr::{Expr, Typed, bind_ops};
use logical::tree::{Logical, OutColumn};
use std::collections::HashSet;
use syntax::ast;
use types::{SqlError, msg};

impl Binder<'_> {
    /// A source that is a query: its columns need names.
    pub(super) fn add_derived(
        &mut self,
        alias: &str,
        names: &[ast::Ident],
        columns: &[OutColumn],
    ) -> Result<(), SqlError> {
        if !names.is_empty() && names.len() != columns.len() {
            return Err(column_list_error(alias, names.len(), columns.len()));
        }
        let mut offered: Vec<ScopeColumn> = Vec::with_capacity(columns.len());
        let mut known = HashSet::with_capacity(columns.len());
        for (i, column) in columns.iter().enumerate() {
            let mut c = ScopeColumn::of_query(column);
            if let Some(name) = names.get(i) {
                c = ScopeColumn::new(&name.value, c.id, c.ty, c.nullable, c.collation);
            }
            if c.name.is_empty() {
                return Err(SqlError::of(msg::COLUMN_WITHOUT_NAME, [&(i + 1), &alias]));
            }
            if !known.insert(c.folded.clone()) {
                return Err(SqlError::of(msg::COLUMN_NAMED_TWICE, [&c.name, &alias]));
            }
            offered.push(c);
        }
        let source = Source {
            name: fold_name(alias),
            aliased: true,
            schema: None,
            database: None,
            columns: offered,
            object_id: 0,
            db_id: 0,
        };
        self.scope()?.sources.push(source);
        Ok(())
    }

    /// Gives the columns of the source that was added last the names of `AS alias (a, b)`.
    pub(super) fn rename_columns(&mut self, names: &[ast::Ident]) -> Result<(), SqlError> {
        if names.is_empty() {
            return Ok(());
        }
        let Some(source) = self.scope()?.sources.last_mut() else { return Ok(()) };
        if names.len() != source.columns.len() {
            return Err(column_list_error(&source.name, names.len(), source.columns.len()));
        }
        for (column, name) in source.columns.iter_mut().zip(names) {
            *column = ScopeColumn::new(
                &name.value,
                column.id,
                column.ty,
                column.nullable,
                column.collation,
            );
        }
        Ok(())
    }

    /// A VALUES constructor: columns take the type that their rows meet in.
    pub fn values(
        &mut self,
        rows: &[Vec<ast::Expr>],
    ) -> Result<(Logical, Vec<OutColumn>), SqlError> {
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<Typed>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                return Err(SqlError::of(msg::ROW_VALUE_COUNTS_DIFFER, []));
            }
            bound.push(row.iter().map(|e| self.expr(e)).collect::<Result<_, _>>()?);
        }
        let first = self.new_cols(width);
        let mut out = Vec::with_capacity(width);
        let mut exprs: Vec<Vec<Expr>> = vec![Vec::with_capacity(width); rows.len()];
        for i in 0..width {
            let column: Vec<&Typed> = bound.iter().map(|row| &row[i]).collect();
            let (ty, label, collation) = bind_ops::unified_in_one(&column, "VALUES")?;
            let nullable = column.iter().any(|t| t.nullable);
            for (row, list) in bound.iter().zip(&mut exprs) {
                list.push(bind_ops::implicit_in(row[i].clone(), ty, collation)?);
            }
            let id = first + i as u32;
            out.push(OutColumn { label, ..OutColumn::new("", id, ty, nullable, collation) });
        }
        let cols = out.iter().map(|c| c.id).collect();
        Ok((Logical::Values { rows: exprs, cols }, out))
    }
}

/// 8158, 8159: a list of column names that is not as long as what it names.
fn column_list_error(alias: &str, names: usize, columns: usize) -> SqlError {
    let message =
        if names < columns { msg::MORE_COLUMNS_THAN_NAMES } else { msg::FEWER_COLUMNS_THAN_NAMES };
    SqlError::of(message, [&alias])
}
