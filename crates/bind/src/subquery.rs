//! Binding of subqueries inside expressions. Their plans are a list of the statement, beside its
//! expressions.

use super::Binder;
use super::scope::{Clause, Scope};
use expr::{Expr, Pred, SubRef, Typed};
use logical::tree::{Logical, Subquery};
use std::sync::Arc;
use syntax::ast;
use types::{SqlError, msg};

/// Rows stay unless a query that needs nothing of them has rows.
pub struct RejectingQuery {
    /// It is asked only for rows whose value is NULL; none: for all.
    pub null: Option<Expr>,
    pub query: Logical,
}

impl Binder<'_> {
    /// Binds a subquery; `exists` ignores its select list.
    pub fn subquery(
        &mut self,
        query: &ast::Query,
        exists: bool,
    ) -> Result<(SubRef, Vec<Typed>), SqlError> {
        self.scopes.push(Scope::default());
        self.for_exists = exists && matches!(query.body, ast::QueryBody::Select(_));
        let bound = self.inner_query(query);
        self.for_exists = false;
        let scope = self.scopes.pop().unwrap_or_default();
        let bound = bound?;
        let columns: Vec<Typed> = bound.columns.iter().map(|c| c.typed()).collect();
        let wanted = if exists { Vec::new() } else { bound.columns.iter().map(|c| c.id).collect() };
        let logical = Arc::new(bound.logical);
        self.subqueries.push(Subquery { logical, wanted, goal: exists.then_some(1) });
        let sub = SubRef {
            id: self.subqueries.len() - 1,
            args: scope.outer,
            cacheable: !scope.correlated,
            convert: None,
        };
        Ok((sub, columns))
    }

    /// That a query has no rows: of rows whose value is NULL, or of all.
    pub fn without_rows(&mut self, unless: RejectingQuery) -> Pred {
        let logical = Arc::new(unless.query);
        self.subqueries.push(Subquery { logical, wanted: Vec::new(), goal: Some(1) });
        let id = self.subqueries.len() - 1;
        let sub = SubRef { id, args: Vec::new(), cacheable: true, convert: None };
        let none = Pred::Not(Box::new(Pred::Exists(Box::new(sub))));
        match unless.null {
            Some(value) => Pred::Or(vec![Pred::IsNull(Box::new(value), true), none]),
            None => none,
        }
    }

    /// Whether a subquery may stand in the clause that is bound.
    ///
    /// # Errors
    /// 130 in an aggregate, 144 in GROUP BY.
    pub(super) fn check_place(&self) -> Result<(), SqlError> {
        match self.clause() {
            Clause::Aggregate => Err(SqlError::of(msg::AGGREGATE_OF_AGGREGATE, [])),
            Clause::GroupBy => Err(SqlError::of(msg::AGGREGATE_IN_GROUP_BY, [])),
            _ => Ok(()),
        }
    }

    /// The same of a condition with a subquery, which the argument of an aggregate with OVER may
    /// have.
    ///
    /// # Errors
    /// 130 in an aggregate of groups, 144 in GROUP BY.
    pub(super) fn check_condition_place(&self) -> Result<(), SqlError> {
        let windowed = self.scopes.last().is_some_and(|scope| scope.windowed);
        if windowed { Ok(()) } else { self.check_place() }
    }

    /// `(SELECT ...)` as a value.
    pub(crate) fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Typed, SqlError> {
        let (sub, columns) = self.subquery(query, false)?;
        let [column] = columns.as_slice() else {
            return Err(SqlError::of(msg::SUBQUERY_SEVERAL_COLUMNS, []));
        };
        self.check_place()?;
        let typed = Typed::new(Expr::Subquery(Box::new(sub)), column.ty, true);
        Ok(typed.of_collation(column.collation))
    }
    /// The constant that a value is, where it is the one of `(SELECT constant)` too; that subquery
    /// is forgotten then.
    pub(super) fn without_subquery(&mut self, e: Expr) -> Expr {
        let Expr::Subquery(sub) = &e else { return e };
        let last = self.subqueries.last().filter(|_| sub.id + 1 == self.subqueries.len());
        let Some(constant) = last.and_then(|last| last.logical.constant()).cloned() else {
            return e;
        };
        self.subqueries.pop();
        constant
    }
}
