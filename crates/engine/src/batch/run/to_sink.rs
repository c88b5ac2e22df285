//! A query's rows on their way to the client. Guarantees: the header goes out with the first row,
//! so that a statement that must be compiled again has not shown anything yet (that of one that
//! fails before it: owed.rs); SET TEXTSIZE cuts what it is to cut.

use types::{DataType, MAX_ROW, ResultRows, RowItems, SqlError, Value};

use exec::operators::context::RowSink;
use session::output::{ColumnInfo, ColumnOrigins, MadeRows, Sink};

/// Passes a query's rows on; the header goes out with the first row, so that a statement that must
/// be compiled again has not shown anything yet.
pub(in crate::batch) struct ToSink<'s> {
    sink: &'s mut dyn Sink,
    header: Option<&'s [ColumnInfo]>,
    pub(in crate::batch) begun: bool,
    /// Why the client has refused rows first.
    pub(super) refused: Option<SqlError>,
    /// TEXTSIZE in bytes, when it is less than everything and there are (max) columns.
    limit: Option<usize>,
    /// Room for the rows that it cuts.
    cut: MadeRows,
    /// In browse mode: where the columns come from.
    pub(super) origins: Option<ColumnOrigins>,
    /// By which columns the rows are in order.
    pub(in crate::batch) order: &'s [u16],
}

impl<'s> ToSink<'s> {
    /// No header without columns: the statement assigns variables or returns no rows.
    pub(in crate::batch) fn new(
        sink: &'s mut dyn Sink,
        columns: &'s [ColumnInfo],
        textsize: i32,
    ) -> ToSink<'s> {
        let limit = usize::try_from(textsize).ok().filter(|n| *n < i32::MAX as usize);
        let limit = limit.filter(|_| columns.iter().any(|c| is_cut(c.ty)));
        let header = (!columns.is_empty()).then_some(columns);
        ToSink {
            sink,
            header,
            begun: false,
            refused: None,
            limit,
            cut: MadeRows::default(),
            origins: None,
            order: &[],
        }
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        if !self.begun {
            self.begun = true;
            if let Some(header) = self.header {
                self.sink.columns(header)?;
            }
            if let Some(origins) = self.origins.take() {
                self.sink.origins(&origins)?;
            }
            if !self.order.is_empty() {
                self.sink.ordered(self.order)?;
            }
        }
        Ok(())
    }

    pub(in crate::batch) fn finish(&mut self) -> Result<(), SqlError> {
        self.begin()
    }

    /// The rows with their (max) values cut to TEXTSIZE.
    fn cut_rows(&mut self, rows: &ResultRows<'_>, limit: usize) -> Result<(), SqlError> {
        let columns = self.header.unwrap_or_default();
        self.cut.give(rows, columns.len(), &mut *self.sink, |row, cut| {
            cut.extend(
                row.iter().zip(columns).map(|(value, column)| cut_value(value, column, limit)),
            );
            Ok(())
        })
    }
}

impl RowSink for ToSink<'_> {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        let begun = if self.begun { Ok(()) } else { self.begin() };
        let given = begun.and_then(|()| match (self.limit, rows.items()) {
            // With a limit that could cut what is within a row no row comes as it is stored.
            (None, _) | (_, RowItems::Cells(_)) => self.sink.rows(rows),
            (Some(limit), RowItems::Values(_)) => self.cut_rows(rows, limit),
        });
        if let Err(error) = &given {
            self.refused.get_or_insert_with(|| error.clone());
        }
        given
    }

    /// What TEXTSIZE would cut is longer than any value within a row.
    fn takes_stored(&self) -> bool {
        self.limit.is_none_or(|limit| limit >= MAX_ROW) && self.sink.takes_stored()
    }
}

/// A column's value, cut to a limit in bytes if it is (max).
fn cut_value(value: &Value, column: &ColumnInfo, limit: usize) -> Value {
    match (value, is_cut(column.ty)) {
        (Value::Str(text), true) => {
            let units = if column.ty.is_unicode() { limit / 2 } else { limit };
            Value::str(types::convert::first_units(
                text,
                units,
                column.ty,
                column.collation.code_page(),
            ))
        }
        (Value::Bytes(bytes), true) => Value::bytes(bytes[..limit.min(bytes.len())].to_vec()),
        _ => value.clone(),
    }
}

/// Whether TEXTSIZE cuts values of the type: a part of a document would be none.
fn is_cut(ty: DataType) -> bool {
    ty.is_lob() && ty != DataType::Xml
}
