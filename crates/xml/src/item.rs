//! What queries compute with: nodes and single values.

use std::borrow::Cow;

use crate::binary::Encoding;
use crate::tree::NodeRef;

/// A single value.
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// Text of a document: compared as what it is compared with.
    Untyped(String),
    Text(String),
    Number(f64),
    Bool(bool),
    /// Bytes, and how their text is written.
    Binary(Vec<u8>, Encoding),
    /// The text of a document: what a change may insert.
    Document(String),
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
            Atom::Untyped(text) | Atom::Text(text) | Atom::Document(text) => text.into(),
            Atom::Number(n) => number_text(*n).into(),
            Atom::Bool(b) => b.to_string().into(),
            Atom::Binary(bytes, encoding) => encoding.encode(bytes).into(),
        }
    }

    /// Its text, which it is no more.
    pub fn into_text(self) -> String {
        match self {
            Atom::Untyped(text) | Atom::Text(text) | Atom::Document(text) => text,
            other => other.text().into_owned(),
        }
    }

    /// Its bytes: those that a text stands for are written in base64. None where it has no bytes.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Atom::Binary(bytes, _) => Some(bytes),
            other => Encoding::Base64.decode(&other.text()),
        }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let long = match self {
            Atom::Untyped(text) | Atom::Text(text) | Atom::Document(text) => text.len(),
            Atom::Binary(bytes, _) => bytes.len(),
            Atom::Number(_) | Atom::Bool(_) => 0,
        };
        size_of::<Item>() + size_of::<Atom>() + long
    }

    /// As a number; not a number where it is none.
    pub(crate) fn number(&self) -> f64 {
        match self {
            Atom::Number(n) => *n,
            Atom::Bool(b) => f64::from(u8::from(*b)),
            Atom::Binary(..) | Atom::Document(_) => f64::NAN,
            Atom::Untyped(text) | Atom::Text(text) => match text.trim() {
                "INF" => f64::INFINITY,
                "-INF" => f64::NEG_INFINITY,
                // Rust reads more words than XQuery does.
                text if text.chars().any(|c| c.is_alphabetic() && !matches!(c, 'e' | 'E')) => {
                    f64::NAN
                }
                text => text.parse().unwrap_or(f64::NAN),
            },
        }
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Atom::Bool(b) => *b,
            Atom::Number(n) => *n != 0.0 && !n.is_nan(),
            Atom::Untyped(text) | Atom::Text(text) | Atom::Document(text) => !text.is_empty(),
            Atom::Binary(bytes, _) => !bytes.is_empty(),
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
