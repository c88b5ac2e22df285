//! Sort: all rows, beyond a sort's memory through run files; or the first n, kept in memory, when only those are wanted.

use super::external_sort::{Sorted, Sorter};
use super::memory::row_bytes;
use super::{BATCH, Operator, RowSet};
use crate::exec::rt::Rt;
use expr::eval::order_of;
use plan::nodes::SortSlot;
use std::cmp::Ordering;
use types::{SqlError, Value, encode_sort_part, pack_row, unpack_row};

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

/// Most rows of a TOP that are found by keeping the best so far instead of sorting all.
const TOP_ROWS: usize = 1 << 16;

/// Sorts its input.
pub struct Sort<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [SortSlot],
    /// Only this many rows are wanted.
    limit: Option<usize>,
    width: usize,
    sorted: Option<Rows>,
}

/// Rows in order.
enum Rows {
    Top(std::vec::IntoIter<Box<[Value]>>),
    /// Packed, and how many are still wanted.
    All(Sorted, usize),
}

impl<'p> Sort<'p> {
    /// Over rows of a width. `limit`: only this many are wanted.
    pub fn new(
        input: Box<dyn Operator + 'p>,
        keys: &'p [SortSlot],
        limit: Option<usize>,
        width: usize,
    ) -> Sort<'p> {
        Sort { input, keys, limit, width, sorted: None }
    }

    fn fill(&mut self, rt: &mut Rt<'_, '_>) -> Result<Rows, SqlError> {
        match self.limit {
            Some(limit) if limit <= TOP_ROWS => Ok(Rows::Top(self.fill_top(rt, limit)?.into_iter())),
            limit => Ok(Rows::All(self.fill_all(rt)?, limit.unwrap_or(usize::MAX))),
        }
    }

    fn fill_top(&mut self, rt: &mut Rt<'_, '_>, limit: usize) -> Result<Vec<Box<[Value]>>, SqlError> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let mut batch = RowSet::default();
        // Twice the limit before cutting: each row is then sorted a constant number of times.
        let cut = limit.saturating_mul(2).max(1024);
        while self.input.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let row: Box<[Value]> = batch.row_mut(i).iter_mut().map(std::mem::take).collect();
                rt.memory.reserve(row_bytes(&row))?;
                rows.push(row);
            }
            if rows.len() > cut {
                rows.sort_by(|a, b| compare_rows(self.keys, a, b));
                rows.drain(limit..).for_each(|row| rt.memory.release(row_bytes(&row)));
            }
        }
        rows.sort_by(|a, b| compare_rows(self.keys, a, b));
        rows.truncate(limit);
        Ok(rows)
    }

    fn fill_all(&mut self, rt: &mut Rt<'_, '_>) -> Result<Sorted, SqlError> {
        let mut sorter = Sorter::new(rt.session().instance(), self.limit);
        let mut batch = RowSet::default();
        let (mut key, mut packed) = (Vec::new(), Vec::new());
        while self.input.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let row = batch.row(i);
                key.clear();
                for part in self.keys {
                    encode_sort_part(&row[part.slot], part.descending, part.collation, &mut key);
                }
                packed.clear();
                pack_row(row, &mut packed);
                sorter.push(&key, &packed)?;
            }
        }
        sorter.finish()
    }
}

impl Operator for Sort<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.width);
        if self.sorted.is_none() {
            self.sorted = Some(self.fill(rt)?);
        }
        match &mut self.sorted {
            None => {}
            Some(Rows::Top(rows)) => {
                for mut row in rows.by_ref().take(BATCH) {
                    out.push_row().swap_with_slice(&mut row);
                }
            }
            Some(Rows::All(sorted, left)) => {
                rt.check_cancel()?;
                while *left > 0 && out.len() < BATCH {
                    let Some((_, packed)) = sorted.next_record()? else { break };
                    *left -= 1;
                    unpack_row(packed, out.push_row())
                        .map_err(|e| SqlError::internal(format!("a sorted row cannot be read: {e}")))?;
                }
            }
        }
        Ok(!out.is_empty())
    }
}
