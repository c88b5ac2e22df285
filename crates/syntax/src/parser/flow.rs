//! Control of flow: IF, WHILE, blocks, TRY, RETURN, GOTO, WAITFOR, PRINT, RAISERROR, THROW.

use super::{P, Parser};
use crate::ast::{BeginTransaction, RaisError, Span, Stmt, StmtKind, ThrowArgs, WaitFor};
use crate::error::SyntaxError;
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn flow_statement(&mut self, word: &str) -> P<StmtKind> {
        match word {
            "IF" => self.if_statement(),
            "WHILE" => self.while_statement(),
            "RAISERROR" => self.raiserror(),
            _ => self.plain_flow_statement(word),
        }
    }

    /// The statements that contain no statement.
    fn plain_flow_statement(&mut self, word: &str) -> P<StmtKind> {
        self.bump();
        Ok(match word {
            "BREAK" => StmtKind::Break,
            "CONTINUE" => StmtKind::Continue,
            "RETURN" if !self.at_expression() => StmtKind::Return(None),
            "RETURN" if !self.returns => {
                return Err(SyntaxError::no_return_value(self.peek().span.line));
            }
            "RETURN" => StmtKind::Return(Some(self.scalar()?)),
            "GOTO" => StmtKind::Goto(self.ident()?),
            "PRINT" => StmtKind::Print(self.without_subquery(Self::scalar)?),
            _ => {
                if self.at_tok(Tok::LParen) {
                    return self.foreign_wait();
                }
                let delay = self.eat("DELAY");
                if !delay {
                    self.expect("TIME")?;
                }
                let value = self.constant_or_variable()?;
                StmtKind::WaitFor(if delay { WaitFor::Delay(value) } else { WaitFor::Time(value) })
            }
        })
    }

    /// What a rule reads, where it has no subquery. SELECT is in no other expression.
    fn without_subquery<T>(&mut self, rule: impl FnOnce(&mut Self) -> P<T>) -> P<T> {
        let start = self.pos;
        let read = rule(self)?;
        match (start..self.pos).map(|at| self.at_index(at)).find(|token| {
            token.kind == Tok::Reserved && self.text_of(*token).eq_ignore_ascii_case("SELECT")
        }) {
            None => Ok(read),
            Some(token) => Err(SyntaxError::no_subqueries(token.span.line)),
        }
    }

    fn while_statement(&mut self) -> P<StmtKind> {
        self.expect("WHILE")?;
        let condition = self.condition()?;
        let body = self.boxed_statement()?;
        Ok(StmtKind::While { condition, body })
    }

    fn boxed_statement(&mut self) -> P<Box<Stmt>> {
        self.statement().map(Box::new)
    }

    /// IF with all its ELSE IFs: a loop, because such chains are long in practice.
    fn if_statement(&mut self) -> P<StmtKind> {
        self.chain(|p| {
            let mut arms = Vec::new();
            let mut otherwise = None;
            loop {
                let start = p.expect("IF")?.span;
                let condition = p.condition()?;
                arms.push((start, condition, p.boxed_statement()?));
                if !p.eat_else() {
                    break;
                }
                if !p.at("IF") {
                    otherwise = Some(p.boxed_statement()?);
                    break;
                }
                p.deepen()?;
            }
            let end = p.since(Span::default()).end;
            while let Some((start, condition, then)) = arms.pop() {
                let kind = StmtKind::If { condition, then, otherwise: otherwise.take() };
                if arms.is_empty() {
                    return Ok(kind);
                }
                otherwise = Some(Box::new(Stmt { kind, span: Span { end, ..start } }));
            }
            Err(p.unexpected())
        })
    }

    /// ELSE, also after semicolons, which do not end the IF.
    fn eat_else(&mut self) -> bool {
        let mut ahead = 0;
        while self.peek_at(ahead).kind == Tok::Semi {
            ahead += 1;
        }
        let found = self.at_word(ahead, "ELSE");
        if found {
            for _ in 0..=ahead {
                self.bump();
            }
        }
        found
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
            | Tok::Plus
            | Tok::Minus
            | Tok::Tilde
            | Tok::Quoted
            | Tok::DoubleColon => true,
            // `{call p}` is a statement.
            Tok::LBrace => !self.at_word(1, "CALL") && self.peek_at(1).kind != Tok::Variable,
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
        self.block()
    }

    /// Behind the word BEGIN.
    fn block(&mut self) -> P<StmtKind> {
        self.foreign_atomic()?;
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

    fn raiserror(&mut self) -> P<StmtKind> {
        self.expect("RAISERROR")?;
        self.expect_tok(Tok::LParen)?;
        let mut args = self.list(Self::constant_or_variable)?;
        self.expect_tok(Tok::RParen)?;
        if args.len() < 3 {
            let line = self.at_index(self.pos.saturating_sub(1)).span.line;
            return Err(SyntaxError::near(line, ")"));
        }
        let rest = args.split_off(3);
        let (Some(state), Some(severity), Some(message)) = (args.pop(), args.pop(), args.pop())
        else {
            return Err(self.unexpected());
        };
        let mut error = RaisError {
            message,
            severity,
            state,
            args: rest,
            log: false,
            no_wait: false,
            set_error: false,
        };
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
