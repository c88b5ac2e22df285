//! A batch in which a statement has a name that means nothing: SQL Server compiles all of its
//! statements and tells what each has. Here those before have run, and those behind are looked at
//! when the first one fails.
//! Guarantees: nothing of them runs or is kept; objects that are not there are no errors of theirs,
//! for the batch might have made them.

use syntax::ast::{Stmt, StmtKind};
use types::SqlError;

use super::Run;
use bind::env::CompileEnv;
use bind::unresolved_names::{MOST_TOLD, is_of_a_name};
use dml::compile_dml;
use exec::operators::scalar::{compile_condition, compile_scalar};
use plan::compile_query;
use programs::compiled::BoundOperation;
use programs::program::Op;

/// So many statements behind the failed one are looked at.
const MOST_STATEMENTS: usize = 1_000;

impl Run<'_> {
    /// The error of a statement that could not be compiled, with those of the statements behind it.
    #[cold]
    pub(super) fn with_those_behind(&mut self, at: usize, mut error: SqlError) -> SqlError {
        // A module's statements are compiled when they are reached.
        if !is_of_a_name(&error) || self.batch.object_id != 0 || self.core.in_function() {
            return error;
        }
        let batch = self.batch;
        let behind = batch.program.ops.iter().enumerate().skip(at + 1);
        for (at, op) in behind.take(MOST_STATEMENTS) {
            if error.after.len() >= MOST_TOLD
                || self.core.check_cancel().is_err()
                || self.moves(*op)
            {
                break;
            }
            if let Some(other) = self.error_of(*op).filter(is_of_a_name) {
                let mut other = batch.placed(at, other);
                let further = std::mem::take(&mut other.after);
                error.after.push(other);
                error.after.extend(further);
            }
        }
        error.after.truncate(MOST_TOLD);
        error
    }

    /// Whether names mean other things behind an operation.
    fn moves(&self, op: Op) -> bool {
        matches!(self.statement_of(op).map(|stmt| &stmt.kind), Some(StmtKind::Use(_)))
    }

    fn statement_of(&self, op: Op) -> Option<&Stmt> {
        match op {
            Op::Stmt(index) => self.batch.program.stmts.get(index as usize),
            _ => None,
        }
    }

    /// What an operation cannot be bound for.
    fn error_of(&mut self, op: Op) -> Option<SqlError> {
        let program = &self.batch.program;
        let made = BoundOperation::make(self.core, &program.vars, self.vars, |env| {
            let bound = match op {
                Op::Stmt(index) => {
                    program.stmts.get(index as usize).and_then(|stmt| bind_statement(stmt, env))
                }
                Op::Branch { condition, .. } => {
                    let condition = program.exprs.get(condition as usize);
                    condition.map(|e| compile_condition(e, env).map(BoundOperation::Condition))
                }
                _ => None,
            };
            // It names no columns.
            bound.unwrap_or_else(|| Ok(BoundOperation::Scalars(Vec::new().into())))
        });
        made.err()
    }
}

fn bind_statement(stmt: &Stmt, env: &CompileEnv<'_>) -> Option<Result<BoundOperation, SqlError>> {
    match &stmt.kind {
        StmtKind::Insert(insert) if insert.source.is_execute() => None,
        StmtKind::Insert(_) | StmtKind::Update(_) | StmtKind::Delete(_) | StmtKind::Merge(_) => {
            Some(compile_dml(stmt, env).map(BoundOperation::Dml))
        }
        StmtKind::Select(query) if query.body.first_select().into.is_some() => {
            Some(compile_dml(stmt, env).map(BoundOperation::Dml))
        }
        StmtKind::Select(query) => Some(compile_query(query, env).map(BoundOperation::Query)),
        StmtKind::Print(value) => Some(
            compile_scalar(value, env, None)
                .map(|scalar| BoundOperation::Scalars(vec![scalar].into())),
        ),
        _ => None,
    }
}
