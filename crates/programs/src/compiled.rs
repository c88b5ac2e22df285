//! A batch as it is compiled: parsed and flattened, with what its statements are bound to.
//! Guarantees: what a statement is bound to has a stamp that tells under what; a binding is used
//! only where its stamp fits.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use catalog::Catalog;
use compact_str::CompactString;
use memory::Reservation;
use parking_lot::Mutex;
use syntax::ParseSettings;
use syntax::ast::{SetOption, Stmt, StmtKind, TypeName};
use types::{DataType, SqlError, Value, msg};

use super::bound_call::BoundCall;
use super::counts::CountsOfBatch;
use super::program::{BatchParam, FunctionResult, Op, Program};
use super::{declared, undeclared_names};
use bind::env::{CompileEnv, VarScope};
use bind::module::{CHANGED_ROWS, ChangedTable};
use bind::set_options::CompileOptions;
use bind::type_names::{data_type, table_type};
use bind::undeclared::Undeclared;
use bind::unresolved_names::{UnresolvedNames, is_of_a_name};
use dml::DmlPlan;
use exec::operators::scalar::{Condition, Scalar};
use plan::cursor::CursorPlan;
use plan::{Needs, QueryPlan};
use session::asking::{GoOn, StepAsker};
use session::conceal::conceal_while;
use session::state::SessionCore;
use session::state::activity::BatchView;

/// A statement bound to the catalog; cheap to clone.
#[derive(Clone)]
pub enum BoundOperation {
    /// SET @v = x and DECLARE @v = x.
    Assign { slot: usize, value: Arc<Scalar> },
    /// IF and WHILE.
    Condition(Arc<Condition>),
    /// SELECT.
    Query(Arc<QueryPlan>),
    /// INSERT, UPDATE, DELETE, SELECT INTO.
    Dml(Arc<DmlPlan>),
    /// DECLARE CURSOR.
    Cursor(Arc<CursorPlan>),
    /// The variables of FETCH ... INTO.
    Into(Arc<[(usize, DataType)]>),
    /// The arguments of PRINT, RAISERROR, WAITFOR, EXEC and similar statements.
    Scalars(Arc<[Arc<Scalar>]>),
    /// EXEC of a procedure.
    Call(Arc<BoundCall>),
}

impl BoundOperation {
    /// The arguments of a statement.
    pub fn scalars(&self) -> Option<&Arc<[Arc<Scalar>]>> {
        match self {
            BoundOperation::Scalars(scalars) => Some(scalars),
            BoundOperation::Call(call) => Some(&call.arguments),
            _ => None,
        }
    }

    /// What its plan, which should be made again, needs: the tables that it reads have changed
    /// much, or it was for one run.
    #[inline]
    pub fn outdated(&self) -> Option<&Needs> {
        let needs = match self {
            BoundOperation::Query(plan) => plan.needs(),
            BoundOperation::Dml(plan) => plan.needs(),
            BoundOperation::Cursor(plan) => plan.needs(),
            BoundOperation::Assign { value, .. } => value.needs(),
            BoundOperation::Condition(condition) => condition.needs(),
            BoundOperation::Scalars(list) => {
                return list.iter().map(|scalar| scalar.needs()).find(|needs| !needs.is_current());
            }
            // Constants and variables.
            BoundOperation::Call(_) | BoundOperation::Into(_) => return None,
        };
        (!needs.is_current()).then_some(needs)
    }

    /// Whether the tables that it reads have not changed so much that it should be planned again.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.outdated().is_none()
    }

    /// Whether it was made for one run.
    pub fn is_for_one_run(&self) -> bool {
        self.outdated().is_some_and(|needs| needs.one_run)
    }

    /// Binds with the environment of this moment, which the stamp tells.
    ///
    /// # Errors
    /// Those of binding.
    pub fn make(
        core: &SessionCore,
        vars: &VarScope,
        values: &[Value],
        bind: impl Fn(&CompileEnv<'_>) -> Result<BoundOperation, SqlError>,
    ) -> Result<(Stamp, BoundOperation), SqlError> {
        let mut stamp = Stamp::now(core);
        core.objects.temps.used.store(false, Relaxed);
        let env = CompileEnv {
            predicate_of: None,
            schema: core.identity.module_schema(),
            chain: core.identity.chain,
            names: &**core.host(),
            db: core.names_db(),
            catalog: core.names_db().catalog(),
            vars,
            values,
            options: &core.options,
            temps: &core.objects.temps,
            changes: core.run.triggers.changes.as_ref().map(|rows| ChangedTable {
                table: rows.table.clone(),
                deleted: true,
                inserted: true,
                instead_of: rows.instead_of.then(|| rows.action.word()),
                rows: CHANGED_ROWS,
            }),
            cancel: &core.shared.cancel,
            counters: core.host().optimizer(),
            unresolved: None,
        };
        let bound = bind(&env).map_err(|error| with_other_names(error, &env, &bind))?;
        stamp.temps =
            core.objects.temps.used.load(Relaxed).then_some(core.objects.temps.generation);
        Ok((stamp, bound))
    }

    /// Whether no other values in its statement would make another plan better: it adds rows that
    /// it has itself, or finds rows by whole keys of unique indexes alone.
    pub(crate) fn reads_points(&self) -> bool {
        match self {
            BoundOperation::Query(plan) => plan.reads_points(),
            BoundOperation::Dml(plan) => plan.reads_points(),
            BoundOperation::Assign { .. }
            | BoundOperation::Condition(_)
            | BoundOperation::Scalars(_)
            | BoundOperation::Cursor(_)
            | BoundOperation::Call(_)
            | BoundOperation::Into(_) => false,
        }
    }
}

/// The error of a statement because of a name, with those of its other names behind it.
#[cold]
fn with_other_names(
    mut error: SqlError,
    env: &CompileEnv<'_>,
    bind: impl Fn(&CompileEnv<'_>) -> Result<BoundOperation, SqlError>,
) -> SqlError {
    if !is_of_a_name(&error) {
        return error;
    }
    let names = UnresolvedNames::default();
    let env = CompileEnv { unresolved: Some(&names), ..env.clone() };
    // What it comes to is nothing that could be run.
    drop(bind(&env));
    let mut all = names.take();
    if all.first() == Some(&error) {
        error.after = all.split_off(1);
    }
    error
}

/// By operation: what a statement was bound to, and under what.
pub type Bindings = Vec<Option<(Stamp, BoundOperation)>>;

/// What a bound statement was bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// database_id of the current database, and its schema version.
    pub db: i32,
    pub version: u64,
    /// The options that change its meaning.
    pub options: CompileOptions,
    /// It names temporary tables: those that the session had at that moment.
    pub temps: Option<u64>,
}

impl Stamp {
    /// Whether what was bound then means the same in this session now.
    #[inline]
    pub fn is_of(&self, core: &SessionCore) -> bool {
        // Field by field: the options are put together only where the numbers are the same.
        self.is_of_schema(core) && self.options == core.options.compile_options()
    }

    /// As [`Stamp::is_of`], but for the options.
    #[inline]
    pub fn is_of_schema(&self, core: &SessionCore) -> bool {
        let db = core.names_db();
        self.version == db.schema_version()
            && self.db == db.id()
            && self.temps.is_none_or(|generation| generation == core.objects.temps.generation)
    }

    /// The stamp of this moment, without temporary tables.
    #[inline]
    pub fn now(core: &SessionCore) -> Stamp {
        let db = core.names_db();
        Stamp {
            db: db.id(),
            version: db.schema_version(),
            options: core.options.compile_options(),
            temps: None,
        }
    }
}

/// A parsed batch with what its statements were bound to when they last ran.
pub struct CompiledBatch {
    /// The text without secrets, which spans point into.
    pub text: Arc<str>,
    /// The text as it was sent: for definitions, which are made of parts of it.
    pub source: Arc<str>,
    /// The procedure or trigger that it is the body of; else empty.
    pub procedure: CompactString,
    /// Its object_id; 0 of a text.
    pub object_id: i32,
    /// Its operations; none when the batch is only parsed (PARSEONLY).
    pub program: Program,
    /// How many of its variables are parameters; they come first.
    pub parameters: usize,
    /// The settings that its SET statements left when it was parsed.
    pub settings: ParseSettings,
    /// Bindings by operation, shared by the runs of the batch.
    pub bound: Mutex<Bindings>,
    /// What running it has cost.
    pub counts: CountsOfBatch,
    /// Charged for it as long as somebody has it.
    pub charge: Option<Reservation>,
}

impl BatchView for CompiledBatch {
    fn text(&self) -> &Arc<str> {
        &self.text
    }

    fn statement(&self, operation: usize) -> Option<(usize, usize)> {
        let Some(Op::Stmt(index)) = self.program.ops.get(operation) else { return None };
        let span = self.program.stmts.get(*index as usize)?.span;
        let (start, end) = (span.start as usize, span.end as usize);
        self.text.get(start..end).map(|_| (start, end))
    }
}

impl CompiledBatch {
    /// An error or message of an operation with its place, unless it has one.
    pub fn placed(&self, at: usize, error: SqlError) -> SqlError {
        let line = self.program.lines.get(at).copied().unwrap_or(0);
        let mut error = error.in_procedure(&self.procedure).at_line(line);
        let after = std::mem::take(&mut error.after);
        error.after =
            after.into_iter().map(|e| e.in_procedure(&self.procedure).at_line(line)).collect();
        error
    }

    /// Bytes of text and program.
    pub fn size(&self) -> usize {
        let program = &self.program;
        self.source.len()
            + program.ops.len() * size_of::<Op>()
            + program.stmts.len() * size_of::<Stmt>()
            + program.exprs.len() * size_of::<syntax::ast::Expr>()
    }

    /// Parses a text and flattens it. `params` are the variables that exist before it starts,
    /// `settings` what holds where it begins.
    ///
    /// Errors: everything that SQL Server finds before a batch runs: syntax, undeclared variables,
    /// labels, types; those of `go_on`, which is asked again and again.
    pub fn new(
        text: &str,
        params: &[BatchParam],
        settings: ParseSettings,
        catalog: &Catalog,
        go_on: GoOn<'_>,
    ) -> Result<CompiledBatch, SqlError> {
        let parsed = parsed(text, settings, go_on)?;
        if parsed.only_parsed {
            let program = Program { vars: variables(params)?, ..Program::default() };
            return CompiledBatch::with(text, program, params.len(), parsed.settings, go_on);
        }
        declared::check(text, &parsed.stmts, params, settings, go_on)?;
        let mut compiled =
            CompiledBatch::of_body(text, parsed.stmts, params, settings, catalog, go_on)?;
        compiled.settings = parsed.settings;
        Ok(compiled)
    }

    /// Flattens the statements of a batch, or of a module in whose text they are.
    ///
    /// Errors: as [`CompiledBatch::new`], without syntax.
    pub fn of_body(
        text: &str,
        stmts: Vec<Stmt>,
        params: &[BatchParam],
        settings: ParseSettings,
        catalog: &Catalog,
        go_on: GoOn<'_>,
    ) -> Result<CompiledBatch, SqlError> {
        check_showplan(&stmts)?;
        let type_of = |name: &TypeName| declared_type(name, catalog);
        let program = Program::build(stmts, variables(params)?, &type_of, go_on)?;
        CompiledBatch::with(text, program, params.len(), settings, go_on)
    }

    /// Flattens the statements of a function.
    ///
    /// Errors: as [`CompiledBatch::of_body`].
    pub fn of_function(
        text: &str,
        stmts: Vec<Stmt>,
        params: &[BatchParam],
        result: FunctionResult,
        settings: ParseSettings,
        catalog: &Catalog,
        go_on: GoOn<'_>,
    ) -> Result<CompiledBatch, SqlError> {
        let type_of = |name: &TypeName| declared_type(name, catalog);
        let program = Program::build_function(stmts, variables(params)?, &type_of, result, go_on)?;
        CompiledBatch::with(text, program, params.len(), settings, go_on)
    }

    /// A batch whose parameters are not all declared: their types are deduced when its statements
    /// are bound.
    ///
    /// Errors: as [`CompiledBatch::new`]; 11508 a parameter that is used more than once.
    pub fn with_undeclared(
        text: &str,
        params: &[BatchParam],
        settings: ParseSettings,
        catalog: &Catalog,
        go_on: GoOn<'_>,
    ) -> Result<(CompiledBatch, Arc<Undeclared>), SqlError> {
        let parsed = parsed(text, settings, go_on)?;
        let names = undeclared_names::names(text, &parsed.stmts, params, settings, go_on)?;
        check_showplan(&parsed.stmts)?;
        let mut vars = variables(params)?;
        let undeclared = vars.deduce(&names)?;
        let type_of = |name: &TypeName| declared_type(name, catalog);
        let program = Program::build(parsed.stmts, vars, &type_of, go_on)?;
        let mut compiled =
            CompiledBatch::with(text, program, params.len() + names.len(), settings, go_on)?;
        compiled.settings = parsed.settings;
        Ok((compiled, undeclared))
    }

    fn with(
        text: &str,
        program: Program,
        parameters: usize,
        settings: ParseSettings,
        go_on: GoOn<'_>,
    ) -> Result<CompiledBatch, SqlError> {
        let bound = Mutex::new(vec![None; program.ops.len()]);
        let procedure = CompactString::default();
        let source: Arc<str> = text.into();
        let asking = StepAsker::new(go_on);
        let Some(concealed) = conceal_while(text, &|| asking.wanted()) else {
            return Err(asking.failed());
        };
        let text = if *source == *concealed { source.clone() } else { concealed.into() };
        let counts = CountsOfBatch::new(program.stmts.len());
        let object_id = 0;
        Ok(CompiledBatch {
            text,
            source,
            procedure,
            object_id,
            program,
            parameters,
            settings,
            bound,
            counts,
            charge: None,
        })
    }

    /// The batch around a call: it has no text and no variables.
    pub fn empty() -> CompiledBatch {
        let text: Arc<str> = "".into();
        CompiledBatch {
            text: text.clone(),
            source: text,
            procedure: CompactString::default(),
            object_id: 0,
            program: Program::default(),
            parameters: 0,
            settings: ParseSettings::default(),
            bound: Mutex::new(Bindings::default()),
            counts: CountsOfBatch::new(0),
            charge: None,
        }
    }
}

/// Error 3617 when the session was told to stop. What is compiled between requests, no cancel is
/// meant for.
pub fn go_on(core: &SessionCore) -> Result<(), SqlError> {
    #[cfg(debug_assertions)]
    if bind::asks::ask() {
        return Err(catalog::errors::cancelled());
    }
    let shared = &core.shared;
    let requested = shared.running.load(Relaxed) || shared.expected.load(Relaxed);
    if requested { core.check_cancel() } else { Ok(()) }
}

/// The type that a DECLARE names; `None` for a table type.
fn declared_type(name: &TypeName, catalog: &Catalog) -> Result<Option<DataType>, SqlError> {
    match table_type(name, catalog) {
        Some(_) => Ok(None),
        None => data_type(name, catalog).map(Some),
    }
}

fn variables(params: &[BatchParam]) -> Result<VarScope, SqlError> {
    let mut vars = VarScope::new();
    for (name, ty) in params {
        match ty {
            Some(ty) => drop(vars.declare(name, *ty)?),
            None => vars.reserve(),
        }
    }
    Ok(vars)
}

/// 1067: SET SHOWPLAN shares its batch with other statements, of which it would be unclear whether
/// they run.
fn check_showplan(stmts: &[Stmt]) -> Result<(), SqlError> {
    fn within(stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::SetOption(SetOption::Switch { names, .. }) => {
                names.iter().any(|name| name.starts_with("SHOWPLAN_"))
            }
            StmtKind::Block(body) => body.iter().any(within),
            StmtKind::If { then, otherwise, .. } => {
                within(then) || otherwise.as_deref().is_some_and(within)
            }
            StmtKind::While { body, .. } => within(body),
            StmtKind::TryCatch { body, catch } => body.iter().chain(catch).any(within),
            _ => false,
        }
    }
    let alone = matches!(stmts, [Stmt { kind: StmtKind::SetOption(SetOption::Switch { names, .. }), .. }] if names.len() == 1);
    match stmts.iter().find(|stmt| within(stmt)) {
        Some(stmt) if !alone => {
            Err(SqlError::of(msg::SHOWPLAN_NOT_ALONE, []).at_line(stmt.span.line))
        }
        _ => Ok(()),
    }
}

/// The statements of a text; `go_on` is asked while it is read.
///
/// Errors: of syntax, and those of `go_on`.
fn parsed(
    text: &str,
    settings: ParseSettings,
    go_on: GoOn<'_>,
) -> Result<syntax::Parsed, SqlError> {
    let asking = StepAsker::new(go_on);
    syntax::parse_while(text, settings, &|| asking.wanted()).map_err(|error| match error {
        syntax::ParseError::Syntax(error) => catalog::errors::syntax_error(error),
        syntax::ParseError::Stopped => asking.failed(),
    })
}
