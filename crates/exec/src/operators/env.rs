//! What the expressions of a statement ask of its run.

use std::any::Any;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use expr::random::Random;
use expr::{Env, KeptList, Parsed, QuantifiedExpr, Routine, SubRef};
use types::{Dialect, SqlError, Value};

use super::rt::Rt;

impl Env for Rt<'_, '_> {
    fn var(&self, slot: usize) -> Value {
        self.ctx.vars.get(slot).cloned().unwrap_or(Value::Null)
    }

    #[inline]
    fn var_ref(&self, slot: usize) -> Option<&Value> {
        self.ctx.vars.get(slot)
    }

    fn param(&self, slot: usize) -> Value {
        self.state.params.get(slot).cloned().unwrap_or(Value::Null)
    }

    fn clock(&mut self) -> i128 {
        *self.state.clock.get_or_insert_with(|| {
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128
        })
    }

    fn once(&mut self, call: usize) -> Result<f64, SqlError> {
        if self.state.once.len() <= call {
            self.state.once.resize(call + 1, None);
        }
        Ok(*self.state.once[call].get_or_insert_with(|| self.ctx.session.objects.random.draw()))
    }

    fn random(&mut self) -> Result<&mut Random, SqlError> {
        Ok(&mut self.ctx.session.objects.random)
    }

    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Ok(self.ctx.session.options.datefirst)
    }

    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        Ok(self.ctx.session.options.dialect)
    }

    fn warn(&mut self, warning: SqlError) -> Result<(), SqlError> {
        if !self.ctx.session.options.arithignore {
            self.ctx.session.note(warning);
        }
        Ok(())
    }

    fn check_cancel(&self) -> Result<(), SqlError> {
        self.ctx.session.check_cancel()
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        Rt::reserve(self, bytes)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.ctx.session.memory.values.take(bytes).map_err(|_| catalog::errors::out_of_memory())
    }

    fn release(&mut self, bytes: usize) {
        self.ctx.session.memory.values.give(bytes);
    }

    fn document(&self) -> Option<&Arc<Parsed>> {
        self.ctx.session.memory.document()
    }

    fn keep_document(&mut self, parsed: &Arc<Parsed>) {
        self.ctx.session.memory.keep_document(parsed);
    }

    fn list(&mut self, number: usize) -> Option<&mut KeptList> {
        Some(self.kept_list(number))
    }

    fn host(&mut self) -> Option<&mut dyn Any> {
        Some(self.ctx.session)
    }

    fn call(&mut self, routine: &dyn Routine, args: Vec<Value>) -> Result<Value, SqlError> {
        self.ctx.session.call_function(routine, args, &mut super::routine::NoRows)
    }

    fn scalar(&mut self, sub: &SubRef, row: &[Value]) -> Result<Value, SqlError> {
        self.run_scalar(sub, row)
    }

    fn exists(&mut self, sub: &SubRef, row: &[Value]) -> Result<bool, SqlError> {
        self.run_exists(sub, row)
    }

    fn quantified(
        &mut self,
        test: &QuantifiedExpr,
        row: &[Value],
    ) -> Result<Option<bool>, SqlError> {
        self.run_quantified(test, row)
    }
}
