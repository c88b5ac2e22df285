//! Functions on the bits of integers and binary strings: shifts, BIT_COUNT, GET_BIT, SET_BIT.
//! Guarantees: bit 0 is the lowest bit, of a binary string the lowest of its last byte; shifts are
//! logical, and the result has the type and length of the first argument.

use types::{DataType, SqlError, Value, msg};

use super::{
    ArgRule as A, CallCx, Function, Stability, bigint, first_type, int_arg, invalid_argument,
};
use crate::Expr;

const fn f(
    name: &'static str,
    count: (u8, u8),
    result: super::ResultRule,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args: &[A::Any, A::BigInt, A::BigInt],
        result,
        strict: true,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f(
        "left_shift",
        (2, 2),
        |types, e| bits_type(types, e, "LEFT_SHIFT"),
        |a, _| {
            let by = int_arg(a, 1);
            shifted(&a[0], by)
        },
    ),
    f(
        "right_shift",
        (2, 2),
        |types, e| bits_type(types, e, "RIGHT_SHIFT"),
        |a, _| {
            let by = int_arg(a, 1).saturating_neg();
            shifted(&a[0], by)
        },
    ),
    f(
        "bit_count",
        (1, 1),
        |types, e| bits_type(types, e, "BIT_COUNT").and_then(|_| bigint(types, e)),
        |a, _| Ok(Value::BigInt(bits(&a[0]).iter().map(|b| i64::from(b.count_ones())).sum())),
    ),
    f(
        "get_bit",
        (2, 2),
        |types, e| bits_type(types, e, "GET_BIT").map(|_| DataType::Bit),
        |a, _| {
            let mut bytes = bits(&a[0]);
            let at = place(&bytes, int_arg(a, 1), "GET_BIT")?;
            let (byte, mask) = at;
            Ok(Value::Bit(bytes.get_mut(byte).is_some_and(|b| *b & mask != 0)))
        },
    ),
    f("set_bit", (2, 3), |types, e| bits_type(types, e, "SET_BIT"), set_bit),
];

/// Integers (bit and bigint too) and binary strings that are not (max). Error: 8116.
fn bits_type(types: &[DataType], exprs: &[Expr], name: &str) -> Result<DataType, SqlError> {
    let ty = first_type(types, exprs)?;
    let binary = ty.is_binary() && !ty.is_lob();
    if ty.is_integer() || ty == DataType::Bit || binary {
        Ok(ty)
    } else {
        Err(invalid_argument(ty, 1, name))
    }
}

/// The bytes of a value, highest first.
fn bits(value: &Value) -> Vec<u8> {
    match value {
        Value::Bit(b) => vec![u8::from(*b)],
        Value::TinyInt(n) => vec![*n],
        Value::SmallInt(n) => n.to_be_bytes().to_vec(),
        Value::Int(n) => n.to_be_bytes().to_vec(),
        Value::BigInt(n) => n.to_be_bytes().to_vec(),
        Value::Bytes(b) => b.to_vec(),
        _ => Vec::new(),
    }
}

/// A value of the kind of `like` with these bytes.
fn of_bits(bytes: Vec<u8>, like: &Value) -> Value {
    let whole = bytes.iter().take(8).fold(0u64, |n, b| (n << 8) | u64::from(*b));
    match like {
        Value::Bit(_) => Value::Bit(whole & 1 != 0),
        Value::TinyInt(_) => Value::TinyInt(whole as u8),
        Value::SmallInt(_) => Value::SmallInt(whole as i16),
        Value::Int(_) => Value::Int(whole as i32),
        Value::BigInt(_) => Value::BigInt(whole as i64),
        _ => Value::bytes(bytes),
    }
}

/// Shifted left, to the right when `by` is negative.
fn shifted(value: &Value, by: i64) -> Result<Value, SqlError> {
    let bytes = bits(value);
    let length = bytes.len() as i64 * 8;
    if let Value::Bit(set) = value {
        return Ok(Value::Bit(*set && by == 0));
    }
    let mut out = vec![0u8; bytes.len()];
    if by.unsigned_abs() < length.unsigned_abs() {
        // Bit `to` of the result is bit `to - by` of the value.
        let (whole, part) = (by.div_euclid(8), by.rem_euclid(8) as u32);
        let at = |i: i64| usize::try_from(i).ok().and_then(|i| bytes.get(i)).copied().unwrap_or(0);
        for (i, byte) in out.iter_mut().enumerate() {
            let from = i as i64 + whole;
            let pair = (u16::from(at(from)) << 8) | u16::from(at(from + 1));
            *byte = ((pair << part) >> 8) as u8;
        }
    }
    Ok(of_bits(out, value))
}

/// The byte of a bit and its mask in it. Error: 4199 for a place outside of the value.
fn place(bytes: &[u8], offset: i64, name: &str) -> Result<(usize, u8), SqlError> {
    let length = bytes.len() * 8;
    match usize::try_from(offset).ok().filter(|at| *at < length) {
        Some(at) => Ok((bytes.len() - 1 - at / 8, 1 << (at % 8))),
        None => Err(SqlError::of(msg::ARGUMENT_VALUE_INVALID, [&offset, &2, &name])),
    }
}

fn set_bit(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let on = match args.len() {
        3 => match int_arg(args, 2) {
            n @ (0 | 1) => n == 1,
            n => {
                return Err(SqlError::of(msg::ARGUMENT_VALUE_INVALID, [&n, &3, &"SET_BIT"]));
            }
        },
        _ => true,
    };
    let mut bytes = bits(&args[0]);
    let (byte, mask) = place(&bytes, int_arg(args, 1), "SET_BIT")?;
    if let Some(byte) = bytes.get_mut(byte) {
        *byte = if on { *byte | mask } else { *byte & !mask };
    }
    Ok(of_bits(bytes, &args[0]))
}
