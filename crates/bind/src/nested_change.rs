//! A change in FROM, `INSERT ... SELECT ... FROM (UPDATE ... OUTPUT ...) AS d`: where it may stand,
//! and its rows as a source.

use crate::Binder;
use crate::contains::contains;
use logical::tree::{Logical, OutColumn, WorkScan, WorkSource};
use syntax::ast::{self, ExprKind, QueryBody, SelectItem, TableRef, TableRefKind};
use types::{SqlError, msg};

/// How many rows are expected of a change.
const ROWS: f64 = 100.0;

/// The rows of a change that runs before the statement that reads them.
pub struct ChangeRows {
    /// Their number among the rows that the statement keeps.
    pub work: usize,
    /// Their columns; the ids are not theirs yet.
    pub columns: Vec<OutColumn>,
}

/// The change that a query takes its rows from, if that is all that its FROM has.
///
/// # Errors
/// 10717, 10722, 5322, 5323, 5329: what the query may not do with them.
pub fn of_query(query: &ast::Query) -> Result<Option<&ast::Stmt>, SqlError> {
    let QueryBody::Select(select) = &query.body else { return Ok(None) };
    let [TableRef { kind: TableRefKind::Change { stmt, .. }, .. }] = select.from.as_slice() else {
        return Ok(None);
    };
    if select.distinct {
        return Err(SqlError::of(msg::DISTINCT_OVER_NESTED_CHANGE, []));
    }
    let clauses = [
        (select.top.is_some() || query.offset.is_some(), "TOP or OFFSET"),
        (select.group_by.is_some(), "GROUP BY"),
        (select.having.is_some(), "HAVING"),
        (!query.order_by.is_empty(), "ORDER BY"),
        (query.for_clause.is_some(), "FOR"),
    ];
    if let Some((_, clause)) = clauses.iter().find(|(there, _)| *there) {
        return Err(SqlError::of(msg::CLAUSE_OVER_NESTED_CHANGE, [clause]));
    }
    for item in &select.items {
        if let SelectItem::Expr { expr, .. } = item {
            check_expr(expr, "SELECT")?;
        }
    }
    select.filter.iter().try_for_each(|filter| check_expr(filter, "WHERE"))?;
    Ok(Some(stmt))
}

fn check_expr(e: &ast::Expr, clause: &str) -> Result<(), SqlError> {
    let subquery = |e: &ast::Expr| {
        matches!(
            e.kind,
            ExprKind::Subquery(_)
                | ExprKind::Exists(_)
                | ExprKind::InQuery { .. }
                | ExprKind::Quantified { .. }
        )
    };
    if contains(e, &subquery) {
        return Err(SqlError::of(msg::SUBQUERY_OVER_NESTED_CHANGE, [&clause]));
    }
    if contains(e, &|e| matches!(&e.kind, ExprKind::Function(call) if call.over.is_some())) {
        return Err(SqlError::of(msg::WINDOW_OVER_NESTED_CHANGE, [&clause]));
    }
    if super::contains::has_aggregate(e) {
        return Err(SqlError::of(msg::AGGREGATE_OVER_NESTED_CHANGE, [&clause]));
    }
    Ok(())
}

/// Where a change that gives rows stands and may not.
#[derive(Clone, Copy)]
pub enum ChangePosition {
    Join,
    Pivot,
    Select,
    Change,
    Set,
    Using,
}

/// What a change raises that stands there: 10727 to 10733.
pub fn misplaced(place: ChangePosition) -> SqlError {
    let message = match place {
        ChangePosition::Join => msg::NESTED_CHANGE_IN_JOIN,
        ChangePosition::Pivot => msg::NESTED_CHANGE_IN_PIVOT,
        ChangePosition::Select => msg::NESTED_CHANGE_IN_SELECT,
        ChangePosition::Change => msg::NESTED_CHANGE_IN_FROM_OF_CHANGE,
        ChangePosition::Set => msg::NESTED_CHANGE_IN_SET_OPERATION,
        ChangePosition::Using => msg::NESTED_CHANGE_IN_USING,
    };
    SqlError::of(message, [])
}

/// Whether a source is a change, and raises [`misplaced`] then.
///
/// # Errors
/// 10727 to 10733.
pub fn check_none(sources: &[&TableRef], place: ChangePosition) -> Result<(), SqlError> {
    let change = |table: &&TableRef| matches!(table.kind, TableRefKind::Change { .. });
    if sources.iter().any(change) { Err(misplaced(place)) } else { Ok(()) }
}

impl Binder<'_> {
    /// The rows of the change in FROM, where the statement has said that there is one.
    pub(super) fn change_rows(
        &mut self,
        alias: &ast::Ident,
        names: &[ast::Ident],
    ) -> Result<Logical, SqlError> {
        let Some(ChangeRows { work, mut columns }) = self.change.take() else {
            return Err(misplaced(ChangePosition::Select));
        };
        let width = columns.len();
        let first = self.new_cols(width);
        for (column, id) in columns.iter_mut().zip(first..) {
            column.id = id;
        }
        self.add_derived(&alias.value, names, &columns)?;
        let source = WorkSource::Recursion(work);
        Ok(Logical::Work(WorkScan { source, first, width, rows: ROWS }))
    }
}
