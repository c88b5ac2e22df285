//! Types and constants.

use super::{P, Parser};
use crate::ast::{Expr, ExprKind, Literal, ObjectName, Span, TypeName, TypeParam};
use crate::lexer::{Tok, literal_of};

impl Parser<'_> {
    /// `int`, `decimal(18, 2)`, `varchar(max)`, `dbo.t`, `double precision`.
    pub(super) fn type_name(&mut self) -> P<TypeName> {
        let start = self.peek().span;
        let name = match self.long_type_name() {
            Some(short) => short,
            None => self.object_name()?,
        };
        let mut params = Vec::new();
        if self.eat_tok(Tok::LParen) {
            // Only xml is of something that has a name.
            let of_name = name.name.is("xml");
            params = self.list(|p| p.type_param(of_name))?;
            self.expect_tok(Tok::RParen)?;
        }
        Ok(TypeName { name, params, span: self.since(start) })
    }

    /// The short name of a type that the standard spells with several words.
    fn long_type_name(&mut self) -> Option<ObjectName> {
        let start = self.peek().span;
        let national = self.eat("NATIONAL");
        let short = if national {
            if self.eat("TEXT") {
                "ntext"
            } else if self.eat("CHARACTER") || self.eat("CHAR") {
                if self.eat("VARYING") { "nvarchar" } else { "nchar" }
            } else {
                return None;
            }
        } else if self.eat_seq(&["DOUBLE", "PRECISION"]) {
            "float"
        } else if self.eat_seq(&["CHARACTER", "VARYING"]) || self.eat_seq(&["CHAR", "VARYING"]) {
            "varchar"
        } else if self.eat_seq(&["BINARY", "VARYING"]) {
            "varbinary"
        } else {
            return None;
        };
        let span = self.since(start);
        Some(ObjectName::bare(crate::ast::Ident { value: short.into(), quoted: false, span }))
    }

    fn type_param(&mut self, of_name: bool) -> P<TypeParam> {
        if self.at_tok(Tok::Integer) {
            return Ok(TypeParam::Int(self.integer()?));
        }
        if self.eat("MAX") {
            return Ok(TypeParam::Max);
        }
        if !of_name {
            return Err(self.unexpected());
        }
        // xml (CONTENT | DOCUMENT collection)
        if self.at_any(&["CONTENT", "DOCUMENT"]) && self.is_ident(1) {
            self.bump();
        }
        Ok(TypeParam::Name(self.object_name()?))
    }

    /// A constant without a sign, when the next token is one.
    pub(super) fn opt_literal(&mut self) -> Option<Expr> {
        let token = self.peek();
        let literal = match token.kind {
            Tok::Reserved if self.at("NULL") => Literal::Null,
            kind => literal_of(kind, self.text_of(token))?,
        };
        self.bump();
        Some(literal_expr(literal, token.span))
    }

    /// A constant, perhaps with a sign, or a variable.
    pub(super) fn constant_or_variable(&mut self) -> P<Expr> {
        if matches!(self.kind(), Tok::Minus | Tok::Plus | Tok::Variable) {
            return self.signed_operand();
        }
        match self.opt_literal() {
            Some(literal) => Ok(literal),
            None => Err(self.unexpected()),
        }
    }
}

/// An expression that is a constant.
pub(super) fn literal_expr(literal: Literal, span: Span) -> Expr {
    Expr { kind: ExprKind::Literal(literal), span }
}
