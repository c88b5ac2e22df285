//! Aggregation and DISTINCT over rows whose groups come one after another: an index gives them so.
//! Guarantee: nothing is kept but the present group, so that neither needs memory or a run file
//! however many groups there are; groups come out in the order of the input.

use super::hash::key::{Key, KeyParts, Keys};
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::aggregate::{Accumulator, Aggregate};
use plan::nodes::{AggregatePlan, Node, Plan};
use types::{SqlError, Value};

/// The key of the group at hand.
#[derive(Default)]
struct CurrentGroup {
    /// There is one.
    there: bool,
    word: u64,
    bytes: Vec<u8>,
}

impl CurrentGroup {
    fn is(&self, key: Key<'_>) -> bool {
        // An integer has no bytes. To compare none with none is dear: the comparison of the C
        // library reads ahead, and an empty list lies at no address of the process.
        let same = || self.bytes.is_empty() || self.bytes == key.bytes;
        self.there && self.word == key.word && self.bytes.len() == key.bytes.len() && same()
    }

    fn set(&mut self, key: Key<'_>) {
        (self.there, self.word) = (true, key.word);
        self.bytes.clear();
        self.bytes.extend_from_slice(key.bytes);
    }
}

/// GROUP BY.
pub struct StreamAggregate {
    input: Box<dyn Operator>,
    batch: RowSet,
    keys: Keys,
    at: usize,
    current: CurrentGroup,
    values: Vec<Value>,
    states: Vec<Accumulator>,
    /// Bytes of the statement's memory that the states have taken.
    grown: usize,
    ended: bool,
}

impl StreamAggregate {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> StreamAggregate {
        StreamAggregate {
            input,
            batch: RowSet::default(),
            keys: Keys::default(),
            at: 0,
            current: CurrentGroup::default(),
            values: Vec::new(),
            states: Vec::new(),
            grown: 0,
            ended: false,
        }
    }

    /// Goes to the next batch of the input; false at its end.
    fn read(
        &mut self,
        input: &Plan,
        plan: &AggregatePlan,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        self.at = 0;
        if !self.input.next(input, rt, &mut self.batch)? {
            self.batch.truncate(0);
            return Ok(false);
        }
        let parts = KeyParts::of(plan.keys.iter().map(|(e, c)| (e, *c)), true);
        self.keys.fill(&parts, &self.batch, rt)?;
        Ok(true)
    }

    /// Takes the rows of the batch that belong to the group at hand; false when that leaves none.
    fn take(&mut self, plan: &AggregatePlan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        let before = rt.state.memory.used();
        while self.at < self.batch.len()
            && self.keys.get(self.at).is_some_and(|key| self.current.is(key))
        {
            for (aggregate, state) in plan.aggregates.iter().zip(&mut self.states) {
                aggregate.update(state, self.batch.row(self.at), rt)?;
            }
            self.at += 1;
        }
        self.grown += rt.state.memory.used() - before;
        Ok(self.at < self.batch.len())
    }

    /// Begins the group of the row at hand.
    fn begin(&mut self, plan: &AggregatePlan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let row = self.batch.row(self.at);
        if let Some(key) = self.keys.get(self.at) {
            self.current.set(key);
        }
        self.values.clear();
        for (e, _) in &plan.keys {
            self.values.push(e.eval(row, rt)?);
        }
        self.states.extend(plan.aggregates.iter().map(Aggregate::start));
        Ok(())
    }

    /// Gives the group at hand, if there is one.
    fn end(
        &mut self,
        plan: &AggregatePlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        if !std::mem::take(&mut self.current.there) {
            return Ok(());
        }
        let (values, results) = out.push_row().split_at_mut(plan.keys.len());
        values.swap_with_slice(&mut self.values);
        let states = self.states.drain(..);
        let finished = results.iter_mut().zip(&plan.aggregates).zip(states).try_for_each(
            |((place, aggregate), state)| {
                *place = aggregate.finish(state)?;
                Ok(())
            },
        );
        out.or_pop(finished)?;
        rt.state.memory.release(std::mem::take(&mut self.grown));
        Ok(())
    }
}

impl Operator for StreamAggregate {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Aggregate { input, plan } = &plan.node else { return Err(other_node()) };
        out.reset(plan.keys.len() + plan.aggregates.len());
        while !out.is_full() && !self.ended {
            if self.take(plan, rt)? {
                self.end(plan, rt, out)?;
                self.begin(plan, rt)?;
            } else if !self.read(input, plan, rt)? {
                self.end(plan, rt, out)?;
                self.ended = true;
            }
        }
        Ok(!out.is_empty())
    }
}

/// DISTINCT.
pub struct StreamDistinct {
    input: Box<dyn Operator>,
    batch: RowSet,
    keys: Keys,
    current: CurrentGroup,
}

impl StreamDistinct {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> StreamDistinct {
        StreamDistinct {
            input,
            batch: RowSet::default(),
            keys: Keys::default(),
            current: CurrentGroup::default(),
        }
    }
}

impl Operator for StreamDistinct {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Distinct { input, collations, .. } = &plan.node else { return Err(other_node()) };
        out.reset(plan.width());
        let parts = KeyParts::whole_row(collations);
        while out.is_empty() {
            rt.check_cancel()?;
            if !self.input.next(input, rt, &mut self.batch)? {
                return Ok(false);
            }
            self.keys.fill(&parts, &self.batch, rt)?;
            for i in 0..self.batch.len() {
                let Some(key) = self.keys.get(i) else { continue };
                if !self.current.is(key) {
                    self.current.set(key);
                    out.push_row().swap_with_slice(self.batch.row_mut(i));
                }
            }
        }
        Ok(true)
    }
}
