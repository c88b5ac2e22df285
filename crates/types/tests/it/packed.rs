//! Packed rows: every value comes back exactly, and no bytes make unpacking panic.

use crate::common;
use fastrand::Rng;
use ringwood_types::{Value, pack_row, unpack_row};

/// Exact: `==` on values takes 1.0 for 1.00 and 0.0 for -0.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Decimal(x), Value::Decimal(y)) => {
            (x.mantissa(), x.precision(), x.scale()) == (y.mantissa(), y.precision(), y.scale())
        }
        (Value::Float(x), Value::Float(y)) => x.to_bits() == y.to_bits(),
        (Value::Real(x), Value::Real(y)) => x.to_bits() == y.to_bits(),
        (Value::Bytes(x), Value::Bytes(y)) => x == y,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && a == b,
    }
}

fn any_row(rng: &mut Rng) -> Vec<Value> {
    let value = |rng: &mut Rng| match rng.u8(0..20) {
        0 | 1 => Value::Null,
        2 => Value::Float(-0.0),
        3 => Value::str("long é ".repeat(rng.usize(0..4000))),
        4 => Value::bytes(vec![rng.u8(..); rng.usize(0..20_000)]),
        _ => {
            let ty = common::any_type(rng);
            common::value_of(rng, ty)
        }
    };
    (0..rng.usize(0..12)).map(|_| value(rng)).collect()
}

#[test]
fn a_packed_row_comes_back_exactly() {
    // Places that held other values before, as those of a batch do.
    let mut places: Vec<Value> = Vec::new();
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let row = any_row(&mut rng);
        let mut bytes = Vec::new();
        pack_row(&row, &mut bytes);
        places.resize(row.len(), Value::str("what was there before, long enough for the heap"));
        unpack_row(&bytes, &mut places).expect("a packed row");
        for (a, b) in row.iter().zip(&places) {
            assert!(same(a, b), "seed {seed}: {a:?} became {b:?}");
        }
        places.truncate(rng.usize(0..=places.len()));
    }
}

#[test]
fn damaged_bytes_are_an_error_or_another_row() {
    let mut errors = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let row = any_row(&mut rng);
        let mut bytes = Vec::new();
        pack_row(&row, &mut bytes);
        let whole = bytes.len();
        if bytes.is_empty() {
            continue;
        }
        if rng.bool() {
            bytes.truncate(rng.usize(0..whole));
        } else {
            let at = rng.usize(0..whole);
            bytes[at] = rng.u8(..);
        }
        let mut places = vec![Value::Null; row.len()];
        let read = unpack_row(&bytes, &mut places);
        assert!(bytes.len() == whole || read.is_err(), "seed {seed}: a cut row was read");
        errors += usize::from(read.is_err());
    }
    assert!(errors > 10_000, "{errors}");
}
