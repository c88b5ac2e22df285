//! Running the subqueries of expressions: scalar, EXISTS, IN and quantified comparisons.
//! Guarantees: a subquery that needs nothing of the row around it runs once per statement; a
//! correlated one runs once per row, with the outer values handed over as parameters.

use super::RowSet;
use super::open::start;
use super::rt::{Rt, SubState};
use expr::key::ValueKey;
use expr::order::compare_values;
use expr::{QuantifiedExpr, SubRef};
use plan::nodes::Plan;
use std::collections::HashSet;
use syntax::ast::CompareOp;
use types::convert::Mode;
use types::{Collation, Dialect, SqlError, Value, msg};

impl<'r> Rt<'r, '_> {
    fn plan_of(&self, sub: &SubRef) -> Result<&'r Plan, SqlError> {
        let plan = self.subqueries.get(sub.id);
        plan.map(|plan| &**plan).ok_or_else(|| SqlError::internal("a subquery has no plan"))
    }

    fn set_args(&mut self, sub: &SubRef, row: &[Value]) -> Result<(), SqlError> {
        for (slot, e) in &sub.args {
            let value = e.eval(row, self)?;
            self.set_param(*slot, value);
        }
        Ok(())
    }

    fn cached(&mut self, sub: &SubRef) -> &mut SubState {
        if self.state.subs.len() <= sub.id {
            self.state.subs.resize_with(sub.id + 1, SubState::default);
        }
        &mut self.state.subs[sub.id]
    }

    pub(super) fn run_scalar(&mut self, sub: &SubRef, row: &[Value]) -> Result<Value, SqlError> {
        stack::with_room(|| self.scalar_value(sub, row))
    }

    fn scalar_value(&mut self, sub: &SubRef, row: &[Value]) -> Result<Value, SqlError> {
        if sub.cacheable
            && let SubState::Scalar(value) = self.cached(sub)
        {
            return Ok(value.clone());
        }
        self.set_args(sub, row)?;
        let mut result = Value::Null;
        let mut count = 0usize;
        let mut batch = RowSet::default();
        let plan = self.plan_of(sub)?;
        let mut op = start(plan, self);
        while op.next(self, &mut batch)? {
            count += batch.len();
            if count > 1 {
                return Err(SqlError::of(msg::SUBQUERY_SEVERAL_ROWS, []));
            }
            result = batch.row(0)[0].clone();
        }
        if sub.cacheable {
            *self.cached(sub) = SubState::Scalar(result.clone());
        }
        Ok(result)
    }

    pub(super) fn run_exists(&mut self, sub: &SubRef, row: &[Value]) -> Result<bool, SqlError> {
        stack::with_room(|| self.exists_value(sub, row))
    }

    fn exists_value(&mut self, sub: &SubRef, row: &[Value]) -> Result<bool, SqlError> {
        if sub.cacheable
            && let SubState::Exists(found) = self.cached(sub)
        {
            return Ok(*found);
        }
        self.set_args(sub, row)?;
        let mut batch = RowSet::default();
        let plan = self.plan_of(sub)?;
        let found = start(plan, self).next(self, &mut batch)?;
        if sub.cacheable {
            *self.cached(sub) = SubState::Exists(found);
        }
        Ok(found)
    }

    /// Runs the query and keeps its column.
    fn fill(&mut self, sub: &SubRef, collation: Collation) -> Result<(), SqlError> {
        let (mut values, mut set, mut has_null) = (Vec::new(), HashSet::new(), false);
        let mut batch = RowSet::default();
        let dialect = self.ctx.session.options.dialect;
        let plan = self.plan_of(sub)?;
        let mut op = start(plan, self);
        while op.next(self, &mut batch)? {
            for i in 0..batch.len() {
                let value = converted(sub, &batch.row(i)[0], dialect)?;
                if value.is_null() {
                    has_null = true;
                } else if set.insert(ValueKey::new(&value, collation)) {
                    self.reserve(64 + value.heap_bytes())?;
                    values.push(value);
                }
            }
        }
        *self.cached(sub) = SubState::List { values, set, has_null };
        Ok(())
    }

    pub(super) fn run_quantified(
        &mut self,
        test: &QuantifiedExpr,
        row: &[Value],
    ) -> Result<Option<bool>, SqlError> {
        stack::with_room(|| self.quantified_value(test, row))
    }

    fn quantified_value(
        &mut self,
        test: &QuantifiedExpr,
        row: &[Value],
    ) -> Result<Option<bool>, SqlError> {
        let (operand, sub) = (test.operand.eval(row, self)?, &test.query);
        if sub.cacheable {
            if !matches!(self.cached(sub), SubState::List { .. }) {
                self.set_args(sub, row)?;
                self.fill(sub, test.collation)?;
            }
            return Ok(against_list(test, &operand, self.cached(sub)));
        }
        self.set_args(sub, row)?;
        let mut truth = Some(test.all);
        let mut batch = RowSet::default();
        let dialect = self.ctx.session.options.dialect;
        let plan = self.plan_of(sub)?;
        let mut op = start(plan, self);
        while op.next(self, &mut batch)? {
            for i in 0..batch.len() {
                let value = converted(sub, &batch.row(i)[0], dialect)?;
                match compare_values(&operand, &value, test.collation).map(|o| test.op.holds(o)) {
                    Some(one) if one != test.all => return Ok(Some(one)),
                    Some(_) => {}
                    None => truth = None,
                }
            }
        }
        Ok(truth)
    }
}

fn converted(sub: &SubRef, value: &Value, dialect: Dialect) -> Result<Value, SqlError> {
    match sub.convert {
        None => Ok(value.clone()),
        Some((from, to)) => types::convert_in(value, from, to, 0, Mode::Implicit, dialect),
    }
}

fn against_list(test: &QuantifiedExpr, operand: &Value, state: &SubState) -> Option<bool> {
    let SubState::List { values, set, has_null } = state else { return None };
    if operand.is_null() {
        return if values.is_empty() && !has_null { Some(test.all) } else { None };
    }
    let undecided = if *has_null { None } else { Some(test.all) };
    let equality = match (test.op, test.all) {
        (CompareOp::Equal, false) => Some(true),
        (CompareOp::NotEqual, true) => Some(false),
        _ => None,
    };
    if let Some(when_found) = equality {
        let found = set.contains(&ValueKey::new(operand, test.collation));
        return if found { Some(when_found) } else { undecided };
    }
    for value in values {
        let one = compare_values(operand, value, test.collation).map(|o| test.op.holds(o));
        if one.is_some_and(|one| one != test.all) {
            return one;
        }
    }
    undecided
}
