//! Expressions of statements: SET, IF, WHILE, PRINT, arguments. A compiled one evaluates without names.

use super::bind::Binder;
use super::{Expr, Pred, Rt, Typed, bind_ops};
use crate::context::{CompileEnv, ExecCtx};
use crate::expr::scope::Scope;
use crate::query::Tables;
use std::sync::Arc;
use syntax::ast;
use types::convert::Mode;
use types::{DataType, SqlError, Value};

/// A compiled value.
#[derive(Debug)]
pub struct Scalar {
    expr: Expr,
    ty: DataType,
    tables: Tables,
}

/// A compiled condition.
#[derive(Debug)]
pub struct Condition {
    pred: Pred,
    tables: Tables,
}

fn bound<T>(
    env: &CompileEnv<'_>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<(T, Tables), SqlError> {
    let mut binder = Binder::new(env);
    binder.scopes.push(Scope { clause: super::scope::Clause::None, ..Scope::default() });
    let value = bind(&mut binder)?;
    Ok((value, Tables(std::mem::take(&mut binder.tables))))
}

/// Compiles a value; with `want` it is converted as an assignment to a variable of that type is.
pub fn compile_scalar(
    e: &ast::Expr,
    env: &CompileEnv<'_>,
    want: Option<DataType>,
) -> Result<Arc<Scalar>, SqlError> {
    let (typed, tables) = bound(env, |b| b.expr(e))?;
    let Typed { ty, .. } = typed;
    let (expr, ty) = match want {
        Some(want) => (bind_ops::assigned(typed, want, Mode::Implicit)?, want),
        None => (typed.expr, ty),
    };
    Ok(Arc::new(Scalar { expr, ty, tables }))
}

/// Compiles a condition.
pub fn compile_condition(e: &ast::Expr, env: &CompileEnv<'_>) -> Result<Arc<Condition>, SqlError> {
    let (pred, tables) = bound(env, |b| b.pred(e))?;
    Ok(Arc::new(Condition { pred, tables }))
}

impl Scalar {
    /// The value now.
    #[inline]
    pub fn eval(&self, ctx: &mut ExecCtx<'_>) -> Result<Value, SqlError> {
        if !self.tables.0.is_empty() {
            self.tables.lock(ctx)?;
        }
        self.expr.eval(&[], &mut Rt::new(ctx))
    }

    /// Its type.
    pub fn ty(&self) -> DataType {
        self.ty
    }

    /// Whether it reads a table.
    pub fn reads_tables(&self) -> bool {
        !self.tables.0.is_empty()
    }
}

impl Condition {
    /// Whether it is true now.
    #[inline]
    pub fn test(&self, ctx: &mut ExecCtx<'_>) -> Result<bool, SqlError> {
        if !self.tables.0.is_empty() {
            self.tables.lock(ctx)?;
        }
        self.pred.is_true(&[], &mut Rt::new(ctx))
    }

    /// Whether it reads a table.
    pub fn reads_tables(&self) -> bool {
        !self.tables.0.is_empty()
    }
}
