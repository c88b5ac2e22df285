//! Conversions between types: one set of rules for CAST, CONVERT, mixed expressions and assignment.
//! Guarantees: the result is a value of the target type, padded or cut to its length and rounded to its scale, or
//! SQL Server's error; NULL stays NULL. TRY_CAST and TRY_CONVERT are the caller's: an error becomes NULL.

use std::sync::Arc;

use compact_str::{CompactString, ToCompactString, format_compact};

use crate::codepage::{self, CodePage};
use crate::collation::Collation;
use crate::datatype::{Conversion, DataType, conversion};
use crate::datetime::{DAY_1900, DAY_TICKS, DAY_TICKS_300, Moment};
use crate::decimal::{Decimal, ParseDecimalError};
use crate::error::SqlError;
use crate::language::{DateOrder, Dialect};
use crate::numtext::{self, ParsedInteger};
use crate::rowcell::{encode_utf16, wide_text};
use crate::value::{Value, of_variant};
use crate::{convertbin, converthierarchy, convertxml, dateformat, dateparse};

/// Who asks for a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// An expression of mixed types, a variable or parameter: long strings are cut silently.
    Implicit,
    /// CAST and CONVERT: every conversion that exists, long strings cut silently.
    Explicit,
    /// INSERT and UPDATE into a column: a string that is too long is error 2628.
    Assignment,
}

/// Whether the conversion exists for this caller. Errors: 529, 206 it does not, 257 only explicitly.
pub fn check_conversion(from: DataType, to: DataType, mode: Mode) -> Result<(), SqlError> {
    match (conversion(from, to), mode) {
        (Conversion::Implicit, _) | (Conversion::ExplicitOnly, Mode::Explicit) => Ok(()),
        (Conversion::ExplicitOnly, _) => Err(SqlError::implicit_not_allowed(from, to)),
        (Conversion::None, Mode::Explicit) => Err(SqlError::explicit_not_allowed(from, to)),
        (Conversion::None, _) => Err(SqlError::type_clash(from, to)),
    }
}

/// Whether a conversion depends on the session's [`Dialect`]: a text becomes a date, or a date a text.
#[inline]
pub fn depends_on_dialect(from: DataType, to: DataType) -> bool {
    let text = |ty: DataType| ty.is_string() || ty == DataType::SqlVariant;
    let date = |ty: DataType| ty.is_temporal() || ty == DataType::SqlVariant;
    (text(from) && date(to)) || (date(from) && text(to))
}

/// Whether a conversion gives the same in every session, by SQL Server's rules: one between texts and dates does under a style that
/// fixes the order and writes no names.
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

/// Converts a value of type `from` to type `to`. `style` is CONVERT's; 0 is the default of every type. The dialect says how dates
/// are read and written, the page which bytes char and varchar have: those of `to`, else those of `from`.
///
/// Errors: 206, 257, 529 no such conversion; 245, 8114, 235, 241, 295, 8169 text that is no such value; 220, 232,
/// 234, 242, 244, 248, 8115, 8170 a value that does not fit; 281 a style that does not exist; 2628 a string too
/// long for a column (see [`fitting_part`]).
pub fn convert_with(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    mode: Mode,
    dialect: Dialect,
    page: CodePage,
) -> Result<Value, SqlError> {
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
        return convert_with(variant.value(), variant.ty(), to, style, Mode::Explicit, dialect, page);
    }
    if from == DataType::SqlVariant && to != DataType::SqlVariant {
        return convert_with(value, value.natural_type(), to, style, Mode::Explicit, dialect, page);
    }
    check_conversion(from, to, mode)?;
    if from == DataType::Xml || to == DataType::Xml {
        return convertxml::convert(value, from, to, style, page);
    }
    if from == DataType::HierarchyId || to == DataType::HierarchyId {
        return converthierarchy::convert(value, from, to, mode);
    }
    match to {
        DataType::SqlVariant => Ok(of_variant(value.clone(), from, Collation::DEFAULT)),
        _ if to.is_string() => to_string(value, from, to, style, (mode, page), dialect),
        _ if to.is_binary() => {
            let bytes = convertbin::to_binary(value, from, to, style, page)?;
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
    /// This value as a column of the type stores it: char and binary padded, decimals at the column's scale; the
    /// value must already be of the type's kind. Errors: 2628 too long, 8115 too many digits.
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

/// The beginning of a string or binary value that fits the type: what message 2628 shows.
pub fn fitting_part(value: &Value, ty: DataType, page: CodePage) -> String {
    match (value, ty.length()) {
        (Value::Str(s), Some(limit)) => s[..cut_at(s, limit, ty, page)].to_owned(),
        (Value::Str(s), None) => s.to_string(),
        (Value::Bytes(b), limit) => {
            let end = limit.unwrap_or(b.len()).min(b.len());
            numtext::hex_text("0x", &b[..end])
        }
        _ => String::new(),
    }
}

/// The longest beginning of a text that has at most `limit` of the type's units: UTF-16 units of nchar and nvarchar,
/// bytes of char and varchar.
pub fn first_units(text: &str, limit: usize, ty: DataType, page: CodePage) -> &str {
    &text[..cut_at(text, limit, ty, page)]
}

/// Byte offset of the longest beginning that has at most `limit` of the type's units.
fn cut_at(text: &str, limit: usize, ty: DataType, page: CodePage) -> usize {
    if codepage::is_ascii(text.as_bytes()) {
        return limit.min(text.len());
    }
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += if ty.is_unicode() { c.len_utf16() } else { page.char_len(c) };
        if units > limit {
            return at;
        }
    }
    text.len()
}

/// A text as a value of a string type: characters that the code page lacks replaced, cut, padded.
pub(crate) fn fit_string(
    text: CompactString,
    ty: DataType,
    mode: Mode,
    page: CodePage,
) -> Result<Value, SqlError> {
    let text = match ty.is_unicode() {
        true => text,
        false => page.replaced(&text).map_or(text, CompactString::from),
    };
    let Some(limit) = ty.length() else {
        return Ok(Value::Str(text));
    };
    let length =
        |text: &str| if ty.is_unicode() { codepage::utf16_len(text) } else { page.encoded_len(text) };
    let mut text = text;
    let mut units = length(&text);
    if units > limit {
        let end = cut_at(&text, limit, ty, page);
        let blank = text[end..].bytes().all(|b| b == b' ');
        if mode == Mode::Assignment && !blank {
            return Err(SqlError::truncation(&text[..end]));
        }
        text.truncate(end);
        // One below the limit when a surrogate pair did not fit: a fixed type is padded again.
        units = length(&text);
    }
    if matches!(ty, DataType::Char(_) | DataType::NChar(_)) && units < limit {
        let missing = limit - units;
        text.reserve(missing);
        (0..missing).for_each(|_| text.push(' '));
    }
    Ok(Value::Str(text))
}

/// Bytes as a value of a binary type.
pub(crate) fn fit_bytes(bytes: Arc<[u8]>, ty: DataType, mode: Mode) -> Result<Value, SqlError> {
    let Some(limit) = ty.length() else {
        return Ok(Value::Bytes(bytes));
    };
    if bytes.len() > limit {
        if mode == Mode::Assignment && bytes[limit..].iter().any(|b| *b != 0) {
            return Err(SqlError::truncation(&numtext::hex_text("0x", &bytes[..limit])));
        }
        return Ok(Value::Bytes(Arc::from(&bytes[..limit])));
    }
    if matches!(ty, DataType::Binary(_) | DataType::RowVersion) && bytes.len() < limit {
        let mut padded = bytes.to_vec();
        padded.resize(limit, 0);
        return Ok(Value::Bytes(Arc::from(padded)));
    }
    Ok(Value::Bytes(bytes))
}

fn to_string(
    value: &Value,
    from: DataType,
    to: DataType,
    style: i32,
    (mode, page): (Mode, CodePage),
    dialect: Dialect,
) -> Result<Value, SqlError> {
    let text = match value {
        Value::Str(s) => return fit_string(s.clone(), to, mode, page),
        Value::Bytes(b) => return fit_string(bytes_text(b, from, to, style, page)?, to, mode, page),
        Value::Bit(b) => CompactString::const_new(if *b { "1" } else { "0" }),
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
            value.as_i64().unwrap_or(0).to_compact_string()
        }
        Value::Decimal(d) => format_compact!("{d}"),
        Value::Float(f) => numtext::float_text(*f, style).into(),
        Value::Real(f) => numtext::float_text(f64::from(*f), style).into(),
        Value::Money(m) => numtext::money_text(*m, style).into(),
        Value::SmallMoney(m) => numtext::money_text(i64::from(*m), style).into(),
        Value::Guid(g) => numtext::guid_text(g).into(),
        // Dates are cut silently, as SQL Server does.
        _ => {
            return fit_string(
                dateformat::format(value, from, style, dialect)?.into(),
                to,
                Mode::Implicit,
                page,
            );
        }
    };
    if to.length().is_none_or(|limit| text.len() <= limit) {
        return fit_string(text, to, mode, page);
    }
    match value {
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) if !to.is_unicode() => {
            fit_string(CompactString::const_new("*"), to, mode, page)
        }
        Value::Money(_) | Value::SmallMoney(_) => Err(SqlError::money_space(to)),
        Value::Guid(_) => Err(SqlError::guid_space(to)),
        Value::Decimal(_) => Err(SqlError::overflow_from("numeric", to)),
        _ => Err(SqlError::overflow(to)),
    }
}

/// Binary to text: the bytes themselves, or hexadecimal with (style 1) or without 0x (style 2).
fn bytes_text(
    bytes: &[u8],
    from: DataType,
    to: DataType,
    style: i32,
    page: CodePage,
) -> Result<CompactString, SqlError> {
    match style {
        0 if to.is_unicode() => {
            let even = &bytes[..bytes.len() / 2 * 2];
            wide_text(even).ok_or_else(|| SqlError::error_converting(from, to))
        }
        0 => Ok(page.decode(bytes)),
        1 => Ok(numtext::hex_text("0x", bytes).into()),
        2 => Ok(numtext::hex_text("", bytes).into()),
        _ => Err(SqlError::bad_style(style, from)),
    }
}

/// A text's stored bytes in a string type: those of the code page, or UTF-16LE.
pub(crate) fn text_bytes(text: &str, ty: DataType, page: CodePage) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    if ty.is_unicode() {
        encode_utf16(text, &mut bytes);
    } else {
        page.encode(text, &mut bytes);
    }
    bytes
}

fn to_bit(value: &Value, from: DataType) -> Result<Value, SqlError> {
    let set = match value {
        Value::Str(s) => {
            let text = s.trim();
            if text.eq_ignore_ascii_case("true") {
                true
            } else if text.eq_ignore_ascii_case("false") {
                false
            } else {
                match numtext::parse_integer(text) {
                    ParsedInteger::Number(n) => n != 0,
                    _ => return Err(SqlError::conversion_failed(from, s, DataType::Bit)),
                }
            }
        }
        Value::Decimal(d) => !d.is_zero(),
        Value::Float(f) => *f != 0.0,
        Value::Real(f) => *f != 0.0,
        Value::Money(m) => *m != 0,
        Value::SmallMoney(m) => *m != 0,
        Value::Bytes(b) => b.iter().any(|b| *b != 0),
        Value::DateTime { .. } | Value::SmallDateTime { .. } => days_as_float(value) != 0.0,
        other => other.as_i64().is_some_and(|n| n != 0),
    };
    Ok(Value::Bit(set))
}

/// An integer as a value of an integer type, or `None` when it does not fit.
pub(crate) fn narrow_integer(n: i64, to: DataType) -> Option<Value> {
    match to {
        DataType::TinyInt => u8::try_from(n).ok().map(Value::TinyInt),
        DataType::SmallInt => i16::try_from(n).ok().map(Value::SmallInt),
        DataType::Int => i32::try_from(n).ok().map(Value::Int),
        DataType::BigInt => Some(Value::BigInt(n)),
        DataType::Bit => Some(Value::Bit(n != 0)),
        _ => None,
    }
}

fn integer_value(value: &Value, from: DataType, to: DataType) -> Result<Value, SqlError> {
    let n = match value {
        Value::Str(s) => return integer_from_text(s, from, to),
        Value::Decimal(d) => {
            i64::try_from(d.truncated()).map_err(|_| SqlError::overflow_from("numeric", to))?
        }
        Value::Float(f) => return integer_from_float(*f, to),
        Value::Real(f) => return integer_from_float(f64::from(*f), to),
        Value::Money(m) => rounded_units(*m),
        Value::SmallMoney(m) => rounded_units(i64::from(*m)),
        Value::Bytes(b) => convertbin::integer_from_bytes(b, to),
        // Half a day and more counts as the next.
        Value::DateTime { .. } | Value::SmallDateTime { .. } => (days_as_float(value) + 0.5).floor() as i64,
        other => other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))?,
    };
    narrow_integer(n, to).ok_or_else(|| match (value, to) {
        (Value::SmallInt(_) | Value::Int(_), DataType::TinyInt | DataType::SmallInt) => {
            SqlError::integer_overflow(to, n)
        }
        (Value::Decimal(_), _) => SqlError::overflow_from("numeric", to),
        _ => SqlError::overflow(to),
    })
}

/// Whole units of money, rounded half away from zero.
fn rounded_units(money: i64) -> i64 {
    (money / 10_000) + (money % 10_000) / 5_000
}

fn integer_from_text(text: &str, from: DataType, to: DataType) -> Result<Value, SqlError> {
    match (numtext::parse_integer(text), to) {
        (ParsedInteger::Number(n), _) => narrow_integer(n, to).ok_or_else(|| {
            // Beyond int, SQL Server reports the int conversion that it does first.
            let reported = if i32::try_from(n).is_err() { DataType::Int } else { to };
            SqlError::string_overflows_integer(from, text, reported)
        }),
        (ParsedInteger::TooLarge, DataType::BigInt) => Err(SqlError::overflow(to)),
        (ParsedInteger::TooLarge, _) => Err(SqlError::string_overflows_integer(from, text, DataType::Int)),
        (ParsedInteger::NotANumber, DataType::BigInt) => Err(SqlError::error_converting(from, to)),
        (ParsedInteger::NotANumber, _) => Err(SqlError::conversion_failed(from, text, to)),
    }
}

fn integer_from_float(f: f64, to: DataType) -> Result<Value, SqlError> {
    let whole = f.trunc();
    // 2^63 itself is the first float beyond bigint.
    let limit = 2f64.powi(63);
    let fits = (-limit..limit).contains(&whole);
    fits.then(|| narrow_integer(whole as i64, to)).flatten().ok_or_else(|| match to {
        DataType::BigInt => SqlError::overflow_from("float", to),
        _ => SqlError::float_overflow(to, f),
    })
}

/// Days since 1900-01-01 with the time of day as a fraction.
fn days_as_float(value: &Value) -> f64 {
    match *value {
        Value::DateTime { days, ticks } => f64::from(days) + f64::from(ticks) / f64::from(DAY_TICKS_300),
        Value::SmallDateTime { days, minutes } => f64::from(days) + f64::from(minutes) / 1440.0,
        _ => 0.0,
    }
}

fn to_decimal(value: &Value, from: DataType, precision: u8, scale: u8) -> Result<Value, SqlError> {
    let to = DataType::decimal(precision, scale);
    let source = match value {
        Value::Decimal(d) => *d,
        Value::Money(m) => Decimal::new(i128::from(*m), 19, 4).unwrap_or(Decimal::zero(19, 4)),
        Value::SmallMoney(m) => Decimal::new(i128::from(*m), 10, 4).unwrap_or(Decimal::zero(10, 4)),
        Value::Str(s) => match Decimal::parse(s) {
            Ok(d) => d,
            Err(ParseDecimalError::Overflow) => return Err(SqlError::overflow_from(from.message_name(), to)),
            Err(ParseDecimalError::Syntax) => return Err(SqlError::error_converting(from, to)),
        },
        Value::Float(_) | Value::Real(_) | Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            let f = match value {
                Value::Float(f) => *f,
                Value::Real(f) => f64::from(*f),
                _ => days_as_float(value),
            };
            return Decimal::from_f64(f, precision, scale)
                .map(Value::Decimal)
                .ok_or_else(|| SqlError::overflow_from(from.message_name(), to));
        }
        Value::Bytes(b) => {
            convertbin::decimal_from_bytes(b).ok_or_else(|| SqlError::error_converting(from, to))?
        }
        other => Decimal::from_i64(other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))?),
    };
    source
        .rescale(precision, scale)
        .map(Value::Decimal)
        .ok_or_else(|| SqlError::overflow_from(from.message_name(), to))
}

fn to_float(value: &Value, from: DataType, to: DataType) -> Result<Value, SqlError> {
    let f = match value {
        Value::Float(f) => *f,
        Value::Real(f) => f64::from(*f),
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::SmallMoney(m) => f64::from(*m) / 10_000.0,
        Value::Str(s) => numtext::parse_float(s).ok_or_else(|| SqlError::error_converting(from, to))?,
        Value::DateTime { .. } | Value::SmallDateTime { .. } => days_as_float(value),
        other => other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))? as f64,
    };
    if to == DataType::Float {
        return Ok(Value::Float(f));
    }
    let real = f as f32;
    if real.is_finite() { Ok(Value::Real(real)) } else { Err(SqlError::float_overflow(to, f)) }
}

/// 1/10000 of a money value, as the type's value.
fn money_value(units: i64, to: DataType) -> Option<Value> {
    match to {
        DataType::Money => Some(Value::Money(units)),
        _ => i32::try_from(units).ok().map(Value::SmallMoney),
    }
}

fn to_money(value: &Value, from: DataType, to: DataType) -> Result<Value, SqlError> {
    let fail = || match value {
        Value::Str(_) => SqlError::money_overflow(to),
        _ => SqlError::overflow_from(from.message_name(), to),
    };
    let from_decimal = |d: Option<Decimal>| d.and_then(|d| i64::try_from(d.mantissa()).ok());
    let units = match value {
        Value::Money(m) => Some(*m),
        Value::SmallMoney(m) => Some(i64::from(*m)),
        Value::Decimal(d) => from_decimal(d.rescale(38, 4)),
        Value::Float(f) => from_decimal(Decimal::from_f64(*f, 38, 4)),
        Value::Real(f) => from_decimal(Decimal::from_f64(f64::from(*f), 38, 4)),
        Value::Str(s) => numtext::parse_money(s).ok_or_else(|| SqlError::money_syntax(to))?,
        Value::Bytes(b) => Some(convertbin::integer_from_bytes(b, DataType::BigInt)),
        Value::DateTime { .. } | Value::SmallDateTime { .. } => {
            from_decimal(Decimal::from_f64(days_as_float(value), 38, 4))
        }
        other => {
            let n = other.as_i64().ok_or_else(|| SqlError::explicit_not_allowed(from, to))?;
            n.checked_mul(10_000)
        }
    };
    units.and_then(|units| money_value(units, to)).ok_or_else(fail)
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
        return convertbin::temporal_from_bytes(b, to).ok_or_else(|| SqlError::error_converting(from, to));
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
