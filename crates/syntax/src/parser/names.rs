//! Names: identifiers with and without quotes, names of objects in parts, variables, names of
//! cursors.

use super::{P, Parser};
use crate::ast::{CursorName, Ident, NameOrVariable, ObjectName};
use crate::error::SyntaxError;
use crate::lexer::{Tok, unquote};
use compact_str::CompactString;

impl Parser<'_> {
    pub(super) fn at_ident(&self) -> bool {
        self.is_ident(0)
    }

    pub(super) fn is_ident(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead).kind, Tok::Word | Tok::Quoted)
    }

    /// A name of one part.
    pub(super) fn ident(&mut self) -> P<Ident> {
        if !self.at_ident() {
            return Err(self.unexpected());
        }
        Ok(self.take_ident())
    }

    /// The next token, whatever it is, as a name.
    pub(super) fn take_ident(&mut self) -> Ident {
        let token = self.bump();
        let text = self.text_of(token);
        let quoted = matches!(token.kind, Tok::Quoted | Tok::Str | Tok::NStr);
        let value = if quoted { unquote(text) } else { CompactString::from(text) };
        Ident { value, quoted, span: token.span }
    }

    /// A name where reserved words are names too.
    pub(super) fn ident_or_keyword(&mut self) -> P<Ident> {
        if self.at_ident() || self.at_tok(Tok::Reserved) {
            Ok(self.take_ident())
        } else {
            Err(self.unexpected())
        }
    }

    /// A name, or a string that is taken for one.
    pub(super) fn ident_or_string(&mut self) -> P<Ident> {
        if self.at_ident() || matches!(self.kind(), Tok::Str | Tok::NStr) {
            Ok(self.take_ident())
        } else {
            Err(self.unexpected())
        }
    }

    /// An unquoted word in upper case, reserved or not.
    pub(super) fn upper_word(&mut self) -> P<CompactString> {
        if matches!(self.kind(), Tok::Word | Tok::Reserved) {
            let token = self.bump();
            Ok(CompactString::from(self.text_of(token).to_ascii_uppercase()))
        } else {
            Err(self.unexpected())
        }
    }

    /// `a`, `a.b`, `a..b`, up to four parts, as far as the dots go.
    pub(super) fn object_name(&mut self) -> P<ObjectName> {
        // `..a`, `.a`: the parts before the dots are left out.
        for _ in 0..3 {
            self.eat_tok(Tok::Dot);
        }
        let first = self.ident()?;
        self.object_name_after(first)
    }

    pub(super) fn object_name_after(&mut self, first: Ident) -> P<ObjectName> {
        let start = first.span;
        let mut name = ObjectName::bare(first);
        let mut dots = 0;
        while self.at_tok(Tok::Dot) && (self.is_ident(1) || self.peek_at(1).kind == Tok::Dot) {
            dots += 1;
            self.bump();
            if dots > 3 {
                while self.at_tok(Tok::Dot) || self.at_ident() {
                    self.bump();
                }
                let text = self.since(start).text(self.text);
                return Err(SyntaxError::too_many_prefixes(start.line, text, 3));
            }
            // `a..b`: the part between the dots is left out.
            let skipped = self.at_tok(Tok::Dot);
            let next = if skipped { None } else { Some(self.take_ident()) };
            name = self.shift_name(name, next)?;
        }
        Ok(name)
    }

    /// Moves the parts one place up and puts `next` last; with `None` the next dot's name completes
    /// it.
    pub(super) fn shift_name(&mut self, name: ObjectName, next: Option<Ident>) -> P<ObjectName> {
        if let Some(next) = next {
            let ObjectName { database, schema, name, .. } = name;
            return Ok(ObjectName {
                server: database,
                database: schema,
                schema: Some(name),
                name: next,
            });
        }
        if name.database.is_some() {
            return Err(self.unexpected());
        }
        self.expect_tok(Tok::Dot)?;
        if self.eat_tok(Tok::Dot) {
            // `server...a`
            if name.schema.is_some() {
                return Err(self.unexpected());
            }
            let last = self.ident()?;
            return Ok(ObjectName {
                server: Some(name.name),
                database: None,
                schema: None,
                name: last,
            });
        }
        let last = self.ident()?;
        Ok(ObjectName { server: name.schema, database: Some(name.name), schema: None, name: last })
    }

    /// `(a, b, c)`.
    pub(super) fn ident_list(&mut self) -> P<Vec<Ident>> {
        self.paren_list(Self::ident)
    }

    /// `(a, b, c)`, or nothing.
    pub(super) fn opt_ident_list(&mut self) -> P<Vec<Ident>> {
        if self.at_tok(Tok::LParen) { self.ident_list() } else { Ok(Vec::new()) }
    }

    /// `@x`, with its `@`.
    pub(super) fn variable(&mut self) -> P<CompactString> {
        let token = self.expect_tok(Tok::Variable)?;
        Ok(CompactString::from(self.text_of(token)))
    }

    pub(super) fn name_or_variable(&mut self) -> P<NameOrVariable> {
        if self.at_tok(Tok::Variable) {
            Ok(NameOrVariable::Variable(self.variable()?))
        } else {
            Ok(NameOrVariable::Name(self.ident()?))
        }
    }

    /// `[GLOBAL] c`.
    pub(super) fn cursor_name(&mut self) -> P<CursorName> {
        let global = self.at("GLOBAL") && self.is_ident(1);
        if global {
            self.bump();
        }
        Ok(CursorName { global, name: self.name_or_variable()? })
    }
}
