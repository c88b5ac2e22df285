//! The functions of a window: what each of them gives for a row of its partition.

use std::ops::Range;

use expr::Expr;
use logical::window::{FrameEnd, WindowCall, WindowKind};
use types::{SqlError, Value, msg};

use super::WindowParts;
use super::partition::Partition;
use super::sliding::Sliding;
use crate::operators::row_store::Cursor;
use crate::operators::rt::Rt;

/// The row whose turn it is.
pub struct WindowRow<'a> {
    /// Its number in the partition.
    pub at: usize,
    /// The first of its peers.
    pub peers_start: usize,
    /// How many groups of peers there are up to it.
    pub rank: i64,
    pub row: &'a [Value],
}

/// A call while its partition runs.
pub struct RunningCall {
    state: CallState,
    /// The frame of the row before, and what it gave.
    known: Option<(Range<usize>, Value)>,
}

enum CallState {
    /// Needs the present row only.
    Plain,
    /// Rows of the whole partition, once that is known.
    Counted(Option<usize>),
    /// Reads other rows.
    Reading(Cursor),
    /// The same, passing over NULL.
    Skipping(SeenValues),
    Aggregate(Sliding),
}

impl RunningCall {
    /// Before its first partition.
    pub fn new(call: &WindowCall) -> RunningCall {
        let state = match &call.kind {
            _ if call.ignore_nulls => CallState::Skipping(SeenValues::default()),
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => CallState::Plain,
            WindowKind::PercentRank | WindowKind::CumeDist | WindowKind::Ntile(_) => {
                CallState::Counted(None)
            }
            WindowKind::Lag { .. } | WindowKind::FirstValue(_) | WindowKind::LastValue(_) => {
                CallState::Reading(Cursor::default())
            }
            WindowKind::Aggregate(aggregate) => CallState::Aggregate(Sliding::new(aggregate)),
        };
        RunningCall { state, known: None }
    }

    /// Another partition begins. Here and below `call` is the one that it was made for.
    pub fn restart(&mut self, call: &WindowCall, rt: &mut Rt<'_, '_>) {
        self.known = None;
        match &mut self.state {
            CallState::Plain => {}
            CallState::Counted(count) => *count = None,
            CallState::Reading(cursor) => cursor.clear(),
            CallState::Skipping(seen) => *seen = SeenValues::default(),
            CallState::Aggregate(sliding) => {
                if let WindowKind::Aggregate(aggregate) = &call.kind {
                    sliding.restart(aggregate, rt);
                }
            }
        }
    }

    /// The first row that it may read again after this one.
    pub fn oldest(&self, call: &WindowCall, at: usize) -> usize {
        let moves = call.start != FrameEnd::Unbounded;
        match (&call.kind, &self.state) {
            (WindowKind::Lag { offset, .. }, CallState::Skipping(_))
                if constant(offset) != Some(1) =>
            {
                0
            }
            (_, CallState::Skipping(seen)) => at.min(seen.scanned),
            (WindowKind::Lag { offset, ahead, .. }, _) => match constant(offset) {
                Some(by) if *ahead => at.saturating_add_signed(by.min(0)),
                Some(by) => at.saturating_add_signed(by.saturating_neg().min(0)),
                None => 0,
            },
            (WindowKind::FirstValue(_) | WindowKind::LastValue(_), _) if moves => {
                self.known.as_ref().map_or(0, |(frame, _)| frame.start)
            }
            // The first row is known, or the last of a frame that ends at or before this row is
            // read again.
            (WindowKind::FirstValue(_) | WindowKind::LastValue(_), _) => {
                self.known.as_ref().map_or(0, |(frame, _)| at.min(frame.end.saturating_sub(1)))
            }
            (_, CallState::Aggregate(sliding)) => sliding.oldest(moves).min(at),
            _ => at,
        }
    }

    /// What the call gives for the present row.
    ///
    /// # Errors
    /// Those of its expressions and of run files; 4110; 701 for a long frame of which rows leave.
    pub fn value(
        &mut self,
        call: &WindowCall,
        current: &WindowRow<'_>,
        (partition, on): (&mut Partition, WindowParts<'_>),
        rt: &mut Rt<'_, '_>,
    ) -> Result<Value, SqlError> {
        if let CallState::Skipping(seen) = &mut self.state {
            return seen.value(call, current, (partition, on), rt);
        }
        Ok(match &call.kind {
            WindowKind::RowNumber => Value::BigInt(current.at as i64 + 1),
            WindowKind::Rank => Value::BigInt(current.peers_start as i64 + 1),
            WindowKind::DenseRank => Value::BigInt(current.rank),
            WindowKind::PercentRank => {
                let others = self.count((partition, on), rt)? - 1;
                Value::Float(current.peers_start as f64 / others.max(1) as f64)
            }
            WindowKind::CumeDist => {
                let end = partition.peers_end(on, current.at, rt)?;
                Value::Float(end as f64 / self.count((partition, on), rt)? as f64)
            }
            WindowKind::Ntile(groups) => {
                let groups = groups.eval(current.row, rt)?.as_i64().unwrap_or(0);
                tile(current.at as i64, self.count((partition, on), rt)? as i64, groups)?
            }
            WindowKind::Lag { arg, offset, default, ahead } => {
                let by = offset.eval(current.row, rt)?.as_i64().unwrap_or(0);
                let by = if *ahead { by } else { by.saturating_neg() };
                let at =
                    (current.at as i64).checked_add(by).and_then(|at| usize::try_from(at).ok());
                match at {
                    Some(at) if partition.has(on, at, rt)? => {
                        self.of_row(arg, at, partition, rt)?
                    }
                    _ => default.eval(current.row, rt)?,
                }
            }
            WindowKind::FirstValue(arg) | WindowKind::LastValue(arg) => {
                let first = matches!(call.kind, WindowKind::FirstValue(_));
                let frame = frame(call, current, (partition, on), rt)?;
                if let Some((known, value)) = &self.known
                    && (first && known.start == frame.start || !first && known.end == frame.end)
                    && known.is_empty() == frame.is_empty()
                {
                    let value = value.clone();
                    self.known = Some((frame, value.clone()));
                    return Ok(value);
                }
                let at = if first { frame.start } else { frame.end.wrapping_sub(1) };
                let value = if frame.is_empty() {
                    Value::Null
                } else {
                    self.of_row(arg, at, partition, rt)?
                };
                self.known = Some((frame, value.clone()));
                value
            }
            WindowKind::Aggregate(aggregate) => {
                let frame = frame(call, current, (partition, on), rt)?;
                if let Some((known, value)) = &self.known
                    && *known == frame
                {
                    return Ok(value.clone());
                }
                let CallState::Aggregate(sliding) = &mut self.state else { return Ok(Value::Null) };
                sliding.to(aggregate, &frame, partition, rt)?;
                let value = sliding.value(aggregate)?;
                self.known = Some((frame, value.clone()));
                value
            }
        })
    }

    fn count(
        &mut self,
        (partition, on): (&mut Partition, WindowParts<'_>),
        rt: &mut Rt<'_, '_>,
    ) -> Result<usize, SqlError> {
        if let CallState::Counted(Some(count)) = &self.state {
            return Ok(*count);
        }
        let count = partition.count(on, rt)?;
        self.state = CallState::Counted(Some(count));
        Ok(count)
    }

    /// An expression over another row.
    fn of_row(
        &mut self,
        e: &Expr,
        at: usize,
        partition: &mut Partition,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Value, SqlError> {
        let CallState::Reading(cursor) = &mut self.state else { return Ok(Value::Null) };
        e.eval(partition.other_row(at, cursor)?, rt)
    }
}

/// What a call that passes over NULL knows of its partition. Frames only move forward, so each row
/// is looked at once; but for LAG and LEAD by more than one row, which count from each row.
#[derive(Default)]
struct SeenValues {
    cursor: Cursor,
    /// Rows before this one were looked at.
    scanned: usize,
    /// The last row that was found to have a value.
    found: Option<(usize, Value)>,
}

impl SeenValues {
    /// What the call gives for the present row.
    ///
    /// # Errors
    /// Those of its expressions and of run files.
    fn value(
        &mut self,
        call: &WindowCall,
        current: &WindowRow<'_>,
        (partition, on): (&mut Partition, WindowParts<'_>),
        rt: &mut Rt<'_, '_>,
    ) -> Result<Value, SqlError> {
        match &call.kind {
            WindowKind::Lag { arg, offset, default, ahead } => {
                let by = offset.eval(current.row, rt)?.as_i64().unwrap_or(0);
                let forward = *ahead == (by > 0);
                let found = match by.unsigned_abs() {
                    0 => return arg.eval(current.row, rt),
                    1 if forward => self.next(arg, current.at, (partition, on), rt)?,
                    1 => self.look(arg, current.at, false, partition, rt)?,
                    count => {
                        return self.counted(call, current, (count, forward), (partition, on), rt);
                    }
                };
                found.map_or_else(|| default.eval(current.row, rt), Ok)
            }
            WindowKind::FirstValue(arg) => {
                let frame = frame(call, current, (partition, on), rt)?;
                let known = self.found.as_ref().filter(|(at, _)| *at >= frame.start);
                let found = match known {
                    Some((at, value)) => Some(value.clone()).filter(|_| *at < frame.end),
                    None => {
                        self.found = None;
                        self.scanned = self.scanned.max(frame.start);
                        self.look(arg, frame.end, true, partition, rt)?
                    }
                };
                Ok(found.unwrap_or(Value::Null))
            }
            WindowKind::LastValue(arg) => {
                let frame = frame(call, current, (partition, on), rt)?;
                self.scanned = self.scanned.max(frame.start);
                self.look(arg, frame.end, false, partition, rt)?;
                let found = self.found.as_ref().filter(|(at, _)| frame.contains(at));
                Ok(found.map_or(Value::Null, |(_, value)| value.clone()))
            }
            _ => Err(SqlError::internal("a call that looks at every row ignores NULL")),
        }
    }

    /// Looks at rows up to one, or to the first that has a value; the last value that was found.
    fn look(
        &mut self,
        arg: &Expr,
        to: usize,
        first: bool,
        partition: &mut Partition,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Option<Value>, SqlError> {
        while self.scanned < to {
            let found = self.look_at(arg, partition, rt)?;
            if found && first {
                break;
            }
        }
        Ok(self.found.as_ref().map(|(_, value)| value.clone()))
    }

    /// Looks at the next row; whether it has a value.
    fn look_at(
        &mut self,
        arg: &Expr,
        partition: &mut Partition,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        let at = self.scanned;
        let value = arg.eval(partition.other_row(at, &mut self.cursor)?, rt)?;
        self.scanned += 1;
        if self.scanned.is_multiple_of(1024) {
            rt.check_cancel()?;
        }
        let found = !value.is_null();
        if found {
            self.found = Some((at, value));
        }
        Ok(found)
    }

    /// The first value behind a row.
    fn next(
        &mut self,
        arg: &Expr,
        at: usize,
        (partition, on): (&mut Partition, WindowParts<'_>),
        rt: &mut Rt<'_, '_>,
    ) -> Result<Option<Value>, SqlError> {
        if self.found.as_ref().is_none_or(|(found, _)| *found <= at) {
            self.found = None;
            self.scanned = self.scanned.max(at + 1);
            while self.found.is_none() && partition.has(on, self.scanned, rt)? {
                self.look_at(arg, partition, rt)?;
            }
        }
        Ok(self.found.as_ref().map(|(_, value)| value.clone()))
    }

    /// The value of the n-th row with one before or behind the present one.
    fn counted(
        &mut self,
        call: &WindowCall,
        current: &WindowRow<'_>,
        (count, forward): (u64, bool),
        (partition, on): (&mut Partition, WindowParts<'_>),
        rt: &mut Rt<'_, '_>,
    ) -> Result<Value, SqlError> {
        let WindowKind::Lag { arg, default, .. } = &call.kind else { return Ok(Value::Null) };
        let (mut at, mut left, mut looked) = (current.at, count, 0_usize);
        loop {
            let next = if forward { at.checked_add(1) } else { at.checked_sub(1) };
            at = match next {
                Some(next) if !forward || partition.has(on, next, rt)? => next,
                _ => return default.eval(current.row, rt),
            };
            let value = arg.eval(partition.other_row(at, &mut self.cursor)?, rt)?;
            left -= u64::from(!value.is_null());
            if left == 0 {
                return Ok(value);
            }
            looked += 1;
            if looked.is_multiple_of(1024) {
                rt.check_cancel()?;
            }
        }
    }
}

/// An offset that is the same for every row.
fn constant(offset: &Expr) -> Option<isize> {
    match offset {
        Expr::Const(value) => value.as_i64().and_then(|n| isize::try_from(n).ok()),
        _ => None,
    }
}

/// NTILE: which of so many groups a row belongs to.
fn tile(at: i64, count: i64, groups: i64) -> Result<Value, SqlError> {
    if groups < 1 {
        return Err(SqlError::of(msg::NTILE_ARGUMENT, []));
    }
    let (size, larger) = (count / groups, count % groups);
    let in_larger = at < larger * (size + 1);
    let tile =
        if in_larger { at / (size + 1) } else { larger + (at - larger * (size + 1)) / size.max(1) };
    Ok(Value::BigInt(tile + 1))
}

/// The rows of a row's frame; those before its end are there.
fn frame(
    call: &WindowCall,
    current: &WindowRow<'_>,
    (partition, on): (&mut Partition, WindowParts<'_>),
    rt: &mut Rt<'_, '_>,
) -> Result<Range<usize>, SqlError> {
    let shifted = |by: i64| usize::try_from((current.at as i64).saturating_add(by)).unwrap_or(0);
    let start = match call.start {
        FrameEnd::Unbounded => 0,
        FrameEnd::Rows(by) => partition.at_most(on, shifted(by), rt)?,
        FrameEnd::Peers => current.peers_start,
    };
    let end = match call.end {
        FrameEnd::Unbounded => partition.count(on, rt)?,
        FrameEnd::Rows(by) => partition.at_most(on, shifted(by.saturating_add(1)), rt)?,
        FrameEnd::Peers => partition.peers_end(on, current.at, rt)?,
    };
    Ok(start..end.max(start))
}
