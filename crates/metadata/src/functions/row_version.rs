//! What the binder asks for where a row is changed, which no text can name: a new row version, and
//! the time of the transaction for a period; the counter of row versions beside it: @@DBTS,
//! MIN_ACTIVE_ROWVERSION().

use types::{DataType, Len, SqlError, Value};

use super::session;
use bind::period::{TRANSACTION_TIME, cut};
use bind::row_version::NEW_ROW_VERSION;
use catalog::{VARIABLES, errors, row_version};
use expr::Expr;
use expr::functions::{ArgRule, CallCx, Function, Stability};
use types::datetime::Moment;

/// The list.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: NEW_ROW_VERSION,
        min: 1,
        max: 1,
        args: &[ArgRule::Int],
        result: |_, _| Ok(DataType::RowVersion),
        strict: false,
        stability: Stability::Row,
        nullable: false,
        eval: new_value,
    },
    Function {
        name: TRANSACTION_TIME,
        min: 1,
        max: 1,
        args: &[ArgRule::Int],
        result: |_, _| Ok(DataType::DateTime2(7)),
        strict: false,
        stability: Stability::Statement,
        nullable: false,
        eval: transaction_time,
    },
    Function {
        name: "@@dbts",
        min: 0,
        max: 0,
        args: &[],
        result: varbinary_8,
        strict: false,
        stability: Stability::Statement,
        nullable: false,
        eval: |_, cx| row_version::last(session(cx)?.db()).map(row_version::value),
    },
    Function {
        name: "min_active_rowversion",
        min: 0,
        max: 0,
        args: &[],
        result: |_, _| Ok(DataType::Binary(8)),
        strict: false,
        stability: Stability::Statement,
        nullable: false,
        eval: |_, cx| row_version::min_active(session(cx)?.db()).map(row_version::value),
    },
];

fn varbinary_8(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::VarBinary(Len::N(8)))
}

/// In as many digits as the argument says, the others cut off.
fn transaction_time(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let scale = args
        .first()
        .and_then(Value::as_i64)
        .and_then(|scale| u8::try_from(scale).ok())
        .unwrap_or(7);
    let microseconds = session(cx)?.transaction_time();
    let moment = Moment::from_unix(i128::from(microseconds) * 1000, 0);
    Ok(Value::DateTime2 { days: moment.days, ticks: cut(moment.ticks, scale) })
}

fn new_value(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let id =
        args.first().and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    let session = session(cx)?;
    let db = match id {
        VARIABLES => session.host().variables_db()?,
        id => session.host().db_by_id(id).ok_or_else(errors::schema_changed)?,
    };
    let txn = session.txn(&db)?;
    row_version::next(&db, txn, 1).map(row_version::value)
}
