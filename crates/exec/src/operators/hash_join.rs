//! Hash join: one input, the build side, is kept in a hash table, the other one, the probe side,
//! passes by. The plan says which; for every kind of join it can be either. When the build rows do
//! not fit the memory, both inputs go to disk by parts of their keys' hashes and are joined part by
//! part (`join_parts`). Rows whose key has a NULL match nothing, except in EXCEPT and INTERSECT.

use super::hash::key::{KeyParts, Keys, part_of};
use super::hash::rows::Place;
use super::hash::table::HashTable;
use super::join_parts::{JoinParts, Joined};
use super::join_probe::{Probe, Shape};
use super::partition::{Part, Partitions};
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use logical::tree::JoinKind;
use plan::nodes::{Node, Plan};
use session::query_memory::Share;
use types::{SqlError, Value, pack_row};

/// The operator.
pub struct HashJoin {
    build_input: Box<dyn Operator>,
    probe_input: Box<dyn Operator>,
    probe: Probe,
    table: HashTable,
    share: Option<Share>,
    /// Bytes that it had when it went to disk.
    had: usize,
    stage: Stage,
}

enum Stage {
    Start,
    /// All build rows are in the table, the probe rows pass by.
    Passing,
    /// The build rows are on disk, the probe rows go there too.
    Parting {
        builds: Vec<Part>,
        probes: Partitions,
    },
    /// Part by part.
    Parts(Box<JoinParts>),
    /// The probe rows have passed: build rows that met none of them, from a place on.
    Rest(Place),
    Done,
}

/// The parts of the operator's node.
struct Sides<'a> {
    build: &'a Plan,
    probe: &'a Plan,
    build_keys: KeyParts<'a>,
    probe_keys: KeyParts<'a>,
    shape: Shape<'a>,
}

impl Sides<'_> {
    /// Of a hash join; of a set operation: left rows that are, or are not, among the right ones,
    /// NULL equal to NULL.
    fn of(plan: &Plan) -> Result<Sides<'_>, SqlError> {
        Ok(match &plan.node {
            Node::HashJoin { left, right, plan } => {
                let shape = Shape {
                    kind: plan.kind,
                    on: plan.residual.as_ref(),
                    left_width: plan.left_width,
                    right_width: plan.right_width,
                    builds_left: plan.builds_left,
                };
                let left_keys =
                    KeyParts::of(plan.left_keys.iter().zip(plan.collations.iter().copied()), false);
                let right_keys = KeyParts::of(
                    plan.right_keys.iter().zip(plan.collations.iter().copied()),
                    false,
                );
                if plan.builds_left {
                    Sides {
                        build: left,
                        probe: right,
                        build_keys: left_keys,
                        probe_keys: right_keys,
                        shape,
                    }
                } else {
                    Sides {
                        build: right,
                        probe: left,
                        build_keys: right_keys,
                        probe_keys: left_keys,
                        shape,
                    }
                }
            }
            Node::SetOp { left, right, except, collations } => {
                let kind = if *except { JoinKind::Anti } else { JoinKind::Semi };
                let width = collations.len();
                let shape = Shape {
                    kind,
                    on: None,
                    left_width: width,
                    right_width: width,
                    builds_left: false,
                };
                let keys = || KeyParts::whole_row(collations);
                Sides { build: right, probe: left, build_keys: keys(), probe_keys: keys(), shape }
            }
            _ => return Err(other_node()),
        })
    }
}

impl HashJoin {
    /// Over the inputs of the build side and the probe side.
    pub fn new(build_input: Box<dyn Operator>, probe_input: Box<dyn Operator>) -> HashJoin {
        HashJoin {
            build_input,
            probe_input,
            probe: Probe::default(),
            table: HashTable::default(),
            share: None,
            had: 0,
            stage: Stage::Start,
        }
    }

    /// Takes the build rows into the table or, when they do not fit, to disk.
    fn build(&mut self, sides: &Sides<'_>, rt: &mut Rt<'_, '_>) -> Result<Stage, SqlError> {
        let mut share = rt.share();
        let shape = sides.shape;
        let (mut batch, mut keys, mut packed) = (RowSet::default(), Keys::default(), Vec::new());
        let mut parts: Option<Partitions> = None;
        while self.build_input.next(sides.build, rt, &mut batch)? {
            rt.check_cancel()?;
            keys.fill(&sides.build_keys, &batch, rt)?;
            for i in 0..batch.len() {
                let key = keys.get(i);
                if key.is_none() && !shape.gives_lone_build() {
                    continue;
                }
                let row: &[Value] = if shape.keeps_rows() { batch.row(i) } else { &[] };
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
                let builds = parts.finish()?;
                let probes = Partitions::with_buffers(
                    rt.session().host().run_files(),
                    share.sibling(),
                    self.had,
                    0,
                )?;
                Stage::Parting { builds, probes }
            }
            None if self.table.rows.is_empty() && !shape.gives_lone_probe() => Stage::Done,
            None => Stage::Passing,
        };
        self.share = Some(share);
        Ok(stage)
    }

    /// Puts the table's rows on disk.
    fn leave_memory(
        &mut self,
        share: &mut Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Partitions, SqlError> {
        self.had = share.used();
        let mut parts = Partitions::new(rt.session().host().run_files(), share, 0)?;
        for record in self.table.rows.iter() {
            parts.push(record.key, record.row)?;
        }
        self.table.clear(share);
        Ok(parts)
    }

    /// Probe rows pass by the table; false when there are no more of them.
    fn pass(
        &mut self,
        sides: &Sides<'_>,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        while !out.is_full() {
            if !self.probe.batch.is_empty() {
                self.probe.run(sides.shape, &mut self.table, rt, out)?;
                continue;
            }
            rt.check_cancel()?;
            if !self.probe_input.next(sides.probe, rt, &mut self.probe.batch)? {
                self.probe.batch.truncate(0);
                return Ok(false);
            }
            self.probe.keys.fill(&sides.probe_keys, &self.probe.batch, rt)?;
            self.probe.look_up(&self.table);
        }
        Ok(true)
    }

    /// A batch of probe rows goes to disk, but for those that meet nothing; false when there are no
    /// more of them.
    fn part_probes(
        &mut self,
        sides: &Sides<'_>,
        builds: &[Part],
        probes: &mut Partitions,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        let Probe { batch, keys, .. } = &mut self.probe;
        if !self.probe_input.next(sides.probe, rt, batch)? {
            batch.truncate(0);
            return Ok(false);
        }
        keys.fill(&sides.probe_keys, batch, rt)?;
        let mut packed = Vec::new();
        for i in 0..batch.len() {
            match keys.get(i) {
                Some(key) if builds[part_of(key.hash(), probes.level())].rows > 0 => {
                    packed.clear();
                    pack_row(batch.row(i), &mut packed);
                    probes.push(Some(key), &packed)?;
                }
                _ => sides.shape.end_probe(batch.row_mut(i), false, out),
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
        Ok(match stage {
            Stage::Start => self.build(sides, rt)?,
            Stage::Passing if self.pass(sides, rt, out)? => Stage::Passing,
            Stage::Passing if sides.shape.gives_lone_build() => {
                Stage::Rest(self.table.rows.first())
            }
            Stage::Passing => Stage::Done,
            Stage::Parting { builds, mut probes } => {
                if self.part_probes(sides, &builds, &mut probes, rt, out)? {
                    Stage::Parting { builds, probes }
                } else {
                    Stage::Parts(Box::new(JoinParts::new(builds, probes.finish()?, sides.shape)))
                }
            }
            Stage::Parts(mut parts) => {
                let Some(share) = &mut self.share else { return Ok(Stage::Done) };
                match parts.run(sides.shape, (&mut self.table, share), &mut self.probe, rt, out)? {
                    Joined::Some => Stage::Parts(parts),
                    Joined::All => Stage::Done,
                }
            }
            Stage::Rest(at) => match sides.shape.lone_builds(&self.table.rows, at, out)? {
                Place::NONE => Stage::Done,
                next => Stage::Rest(next),
            },
            Stage::Done => Stage::Done,
        })
    }
}

impl Operator for HashJoin {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let sides = &Sides::of(plan)?;
        out.reset(sides.shape.width());
        while !out.is_full() {
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

    fn compared(&self) -> u64 {
        self.probe.compared
    }
}
