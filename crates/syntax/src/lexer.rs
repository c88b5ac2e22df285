//! The lexer: a batch's text to tokens with byte positions and lines. It never fails: what cannot
//! be a token ends the list with [`Tok::Bad`] and its error, so that an earlier error of the
//! grammar is reported first. Values are not copied here; [`Token`] only points at the text, and
//! the functions at the end decode it.

mod scan;
mod values;

pub use values::{binary_value, literal_of, unquote};

use crate::ast::Span;
use crate::error::SyntaxError;

/// Longest batch, in bytes: positions are 32 bits wide and a line may be counted per byte.
pub(crate) const MAX_BATCH: usize = (1 << 31) - 1;

/// Tokens between two questions whether they are still wanted.
const TOKENS_BETWEEN: usize = 1_000;

/// Tokens for which there is room from the start.
const MOST_RESERVED: usize = 16_384;

/// Longest identifier, in characters.
pub(crate) const MAX_IDENTIFIER: usize = 128;

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tok {
    /// A word that is not reserved, also `#t`, `##t`, `$action`.
    Word,
    /// A reserved word.
    Reserved,
    /// `[x]` or `"x"`.
    Quoted,
    /// `@x`, `@@x`.
    Variable,
    /// `'x'`, and `"x"` under QUOTED_IDENTIFIER OFF.
    Str,
    /// `N'x'`.
    NStr,
    /// Digits.
    Integer,
    /// Digits with a point.
    Decimal,
    /// With an exponent.
    Float,
    /// A currency sign and perhaps digits.
    Money,
    /// `0x...`.
    Binary,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Dot,
    Semi,
    Colon,
    DoubleColon,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    Pipe,
    DoublePipe,
    Caret,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    Tilde,
    Bang,
    Eq,
    Less,
    Greater,
    LessEq,
    GreaterEq,
    NotEq,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    PercentEq,
    AmpEq,
    PipeEq,
    CaretEq,
    /// A character that T-SQL has no use for.
    Other,
    /// What the lexer could not read; the error is kept beside the tokens.
    Bad,
    /// The end.
    Eof,
}

/// A token: its kind and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: Tok,
    /// Where it stands.
    pub span: Span,
}

/// The tokens of a batch. The last one is `Eof` or `Bad`.
#[derive(Debug)]
pub struct Tokens {
    /// The tokens; never empty.
    pub list: Vec<Token>,
    /// The error behind a last token `Bad`.
    pub error: Option<SyntaxError>,
    /// The settings as the batch's SET statements leave them.
    pub settings: ParseSettings,
    /// PARSEONLY holds somewhere in the batch: nothing of it may run.
    pub only_parsed: bool,
}

/// The SET options that take effect while a batch is read, wherever in it they stand: also in a
/// branch that never runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParseSettings {
    /// QUOTED_IDENTIFIER: `"x"` is a name; OFF, it is a string.
    pub quoted_identifier: bool,
    /// PARSEONLY: batches are read and do not run.
    pub parse_only: bool,
}

impl Default for ParseSettings {
    fn default() -> Self {
        ParseSettings { quoted_identifier: true, parse_only: false }
    }
}

/// Splits `text` into tokens; `"x"` is a name until the text sets something else.
#[must_use]
pub fn tokenize(text: &str) -> Tokens {
    tokenize_with(text, ParseSettings::default())
}

/// Splits `text` into tokens, with the settings that hold where it begins.
#[must_use]
pub fn tokenize_with(text: &str, settings: ParseSettings) -> Tokens {
    match tokenize_while(text, settings, &|| true) {
        Some(tokens) => tokens,
        None => unreachable!("nobody stops it"),
    }
}

/// As [`tokenize_with`], as long as `wanted` says so, which is asked once for some thousand tokens;
/// none when the tokens are not wanted any more.
#[must_use]
pub fn tokenize_while(
    text: &str,
    settings: ParseSettings,
    wanted: &dyn Fn() -> bool,
) -> Option<Tokens> {
    let only_parsed = settings.parse_only;
    let mut tokens = Tokens { list: Vec::new(), error: None, settings, only_parsed };
    if text.len() > MAX_BATCH {
        tokens.list.push(Token { kind: Tok::Bad, span: Span { start: 0, end: 0, line: 1 } });
        tokens.error = Some(SyntaxError::too_long(1));
        return Some(tokens);
    }
    let quoted_identifier = settings.quoted_identifier;
    let mut lexer = Lexer { text, bytes: text.as_bytes(), pos: 0, line: 1, quoted_identifier };
    // A long text may be one string, or all comment.
    tokens.list.reserve((text.len() / 5 + 2).min(MOST_RESERVED));
    loop {
        if tokens.list.len() % TOKENS_BETWEEN == TOKENS_BETWEEN - 1 && !wanted() {
            return None;
        }
        match lexer.next() {
            Ok(token) => {
                tokens.list.push(token);
                if token.kind == Tok::Eof {
                    return Some(tokens);
                }
                if token.kind == Tok::Reserved && token.span.end - token.span.start <= 3 {
                    tokens.apply_switch(text);
                    lexer.quoted_identifier = tokens.settings.quoted_identifier;
                }
            }
            Err(error) => {
                tokens
                    .list
                    .push(Token { kind: Tok::Bad, span: lexer.span_from(lexer.pos, lexer.line) });
                tokens.error = Some(error);
                return Some(tokens);
            }
        }
    }
}

impl Tokens {
    /// Honours `SET QUOTED_IDENTIFIER | PARSEONLY ON | OFF`, alone or in a list of switches, when
    /// the last token ends one.
    fn apply_switch(&mut self, text: &str) {
        let is = |token: &Token, word: &str| token.span.text(text).eq_ignore_ascii_case(word);
        let Some((last, before)) = self.list.split_last() else { return };
        let on = is(last, "ON");
        if !on && !is(last, "OFF") {
            return;
        }
        let mut at = before.len();
        // name [, name]... back to SET
        loop {
            let Some(name) = at.checked_sub(1).filter(|at| before[*at].kind == Tok::Word) else {
                return;
            };
            match name.checked_sub(1).map(|at| before[at]) {
                Some(token) if token.kind == Tok::Comma => at = name - 1,
                Some(token) if token.kind == Tok::Reserved && is(&token, "SET") => {
                    at = name;
                    break;
                }
                _ => return,
            }
        }
        // ALTER DATABASE x SET ... sets nothing of the session.
        if at >= 3 && is(&before[at - 3], "DATABASE") {
            return;
        }
        let (mut quoted, mut parse_only) = (false, false);
        for name in &before[at..] {
            quoted |= is(name, "QUOTED_IDENTIFIER") || (on && is(name, "ANSI_DEFAULTS"));
            parse_only |= is(name, "PARSEONLY");
        }
        if quoted {
            self.settings.quoted_identifier = on;
        }
        if parse_only {
            self.settings.parse_only = on;
            // A batch that begins by turning it off runs.
            self.only_parsed = on || (self.only_parsed && at > 1);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    line: u32,
    /// `"x"` is a name, else a string.
    quoted_identifier: bool,
}
