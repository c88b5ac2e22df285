//! What a statement mentions: objects, columns and types, block by block, in the order in which
//! their sources come into sight. It knows names only: what they mean is the reader's affair.
//! Guarantee: names of common table expressions, table variables and of aliases that are the target
//! of a change are not told as objects.

mod queries;

use super::ast::*;
use compact_str::CompactString;

/// What becomes of an object that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its rows are read.
    Read,
    /// Its rows are changed.
    Write,
    /// It is called in an expression, or gives rows in FROM.
    Call,
    /// EXECUTE.
    Execute,
    /// NEXT VALUE FOR.
    Sequence,
}

/// Receives the names that a statement mentions.
pub trait Listener {
    /// A block of sources begins.
    fn enter(&mut self) {}
    /// It ends.
    fn leave(&mut self) {}
    /// An object; in FROM it is a source of the block, under its alias or its own name.
    fn object(&mut self, name: &ObjectName, alias: Option<&Ident>, how: Use) {
        let _ = (name, alias, how);
    }
    /// A source that is no object: a query, a table variable.
    fn source(&mut self, alias: &str) {
        let _ = alias;
    }
    /// A column of a source in sight.
    fn column(&mut self, column: &ColumnRef, written: bool) {
        let _ = (column, written);
    }
    /// A column of the object that was told last.
    fn own_column(&mut self, name: &Ident) {
        let _ = name;
    }
    /// `*` and `t.*`.
    fn star(&mut self, qualifier: Option<&ObjectName>) {
        let _ = qualifier;
    }
    /// A function of the system: `GETDATE`, `@@SPID`.
    fn built_in(&mut self, name: &str) {
        let _ = name;
    }
    /// A type.
    fn data_type(&mut self, name: &TypeName) {
        let _ = name;
    }
}

/// Tells what a condition or value mentions.
pub fn of_expr(expr: &Expr, to: &mut dyn Listener) {
    MentionWalk { to, ctes: Vec::new() }.expr(expr);
}

/// Tells what a statement mentions: of a module, what its text does.
pub fn of_statement(kind: &StmtKind, to: &mut dyn Listener) {
    MentionWalk { to, ctes: Vec::new() }.kind(kind);
}

struct MentionWalk<'l> {
    to: &'l mut dyn Listener,
    /// Names of the common table expressions in sight.
    ctes: Vec<CompactString>,
}

impl MentionWalk<'_> {
    fn kind(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::CreateView(view) => self.query(&view.query),
            StmtKind::CreateProcedure(procedure) => {
                procedure.params.iter().for_each(|param| self.to.data_type(&param.data_type));
                self.body(&procedure.body);
            }
            StmtKind::CreateFunction(function) => {
                function.params.iter().for_each(|param| self.to.data_type(&param.data_type));
                match &function.body {
                    FunctionBody::Inline(query) => self.query(query),
                    FunctionBody::Scalar { returns, body } => {
                        self.to.data_type(returns);
                        self.body(body);
                    }
                    FunctionBody::Table { elements, body, .. } => {
                        self.elements(elements);
                        self.body(body);
                    }
                }
            }
            StmtKind::CreateTrigger(trigger) => self.body(&trigger.body),
            StmtKind::Select(query) => self.query(query),
            StmtKind::Insert(insert) => self.insert(insert),
            StmtKind::Update(update) => self.update(update),
            StmtKind::Delete(delete) => self.delete(delete),
            StmtKind::Merge(merge) => self.merge(merge),
            StmtKind::BulkInsert(bulk) => self.to.object(&bulk.table, None, Use::Write),
            StmtKind::Truncate(truncate) => self.to.object(&truncate.table, None, Use::Write),
            StmtKind::Declare(list) => list.iter().for_each(|one| self.declaration(one)),
            StmtKind::SetVariable(set) => match &set.value {
                SetValue::Expr(expr) => self.expr(expr),
                SetValue::Cursor(cursor) => self.query(&cursor.query),
            },
            StmtKind::DeclareCursor(cursor) => self.query(&cursor.cursor.query),
            StmtKind::Execute(execute) => self.execute(execute),
            _ => self.flow(kind),
        }
    }

    /// Control of flow, and what takes expressions.
    fn flow(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::If { condition, then, otherwise } => {
                self.expr(condition);
                self.kind(&then.kind);
                if let Some(otherwise) = otherwise {
                    self.kind(&otherwise.kind);
                }
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.kind(&body.kind);
            }
            StmtKind::Block(body) => self.body(body),
            StmtKind::TryCatch { body, catch } => {
                self.body(body);
                self.body(catch);
            }
            StmtKind::Return(Some(expr)) | StmtKind::Print(expr) => self.expr(expr),
            StmtKind::RaisError(error) => {
                [&error.message, &error.severity, &error.state]
                    .into_iter()
                    .for_each(|e| self.expr(e));
                self.exprs(&error.args);
            }
            StmtKind::Throw(Some(error)) => {
                [&error.number, &error.message, &error.state]
                    .into_iter()
                    .for_each(|e| self.expr(e));
            }
            _ => {}
        }
    }

    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.kind(&stmt.kind));
    }

    fn exprs<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) {
        list.into_iter().for_each(|expr| self.expr(expr));
    }

    fn declaration(&mut self, declaration: &Declaration) {
        match declaration {
            Declaration::Scalar { data_type, value, .. } => {
                self.to.data_type(data_type);
                self.exprs(value);
            }
            Declaration::Table { elements, .. } => self.elements(elements),
            Declaration::Cursor { .. } => {}
        }
    }

    /// Columns of a table variable: only their types are anything of the database.
    fn elements(&mut self, elements: &[TableElement]) {
        for element in elements {
            if let TableElement::Column(column) = element
                && let Some(data_type) = &column.data_type
            {
                self.to.data_type(data_type);
            }
        }
    }

    fn execute(&mut self, execute: &Execute) {
        match &execute.what {
            ExecuteWhat::Procedure { name, args, .. } => {
                self.to.object(name, None, Use::Execute);
                self.exprs(args.iter().map(|arg| &arg.value));
            }
            ExecuteWhat::ProcedureVariable { args, .. } => {
                self.exprs(args.iter().map(|arg| &arg.value))
            }
            ExecuteWhat::Text { text, args, .. } => {
                self.expr(text);
                self.exprs(args.iter().map(|arg| &arg.value));
            }
        }
    }

    // ---- changes ----

    fn with_ctes(&mut self, ctes: &[Cte], inside: impl FnOnce(&mut Self)) {
        let before = self.ctes.len();
        for cte in ctes {
            // It may name itself.
            self.ctes.push(cte.name.value.to_lowercase());
            self.query(&cte.query);
        }
        inside(self);
        self.ctes.truncate(before);
    }

    fn insert(&mut self, insert: &Insert) {
        self.with_ctes(&insert.ctes, |walk| {
            walk.to.enter();
            walk.target(&insert.target, &[]);
            insert.columns.iter().for_each(|column| walk.to.own_column(column));
            match &insert.source {
                InsertSource::Values(rows) => walk.exprs(rows.iter().flatten()),
                InsertSource::Query(query) => walk.query(query),
                InsertSource::Execute(execute) => walk.execute(execute),
                InsertSource::DefaultValues => {}
            }
            walk.outputs(&insert.output);
            walk.to.leave();
        });
    }

    fn update(&mut self, update: &Update) {
        self.with_ctes(&update.ctes, |walk| {
            walk.to.enter();
            walk.sources(&update.from);
            walk.target(&update.target, &update.from);
            walk.conditions(&update.from);
            walk.exprs(update.top.iter().map(|top| &top.count));
            walk.assignments(&update.assignments);
            if let Some(Filter::Condition(condition)) = &update.filter {
                walk.expr(condition);
            }
            walk.outputs(&update.output);
            walk.to.leave();
        });
    }

    fn delete(&mut self, delete: &Delete) {
        self.with_ctes(&delete.ctes, |walk| {
            walk.to.enter();
            walk.sources(&delete.from);
            walk.target(&delete.target, &delete.from);
            walk.conditions(&delete.from);
            walk.exprs(delete.top.iter().map(|top| &top.count));
            if let Some(Filter::Condition(condition)) = &delete.filter {
                walk.expr(condition);
            }
            walk.outputs(&delete.output);
            walk.to.leave();
        });
    }

    fn merge(&mut self, merge: &Merge) {
        self.with_ctes(&merge.ctes, |walk| {
            walk.to.enter();
            walk.source(&merge.source);
            match &merge.target {
                Target::Name(name) if !walk.is_cte(name) => {
                    walk.to.object(name, merge.alias.as_ref(), Use::Write);
                }
                _ => {}
            }
            walk.condition(&merge.source);
            walk.expr(&merge.on);
            for clause in &merge.clauses {
                walk.exprs(&clause.condition);
                match &clause.action {
                    MergeAction::Update(assignments) => walk.assignments(assignments),
                    MergeAction::Insert { values, .. } => walk.exprs(values),
                    MergeAction::Delete => {}
                }
            }
            walk.outputs(&merge.output);
            walk.to.leave();
        });
    }

    /// The target of a change; the alias of a source means its table.
    fn target(&mut self, target: &Target, from: &[TableRef]) {
        let Target::Name(name) = target else { return };
        match from.iter().find_map(|table| named_as(table, name)) {
            Some(Some((own, alias))) => self.to.object(own, alias, Use::Write),
            // A table variable or a query.
            Some(None) => {}
            None if self.is_cte(name) => {}
            None => self.to.object(name, None, Use::Write),
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            match assignment {
                Assignment::Column { column, value, .. } => {
                    self.to.column(column, true);
                    self.expr(value);
                }
                Assignment::Variable { value, .. } => self.expr(value),
                Assignment::Write { column, args } => {
                    self.to.column(column, true);
                    self.exprs(args);
                }
            }
        }
    }

    fn outputs(&mut self, outputs: &[Output]) {
        for output in outputs {
            self.items(&output.items);
            if let Some(into) = &output.into {
                self.target(&into.target, &[]);
            }
        }
    }

    // ---- queries ----

    // ---- expressions ----
}

/// The object that a source names, if the source goes by this name; `Some(None)` for one that is no
/// object.
#[allow(clippy::option_option)] // a source of that name that names nothing is an answer
fn named_as<'t>(
    table: &'t TableRef,
    wanted: &ObjectName,
) -> Option<Option<(&'t ObjectName, Option<&'t Ident>)>> {
    let is = |name: &str| wanted.is_bare() && wanted.name.is(name);
    match &table.kind {
        TableRefKind::Named { name, alias: Some(alias), .. } if is(alias.as_str()) => {
            Some(Some((name, Some(alias))))
        }
        TableRefKind::Named { name, alias: None, .. } if is(name.name.as_str()) => {
            Some(Some((name, None)))
        }
        TableRefKind::Variable { alias: Some(alias), .. } | TableRefKind::Derived { alias, .. }
            if is(alias.as_str()) =>
        {
            Some(None)
        }
        TableRefKind::Join { left, right, .. } | TableRefKind::Apply { left, right, .. } => {
            named_as(left, wanted).or_else(|| named_as(right, wanted))
        }
        _ => None,
    }
}
