//! Batches, blocks and the dispatch by a statement's first word.

use super::{P, Parser};
use crate::ast::{PermissionVerb, Stmt, StmtKind, Truncate};
use crate::error::SyntaxError;
use crate::lexer::Tok;
use messages as msg;

impl Parser<'_> {
    /// The whole batch.
    pub(super) fn batch(&mut self) -> P<Vec<Stmt>> {
        let mut statements = Vec::new();
        // The first word may be a procedure's name, without EXEC.
        while self.eat_tok(Tok::Semi) {}
        if self.at_bare_call() {
            let start = self.peek().span;
            let execute = self.nest(Self::bare_call)?;
            let kind = StmtKind::Execute(Box::new(execute));
            statements.push(Stmt { kind, span: self.since(start) });
        }
        self.statements_into(&mut statements, |p| p.at_tok(Tok::Eof))?;
        if self.at_tok(Tok::Eof) { Ok(statements) } else { Err(self.unexpected()) }
    }

    /// Statements up to where `done` says, which is not taken.
    pub(super) fn statements(&mut self, done: impl Fn(&Self) -> bool) -> P<Vec<Stmt>> {
        let mut statements = Vec::new();
        self.statements_into(&mut statements, done)?;
        Ok(statements)
    }

    fn statements_into(&mut self, list: &mut Vec<Stmt>, done: impl Fn(&Self) -> bool) -> P<()> {
        loop {
            let mut terminated = list.is_empty();
            while self.eat_tok(Tok::Semi) {
                terminated = true;
            }
            if done(self) {
                return Ok(());
            }
            if !terminated && self.at("WITH") {
                return Err(SyntaxError::with_after_statement(self.peek().span.line));
            }
            list.push(self.statement()?);
        }
    }

    /// One statement.
    pub(super) fn statement(&mut self) -> P<Stmt> {
        self.nest(|p| {
            while p.eat_tok(Tok::Semi) {}
            p.prolog.clear();
            p.namespaces.clear();
            let start = p.peek().span;
            if let Some(kind) = p.foreign_statement() {
                return Ok(Stmt { kind, span: p.since(start) });
            }
            if let Some(command) = p.command()? {
                return Ok(Stmt { kind: StmtKind::Command(command), span: p.since(start) });
            }
            let around = p.foreign.take();
            let kind = match p.kind() {
                Tok::Reserved => p.reserved_statement()?,
                Tok::Word => p.word_statement()?,
                Tok::Quoted if p.peek_at(1).kind == Tok::Colon => p.label()?,
                Tok::LParen if p.at_query() => p.select_statement()?,
                Tok::LBrace => p.odbc_call()?,
                _ => return Err(p.unexpected()),
            };
            let kind = p.foreign.take().map_or(kind, StmtKind::Foreign);
            p.foreign = around;
            Ok(Stmt { kind, span: p.since(start) })
        })
    }

    /// Statements whose first word is reserved.
    fn reserved_statement(&mut self) -> P<StmtKind> {
        let word = self.text_of(self.peek()).to_ascii_uppercase();
        match word.as_str() {
            "SELECT" => self.select_statement(),
            "WITH" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "BULK" | "TRUNCATE" => {
                self.data_statement()
            }
            "DECLARE" => self.declare(),
            "SET" => self.set(),
            "IF" | "WHILE" | "BREAK" | "CONTINUE" | "RETURN" | "GOTO" | "WAITFOR" | "PRINT"
            | "RAISERROR" => self.flow_statement(&word),
            "BEGIN" => self.begin(),
            "COMMIT" | "ROLLBACK" | "SAVE" => self.transaction_statement(&word),
            "EXEC" | "EXECUTE" => self.execute_statement(),
            "OPEN" | "FETCH" | "CLOSE" | "DEALLOCATE" => self.cursor_statement(&word),
            "USE" | "REVERT" | "GRANT" | "REVOKE" | "DENY" => self.short_statement(&word),
            "CREATE" => self.create(),
            "ALTER" => self.alter(),
            "DROP" => self.drop_statement(),
            "ADD" => self.add_classification(),
            "DBCC" | "BACKUP" | "RESTORE" | "SHUTDOWN" | "DUMP" | "LOAD" => {
                self.admin_statement(&word)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn select_statement(&mut self) -> P<StmtKind> {
        Ok(StmtKind::Select(Box::new(self.query_statement()?)))
    }

    fn short_statement(&mut self, word: &str) -> P<StmtKind> {
        let verb = match word {
            "USE" => {
                self.bump();
                return Ok(StmtKind::Use(self.ident()?));
            }
            "REVERT" => {
                self.bump();
                let mut cookie = None;
                if self.eat_seq(&["WITH", "COOKIE"]) {
                    self.expect_tok(Tok::Eq)?;
                    cookie = Some(self.variable()?);
                }
                return Ok(StmtKind::Revert { cookie });
            }
            "GRANT" => PermissionVerb::Grant,
            "REVOKE" => PermissionVerb::Revoke,
            _ => PermissionVerb::Deny,
        };
        Ok(StmtKind::Permission(Box::new(self.permission(verb)?)))
    }

    fn data_statement(&mut self) -> P<StmtKind> {
        if self.at_seq(&["UPDATE", "STATISTICS"]) {
            return self.update_statistics();
        }
        if self.at_seq(&["INSERT", "BULK"]) {
            return self.insert_bulk();
        }
        if self.at("BULK") {
            return self.bulk_insert();
        }
        if self.at("TRUNCATE") {
            self.expect_seq(&["TRUNCATE", "TABLE"])?;
            let table = self.object_name()?;
            return Ok(StmtKind::Truncate(Truncate { table, options: self.opt_with_options()? }));
        }
        let start = self.peek().span;
        let ctes = if self.at("WITH") {
            let ctes = self.opt_ctes()?;
            if ctes.is_empty() && self.prolog.is_empty() && self.foreign.is_none() {
                return Err(self.unexpected());
            }
            ctes
        } else {
            Vec::new()
        };
        if self.at("SELECT") || self.at_tok(Tok::LParen) {
            return Ok(StmtKind::Select(Box::new(self.query_after_ctes(ctes, start)?)));
        }
        if self.eat("INSERT") {
            self.insert(ctes)
        } else if self.eat("UPDATE") {
            self.update(ctes)
        } else if self.eat("DELETE") {
            self.delete(ctes)
        } else {
            self.expect("MERGE")?;
            self.merge(ctes)
        }
    }

    /// Statements whose first word is not reserved, and labels.
    fn word_statement(&mut self) -> P<StmtKind> {
        if self.peek_at(1).kind == Tok::Colon {
            return self.label();
        }
        if self.eat("THROW") {
            return self.throw();
        }
        if self.at_any(&["ENABLE", "DISABLE"]) && self.at_word(1, "TRIGGER") {
            return self.switch_trigger();
        }
        Err(self.unexpected())
    }

    fn label(&mut self) -> P<StmtKind> {
        let name = self.ident()?;
        self.expect_tok(Tok::Colon)?;
        Ok(StmtKind::Label(name))
    }

    /// Whether the batch begins with a procedure's name.
    fn at_bare_call(&self) -> bool {
        if !self.at_ident() || self.peek_at(1).kind == Tok::Colon {
            return false;
        }
        let statement = self.at("THROW")
            || self.at_foreign()
            || self.at_command()
            || (self.at_any(&["ENABLE", "DISABLE"]) && self.at_word(1, "TRIGGER"));
        !statement
    }

    /// A view or function is alone in its batch: nothing may follow but semicolons.
    pub(super) fn must_be_last(&self) -> P<()> {
        let mut ahead = 0;
        while self.peek_at(ahead).kind == Tok::Semi {
            ahead += 1;
        }
        if self.peek_at(ahead).kind == Tok::Eof { Ok(()) } else { Err(self.unexpected_at(ahead)) }
    }

    /// Error 111: the statement at hand must be alone at the start of its batch.
    pub(super) fn must_be_first(&self, what: &str, verb: usize) -> P<()> {
        let mut before = self.tokens.list.iter().take(verb);
        if before.all(|token| token.kind == Tok::Semi) {
            return Ok(());
        }
        let line = self.at_index(verb).span.line;
        Err(SyntaxError::of(msg::MUST_BE_FIRST_IN_BATCH, line, [&what]))
    }
}
