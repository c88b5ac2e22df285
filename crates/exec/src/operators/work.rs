//! Rows that the statement keeps: `inserted` and `deleted`, and recursive common table expressions,
//! which read what their last round has given.

use std::sync::Arc;

use super::rt::Rt;
use super::{Open, Operator, RowSet, other_node};
use plan::nodes::{Node, Plan};
use session::query_memory::row_bytes;
use session::state::changes::KeptRows;
use types::{SqlError, Value, msg};

/// Rows that the statement keeps.
#[derive(Default)]
pub struct Work {
    rows: Option<Arc<KeptRows>>,
    at: usize,
}

impl Operator for Work {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        // Positions of the columns that are wanted; one past the last is the number of the row.
        let Node::Work { source, keep } = &plan.node else { return Err(other_node()) };
        out.reset(keep.len());
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => none.insert(rt.kept_rows(*source)?),
        };
        while !out.is_full() && self.at < rows.len() {
            let row = rows.row(self.at);
            for (place, at) in out.push_row().iter_mut().zip(keep) {
                *place = row.get(*at).cloned().unwrap_or(Value::BigInt(self.at as i64));
            }
            self.at += 1;
        }
        Ok(!out.is_empty())
    }
}

/// A recursive common table expression.
pub struct Recursive {
    round: u32,
    /// What runs: in round 0 the anchor, later the step of this number.
    running: Option<Box<dyn Operator>>,
    step: usize,
    /// What this round has given so far.
    given: KeptRows,
    kept: usize,
    /// Memory of the rows that the round reads: those of the round before.
    read: usize,
    done: bool,
    open: Open,
}

impl Recursive {
    /// Before its anchor.
    pub fn new(anchor: &Plan, open: Open) -> Recursive {
        Recursive {
            open,
            round: 0,
            running: None,
            step: 0,
            given: KeptRows::new(anchor.width()),
            kept: 0,
            read: 0,
            done: false,
        }
    }

    /// Goes on to the plan that runs after the one that has ended; false when the last round gave
    /// no rows. `work`: the number of the query's rows.
    fn go_on(
        &mut self,
        (anchor, steps, work): (&Plan, &[Plan], usize),
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        self.running = None;
        if self.round > 0 && self.step + 1 < steps.len() {
            self.step += 1;
            return Ok(true);
        }
        rt.state.memory.release(self.read);
        self.read = std::mem::take(&mut self.kept);
        if self.given.is_empty() {
            return Ok(false);
        }
        self.round += 1;
        self.step = 0;
        let given = std::mem::replace(&mut self.given, KeptRows::new(anchor.width()));
        rt.set_round(work, Arc::new(given));
        Ok(!steps.is_empty())
    }
}

/// 530.
fn exhausted(limit: u32) -> SqlError {
    SqlError::of(msg::MAXRECURSION_EXHAUSTED, [&limit])
}

impl Operator for Recursive {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Recursive { anchor, steps, work, limit } = &plan.node else {
            return Err(other_node());
        };
        loop {
            let current = if self.round == 0 { Some(&**anchor) } else { steps.get(self.step) };
            let Some(current) = current.filter(|_| !self.done) else {
                out.reset(anchor.width());
                return Ok(false);
            };
            let running = self.running.get_or_insert_with(|| (self.open)(current));
            if running.next(current, rt, out)? {
                if let Some(limit) = limit.filter(|limit| self.round > *limit) {
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
            self.done = !self.go_on((anchor, steps, *work), rt)?;
        }
    }
}
