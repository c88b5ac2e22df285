//! LEFT_SHIFT and RIGHT_SHIFT, which `<<` and `>>` are too. Guarantees: the result has the type of the first argument; what is shifted
//! out is lost and zeros come in, whatever the sign; a negative distance shifts the other way.

use super::{ArgRule as A, CallCx, Function, Stability, first_type, int_arg};
use types::{SqlError, Value};

const fn shift(name: &'static str, eval: super::Eval) -> Function {
    Function {
        name,
        min: 2,
        max: 2,
        args: &[A::Bits, A::BigInt],
        result: first_type,
        strict: true,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// The functions on bits.
pub const FUNCTIONS: &[Function] = &[
    shift("left_shift", |a, _: &mut CallCx<'_>| shifted(&a[0], int_arg(a, 1))),
    shift("right_shift", |a, _: &mut CallCx<'_>| shifted(&a[0], int_arg(a, 1).saturating_neg())),
];

/// `value` shifted by `left` bits to the left.
fn shifted(value: &Value, left: i64) -> Result<Value, SqlError> {
    Ok(match value {
        Value::TinyInt(n) => Value::TinyInt(number(u64::from(*n), 8, left) as u8),
        Value::SmallInt(n) => Value::SmallInt(number(u64::from(*n as u16), 16, left) as i16),
        Value::Int(n) => Value::Int(number(u64::from(*n as u32), 32, left) as i32),
        Value::BigInt(n) => Value::BigInt(number(*n as u64, 64, left) as i64),
        Value::Bytes(bytes) => Value::bytes(string(bytes, left)),
        _ => return Err(SqlError::internal("a shift of what has no bits")),
    })
}

fn number(bits: u64, width: u64, left: i64) -> u64 {
    match left.unsigned_abs() {
        distance if distance >= width => 0,
        distance if left < 0 => bits >> distance,
        distance => bits << distance,
    }
}

/// The first byte has the highest bits.
fn string(bytes: &[u8], left: i64) -> Vec<u8> {
    let distance = usize::try_from(left.unsigned_abs()).unwrap_or(usize::MAX);
    let (whole, part) = (distance / 8, distance % 8);
    let at = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().map_or(0, u16::from);
    (0..bytes.len())
        .map(|to| {
            if left < 0 {
                let pair = at(to.checked_sub(whole + 1)) << 8 | at(to.checked_sub(whole));
                (pair >> part) as u8
            } else {
                let pair = at(to.checked_add(whole)) << 8 | at(to.checked_add(whole).and_then(|n| n.checked_add(1)));
                (pair << part >> 8) as u8
            }
        })
        .collect()
}
