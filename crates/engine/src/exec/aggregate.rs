//! Hash aggregation and DISTINCT: groups in memory, in the order in which they were met.

use super::{BATCH, Operator, RowSet};
use crate::exec::rt::Rt;
use expr::aggregate::{Accumulator, Aggregate};
use expr::key::{KeyMap, KeySet, encode};
use plan::nodes::AggregatePlan;
use types::{Collation, SqlError, Value};

struct Group {
    keys: Vec<Value>,
    states: Vec<Accumulator>,
}

/// The aggregation.
pub struct HashAggregate<'p> {
    pub input: Box<dyn Operator + 'p>,
    pub plan: &'p AggregatePlan,
    groups: Option<std::vec::IntoIter<Group>>,
}

impl<'p> HashAggregate<'p> {
    /// Over an input.
    pub fn new(input: Box<dyn Operator + 'p>, plan: &'p AggregatePlan) -> HashAggregate<'p> {
        HashAggregate { input, plan, groups: None }
    }

    fn group(&self, keys: Vec<Value>) -> Group {
        Group { keys, states: self.plan.aggregates.iter().map(Aggregate::start).collect() }
    }

    fn fill(&mut self, rt: &mut Rt<'_, '_>) -> Result<Vec<Group>, SqlError> {
        let mut groups: Vec<Group> = Vec::new();
        if self.plan.scalar {
            groups.push(self.group(Vec::new()));
        }
        let mut index: KeyMap<usize> = KeyMap::default();
        let mut batch = RowSet::default();
        let mut key = Vec::new();
        let mut values = Vec::new();
        while self.input.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let row = batch.row(i);
                let mut at = 0;
                if !self.plan.keys.is_empty() {
                    key.clear();
                    values.clear();
                    for (e, collation) in &self.plan.keys {
                        let value = e.eval(row, rt)?;
                        encode(&value, *collation, &mut key);
                        values.push(value);
                    }
                    at = match index.get(key.as_slice()) {
                        Some(at) => *at,
                        None => {
                            rt.memory.reserve(super::memory::row_bytes(&values) + key.len() + 96)?;
                            groups.push(self.group(std::mem::take(&mut values)));
                            index.insert(key.clone(), groups.len() - 1);
                            groups.len() - 1
                        }
                    };
                }
                for (aggregate, state) in self.plan.aggregates.iter().zip(&mut groups[at].states) {
                    aggregate.update(state, row, rt)?;
                }
            }
        }
        Ok(groups)
    }
}

impl Operator for HashAggregate<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.plan.keys.len() + self.plan.aggregates.len());
        if self.groups.is_none() {
            self.groups = Some(self.fill(rt)?.into_iter());
        }
        let Some(groups) = &mut self.groups else { return Ok(false) };
        for group in groups.by_ref().take(BATCH) {
            let row = out.push_row();
            let width = group.keys.len();
            for (place, value) in row.iter_mut().zip(group.keys) {
                *place = value;
            }
            for ((place, aggregate), state) in
                row[width..].iter_mut().zip(&self.plan.aggregates).zip(group.states)
            {
                *place = aggregate.finish(state)?;
            }
        }
        Ok(!out.is_empty())
    }
}

/// Rows that differ, the first of each kept.
pub struct Distinct<'p> {
    pub input: Box<dyn Operator + 'p>,
    /// Collation per slot.
    pub collations: &'p [Collation],
    pub seen: KeySet,
    pub batch: RowSet,
}

impl Operator for Distinct<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let mut key = Vec::new();
        loop {
            out.reset(self.collations.len());
            if !self.input.next(rt, &mut self.batch)? {
                return Ok(false);
            }
            for i in 0..self.batch.len() {
                key.clear();
                for (value, collation) in self.batch.row(i).iter().zip(self.collations) {
                    encode(value, *collation, &mut key);
                }
                if !self.seen.contains(key.as_slice()) {
                    rt.memory.reserve(key.len() + 48)?;
                    self.seen.insert(key.clone());
                    out.push(self.batch.row(i));
                }
            }
            if !out.is_empty() {
                return Ok(true);
            }
            rt.check_cancel()?;
        }
    }
}
