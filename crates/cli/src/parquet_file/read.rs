//! Rows in from a Parquet file, with the types that it names or else those that its columns' kinds
//! suggest.

use super::{EPOCH, TYPES, swapped};
use crate::file_rows::{Cell, ImportFailure, ImportRows};
use engine::Value;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType as ParquetType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::Decimal;

/// Rows that are read at a time.
const BATCH: usize = 1024;
/// The last day that a date can be, 9999-12-31.
const LAST_DAY: i64 = 3_652_058;

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Int,
    Unsigned,
    Decimal {
        scale: u8,
    },
    Date,
    /// Units in a day.
    Time(i64),
    Timestamp(i64),
    Int96,
    Float,
    Text,
    Uuid,
    Bytes,
}

/// The rows of a file.
pub struct ParquetRows {
    reader: SerializedFileReader<File>,
    names: Vec<String>,
    kinds: Vec<(Kind, bool)>,
    /// The row group that is read, and its columns.
    group: usize,
    columns: Vec<ColumnReader>,
    /// Rows of the group that are still to be read from its columns.
    left: usize,
    /// What has been read of each column, in reverse.
    batch: Vec<Vec<Cell>>,
    row: u64,
    read: Arc<AtomicU64>,
}

fn damaged(e: ParquetError) -> ImportFailure {
    ImportFailure::File(e.to_string())
}

impl ParquetRows {
    /// Opens a file. `read` is told how many of its bytes have been read.
    pub fn open(file: File, read: Arc<AtomicU64>) -> Result<ParquetRows, ImportFailure> {
        if file.len() < 12 {
            return Err(ImportFailure::File("not a Parquet file".into()));
        }
        let reader = SerializedFileReader::new(file).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let mut kinds = Vec::new();
        let mut names = Vec::new();
        for column in schema.columns() {
            let name = column.path().string();
            if column.max_rep_level() > 0 || column.path().parts().len() != 1 {
                return Err(ImportFailure::File(format!(
                    "column {name} is nested; only flat columns can be imported"
                )));
            }
            let kind = kind_of(column).ok_or_else(|| {
                let text = format!(
                    "column {name}: Parquet's {} cannot be imported",
                    column.physical_type()
                );
                ImportFailure::File(text)
            })?;
            kinds.push((kind, column.max_def_level() > 0));
            names.push(name);
        }
        let batch = vec![Vec::new(); names.len()];
        Ok(ParquetRows {
            reader,
            names,
            kinds,
            group: 0,
            columns: Vec::new(),
            left: 0,
            batch,
            row: 0,
            read,
        })
    }

    /// Reads more rows of every column; false at the end of the file.
    fn fill(&mut self) -> Result<bool, ImportFailure> {
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group).map_err(damaged)?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let columns = (0..self.names.len()).map(|i| group.get_column_reader(i));
            self.columns = columns.collect::<Result<_, _>>().map_err(damaged)?;
            let size = group.metadata().compressed_size();
            self.read.fetch_add(u64::try_from(size).unwrap_or(0), Ordering::Relaxed);
            self.group += 1;
        }
        let rows = self.left.min(BATCH);
        for (i, reader) in self.columns.iter_mut().enumerate() {
            let (kind, nullable) = self.kinds[i];
            let mut cells = cells_of(reader, rows, kind, nullable).map_err(|why| {
                ImportFailure::File(format!("column {} ({}): {why}", i + 1, self.names[i]))
            })?;
            cells.reverse();
            self.batch[i] = cells;
        }
        self.left -= rows;
        Ok(true)
    }
}

impl ImportRows for ParquetRows {
    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn types(&self) -> Option<Vec<String>> {
        let metadata = self.reader.metadata().file_metadata().key_value_metadata()?;
        let types = metadata.iter().find(|entry| entry.key == TYPES)?.value.as_deref()?;
        let types: Vec<String> = serde_json::from_str(types).ok()?;
        (types.len() == self.names.len() && types.iter().all(|ty| is_type_name(ty)))
            .then_some(types)
    }

    fn next(&mut self, row: &mut Vec<Cell>) -> Result<bool, ImportFailure> {
        if self.batch.first().is_none_or(Vec::is_empty) && !self.fill()? {
            return Ok(false);
        }
        self.row += 1;
        row.clear();
        row.extend(self.batch.iter_mut().map(|column| column.pop().unwrap_or(Cell::Null)));
        Ok(true)
    }

    fn place(&self) -> String {
        format!("row {}", self.row)
    }
}

/// Whether a text is the name of a type and nothing else: it comes out of a file and goes into
/// CREATE TABLE.
fn is_type_name(text: &str) -> bool {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')),
        None => (text, Some("")),
    };
    let Some(arguments) = arguments else { return false };
    let number = |s: &str| !s.is_empty() && s.len() <= 4 && s.bytes().all(|b| b.is_ascii_digit());
    let good = arguments.is_empty()
        || arguments == "max"
        || arguments.split(',').all(|part| number(part.trim()));
    good && !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn kind_of(column: &ColumnDescPtr) -> Option<Kind> {
    let per_day = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 86_400_000,
        TimeUnit::MICROS => 86_400_000_000,
        TimeUnit::NANOS => 86_400_000_000_000,
    };
    let scale = u8::try_from(column.type_scale()).unwrap_or(0);
    Some(match (column.logical_type_ref(), column.converted_type(), column.physical_type()) {
        (Some(LogicalType::Decimal(_)), ..) | (_, ConvertedType::DECIMAL, _) => {
            if !(1..=38).contains(&column.type_precision()) || scale > 38 {
                return None;
            }
            Kind::Decimal { scale }
        }
        (Some(LogicalType::Date), ..) | (_, ConvertedType::DATE, _) => Kind::Date,
        (Some(LogicalType::Time(time)), ..) => Kind::Time(per_day(&time.unit)),
        (Some(LogicalType::Timestamp(stamp)), ..) => Kind::Timestamp(per_day(&stamp.unit)),
        (_, ConvertedType::TIME_MILLIS, _) => Kind::Time(86_400_000),
        (_, ConvertedType::TIME_MICROS, _) => Kind::Time(86_400_000_000),
        (_, ConvertedType::TIMESTAMP_MILLIS, _) => Kind::Timestamp(86_400_000),
        (_, ConvertedType::TIMESTAMP_MICROS, _) => Kind::Timestamp(86_400_000_000),
        (Some(LogicalType::Uuid), _, Physical::FIXED_LEN_BYTE_ARRAY)
            if column.type_length() == 16 =>
        {
            Kind::Uuid
        }
        (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), ..)
        | (_, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON, _) => Kind::Text,
        (_, ConvertedType::INTERVAL, _) | (Some(LogicalType::Float16), ..) => return None,
        (_, ConvertedType::UINT_32 | ConvertedType::UINT_64, _) => Kind::Unsigned,
        (_, _, Physical::BOOLEAN) => Kind::Bool,
        (_, _, Physical::INT32 | Physical::INT64) => Kind::Int,
        (_, _, Physical::INT96) => Kind::Int96,
        (_, _, Physical::FLOAT | Physical::DOUBLE) => Kind::Float,
        (_, _, Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY) => Kind::Bytes,
    })
}

fn cells_of(
    reader: &mut ColumnReader,
    rows: usize,
    kind: Kind,
    nullable: bool,
) -> Result<Vec<Cell>, String> {
    match reader {
        ColumnReader::BoolColumnReader(r) => take(r, rows, nullable, |b| Ok(Value::Bit(*b).into())),
        ColumnReader::Int32ColumnReader(r) => take(r, rows, nullable, |n| {
            if kind == Kind::Unsigned {
                number(i64::from(*n as u32), Kind::Int)
            } else {
                number((*n).into(), kind)
            }
        }),
        ColumnReader::Int64ColumnReader(r) => take(r, rows, nullable, |n| number(*n, kind)),
        ColumnReader::Int96ColumnReader(r) => {
            take(r, rows, nullable, |n| number(n.to_millis(), Kind::Timestamp(86_400_000)))
        }
        ColumnReader::FloatColumnReader(r) => {
            take(r, rows, nullable, |f| finite(f64::from(*f), Value::Real(*f)))
        }
        ColumnReader::DoubleColumnReader(r) => {
            take(r, rows, nullable, |f| finite(*f, Value::Float(*f)))
        }
        ColumnReader::ByteArrayColumnReader(r) => {
            take(r, rows, nullable, |b| bytes(b.data(), kind))
        }
        ColumnReader::FixedLenByteArrayColumnReader(r) => {
            take(r, rows, nullable, |b| bytes(b.data(), kind))
        }
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Cell {
        Cell::Value(value)
    }
}

/// Reads `rows` values or NULLs.
fn take<T: ParquetType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    nullable: bool,
    cell: impl Fn(&T::T) -> Result<Cell, String>,
) -> Result<Vec<Cell>, String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut cells = Vec::with_capacity(rows);
    while cells.len() < rows {
        values.clear();
        levels.clear();
        let want = rows - cells.len();
        let (records, ..) = reader
            .read_records(want, nullable.then_some(&mut levels), None, &mut values)
            .map_err(|e| e.to_string())?;
        if records == 0 {
            return Err("the column has fewer values than its row group has rows".into());
        }
        let mut present = values.iter();
        for at in 0..records {
            let there = !nullable || levels.get(at) == Some(&1);
            cells.push(match (there, there.then(|| present.next()).flatten()) {
                (false, _) => Cell::Null,
                (true, Some(value)) => cell(value)?,
                (true, None) => return Err("the column's values are fewer than it says".into()),
            });
        }
    }
    Ok(cells)
}

fn finite(as_double: f64, value: Value) -> Result<Cell, String> {
    if as_double.is_finite() {
        Ok(Cell::Value(value))
    } else {
        Err(format!("{as_double} is no number that SQL has"))
    }
}

fn number(n: i64, kind: Kind) -> Result<Cell, String> {
    let out_of_range = || format!("the value {n} is out of range");
    Ok(Cell::Value(match kind {
        Kind::Decimal { scale } => decimal(n.into(), scale)?,
        Kind::Date => day(n).map(Value::Date).ok_or_else(out_of_range)?,
        Kind::Time(per_day) => {
            let ticks = u64::try_from(n).ok().filter(|_| n < per_day).ok_or_else(out_of_range)?;
            Value::Time(ticks_of(ticks as i64, per_day))
        }
        Kind::Timestamp(per_day) => {
            let days = day(n.div_euclid(per_day)).ok_or_else(out_of_range)?;
            Value::DateTime2 { days, ticks: ticks_of(n.rem_euclid(per_day), per_day) }
        }
        Kind::Unsigned => return Ok(Cell::Text((n as u64).to_string())),
        _ => i32::try_from(n).map_or(Value::BigInt(n), Value::Int),
    }))
}

/// Days since 0001-01-01 of days since 1970-01-01.
fn day(unix: i64) -> Option<i32> {
    let days = unix.checked_add(i64::from(EPOCH))?;
    i32::try_from(days).ok().filter(|days| (0..=LAST_DAY).contains(&i64::from(*days)))
}

/// Units of 100 ns since midnight.
fn ticks_of(units: i64, per_day: i64) -> u64 {
    (i128::from(units) * 864_000_000_000 / i128::from(per_day)) as u64
}

fn decimal(mantissa: i128, scale: u8) -> Result<Value, String> {
    let digits =
        mantissa.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1).max(u32::from(scale));
    let decimal =
        u8::try_from(digits).ok().and_then(|precision| Decimal::new(mantissa, precision, scale));
    decimal.map(Value::Decimal).ok_or_else(|| "a decimal has more than 38 digits".into())
}

fn bytes(data: &[u8], kind: Kind) -> Result<Cell, String> {
    Ok(match kind {
        Kind::Text => match std::str::from_utf8(data) {
            Ok(text) => Cell::Text(text.to_string()),
            Err(_) => return Err("a text is not UTF-8".into()),
        },
        Kind::Uuid => match <[u8; 16]>::try_from(data) {
            Ok(guid) => Cell::Value(Value::Guid(swapped(guid))),
            Err(_) => return Err("a UUID has not 16 bytes".into()),
        },
        Kind::Decimal { scale } => {
            let sign = if data.first().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
            let (head, tail) = data.split_at(data.len().saturating_sub(16));
            if head.iter().any(|b| *b != sign) {
                return Err("a decimal has more than 38 digits".into());
            }
            let mut wide = [sign; 16];
            wide[16 - tail.len()..].copy_from_slice(tail);
            Cell::Value(decimal(i128::from_be_bytes(wide), scale)?)
        }
        _ => Cell::Value(Value::bytes(data.to_vec())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        for good in ["int", "nvarchar(max)", "decimal(38, 10)", "datetime2(7)"] {
            assert!(is_type_name(good), "{good}");
        }
        for bad in [
            "int) drop table t --",
            "int identity",
            "",
            "(3)",
            "nvarchar(max",
            "decimal(1;2)",
            "[x]",
        ] {
            assert!(!is_type_name(bad), "{bad}");
        }
    }
}
