//! A query's rows on their way to the client.
//! Guarantees: the header goes out with the first row, so that a statement that must be compiled again has not shown anything yet
//! (that of one that fails before it: owed.rs); SET TEXTSIZE cuts what it is to cut.

use types::{DataType, MAX_ROW, SqlError, StoredCell, Value};

use exec::operators::context::RowSink;
use exec::output::{ColumnInfo, Origins, Sink};

/// Passes a query's rows on; the header goes out with the first row, so that a statement that must be compiled
/// again has not shown anything yet.
pub(in crate::batch) struct ToSink<'s> {
    sink: &'s mut dyn Sink,
    header: Option<&'s [ColumnInfo]>,
    pub(in crate::batch) begun: bool,
    /// TEXTSIZE in bytes, when it is less than everything and there are (max) columns.
    limit: Option<usize>,
    cut: Vec<Value>,
    /// In browse mode: where the columns come from.
    pub(super) origins: Option<Origins>,
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
        ToSink { sink, header, begun: false, limit, cut: Vec::new(), origins: None, order: &[] }
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

    /// The row with its (max) values cut to TEXTSIZE.
    fn cut_row(&mut self, row: &[Value], limit: usize) -> Result<(), SqlError> {
        self.cut.clear();
        let columns = self.header.unwrap_or_default();
        self.cut.extend(row.iter().zip(columns).map(|(value, column)| match (value, is_cut(column.ty)) {
            (Value::Str(text), true) => {
                let units = if column.ty.is_unicode() { limit / 2 } else { limit };
                Value::str(types::convert::first_units(text, units, column.ty, column.collation.code_page()))
            }
            (Value::Bytes(bytes), true) => Value::bytes(bytes[..limit.min(bytes.len())].to_vec()),
            _ => value.clone(),
        }));
        self.sink.row(&self.cut)
    }
}

impl RowSink for ToSink<'_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        if !self.begun {
            self.begin()?;
        }
        match self.limit {
            Some(limit) => self.cut_row(row, limit),
            None => self.sink.row(row),
        }
    }

    /// What TEXTSIZE would cut is longer than any value within a row.
    fn takes_stored(&self) -> bool {
        self.limit.is_none_or(|limit| limit >= MAX_ROW) && self.sink.takes_stored()
    }

    fn stored_row(&mut self, row: &[StoredCell<'_>]) -> Result<(), SqlError> {
        if !self.begun {
            self.begin()?;
        }
        self.sink.stored_row(row)
    }
}

/// Whether TEXTSIZE cuts values of the type: a part of a document would be none.
fn is_cut(ty: DataType) -> bool {
    ty.is_lob() && ty != DataType::Xml
}
