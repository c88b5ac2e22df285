//! Loop join: each left row against all right rows, which are kept. For conditions without equality and small inputs.

use super::memory::row_bytes;
use super::{BATCH, Operator, RowSet};
use crate::expr::{Pred, Rt};
use crate::query::logical::JoinKind;
use types::{SqlError, Value};

/// What a loop join does; the condition is over left and right side by side.
#[derive(Debug)]
pub struct LoopJoinPlan {
    pub kind: JoinKind,
    pub on: Option<Pred>,
    pub left_width: usize,
    pub right_width: usize,
}

/// The operator.
pub struct LoopJoin<'p> {
    pub left: Box<dyn Operator + 'p>,
    pub right: Box<dyn Operator + 'p>,
    pub plan: &'p LoopJoinPlan,
    rows: Option<Vec<Box<[Value]>>>,
    matched: Vec<bool>,
    batch: RowSet,
    at: usize,
    inner: usize,
    found: bool,
    rest: Option<usize>,
    scratch: Vec<Value>,
}

impl<'p> LoopJoin<'p> {
    /// Over two inputs.
    pub fn new(left: Box<dyn Operator + 'p>, right: Box<dyn Operator + 'p>, plan: &'p LoopJoinPlan) -> Self {
        LoopJoin {
            left,
            right,
            plan,
            rows: None,
            matched: Vec::new(),
            batch: RowSet::default(),
            at: 0,
            inner: 0,
            found: false,
            rest: None,
            scratch: Vec::new(),
        }
    }

    fn keep(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let mut rows = Vec::new();
        let mut batch = RowSet::default();
        while self.right.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let row: Box<[Value]> = batch.row_mut(i).iter_mut().map(std::mem::take).collect();
                rt.memory.reserve(row_bytes(&row))?;
                rows.push(row);
            }
        }
        self.matched = vec![false; rows.len()];
        self.rows = Some(rows);
        Ok(())
    }

    fn left_row(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Some(rows) = &self.rows else { return Ok(true) };
        let left = self.batch.row(self.at);
        let half = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        while let Some(right) = rows.get(self.inner) {
            if out.len() >= BATCH {
                return Ok(false);
            }
            let at = self.inner;
            self.inner += 1;
            if let Some(on) = &self.plan.on {
                self.scratch.clear();
                self.scratch.extend_from_slice(left);
                self.scratch.extend_from_slice(right);
                if !on.is_true(&self.scratch, rt)? {
                    continue;
                }
            }
            self.found = true;
            self.matched[at] = true;
            if half {
                break;
            }
            out.push_pair(left, right);
        }
        match (self.plan.kind, self.found) {
            (JoinKind::Semi, true) | (JoinKind::Anti, false) => out.push(left),
            (JoinKind::Left | JoinKind::Full, false) => {
                let row = out.push_row();
                row[..left.len()].clone_from_slice(left);
                row[left.len()..].fill(Value::Null);
            }
            _ => {}
        }
        Ok(true)
    }

    fn unmatched(&mut self, out: &mut RowSet) {
        let (Some(rows), Some(at)) = (&self.rows, &mut self.rest) else { return };
        while out.len() < BATCH && *at < rows.len() {
            if !self.matched[*at] {
                let row = out.push_row();
                row[..self.plan.left_width].fill(Value::Null);
                row[self.plan.left_width..].clone_from_slice(&rows[*at]);
            }
            *at += 1;
        }
    }
}

impl Operator for LoopJoin<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let half = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        out.reset(self.plan.left_width + if half { 0 } else { self.plan.right_width });
        if self.rows.is_none() {
            self.keep(rt)?;
        }
        while out.len() < BATCH && self.rest.is_none() {
            if self.at < self.batch.len() {
                if self.left_row(rt, out)? {
                    self.at += 1;
                    self.inner = 0;
                    self.found = false;
                    rt.check_cancel()?;
                }
                continue;
            }
            self.at = 0;
            if !self.left.next(rt, &mut self.batch)? {
                self.batch.truncate(0);
                self.rest = Some(0);
            }
        }
        if self.plan.kind == JoinKind::Full {
            self.unmatched(out);
        }
        Ok(!out.is_empty())
    }
}
