//! Opening a client's cursor: sp_cursoropen, sp_cursorprepare, sp_cursorexecute, sp_cursorprepexec.
//! Guarantee: a text that is no single query runs at once and gives no cursor (16954).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::cursor::{CursorPlan, CursorSource, Model};
use syntax::ast::StmtKind;
use types::{SqlError, Value, msg};

use super::fetch::Block;
use super::{ROWS, concurrency, hidden_name, invalid, number, scroll, shown_columns};
use crate::batch::cursors::{NewCursor, compile, open};
use crate::batch::origins;
use crate::batch::run::{Failure, Flow, Run};
use crate::batch::scope::Body;
use instance::OfInstance;
use programs::arguments::Arg;
use programs::compiled::CompiledBatch;
use programs::program::Op;
use session::output::{ColumnInfo, ColumnOrigin, ColumnOrigins, Sink};
use session::state::cursors::{Concurrency, Cursor};
use session::state::handles::DeclaredParameters;

/// Status of an open that has fetched all rows and closed the cursor.
const CLOSED: i32 = 16;

/// The parameters that all ways of opening have.
struct OpenArgs {
    cursor: Option<Arg>,
    scroll: Option<Arg>,
    concurrency: Option<Arg>,
    rows: Option<Arg>,
}

/// What a client asks for: the bits of `scrollopt` and of `ccopt`.
#[derive(Clone, Copy)]
struct AskedOptions {
    options: i64,
    access: i64,
}

impl AskedOptions {
    /// Errors: 16902 there is no such kind.
    fn model(self) -> Result<Model, SqlError> {
        match self.options & 0x1f {
            scroll::STATIC => Ok(Model::Static),
            scroll::DYNAMIC | scroll::FORWARD_ONLY => Ok(Model::Dynamic),
            scroll::FAST_FORWARD => Ok(Model::FastForward),
            0 | scroll::KEYSET => Ok(Model::Keyset),
            _ => Err(invalid("sp_cursoropen", "scrollopt")),
        }
    }

    /// Errors: 16902 there is no such kind.
    fn concurrency(self) -> Result<Concurrency, SqlError> {
        match self.access & 0xf {
            concurrency::READ_ONLY => Ok(Concurrency::ReadOnly),
            concurrency::SCROLL_LOCKS => Ok(Concurrency::ScrollLocks),
            0 | concurrency::OPTIMISTIC | concurrency::BY_VALUES => Ok(Concurrency::Optimistic),
            _ => Err(invalid("sp_cursoropen", "ccopt")),
        }
    }

    /// Whether a cursor of another kind than the wished one will do.
    fn accepts(self, model: Model) -> bool {
        self.options & scroll::CHECK_ACCEPTED == 0
            || self.options & acceptable(model, self.options) != 0
    }

    /// Whether it only goes forward because that was asked for.
    fn is_forward(self, model: Model) -> bool {
        self.options & scroll::FORWARD_ONLY != 0 && model == Model::Dynamic
    }

    /// `scrollopt` as it has become.
    fn given_scroll(self, model: Model) -> i64 {
        match model {
            Model::Static => scroll::STATIC,
            Model::Keyset => scroll::KEYSET,
            Model::Dynamic if self.is_forward(model) => scroll::FORWARD_ONLY,
            Model::Dynamic => scroll::DYNAMIC,
            Model::FastForward => scroll::FAST_FORWARD,
        }
    }

    /// `ccopt` as it has become.
    fn given_access(self, concurrency: Concurrency) -> i64 {
        match concurrency {
            Concurrency::ReadOnly => concurrency::READ_ONLY,
            Concurrency::ScrollLocks => concurrency::SCROLL_LOCKS,
            Concurrency::Optimistic if self.access & 0xf == concurrency::BY_VALUES => {
                concurrency::BY_VALUES
            }
            Concurrency::Optimistic => concurrency::OPTIMISTIC,
        }
    }
}

impl Run<'_> {
    /// sp_cursoropen @cursor OUTPUT, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [,
    /// @params, values...].
    pub(in crate::batch) fn cursor_open(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let cursor = args.next();
        let text = crate::batch::dynamic::text_of("sp_cursoropen", args.next())?;
        let outs =
            OpenArgs { cursor, scroll: args.next(), concurrency: args.next(), rows: args.next() };
        let with_parameters =
            number(outs.scroll.as_ref()).is_some_and(|options| options & scroll::PARAMETERS != 0);
        let declared = if with_parameters { self.declared(args.next())? } else { Arc::default() };
        let instance = self.core.instance().clone();
        let cache = instance.batches();
        let batch = cache.get(self.core, &text, &declared.typed)?;
        self.open_server_cursor(&declared, &batch, &outs, args)
    }

    /// sp_cursorprepare @handle OUTPUT, @params, @stmt, @options [, @scrollopt OUTPUT, @ccopt
    /// OUTPUT].
    pub(in crate::batch) fn cursor_prepare(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let handle = args.next();
        let declared = self.declared(args.next())?;
        let text = crate::batch::dynamic::text_of("sp_cursorprepare", args.next())?;
        let _options = args.next();
        let (prepared, batch) = self.prepare(text, declared)?;
        let (wished, concurrency) = (args.next(), args.next());
        if let Some(source) = source_of(&batch, Model::Static) {
            let plan = compile(self.core, &source)?;
            self.sink.columns(&shown_columns(&plan.columns, false))?;
            self.sink.origins(&origins_of(&plan, self.core.db().id()))?;
            self.rows_sent(0)?;
        }
        for arg in [&wished, &concurrency] {
            self.put(arg.as_ref(), number(arg.as_ref()).unwrap_or(0) & 0xff)?;
        }
        self.keep(handle, prepared)?;
        Ok((Flow::Next, 0))
    }

    /// sp_cursorexecute @handle, @cursor OUTPUT, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT
    /// [, values...].
    pub(in crate::batch) fn cursor_execute(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (prepared, batch) = self.prepared(args.next())?;
        let outs = open_args(&mut args);
        self.open_server_cursor(&prepared.declared, &batch, &outs, args)
    }

    /// sp_cursorprepexec @handle OUTPUT, @cursor OUTPUT, @params, @stmt, @scrollopt OUTPUT, @ccopt
    /// OUTPUT, @rowcount OUTPUT [, values...].
    pub(in crate::batch) fn cursor_prep_exec(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (handle, cursor) = (args.next(), args.next());
        let declared = self.declared(args.next())?;
        let text = crate::batch::dynamic::text_of("sp_cursorprepexec", args.next())?;
        let outs =
            OpenArgs { cursor, scroll: args.next(), concurrency: args.next(), rows: args.next() };
        let (prepared, batch) = self.prepare(text, declared)?;
        if let Some(old) = handle.as_ref().and_then(crate::batch::dynamic::number_of) {
            self.core.objects.handles.remove(old);
        }
        self.keep(handle, prepared.clone())?;
        self.open_server_cursor(&prepared.declared, &batch, &outs, args)
    }

    fn open_server_cursor(
        &mut self,
        declared: &DeclaredParameters,
        batch: &Arc<CompiledBatch>,
        outs: &OpenArgs,
        values: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let asked = AskedOptions {
            options: number(outs.scroll.as_ref()).unwrap_or(0),
            access: number(outs.concurrency.as_ref()).unwrap_or(0),
        };
        let (mut vars, _) = self.bind_values(declared, values)?;
        let Some(plan) = self.plan_of(batch, asked)? else {
            return self.run_directly(batch, &mut vars, outs);
        };
        let model = plan.model;
        let header = Header {
            columns: shown_columns(&plan.columns, model == Model::Keyset),
            origins: origins_of(&plan, self.core.db().id()),
        };
        let new = NewCursor {
            plan,
            name: "",
            concurrency: asked.concurrency()?,
            scroll: model != Model::FastForward && !asked.is_forward(model),
            global: true,
            api: true,
            text: &batch.text,
            vars,
        };
        let cursor = new.make(self.core)?;
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        let opened = open(self.core, &cursor);
        self.core.end_statement(opened)?;
        let handle = cursor.info.handle;
        *cursor.info.name.lock() = hidden_name(handle).into();
        self.core.objects.cursors.keep(cursor.clone());
        self.core.objects.cursors.declare(&hidden_name(handle), true, cursor.clone())?;
        let status = match self.first_rows(&cursor, &header, asked.options, outs) {
            Ok(status) => status,
            Err(error) => {
                self.core.objects.cursors.release(handle);
                return Err(error);
            }
        };
        self.put(outs.cursor.as_ref(), if status == CLOSED { 0 } else { handle.into() })?;
        self.put(outs.scroll.as_ref(), asked.given_scroll(model))?;
        self.put(outs.concurrency.as_ref(), asked.given_access(cursor.info.declared.concurrency))?;
        self.put(outs.rows.as_ref(), cursor.info.rows.load(Relaxed))?;
        Ok((Flow::Next, status))
    }

    /// The plan of the cursor; none where the text is to run as it is.
    ///
    /// # Errors
    /// Of the text; 16938 it is no single query, 16955 its cursor is not of an accepted kind.
    fn plan_of(
        &mut self,
        batch: &Arc<CompiledBatch>,
        asked: AskedOptions,
    ) -> Result<Option<Arc<CursorPlan>>, Failure> {
        let wish = asked.model()?;
        let plan = match source_of(batch, wish) {
            Some(source) => {
                let line = batch.program.lines.first().copied().unwrap_or(1);
                Some(compile(self.core, &source).map_err(|e| e.at_line(line))?)
            }
            None => None,
        };
        match plan {
            Some(plan) if plan.model == wish || asked.accepts(plan.model) => Ok(Some(plan)),
            _ if asked.access & concurrency::ALLOW_DIRECT != 0 => Ok(None),
            Some(_) => Err(SqlError::of(msg::CURSOR_NOT_CREATED, []).into()),
            None => Err(SqlError::of(msg::CURSOR_STATEMENT, []).into()),
        }
    }

    /// The header of the cursor's rows, and with AUTO_FETCH the first of them.
    fn first_rows(
        &mut self,
        cursor: &Arc<Cursor>,
        header: &Header,
        options: i64,
        outs: &OpenArgs,
    ) -> Result<i32, Failure> {
        if options & scroll::AUTO_FETCH == 0 {
            header.send(self.sink)?;
            self.rows_sent(0)?;
            return Ok(0);
        }
        let wanted = number(outs.rows.as_ref()).filter(|n| *n > 0).unwrap_or(ROWS);
        let given = self.fetch_block(cursor, Block::Next, wanted, Some(header))?;
        if options & scroll::AUTO_CLOSE != 0 && (given as i64) < wanted {
            self.core.objects.cursors.release(cursor.info.handle);
            return Ok(CLOSED);
        }
        Ok(0)
    }

    /// What is no single query runs as it is, and its results are the answer.
    fn run_directly(
        &mut self,
        batch: &Arc<CompiledBatch>,
        vars: &mut Vec<Value>,
        outs: &OpenArgs,
    ) -> Result<(Flow, i32), Failure> {
        self.sink.message(&SqlError::of(msg::EXECUTING_DIRECTLY, []))?;
        let (flow, status) = self.in_scope(batch, vars, Body::Text)?;
        if flow == Flow::Next {
            for arg in [&outs.cursor, &outs.scroll, &outs.concurrency] {
                self.put(arg.as_ref(), 0)?;
            }
            self.put(outs.rows.as_ref(), self.core.run.results.rowcount as i64)?;
        }
        Ok((flow, if status == 0 { self.core.run.results.error_number } else { status }))
    }
}

fn open_args(args: &mut std::vec::IntoIter<Arg>) -> OpenArgs {
    OpenArgs {
        cursor: args.next(),
        scroll: args.next(),
        concurrency: args.next(),
        rows: args.next(),
    }
}

fn acceptable(model: Model, options: i64) -> i64 {
    let place = match model {
        Model::Keyset => 0,
        Model::Dynamic if options & scroll::FORWARD_ONLY != 0 => 2,
        Model::Dynamic => 1,
        Model::Static => 3,
        Model::FastForward => 4,
    };
    scroll::ACCEPTABLE << place
}

/// The one query of a text; none where it is anything else.
fn source_of(batch: &Arc<CompiledBatch>, wish: Model) -> Option<CursorSource> {
    let program = &batch.program;
    let ([Op::Stmt(0)], [stmt]) = (program.ops.as_slice(), program.stmts.as_slice()) else {
        return None;
    };
    let StmtKind::Select(query) = &stmt.kind else { return None };
    let first = query.body.first_select();
    let assigns =
        |item: &syntax::ast::SelectItem| matches!(item, syntax::ast::SelectItem::Assign { .. });
    if first.into.is_some() || first.items.iter().any(assigns) || query.for_clause.is_some() {
        return None;
    }
    Some(CursorSource {
        query: Arc::new((**query).clone()),
        vars: Arc::new(program.vars.clone()),
        wish,
        update_of: Vec::new(),
        api: true,
    })
}

/// What goes before the rows of a cursor that is opened.
pub(super) struct Header {
    columns: Vec<ColumnInfo>,
    origins: ColumnOrigins,
}

impl Header {
    pub(super) fn send(&self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        sink.columns(&self.columns)?;
        sink.origins(&self.origins)
    }
}

/// Where the columns of a cursor come from, for a session in the database `here`.
fn origins_of(plan: &CursorPlan, here: i32) -> ColumnOrigins {
    let rowstat = ColumnOrigin { hidden: true, ..ColumnOrigin::default() };
    let mut origins = origins::of(&plan.origins, &plan.columns, &plan.origin_of, here);
    origins.columns.push(rowstat);
    origins
}
