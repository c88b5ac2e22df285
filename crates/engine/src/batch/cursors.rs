//! DECLARE CURSOR, OPEN, FETCH, CLOSE, and SET of cursor variables.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU8, Ordering::Relaxed};

use bind::env::CompileEnv;
use bind::literal::literal;
use memory::{Clerk, Reservation};
use parking_lot::{Mutex, MutexGuard};
use plan::cursor::{CursorPlan, CursorSource, Model, compile_cursor};
use syntax::ast::{
    CursorDef, CursorName, DeclareCursor, Expr, ExprKind, Fetch, FetchFrom, NameOrVariable,
    SetValue, SetVariable, Span,
};
use types::convert::{Mode, convert_with};
use types::{DataType, ResultRows, SqlError, Value, msg};

use super::cursor_options::{Options, read_only};
use super::run::{Failure, Run, ToSink};
use catalog::errors;
use catalog::errors::out_of_memory;
use catalog::usage::UseCount;
use exec::cursor::{Body, DeclaredIn, FetchTarget, Status};
use exec::operators::context::RowSink;
use exec::uses::PlanUses;
use programs::cache::plan_bytes;
use programs::compiled::BoundOperation;
use session::output::StatementKind;
use session::state::SessionCore;
use session::state::cursors::{
    Concurrency, Cursor, CursorBody, CursorInfo, DeclaredCursor, PositionedRows, last,
};

/// How often a cursor is compiled again while tables change under its OPEN.
const MAX_RECOMPILES: u32 = 100;

/// A cursor that is being made.
pub struct NewCursor<'a> {
    pub plan: Arc<CursorPlan>,
    pub name: &'a str,
    pub concurrency: Concurrency,
    pub scroll: bool,
    pub global: bool,
    pub api: bool,
    pub text: &'a str,
    pub vars: Vec<Value>,
}

/// Step in which memory of cursors is charged.
const CURSOR_BYTES: usize = 4 << 10;

impl NewCursor<'_> {
    /// The cursor, closed, with a handle of its own. What its query cannot have, concurrency and
    /// scrolling, it has not.
    ///
    /// # Errors
    /// 701.
    pub fn make(self, core: &mut SessionCore) -> Result<Arc<Cursor>, SqlError> {
        let mut memory = Reservation::in_steps(core.host().memory(), Clerk::Sessions, CURSOR_BYTES);
        // Each cursor of the session has its own charge, and keeps its batch, which has another.
        let bytes = plan_bytes(self.text.len());
        let others = core.shared.cursors.lock().len();
        memory.take_beside(bytes, others.saturating_mul(2 * bytes)).map_err(|_| out_of_memory())?;
        let model = self.plan.model;
        let fixed = matches!(model, Model::Static | Model::FastForward) || self.plan.dirty;
        let concurrency = if fixed { Concurrency::ReadOnly } else { self.concurrency };
        let update_of = self.plan.update_of.as_ref().map(|list| {
            let column = |(table, column): &(usize, usize)| {
                let table = self.plan.tables.get(*table)?;
                Some((table.db.id(), table.store.table.object_id, *column))
            };
            list.iter().filter_map(column).collect()
        });
        let declared = DeclaredCursor {
            model,
            concurrency,
            scroll: self.scroll,
            global: self.global,
            api: self.api,
            text: self.text.into(),
            created: catalog::clock::now(),
            update_of,
        };
        let columns = self.plan.columns.len() as i32;
        let (updatable, locks) =
            (concurrency != Concurrency::ReadOnly, concurrency == Concurrency::ScrollLocks);
        let here = DeclaredIn { db: core.names_db().clone(), level: core.objects.temps.level };
        let body: Box<dyn CursorBody> =
            Box::new(Body::new(self.plan, here, self.vars, updatable, locks));
        let info = Arc::new(CursorInfo {
            handle: core.objects.cursors.next_handle(),
            name: Mutex::new(self.name.into()),
            declared,
            open: AtomicBool::new(false),
            fetch_status: AtomicI32::new(-9),
            rows: AtomicI64::new(0),
            position: AtomicI64::new(0),
            columns,
            reads: AtomicI64::new(0),
            last: AtomicU8::new(0),
        });
        let mut shared = core.shared.cursors.lock();
        if shared.len() % 16 == 15 {
            shared.retain(|cursor| cursor.strong_count() > 0);
        }
        shared.push(Arc::downgrade(&info));
        drop(shared);
        Ok(Arc::new(Cursor {
            info,
            current: Mutex::new(PositionedRows::None),
            body: Mutex::new(body),
            memory,
        }))
    }
}

/// What a cursor runs with.
///
/// # Errors
/// 16910 a statement is using it.
pub fn body_of<'c>(cursor: &'c Cursor) -> Result<MutexGuard<'c, Box<dyn CursorBody>>, SqlError> {
    cursor
        .body
        .try_lock()
        .ok_or_else(|| SqlError::of(msg::CURSOR_IN_USE, [&cursor.info.name.lock()]))
}

/// The engine's own kind of body.
pub fn own(body: &mut Box<dyn CursorBody>) -> Result<&mut Body, SqlError> {
    let body: &mut dyn CursorBody = &mut **body;
    body.as_any().downcast_mut().ok_or_else(|| SqlError::internal("a cursor of an unknown kind"))
}

/// Opens a cursor within a statement; compiles it again, as where it was declared, where its tables
/// have changed since, or have other rows by now than its plan was made for.
///
/// # Errors
/// 16905 it is open; those of the query.
pub fn open(core: &mut SessionCore, cursor: &Cursor) -> Result<(), SqlError> {
    if cursor.is_open() {
        return Err(SqlError::of(msg::CURSOR_ALREADY_OPEN, []));
    }
    let mut guard = body_of(cursor)?;
    let body = own(&mut guard)?;
    let needs = body.plan.needs();
    if !(needs.one_run || needs.is_current())
        && let Ok(renewed) = compile_again(core, body)
        && renewed.is_same(&body.plan)
    {
        body.plan = renewed;
    }
    let mut tries = 0;
    let rows = loop {
        match body.open(core) {
            Err(e) if e.number == errors::SCHEMA_CHANGED && tries < MAX_RECOMPILES => {
                tries += 1;
                body.plan = compile_again(core, body)?;
            }
            result => break result?,
        }
    };
    let began = core.shared.activity.started();
    PlanUses::of_query(&body.plan.query).ran(UseCount { count: 1, last: began });
    let info = &cursor.info;
    info.rows.store(rows.unwrap_or(-1), Relaxed);
    info.position.store(if rows.is_some() { 0 } else { -1 }, Relaxed);
    info.fetch_status.store(-9, Relaxed);
    info.open.store(true, Relaxed);
    info.last.store(last::OPENED, Relaxed);
    core.objects.cursors.opened_rows =
        rows.map_or(-1, |rows| i32::try_from(rows).unwrap_or(i32::MAX));
    Ok(())
}

/// Compiles a cursor in the state that the session is in.
pub fn compile(core: &SessionCore, source: &CursorSource) -> Result<Arc<CursorPlan>, SqlError> {
    let (_, bound) = BoundOperation::make(core, &source.vars, &[], |env| {
        Ok(BoundOperation::Cursor(Arc::new(compile_cursor(source, env)?)))
    })?;
    match bound {
        BoundOperation::Cursor(plan) => Ok(plan),
        _ => Err(SqlError::internal("a cursor was expected")),
    }
}

/// Compiles a cursor that was declared before in the state that the session was in then: its names
/// mean what they meant there, though it is opened elsewhere.
fn compile_again(core: &SessionCore, body: &Body) -> Result<Arc<CursorPlan>, SqlError> {
    let CursorPlan { source, names, .. } = &*body.plan;
    let Some(DeclaredIn { db, level }) = &body.declared_in else { return compile(core, source) };
    let (temps, options) =
        (core.objects.temps.seen_at(*level), core.options.compiled_with(names.options));
    let env = CompileEnv {
        predicate_of: None,
        schema: names.schema.clone(),
        chain: names.chain,
        names: &**core.host(),
        db,
        catalog: db.catalog(),
        vars: &source.vars,
        values: &[],
        options: &options,
        temps: &temps,
        // The rows of a trigger are its own.
        changes: core
            .run
            .triggers
            .changes
            .as_ref()
            .filter(|_| *level == core.objects.temps.level)
            .map(|rows| rows.as_table()),
        cancel: &core.shared.cancel,
        counters: core.host().optimizer(),
        unresolved: None,
    };
    compile_cursor(source, &env).map(Arc::new)
}

/// Fetches a row into the body's `fetched` and notes where the cursor stands.
///
/// # Errors
/// As [`Body::fetch`].
pub fn fetch(
    core: &mut SessionCore,
    cursor: &Cursor,
    body: &mut Body,
    to: FetchTarget,
) -> Result<Status, SqlError> {
    let result = body.fetch(core, to);
    let info = &cursor.info;
    if body.is_updatable() {
        *cursor.current.lock() = match &result {
            Ok(Status::Row) => PositionedRows::Row(body.fetched.tables.clone()),
            Ok(Status::Missing) => PositionedRows::Missing,
            _ => PositionedRows::None,
        };
    }
    info.reads.fetch_add(1, Relaxed);
    info.last.store(last::FETCHED, Relaxed);
    if let Some(position) = body.position() {
        info.position.store(position, Relaxed);
    }
    let status = result.as_ref().map_or(-1, |status| status.code());
    info.fetch_status.store(status, Relaxed);
    result
}

/// 16911, 16925: what a cursor cannot fetch.
pub fn check_fetch(declared: &DeclaredCursor, to: FetchTarget) -> Result<(), SqlError> {
    let name = match to {
        FetchTarget::Next => return Ok(()),
        FetchTarget::Prior => "prior",
        FetchTarget::First => "first",
        FetchTarget::Last => "last",
        FetchTarget::Absolute(_) => "absolute",
        FetchTarget::Relative(_) => "relative",
    };
    if !declared.scroll {
        return Err(SqlError::of(msg::FETCH_FORWARD_ONLY, [&name]));
    }
    if declared.model == Model::Dynamic && matches!(to, FetchTarget::Absolute(_)) {
        return Err(SqlError::of(msg::FETCH_DYNAMIC, [&name]));
    }
    Ok(())
}

impl Run<'_> {
    pub(super) fn bind_cursor(&mut self, at: usize, def: &CursorDef) -> Result<(), Failure> {
        if self.is_bound(at) {
            return Ok(());
        }
        let source = CursorSource {
            query: Arc::new(def.query.clone()),
            vars: Arc::new(self.batch.program.vars.clone()),
            wish: Options::of(def)?.wish,
            update_of: def.for_update.clone().unwrap_or_default(),
            api: false,
        };
        self.compile(at, |env| Ok(BoundOperation::Cursor(Arc::new(compile_cursor(&source, env)?))))
    }

    fn new_cursor(
        &mut self,
        at: usize,
        def: &CursorDef,
        name: &str,
        global: bool,
        span: Span,
    ) -> Result<Arc<Cursor>, Failure> {
        let options = Options::of(def)?;
        self.bind_cursor(at, def)?;
        let Some((_, BoundOperation::Cursor(plan))) = &self.bound[at] else {
            return Err(SqlError::internal("a cursor was expected").into());
        };
        let plan = plan.clone();
        if def.for_update.is_some() && plan.model == Model::Static {
            return Err(read_only().into());
        }
        if options.type_warning && plan.model != options.wish {
            let message = self.placed(at, SqlError::of(msg::CURSOR_TYPE_CHANGED, []));
            self.sink.message(&message)?;
        }
        let new = NewCursor {
            plan,
            name,
            concurrency: options.concurrency,
            scroll: options.scroll,
            global,
            api: false,
            text: span.text(&self.batch.text),
            vars: self.vars.clone(),
        };
        Ok(new.make(self.core)?)
    }

    pub(super) fn declare_cursor(
        &mut self,
        at: usize,
        declare: &DeclareCursor,
        span: Span,
    ) -> Result<(), Failure> {
        let global = Options::of(&declare.cursor)?.global;
        let global = global.unwrap_or(!self.core.db().has_local_cursors());
        let name = &declare.name.value;
        self.core.objects.cursors.check_free(name, global)?;
        let cursor = self.new_cursor(at, &declare.cursor, name, global, span)?;
        self.core.objects.cursors.declare(name, global, cursor)?;
        self.core.succeeded(0);
        Ok(())
    }

    /// Whether a SET is of a cursor variable.
    pub(super) fn sets_cursor(&self, set: &SetVariable) -> bool {
        matches!(set.value, SetValue::Cursor(_)) || self.batch.program.vars.is_cursor(&set.name)
    }

    /// SET @c = CURSOR ..., SET @c = @d, SET @c = name.
    pub(super) fn set_cursor(
        &mut self,
        at: usize,
        set: &SetVariable,
        span: Span,
    ) -> Result<(), Failure> {
        self.check_cursor_variable(&set.name)?;
        let cursor = match &set.value {
            SetValue::Cursor(def) => Some(self.new_cursor(at, def, &set.name, false, span)?),
            SetValue::Expr(Expr { kind: ExprKind::Variable(from), .. }) => {
                self.check_cursor_variable(from)?;
                self.core.objects.cursors.variable(from).cloned()
            }
            SetValue::Expr(Expr { kind: ExprKind::Column(column), .. })
                if column.qualifier.is_none() =>
            {
                let name = NameOrVariable::Name(column.name.clone());
                Some(self.core.objects.cursors.find(&CursorName { global: false, name })?)
            }
            SetValue::Expr(_) => return Err(self.no_cursor_variable(&set.name).into()),
        };
        self.core.objects.cursors.set_variable(&set.name, cursor);
        self.core.succeeded(0);
        Ok(())
    }

    /// 16948 when a variable holds no cursors, 137 when there is none.
    pub(super) fn check_cursor_variable(&self, name: &str) -> Result<(), SqlError> {
        let vars = &self.batch.program.vars;
        if vars.is_cursor(name) {
            return Ok(());
        }
        vars.find(name).and_then(|_| Err(self.no_cursor_variable(name)))
    }

    fn no_cursor_variable(&self, name: &str) -> SqlError {
        SqlError::of(msg::NOT_A_CURSOR_VARIABLE, [&name])
    }

    fn find_cursor(&self, name: &CursorName) -> Result<Arc<Cursor>, SqlError> {
        if let NameOrVariable::Variable(variable) = &name.name {
            self.check_cursor_variable(variable)?;
        }
        self.core.objects.cursors.find(name)
    }

    pub(super) fn open_cursor(&mut self, name: &CursorName) -> Result<(), Failure> {
        let cursor = self.find_cursor(name)?;
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        let opened = open(self.core, &cursor);
        if let Err(error) = self.core.end_statement(opened) {
            // What was filled so far is given back; one that was open before stays so.
            if error.number != 16905 {
                cursor.close();
            }
            return Err(error.into());
        }
        self.core.succeeded(0);
        Ok(())
    }

    pub(super) fn close_cursor(&mut self, name: &CursorName) -> Result<(), Failure> {
        let cursor = self.find_cursor(name)?;
        cursor.check_open()?;
        cursor.close();
        self.core.succeeded(0);
        Ok(())
    }

    /// The variables of INTO.
    fn bind_into(
        &mut self,
        at: usize,
        fetch: &Fetch,
    ) -> Result<Arc<[(usize, DataType)]>, SqlError> {
        if let Some((_, BoundOperation::Into(into))) = &self.bound[at] {
            return Ok(into.clone());
        }
        let vars = &self.batch.program.vars;
        let into: Arc<[_]> =
            fetch.into.iter().map(|name| vars.find(name)).collect::<Result<_, _>>()?;
        let bound = (programs::compiled::Stamp::now(self.core), BoundOperation::Into(into.clone()));
        self.bound[at] = Some(bound.clone());
        self.batch.bound.lock()[at] = Some(bound);
        Ok(into)
    }

    fn wanted(&self, from: &FetchFrom) -> Result<FetchTarget, SqlError> {
        let number = |expr: &Expr| {
            let value = match &expr.kind {
                ExprKind::Variable(name) => {
                    self.vars[self.batch.program.vars.find(name)?.0].clone()
                }
                _ => literal(expr)?,
            };
            value
                .as_i64()
                .ok_or_else(|| SqlError::of(msg::PARAMETER_VALUE, [&"sp_cursorfetch", &"'rownum'"]))
        };
        Ok(match from {
            FetchFrom::Next => FetchTarget::Next,
            FetchFrom::Prior => FetchTarget::Prior,
            FetchFrom::First => FetchTarget::First,
            FetchFrom::Last => FetchTarget::Last,
            FetchFrom::Absolute(n) => FetchTarget::Absolute(number(n)?),
            FetchFrom::Relative(n) => FetchTarget::Relative(number(n)?),
        })
    }

    pub(super) fn fetch(&mut self, at: usize, statement: &Fetch) -> Result<(), Failure> {
        let cursor = self.find_cursor(&statement.cursor)?;
        cursor.check_open()?;
        let into = self.bind_into(at, statement)?;
        let to = self.wanted(&statement.from)?;
        check_fetch(&cursor.info.declared, to)?;
        if !into.is_empty() && into.len() != cursor.info.columns as usize {
            return Err(SqlError::of(msg::FETCH_VARIABLE_COUNT, []).into());
        }
        let mut guard = body_of(&cursor)?;
        let body = own(&mut guard)?;
        self.core.objects.cursors.fetch_status = -1;
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        let result = fetch(self.core, &cursor, body, to);
        let status = match self.core.end_statement(result) {
            Ok(status) => status,
            Err(error) if into.is_empty() && error.number != errors::SCHEMA_CHANGED => {
                return Err(self.fails_showing(&body.plan.columns, error));
            }
            Err(error) => return Err(error.into()),
        };
        let rows = u64::from(status == Status::Row);
        if !into.is_empty() {
            if status == Status::Row {
                self.assign_row(&into, body)?;
            }
        } else {
            let textsize = self.core.options.textsize;
            let mut out = ToSink::new(self.sink, &body.plan.columns, textsize);
            if status == Status::Row {
                out.rows(&ResultRows::one(&body.fetched.row))?;
            }
            out.finish()?;
        }
        drop(guard);
        self.core.succeeded(rows);
        self.core.objects.cursors.fetch_status = status.code();
        if !into.is_empty() {
            self.core.tell_transactions(self.sink)?;
            return self.told(StatementKind::Select, None);
        }
        self.done(StatementKind::Select, Some(rows))
    }

    fn assign_row(&mut self, into: &[(usize, DataType)], body: &mut Body) -> Result<(), SqlError> {
        let row = body.fetched.row.iter_mut().zip(&body.plan.columns);
        let (dialect, page) =
            (self.core.options.dialect, self.core.db().default_collation().code_page());
        for ((slot, ty), (value, column)) in into.iter().zip(row) {
            let same_page =
                !ty.is_string() || ty.is_unicode() || column.collation.code_page() == page;
            self.vars[*slot] = if column.ty == *ty && same_page {
                std::mem::take(value)
            } else {
                convert_with(value, column.ty, *ty, 0, Mode::Implicit, dialect, page).map_err(
                    |e| match e.number {
                        206 | 257 => SqlError::of(msg::FETCH_CONVERSION, [&column.ty, &ty]),
                        _ => e,
                    },
                )?
            };
        }
        Ok(())
    }
}
