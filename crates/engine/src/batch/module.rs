//! Procedures and triggers as compiled code. [`super::cache`] keeps it.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::Param;
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value};

use super::Compiled;
use crate::sysproc::Arg;
use catalog::{Catalog, ModuleDef, errors, fold_name};

/// A parameter.
#[derive(Clone, Debug)]
pub struct ParamCode {
    /// With its `@`.
    pub name: CompactString,
    pub ty: DataType,
    pub default: Option<Value>,
    pub output: bool,
}

/// Compiled code of a module. Its parameters are its first variables.
pub struct ModuleCode {
    pub batch: Arc<Compiled>,
    pub params: Vec<ParamCode>,
}

/// Compiles a module.
///
/// # Errors
/// What SQL Server finds when a module is made: undeclared variables, labels, types, defaults that are no constants.
pub fn compile(module: &ModuleDef, catalog: &Catalog) -> Result<ModuleCode, SqlError> {
    let params = params_of(module, catalog)?;
    let typed: Vec<_> = params.iter().map(|p| (p.name.clone(), p.ty)).collect();
    let settings = ParseSettings { quoted_identifier: module.settings.quoted_identifier, parse_only: false };
    super::declared::check(&module.text, module.body(), &typed, settings)?;
    let mut batch = Compiled::of_body(&module.text, module.body().to_vec(), &typed, settings, catalog)?;
    batch.procedure = module.name.clone();
    Ok(ModuleCode { batch: Arc::new(batch), params })
}

/// The parameters of a module.
///
/// # Errors
/// As [`compile`].
pub fn params_of(module: &ModuleDef, catalog: &Catalog) -> Result<Vec<ParamCode>, SqlError> {
    let params = module.procedure().map_or(&[][..], |procedure| &procedure.params);
    params.iter().map(|p| param(p, catalog)).collect()
}

fn param(param: &Param, catalog: &Catalog) -> Result<ParamCode, SqlError> {
    if param.readonly {
        return Err(errors::not_supported("table parameter"));
    }
    if param.varying {
        return Err(errors::not_supported("cursor parameter"));
    }
    let ty = crate::stmt::table_def::data_type(&param.data_type, catalog)?;
    let default = match &param.default {
        None => None,
        Some(expr) => {
            let value = plan::bind::literal::literal(expr)?;
            Some(convert(&value, value.natural_type(), ty, 0, Mode::Implicit)?)
        }
    };
    Ok(ParamCode { name: param.name.clone(), ty, default, output: param.output })
}

/// The arguments of a call, in the order of the parameters.
pub struct Arguments {
    pub values: Vec<Value>,
    /// OUTPUT: the parameter, and the caller's variable that takes it.
    pub outputs: Vec<(usize, usize)>,
}

/// Which parameter of a procedure an argument is for.
///
/// # Errors
/// 8144 too many arguments, 8145 an unknown name.
pub fn position(
    procedure: &str,
    params: &[ParamCode],
    name: Option<&str>,
    at: usize,
) -> Result<usize, SqlError> {
    match name {
        Some(wanted) => {
            let found = params.iter().position(|p| fold_name(&p.name) == fold_name(wanted));
            found.ok_or_else(|| {
                let text = format!("{wanted} is not a parameter for procedure {procedure}.");
                SqlError::new(8145, 16, 1, text)
            })
        }
        None if at < params.len() => Ok(at),
        None => {
            let text = format!("Procedure or function {procedure} has too many arguments specified.");
            Err(SqlError::new(8144, 16, 2, text))
        }
    }
}

/// The values of a procedure's parameters, and which of them go back to which variable of the caller.
///
/// # Errors
/// 8144 too many arguments, 8145 an unknown name, 8143 one twice, 201 one missing, 8162 OUTPUT for one that has none.
pub fn bind_arguments(name: &str, code: &ModuleCode, args: Vec<Arg>) -> Result<Arguments, SqlError> {
    let params = &code.params;
    let mut values: Vec<Option<Value>> = vec![None; params.len()];
    let mut given = vec![false; params.len()];
    let mut outputs = Vec::new();
    for (i, arg) in args.into_iter().enumerate() {
        let at = position(name, params, arg.name.as_deref(), i)?;
        let param = &params[at];
        if std::mem::replace(&mut given[at], true) {
            let text = format!("Parameter '{}' was supplied multiple times.", param.name);
            return Err(SqlError::new(8143, 16, 1, text));
        }
        if let Some(slot) = arg.output {
            if !param.output {
                let text = format!(
                    "The formal parameter \"{}\" was not declared as an OUTPUT parameter, but the actual parameter \
                     passed in requested output.",
                    param.name
                );
                return Err(SqlError::new(8162, 16, 2, text));
            }
            outputs.push((at, slot));
        }
        if !arg.is_default {
            values[at] = Some(convert(&arg.value, arg.ty, param.ty, 0, Mode::Implicit)?);
        }
    }
    let mut vars = Vec::with_capacity(params.len());
    for (param, value) in params.iter().zip(values) {
        vars.push(value.or_else(|| param.default.clone()).ok_or_else(|| {
            let text = format!(
                "Procedure or function '{name}' expects parameter '{}', which was not supplied.",
                param.name
            );
            SqlError::new(201, 16, 4, text)
        })?);
    }
    Ok(Arguments { values: vars, outputs })
}
