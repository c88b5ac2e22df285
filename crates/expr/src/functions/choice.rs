//! Functions that give one of their arguments: GREATEST and LEAST. All arguments meet in one type,
//! as the branches of CASE do; NULLs among them are passed over.

use super::{ArgRule, CallCx, Function, Stability, invalid_argument};
use crate::Expr;
use crate::order::ordered;
use std::cmp::Ordering;
use types::convert::{ConvertOptions, Mode, convert_by, depends_on_dialect};
use types::{DataType, Dialect, SqlError, Value, common_type};

const fn f(name: &'static str, result: super::ResultRule, eval: super::Eval) -> Function {
    Function {
        name,
        min: 1,
        max: 254,
        args: &[ArgRule::Any],
        result,
        strict: false,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// The functions of choice.
pub const FUNCTIONS: &[Function] = &[
    f(
        "greatest",
        |types, _: &[Expr]| meeting_type(types, "greatest"),
        |args, cx| best(args, cx, Ordering::Greater),
    ),
    f(
        "least",
        |types, _: &[Expr]| meeting_type(types, "least"),
        |args, cx| best(args, cx, Ordering::Less),
    ),
];

/// The type of all arguments together. Errors: 8116 for one whose values have no order, 206.
fn meeting_type(types: &[DataType], name: &str) -> Result<DataType, SqlError> {
    let mut meet: Option<DataType> = None;
    for (i, ty) in types.iter().copied().enumerate() {
        if ty.is_opaque() {
            return Err(invalid_argument(ty, i + 1, name));
        }
        meet = Some(meet.map_or(Ok(ty), |other| common_type(other, ty))?);
    }
    meet.ok_or_else(|| SqlError::internal("a function without arguments"))
}

fn best(args: &[Value], cx: &mut CallCx<'_>, wanted: Ordering) -> Result<Value, SqlError> {
    let mut best = Value::Null;
    for (value, ty) in args.iter().zip(cx.types) {
        let dates = depends_on_dialect(*ty, cx.ty);
        let dialect = if dates { cx.rt.dialect()? } else { Dialect::DEFAULT };
        let look = cx.look();
        let page = cx.collation.code_page();
        let how =
            ConvertOptions { dialect, page, look: &look, ..ConvertOptions::new(0, Mode::Implicit) };
        let value = convert_by(value, *ty, cx.ty, &how)?;
        let better = match ordered(&value, &best, cx.collation, &*cx.rt)? {
            Some(order) => order == wanted,
            None => best.is_null(),
        };
        if better {
            best = value;
        }
    }
    Ok(best)
}
