//! Expressions: operators by precedence. Scalars and conditions are kept apart as SQL Server's
//! grammar does: a scalar rule never takes a comparison, and a rule for conditions refuses a scalar
//! with error 4145.

use super::{P, Parser};
use crate::ast::{
    BinaryOp, CaseBranch, CompareOp, Expr, ExprKind, Ident, ObjectName, Span, UnaryOp,
};
use crate::error::SyntaxError;
use crate::lexer::Tok;

/// Precedences, weakest first.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const ADD: u8 = 5;
const MULTIPLY: u8 = 6;
const UNARY: u8 = 7;

impl Parser<'_> {
    /// A value.
    pub(super) fn scalar(&mut self) -> P<Expr> {
        self.binary(ADD)
    }

    /// A condition.
    pub(super) fn condition(&mut self) -> P<Expr> {
        let expr = self.binary(OR)?;
        self.require_condition(expr)
    }

    /// A condition or a value, as inside parentheses of a condition.
    fn either(&mut self) -> P<Expr> {
        self.binary(OR)
    }

    /// A scalar, or the word DEFAULT.
    pub(super) fn scalar_or_default(&mut self) -> P<Expr> {
        if self.at("DEFAULT") {
            let span = self.bump().span;
            return Ok(Expr { kind: ExprKind::Default, span });
        }
        self.scalar()
    }

    pub(super) fn boxed_scalar(&mut self) -> P<Box<Expr>> {
        self.scalar().map(Box::new)
    }

    pub(super) fn node(&self, kind: ExprKind, start: Span) -> Expr {
        Expr { kind, span: self.since(start) }
    }

    fn require_condition(&self, expr: Expr) -> P<Expr> {
        if expr.is_condition() {
            return Ok(expr);
        }
        if self.at_tok(Tok::Bad) {
            return Err(self.unexpected());
        }
        let (line, near) = self.near_at(0);
        Err(SyntaxError::not_a_condition(line, &near))
    }

    /// All operators that bind at least as tight as `min`.
    fn binary(&mut self, min: u8) -> P<Expr> {
        self.nest(|p| p.chain(|p| p.binary_chain(min)))
    }

    fn binary_chain(&mut self, min: u8) -> P<Expr> {
        let start = self.peek().span;
        let mut left = self.prefix(min)?;
        loop {
            let condition = left.is_condition();
            let level = self.infix_level();
            if level < min || level == 0 || (condition && level > AND) {
                return Ok(left);
            }
            left = match level {
                OR | AND => self.junction(left, level, start)?,
                COMPARE => self.predicate(left, start)?,
                _ => self.arithmetic(left, level, start)?,
            };
            self.deepen()?;
        }
    }

    /// Precedence of the operator at hand; zero when there is none.
    fn infix_level(&self) -> u8 {
        match self.kind() {
            Tok::Plus | Tok::Minus | Tok::Amp | Tok::Pipe | Tok::Caret | Tok::DoublePipe => ADD,
            Tok::ShiftLeft | Tok::ShiftRight => ADD,
            Tok::Star | Tok::Slash | Tok::Percent => MULTIPLY,
            Tok::Eq | Tok::NotEq | Tok::Less | Tok::LessEq | Tok::Greater | Tok::GreaterEq => {
                COMPARE
            }
            Tok::Bang if matches!(self.peek_at(1).kind, Tok::Eq | Tok::Less | Tok::Greater) => {
                COMPARE
            }
            Tok::Reserved => {
                if self.at("AND") {
                    AND
                } else if self.at("OR") {
                    OR
                } else if self.at_any(&["IS", "IN", "LIKE", "BETWEEN"])
                    || (self.at("NOT")
                        && ["IN", "LIKE", "BETWEEN"].iter().any(|w| self.at_word(1, w)))
                {
                    COMPARE
                } else {
                    0
                }
            }
            _ => 0,
        }
    }

    /// `NOT`, signs, and operands.
    fn prefix(&mut self, min: u8) -> P<Expr> {
        let start = self.peek().span;
        match self.kind() {
            Tok::Minus => self.unary(UnaryOp::Minus, MULTIPLY),
            Tok::Plus => self.unary(UnaryOp::Plus, MULTIPLY),
            Tok::Tilde => self.unary(UnaryOp::BitNot, UNARY),
            Tok::Reserved if min <= NOT && self.at("NOT") => {
                self.bump();
                let operand = self.binary(NOT)?;
                let operand = self.require_condition(operand)?;
                Ok(self.node(ExprKind::Not(Box::new(operand)), start))
            }
            Tok::LParen if min <= COMPARE => {
                let inner = self.parenthesised(Self::either)?;
                if inner.is_condition() { Ok(inner) } else { self.postfix(inner, start) }
            }
            _ => {
                let operand = self.operand(min <= COMPARE)?;
                if operand.is_condition() { Ok(operand) } else { self.postfix(operand, start) }
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, level: u8) -> P<Expr> {
        let start = self.bump().span;
        let operand = Box::new(self.binary(level)?);
        Ok(self.node(ExprKind::Unary { op, operand }, start))
    }

    /// A constant or variable with an optional sign.
    pub(super) fn signed_operand(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let op = match self.kind() {
            Tok::Minus => UnaryOp::Minus,
            Tok::Plus => UnaryOp::Plus,
            _ => return self.operand(false),
        };
        self.bump();
        let Some(operand) = self.opt_literal() else { return Err(self.unexpected()) };
        Ok(self.node(ExprKind::Unary { op, operand: Box::new(operand) }, start))
    }

    /// `( rule )`, where a query takes the place of the rule.
    pub(super) fn parenthesised(&mut self, rule: impl FnOnce(&mut Self) -> P<Expr>) -> P<Expr> {
        let start = self.expect_tok(Tok::LParen)?.span;
        if self.at("SELECT") || self.at("WITH") {
            let query = self.subquery()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(self.node(ExprKind::Subquery(Box::new(query)), start));
        }
        let mut inner = rule(self)?;
        if let ExprKind::Subquery(query) = inner.kind {
            // `((SELECT 1) UNION (SELECT 2))`: what looked like a value was the first part of a
            // query.
            let query = self.continue_query(query, start)?;
            inner.kind = ExprKind::Subquery(query);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(inner)
    }

    /// COLLATE, AT TIME ZONE and method calls.
    fn postfix(&mut self, mut left: Expr, start: Span) -> P<Expr> {
        loop {
            let kind = match self.kind() {
                Tok::Reserved if self.at("COLLATE") => {
                    self.bump();
                    let collation = self.ident_or_keyword()?;
                    ExprKind::Collate { operand: Box::new(left), collation }
                }
                Tok::Word if self.at_seq(&["AT", "TIME", "ZONE"]) => {
                    self.eat_seq(&["AT", "TIME", "ZONE"]);
                    let zone = Box::new(self.nest(|p| p.operand(false))?);
                    ExprKind::AtTimeZone { operand: Box::new(left), zone }
                }
                Tok::Dot if self.is_ident(1) && self.peek_at(2).kind == Tok::LParen => {
                    self.bump();
                    let method = self.ident()?;
                    let args = self.arguments()?;
                    ExprKind::Method {
                        target: Box::new(left),
                        method,
                        args,
                        prolog: self.prolog.clone(),
                    }
                }
                _ => return Ok(left),
            };
            left = self.node(kind, start);
            self.deepen()?;
        }
    }

    /// `left OR b OR c` and the same with AND: one flat node.
    fn junction(&mut self, left: Expr, level: u8, start: Span) -> P<Expr> {
        let word = if level == OR { "OR" } else { "AND" };
        let mut operands = vec![self.require_condition(left)?];
        while self.eat(word) {
            let next = self.binary(level + 1)?;
            operands.push(self.require_condition(next)?);
        }
        let kind = if level == OR { ExprKind::Or(operands) } else { ExprKind::And(operands) };
        Ok(self.node(kind, start))
    }

    fn arithmetic(&mut self, left: Expr, level: u8, start: Span) -> P<Expr> {
        let operator = self.bump();
        let op = match operator.kind {
            // Other names of functions.
            Tok::ShiftLeft => return self.shift(left, "LEFT_SHIFT", operator.span, start),
            Tok::ShiftRight => return self.shift(left, "RIGHT_SHIFT", operator.span, start),
            Tok::Plus => BinaryOp::Add,
            Tok::Minus => BinaryOp::Subtract,
            Tok::Amp => BinaryOp::BitAnd,
            Tok::Pipe => BinaryOp::BitOr,
            Tok::Caret => BinaryOp::BitXor,
            Tok::DoublePipe => BinaryOp::Concat,
            Tok::Star => BinaryOp::Multiply,
            Tok::Slash => BinaryOp::Divide,
            _ => BinaryOp::Modulo,
        };
        let right = Box::new(self.binary(level + 1)?);
        Ok(self.node(ExprKind::Binary { op, left: Box::new(left), right }, start))
    }

    /// `left << right`: a call of LEFT_SHIFT, or RIGHT_SHIFT.
    fn shift(&mut self, left: Expr, name: &str, span: Span, start: Span) -> P<Expr> {
        let right = self.binary(ADD + 1)?;
        let name = Ident { value: name.into(), quoted: false, span };
        let name = ObjectName { server: None, database: None, schema: None, name };
        let mut call = super::function::call_of(name);
        call.args = vec![left, right];
        Ok(self.node(ExprKind::Function(Box::new(call)), start))
    }

    /// What makes a condition of the scalar `left`.
    pub(super) fn predicate(&mut self, left: Expr, start: Span) -> P<Expr> {
        let left = Box::new(left);
        if self.at("IS") {
            return self.is_test(left, start);
        }
        let negated = self.eat("NOT");
        let kind = if self.eat("IN") {
            return self.in_test(left, negated, start);
        } else if self.eat("LIKE") {
            let pattern = self.boxed_scalar()?;
            let escape = self.opt_escape()?;
            ExprKind::Like { operand: left, pattern, escape, negated }
        } else if self.eat("BETWEEN") {
            let low = self.boxed_scalar()?;
            self.expect("AND")?;
            ExprKind::Between { operand: left, low, high: self.boxed_scalar()?, negated }
        } else {
            let op = self.compare_op()?;
            return self.compared(op, left, start);
        };
        Ok(self.node(kind, start))
    }

    fn is_test(&mut self, left: Box<Expr>, start: Span) -> P<Expr> {
        self.expect("IS")?;
        let negated = self.eat("NOT");
        let kind = if self.eat("NULL") {
            ExprKind::IsNull { operand: left, negated }
        } else {
            self.expect_seq(&["DISTINCT", "FROM"])?;
            ExprKind::IsDistinct { left, right: self.boxed_scalar()?, negated }
        };
        Ok(self.node(kind, start))
    }

    fn in_test(&mut self, operand: Box<Expr>, negated: bool, start: Span) -> P<Expr> {
        self.expect_tok(Tok::LParen)?;
        let kind = if self.at("SELECT") {
            ExprKind::InQuery { operand, query: Box::new(self.subquery()?), negated }
        } else {
            let mut list = self.list(Self::scalar)?;
            let last = if list.len() == 1 { list.pop() } else { None };
            match last {
                // `IN ((SELECT a FROM t))` asks for all rows as without the inner parentheses.
                Some(Expr { kind: ExprKind::Subquery(query), .. }) => {
                    let query = self.continue_query(query, start)?;
                    ExprKind::InQuery { operand, query, negated }
                }
                last => {
                    list.extend(last);
                    ExprKind::InList { operand, list, negated }
                }
            }
        };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(kind, start))
    }

    /// A comparison operator; T-SQL lets blanks stand between its two characters.
    fn compare_op(&mut self) -> P<CompareOp> {
        let first = self.bump().kind;
        let second = self.kind();
        let (op, two) = match (first, second) {
            (Tok::Less, Tok::Eq) | (Tok::Bang, Tok::Greater) => (CompareOp::LessEqual, true),
            (Tok::Greater, Tok::Eq) | (Tok::Bang, Tok::Less) => (CompareOp::GreaterEqual, true),
            (Tok::Less, Tok::Greater) | (Tok::Bang, Tok::Eq) => (CompareOp::NotEqual, true),
            (Tok::Eq, _) => (CompareOp::Equal, false),
            (Tok::NotEq, _) => (CompareOp::NotEqual, false),
            (Tok::Less, _) => (CompareOp::Less, false),
            (Tok::LessEq, _) => (CompareOp::LessEqual, false),
            (Tok::Greater, _) => (CompareOp::Greater, false),
            (Tok::GreaterEq, _) => (CompareOp::GreaterEqual, false),
            _ => return Err(self.unexpected()),
        };
        if two {
            self.bump();
        }
        Ok(op)
    }

    fn compared(&mut self, op: CompareOp, left: Box<Expr>, start: Span) -> P<Expr> {
        if self.at_any(&["ALL", "ANY", "SOME"]) {
            let all = self.at("ALL");
            self.bump();
            let query = self.parenthesised_query()?;
            return Ok(self.node(ExprKind::Quantified { op, left, all, query }, start));
        }
        let right = self.boxed_scalar()?;
        Ok(self.node(ExprKind::Compare { op, left, right }, start))
    }

    /// `CASE`, both forms.
    pub(super) fn case(&mut self) -> P<Expr> {
        let start = self.expect("CASE")?.span;
        let operand = if self.at("WHEN") { None } else { Some(self.boxed_scalar()?) };
        let mut branches = Vec::new();
        while self.eat("WHEN") {
            let when = if operand.is_some() { self.scalar()? } else { self.condition()? };
            self.expect("THEN")?;
            branches.push(CaseBranch { when, then: self.scalar()? });
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat("ELSE") { Some(self.boxed_scalar()?) } else { None };
        self.expect("END")?;
        Ok(self.node(ExprKind::Case { operand, branches, otherwise }, start))
    }
}
