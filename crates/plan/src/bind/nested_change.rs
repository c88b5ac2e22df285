//! A change in FROM, `INSERT ... SELECT ... FROM (UPDATE ... OUTPUT ...) AS d`: where it may stand, and its rows as a source.

use crate::bind::Binder;
use crate::bind::contains::contains;
use crate::logical::{Logical, OutColumn, WorkScan, WorkSource};
use syntax::ast::{self, ExprKind, QueryBody, SelectItem, TableRef, TableRefKind};
use types::SqlError;

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
        return Err(error(10_722, "The DISTINCT keyword is not allowed", ""));
    }
    let clauses = [
        (select.top.is_some() || query.offset.is_some(), "TOP or OFFSET"),
        (select.group_by.is_some(), "GROUP BY"),
        (select.having.is_some(), "HAVING"),
        (!query.order_by.is_empty(), "ORDER BY"),
        (query.for_clause.is_some(), "FOR"),
    ];
    if let Some((_, clause)) = clauses.iter().find(|(there, _)| *there) {
        return Err(error(10_717, &format!("The {clause} clause is not allowed"), ""));
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
        return Err(error(5323, "Subqueries are not allowed", clause));
    }
    if contains(e, &|e| matches!(&e.kind, ExprKind::Function(call) if call.over.is_some())) {
        return Err(error(5329, "Windowed functions are not allowed", clause));
    }
    if super::contains::has_aggregate(e) {
        let message = error(5322, "An aggregate function is not allowed", clause).into_message();
        return Err(SqlError::new(5322, 16, 1, message));
    }
    Ok(())
}

fn error(number: i32, beginning: &str, clause: &str) -> SqlError {
    let place = if clause.is_empty() { String::new() } else { format!(" in the {clause} clause") };
    let text = format!(
        "{beginning}{place} when the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement."
    );
    SqlError::new(number, 15, 1, text)
}

/// Where a change that gives rows stands and may not.
#[derive(Clone, Copy)]
pub enum Place {
    Join,
    Pivot,
    Select,
    Change,
    Set,
    Using,
}

/// What a change raises that stands there: 10727 to 10733.
pub fn misplaced(place: Place) -> SqlError {
    let (number, severity, text) = match place {
        Place::Join => (10_727, 15, "on either side of a JOIN or APPLY operator"),
        Place::Pivot => (10_728, 15, "as the table source of a PIVOT or UNPIVOT operator"),
        Place::Select => {
            let text =
                "in a SELECT statement that is not the immediate source of rows for an INSERT statement";
            (10_729, 15, text)
        }
        Place::Change => (10_730, 15, "in the FROM clause of an UPDATE or DELETE statement"),
        Place::Set => (10_732, 15, "on either side of a UNION, INTERSECT, or EXCEPT operator"),
        Place::Using => (10_733, 16, "in the USING clause of a MERGE statement"),
    };
    let text = format!("A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed {text}.");
    SqlError::new(number, severity, 1, text)
}

/// Whether a source is a change, and raises [`misplaced`] then.
///
/// # Errors
/// 10727 to 10733.
pub fn check_none(sources: &[&TableRef], place: Place) -> Result<(), SqlError> {
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
            return Err(misplaced(Place::Select));
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
