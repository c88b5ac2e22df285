//! Sort: all rows, beyond its share of memory through run files; or the first n, kept in memory,
//! when only those are wanted and fit.

use super::external_sort::{Sorted, Sorter};
use super::{BATCH, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::order::order_of;
use plan::nodes::{Node, Plan, SortSlot};
use session::query_memory::{Share, row_bytes};
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
pub struct Sort {
    input: Box<dyn Operator>,
    sorted: Option<Rows>,
}

/// What is sorted, and by what.
struct Wanted<'a> {
    input: &'a Plan,
    keys: &'a [SortSlot],
    /// Only this many rows are wanted.
    limit: Option<usize>,
}

/// Rows in order.
enum Rows {
    /// With the memory that they take.
    Top { rows: std::vec::IntoIter<Box<[Value]>>, _share: Share },
    /// Packed, and how many are still wanted.
    All(Sorted, usize),
}

impl Sort {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Sort {
        Sort { input, sorted: None }
    }

    fn fill(&mut self, wanted: &Wanted<'_>, rt: &mut Rt<'_, '_>) -> Result<Rows, SqlError> {
        match wanted.limit {
            Some(limit) if limit <= TOP_ROWS => self.fill_top(wanted, rt, limit),
            limit => {
                Ok(Rows::All(self.fill_all(wanted, Vec::new(), rt)?, limit.unwrap_or(usize::MAX)))
            }
        }
    }

    fn fill_top(
        &mut self,
        wanted: &Wanted<'_>,
        rt: &mut Rt<'_, '_>,
        limit: usize,
    ) -> Result<Rows, SqlError> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let (mut batch, mut share) = (RowSet::default(), rt.share());
        // Twice the limit before cutting: each row is then sorted a constant number of times.
        let cut = limit.saturating_mul(2).max(1024);
        while self.input.next(wanted.input, rt, &mut batch)? {
            rt.check_cancel()?;
            let mut fits = true;
            for i in 0..batch.len() {
                let row: Box<[Value]> = batch.row_mut(i).iter_mut().map(std::mem::take).collect();
                fits &= share.take(row_bytes(&row));
                rows.push(row);
            }
            if rows.len() > cut || !fits {
                rows.sort_by(|a, b| compare_rows(wanted.keys, a, b));
                rows.truncate(limit);
                share.clear();
                fits = share.take(rows.iter().map(|row| row_bytes(row)).sum());
            }
            if !fits {
                // A few long rows.
                share.clear();
                return Ok(Rows::All(self.fill_all(wanted, rows, rt)?, limit));
            }
        }
        rows.sort_by(|a, b| compare_rows(wanted.keys, a, b));
        rows.truncate(limit);
        Ok(Rows::Top { rows: rows.into_iter(), _share: share })
    }

    /// Sorts these rows and those that are still to come.
    fn fill_all(
        &mut self,
        wanted: &Wanted<'_>,
        first: Vec<Box<[Value]>>,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Sorted, SqlError> {
        let sorter = Sorter::new(rt.session().host().run_files().clone(), rt.share(), wanted.limit);
        let mut sorter = sorter.of_session(&rt.session().shared);
        let (mut key, mut packed) = (Vec::new(), Vec::new());
        let mut push = |row: &[Value]| {
            key.clear();
            for part in wanted.keys {
                encode_sort_part(&row[part.slot], part.descending, part.collation, &mut key);
            }
            packed.clear();
            pack_row(row, &mut packed);
            sorter.push(&key, &packed)
        };
        for row in first {
            push(&row)?;
        }
        let mut batch = RowSet::default();
        while self.input.next(wanted.input, rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                push(batch.row(i))?;
            }
        }
        sorter.finish()
    }
}

impl Operator for Sort {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Sort { input, keys, limit } = &plan.node else { return Err(other_node()) };
        out.reset(plan.width());
        if self.sorted.is_none() {
            self.sorted = Some(self.fill(&Wanted { input, keys, limit: *limit }, rt)?);
        }
        match &mut self.sorted {
            None => {}
            Some(Rows::Top { rows, .. }) => {
                for mut row in rows.by_ref().take(BATCH) {
                    out.push_row().swap_with_slice(&mut row);
                }
            }
            Some(Rows::All(sorted, left)) => {
                rt.check_cancel()?;
                while *left > 0 && !out.is_full() {
                    let Some((_, packed)) = sorted.next_record()? else { break };
                    *left -= 1;
                    unpack_row(packed, out.push_row()).map_err(|e| {
                        SqlError::internal(format!("a sorted row cannot be read: {e}"))
                    })?;
                }
            }
        }
        Ok(!out.is_empty())
    }
}
