//! Expressions of statements: SET, IF, WHILE, PRINT, arguments. A compiled one evaluates without
//! names.

use super::context::ExecCtx;
use super::rt::Rt;
use crate::masked_errors;
use crate::uses::Evaluations;
use bind::Binder;
use bind::counters::CompiledKind;
use bind::deduce::ValueUse;
use bind::env::CompileEnv;
use bind::scope::{Clause, Scope};
use expr::functions::Function;
use expr::{Expr, Pred, Typed, bind_ops, ints};
use plan::statement::Statement;
use plan::{CountedCompilation, Needs};
use std::sync::Arc;
use std::time::Instant;
use syntax::ast;
use types::convert::Mode;
use types::{DataType, SqlError, Value};

/// A compiled value.
#[derive(Debug)]
pub struct Scalar {
    expr: Expr,
    ty: DataType,
    needs: Needs,
    /// [`ints::computes_int`].
    of_ints: bool,
    evaluations: Evaluations,
}

/// A compiled condition.
#[derive(Debug)]
pub struct Condition {
    pred: Pred,
    needs: Needs,
    /// [`ints::compares_ints`].
    of_ints: bool,
    evaluations: Evaluations,
}

fn bound<T>(
    env: &CompileEnv<'_>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<(T, Needs), SqlError> {
    let began = Instant::now();
    let mut binder = Statement::new(env);
    binder.scopes.push(Scope { clause: Clause::None, ..Scope::default() });
    let value = bind(&mut binder)?;
    let needs = plan::physical::needs(&mut binder)?;
    if !needs.tables.is_empty() {
        let kind = CompiledKind::Query;
        CountedCompilation { kind, began, options: &[], cost: 0.0, trivial: false }
            .add(&binder, &needs);
    }
    Ok((value, needs))
}

/// What comes before an evaluation that reads tables.
fn begin(needs: &Needs, evaluations: &Evaluations, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
    crate::operators::query::lock_tables(needs, ctx)?;
    if !needs.subqueries.is_empty() {
        evaluations.add(ctx.session.shared.activity.started());
    }
    Ok(())
}

/// Compiles a value; with `want` it is converted as an assignment to a variable of that type is.
pub fn compile_scalar(
    e: &ast::Expr,
    env: &CompileEnv<'_>,
    want: Option<DataType>,
) -> Result<Arc<Scalar>, SqlError> {
    let ((expr, ty), needs) = bound(env, |b| {
        if let Some(want) = want {
            b.deduce(e, ValueUse::Becomes(want))?;
        }
        let typed = b.expr(e)?;
        let Typed { ty, collation, .. } = typed;
        let (expr, ty) = match want {
            Some(want) => {
                (bind_ops::assigned(typed, want, Mode::Implicit, env.db.default_collation())?, want)
            }
            None => (typed.expr, ty),
        };
        Ok((b.masked(expr, ty, collation), ty))
    })?;
    let of_ints = needs.is_empty() && ints::computes_int(&expr);
    Ok(Arc::new(Scalar { expr, ty, needs, of_ints, evaluations: Evaluations::default() }))
}

/// Compiles a condition.
pub fn compile_condition(e: &ast::Expr, env: &CompileEnv<'_>) -> Result<Arc<Condition>, SqlError> {
    let (pred, needs) = bound(env, |b| b.pred(e))?;
    let of_ints = needs.is_empty() && ints::compares_ints(&pred);
    Ok(Arc::new(Condition { pred, needs, of_ints, evaluations: Evaluations::default() }))
}

impl Drop for Scalar {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Scalar {
    /// What a function without arguments says.
    ///
    /// # Errors
    /// None but a function that wants arguments.
    pub fn of_function(function: &'static Function) -> Result<Scalar, SqlError> {
        let Typed { expr, ty, .. } = bind::call::apply(function, Vec::new())?;
        let (needs, evaluations) = (Needs::default(), Evaluations::default());
        Ok(Scalar { expr, ty, needs, of_ints: false, evaluations })
    }

    /// Its evaluations until now become uses of the indexes that it reads.
    pub fn settle(&self) {
        self.evaluations.settle(&self.needs);
    }

    /// The value now.
    #[inline]
    pub fn eval(&self, ctx: &mut ExecCtx<'_>) -> Result<Value, SqlError> {
        if self.of_ints
            && let Some(number) = ints::int_of(&self.expr, ctx.vars)
        {
            return Ok(Value::Int(number));
        }
        self.eval_in_run(ctx)
    }

    fn eval_in_run(&self, ctx: &mut ExecCtx<'_>) -> Result<Value, SqlError> {
        if !self.needs.is_empty() {
            begin(&self.needs, &self.evaluations, ctx)?;
        }
        let value = self.expr.eval(&[], &mut Rt::new(ctx, &self.needs));
        value.map_err(|e| masked_errors::of_statement(ctx.session, &self.needs, e))
    }

    /// Its type.
    pub fn ty(&self) -> DataType {
        self.ty
    }

    /// What it needs when it is evaluated.
    #[inline]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Whether it reads a table.
    pub fn reads_tables(&self) -> bool {
        !self.needs.tables.is_empty()
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Condition {
    /// Its evaluations until now become uses of the indexes that it reads.
    pub fn settle(&self) {
        self.evaluations.settle(&self.needs);
    }

    /// Whether it is true now.
    #[inline]
    pub fn test(&self, ctx: &mut ExecCtx<'_>) -> Result<bool, SqlError> {
        if self.of_ints
            && let Some(truth) = ints::truth_of(&self.pred, ctx.vars)
        {
            return Ok(truth);
        }
        self.test_in_run(ctx)
    }

    fn test_in_run(&self, ctx: &mut ExecCtx<'_>) -> Result<bool, SqlError> {
        if !self.needs.is_empty() {
            begin(&self.needs, &self.evaluations, ctx)?;
        }
        let truth = self.pred.is_true(&[], &mut Rt::new(ctx, &self.needs));
        truth.map_err(|e| masked_errors::of_statement(ctx.session, &self.needs, e))
    }

    /// What it needs when it is evaluated.
    #[inline]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Whether it reads a table.
    pub fn reads_tables(&self) -> bool {
        !self.needs.tables.is_empty()
    }
}
