//! NEXT VALUE FOR: the binder makes calls of it, no text can name it.

use types::{DataType, SqlError, Value};

use super::session;
use bind::sequence::NEXT_VALUE;
use catalog::other::OtherObject;
use catalog::{errors, sequence};
use expr::Expr;
use expr::functions::{ArgRule, CallCx, Function, Stability};
use types::convert::{Mode, convert};

/// The list.
pub const FUNCTIONS: &[Function] = &[Function {
    name: NEXT_VALUE,
    min: 4,
    max: 4,
    args: &[ArgRule::Any],
    result: bigint,
    strict: false,
    stability: Stability::Row,
    nullable: false,
    eval: next_value,
}];

fn bigint(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::BigInt)
}

/// Database, object, whether another call has taken a value for this row, and what gives the order.
fn next_value(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let number = |at: usize| {
        args.get(at).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
    };
    let key = (number(0), number(1));
    let ty = cx.ty;
    let session = session(cx)?;
    let again = number(2) == 1;
    let known =
        session.objects.sequence_values.iter().find(|(of, _)| *of == key).map(|(_, value)| *value);
    let value = match known.filter(|_| again) {
        Some(value) => value,
        None => {
            let db = session.host().db_by_id(key.0).ok_or_else(errors::schema_changed)?;
            let Some(OtherObject::Sequence(def)) = db.catalog().others.get(&key.1).cloned() else {
                return Err(errors::schema_changed());
            };
            let value = sequence::next(&db, &def)?;
            session.objects.sequence_values.retain(|(of, _)| *of != key);
            session.objects.sequence_values.push((key, value));
            value
        }
    };
    convert(&Value::BigInt(value), DataType::BigInt, ty, 0, Mode::Implicit)
}
