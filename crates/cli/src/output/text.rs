//! Values as text: the one place with the rules that all formats for programs share. Guarantee: the
//! text of a value, read as its type again, is the value: floats have the shortest digits that do,
//! money four decimals, fractions of seconds those of the type, binary all its bytes.

use engine::{ColumnInfo, DataType, Value};
use std::fmt::Write;

/// Appends the text of a value that is not NULL. Text is as it is, with U+FFFD for half of a
/// character; bit 0 or 1, binary `0x` and capital hexadecimal digits, dates as `2024-02-29
/// 13:14:15.123 +02:00` as far as the type goes.
pub fn push_exact(value: &Value, ty: DataType, out: &mut String) {
    match value {
        Value::Str(text) => out.push_str(&types::units::plain(text)),
        // Writing to a String does not fail.
        Value::Int(n) => drop(write!(out, "{n}")),
        Value::BigInt(n) => drop(write!(out, "{n}")),
        // With the zero before the point, which every reader takes.
        Value::Decimal(d) => drop(write!(out, "{d}")),
        Value::Money(m) => push_money(*m, out),
        Value::SmallMoney(m) => push_money(i64::from(*m), out),
        other => out.push_str(&types::format_value(other, ty)),
    }
}

/// Money (in 1/10000) with its four decimals.
fn push_money(units: i64, out: &mut String) {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let _ = write!(out, "{sign}{}.{:04}", units / 10_000, units % 10_000);
}

/// The text of a value that is not NULL.
pub fn exact(value: &Value, ty: DataType) -> String {
    let mut text = String::new();
    push_exact(value, ty, &mut text);
    text
}

/// A value in JSON: numbers of bit, integers and floats, else a string; decimals and money are
/// strings, so that no reader rounds them.
pub fn json_value(value: &Value, ty: DataType) -> serde_json::Value {
    let number = |float: f64| {
        serde_json::Number::from_f64(float).map_or(serde_json::Value::Null, Into::into)
    };
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bit(v) => (*v).into(),
        Value::TinyInt(v) => (*v).into(),
        Value::SmallInt(v) => (*v).into(),
        Value::Int(v) => (*v).into(),
        Value::BigInt(v) => (*v).into(),
        Value::Float(v) => number(*v),
        // The shortest digits that read back as the same real.
        Value::Real(v) => number(v.to_string().parse().unwrap_or_else(|_| f64::from(*v))),
        other => exact(other, ty).into(),
    }
}

/// The columns' names for formats in which each needs one: a column without a name is `column1` and
/// so on by its place, a name that came before gets `_2`, `_3`.
pub fn unique_names(columns: &[ColumnInfo]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for name in filled_names(columns) {
        let mut unique = name.clone();
        let mut n = 2;
        while names.contains(&unique) {
            unique = format!("{name}_{n}");
            n += 1;
        }
        names.push(unique);
    }
    names
}

/// The columns' names, with `column1` and so on for those without one.
pub fn filled_names(columns: &[ColumnInfo]) -> Vec<String> {
    let name = |(at, column): (usize, &ColumnInfo)| match column.name.is_empty() {
        true => format!("column{}", at + 1),
        false => column.name.to_string(),
    };
    columns.iter().enumerate().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_all_their_digits() {
        let check = |value: Value, ty, text: &str| assert_eq!(exact(&value, ty), text);
        check(Value::Money(-12_345), DataType::Money, "-1.2345");
        check(Value::Money(i64::MIN), DataType::Money, "-922337203685477.5808");
        check(Value::SmallMoney(5), DataType::SmallMoney, "0.0005");
        check(
            Value::Decimal(types::Decimal::parse("0.50").unwrap()),
            DataType::decimal(9, 2),
            "0.50",
        );
        check(Value::Bytes([1, 0xab].as_slice().into()), DataType::Binary(2), "0x01AB");
        check(Value::Bit(true), DataType::Bit, "1");
        assert_eq!(json_value(&Value::Real(0.1), DataType::Real).to_string(), "0.1");
        assert_eq!(json_value(&Value::Float(0.1), DataType::Float).to_string(), "0.1");
    }

    #[test]
    fn half_of_a_character_is_no_text_of_a_file() {
        let half = types::units::text_of([0x61, 0xD83D].into_iter());
        assert_eq!(exact(&Value::Str(half), DataType::NChar(2)), "a\u{FFFD}");
    }

    #[test]
    fn names() {
        let columns =
            ["a", "", "a", "column2", ""].map(|name| ColumnInfo::new(name, DataType::Int, true));
        assert_eq!(filled_names(&columns), ["a", "column2", "a", "column2", "column5"]);
        assert_eq!(unique_names(&columns), ["a", "column2", "a_2", "column2_2", "column5"]);
    }
}
