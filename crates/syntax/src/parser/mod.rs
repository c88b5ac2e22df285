//! The parser: recursive descent over the token list, one module per part of the grammar. Here: the
//! cursor over the tokens, names, constants, and the two limits that keep recursion and the trees
//! bounded.
//!
//! Guarantees: no input panics; recursion is at most [`crate::MAX_DEPTH`] levels deep; a tree is at
//! most [`crate::MAX_HEIGHT`] nodes high, also where the grammar loops instead of recursing.

mod admin;
pub mod commands;
mod database;
mod dml;
mod exec;
mod expr;
mod flow;
mod foreign;
mod from;
mod function;
mod index;
mod module;
mod names;
mod object;
mod odbc;
mod option;
mod policy;
mod query;
mod security;
mod session;
mod stmt;
mod table;
mod types;

use crate::ast::{AssignOp, Span, Stmt};
use crate::error::{ParseError, SyntaxError};
use crate::lexer::{ParseSettings, Tok, Token, Tokens, tokenize_while, unquote};
use crate::{MAX_DEPTH, MAX_HEIGHT};
use compact_str::CompactString;

/// What every rule returns.
type P<T> = Result<T, SyntaxError>;

/// A parsed batch.
#[derive(Debug)]
pub struct Parsed {
    /// Its statements.
    pub stmts: Vec<Stmt>,
    /// The settings as its SET statements leave them.
    pub settings: ParseSettings,
    /// PARSEONLY holds somewhere in it: nothing of it may run.
    pub only_parsed: bool,
}

/// Parses a whole batch.
pub fn parse(
    text: &str,
    settings: ParseSettings,
    wanted: &dyn Fn() -> bool,
) -> Result<Parsed, ParseError> {
    let Some(tokens) = tokenize_while(text, settings, wanted) else {
        return Err(ParseError::Stopped);
    };
    let (settings, only_parsed) = (tokens.settings, tokens.only_parsed);
    let mut parser = Parser {
        text,
        tokens,
        pos: 0,
        depth: 0,
        high: 0,
        prolog: Default::default(),
        namespaces: Vec::new(),
        returns: false,
        foreign: None,
        wanted,
        until_asked: TOKENS_BETWEEN,
        stopped: false,
    };
    match parser.batch() {
        _ if parser.stopped => Err(ParseError::Stopped),
        Ok(stmts) => Ok(Parsed { stmts, settings, only_parsed }),
        Err(error) => match parser.reported(error) {
            _ if parser.stopped => Err(ParseError::Stopped),
            error => Err(ParseError::Syntax(error)),
        },
    }
}

/// Tokens between two questions whether the statements are still wanted.
const TOKENS_BETWEEN: u32 = 1_000;

struct Parser<'a> {
    text: &'a str,
    tokens: Tokens,
    /// Index of the token to read next; never past the last one.
    pos: usize,
    /// Rules entered and not yet left.
    depth: u32,
    /// Greatest depth of a node since the innermost loop over left-deep operators began.
    high: u32,
    /// WITH XMLNAMESPACES of the statement, as a query declares them.
    prolog: compact_str::CompactString,
    /// The same, each with its prefix and its URI; no prefix for the default.
    namespaces: Vec<(CompactString, CompactString)>,
    /// RETURN may have a value: in procedures and scalar functions.
    returns: bool,
    /// A part of the statement at hand that is read and not understood.
    foreign: Option<crate::ast::Foreign>,
    /// Whether the statements are still wanted.
    wanted: &'a dyn Fn() -> bool,
    until_asked: u32,
    /// They are not: the text ends here.
    stopped: bool,
}

impl<'a> Parser<'a> {
    // ---- the cursor ----

    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    /// The token `ahead` places from here; the last one after the end.
    fn peek_at(&self, ahead: usize) -> Token {
        self.at_index(self.pos.saturating_add(ahead))
    }

    fn at_index(&self, index: usize) -> Token {
        match self.tokens.list.get(index).or(self.tokens.list.last()) {
            Some(token) => *token,
            None => Token { kind: Tok::Eof, span: Span::default() },
        }
    }

    fn kind(&self) -> Tok {
        self.peek().kind
    }

    fn text_of(&self, token: Token) -> &'a str {
        token.span.text(self.text)
    }

    /// Takes the next token; the end is never passed.
    fn bump(&mut self) -> Token {
        let token = self.peek();
        if self.pos + 1 < self.tokens.list.len() {
            self.pos += 1;
            self.until_asked -= 1;
            if self.until_asked == 0 {
                self.ask();
            }
        }
        token
    }

    /// Asks whether the statements are still wanted. If not, what is left of the text becomes an
    /// error, which ends every rule.
    #[cold]
    fn ask(&mut self) {
        self.until_asked = TOKENS_BETWEEN;
        if !self.stopped && !(self.wanted)() {
            self.stopped = true;
            self.tokens.error = Some(SyntaxError::stopped());
            self.tokens.list.truncate(self.pos + 1);
            if let Some(last) = self.tokens.list.last_mut() {
                last.kind = Tok::Bad;
            }
        }
    }

    fn at_tok(&self, kind: Tok) -> bool {
        self.kind() == kind
    }

    fn eat_tok(&mut self, kind: Tok) -> bool {
        let found = self.at_tok(kind);
        if found {
            self.bump();
        }
        found
    }

    fn expect_tok(&mut self, kind: Tok) -> P<Token> {
        if self.at_tok(kind) { Ok(self.bump()) } else { Err(self.unexpected()) }
    }

    /// Whether the token `ahead` places from here is the unquoted word `word`, reserved or not.
    fn at_word(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        matches!(token.kind, Tok::Word | Tok::Reserved)
            && (token.span.end - token.span.start) as usize == word.len()
            && self.text_of(token).eq_ignore_ascii_case(word)
    }

    fn at(&self, word: &str) -> bool {
        self.at_word(0, word)
    }

    /// Whether the next tokens are these words.
    fn at_seq(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.at_word(ahead, word))
    }

    fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at(word))
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.at(word);
        if found {
            self.bump();
        }
        found
    }

    /// Takes all of `words` or none.
    fn eat_seq(&mut self, words: &[&str]) -> bool {
        let found = self.at_seq(words);
        if found {
            for _ in words {
                self.bump();
            }
        }
        found
    }

    fn expect(&mut self, word: &str) -> P<Token> {
        if self.at(word) { Ok(self.bump()) } else { Err(self.unexpected()) }
    }

    fn expect_seq(&mut self, words: &[&str]) -> P<()> {
        words.iter().try_for_each(|word| self.expect(word).map(|_| ()))
    }

    /// From `start` to the last token taken.
    fn since(&self, start: Span) -> Span {
        match self.pos.checked_sub(1) {
            Some(last) => start.to(self.at_index(last).span),
            None => start,
        }
    }

    // ---- errors ----

    /// What to report: a quote that was not doubled ('it's') ends its text early and leaves another
    /// open to the end of the batch; that is the cause of what the words between them seem to do
    /// wrong. (SQL Server reports both, the quote last.)
    fn cause(&self, error: SyntaxError) -> SyntaxError {
        let Some(quote) = self.tokens.error.as_ref().filter(|e| e.number == 105) else {
            return error;
        };
        let torn = |pair: &[Token]| {
            matches!(pair[0].kind, Tok::Str | Tok::NStr)
                && matches!(pair[1].kind, Tok::Word | Tok::Reserved)
                && pair[0].span.end == pair[1].span.start
        };
        let read = &self.tokens.list[..self.tokens.list.len().min(self.pos + 2)];
        if read.windows(2).any(torn) { quote.clone() } else { error }
    }

    /// An error, and what SQL Server reports behind it: a WITH that cannot stand where it does is
    /// taken for the beginning of another statement, which nothing separates from the one before
    /// and which may have an error of its own.
    fn reported(&mut self, error: SyntaxError) -> SyntaxError {
        let token = self.peek();
        let line = token.span.line;
        let begins =
            self.at("WITH") && error == SyntaxError::near_keyword(line, self.text_of(token));
        let mut error = self.cause(error);
        if begins && error.number == 156 {
            error.after.push(SyntaxError::with_after_statement(line));
            if self.is_ident(1) {
                (self.depth, self.high, self.foreign) = (0, 0, None);
                error.after.extend(self.statements(|p| p.at_tok(Tok::Eof)).err());
            }
        }
        error
    }

    /// The error for the next token: it cannot stand here.
    fn unexpected(&self) -> SyntaxError {
        self.unexpected_at(0)
    }

    fn unexpected_at(&self, ahead: usize) -> SyntaxError {
        let token = self.peek_at(ahead);
        match token.kind {
            Tok::Bad => match &self.tokens.error {
                Some(error) => error.clone(),
                None => SyntaxError::near(token.span.line, ""),
            },
            Tok::Reserved => SyntaxError::near_keyword(token.span.line, self.text_of(token)),
            _ => {
                let (line, near) = self.near_at(ahead);
                SyntaxError::near(line, &near)
            }
        }
    }

    /// What messages quote for the next token, and its line. At the end it is the last token there
    /// was.
    fn near_at(&self, ahead: usize) -> (u32, CompactString) {
        let index = (self.pos + ahead).min(self.tokens.list.len().saturating_sub(1));
        let mut token = self.at_index(index);
        if token.kind == Tok::Eof && index > 0 {
            token = self.at_index(index - 1);
        }
        let text = self.text_of(token);
        let near = match token.kind {
            Tok::Str | Tok::NStr | Tok::Quoted => unquote(text),
            _ => CompactString::from(text),
        };
        (token.span.line, near)
    }

    // ---- limits ----

    /// Runs a rule that may contain itself, one level deeper.
    fn nest<T>(&mut self, rule: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(self.peek().span.line));
        }
        self.depth += 1;
        self.high = self.high.max(self.depth);
        let result = stack::with_room(|| rule(self));
        self.depth -= 1;
        result
    }

    /// Runs a rule that loops over left-deep operators: between its calls of [`Self::deepen`],
    /// `high` counts only what the loop itself has built.
    fn chain<T>(&mut self, rule: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        let outer = std::mem::replace(&mut self.high, self.depth);
        let result = rule(self);
        self.high = self.high.max(outer);
        result
    }

    /// Notes that all that the current chain has built moves one level down.
    fn deepen(&mut self) -> P<()> {
        self.high += 1;
        if self.high > MAX_HEIGHT {
            return Err(SyntaxError::too_deep(self.peek().span.line));
        }
        Ok(())
    }

    // ---- names ----

    /// One item or more, separated by commas.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_tok(Tok::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The same in parentheses.
    fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> P<T>) -> P<Vec<T>> {
        self.expect_tok(Tok::LParen)?;
        let items = self.list(item)?;
        self.expect_tok(Tok::RParen)?;
        Ok(items)
    }

    /// A string constant.
    fn string(&mut self) -> P<CompactString> {
        if matches!(self.kind(), Tok::Str | Tok::NStr) {
            let token = self.bump();
            Ok(unquote(self.text_of(token)))
        } else {
            Err(self.unexpected())
        }
    }

    /// A whole number that fits.
    fn integer<T: std::str::FromStr>(&mut self) -> P<T> {
        if !self.at_tok(Tok::Integer) {
            return Err(self.unexpected());
        }
        let Ok(value) = self.text_of(self.peek()).parse() else { return Err(self.unexpected()) };
        self.bump();
        Ok(value)
    }

    /// `IF EXISTS`, or nothing.
    fn if_exists(&mut self) -> bool {
        self.eat_seq(&["IF", "EXISTS"])
    }

    /// `ON` is true, `OFF` is false.
    fn on_off(&mut self) -> P<bool> {
        if self.eat("ON") {
            Ok(true)
        } else {
            self.expect("OFF")?;
            Ok(false)
        }
    }

    /// `NULL` is true, `NOT NULL` is false.
    fn nullability(&mut self) -> Option<bool> {
        if self.eat("NULL") {
            Some(true)
        } else if self.eat_seq(&["NOT", "NULL"]) {
            Some(false)
        } else {
            None
        }
    }

    /// The assignment operator `ahead` places from here.
    fn assign_op_at(&self, ahead: usize) -> Option<AssignOp> {
        Some(match self.peek_at(ahead).kind {
            Tok::Eq => AssignOp::Set,
            Tok::PlusEq => AssignOp::Add,
            Tok::MinusEq => AssignOp::Subtract,
            Tok::StarEq => AssignOp::Multiply,
            Tok::SlashEq => AssignOp::Divide,
            Tok::PercentEq => AssignOp::Modulo,
            Tok::AmpEq => AssignOp::BitAnd,
            Tok::PipeEq => AssignOp::BitOr,
            Tok::CaretEq => AssignOp::BitXor,
            _ => return None,
        })
    }

    fn assign_op(&mut self) -> P<AssignOp> {
        let Some(op) = self.assign_op_at(0) else { return Err(self.unexpected()) };
        self.bump();
        Ok(op)
    }

    /// Index of the token after the group that token `from` opens, or with `depth` 1 is inside of;
    /// the end when it is not closed.
    fn behind_group(&self, from: usize, mut depth: usize) -> usize {
        let mut index = from;
        while let Some(token) = self.tokens.list.get(index) {
            match token.kind {
                Tok::LParen => depth += 1,
                Tok::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            index += 1;
            if depth == 0 {
                break;
            }
        }
        index
    }
}
