//! Procedures, functions and triggers as compiled code. [`super::cache`] keeps it.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ParseSettings;
use syntax::ast::{
    CreateFunction, Declaration, Expr, ExprKind, FunctionBody, Param, Span, Stmt, StmtKind,
    TypeName,
};
use types::convert::{Mode, convert, convert_with};
use types::{CodePage, DataType, Dialect, SqlError, Value, msg};

use super::arguments::Arg;
use super::compiled::{CompiledBatch, go_on};
use super::program::{BatchParam, FunctionResult};
use super::table_param::TableParam;
use bind::type_names::{data_type, in_list, table_type};
use catalog::{Catalog, ModuleDef, TableTypeDef, errors, fold_name};
use exec::operators::context::ExecCtx;
use exec::operators::scalar::Scalar;
use session::asking::GoOn;
use session::state::SessionCore;

/// A parameter.
#[derive(Clone, Debug)]
pub struct ParamCode {
    /// With its `@`.
    pub name: CompactString,
    pub ty: DataType,
    default: Option<ParamDefault>,
    pub output: bool,
    /// CURSOR VARYING: the procedure gives a cursor back.
    pub cursor: bool,
    /// The type of a READONLY parameter, which is a table; `ty` means nothing then.
    pub table: Option<Arc<TableTypeDef>>,
}

/// What a parameter is without an argument.
#[derive(Clone, Debug)]
enum ParamDefault {
    /// The constant as it is written, which is known to become a value of the type.
    Constant(Value),
    /// What the function of this name says of the session when the module is called: `@@spid`.
    Function(CompactString),
}

impl ParamCode {
    pub fn has_default(&self) -> bool {
        self.default.is_some()
    }

    /// What it is without an argument in every call, in the code page of the module's database.
    ///
    /// # Errors
    /// None but for text that the page makes longer than the type allows.
    pub fn constant_default(&self, page: CodePage) -> Result<Option<Value>, SqlError> {
        match &self.default {
            Some(ParamDefault::Constant(value)) => {
                self.converted(value, value.natural_type(), page).map(Some)
            }
            Some(ParamDefault::Function(_)) | None => Ok(None),
        }
    }

    /// What it is without an argument in this call.
    fn default_now(
        &self,
        core: &mut SessionCore,
        page: CodePage,
    ) -> Result<Option<Value>, SqlError> {
        let Some(ParamDefault::Function(name)) = &self.default else {
            return self.constant_default(page);
        };
        let function = core.host().above().function(name).ok_or_else(|| no_function(name))?;
        let said = Scalar::of_function(function)?;
        let value = said.eval(&mut ExecCtx { session: core, vars: &mut [] })?;
        self.converted(&value, said.ty(), page).map(Some)
    }

    fn converted(&self, value: &Value, ty: DataType, page: CodePage) -> Result<Value, SqlError> {
        convert_with(value, ty, self.ty, 0, Mode::Implicit, Dialect::default(), page)
    }
}

/// Compiled code of a module. Its parameters are its first variables.
pub struct ModuleCode {
    pub batch: Arc<CompiledBatch>,
    pub params: Vec<ParamCode>,
}

/// Compiles a module.
///
/// # Errors
/// What SQL Server finds when a module is made: undeclared variables, labels, types, defaults that
/// are no constants; 3617; 701.
pub fn compile(
    core: &SessionCore,
    module: &ModuleDef,
    catalog: &Catalog,
) -> Result<ModuleCode, SqlError> {
    let go_on: GoOn<'_> = &|| go_on(core);
    let params = checked_params(core, module, catalog)?;
    let typed: Vec<_> =
        params.iter().map(|p| (p.name.clone(), p.table.is_none().then_some(p.ty))).collect();
    let settings =
        ParseSettings { quoted_identifier: module.settings.quoted_identifier, parse_only: false };
    let mut known = typed.clone();
    if let Some(FunctionBody::Table { variable, .. }) = module.function().map(|f| &f.body) {
        if known.iter().any(|(name, _)| fold_name(name) == fold_name(variable)) {
            return Err(bind::env::declared_twice(variable));
        }
        known.push((variable.clone(), None));
    }
    super::declared::check(&module.text, module.body(), &known, settings, go_on)?;
    let mut batch = match module.function() {
        Some(function) => compile_function(module, function, &typed, (settings, catalog), go_on)?,
        None => CompiledBatch::of_body(
            &module.text,
            module.body().to_vec(),
            &typed,
            settings,
            catalog,
            go_on,
        )?,
    };
    batch.procedure = module.shown_name().clone();
    batch.object_id = module.object_id;
    for param in params.iter().filter(|param| param.cursor) {
        batch.program.vars.mark_cursor(&param.name);
    }
    Ok(ModuleCode { batch: Arc::new(batch), params })
}

/// The code of a scalar function, or of one that fills a table: it begins with the table's
/// declaration and ends with its rows.
fn compile_function(
    module: &ModuleDef,
    function: &CreateFunction,
    params: &[BatchParam],
    (settings, catalog): (ParseSettings, &Catalog),
    go_on: GoOn<'_>,
) -> Result<CompiledBatch, SqlError> {
    super::function_body::check(&module.text, function)?;
    let (body, result) = match &function.body {
        FunctionBody::Scalar { returns, body } => {
            let ty = data_type(returns, catalog)?;
            if ty.is_old_lob() || ty == DataType::RowVersion {
                return Err(SqlError::of(msg::RETURN_TYPE_INVALID, [&ty.base_name()]));
            }
            (body.clone(), FunctionResult::Scalar(ty))
        }
        FunctionBody::Table { variable, elements, body } => {
            let (name, elements, span) = (variable.clone(), elements.clone(), Span::default());
            let declared = StmtKind::Declare(vec![Declaration::Table { name, elements, span }]);
            let stmts = std::iter::once(Stmt { kind: declared, span })
                .chain(body.iter().cloned())
                .collect();
            let rows = syntax::parse(&format!("SELECT * FROM {variable}"))
                .map_err(errors::syntax_error)?;
            let Some(rows) = rows.into_iter().next() else {
                return Err(SqlError::internal("a function gives no rows"));
            };
            (stmts, FunctionResult::Rows(Box::new(rows)))
        }
        FunctionBody::Inline(_) => {
            return Err(SqlError::internal("an inline function has no code"));
        }
    };
    CompiledBatch::of_function(&module.text, body, params, result, settings, catalog, go_on)
}

/// The parameters of a module that is there.
///
/// # Errors
/// A type that they name may be gone.
pub fn params_of(module: &ModuleDef, catalog: &Catalog) -> Result<Vec<ParamCode>, SqlError> {
    params_with(module, catalog, &|_| true)
}

/// The parameters of a module that is made or compiled.
///
/// # Errors
/// As [`compile`].
pub fn checked_params(
    core: &SessionCore,
    module: &ModuleDef,
    catalog: &Catalog,
) -> Result<Vec<ParamCode>, SqlError> {
    let above = core.host().above();
    params_with(module, catalog, &|name| above.function(name).is_some())
}

/// `is_function`: whether there is a function of a name, for defaults.
fn params_with(
    module: &ModuleDef,
    catalog: &Catalog,
    is_function: &dyn Fn(&str) -> bool,
) -> Result<Vec<ParamCode>, SqlError> {
    let params = (1..).zip(declared_types(module).0);
    params
        .map(|(number, p)| param(p, catalog, is_function).map_err(|e| in_list(e, number)))
        .collect()
}

/// The parameters as they are declared, and the type that a scalar function says it returns.
pub fn declared_types(module: &ModuleDef) -> (&[Param], Option<&TypeName>) {
    match (module.procedure(), module.function()) {
        (Some(procedure), _) => (&procedure.params, None),
        (_, Some(function)) => match &function.body {
            FunctionBody::Scalar { returns, .. } => (&function.params, Some(returns)),
            FunctionBody::Inline(_) | FunctionBody::Table { .. } => (&function.params, None),
        },
        _ => (&[], None),
    }
}

/// The type of what a scalar function returns.
///
/// # Errors
/// 2715 no such type.
pub fn result_of(module: &ModuleDef, catalog: &Catalog) -> Result<Option<DataType>, SqlError> {
    let returns = declared_types(module).1;
    returns.map(|returns| data_type(returns, catalog)).transpose()
}

fn param(
    param: &Param,
    catalog: &Catalog,
    is_function: &dyn Fn(&str) -> bool,
) -> Result<ParamCode, SqlError> {
    let table = table_type(&param.data_type, catalog).cloned();
    if param.readonly && table.is_none() {
        // That there is no such type comes first.
        data_type(&param.data_type, catalog)?;
    }
    check_readonly(&param.name, param.readonly, table.is_some())?;
    if let Some(def) = table {
        if param.output || param.default.is_some() {
            return Err(errors::syntax_near(&param.name));
        }
        let (name, ty) = (param.name.clone(), DataType::Int);
        return Ok(ParamCode {
            name,
            ty,
            default: None,
            output: false,
            cursor: false,
            table: Some(def),
        });
    }
    if param.varying {
        if !param.output {
            return Err(SqlError::of(msg::CURSOR_NOT_OUTPUT, [&param.name]));
        }
        let (name, default) = (param.name.clone(), Some(ParamDefault::Constant(Value::Null)));
        return Ok(ParamCode {
            name,
            ty: DataType::Int,
            default,
            output: true,
            cursor: true,
            table: None,
        });
    }
    let ty = data_type(&param.data_type, catalog)?;
    let default = param.default.as_ref().map(|expr| unsaid(expr, ty, is_function)).transpose()?;
    Ok(ParamCode {
        name: param.name.clone(),
        ty,
        default,
        output: param.output,
        cursor: false,
        table: None,
    })
}

/// Errors: 102 what is no constant, 137 no function of this name; those of the conversion.
fn unsaid(
    default: &Expr,
    ty: DataType,
    is_function: &dyn Fn(&str) -> bool,
) -> Result<ParamDefault, SqlError> {
    match &default.kind {
        ExprKind::GlobalVariable(name) => match fold_name(name) {
            folded if is_function(&folded) => Ok(ParamDefault::Function(folded)),
            _ => Err(no_function(name)),
        },
        ExprKind::Variable(name) => Err(errors::syntax_near(name)),
        _ => {
            let value = bind::literal::literal(default)?;
            convert(&value, value.natural_type(), ty, 0, Mode::Implicit)?;
            Ok(ParamDefault::Constant(value))
        }
    }
}

fn no_function(name: &str) -> SqlError {
    SqlError::of(msg::UNDECLARED_VARIABLE, [&name])
}

/// READONLY is said of tables, and of them always. Errors: 352, 346.
pub fn check_readonly(name: &str, readonly: bool, is_table: bool) -> Result<(), SqlError> {
    match (readonly, is_table) {
        (true, true) | (false, false) => Ok(()),
        (false, true) => Err(SqlError::of(msg::TABLE_PARAMETER_NOT_READONLY, [&name])),
        (true, false) => Err(SqlError::of(msg::READONLY_NOT_TABLE, [&name])),
    }
}

/// The arguments of a call, in the order of the parameters.
pub struct Arguments {
    pub values: Vec<Value>,
    /// OUTPUT: the parameter, and the caller's variable that takes it.
    pub outputs: Vec<(usize, usize)>,
    /// Parameters that are cursors, and the caller's variables that take them.
    pub cursors: Vec<(CompactString, CompactString)>,
    /// The parameters that are tables.
    pub tables: Vec<TableParam>,
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
            found.ok_or_else(|| SqlError::of(msg::NOT_A_PARAMETER, [&wanted, &procedure]))
        }
        None if at < params.len() => Ok(at),
        None if params.is_empty() => {
            Err(SqlError::of(msg::PROCEDURE_WITHOUT_PARAMETERS, [&procedure]))
        }
        None => Err(SqlError::of(msg::TOO_MANY_ARGUMENTS, [&procedure])),
    }
}

/// The value of an argument as its parameter's: dates as the session reads them, in the database's
/// code page.
///
/// # Errors
/// 8114 it cannot be converted or does not fit; 206 and 257 no such conversion.
pub fn convert_argument(
    value: &Value,
    ty: DataType,
    to: DataType,
    (dialect, page): (Dialect, CodePage),
) -> Result<Value, SqlError> {
    convert_with(value, ty, to, 0, Mode::Implicit, dialect, page).map_err(|e| match e.number {
        220 | 232 | 235 | 241 | 242 | 244 | 245 | 248 | 293 | 295 | 8115 | 8169 => {
            SqlError::error_converting(ty, to)
        }
        _ => e,
    })
}

/// The values of a procedure's parameters, and which of them go back to which variable of the
/// caller.
///
/// # Errors
/// 8144 too many arguments, 8145 an unknown name, 8143 one twice, 201 one missing, 8162 OUTPUT for
/// one that has none.
pub fn bind_arguments(
    core: &mut SessionCore,
    name: &str,
    code: &ModuleCode,
    args: Vec<Arg>,
    manner: (Dialect, CodePage),
) -> Result<Arguments, SqlError> {
    let params = &code.params;
    let mut values: Vec<Option<Value>> = vec![None; params.len()];
    let mut given = vec![false; params.len()];
    let mut tables: Vec<Option<Arg>> = vec![None; params.len()];
    let (mut outputs, mut cursors) = (Vec::new(), Vec::new());
    for (i, arg) in args.into_iter().enumerate() {
        let at = position(name, params, arg.name.as_deref(), i)?;
        let param = &params[at];
        if std::mem::replace(&mut given[at], true) {
            return Err(SqlError::of(msg::PARAMETER_SUPPLIED_TWICE, [&param.name]));
        }
        if let Some(variable) = arg.cursor {
            if !param.cursor {
                return Err(SqlError::of(msg::CURSOR_VARIABLE_MISPLACED, [&variable]));
            }
            cursors.push((param.name.clone(), variable));
            continue;
        }
        if let Some(slot) = arg.output {
            if !param.output {
                return Err(SqlError::of(msg::NOT_AN_OUTPUT_PARAMETER, [&param.name]));
            }
            outputs.push((at, slot));
        }
        if param.table.is_some() {
            tables[at] = Some(arg);
            continue;
        }
        if arg.table.is_some() {
            return Err(SqlError::of(msg::TYPE_CLASH, [&"table", &param.ty.base_name()]));
        }
        if !arg.is_default {
            values[at] = Some(convert_argument(&arg.value, arg.ty, param.ty, manner)?);
        }
    }
    let mut vars = Vec::with_capacity(params.len());
    let mut passed = Vec::new();
    for ((param, value), table) in params.iter().zip(values).zip(tables) {
        if let Some(def) = &param.table {
            passed.push(TableParam::new(&param.name, def, table)?);
            vars.push(Value::Null);
            continue;
        }
        let value = match value {
            Some(value) => Some(value),
            None => param.default_now(core, manner.1)?,
        };
        vars.push(
            value.ok_or_else(|| SqlError::of(msg::PARAMETER_NOT_SUPPLIED, [&name, &param.name]))?,
        );
    }
    Ok(Arguments { values: vars, outputs, cursors, tables: passed })
}
