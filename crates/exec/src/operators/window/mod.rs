//! Window functions over one window: each call adds its column. An input that does not come in the
//! window's order (partition, then order) is sorted first; one that does is passed on as it comes.
//! Guarantees: rows come out in the order of the window; time is linear in the rows after the sort;
//! what is kept of a partition goes to disk when there is no memory for it.

mod calls;
mod partition;
mod sliding;

use calls::{RunningCall, WindowRow};
use expr::Expr;
use logical::window::WindowCall;
use partition::Partition;
use plan::nodes::{Node, Plan};
use types::{SqlError, Value, encode_sort_part};

use super::{BATCH, Operator, RowSet, other_node};
use crate::operators::row_store::Cursor;
use crate::operators::rt::Rt;

/// The operator; the calls have one window, their expressions are over the input's slots.
pub struct Window {
    input: Option<Box<dyn Operator>>,
    /// What each call keeps.
    calls: Vec<RunningCall>,
    partition: Option<Partition>,
    cursor: Cursor,
    /// The next row of the partition, the first of the peers of the one before, how many groups of
    /// peers there were.
    at: usize,
    peers_start: usize,
    rank: i64,
}

/// The parts of the operator's node.
#[derive(Clone, Copy)]
struct WindowParts<'a> {
    input: &'a Plan,
    calls: &'a [WindowCall],
    /// The input comes in the window's order.
    streams: bool,
}

impl WindowParts<'_> {
    /// Adds the keys of a row to bytes that sort as they do; gives how many of them say which
    /// partition it is in.
    fn key(self, row: &[Value], rt: &mut Rt<'_, '_>, key: &mut Vec<u8>) -> Result<usize, SqlError> {
        let Some(window) = self.calls.first() else { return Ok(0) };
        let mut part = |e: &Expr, descending, collation, key: &mut Vec<u8>| {
            let mut scratch = Value::Null;
            encode_sort_part(e.eval_ref(row, rt, &mut scratch)?, descending, collation, key);
            Ok::<(), SqlError>(())
        };
        for (e, collation) in &window.partition {
            part(e, false, *collation, key)?;
        }
        let partition = key.len();
        for k in &window.order {
            part(&k.expr, k.descending, k.collation, key)?;
        }
        Ok(partition)
    }
}

impl Window {
    /// Over the rows of an operator.
    pub fn new(input: Box<dyn Operator>, calls: &[WindowCall]) -> Window {
        Window {
            input: Some(input),
            calls: calls.iter().map(RunningCall::new).collect(),
            partition: None,
            cursor: Cursor::default(),
            at: 0,
            peers_start: 0,
            rank: 0,
        }
    }

    /// Goes to a row of the partition, or to the next partition; false when there is none.
    fn advance(&mut self, on: WindowParts<'_>, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        let Some(partition) = &mut self.partition else { return Ok(false) };
        // Before the first partition there is no row either.
        if partition.has(on, self.at, rt)? {
            return Ok(true);
        }
        self.cursor.clear();
        self.calls.iter_mut().zip(on.calls).for_each(|(state, call)| state.restart(call, rt));
        (self.at, self.peers_start, self.rank) = (0, 0, 0);
        partition.next(on, rt)
    }

    /// Adds the next row; false when there is none.
    fn row(
        &mut self,
        on: WindowParts<'_>,
        rt: &mut Rt<'_, '_>,
        row: &mut [Value],
    ) -> Result<bool, SqlError> {
        if !self.advance(on, rt)? {
            return Ok(false);
        }
        let Some(partition) = &mut self.partition else { return Ok(false) };
        let at = self.at;
        if partition.starts_peers(at) {
            self.peers_start = at;
            self.rank += 1;
        }
        let (values, results) = row.split_at_mut(on.input.width());
        partition.row(at, &mut self.cursor, values)?;
        let current = WindowRow { at, peers_start: self.peers_start, rank: self.rank, row: values };
        for ((state, call), place) in self.calls.iter_mut().zip(on.calls).zip(results) {
            *place = state.value(call, &current, (partition, on), rt)?;
        }
        self.at += 1;
        if self.at.is_multiple_of(BATCH) {
            let next = self.at;
            let oldest =
                self.calls.iter().zip(on.calls).map(|(state, call)| state.oldest(call, next)).min();
            partition.keep_from(oldest.unwrap_or(next).min(next));
            rt.check_cancel()?;
        }
        Ok(true)
    }
}

impl Operator for Window {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Window { input, calls, streams } = &plan.node else { return Err(other_node()) };
        let on = WindowParts { input, calls, streams: *streams };
        out.reset(input.width() + calls.len());
        if let Some(operator) = self.input.take() {
            // It charges what the thread holds, too: thousands of windows hold a row each.
            rt.check_cancel()?;
            self.partition = Some(Partition::new(operator, on, rt)?);
        }
        while !out.is_full() {
            let filled = self.row(on, rt, out.push_row());
            if !out.or_pop(filled)? {
                out.pop_row();
                self.partition = None;
                break;
            }
        }
        Ok(!out.is_empty())
    }
}
