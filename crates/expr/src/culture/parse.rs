//! Texts of a culture as the conversions take them: PARSE.

use super::Culture;

/// A number's text with the marks of a program's constants: signs, groups and the symbol of the
/// currency are understood. `None` when it is no number.
pub fn number_text(text: &str, culture: &Culture, fraction: bool) -> Option<String> {
    let text = text.trim();
    let (text, in_brackets) = match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(inner) => (inner.trim(), true),
        None => (text, false),
    };
    let mut negative = in_brackets;
    let mut rest = text.to_owned();
    for _ in 0..2 {
        for (sign, minus) in [('-', true), ('+', false)] {
            if let Some(inner) = rest.strip_prefix(sign).or_else(|| rest.strip_suffix(sign)) {
                negative |= minus;
                rest = inner.trim().to_owned();
            }
        }
        let symbol = culture.currency;
        if let Some(inner) = rest.strip_prefix(symbol).or_else(|| rest.strip_suffix(symbol)) {
            rest = inner.trim().to_owned();
        }
    }
    let mut out = String::from(if negative { "-" } else { "" });
    let (mut point, mut digits) = (false, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '0'..='9' => {
                digits += 1;
                out.push(c);
            }
            c if c == culture.decimal && !point && fraction => {
                point = true;
                out.push('.');
            }
            // Where groups end is not looked at, as in .NET.
            c if c == culture.group && !point && digits > 0 => {}
            'e' | 'E' if digits > 0 && fraction => {
                let exponent = &rest[at + 1..];
                let digits = exponent.trim_start_matches(['+', '-']);
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                out.push('e');
                out.push_str(exponent);
                return Some(out);
            }
            _ => return None,
        }
    }
    (digits > 0).then_some(out)
}

/// A date's text with English names of months and without names of days.
pub fn date_text(text: &str, culture: &Culture) -> String {
    let english = super::ENGLISH_SHORT_MONTHS;
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let finish = |word: &mut String, out: &mut String| {
        if word.is_empty() {
            return;
        }
        let same = |name: &&str| name.to_lowercase() == word.to_lowercase();
        let month = culture.months.iter().position(&same);
        let month = month.or_else(|| culture.short_months.iter().position(&same));
        let day = culture.days.iter().chain(&culture.short_days).any(same);
        match month {
            Some(at) => out.push_str(english[at]),
            None if day => {}
            None => out.push_str(word),
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphabetic() {
            word.push(c);
            continue;
        }
        finish(&mut word, &mut out);
        out.push(c);
    }
    finish(&mut word, &mut out);
    // What is left of `Montag, 13. Dezember 2010`.
    let trimmed = out.trim().trim_start_matches(',').trim();
    let mut text = String::with_capacity(trimmed.len());
    let mut chars = trimmed.chars().peekable();
    while let Some(c) = chars.next() {
        // A full stop behind a day before a name.
        if c == '.' && chars.peek() == Some(&' ') {
            continue;
        }
        text.push(c);
    }
    text
}
