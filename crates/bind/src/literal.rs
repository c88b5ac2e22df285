//! Constants where the grammar has no expression: options of statements and hints.

use catalog::errors;
use syntax::ast::{Expr, ExprKind, Literal, UnaryOp};
use types::{Decimal, SqlError, Value};

/// The value of a constant. Errors: 102 for anything else.
pub fn literal(expr: &Expr) -> Result<Value, SqlError> {
    match &expr.kind {
        ExprKind::Literal(literal) => Ok(match literal {
            Literal::Null => Value::Null,
            Literal::Integer(n) => i32::try_from(*n).map_or(Value::BigInt(*n), Value::Int),
            Literal::Decimal(text) | Literal::Money(text) => {
                Value::Decimal(Decimal::parse(text).map_err(|_| errors::syntax_near(text))?)
            }
            Literal::Float(text) => {
                Value::Float(text.parse().map_err(|_| errors::syntax_near(text))?)
            }
            Literal::String { value, .. } => Value::Str(value.clone()),
            Literal::Binary(bytes) => Value::bytes(bytes.to_vec()),
        }),
        ExprKind::Unary { op: UnaryOp::Minus, operand } => Ok(match literal(operand)? {
            Value::Int(n) => Value::Int(-n),
            Value::BigInt(n) => Value::BigInt(-n),
            Value::Decimal(d) => Value::Decimal(d.negate()),
            Value::Float(f) => Value::Float(-f),
            other => other,
        }),
        ExprKind::Unary { op: UnaryOp::Plus, operand } => literal(operand),
        _ => Err(errors::syntax_near("(")),
    }
}
