//! The columns of a table that is not there yet: all rows are looked at, and each column gets the
//! narrowest type that holds all its fields. docs/import-export.md has the rules; columns take
//! NULL.

use crate::file_rows::{Cell, ImportFailure, ImportRows};
use engine::{DataType, Value};
use types::Len;
use types::codepage::utf16_len;
use types::convert::{Mode, convert};

/// Longest varying text and binary that is not (max).
const MAX_UNITS: usize = 4000;
const MAX_BYTES: usize = 8000;

/// What a column's fields have been so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct SeenFields {
    /// Types that all fields have read as; none: no field was there but NULL.
    kind: Option<Kind>,
    /// Of the longest text, as the fields are written.
    units: usize,
    /// Digits before and after the point, of numbers.
    whole: u8,
    fraction: u8,
    /// Digits of fractions of seconds.
    seconds: u8,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bit,
    Int,
    BigInt,
    Decimal,
    Float,
    Binary,
    Date,
    Time,
    DateTime,
    Offset,
    Guid,
    Text,
}

/// Names and types of a file's columns.
pub fn columns(rows: &mut dyn ImportRows) -> Result<Vec<(String, String)>, ImportFailure> {
    if let (Some(names), Some(types)) = (rows.names(), rows.types()) {
        return Ok(names.iter().cloned().zip(types).collect());
    }
    let names = rows.names().map(<[String]>::to_vec);
    let mut seen = vec![SeenFields::default(); names.as_ref().map_or(0, Vec::len)];
    let mut row = Vec::new();
    while rows.next(&mut row)? {
        seen.resize(seen.len().max(row.len()), SeenFields::default());
        for (seen, cell) in seen.iter_mut().zip(&row) {
            seen.note(cell);
        }
    }
    if seen.is_empty() {
        return Err(ImportFailure::File("the file has no columns to make a table of".into()));
    }
    let names = names.unwrap_or_else(|| (1..=seen.len()).map(|n| format!("column{n}")).collect());
    Ok(names.into_iter().zip(seen.iter().map(|seen| seen.type_name())).collect())
}

/// CREATE TABLE for them.
pub fn create_table(table: &str, columns: &[(String, String)]) -> String {
    let quote = |name: &str| format!("[{}]", name.replace(']', "]]"));
    let columns: Vec<String> =
        columns.iter().map(|(name, ty)| format!("{} {ty} NULL", quote(name))).collect();
    format!("CREATE TABLE {table} ({})", columns.join(", "))
}

impl SeenFields {
    fn note(&mut self, cell: &Cell) {
        let kind = match cell {
            Cell::Null => return,
            Cell::Text(text) => self.note_text(text),
            Cell::Value(value) => self.note_value(value),
        };
        self.kind = Some(match self.kind {
            None => kind,
            Some(before) => meet(before, kind),
        });
    }

    /// The kind of a text; what is needed to size a column of it is kept.
    fn note_text(&mut self, text: &str) -> Kind {
        self.units = self.units.max(utf16_len(&types::units::held(text)));
        if let Some(kind) = self.number(text) {
            return kind;
        }
        if let Some(digits) = text.strip_prefix("0x")
            && digits.len() % 2 == 0
            && digits.bytes().all(|b| b.is_ascii_hexdigit())
        {
            self.bytes = self.bytes.max(digits.len() / 2);
            return Kind::Binary;
        }
        if matches!(text, "true" | "false" | "True" | "False" | "TRUE" | "FALSE") {
            return Kind::Bit;
        }
        if text.len() == 36
            && types::numtext::parse_guid(text).is_some()
            && text.matches('-').count() == 4
        {
            return Kind::Guid;
        }
        self.temporal(text).unwrap_or(Kind::Text)
    }

    /// Numbers as programs write them. Zeros in front, a plus sign, blanks and commas say that it
    /// is text: a code, not a number.
    fn number(&mut self, text: &str) -> Option<Kind> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (digits, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let leading = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty()
            || leading
            || !all_digits(whole)
            || !all_digits(fraction)
            || mantissa.ends_with('.')
        {
            return None;
        }
        if let Some(exponent) = exponent {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let good = !exponent.is_empty() && all_digits(exponent);
            return good
                .then_some(Kind::Float)
                .filter(|_| text.parse::<f64>().is_ok_and(f64::is_finite));
        }
        self.whole = self.whole.max(u8::try_from(whole.len()).unwrap_or(u8::MAX));
        self.fraction = self.fraction.max(u8::try_from(fraction.len()).unwrap_or(u8::MAX));
        if !mantissa.contains('.') {
            if text.parse::<i32>().is_ok() {
                return Some(Kind::Int);
            }
            if text.parse::<i64>().is_ok() {
                return Some(Kind::BigInt);
            }
        }
        Some(Kind::Decimal)
    }

    /// `2024-02-29`, `13:14[:15[.123]]`, both with a blank or T between, and with `Z` or `+02:00`
    /// after.
    fn temporal(&mut self, text: &str) -> Option<Kind> {
        let bytes = text.as_bytes();
        let has_date = bytes.len() >= 10 && bytes[4] == b'-' && bytes[7] == b'-';
        let kind = if has_date && bytes.len() == 10 {
            Kind::Date
        } else if has_date && matches!(bytes[10], b' ' | b'T') {
            let tail = &text.get(11..)?;
            if tail.ends_with('Z') || tail.contains(['+', '-']) {
                Kind::Offset
            } else {
                Kind::DateTime
            }
        } else if bytes.len() >= 5
            && bytes[2] == b':'
            && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.'))
        {
            Kind::Time
        } else {
            return None;
        };
        let ty = match kind {
            Kind::Date => DataType::Date,
            Kind::Time => DataType::Time(7),
            Kind::DateTime => DataType::DateTime2(7),
            _ => DataType::DateTimeOffset(7),
        };
        convert(&Value::str(text), DataType::NVarChar(Len::Max), ty, 0, Mode::Assignment).ok()?;
        if let Some((_, fraction)) = text.rsplit_once('.') {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            self.seconds = self.seconds.max(u8::try_from(digits).unwrap_or(7).min(7));
        }
        Some(kind)
    }

    fn note_value(&mut self, value: &Value) -> Kind {
        let natural = value.natural_type();
        let shown = crate::output::text::exact(value, natural);
        self.units = self.units.max(utf16_len(&shown));
        match value {
            Value::Bit(_) => Kind::Bit,
            Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => {
                self.number(&shown).unwrap_or(Kind::BigInt)
            }
            Value::Decimal(d) => {
                self.whole = self.whole.max(d.precision() - d.scale());
                self.fraction = self.fraction.max(d.scale());
                Kind::Decimal
            }
            Value::Float(_) | Value::Real(_) => Kind::Float,
            Value::Bytes(bytes) => {
                self.bytes = self.bytes.max(bytes.len());
                Kind::Binary
            }
            Value::Date(_) => Kind::Date,
            Value::Guid(_) => Kind::Guid,
            Value::Str(_) => Kind::Text,
            _ => {
                self.seconds = 7;
                match natural {
                    DataType::Time(_) => Kind::Time,
                    DataType::DateTimeOffset(_) => Kind::Offset,
                    _ => Kind::DateTime,
                }
            }
        }
    }

    fn type_name(&self) -> String {
        let sized = |name: &str, n: usize, most: usize| {
            if n > most { format!("{name}(max)") } else { format!("{name}({})", n.max(1)) }
        };
        match self.kind {
            None => "nvarchar(50)".into(),
            Some(Kind::Bit) => "bit".into(),
            Some(Kind::Int) => "int".into(),
            Some(Kind::BigInt) => "bigint".into(),
            Some(Kind::Decimal) if self.whole.saturating_add(self.fraction) > 38 => "float".into(),
            Some(Kind::Decimal) => {
                format!("decimal({}, {})", (self.whole + self.fraction).max(1), self.fraction)
            }
            Some(Kind::Float) => "float".into(),
            Some(Kind::Binary) => sized("varbinary", self.bytes, MAX_BYTES),
            Some(Kind::Date) => "date".into(),
            Some(Kind::Time) => format!("time({})", self.seconds),
            Some(Kind::DateTime) => format!("datetime2({})", self.seconds),
            Some(Kind::Offset) => format!("datetimeoffset({})", self.seconds),
            Some(Kind::Guid) => "uniqueidentifier".into(),
            Some(Kind::Text) => sized("nvarchar", self.units, MAX_UNITS),
        }
    }
}

/// The narrowest kind that holds both.
fn meet(a: Kind, b: Kind) -> Kind {
    let number = |kind| match kind {
        Kind::Int => Some(0),
        Kind::BigInt => Some(1),
        Kind::Decimal => Some(2),
        Kind::Float => Some(3),
        _ => None,
    };
    match (number(a), number(b)) {
        (Some(x), Some(y)) => {
            if x >= y {
                a
            } else {
                b
            }
        }
        _ if a == b => a,
        _ => match (a, b) {
            (Kind::Date, Kind::DateTime) | (Kind::DateTime, Kind::Date) => Kind::DateTime,
            _ => Kind::Text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &[&str], expected: &str) {
        let mut seen = SeenFields::default();
        for field in fields {
            seen.note(&if *field == "NULL" { Cell::Null } else { Cell::Text((*field).into()) });
        }
        assert_eq!(seen.type_name(), expected, "{fields:?}");
    }

    #[test]
    fn the_narrowest_type_that_holds_all() {
        check(&[], "nvarchar(50)");
        check(&["NULL"], "nvarchar(50)");
        check(&["1", "-2147483648", "NULL"], "int");
        check(&["1", "2147483648"], "bigint");
        check(&["9223372036854775808"], "decimal(19, 0)");
        check(&["1.25", "100", "-0.5"], "decimal(5, 2)");
        check(&["1e5", "1"], "float");
        check(&["1.0E-300", "0.25"], "float");
        check(&["1e999"], "nvarchar(5)");
        check(&["12345678901234567890123456789012345678", "0.5"], "float");
        check(&["007", "8"], "nvarchar(3)");
        check(&["+1"], "nvarchar(2)");
        check(&["1,5"], "nvarchar(3)");
        check(&["1", "x"], "nvarchar(1)");
        check(&["", "1"], "nvarchar(1)");
        check(&["true", "FALSE"], "bit");
        check(&["0x", "0xABCD"], "varbinary(2)");
        check(&["0xABC"], "nvarchar(5)");
        check(&["2024-02-29"], "date");
        check(&["2024-02-30"], "nvarchar(10)");
        check(&["2024-02-29", "2024-02-29 13:14:15.12"], "datetime2(2)");
        check(&["2024-02-29T13:14:15"], "datetime2(0)");
        check(&["2024-02-29T13:14:15Z", "2024-02-29 13:14:15.5 +02:00"], "datetimeoffset(1)");
        check(&["13:14", "23:59:59.1234567"], "time(7)");
        check(&["6F9619FF-8B86-D011-B42D-00C04FC964FF"], "uniqueidentifier");
        check(&["𝄞"], "nvarchar(2)");
        check(&[&"x".repeat(4001)], "nvarchar(max)");
    }
}
