//! Numbers, money, uniqueidentifiers and binary values as text and back. Guarantees: SQL Server's
//! text forms (float with three exponent digits, money with two or four decimals); parsers take any
//! text and never panic.

use std::fmt::Write;

/// A float in CONVERT's style: 0 six digits where needed, 1 eight, 2 sixteen, 3 seventeen, always
/// `1.5e+003` for 1 to 3.
pub(crate) fn float_text(value: f64, style: i32) -> String {
    let digits = match style {
        1 => 8,
        2 => 16,
        3 => 17,
        _ => 6,
    };
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if matches!(style, 1..=3) {
        return with_exponent(mantissa, exponent);
    }
    if (-4..6).contains(&exponent) {
        let fixed = format!("{value:.*}", (5 - exponent).max(0) as usize);
        let fixed = if fixed.contains('.') { trim_zeros(&fixed) } else { &fixed };
        return if fixed == "-0" { "0".to_owned() } else { fixed.to_owned() };
    }
    with_exponent(trim_zeros(mantissa), exponent)
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.unsigned_abs())
}

/// A float as a result set shows it: the shortest digits that read back as the same number, `1.0`,
/// `0.1`, `1.0E+20`.
pub(crate) fn float_display(shortest: &str) -> String {
    let Some((mantissa, exponent)) = shortest.split_once('e') else {
        return shortest.to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let point = exponent + 1;
    if !(-4..=15).contains(&point) {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        let plus = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}.{rest}E{plus}{:02}", exponent.unsigned_abs());
    }
    if point <= 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize));
    }
    let point = point as usize;
    if digits.len() <= point {
        return format!("{sign}{digits}{}.0", "0".repeat(point - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..point], &digits[point..])
}

/// A float from text; an empty text is 0. `None` for anything but digits, point, sign and exponent,
/// and for numbers beyond the type.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    // Rust would also take "inf" and "nan".
    let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    if !text.bytes().all(plain) {
        return None;
    }
    text.parse::<f64>().ok().filter(|f| f.is_finite())
}

/// What an integer's text holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParsedInteger {
    Number(i64),
    /// Digits, but more than a bigint holds.
    TooLarge,
    NotANumber,
}

/// An integer from text; an empty text is 0.
pub(crate) fn parse_integer(text: &str) -> ParsedInteger {
    let text = text.trim();
    if text.is_empty() {
        return ParsedInteger::Number(0);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return ParsedInteger::NotANumber;
    }
    text.parse().map_or(ParsedInteger::TooLarge, ParsedInteger::Number)
}

/// Money (1/10000) as text: style 0 two decimals, 1 two decimals and commas, 2 four decimals.
pub(crate) fn money_text(value: i64, style: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let magnitude = value.unsigned_abs();
    if style == 2 || style == 126 {
        return format!("{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000);
    }
    let cents = (magnitude + 50) / 100;
    let sign = if cents == 0 { "" } else { sign };
    let whole = (cents / 100).to_string();
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if style == 1 && i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let _ = write!(out, ".{:02}", cents % 100);
    out
}

/// The currency signs of the reference's page on money.
fn is_currency(c: char) -> bool {
    matches!(
        c,
        '$' | '¢'..='¥'
            | '\u{09F2}'
            | '\u{09F3}'
            | '\u{0E3F}'
            | '\u{17DB}'
            | '\u{20A0}'..='\u{20B1}'
            | '₹'
            | '\u{FDFC}'
            | '\u{FE69}'
            | '\u{FF04}'
            | '\u{FFE0}'
            | '\u{FFE1}'
            | '\u{FFE5}'
            | '\u{FFE6}'
    )
}

/// Money from text: sign, currency sign, commas among the digits, 4 decimals kept (rounded). `None`
/// when it is no money, `Some(None)` when it is well-formed and too large.
pub fn parse_money(text: &str) -> Option<Option<i64>> {
    let mut digits = String::with_capacity(text.len());
    let (mut negative, mut point, mut signed, mut currency) = (false, false, false, false);
    for c in text.trim().chars() {
        match c {
            '0'..='9' => digits.push(c),
            '.' if !point => {
                point = true;
                digits.push(c);
            }
            ',' if !point => {}
            '-' | '+' if !signed && digits.is_empty() => {
                signed = true;
                negative = c == '-';
            }
            c if is_currency(c) && !currency && digits.is_empty() => currency = true,
            ' ' if digits.is_empty() => {}
            _ => return None,
        }
    }
    if digits.is_empty() || digits == "." {
        digits = "0".to_owned();
    }
    let Ok(value) = crate::decimal::Decimal::parse(&digits) else {
        return Some(None);
    };
    let scaled = value.rescale(38, 4).map(|d| if negative { -d.mantissa() } else { d.mantissa() });
    Some(scaled.and_then(|m| i64::try_from(m).ok()))
}

/// Lower-case or upper-case hexadecimal digits after an optional prefix.
pub(crate) fn hex_text(prefix: &str, bytes: &[u8]) -> String {
    let mut out = String::with_capacity(prefix.len() + bytes.len() * 2);
    out.push_str(prefix);
    for byte in bytes {
        let _ = write!(out, "{byte:02X}");
    }
    out
}

/// Bytes of an even number of hexadecimal digits.
pub fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let nibble = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    digits.chunks_exact(2).map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

/// Positions of a uniqueidentifier's stored bytes in the order of its text.
const GUID_TEXT_ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

/// `6F9619FF-8B86-D011-B42D-00C04FC964FF`.
pub fn guid_text(guid: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (i, &at) in GUID_TEXT_ORDER.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        let _ = write!(out, "{:02X}", guid[at]);
    }
    out
}

/// A uniqueidentifier from its text, braces allowed; what follows is ignored, as SQL Server does.
pub fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim_start();
    let bare = match text.strip_prefix('{') {
        Some(rest) if rest.as_bytes().get(36) == Some(&b'}') => rest,
        Some(_) => return None,
        None => text,
    };
    let bare = bare.get(..36)?;
    let mut hex = String::with_capacity(32);
    for (i, c) in bare.chars().enumerate() {
        match (i, c) {
            (8 | 13 | 18 | 23, '-') => {}
            (8 | 13 | 18 | 23, _) => return None,
            _ => hex.push(c),
        }
    }
    let bytes = parse_hex(&hex)?;
    let mut guid = [0u8; 16];
    for (i, &at) in GUID_TEXT_ORDER.iter().enumerate() {
        guid[at] = *bytes.get(i)?;
    }
    Some(guid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn floats() {
        let cases = [
            (1.5, "1.5"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.23457e+006"),
            (1e10, "1e+010"),
            (0.0001, "0.0001"),
            (0.00001, "1e-005"),
            (-0.5, "-0.5"),
            (100.0, "100"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(float_text(value, 0), text);
        }
        assert_eq!(float_text(1.5, 2), "1.500000000000000e+000");
        let shown = |f: f64| float_display(&format!("{f:e}"));
        assert_eq!(shown(1.0), "1.0");
        assert_eq!(shown(0.1), "0.1");
        assert_eq!(shown(-123.456), "-123.456");
        assert_eq!(shown(1e20), "1.0E+20");
        assert_eq!(shown(1.25e-7), "1.25E-07");
        assert_eq!(shown(0.001), "0.001");
        for bad in ["inf", "nan", "1e", "abc", "1e999", "--1"] {
            assert_eq!(parse_float(bad), None, "{bad}");
        }
    }

    #[test]
    fn money() {
        assert_eq!(money_text(12_345_678, 0), "1234.57");
        assert_eq!(money_text(-12_345_678_900, 1), "-1,234,567.89");
        assert_eq!(money_text(12_345_678, 2), "1234.5678");
        assert_eq!(parse_money("-$1,234.56789"), Some(Some(-12_345_679)));
        assert_eq!(parse_money("abc"), None);
        assert_eq!(parse_money("99999999999999999999"), Some(None));
    }

    #[test]
    fn guids() {
        let text = "6F9619FF-8B86-D011-B42D-00C04FC964FF";
        let guid = parse_guid(text).unwrap();
        assert_eq!(guid[..4], [0xFF, 0x19, 0x96, 0x6F]);
        assert_eq!(guid_text(&guid), text);
        assert_eq!(parse_guid(&format!("{{{}}}", text.to_lowercase())), Some(guid));
        assert_eq!(parse_guid("6F9619FF-8B86"), None);
    }

    proptest! {
        #[test]
        fn what_is_parsed_of_any_text_reads_back(text in "[-+0-9.,eE$A-F]{0,12}|.{0,50}") {
            prop_assert!(parse_float(&text).is_none_or(f64::is_finite));
            if let ParsedInteger::Number(n) = parse_integer(&text) {
                prop_assert_eq!(parse_integer(&n.to_string()), ParsedInteger::Number(n));
            }
            if let Some(Some(money)) = parse_money(&text) {
                prop_assert_eq!(parse_money(&money_text(money, 2)), Some(Some(money)));
            }
            if let Some(guid) = parse_guid(&text) {
                prop_assert_eq!(parse_guid(&guid_text(&guid)), Some(guid));
            }
            if let Some(bytes) = parse_hex(&text) {
                prop_assert_eq!(hex_text("", &bytes), text.to_ascii_uppercase());
            }
        }

        #[test]
        fn display_reads_back(f in any::<f64>().prop_filter("finite", |f| f.is_finite())) {
            prop_assert_eq!(float_display(&format!("{f:e}")).parse::<f64>().unwrap(), f);
        }
    }
}
