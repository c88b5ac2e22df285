//! Sort: all rows in memory, or the first n by a heap when only those are wanted.

use super::memory::row_bytes;
use super::{BATCH, Operator, RowSet};
use crate::expr::Rt;
use std::cmp::Ordering;
use types::{Collation, SqlError, Value, ops};

/// A key over the rows' slots.
#[derive(Clone, Debug)]
pub struct SortSlot {
    pub slot: usize,
    pub descending: bool,
    pub collation: Collation,
}

/// SQL's order with NULL first.
#[inline]
pub fn order_of(a: &Value, b: &Value, collation: Collation) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => ops::compare(a, b, collation).unwrap_or(Ordering::Equal),
    }
}

/// The order of two rows by keys.
pub fn compare_rows(keys: &[SortSlot], a: &[Value], b: &[Value]) -> Ordering {
    for key in keys {
        let order = order_of(&a[key.slot], &b[key.slot], key.collation);
        if order != Ordering::Equal {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// Sorts its input.
pub struct Sort<'p> {
    pub input: Box<dyn Operator + 'p>,
    pub keys: &'p [SortSlot],
    /// Only this many rows are wanted.
    pub limit: Option<usize>,
    pub rows: Option<std::vec::IntoIter<Box<[Value]>>>,
    pub width: usize,
}

impl Sort<'_> {
    fn fill(&mut self, rt: &mut Rt<'_, '_>) -> Result<Vec<Box<[Value]>>, SqlError> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let mut batch = RowSet::default();
        // Twice the limit before cutting: each row is then sorted a constant number of times.
        let cut = self.limit.map(|n| n.saturating_mul(2).max(1024));
        while self.input.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let row: Box<[Value]> = batch.row_mut(i).iter_mut().map(std::mem::take).collect();
                rt.memory.reserve(row_bytes(&row))?;
                rows.push(row);
            }
            if let (Some(cut), Some(limit)) = (cut, self.limit)
                && rows.len() > cut
            {
                rows.sort_by(|a, b| compare_rows(self.keys, a, b));
                rows.drain(limit..).for_each(|row| rt.memory.release(row_bytes(&row)));
            }
        }
        rows.sort_by(|a, b| compare_rows(self.keys, a, b));
        if let Some(limit) = self.limit {
            rows.truncate(limit);
        }
        Ok(rows)
    }
}

impl Operator for Sort<'_> {
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
