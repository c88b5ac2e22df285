//! The parts of a hash join whose build rows did not fit the memory: each part's build rows become
//! a table that its probe rows pass by. A part that does not fit is split again by other bits of
//! the hashes; one that cannot be split (many rows of one key) is joined in stretches, its probe
//! rows passing by once for each. Guarantee: memory stays within the share, whatever the keys are,
//! but for a single row and a bit per probe row.

use super::hash::rows::{RecordPlace, unpack};
use super::hash::table::HashTable;
use super::join_probe::{Probe, Shape, StretchMatches};
use super::partition::{LEVELS, PARTS, PartReader, Partitions, SpilledPart};
use super::{BATCH, RowSet};
use crate::operators::rt::Rt;
use session::query_memory::Share;
use types::SqlError;

/// Two parts that meet each other only.
struct PartPair {
    builds: SpilledPart,
    probes: SpilledPart,
    /// Which part of a hash they share.
    level: u32,
}

/// A pair that is being joined.
struct RunningPair {
    pair: PartPair,
    builds: PartReader,
    /// A build row was read that did not fit.
    ahead: bool,
    probes: PartReader,
    /// The probe rows have passed: build rows from here on are looked at, whether they have met
    /// any.
    rest: Option<RecordPlace>,
}

/// All parts.
pub struct JoinParts {
    /// Rows without a partner are given: of the build side, of the probe side.
    lone: (bool, bool),
    pairs: Vec<PartPair>,
    running: Option<RunningPair>,
}

/// Whether there may be more.
pub enum JoinProgress {
    Some,
    All,
}

/// What became of a table that was to take build rows.
enum FilledTable {
    All,
    /// Without the row that was read last.
    Full,
}

impl JoinParts {
    /// The pairs of two lists of parts, by their positions.
    pub fn new(builds: Vec<SpilledPart>, probes: Vec<SpilledPart>, shape: Shape<'_>) -> JoinParts {
        let lone = (shape.gives_lone_build(), shape.gives_lone_probe());
        let mut parts = JoinParts { lone, pairs: Vec::new(), running: None };
        parts.add(builds, probes, 0);
        parts
    }

    fn add(&mut self, builds: Vec<SpilledPart>, probes: Vec<SpilledPart>, level: u32) {
        debug_assert_eq!((builds.len(), probes.len()), (PARTS, PARTS));
        let (lone_build, lone_probe) = self.lone;
        let gives = |pair: &PartPair| {
            let (builds, probes) = (pair.builds.rows > 0, pair.probes.rows > 0);
            builds && (probes || lone_build) || probes && lone_probe
        };
        let pairs = builds.into_iter().zip(probes).map(|(builds, probes)| PartPair {
            builds,
            probes,
            level,
        });
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
    ) -> Result<JoinProgress, SqlError> {
        rt.check_cancel()?;
        let Some(running) = &mut self.running else {
            let Some(pair) = self.pairs.pop() else { return Ok(JoinProgress::All) };
            self.start(pair, table, share, probe, rt)?;
            return Ok(JoinProgress::Some);
        };
        if running.rest.is_none() {
            if running.pass(shape, table, probe, rt, out)? {
                return Ok(JoinProgress::Some);
            }
            let first =
                if shape.gives_lone_build() { table.rows.first() } else { RecordPlace::NONE };
            running.rest = Some(first);
        }
        if let Some(at) = running.rest {
            let next = shape.lone_builds(&table.rows, at, out)?;
            running.rest = Some(next);
            if next != RecordPlace::NONE {
                return Ok(JoinProgress::Some);
            }
        }
        if running.ahead {
            running.next_stretch(table, share, probe, rt)?;
        } else {
            table.clear(share);
            probe.stretches = None;
            self.running = None;
        }
        Ok(JoinProgress::Some)
    }

    /// Makes a pair the running one, or splits it.
    fn start(
        &mut self,
        pair: PartPair,
        table: &mut HashTable,
        share: &mut Share,
        probe: &mut Probe,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        debug_assert!(table.rows.is_empty(), "a part is left");
        let mut running = RunningPair {
            builds: pair.builds.read(),
            ahead: false,
            probes: pair.probes.read(),
            pair,
            rest: None,
        };
        let filled = running.fill(table, share, rt)?;
        let fits = matches!(filled, FilledTable::All);
        if fits && table.link_all(table.rows.len(), share, false) {
            self.running = Some(running);
        } else if running.pair.level < LEVELS {
            return self.split(running, table, share, rt);
        } else {
            table.link_all(table.rows.len(), share, true);
            running.ahead = !fits;
            if !fits {
                probe.stretches = Some(StretchMatches::default());
            }
            self.running = Some(running);
        }
        Ok(())
    }

    /// Splits a pair whose table is full by another part of the hashes.
    fn split(
        &mut self,
        mut running: RunningPair,
        table: &mut HashTable,
        share: &mut Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let level = running.pair.level + 1;
        let files = rt.session().host().run_files().clone();
        let had = share.used();
        let mut builds = Partitions::new(&files, share, level)?;
        for record in table.rows.iter() {
            builds.push(record.key, record.row)?;
        }
        let mut ahead = running.builds.read > table.rows.len() as u64;
        table.clear(share);
        while std::mem::take(&mut ahead) || running.builds.advance()? {
            let (key, row) = running.builds.row();
            builds.push(key, row)?;
            if running.builds.read.is_multiple_of(BATCH as u64) {
                rt.check_cancel()?;
            }
        }
        let builds = builds.finish()?;
        if builds.iter().any(|part| part.rows == running.pair.builds.rows) {
            // One part has them all: other bits would do no better.
            self.pairs.push(PartPair { level: LEVELS, ..running.pair });
            return Ok(());
        }
        let mut probes = Partitions::with_buffers(&files, share.sibling(), had, level)?;
        while running.probes.advance()? {
            let (key, row) = running.probes.row();
            probes.push(key, row)?;
            if running.probes.read.is_multiple_of(BATCH as u64) {
                rt.check_cancel()?;
            }
        }
        self.add(builds, probes.finish()?, level);
        Ok(())
    }
}

impl RunningPair {
    /// Takes build rows into an empty table.
    fn fill(
        &mut self,
        table: &mut HashTable,
        share: &mut Share,
        rt: &mut Rt<'_, '_>,
    ) -> Result<FilledTable, SqlError> {
        let mut ahead = std::mem::take(&mut self.ahead);
        while std::mem::take(&mut ahead) || self.builds.advance()? {
            let (key, row) = self.builds.row();
            if table.rows.push_packed(key, row, share).is_none() {
                return Ok(FilledTable::Full);
            }
            if self.builds.read.is_multiple_of(BATCH as u64) {
                rt.check_cancel()?;
            }
        }
        Ok(FilledTable::All)
    }

    /// The next build rows of a pair that is joined in stretches.
    fn next_stretch(
        &mut self,
        table: &mut HashTable,
        share: &mut Share,
        probe: &mut Probe,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        table.clear(share);
        self.ahead = matches!(self.fill(table, share, rt)?, FilledTable::Full);
        table.link_all(table.rows.len(), share, true);
        self.probes = self.pair.probes.read();
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
        while !out.is_full() {
            if !probe.batch.is_empty() {
                probe.run(shape, table, rt, out)?;
                continue;
            }
            rt.check_cancel()?;
            if !self.read_probes(shape.probe_width(), probe)? {
                return Ok(false);
            }
            probe.look_up(table);
        }
        Ok(true)
    }

    fn read_probes(&mut self, width: usize, probe: &mut Probe) -> Result<bool, SqlError> {
        probe.batch.reset(width);
        probe.keys.clear();
        while !probe.batch.is_full() && self.probes.advance()? {
            let (key, row) = self.probes.row();
            probe.keys.push(key);
            unpack(row, probe.batch.push_row())?;
        }
        Ok(!probe.batch.is_empty())
    }
}
