//! The state of an aggregate over a frame that slides over the rows of a partition: a queue made of
//! two stacks, each row entering and leaving each once (Tangwongsan, Hirzel, Schneider, "In-Order
//! Sliding-Window Aggregation in Worst-Case Constant Time", 2017, section 2). Guarantee: all frames
//! of a partition cost time linear in its rows, as starts and ends of frames only move forward.

use std::ops::Range;

use expr::aggregate::{Accumulator, Aggregate};
use types::{SqlError, Value};

use super::partition::Partition;
use crate::operators::row_store::Cursor;
use crate::operators::rt::Rt;

/// The state. The aggregate is handed in at each call.
pub struct Sliding {
    /// The rows that the state is of.
    rows: Range<usize>,
    /// Of the oldest rows: the state of each of them and those after it that are in this stack, the
    /// oldest last.
    front: Vec<Accumulator>,
    /// Of the rows after those in `front`.
    back: Accumulator,
    /// Bytes of the stack that are counted as the statement's.
    counted: usize,
    /// Where rows that enter are read, and rows that are turned.
    cursors: [Cursor; 2],
}

impl Sliding {
    /// The aggregate over no rows.
    pub fn new(aggregate: &Aggregate) -> Sliding {
        Sliding {
            rows: 0..0,
            front: Vec::new(),
            back: aggregate.start(),
            counted: 0,
            cursors: [Cursor::default(), Cursor::default()],
        }
    }

    /// Another partition begins.
    pub fn restart(&mut self, aggregate: &Aggregate, rt: &mut Rt<'_, '_>) {
        self.rows = 0..0;
        self.front = Vec::new();
        self.back = aggregate.start();
        rt.state.memory.release(std::mem::take(&mut self.counted));
        self.cursors.iter_mut().for_each(Cursor::clear);
    }

    /// Moves on to another frame, neither end of which lies before the one of the last.
    pub fn to(
        &mut self,
        aggregate: &Aggregate,
        frame: &Range<usize>,
        partition: &mut Partition,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        debug_assert!(
            frame.start >= self.rows.start && frame.end >= self.rows.end,
            "frames only move forward"
        );
        while self.rows.end < frame.end {
            let row = partition.other_row(self.rows.end, &mut self.cursors[0])?;
            aggregate.update(&mut self.back, row, rt)?;
            self.rows.end += 1;
            if self.rows.end.is_multiple_of(1024) {
                rt.check_cancel()?;
            }
        }
        while self.rows.start < frame.start {
            if self.front.is_empty() {
                self.turn(aggregate, partition, rt)?;
            }
            self.front.pop();
            self.rows.start += 1;
        }
        Ok(())
    }

    /// Makes the front stack of all rows.
    fn turn(
        &mut self,
        aggregate: &Aggregate,
        partition: &mut Partition,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let bytes = self.rows.len() * size_of::<Accumulator>();
        rt.reserve(bytes.saturating_sub(self.counted))?;
        self.counted = self.counted.max(bytes);
        let mut newer = aggregate.start();
        for at in self.rows.clone().rev() {
            let row = partition.other_row(at, &mut self.cursors[1])?;
            let mut state = aggregate.start();
            aggregate.update(&mut state, row, rt)?;
            aggregate.merge(&mut state, &newer)?;
            newer.clone_from(&state);
            self.front.push(state);
        }
        self.back = aggregate.start();
        Ok(())
    }

    /// The first row that it may read again; `moves`: starts of frames move.
    pub fn oldest(&self, moves: bool) -> usize {
        if moves { self.rows.start } else { self.rows.end }
    }

    /// The aggregate of the frame.
    pub fn value(&self, aggregate: &Aggregate) -> Result<Value, SqlError> {
        let mut state = self.front.last().cloned().unwrap_or_else(|| aggregate.start());
        aggregate.merge(&mut state, &self.back)?;
        aggregate.finish(state)
    }
}
