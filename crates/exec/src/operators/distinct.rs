//! DISTINCT: the first of equal rows. Rows that were given are kept as keys; when there is no
//! memory for more of them, rows that are not among them go to disk by parts of their hashes and
//! are looked at part by part.

use super::hash::key::{KeyParts, Keys};
use super::hash::rows::{Place, unpack};
use super::hash::table::HashTable;
use super::partition::{Part, PartReader, Partitions};
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use plan::nodes::{Node, Plan};
use session::query_memory::Share;
use types::{SqlError, pack_row};

/// The operator.
pub struct Distinct {
    input: Box<dyn Operator>,
    seen: HashTable,
    share: Option<Share>,
    /// The part that is read; before the first one, the input.
    reading: Option<PartReader>,
    /// Which part of a hash the rows that are read share.
    level: u32,
    /// Rows that go to disk.
    spilled: Option<Partitions>,
    /// Parts, and which part of a hash splits each.
    tasks: Vec<(Part, u32)>,
    batch: RowSet,
    keys: Keys,
    found: Vec<Place>,
}

impl Distinct {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Distinct {
        Distinct {
            input,
            seen: HashTable::default(),
            share: None,
            reading: None,
            level: 0,
            spilled: None,
            tasks: Vec::new(),
            batch: RowSet::default(),
            keys: Keys::default(),
            found: Vec::new(),
        }
    }

    /// The next batch of what is read.
    fn read(
        &mut self,
        (input, parts): (&Plan, &KeyParts<'_>),
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        let Some(reader) = &mut self.reading else {
            let more = self.input.next(input, rt, &mut self.batch)?;
            if more {
                self.keys.fill(parts, &self.batch, rt)?;
            }
            return Ok(more);
        };
        self.batch.reset(input.width());
        self.keys.clear();
        while !self.batch.is_full() && reader.advance()? {
            let (key, row) = reader.row();
            self.keys.push(key);
            unpack(row, self.batch.push_row())?;
        }
        Ok(!self.batch.is_empty())
    }

    /// Gives the rows of the batch that are new.
    fn pick(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<(), SqlError> {
        let share = match &mut self.share {
            Some(share) => share,
            none => none.insert(rt.share()),
        };
        self.seen.find_all(&self.keys, &mut self.found);
        let mut packed = Vec::new();
        for (i, place) in self.found.iter().enumerate() {
            let Some(key) = self.keys.get(i) else { continue };
            // It may have been added since the batch was looked up.
            if *place != Place::NONE || self.seen.find(&key) != Place::NONE {
                continue;
            }
            if self.spilled.is_none() {
                if self.seen.insert(key, &[], share).is_some() {
                    out.push_row().swap_with_slice(self.batch.row_mut(i));
                    continue;
                }
                self.spilled =
                    Some(Partitions::new(rt.session().host().run_files(), share, self.level)?);
            }
            if let Some(spilled) = &mut self.spilled {
                packed.clear();
                pack_row(self.batch.row(i), &mut packed);
                spilled.push(Some(key), &packed)?;
            }
        }
        Ok(())
    }

    /// Goes on to the next part; false when there is none.
    fn next_part(&mut self) -> Result<bool, SqlError> {
        let Some(share) = &mut self.share else { return Ok(false) };
        self.seen.clear(share);
        if let Some(spilled) = self.spilled.take() {
            let level = spilled.level() + 1;
            let parts = spilled.finish()?.into_iter().filter(|part| part.rows > 0);
            self.tasks.extend(parts.map(|part| (part, level)));
        }
        let Some((part, level)) = self.tasks.pop() else {
            self.share = None;
            return Ok(false);
        };
        self.reading = Some(part.read());
        self.level = level;
        Ok(true)
    }
}

impl Operator for Distinct {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let (input, collations) = match &plan.node {
            Node::Distinct { input, collations, .. } => (&**input, collations),
            // Over a hash join for the same node.
            Node::SetOp { collations, .. } => (plan, collations),
            _ => return Err(other_node()),
        };
        let parts = KeyParts::whole_row(collations);
        out.reset(plan.width());
        while out.is_empty() {
            if self.read((input, &parts), rt)? {
                self.pick(rt, out)?;
            } else if !self.next_part()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
