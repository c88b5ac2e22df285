//! What one run of a statement keeps, and hands to its operators and expressions at each call.

use std::any::Any;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use expr::{Env, QuantifiedExpr, SubRef};
use types::{SqlError, Value};

use super::memory::MemoryGrant;
use super::subquery::SubState;
use crate::exec::context::ExecCtx;
use crate::query::Needs;
use crate::query::nodes::Plan;
use crate::session::SessionCore;

/// What one run of a statement keeps: variables and session, parameters of inner plans, results of subqueries that
/// need no second run, snapshots, memory in use.
pub struct Rt<'r, 's> {
    ctx: &'r mut ExecCtx<'s>,
    params: Vec<Value>,
    /// Plans of the statement's subqueries, and what is kept of their results.
    pub(super) subqueries: &'r [Arc<Plan>],
    pub(super) subs: Vec<SubState>,
    /// Nanoseconds since 1970 when the statement first asked for the time.
    clock: Option<i128>,
    /// Values of RAND(), by the number of the call.
    once: Vec<Option<f64>>,
    /// Memory of sorts, hashes and the like.
    pub(crate) memory: MemoryGrant,
}

impl<'r, 's> Rt<'r, 's> {
    /// For a statement's run.
    pub fn new(ctx: &'r mut ExecCtx<'s>, needs: &'r Needs) -> Rt<'r, 's> {
        Rt {
            ctx,
            params: Vec::new(),
            subqueries: &needs.subqueries,
            subs: Vec::new(),
            clock: None,
            once: Vec::new(),
            memory: MemoryGrant::default(),
        }
    }

    /// The session.
    #[inline]
    pub fn session(&mut self) -> &mut SessionCore {
        self.ctx.session
    }

    /// Sets a variable.
    pub fn set_var(&mut self, slot: usize, value: Value) {
        if let Some(place) = self.ctx.vars.get_mut(slot) {
            *place = value;
        }
    }

    /// All variables.
    pub fn vars_mut(&mut self) -> &mut [Value] {
        self.ctx.vars
    }

    /// Sets a parameter for an inner plan.
    #[inline]
    pub fn set_param(&mut self, slot: usize, value: Value) {
        if self.params.len() <= slot {
            self.params.resize(slot + 1, Value::Null);
        }
        self.params[slot] = value;
    }

    /// Error when the session was told to stop; called once per page or batch.
    #[inline]
    pub fn check_cancel(&self) -> Result<(), SqlError> {
        self.ctx.session.check_cancel()
    }
}

impl Env for Rt<'_, '_> {
    fn var(&self, slot: usize) -> Value {
        self.ctx.vars.get(slot).cloned().unwrap_or(Value::Null)
    }

    fn param(&self, slot: usize) -> Value {
        self.params.get(slot).cloned().unwrap_or(Value::Null)
    }

    fn clock(&mut self) -> i128 {
        *self.clock.get_or_insert_with(|| {
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128
        })
    }

    fn once(&mut self, call: usize, make: fn() -> f64) -> f64 {
        if self.once.len() <= call {
            self.once.resize(call + 1, None);
        }
        *self.once[call].get_or_insert_with(make)
    }

    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Ok(self.ctx.session.options.datefirst)
    }

    fn check_cancel(&self) -> Result<(), SqlError> {
        self.ctx.session.check_cancel()
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.memory.reserve(bytes)
    }

    fn check_memory(&self, bytes: usize) -> Result<(), SqlError> {
        self.memory.check(bytes)
    }

    fn host(&mut self) -> Option<&mut dyn Any> {
        Some(self.ctx.session)
    }

    fn scalar(&mut self, sub: &SubRef, row: &[Value]) -> Result<Value, SqlError> {
        self.run_scalar(sub, row)
    }

    fn exists(&mut self, sub: &SubRef, row: &[Value]) -> Result<bool, SqlError> {
        self.run_exists(sub, row)
    }

    fn quantified(&mut self, test: &QuantifiedExpr, row: &[Value]) -> Result<Option<bool>, SqlError> {
        self.run_quantified(test, row)
    }
}
