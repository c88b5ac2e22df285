//! Loop join: each left row against all right rows, which are kept. For conditions without equality
//! and small inputs. Guarantee: the right side runs once, and only if there is a left row or its
//! rows are wanted without one.

use super::outer::{self, Pairs};
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use logical::tree::JoinKind;
use plan::nodes::{LoopJoinPlan, Node, Plan};
use session::query_memory::row_bytes;
use types::{SqlError, Value};

/// The operator.
pub struct LoopJoin {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    pairs: Pairs,
    rows: Option<Vec<Box<[Value]>>>,
    batch: RowSet,
    at: usize,
    inner: usize,
}

impl LoopJoin {
    /// Over two inputs.
    pub fn new(left: Box<dyn Operator>, right: Box<dyn Operator>) -> LoopJoin {
        LoopJoin {
            left,
            right,
            pairs: Pairs::default(),
            rows: None,
            batch: RowSet::default(),
            at: 0,
            inner: 0,
        }
    }

    fn keep(&mut self, right: &Plan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let mut rows = Vec::new();
        let mut batch = RowSet::default();
        while self.right.next(right, rt, &mut batch)? {
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

    /// Adds what the current left row gives, until it is done or the batch is full; true when it is
    /// done.
    fn left_row(
        &mut self,
        join: &LoopJoinPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Some(rows) = &self.rows else { return Ok(true) };
        let left = self.batch.row(self.at);
        while let Some(right) = rows.get(self.inner) {
            if out.is_full() {
                return Ok(false);
            }
            let at = self.inner;
            self.inner += 1;
            if self.pairs.pair(join, left, right, at, rt, out)? {
                break;
            }
        }
        self.pairs.end_left(join, left, out);
        Ok(true)
    }
}

impl Operator for LoopJoin {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::LoopJoin { left, right, plan: join } = &plan.node else {
            return Err(other_node());
        };
        out.reset(outer::width(join));
        if self.rows.is_none() {
            // Without a left row nothing is wanted of the right side, but of a FULL JOIN's.
            if join.kind != JoinKind::Full && !self.left.next(left, rt, &mut self.batch)? {
                self.batch.truncate(0);
                self.pairs.end_lefts();
                self.rows = Some(Vec::new());
                return Ok(false);
            }
            self.keep(right, rt)?;
        }
        while !out.is_full() && !self.pairs.lefts_ended() {
            if self.at < self.batch.len() {
                if self.left_row(join, rt, out)? {
                    self.at += 1;
                    self.inner = 0;
                    rt.check_cancel()?;
                }
                continue;
            }
            self.at = 0;
            if !self.left.next(left, rt, &mut self.batch)? {
                self.batch.truncate(0);
                self.pairs.end_lefts();
            }
        }
        if let Some(rows) = &mut self.rows {
            self.pairs.unmatched(join, rows, out);
        }
        Ok(!out.is_empty())
    }

    fn compared(&self) -> u64 {
        self.pairs.compared
    }
}
