//! Conversions between types: one set of rules for CAST, CONVERT, mixed expressions and assignment.
//! Guarantees: the result is a value of the target type, padded or cut to its length and rounded to
//! its scale, or SQL Server's error; NULL stays NULL. TRY_CAST and TRY_CONVERT are the caller's: an
//! error becomes NULL.

mod binary;
pub mod hierarchy;
mod numbers;
mod strings;
pub(crate) mod xml;

pub(crate) use numbers::narrow_integer;
use numbers::{integer_value, to_bit, to_decimal, to_float, to_money};
use strings::to_string;
pub use strings::{first_units, fitting_part};
pub(crate) use strings::{fit_bytes, fit_string, fit_string_looking, text_bytes, text_of_utf16};

use crate::codepage::CodePage;
use crate::collation::Collation;
use crate::datatype::{Conversion, DataType, conversion};
use crate::dateparse;
use crate::datetime::{DAY_1900, DAY_TICKS, Moment};
use crate::error::SqlError;
use crate::language::{DateOrder, Dialect};
use crate::look::{CancelCheck, GO_ON};
use crate::numtext;
use crate::value::{Value, of_variant};

/// What asks for a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// An expression of mixed types, a variable or parameter: long strings are cut silently.
    Implicit,
    /// CAST and CONVERT: every conversion that exists, long strings cut silently.
    Explicit,
    /// INSERT and UPDATE into a column: a string that is too long is error 2628.
    Assignment,
}

/// Whether the conversion exists for this caller. Errors: 529, 206 it does not, 257 only
/// explicitly.
pub fn check_conversion(from: DataType, to: DataType, mode: Mode) -> Result<(), SqlError> {
    match (conversion(from, to), mode) {
        (Conversion::Implicit, _) | (Conversion::ExplicitOnly, Mode::Explicit) => Ok(()),
        (Conversion::ExplicitOnly, _) => Err(SqlError::implicit_not_allowed(from, to)),
        (Conversion::None, Mode::Explicit) => Err(SqlError::explicit_not_allowed(from, to)),
        (Conversion::None, _) => Err(SqlError::type_clash(from, to)),
    }
}

/// Whether a conversion depends on the session's [`Dialect`]: a text becomes a date, or a date a
/// text.
#[inline]
pub fn depends_on_dialect(from: DataType, to: DataType) -> bool {
    let text = |ty: DataType| ty.is_string() || ty == DataType::SqlVariant;
    let date = |ty: DataType| ty.is_temporal() || ty == DataType::SqlVariant;
    (text(from) && date(to)) || (date(from) && text(to))
}

/// Whether a conversion gives the same in every session, by SQL Server's rules: one between texts
/// and dates does under a style that fixes the order and writes no names.
pub fn is_deterministic(from: DataType, to: DataType, style: i32) -> bool {
    if !depends_on_dialect(from, to) || from == DataType::SqlVariant || to == DataType::SqlVariant {
        return true;
    }
    let names = matches!(style, 6 | 7 | 9 | 13 | 100 | 106 | 107 | 109 | 113 | 130);
    let usual = style == 0 && matches!(from, DataType::DateTime | DataType::SmallDateTime);
    match from.is_temporal() {
        true => !names && !usual,
        false => !names && DateOrder::of_style(style).is_some(),
    }
}

/// [`convert_in`] us_english: for conversions that do not depend on a session.
pub fn convert(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    mode: Mode,
) -> Result<Value, SqlError> {
    convert_in(value, from, to, style, mode, Dialect::DEFAULT)
}

/// [`convert_with`] the code page 1252.
pub fn convert_in(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    mode: Mode,
    dialect: Dialect,
) -> Result<Value, SqlError> {
    convert_with(value, from, to, style, mode, dialect, CodePage::Latin)
}

/// How a value is converted.
#[derive(Clone, Copy)]
pub struct ConvertOptions<'l> {
    /// CONVERT's; 0 is the default of every type.
    pub style: i32,
    pub mode: Mode,
    /// How dates are read and written.
    pub dialect: Dialect,
    /// Which bytes char and varchar have: those of the new type, else those of the old one.
    pub page: CodePage,
    /// What long values ask whether they are to go on.
    pub look: CancelCheck<'l>,
    /// A text that is too long is not cut inside of a character, as the collation counts
    /// characters.
    pub whole_characters: bool,
}

impl ConvertOptions<'static> {
    /// A conversion that nobody stops.
    pub fn new(style: i32, mode: Mode) -> ConvertOptions<'static> {
        let (dialect, page) = (Dialect::DEFAULT, CodePage::Latin);
        ConvertOptions { style, mode, dialect, page, look: GO_ON, whole_characters: false }
    }
}

/// [`convert_by`], which nobody stops: `style` is CONVERT's, the dialect says how dates are read
/// and written, the page which bytes char and varchar have.
///
/// # Errors
/// Those of [`convert_by`].
pub fn convert_with(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    mode: Mode,
    dialect: Dialect,
    page: CodePage,
) -> Result<Value, SqlError> {
    convert_by(
        value,
        from,
        to,
        &ConvertOptions { dialect, page, ..ConvertOptions::new(style, mode) },
    )
}

/// Converts a value of type `from` to type `to`.
///
/// Errors: 206, 257, 529 no such conversion; 245, 8114, 235, 241, 295, 8169 text that is no such
/// value; 220, 232, 234, 242, 244, 248, 8115, 8170 a value that does not fit; 281 a style that does
/// not exist; 2628 a string too long for a column (see [`fitting_part`]); that of `look`.
pub fn convert_by(
    value: &Value,
    from: DataType,
    to: DataType,
    how: &ConvertOptions<'_>,
) -> Result<Value, SqlError> {
    let ConvertOptions { style, mode, dialect, page, look, .. } = *how;
    if value.is_null() {
        return Ok(Value::Null);
    }
    if from == to && !to.is_string() && !to.is_binary() {
        if to == DataType::SqlVariant {
            return Ok(of_variant(value.clone(), to, Collation::DEFAULT));
        }
        return Ok(value.clone());
    }
    if let Value::Variant(variant) = value
        && to != DataType::SqlVariant
    {
        // Its bytes are those of its own code page.
        let page = if to.is_binary() { variant.collation().code_page() } else { page };
        let how = ConvertOptions { mode: Mode::Explicit, page, ..*how };
        return convert_by(variant.value(), variant.ty(), to, &how);
    }
    if from == DataType::SqlVariant && to != DataType::SqlVariant {
        return convert_by(
            value,
            value.natural_type(),
            to,
            &ConvertOptions { mode: Mode::Explicit, ..*how },
        );
    }
    check_conversion(from, to, mode)?;
    if from == DataType::Xml || to == DataType::Xml {
        return xml::convert(value, from, to, how);
    }
    if from == DataType::HierarchyId || to == DataType::HierarchyId {
        return hierarchy::convert(value, from, to, mode);
    }
    match to {
        DataType::SqlVariant => Ok(of_variant(value.clone(), from, Collation::DEFAULT)),
        _ if to.is_string() => to_string(value, from, to, how),
        _ if to.is_binary() => {
            let bytes = binary::to_binary(value, from, to, (style, page), look)?;
            fit_bytes(bytes, to, mode)
        }
        DataType::Bit => to_bit(value, from),
        _ if to.is_integer() => integer_value(value, from, to),
        DataType::Decimal { precision, scale, .. } => to_decimal(value, from, precision, scale),
        DataType::Float | DataType::Real => to_float(value, from, to),
        DataType::Money | DataType::SmallMoney => to_money(value, from, to),
        DataType::UniqueIdentifier => to_guid(value),
        _ => to_temporal(value, from, to, style, dialect),
    }
}

impl Value {
    /// This value as a column of the type stores it: char and binary padded, decimals at the
    /// column's scale; the value must already be of the type's kind. Errors: 2628 too long, 8115
    /// too many digits.
    pub fn check_and_pad(self, ty: DataType, page: CodePage) -> Result<Value, SqlError> {
        match (self, ty) {
            (Value::Str(s), ty) if ty.is_string() => fit_string(s, ty, Mode::Assignment, page),
            (Value::Bytes(b), ty) if ty.is_binary() => fit_bytes(b, ty, Mode::Assignment),
            (Value::Decimal(d), DataType::Decimal { precision, scale, .. }) => d
                .rescale(precision, scale)
                .map(Value::Decimal)
                .ok_or_else(|| SqlError::overflow_from("numeric", ty)),
            (value, _) => Ok(value),
        }
    }
}

fn to_guid(value: &Value) -> Result<Value, SqlError> {
    match value {
        Value::Guid(_) => Ok(value.clone()),
        Value::Str(s) => numtext::parse_guid(s).map(Value::Guid).ok_or_else(SqlError::guid_syntax),
        Value::Bytes(b) => {
            let mut guid = [0u8; 16];
            let n = b.len().min(16);
            guid[..n].copy_from_slice(&b[..n]);
            Ok(Value::Guid(guid))
        }
        _ => Err(SqlError::guid_syntax()),
    }
}

fn to_temporal(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    dialect: Dialect,
) -> Result<Value, SqlError> {
    if let Value::Str(text) = value {
        let order = DateOrder::of_style(style).unwrap_or(dialect.order);
        return dateparse::parse(text, from, to, dialect.with_order(order));
    }
    if let Some(mut moment) = Moment::of(value) {
        if !matches!(to, DataType::DateTimeOffset(_)) {
            moment.offset = 0;
        }
        return moment.to_value(to).ok_or_else(|| SqlError::date_out_of_range(from, to));
    }
    if let Value::Bytes(b) = value {
        return binary::temporal_from_bytes(b, to)
            .ok_or_else(|| SqlError::error_converting(from, to));
    }
    // Numbers are days since 1900-01-01 with a fraction, for datetime and smalldatetime only.
    let Value::Float(days) = to_float(value, from, DataType::Float)? else {
        return Err(SqlError::explicit_not_allowed(from, to));
    };
    let fail = || SqlError::overflow(to);
    if days.abs() > 4e6 {
        return Err(fail());
    }
    let whole = days.floor();
    let ticks = ((days - whole) * DAY_TICKS as f64).round() as u64;
    let carry = i32::from(ticks >= DAY_TICKS);
    let days = whole as i32 + DAY_1900 + carry;
    let moment = Moment { days, ticks: if carry == 1 { 0 } else { ticks }, offset: 0 };
    moment.to_value(to).ok_or_else(fail)
}
