//! Rows of an answer: as many of a batch as are gathered before they are sent are written at once.
//! Guarantees: between two looks at what is to be sent no more is written than [`BATCH`] bytes and
//! one row; a row whose values are large is charged while it is written and sent.

use engine::{ResultRows, RowItems, SqlError, Value};
use memory::{Clerk, Reservation};
use tds::TokenWriter;

use super::{BATCH, ClientAnswer};
use crate::client::out_of_memory;
use crate::wire::LARGE;

impl ClientAnswer<'_> {
    /// Writes the first of some rows, and sends what is full; how many.
    pub(super) fn some_rows(&mut self, rows: &ResultRows<'_>) -> Result<usize, SqlError> {
        let (rows, _charged) = match rows.items() {
            RowItems::Values(values) if self.may_be_large => match small_rows(values, rows.width())
            {
                0 => (rows.first(1), Some(self.room_for(held(values, rows.width()))?)),
                small => (rows.first(small), None),
            },
            // Stored rows are no longer than they are stored, as no text is given twice.
            _ => (*rows, None),
        };
        let most = BATCH.saturating_sub(self.buffer.pending());
        let mut tokens = TokenWriter::new(self.buffer.payload(), self.version);
        let written = tokens.rows(&self.columns, &rows, most).map_err(|e| e.to_sql_error())?;
        self.flow()?;
        Ok(written)
    }

    /// Charges a large row while it is written and sent: a text of UTF-8 is up to twice as long in
    /// UTF-16.
    fn room_for(&self, bytes: usize) -> Result<Reservation, SqlError> {
        let mut charged = Reservation::new(self.hub.instance.memory(), Clerk::Packets);
        match charged.take(bytes.saturating_mul(2)) {
            Ok(()) => Ok(charged),
            Err(_) => Err(out_of_memory()),
        }
    }
}

/// What the values of the first row hold outside of themselves.
fn held(values: &[Value], width: usize) -> usize {
    values.iter().take(width).map(Value::heap_bytes).sum()
}

/// How many of the first rows hold less than [`LARGE`] together.
fn small_rows(values: &[Value], width: usize) -> usize {
    let mut sum = 0;
    let small = |row: &&[Value]| {
        sum += held(row, width);
        sum < LARGE
    };
    values.chunks_exact(width.max(1)).take_while(small).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rows_end_before_a_large_one() {
        let text = |bytes: usize| Value::str("x".repeat(bytes));
        let rows = |texts: &[usize]| -> Vec<Value> {
            texts.iter().flat_map(|bytes| [Value::Int(1), text(*bytes)]).collect()
        };
        assert_eq!(small_rows(&rows(&[10, 20, 30]), 2), 3);
        assert_eq!(small_rows(&rows(&[10, LARGE, 30]), 2), 1);
        assert_eq!(small_rows(&rows(&[LARGE, 10]), 2), 0);
        assert_eq!(small_rows(&rows(&[LARGE / 2, LARGE / 2, 10]), 2), 1);
        assert_eq!(small_rows(&[], 2), 0);
        assert!(held(&rows(&[LARGE, 10]), 2) >= LARGE);
    }
}
