//! The types that a query names, and values as values of them.

use messages as msg;

use crate::binary::Encoding;
use crate::error::{PLACE, QueryError};
use crate::eval::cast_to;
use crate::item::Atom;
use crate::path::{Cast, Expr};

/// What a cast to a type makes; none where nobody can be cast to it.
pub(super) fn cast_of(prefix: &str, local: &str) -> Option<Cast> {
    let whole = |least: i128, most: i128| Cast::Whole { least, most };
    Some(match (prefix, local) {
        (
            "xs",
            "string" | "normalizedString" | "token" | "language" | "Name" | "NCName" | "ID"
            | "IDREF" | "ENTITY" | "anyURI" | "date" | "time" | "dateTime" | "duration" | "gYear"
            | "gYearMonth" | "gMonth" | "gMonthDay" | "gDay",
        ) => Cast::Text,
        ("xdt", "untypedAtomic") => Cast::Untyped,
        ("xs", "double" | "float" | "decimal") => Cast::Number,
        ("xs", "integer") => whole(i128::MIN, i128::MAX),
        ("xs", "nonPositiveInteger") => whole(i128::MIN, 0),
        ("xs", "negativeInteger") => whole(i128::MIN, -1),
        ("xs", "nonNegativeInteger") => whole(0, i128::MAX),
        ("xs", "positiveInteger") => whole(1, i128::MAX),
        ("xs", "long") => whole(i64::MIN.into(), i64::MAX.into()),
        ("xs", "int") => whole(i32::MIN.into(), i32::MAX.into()),
        ("xs", "short") => whole(i16::MIN.into(), i16::MAX.into()),
        ("xs", "byte") => whole(i8::MIN.into(), i8::MAX.into()),
        ("xs", "unsignedLong") => whole(0, u64::MAX.into()),
        ("xs", "unsignedInt") => whole(0, u32::MAX.into()),
        ("xs", "unsignedShort") => whole(0, u16::MAX.into()),
        ("xs", "unsignedByte") => whole(0, u8::MAX.into()),
        ("xs", "boolean") => Cast::Bool,
        ("xs", "base64Binary") => Cast::Binary(Encoding::Base64),
        ("xs", "hexBinary") => Cast::Binary(Encoding::Hex),
        _ => return None,
    })
}

/// An expression as a value of a type.
///
/// # Errors
/// 9319 a written text that is no such value.
pub(super) fn casted(cast: Cast, e: Expr) -> Result<Expr, QueryError> {
    if let Expr::Literal(atom @ Atom::Text(written)) = &e
        && cast_to(cast, atom).is_none()
    {
        return Err(QueryError::of(msg::XQUERY_SIMPLE_TYPE_VALUE, [&PLACE, &written]));
    }
    Ok(Expr::Cast(cast, Box::new(e)))
}
