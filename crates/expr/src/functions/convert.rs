//! Functions about values as such: ISNUMERIC, NEWID and the like. CAST and CONVERT are expressions.

use super::math::random_bits;
use super::{ArgRule as A, CallCx, Function, Stability, int, int_arg};
use crate::Expr;
use crate::large::{LARGE, is_conversion};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use types::convert::{ConvertOptions, Mode, convert, convert_by, depends_on_dialect};
use types::{DataType, Dialect, SqlError, Value};

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
    // CONVERT with a style that is no constant: value, style, NULL of the type, 1 for TRY_CONVERT.
    Function {
        nullable: true,
        // A style that is none of those that settle everything asks the session.
        stability: Stability::Statement,
        ..f("convert_styled", (4, 4), &[A::Any, A::Int, A::Any, A::Int], styled_type, styled)
    },
    Function {
        stability: Stability::Row,
        ..f("newid", (0, 0), &[], |_, _| Ok(DataType::UniqueIdentifier), |_, _| Ok(newid()))
    },
    Function {
        stability: Stability::Row,
        ..f(
            "newsequentialid",
            (0, 0),
            &[],
            |_, _| Ok(DataType::UniqueIdentifier),
            |_, _| Ok(newsequentialid()),
        )
    },
];

fn styled_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    types.get(2).copied().ok_or_else(|| SqlError::internal("CONVERT without a type"))
}

fn styled(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(style) = args[1].as_i64() else { return Ok(Value::Null) };
    let style = i32::try_from(style).unwrap_or(i32::MAX);
    let dates = depends_on_dialect(cx.types[0], cx.ty);
    let dialect = if dates { cx.rt.dialect()? } else { Dialect::DEFAULT };
    let look = cx.look();
    let (page, whole_characters) = (cx.collation.code_page(), cx.collation.counts_characters());
    let how = ConvertOptions {
        style,
        mode: Mode::Explicit,
        dialect,
        page,
        look: &look,
        whole_characters,
    };
    match convert_by(&args[0], cx.types[0], cx.ty, &how) {
        Err(error) if int_arg(args, 3) != 0 && is_conversion(&error) => Ok(Value::Null),
        result => result,
    }
}

fn isnumeric(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (value, ty) = (&args[0], cx.types[0]);
    let numeric = match value {
        Value::Null => false,
        // No number is so long.
        Value::Str(text) if text.len() >= LARGE && text.trim().len() >= LARGE => false,
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

/// A uniqueidentifier that is greater than all that were made before it on this machine, in the
/// order of the type: SQL Server's arrangement of a version 1 UUID, whose time stands in the order
/// in which the type compares bytes and whose node is the highest part. The node is random for each
/// start, as a machine without a network card has it.
fn newsequentialid() -> Value {
    /// 100 ns since 1582-10-15 at 1970-01-01.
    const EPOCH: u64 = 0x01B2_1DD2_1381_4000;
    static LAST: AtomicU64 = AtomicU64::new(0);
    static NODE: OnceLock<[u8; 8]> = OnceLock::new();
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() / 100;
    let now = EPOCH.wrapping_add(elapsed as u64);
    let next = |last: u64| Some(now.max(last + 1));
    let time = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .map_or(now, |last| now.max(last + 1));
    let node = NODE.get_or_init(|| {
        let mut node = random_bits().to_le_bytes();
        // Variant; the bit that says that the node is no network card.
        node[0] = (node[0] & 0x3F) | 0x80;
        node[2] |= 1;
        node
    });
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&(time as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&(((time >> 48) as u16 & 0x0FFF) | 0x1000).to_be_bytes());
    bytes[8..].copy_from_slice(node);
    Value::Guid(bytes)
}
