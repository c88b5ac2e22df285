//! Subqueries inside expressions: scalar, EXISTS, IN and quantified comparisons.
//! Guarantees: a subquery that needs nothing of the row around it runs once per statement; a correlated one runs
//! once per row, with the outer values handed over as parameters.

use super::bind::Binder;
use super::eval::{compare_values, satisfies};
use super::scope::{Clause, Scope};
use super::{Expr, QuantifiedExpr, Rt, Typed};
use crate::exec::RowSet;
use crate::exec::hash::ValueKey;
use crate::query::logical::Logical;
use crate::query::physical::{self, Plan};
use std::collections::HashSet;
use std::sync::Arc;
use syntax::ast::{self, CompareOp};
use types::convert::Mode;
use types::{Collation, DataType, SqlError, Value};

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub struct SubRef {
    pub plan: Arc<Plan>,
    /// For decorrelation: the plan's logical form.
    pub logical: Arc<Logical>,
    /// Number of its cached result.
    pub id: usize,
    /// Parameters to set from the row around it.
    pub args: Vec<(usize, Expr)>,
    /// Depends on nothing outside: its result is kept.
    pub cacheable: bool,
    /// Its column's conversion for the comparison around it.
    pub convert: Option<(DataType, DataType)>,
}

/// A kept result.
#[derive(Debug, Default)]
pub enum SubState {
    #[default]
    Unknown,
    Scalar(Value),
    Exists(bool),
    /// All values of the column, and the set of them for equality; whether a NULL was among them.
    List {
        values: Vec<Value>,
        set: HashSet<ValueKey>,
        has_null: bool,
    },
}

impl SubRef {
    /// As [`Expr::leaves_mut`]: the outer values are the children.
    pub fn leaves_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.args.iter_mut().for_each(|(_, e)| e.leaves_mut(f));
    }

    /// As [`Expr::leaves`].
    pub fn leaves(&self, f: &mut dyn FnMut(&Expr)) {
        self.args.iter().for_each(|(_, e)| e.leaves(f));
    }

    fn set_args(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        for (slot, e) in &self.args {
            let value = e.eval(row, rt)?;
            rt.set_param(*slot, value);
        }
        Ok(())
    }

    fn cached<'r>(&self, rt: &'r mut Rt<'_, '_>) -> &'r mut SubState {
        if rt.subs.len() <= self.id {
            rt.subs.resize_with(self.id + 1, SubState::default);
        }
        &mut rt.subs[self.id]
    }

    /// The one value of the query.
    pub fn scalar(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<Value, SqlError> {
        if self.cacheable
            && let SubState::Scalar(value) = self.cached(rt)
        {
            return Ok(value.clone());
        }
        self.set_args(row, rt)?;
        let mut result = Value::Null;
        let mut count = 0usize;
        let mut batch = RowSet::default();
        let mut op = physical::open(&self.plan);
        while op.next(rt, &mut batch)? {
            count += batch.len();
            if count > 1 {
                let text = "Subquery returned more than 1 value. This is not permitted when the subquery \
                            follows =, !=, <, <= , >, >= or when the subquery is used as an expression.";
                return Err(SqlError::new(512, 16, 1, text));
            }
            result = batch.row(0)[0].clone();
        }
        if self.cacheable {
            *self.cached(rt) = SubState::Scalar(result.clone());
        }
        Ok(result)
    }

    /// Whether the query has a row.
    pub fn exists(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        if self.cacheable
            && let SubState::Exists(found) = self.cached(rt)
        {
            return Ok(*found);
        }
        self.set_args(row, rt)?;
        let mut batch = RowSet::default();
        let found = physical::open(&self.plan).next(rt, &mut batch)?;
        if self.cacheable {
            *self.cached(rt) = SubState::Exists(found);
        }
        Ok(found)
    }

    fn value(&self, value: &Value) -> Result<Value, SqlError> {
        match self.convert {
            None => Ok(value.clone()),
            Some((from, to)) => types::convert::convert(value, from, to, 0, Mode::Implicit),
        }
    }

    /// Runs the query and keeps its column.
    fn fill(&self, rt: &mut Rt<'_, '_>, collation: Collation) -> Result<(), SqlError> {
        let (mut values, mut set, mut has_null) = (Vec::new(), HashSet::new(), false);
        let mut batch = RowSet::default();
        let mut op = physical::open(&self.plan);
        while op.next(rt, &mut batch)? {
            for i in 0..batch.len() {
                let value = self.value(&batch.row(i)[0])?;
                if value.is_null() {
                    has_null = true;
                } else if set.insert(ValueKey::new(&value, collation)) {
                    rt.memory.reserve(64 + value.heap_bytes())?;
                    values.push(value);
                }
            }
        }
        *self.cached(rt) = SubState::List { values, set, has_null };
        Ok(())
    }
}

impl QuantifiedExpr {
    /// ANY is true when one comparison is, unknown when none is and one is unknown; ALL is the mirror of it.
    pub fn test(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<Option<bool>, SqlError> {
        let operand = self.operand.eval(row, rt)?;
        if self.query.cacheable {
            if !matches!(self.query.cached(rt), SubState::List { .. }) {
                self.query.set_args(row, rt)?;
                self.query.fill(rt, self.collation)?;
            }
            return Ok(self.against_list(&operand, self.query.cached(rt)));
        }
        self.query.set_args(row, rt)?;
        let mut truth = Some(self.all);
        let mut batch = RowSet::default();
        let mut op = physical::open(&self.query.plan);
        while op.next(rt, &mut batch)? {
            for i in 0..batch.len() {
                let value = self.query.value(&batch.row(i)[0])?;
                match compare_values(&operand, &value, self.collation).map(|o| satisfies(self.op, o)) {
                    Some(one) if one != self.all => return Ok(Some(one)),
                    Some(_) => {}
                    None => truth = None,
                }
            }
        }
        Ok(truth)
    }

    fn against_list(&self, operand: &Value, state: &SubState) -> Option<bool> {
        let SubState::List { values, set, has_null } = state else { return None };
        if operand.is_null() {
            return if values.is_empty() && !has_null { Some(self.all) } else { None };
        }
        let undecided = if *has_null { None } else { Some(self.all) };
        let equality = match (self.op, self.all) {
            (CompareOp::Equal, false) => Some(true),
            (CompareOp::NotEqual, true) => Some(false),
            _ => None,
        };
        if let Some(when_found) = equality {
            let found = set.contains(&ValueKey::new(operand, self.collation));
            return if found { Some(when_found) } else { undecided };
        }
        for value in values {
            let one = compare_values(operand, value, self.collation).map(|o| satisfies(self.op, o));
            if one.is_some_and(|one| one != self.all) {
                return one;
            }
        }
        undecided
    }
}

impl Binder<'_> {
    /// Binds a subquery; `exists` ignores its select list.
    pub fn subquery(&mut self, query: &ast::Query, exists: bool) -> Result<(SubRef, Vec<Typed>), SqlError> {
        self.scopes.push(Scope::default());
        let bound = self.inner_query(query);
        let scope = self.scopes.pop().unwrap_or_default();
        let bound = bound?;
        let columns: Vec<Typed> = bound.columns.iter().map(|c| c.typed()).collect();
        let wanted = if exists { Vec::new() } else { bound.columns.iter().map(|c| c.id).collect() };
        let logical = Arc::new(bound.logical);
        let plan = physical::plan_query(self, (*logical).clone(), &wanted, exists.then_some(1))?;
        let sub = SubRef {
            plan: Arc::new(plan),
            logical,
            id: self.new_sub(),
            args: scope.outer,
            cacheable: !scope.correlated,
            convert: None,
        };
        Ok((sub, columns))
    }

    /// `(SELECT ...)` as a value.
    pub fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Typed, SqlError> {
        let (sub, columns) = self.subquery(query, false)?;
        let [column] = columns.as_slice() else {
            let text = "Only one expression can be specified in the select list when the subquery is not \
                        introduced with EXISTS.";
            return Err(SqlError::new(116, 16, 1, text));
        };
        if self.clause() == Clause::Aggregate {
            let text = "Cannot perform an aggregate function on an expression containing an aggregate or a \
                        subquery.";
            return Err(SqlError::new(130, 15, 1, text));
        }
        let mut typed = Typed::new(Expr::Subquery(Box::new(sub)), column.ty, true);
        typed.collation = column.collation;
        Ok(typed)
    }
}
