//! The constant NULL where a type is needed: it has none, and SQL Server refuses it instead of
//! choosing one. Guarantee: only what is written as NULL is refused; NULL of CAST, of a column or
//! of a variable has a type.

use expr::aggregate::AggKind;
use syntax::ast::{Expr, ExprKind, Literal};
use types::{SqlError, msg};

/// Functions whose argument, counted from 1, must have a type.
const NEED_TYPES: &[(&str, usize)] = &[("format", 1), ("patindex", 2), ("substring", 1)];

/// Whether NULL is written.
pub(super) fn is_null(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Literal(Literal::Null))
}

/// Errors: 8116 for an argument of a scalar function.
pub(super) fn check_arguments(name: &str, args: &[Expr]) -> Result<(), SqlError> {
    for (_, at) in NEED_TYPES.iter().filter(|(needs, _)| *needs == name) {
        if args.get(at - 1).is_some_and(is_null) {
            return Err(no_argument(name, *at));
        }
    }
    Ok(())
}

/// Errors: 8117 for the argument of an aggregate; 8116 of STRING_AGG.
pub(super) fn check_aggregated(kind: AggKind, name: &str, arg: &Expr) -> Result<(), SqlError> {
    if !is_null(arg) {
        return Ok(());
    }
    Err(match kind {
        AggKind::StringAgg => no_argument(name, 1),
        _ => SqlError::of(msg::OPERAND_TYPE, [&"NULL", &name]),
    })
}

/// Errors: 8133 when all results of a CASE or an IIF are the constant.
pub(super) fn check_results<'e>(
    mut results: impl Iterator<Item = &'e Expr>,
) -> Result<(), SqlError> {
    if results.any(|result| !is_null(result)) {
        return Ok(());
    }
    Err(SqlError::of(msg::CASE_OF_NULLS, []))
}

/// Errors: 4151 for the first argument of NULLIF.
pub(super) fn check_nullif(first: Option<&Expr>) -> Result<(), SqlError> {
    if !first.is_some_and(is_null) {
        return Ok(());
    }
    Err(SqlError::of(msg::NULLIF_OF_NULL, []))
}

fn no_argument(name: &str, at: usize) -> SqlError {
    SqlError::of(msg::ARGUMENT_TYPE, [&"NULL", &at, &name])
}
