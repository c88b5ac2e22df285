//! Rows of a result on their way to whoever takes them: some at a time, in values or as they are
//! stored.
//! Guarantees: they are borrowed, so passing them on costs no copy and one row no allocation; all
//! rows have the same width; reading them never panics, whatever they were made of.

use crate::row::StoredCell;
use crate::value::Value;

/// Some rows of one result, in order. Whoever made them keeps them: they are valid for a call.
#[derive(Clone, Copy, Debug)]
pub struct ResultRows<'r> {
    items: RowItems<'r>,
    width: usize,
    count: usize,
}

/// What rows are made of, one row after another.
#[derive(Clone, Copy, Debug)]
pub enum RowItems<'r> {
    Values(&'r [Value]),
    /// Cells that are borrowed from stored rows.
    Cells(&'r [StoredCell<'r>]),
}

impl<'r> ResultRows<'r> {
    /// A single row.
    #[inline]
    pub fn one(row: &'r [Value]) -> ResultRows<'r> {
        ResultRows { items: RowItems::Values(row), width: row.len(), count: 1 }
    }

    /// Rows whose values lie one after another.
    #[inline]
    pub fn of_values(count: usize, width: usize, values: &'r [Value]) -> ResultRows<'r> {
        debug_assert_eq!(values.len(), count * width, "rows of another width");
        ResultRows { items: RowItems::Values(values), width, count }
    }

    /// Rows whose cells lie one after another. They go to those alone who take stored rows.
    #[inline]
    pub fn of_cells(count: usize, width: usize, cells: &'r [StoredCell<'r>]) -> ResultRows<'r> {
        debug_assert_eq!(cells.len(), count * width, "rows of another width");
        ResultRows { items: RowItems::Cells(cells), width, count }
    }

    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Values per row.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// What all rows are made of: `width` items are a row.
    #[inline]
    pub fn items(&self) -> RowItems<'r> {
        self.items
    }

    /// The first `n` rows.
    #[inline]
    #[must_use]
    pub fn first(&self, n: usize) -> ResultRows<'r> {
        let count = self.count.min(n);
        let items = match self.items {
            RowItems::Values(values) => {
                RowItems::Values(values.get(..count * self.width).unwrap_or(values))
            }
            RowItems::Cells(cells) => {
                RowItems::Cells(cells.get(..count * self.width).unwrap_or(cells))
            }
        };
        ResultRows { items, width: self.width, count }
    }

    /// The rows from `n` on.
    #[inline]
    #[must_use]
    pub fn skip(&self, n: usize) -> ResultRows<'r> {
        let n = self.count.min(n);
        let items = match self.items {
            RowItems::Values(values) => {
                RowItems::Values(values.get(n * self.width..).unwrap_or_default())
            }
            RowItems::Cells(cells) => {
                RowItems::Cells(cells.get(n * self.width..).unwrap_or_default())
            }
        };
        ResultRows { items, width: self.width, count: self.count - n }
    }

    /// Calls `each` with the values of row after row, up to the first error.
    ///
    /// # Errors
    /// Those of `each`.
    #[inline]
    pub fn each<E>(&self, mut each: impl FnMut(&[Value]) -> Result<(), E>) -> Result<(), E> {
        let place = |i: usize| i * self.width..(i + 1) * self.width;
        match self.items {
            RowItems::Values(values) => {
                (0..self.count).try_for_each(|i| each(values.get(place(i)).unwrap_or_default()))
            }
            RowItems::Cells(cells) => {
                let mut row = Vec::with_capacity(self.width);
                (0..self.count).try_for_each(|i| {
                    row.clear();
                    row.extend(
                        cells.get(place(i)).unwrap_or_default().iter().map(StoredCell::to_value),
                    );
                    each(&row)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(rows: &ResultRows<'_>) -> Vec<Vec<Option<i64>>> {
        let mut all = Vec::new();
        let read: Result<(), ()> = rows.each(|row| {
            all.push(row.iter().map(Value::as_i64).collect());
            Ok(())
        });
        assert!(read.is_ok());
        assert_eq!(all.len(), rows.len());
        all
    }

    #[test]
    fn parts_of_rows_are_rows() {
        let values: Vec<Value> = (0..6).map(Value::Int).collect();
        let cells: Vec<StoredCell<'_>> = values.iter().cloned().map(StoredCell::Value).collect();
        for rows in [ResultRows::of_values(3, 2, &values), ResultRows::of_cells(3, 2, &cells)] {
            let all = [0i64, 2, 4].map(|n| vec![Some(n), Some(n + 1)]);
            assert_eq!((rows.len(), rows.width(), rows.is_empty()), (3, 2, false));
            assert_eq!(numbers(&rows), all);
            for n in 0..5 {
                assert_eq!(numbers(&rows.first(n)), all[..n.min(3)], "{n}");
                assert_eq!(numbers(&rows.skip(n)), all[n.min(3)..], "{n}");
                assert_eq!(numbers(&rows.skip(1).first(n)), all[1..(n + 1).min(3)], "{n}");
            }
            assert!(rows.first(0).is_empty() && rows.skip(3).is_empty());
        }
        assert_eq!(numbers(&ResultRows::one(&values)).len(), 1);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let rows = ResultRows::of_values(3, 0, &[]);
        assert_eq!(numbers(&rows), vec![Vec::<Option<i64>>::new(); 3]);
        assert_eq!((rows.first(2).len(), rows.skip(2).len()), (2, 1));
        assert_eq!(numbers(&ResultRows::of_cells(2, 0, &[])).len(), 2);
    }

    #[test]
    fn the_first_error_ends_the_rows() {
        let values: Vec<Value> = (0..6).map(Value::Int).collect();
        let cells: Vec<StoredCell<'_>> = values.iter().cloned().map(StoredCell::Value).collect();
        for rows in [ResultRows::of_values(6, 1, &values), ResultRows::of_cells(6, 1, &cells)] {
            let mut met = 0;
            let stopped = rows.each(|row| {
                met += 1;
                if row[0] == Value::Int(2) { Err("two") } else { Ok(()) }
            });
            assert_eq!((stopped, met), (Err("two"), 3));
        }
    }
}
