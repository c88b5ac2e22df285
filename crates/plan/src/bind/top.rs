//! TOP, OFFSET and FETCH.
//! Guarantees: a number of rows is an integer that is the same for all rows of the block (1060, 4115, 10743).

use super::Binder;
use super::deduce::Wanted;
use super::scope::Clause;
use crate::input::Input;
use crate::logical::{BoundQuery, Logical, SortKey, TopSpec};
use expr::Expr;
use expr::bind_ops;
use syntax::ast::{self, ExprKind, Literal, QueryBody};
use types::{DataType, SqlError};

/// Error 1060.
const NO_COUNT: &str =
    "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.";

impl Binder<'_> {
    /// TOP (n) [PERCENT] [WITH TIES].
    pub fn top(&mut self, top: &ast::Top, ties: Vec<SortKey>) -> Result<TopSpec, SqlError> {
        let clause = self.scope().map(|s| std::mem::replace(&mut s.clause, Clause::Where));
        let count = if top.percent {
            self.expr_as(&top.count, DataType::Float)?
        } else {
            self.row_count(&top.count, (1060, NO_COUNT))?
        };
        if let (Ok(clause), Ok(scope)) = (clause, self.scope()) {
            scope.clause = clause;
        }
        if !count.is_row_free() && !count.has_subquery() {
            let column = match &top.count.kind {
                ExprKind::Column(column) => column.name.value.as_str(),
                _ => "",
            };
            let text = format!(
                "The reference to column \"{column}\" is not allowed in an argument to a TOP, OFFSET, or FETCH clause. Only references to \
                 columns at an outer scope or standalone expressions and subqueries are allowed here."
            );
            return Err(SqlError::new(4115, 15, 1, text));
        }
        if top.with_ties && ties.is_empty() {
            let text = "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
            return Err(SqlError::new(1062, 15, 1, text));
        }
        let ties = top.with_ties.then_some(ties);
        Ok(TopSpec { count: Some(count), percent: top.percent, ties, offset: None })
    }

    /// The number of rows of TOP, OFFSET or FETCH; the error is for what is no integer.
    fn row_count(&mut self, e: &ast::Expr, (number, text): (i32, &str)) -> Result<Expr, SqlError> {
        self.deduce(e, Wanted::Becomes(DataType::BigInt))?;
        let typed = self.expr(e)?;
        // A constant of more than int is numeric elsewhere.
        let constant = matches!(&e.kind, ExprKind::Literal(Literal::Integer(_)));
        let integer = constant
            || matches!(typed.ty, DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt);
        if !integer && !typed.is_null_literal() {
            return Err(SqlError::new(number, 15, 1, text));
        }
        bind_ops::implicit(typed, DataType::BigInt)
    }

    pub(super) fn offset_fetch(
        &mut self,
        query: &ast::Query,
        mut bound: BoundQuery,
    ) -> Result<BoundQuery, SqlError> {
        if query.offset.is_none() && query.fetch.is_none() {
            return Ok(bound);
        }
        if matches!(&query.body, QueryBody::Select(select) if select.top.is_some()) {
            let text = "A TOP can not be used in the same query or sub-query as a OFFSET.";
            return Err(SqlError::new(10_741, 15, 2, text));
        }
        let mut spec = TopSpec::default();
        if let Some(e) = &query.offset {
            let text = "The number of rows provided for a OFFSET clause must be an integer.";
            spec.offset = Some(self.row_count(e, (10_743, text))?);
        }
        if let Some(e) = &query.fetch {
            spec.count = Some(self.row_count(e, (1060, NO_COUNT))?);
        }
        bound.logical = Logical::Top { input: Input::new(bound.logical), top: spec };
        Ok(bound)
    }
}
