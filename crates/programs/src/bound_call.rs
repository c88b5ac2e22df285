//! A call of a procedure as it is bound: its code, and the values that its parameters get.
//! Guarantee: it keeps no code alive: code holds the bindings of its own calls, which may be calls
//! of itself.

use std::sync::{Arc, Weak};

use types::{CodePage, DataType, Dialect, SqlError, Value};

use super::module::{ModuleCode, convert_argument};
use catalog::ModuleDef;
use exec::operators::context::ExecCtx;
use exec::operators::scalar::Scalar;

/// A call that is bound.
pub struct BoundCall {
    pub module: Arc<ModuleDef>,
    pub code: Weak<ModuleCode>,
    /// The arguments that are not DEFAULT.
    pub arguments: Arc<[Arc<Scalar>]>,
    /// By parameter.
    pub given: Box<[GivenArgument]>,
    /// OUTPUT: the parameter, and the caller's variable that takes it.
    pub outputs: Box<[(usize, usize)]>,
}

/// What a parameter gets.
pub enum GivenArgument {
    /// An argument, of the type of its variable or literal, or of its value.
    Argument(Arc<Scalar>, Option<DataType>),
    /// What it is without one.
    Default(Value),
}

impl BoundCall {
    /// The values of the procedure's variables that are its parameters.
    ///
    /// # Errors
    /// Those of an argument, and of its conversion.
    pub fn values(
        &self,
        code: &ModuleCode,
        ctx: &mut ExecCtx<'_>,
        manner: (Dialect, CodePage),
    ) -> Result<Vec<Value>, SqlError> {
        // Room for the variables that the procedure declares.
        let mut values = Vec::with_capacity(code.batch.program.vars.len());
        for (given, param) in self.given.iter().zip(&code.params) {
            values.push(match given {
                GivenArgument::Default(value) => value.clone(),
                GivenArgument::Argument(scalar, ty) => {
                    let value = scalar.eval(ctx)?;
                    let ty = ty.unwrap_or_else(|| value.natural_type());
                    convert_argument(&value, ty, param.ty, manner)?
                }
            });
        }
        Ok(values)
    }
}
