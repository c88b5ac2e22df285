//! Evaluation of [`Expr`] and [`Pred`] over one row. Types were settled by the binder: a node only
//! computes. Guarantees: columns and constants are compared in place, without a copy; no allocation
//! for numbers.

mod conditions;

use crate::functions::CallCx;
use crate::large::{HeldMemory, LARGE, check_length, is_conversion};
use crate::lookup::{BranchLookup, ConstantPlace};
use crate::order::ordered;
use crate::{
    BinaryExpr, CallExpr, CaseExpr, CompareExpr, ConvertExpr, Env, ErrorRules, Expr, Pred,
    RoutineCall,
};
use smallvec::SmallVec;
use std::cmp::Ordering;
use types::convert::ConvertOptions;
use types::look::GO_ON;
use types::ops::{self, BinaryOp as ArithOp};
use types::{CancelCheck, CodePage, Collation, DataType, Decimal, Dialect, SqlError, Value, msg};

impl Expr {
    /// The value over a row.
    pub fn eval(&self, row: &[Value], rt: &mut dyn Env) -> Result<Value, SqlError> {
        match self {
            Expr::Const(value) => Ok(value.clone()),
            Expr::Var(slot) => match rt.var_ref(*slot) {
                Some(Value::Int(number)) => Ok(Value::Int(*number)),
                Some(value) if value.heap_bytes() < LARGE => Ok(value.clone()),
                Some(value) => copy_of_variable(*slot, value.heap_bytes(), rt),
                None => Ok(rt.var(*slot)),
            },
            Expr::Param(slot) => Ok(rt.param(*slot)),
            Expr::Col(slot) => Ok(row[*slot as usize].clone()),
            Expr::Convert(c) => c.eval(row, rt),
            Expr::Binary(b) => {
                if b.ty.is_lob() {
                    return b.join(row, rt);
                }
                let (mut left, mut right) = (Value::Null, Value::Null);
                let left = b.left.eval_ref(row, rt, &mut left)?;
                let right = b.right.eval_ref(row, rt, &mut right)?;
                if b.lenient {
                    return null_for(arithmetic(b.op, b.ty, b.page, left, right), rt);
                }
                arithmetic(b.op, b.ty, b.page, left, right)
            }
            Expr::Negate(e, ty) => {
                let value = e.eval(row, rt)?;
                ops::negate(&value, *ty)
            }
            Expr::BitNot(e, ty) => ops::bit_not(&e.eval(row, rt)?, *ty),
            Expr::Case(c) => c.eval(row, rt),
            Expr::Coalesce(list) => {
                for e in list {
                    let value = e.eval(row, rt)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Expr::Call(c) => c.eval(row, rt),
            Expr::Routine(c) => c.eval(row, rt),
            Expr::Subquery(s) => rt.scalar(s, row),
            Expr::Deep(e) => stack::with_room(|| e.eval(row, rt)),
        }
    }

    /// As [`Expr::eval`], into a place: a text that is a constant takes the memory of the one that
    /// was there.
    #[inline]
    pub fn eval_into(
        &self,
        row: &[Value],
        rt: &mut dyn Env,
        place: &mut Value,
    ) -> Result<(), SqlError> {
        match self {
            Expr::Const(Value::Str(text)) => place.set_text(text),
            other => *place = other.eval(row, rt)?,
        }
        Ok(())
    }

    /// The value by reference where the row or the plan has it, else computed into `scratch`.
    #[inline]
    pub fn eval_ref<'a>(
        &'a self,
        row: &'a [Value],
        rt: &mut dyn Env,
        scratch: &'a mut Value,
    ) -> Result<&'a Value, SqlError> {
        match self {
            Expr::Const(value) => Ok(value),
            Expr::Col(slot) => Ok(&row[*slot as usize]),
            other => {
                *scratch = other.eval(row, rt)?;
                Ok(scratch)
            }
        }
    }
}

/// A copy of a large variable, if there is memory for it.
#[cold]
fn copy_of_variable(slot: usize, bytes: usize, rt: &mut dyn Env) -> Result<Value, SqlError> {
    let mut held = HeldMemory::default();
    held.add(bytes, rt)?;
    held.release(rt);
    Ok(rt.var(slot))
}

/// An arithmetic error as NULL, which the client is told of when the statement has ended.
#[cold]
fn null_for(result: Result<Value, SqlError>, rt: &mut dyn Env) -> Result<Value, SqlError> {
    let message = match &result {
        Err(error) if error.number == 8134 => msg::DIVISION_BY_ZERO_OCCURRED,
        Err(error) if error.number == 3623 => msg::DOMAIN_ERROR_OCCURRED,
        Err(error) if is_arithmetic(error) => msg::ARITHMETIC_OVERFLOW_OCCURRED,
        _ => return result,
    };
    rt.warn(SqlError::of(message, []))?;
    Ok(Value::Null)
}

/// Whether an error is one that ARITHABORT and ANSI_WARNINGS speak of.
pub fn is_arithmetic(error: &SqlError) -> bool {
    matches!(error.number, 220 | 232 | 3623 | 8115 | 8134)
}

impl ErrorRules {
    /// What a conversion's result is in this session.
    #[cold]
    fn settle(
        self,
        result: Result<Value, SqlError>,
        source: &Value,
        rt: &mut dyn Env,
    ) -> Result<Value, SqlError> {
        let result = match result {
            Ok(value) if self.exact && loses_digits(source, &value) => {
                Err(SqlError::of(msg::ARITHMETIC_OVERFLOW, [&"numeric", &"numeric"]).state(7))
            }
            result => result,
        };
        if self.lenient { null_for(result, rt) } else { result }
    }
}

/// Whether a number lost digits behind the point when it became a decimal.
fn loses_digits(source: &Value, result: &Value) -> bool {
    match (source, result) {
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b).is_ne(),
        (Value::Money(_) | Value::SmallMoney(_), Value::Decimal(b)) => {
            let units = match source {
                Value::Money(m) => *m,
                Value::SmallMoney(m) => i64::from(*m),
                _ => 0,
            };
            Decimal::new(i128::from(units), 19, 4).is_some_and(|a| a.cmp(b).is_ne())
        }
        _ => false,
    }
}

/// An operator on values of its operand types; integers of one kind take the short way.
#[inline]
fn arithmetic(
    op: ArithOp,
    ty: DataType,
    page: CodePage,
    left: &Value,
    right: &Value,
) -> Result<Value, SqlError> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        let result = match op {
            ArithOp::Add => a.checked_add(*b),
            ArithOp::Sub => a.checked_sub(*b),
            ArithOp::Mul => a.checked_mul(*b),
            _ => return ops::evaluate(op, left, right, ty, page),
        };
        return result.map(Value::Int).ok_or_else(|| SqlError::overflow(DataType::Int));
    }
    ops::evaluate(op, left, right, ty, page)
}

/// A whole number as a wider one, which cannot fail: most conversions of many rows are such ones.
#[inline]
fn widened(value: &Value, to: DataType) -> Option<Value> {
    let number = match value {
        Value::TinyInt(n) => i64::from(*n),
        Value::SmallInt(n) => i64::from(*n),
        Value::Int(n) => i64::from(*n),
        _ => return None,
    };
    match to {
        DataType::BigInt => Some(Value::BigInt(number)),
        DataType::Int => i32::try_from(number).ok().map(Value::Int),
        _ => None,
    }
}

impl BinaryExpr {
    /// A concatenation whose result is of a (max) type. A variable on the left is not copied
    /// before: text that grows by `@text = @text + ...` is written once for each piece.
    #[inline(never)]
    fn join(&self, row: &[Value], rt: &mut dyn Env) -> Result<Value, SqlError> {
        let mut held = HeldMemory::default();
        let joined = self.joined(row, rt, &mut held);
        held.release(rt);
        let joined = if self.lenient { null_for(joined, rt)? } else { joined? };
        check_length(&joined, self.ty, self.page)?;
        Ok(joined)
    }

    fn joined(
        &self,
        row: &[Value],
        rt: &mut dyn Env,
        held: &mut HeldMemory,
    ) -> Result<Value, SqlError> {
        let (mut first, mut second) = (Value::Null, Value::Null);
        let variable = match &self.left {
            Expr::Var(slot) if rt.var_ref(*slot).is_some() && !self.right.is_volatile() => {
                Some(*slot)
            }
            _ => None,
        };
        let left = match variable {
            Some(_) => &Value::Null,
            None => self.left.eval_ref(row, rt, &mut first)?,
        };
        held.add(left.heap_bytes(), rt)?;
        let right = self.right.eval_ref(row, rt, &mut second)?;
        held.add(right.heap_bytes(), rt)?;
        let known =
            variable.and_then(|slot| rt.var_ref(slot)).map_or(left.heap_bytes(), Value::heap_bytes);
        held.add(known.saturating_add(right.heap_bytes()), rt)?;
        let left = variable.and_then(|slot| rt.var_ref(slot)).unwrap_or(left);
        ops::evaluate(self.op, left, right, self.ty, self.page)
    }
}

impl ConvertExpr {
    /// Whether it reads or writes dates as the session does.
    #[inline]
    pub fn depends_on_dialect(&self) -> bool {
        types::convert::depends_on_dialect(self.from, self.to)
    }

    fn eval(&self, row: &[Value], rt: &mut dyn Env) -> Result<Value, SqlError> {
        let mut scratch = Value::Null;
        let value = self.operand.eval_ref(row, rt, &mut scratch)?;
        if let Some(wider) = widened(value, self.to) {
            return Ok(wider);
        }
        if self.to == DataType::SqlVariant {
            return Ok(types::variant::of(value.clone(), self.from, self.collation));
        }
        let dialect = if self.depends_on_dialect() { rt.dialect()? } else { Dialect::DEFAULT };
        let bytes = value.heap_bytes();
        if bytes >= LARGE {
            return self.large(value, bytes, dialect, rt);
        }
        self.settled(self.convert(value, dialect, GO_ON), value, rt)
    }

    #[inline]
    fn convert(
        &self,
        value: &Value,
        dialect: Dialect,
        look: CancelCheck<'_>,
    ) -> Result<Value, SqlError> {
        let (page, whole_characters) =
            (self.collation.code_page(), self.collation.counts_characters());
        let (style, mode) = (self.style, self.mode);
        let how = ConvertOptions { style, mode, dialect, page, look, whole_characters };
        types::convert_by(value, self.from, self.to, &how)
    }

    /// A conversion of a large value: a text stays about as long, bytes as text become twice as
    /// long.
    #[cold]
    fn large(
        &self,
        value: &Value,
        bytes: usize,
        dialect: Dialect,
        rt: &mut dyn Env,
    ) -> Result<Value, SqlError> {
        let times = if self.from.is_string() && self.to.is_string() { 2 } else { 3 };
        let mut held = HeldMemory::default();
        // Nothing is held when it fails.
        held.add(bytes.saturating_mul(times), rt)?;
        let converted = self.convert(value, dialect, &|| rt.check_cancel());
        let result = converted.and_then(|result| {
            check_length(&result, self.to, self.collation.code_page())?;
            Ok(result)
        });
        held.release(rt);
        self.settled(result, value, rt)
    }

    /// What a conversion's result is in this session.
    #[inline]
    fn settled(
        &self,
        result: Result<Value, SqlError>,
        value: &Value,
        rt: &mut dyn Env,
    ) -> Result<Value, SqlError> {
        match result {
            Err(error) if self.or_null && is_conversion(&error) => Ok(Value::Null),
            result if self.manner == ErrorRules::default() => result,
            result => self.manner.settle(result, value, rt),
        }
    }
}

impl CaseExpr {
    fn eval(&self, row: &[Value], rt: &mut dyn Env) -> Result<Value, SqlError> {
        let first = match &self.lookup {
            None => 0,
            Some(lookup) => self.first(lookup, row, rt)?,
        };
        for (when, then) in &self.branches[first..] {
            if when.test(row, rt)? == Some(true) {
                return then.eval(row, rt);
            }
        }
        self.otherwise.eval(row, rt)
    }

    /// The number of the first branch that may be taken: those before it compare with other
    /// constants.
    fn first(
        &self,
        lookup: &BranchLookup,
        row: &[Value],
        rt: &mut dyn Env,
    ) -> Result<usize, SqlError> {
        let Some((Pred::Compare(c), _)) = self.branches.first() else { return Ok(0) };
        if !matches!(c.left, Expr::Col(_) | Expr::Var(_) | Expr::Param(_)) {
            // Something else was put in the place of the column.
            return Ok(0);
        }
        let mut scratch = Value::Null;
        let value = c.left.eval_ref(row, rt, &mut scratch)?;
        if value.is_null() {
            return Ok(lookup.count);
        }
        Ok(match lookup.constants.place(value, c.collation) {
            ConstantPlace::At(at) => at,
            ConstantPlace::Nowhere => lookup.count,
            ConstantPlace::Unknown => 0,
        })
    }
}

impl CallExpr {
    fn eval(&self, row: &[Value], rt: &mut dyn Env) -> Result<Value, SqlError> {
        let mut held = HeldMemory::default();
        let result = self.result(row, rt, &mut held);
        held.release(rt);
        if self.lenient { null_for(result, rt) } else { result }
    }

    #[inline]
    fn result(
        &self,
        row: &[Value],
        rt: &mut dyn Env,
        held: &mut HeldMemory,
    ) -> Result<Value, SqlError> {
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        let long = self.ty.is_lob() || matches!(self.ty, DataType::Xml | DataType::SqlVariant);
        for arg in &self.args {
            let value = arg.eval(row, rt)?;
            if self.function.strict && value.is_null() {
                return Ok(Value::Null);
            }
            // With its copy in the result, where that can be as long.
            let times = if long { 2 } else { 1 };
            held.add(value.heap_bytes().saturating_mul(times), rt)?;
            args.push(value);
        }
        let mut cx = CallCx {
            rt,
            ty: self.ty,
            types: &self.types,
            collation: self.collation,
            made: HeldMemory::default(),
        };
        let result = (self.function.eval)(&args, &mut cx);
        cx.made.release(cx.rt);
        let mut result = result?;
        check_length(&result, self.ty, self.collation.code_page())?;
        if self.ty == DataType::SqlVariant {
            result = types::variant::of(result, DataType::SqlVariant, Collation::DEFAULT);
        }
        Ok(result)
    }
}

impl RoutineCall {
    fn eval(&self, row: &[Value], rt: &mut dyn Env) -> Result<Value, SqlError> {
        let mut args = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            args.push(arg.eval(row, rt)?);
        }
        if self.strict && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        rt.call(&*self.routine, args)
    }
}

impl CompareExpr {
    #[inline]
    fn order(&self, row: &[Value], rt: &mut dyn Env) -> Result<(Option<Ordering>, bool), SqlError> {
        let (mut left, mut right) = (Value::Null, Value::Null);
        let left = self.left.eval_ref(row, rt, &mut left)?;
        let right = self.right.eval_ref(row, rt, &mut right)?;
        let both_null = left.is_null() && right.is_null();
        Ok((ordered(left, right, self.collation, rt)?, both_null))
    }
}

impl Pred {
    /// True, false or unknown over a row.
    pub fn test(&self, row: &[Value], rt: &mut dyn Env) -> Result<Option<bool>, SqlError> {
        match self {
            Pred::Const(truth) => Ok(*truth),
            Pred::Compare(c) => Ok(c.order(row, rt)?.0.map(|order| c.op.holds(order))),
            Pred::Distinct(c, negated) => {
                let (order, both_null) = c.order(row, rt)?;
                let same = both_null || order == Some(Ordering::Equal);
                Ok(Some(same == *negated))
            }
            Pred::And(list) => {
                let mut truth = Some(true);
                for p in list {
                    match p.test(row, rt)? {
                        Some(false) => return Ok(Some(false)),
                        None => truth = None,
                        Some(true) => {}
                    }
                }
                Ok(truth)
            }
            Pred::Or(list) => {
                let mut truth = Some(false);
                for p in list {
                    match p.test(row, rt)? {
                        Some(true) => return Ok(Some(true)),
                        None => truth = None,
                        Some(false) => {}
                    }
                }
                Ok(truth)
            }
            Pred::Not(p) => Ok(p.test(row, rt)?.map(|truth| !truth)),
            Pred::IsNull(e, negated) => {
                let mut scratch = Value::Null;
                Ok(Some(e.eval_ref(row, rt, &mut scratch)?.is_null() != *negated))
            }
            Pred::Like(l) => l.test(row, rt),
            Pred::InList(l) => l.test(row, rt),
            Pred::Exists(s) => rt.exists(s, row).map(Some),
            Pred::Quantified(q) => rt.quantified(q, row),
        }
    }

    /// Whether the condition is true (unknown is not).
    #[inline]
    pub fn is_true(&self, row: &[Value], rt: &mut dyn Env) -> Result<bool, SqlError> {
        Ok(self.test(row, rt)? == Some(true))
    }
}
