//! Variables, session options, transactions and cursors.

use super::{P, Parser};
use crate::ast::{
    AssignOp, Commit, CursorDef, Declaration, DeclareCursor, Expr, ExprKind, Fetch, FetchFrom,
    Ident, IsolationLevel, MODIFY, NameOrVariable, SetOption, SetValue, SetVariable, StmtKind,
};
use crate::error::SyntaxError;
use crate::lexer::Tok;
use compact_str::CompactString;
use messages as msg;

/// Options that are ON or OFF.
const SWITCHES: &[&str] = &[
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
];

/// Options that have a value.
const VALUED: &[&str] = &[
    "CONTEXT_INFO",
    "DATEFIRST",
    "DATEFORMAT",
    "DEADLOCK_PRIORITY",
    "FIPS_FLAGGER",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "QUERY_GOVERNOR_COST_LIMIT",
    "ROWCOUNT",
    "TEXTSIZE",
];

/// Words between CURSOR and FOR, and two before CURSOR.
const CURSOR_OPTIONS: &[&str] = &[
    "LOCAL",
    "GLOBAL",
    "FORWARD_ONLY",
    "SCROLL",
    "STATIC",
    "KEYSET",
    "DYNAMIC",
    "FAST_FORWARD",
    "READ_ONLY",
    "SCROLL_LOCKS",
    "OPTIMISTIC",
    "TYPE_WARNING",
    "INSENSITIVE",
];

impl Parser<'_> {
    // ---- variables ----

    pub(super) fn declare(&mut self) -> P<StmtKind> {
        self.expect("DECLARE")?;
        if !self.at_tok(Tok::Variable) {
            let name = self.ident()?;
            return Ok(StmtKind::DeclareCursor(Box::new(DeclareCursor {
                name,
                cursor: self.cursor_def()?,
            })));
        }
        Ok(StmtKind::Declare(self.list(Self::declaration)?))
    }

    fn declaration(&mut self) -> P<Declaration> {
        let start = self.peek().span;
        let name = self.variable()?;
        self.eat("AS");
        if self.eat("TABLE") {
            let elements = self.table_elements()?;
            return Ok(Declaration::Table { name, elements, span: self.since(start) });
        }
        if self.eat("CURSOR") {
            return Ok(Declaration::Cursor { name, span: self.since(start) });
        }
        let data_type = Box::new(self.type_name()?);
        let value = if self.eat_tok(Tok::Eq) { Some(self.scalar()?) } else { None };
        Ok(Declaration::Scalar { name, data_type, value, span: self.since(start) })
    }

    pub(super) fn set(&mut self) -> P<StmtKind> {
        self.expect("SET")?;
        if self.at_tok(Tok::Variable) {
            return self.set_variable();
        }
        if self.eat("TRANSACTION") {
            self.expect_seq(&["ISOLATION", "LEVEL"])?;
            return Ok(StmtKind::SetOption(SetOption::IsolationLevel(self.isolation_level()?)));
        }
        if self.eat("IDENTITY_INSERT") {
            let table = self.object_name()?;
            let on = self.on_off()?;
            return Ok(StmtKind::SetOption(SetOption::IdentityInsert { table, on }));
        }
        if self.eat("STATISTICS") {
            let names = self.list(Self::upper_word)?;
            let on = self.on_off()?;
            return Ok(StmtKind::SetOption(SetOption::Statistics { names, on }));
        }
        if self.eat("OFFSETS") {
            self.list(Self::upper_word)?;
            let on = self.on_off()?;
            return Ok(StmtKind::SetOption(SetOption::Switch {
                names: vec!["OFFSETS".into()],
                on,
            }));
        }
        self.set_option()
    }

    fn set_variable(&mut self) -> P<StmtKind> {
        let start = self.peek().span;
        let name = self.variable()?;
        if self.at_tok(Tok::Dot) && self.is_ident(1) && self.peek_at(2).kind == Tok::LParen {
            // `SET @x.modify(...)`: the variable becomes what the method gives.
            self.bump();
            let method = self.ident()?;
            if method.value != "modify" {
                self.mark_foreign("A method of a type of .NET");
            }
            let method = Ident { value: MODIFY.into(), ..method };
            let args = self.arguments()?;
            let target = Box::new(self.node(ExprKind::Variable(name.clone()), start));
            let prolog = self.prolog.clone();
            let value =
                SetValue::Expr(self.node(ExprKind::Method { target, method, args, prolog }, start));
            return Ok(StmtKind::SetVariable(SetVariable { name, op: AssignOp::Set, value }));
        }
        if self.at_tok(Tok::Dot) {
            self.foreign_member()?;
            let value = SetValue::Expr(self.node(ExprKind::Variable(name.clone()), start));
            return Ok(StmtKind::SetVariable(SetVariable { name, op: AssignOp::Set, value }));
        }
        let op = self.assign_op()?;
        let value = if self.at("CURSOR") {
            SetValue::Cursor(Box::new(self.cursor_def()?))
        } else {
            SetValue::Expr(self.scalar()?)
        };
        Ok(StmtKind::SetVariable(SetVariable { name, op, value }))
    }

    fn isolation_level(&mut self) -> P<IsolationLevel> {
        if self.eat("SERIALIZABLE") {
            Ok(IsolationLevel::Serializable)
        } else if self.eat("SNAPSHOT") {
            Ok(IsolationLevel::Snapshot)
        } else if self.eat("REPEATABLE") {
            self.expect("READ")?;
            Ok(IsolationLevel::RepeatableRead)
        } else {
            self.expect("READ")?;
            if self.eat("UNCOMMITTED") {
                return Ok(IsolationLevel::ReadUncommitted);
            }
            self.expect("COMMITTED")?;
            Ok(IsolationLevel::ReadCommitted)
        }
    }

    fn set_option(&mut self) -> P<StmtKind> {
        if !matches!(self.kind(), Tok::Word | Tok::Reserved) {
            return Err(self.unexpected());
        }
        if self.at_any(VALUED) {
            let name = self.upper_word()?;
            let value = self.set_value()?;
            return Ok(StmtKind::SetOption(SetOption::Value { name, value }));
        }
        let names = self.list(|p| {
            let token = p.peek();
            if p.at_any(SWITCHES) {
                return p.upper_word();
            }
            if token.kind != Tok::Word {
                return Err(p.unexpected());
            }
            let text = p.text_of(token);
            Err(SyntaxError::of(msg::NOT_RECOGNIZED, token.span.line, [&text, &"SET option"]))
        })?;
        let on = self.on_off()?;
        Ok(StmtKind::SetOption(SetOption::Switch { names, on }))
    }

    /// A constant, a variable, or a bare word such as LOW, dmy or us_english.
    fn set_value(&mut self) -> P<Expr> {
        let start = self.peek().span;
        if self.at_ident() || self.at("OFF") {
            let column = crate::ast::ColumnRef { qualifier: None, name: self.take_ident() };
            return Ok(self.node(ExprKind::Column(column), start));
        }
        self.constant_or_variable()
    }

    // ---- transactions ----

    pub(super) fn transaction_statement(&mut self, word: &str) -> P<StmtKind> {
        self.bump();
        match word {
            "COMMIT" => self.commit(),
            "ROLLBACK" => {
                if self.eat("TRAN") || self.eat("TRANSACTION") {
                    return Ok(StmtKind::Rollback(self.opt_transaction_name()?));
                }
                self.eat("WORK");
                Ok(StmtKind::Rollback(None))
            }
            _ => {
                if !self.eat("TRAN") {
                    self.expect("TRANSACTION")?;
                }
                Ok(StmtKind::SaveTransaction(self.name_or_variable()?))
            }
        }
    }

    /// A name or variable when one follows; a label is not one.
    pub(super) fn opt_transaction_name(&mut self) -> P<Option<NameOrVariable>> {
        if self.at_tok(Tok::Variable) || self.at_alias() {
            self.name_or_variable().map(Some)
        } else {
            Ok(None)
        }
    }

    fn commit(&mut self) -> P<StmtKind> {
        let mut name = None;
        if self.eat("TRAN") || self.eat("TRANSACTION") {
            name = self.opt_transaction_name()?;
        } else {
            self.eat("WORK");
        }
        let mut delayed_durability = None;
        if self.at("WITH") && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            self.expect_tok(Tok::LParen)?;
            self.expect("DELAYED_DURABILITY")?;
            self.expect_tok(Tok::Eq)?;
            delayed_durability = Some(self.on_off()?);
            self.expect_tok(Tok::RParen)?;
        }
        Ok(StmtKind::Commit(Commit { name, delayed_durability }))
    }

    // ---- cursors ----

    /// `[INSENSITIVE] [SCROLL] CURSOR [options] FOR query [FOR READ ONLY | UPDATE [OF columns]]`.
    fn cursor_def(&mut self) -> P<CursorDef> {
        let mut options: Vec<CompactString> = Vec::new();
        while self.at_any(&["INSENSITIVE", "SCROLL"]) {
            options.push(self.upper_word()?);
        }
        self.expect("CURSOR")?;
        while self.at_any(CURSOR_OPTIONS) {
            options.push(self.upper_word()?);
        }
        self.expect("FOR")?;
        let query = self.query_statement()?;
        let mut cursor = CursorDef { options, query, read_only: false, for_update: None };
        if self.eat("FOR") {
            if self.eat("UPDATE") {
                cursor.for_update =
                    Some(if self.eat("OF") { self.list(Self::last_ident)? } else { Vec::new() });
            } else {
                self.expect("READ")?;
                self.expect("ONLY")?;
                cursor.read_only = true;
            }
        }
        Ok(cursor)
    }

    pub(super) fn cursor_statement(&mut self, word: &str) -> P<StmtKind> {
        self.bump();
        match word {
            "OPEN" => Ok(StmtKind::OpenCursor(self.cursor_name()?)),
            "CLOSE" => Ok(StmtKind::CloseCursor(self.cursor_name()?)),
            "DEALLOCATE" => Ok(StmtKind::Deallocate(self.cursor_name()?)),
            _ => self.fetch(),
        }
    }

    fn fetch(&mut self) -> P<StmtKind> {
        // A cursor may be called NEXT: the word is a direction only when more follows.
        let more =
            self.is_ident(1) || self.at_word(1, "FROM") || self.peek_at(1).kind == Tok::Variable;
        let from = if self.at("NEXT") && more {
            self.bump();
            FetchFrom::Next
        } else if self.at("PRIOR") && more {
            self.bump();
            FetchFrom::Prior
        } else if self.at("FIRST") && more {
            self.bump();
            FetchFrom::First
        } else if self.at("LAST") && more {
            self.bump();
            FetchFrom::Last
        } else if self.eat("ABSOLUTE") {
            FetchFrom::Absolute(self.constant_or_variable()?)
        } else if self.eat("RELATIVE") {
            FetchFrom::Relative(self.constant_or_variable()?)
        } else {
            FetchFrom::Next
        };
        self.eat("FROM");
        let cursor = self.cursor_name()?;
        let into = if self.eat("INTO") { self.list(Self::variable)? } else { Vec::new() };
        Ok(StmtKind::Fetch(Box::new(Fetch { from, cursor, into })))
    }
}
