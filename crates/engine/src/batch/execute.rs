//! EXEC: what a name means, arguments, the rights to it. What is called runs in a scope of its own
//! (`scope`).

use super::call::static_type;
use super::dynamic::DynamicProcedure;
use super::function;
use compact_str::CompactString;
use instance::OfInstance;
use programs::arguments::{Arg, TableArg};
use programs::module::{Arguments, ModuleCode, bind_arguments};
use programs::program::BatchParam;
use programs::table_param::TableParam;
use syntax::ast::{
    Execute, ExecuteArg, ExecuteAs, ExecuteWhat, Expr, ExprKind, Ident, ObjectName, Span,
};
use types::convert::{Mode, convert, convert_with};
use types::{DataType, SqlError, Value, msg};

use super::run::{Failure, Flow, Run};
use super::scope::Body;
use bind::function::CalledFunction;
use bind::module_schema::schema_of;
use catalog::other::OtherObject;
use catalog::security::Permission;
use catalog::{Db, ModuleDef, ModuleKind, errors};
use ddl::option_rules;
use ddl::{temp_procedures, temps};
use logical::rights::Rights;
use metadata::names::name_parts;
use metadata::scripts;
use session::output::StatementKind;
use session::state::caller::ActingEnd;
use session::state::phases::{self, Phase};
use std::sync::Arc;

impl Run<'_> {
    pub(super) fn execute(&mut self, at: usize, execute: &Execute) -> Result<Flow, Failure> {
        option_rules::check("EXECUTE", &execute.options, option_rules::EXECUTE)?;
        if self.core.in_function() {
            return Err(SqlError::of(msg::ONLY_FUNCTIONS_IN_FUNCTION, []).into());
        }
        match &execute.result_sets {
            Some(declared) => self.execute_declared(at, execute, declared),
            None => self.execute_as_is(at, execute),
        }
    }

    /// EXECUTE, whatever its result sets are to be.
    pub(super) fn execute_as_is(&mut self, at: usize, execute: &Execute) -> Result<Flow, Failure> {
        match &execute.what {
            ExecuteWhat::Text { at: Some(server), .. } => {
                Err(errors::no_server(&server.value).into())
            }
            ExecuteWhat::Text { text, as_whom, .. } => {
                let values = self.evaluate_at(at, &[text])?;
                match values.into_iter().next() {
                    Some(Value::Str(text)) => self.execute_text(&text, as_whom.as_ref()),
                    _ => Ok(Flow::Next),
                }
            }
            ExecuteWhat::Procedure { name, args, .. } => {
                let bound = match self.bound_call(at) {
                    Some(bound) => Ok(bound),
                    None => {
                        let (db, called) = self.find_called(name, &name.to_string())?;
                        match &called {
                            ExecuteTarget::Module(module) => {
                                self.bind_call(at, &db, module, args)?
                            }
                            _ => None,
                        }
                        .ok_or((db, called))
                    }
                };
                let done = match bound {
                    Ok(bound) => self.run_bound_call(&bound)?,
                    Err((db, called)) => self.call(at, db, called, args)?,
                };
                self.set_status(execute.result.as_deref(), done)
            }
            // The name is another one each time.
            ExecuteWhat::ProcedureVariable { name, args } => {
                let (slot, _) = self.batch.program.vars.find(name)?;
                let shown = self.vars[slot].as_str().unwrap_or_default().to_string();
                let name = object_name(&shown).ok_or_else(|| errors::no_procedure(&shown))?;
                let (db, called) = self.find_called(&name, &shown)?;
                let done = self.call(at, db, called, args)?;
                self.set_status(execute.result.as_deref(), done)
            }
        }
    }

    /// EXEC @result = ...: the value of a function, of anything else the status.
    fn set_status(
        &mut self,
        result: Option<&str>,
        (flow, status): (Flow, i32),
    ) -> Result<Flow, Failure> {
        let returned = self.returned.take().map(|returned| *returned);
        let (value, of) = returned.unwrap_or((Value::Int(status), DataType::Int));
        if let Some(variable) = result {
            let (slot, ty) = self.batch.program.vars.find(variable)?;
            self.vars[slot] = convert(&value, of, ty, 0, Mode::Implicit)?;
        }
        Ok(flow)
    }

    /// Evaluates the arguments and calls.
    fn call(
        &mut self,
        at: usize,
        db: Arc<Db>,
        called: ExecuteTarget,
        args: &[ExecuteArg],
    ) -> Result<(Flow, i32), Failure> {
        let vars = &self.batch.program.vars;
        let cursor_of = |arg: &ExecuteArg| match &arg.value.kind {
            ExprKind::Variable(name) if vars.is_cursor(name) => Some(name.clone()),
            _ => None,
        };
        let tables: Vec<Option<TableArg>> =
            args.iter().map(|arg| self.table_argument(&arg.value)).collect();
        let given = args.iter().zip(&tables).filter(|(arg, table)| {
            table.is_none() && !is_default(&arg.value) && cursor_of(arg).is_none()
        });
        let exprs: Vec<&Expr> = given.map(|(arg, _)| &arg.value).collect();
        let mut values =
            if exprs.is_empty() { Vec::new() } else { self.evaluate_at(at, &exprs)? }.into_iter();
        let mut bound = Vec::with_capacity(args.len());
        for (arg, table) in args.iter().zip(tables) {
            let cursor = cursor_of(arg);
            let given = table.is_none() && !is_default(&arg.value) && cursor.is_none();
            let value = if given { values.next().unwrap_or(Value::Null) } else { Value::Null };
            let output = match &arg.value.kind {
                ExprKind::Variable(variable) if arg.output && cursor.is_none() => {
                    Some(self.batch.program.vars.find(variable)?.0)
                }
                _ => None,
            };
            let is_default = is_default(&arg.value);
            let ty = static_type(self, &arg.value).unwrap_or_else(|| value.natural_type());
            let name = arg.name.clone();
            bound.push(Arg { name, ty, value, output, is_default, table, cursor });
        }
        self.run_called(db, called, bound)
    }

    /// The table variable that an argument is.
    fn table_argument(&self, value: &Expr) -> Option<TableArg> {
        let ExprKind::Variable(name) = &value.kind else { return None };
        if self.batch.program.vars.find(name).is_ok() {
            return None;
        }
        let variable = self.core.objects.temps.variable(name)?;
        Some(TableArg::Variable { object_id: variable.object_id, type_id: variable.type_id })
    }

    /// A call that does not come as T-SQL: the position of an argument is the variable that takes
    /// its result.
    pub(super) fn call_by_name(
        &mut self,
        shown: &str,
        args: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        // What drivers call for each statement, mostly by its number: the name is a plain one.
        if let Some(dynamic) = DynamicProcedure::find(shown) {
            let plan = phases::enter(Phase::Plan);
            self.core.check_here()?;
            drop(plan);
            let done = self.dynamic(dynamic, args)?;
            return self.tell_called(done);
        }
        let name = object_name(shown).ok_or_else(|| errors::no_procedure(shown))?;
        let (db, called) = self.find_called(&name, shown)?;
        self.run_called(db, called, args)
    }

    /// What a name means in EXECUTE. Errors: 2812, and those of the database that it names.
    pub(super) fn find_called(
        &mut self,
        name: &ObjectName,
        shown: &str,
    ) -> Result<(Arc<Db>, ExecuteTarget), Failure> {
        let mut looked = self.core.looked();
        loop {
            let failure = match self.look_up_called(name, shown) {
                Err(failure) if matches!(failure.error.number, 2812 | 5313) => failure,
                found => return found,
            };
            // Another session's transaction may have dropped it, and take it back.
            let missing = match failure.error.number {
                2812 => errors::invalid_object(&name.to_string()),
                _ => failure.error.clone(),
            };
            if !self.core.wait_for_missing(&missing, &mut looked)? {
                return Err(failure);
            }
        }
    }

    /// What a name means in EXECUTE at this moment.
    fn look_up_called(
        &mut self,
        name: &ObjectName,
        shown: &str,
    ) -> Result<(Arc<Db>, ExecuteTarget), Failure> {
        let _plan = phases::enter(Phase::Plan);
        if name.name.value.starts_with('#') {
            return self.temporary_procedure(name, shown);
        }
        let own = name.schema.as_ref().is_some_and(|s| !s.is("sys") && !s.is("dbo"));
        let of_system = if own { None } else { ExecuteTarget::of_system(&name.name.value)? };
        // A synonym does not stand before a procedure of the system, as no procedure of users does.
        let based = if of_system.is_some() { None } else { self.through_synonym(name)? };
        let name = based.as_ref().unwrap_or(name);
        let db = statements::database_of(self.core, name)?;
        db.check_usable()?;
        self.core.check_access(&db)?;
        let called = match of_system {
            Some(called) => called,
            None => self.user_module(&db, name, shown)?,
        };
        Ok((db, called))
    }

    /// The temporary procedure of a name, which every database has. Error: 2812.
    fn temporary_procedure(
        &self,
        name: &ObjectName,
        shown: &str,
    ) -> Result<(Arc<Db>, ExecuteTarget), Failure> {
        if let Some(server) = &name.server {
            return Err(errors::no_server(&server.value).into());
        }
        let found = temp_procedures::find(self.core, &name.name.value)?;
        let module = found.ok_or_else(|| errors::no_procedure(shown))?;
        Ok((self.core.db().clone(), ExecuteTarget::Global(temps::tempdb(self.core)?, module)))
    }

    /// Runs what is called with its arguments. A system procedure works on the database in whose
    /// name it is called.
    fn run_called(
        &mut self,
        db: Arc<Db>,
        called: ExecuteTarget,
        args: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let done = self.run_untold(db, called, args)?;
        self.tell_called(done)
    }

    /// The same, and the client is not told that it has ended: whoever calls it tells of itself.
    pub(super) fn run_untold(
        &mut self,
        db: Arc<Db>,
        called: ExecuteTarget,
        args: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let visit = self.core.visit_db(&db)?;
        let done = match called {
            // FMTONLY: nothing runs, and what it would return is not known.
            ExecuteTarget::System(_) if !self.core.options.runs() => Ok((Flow::Next, 0)),
            ExecuteTarget::Module(module) if !self.core.options.runs() => {
                let home = self.core.db().clone();
                self.describe_procedure(&home, &module)
            }
            ExecuteTarget::System(procedure) => {
                self.system_procedure(procedure, &args).map(|status| (Flow::Next, status))
            }
            ExecuteTarget::Dynamic(dynamic) => self.dynamic(dynamic, args),
            ExecuteTarget::Module(module) => {
                let home = self.core.db().clone();
                self.run_procedure(&home, &module, args, false)
            }
            ExecuteTarget::Global(home, module) if !self.core.options.runs() => {
                self.describe_procedure(&home, &module)
            }
            ExecuteTarget::Global(home, module) => self.run_procedure(&home, &module, args, false),
            ExecuteTarget::Function(_) if !self.core.options.runs() => Ok((Flow::Next, 0)),
            ExecuteTarget::Function(function) => self.run_function(&function, args),
            ExecuteTarget::Script(script) if !self.core.options.runs() => {
                self.describe_script(&script)
            }
            ExecuteTarget::Script(script) => self.run_script(&script, args),
        };
        self.core.end_visit(visit);
        done
    }

    /// Tells the client that what its own batch has called has ended, or a procedure of it.
    pub(super) fn tell_called(
        &mut self,
        (flow, status): (Flow, i32),
    ) -> Result<(Flow, i32), Failure> {
        if flow == Flow::Next {
            self.core.tell_transactions(self.sink)?;
            if self.core.run.nest_level == 0 {
                self.sink.procedure_done(status)?;
            } else {
                self.told(StatementKind::Execute, None)?;
            }
        }
        Ok((flow, status))
    }

    /// What a name stands for that is a synonym.
    fn through_synonym(&self, name: &ObjectName) -> Result<Option<ObjectName>, SqlError> {
        let db = statements::database_of(self.core, name)?;
        let catalog = db.catalog();
        let own = self.core.identity.module_schema();
        let schema = schema_of(own.as_deref(), &catalog, name);
        let Some(OtherObject::Synonym(synonym)) = catalog.find_other(schema, &name.name.value)
        else {
            return Ok(None);
        };
        let base = bind::synonym::base_of(&db, synonym);
        let found = statements::database_of(self.core, &base)?.catalog();
        let schema = base.schema.as_ref().map_or("", |s| s.value.as_str());
        match found.find_module(schema, &base.name.value) {
            Some(module) if module.kind == ModuleKind::Procedure => Ok(Some(base)),
            _ => Err(bind::synonym::invalid_synonym(name)),
        }
    }

    /// The user's procedure or scalar function of a name. Error: 2812.
    fn user_module(
        &mut self,
        db: &Arc<Db>,
        name: &ObjectName,
        shown: &str,
    ) -> Result<ExecuteTarget, SqlError> {
        let catalog = db.catalog();
        let own = self.core.identity.module_schema();
        let schema = schema_of(own.as_deref(), &catalog, name);
        let module = catalog.find_module(schema, &name.name.value);
        match module.map(|module| (module.kind, module.clone())) {
            Some((ModuleKind::Procedure, module)) => Ok(ExecuteTarget::Module(module)),
            Some((ModuleKind::ScalarFunction, module)) => Ok(ExecuteTarget::Function(module)),
            _ => self.global_procedure(name).ok_or_else(|| errors::no_procedure(shown)),
        }
    }

    /// The procedure of master that a name beginning with `sp_` means in every database.
    fn global_procedure(&self, name: &ObjectName) -> Option<ExecuteTarget> {
        let prefix = name.name.value.get(..3).filter(|prefix| prefix.eq_ignore_ascii_case("sp_"));
        let master = prefix.and_then(|_| self.core.host().find_db("master"));
        let master = master.filter(|_| name.database.is_none() && name.server.is_none())?;
        let schema = name.schema.as_ref().map_or("dbo", |schema| schema.value.as_str());
        let found = master.catalog().find_module(schema, &name.name.value).cloned();
        found
            .filter(|module| module.kind == ModuleKind::Procedure)
            .map(|module| ExecuteTarget::Global(master, module))
    }

    /// Runs a scalar function with arguments; its value waits for the variable of the call.
    fn run_function(
        &mut self,
        module: &Arc<ModuleDef>,
        args: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let home = self.core.db().clone();
        let code = self.code_of(&home, module)?;
        let manner = (self.core.options.dialect, home.default_collation().code_page());
        let Arguments { values, .. } =
            bind_arguments(self.core, &module.name, &code, args, manner)?;
        self.enter_module(&home, module)?;
        let called = CalledFunction { db: home, module: module.clone() };
        self.core.begin_statement(false)?;
        let result = function::run(self.core, &called, values, self.sink);
        let value = self.core.end_statement(result)?;
        let program = &code.batch.program;
        let ty = program
            .result
            .and_then(|slot| program.vars.get(slot))
            .map_or(DataType::Int, |(_, ty)| ty);
        self.returned = Some(Box::new((value, ty)));
        Ok((Flow::Next, 0))
    }

    /// The right to a procedure: EXECUTE, unless the module that calls it has the same owner.
    pub(super) fn enter_module(
        &mut self,
        home: &Arc<Db>,
        module: &Arc<ModuleDef>,
    ) -> Result<(), SqlError> {
        // Who knows a temporary procedure may run it.
        if !self.core.may_all() && !module.is_temporary() {
            let mut rights = Rights::new(self.core.identity.chain);
            let name = (module.schema.as_str(), module.name.as_str());
            rights.need_object(home, name, module.object_id, Permission::Execute, &[]);
            self.core.check_rights(&rights.take())?;
        }
        Ok(())
    }

    /// Runs a procedure of a database with arguments; `system`: everyone may, and its statements
    /// are everyone's.
    fn run_procedure(
        &mut self,
        home: &Arc<Db>,
        module: &Arc<ModuleDef>,
        args: Vec<Arg>,
        system: bool,
    ) -> Result<(Flow, i32), Failure> {
        let code = self.code_of(home, module)?;
        let manner = (self.core.options.dialect, self.core.db().default_collation().code_page());
        let Arguments { values: mut vars, outputs, tables, cursors } =
            bind_arguments(self.core, module.shown_name(), &code, args, manner)?;
        self.check_cursor_arguments(&cursors)?;
        if !system {
            self.enter_module(home, module)?;
        }
        self.pass_tables(&tables)?;
        self.core
            .objects
            .cursors
            .want(cursors.iter().map(|(parameter, _)| parameter.clone()).collect());
        let body = if system { Body::Script } else { Body::Module(home, module) };
        let done = self.in_scope(&code.batch, &mut vars, body);
        let returned = self.core.objects.cursors.take_returned();
        let done = done?;
        if done.0 == Flow::Next {
            self.give_outputs(&code, &outputs, &vars)?;
            // A cursor that the procedure has closed is none.
            for ((_, variable), (_, cursor)) in cursors.iter().zip(returned) {
                self.core
                    .objects
                    .cursors
                    .set_variable(variable, cursor.filter(|cursor| cursor.is_open()));
            }
        }
        Ok(done)
    }

    /// The code of a procedure of a database.
    pub(super) fn code_of(
        &self,
        home: &Arc<Db>,
        module: &Arc<ModuleDef>,
    ) -> Result<Arc<ModuleCode>, SqlError> {
        self.core.instance().batches().module(self.core, home, module)
    }

    /// The values of OUTPUT parameters, when the procedure has ended.
    pub(super) fn give_outputs(
        &mut self,
        code: &ModuleCode,
        outputs: &[(usize, usize)],
        vars: &[Value],
    ) -> Result<(), SqlError> {
        outputs
            .iter()
            .try_for_each(|(from, slot)| self.give_back(*slot, code.params[*from].ty, &vars[*from]))
    }

    /// 16951: a cursor is given back into a variable that holds none.
    fn check_cursor_arguments(
        &self,
        cursors: &[(CompactString, CompactString)],
    ) -> Result<(), SqlError> {
        for (_, variable) in cursors {
            if self.core.objects.cursors.variable(variable).is_some() {
                return Err(SqlError::of(msg::CURSOR_OUTPUT_ALLOCATED, [&variable]));
            }
        }
        Ok(())
    }

    /// FMTONLY: the columns of what a procedure returns, whatever its arguments. One that calls
    /// itself is described once.
    fn describe_procedure(
        &mut self,
        home: &Arc<Db>,
        module: &Arc<ModuleDef>,
    ) -> Result<(Flow, i32), Failure> {
        let id = (module.object_id, home.id());
        if self.core.run.described.contains(&id) {
            return Ok((Flow::Next, 0));
        }
        let code = self.code_of(home, module)?;
        self.enter_module(home, module)?;
        let tables = code.params.iter().filter_map(|p| Some((p, p.table.as_ref()?)));
        let tables = tables
            .map(|(p, def)| TableParam::new(&p.name, def, None))
            .collect::<Result<Vec<_>, _>>()?;
        self.pass_tables(&tables)?;
        self.core.run.described.push(id);
        let body = Body::Module(home, module);
        let result = self.in_scope(&code.batch, &mut Vec::new(), body);
        self.core.run.described.pop();
        result
    }

    /// Runs a procedure of the system that is T-SQL: with the caller's rights, whatever its
    /// arguments name.
    fn run_script(
        &mut self,
        script: &Arc<ModuleDef>,
        args: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        procedures::check_right(&script.name, self.core, &args)?;
        let home = self.core.db().clone();
        self.run_procedure(&home, script, args, true)
    }

    /// FMTONLY: as [`Run::describe_procedure`].
    fn describe_script(&mut self, script: &Arc<ModuleDef>) -> Result<(Flow, i32), Failure> {
        let id = (script.object_id, self.core.db().id());
        if self.core.run.described.contains(&id) {
            return Ok((Flow::Next, 0));
        }
        let instance = self.core.instance().clone();
        let code = instance.batches().module(self.core, self.core.db(), script)?;
        self.core.run.described.push(id);
        let result = self.in_scope(&code.batch, &mut Vec::new(), Body::Script);
        self.core.run.described.pop();
        result
    }

    fn system_procedure(
        &mut self,
        procedure: procedures::Procedure,
        args: &[Arg],
    ) -> Result<i32, Failure> {
        let mut outputs = Vec::new();
        self.core.answers.begin_at_once()?;
        let called = self.call_system_procedure(procedure, args, &mut outputs);
        self.core.answers.end_at_once();
        let status = called?;
        for (slot, value) in outputs {
            self.give_back(slot, value.natural_type(), &value)?;
        }
        self.core.succeeded(0);
        Ok(status)
    }

    fn call_system_procedure(
        &mut self,
        procedure: procedures::Procedure,
        args: &[Arg],
        outputs: &mut Vec<(usize, Value)>,
    ) -> Result<i32, SqlError> {
        self.core.begin_statement(false)?;
        let result = procedure.call(&mut procedures::ProcedureCall {
            core: self.core,
            sink: self.sink,
            args,
            outputs,
        });
        self.core.end_statement(result)
    }

    /// The value of an OUTPUT parameter goes to the variable of the call, or to the client.
    pub(super) fn give_back(
        &mut self,
        slot: usize,
        ty: DataType,
        value: &Value,
    ) -> Result<(), SqlError> {
        let dialect = self.core.options.dialect;
        let page = self.core.db().default_collation().code_page();
        match &mut self.outputs {
            Some(outputs) => outputs.put(slot, ty, value, (dialect, page))?,
            None => {
                let to = self.batch.program.vars.get(slot).map_or(DataType::Int, |(_, ty)| ty);
                self.vars[slot] = convert_with(value, ty, to, 0, Mode::Implicit, dialect, page)?;
            }
        }
        Ok(())
    }

    /// EXEC ('...') [AS USER | LOGIN = '...']: the principal that it runs as ends with it and
    /// does not run the statements after it.
    fn execute_text(&mut self, text: &str, as_whom: Option<&ExecuteAs>) -> Result<Flow, Failure> {
        let depth = self.core.identity.caller.depth();
        if let Some(principal) = as_whom {
            self.act_as(principal, ActingEnd::Revert)?;
        }
        let done = self.nested(text, &[], &mut Vec::new());
        self.core.identity.caller.return_to(depth);
        Ok(done?.0)
    }

    /// Runs a text in a scope of its own.
    fn nested(
        &mut self,
        text: &str,
        params: &[BatchParam],
        vars: &mut Vec<Value>,
    ) -> Result<(Flow, i32), Failure> {
        let cache = self.core.instance().clone();
        let inner = cache.batches().get(self.core, text, params)?;
        self.in_scope(&inner, vars, Body::Text)
    }
}

/// What EXECUTE calls.
pub(super) enum ExecuteTarget {
    System(procedures::Procedure),
    /// sp_executesql and similar procedures.
    Dynamic(DynamicProcedure),
    Module(Arc<ModuleDef>),
    /// A procedure of another database that every database has; the current database stays. The
    /// names in one of master are those of master, in a temporary one those of the current
    /// database.
    Global(Arc<Db>, Arc<ModuleDef>),
    /// A scalar function, whose value is the result.
    Function(Arc<ModuleDef>),
    /// A procedure of the system that is T-SQL.
    Script(Arc<ModuleDef>),
}

impl ExecuteTarget {
    /// The procedure of the system that a name means in every database.
    fn of_system(name: &str) -> Result<Option<ExecuteTarget>, SqlError> {
        if let Some(dynamic) = DynamicProcedure::find(name) {
            return Ok(Some(ExecuteTarget::Dynamic(dynamic)));
        }
        match procedures::find(name) {
            Some(procedure) => Ok(Some(ExecuteTarget::System(procedure))),
            None => Ok(scripts::find(name)?.map(ExecuteTarget::Script)),
        }
    }
}

/// A name of up to four parts that a variable holds.
pub(super) fn object_name(text: &str) -> Option<ObjectName> {
    let mut parts = name_parts(text)?.into_iter();
    let ident = |name: String| Ident { value: name.into(), quoted: true, span: Span::default() };
    let mut part = || parts.next().filter(|part| !part.is_empty()).map(ident);
    let name = part()?;
    Some(ObjectName { schema: part(), database: part(), server: part(), name })
}

fn is_default(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Default)
}
