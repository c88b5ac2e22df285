//! Parameters that a batch uses and nobody declares: what the statements of this crate say of their
//! types. Which they are is found in `programs/src/undeclared_names.rs`. The rules are those of
//! [`bind::deduce`].

use syntax::ast::{AssignOp, Execute, ExecuteArg, ExecuteWhat, Expr, ExprKind};
use types::DataType;

use super::execute::ExecuteTarget;
use super::run::{Failure, Run};
use bind::undeclared::DeducedParameter;
use exec::operators::scalar::compile_scalar;
use programs::compiled::BoundOperation;
use programs::module::{params_of, position};

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
                undeclared.set(
                    slot,
                    DeducedParameter {
                        ty: value.ty(),
                        input,
                        output: true,
                        formal: None,
                        table: None,
                    },
                );
            }
            Ok(BoundOperation::Assign { slot, value })
        })
    }

    /// `EXEC @p = procedure @q`: an argument has the type of the procedure's parameter.
    pub(super) fn deduce_arguments(&mut self, execute: &Execute) -> Result<(), Failure> {
        let vars = &self.batch.program.vars;
        let Some(undeclared) = vars.undeclared().cloned() else { return Ok(()) };
        if let Some(slot) = execute.result.as_deref().and_then(|name| vars.open(name)) {
            let (ty, formal, table) = (DataType::Int, None, None);
            undeclared
                .set(slot, DeducedParameter { ty, input: false, output: true, formal, table });
        }
        let ExecuteWhat::Procedure { name, args, .. } = &execute.what else { return Ok(()) };
        let slot_of = |arg: &ExecuteArg| match &arg.value.kind {
            ExprKind::Variable(variable) => vars.open(variable),
            _ => None,
        };
        let (db, called) = self.find_called(name, &name.to_string())?;
        // Those of system procedures are not declared anywhere: 11502 in the end.
        let (home, module) = match called {
            ExecuteTarget::Module(module) => (db.clone(), module),
            ExecuteTarget::Global(home, module) => (home, module),
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
                undeclared.set(
                    slot,
                    DeducedParameter {
                        ty: param.ty,
                        input: true,
                        output: param.output,
                        formal,
                        table,
                    },
                );
            }
        }
        Ok(())
    }
}
