//! Rows of a bulk load that are said to come in the order of the clustered index.
//! Guarantee: a row that comes before its predecessor ends the load (4819).

use std::cmp::Ordering;

use catalog::TableDef;
use types::{SqlError, Value};

use super::bulk::BulkRows;

/// Rows whose order is checked as they come.
pub(super) struct InOrder<'a> {
    pub rows: &'a mut dyn BulkRows,
    pub table: &'a TableDef,
    /// Positions of the rows' columns in the table.
    pub columns: &'a [usize],
    /// Positions of the columns in the rows, and whether they descend.
    pub order: &'a [(usize, bool)],
    /// The key of the row before.
    pub last: Option<Vec<Value>>,
}

impl BulkRows for InOrder<'_> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        if !self.rows.next(row)? {
            return Ok(false);
        }
        let key: Vec<Value> = self.order.iter().map(|(at, _)| row[*at].clone()).collect();
        if let Some(last) = &self.last
            && self.compare(last, &key) == Ordering::Greater
        {
            return Err(out_of_order(last, &key));
        }
        self.last = Some(key);
        Ok(true)
    }
}

impl InOrder<'_> {
    fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        let parts = self.order.iter().zip(left.iter().zip(right));
        let mut parts = parts.map(|((at, descending), (left, right))| {
            let collation = self.table.columns[self.columns[*at]].collation;
            let ordering = match (left.is_null(), right.is_null()) {
                (false, false) => types::ops::compare(left, right, collation).unwrap_or(Ordering::Equal),
                // NULL is before all others.
                (left, right) => right.cmp(&left),
            };
            if *descending { ordering.reverse() } else { ordering }
        });
        parts.find(|ordering| *ordering != Ordering::Equal).unwrap_or(Ordering::Equal)
    }
}

/// 4819.
fn out_of_order(first: &[Value], second: &[Value]) -> SqlError {
    let shown = |key: &[Value]| key.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    let text = format!(
        "Cannot bulk load. The bulk data stream was incorrectly specified as sorted or the data violates a uniqueness \
         constraint imposed by the target table. Sort order incorrect for the following two rows: primary key of first \
         row: ({}), primary key of second row: ({}).",
        shown(first),
        shown(second)
    );
    SqlError::new(4819, 16, 1, text)
}
