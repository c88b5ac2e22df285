//! Paths: `[append] [lax | strict] $.name."other name"[3]`.

use types::look::GO_ON;
use types::{SqlError, msg};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonStep {
    /// The member of an object; case counts.
    Key(String),
    /// The element of an array, from 0.
    Index(usize),
}

/// A path as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub strict: bool,
    /// JSON_MODIFY's `append`.
    pub append: bool,
    pub steps: Vec<JsonStep>,
}

impl Path {
    /// Reads a path. `append` says whether that word may begin it. Error: 13607, with the character
    /// at fault and its place.
    pub fn parse(text: &str, append: bool) -> Result<Path, SqlError> {
        let mut reader = Reader { text, at: 0 };
        reader.blanks();
        let appends = append && reader.word("append");
        reader.blanks();
        let strict = reader.word("strict");
        if !strict {
            reader.word("lax");
        }
        reader.blanks();
        let steps = reader.steps().map_err(|()| reader.unexpected())?;
        Ok(Path { strict, append: appends, steps })
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes a word that a blank follows, or the `$` of the path.
    fn word(&mut self, word: &str) -> bool {
        let found =
            self.rest().strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t', '$']));
        if found {
            self.at += word.len();
        }
        found
    }

    fn unexpected(&self) -> SqlError {
        let found = self.peek().unwrap_or('.');
        let place = types::codepage::utf16_len(&self.text[..self.at]);
        SqlError::of(msg::JSON_PATH_SYNTAX, [&found, &place])
    }

    fn steps(&mut self) -> Result<Vec<JsonStep>, ()> {
        if self.peek() != Some('$') {
            return Err(());
        }
        self.at += 1;
        let mut steps = Vec::new();
        loop {
            match self.peek() {
                None => return Ok(steps),
                Some(' ') if self.rest().trim_end().is_empty() => return Ok(steps),
                Some('.') => {
                    self.at += 1;
                    steps.push(JsonStep::Key(self.key()?));
                }
                Some('[') => {
                    self.at += 1;
                    steps.push(JsonStep::Index(self.index()?));
                }
                Some(_) => return Err(()),
            }
        }
    }

    fn key(&mut self) -> Result<String, ()> {
        if self.peek() == Some('"') {
            let bytes = self.rest().as_bytes();
            let mut end = 1;
            while end < bytes.len() && bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            if end >= bytes.len() {
                self.at = self.text.len();
                return Err(());
            }
            let key = super::unescaped(&self.rest()[..=end], GO_ON).map_err(|_| ())?.into_owned();
            self.at += end + 1;
            return Ok(key);
        }
        // Without quotes: letters, digits, `_` and `$`, no digit first.
        let first = self.peek().filter(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
        if first.is_none() {
            return Err(());
        }
        let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let end = self.rest().find(|c| !part(c)).unwrap_or(self.rest().len());
        let key = self.rest()[..end].to_owned();
        self.at += end;
        Ok(key)
    }

    fn index(&mut self) -> Result<usize, ()> {
        self.blanks();
        let end = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
        let number = self.rest()[..end].parse().map_err(|_| ())?;
        self.at += end;
        self.blanks();
        if self.peek() != Some(']') {
            return Err(());
        }
        self.at += 1;
        Ok(number)
    }
}
