//! Control of flow: IF, WHILE, blocks, TRY, RETURN, GOTO, WAITFOR, PRINT, RAISERROR, THROW.

use super::{P, Parser};
use crate::ast::{BeginTransaction, RaisError, StmtKind, ThrowArgs, WaitFor};
use crate::error::SyntaxError;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn flow_statement(&mut self, word: &str) -> P<StmtKind> {
        self.bump();
        match word {
            "IF" => self.if_statement(),
            "WHILE" => {
                let condition = self.condition()?;
                Ok(StmtKind::While { condition, body: Box::new(self.statement()?) })
            }
            "BREAK" => Ok(StmtKind::Break),
            "CONTINUE" => Ok(StmtKind::Continue),
            "RETURN" => {
                let value = if self.at_expression() { Some(self.scalar()?) } else { None };
                Ok(StmtKind::Return(value))
            }
            "GOTO" => Ok(StmtKind::Goto(self.ident()?)),
            "WAITFOR" => {
                if self.eat("DELAY") {
                    return Ok(StmtKind::WaitFor(WaitFor::Delay(self.constant_or_variable()?)));
                }
                self.expect("TIME")?;
                Ok(StmtKind::WaitFor(WaitFor::Time(self.constant_or_variable()?)))
            }
            "PRINT" => Ok(StmtKind::Print(self.scalar()?)),
            _ => self.raiserror(),
        }
    }

    fn if_statement(&mut self) -> P<StmtKind> {
        let condition = self.condition()?;
        let then = Box::new(self.statement()?);
        // Semicolons before ELSE do not end the IF.
        let mut ahead = 0;
        while self.peek_at(ahead).kind == Tok::Semi {
            ahead += 1;
        }
        let mut otherwise = None;
        if self.at_word(ahead, "ELSE") {
            for _ in 0..=ahead {
                self.bump();
            }
            otherwise = Some(Box::new(self.statement()?));
        }
        Ok(StmtKind::If { condition, then, otherwise })
    }

    /// Whether a value can begin here, where a statement could as well.
    fn at_expression(&self) -> bool {
        match self.kind() {
            Tok::Integer
            | Tok::Decimal
            | Tok::Float
            | Tok::Money
            | Tok::Binary
            | Tok::Str
            | Tok::NStr
            | Tok::Variable
            | Tok::LParen
            | Tok::LBrace
            | Tok::Plus
            | Tok::Minus
            | Tok::Tilde
            | Tok::Quoted
            | Tok::DoubleColon => true,
            Tok::Word => self.peek_at(1).kind != Tok::Colon && !self.at("THROW"),
            Tok::Reserved => self.at_any(&[
                "NULL",
                "CASE",
                "CONVERT",
                "TRY_CONVERT",
                "COALESCE",
                "NULLIF",
                "LEFT",
                "RIGHT",
                "USER",
                "CURRENT_USER",
                "SESSION_USER",
                "SYSTEM_USER",
                "CURRENT_TIMESTAMP",
            ]),
            _ => false,
        }
    }

    /// BEGIN: a transaction, TRY, or a block.
    pub(super) fn begin(&mut self) -> P<StmtKind> {
        self.bump();
        if self.eat("DISTRIBUTED") {
            if !self.eat("TRAN") {
                self.expect("TRANSACTION")?;
            }
            return self.begin_transaction(true);
        }
        if self.eat("TRAN") || self.eat("TRANSACTION") {
            return self.begin_transaction(false);
        }
        if self.eat("TRY") {
            return self.try_catch();
        }
        let body = self.statements(|p| p.at("END"))?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.expect("END")?;
        Ok(StmtKind::Block(body))
    }

    fn begin_transaction(&mut self, distributed: bool) -> P<StmtKind> {
        let name = self.opt_transaction_name()?;
        let mut mark = None;
        if self.eat_seq(&["WITH", "MARK"]) {
            let described = matches!(self.kind(), Tok::Str | Tok::NStr);
            mark = Some(if described { self.string()? } else { Default::default() });
        }
        Ok(StmtKind::BeginTransaction(BeginTransaction { distributed, name, mark }))
    }

    fn try_catch(&mut self) -> P<StmtKind> {
        let body = self.statements(|p| p.at("END"))?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_seq(&["END", "TRY", "BEGIN", "CATCH"])?;
        let catch = self.statements(|p| p.at("END"))?;
        self.expect_seq(&["END", "CATCH"])?;
        Ok(StmtKind::TryCatch { body, catch })
    }

    /// From the parenthesis on.
    fn raiserror(&mut self) -> P<StmtKind> {
        self.expect_tok(Tok::LParen)?;
        let mut args = self.list(Self::constant_or_variable)?;
        self.expect_tok(Tok::RParen)?;
        if args.len() < 3 {
            let line = self.at_index(self.pos.saturating_sub(1)).span.line;
            return Err(SyntaxError::near(line, ")"));
        }
        let rest = args.split_off(3);
        let (Some(state), Some(severity), Some(message)) = (args.pop(), args.pop(), args.pop()) else {
            return Err(self.unexpected());
        };
        let mut error =
            RaisError { message, severity, state, args: rest, log: false, no_wait: false, set_error: false };
        if self.eat("WITH") {
            loop {
                if self.eat("LOG") {
                    error.log = true;
                } else if self.eat("NOWAIT") {
                    error.no_wait = true;
                } else {
                    self.expect("SETERROR")?;
                    error.set_error = true;
                }
                if !self.eat_tok(Tok::Comma) {
                    break;
                }
            }
        }
        Ok(StmtKind::RaisError(Box::new(error)))
    }

    /// Behind the word THROW.
    pub(super) fn throw(&mut self) -> P<StmtKind> {
        if !matches!(self.kind(), Tok::Integer | Tok::Variable) {
            return Ok(StmtKind::Throw(None));
        }
        let number = self.constant_or_variable()?;
        self.expect_tok(Tok::Comma)?;
        let message = self.constant_or_variable()?;
        self.expect_tok(Tok::Comma)?;
        let state = self.constant_or_variable()?;
        Ok(StmtKind::Throw(Some(Box::new(ThrowArgs { number, message, state }))))
    }
}
