//! Window functions: the input is sorted by partition and order, then each call adds its column.

use super::memory::row_bytes;
use super::{BATCH, Operator, RowSet};
use crate::exec::rt::Rt;
use expr::aggregate::{Accumulator, Aggregate};
use expr::eval::order_of;
use plan::logical::{FrameEnd, WindowCall, WindowKind};
use std::cmp::Ordering;
use types::{SqlError, Value};

/// The operator; each call's expressions are over the input's slots.
pub struct Window<'p> {
    pub input: Box<dyn Operator + 'p>,
    pub calls: &'p [WindowCall],
    pub rows: Option<std::vec::IntoIter<Vec<Value>>>,
    pub width: usize,
}

/// A row's keys for one call, and where the row is.
struct Keyed {
    partition: Vec<Value>,
    order: Vec<Value>,
    row: usize,
}

impl Window<'_> {
    fn fill(&mut self, rt: &mut Rt<'_, '_>) -> Result<Vec<Vec<Value>>, SqlError> {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut batch = RowSet::default();
        while self.input.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let mut row = Vec::with_capacity(self.width);
                row.extend(batch.row_mut(i).iter_mut().map(std::mem::take));
                rt.memory.reserve(row_bytes(&row))?;
                rows.push(row);
            }
        }
        let mut last_order: Option<Vec<usize>> = None;
        for call in self.calls {
            let order = compute(call, &mut rows, rt)?;
            last_order.get_or_insert(order);
        }
        // Rows come out in the order of the first call, as they do in SQL Server.
        if let Some(order) = last_order {
            rows = order.into_iter().map(|at| std::mem::take(&mut rows[at])).collect();
        }
        Ok(rows)
    }
}

/// Adds a call's column to every row; returns the order of the rows by the call's keys.
fn compute(call: &WindowCall, rows: &mut [Vec<Value>], rt: &mut Rt<'_, '_>) -> Result<Vec<usize>, SqlError> {
    let mut keyed = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut key = Keyed { partition: Vec::new(), order: Vec::new(), row: at };
        for (e, _) in &call.partition {
            key.partition.push(e.eval(row, rt)?);
        }
        for k in &call.order {
            key.order.push(k.expr.eval(row, rt)?);
        }
        keyed.push(key);
    }
    keyed.sort_by(|a, b| partition_order(call, a, b).then_with(|| peer_order(call, a, b)));
    let mut start = 0;
    let mut results: Vec<Value> = Vec::with_capacity(rows.len());
    while start < keyed.len() {
        let mut end = start + 1;
        while end < keyed.len() && partition_order(call, &keyed[start], &keyed[end]).is_eq() {
            end += 1;
        }
        partition(call, &keyed[start..end], rows, rt, &mut results)?;
        start = end;
    }
    for (key, value) in keyed.iter().zip(results) {
        rows[key.row].push(value);
    }
    Ok(keyed.into_iter().map(|key| key.row).collect())
}

fn partition_order(call: &WindowCall, a: &Keyed, b: &Keyed) -> Ordering {
    let parts = a.partition.iter().zip(&b.partition).zip(&call.partition);
    parts.map(|((a, b), (_, c))| order_of(a, b, *c)).fold(Ordering::Equal, Ordering::then)
}

fn peer_order(call: &WindowCall, a: &Keyed, b: &Keyed) -> Ordering {
    let parts = a.order.iter().zip(&b.order).zip(&call.order);
    let orders = parts.map(|((a, b), k)| {
        let order = order_of(a, b, k.collation);
        if k.descending { order.reverse() } else { order }
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

/// Start and end of the peers of each row.
fn peers(call: &WindowCall, keys: &[Keyed]) -> Vec<(usize, usize)> {
    let mut out = Vec::with_capacity(keys.len());
    let mut start = 0;
    while start < keys.len() {
        let mut end = start + 1;
        while end < keys.len() && peer_order(call, &keys[start], &keys[end]).is_eq() {
            end += 1;
        }
        out.extend(std::iter::repeat_n((start, end), end - start));
        start = end;
    }
    out
}

fn partition(
    call: &WindowCall,
    keys: &[Keyed],
    rows: &[Vec<Value>],
    rt: &mut Rt<'_, '_>,
    out: &mut Vec<Value>,
) -> Result<(), SqlError> {
    let n = keys.len();
    let peers = peers(call, keys);
    match &call.kind {
        WindowKind::RowNumber => out.extend((1..=n as i64).map(Value::BigInt)),
        WindowKind::Rank => out.extend(peers.iter().map(|(start, _)| Value::BigInt(*start as i64 + 1))),
        WindowKind::DenseRank => {
            let mut rank = 0;
            for (i, (start, _)) in peers.iter().enumerate() {
                rank += i64::from(*start == i);
                out.push(Value::BigInt(rank));
            }
        }
        WindowKind::PercentRank => {
            let below = (n - 1).max(1) as f64;
            out.extend(peers.iter().map(|(start, _)| Value::Float(*start as f64 / below)));
        }
        WindowKind::CumeDist => out.extend(peers.iter().map(|(_, end)| Value::Float(*end as f64 / n as f64))),
        WindowKind::Ntile(groups) => {
            let groups = groups.eval(&rows[keys[0].row], rt)?.as_i64().unwrap_or(0);
            if groups < 1 {
                let text = "NTILE function expects a positive integer value for its argument.";
                return Err(SqlError::new(4110, 16, 1, text));
            }
            let (size, larger) = (n as i64 / groups, n as i64 % groups);
            for i in 0..n as i64 {
                let in_larger = i < larger * (size + 1);
                let tile =
                    if in_larger { i / (size + 1) } else { larger + (i - larger * (size + 1)) / size.max(1) };
                out.push(Value::BigInt(tile + 1));
            }
        }
        WindowKind::Lag { arg, offset, default, ahead } => {
            for (i, key) in keys.iter().enumerate() {
                let by = offset.eval(&rows[key.row], rt)?.as_i64().unwrap_or(0);
                let at = if *ahead { i as i64 + by } else { i as i64 - by };
                out.push(match usize::try_from(at).ok().and_then(|at| keys.get(at)) {
                    Some(other) => arg.eval(&rows[other.row], rt)?,
                    None => default.eval(&rows[key.row], rt)?,
                });
            }
        }
        WindowKind::FirstValue(arg) | WindowKind::LastValue(arg) => {
            let first = matches!(call.kind, WindowKind::FirstValue(_));
            for i in 0..n {
                let (start, end) = frame(call, i, n, &peers);
                let at = if first { start } else { end.wrapping_sub(1) };
                out.push(match keys.get(at).filter(|_| start < end) {
                    Some(key) => arg.eval(&rows[key.row], rt)?,
                    None => Value::Null,
                });
            }
        }
        WindowKind::Aggregate(aggregate) => framed(call, aggregate, keys, rows, &peers, rt, out)?,
    }
    Ok(())
}

/// An aggregate over each row's frame, in time linear in the rows: starts and ends of frames only move forward.
fn framed(
    call: &WindowCall,
    aggregate: &Aggregate,
    keys: &[Keyed],
    rows: &[Vec<Value>],
    peers: &[(usize, usize)],
    rt: &mut Rt<'_, '_>,
    out: &mut Vec<Value>,
) -> Result<(), SqlError> {
    let mut sliding = Sliding::new(aggregate);
    let row = |at: usize| rows[keys[at].row].as_slice();
    let mut known: Option<((usize, usize), Value)> = None;
    for i in 0..keys.len() {
        if i % BATCH == 0 {
            rt.check_cancel()?;
        }
        let range = frame(call, i, keys.len(), peers);
        if let Some((same, value)) = &known
            && *same == range
        {
            out.push(value.clone());
            continue;
        }
        sliding.to(range, &row, rt)?;
        let value = sliding.value()?;
        out.push(value.clone());
        known = Some((range, value));
    }
    Ok(())
}

/// The state of a frame that slides over the rows of a partition: a queue made of two stacks, each row entering and leaving each
/// once (Tangwongsan, Hirzel, Schneider, "In-Order Sliding-Window Aggregation in Worst-Case Constant Time", 2017, section 2).
struct Sliding<'a> {
    aggregate: &'a Aggregate,
    /// The rows that the state is of.
    start: usize,
    end: usize,
    /// Of the oldest rows: the state of each of them and those after it that are in this stack, the oldest last.
    front: Vec<Accumulator>,
    /// Of the rows after those in `front`.
    back: Accumulator,
}

impl<'a> Sliding<'a> {
    fn new(aggregate: &'a Aggregate) -> Sliding<'a> {
        Sliding { aggregate, start: 0, end: 0, front: Vec::new(), back: aggregate.start() }
    }

    /// Moves on to another frame, neither end of which lies before the one of the last.
    fn to<'r>(
        &mut self,
        (start, end): (usize, usize),
        row: &dyn Fn(usize) -> &'r [Value],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        debug_assert!(start >= self.start && end >= self.end && start <= end, "frames only move forward");
        while self.end < end {
            self.aggregate.update(&mut self.back, row(self.end), rt)?;
            self.end += 1;
        }
        while self.start < start {
            if self.front.is_empty() {
                self.turn(row, rt)?;
            }
            self.front.pop();
            self.start += 1;
        }
        Ok(())
    }

    /// Makes the front stack of all rows.
    fn turn<'r>(&mut self, row: &dyn Fn(usize) -> &'r [Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let mut newer = self.aggregate.start();
        for at in (self.start..self.end).rev() {
            let mut state = self.aggregate.start();
            self.aggregate.update(&mut state, row(at), rt)?;
            self.aggregate.merge(&mut state, &newer)?;
            newer.clone_from(&state);
            self.front.push(state);
        }
        self.back = self.aggregate.start();
        Ok(())
    }

    /// The aggregate of the frame.
    fn value(&self) -> Result<Value, SqlError> {
        let mut state = self.front.last().cloned().unwrap_or_else(|| self.aggregate.start());
        self.aggregate.merge(&mut state, &self.back)?;
        self.aggregate.finish(state)
    }
}

/// The rows of a row's frame: start and end within the partition.
fn frame(call: &WindowCall, i: usize, n: usize, peers: &[(usize, usize)]) -> (usize, usize) {
    let shifted = |by: i64| usize::try_from(i as i64 + by).unwrap_or(0);
    let start = match call.start {
        FrameEnd::Unbounded => 0,
        FrameEnd::Rows(by) => shifted(by).min(n),
        FrameEnd::Peers => peers[i].0,
    };
    let end = match call.end {
        FrameEnd::Unbounded => n,
        FrameEnd::Rows(by) => usize::try_from(i as i64 + by + 1).unwrap_or(0).min(n),
        FrameEnd::Peers => peers[i].1,
    };
    (start, end.max(start))
}

impl Operator for Window<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.width);
        if self.rows.is_none() {
            self.rows = Some(self.fill(rt)?.into_iter());
        }
        let Some(rows) = &mut self.rows else { return Ok(false) };
        for mut row in rows.by_ref().take(BATCH) {
            out.push_row().swap_with_slice(&mut row);
        }
        Ok(!out.is_empty())
    }
}
