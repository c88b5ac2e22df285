//! The text of XML, for the `value()` of what FOR XML, TYPE gives.

/// All text of a fragment in document order, entities resolved: the string value of the path `.`.
pub fn whole_text(xml: &str) -> String {
    let mut out = String::new();
    parts(xml, |text, _| {
        push_text(text, &mut out);
        true
    });
    out
}

/// The first text that stands outside of all elements: `text()[1]`. `None` without one.
pub fn first_text(xml: &str) -> Option<String> {
    let mut found = None;
    parts(xml, |text, depth| {
        if depth == 0 {
            let mut out = String::new();
            push_text(text, &mut out);
            found = Some(out);
        }
        depth != 0
    });
    found
}

/// Calls `f` with each run of text and the number of elements around it, until it says false.
fn parts(xml: &str, mut f: impl FnMut(&str, usize) -> bool) {
    let (mut rest, mut depth) = (xml, 0usize);
    while !rest.is_empty() {
        let Some(tag) = rest.find('<') else {
            f(rest, depth);
            return;
        };
        if tag > 0 && !f(&rest[..tag], depth) {
            return;
        }
        rest = &rest[tag..];
        let close = match rest {
            comment if comment.starts_with("<!--") => "-->",
            instruction if instruction.starts_with("<?") => "?>",
            _ => ">",
        };
        let end = tag_end(rest, close);
        let tag = &rest[..end];
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
        } else if close == ">" && !tag.ends_with("/>") {
            depth += 1;
        }
        rest = &rest[end..];
    }
}

/// Where a tag ends; a `>` inside of quotes does not end one.
fn tag_end(text: &str, close: &str) -> usize {
    if close != ">" {
        return text.find(close).map_or(text.len(), |at| at + close.len());
    }
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('>', None) => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn push_text(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').unwrap_or(0);
        let entity = rest.get(1..end).unwrap_or_default();
        let code = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let c = match entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match entity.strip_prefix('#') {
                Some(number) => match number.strip_prefix(['x', 'X']) {
                    Some(hex) => code(hex, 16),
                    None => code(number, 10),
                },
                None => None,
            },
        };
        match c {
            Some(c) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}
