//! Executions become uses of indexes, and what the Query Store of their database is told: of each
//! plan that is kept when somebody asks, of a plan before a statement is bound to another one, of a
//! batch when it goes. So an execution costs nothing more than the count that it has anyway.
//! Guarantee: each execution that has come to its end is added once, to the indexes of the plan
//! that the statement had, or has where another session has bound it again meanwhile.

use std::time::{SystemTime, UNIX_EPOCH};

use catalog::Db;
use catalog::query_store::{Executions, QueryKey, QueryReport};
use exec::uses::PlanUses;

use super::cache::BatchCache;
use super::compiled::{BoundOperation, CompiledBatch};
use super::counts::Count;
use super::program::Op;
use super::shown_plan;
use super::statement_text::{hash_of, offsets, query_hash};

impl BoundOperation {
    fn uses(&self) -> Option<PlanUses> {
        match self {
            BoundOperation::Query(plan) => Some(PlanUses::of_query(plan)),
            BoundOperation::Dml(plan) => Some(plan.uses()),
            BoundOperation::Cursor(plan) => Some(PlanUses::of_query(&plan.query)),
            BoundOperation::Assign { .. }
            | BoundOperation::Condition(_)
            | BoundOperation::Scalars(_)
            | BoundOperation::Call(_)
            | BoundOperation::Into(_) => None,
        }
    }

    /// Expressions count for themselves.
    fn settle(&self) {
        match self {
            BoundOperation::Assign { value, .. } => value.settle(),
            BoundOperation::Condition(condition) => condition.settle(),
            BoundOperation::Scalars(scalars) => scalars.iter().for_each(|scalar| scalar.settle()),
            BoundOperation::Call(call) => call.arguments.iter().for_each(|scalar| scalar.settle()),
            BoundOperation::Query(_)
            | BoundOperation::Dml(_)
            | BoundOperation::Cursor(_)
            | BoundOperation::Into(_) => {}
        }
    }

    /// It was made: the indexes that it would have liked to have.
    pub fn compiled(&self) {
        if let BoundOperation::Query(_) | BoundOperation::Dml(_) | BoundOperation::Cursor(_) = self
            && let Some(uses) = self.uses()
        {
            uses.missing.iter().for_each(|missing| missing.compiled());
        }
    }
}

/// Now, in microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

impl CompiledBatch {
    /// The number of the query or change that an operation is.
    pub fn statement_at(&self, at: usize) -> Option<usize> {
        match self.program.ops.get(at) {
            Some(Op::Stmt(number)) => Some(*number as usize),
            _ => None,
        }
    }

    /// What a session has counted was done by the plan that the statement has: it is going to lose
    /// it.
    pub fn settle_count(&self, at: usize, bound: &BoundOperation, count: &Count) {
        self.settle_until(at, bound, count, None);
    }

    fn settle_until(&self, at: usize, bound: &BoundOperation, count: &Count, until: Option<u64>) {
        let Some(executions) = count.unsettled() else { return };
        if let Some(uses) = bound.uses() {
            uses.ran(executions.times);
        }
        if let Some(db) = self.counts.home()
            && db.query_store().notes()
        {
            self.tell(&db, at, bound, &executions, until.unwrap_or_else(now));
        }
    }

    /// Tells the Query Store.
    fn tell(&self, db: &Db, at: usize, bound: &BoundOperation, executions: &Executions, now: u64) {
        let Some(stmt) = self.statement_at(at).and_then(|number| self.program.stmts.get(number))
        else {
            return;
        };
        let (from, to) = (stmt.span.start as usize, stmt.span.end as usize);
        let Some(shown) = shown_plan::of_bound(self, stmt, bound) else { return };
        let Some(text) = self.text.get(from..to) else { return };
        let text = text.trim_end_matches([';', ' ', '\r', '\n', '\t']);
        let simple = self.parameters > 0 && self.program.vars.find("@1").is_ok();
        let parameterized = match (self.object_id, self.parameters) {
            (0, 1..) => 1 + u8::from(simple),
            _ => 0,
        };
        let since = self.counts.created.duration_since(UNIX_EPOCH).unwrap_or_default();
        let settings = db.settings();
        let told = QueryReport {
            key: QueryKey { text: text.into(), object_id: self.object_id, parameterized },
            hash: query_hash(text),
            batch: session::state::activity::handle(&self.text).to_vec(),
            offsets: offsets(&self.text, from, to),
            compiled: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            plan_hash: hash_of(shown_plan::lines(&shown)),
            plan: &|| shown.xml(at, None).unwrap_or_default(),
            trivial: bound.reads_points(),
            level: settings.compatibility_level,
        };
        db.query_store().add(&settings.query_store, told, executions, now);
    }

    /// What all sessions have counted of it.
    fn settle(&self, until: Option<u64>) {
        let bound = self.bound.lock().clone();
        for (at, bound) in bound.iter().enumerate() {
            let Some((_, bound)) = bound else { continue };
            bound.settle();
            if let Some(number) = self.statement_at(at) {
                self.counts.each(number, |count| self.settle_until(at, bound, count, until));
            }
        }
    }
}

impl Drop for CompiledBatch {
    fn drop(&mut self) {
        self.settle(None);
    }
}

/// What has run is known up to this moment.
pub fn settle(cache: &BatchCache) {
    cache.plans().iter().for_each(|plan| plan.batch.settle(None));
}

/// As [`settle`], for an interval that ends with this moment, in microseconds since 1970, which was
/// just now.
pub fn settle_until(cache: &BatchCache, moment: u64) {
    cache.plans().iter().for_each(|plan| plan.batch.settle(Some(moment)));
}
