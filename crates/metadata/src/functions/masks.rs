//! What the binder puts around a value that is made of masked columns: the value itself for a
//! caller who may see it, else its mask.

use bind::mask::{MASKED, MaskedColumn};
use expr::functions::{ArgRule as A, CallCx, Function, Stability, first_type, text_arg};
use expr::mask::Mask;
use types::{SqlError, Value};

use super::session;

/// The list.
pub const FUNCTIONS: &[Function] = &[Function {
    name: MASKED,
    min: 3,
    max: 3,
    args: &[A::Any],
    result: first_type,
    strict: true,
    stability: Stability::Row,
    nullable: true,
    eval: masked,
}];

/// The value, the mask, the columns that it is made of.
fn masked(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let value = args.first().cloned().unwrap_or_default();
    if session(cx)?.sees(MaskedColumn::of_text(text_arg(args, 2))) {
        return Ok(value);
    }
    let mask = Mask::read(text_arg(args, 1));
    let random = if mask.is_random() { cx.rt.random()?.draw() } else { 0.0 };
    Ok(mask.apply(&value, cx.ty, random))
}
