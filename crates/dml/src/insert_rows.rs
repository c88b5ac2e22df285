//! Where the rows of an INSERT come from: VALUES or a query, bound into one value per column of the
//! table.
//! Guarantee: a value that is there has the column's type, or its conversion names table and column
//! when it fails.

use super::new_row::{row_of, wrong_count};
use super::values::{default_of, into_column, masked_column};
use bind::Binder;
use bind::deduce::ValueUse;
use bind::scope::{Clause, Scope};
use catalog::{Db, TableDef};
use expr::{CaseExpr, Expr, Pred};
use logical::tree::{BoundQuery, OutColumn};
use plan::nodes::{Node, Path, Plan, ScanPlan};
use plan::physical;
use plan::statement::Statement;
use syntax::ast::{self, ExprKind, InsertSource};
use types::{SqlError, Value, msg};

/// The rows of an INSERT.
#[derive(Debug)]
pub(super) enum RowsToInsert {
    /// Rows of expressions, one per column of the table (the identity's is ignored).
    Values(Vec<Vec<Expr>>),
    /// A query; the expressions are over its rows.
    Query { plan: Plan, exprs: Vec<Expr>, copy: CopyKind },
}

/// How much work a row of the query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyKind {
    /// Each column is computed.
    Computed,
    /// The rows are the table's rows as they are.
    Values,
    /// The bytes of the stored rows are.
    Bytes,
}

/// Rows of VALUES: one expression per column of the table.
///
/// # Errors
/// 109, 110, 213, 10709; those of the expressions and their conversions.
pub(super) fn values_source(
    binder: &mut Binder<'_>,
    (db, table): (&Db, &TableDef),
    columns: &[usize],
    rows: &[Vec<ast::Expr>],
    listed: bool,
) -> Result<RowsToInsert, SqlError> {
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != columns.len() {
            if rows.iter().any(|r| r.len() != rows[0].len()) {
                return Err(SqlError::of(msg::ROW_VALUE_COUNTS_DIFFER, []));
            }
            return Err(wrong_count(row.len(), columns.len(), listed, false));
        }
        binder.begin_row();
        let mut given = Vec::with_capacity(row.len());
        for (e, column) in row.iter().zip(columns) {
            let value = match e.kind {
                ExprKind::Default => default_of(binder, table, *column)?,
                _ => {
                    binder.scopes.push(Scope { clause: Clause::None, ..Scope::default() });
                    let wanted = ValueUse::Becomes(table.columns[*column].ty);
                    let typed = binder.deduce(e, wanted).and_then(|()| binder.expr(e));
                    binder.scopes.pop();
                    let value = into_column(typed?, (db, table), *column)?;
                    masked_column(binder, value, table, *column)
                }
            };
            given.push(value);
        }
        out.push(row_of(binder, table, columns, given)?);
    }
    Ok(RowsToInsert::Values(out))
}

/// The rows of a query: one expression per column of the table over them.
///
/// # Errors
/// 120, 121, 213; those of the query and of the conversions.
pub(super) fn query_source(
    binder: &mut Statement<'_>,
    (db, table): (&Db, &TableDef),
    columns: &[usize],
    query: &ast::Query,
    listed: bool,
    keeps_defaults: bool,
) -> Result<RowsToInsert, SqlError> {
    if binder.undeclared().is_some() {
        let types: Vec<_> = columns.iter().map(|at| table.columns[*at].ty).collect();
        binder.deduce_inserted(query, &types);
    }
    let bound = bound_query(binder, columns.len(), query, listed)?;
    let exprs = query_values(binder, (db, table), columns, &bound.columns, keeps_defaults)?;
    let wanted: Vec<_> = bound.columns.iter().map(|c| c.id).collect();
    let plan = physical::plan_query(binder, bound.logical, &wanted, None)?;
    let copy = copy_kind(table, &plan, &exprs);
    Ok(RowsToInsert::Query { plan, exprs, copy })
}

/// The query of an INSERT, which gives so many columns.
///
/// # Errors
/// 120, 121, 213; those of the query.
pub(super) fn bound_query(
    binder: &mut Binder<'_>,
    columns: usize,
    query: &ast::Query,
    listed: bool,
) -> Result<BoundQuery, SqlError> {
    bind::document::check_absent(query, "INSERT")?;
    let mut bound = binder.query(query)?;
    binder.mask_result(&mut bound);
    if bound.columns.len() != columns {
        return Err(wrong_count(bound.columns.len(), columns, listed, true));
    }
    Ok(bound)
}

/// One expression per column of the table, over the rows of a query with these columns.
///
/// # Errors
/// Those of the conversions and of defaults.
pub(super) fn query_values(
    binder: &mut Binder<'_>,
    (db, table): (&Db, &TableDef),
    columns: &[usize],
    query: &[OutColumn],
    keeps_defaults: bool,
) -> Result<Vec<Expr>, SqlError> {
    let mut given = Vec::with_capacity(columns.len());
    for (slot, (out, column)) in query.iter().zip(columns).enumerate() {
        let mut typed = out.typed();
        typed.expr = Expr::Col(slot as u32);
        typed.manner = binder.env.options.manner();
        let value = match out.untyped && table.columns[*column].generated.is_none() {
            true => Expr::Const(Value::Null),
            false => into_column(typed, (db, table), *column)?,
        };
        given.push(match keeps_defaults && table.columns[*column].default.is_some() {
            false => value,
            // KEEPDEFAULTS: what the file has no value for.
            true => {
                let missing = Pred::IsNull(Box::new(value.clone()), false);
                let branches = vec![(missing, default_of(binder, table, *column)?)];
                Expr::Case(Box::new(CaseExpr::new(branches, value)))
            }
        });
    }
    row_of(binder, table, columns, given)
}

/// Whether the rows are those of OPENROWSET(BULK ...), which hints of the target are about.
pub(super) fn loads_file(source: &InsertSource) -> bool {
    let InsertSource::Query(query) = source else { return false };
    let select = query.body.first_select();
    select.from.iter().any(|table| matches!(table.kind, ast::TableRefKind::Bulk { .. }))
}

fn copy_kind(table: &TableDef, plan: &Plan, exprs: &[Expr]) -> CopyKind {
    let straight =
        exprs.iter().enumerate().all(|(i, e)| matches!(e, Expr::Col(slot) if *slot as usize == i));
    if !straight
        || plan.width() != exprs.len()
        || table.columns.iter().any(|c| c.identity.is_some() || c.is_made())
    {
        return CopyKind::Computed;
    }
    let Some(scan) = whole_rows(&plan.node) else { return CopyKind::Values };
    let source = &scan.store.table;
    let in_place = scan.columns.iter().enumerate().all(|(i, c)| usize::from(*c) == i);
    let nulls = source.columns.iter().zip(&table.columns).all(|(s, t)| t.nullable || !s.nullable);
    let same =
        source.columns.len() == table.columns.len() && source.layout.same_bytes_as(&table.layout);
    let plain = scan.store.lob_columns.is_empty() && scan.pred.is_none() && !scan.locator;
    let plain = plain && scan.locks.is_none();
    let base = matches!(scan.path, Path::Base | Path::Clustered(_) | Path::Point(_));
    if in_place && nulls && same && plain && base { CopyKind::Bytes } else { CopyKind::Values }
}

/// The scan that a plan is, when nothing else is in it.
pub(super) fn whole_rows(node: &Node) -> Option<&ScanPlan> {
    match node {
        Node::Scan(scan) => Some(scan),
        _ => None,
    }
}
