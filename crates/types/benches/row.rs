//! Nanoseconds per row of encoding and decoding TPC-C's customer row, 21 columns, and of its key.
//! Guarantees: every figure is taken from many runs over rows that differ, and what is decoded is
//! checked.

use std::hint::black_box;
use std::time::Instant;

use ringwood_types::{
    Collation, ColumnType, DataType, Decimal, KeyPart, RowLayout, Value, encode_key,
};

const ROWS: usize = 100;
const RUNS: usize = 401;

fn customer() -> Vec<DataType> {
    use DataType::{Char, DateTime, Int, SmallInt, TinyInt};
    let numeric = |precision, scale| DataType::decimal(precision, scale);
    vec![
        Int,
        TinyInt,
        Int,
        Char(16),
        Char(2),
        Char(16),
        Char(20),
        Char(20),
        Char(20),
        Char(2),
        Char(9),
        Char(16),
        DateTime,
        Char(2),
        numeric(12, 2),
        numeric(4, 4),
        numeric(12, 2),
        numeric(12, 2),
        SmallInt,
        SmallInt,
        Char(500),
    ]
}

fn text(rng: &mut fastrand::Rng, length: usize) -> Value {
    let filled = rng.usize(length / 2..=length);
    let mut s: String = (0..filled).map(|_| rng.alphanumeric()).collect();
    s.extend(std::iter::repeat_n(' ', length - filled));
    Value::str(s)
}

fn value(rng: &mut fastrand::Rng, ty: DataType) -> Value {
    match ty {
        DataType::Int => Value::Int(rng.i32(1..100_000)),
        DataType::TinyInt => Value::TinyInt(rng.u8(1..11)),
        DataType::SmallInt => Value::SmallInt(rng.i16(0..1000)),
        DataType::Char(n) => text(rng, usize::from(n)),
        DataType::DateTime => {
            Value::DateTime { days: rng.i32(36_000..44_000), ticks: rng.u32(0..25_920_000) }
        }
        DataType::Decimal { precision, scale, .. } => {
            let digits = rng.i128(-9999..10_000);
            Value::Decimal(
                Decimal::new(digits, precision, scale).unwrap_or(Decimal::zero(precision, scale)),
            )
        }
        _ => Value::Null,
    }
}

/// Nanoseconds of one call, over runs of one call per row: the fastest run and the median.
fn measure(mut run: impl FnMut(usize)) -> String {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            (0..ROWS).for_each(&mut run);
            start.elapsed().as_nanos() as f64 / ROWS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!("{:8.1} ns best {:8.1} ns median", times[0], times[RUNS / 2])
}

fn main() {
    let mut rng = fastrand::Rng::with_seed(7);
    let columns: Vec<ColumnType> = customer()
        .into_iter()
        .map(|ty| ColumnType { ty, nullable: true, collation: Collation::DEFAULT })
        .collect();
    let layout = RowLayout::new(&columns);
    let rows: Vec<Vec<Value>> =
        (0..ROWS).map(|_| columns.iter().map(|c| value(&mut rng, c.ty)).collect()).collect();
    let encode = |row: &[Value]| {
        let mut out = Vec::new();
        layout.encode(row, &mut out).expect("a customer row fits a page");
        out
    };
    let stored: Vec<Vec<u8>> = rows.iter().map(|row| encode(row)).collect();
    let mut out = Vec::with_capacity(16_384);
    let encoding = measure(|i| {
        out.clear();
        layout.encode(&rows[i], &mut out).expect("a customer row fits a page");
        black_box(&out);
    });
    let mut values = vec![Value::Null; columns.len()];
    let decoding = measure(|i| {
        layout.decode_all(&stored[i], &mut values).expect("the row is sound");
        black_box(&values);
    });
    assert_eq!(values, rows[ROWS - 1]);
    let wanted = [2u16, 1, 0, 16];
    let some = measure(|i| {
        layout.decode_some(&stored[i], &wanted, &mut values).expect("the row is sound");
        black_box(&values);
    });
    let part =
        |i: usize| KeyPart { ty: columns[i].ty, descending: false, collation: Collation::DEFAULT };
    let mut key = Vec::with_capacity(64);
    let keys = measure(|i| {
        key.clear();
        let row = &rows[i];
        encode_key(&[(&row[2], part(2)), (&row[1], part(1)), (&row[0], part(0))], &mut key);
        black_box(&key);
    });
    let names = measure(|i| {
        key.clear();
        encode_key(&[(&rows[i][5], part(5))], &mut key);
        black_box(&key);
    });
    println!("customer row: {} columns, {} bytes", columns.len(), stored[0].len());
    println!("encode all columns     {encoding}");
    println!("decode all columns     {decoding}");
    println!("decode 4 numbers       {some}");
    println!("key of 3 integers      {keys}");
    println!("key of a char(16)      {names}");
}
