//! Loop join: each left row against all right rows, which are kept. For conditions without equality and small inputs.

use super::memory::row_bytes;
use super::outer::Pairs;
use super::{BATCH, Operator, RowSet};
use crate::exec::rt::Rt;
use plan::nodes::LoopJoinPlan;
use types::{SqlError, Value};

/// The operator.
pub struct LoopJoin<'p> {
    left: Box<dyn Operator + 'p>,
    right: Box<dyn Operator + 'p>,
    pairs: Pairs<'p>,
    rows: Option<Vec<Box<[Value]>>>,
    batch: RowSet,
    at: usize,
    inner: usize,
}

impl<'p> LoopJoin<'p> {
    /// Over two inputs.
    pub fn new(left: Box<dyn Operator + 'p>, right: Box<dyn Operator + 'p>, plan: &'p LoopJoinPlan) -> Self {
        LoopJoin {
            left,
            right,
            pairs: Pairs::new(plan.kind, plan.on.as_ref(), plan.left_width, plan.right_width),
            rows: None,
            batch: RowSet::default(),
            at: 0,
            inner: 0,
        }
    }

    fn keep(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let mut rows = Vec::new();
        let mut batch = RowSet::default();
        while self.right.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let row: Box<[Value]> = batch.row_mut(i).iter_mut().map(std::mem::take).collect();
                rt.reserve(row_bytes(&row))?;
                rows.push(row);
            }
        }
        self.pairs.right_rows(rows.len());
        self.rows = Some(rows);
        Ok(())
    }

    /// Adds what the current left row gives, until it is done or the batch is full; true when it is done.
    fn left_row(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Some(rows) = &self.rows else { return Ok(true) };
        let left = self.batch.row(self.at);
        while let Some(right) = rows.get(self.inner) {
            if out.len() >= BATCH {
                return Ok(false);
            }
            let at = self.inner;
            self.inner += 1;
            if self.pairs.pair(left, right, at, rt, out)? {
                break;
            }
        }
        self.pairs.end_left(left, out);
        Ok(true)
    }
}

impl Operator for LoopJoin<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.pairs.width());
        if self.rows.is_none() {
            self.keep(rt)?;
        }
        while out.len() < BATCH && !self.pairs.lefts_ended() {
            if self.at < self.batch.len() {
                if self.left_row(rt, out)? {
                    self.at += 1;
                    self.inner = 0;
                    rt.check_cancel()?;
                }
                continue;
            }
            self.at = 0;
            if !self.left.next(rt, &mut self.batch)? {
                self.batch.truncate(0);
                self.pairs.end_lefts();
            }
        }
        if let Some(rows) = &mut self.rows {
            self.pairs.unmatched(rows, out);
        }
        Ok(!out.is_empty())
    }
}
