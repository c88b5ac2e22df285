//! What queries compute with: nodes and single values.

use std::borrow::Cow;

use crate::tree::NodeRef;

/// A single value.
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// Text of a document: compared as what it is compared with.
    Untyped(String),
    Text(String),
    Number(f64),
    Bool(bool),
}

/// An item of a sequence, in 16 bytes: there may be as many as a document has nodes.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Node(NodeRef),
    Atom(Box<Atom>),
}

impl From<Atom> for Item {
    fn from(atom: Atom) -> Item {
        Item::Atom(Box::new(atom))
    }
}

impl Atom {
    /// Its text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Atom::Untyped(text) | Atom::Text(text) => text.into(),
            Atom::Number(n) => number_text(*n).into(),
            Atom::Bool(b) => b.to_string().into(),
        }
    }

    /// Its text, which it is no more.
    pub fn into_text(self) -> String {
        match self {
            Atom::Untyped(text) | Atom::Text(text) => text,
            other => other.text().into_owned(),
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let text = if let Atom::Untyped(text) | Atom::Text(text) = self { text.len() } else { 0 };
        size_of::<Item>() + size_of::<Atom>() + text
    }

    /// As a number; not a number where it is none.
    pub(crate) fn number(&self) -> f64 {
        match self {
            Atom::Number(n) => *n,
            Atom::Bool(b) => f64::from(u8::from(*b)),
            Atom::Untyped(text) | Atom::Text(text) => match text.trim() {
                "INF" => f64::INFINITY,
                "-INF" => f64::NEG_INFINITY,
                // Rust reads more words than XQuery does.
                text if text.chars().any(|c| c.is_alphabetic() && !matches!(c, 'e' | 'E')) => f64::NAN,
                text => text.parse().unwrap_or(f64::NAN),
            },
        }
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Atom::Bool(b) => *b,
            Atom::Number(n) => *n != 0.0 && !n.is_nan(),
            Atom::Untyped(text) | Atom::Text(text) => !text.is_empty(),
        }
    }
}

fn number_text(n: f64) -> String {
    if n.is_nan() {
        "NaN".into()
    } else if n.is_infinite() {
        if n > 0.0 { "INF".into() } else { "-INF".into() }
    } else if n == 0.0 {
        "0".into()
    } else if (1e-6..1e15).contains(&n.abs()) {
        n.to_string()
    } else {
        format!("{n:E}")
    }
}
