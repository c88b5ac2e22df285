//! EXEC: strings and sp_executesql in a scope of their own, system procedures by name.
//! Guarantee: database, SET options and SCOPE_IDENTITY() of the caller are what they were when the scope has ended.

use super::Compiled;
use super::cache::BatchCache;
use super::module::{Arguments, bind_arguments};
use super::trigger::{MAX_NESTING, too_deep};
use compact_str::CompactString;
use syntax::ast::{
    Declaration, Execute, ExecuteArg, ExecuteWhat, Expr, ExprKind, Ident, ObjectName, Span, StmtKind,
};
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value};

use super::run::{Effect, End, Failure, Flow, Run, run_batch};
use crate::ddl::temps;
use crate::functions::metadata::name_parts;
use crate::stmt::option_rules;
use crate::sysproc::{self, Arg};
use catalog::{Catalog, Db, ModuleDef, ModuleKind, errors, fold_name};
use plan::bind::set_options::SessionOptions;
use std::sync::Arc;

impl Run<'_> {
    pub(super) fn execute(&mut self, at: usize, execute: &Execute) -> Result<Flow, Failure> {
        option_rules::check("EXECUTE", &execute.options, option_rules::EXECUTE)?;
        match &execute.what {
            ExecuteWhat::Text { at: Some(server), .. } => {
                let text = format!(
                    "Could not find server '{server}' in sys.servers. Verify that the correct server name was specified."
                );
                Err(SqlError::new(7202, 11, 2, text).into())
            }
            ExecuteWhat::Text { text, .. } => {
                let values = self.evaluate_at(at, &[text])?;
                match values.into_iter().next() {
                    Some(Value::Str(text)) => {
                        let (flow, _) = self.nested(&text, Vec::new(), &mut Vec::new())?;
                        Ok(flow)
                    }
                    _ => Ok(Flow::Next),
                }
            }
            ExecuteWhat::Procedure { name, args, .. } => {
                self.call(at, name, &name.to_string(), args, execute.result.as_deref())
            }
            ExecuteWhat::ProcedureVariable { name, args } => {
                let (slot, _) = self.batch.program.vars.find(name)?;
                let shown = self.vars[slot].as_str().unwrap_or_default().to_string();
                let name = object_name(&shown).ok_or_else(|| errors::no_procedure(&shown))?;
                self.call(at, &name, &shown, args, execute.result.as_deref())
            }
        }
    }

    fn call(
        &mut self,
        at: usize,
        name: &ObjectName,
        shown: &str,
        args: &[ExecuteArg],
        result: Option<&str>,
    ) -> Result<Flow, Failure> {
        let procedure = sysproc::find(&name.name.value);
        let dynamic = name.name.is("sp_executesql");
        let own = name.schema.as_ref().is_some_and(|s| !s.is("sys") && !s.is("dbo"));
        let db = crate::stmt::database_of(self.core, name)?;
        db.check_usable()?;
        let called = if own || (procedure.is_none() && !dynamic) {
            Called::Module(self.user_procedure(&db, name, shown)?)
        } else {
            procedure.map_or(Called::Text, Called::System)
        };
        let exprs: Vec<&Expr> = args.iter().map(|a| &a.value).filter(|e| !is_default(e)).collect();
        let mut values =
            if exprs.is_empty() { Vec::new() } else { self.evaluate_at(at, &exprs)? }.into_iter();
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            let value =
                if is_default(&arg.value) { Value::Null } else { values.next().unwrap_or(Value::Null) };
            let output = match &arg.value.kind {
                ExprKind::Variable(variable) if arg.output => Some(self.batch.program.vars.find(variable)?.0),
                _ => None,
            };
            bound.push(Arg { name: arg.name.clone(), value, output, is_default: is_default(&arg.value) });
        }
        // A system procedure works on the database in whose name it is called.
        let caller = self.core.db().clone();
        self.core.set_db(db);
        let done = match called {
            Called::System(procedure) => {
                self.system_procedure(procedure, &bound).map(|status| (Flow::Next, status))
            }
            Called::Text => self.execute_sql(bound),
            Called::Module(module) => self.run_procedure(&module, bound),
        };
        self.core.set_db(caller);
        let (flow, status) = done?;
        if let Some(variable) = result {
            let (slot, ty) = self.batch.program.vars.find(variable)?;
            self.vars[slot] = convert(&Value::Int(status), DataType::Int, ty, 0, Mode::Implicit)?;
        }
        Ok(flow)
    }

    /// The user's procedure of a name. Error: 2812.
    fn user_procedure(
        &mut self,
        db: &Arc<Db>,
        name: &ObjectName,
        shown: &str,
    ) -> Result<Arc<ModuleDef>, SqlError> {
        let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
        let catalog = db.catalog();
        let module = catalog.find_module(schema, &name.name.value);
        let module = module.filter(|module| module.kind == ModuleKind::Procedure);
        module.cloned().ok_or_else(|| errors::no_procedure(shown))
    }

    /// Runs a procedure with arguments.
    fn run_procedure(&mut self, module: &Arc<ModuleDef>, args: Vec<Arg>) -> Result<(Flow, i32), Failure> {
        let instance = self.core.instance().clone();
        let code = BatchCache::of(&instance)?.module(self.core.db(), module)?;
        let Arguments { values: mut vars, outputs } = bind_arguments(&module.name, &code, args)?;
        let settings = module.settings;
        let done = self.in_scope(&code.batch, &mut vars, |options| {
            options.quoted_identifier = settings.quoted_identifier;
            options.ansi_nulls = settings.ansi_nulls;
        })?;
        if done.0 == Flow::Next {
            for (from, slot) in outputs {
                let ty = self.batch.program.vars.get(slot).map_or(DataType::Int, |(_, ty)| ty);
                self.vars[slot] = convert(&vars[from], code.params[from].ty, ty, 0, Mode::Implicit)?;
            }
        }
        Ok(done)
    }

    fn system_procedure(&mut self, procedure: sysproc::Procedure, args: &[Arg]) -> Result<i32, Failure> {
        let mut outputs = Vec::new();
        self.core.begin_statement(false)?;
        let result =
            procedure(&mut sysproc::Call { core: self.core, sink: self.sink, args, outputs: &mut outputs });
        let status = self.core.end_statement(result)?;
        for (slot, value) in outputs {
            let ty = self.batch.program.vars.get(slot).map_or(DataType::Int, |(_, ty)| ty);
            self.vars[slot] = convert(&value, value.natural_type(), ty, 0, Mode::Implicit)?;
        }
        self.core.succeeded(0);
        Ok(status)
    }

    /// sp_executesql @stmt [, @params, values...].
    fn execute_sql(&mut self, args: Vec<Arg>) -> Result<(Flow, i32), Failure> {
        let mut args = args.into_iter();
        let text = match args.next().map(|a| a.value) {
            Some(Value::Str(text)) => text,
            Some(Value::Null) => return Ok((Flow::Next, 0)),
            Some(_) => {
                let text = "Procedure expects parameter '@statement' of type 'ntext/nchar/nvarchar'.";
                return Err(SqlError::new(214, 16, 2, text).into());
            }
            None => {
                let text = "Procedure or function 'sp_executesql' expects parameter '@statement', which was not supplied.";
                return Err(SqlError::new(201, 16, 10, text).into());
            }
        };
        let params = match args.next().map(|a| a.value) {
            Some(Value::Str(definition)) => parse_parameters(&definition, &self.core.db().catalog())?,
            _ => Vec::new(),
        };
        let mut values = vec![None; params.len()];
        let mut copies = Vec::new();
        for (i, arg) in args.enumerate() {
            let at = match &arg.name {
                Some(name) => params.iter().position(|p| fold_name(&p.name) == fold_name(name)),
                None => Some(i).filter(|i| *i < params.len()),
            };
            let Some(at) = at else {
                let text = "Procedure or function has too many arguments specified.";
                return Err(SqlError::new(8144, 16, 2, text).into());
            };
            let value = convert(&arg.value, arg.value.natural_type(), params[at].ty, 0, Mode::Implicit)?;
            values[at] = Some(value);
            if let Some(slot) = arg.output {
                copies.push((at, slot));
            }
        }
        let mut vars = Vec::with_capacity(params.len());
        for (param, value) in params.iter().zip(values) {
            vars.push(value.or_else(|| param.default.clone()).ok_or_else(|| missing(&param.name))?);
        }
        let typed = params.iter().map(|p| (p.name.clone(), p.ty)).collect();
        let (flow, status) = self.nested(&text, typed, &mut vars)?;
        for (from, slot) in copies {
            let ty = self.batch.program.vars.get(slot).map_or(DataType::Int, |(_, ty)| ty);
            self.vars[slot] = convert(&vars[from], params[from].ty, ty, 0, Mode::Implicit)?;
        }
        Ok((flow, status))
    }

    /// Runs a text in a scope of its own.
    fn nested(
        &mut self,
        text: &str,
        params: Vec<(CompactString, DataType)>,
        vars: &mut Vec<Value>,
    ) -> Result<(Flow, i32), Failure> {
        let cache = self.core.instance().clone();
        let inner = BatchCache::of(&cache)?.get(self.core.db(), &self.core.options, text, &params)?;
        let settings = inner.settings;
        self.in_scope(&inner, vars, |options| options.set_parse_settings(settings))
    }

    /// Runs compiled code in a scope of its own: SET options, the current database, SCOPE_IDENTITY() and what `inserted` means
    /// are the caller's again afterwards.
    fn in_scope(
        &mut self,
        inner: &Arc<Compiled>,
        vars: &mut Vec<Value>,
        set: impl FnOnce(&mut SessionOptions),
    ) -> Result<(Flow, i32), Failure> {
        if self.core.nest_level >= MAX_NESTING {
            return Err(too_deep().into());
        }
        let options = self.core.options.clone();
        let db = self.core.db().clone();
        let trancount = self.core.trancount;
        set(&mut self.core.options);
        self.core.nest_level += 1;
        self.core.temps.level = self.core.nest_level;
        // No identity value was given in it yet.
        let scope_identity = self.core.scope_identity.take();
        let changes = self.core.changes.take();
        let catching = self.catches();
        let end = run_batch(self.core, self.sink, inner, vars, catching);
        self.core.nest_level -= 1;
        self.core.temps.level = self.core.nest_level;
        temps::end_scope(self.core);
        self.core.options = options;
        self.core.scope_identity = scope_identity;
        self.core.changes = changes;
        self.core.set_db(db);
        match end {
            Ok(End::Finished(status)) if self.core.trancount == trancount => Ok((Flow::Next, status)),
            Ok(End::Finished(_)) => {
                let text = format!(
                    "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. \
                     Previous count = {trancount}, current count = {}.",
                    self.core.trancount
                );
                Err(Failure { error: SqlError::new(266, 16, 2, text), effect: Effect::Raise })
            }
            Ok(End::ScopeAborted) => Ok((Flow::Next, -1)),
            Ok(End::BatchAborted) => Ok((Flow::Abort, -1)),
            // The error of an inner scope keeps its line and goes to this scope's CATCH.
            Err(error) => Err(error.into()),
        }
    }
}

/// What EXECUTE calls.
enum Called {
    System(sysproc::Procedure),
    /// sp_executesql.
    Text,
    Module(Arc<ModuleDef>),
}

/// A name of up to four parts that a variable holds.
fn object_name(text: &str) -> Option<ObjectName> {
    let mut parts = name_parts(text)?.into_iter();
    let ident = |name: String| Ident { value: name.into(), quoted: true, span: Span::default() };
    let mut part = || parts.next().filter(|part| !part.is_empty()).map(ident);
    let name = part()?;
    Some(ObjectName { schema: part(), database: part(), server: part(), name })
}

fn is_default(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Default)
}

/// A parameter of sp_executesql.
struct Parameter {
    name: CompactString,
    ty: DataType,
    default: Option<Value>,
}

/// Names and types of declared parameters.
///
/// # Errors
/// Those of the declarations.
pub fn declared_parameters(
    definition: &str,
    catalog: &Catalog,
) -> Result<Vec<(CompactString, DataType)>, SqlError> {
    Ok(parse_parameters(definition, catalog)?.into_iter().map(|p| (p.name, p.ty)).collect())
}

/// `@a int, @b varchar(10) OUTPUT`: read as a DECLARE once OUTPUT is taken out.
fn parse_parameters(definition: &str, catalog: &Catalog) -> Result<Vec<Parameter>, SqlError> {
    if definition.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut text = String::from("DECLARE ");
    let mut end = 0;
    for token in syntax::lexer::tokenize(definition).list {
        let (start, stop) = (token.span.start as usize, token.span.end as usize);
        let word = token.span.text(definition);
        let skip = ["output", "out", "readonly"].iter().any(|w| word.eq_ignore_ascii_case(w));
        text.push_str(definition.get(end..start).unwrap_or_default());
        if !skip {
            text.push_str(word);
        }
        end = stop.max(end);
    }
    let stmts = syntax::parse(&text).map_err(catalog::errors::syntax_error)?;
    let [stmt] = stmts.as_slice() else { return Err(errors::syntax_near(definition)) };
    let StmtKind::Declare(list) = &stmt.kind else { return Err(errors::syntax_near(definition)) };
    let mut params = Vec::with_capacity(list.len());
    for item in list {
        let Declaration::Scalar { name, data_type, value, .. } = item else {
            return Err(errors::not_supported("table parameter"));
        };
        let ty = crate::stmt::table_def::data_type(data_type, catalog)?;
        let default = match value {
            None => None,
            Some(expr) => {
                let value = crate::stmt::literal(expr)?;
                Some(convert(&value, value.natural_type(), ty, 0, Mode::Implicit)?)
            }
        };
        params.push(Parameter { name: name.clone(), ty, default });
    }
    Ok(params)
}

fn missing(name: &str) -> SqlError {
    let text = format!("The parameterized query expects the parameter '{name}', which was not supplied.");
    SqlError::new(8178, 16, 1, text)
}
