//! AT TIME ZONE: the binder calls it as a function of a moment and a zone's name.

use types::datetime::Moment;
use types::{DataType, SqlError, Value};

use super::{ArgRule as A, CallCx, Function, Stability, invalid_argument};
use crate::Expr;
use crate::zones;

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[Function {
    name: "at_time_zone",
    min: 2,
    max: 2,
    args: &[A::Any, A::Name],
    result: result_type,
    strict: true,
    stability: Stability::Pure,
    nullable: false,
    eval: at_time_zone,
}];

fn result_type(types: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::DateTimeOffset(match types.first().copied() {
        Some(DataType::DateTime2(n) | DataType::DateTimeOffset(n)) => n,
        Some(DataType::DateTime) => 3,
        Some(DataType::SmallDateTime) => 0,
        Some(ty) if !matches!(exprs.first(), Some(Expr::Const(Value::Null))) => {
            return Err(invalid_argument(ty, 1, "AT TIME ZONE"));
        }
        _ => 7,
    }))
}

fn at_time_zone(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let zone = zones::zone(args[1].as_str().unwrap_or_default())?;
    let moment = Moment::of(&args[0]);
    let found = match args[0] {
        Value::DateTimeOffset { .. } => moment.and_then(|moment| zones::switched(moment, &zone)),
        _ => moment.and_then(|moment| zones::with_offset(moment, &zone)),
    };
    found.and_then(|moment| moment.to_value(cx.ty)).ok_or_else(|| SqlError::dateadd_overflow(cx.ty))
}
