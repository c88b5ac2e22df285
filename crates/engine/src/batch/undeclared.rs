//! Parameters that a batch uses and nobody declares: which they are, and what the statements of this crate say of their types.
//! The rules are those of [`plan::bind::deduce`].

use std::collections::HashSet;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{AssignOp, Execute, ExecuteArg, ExecuteWhat, Expr, ExprKind, Stmt, StmtKind};
use syntax::lexer::{Tok, tokenize_while};
use types::{DataType, SqlError};

use super::execute::Called;
use super::module::{params_of, position};
use super::run::{Failure, Run};
use super::{BatchParam, declared};
use crate::batch::Bound;
use catalog::fold_name;
use exec::asking::{Asking, GoOn};
use exec::operators::scalar::compile_scalar;
use plan::bind::undeclared::Deduced;

/// The parameters of a batch in the order in which they first stand in it.
///
/// # Errors
/// 11508 for one that is used twice, 1087 for one that stands for a table, 11526 for a temporary
/// table; those of `go_on`.
pub fn names(
    text: &str,
    stmts: &[Stmt],
    params: &[BatchParam],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<Vec<CompactString>, SqlError> {
    if let Some(stmt) = first_with_temporary(text, stmts, settings, go_on)? {
        let shown = stmt.span.text(text);
        let text =
            format!("The metadata could not be determined because statement '{shown}' uses a temp table.");
        return Err(SqlError::new(11526, 16, 1, text).at_line(stmt.span.line));
    }
    let mut names: Vec<CompactString> = Vec::new();
    let mut seen = HashSet::new();
    for used in declared::undeclared(text, stmts, params, settings, go_on)? {
        if used.table {
            let text = format!("Must declare the table variable \"{}\".", used.shown);
            return Err(SqlError::new(1087, 15, 2, text).at_line(used.line));
        }
        if !seen.insert(fold_name(used.shown)) {
            let text = format!(
                "The undeclared parameter '{}' is used more than once in the batch being analyzed.",
                used.shown
            );
            return Err(SqlError::new(11508, 16, 1, text).at_line(used.line));
        }
        names.push(used.shown.into());
    }
    Ok(names)
}

/// Reserved words before a name that is that of a procedure, or of a column of the result.
const NOT_TABLES: [&str; 5] = ["EXEC", "EXECUTE", "PROC", "PROCEDURE", "AS"];

/// The first statement that names a temporary table, one that there is or that it makes: SQL Server
/// describes none, and drivers have other ways then.
fn first_with_temporary<'s>(
    text: &str,
    stmts: &'s [Stmt],
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<Option<&'s Stmt>, SqlError> {
    // Most texts need no look at their tokens.
    if !text.contains('#') {
        return Ok(None);
    }
    let asking = Asking::new(go_on);
    let Some(tokens) = tokenize_while(text, settings, &|| asking.wanted()) else {
        return Err(asking.failed());
    };
    let names_table = |at: usize| {
        let shown = tokens.list[at].span.text(text);
        let before = at.checked_sub(1).map(|before| &tokens.list[before]);
        let word = before.filter(|token| token.kind == Tok::Reserved).map(|token| token.span.text(text));
        let is_name = match tokens.list[at].kind {
            Tok::Word => shown.starts_with('#'),
            Tok::Quoted => shown.get(1..).is_some_and(|name| name.starts_with('#')),
            _ => false,
        };
        is_name && word.is_none_or(|word| !NOT_TABLES.iter().any(|other| other.eq_ignore_ascii_case(word)))
    };
    let places: Vec<u32> =
        (0..tokens.list.len()).filter(|at| names_table(*at)).map(|at| tokens.list[at].span.start).collect();
    Ok(stmts.iter().find_map(|stmt| innermost(stmt, &places)))
}

/// The innermost statement of this one that has one of the places in it; `places` are in order.
fn innermost<'s>(stmt: &'s Stmt, places: &[u32]) -> Option<&'s Stmt> {
    let within = |from: u32, to: u32| {
        let first = places.partition_point(|place| *place < from);
        places.get(first).is_some_and(|place| *place < to)
    };
    if !within(stmt.span.start, stmt.span.end) {
        return None;
    }
    match &stmt.kind {
        // It is the name of a procedure.
        StmtKind::Execute(_) => None,
        StmtKind::If { then, otherwise, .. } => {
            if within(stmt.span.start, then.span.start) {
                return Some(stmt);
            }
            innermost(then, places).or_else(|| otherwise.as_deref().and_then(|o| innermost(o, places)))
        }
        StmtKind::While { body, .. } => {
            if within(stmt.span.start, body.span.start) {
                Some(stmt)
            } else {
                innermost(body, places)
            }
        }
        StmtKind::Block(body) => body.iter().find_map(|stmt| innermost(stmt, places)),
        StmtKind::TryCatch { body, catch } => {
            body.iter().chain(catch).find_map(|stmt| innermost(stmt, places))
        }
        _ => Some(stmt),
    }
}

impl Run<'_> {
    /// `SET @p = x`: the parameter has the type of the value.
    pub(super) fn deduce_target(
        &mut self,
        at: usize,
        slot: usize,
        op: AssignOp,
        value: &Expr,
    ) -> Result<(), Failure> {
        let undeclared = self.batch.program.vars.undeclared().cloned();
        self.compile(at, |env| {
            let value = compile_scalar(value, env, None)?;
            if let Some(undeclared) = &undeclared {
                let input = op != AssignOp::Set;
                undeclared
                    .set(slot, Deduced { ty: value.ty(), input, output: true, formal: None, table: None });
            }
            Ok(Bound::Assign { slot, value })
        })
    }

    /// `EXEC @p = procedure @q`: an argument has the type of the procedure's parameter.
    pub(super) fn deduce_arguments(&mut self, execute: &Execute) -> Result<(), Failure> {
        let vars = &self.batch.program.vars;
        let Some(undeclared) = vars.undeclared().cloned() else { return Ok(()) };
        if let Some(slot) = execute.result.as_deref().and_then(|name| vars.open(name)) {
            let (ty, formal, table) = (DataType::Int, None, None);
            undeclared.set(slot, Deduced { ty, input: false, output: true, formal, table });
        }
        let ExecuteWhat::Procedure { name, args, .. } = &execute.what else { return Ok(()) };
        let slot_of = |arg: &ExecuteArg| match &arg.value.kind {
            ExprKind::Variable(variable) => vars.open(variable),
            _ => None,
        };
        let (db, called) = self.find_called(name, &name.to_string())?;
        // Those of system procedures are not declared anywhere: 11502 in the end.
        let (home, module) = match called {
            Called::Module(module) => (db.clone(), module),
            Called::Global(home, module) => (home, module),
            _ => return Ok(()),
        };
        let visit = self.core.visit_db(&db)?;
        let entered = self.enter_module(&home, &module);
        self.core.end_visit(visit);
        entered?;
        let params = params_of(&module, &home.catalog())?;
        for (i, arg) in args.iter().enumerate() {
            let param = &params[position(module.shown_name(), &params, arg.name.as_deref(), i)?];
            if let Some(slot) = slot_of(arg) {
                let (formal, table) = (Some(param.name.clone()), param.table.clone());
                undeclared
                    .set(slot, Deduced { ty: param.ty, input: true, output: param.output, formal, table });
            }
        }
        Ok(())
    }
}
