//! Numbers by .NET's format strings. `None` is its FormatException, of which FORMAT makes NULL.

use super::Culture;
use super::float_digits::FloatDigits;

/// A number in digits.
#[derive(Clone, Debug)]
pub struct DigitNumber {
    pub negative: bool,
    /// Digits without leading zeros; the last `scale` of them stand behind the point.
    digits: Vec<u8>,
    scale: i32,
    /// It is of an integer type.
    pub integer: bool,
    /// Significant digits that a float shows by itself.
    significant: Option<i32>,
    /// An integer and how many bytes its type has, for `X`.
    whole: (i64, u32),
}

impl DigitNumber {
    /// An integer of a type of so many bytes.
    pub fn of_integer(n: i64, bytes: u32) -> DigitNumber {
        let digits = n.unsigned_abs().to_string().into_bytes();
        let (negative, whole) = (n < 0, (n, bytes));
        DigitNumber { negative, digits, scale: 0, integer: true, significant: None, whole }
            .trimmed()
    }

    /// `mantissa / 10^scale`.
    pub fn of_decimal(mantissa: i128, scale: u8) -> DigitNumber {
        let digits = mantissa.unsigned_abs().to_string().into_bytes();
        DigitNumber {
            negative: mantissa < 0,
            digits,
            scale: i32::from(scale),
            integer: false,
            significant: None,
            whole: (0, 0),
        }
        .trimmed()
    }

    /// A float by its first significant digits: as many as the format shows.
    pub fn of_float(x: f64, digits: FloatDigits, format: &str) -> DigitNumber {
        let significant = digits.shown(x, format);
        let text = format!("{:.*e}", significant - 1, x.abs());
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits: Vec<u8> = digits.bytes().filter(|b| *b != b'.').collect();
        let scale = significant as i32 - 1 - exponent.parse::<i32>().unwrap_or(0);
        let shown = Some(significant as i32);
        let number = DigitNumber {
            negative: x < 0.0,
            digits,
            scale,
            integer: false,
            significant: shown,
            whole: (0, 0),
        };
        let mut number = number.trimmed();
        number.drop_zeros();
        number
    }

    fn trimmed(mut self) -> DigitNumber {
        let zeros = self.digits.iter().take_while(|d| **d == b'0').count();
        self.digits.drain(..zeros);
        self
    }

    fn drop_zeros(&mut self) {
        while self.scale > 0 && self.digits.last() == Some(&b'0') {
            self.digits.pop();
            self.scale -= 1;
        }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Multiplied by a power of ten.
    fn shifted(&self, by: i32) -> DigitNumber {
        DigitNumber { scale: self.scale - by, ..self.clone() }
    }

    /// With so many digits behind the point, rounded half away from zero; -0 becomes 0.
    fn rounded(&self, places: i32) -> DigitNumber {
        let mut n = self.clone();
        if n.scale > places {
            let cut = usize::try_from(n.scale - places).unwrap_or(0);
            let keep = n.digits.len().saturating_sub(cut);
            let up = cut <= n.digits.len() && n.digits.get(keep).is_some_and(|d| *d >= b'5');
            n.digits.truncate(keep);
            if up {
                let nines = n.digits.iter().rev().take_while(|d| **d == b'9').count();
                let len = n.digits.len();
                n.digits[len - nines..].fill(b'0');
                match len.checked_sub(nines + 1) {
                    Some(at) => n.digits[at] += 1,
                    None => n.digits.insert(0, b'1'),
                }
            }
        } else {
            let more = usize::try_from(places - n.scale).unwrap_or(0);
            if !n.digits.is_empty() {
                n.digits.extend(std::iter::repeat_n(b'0', more));
            }
        }
        n.scale = places;
        n = n.trimmed();
        n.negative &= !n.is_zero();
        n
    }

    /// Digits before and behind the point; without a digit before it "0".
    fn parts(&self) -> (String, String) {
        let scale = self.scale.max(0) as usize;
        let mut digits = self.digits.clone();
        if self.scale < 0 && !digits.is_empty() {
            digits.extend(std::iter::repeat_n(b'0', self.scale.unsigned_abs() as usize));
        }
        if digits.len() < scale {
            let zeros = scale - digits.len();
            digits.splice(..0, std::iter::repeat_n(b'0', zeros));
        }
        let at = digits.len() - scale;
        let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
        let whole = if at == 0 { "0".to_owned() } else { text(&digits[..at]) };
        (whole, text(&digits[at..]))
    }

    /// The place of the first digit: the number is `d.ddd * 10^exponent`.
    fn exponent(&self) -> i32 {
        if self.is_zero() { 0 } else { self.digits.len() as i32 - 1 - self.scale }
    }
}

/// Digits in groups of three.
fn grouped(whole: &str, mark: char) -> String {
    let mut out = String::with_capacity(whole.len() + whole.len() / 3);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(c);
    }
    out
}

/// The digits of a rounded number without its sign.
fn plain(number: &DigitNumber, groups: bool, culture: &Culture) -> String {
    let (whole, fraction) = number.parts();
    let mut out = if groups { grouped(&whole, culture.group) } else { whole };
    if !fraction.is_empty() {
        out.push(culture.decimal);
        out.push_str(&fraction);
    }
    out
}

fn in_pattern(pattern: &str, number: &str, symbol: &str) -> String {
    pattern.replace('n', "\u{1}").replace('$', symbol).replace('\u{1}', number)
}

/// A number by a format string.
pub fn format_number(number: &DigitNumber, format: &str, culture: &Culture) -> Option<String> {
    let mut chars = format.chars();
    match chars.next() {
        None => standard(number, 'G', None, culture),
        Some(letter) if letter.is_ascii_alphabetic() && chars.as_str().len() <= 2 => {
            let rest = chars.as_str();
            if rest.is_empty() {
                return standard(number, letter, None, culture);
            }
            match rest.bytes().all(|b| b.is_ascii_digit()) {
                true => standard(number, letter, Some(rest.parse().ok()?), culture),
                false => Some(custom(number, format, culture)),
            }
        }
        Some(_) => Some(custom(number, format, culture)),
    }
}

fn signed(negative: bool, text: String) -> String {
    if negative { format!("-{text}") } else { text }
}

fn standard(
    number: &DigitNumber,
    letter: char,
    digits: Option<i32>,
    culture: &Culture,
) -> Option<String> {
    Some(match letter.to_ascii_uppercase() {
        'C' => {
            let n = number.rounded(digits.unwrap_or(2));
            let (above, below) = culture.amount;
            let text = plain(&n, true, culture);
            in_pattern(if n.negative { below } else { above }, &text, culture.currency)
        }
        'D' if number.integer => {
            let (whole, _) = number.parts();
            let width = digits.unwrap_or(0).max(0) as usize;
            signed(number.negative, format!("{whole:0>width$}"))
        }
        'E' => scientific(number, digits.unwrap_or(6), 3, letter, culture, true),
        'F' => {
            let n = number.rounded(digits.unwrap_or(2));
            signed(n.negative, plain(&n, false, culture))
        }
        'G' => general(number, digits.filter(|d| *d > 0), letter, culture),
        'N' => {
            let n = number.rounded(digits.unwrap_or(2));
            signed(n.negative, plain(&n, true, culture))
        }
        'P' => {
            let n = number.shifted(2).rounded(digits.unwrap_or(2));
            let (above, below) = culture.percent;
            in_pattern(if n.negative { below } else { above }, &plain(&n, true, culture), "")
        }
        'R' if number.significant.is_some() => general(number, None, 'G', culture),
        'X' if number.integer => {
            let (whole, bytes) = number.whole;
            let mask = if bytes >= 8 { u64::MAX } else { (1u64 << (bytes * 8)) - 1 };
            let bits = whole as u64 & mask;
            let width = digits.unwrap_or(0).max(0) as usize;
            if letter == 'X' { format!("{bits:0>width$X}") } else { format!("{bits:0>width$x}") }
        }
        _ => return None,
    })
}

/// `d.ddde+004`.
fn scientific(
    number: &DigitNumber,
    places: i32,
    exponent_digits: usize,
    letter: char,
    culture: &Culture,
    all: bool,
) -> String {
    let exponent = number.exponent();
    let mut mantissa = number.shifted(-exponent).rounded(places);
    // Rounding may have carried: 9.99 is 1.00 of the next power.
    let carried = mantissa.digits.len() as i32 - 1 > places && !mantissa.is_zero();
    let exponent = if carried { exponent + 1 } else { exponent };
    if carried {
        mantissa = number.shifted(-exponent).rounded(places);
    }
    if !all {
        mantissa.drop_zeros();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let power = exponent.unsigned_abs();
    let text =
        format!("{}{letter}{sign}{power:0>exponent_digits$}", plain(&mantissa, false, culture));
    signed(number.negative, text)
}

/// `G`: as it is, or so many significant digits; far from 1 with an exponent.
fn general(number: &DigitNumber, digits: Option<i32>, letter: char, culture: &Culture) -> String {
    let exponent = number.exponent();
    let scientific_letter = if letter.is_ascii_lowercase() { 'e' } else { 'E' };
    let significant = digits.or(number.significant).unwrap_or(i32::MAX);
    let n = match digits {
        None => number.clone(),
        Some(significant) => {
            let mut n = number.rounded(significant - 1 - exponent);
            n.drop_zeros();
            n
        }
    };
    let exponent = n.exponent();
    let far = exponent < -5 && (digits.is_some() || number.significant.is_some());
    if exponent >= significant || far {
        let places = n.digits.len().saturating_sub(1) as i32;
        return scientific(&n, places, 2, scientific_letter, culture, false);
    }
    signed(n.negative, plain(&if n.scale < 0 { n.rounded(0) } else { n }, false, culture))
}

/// A custom format: sections for numbers above, below and equal to zero, placeholders and literals.
fn custom(number: &DigitNumber, format: &str, culture: &Culture) -> String {
    let sections = sections(format);
    let zero = custom_rounded(number, sections[0]).is_zero();
    let (section, sign) = match (sections.len(), zero, number.negative) {
        (3.., true, _) => (sections[2], false),
        (2.., false, true) if !sections[1].is_empty() => (sections[1], false),
        _ => (sections[0], number.negative && !zero),
    };
    let body = section_text(&DigitNumber { negative: false, ..number.clone() }, section, culture);
    signed(sign, body)
}

fn sections(format: &str) -> Vec<&str> {
    let (mut out, mut start, mut quote, mut escape) = (Vec::new(), 0, None, false);
    for (at, c) in format.char_indices() {
        match c {
            _ if escape => escape = false,
            '\\' => escape = true,
            '\'' | '"' if quote == Some(c) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(c),
            ';' if quote.is_none() => {
                out.push(&format[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&format[start..]);
    out
}

/// What a section says of digits, and its parts in order.
#[derive(Default)]
struct Section {
    parts: Vec<PatternPart>,
    whole: usize,
    /// Digits from the first `0` on before the point.
    least_whole: usize,
    fraction: usize,
    /// Digits up to the last `0` behind the point.
    least_fraction: usize,
    groups: bool,
    scale: i32,
    exponent: Option<(char, bool, usize)>,
}

enum PatternPart {
    Digit,
    Point,
    Exponent,
    Literal(String),
}

fn read_section(section: &str) -> Section {
    let mut s = Section::default();
    let chars: Vec<char> = section.chars().collect();
    let (mut at, mut behind, mut first_zero, mut commas) = (0, false, false, 0);
    let literal = |s: &mut Section, text: String| s.parts.push(PatternPart::Literal(text));
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '0' | '#' => {
                if !behind {
                    s.groups |= commas > 0 && s.whole > 0;
                    commas = 0;
                    first_zero |= c == '0';
                    s.whole += 1;
                    s.least_whole += usize::from(first_zero);
                } else {
                    s.fraction += 1;
                    if c == '0' {
                        s.least_fraction = s.fraction;
                    }
                }
                s.parts.push(PatternPart::Digit);
            }
            '.' if !behind => {
                behind = true;
                s.parts.push(PatternPart::Point);
            }
            '.' => {}
            ',' => {
                if !behind {
                    commas += 1;
                }
            }
            '%' => {
                s.scale += 2;
                literal(&mut s, "%".into());
            }
            '\u{2030}' => {
                s.scale += 3;
                literal(&mut s, c.to_string());
            }
            'e' | 'E' => {
                let sign = chars.get(at).copied().filter(|c| matches!(c, '+' | '-'));
                let from = at + usize::from(sign.is_some());
                let zeros =
                    chars[from.min(chars.len())..].iter().take_while(|c| **c == '0').count();
                if zeros > 0 && s.exponent.is_none() {
                    s.exponent = Some((c, sign == Some('+'), zeros));
                    s.parts.push(PatternPart::Exponent);
                    at = from + zeros;
                } else {
                    literal(&mut s, c.to_string());
                }
            }
            '\\' => {
                if let Some(c) = chars.get(at) {
                    literal(&mut s, c.to_string());
                    at += 1;
                }
            }
            '\'' | '"' => {
                let end =
                    chars[at..].iter().position(|q| *q == c).map_or(chars.len(), |end| at + end);
                literal(&mut s, chars[at..end].iter().collect());
                at = end + 1;
            }
            other => literal(&mut s, other.to_string()),
        }
    }
    // Commas right before the point divide by a thousand each.
    s.scale -= 3 * commas;
    s
}

fn custom_rounded(number: &DigitNumber, section: &str) -> DigitNumber {
    let s = read_section(section);
    match s.exponent {
        Some(_) => number.clone(),
        None => number.shifted(s.scale).rounded(s.fraction as i32),
    }
}

fn section_text(number: &DigitNumber, section: &str, culture: &Culture) -> String {
    let s = read_section(section);
    let shifted = number.shifted(s.scale);
    let mut power = 0;
    let n = match s.exponent {
        None => shifted.rounded(s.fraction as i32),
        Some(_) => {
            power = shifted.exponent() + 1 - (s.whole.max(1) as i32);
            let mut n = shifted.shifted(-power).rounded(s.fraction as i32);
            if n.parts().0.len() > s.whole.max(1) {
                power += 1;
                n = shifted.shifted(-power).rounded(s.fraction as i32);
            }
            n
        }
    };
    let (whole, fraction) = n.parts();
    let whole = if whole == "0" { String::new() } else { whole };
    let width = s.least_whole.max(whole.len());
    let whole = format!("{whole:0>width$}");
    let end = fraction.trim_end_matches('0').len().max(s.least_fraction);
    let fraction = &fraction[..end.min(fraction.len())];
    let mut out = String::new();
    let (mut seen, mut behind) = (0usize, 0usize);
    let mut point = false;
    for part in &s.parts {
        match part {
            PatternPart::Literal(text) => out.push_str(text),
            PatternPart::Point => {
                point = true;
                if !fraction.is_empty() {
                    out.push(culture.decimal);
                }
            }
            PatternPart::Digit if point => {
                if let Some(digit) = fraction.get(behind..=behind) {
                    out.push_str(digit);
                }
                behind += 1;
            }
            PatternPart::Digit => {
                // The first placeholder takes all digits that have none of their own.
                let extra = whole.len().saturating_sub(s.whole);
                let from = if seen == 0 { 0 } else { extra + seen };
                let to = extra + seen + 1;
                let missing = s.whole.saturating_sub(whole.len());
                for at in from..to {
                    let Some(at) = at.checked_sub(missing) else { continue };
                    if let Some(digit) = whole.get(at..=at) {
                        if s.groups && at > 0 && (whole.len() - at).is_multiple_of(3) {
                            out.push(culture.group);
                        }
                        out.push_str(digit);
                    }
                }
                seen += 1;
            }
            PatternPart::Exponent => {
                if let Some((letter, plus, width)) = s.exponent {
                    let sign = if power < 0 {
                        "-"
                    } else if plus {
                        "+"
                    } else {
                        ""
                    };
                    out.push_str(&format!("{letter}{sign}{:0>width$}", power.unsigned_abs()));
                }
            }
        }
    }
    out
}
