//! EXECUTE of a procedure of the current database with values and variables, bound: which procedure
//! the name means, its code, and which parameter each argument is for are found once, and hold as
//! long as the statement's stamp does. Guarantees: a call that would be an error is not bound: the
//! general way (`execute`) finds the error at each run. What is bound keeps no code alive: code
//! holds the bindings of its own calls, which may be calls of itself.

use std::sync::Arc;

use syntax::ast::{ExecuteArg, Expr, ExprKind, Literal};
use types::{DataType, Len, SqlError};

use super::run::{Failure, Flow, Run};
use super::scope::Body;
use catalog::{Db, ModuleDef};
use exec::operators::context::ExecCtx;
use programs::bound_call::{BoundCall, GivenArgument};
use programs::compiled::{BoundOperation, Stamp};
use programs::module::{ModuleCode, ParamCode, position};

/// A call, and the code that it runs.
type ReadyCall = (Arc<BoundCall>, Arc<ModuleCode>);

/// The type of an argument that does not depend on its value.
pub(super) fn static_type(run: &Run<'_>, value: &Expr) -> Option<DataType> {
    match &value.kind {
        // As long as it is: a sql_variant takes it, which takes no varchar(max).
        ExprKind::Literal(Literal::String { national: false, value }) => {
            let length = u16::try_from(value.chars().count()).ok().filter(|length| *length <= 8000);
            Some(DataType::VarChar(length.map_or(Len::Max, |length| Len::N(length.max(1)))))
        }
        ExprKind::Variable(variable) => run.batch.program.vars.find(variable).map(|v| v.1).ok(),
        _ => None,
    }
}

impl Run<'_> {
    /// The call that the statement is bound to, with the procedure's code.
    #[inline]
    pub(super) fn bound_call(&mut self, at: usize) -> Option<ReadyCall> {
        if !self.is_bound(at) || !self.core.options.runs() {
            return None;
        }
        let Some((_, BoundOperation::Call(call))) = &self.bound[at] else { return None };
        Some((call.clone(), call.code.upgrade()?))
    }

    /// Binds a call whose arguments' values the statement is bound to. Nothing for one that is an
    /// error, or has tables or cursors.
    pub(super) fn bind_call(
        &mut self,
        at: usize,
        db: &Arc<Db>,
        module: &Arc<ModuleDef>,
        args: &[ExecuteArg],
    ) -> Result<Option<ReadyCall>, Failure> {
        if !Arc::ptr_eq(db, self.core.db()) || !self.core.options.runs() {
            return Ok(None);
        }
        let code = self.code_of(db, module)?;
        let page = db.default_collation().code_page();
        let default = |param: &ParamCode| {
            Ok::<_, SqlError>(param.constant_default(page)?.map(GivenArgument::Default))
        };
        let mut given: Vec<Option<GivenArgument>> =
            code.params.iter().map(default).collect::<Result<_, _>>()?;
        let mut taken = vec![false; given.len()];
        let mut outputs = Vec::new();
        let mut exprs = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let Ok(to) = position(&module.name, &code.params, arg.name.as_deref(), i) else {
                return Ok(None);
            };
            let variable = match &arg.value.kind {
                ExprKind::Variable(name) => match self.batch.program.vars.find(name) {
                    Ok((slot, _)) => Some(slot),
                    // A table, or a cursor.
                    Err(_) => return Ok(None),
                },
                _ => None,
            };
            if std::mem::replace(&mut taken[to], true) || (arg.output && !code.params[to].output) {
                return Ok(None);
            }
            if let (true, Some(slot)) = (arg.output, variable) {
                outputs.push((to, slot));
            }
            if !matches!(arg.value.kind, ExprKind::Default) {
                exprs.push((to, &arg.value));
            }
        }
        if code.params.iter().any(|param| param.cursor || param.table.is_some()) {
            return Ok(None);
        }
        let stamp = Stamp::now(self.core);
        let values: Vec<&Expr> = exprs.iter().map(|(_, value)| *value).collect();
        self.bind_scalars(at, &values)?;
        let Some(arguments) =
            self.bound[at].as_ref().and_then(|(_, bound)| bound.scalars()).cloned()
        else {
            return Ok(None);
        };
        for ((to, value), scalar) in exprs.iter().zip(arguments.iter()) {
            given[*to] = Some(GivenArgument::Argument(scalar.clone(), static_type(self, value)));
        }
        let Some(given) = given.into_iter().collect::<Option<Box<[_]>>>() else { return Ok(None) };
        let (module, outputs) = (module.clone(), outputs.into());
        let call =
            Arc::new(BoundCall { module, code: Arc::downgrade(&code), arguments, given, outputs });
        let bound = Some((stamp, BoundOperation::Call(call.clone())));
        self.batch.bound.lock()[at].clone_from(&bound);
        self.bound[at] = bound;
        Ok(Some((call, code)))
    }

    /// Calls the procedure.
    pub(super) fn run_bound_call(
        &mut self,
        (call, code): &ReadyCall,
    ) -> Result<(Flow, i32), Failure> {
        let db = self.core.db();
        db.check_usable()?;
        if !self.core.may_all() {
            let db = db.clone();
            self.core.check_access(&db)?;
        }
        let Run { core, vars, .. } = self;
        let manner = (core.options.dialect, core.db().default_collation().code_page());
        let values = call.values(code, &mut ExecCtx { session: core, vars }, manner);
        let mut vars = core.end_expression(values)?;
        let home = self.core.db().clone();
        self.enter_module(&home, &call.module)?;
        let done = self.in_scope(&code.batch, &mut vars, Body::Module(&home, &call.module))?;
        if done.0 == Flow::Next {
            self.give_outputs(code, &call.outputs, &vars)?;
        }
        self.tell_called(done)
    }
}
