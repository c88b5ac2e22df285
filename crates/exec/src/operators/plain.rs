//! What plain expressions ask for (`Expr::is_plain`): variables, and nothing else.

use expr::random::Random;
use expr::{Env, QuantifiedExpr, SubRef};
use std::any::Any;
use types::{Dialect, SqlError, Value};

/// The variables of a batch.
#[derive(Clone, Copy)]
pub struct PlainVars<'a>(pub &'a [Value]);

#[cold]
fn not_plain() -> SqlError {
    SqlError::internal("a plain expression asked for more than variables")
}

impl Env for PlainVars<'_> {
    #[inline]
    fn var(&self, slot: usize) -> Value {
        self.0.get(slot).cloned().unwrap_or(Value::Null)
    }

    #[inline]
    fn var_ref(&self, slot: usize) -> Option<&Value> {
        self.0.get(slot)
    }

    fn param(&self, _: usize) -> Value {
        debug_assert!(false, "a plain expression has no parameters");
        Value::Null
    }

    fn clock(&mut self) -> i128 {
        debug_assert!(false, "a plain expression asks for no time");
        0
    }

    fn once(&mut self, _: usize) -> Result<f64, SqlError> {
        Err(not_plain())
    }

    fn random(&mut self) -> Result<&mut Random, SqlError> {
        Err(not_plain())
    }

    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Err(not_plain())
    }

    fn call(&mut self, _: &dyn expr::Routine, _: Vec<Value>) -> Result<Value, SqlError> {
        Err(not_plain())
    }

    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        Err(not_plain())
    }

    fn warn(&mut self, _: SqlError) -> Result<(), SqlError> {
        Err(not_plain())
    }

    fn check_cancel(&self) -> Result<(), SqlError> {
        Ok(())
    }

    fn reserve(&mut self, _: usize) -> Result<(), SqlError> {
        Err(not_plain())
    }

    /// Of what is made of large values nothing is large: `Expr::is_plain`.
    fn hold(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn release(&mut self, _: usize) {}

    fn host(&mut self) -> Option<&mut dyn Any> {
        None
    }

    fn scalar(&mut self, _: &SubRef, _: &[Value]) -> Result<Value, SqlError> {
        Err(not_plain())
    }

    fn exists(&mut self, _: &SubRef, _: &[Value]) -> Result<bool, SqlError> {
        Err(not_plain())
    }

    fn quantified(&mut self, _: &QuantifiedExpr, _: &[Value]) -> Result<Option<bool>, SqlError> {
        Err(not_plain())
    }
}
