//! Values as a result set shows them. Guarantees: every value has a text, which is UTF-8 as
//! everyone reads it (half of a character is U+FFFD); numbers keep their scale, dates their
//! fraction, and a float's text reads back as the same float.

use crate::codepage::utf16_len;
use crate::datatype::DataType;
use crate::dateformat;
use crate::language::Dialect;
use crate::numtext;
use crate::units;
use crate::value::Value;

/// A value of a type as sqlcmd prints it; NULL is `NULL`.
pub fn format_value(value: &Value, ty: DataType) -> String {
    let (value, ty) = match value {
        Value::Variant(v) => (v.value(), v.ty()),
        _ if ty == DataType::SqlVariant => (value, value.natural_type()),
        _ => (value, ty),
    };
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bit(b) => u8::from(*b).to_string(),
        Value::TinyInt(n) => n.to_string(),
        Value::SmallInt(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        Value::Decimal(d) => decimal_display(&d.to_string()),
        Value::Float(f) => numtext::float_display(&format!("{f:e}")),
        Value::Real(f) => numtext::float_display(&format!("{f:e}")),
        Value::Money(m) => numtext::money_text(*m, 2),
        Value::SmallMoney(m) => numtext::money_text(i64::from(*m), 2),
        Value::Str(s) => units::plain(s).into_owned(),
        Value::Bytes(b) => numtext::hex_text("0x", b),
        Value::Guid(g) => numtext::guid_text(g),
        // Unwrapped above, and there is none in another.
        Value::Variant(_) => String::new(),
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime { .. }
        | Value::SmallDateTime { .. }
        | Value::DateTime2 { .. }
        | Value::DateTimeOffset { .. } => {
            let style = if ty == DataType::SmallDateTime { 120 } else { 121 };
            dateformat::format(value, ty, style, Dialect::DEFAULT).unwrap_or_default()
        }
    }
}

/// sqlcmd leaves out the zero before a point: `.50`, `-.50`.
fn decimal_display(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with("0.") => format!("-{}", &rest[1..]),
        None if text.starts_with("0.") => text[1..].to_owned(),
        _ => text.to_owned(),
    }
}

/// UTF-16 units of a text, exported for drivers that align columns as clients count them.
pub fn text_width(text: &str) -> usize {
    utf16_len(text)
}

/// NULL or the text of the value in its natural type.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_null() {
            f.write_str("NULL")
        } else {
            f.write_str(&format_value(self, self.natural_type()))
        }
    }
}
