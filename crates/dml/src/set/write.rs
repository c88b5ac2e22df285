//! `column.WRITE(expression, offset, length)` of UPDATE: a part of a large value is replaced.
//! Guarantee: what it counts are the units of strings, also those that are half of a character, and
//! bytes of binaries, from 0.

use bind::Binder;
use expr::functions::{ArgRule, CallCx, Function, Stability};
use expr::{CallExpr, Expr, Typed, bind_ops};
use syntax::ast;
use types::convert::Mode;
use types::{DataType, SqlError, Value, msg, units};

/// The evaluation. No name finds it.
static WRITE: Function = Function {
    name: "write",
    min: 4,
    max: 4,
    args: &[ArgRule::Any, ArgRule::Any, ArgRule::BigInt, ArgRule::BigInt],
    result: |types, _| Ok(types[0]),
    strict: false,
    stability: Stability::Pure,
    nullable: true,
    eval: write,
};

/// Binds the new value of a column.
///
/// # Errors
/// 174 not three arguments, 258 a column that holds no large values.
pub fn bind(binder: &mut Binder<'_>, column: Typed, args: &[ast::Expr]) -> Result<Typed, SqlError> {
    let [value, offset, length] = args else {
        return Err(SqlError::of(msg::FUNCTION_ARGUMENT_COUNT, [&"write", &3]));
    };
    if !column.ty.is_lob() {
        return Err(SqlError::of(msg::METHODS_NOT_ALLOWED, [&column.ty.message_name()]));
    }
    let (ty, collation) = (column.ty, column.collation);
    let value = bind_ops::assigned(binder.expr(value)?, ty, Mode::Assignment, collation)?;
    let offset = binder.expr_as(offset, DataType::BigInt)?;
    let length = binder.expr_as(length, DataType::BigInt)?;
    let types = vec![ty, ty, DataType::BigInt, DataType::BigInt];
    let call = CallExpr {
        function: &WRITE,
        args: vec![column.expr, value, offset, length],
        types,
        ty,
        collation,
        lenient: false,
    };
    Ok(Typed { collation, ..Typed::new(Expr::Call(Box::new(call)), ty, true) })
}

fn write(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let [old, new, offset, length] = args else {
        return Err(SqlError::internal("WRITE without a value"));
    };
    match (old, new) {
        (Value::Null, _) => Err(SqlError::of(msg::NULL_TEXT_POINTER, [&"WRITE"])),
        (Value::Bytes(old), new) => {
            let new = if let Value::Bytes(new) = new { Some(&new[..]) } else { None };
            Ok(Value::bytes(replaced(old, new, offset, length)?))
        }
        (old, new) => {
            let of = |value: &Value| value.as_str().map(|s| units::units(s).collect::<Vec<u16>>());
            let (old, new) = (of(old).unwrap_or_default(), of(new));
            let all = replaced(&old, new.as_deref(), offset, length)?;
            Ok(Value::Str(units::text_of(all.into_iter())))
        }
    }
}

/// The units with a part replaced: nothing new cuts them off at the offset, no offset appends, no
/// length takes all behind it.
fn replaced<T: Copy>(
    old: &[T],
    new: Option<&[T]>,
    offset: &Value,
    length: &Value,
) -> Result<Vec<T>, SqlError> {
    let Some(offset) = offset.as_i64() else {
        return Ok([old, new.unwrap_or_default()].concat());
    };
    let at = usize::try_from(offset).ok().filter(|at| *at <= old.len());
    let at = at.ok_or_else(|| SqlError::of(msg::LOB_OFFSET, [&offset]))?;
    let Some(new) = new else { return Ok(old[..at].to_vec()) };
    let end = match length.as_i64() {
        None => old.len(),
        Some(length) => {
            let length = usize::try_from(length)
                .map_err(|_| SqlError::of(msg::LOB_DELETION_LENGTH, [&length]))?;
            at.saturating_add(length).min(old.len())
        }
    };
    Ok([&old[..at], new, &old[end..]].concat())
}
