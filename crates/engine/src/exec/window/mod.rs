//! Window functions over one window: the input is sorted by partition and order, each call adds its column.
//! Guarantees: rows come out in the order of the window; time is linear in the rows after the sort; what is kept of a partition
//! goes to disk when there is no memory for it.

mod calls;
mod partition;
mod sliding;

use calls::{Call, Current};
use partition::Partition;
use plan::logical::WindowCall;
use types::{SqlError, Value};

use super::{BATCH, Operator, RowSet};
use crate::exec::row_store::Cursor;
use crate::exec::rt::Rt;

/// The operator; the calls have one window, their expressions are over the input's slots.
pub struct Window<'p> {
    input: Option<Box<dyn Operator + 'p>>,
    window: Option<&'p WindowCall>,
    calls: Vec<Call<'p>>,
    /// Slots of the input's rows.
    width: usize,
    partition: Option<Partition<'p>>,
    cursor: Cursor,
    /// The next row of the partition, the first of the peers of the one before, how many groups of peers there were.
    at: usize,
    peers_start: usize,
    rank: i64,
}

impl<'p> Window<'p> {
    /// Over rows of a width.
    pub fn new(input: Box<dyn Operator + 'p>, calls: &'p [WindowCall], width: usize) -> Window<'p> {
        Window {
            input: Some(input),
            window: calls.first(),
            calls: calls.iter().map(|call| Call::new(call, width)).collect(),
            width,
            partition: None,
            cursor: Cursor::default(),
            at: 0,
            peers_start: 0,
            rank: 0,
        }
    }

    /// Goes to a row of the partition, or to the next partition; false when there is none.
    fn advance(&mut self, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        let Some(partition) = &mut self.partition else { return Ok(false) };
        // Before the first partition there is no row either.
        if partition.has(self.at, rt)? {
            return Ok(true);
        }
        self.cursor.clear();
        self.calls.iter_mut().for_each(|call| call.restart(rt));
        (self.at, self.peers_start, self.rank) = (0, 0, 0);
        partition.next(rt)
    }

    /// Adds the next row; false when there is none.
    fn row(&mut self, rt: &mut Rt<'_, '_>, row: &mut [Value]) -> Result<bool, SqlError> {
        if !self.advance(rt)? {
            return Ok(false);
        }
        let Some(partition) = &mut self.partition else { return Ok(false) };
        let at = self.at;
        if partition.starts_peers(at) {
            self.peers_start = at;
            self.rank += 1;
        }
        let (values, results) = row.split_at_mut(self.width);
        partition.row(at, &mut self.cursor, values)?;
        let current = Current { at, peers_start: self.peers_start, rank: self.rank, row: values };
        for (call, place) in self.calls.iter_mut().zip(results) {
            *place = call.value(&current, partition, rt)?;
        }
        self.at += 1;
        if self.at.is_multiple_of(BATCH) {
            let next = self.at;
            let oldest = self.calls.iter().map(|call| call.oldest(next)).min();
            partition.keep_from(oldest.unwrap_or(next).min(next));
            rt.check_cancel()?;
        }
        Ok(true)
    }
}

impl Operator for Window<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.width + self.calls.len());
        if let (Some(input), Some(window)) = (self.input.take(), self.window) {
            self.partition = Some(Partition::new(input, window, rt)?);
        }
        while out.len() < BATCH {
            if !self.row(rt, out.push_row())? {
                out.pop_row();
                self.partition = None;
                break;
            }
        }
        Ok(!out.is_empty())
    }
}
