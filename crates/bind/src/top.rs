//! TOP, OFFSET and FETCH. Guarantees: a number of rows is an integer that is the same for all rows
//! of the block (1060, 4115, 10743).

use super::Binder;
use super::deduce::Wanted;
use super::scope::Clause;
use expr::Expr;
use expr::bind_ops;
use logical::order::SortKey;
use logical::tree::input::Input;
use logical::tree::{BoundQuery, Logical, TopSpec};
use syntax::ast::{self, ExprKind, Literal, QueryBody};
use types::{DataType, SqlError, msg};

impl Binder<'_> {
    /// TOP (n) [PERCENT] [WITH TIES].
    pub fn top(&mut self, top: &ast::Top, ties: Vec<SortKey>) -> Result<TopSpec, SqlError> {
        let clause = self.scope().map(|s| std::mem::replace(&mut s.clause, Clause::Where));
        let count = if top.percent {
            self.expr_as(&top.count, DataType::Float)?
        } else {
            self.row_count(&top.count, msg::ROW_COUNT_NOT_INTEGER)?
        };
        if let (Ok(clause), Ok(scope)) = (clause, self.scope()) {
            scope.clause = clause;
        }
        if !count.is_row_free() && !count.has_subquery() {
            let column = match &top.count.kind {
                ExprKind::Column(column) => column.name.value.as_str(),
                _ => "",
            };
            return Err(SqlError::of(msg::COLUMN_IN_TOP, [&column]));
        }
        if top.with_ties && ties.is_empty() {
            return Err(SqlError::of(msg::TIES_WITHOUT_ORDER_BY, []));
        }
        let ties = top.with_ties.then_some(ties);
        Ok(TopSpec { count: Some(count), percent: top.percent, ties, offset: None })
    }

    /// The number of rows of TOP, OFFSET or FETCH; the error is for what is no integer.
    fn row_count(&mut self, e: &ast::Expr, otherwise: msg::Message<0>) -> Result<Expr, SqlError> {
        self.deduce(e, Wanted::Becomes(DataType::BigInt))?;
        let typed = self.expr(e)?;
        // A constant of more than int is numeric elsewhere.
        let constant = matches!(&e.kind, ExprKind::Literal(Literal::Integer(_)));
        let integer = constant
            || matches!(
                typed.ty,
                DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt
            );
        if !integer && !typed.is_null_literal() {
            return Err(SqlError::of(otherwise, []));
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
            return Err(SqlError::of(msg::TOP_WITH_OFFSET, []));
        }
        let mut spec = TopSpec::default();
        if let Some(e) = &query.offset {
            spec.offset = Some(self.row_count(e, msg::OFFSET_NOT_INTEGER)?);
        }
        if let Some(e) = &query.fetch {
            spec.count = Some(self.row_count(e, msg::ROW_COUNT_NOT_INTEGER)?);
        }
        bound.logical = Logical::Top { input: Input::new(bound.logical), top: spec };
        Ok(bound)
    }
}
