//! Hash join: the right input is kept in a hash table, the left one passes by. When the right rows do not fit the
//! memory, both inputs go to disk by parts of their keys' hashes and are joined part by part (`join_parts`).
//! Rows whose key has a NULL match nothing, except in EXCEPT and INTERSECT.

use super::hash::key::{KeyParts, Keys, part_of};
use super::hash::rows::Place;
use super::hash::table::HashTable;
use super::join_parts::{JoinParts, Joined};
use super::join_probe::{Probe, Shape};
use super::memory::Share;
use super::partition::{Part, Partitions};
use super::{BATCH, Operator, RowSet, other_node};
use crate::exec::rt::Rt;
use plan::logical::JoinKind;
use plan::nodes::{Node, Plan};
use types::{SqlError, Value, pack_row};

/// The operator.
pub struct HashJoin {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    probe: Probe,
    table: HashTable,
    share: Option<Share>,
    /// Bytes that it had when it went to disk.
    had: usize,
    stage: Stage,
}

enum Stage {
    Start,
    /// All right rows are in the table, the left ones pass by.
    Passing,
    /// The right rows are on disk, the left ones go there too.
    Parting {
        rights: Vec<Part>,
        lefts: Partitions,
    },
    /// Part by part.
    Parts(Box<JoinParts>),
    /// FULL JOIN, the left rows have passed: right rows that met none of them, from a place on.
    Rest(Place),
    Done,
}

/// The parts of the operator's node.
struct Sides<'a> {
    left: &'a Plan,
    right: &'a Plan,
    left_keys: KeyParts<'a>,
    right_keys: KeyParts<'a>,
    shape: Shape<'a>,
}

impl Sides<'_> {
    /// Of a hash join; of a set operation: left rows that are, or are not, among the right ones, NULL equal to NULL.
    fn of(plan: &Plan) -> Result<Sides<'_>, SqlError> {
        Ok(match &plan.node {
            Node::HashJoin { left, right, plan } => {
                let shape = Shape {
                    kind: plan.kind,
                    on: plan.residual.as_ref(),
                    left_width: plan.left_width,
                    right_width: plan.right_width,
                };
                let left_keys =
                    KeyParts::of(plan.left_keys.iter().zip(plan.collations.iter().copied()), false);
                let right_keys =
                    KeyParts::of(plan.right_keys.iter().zip(plan.collations.iter().copied()), false);
                Sides { left, right, left_keys, right_keys, shape }
            }
            Node::SetOp { left, right, except, collations } => {
                let kind = if *except { JoinKind::Anti } else { JoinKind::Semi };
                let width = collations.len();
                let shape = Shape { kind, on: None, left_width: width, right_width: width };
                let keys = || KeyParts::whole_row(collations);
                Sides { left, right, left_keys: keys(), right_keys: keys(), shape }
            }
            _ => return Err(other_node()),
        })
    }
}

impl HashJoin {
    /// Over two inputs.
    pub fn new(left: Box<dyn Operator>, right: Box<dyn Operator>) -> HashJoin {
        HashJoin {
            left,
            right,
            probe: Probe::default(),
            table: HashTable::default(),
            share: None,
            had: 0,
            stage: Stage::Start,
        }
    }

    /// Takes the right rows into the table or, when they do not fit, to disk.
    fn build(&mut self, sides: &Sides<'_>, rt: &mut Rt<'_, '_>) -> Result<Stage, SqlError> {
        let mut share = rt.share();
        let shape = sides.shape;
        let (mut batch, mut keys, mut packed) = (RowSet::default(), Keys::default(), Vec::new());
        let mut parts: Option<Partitions> = None;
        while self.right.next(sides.right, rt, &mut batch)? {
            rt.check_cancel()?;
            keys.fill(&sides.right_keys, &batch, rt)?;
            for i in 0..batch.len() {
                let key = keys.get(i);
                if key.is_none() && shape.kind != JoinKind::Full {
                    continue;
                }
                let row: &[Value] = if shape.keeps_rights() { batch.row(i) } else { &[] };
                if parts.is_none() && self.table.rows.push(key, row, &mut share).is_some() {
                    continue;
                }
                let parts = match &mut parts {
                    Some(parts) => parts,
                    none => none.insert(self.leave_memory(&mut share, rt)?),
                };
                packed.clear();
                pack_row(row, &mut packed);
                parts.push(key, &packed)?;
            }
        }
        if parts.is_none() && !self.table.link_all(self.table.rows.len(), &mut share, false) {
            parts = Some(self.leave_memory(&mut share, rt)?);
        }
        let stage = match parts {
            Some(parts) => {
                let rights = parts.finish()?;
                let lefts = Partitions::with_buffers(rt.session().instance(), share.sibling(), self.had, 0)?;
                Stage::Parting { rights, lefts }
            }
            None if self.table.rows.is_empty() && !shape.gives_lone_left() => Stage::Done,
            None => Stage::Passing,
        };
        self.share = Some(share);
        Ok(stage)
    }

    /// Puts the table's rows on disk.
    fn leave_memory(&mut self, share: &mut Share, rt: &mut Rt<'_, '_>) -> Result<Partitions, SqlError> {
        self.had = share.used();
        let mut parts = Partitions::new(rt.session().instance(), share, 0)?;
        for record in self.table.rows.iter() {
            parts.push(record.key, record.row)?;
        }
        self.table.clear(share);
        Ok(parts)
    }

    /// Left rows pass by the table; false when there are no more of them.
    fn pass(&mut self, sides: &Sides<'_>, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        while out.len() < BATCH {
            if !self.probe.batch.is_empty() {
                self.probe.run(sides.shape, &mut self.table, rt, out)?;
                continue;
            }
            rt.check_cancel()?;
            if !self.left.next(sides.left, rt, &mut self.probe.batch)? {
                self.probe.batch.truncate(0);
                return Ok(false);
            }
            self.probe.keys.fill(&sides.left_keys, &self.probe.batch, rt)?;
            self.probe.look_up(&self.table);
        }
        Ok(true)
    }

    /// A batch of left rows goes to disk, but for those that meet nothing; false when there are no more of them.
    fn part_lefts(
        &mut self,
        sides: &Sides<'_>,
        rights: &[Part],
        lefts: &mut Partitions,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        let Probe { batch, keys, .. } = &mut self.probe;
        if !self.left.next(sides.left, rt, batch)? {
            batch.truncate(0);
            return Ok(false);
        }
        keys.fill(&sides.left_keys, batch, rt)?;
        let mut packed = Vec::new();
        for i in 0..batch.len() {
            match keys.get(i) {
                Some(key) if rights[part_of(key.hash(), lefts.level())].rows > 0 => {
                    packed.clear();
                    pack_row(batch.row(i), &mut packed);
                    lefts.push(Some(key), &packed)?;
                }
                _ => sides.shape.end_left(batch.row_mut(i), false, out),
            }
        }
        batch.truncate(0);
        Ok(true)
    }

    /// Goes on from a stage; gives the next one.
    fn step(
        &mut self,
        sides: &Sides<'_>,
        stage: Stage,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Stage, SqlError> {
        let after_lefts = |table: &HashTable, kind| {
            if kind == JoinKind::Full { Stage::Rest(table.rows.first()) } else { Stage::Done }
        };
        Ok(match stage {
            Stage::Start => self.build(sides, rt)?,
            Stage::Passing if self.pass(sides, rt, out)? => Stage::Passing,
            Stage::Passing => after_lefts(&self.table, sides.shape.kind),
            Stage::Parting { rights, mut lefts } => {
                if self.part_lefts(sides, &rights, &mut lefts, rt, out)? {
                    Stage::Parting { rights, lefts }
                } else {
                    Stage::Parts(Box::new(JoinParts::new(rights, lefts.finish()?, sides.shape.kind)))
                }
            }
            Stage::Parts(mut parts) => {
                let Some(share) = &mut self.share else { return Ok(Stage::Done) };
                match parts.run(sides.shape, (&mut self.table, share), &mut self.probe, rt, out)? {
                    Joined::Some => Stage::Parts(parts),
                    Joined::All => Stage::Done,
                }
            }
            Stage::Rest(at) => match rest(&self.table, at, sides.shape, out)? {
                Place::NONE => Stage::Done,
                next => Stage::Rest(next),
            },
            Stage::Done => Stage::Done,
        })
    }
}

/// FULL JOIN, when the left rows have passed: right rows from a place on that met none of them. Gives the place to go on
/// from.
pub fn rest(table: &HashTable, mut at: Place, shape: Shape<'_>, out: &mut RowSet) -> Result<Place, SqlError> {
    while at != Place::NONE && out.len() < BATCH {
        if !table.rows.is_marked(at) {
            let (lefts, rights) = out.push_row().split_at_mut(shape.left_width);
            lefts.fill(Value::Null);
            table.rows.unpack(at, rights)?;
        }
        at = table.rows.after(at);
    }
    Ok(at)
}

impl Operator for HashJoin {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let sides = &Sides::of(plan)?;
        out.reset(sides.shape.width());
        while out.len() < BATCH {
            let stage = std::mem::replace(&mut self.stage, Stage::Done);
            self.stage = self.step(sides, stage, rt, out)?;
            if matches!(self.stage, Stage::Done) {
                if let Some(share) = &mut self.share {
                    self.table.clear(share);
                }
                self.share = None;
                break;
            }
        }
        Ok(!out.is_empty())
    }
}
