//! What becomes of the rows of a hash join's probe side that meet the table of its build side:
//! pairs, residual conditions, semi and anti joins, rows without a partner on either side.
//! Guarantees: the rows are the same whichever side is built, and whether the table holds all build
//! rows that a probe row can meet or a stretch of them after another.

use super::RowSet;
use super::hash::key::Keys;
use super::hash::rows::{HashRecords, RecordPlace};
use super::hash::table::HashTable;
use crate::operators::rt::Rt;
use expr::Pred;
use logical::tree::JoinKind;
use types::{SqlError, Value};

/// What a join gives, and which of its sides the table holds: the build side, which the other one,
/// the probe side, passes by. The condition is over left and right side by side.
#[derive(Clone, Copy)]
pub struct Shape<'p> {
    pub kind: JoinKind,
    pub on: Option<&'p Pred>,
    pub left_width: usize,
    pub right_width: usize,
    /// The left side is the build side.
    pub builds_left: bool,
}

impl Shape<'_> {
    /// Gives only left rows.
    pub fn is_half(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Slots of a row of the result.
    pub fn width(&self) -> usize {
        self.left_width + if self.is_half() { 0 } else { self.right_width }
    }

    /// Slots of a row of the probe side.
    pub fn probe_width(&self) -> usize {
        if self.builds_left { self.right_width } else { self.left_width }
    }

    /// Whether rows of the build side are needed, not just their keys.
    pub fn keeps_rows(&self) -> bool {
        self.builds_left || !self.is_half() || self.on.is_some()
    }

    /// A probe row without a partner gives a row.
    pub fn gives_lone_probe(&self) -> bool {
        match self.kind {
            JoinKind::Full => true,
            JoinKind::Left | JoinKind::Anti => !self.builds_left,
            _ => false,
        }
    }

    /// A build row without a partner gives a row.
    pub fn gives_lone_build(&self) -> bool {
        match self.kind {
            JoinKind::Full => true,
            JoinKind::Left | JoinKind::Anti => self.builds_left,
            _ => false,
        }
    }

    /// Build rows are marked when they have met a partner.
    fn marks(&self) -> bool {
        self.gives_lone_build() || self.builds_left && self.kind == JoinKind::Semi
    }

    /// The slots of the probe side's and of the build side's values in a row of the result that has
    /// both.
    fn sides<'r>(&self, row: &'r mut [Value]) -> (&'r mut [Value], &'r mut [Value]) {
        let (left, right) = row.split_at_mut(self.left_width);
        if self.builds_left { (right, left) } else { (left, right) }
    }

    /// Adds a probe row that has met all it can meet, if it gives one by itself. Its values are
    /// taken.
    pub fn end_probe(&self, probe: &mut [Value], found: bool, out: &mut RowSet) {
        let gives = match found {
            true => self.kind == JoinKind::Semi && !self.builds_left,
            false => self.gives_lone_probe(),
        };
        if gives {
            let (values, rest) = self.sides(out.push_row());
            values.swap_with_slice(probe);
            rest.fill(Value::Null);
        }
    }

    /// When the probe rows have passed: build rows from a place on that have met none of them,
    /// until the result is full. Gives the place to go on from.
    pub fn lone_builds(
        &self,
        rows: &HashRecords,
        mut at: RecordPlace,
        out: &mut RowSet,
    ) -> Result<RecordPlace, SqlError> {
        while at != RecordPlace::NONE && !out.is_full() {
            if !rows.is_marked(at) {
                let (rest, values) = self.sides(out.push_row());
                rest.fill(Value::Null);
                let unpacked = rows.unpack(at, values);
                out.or_pop(unpacked)?;
            }
            at = rows.after(at);
        }
        Ok(at)
    }
}

/// Which probe rows have found a partner, where they meet the build rows in several stretches.
#[derive(Default)]
pub struct StretchMatches {
    found: Vec<u64>,
    /// Probe rows of this stretch that went before the batch.
    before: usize,
    /// No stretch comes after this one.
    pub last: bool,
}

impl StretchMatches {
    /// Another stretch begins.
    pub fn restart(&mut self) {
        self.before = 0;
    }

    fn was_found(&self, i: usize) -> bool {
        let at = self.before + i;
        self.found.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn set_found(&mut self, i: usize) {
        let at = self.before + i;
        if self.found.len() <= at / 64 {
            self.found.resize(at / 64 + 1, 0);
        }
        self.found[at / 64] |= 1 << (at % 64);
    }
}

/// Probe rows on their way past a table.
#[derive(Default)]
pub struct Probe {
    pub batch: RowSet,
    pub keys: Keys,
    pub stretches: Option<StretchMatches>,
    firsts: Vec<RecordPlace>,
    at: usize,
    started: bool,
    /// Where the chain of the present row goes on.
    chain: RecordPlace,
    found: bool,
    scratch: Vec<Value>,
    /// Pairs on which the condition has been tested.
    pub compared: u64,
}

impl Probe {
    /// The batch and its keys are new.
    pub fn look_up(&mut self, table: &HashTable) {
        self.at = 0;
        table.find_all(&self.keys, &mut self.firsts);
    }

    /// Adds what the rows of the batch give; false when the result is full before their end.
    pub fn run(
        &mut self,
        shape: Shape<'_>,
        table: &mut HashTable,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        while self.at < self.batch.len() {
            if out.is_full() || !self.probe_row(shape, table, rt, out)? {
                return Ok(false);
            }
            self.at += 1;
            self.started = false;
        }
        if let Some(stretches) = &mut self.stretches {
            stretches.before += self.batch.len();
        }
        self.batch.truncate(0);
        self.at = 0;
        Ok(true)
    }

    /// Adds what the present row gives, until it is done or the result is full; true when it is
    /// done.
    fn probe_row(
        &mut self,
        shape: Shape<'_>,
        table: &mut HashTable,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let i = self.at;
        if !self.started {
            self.started = true;
            self.chain = self.firsts[i];
            self.found = self.stretches.as_ref().is_some_and(|s| s.was_found(i));
        }
        if !shape.is_half() {
            if !self.pairs(shape, table, rt, out)? {
                return Ok(false);
            }
        } else if shape.builds_left {
            if !self.mark_all(shape, table, rt, out)? {
                return Ok(false);
            }
        } else if !self.found && self.chain != RecordPlace::NONE {
            self.found = match shape.on {
                None => true,
                Some(on) => self.any(shape, on, table, rt)?,
            };
        }
        match &mut self.stretches {
            Some(stretches) if !stretches.last => {
                if self.found {
                    stretches.set_found(i);
                }
            }
            _ => shape.end_probe(self.batch.row_mut(i), self.found, out),
        }
        Ok(true)
    }

    /// Adds the pairs of the present row; false when the result is full before their end.
    fn pairs(
        &mut self,
        shape: Shape<'_>,
        table: &mut HashTable,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        while self.chain != RecordPlace::NONE {
            if out.is_full() {
                return Ok(false);
            }
            let place = self.chain;
            let Some(key) = self.keys.get(self.at) else { return Ok(true) };
            self.compared += u64::from(shape.on.is_some());
            self.chain = table.next(place, &key);
            let probe = self.batch.row_mut(self.at);
            let row = out.push_row();
            let (values, builds) = shape.sides(row);
            // The last pair takes the values instead of copying them.
            let last = self.chain == RecordPlace::NONE;
            if last {
                values.swap_with_slice(probe);
            } else {
                values.clone_from_slice(probe);
            }
            let unpacked = table.rows.unpack(place, builds);
            let meets = unpacked.and_then(|()| shape.on.map_or(Ok(true), |on| on.is_true(row, rt)));
            if !out.or_pop(meets)? {
                if last {
                    let row = out.row_mut(out.len() - 1);
                    shape.sides(row).0.swap_with_slice(self.batch.row_mut(self.at));
                }
                out.pop_row();
                continue;
            }
            self.found = true;
            if shape.marks() {
                table.rows.mark(place);
            }
        }
        Ok(true)
    }

    /// Semi and anti join with the left side in the table: marks the rows of the present chain that
    /// the probe row meets, and gives those that a semi join meets for the first time. False when
    /// the result is full before their end.
    fn mark_all(
        &mut self,
        shape: Shape<'_>,
        table: &mut HashTable,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Some(key) = self.keys.get(self.at) else { return Ok(true) };
        while self.chain != RecordPlace::NONE {
            if out.is_full() {
                return Ok(false);
            }
            let place = self.chain;
            let marked = table.rows.is_marked(place);
            if marked && shape.on.is_none() {
                // Rows of one key are marked together.
                self.chain = RecordPlace::NONE;
                return Ok(true);
            }
            self.chain = table.next(place, &key);
            if marked {
                continue;
            }
            if let Some(on) = shape.on {
                self.compared += 1;
                self.scratch.resize(shape.left_width + shape.right_width, Value::Null);
                let (left, right) = self.scratch.split_at_mut(shape.left_width);
                table.rows.unpack(place, left)?;
                right.clone_from_slice(self.batch.row(self.at));
                if !on.is_true(&self.scratch, rt)? {
                    continue;
                }
            }
            table.rows.mark(place);
            if shape.kind == JoinKind::Semi {
                let unpacked = table.rows.unpack(place, out.push_row());
                out.or_pop(unpacked)?;
            }
        }
        Ok(true)
    }

    /// Whether a right row of the present chain satisfies the condition.
    fn any(
        &mut self,
        shape: Shape<'_>,
        on: &Pred,
        table: &HashTable,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        let width = shape.left_width;
        let Some(key) = self.keys.get(self.at) else { return Ok(false) };
        self.scratch.resize(width + shape.right_width, Value::Null);
        self.scratch[..width].swap_with_slice(self.batch.row_mut(self.at));
        let mut found = false;
        while !found && self.chain != RecordPlace::NONE {
            self.compared += 1;
            table.rows.unpack(self.chain, &mut self.scratch[width..])?;
            found = on.is_true(&self.scratch, rt)?;
            self.chain = table.next(self.chain, &key);
        }
        self.scratch[..width].swap_with_slice(self.batch.row_mut(self.at));
        Ok(found)
    }
}
