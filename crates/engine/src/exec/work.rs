//! Rows that the statement keeps: `inserted` and `deleted`, and recursive common table expressions, which read what their
//! last round has given.

use std::sync::Arc;

use super::memory::row_bytes;
use super::rt::Rt;
use super::{BATCH, Open, Operator, RowSet};
use crate::state::changes::KeptRows;
use plan::logical::WorkSource;
use plan::nodes::Plan;
use types::{SqlError, Value};

/// Rows that the statement keeps.
pub struct Work<'p> {
    source: WorkSource,
    /// Positions of the columns that are wanted; one past the last is the number of the row.
    keep: &'p [usize],
    rows: Option<Arc<KeptRows>>,
    at: usize,
}

impl<'p> Work<'p> {
    /// From the first row on.
    pub fn new(source: WorkSource, keep: &'p [usize]) -> Work<'p> {
        Work { source, keep, rows: None, at: 0 }
    }
}

impl Operator for Work<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.keep.len());
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(rt.kept_rows(self.source)?),
        };
        while out.len() < BATCH && self.at < rows.len() {
            let row = rows.row(self.at);
            for (place, at) in out.push_row().iter_mut().zip(self.keep) {
                *place = row.get(*at).cloned().unwrap_or(Value::BigInt(self.at as i64));
            }
            self.at += 1;
        }
        Ok(!out.is_empty())
    }
}

/// A recursive common table expression.
pub struct Recursive<'p> {
    anchor: &'p Plan,
    steps: &'p [Plan],
    work: usize,
    limit: Option<u32>,
    round: u32,
    /// What runs: the anchor, or the step of this number.
    running: Option<Box<dyn Operator + 'p>>,
    step: usize,
    /// What this round has given so far.
    given: KeptRows,
    kept: usize,
    done: bool,
    open: Open,
}

impl<'p> Recursive<'p> {
    /// Before its anchor; `work` is the number of its rows, `limit` the most rounds.
    pub fn new(
        anchor: &'p Plan,
        steps: &'p [Plan],
        (work, limit): (usize, Option<u32>),
        open: Open,
    ) -> Recursive<'p> {
        Recursive {
            anchor,
            steps,
            work,
            limit,
            open,
            round: 0,
            running: None,
            step: 0,
            given: KeptRows::new(anchor.width()),
            kept: 0,
            done: false,
        }
    }

    /// The plan that runs after the one that has ended; none when the last round gave no rows.
    fn next_plan(&mut self, rt: &mut Rt<'_, '_>) -> Result<Option<&'p Plan>, SqlError> {
        if self.round > 0 && self.step + 1 < self.steps.len() {
            self.step += 1;
            return Ok(self.steps.get(self.step));
        }
        rt.memory.release(self.kept);
        self.kept = 0;
        if self.given.is_empty() {
            return Ok(None);
        }
        self.round += 1;
        self.step = 0;
        let given = std::mem::replace(&mut self.given, KeptRows::new(self.anchor.width()));
        rt.set_round(self.work, Arc::new(given));
        Ok(self.steps.first())
    }
}

/// 530.
fn exhausted(limit: u32) -> SqlError {
    let text = format!(
        "The statement terminated. The maximum recursion {limit} has been exhausted before statement completion."
    );
    SqlError::new(530, 16, 1, text)
}

impl Operator for Recursive<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        loop {
            if self.done {
                out.reset(self.anchor.width());
                return Ok(false);
            }
            let running = match &mut self.running {
                Some(running) => running,
                None => self.running.insert((self.open)(self.anchor)),
            };
            if running.next(rt, out)? {
                if let Some(limit) = self.limit.filter(|limit| self.round > *limit) {
                    return Err(exhausted(limit));
                }
                for i in 0..out.len() {
                    let bytes = row_bytes(out.row(i));
                    rt.reserve(bytes)?;
                    self.kept += bytes;
                    self.given.push(out.row(i));
                }
                return Ok(true);
            }
            rt.check_cancel()?;
            match self.next_plan(rt)? {
                Some(plan) => self.running = Some((self.open)(plan)),
                None => self.done = true,
            }
        }
    }
}
