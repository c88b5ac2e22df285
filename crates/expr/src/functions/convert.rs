//! Functions about values as such: ISNUMERIC, NEWID, CHECKSUM and the like. CAST and CONVERT are expressions.

use super::math::random_bits;
use super::{ArgRule as A, CallCx, Function, Stability, int};
use types::convert::{Mode, convert};
use types::{Collation, DataType, SqlError, Value};

const fn f(
    name: &'static str,
    count: (u8, u8),
    args: &'static [A],
    result: super::ResultRule,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args,
        result,
        strict: false,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("isnumeric", (1, 1), &[A::Any], int, isnumeric),
    Function {
        stability: Stability::Row,
        ..f("newid", (0, 0), &[], |_, _| Ok(DataType::UniqueIdentifier), |_, _| Ok(newid()))
    },
    Function {
        stability: Stability::Row,
        ..f("newsequentialid", (0, 0), &[], |_, _| Ok(DataType::UniqueIdentifier), |_, _| Ok(newid()))
    },
    f("checksum", (1, 255), &[A::Any], int, |a, cx| Ok(Value::Int(checksum(a, cx.collation)))),
    f("binary_checksum", (1, 255), &[A::Any], int, |a, _| Ok(Value::Int(checksum(a, Collation::BIN2)))),
];

fn isnumeric(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (value, ty) = (&args[0], cx.types[0]);
    let numeric = match value {
        Value::Null => false,
        Value::Str(_) => {
            [DataType::Float, DataType::Money]
                .iter()
                .any(|to| convert(value, ty, *to, 0, Mode::Explicit).is_ok())
                && !value.as_str().is_none_or(|s| s.trim().is_empty())
        }
        _ => ty.is_number() && ty != DataType::Bit,
    };
    Ok(Value::Int(i32::from(numeric)))
}

/// A random uniqueidentifier (version 4).
pub fn newid() -> Value {
    let mut bytes = [0u8; 16];
    bytes[..8].copy_from_slice(&random_bits().to_le_bytes());
    bytes[8..].copy_from_slice(&random_bits().to_le_bytes());
    // Version and variant; the first three groups are stored little-endian.
    bytes[7] = (bytes[7] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    Value::Guid(bytes)
}

fn checksum(args: &[Value], collation: Collation) -> i32 {
    let mut sum = 0u32;
    for value in args {
        let key = crate::key::ValueKey::new(value, collation);
        let hash =
            key.bytes().iter().fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193));
        sum = sum.rotate_left(4) ^ hash;
    }
    sum as i32
}
