//! Conditions: comparisons, BETWEEN, IN, LIKE and quantified ones become predicates over values of
//! one type. Guarantees: both sides of a comparison have its type and one collation; SET ANSI_NULLS
//! is settled here.

use super::Binder;
use super::combine::{conjunction, disjunction, negate};
use super::unsupported;
use expr::{CompareExpr, Expr, InListExpr, LikeExpr, Pred, QuantifiedExpr, Typed};
use std::sync::Arc;
use syntax::ast::{self, CompareOp, ExprKind};
use types::like::LikePattern;
use types::{SqlError, Value, msg};

impl Binder<'_> {
    /// Binds a condition.
    pub fn pred(&mut self, e: &ast::Expr) -> Result<Pred, SqlError> {
        self.deeper_condition(|b| b.condition(e))
    }

    fn condition(&mut self, e: &ast::Expr) -> Result<Pred, SqlError> {
        match &e.kind {
            ExprKind::Compare { op, left, right } => {
                self.deduce_compared(*op, left, right)?;
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.compare(*op, left, right)
            }
            ExprKind::And(list) => Ok(conjunction(self.preds(list)?)),
            ExprKind::Or(list) => Ok(disjunction(self.preds(list)?)),
            ExprKind::Not(inner) => Ok(negate(self.pred(inner)?)),
            ExprKind::IsNull { operand, negated } => {
                self.node_access =
                    !self.node_columns.is_empty() && matches!(operand.kind, ExprKind::Column(_));
                let operand = self.expr(operand);
                self.node_access = false;
                let operand = operand?;
                Ok(match operand.expr.as_const() {
                    Some(value) => Pred::Const(Some(value.is_null() != *negated)),
                    None => Pred::IsNull(Box::new(operand.expr), *negated),
                })
            }
            ExprKind::IsDistinct { left, right, negated } => {
                self.deduce_compared(CompareOp::Equal, left, right)?;
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                let (left, right, collation) =
                    expr::bind_ops::comparable(left, right, "is distinct from")?;
                let compare = CompareExpr { op: CompareOp::Equal, left, right, collation };
                Ok(Pred::Distinct(Box::new(compare), *negated))
            }
            ExprKind::Between { operand, low, high, negated } => {
                self.between(operand, low, high, *negated)
            }
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::InQuery { operand, query, negated } => {
                let op = if *negated { CompareOp::NotEqual } else { CompareOp::Equal };
                self.quantified(op, operand, *negated, query)
            }
            ExprKind::Quantified { op, left, all, query } => {
                self.quantified(*op, left, *all, query)
            }
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.like(operand, pattern, escape.as_deref(), *negated)
            }
            ExprKind::Exists(query) => {
                let (sub, _) = self.subquery(query, true)?;
                self.check_condition_place()?;
                Ok(Pred::Exists(Box::new(sub)))
            }
            ExprKind::ColumnUpdated(column) => self.column_updated(column),
            ExprKind::FullText(_) => Err(unsupported("Full-text search")),
            _ => Err(SqlError::of(msg::NOT_A_CONDITION, [])),
        }
    }

    /// `a op b` under the session's ANSI_NULLS. OFF, a bare NULL or a variable that is NULL equals
    /// NULL and nothing else; columns and other expressions are compared as ever.
    pub fn compare(&self, op: CompareOp, left: Typed, right: Typed) -> Result<Pred, SqlError> {
        let usual = |left, right| expr::bind_ops::compare(op, left, right);
        let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        if self.env.options.ansi_nulls || !equality {
            return usual(left, right);
        }
        let differs = op == CompareOp::NotEqual;
        let is_null = |e: &Typed| Pred::IsNull(Box::new(e.expr.clone()), false);
        let has_value = |e: &Typed| Pred::IsNull(Box::new(e.expr.clone()), true);
        match (may_be_null_value(&left), may_be_null_value(&right)) {
            (false, false) => usual(left, right),
            (true, true) => {
                let (left, right, collation) = expr::bind_ops::comparable(left, right, "equal to")?;
                let compare = CompareExpr { op: CompareOp::Equal, left, right, collation };
                Ok(Pred::Distinct(Box::new(compare), !differs))
            }
            (given_left, _) => {
                let (given, other) = if given_left { (&left, &right) } else { (&right, &left) };
                let of_null = conjunction(vec![
                    is_null(given),
                    Pred::IsNull(Box::new(other.expr.clone()), differs),
                ]);
                let of_value =
                    vec![has_value(given), usual(self.copied(&left)?, self.copied(&right)?)?];
                Ok(disjunction(vec![of_null, conjunction(of_value)]))
            }
        }
    }

    pub(super) fn preds(&mut self, list: &[ast::Expr]) -> Result<Vec<Pred>, SqlError> {
        list.iter().map(|e| self.pred(e)).collect()
    }

    pub(super) fn between(
        &mut self,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Pred, SqlError> {
        self.deduce_compared(CompareOp::GreaterEqual, operand, low)?;
        self.deduce_compared(CompareOp::LessEqual, operand, high)?;
        let operand = self.expr(operand)?;
        let (low, high) = (self.expr(low)?, self.expr(high)?);
        let again = self.copied(&operand)?;
        let low = expr::bind_ops::compare(CompareOp::GreaterEqual, again, low)?;
        let high = expr::bind_ops::compare(CompareOp::LessEqual, operand, high)?;
        let both = conjunction(vec![low, high]);
        Ok(if negated { negate(both) } else { both })
    }

    fn in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<Pred, SqlError> {
        self.deduce_in(operand, list)?;
        let operand = self.expr(operand)?;
        let elements = list.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>, _>>()?;
        if let [only] = elements.as_slice() {
            let op = if negated { CompareOp::NotEqual } else { CompareOp::Equal };
            return self.compare(op, operand, only.clone());
        }
        if !self.env.options.ansi_nulls && elements.iter().any(may_be_null_value) {
            let equal = |e: &Typed| self.compare(CompareOp::Equal, operand.clone(), e.clone());
            let any = disjunction(elements.iter().map(equal).collect::<Result<_, _>>()?);
            return Ok(if negated { negate(any) } else { any });
        }
        // One type for all of them, as SQL Server has it: the comparison of the whole list is of
        // one kind.
        let mut ty = operand.ty;
        for e in elements.iter().filter(|e| !e.is_null_literal()) {
            ty = expr::bind_ops::comparison_type(ty, e.ty, "equal to")?;
        }
        let mut all = vec![&operand];
        all.extend(&elements);
        let (_, _, collation) = expr::bind_ops::unified_in_one(&all, "equal to")?;
        let operand = expr::bind_ops::to_comparison(operand, ty)?;
        let list = elements
            .into_iter()
            .map(|e| expr::bind_ops::to_comparison(e, ty))
            .collect::<Result<Vec<_>, _>>()?;
        let mut list = InListExpr::new(operand, list, negated, collation);
        self.keep_list(&mut list);
        Ok(Pred::InList(Box::new(list)))
    }

    pub(super) fn like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Pred, SqlError> {
        self.deduce_like(operand, pattern)?;
        let operand = self.expr(operand)?;
        let pattern = self.expr(pattern)?;
        let (_, collation) = expr::bind_ops::collation_of(&operand, &pattern, "like")?;
        let escape = match escape {
            Some(e) => {
                let e = self.expr(e)?;
                Some(expr::bind_ops::as_string(e)?)
            }
            None => None,
        };
        let unicode = operand.ty.is_unicode() || pattern.ty.is_unicode();
        let operand = expr::bind_ops::as_string(operand)?;
        let pattern = expr::bind_ops::as_string(pattern)?;
        let fixed_escape = escape.as_ref().map(|e| e.as_const().and_then(Value::as_str));
        let compiled = match (pattern.as_const().and_then(Value::as_str), fixed_escape) {
            (Some(text), None) => Some(Arc::new(LikePattern::new(text, None)?)),
            (Some(text), Some(Some(escape))) => {
                Some(Arc::new(LikePattern::new(text, Some(escape))?))
            }
            _ => None,
        };
        let like = LikeExpr { operand, pattern, escape, compiled, unicode, negated, collation };
        Ok(Pred::Like(Box::new(like)))
    }

    fn quantified(
        &mut self,
        op: CompareOp,
        operand: &ast::Expr,
        all: bool,
        query: &ast::Query,
    ) -> Result<Pred, SqlError> {
        self.deduce_quantified(op, operand, query)?;
        let operand = self.expr(operand)?;
        let (mut sub, columns) = self.subquery(query, false)?;
        let [column] = columns.as_slice() else {
            return Err(SqlError::of(msg::SUBQUERY_SEVERAL_COLUMNS, []));
        };
        self.check_condition_place()?;
        let (_, collation) = expr::bind_ops::collation_of(&operand, column, "equal to")?;
        let ty = expr::bind_ops::comparison_type(operand.ty, column.ty, "equal to")?;
        let operand = expr::bind_ops::to_comparison(operand, ty)?;
        if let Some(convert) = expr::bind_ops::conversion_for_comparison(column.ty, ty)? {
            sub.convert = Some(convert);
        }
        Ok(Pred::Quantified(Box::new(QuantifiedExpr { op, operand, all, query: sub, collation })))
    }
}

/// What SET ANSI_NULLS OFF looks at: a NULL, that of a variable whose value is known among them, or
/// a variable.
fn may_be_null_value(e: &Typed) -> bool {
    matches!(e.expr, Expr::Const(Value::Null) | Expr::Var(_))
}
