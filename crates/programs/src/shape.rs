//! The shape of a short text: its literals at safe places become variables `@1`, `@2`, ... that
//! have their values and types, so that texts that differ in such literals are one batch. Purely by
//! tokens, before anything is parsed.
//!
//! Guarantees:
//! - A variable stands for a whole operand: right of a comparison in WHERE, an element of VALUES,
//!   the right side of `SET column = literal`. Nothing computes with it, no name, length or type of
//!   a result comes from it.
//! - It has the type that the binder gives the literal. Only the length of a string is the longest
//!   of its kind: comparisons and conversions of strings go by the value.
//! - A shape has no variables of its own, no comment, one statement and one query block; what is
//!   left out of a text is the literals alone, so lines stay what they are where it matters: at the
//!   beginning of the statement.
//! - The key of a shape tells its text and the types of its variables. A text that this file is in
//!   doubt about has no shape.

use std::fmt::Write;

use compact_str::{CompactString, format_compact};
use smallvec::SmallVec;
use syntax::ast::Literal;
use syntax::lexer::{Tok, Token, literal_of, tokenize};
use types::{DataType, Len, Value};

/// Longest text that is looked at, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// Most literals that become variables.
const MAX_LITERALS: usize = 64;
/// Ends the text in a key; no shape's text has one.
const END: char = '\0';

/// The values of the literals of a text, and their types.
#[derive(Debug, Default)]
pub struct Literals {
    pub values: Vec<Value>,
    types: SmallVec<[DataType; 8]>,
}

impl Literals {
    /// The variables of the shape.
    pub fn params(&self) -> Vec<(CompactString, Option<DataType>)> {
        let name = |at: usize| format_compact!("@{}", at + 1);
        self.types.iter().enumerate().map(|(at, ty)| (name(at), Some(*ty))).collect()
    }
}

/// The text of the shape with this key.
pub fn text_of(key: &str) -> &str {
    key.split_once(END).map_or(key, |(text, _)| text)
}

/// Writes the key of the shape of a text, whose `"x"` are names, into `key`, and gives the literals
/// that were taken out. None: the text has no shape, and `key` says nothing.
pub fn shape(text: &str, key: &mut String) -> Option<Literals> {
    key.clear();
    if text.len() > MAX_TEXT || !begins_like_one(text) {
        return None;
    }
    let tokens = tokenize(text);
    let tokens = Words { text, list: &tokens.list };
    let places = tokens.places()?;
    let mut literals = Literals::default();
    literals.values.reserve(places.len());
    let mut tags: SmallVec<[u8; 24]> = SmallVec::new();
    let mut from = 0;
    for (number, at) in places.iter().enumerate() {
        let token = &tokens.list[*at];
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        let (value, ty) = typed(token.kind, &text[start..end])?;
        tag(ty, &mut tags);
        literals.values.push(value);
        literals.types.push(ty);
        key.push_str(&text[from..start]);
        key.push('@');
        push_number(key, number + 1);
        from = end;
    }
    key.push_str(&text[from..]);
    key.push(END);
    tags.iter().for_each(|tag| key.push(char::from(*tag)));
    Some(literals)
}

fn push_number(key: &mut String, number: usize) {
    match u8::try_from(number) {
        Ok(digit) if digit < 10 => key.push(char::from(b'0' + digit)),
        // Writing into a string does not fail.
        _ => drop(write!(key, "{number}")),
    }
}

/// Whether the first letter is one of SELECT, INSERT, UPDATE or DELETE: most other texts are done
/// with.
fn begins_like_one(text: &str) -> bool {
    let first = text.bytes().find(|b| !b.is_ascii_whitespace());
    first.is_some_and(|b| matches!(b.to_ascii_uppercase(), b'S' | b'I' | b'U' | b'D'))
}

/// The value and the type that the binder gives a literal; `None` where a variable cannot have that
/// type, or the literal is an error.
fn typed(kind: Tok, text: &str) -> Option<(Value, DataType)> {
    if kind == Tok::Integer
        && let Ok(n) = text.parse()
    {
        return Some((Value::Int(n), DataType::Int));
    }
    let literal: Literal = literal_of(kind, text)?;
    if matches!(&literal, Literal::String { value, national: false } if !value.is_ascii()) {
        // What it becomes depends on the database's code page.
        return None;
    }
    let typed = expr::bind_ops::literal(&literal, types::Collation::DEFAULT).ok()?;
    let ty = match typed.ty {
        DataType::VarChar(Len::N(_)) => DataType::VarChar(Len::N(8000)),
        DataType::NVarChar(Len::N(_)) => DataType::NVarChar(Len::N(4000)),
        DataType::VarBinary(Len::N(_)) => DataType::VarBinary(Len::N(8000)),
        DataType::VarChar(Len::Max)
        | DataType::NVarChar(Len::Max)
        | DataType::VarBinary(Len::Max) => {
            return None;
        }
        other => other,
    };
    typed.expr.as_const().map(|value| (value.clone(), ty))
}

/// The type in a key.
fn tag(ty: DataType, tags: &mut SmallVec<[u8; 24]>) {
    let tag = match ty {
        DataType::Int => b'i',
        DataType::VarChar(_) => b'v',
        DataType::NVarChar(_) => b'n',
        DataType::VarBinary(_) => b'b',
        DataType::Float => b'f',
        DataType::Money => b'm',
        DataType::Decimal { .. } => b'd',
        _ => b'?',
    };
    debug_assert!(tag != b'?', "a literal of type {ty:?}");
    tags.push(tag);
    if let DataType::Decimal { precision, scale, .. } = ty {
        tags.extend([precision, scale]);
    }
}

/// A text and its tokens.
struct Words<'t> {
    text: &'t str,
    list: &'t [Token],
}

type LiteralPlaces = SmallVec<[usize; 8]>;

fn is_literal(kind: Tok) -> bool {
    use Tok::{Binary, Decimal, Float, Integer, Money, NStr, Str};
    matches!(kind, Str | NStr | Integer | Decimal | Float | Money | Binary)
}

fn is_comparison(kind: Tok) -> bool {
    use Tok::{Eq, Greater, GreaterEq, Less, LessEq, NotEq};
    matches!(kind, Eq | NotEq | Less | LessEq | Greater | GreaterEq)
}

impl Words<'_> {
    /// Which tokens become variables; none when the text is not of one of the four forms or has
    /// nothing to take out.
    fn places(&self) -> Option<LiteralPlaces> {
        if !self.is_plain() {
            return None;
        }
        let mut places = LiteralPlaces::new();
        if self.is(0, "SELECT") {
            let filter = self.head_of_select()?;
            self.filter(filter, &mut places)?;
        } else if self.is(0, "UPDATE") {
            let sets = self.target(1, "SET")?;
            let filter = self.assignments(sets, &mut places)?;
            self.filter(filter, &mut places)?;
        } else if self.is(0, "DELETE") {
            let filter = self.target(1 + usize::from(self.is(1, "FROM")), "WHERE")?;
            self.filter(filter, &mut places)?;
        } else if self.is(0, "INSERT") {
            self.rows(&mut places)?;
        }
        let fits = !places.is_empty() && places.len() <= MAX_LITERALS;
        (fits && places.iter().all(|at| self.stands_alone(*at))).then_some(places)
    }

    /// Nothing in it that has no place in a shape: variables, comments, temporary tables, braces,
    /// what is no token.
    fn is_plain(&self) -> bool {
        let mut end = 0;
        self.list.iter().all(|token| {
            use Tok::{Bad, Bang, Colon, DoubleColon, LBrace, Other, RBrace, Variable};
            let (start, bytes) = (token.span.start as usize, self.text.as_bytes());
            let gap = bytes.get(end..start).unwrap_or_default();
            end = token.span.end as usize;
            let foreign = matches!(
                token.kind,
                Bad | Bang | Colon | DoubleColon | LBrace | Other | RBrace | Variable
            );
            let temporary = token.kind == Tok::Word && bytes[start] == b'#';
            let quoted_temporary = token.kind == Tok::Quoted && bytes.get(start + 1) == Some(&b'#');
            !foreign && !temporary && !quoted_temporary && gap.iter().all(u8::is_ascii_whitespace)
        })
    }

    fn kind(&self, at: usize) -> Tok {
        self.list.get(at).map_or(Tok::Eof, |token| token.kind)
    }

    /// Whether a token is this reserved word.
    fn is(&self, at: usize, word: &str) -> bool {
        let Some(token) = self.list.get(at).filter(|token| token.kind == Tok::Reserved) else {
            return false;
        };
        token.span.text(self.text).eq_ignore_ascii_case(word)
    }

    fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    /// Nothing that could become a part of the variable's name follows.
    fn stands_alone(&self, at: usize) -> bool {
        let end = self.list[at].span.end as usize;
        let next = self.text.as_bytes().get(end);
        next.is_none_or(|b| {
            b.is_ascii() && !b.is_ascii_alphanumeric() && !matches!(b, b'_' | b'@' | b'#' | b'$')
        })
    }

    /// Whether the statement may end here, and the text with it.
    fn ends(&self, at: usize) -> bool {
        self.kind(at) == Tok::Eof || (self.kind(at) == Tok::Semi && self.kind(at + 1) == Tok::Eof)
    }

    /// Behind the WHERE of the one query block.
    fn head_of_select(&self) -> Option<usize> {
        let (mut at, mut depth) = (1, 0_i32);
        loop {
            match self.kind(at) {
                Tok::Eof | Tok::Semi => return None,
                Tok::LParen => depth += 1,
                Tok::RParen => depth -= 1,
                Tok::Reserved if depth == 0 && self.is(at, "WHERE") => return Some(at + 1),
                Tok::Reserved
                    if self.is_one_of(
                        at,
                        &[
                            "SELECT",
                            "INTO",
                            "WITH",
                            "WHERE",
                            "UNION",
                            "EXCEPT",
                            "INTERSECT",
                            "OPTION",
                        ],
                    ) =>
                {
                    return None;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Behind the word that ends the name of the target.
    fn target(&self, from: usize, word: &str) -> Option<usize> {
        let mut at = from;
        while matches!(self.kind(at), Tok::Word | Tok::Quoted | Tok::Dot) {
            at += 1;
        }
        self.is(at, word).then_some(at + 1)
    }

    /// The assignments of an UPDATE, up to behind its WHERE.
    fn assignments(&self, from: usize, places: &mut LiteralPlaces) -> Option<usize> {
        let (mut at, mut depth) = (from, 0_i32);
        // The name of the column that is set.
        let mut naming = true;
        loop {
            match self.kind(at) {
                Tok::Eof | Tok::Semi => return None,
                Tok::LParen => depth += 1,
                Tok::RParen => depth -= 1,
                Tok::Comma if depth == 0 => naming = true,
                Tok::Eq if depth == 0 && naming => {
                    naming = false;
                    let value = at + 1 + usize::from(self.kind(at + 1) == Tok::Minus);
                    let whole = self.kind(value + 1) == Tok::Comma || self.is(value + 1, "WHERE");
                    if is_literal(self.kind(value)) && whole {
                        places.push(value);
                    }
                }
                // What OUTPUT gives may be named with `=` too.
                Tok::Word if self.list[at].span.text(self.text).eq_ignore_ascii_case("OUTPUT") => {
                    return None;
                }
                Tok::Word | Tok::Quoted | Tok::Dot => {}
                Tok::Reserved if depth == 0 && self.is(at, "WHERE") => return Some(at + 1),
                Tok::Reserved
                    if self.is_one_of(at, &["SELECT", "FROM", "WITH", "WHERE", "OPTION"]) =>
                {
                    return None;
                }
                _ => naming = false,
            }
            at += 1;
        }
    }

    /// The condition: comparisons and IS NULL under AND, to the end of the text.
    fn filter(&self, from: usize, places: &mut LiteralPlaces) -> Option<()> {
        let mut at = from;
        loop {
            match self.kind(at) {
                _ if self.ends(at) => return Some(()),
                Tok::Word | Tok::Quoted | Tok::Dot | Tok::LParen | Tok::RParen => {}
                Tok::Minus if is_comparison(self.kind(at - 1)) && is_literal(self.kind(at + 1)) => {
                }
                Tok::Reserved if self.is_one_of(at, &["AND", "IS", "NOT", "NULL"]) => {}
                kind if is_comparison(kind) => {}
                kind if is_literal(kind) => {
                    let before = at - 1 - usize::from(self.kind(at - 1) == Tok::Minus);
                    let whole = self.is(at + 1, "AND")
                        || self.kind(at + 1) == Tok::RParen
                        || self.ends(at + 1);
                    if is_comparison(self.kind(before)) && whole {
                        places.push(at);
                    }
                }
                _ => return None,
            }
            at += 1;
        }
    }

    /// INSERT ... VALUES: the elements of its rows.
    fn rows(&self, places: &mut LiteralPlaces) -> Option<()> {
        let mut at = 1 + usize::from(self.is(1, "INTO"));
        while matches!(
            self.kind(at),
            Tok::Word | Tok::Quoted | Tok::Dot | Tok::Comma | Tok::LParen | Tok::RParen
        ) {
            at += 1;
        }
        if !self.is(at, "VALUES") {
            return None;
        }
        let mut depth = 0_i32;
        loop {
            at += 1;
            match self.kind(at) {
                _ if depth == 0 && self.ends(at) => return Some(()),
                Tok::Eof | Tok::Semi => return None,
                Tok::LParen => depth += 1,
                Tok::RParen => depth -= 1,
                Tok::Comma => {}
                _ if depth == 0 => return None,
                Tok::Reserved if self.is_one_of(at, &["SELECT", "WITH", "OPTION"]) => return None,
                kind if depth == 1 && is_literal(kind) => {
                    let before = at - 1 - usize::from(self.kind(at - 1) == Tok::Minus);
                    let opened = matches!(self.kind(before), Tok::LParen | Tok::Comma);
                    if opened && matches!(self.kind(at + 1), Tok::Comma | Tok::RParen) {
                        places.push(at);
                    }
                }
                _ => {}
            }
        }
    }
}
