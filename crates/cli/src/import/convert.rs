//! From a file's fields to values of the table's columns. Guarantee: a field that is not exactly a
//! value of its column is an error with file, row and column.

use super::TableColumn;
use crate::file_rows::{Cell, ImportFailure, ImportRows};
use crate::progress::Progress;
use engine::{BulkRows, DataType, SqlError, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::convert::{Mode, convert};
use types::{Len, codepage, msg, numtext};

/// The rows of a file as the bulk load takes them.
pub struct ConvertedRows<'a> {
    rows: Box<dyn ImportRows>,
    columns: &'a [TableColumn],
    progress: &'a mut Progress,
    read: &'a Arc<AtomicU64>,
    cells: Vec<Cell>,
    count: u64,
    /// Why it stopped; the load itself only hears that it did.
    failed: Option<ImportFailure>,
}

impl<'a> ConvertedRows<'a> {
    pub fn new(
        rows: Box<dyn ImportRows>,
        columns: &'a [TableColumn],
        progress: &'a mut Progress,
        read: &'a Arc<AtomicU64>,
    ) -> ConvertedRows<'a> {
        ConvertedRows { rows, columns, progress, read, cells: Vec::new(), count: 0, failed: None }
    }

    /// The error of a load that these rows went into, with the place in the file.
    pub fn explain(&mut self, error: SqlError) -> ImportFailure {
        if let Some(failed) = self.failed.take() {
            return failed;
        }
        // Rows go into the table some hundred at a time.
        let text =
            format!("at {} or before: Msg {}: {}", self.rows.place(), error.number, error.message);
        ImportFailure::File(text)
    }

    fn convert(&mut self, values: &mut [Value]) -> Result<bool, ImportFailure> {
        if !self.rows.next(&mut self.cells)? {
            return Ok(false);
        }
        if self.cells.len() != self.columns.len() {
            let (fields, columns) = (self.cells.len(), self.columns.len());
            let text = format!("{}: {fields} fields for {columns} columns", self.rows.place());
            return Err(ImportFailure::File(text));
        }
        for (at, (cell, column)) in self.cells.drain(..).zip(self.columns).enumerate() {
            values[at] = value_of(cell, column.ty).map_err(|why| {
                ImportFailure::File(format!(
                    "{}, column {} ({}): {why}",
                    self.rows.place(),
                    at + 1,
                    column.name
                ))
            })?;
        }
        self.count += 1;
        if self.count.is_multiple_of(1024) {
            self.progress.at(self.count, self.read.load(Ordering::Relaxed));
        }
        Ok(true)
    }
}

impl BulkRows for ConvertedRows<'_> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        self.convert(row).map_err(|failed| {
            self.failed = Some(failed);
            SqlError::of(msg::BULK_ROW_NOT_IMPORTED, [])
        })
    }
}

/// A field as a value of a type. Errors: why it is none.
pub fn value_of(cell: Cell, ty: DataType) -> Result<Value, String> {
    match cell {
        Cell::Null => Ok(Value::Null),
        Cell::Text(text) => text_value(&text, ty),
        Cell::Value(value @ Value::Str(_)) => text_value(value.as_str().unwrap_or_default(), ty),
        Cell::Value(value) => {
            if ty.is_string() && !matches!(value, Value::Bytes(_)) {
                let natural = value.natural_type();
                return text_value(&crate::output::text::exact(&value, natural), ty);
            }
            convert(&value, value.natural_type(), ty, 0, Mode::Assignment)
                .map_err(|e| e.into_message())
        }
    }
}

fn text_value(text: &str, ty: DataType) -> Result<Value, String> {
    let shown = || {
        let cut: String = text.chars().take(100).collect();
        let dots = if cut.len() < text.len() { "..." } else { "" };
        format!("'{cut}{dots}' is no {}", ty.message_name())
    };
    let from = DataType::NVarChar(Len::Max);
    let text = &*types::units::held(text);
    if ty.is_string() {
        if !ty.is_unicode() && codepage::replaced(text).is_some() {
            return Err(format!(
                "'{text}' has characters that {} does not (code page 1252)",
                ty.message_name()
            ));
        }
        return convert(&Value::str(text), from, ty, 0, Mode::Assignment).map_err(|_| {
            let length = types::codepage::utf16_len(text);
            format!("a text of {length} characters does not fit into {ty}")
        });
    }
    // T-SQL reads an empty text as 0 or 1900-01-01: nobody means that in a file.
    if text.trim().is_empty() {
        return Err(shown());
    }
    if ty.is_binary() {
        let digits =
            text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or_else(shown)?;
        let bytes = numtext::parse_hex(digits).ok_or_else(shown)?;
        let value = Value::bytes(bytes);
        return convert(&value, DataType::VarBinary(Len::Max), ty, 0, Mode::Assignment)
            .map_err(|e| e.into_message());
    }
    if ty == DataType::UniqueIdentifier && !matches!(text.len(), 36 | 38) {
        return Err(shown());
    }
    if let (DataType::Float | DataType::Real, Ok(number)) = (ty, text.trim().parse::<f64>()) {
        let value = if ty == DataType::Real {
            text.trim().parse::<f32>().map(Value::Real).unwrap_or(Value::Null)
        } else {
            Value::Float(number)
        };
        let finite = matches!(value, Value::Float(f) if f.is_finite())
            || matches!(value, Value::Real(f) if f.is_finite());
        return if finite { Ok(value) } else { Err(shown()) };
    }
    convert(&Value::str(text), from, ty, 0, Mode::Assignment).map_err(|_| shown())
}
