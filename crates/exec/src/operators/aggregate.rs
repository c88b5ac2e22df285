//! Hash aggregation. Groups are kept in memory in the order in which they were met. When there is
//! no memory for more of them, rows of other groups go to disk by parts of their keys' hashes and
//! are aggregated part by part after the groups in memory are done. States that grow with their
//! rows (DISTINCT, STRING_AGG) stop growing then: all further rows go to disk, and the groups in
//! memory go on with those of their part. Guarantee: a group's rows reach its states in their
//! order. Error 701 only when the states of the groups of one part do not fit that cannot be split
//! further.

use super::groups::{Finished, Groups};
use super::hash::key::{Key, KeyParts, Keys};
use super::hash::rows::{Place, unpack};
use super::partition::{LEVELS, Part, PartReader, Partitions};
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::aggregate::{Accumulator, AggKind, Aggregate};
use plan::nodes::{AggregatePlan, Node, Plan};
use session::query_memory::Share;
use types::{SqlError, Value, pack_row};

/// The aggregation.
pub struct HashAggregate {
    input: Box<dyn Operator>,
    share: Option<Share>,
    started: bool,
    tasks: Vec<Task>,
    finished: Finished,
    /// Some row has come out, or all that there are.
    given: bool,
}

/// Rows on disk, the groups that they go on with, which part of a hash they share.
struct Task {
    part: Part,
    groups: Groups,
    level: u32,
}

/// Where rows come from.
enum Source<'a> {
    Input(&'a mut dyn Operator, &'a Plan),
    Part(PartReader, usize),
}

impl Source<'_> {
    /// The next rows, and their keys.
    fn next(
        &mut self,
        parts: &KeyParts<'_>,
        rt: &mut Rt<'_, '_>,
        batch: &mut RowSet,
        keys: &mut Keys,
    ) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        match self {
            Source::Input(input, plan) => {
                let more = input.next(plan, rt, batch)?;
                if more {
                    keys.fill(parts, batch, rt)?;
                }
                Ok(more)
            }
            Source::Part(reader, width) => {
                batch.reset(*width);
                keys.clear();
                while !batch.is_full() && reader.advance()? {
                    let (key, row) = reader.row();
                    keys.push(key);
                    unpack(row, batch.push_row())?;
                }
                Ok(!batch.is_empty())
            }
        }
    }
}

/// One pass over a source.
struct Pass<'a> {
    plan: &'a AggregatePlan,
    growing: bool,
    level: u32,
    groups: Groups,
    /// Rows that went to disk.
    parts: Option<Partitions>,
    values: Vec<Value>,
    packed: Vec<u8>,
}

impl Pass<'_> {
    /// A row of a group that was found, or of a new one.
    fn row(
        &mut self,
        found: Place,
        key: Key<'_>,
        row: &[Value],
        share: &mut Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let frozen = self.parts.is_some() && self.growing;
        // A new group may have been added since the batch was looked up.
        let found = if found == Place::NONE { self.groups.find(&key) } else { found };
        let number = if frozen {
            None
        } else if found != Place::NONE {
            Some(self.groups.number(found))
        } else if self.parts.is_some() {
            None
        } else {
            self.values.clear();
            for (e, _) in &self.plan.keys {
                self.values.push(e.eval(row, rt)?);
            }
            // Parts of growing states that cannot be split further have to be held.
            let forced = self.growing && self.level >= LEVELS;
            self.groups.add(key, &self.values, &self.plan.aggregates, share, forced)
        };
        let Some(number) = number else { return self.put_on_disk(key, row, share, rt) };
        let states = self.groups.states(number, self.plan.aggregates.len());
        let grown = update(&self.plan.aggregates, states, row, self.growing, rt)?;
        if grown > 0 {
            self.groups.grow(number, grown);
            if !share.take(grown) {
                share.force(grown);
                if self.level < LEVELS && self.parts.is_none() {
                    self.parts = Some(self.open_parts(share, rt)?);
                }
            }
        }
        Ok(())
    }

    fn open_parts(&self, share: &Share, rt: &mut Rt<'_, '_>) -> Result<Partitions, SqlError> {
        Partitions::new(rt.session().host().run_files(), share, self.level)
    }

    fn put_on_disk(
        &mut self,
        key: Key<'_>,
        row: &[Value],
        share: &Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let parts = match self.parts.take() {
            Some(parts) => parts,
            None => self.open_parts(share, rt)?,
        };
        self.packed.clear();
        pack_row(row, &mut self.packed);
        self.parts.insert(parts).push(Some(key), &self.packed)
    }
}

/// Takes a row into states; bytes that they have grown by.
#[inline]
fn update(
    aggregates: &[Aggregate],
    states: &mut [Accumulator],
    row: &[Value],
    growing: bool,
    rt: &mut Rt<'_, '_>,
) -> Result<usize, SqlError> {
    let before = if growing { rt.state.memory.used() } else { 0 };
    for (aggregate, state) in aggregates.iter().zip(states) {
        aggregate.update(state, row, rt)?;
    }
    if !growing {
        return Ok(0);
    }
    // What the states took of the statement's memory belongs to the operator.
    let grown = rt.state.memory.used() - before;
    rt.state.memory.release(grown);
    Ok(grown)
}

/// Whether states grow with their rows.
fn grows(aggregate: &Aggregate) -> bool {
    aggregate.distinct || aggregate.kind == AggKind::StringAgg || aggregate.kind.is_percentile()
}

impl HashAggregate {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> HashAggregate {
        HashAggregate {
            input,
            share: None,
            started: false,
            tasks: Vec::new(),
            finished: Finished::default(),
            given: false,
        }
    }

    /// Without GROUP BY: the one row.
    fn scalar(
        &mut self,
        (input, plan): (&Plan, &AggregatePlan),
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let aggregates = &plan.aggregates;
        let mut states: Vec<_> = aggregates.iter().map(Aggregate::start).collect();
        let (mut batch, mut any) = (RowSet::default(), plan.scalar);
        while self.input.next(input, rt, &mut batch)? {
            rt.check_cancel()?;
            any |= !batch.is_empty();
            for i in 0..batch.len() {
                for (aggregate, state) in aggregates.iter().zip(&mut states) {
                    aggregate.update(state, batch.row(i), rt)?;
                }
            }
        }
        if any {
            for ((place, aggregate), state) in out.push_row().iter_mut().zip(aggregates).zip(states)
            {
                *place = aggregate.finish(state)?;
            }
        }
        Ok(())
    }

    /// Takes all rows of the input, or of a task, into groups and to disk.
    fn pass(
        &mut self,
        (input, plan): (&Plan, &AggregatePlan),
        task: Option<Task>,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let growing = plan.aggregates.iter().any(grows);
        let parts = KeyParts::of(plan.keys.iter().map(|(e, c)| (e, *c)), true);
        let share = match &mut self.share {
            Some(share) => share,
            none => none.insert(rt.share()),
        };
        let (mut source, groups, level) = match task {
            None => (Source::Input(self.input.as_mut(), input), Groups::default(), 0),
            Some(task) => (Source::Part(task.part.read(), input.width()), task.groups, task.level),
        };
        let (values, packed) = (Vec::new(), Vec::new());
        let mut pass = Pass { plan, growing, level, groups, parts: None, values, packed };
        let (mut batch, mut keys, mut found) = (RowSet::default(), Keys::default(), Vec::new());
        while source.next(&parts, rt, &mut batch, &mut keys)? {
            pass.groups.find_all(&keys, &mut found);
            for (i, place) in found.iter().enumerate() {
                if let Some(key) = keys.get(i) {
                    pass.row(*place, key, batch.row(i), share, rt)?;
                }
            }
        }
        let Pass { groups, parts, .. } = pass;
        let Some(parts) = parts else {
            self.finished = groups.finish();
            return Ok(());
        };
        let parts = parts.finish()?;
        let next = level + 1;
        if growing {
            let split = groups.split(level, plan.aggregates.len(), share);
            let tasks = parts.into_iter().zip(split).map(|(part, groups)| Task {
                part,
                groups,
                level: next,
            });
            self.tasks.extend(tasks.filter(|task| task.part.rows > 0 || task.groups.len() > 0));
        } else {
            let task = |part| Task { part, groups: Groups::default(), level: next };
            self.tasks.extend(parts.into_iter().filter(|part| part.rows > 0).map(task));
            self.finished = groups.finish();
        }
        Ok(())
    }
}

impl Operator for HashAggregate {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Aggregate { input, plan } = &plan.node else { return Err(other_node()) };
        let keys = plan.keys.len();
        out.reset(keys + plan.aggregates.len());
        if !std::mem::replace(&mut self.started, true) {
            if keys == 0 {
                self.scalar((input, plan), rt, out)?;
            } else {
                self.pass((input, plan), None, rt)?;
            }
        }
        while !out.is_full() {
            if self.finished.next(keys, &plan.aggregates, out.push_row())? {
                continue;
            }
            out.pop_row();
            if let Some(share) = &mut self.share {
                self.finished.clear(share);
            }
            match self.tasks.pop() {
                Some(task) => self.pass((input, plan), Some(task), rt)?,
                None => {
                    self.share = None;
                    break;
                }
            }
        }
        if out.is_empty() && !std::mem::replace(&mut self.given, true) {
            totals(plan, out)?;
        }
        self.given = true;
        Ok(!out.is_empty())
    }
}

/// The rows of the grouping sets without keys, of no input.
fn totals(plan: &AggregatePlan, out: &mut RowSet) -> Result<(), SqlError> {
    for &number in &plan.totals {
        let row = out.push_row();
        let (keys, values) = row.split_at_mut(plan.keys.len());
        keys.fill(Value::Null);
        if let Some(last) = keys.last_mut() {
            *last = Value::Int(number);
        }
        for (place, aggregate) in values.iter_mut().zip(&plan.aggregates) {
            *place = aggregate.finish(aggregate.start())?;
        }
    }
    Ok(())
}
