//! The paths in a file's text that lead to other files of its crate.

/// All paths that begin with `crate`, `super` or `self`, those in braces written out.
pub fn of(text: &str) -> Vec<String> {
    let text = bare(text);
    ["crate", "super", "self"].into_iter().flat_map(|start| beginning_with(&text, start)).collect()
}

/// All paths that begin with the name of an imported module.
pub fn through(text: &str, module: &str) -> Vec<String> {
    beginning_with(&bare(text), module)
}

fn beginning_with(text: &str, start: &str) -> Vec<String> {
    let (mut found, start) = (Vec::new(), format!("{start}::"));
    for (at, _) in text.match_indices(&start) {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        if !text[..at].chars().next_back().is_some_and(word) {
            tree(&text[at..], "", &mut found);
        }
    }
    found
}

/// Writes out the path that a text begins with, braces included; returns the rest of the text.
fn tree<'t>(text: &'t str, before: &str, found: &mut Vec<String>) -> &'t str {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (own, rest) = text.split_at(end);
    let path = format!("{before}{own}");
    let Some(mut rest) = rest.strip_prefix('{').filter(|_| own.ends_with("::")) else {
        found.push(path.trim_end_matches(':').to_owned());
        return rest;
    };
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return after;
        }
        let after = tree(rest, &path, found);
        // `as name`, commas, and whatever a path cannot hold.
        let next = after.find([',', '}']).unwrap_or(after.len());
        rest = after[next..].strip_prefix(',').unwrap_or(&after[next..]);
        if after.is_empty() || rest.is_empty() {
            return rest;
        }
    }
}

/// A path from the crate's root, without `crate::`; none for one that leads out of it.
pub fn absolute(path: &str, module: &str) -> Option<String> {
    if let Some(path) = path.strip_prefix("crate::") {
        return Some(path.to_owned());
    }
    let mut base: Vec<&str> = module.split("::").collect();
    let mut rest = path;
    if let Some(path) = rest.strip_prefix("self::") {
        rest = path;
    }
    while let Some(path) = rest.strip_prefix("super::") {
        base.pop()?;
        rest = path;
    }
    base.push(rest);
    Some(base.join("::"))
}

/// A text without comments and without what is in strings.
pub fn bare(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |at| &rest[at + 2..]);
        } else if let Some(after) = rest.strip_prefix("'\"'") {
            rest = after;
        } else if c == '"' {
            rest = after_string(&rest[1..]);
            out.push(' ');
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn after_string(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_written_out() {
        let text = "use crate::a::{self, b::C, d::{E, F as G}};\nlet x = super::h::i(); // crate::no\nlet y = \"crate::no\";";
        assert_eq!(
            of(text),
            ["crate::a::self", "crate::a::b::C", "crate::a::d::E", "crate::a::d::F", "super::h::i"]
        );
        assert_eq!(through("h::i(); x::h::no(); // h::no", "h"), ["h::i"]);
        assert_eq!(absolute("super::h::i", "m::n").as_deref(), Some("m::h::i"));
        assert_eq!(absolute("crate::a::b", "m").as_deref(), Some("a::b"));
        assert_eq!(absolute("super::super::x", "m"), None);
    }
}
