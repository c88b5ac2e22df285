//! Texts that come with parameters: sp_executesql, and statements that a session prepares under
//! numbers (sp_prepare and similar ones). Statement and parameter list are found by their
//! positions, whatever their names: clients name them as they like.

use std::any::Any;
use std::sync::Arc;

use compact_str::CompactString;
use smallvec::SmallVec;
use syntax::ast::{Declaration, StmtKind};
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value, msg};

use super::bindings;
use super::prepared_call::PreparedCall;
use super::run::{Failure, Flow, Run};
use super::scope::Body;
use bind::type_names::{self, in_list, table_type};
use catalog::{Catalog, errors, fold_name};
use instance::OfInstance;
use programs::arguments::Arg;
use programs::cache::{FoundBatch, LastFound, plan_bytes};
use programs::compiled::CompiledBatch;
use programs::module::{check_readonly, convert_argument};
use programs::program::BatchParam;
use programs::table_param::TableParam;
use session::state::SessionCore;
use session::state::handles::{DeclaredParameter, DeclaredParameters};
use session::state::holdings::HoldingKind;
use session::state::phases::{self, Phase};

/// sp_prepare's option: tell the columns of the result.
const RETURN_METADATA: i64 = 1;

/// A procedure whose argument is T-SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicProcedure {
    ExecuteSql,
    Prepare,
    Execute,
    PrepExec,
    PrepExecRpc,
    Unprepare,
    CursorOpen,
    CursorPrepare,
    CursorExecute,
    CursorPrepExec,
    CursorFetch,
    CursorOption,
    CursorClose,
    CursorChange,
}

impl DynamicProcedure {
    /// The procedure of a name.
    pub fn find(name: &str) -> Option<DynamicProcedure> {
        const ALL: [(&str, DynamicProcedure); 15] = [
            ("sp_executesql", DynamicProcedure::ExecuteSql),
            ("sp_prepare", DynamicProcedure::Prepare),
            ("sp_execute", DynamicProcedure::Execute),
            ("sp_prepexec", DynamicProcedure::PrepExec),
            ("sp_prepexecrpc", DynamicProcedure::PrepExecRpc),
            ("sp_unprepare", DynamicProcedure::Unprepare),
            ("sp_cursor", DynamicProcedure::CursorChange),
            ("sp_cursoropen", DynamicProcedure::CursorOpen),
            ("sp_cursorprepare", DynamicProcedure::CursorPrepare),
            ("sp_cursorexecute", DynamicProcedure::CursorExecute),
            ("sp_cursorprepexec", DynamicProcedure::CursorPrepExec),
            ("sp_cursorunprepare", DynamicProcedure::Unprepare),
            ("sp_cursorfetch", DynamicProcedure::CursorFetch),
            ("sp_cursoroption", DynamicProcedure::CursorOption),
            ("sp_cursorclose", DynamicProcedure::CursorClose),
        ];
        ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, dynamic)| *dynamic)
    }
}

/// The values of a text's parameters; which of them go back to which argument.
type BoundValues = (Vec<Value>, Vec<(usize, usize)>);

/// A statement under a number.
pub(super) struct PreparedText {
    text: CompactString,
    pub(super) declared: Arc<DeclaredParameters>,
    last: LastFound,
}

impl PreparedText {
    /// Memory that it takes while it is kept: it holds what it was compiled to, whatever the cache
    /// of plans does.
    fn bytes(&self) -> usize {
        plan_bytes(self.text.len())
    }

    fn compiled(&self, core: &SessionCore) -> Result<Arc<FoundBatch>, SqlError> {
        let cache = core.instance().batches();
        cache.get_again(&self.last, core, &self.text, &self.declared.typed)
    }
}

impl Run<'_> {
    pub(super) fn dynamic(
        &mut self,
        dynamic: DynamicProcedure,
        args: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let mut args = args.into_iter();
        match dynamic {
            DynamicProcedure::ExecuteSql => self.execute_sql(args),
            DynamicProcedure::Prepare => {
                let handle = args.next();
                let declared = self.declared(args.next())?;
                let text = text_of("sp_prepare", args.next())?;
                let options =
                    args.next().and_then(|arg| arg.value.as_i64()).unwrap_or(RETURN_METADATA);
                let (prepared, batch) = self.prepare(text, declared)?;
                if options & RETURN_METADATA != 0 {
                    self.describe(&prepared, &batch)?;
                }
                self.keep(handle, prepared)?;
                Ok((Flow::Next, 0))
            }
            DynamicProcedure::PrepExec => {
                let handle = args.next();
                let declared = self.declared(args.next())?;
                let text = text_of("sp_prepexec", args.next())?;
                let (prepared, batch) = self.prepare(text, declared)?;
                // A number that comes along is one that the client no longer uses.
                if let Some(old) = handle.as_ref().and_then(number_of) {
                    self.forget(old);
                }
                self.keep(handle, prepared.clone())?;
                self.run_text(&prepared.declared, &batch, args)
            }
            DynamicProcedure::PrepExecRpc => self.prep_exec_rpc(args),
            DynamicProcedure::Execute => {
                let handle = args.next();
                if let Some(call) = self.prepared_call(handle.as_ref()) {
                    return self.run_prepared_call(&call, args);
                }
                let (prepared, batch) = self.prepared(handle)?;
                self.run_text(&prepared.declared, &batch, args)
            }
            DynamicProcedure::Unprepare => {
                let number = self.handle(args.next())?;
                if self.forget(number) {
                    Ok((Flow::Next, 0))
                } else {
                    Err(no_handle(number).into())
                }
            }
            DynamicProcedure::CursorOpen => self.cursor_open(args),
            DynamicProcedure::CursorPrepare => self.cursor_prepare(args),
            DynamicProcedure::CursorExecute => self.cursor_execute(args),
            DynamicProcedure::CursorPrepExec => self.cursor_prep_exec(args),
            DynamicProcedure::CursorFetch => self.cursor_fetch(args),
            DynamicProcedure::CursorOption => self.cursor_option(args),
            DynamicProcedure::CursorClose => self.cursor_close(args),
            DynamicProcedure::CursorChange => self.cursor_change(args),
        }
    }

    /// sp_executesql @stmt [, @params, values...].
    fn execute_sql(&mut self, mut args: std::vec::IntoIter<Arg>) -> Result<(Flow, i32), Failure> {
        let text = match args.next() {
            Some(Arg { value: Value::Null, .. }) => return Ok((Flow::Next, 0)),
            arg => text_of("sp_executesql", arg)?,
        };
        let plan = phases::enter(Phase::Plan);
        let declared = self.declared(args.next())?;
        let again = bindings::found_again(self.core, &text, &declared);
        drop(plan);
        if let Some(found) = again {
            return self.run_text(&declared, &found, args);
        }
        let cache = self.core.instance().batches();
        let found = Arc::new(cache.found(self.core, &text, &declared.typed)?);
        let done = self.run_text(&declared, &found, args);
        bindings::remember(self.core, declared, found);
        done
    }

    /// The statement of a number. Errors: 8179.
    pub(super) fn prepared(
        &mut self,
        arg: Option<Arg>,
    ) -> Result<(Arc<PreparedText>, Arc<FoundBatch>), SqlError> {
        let number = self.handle(arg)?;
        let prepared: Arc<PreparedText> =
            self.core.objects.handles.get(number).ok_or_else(|| no_handle(number))?;
        let batch = prepared.compiled(self.core)?;
        Ok((prepared, batch))
    }

    /// Compiles a text that is to be kept. Errors: what is wrong with it goes to the client,
    /// followed by 8180.
    pub(super) fn prepare(
        &mut self,
        text: CompactString,
        declared: Arc<DeclaredParameters>,
    ) -> Result<(Arc<PreparedText>, Arc<FoundBatch>), Failure> {
        let prepared = Arc::new(PreparedText { text, declared, last: LastFound::default() });
        match prepared.compiled(self.core) {
            Ok(batch) => Ok((prepared, batch)),
            Err(cause) => {
                self.sink.error(&cause)?;
                Err(SqlError::of(msg::NOT_PREPARED, []).into())
            }
        }
    }

    /// The columns of what a prepared text returns.
    fn describe(
        &mut self,
        prepared: &PreparedText,
        batch: &Arc<CompiledBatch>,
    ) -> Result<(), Failure> {
        let mut vars = vec![Value::Null; prepared.declared.list.len()];
        let tables = prepared.declared.list.iter().filter_map(|p| Some((p, p.table.as_ref()?)));
        let tables = tables
            .map(|(p, def)| TableParam::new(&p.name, def, None))
            .collect::<Result<Vec<_>, _>>()?;
        self.pass_tables(&tables)?;
        let fmtonly = std::mem::replace(&mut self.core.options.fmtonly, true);
        let result = self.in_scope(batch, &mut vars, Body::Text);
        self.core.options.fmtonly = fmtonly;
        result.map(|_| ())
    }

    /// Gives a number back; false when it is none.
    pub(super) fn forget(&mut self, number: i32) -> bool {
        if let Some(prepared) = self.core.objects.handles.get::<PreparedText>(number) {
            self.core.memory.holdings.remove(HoldingKind::Prepared, prepared.bytes());
        } else if let Some(call) = self.core.objects.handles.get::<PreparedCall>(number) {
            self.core.memory.holdings.remove(HoldingKind::Prepared, call.bytes());
        }
        self.core.objects.handles.remove(number)
    }

    /// Gives the number of a statement that is kept from now on.
    pub(super) fn keep(
        &mut self,
        handle: Option<Arg>,
        prepared: Arc<PreparedText>,
    ) -> Result<(), SqlError> {
        let bytes = prepared.bytes();
        self.keep_any(handle, prepared, bytes)
    }

    /// Gives the number of what is kept from now on and takes so much memory.
    pub(super) fn keep_any(
        &mut self,
        handle: Option<Arg>,
        prepared: Arc<dyn Any + Send + Sync>,
        bytes: usize,
    ) -> Result<(), SqlError> {
        self.core.memory.holdings.add(HoldingKind::Prepared, bytes)?;
        let number = self.core.objects.handles.add(prepared);
        match handle.and_then(|handle| handle.output) {
            Some(slot) => self.give_back(slot, DataType::Int, &Value::Int(number)),
            None => Ok(()),
        }
    }

    fn handle(&mut self, arg: Option<Arg>) -> Result<i32, SqlError> {
        arg.as_ref().and_then(number_of).ok_or_else(|| no_handle(0))
    }

    pub(super) fn declared(
        &mut self,
        arg: Option<Arg>,
    ) -> Result<Arc<DeclaredParameters>, SqlError> {
        let text = match arg.map(|arg| arg.value) {
            None | Some(Value::Null) => return Ok(Arc::default()),
            Some(Value::Str(text)) => text,
            Some(_) => return Err(wrong_type("@params")),
        };
        let db = self.core.db();
        let version = (db.id(), db.schema_version());
        if let Some(known) = self.core.objects.handles.known(&text, version) {
            return Ok(known);
        }
        let list = DeclaredParameters::new(parse_parameters(&text, &db.catalog())?);
        Ok(self.core.objects.handles.keep_list(&text, version, list))
    }

    /// Runs a text with the values of its parameters, and gives back what it leaves in those that
    /// are OUTPUT.
    fn run_text(
        &mut self,
        declared: &DeclaredParameters,
        batch: &Arc<CompiledBatch>,
        args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let params = &declared.list;
        let (mut vars, copies) = self.bind_values(declared, args)?;
        let (flow, status) = self.in_scope(batch, &mut vars, Body::Text)?;
        if flow == Flow::Next {
            for (from, slot) in copies {
                self.give_back(slot, params[from].ty, &vars[from])?;
            }
        }
        Ok((flow, if status == 0 { self.core.run.results.error_number } else { status }))
    }

    /// The values of a text's parameters, and which of them go back to which argument.
    pub(super) fn bind_values(
        &mut self,
        declared: &DeclaredParameters,
        args: std::vec::IntoIter<Arg>,
    ) -> Result<BoundValues, SqlError> {
        let params = &declared.list;
        let mut vars = vec![Value::Null; params.len()];
        let mut given: SmallVec<[bool; 32]> = SmallVec::from_elem(false, params.len());
        let mut copies = Vec::new();
        let mut tables: Vec<(usize, Arg)> = Vec::new();
        let manner = (self.core.options.dialect, self.core.db().default_collation().code_page());
        for (i, arg) in args.enumerate() {
            let at = position(params, arg.name.as_deref(), i)?;
            let ty = params[at].ty;
            if params[at].table.is_some() {
                tables.push((at, arg));
                continue;
            }
            if arg.table.is_some() {
                return Err(SqlError::of(msg::TYPE_CLASH, [&"table", &ty.base_name()]));
            }
            if let Some(slot) = arg.output {
                copies.push((at, slot));
            }
            if !arg.is_default {
                given[at] = true;
                vars[at] = match arg.ty == ty && arg.value.is_plainly(ty) {
                    true => arg.value,
                    false => convert_argument(&arg.value, arg.ty, ty, manner)?,
                };
            }
        }
        for (at, param) in params.iter().enumerate().filter(|(at, _)| !given[*at]) {
            if param.table.is_none() {
                vars[at] = param.default.clone().ok_or_else(|| missing(&param.name))?;
            }
        }
        let mut passed = Vec::new();
        for (at, param) in params.iter().enumerate() {
            let Some(def) = &param.table else { continue };
            let last = tables.iter().rposition(|(of, _)| *of == at);
            passed.push(TableParam::new(&param.name, def, last.map(|last| tables.remove(last).1))?);
        }
        self.pass_tables(&passed)?;
        Ok((vars, copies))
    }
}

/// Which parameter an argument is for: by its name if it has one, which clients may write without
/// `@`.
fn position(
    params: &[DeclaredParameter],
    name: Option<&str>,
    at: usize,
) -> Result<usize, SqlError> {
    let found = match name.map(|name| fold_name(name.trim_start_matches('@'))) {
        None => Some(at).filter(|at| *at < params.len()),
        Some(name) => {
            let bare = |p: &DeclaredParameter| fold_name(p.name.trim_start_matches('@')) == name;
            // Mostly they come in order.
            match params.get(at) {
                Some(param) if bare(param) => Some(at),
                _ => params.iter().position(bare),
            }
        }
    };
    found.ok_or_else(|| SqlError::of(msg::TOO_MANY_ARGUMENTS_UNNAMED, []))
}

/// The T-SQL that an argument is. Errors: 201 it is missing, 214 it is no text.
pub(super) fn text_of(procedure: &str, arg: Option<Arg>) -> Result<CompactString, SqlError> {
    match arg.map(|arg| arg.value) {
        Some(Value::Str(text)) => Ok(text),
        Some(_) => Err(wrong_type("@statement")),
        None => {
            Err(SqlError::of(msg::PARAMETER_NOT_SUPPLIED, [&procedure, &"@statement"]).state(10))
        }
    }
}

fn wrong_type(parameter: &str) -> SqlError {
    SqlError::of(msg::PARAMETER_OF_TYPE_EXPECTED, [&parameter, &"ntext/nchar/nvarchar"])
}

pub(super) fn number_of(arg: &Arg) -> Option<i32> {
    arg.value.as_i64().and_then(|n| i32::try_from(n).ok()).filter(|n| *n != 0)
}

/// 8179.
fn no_handle(number: i32) -> SqlError {
    SqlError::of(msg::PREPARED_HANDLE_NOT_FOUND, [&number])
}

/// Names and types of declared parameters.
///
/// # Errors
/// Those of the declarations.
pub fn declared_parameters(
    definition: &str,
    catalog: &Catalog,
) -> Result<Vec<BatchParam>, SqlError> {
    Ok(DeclaredParameters::new(parse_parameters(definition, catalog)?).typed)
}

/// `@a int, @b varchar(10) OUTPUT`: read as a DECLARE once OUTPUT is taken out.
fn parse_parameters(
    definition: &str,
    catalog: &Catalog,
) -> Result<Vec<DeclaredParameter>, SqlError> {
    if definition.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut text = String::from("DECLARE ");
    let mut end = 0;
    // Of each parameter, in order, whether READONLY is behind it.
    let mut readonly: Vec<bool> = Vec::new();
    for token in syntax::lexer::tokenize(definition).list {
        let (start, stop) = (token.span.start as usize, token.span.end as usize);
        let word = token.span.text(definition);
        let skip = ["output", "out", "readonly"].iter().any(|w| word.eq_ignore_ascii_case(w));
        if word.starts_with('@') {
            readonly.push(false);
        } else if word.eq_ignore_ascii_case("readonly")
            && let Some(last) = readonly.last_mut()
        {
            *last = true;
        }
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
    for (number, (item, readonly)) in (1..).zip(list.iter().zip(readonly)) {
        let Declaration::Scalar { name, data_type, value, .. } = item else {
            return Err(errors::syntax_near(definition));
        };
        let table = table_type(data_type, catalog).cloned();
        if readonly && table.is_none() {
            // That there is no such type comes first.
            type_names::data_type(data_type, catalog).map_err(|e| in_list(e, number))?;
        }
        check_readonly(name, readonly, table.is_some())?;
        if table.is_some() {
            params.push(DeclaredParameter {
                name: name.clone(),
                ty: DataType::Int,
                default: None,
                table,
            });
            continue;
        }
        let ty = type_names::data_type(data_type, catalog).map_err(|e| in_list(e, number))?;
        let default = match value {
            None => None,
            Some(expr) => {
                let value = statements::literal(expr)?;
                Some(convert(&value, value.natural_type(), ty, 0, Mode::Implicit)?)
            }
        };
        params.push(DeclaredParameter { name: name.clone(), ty, default, table: None });
    }
    Ok(params)
}

fn missing(name: &str) -> SqlError {
    SqlError::of(msg::QUERY_PARAMETER_NOT_SUPPLIED, [&name])
}
