//! JSON_MODIFY: one place of a text is changed, the rest stays as it was written.

use types::{CancelCheck, SqlError, msg};

use super::{JsonStep, Kind, Node, Path, no_property, unescaped, write_string};

/// What is to stand at the path.
#[derive(Clone, Copy, Debug)]
pub enum NewValue<'v> {
    /// SQL's NULL: removes a member (lax), else JSON null.
    Null,
    /// JSON text.
    Json(&'v str),
}

impl NewValue<'_> {
    fn text(&self) -> &str {
        match self {
            NewValue::Null => "null",
            NewValue::Json(text) => text,
        }
    }
}

/// The text with the change made. Lax, a path whose parent is not there changes nothing. Errors:
/// 13608, 13621.
pub fn modify(
    text: &str,
    root: Node<'_>,
    path: &Path,
    new: NewValue<'_>,
    look: CancelCheck<'_>,
) -> Result<String, SqlError> {
    if path.append {
        return append(text, root, path, new, look);
    }
    let Some((last, before)) = path.steps.split_last() else {
        // `$` alone: the whole is no place that can be changed.
        return Err(SqlError::of(msg::JSON_PATH_UNSUPPORTED, []));
    };
    let Some(parent) = root.at(before, look)? else { return missing(text, path) };
    match (last, parent.at(std::slice::from_ref(last), look)?) {
        (JsonStep::Key(key), Some(_)) if matches!(new, NewValue::Null) && !path.strict => {
            without(text, parent, key, look)
        }
        (_, Some(found)) => Ok(replaced(text, found, new.text())),
        (JsonStep::Key(key), None) if parent.kind == Kind::Object && !path.strict => match new {
            NewValue::Null => Ok(text.to_owned()),
            NewValue::Json(new) => {
                let mut member = String::new();
                write_string(key, &mut member, look)?;
                member.push(':');
                member.push_str(new);
                Ok(with_item(text, parent, &member))
            }
        },
        (_, None) => missing(text, path),
    }
}

fn missing(text: &str, path: &Path) -> Result<String, SqlError> {
    if path.strict { Err(no_property()) } else { Ok(text.to_owned()) }
}

fn append(
    text: &str,
    root: Node<'_>,
    path: &Path,
    new: NewValue<'_>,
    look: CancelCheck<'_>,
) -> Result<String, SqlError> {
    match root.at(&path.steps, look)? {
        Some(array) if array.kind == Kind::Array => Ok(with_item(text, array, new.text())),
        Some(_) if path.strict => Err(SqlError::of(msg::JSON_ARRAY_NOT_FOUND, [])),
        Some(_) => Ok(text.to_owned()),
        None => {
            // Lax, an array is made of the value.
            let Some((JsonStep::Key(key), before)) = path.steps.split_last() else {
                return missing(text, path);
            };
            let parent =
                root.at(before, look)?.filter(|parent| parent.kind == Kind::Object && !path.strict);
            let Some(parent) = parent else { return missing(text, path) };
            let mut member = String::new();
            write_string(key, &mut member, look)?;
            member.push_str(&format!(":[{}]", new.text()));
            Ok(with_item(text, parent, &member))
        }
    }
}

fn replaced(text: &str, node: Node<'_>, new: &str) -> String {
    format!("{}{new}{}", &text[..node.at], &text[node.at + node.text.len()..])
}

/// The container with one more item at its end.
fn with_item(text: &str, container: Node<'_>, item: &str) -> String {
    let close = container.at + container.text.len() - 1;
    let inner = &text[container.at + 1..close];
    if inner.trim().is_empty() {
        return format!("{}{item}{}", &text[..container.at + 1], &text[close..]);
    }
    let end = container.at + 1 + inner.trim_end().len();
    format!("{},{item}{}", &text[..end], &text[end..])
}

/// The object without a member, and without the comma that came with it.
fn without(
    text: &str,
    object: Node<'_>,
    key: &str,
    look: CancelCheck<'_>,
) -> Result<String, SqlError> {
    let mut end_of_last = None;
    let mut members = object.members(look);
    while let Some(member) = members.next().transpose()? {
        let end = member.value.at + member.value.text.len();
        if unescaped(member.name, look)? == key {
            let next = members.next().transpose()?;
            return Ok(match (end_of_last, next) {
                (_, Some(next)) => format!("{}{}", &text[..member.at], &text[next.at..]),
                (Some(last), None) => format!("{}{}", &text[..last], &text[end..]),
                (None, None) => format!("{}{}", &text[..member.at], &text[end..]),
            });
        }
        end_of_last = Some(end);
    }
    Ok(text.to_owned())
}
