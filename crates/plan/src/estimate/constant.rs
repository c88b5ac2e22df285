//! The value that an expression without columns has when a plan is made: of what variables hold
//! then and of the moment, with what is computed of them. `d >= @day AND d < DATEADD(day, 1, @day)`
//! is estimated like a range between two constants. Guarantee: nothing is evaluated that reads a
//! table, has an effect or asks for the session; what cannot be computed is not known, and never an
//! error of the statement.

use expr::functions::Stability;
use expr::random::Random;
use expr::{Constant, Env, Expr, LikeExpr, QuantifiedExpr, Routine, SubRef};
use logical::tree::Get;
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use types::like::LikePattern;
use types::{Dialect, SqlError, Value};

/// Functions that tell the time of the statement: that of the plan is about the same.
const CLOCKS: [&str; 7] = [
    "getdate",
    "current_timestamp",
    "getutcdate",
    "sysdatetime",
    "sysutcdatetime",
    "sysdatetimeoffset",
    "current_date",
];

/// Nothing is computed of a longer value.
const LONGEST: usize = 8000;

/// The value of an expression that is the same for all rows, where it is known: a constant, the
/// value that a variable has when the plan is made, or what is made of them.
pub(super) fn constant(e: &Expr, get: &Get) -> Option<Value> {
    match e {
        Expr::Const(value) => Some(value.clone()),
        Expr::Var(slot) => get.values.get(*slot).filter(|value| !value.is_null()).cloned(),
        Expr::Convert(c) => {
            let value = constant(&c.operand, get)?;
            types::convert(&value, c.from, c.to, c.style, c.mode).ok()
        }
        _ if !is_computable(e) => None,
        _ => {
            let constant = Constant { dialect: Some(Dialect::DEFAULT) };
            let mut now = PlanningTime { values: &get.values, unknown: Cell::new(false), constant };
            let value = e.eval(&[], &mut now).ok()?;
            (!now.unknown.get() && !value.is_null()).then_some(value)
        }
    }
}

/// The pattern of LIKE, as far as it is known for which one the plan is made.
pub fn known_pattern(like: &LikeExpr, get: &Get) -> Option<Arc<LikePattern>> {
    if let Some(compiled) = &like.compiled {
        return Some(compiled.clone());
    }
    let pattern = constant(&like.pattern, get).filter(|pattern| pattern.heap_bytes() <= LONGEST)?;
    let escape = match &like.escape {
        None => None,
        Some(escape) => Some(constant(escape, get)?),
    };
    let read = match &escape {
        None => LikePattern::new(pattern.as_str()?, None),
        Some(escape) => LikePattern::new(pattern.as_str()?, Some(escape.as_str()?)),
    };
    read.ok().map(Arc::new)
}

/// Whether it is made of constants and variables by what has no effect and needs no session.
fn is_computable(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Var(_) => true,
        Expr::Convert(c) => is_computable(&c.operand),
        Expr::Binary(b) => is_computable(&b.left) && is_computable(&b.right),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => is_computable(e),
        Expr::Coalesce(list) => list.iter().all(is_computable),
        Expr::Call(call) => {
            let function = call.function;
            let free = function.stability == Stability::Pure || CLOCKS.contains(&function.name);
            free && call.args.iter().all(is_computable)
        }
        Expr::Deep(e) => stack::with_room(|| is_computable(e)),
        Expr::Param(_) | Expr::Col(_) | Expr::Case(_) | Expr::Routine(_) | Expr::Subquery(_) => {
            false
        }
    }
}

/// The run of an expression when a plan is made.
struct PlanningTime<'v> {
    values: &'v [Value],
    /// A variable was asked for of which no value is known, or one too large to compute with: it
    /// may be asked for many times while a plan is made.
    unknown: Cell<bool>,
    /// What there is not either for a constant.
    constant: Constant,
}

impl Env for PlanningTime<'_> {
    fn var(&self, slot: usize) -> Value {
        self.var_ref(slot).cloned().unwrap_or(Value::Null)
    }

    fn var_ref(&self, slot: usize) -> Option<&Value> {
        let known = |value: &&Value| !value.is_null() && value.heap_bytes() <= LONGEST;
        let value = self.values.get(slot).filter(known);
        if value.is_none() {
            self.unknown.set(true);
        }
        value
    }

    fn param(&self, _: usize) -> Value {
        self.unknown.set(true);
        Value::Null
    }

    fn clock(&mut self) -> i128 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128
    }

    fn once(&mut self, call: usize) -> Result<f64, SqlError> {
        self.constant.once(call)
    }

    fn random(&mut self) -> Result<&mut Random, SqlError> {
        self.constant.random()
    }

    fn datefirst(&mut self) -> Result<u8, SqlError> {
        self.constant.datefirst()
    }

    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        self.constant.dialect()
    }

    fn warn(&mut self, warning: SqlError) -> Result<(), SqlError> {
        self.constant.warn(warning)
    }

    fn check_cancel(&self) -> Result<(), SqlError> {
        self.constant.check_cancel()
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.constant.reserve(bytes)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.constant.hold(bytes)
    }

    fn release(&mut self, bytes: usize) {
        self.constant.release(bytes);
    }

    fn host(&mut self) -> Option<&mut dyn Any> {
        None
    }

    fn call(&mut self, routine: &dyn Routine, args: Vec<Value>) -> Result<Value, SqlError> {
        self.constant.call(routine, args)
    }

    fn scalar(&mut self, sub: &SubRef, row: &[Value]) -> Result<Value, SqlError> {
        self.constant.scalar(sub, row)
    }

    fn exists(&mut self, sub: &SubRef, row: &[Value]) -> Result<bool, SqlError> {
        self.constant.exists(sub, row)
    }

    fn quantified(
        &mut self,
        test: &QuantifiedExpr,
        row: &[Value],
    ) -> Result<Option<bool>, SqlError> {
        self.constant.quantified(test, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of documents in variables is not read again and again while a plan is made.
    #[test]
    fn large_values_are_not_computed_with() {
        let values = [Value::str("short"), Value::str("long".repeat(LONGEST)), Value::Null];
        for (slot, known) in [(0, true), (1, false), (2, false), (3, false)] {
            let (unknown, constant) = (Cell::new(false), Constant::default());
            let now = PlanningTime { values: &values, unknown, constant };
            assert_eq!(now.var_ref(slot).is_some(), known, "{slot}");
            assert_eq!(now.unknown.get(), !known, "{slot}");
        }
    }
}
