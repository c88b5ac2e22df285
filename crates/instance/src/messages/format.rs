//! The texts of messages: RAISERROR's and FORMATMESSAGE's formats (`%d %i %u %o %x %X %s %%` with
//! flags, width and precision), and values as messages show them.

use types::convert::{Mode, convert_in};
use types::{DataType, Dialect, Len, SqlError, Value, msg};

/// Longest message, in characters.
const MAX_MESSAGE: usize = 2047;

/// Fills the arguments in. Errors: 2787 a bad format, 2786 an argument of the wrong kind, NULL
/// prints `(null)`.
pub fn format_message(format: &str, args: &[Value]) -> Result<String, SqlError> {
    let mut out = String::with_capacity(format.len());
    let mut next = 0;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (spec, after) = Spec::parse(rest).ok_or_else(|| bad_format(rest))?;
        rest = after;
        let at = spec.place.map_or(next, |place| place - 1);
        next = at + 1;
        match args.get(at) {
            None => out.push_str("(null)"),
            Some(value) => spec.write(value, at, &mut out)?,
        }
    }
    out.push_str(rest);
    if out.chars().count() > MAX_MESSAGE {
        out = out.chars().take(MAX_MESSAGE - 3).collect();
        out.push_str("...");
    }
    Ok(types::units::joined(out))
}

/// What follows each `%` of a format, in order.
///
/// # Errors
/// 2787.
pub fn specifications(format: &str) -> Result<Vec<&str>, SqlError> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            continue;
        }
        let (_, after) = Spec::parse(rest).ok_or_else(|| bad_format(rest))?;
        found.push(&rest[..rest.len() - after.len()]);
        rest = after;
    }
    Ok(found)
}

/// One `%...` of a format.
#[derive(Debug, Default)]
struct Spec {
    /// `%2$s`: the second value, as translations have it.
    place: Option<usize>,
    left: bool,
    plus: bool,
    zero: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Spec {
    fn parse(text: &str) -> Option<(Spec, &str)> {
        let mut spec = Spec::default();
        let mut rest = text;
        let (place, after) = digits(rest)?;
        if let Some(after) = after.strip_prefix('$')
            && place > 0
        {
            (spec.place, rest) = (Some(place), after);
        }
        while let Some(flag) = rest.chars().next().filter(|c| "-+0 #".contains(*c)) {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                '0' => spec.zero = true,
                ' ' => spec.space = true,
                _ => spec.alternate = true,
            }
            rest = &rest[1..];
        }
        (spec.width, rest) = digits(rest)?;
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = digits(after)?;
            spec.precision = Some(precision);
            rest = after;
        }
        rest = rest.strip_prefix("I64").or_else(|| rest.strip_prefix(['h', 'l'])).unwrap_or(rest);
        spec.kind = rest.chars().next().filter(|c| "diuoxXs".contains(*c))?;
        Some((spec, &rest[1..]))
    }

    fn write(&self, value: &Value, index: usize, out: &mut String) -> Result<(), SqlError> {
        let text = match (self.kind, value) {
            (_, Value::Null) => "(null)".to_string(),
            ('s', Value::Str(s)) => match self.precision {
                Some(n) => s.chars().take(n).collect(),
                None => s.to_string(),
            },
            ('s', _) => return Err(bad_argument(index)),
            (_, value) => self.number(value.as_i64().ok_or_else(|| bad_argument(index))?),
        };
        let missing = self.width.saturating_sub(text.chars().count());
        if self.left {
            out.push_str(&text);
            out.extend(std::iter::repeat_n(' ', missing));
        } else if self.zero && self.kind != 's' {
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['-', '+', ' '])));
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', missing));
            out.push_str(digits);
        } else {
            out.extend(std::iter::repeat_n(' ', missing));
            out.push_str(&text);
        }
        Ok(())
    }

    fn number(&self, n: i64) -> String {
        let low = n as u32;
        let wide = u64::try_from(n).ok().filter(|n| *n > u64::from(u32::MAX));
        let unsigned = wide.unwrap_or(u64::from(low));
        let prefix = |p: &str| if self.alternate { p.to_string() } else { String::new() };
        match self.kind {
            'u' => unsigned.to_string(),
            'o' => format!("{}{unsigned:o}", prefix("0")),
            'x' => format!("{}{unsigned:x}", prefix("0x")),
            'X' => format!("{}{unsigned:X}", prefix("0X")),
            _ if n >= 0 && self.plus => format!("+{n}"),
            _ if n >= 0 && self.space => format!(" {n}"),
            _ => n.to_string(),
        }
    }
}

/// Leading digits as a number of at most four digits.
fn digits(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Some((0, text));
    }
    let n: usize = text[..end].parse().ok()?;
    (n <= MAX_MESSAGE).then_some((n, &text[end..]))
}

/// A value as PRINT and THROW show it.
pub fn to_text(value: &Value, dialect: Dialect) -> Result<String, SqlError> {
    let to = DataType::NVarChar(Len::Max);
    let text = convert_in(value, value.natural_type(), to, 0, Mode::Explicit, dialect)?;
    Ok(text.as_str().unwrap_or_default().to_string())
}

fn bad_format(rest: &str) -> SqlError {
    let shown: String = rest.chars().take(20).collect();
    SqlError::of(msg::INVALID_FORMAT, [&format_args!("%{shown}")])
}

fn bad_argument(index: usize) -> SqlError {
    SqlError::of(msg::SUBSTITUTION_TYPE, [&(index + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &str, args: &[Value], expected: &str) {
        assert_eq!(
            format_message(format, args).unwrap_or_else(|e| format!("error {}", e.number)),
            expected
        );
    }

    #[test]
    fn formats() {
        check("plain", &[], "plain");
        check("%d rows, %s", &[Value::Int(5), Value::str("done")], "5 rows, done");
        check(
            "[%5d][%-5d][%05d]",
            &[Value::Int(-42), Value::Int(42), Value::Int(-42)],
            "[  -42][42   ][-0042]",
        );
        check(
            "%x %X %o %u",
            &[Value::Int(255), Value::Int(255), Value::Int(8), Value::Int(-1)],
            "ff FF 10 4294967295",
        );
        check("%#x %+d", &[Value::Int(255), Value::Int(1)], "0xff +1");
        check(
            "%.3s|%6s|%-6s|",
            &[Value::str("abcdef"), Value::str("x"), Value::str("y")],
            "abc|     x|y     |",
        );
        check("100%%", &[], "100%");
        check("%I64d", &[Value::BigInt(5_000_000_000)], "5000000000");
        check("%s %d", &[Value::Null], "(null) (null)");
    }

    #[test]
    fn mistakes() {
        check("%y", &[], "error 2787");
        check("%d", &[Value::str("x")], "error 2786");
        check("%s", &[Value::Int(1)], "error 2786");
        check("%", &[], "error 2787");
        check("%99999999999999999999d", &[Value::Int(1)], "error 2787");
    }
}
