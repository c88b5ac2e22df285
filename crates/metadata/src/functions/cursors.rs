//! CURSOR_STATUS.

use super::session;
use expr::functions::{ArgRule as A, Function, Stability, smallint};
use types::Value;

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[Function {
    name: "cursor_status",
    min: 2,
    max: 2,
    args: &[A::Name],
    result: smallint,
    strict: false,
    stability: Stability::Row,
    nullable: true,
    eval: |args, cx| {
        let (Some(scope), Some(name)) =
            (args.first().and_then(Value::as_str), args.get(1).and_then(Value::as_str))
        else {
            return Ok(Value::Null);
        };
        let cursors = &session(cx)?.objects.cursors;
        let found = match () {
            () if scope.eq_ignore_ascii_case("local") => {
                cursors.named(name, false).map_or(-3, |c| c.status())
            }
            () if scope.eq_ignore_ascii_case("global") => {
                cursors.named(name, true).map_or(-3, |c| c.status())
            }
            // A variable that holds none; whether it was declared is not known when the batch runs.
            () if scope.eq_ignore_ascii_case("variable") => {
                cursors.variable(name).map_or(-2, |c| c.status())
            }
            () => return Ok(Value::Null),
        };
        Ok(Value::SmallInt(found))
    },
}];
