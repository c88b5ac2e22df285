//! Statements that do not run: under NOEXEC they are compiled, under FMTONLY queries give the
//! columns of their results, under SHOWPLAN statements give their plans. Guarantees: operations are
//! met in the order of the text, each once, whatever branches and loops say; nothing of them runs
//! but the SET that ends the mode, and that only outside of IF, WHILE and CATCH, where it is not
//! known whether it would.

use syntax::ast::{ExecuteWhat, Expr, SetOption, Stmt, StmtKind};
use types::{ResultRows, Value};

use super::kind::kind_of;
use super::origins;
use super::run::{Failure, Flow, Run};
use bind::set_options::Showplan;
use catalog::errors;
use explain::ShownPlan;
use programs::compiled::BoundOperation;
use programs::program::Op;
use session::output::{StatementKind, give_each};

impl Run<'_> {
    /// What an operation comes to while statements do not run.
    pub(super) fn compile_only(&mut self, at: usize, op: Op) -> Result<(), Failure> {
        let batch = self.batch;
        match op {
            Op::Stmt(index) => self.compile_statement(at, &batch.program.stmts[index as usize]),
            Op::Branch { condition, .. } => self.bind_condition(at, condition as usize),
            Op::Init { slot, expr } => {
                self.bind_assignment(at, slot as usize, |batch| &batch.program.exprs[expr as usize])
            }
            Op::Return(Some(expr)) => self.bind_scalars(at, &[&batch.program.exprs[expr as usize]]),
            Op::Return(None)
            | Op::Jump(_)
            | Op::Goto(_)
            | Op::BeginTry
            | Op::EndTry(_)
            | Op::EndCatch => Ok(()),
        }
    }

    fn compile_statement(&mut self, at: usize, stmt: &Stmt) -> Result<(), Failure> {
        if let StmtKind::SetOption(option) = &stmt.kind
            && ends_mode(option)
            && !self.is_conditional(at)
        {
            self.set_option(at, option)?;
            return self.done(kind_of(&stmt.kind), None);
        }
        match &stmt.kind {
            // Whether its rows fit is seen when they are there.
            StmtKind::Insert(insert) if insert.source.is_execute() => {}
            StmtKind::Insert(_)
            | StmtKind::Update(_)
            | StmtKind::Delete(_)
            | StmtKind::Merge(_) => {
                self.bind_dml(at, stmt)?;
            }
            StmtKind::Select(query) if query.body.first_select().into.is_some() => {
                self.bind_dml(at, stmt)?
            }
            StmtKind::Select(query) => self.bind_query(at, query)?,
            StmtKind::SetVariable(set) => self.bind_set(at, set, stmt.span)?,
            StmtKind::DeclareCursor(declare) => self.bind_cursor(at, &declare.cursor)?,
            StmtKind::Print(value) => self.bind_scalars(at, &[value])?,
            StmtKind::RaisError(raise) => {
                let mut exprs: Vec<&Expr> = vec![&raise.message, &raise.severity, &raise.state];
                exprs.extend(&raise.args);
                self.bind_scalars(at, &exprs)?;
            }
            // What it calls gives its columns in its turn.
            StmtKind::Execute(execute)
                if self.core.options.fmtonly && !self.core.options.noexec =>
            {
                return match self.execute(at, execute)? {
                    Flow::Next => Ok(()),
                    Flow::Abort => Err(errors::batch_ended().into()),
                };
            }
            StmtKind::Execute(execute) => {
                self.deduce_arguments(execute)?;
                if let ExecuteWhat::Text { text, at: None, .. } = &execute.what {
                    self.bind_scalars(at, &[text])?;
                }
            }
            // Utility statements look up their names when they run.
            _ => {}
        }
        let deducing = self.batch.program.vars.undeclared().is_some();
        if self.core.options.noexec && !deducing {
            return Ok(());
        }
        // Types of parameters, columns and plans are shown to callers who may see the rows.
        match &self.bound[at] {
            Some((_, BoundOperation::Query(plan))) => self.core.check_rights(&plan.needs.rights)?,
            Some((_, BoundOperation::Dml(plan))) => self.core.check_rights(&plan.needs().rights)?,
            Some((_, BoundOperation::Cursor(plan))) => {
                self.core.check_rights(&plan.needs().rights)?
            }
            _ => {}
        }
        if deducing {
            return Ok(());
        }
        if self.core.options.fmtonly {
            return self.show_columns(at);
        }
        self.show_plan(at, stmt)
    }

    /// Whether the operation lies within a branch, a loop or a CATCH block: some jump leads over
    /// it.
    fn is_conditional(&self, at: usize) -> bool {
        let ops = self.batch.program.ops.iter().enumerate();
        ops.filter_map(|(from, op)| match op {
            Op::Jump(to) | Op::Goto(to) | Op::EndTry(to) | Op::Branch { otherwise: to, .. } => {
                Some((from, *to as usize))
            }
            _ => None,
        })
        .any(|(from, to)| (from.min(to)..from.max(to)).contains(&at))
    }

    /// FMTONLY: the columns of what the statement would return, and no rows.
    fn show_columns(&mut self, at: usize) -> Result<(), Failure> {
        let columns = match &self.bound[at] {
            Some((_, BoundOperation::Query(plan))) => plan.columns(),
            Some((_, BoundOperation::Dml(plan))) => plan.columns(),
            _ => &[],
        };
        if columns.is_empty() {
            return Ok(());
        }
        self.sink.columns(columns)?;
        if let Some((_, BoundOperation::Query(plan))) = &self.bound[at]
            && let Some(browse) = &plan.browse
        {
            self.sink.origins(&origins::of_query(browse, columns, self.core.db().id()))?;
        }
        self.done(StatementKind::Select, Some(0))
    }

    /// SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML: the statement and its operators.
    fn show_plan(&mut self, at: usize, stmt: &Stmt) -> Result<(), Failure> {
        let go_on = || programs::compiled::go_on(self.core);
        let mut shown = ShownPlan::of_statement(stmt.span.text(&self.batch.text), &go_on);
        match &self.bound[at] {
            Some((_, BoundOperation::Query(plan))) => explain::query(plan, &mut shown)?,
            Some((_, BoundOperation::Dml(plan))) => explain::dml(plan, &mut shown)?,
            Some((_, BoundOperation::Cursor(plan))) => explain::query(&plan.query, &mut shown)?,
            _ => {}
        }
        if self.core.options.showplan == Showplan::Xml {
            self.sink.columns(&[explain::xml_column()])?;
            self.sink.rows(&ResultRows::one(&[Value::str(shown.xml(at, None)?)]))?;
            return self.done(StatementKind::Select, Some(1));
        }
        let all = self.core.options.showplan == Showplan::All;
        let rows = shown.rows(all, at)?;
        self.sink.columns(&explain::columns(all))?;
        give_each(self.sink, &rows)?;
        self.done(StatementKind::Select, Some(rows.len() as u64))
    }
}

/// Whether a SET turns off one of the modes in which nothing runs.
fn ends_mode(option: &SetOption) -> bool {
    let is_mode =
        |name: &str| matches!(name, "NOEXEC" | "FMTONLY") || name.starts_with("SHOWPLAN_");
    matches!(option, SetOption::Switch { names, on: false } if names.iter().all(|name| is_mode(name)))
}
