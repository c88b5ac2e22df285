//! What it costs to encode rows and to read them again, in ns per row: one by one, and together as
//! a server does it. Rows as they are stored, too: through values, and from cells that borrow them,
//! in turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ringwood_tds::client::ClientCodec;
use ringwood_tds::request::{BulkEvent, BulkReader};
use ringwood_tds::{
    Column, ColumnFlags, Event, Limits, MessageBuffer, MessageReader, RowColumns, TdsVersion,
    TokenWriter, TypeInfo,
};
use types::{Collation, ColumnType, DataType, Decimal, Len, ResultRows, RowLayout, Value};

const ROWS: usize = 20_000;
const ROUNDS: usize = 15;
/// Rows that come together.
const TOGETHER: usize = 64;
/// Bytes of an answer that are gathered before they are sent.
const GATHERED: usize = 32 << 10;

fn ty(ty: DataType, nullable: bool) -> TypeInfo {
    TypeInfo::of(ty, nullable, Collation::DEFAULT, TdsVersion::V7_4)
}

fn rows(make: impl Fn(usize) -> Vec<Value>) -> Vec<Vec<Value>> {
    (0..TOGETHER).map(make).collect()
}

/// The median time of a row, packets of 4096 bytes included.
fn measure(name: &str, types: &[TypeInfo], rows: &[Vec<Value>]) {
    let mut buffer = MessageBuffer::new(4096, 51);
    let mut out = Vec::with_capacity(1 << 16);
    let mut times: Vec<Duration> = Vec::new();
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        bytes = 0;
        for row in rows.iter().cycle().take(ROWS) {
            TokenWriter::new(buffer.payload(), TdsVersion::V7_4)
                .row(types, row)
                .expect("the row fits");
            if buffer.pending() > GATHERED {
                bytes += buffer.take_full(&mut out);
                black_box(&out);
                out.clear();
            }
        }
        buffer.finish(&mut out);
        bytes += out.len();
        out.clear();
        times.push(start.elapsed());
    }
    times.sort();
    let ns = times[ROUNDS / 2].as_nanos() as f64 / ROWS as f64;
    let together = measure_together(types, rows);
    let read = measure_reading(types, rows);
    println!(
        "{name:<24} {ns:8.1} ns per row, {together:8.1} together, {:6.1} bytes, {:5.2} GB/s; read {read:8.1} ns",
        bytes as f64 / ROWS as f64,
        { bytes as f64 / ROWS as f64 / together }
    );
}

/// The median time in ns of a row among those that come together, packets included.
fn measure_together(types: &[TypeInfo], rows: &[Vec<Value>]) -> f64 {
    let values = rows.concat();
    let mut columns = RowColumns::default();
    columns.set(types.iter().copied());
    let (mut buffer, mut out) = (MessageBuffer::new(4096, 51), Vec::with_capacity(1 << 16));
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..ROWS / TOGETHER {
            let mut left = ResultRows::of_values(rows.len(), types.len(), &values);
            while !left.is_empty() {
                let most = GATHERED.saturating_sub(buffer.pending());
                let mut tokens = TokenWriter::new(buffer.payload(), TdsVersion::V7_4);
                left = left.skip(tokens.rows(&columns, &left, most).expect("the rows fit"));
                if buffer.pending() >= GATHERED {
                    buffer.take_full(&mut out);
                    black_box(&out);
                    out.clear();
                }
            }
        }
        buffer.finish(&mut out);
        out.clear();
        times.push(start.elapsed());
    }
    times.sort();
    times[ROUNDS / 2].as_nanos() as f64 / (ROWS / TOGETHER * TOGETHER) as f64
}

/// The median time in ns of reading a row as a bulk load's, from one piece of bytes.
fn measure_reading(types: &[TypeInfo], rows: &[Vec<Value>]) -> f64 {
    let columns: Vec<Column> =
        types.iter().map(|&ty| Column::new("c", ty, ColumnFlags::NULLABLE)).collect();
    let rows: Vec<Vec<Value>> = rows.iter().cycle().take(ROWS / 10).cloned().collect();
    let message =
        ClientCodec::new(TdsVersion::V7_4).bulk(&columns, &rows, true).expect("the rows fit");
    let mut payload = Vec::new();
    let (mut reader, mut input) = (MessageReader::new(0, true), &message[..]);
    while let Ok(Some(Event::Bulk { bytes, .. })) = reader.read(&mut input) {
        payload.extend_from_slice(bytes);
    }
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..ROUNDS {
        let mut reader = BulkReader::new(TdsVersion::V7_4, Limits::default());
        reader.feed(&payload);
        reader.end();
        let (mut row, mut read) = (Vec::new(), 0);
        let start = Instant::now();
        while reader.next_row(&mut row).expect("rows that were written") != BulkEvent::End {
            read += black_box(&row).len();
        }
        times.push(start.elapsed());
        assert_eq!(read, rows.len() * types.len());
    }
    times.sort();
    times[ROUNDS / 2].as_nanos() as f64 / rows.len() as f64
}

/// A number and ten texts of 100 characters, from stored rows: how long one takes in each way.
fn measure_stored(name: &str, text: DataType) {
    let declared = [&[DataType::Int][..], &[text; 10]].concat();
    let column =
        |ty: &DataType| ColumnType { ty: *ty, nullable: true, collation: Collation::DEFAULT };
    let layout = RowLayout::new(&declared.iter().map(column).collect::<Vec<_>>());
    let stored: Vec<Vec<u8>> = (0..63)
        .map(|i: usize| {
            let texts = (0..10).map(|column| Value::str(format!("{column}{i:099}")));
            let row: Vec<Value> = std::iter::once(Value::Int(i as i32)).chain(texts).collect();
            let mut bytes = Vec::new();
            layout.encode(&row, &mut bytes).expect("the row fits");
            bytes
        })
        .collect();
    let wanted: Vec<u16> = (0..declared.len() as u16).collect();
    let types: Vec<TypeInfo> = declared.iter().map(|declared| ty(*declared, true)).collect();
    let mut columns = RowColumns::default();
    columns.set(types.iter().copied());
    let width = wanted.len();
    let mut values = vec![Value::Null; 7 * width];
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let (mut buffer, mut out) = (MessageBuffer::new(4096, 51), Vec::with_capacity(1 << 16));
    for _ in 0..ROUNDS {
        for (way, times) in times.iter_mut().enumerate() {
            let start = Instant::now();
            // As many as a leaf has: the cells' room is made for them.
            for rows in stored.chunks(7).cycle().take(ROWS / 7) {
                let mut cells = Vec::new();
                for (row, slots) in rows.iter().zip(values.chunks_mut(width)) {
                    if way == 2 {
                        layout.stored_cells(row, &wanted, &mut cells).expect("the row is sound");
                    } else {
                        layout.decode_some(row, &wanted, slots).expect("the row is sound");
                    }
                }
                let mut tokens = TokenWriter::new(buffer.payload(), TdsVersion::V7_4);
                let of_values =
                    ResultRows::of_values(rows.len(), width, &values[..rows.len() * width]);
                match way {
                    0 => values
                        .chunks(width)
                        .take(rows.len())
                        .try_for_each(|row| tokens.row(&types, row)),
                    1 => tokens.rows(&columns, &of_values, usize::MAX).map(drop),
                    _ => {
                        let of_cells = ResultRows::of_cells(rows.len(), width, &cells);
                        tokens.rows(&columns, &of_cells, usize::MAX).map(drop)
                    }
                }
                .expect("the rows fit");
                if buffer.pending() > GATHERED {
                    buffer.take_full(&mut out);
                    black_box(&out);
                    out.clear();
                }
            }
            buffer.finish(&mut out);
            out.clear();
            times.push(start.elapsed());
        }
    }
    let ns = |times: &mut Vec<Duration>| {
        times.sort();
        times[ROUNDS / 2].as_nanos() as f64 / ROWS as f64
    };
    let [value, column, cell] = &mut times;
    println!(
        "{name:<24} stored: {:8.1} ns per row by values, {:8.1} by columns, {:8.1} by cells",
        ns(value),
        ns(column),
        ns(cell)
    );
}

fn main() {
    let number = |i: usize| Value::Int(i as i32);
    measure("1 int", &[ty(DataType::Int, false)], &rows(|i| vec![number(i)]));
    let text = ty(DataType::NVarChar(Len::N(50)), true);
    measure("10 int", &[ty(DataType::Int, true); 10], &rows(|i| vec![number(i); 10]));
    let name = |i: usize| Value::str(format!("customer {i:08}"));
    measure("4 nvarchar, ascii", &[text; 4], &rows(|i| vec![name(i); 4]));
    let accented = |i: usize| Value::str(format!("caf\u{e9} {i:08}"));
    measure("4 nvarchar, accented", &[text; 4], &rows(|i| vec![accented(i); 4]));
    let varchar = ty(DataType::VarChar(Len::N(50)), true);
    measure("4 varchar, ascii", &[varchar; 4], &rows(|i| vec![name(i); 4]));
    let mixed = [
        ty(DataType::Int, false),
        text,
        ty(DataType::decimal(12, 2), true),
        ty(DataType::DateTime2(7), true),
        ty(DataType::Bit, true),
        varchar,
        ty(DataType::BigInt, true),
        ty(DataType::Float, true),
    ];
    let row = |i: usize| {
        vec![
            number(i),
            name(i),
            Value::Decimal(Decimal::new(i as i128 * 100, 12, 2).expect("it fits")),
            Value::DateTime2 { days: 738_000, ticks: 123_456_789 },
            Value::Bit(i.is_multiple_of(2)),
            if i.is_multiple_of(4) { Value::Null } else { Value::str("BARBARBAR") },
            Value::BigInt(i as i64),
            Value::Float(i as f64),
        ]
    };
    measure("8 mixed", &mixed, &rows(row));
    let max = ty(DataType::VarBinary(Len::Max), true);
    measure("1 varbinary(max), 8 KB", &[max], &rows(|_| vec![Value::bytes(vec![7; 8192])]));
    measure_stored("10 text of 100", DataType::VarChar(Len::Old));
    measure_stored("10 varchar(100)", DataType::VarChar(Len::N(100)));
    measure_stored("10 nvarchar(100)", DataType::NVarChar(Len::N(100)));
}
