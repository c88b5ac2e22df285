//! Parquet files: rows out to one and in from one, some thousand at a time.
//! Guarantees: an exported table comes back as it was, types included: these stand in the file beside Parquet's own, which has none for
//! money, char(n), datetime2(7) and datetimeoffset; a damaged file is an error.

use super::import::{Cell, Failed, Rows};
use super::output::text::{exact, unique_names};
use engine::{ColumnInfo, DataType, Value};
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType as ParquetType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnDescPtr, Type};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::Decimal;

/// Rows, and bytes of texts and binaries, of a row group.
const GROUP_ROWS: usize = 64 << 10;
const GROUP_BYTES: usize = 32 << 20;
/// Rows that are read at a time.
const BATCH: usize = 1024;
/// The key under which a file names the columns' types.
const TYPES: &str = "ringwood.types";
/// Days from 0001-01-01 and 1900-01-01 to 1970-01-01.
const EPOCH: i32 = 719_162;
const EPOCH_1900: i32 = 25_567;
/// The last day that a date can be, 9999-12-31.
const LAST_DAY: i64 = 3_652_058;

fn failed(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => io::Error::other(e),
        e => io::Error::other(e.to_string()),
    }
}

// ---- writing ----

/// A column's values since the last row group.
enum Buffer {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

struct Column {
    ty: DataType,
    buffer: Buffer,
    /// 1 for a value, 0 for NULL.
    levels: Vec<i16>,
}

/// Writes one result set.
pub struct ParquetWriter {
    out: Option<Box<dyn Write + Send>>,
    file: Option<SerializedFileWriter<Box<dyn Write + Send>>>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

impl ParquetWriter {
    /// Writes to `out`.
    pub fn new(out: Box<dyn Write + Send>) -> ParquetWriter {
        ParquetWriter { out: Some(out), file: None, columns: Vec::new(), rows: 0, bytes: 0 }
    }

    /// The result set's columns.
    pub fn columns(&mut self, columns: &[ColumnInfo]) -> io::Result<()> {
        let names = unique_names(columns);
        let fields: Result<Vec<_>, _> = columns
            .iter()
            .zip(&names)
            .map(|(column, name)| parquet_type(name, column.ty).map(Arc::new))
            .collect();
        let schema =
            Type::group_type_builder("rows").with_fields(fields.map_err(failed)?).build().map_err(failed)?;
        let types: Vec<String> = columns.iter().map(|column| column.ty.to_string()).collect();
        let types = KeyValue::new(TYPES.into(), serde_json::json!(types).to_string());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("ringwood ", env!("CARGO_PKG_VERSION")).into())
            .set_key_value_metadata(Some(vec![types]))
            .build();
        let out = self.out.take().ok_or_else(|| io::Error::other("the file is begun already"))?;
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties));
        self.file = Some(file.map_err(failed)?);
        self.columns = columns
            .iter()
            .map(|column| Column { ty: column.ty, buffer: buffer_of(column.ty), levels: Vec::new() })
            .collect();
        Ok(())
    }

    /// A row.
    pub fn row(&mut self, row: &[Value]) -> io::Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            self.bytes += column.push(value)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the rows that are held as a row group.
    fn flush(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = file.next_row_group().map_err(failed)?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column().map_err(failed)? else { break };
            column.write(&mut writer).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// The end of the file.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        match self.file.take() {
            Some(file) => file.into_inner().map_err(failed)?.flush(),
            None => Ok(()),
        }
    }
}

/// The column of a type. What Parquet has no type for is text.
fn parquet_type(name: &str, ty: DataType) -> Result<Type, ParquetError> {
    let of = |physical| Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    let logical = |physical, logical| of(physical).with_logical_type(Some(logical));
    let decimal = |precision: u8, scale: u8| {
        let (precision, scale) = (i32::from(precision), i32::from(scale));
        logical(Physical::FIXED_LEN_BYTE_ARRAY, LogicalType::decimal(scale, precision))
            .with_length(16)
            .with_precision(precision)
            .with_scale(scale)
    };
    match ty {
        DataType::Bit => of(Physical::BOOLEAN),
        DataType::TinyInt => logical(Physical::INT32, LogicalType::integer(8, false)),
        DataType::SmallInt => logical(Physical::INT32, LogicalType::integer(16, true)),
        DataType::Int => of(Physical::INT32),
        DataType::BigInt => of(Physical::INT64),
        DataType::Decimal { precision, scale, .. } => decimal(precision, scale),
        DataType::Money => decimal(19, 4),
        DataType::SmallMoney => decimal(10, 4),
        DataType::Real => of(Physical::FLOAT),
        DataType::Float => of(Physical::DOUBLE),
        DataType::Date => logical(Physical::INT32, LogicalType::Date),
        DataType::Time(_) => logical(Physical::INT64, LogicalType::time(false, TimeUnit::NANOS)),
        DataType::DateTime | DataType::SmallDateTime => {
            logical(Physical::INT64, LogicalType::timestamp(false, TimeUnit::MILLIS))
        }
        DataType::DateTime2(0..=6) => {
            logical(Physical::INT64, LogicalType::timestamp(false, TimeUnit::MICROS))
        }
        DataType::UniqueIdentifier => {
            logical(Physical::FIXED_LEN_BYTE_ARRAY, LogicalType::Uuid).with_length(16)
        }
        DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion => of(Physical::BYTE_ARRAY),
        _ => logical(Physical::BYTE_ARRAY, LogicalType::String),
    }
    .build()
}

fn buffer_of(ty: DataType) -> Buffer {
    match ty {
        DataType::Bit => Buffer::Bool(Vec::new()),
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::Date => Buffer::I32(Vec::new()),
        DataType::BigInt
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::SmallDateTime
        | DataType::DateTime2(0..=6) => Buffer::I64(Vec::new()),
        DataType::Real => Buffer::F32(Vec::new()),
        DataType::Float => Buffer::F64(Vec::new()),
        DataType::Decimal { .. } | DataType::Money | DataType::SmallMoney | DataType::UniqueIdentifier => {
            Buffer::Fixed(Vec::new())
        }
        _ => Buffer::Bytes(Vec::new()),
    }
}

impl Column {
    /// Keeps a value; gives the bytes that it takes.
    fn push(&mut self, value: &Value) -> io::Result<usize> {
        self.levels.push(i16::from(!value.is_null()));
        let fixed = |bytes: &[u8; 16]| FixedLenByteArray::from(bytes.to_vec());
        match (&mut self.buffer, value) {
            (_, Value::Null) => return Ok(1),
            (Buffer::Bool(list), Value::Bit(b)) => list.push(*b),
            (Buffer::I32(list), Value::TinyInt(n)) => list.push((*n).into()),
            (Buffer::I32(list), Value::SmallInt(n)) => list.push((*n).into()),
            (Buffer::I32(list), Value::Int(n)) => list.push(*n),
            (Buffer::I32(list), Value::Date(days)) => list.push(days - EPOCH),
            (Buffer::I64(list), Value::BigInt(n)) => list.push(*n),
            (Buffer::I64(list), Value::Time(ticks)) => list.push(*ticks as i64 * 100),
            (Buffer::I64(list), Value::DateTime { days, ticks }) => {
                let days = i64::from(days - EPOCH_1900);
                // As it is shown: thirds of a hundredth, rounded to milliseconds.
                list.push(days * 86_400_000 + (i64::from(*ticks) * 10 + 1) / 3);
            }
            (Buffer::I64(list), Value::SmallDateTime { days, minutes }) => {
                let days = i64::from(*days) - i64::from(EPOCH_1900);
                list.push(days * 86_400_000 + i64::from(*minutes) * 60_000);
            }
            (Buffer::I64(list), Value::DateTime2 { days, ticks }) => {
                list.push(i64::from(days - EPOCH) * 86_400_000_000 + (*ticks / 10) as i64);
            }
            (Buffer::F32(list), Value::Real(f)) => list.push(*f),
            (Buffer::F64(list), Value::Float(f)) => list.push(*f),
            (Buffer::Fixed(list), Value::Decimal(d)) => list.push(fixed(&d.mantissa().to_be_bytes())),
            (Buffer::Fixed(list), Value::Money(m)) => list.push(fixed(&i128::from(*m).to_be_bytes())),
            (Buffer::Fixed(list), Value::SmallMoney(m)) => list.push(fixed(&i128::from(*m).to_be_bytes())),
            (Buffer::Fixed(list), Value::Guid(guid)) => list.push(fixed(&swapped(*guid))),
            (Buffer::Bytes(list), Value::Bytes(bytes)) => {
                list.push(ByteArray::from(bytes.to_vec()));
                return Ok(bytes.len() + 32);
            }
            (Buffer::Bytes(list), other) => {
                let text = exact(other, self.ty);
                let length = text.len();
                list.push(ByteArray::from(text.into_bytes()));
                return Ok(length + 32);
            }
            _ => {
                return Err(io::Error::other(format!("a column of {} has a value of another type", self.ty)));
            }
        }
        Ok(8)
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        match &mut self.buffer {
            Buffer::Bool(list) => put::<BoolType>(writer, list, levels)?,
            Buffer::I32(list) => put::<Int32Type>(writer, list, levels)?,
            Buffer::I64(list) => put::<Int64Type>(writer, list, levels)?,
            Buffer::F32(list) => put::<FloatType>(writer, list, levels)?,
            Buffer::F64(list) => put::<DoubleType>(writer, list, levels)?,
            Buffer::Bytes(list) => put::<ByteArrayType>(writer, list, levels)?,
            Buffer::Fixed(list) => put::<FixedLenByteArrayType>(writer, list, levels)?,
        }
        self.levels.clear();
        Ok(())
    }
}

fn put<T: ParquetType>(
    writer: &mut SerializedColumnWriter<'_>,
    list: &mut Vec<T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    writer.typed::<T>().write_batch(list, levels, None)?;
    list.clear();
    Ok(())
}

/// A uniqueidentifier's stored bytes in the order of its text, and back: the first three groups are turned around.
fn swapped(mut guid: [u8; 16]) -> [u8; 16] {
    guid[0..4].reverse();
    guid[4..6].reverse();
    guid[6..8].reverse();
    guid
}

// ---- reading ----

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

fn damaged(e: ParquetError) -> Failed {
    Failed::File(e.to_string())
}

impl ParquetRows {
    /// Opens a file. `read` is told how many of its bytes have been read.
    pub fn open(file: File, read: Arc<AtomicU64>) -> Result<ParquetRows, Failed> {
        if file.len() < 12 {
            return Err(Failed::File("not a Parquet file".into()));
        }
        let reader = SerializedFileReader::new(file).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let mut kinds = Vec::new();
        let mut names = Vec::new();
        for column in schema.columns() {
            let name = column.path().string();
            if column.max_rep_level() > 0 || column.path().parts().len() != 1 {
                return Err(Failed::File(format!(
                    "column {name} is nested; only flat columns can be imported"
                )));
            }
            let kind = kind_of(column).ok_or_else(|| {
                let text = format!("column {name}: Parquet's {} cannot be imported", column.physical_type());
                Failed::File(text)
            })?;
            kinds.push((kind, column.max_def_level() > 0));
            names.push(name);
        }
        let batch = vec![Vec::new(); names.len()];
        Ok(ParquetRows { reader, names, kinds, group: 0, columns: Vec::new(), left: 0, batch, row: 0, read })
    }

    /// Reads more rows of every column; false at the end of the file.
    fn fill(&mut self) -> Result<bool, Failed> {
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
            let mut cells = cells_of(reader, rows, kind, nullable)
                .map_err(|why| Failed::File(format!("column {} ({}): {why}", i + 1, self.names[i])))?;
            cells.reverse();
            self.batch[i] = cells;
        }
        self.left -= rows;
        Ok(true)
    }
}

impl Rows for ParquetRows {
    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn types(&self) -> Option<Vec<String>> {
        let metadata = self.reader.metadata().file_metadata().key_value_metadata()?;
        let types = metadata.iter().find(|entry| entry.key == TYPES)?.value.as_deref()?;
        let types: Vec<String> = serde_json::from_str(types).ok()?;
        (types.len() == self.names.len() && types.iter().all(|ty| is_type_name(ty))).then_some(types)
    }

    fn next(&mut self, row: &mut Vec<Cell>) -> Result<bool, Failed> {
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

/// Whether a text is the name of a type and nothing else: it comes out of a file and goes into CREATE TABLE.
fn is_type_name(text: &str) -> bool {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name, rest.strip_suffix(')')),
        None => (text, Some("")),
    };
    let Some(arguments) = arguments else { return false };
    let number = |s: &str| !s.is_empty() && s.len() <= 4 && s.bytes().all(|b| b.is_ascii_digit());
    let good =
        arguments.is_empty() || arguments == "max" || arguments.split(',').all(|part| number(part.trim()));
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
        (Some(LogicalType::Uuid), _, Physical::FIXED_LEN_BYTE_ARRAY) if column.type_length() == 16 => {
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

fn cells_of(reader: &mut ColumnReader, rows: usize, kind: Kind, nullable: bool) -> Result<Vec<Cell>, String> {
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
        ColumnReader::DoubleColumnReader(r) => take(r, rows, nullable, |f| finite(*f, Value::Float(*f))),
        ColumnReader::ByteArrayColumnReader(r) => take(r, rows, nullable, |b| bytes(b.data(), kind)),
        ColumnReader::FixedLenByteArrayColumnReader(r) => take(r, rows, nullable, |b| bytes(b.data(), kind)),
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
    let digits = mantissa.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1).max(u32::from(scale));
    let decimal = u8::try_from(digits).ok().and_then(|precision| Decimal::new(mantissa, precision, scale));
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
        for bad in ["int) drop table t --", "int identity", "", "(3)", "nvarchar(max", "decimal(1;2)", "[x]"]
        {
            assert!(!is_type_name(bad), "{bad}");
        }
    }
}
