//! INSERT, UPDATE, DELETE, MERGE, BULK INSERT.

use super::{P, Parser};
use crate::ast::{
    AssignOp, Assignment, BulkInsert, ColumnRef, Cte, Delete, ExprKind, Filter, Ident, Insert,
    InsertBulk, InsertSource, MODIFY, Merge, MergeAction, MergeClause, MergeWhen, Output,
    OutputInto, Stmt, StmtKind, TableRef, Target, Update,
};
use crate::error::SyntaxError;
use crate::lexer::Tok;
use messages as msg;

impl Parser<'_> {
    // ---- shared parts ----

    /// What INSERT, UPDATE, DELETE or MERGE changes.
    fn target(&mut self) -> P<Target> {
        if self.at_tok(Tok::Variable) {
            return Ok(Target::Variable(self.variable()?));
        }
        if self.at_any(&["OPENQUERY", "OPENROWSET", "OPENDATASOURCE"]) {
            if self.at("OPENDATASOURCE") {
                self.mark_foreign("OPENDATASOURCE");
            }
            let name = crate::ast::ObjectName::bare(self.take_ident());
            let target = Target::Function { name, args: self.arguments()? };
            while self.eat_tok(Tok::Dot) {
                self.ident()?;
            }
            return Ok(target);
        }
        Ok(Target::Name(self.object_name()?))
    }

    /// `OUTPUT ... [INTO ...]`, as often as it is there.
    fn outputs(&mut self) -> P<Vec<Output>> {
        let mut outputs = Vec::new();
        while self.eat("OUTPUT") {
            let items = self.list(Self::select_item)?;
            let into = if self.eat("INTO") {
                let target = self.target()?;
                Some(OutputInto { target, columns: self.opt_ident_list()? })
            } else {
                None
            };
            outputs.push(Output { items, into });
        }
        Ok(outputs)
    }

    fn opt_from(&mut self) -> P<Vec<TableRef>> {
        if self.eat("FROM") { self.list(Self::table_source) } else { Ok(Vec::new()) }
    }

    fn opt_filter(&mut self) -> P<Option<Filter>> {
        if !self.eat("WHERE") {
            return Ok(None);
        }
        if self.eat_seq(&["CURRENT", "OF"]) {
            return Ok(Some(Filter::CurrentOf(self.cursor_name()?)));
        }
        Ok(Some(Filter::Condition(self.condition()?)))
    }

    // ---- INSERT ----

    /// Behind the word INSERT.
    pub(super) fn insert(&mut self, ctes: Vec<Cte>) -> P<StmtKind> {
        let top = self.opt_top()?;
        self.eat("INTO");
        let target = self.target()?;
        let hints = self.opt_table_hints()?;
        let columns = if self.at_tok(Tok::LParen) && !self.at_query() {
            self.paren_list(Self::last_ident)?
        } else {
            Vec::new()
        };
        let output = self.outputs()?;
        let source = self.insert_source()?;
        let options = self.opt_query_options()?;
        Ok(StmtKind::Insert(Box::new(Insert {
            ctes,
            top,
            target,
            hints,
            columns,
            output,
            source,
            options,
        })))
    }

    fn insert_source(&mut self) -> P<InsertSource> {
        if self.eat("VALUES") {
            return Ok(InsertSource::Values(self.list(|p| p.paren_list(Self::scalar_or_default))?));
        }
        if self.eat_seq(&["DEFAULT", "VALUES"]) {
            return Ok(InsertSource::DefaultValues);
        }
        if self.at_any(&["EXEC", "EXECUTE"]) {
            let execute = self.execute()?;
            if let Some(sets) = &execute.result_sets {
                return Err(SyntaxError::near(sets.span.line, sets.span.text(self.text)));
            }
            return Ok(InsertSource::Execute(Box::new(execute)));
        }
        if self.at_query() || self.at("WITH") {
            return Ok(InsertSource::Query(Box::new(self.query_statement()?)));
        }
        Err(self.unexpected())
    }

    pub(super) fn bulk_insert(&mut self) -> P<StmtKind> {
        self.expect_seq(&["BULK", "INSERT"])?;
        let table = self.object_name()?;
        self.expect("FROM")?;
        let file = self.ident_or_string()?.value;
        let options = self.opt_with_options()?;
        Ok(StmtKind::BulkInsert(Box::new(BulkInsert { table, file, options })))
    }

    pub(super) fn insert_bulk(&mut self) -> P<StmtKind> {
        self.expect_seq(&["INSERT", "BULK"])?;
        let table = self.object_name()?;
        let columns =
            if self.at_tok(Tok::LParen) { self.paren_list(Self::column_def)? } else { Vec::new() };
        let options = self.opt_with_options()?;
        Ok(StmtKind::InsertBulk(Box::new(InsertBulk { table, columns, options })))
    }

    // ---- UPDATE and DELETE ----

    /// Behind the word UPDATE.
    pub(super) fn update(&mut self, ctes: Vec<Cte>) -> P<StmtKind> {
        let top = self.opt_top()?;
        let target = self.target()?;
        let hints = self.opt_table_hints()?;
        self.expect("SET")?;
        let assignments = self.list(Self::assignment)?;
        let output = self.outputs()?;
        let from = self.opt_from()?;
        let filter = self.opt_filter()?;
        let options = self.opt_query_options()?;
        let update =
            Update { ctes, top, target, hints, assignments, output, from, filter, options };
        Ok(StmtKind::Update(Box::new(update)))
    }

    /// One entry of SET.
    fn assignment(&mut self) -> P<Assignment> {
        if !self.at_tok(Tok::Variable) {
            return self.column_assignment(None);
        }
        let variable = self.variable()?;
        if self.at_tok(Tok::Eq) && self.at_column_assignment(1) {
            self.bump();
            return self.column_assignment(Some(variable));
        }
        let op = self.assign_op()?;
        Ok(Assignment::Variable { variable, op, value: self.scalar()? })
    }

    /// Whether `column op` stands `ahead` tokens from here.
    fn at_column_assignment(&self, ahead: usize) -> bool {
        let mut ahead = ahead;
        while self.is_ident(ahead) && self.peek_at(ahead + 1).kind == Tok::Dot {
            ahead += 2;
        }
        self.is_ident(ahead) && self.assign_op_at(ahead + 1).is_some()
    }

    fn column_assignment(&mut self, variable: Option<compact_str::CompactString>) -> P<Assignment> {
        let column = self.column()?;
        if self.at_tok(Tok::LParen) && column.name.is("WRITE") && variable.is_none() {
            let Some(qualifier) = column.qualifier else { return Err(self.unexpected()) };
            let name = *qualifier;
            let column: ColumnRef = super::function::column_of(name);
            return Ok(Assignment::Write { column, args: self.arguments()? });
        }
        if self.at_tok(Tok::LParen) && column.name.value == "modify" && variable.is_none() {
            return self.modified_column(column);
        }
        if self.at_tok(Tok::LParen) && column.qualifier.is_some() && variable.is_none() {
            self.mark_foreign("A method of a type of .NET");
            let value = self.node(ExprKind::Column(column.clone()), column.name.span);
            self.skip_parentheses()?;
            return Ok(Assignment::Column { variable, column, op: AssignOp::Set, value });
        }
        let op = self.assign_op()?;
        Ok(Assignment::Column { variable, column, op, value: self.scalar_or_default()? })
    }

    /// `SET x.modify(...)`: the column becomes what the method gives.
    fn modified_column(&mut self, call: ColumnRef) -> P<Assignment> {
        let start = call.name.span;
        let Some(qualifier) = call.qualifier else { return Err(self.unexpected()) };
        let column: ColumnRef = super::function::column_of(*qualifier);
        let target = Box::new(self.node(ExprKind::Column(column.clone()), start));
        let method = Ident { value: MODIFY.into(), ..call.name };
        let args = self.arguments()?;
        let prolog = self.prolog.clone();
        let value = self.node(ExprKind::Method { target, method, args, prolog }, start);
        Ok(Assignment::Column { variable: None, column, op: AssignOp::Set, value })
    }

    /// Behind the word DELETE.
    pub(super) fn delete(&mut self, ctes: Vec<Cte>) -> P<StmtKind> {
        let top = self.opt_top()?;
        self.eat("FROM");
        let target = self.target()?;
        let hints = self.opt_table_hints()?;
        let output = self.outputs()?;
        let from = self.opt_from()?;
        let filter = self.opt_filter()?;
        let options = self.opt_query_options()?;
        let delete = Delete { ctes, top, target, hints, output, from, filter, options };
        Ok(StmtKind::Delete(Box::new(delete)))
    }

    /// A change whose rows another INSERT takes. Error 10718: it has no hints of its own.
    pub(super) fn nested_change(&mut self) -> P<Stmt> {
        let start = self.peek().span;
        let kind = if self.eat("INSERT") {
            self.insert(Vec::new())?
        } else if self.eat("UPDATE") {
            self.update(Vec::new())?
        } else if self.eat("DELETE") {
            self.delete(Vec::new())?
        } else {
            self.expect("MERGE")?;
            self.merge_clauses(Vec::new())?
        };
        let hints = match &kind {
            StmtKind::Insert(insert) => !insert.options.is_empty(),
            StmtKind::Update(update) => !update.options.is_empty(),
            StmtKind::Delete(delete) => !delete.options.is_empty(),
            StmtKind::Merge(merge) => !merge.options.is_empty(),
            _ => false,
        };
        if hints {
            return Err(SyntaxError::of(msg::NESTED_CHANGE_HINTS, start.line, []));
        }
        Ok(Stmt { kind, span: self.since(start) })
    }

    // ---- MERGE ----

    /// Behind the word MERGE.
    pub(super) fn merge(&mut self, ctes: Vec<Cte>) -> P<StmtKind> {
        let merge = self.merge_clauses(ctes)?;
        if !self.at_tok(Tok::Semi) {
            if self.at_tok(Tok::Bad) {
                return Err(self.unexpected());
            }
            return Err(SyntaxError::of(msg::MERGE_WITHOUT_SEMICOLON, self.near_at(0).0, []));
        }
        Ok(merge)
    }

    fn merge_clauses(&mut self, ctes: Vec<Cte>) -> P<StmtKind> {
        let top = self.opt_top()?;
        self.eat("INTO");
        let target = self.target()?;
        let hints = self.opt_table_hints()?;
        // `MERGE t USING ...`, and a target whose alias is USING.
        let bare = self.at("USING") && !self.at_word(1, "USING");
        let alias = if bare { None } else { self.opt_alias()? };
        self.expect("USING")?;
        let source = self.table_source()?;
        self.expect("ON")?;
        let on = self.condition()?;
        let mut clauses = Vec::new();
        while self.at("WHEN") {
            clauses.push(self.merge_clause()?);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let output = self.outputs()?;
        let options = self.opt_query_options()?;
        let merge = Merge { ctes, top, target, hints, alias, source, on, clauses, output, options };
        Ok(StmtKind::Merge(Box::new(merge)))
    }

    fn merge_clause(&mut self) -> P<MergeClause> {
        let start = self.expect("WHEN")?.span;
        let when = if self.eat("MATCHED") {
            MergeWhen::Matched
        } else {
            self.expect_seq(&["NOT", "MATCHED"])?;
            if self.eat_seq(&["BY", "SOURCE"]) {
                MergeWhen::NotMatchedBySource
            } else {
                self.eat_seq(&["BY", "TARGET"]);
                MergeWhen::NotMatchedByTarget
            }
        };
        let condition = if self.eat("AND") { Some(self.condition()?) } else { None };
        self.expect("THEN")?;
        // Which action a case may have is told when the statement is bound.
        let action = if self.eat("INSERT") {
            self.merge_insert()?
        } else if self.eat("DELETE") {
            MergeAction::Delete
        } else {
            self.expect("UPDATE")?;
            self.expect("SET")?;
            MergeAction::Update(self.list(Self::assignment)?)
        };
        Ok(MergeClause { when, condition, action, span: self.since(start) })
    }

    fn merge_insert(&mut self) -> P<MergeAction> {
        let columns =
            if self.at_tok(Tok::LParen) { self.paren_list(Self::last_ident)? } else { Vec::new() };
        if self.eat_seq(&["DEFAULT", "VALUES"]) {
            return Ok(MergeAction::Insert { columns, values: Vec::new() });
        }
        self.expect("VALUES")?;
        Ok(MergeAction::Insert { columns, values: self.paren_list(Self::scalar_or_default)? })
    }
}
