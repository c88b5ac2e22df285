//! The parts of a hash join whose right rows did not fit the memory: each part's right rows become a table that its left
//! rows pass by. A part that does not fit is split again by other bits of the hashes; one that cannot be split (many
//! rows of one key) is joined in stretches, its left rows passing by once for each.
//! Guarantee: memory stays within the share, whatever the keys are, but for a single row and a bit per left row.

use super::hash::rows::{Place, unpack};
use super::hash::table::HashTable;
use super::hash_join::rest;
use super::join_probe::{Probe, Shape, Stretches};
use super::memory::Share;
use super::partition::{LEVELS, PARTS, Part, PartReader, Partitions};
use super::{BATCH, RowSet};
use crate::exec::rt::Rt;
use plan::logical::JoinKind;
use types::SqlError;

/// Two parts that meet each other only.
struct Pair {
    rights: Part,
    lefts: Part,
    /// Which part of a hash they share.
    level: u32,
}

/// A pair that is being joined.
struct Running {
    pair: Pair,
    rights: PartReader,
    /// A right row was read that did not fit.
    ahead: bool,
    lefts: PartReader,
    /// FULL JOIN, the left rows have passed: right rows from here on are looked at.
    rest: Option<Place>,
}

/// All parts.
pub struct JoinParts {
    kind: JoinKind,
    pairs: Vec<Pair>,
    running: Option<Running>,
}

/// Whether there may be more.
pub enum Joined {
    Some,
    All,
}

/// What became of a table that was to take right rows.
enum Filled {
    All,
    /// Without the row that was read last.
    Full,
}

impl JoinParts {
    /// Of parts that stand beside each other.
    pub fn new(rights: Vec<Part>, lefts: Vec<Part>, kind: JoinKind) -> JoinParts {
        let mut parts = JoinParts { kind, pairs: Vec::new(), running: None };
        parts.add(rights, lefts, 0);
        parts
    }

    fn add(&mut self, rights: Vec<Part>, lefts: Vec<Part>, level: u32) {
        debug_assert_eq!((rights.len(), lefts.len()), (PARTS, PARTS));
        let gives = |pair: &Pair| match self.kind {
            JoinKind::Full => pair.rights.rows + pair.lefts.rows > 0,
            JoinKind::Left | JoinKind::Anti => pair.lefts.rows > 0,
            _ => pair.lefts.rows > 0 && pair.rights.rows > 0,
        };
        let pairs = rights.into_iter().zip(lefts).map(|(rights, lefts)| Pair { rights, lefts, level });
        self.pairs.extend(pairs.filter(gives));
    }

    /// Adds rows of the result until it is full or a step is done.
    pub fn run(
        &mut self,
        shape: Shape<'_>,
        (table, share): (&mut HashTable, &mut Share),
        probe: &mut Probe,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Joined, SqlError> {
        rt.check_cancel()?;
        let Some(running) = &mut self.running else {
            let Some(pair) = self.pairs.pop() else { return Ok(Joined::All) };
            self.start(pair, table, share, probe, rt)?;
            return Ok(Joined::Some);
        };
        if running.rest.is_none() {
            if running.pass(shape, table, probe, rt, out)? {
                return Ok(Joined::Some);
            }
            let full = shape.kind == JoinKind::Full;
            running.rest = Some(if full { table.rows.first() } else { Place::NONE });
        }
        if let Some(at) = running.rest {
            let next = rest(table, at, shape, out)?;
            running.rest = Some(next);
            if next != Place::NONE {
                return Ok(Joined::Some);
            }
        }
        if running.ahead {
            running.next_stretch(table, share, probe, rt)?;
        } else {
            table.clear(share);
            probe.stretches = None;
            self.running = None;
        }
        Ok(Joined::Some)
    }

    /// Makes a pair the running one, or splits it.
    fn start(
        &mut self,
        pair: Pair,
        table: &mut HashTable,
        share: &mut Share,
        probe: &mut Probe,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        debug_assert!(table.rows.is_empty(), "a part is left");
        let mut running =
            Running { rights: pair.rights.read(), ahead: false, lefts: pair.lefts.read(), pair, rest: None };
        let filled = running.fill(table, share, rt)?;
        let fits = matches!(filled, Filled::All);
        if fits && table.link_all(table.rows.len(), share, false) {
            self.running = Some(running);
        } else if running.pair.level < LEVELS {
            return self.split(running, table, share, rt);
        } else {
            table.link_all(table.rows.len(), share, true);
            running.ahead = !fits;
            if !fits {
                probe.stretches = Some(Stretches::default());
            }
            self.running = Some(running);
        }
        Ok(())
    }

    /// Splits a pair whose table is full by another part of the hashes.
    fn split(
        &mut self,
        mut running: Running,
        table: &mut HashTable,
        share: &mut Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let level = running.pair.level + 1;
        let instance = rt.session().instance().clone();
        let had = share.used();
        let mut rights = Partitions::new(&instance, share, level)?;
        for record in table.rows.iter() {
            rights.push(record.key, record.row)?;
        }
        let mut ahead = running.rights.read > table.rows.len() as u64;
        table.clear(share);
        while std::mem::take(&mut ahead) || running.rights.advance()? {
            let (key, row) = running.rights.row();
            rights.push(key, row)?;
            if running.rights.read.is_multiple_of(BATCH as u64) {
                rt.check_cancel()?;
            }
        }
        let rights = rights.finish()?;
        if rights.iter().any(|part| part.rows == running.pair.rights.rows) {
            // One part has them all: other bits would do no better.
            self.pairs.push(Pair { level: LEVELS, ..running.pair });
            return Ok(());
        }
        let mut lefts = Partitions::with_buffers(&instance, share.sibling(), had, level)?;
        while running.lefts.advance()? {
            let (key, row) = running.lefts.row();
            lefts.push(key, row)?;
            if running.lefts.read.is_multiple_of(BATCH as u64) {
                rt.check_cancel()?;
            }
        }
        self.add(rights, lefts.finish()?, level);
        Ok(())
    }
}

impl Running {
    /// Takes right rows into an empty table.
    fn fill(
        &mut self,
        table: &mut HashTable,
        share: &mut Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Filled, SqlError> {
        let mut ahead = std::mem::take(&mut self.ahead);
        while std::mem::take(&mut ahead) || self.rights.advance()? {
            let (key, row) = self.rights.row();
            if table.rows.push_packed(key, row, share).is_none() {
                return Ok(Filled::Full);
            }
            if self.rights.read.is_multiple_of(BATCH as u64) {
                rt.check_cancel()?;
            }
        }
        Ok(Filled::All)
    }

    /// The next right rows of a pair that is joined in stretches.
    fn next_stretch(
        &mut self,
        table: &mut HashTable,
        share: &mut Share,
        probe: &mut Probe,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        table.clear(share);
        self.ahead = matches!(self.fill(table, share, rt)?, Filled::Full);
        table.link_all(table.rows.len(), share, true);
        self.lefts = self.pair.lefts.read();
        self.rest = None;
        if let Some(stretches) = &mut probe.stretches {
            stretches.restart();
            stretches.last = !self.ahead;
        }
        Ok(())
    }

    /// Left rows pass by the table; false when there are no more of them.
    fn pass(
        &mut self,
        shape: Shape<'_>,
        table: &mut HashTable,
        probe: &mut Probe,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        while out.len() < BATCH {
            if !probe.batch.is_empty() {
                probe.run(shape, table, rt, out)?;
                continue;
            }
            rt.check_cancel()?;
            if !self.read_lefts(shape.left_width, probe)? {
                return Ok(false);
            }
            probe.look_up(table);
        }
        Ok(true)
    }

    fn read_lefts(&mut self, width: usize, probe: &mut Probe) -> Result<bool, SqlError> {
        probe.batch.reset(width);
        probe.keys.clear();
        while probe.batch.len() < BATCH && self.lefts.advance()? {
            let (key, row) = self.lefts.row();
            probe.keys.push(key);
            unpack(row, probe.batch.push_row())?;
        }
        Ok(!probe.batch.is_empty())
    }
}
