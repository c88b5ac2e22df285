//! EXECUTE: of procedures, of text, AS somebody.

use super::types::literal_expr;
use super::{P, Parser};
use crate::ast::{
    ColumnDef, Execute, ExecuteArg, ExecuteAs, ExecuteAsUntil, ExecuteWhat, Expr, ExprKind,
    Literal, ResultSetDef, ResultSets, StmtKind,
};
use crate::error::SyntaxError;
use crate::lexer::Tok;
use compact_str::CompactString;

impl Parser<'_> {
    pub(super) fn execute_statement(&mut self) -> P<StmtKind> {
        if self.at_word(1, "AS") {
            self.bump();
            self.bump();
            let principal = self.execute_as()?;
            let until = if self.eat_seq(&["WITH", "NO", "REVERT"]) {
                ExecuteAsUntil::End
            } else if self.eat_seq(&["WITH", "COOKIE", "INTO"]) {
                ExecuteAsUntil::Cookie(self.variable()?)
            } else {
                ExecuteAsUntil::Revert
            };
            return Ok(StmtKind::ExecuteAs { principal, until });
        }
        Ok(StmtKind::Execute(Box::new(self.execute()?)))
    }

    /// `CALLER`, `OWNER`, `SELF`, `'user'`, `USER = 'x'`, `LOGIN = 'x'`.
    pub(super) fn execute_as(&mut self) -> P<ExecuteAs> {
        if self.eat("CALLER") {
            Ok(ExecuteAs::Caller)
        } else if self.eat("OWNER") {
            Ok(ExecuteAs::Owner)
        } else if self.eat("SELF") {
            Ok(ExecuteAs::SelfUser)
        } else if self.eat("USER") {
            self.expect_tok(Tok::Eq)?;
            Ok(ExecuteAs::User(self.string()?))
        } else if self.eat("LOGIN") {
            self.expect_tok(Tok::Eq)?;
            Ok(ExecuteAs::Login(self.string()?))
        } else {
            Ok(ExecuteAs::User(self.string()?))
        }
    }

    /// `EXEC ...`.
    pub(super) fn execute(&mut self) -> P<Execute> {
        if !self.eat("EXEC") {
            self.expect("EXECUTE")?;
        }
        if self.at_tok(Tok::LParen) {
            return self.execute_text();
        }
        let mut result = None;
        if self.at_tok(Tok::Variable) && self.peek_at(1).kind == Tok::Eq {
            result = Some(self.variable()?);
            self.bump();
        }
        let mut execute = self.bare_call()?;
        execute.result = result;
        Ok(execute)
    }

    /// `{call p}`, `{@r = call p(1, @a OUTPUT)}`: EXECUTE as ODBC writes it.
    pub(super) fn odbc_call(&mut self) -> P<StmtKind> {
        self.expect_tok(Tok::LBrace)?;
        let mut result = None;
        if self.at_tok(Tok::Variable) {
            result = Some(self.variable()?);
            self.expect_tok(Tok::Eq)?;
        }
        self.expect("CALL")?;
        let name = self.object_name()?;
        let args = if self.eat_tok(Tok::LParen) {
            let args = self.execute_args()?;
            self.expect_tok(Tok::RParen)?;
            args
        } else {
            self.execute_args()?
        };
        self.expect_tok(Tok::RBrace)?;
        let what = ExecuteWhat::Procedure { name, number: None, args };
        Ok(StmtKind::Execute(Box::new(Execute {
            result,
            what,
            options: Vec::new(),
            result_sets: None,
        })))
    }

    /// A procedure with its arguments, without the word EXEC.
    pub(super) fn bare_call(&mut self) -> P<Execute> {
        let what = if self.at_tok(Tok::Variable) {
            let name = self.variable()?;
            ExecuteWhat::ProcedureVariable { name, args: self.execute_args()? }
        } else {
            let name = self.object_name()?;
            let numbered = self.at_tok(Tok::Semi) && self.peek_at(1).kind == Tok::Integer;
            let number = if numbered {
                self.bump();
                Some(self.integer()?)
            } else {
                None
            };
            ExecuteWhat::Procedure { name, number, args: self.execute_args()? }
        };
        let mut execute = Execute { result: None, what, options: Vec::new(), result_sets: None };
        if self.at("WITH") && (self.at_word(1, "RECOMPILE") || self.at_result_sets(1)) {
            self.bump();
            loop {
                if self.at_result_sets(0) && execute.result_sets.is_none() {
                    execute.result_sets = self.result_sets()?;
                } else if self.at("RECOMPILE") {
                    execute.options.push(self.option()?);
                } else {
                    return Err(self.unexpected());
                }
                if !self.eat_tok(Tok::Comma) {
                    break;
                }
            }
        }
        Ok(execute)
    }

    fn execute_text(&mut self) -> P<Execute> {
        self.expect_tok(Tok::LParen)?;
        let text = self.scalar()?;
        let comma = self.peek().span;
        let args =
            if self.eat_tok(Tok::Comma) { self.list(Self::execute_arg)? } else { Vec::new() };
        self.expect_tok(Tok::RParen)?;
        let mut as_whom = None;
        if self.at("AS") && (self.at_word(1, "USER") || self.at_word(1, "LOGIN")) {
            self.bump();
            as_whom = Some(self.execute_as()?);
        }
        let at = if self.at("AT") && self.is_ident(1) {
            self.bump();
            if self.at("DATA_SOURCE") && self.is_ident(1) {
                self.bump();
            }
            Some(self.ident()?)
        } else {
            None
        };
        if at.is_none() && !args.is_empty() {
            // Values are for the statement of another server.
            return Err(SyntaxError::near(comma.line, ","));
        }
        let what = ExecuteWhat::Text { text, args, as_whom, at };
        let mut execute = Execute { result: None, what, options: Vec::new(), result_sets: None };
        if self.at("WITH") && self.at_result_sets(1) {
            self.bump();
            execute.result_sets = self.result_sets()?;
        } else if self.at("WITH") && self.at_word(1, "RECOMPILE") {
            return Err(self.unexpected_at(1));
        }
        Ok(execute)
    }

    fn at_result_sets(&self, ahead: usize) -> bool {
        self.at_word(ahead, "RESULT") && self.at_word(ahead + 1, "SETS")
    }

    /// `RESULT SETS UNDEFINED`, which is the default, `NONE`, or a list of definitions.
    fn result_sets(&mut self) -> P<Option<ResultSets>> {
        self.bump();
        let span = self.bump().span;
        if self.eat("UNDEFINED") {
            return Ok(None);
        }
        let sets = if self.eat("NONE") { Vec::new() } else { self.paren_list(Self::result_set)? };
        Ok(Some(ResultSets { sets, span }))
    }

    fn result_set(&mut self) -> P<ResultSetDef> {
        if !self.eat("AS") {
            return Ok(ResultSetDef::Columns(self.paren_list(Self::result_column)?));
        }
        if self.eat("OBJECT") {
            Ok(ResultSetDef::Object(self.object_name()?))
        } else if self.eat("TYPE") {
            Ok(ResultSetDef::Type(self.object_name()?))
        } else {
            self.expect_seq(&["FOR", "XML"])?;
            Ok(ResultSetDef::ForXml)
        }
    }

    /// `name type [COLLATE c] [NULL | NOT NULL]`.
    fn result_column(&mut self) -> P<ColumnDef> {
        let name = self.ident()?;
        let mut column = ColumnDef::new(name, Some(self.type_name()?));
        if self.eat("COLLATE") {
            column.collation = Some(self.ident_or_keyword()?);
        }
        column.nullable = self.nullability();
        Ok(column)
    }

    fn execute_args(&mut self) -> P<Vec<ExecuteArg>> {
        let argument = match self.kind() {
            Tok::Integer
            | Tok::Decimal
            | Tok::Float
            | Tok::Money
            | Tok::Binary
            | Tok::Str
            | Tok::NStr
            | Tok::Variable
            | Tok::Minus
            | Tok::Plus => true,
            Tok::Word | Tok::Quoted => self.at_alias(),
            Tok::Reserved => self.at_any(&["DEFAULT", "NULL"]),
            _ => false,
        };
        if !argument {
            return Ok(Vec::new());
        }
        let args = self.list(Self::execute_arg)?;
        if let Some(named) = args.iter().position(|arg| arg.name.is_some())
            && let Some(at) = args[named..].iter().position(|arg| arg.name.is_none())
        {
            let line = args[named + at].value.span.line;
            return Err(SyntaxError::must_be_named(line, named + at + 1));
        }
        Ok(args)
    }

    fn execute_arg(&mut self) -> P<ExecuteArg> {
        let mut name: Option<CompactString> = None;
        if self.at_tok(Tok::Variable) && self.peek_at(1).kind == Tok::Eq {
            name = Some(self.variable()?);
            self.bump();
        }
        let value = self.execute_value()?;
        let variable = matches!(value.kind, ExprKind::Variable(_) | ExprKind::GlobalVariable(_));
        let output = self.eat("OUTPUT") || self.eat("OUT");
        if output && !variable {
            return Err(SyntaxError::output_of_constant(value.span.line));
        }
        Ok(ExecuteArg { name, value, output })
    }

    /// A constant, a variable, DEFAULT, or a bare word that is taken for a string.
    fn execute_value(&mut self) -> P<Expr> {
        let start = self.peek().span;
        if self.eat("DEFAULT") {
            return Ok(Expr { kind: ExprKind::Default, span: start });
        }
        if self.at_ident() {
            let name = self.object_name()?;
            let value = if name.is_bare() {
                name.name.value
            } else {
                CompactString::from(self.since(start).text(self.text))
            };
            return Ok(literal_expr(Literal::String { value, national: false }, self.since(start)));
        }
        self.constant_or_variable()
    }
}
