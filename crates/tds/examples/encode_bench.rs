//! What it costs to encode rows and to read them again, in ns per row: `cargo run --release -p ringwood-tds --example encode_bench`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ringwood_tds::client::ClientCodec;
use ringwood_tds::request::{BulkEvent, BulkReader};
use ringwood_tds::{
    Column, ColumnFlags, Event, Limits, MessageBuffer, MessageReader, TdsVersion, TokenWriter, TypeInfo,
};
use types::{Collation, DataType, Decimal, Len, Value};

const ROWS: usize = 20_000;
const ROUNDS: usize = 15;

fn ty(ty: DataType, nullable: bool) -> TypeInfo {
    TypeInfo::of(ty, nullable, Collation::DEFAULT, TdsVersion::V7_4)
}

fn rows(make: impl Fn(usize) -> Vec<Value>) -> Vec<Vec<Value>> {
    (0..64).map(make).collect()
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
            TokenWriter::new(buffer.payload(), TdsVersion::V7_4).row(types, row).expect("the row fits");
            if buffer.pending() > 32 << 10 {
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
    let read = measure_reading(types, rows);
    println!(
        "{name:<24} {ns:8.1} ns per row, {:6.1} bytes, {:5.2} GB/s; read {read:8.1} ns",
        bytes as f64 / ROWS as f64,
        { bytes as f64 / ROWS as f64 / ns }
    );
}

/// The median time in ns of reading a row as a bulk load's, from one piece of bytes.
fn measure_reading(types: &[TypeInfo], rows: &[Vec<Value>]) -> f64 {
    let columns: Vec<Column> = types.iter().map(|&ty| Column::new("c", ty, ColumnFlags::NULLABLE)).collect();
    let rows: Vec<Vec<Value>> = rows.iter().cycle().take(ROWS / 10).cloned().collect();
    let message = ClientCodec::new(TdsVersion::V7_4).bulk(&columns, &rows, true).expect("the rows fit");
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
}
