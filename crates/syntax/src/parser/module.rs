//! Views, procedures, functions and triggers: parsed with their bodies, kept with their text.

use super::{P, Parser};
use crate::ast::{
    CreateFunction, CreateProcedure, CreateTrigger, CreateView, ExecuteAs, FunctionBody,
    ModuleVerb, OptionItem, Param, Span, Stmt, StmtKind, SwitchTrigger, TriggerTarget,
};
use crate::error::SyntaxError;
use crate::lexer::Tok;
use compact_str::CompactString;

impl Parser<'_> {
    /// From the word that names the kind on; `verb` is the index of CREATE or ALTER.
    pub(super) fn module(&mut self, verb: ModuleVerb, index: usize) -> P<StmtKind> {
        let start = self.at_index(index).span;
        let word = if verb == ModuleVerb::Alter { "ALTER" } else { "CREATE" };
        if self.eat("VIEW") {
            self.must_be_first(&format!("{word} VIEW"), index)?;
            let view = self.view(verb, start)?;
            return self.must_be_last().map(|()| view);
        }
        if self.eat("PROC") || self.eat("PROCEDURE") {
            self.must_be_first("CREATE/ALTER PROCEDURE", index)?;
            return self.procedure(verb, start);
        }
        if self.eat("FUNCTION") {
            self.must_be_first(&format!("{word} FUNCTION"), index)?;
            let function = self.function(verb, start)?;
            return self.must_be_last().map(|()| function);
        }
        self.expect("TRIGGER")?;
        self.must_be_first(&format!("{word} TRIGGER"), index)?;
        self.trigger(verb, start)
    }

    /// Behind the word VIEW.
    pub(super) fn view(&mut self, verb: ModuleVerb, start: Span) -> P<StmtKind> {
        let name = self.object_name()?;
        let columns = self.opt_ident_list()?;
        let options = if self.at("WITH") { self.opt_with_bare_options()? } else { Vec::new() };
        self.expect("AS")?;
        let query = self.query_statement()?;
        if let Some(into) = &query.body.first_select().into {
            return Err(SyntaxError::near_keyword(into.table.name.span.line, "INTO"));
        }
        let check_option = self.eat_seq(&["WITH", "CHECK", "OPTION"]);
        let text = self.text_since(start);
        let view = CreateView { verb, name, columns, options, query, check_option, text };
        Ok(StmtKind::CreateView(Box::new(view)))
    }

    /// `WITH a, EXECUTE AS x, b`, when it is there.
    fn module_options(&mut self) -> P<(Vec<OptionItem>, Option<ExecuteAs>)> {
        let (mut options, mut execute_as) = (Vec::new(), None);
        if !self.eat("WITH") {
            return Ok((options, execute_as));
        }
        loop {
            if self.at_any(&["EXEC", "EXECUTE"]) && self.at_word(1, "AS") {
                self.bump();
                self.bump();
                execute_as = Some(self.execute_as()?);
            } else {
                options.push(self.module_option()?);
            }
            if !self.eat_tok(Tok::Comma) {
                return Ok((options, execute_as));
            }
        }
    }

    /// `SCHEMABINDING`, `RETURNS NULL ON NULL INPUT`, `INLINE = ON`.
    fn module_option(&mut self) -> P<OptionItem> {
        let start = self.peek().span;
        let tail = ["NULL", "ON", "NULL", "INPUT"];
        for first in ["RETURNS", "CALLED"] {
            let words = if first == "RETURNS" { &tail[..] } else { &tail[1..] };
            if self.at(first)
                && words.iter().enumerate().all(|(at, word)| self.at_word(at + 1, word))
            {
                for _ in 0..=words.len() {
                    self.bump();
                }
                let name = CompactString::from(format!("{first} {}", words.join(" ")));
                let value = crate::ast::OptionValue::None;
                return Ok(OptionItem {
                    name,
                    value,
                    unit: None,
                    nested: Vec::new(),
                    span: self.since(start),
                });
            }
        }
        let name = self.upper_word()?;
        let value = if self.eat_tok(Tok::Eq) {
            self.option_value()?
        } else {
            crate::ast::OptionValue::None
        };
        Ok(OptionItem { name, value, unit: None, nested: Vec::new(), span: self.since(start) })
    }

    /// The statements of a procedure or trigger: up to the end of the batch.
    fn module_body(&mut self) -> P<Vec<Stmt>> {
        if self.foreign_body()? {
            return Ok(Vec::new());
        }
        self.statements(|p| p.at_tok(Tok::Eof))
    }

    /// Behind the word PROCEDURE.
    fn procedure(&mut self, verb: ModuleVerb, start: Span) -> P<StmtKind> {
        let name = self.object_name()?;
        let number = if self.eat_tok(Tok::Semi) { Some(self.integer()?) } else { None };
        let mut params = Vec::new();
        if self.at_tok(Tok::LParen) {
            params = self.paren_list(Self::param)?;
        } else if self.at_tok(Tok::Variable) {
            params = self.list(Self::param)?;
        }
        let (options, execute_as) = self.module_options()?;
        let for_replication = self.eat_seq(&["FOR", "REPLICATION"]);
        self.expect("AS")?;
        self.returns = true;
        let body = self.module_body()?;
        let text = self.text_since(start);
        Ok(StmtKind::CreateProcedure(Box::new(CreateProcedure {
            verb,
            name,
            number,
            params,
            options,
            execute_as,
            for_replication,
            body,
            text,
        })))
    }

    fn param(&mut self) -> P<Param> {
        let start = self.peek().span;
        let name = self.variable()?;
        self.eat("AS");
        let data_type = if self.at("CURSOR") {
            let word = self.take_ident();
            let span = word.span;
            crate::ast::TypeName {
                name: crate::ast::ObjectName::bare(word),
                params: Vec::new(),
                span,
            }
        } else {
            self.type_name()?
        };
        let varying = self.eat("VARYING");
        let nullable = self.nullability();
        let default = if self.eat_tok(Tok::Eq) { Some(self.param_default()?) } else { None };
        let (mut output, mut readonly) = (false, false);
        while self.at_any(&["OUT", "OUTPUT", "READONLY"]) {
            if self.upper_word()? == "READONLY" {
                readonly = true;
            } else {
                output = true;
            }
        }
        let span = self.since(start);
        Ok(Param { name, data_type, varying, nullable, default, output, readonly, span })
    }

    /// A constant or `@@name`; a bare word is a string.
    fn param_default(&mut self) -> P<crate::ast::Expr> {
        if !self.at_ident() {
            return self.constant_or_variable();
        }
        let word = self.take_ident();
        let literal = crate::ast::Literal::String { value: word.value, national: false };
        Ok(super::types::literal_expr(literal, word.span))
    }

    /// Behind the word FUNCTION.
    fn function(&mut self, verb: ModuleVerb, start: Span) -> P<StmtKind> {
        let name = self.object_name()?;
        self.expect_tok(Tok::LParen)?;
        let params = if self.at_tok(Tok::RParen) { Vec::new() } else { self.list(Self::param)? };
        self.expect_tok(Tok::RParen)?;
        self.expect("RETURNS")?;
        if self.at_tok(Tok::Variable) {
            let variable = self.variable()?;
            self.expect("TABLE")?;
            let elements = self.table_elements()?;
            let (options, execute_as) = self.module_options()?;
            self.eat("AS");
            let body = FunctionBody::Table { variable, elements, body: self.begin_end()? };
            let text = self.text_since(start);
            let function = CreateFunction { verb, name, params, options, execute_as, body, text };
            return Ok(StmtKind::CreateFunction(Box::new(function)));
        }
        let returns = if self.eat("TABLE") { None } else { Some(self.type_name()?) };
        if returns.is_none() && self.at_tok(Tok::LParen) {
            // The columns that a function of an assembly gives.
            self.mark_foreign("RETURNS TABLE (...)");
            self.table_elements()?;
        }
        let (options, execute_as) = self.module_options()?;
        self.foreign_index_order()?;
        self.eat("AS");
        let body = if self.foreign_body()? {
            let variable = CompactString::default();
            FunctionBody::Table { variable, elements: Vec::new(), body: Vec::new() }
        } else if let Some(returns) = returns {
            self.returns = true;
            FunctionBody::Scalar { returns, body: self.begin_end()? }
        } else {
            FunctionBody::Inline(self.inline_body()?)
        };
        let text = self.text_since(start);
        let function = CreateFunction { verb, name, params, options, execute_as, body, text };
        Ok(StmtKind::CreateFunction(Box::new(function)))
    }

    /// `RETURN query` or `RETURN (query)`; the parentheses may hold CTEs.
    fn inline_body(&mut self) -> P<crate::ast::Query> {
        self.expect("RETURN")?;
        if self.at_tok(Tok::LParen) && self.at_word(1, "WITH") {
            self.bump();
            let query = self.query_statement()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(query);
        }
        if self.at_tok(Tok::LParen) && self.behind_group(self.pos, 0) + 1 >= self.tokens.list.len()
        {
            // The outermost parentheses may hold an ORDER BY, which a part of a set operation may
            // not.
            return Ok(*self.parenthesised_query()?);
        }
        self.query_statement()
    }

    fn begin_end(&mut self) -> P<Vec<Stmt>> {
        self.expect("BEGIN")?;
        self.foreign_atomic()?;
        let body = self.nest(|p| p.statements(|p| p.at("END")))?;
        self.expect("END")?;
        Ok(body)
    }

    // ---- triggers ----

    /// Behind ON: a table, DATABASE or ALL SERVER.
    pub(super) fn trigger_target(&mut self) -> P<TriggerTarget> {
        if self.eat("DATABASE") {
            Ok(TriggerTarget::Database)
        } else if self.eat_seq(&["ALL", "SERVER"]) {
            Ok(TriggerTarget::Server)
        } else {
            Ok(TriggerTarget::Table(self.object_name()?))
        }
    }

    /// Behind the word TRIGGER.
    fn trigger(&mut self, verb: ModuleVerb, start: Span) -> P<StmtKind> {
        let name = self.object_name()?;
        self.expect("ON")?;
        let on = self.trigger_target()?;
        let (options, execute_as) = self.module_options()?;
        let instead_of = self.eat_seq(&["INSTEAD", "OF"]);
        if !instead_of && !self.eat("AFTER") {
            self.expect("FOR")?;
        }
        let dml = matches!(on, TriggerTarget::Table(_));
        let events = self.list(|p| {
            if dml && !p.at_any(&["INSERT", "UPDATE", "DELETE"]) {
                return Err(p.unexpected());
            }
            p.upper_word()
        })?;
        if let Some(at) = (1..events.len()).find(|at| events[..*at].contains(&events[*at])) {
            let line = self.at_index(self.pos.saturating_sub(1)).span.line;
            return Err(SyntaxError::same_action(line, &events[at]));
        }
        let not_for_replication = self.eat_seq(&["NOT", "FOR", "REPLICATION"]);
        self.expect("AS")?;
        let body = self.module_body()?;
        if body.is_empty() && self.foreign.is_none() {
            return Err(self.unexpected());
        }
        let text = self.text_since(start);
        Ok(StmtKind::CreateTrigger(Box::new(CreateTrigger {
            verb,
            name,
            on,
            options,
            execute_as,
            instead_of,
            events,
            not_for_replication,
            body,
            text,
        })))
    }

    /// `ENABLE TRIGGER ...`, `DISABLE TRIGGER ...`.
    pub(super) fn switch_trigger(&mut self) -> P<StmtKind> {
        let enable = self.upper_word()? == "ENABLE";
        self.expect("TRIGGER")?;
        let names = if self.eat("ALL") { Vec::new() } else { self.list(Self::object_name)? };
        self.expect("ON")?;
        Ok(StmtKind::SwitchTrigger(SwitchTrigger { enable, names, on: self.trigger_target()? }))
    }
}
