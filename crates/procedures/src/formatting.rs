//! xp_sprintf and xp_sscanf: texts put together and taken apart.

use ::types::{SqlError, Value, msg};

use super::Call;

fn texts(call: &Call<'_>) -> Vec<String> {
    call.args.iter().map(|arg| arg.value.as_str().unwrap_or_default().to_owned()).collect()
}

/// xp_sprintf @text OUTPUT, format [, argument ...]: each `%s` is the next argument.
pub(crate) fn sprintf(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let (texts, to) = (texts(call), call.args.first().and_then(|arg| arg.output));
    let (Some(format), Some(to)) = (texts.get(1), to) else {
        return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"xp_sprintf"]));
    };
    let mut values = texts.iter().skip(2);
    let mut out = String::new();
    let mut rest = format.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        rest = match (after.strip_prefix('s'), after.strip_prefix('%')) {
            (Some(after), _) => {
                out.push_str(values.next().map_or("", String::as_str));
                after
            }
            (None, Some(after)) => {
                out.push('%');
                after
            }
            (None, None) => {
                out.push('%');
                after
            }
        };
    }
    out.push_str(rest);
    call.outputs.push((to, Value::str(out)));
    Ok(0)
}

/// xp_sscanf text, format [, @argument OUTPUT ...]: each `%s` of the format takes what stands there
/// up to what follows it.
pub(crate) fn sscanf(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let texts = texts(call);
    let (Some(text), Some(format)) = (texts.first(), texts.get(1)) else {
        return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"xp_sscanf"]));
    };
    let outputs: Vec<Option<usize>> = call.args.iter().skip(2).map(|arg| arg.output).collect();
    for (value, to) in scan(text, format).into_iter().zip(outputs) {
        if let Some(to) = to {
            call.outputs.push((to, Value::str(value)));
        }
    }
    Ok(0)
}

/// The values of a format's `%s`, up to where the text is another one.
fn scan(text: &str, format: &str) -> Vec<String> {
    let mut pieces = format.split("%s");
    let mut values = Vec::new();
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else {
        return values;
    };
    for piece in pieces {
        let end = match piece.chars().next() {
            Some(next) => rest.find(next),
            None => rest.find(char::is_whitespace),
        };
        let (value, after) = rest.split_at(end.unwrap_or(rest.len()));
        values.push(value.to_owned());
        match after.strip_prefix(piece) {
            Some(after) => rest = after,
            None => break,
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[test]
    fn texts_are_taken_apart() {
        assert_eq!(scan("reports/a/b.txt", "reports/%s/%s.txt"), ["a", "b"]);
        assert_eq!(scan("sync -b123 -fauthors10.tmp", "sync -b%s -f%s"), ["123", "authors10.tmp"]);
        assert!(scan("x", "y%s").is_empty());
        assert_eq!(scan("one two", "%s"), ["one"]);
    }
}
