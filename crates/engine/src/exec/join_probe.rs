//! What becomes of the left rows of a hash join that meet a table of right rows: pairs, residual conditions, semi and anti
//! joins, rows without a partner on either side.
//! Guarantee: the rows are the same whether the table holds all right rows that a left row can meet or a stretch of
//! them after another.

use super::hash::key::Keys;
use super::hash::rows::Place;
use super::hash::table::HashTable;
use super::{BATCH, RowSet};
use crate::exec::rt::Rt;
use expr::Pred;
use plan::logical::JoinKind;
use types::{SqlError, Value};

/// What a join gives; the condition is over left and right side by side.
#[derive(Clone, Copy)]
pub struct Shape<'p> {
    pub kind: JoinKind,
    pub on: Option<&'p Pred>,
    pub left_width: usize,
    pub right_width: usize,
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

    /// Whether right rows are needed, not just their keys.
    pub fn keeps_rights(&self) -> bool {
        !self.is_half() || self.on.is_some()
    }

    /// A left row without a partner gives a row.
    pub fn gives_lone_left(&self) -> bool {
        matches!(self.kind, JoinKind::Left | JoinKind::Anti | JoinKind::Full)
    }

    /// Adds a left row that has met all it can meet, if it gives one by itself. Its values are taken.
    pub fn end_left(&self, left: &mut [Value], found: bool, out: &mut RowSet) {
        let gives = if found { self.kind == JoinKind::Semi } else { self.gives_lone_left() };
        if gives {
            let (values, rest) = out.push_row().split_at_mut(self.left_width);
            values.swap_with_slice(left);
            rest.fill(Value::Null);
        }
    }
}

/// Which left rows have found a partner, where they meet the right rows in several stretches.
#[derive(Default)]
pub struct Stretches {
    found: Vec<u64>,
    /// Left rows of this stretch that went before the batch.
    before: usize,
    /// No stretch comes after this one.
    pub last: bool,
}

impl Stretches {
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

/// Left rows on their way past a table.
#[derive(Default)]
pub struct Probe {
    pub batch: RowSet,
    pub keys: Keys,
    pub stretches: Option<Stretches>,
    firsts: Vec<Place>,
    at: usize,
    started: bool,
    /// Where the chain of the present row goes on.
    chain: Place,
    found: bool,
    scratch: Vec<Value>,
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
            if out.len() >= BATCH || !self.left_row(shape, table, rt, out)? {
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

    /// Adds what the present row gives, until it is done or the result is full; true when it is done.
    fn left_row(
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
        } else if !self.found && self.chain != Place::NONE {
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
            _ => shape.end_left(self.batch.row_mut(i), self.found, out),
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
        while self.chain != Place::NONE {
            if out.len() >= BATCH {
                return Ok(false);
            }
            let place = self.chain;
            let Some(key) = self.keys.get(self.at) else { return Ok(true) };
            self.chain = table.next(place, &key);
            let left = self.batch.row_mut(self.at);
            let row = out.push_row();
            let (values, rights) = row.split_at_mut(shape.left_width);
            // The last pair takes the values instead of copying them.
            let last = self.chain == Place::NONE;
            if last {
                values.swap_with_slice(left);
            } else {
                values.clone_from_slice(left);
            }
            table.rows.unpack(place, rights)?;
            if let Some(on) = shape.on
                && !on.is_true(row, rt)?
            {
                if last {
                    row[..shape.left_width].swap_with_slice(self.batch.row_mut(self.at));
                }
                out.pop_row();
                continue;
            }
            self.found = true;
            if shape.kind == JoinKind::Full {
                table.rows.mark(place);
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
        while !found && self.chain != Place::NONE {
            table.rows.unpack(self.chain, &mut self.scratch[width..])?;
            found = on.is_true(&self.scratch, rt)?;
            self.chain = table.next(self.chain, &key);
        }
        self.scratch[..width].swap_with_slice(self.batch.row_mut(self.at));
        Ok(found)
    }
}
