//! What the columns of a table's period get: the time at which the session's transaction began, and
//! the end of time. Guarantee: a column of fewer digits gets the time cut off, never one that is
//! still to come.

use catalog::ColumnDef;
use expr::functions::Function;
use expr::{CallExpr, Expr};
use types::datetime::{DAY_TICKS, MAX_DAY};
use types::{Collation, DataType, SqlError, Value};

/// The function of the transaction's time, which no text can name.
pub const TRANSACTION_TIME: &str = "transaction time";

/// The hidden column of `inserted` and `deleted` with that time, where the table has a period.
pub const TIME: &str = "$time";

/// The time of the transaction as a value of such a column; `function`: what is found by the name
/// [`TRANSACTION_TIME`].
///
/// # Errors
/// Internal: nobody knows it.
pub fn transaction_time(
    function: Option<&'static Function>,
    ty: DataType,
) -> Result<Expr, SqlError> {
    let function =
        function.ok_or_else(|| SqlError::internal("nobody knows the transaction's time"))?;
    let call = CallExpr {
        function,
        args: vec![Expr::Const(Value::Int(ty.scale().into()))],
        types: vec![DataType::Int],
        ty,
        collation: Collation::DEFAULT,
        lenient: false,
    };
    Ok(Expr::Call(Box::new(call)))
}

/// The ticks of a day that a column of so many digits keeps of these.
pub fn cut(ticks: u64, scale: u8) -> u64 {
    ticks - ticks % 10_u64.pow(7 - u32::from(scale.min(7)))
}

/// The end of the period of a row that holds.
pub fn end_of_time(ty: DataType) -> Value {
    Value::DateTime2 { days: MAX_DAY, ticks: cut(DAY_TICKS - 1, ty.scale()) }
}

/// The value of a generated column in a new row.
///
/// # Errors
/// Internal.
pub fn new_value(
    function: Option<&'static Function>,
    column: &ColumnDef,
) -> Result<Expr, SqlError> {
    match column.generated {
        Some(generated) if generated.end => Ok(Expr::Const(end_of_time(column.ty))),
        _ => transaction_time(function, column.ty),
    }
}
