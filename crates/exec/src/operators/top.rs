//! TOP (with PERCENT and TIES), OFFSET and FETCH.

use super::row_store::{Cursor, RowStore};
use super::sort::compare_rows;
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use plan::nodes::{Node, Plan, TopPlan};
use types::{SqlError, Value, msg, pack_row};

/// Passes the first rows on.
pub struct Top {
    input: Box<dyn Operator>,
    state: Option<TopState>,
}

/// Rows to skip and to give, the last row given.
struct TopState {
    skip: u64,
    left: u64,
    last: Option<Vec<Value>>,
    /// PERCENT needs all rows first.
    kept: Option<Kept>,
}

/// Rows that wait for their number.
struct Kept {
    rows: RowStore,
    cursor: Cursor,
    width: usize,
    at: usize,
}

impl Top {
    /// Over an input.
    pub(super) fn new(input: Box<dyn Operator>) -> Top {
        Top { input, state: None }
    }

    fn start(
        &mut self,
        input: &Plan,
        top: &TopPlan,
        rt: &mut Rt<'_, '_>,
    ) -> Result<TopState, SqlError> {
        let skip = match &top.offset {
            None => 0,
            Some(e) => count(&e.eval(&[], rt)?, 0, msg::OFFSET_NEGATIVE)?,
        };
        let mut state = TopState { skip, left: u64::MAX, last: None, kept: None };
        let Some(e) = &top.count else { return Ok(state) };
        let value = e.eval(&[], rt)?;
        if !top.percent {
            let (least, error) = match (&value, top.offset.is_some()) {
                (Value::Null, _) => (0, msg::ROW_COUNT_NOT_INTEGER),
                (_, false) => (0, msg::TOP_NEGATIVE),
                (_, true) => (1, msg::FETCH_NOT_POSITIVE),
            };
            state.left = count(&value, least, error)?;
            return Ok(state);
        }
        let percent = percent(&value)?;
        let mut rows = RowStore::new(rt.session().host().run_files().clone(), rt.share());
        let (mut batch, mut packed) = (RowSet::default(), Vec::new());
        while self.input.next(input, rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                packed.clear();
                pack_row(batch.row(i), &mut packed);
                rows.push(&packed)?;
            }
        }
        state.left = (rows.len() as f64 * percent / 100.0).ceil() as u64;
        state.kept = Some(Kept { rows, cursor: Cursor::default(), width: batch.width(), at: 0 });
        Ok(state)
    }
}

/// The value of TOP (n) PERCENT.
///
/// # Errors
/// 1031.
pub fn percent(value: &Value) -> Result<f64, SqlError> {
    match value {
        Value::Float(p) if (0.0..=100.0).contains(p) => Ok(*p),
        _ => Err(SqlError::of(msg::PERCENT_RANGE, [])),
    }
}

fn count(value: &Value, least: u64, otherwise: msg::Message<0>) -> Result<u64, SqlError> {
    let count = value.as_i64().and_then(|n| u64::try_from(n).ok()).filter(|n| *n >= least);
    count.ok_or_else(|| SqlError::of(otherwise, []))
}

impl TopState {
    fn input(
        &mut self,
        (input, plan): (&mut dyn Operator, &Plan),
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Some(kept) = &mut self.kept else { return input.next(plan, rt, out) };
        out.reset(kept.width);
        while !out.is_full() && kept.at < kept.rows.len() {
            kept.rows.read(kept.at, &mut kept.cursor, out.push_row())?;
            kept.at += 1;
        }
        kept.rows.keep_from(kept.at);
        Ok(!out.is_empty())
    }
}

impl Operator for Top {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Top { input, plan: top } = &plan.node else { return Err(other_node()) };
        if self.state.is_none() {
            self.state = Some(self.start(input, top, rt)?);
        }
        let Some(state) = &mut self.state else { return Ok(false) };
        loop {
            if state.left == 0 && (top.ties.is_none() || state.last.is_none()) {
                return Ok(false);
            }
            if !state.input((self.input.as_mut(), input), rt, out)? {
                return Ok(false);
            }
            if state.skip > 0 {
                let skipped = (out.len() as u64).min(state.skip);
                state.skip -= skipped;
                out.drop_front(skipped as usize);
            }
            if !out.is_empty() {
                break;
            }
        }
        let wanted = usize::try_from(state.left).unwrap_or(usize::MAX).min(out.len());
        state.left -= wanted as u64;
        let Some(ties) = &top.ties else {
            out.truncate(wanted);
            return Ok(true);
        };
        let mut end = wanted;
        if wanted > 0 {
            state.last = Some(out.row(wanted - 1).to_vec());
        }
        if state.left == 0
            && let Some(last) = &state.last
        {
            while end < out.len() && compare_rows(ties, last, out.row(end)).is_eq() {
                end += 1;
            }
            if end < out.len() {
                state.last = None;
            }
        }
        out.truncate(end);
        Ok(!out.is_empty())
    }
}
