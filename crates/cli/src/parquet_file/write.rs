//! Rows out to a Parquet file: a row group when enough rows or bytes have come together.

use super::{EPOCH, EPOCH_1900, TYPES, swapped};
use crate::output::text::{exact, unique_names};
use engine::{ColumnInfo, DataType, Value};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType as ParquetType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows, and bytes of texts and binaries, of a row group.
const GROUP_ROWS: usize = 64 << 10;
const GROUP_BYTES: usize = 32 << 20;

fn failed(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => io::Error::other(e),
        e => io::Error::other(e.to_string()),
    }
}

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
        let schema = Type::group_type_builder("rows")
            .with_fields(fields.map_err(failed)?)
            .build()
            .map_err(failed)?;
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
            .map(|column| Column {
                ty: column.ty,
                buffer: buffer_of(column.ty),
                levels: Vec::new(),
            })
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
    let of = |physical| {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL)
    };
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
        DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion => {
            of(Physical::BYTE_ARRAY)
        }
        _ => logical(Physical::BYTE_ARRAY, LogicalType::String),
    }
    .build()
}

fn buffer_of(ty: DataType) -> Buffer {
    match ty {
        DataType::Bit => Buffer::Bool(Vec::new()),
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::Date => {
            Buffer::I32(Vec::new())
        }
        DataType::BigInt
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::SmallDateTime
        | DataType::DateTime2(0..=6) => Buffer::I64(Vec::new()),
        DataType::Real => Buffer::F32(Vec::new()),
        DataType::Float => Buffer::F64(Vec::new()),
        DataType::Decimal { .. }
        | DataType::Money
        | DataType::SmallMoney
        | DataType::UniqueIdentifier => Buffer::Fixed(Vec::new()),
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
            (Buffer::Fixed(list), Value::Decimal(d)) => {
                list.push(fixed(&d.mantissa().to_be_bytes()))
            }
            (Buffer::Fixed(list), Value::Money(m)) => {
                list.push(fixed(&i128::from(*m).to_be_bytes()))
            }
            (Buffer::Fixed(list), Value::SmallMoney(m)) => {
                list.push(fixed(&i128::from(*m).to_be_bytes()))
            }
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
                return Err(io::Error::other(format!(
                    "a column of {} has a value of another type",
                    self.ty
                )));
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
