//! The new value of a rowversion column as an expression: a call that gives another value each
//! time, greater than all before.

use super::Binder;
use expr::{CallExpr, Expr};
use types::{Collation, DataType, SqlError, Value};

/// The function's name, which no text can have.
pub const NEW_ROW_VERSION: &str = "new row version";

/// A new value for a row of a database.
///
/// # Errors
/// Internal: nobody gives them.
pub fn new_value(binder: &Binder<'_>, database: i32) -> Result<Expr, SqlError> {
    let function = binder.env.names.function(NEW_ROW_VERSION);
    let function = function.ok_or_else(|| SqlError::internal("nobody gives row versions"))?;
    let call = CallExpr {
        function,
        args: vec![Expr::Const(Value::Int(database))],
        types: vec![DataType::Int],
        ty: DataType::RowVersion,
        collation: Collation::DEFAULT,
        lenient: false,
    };
    Ok(Expr::Call(Box::new(call)))
}
