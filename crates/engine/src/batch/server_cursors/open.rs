//! Opening a client's cursor: sp_cursoropen, sp_cursorprepare, sp_cursorexecute, sp_cursorprepexec.
//! Guarantee: a text that is no single query runs at once and gives no cursor (16954).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::cursor::{CursorPlan, Model, Source};
use syntax::ast::StmtKind;
use types::{SqlError, Value};

use super::fetch::Block;
use super::{ROWS, concurrency, hidden_name, invalid, number, scroll, shown_columns};
use crate::batch::Compiled;
use crate::batch::cache::BatchCache;
use crate::batch::cursors::{NewCursor, compile, open};
use crate::batch::origins;
use crate::batch::program::Op;
use crate::batch::run::{Failure, Flow, Run};
use crate::instance::OfInstance;
use crate::sysproc::Arg;
use exec::output::{ColumnInfo, Origin, Origins, Sink};
use exec::state::cursors::{Concurrency, Cursor};
use exec::state::handles::Declared;

/// Status of an open that has fetched all rows and closed the cursor.
const CLOSED: i32 = 16;

/// The parameters that all ways of opening have.
struct OpenArgs {
    cursor: Option<Arg>,
    scroll: Option<Arg>,
    concurrency: Option<Arg>,
    rows: Option<Arg>,
}

impl Run<'_> {
    /// sp_cursoropen @cursor OUTPUT, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [, @params, values...].
    pub(in crate::batch) fn cursor_open(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let cursor = args.next();
        let text = crate::batch::dynamic::text_of("sp_cursoropen", args.next())?;
        let outs = OpenArgs { cursor, scroll: args.next(), concurrency: args.next(), rows: args.next() };
        let with_parameters =
            number(outs.scroll.as_ref()).is_some_and(|options| options & scroll::PARAMETERS != 0);
        let declared = if with_parameters { self.declared(args.next())? } else { Arc::default() };
        let instance = self.core.instance().clone();
        let cache = BatchCache::of(&instance)?;
        let batch = cache.get(self.core.db(), &self.core.options, &text, &declared.typed)?;
        self.open_server_cursor(&declared, &batch, &outs, args)
    }

    /// sp_cursorprepare @handle OUTPUT, @params, @stmt, @options [, @scrollopt OUTPUT, @ccopt OUTPUT].
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

    /// sp_cursorexecute @handle, @cursor OUTPUT, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [, values...].
    pub(in crate::batch) fn cursor_execute(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (prepared, batch) = self.prepared(args.next())?;
        let outs = open_args(&mut args);
        self.open_server_cursor(&prepared.declared, &batch, &outs, args)
    }

    /// sp_cursorprepexec @handle OUTPUT, @cursor OUTPUT, @params, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT
    /// [, values...].
    pub(in crate::batch) fn cursor_prep_exec(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (handle, cursor) = (args.next(), args.next());
        let declared = self.declared(args.next())?;
        let text = crate::batch::dynamic::text_of("sp_cursorprepexec", args.next())?;
        let outs = OpenArgs { cursor, scroll: args.next(), concurrency: args.next(), rows: args.next() };
        let (prepared, batch) = self.prepare(text, declared)?;
        if let Some(old) = handle.as_ref().and_then(crate::batch::dynamic::number_of) {
            self.core.handles.remove(old);
        }
        self.keep(handle, prepared.clone())?;
        self.open_server_cursor(&prepared.declared, &batch, &outs, args)
    }

    fn open_server_cursor(
        &mut self,
        declared: &Declared,
        batch: &Arc<Compiled>,
        outs: &OpenArgs,
        values: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let options = number(outs.scroll.as_ref()).unwrap_or(0);
        let access = number(outs.concurrency.as_ref()).unwrap_or(0);
        let (mut vars, _) = self.bind_values(declared, values)?;
        let wish = match options & 0x1f {
            scroll::STATIC => Model::Static,
            scroll::DYNAMIC | scroll::FORWARD_ONLY => Model::Dynamic,
            scroll::FAST_FORWARD => Model::FastForward,
            0 | scroll::KEYSET => Model::Keyset,
            _ => return Err(invalid("sp_cursoropen", "scrollopt").into()),
        };
        let made = match source_of(batch, wish) {
            Some(source) => {
                let line = batch.program.lines.first().copied().unwrap_or(1);
                Some(compile(self.core, &source).map_err(|e| e.at_line(line))?)
            }
            None => None,
        };
        let accepted = |model: Model| {
            options & scroll::CHECK_ACCEPTED == 0
                || options & acceptable(model, options) != 0
                || model == wish
        };
        let plan = match made {
            Some(plan) if accepted(plan.model) => plan,
            _ if access & concurrency::ALLOW_DIRECT != 0 => {
                return self.run_directly(batch, &mut vars, outs);
            }
            Some(_) => {
                return Err(SqlError::new(16955, 16, 2, "Could not create an acceptable cursor.").into());
            }
            None => {
                let text = "sp_cursoropen/sp_cursorprepare: The statement parameter can only be a batch or a stored \
                            procedure with a single select, without FOR BROWSE, COMPUTE BY, or variable assignments.";
                return Err(SqlError::new(16938, 16, 1, text).into());
            }
        };
        let model = plan.model;
        let forward = options & scroll::FORWARD_ONLY != 0 && model == Model::Dynamic;
        let header = Header {
            columns: shown_columns(&plan.columns, model == Model::Keyset),
            origins: origins_of(&plan, self.core.db().id()),
        };
        let wished = match access & 0xf {
            concurrency::READ_ONLY => Concurrency::ReadOnly,
            concurrency::SCROLL_LOCKS => Concurrency::ScrollLocks,
            0 | concurrency::OPTIMISTIC | concurrency::BY_VALUES => Concurrency::Optimistic,
            _ => return Err(invalid("sp_cursoropen", "ccopt").into()),
        };
        let new = NewCursor {
            plan,
            name: "",
            concurrency: wished,
            scroll: model != Model::FastForward && !forward,
            global: true,
            api: true,
            text: &batch.text,
            vars,
        };
        let cursor = new.make(self.core);
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        let opened = open(self.core, &cursor);
        self.core.end_statement(opened)?;
        let handle = cursor.info.handle;
        *cursor.info.name.lock() = hidden_name(handle).into();
        self.core.cursors.keep(cursor.clone());
        self.core.cursors.declare(&hidden_name(handle), true, cursor.clone())?;
        let result = self.first_rows(&cursor, &header, options, outs);
        let status = match result {
            Ok(status) => status,
            Err(error) => {
                self.core.cursors.release(handle);
                return Err(error);
            }
        };
        let actual = match model {
            Model::Static => scroll::STATIC,
            Model::Keyset => scroll::KEYSET,
            Model::Dynamic if forward => scroll::FORWARD_ONLY,
            Model::Dynamic => scroll::DYNAMIC,
            Model::FastForward => scroll::FAST_FORWARD,
        };
        let access = match cursor.info.declared.concurrency {
            Concurrency::ReadOnly => concurrency::READ_ONLY,
            Concurrency::ScrollLocks => concurrency::SCROLL_LOCKS,
            Concurrency::Optimistic if access & 0xf == concurrency::BY_VALUES => concurrency::BY_VALUES,
            Concurrency::Optimistic => concurrency::OPTIMISTIC,
        };
        self.put(outs.cursor.as_ref(), if status == CLOSED { 0 } else { handle.into() })?;
        self.put(outs.scroll.as_ref(), actual)?;
        self.put(outs.concurrency.as_ref(), access)?;
        self.put(outs.rows.as_ref(), cursor.info.rows.load(Relaxed))?;
        Ok((Flow::Next, status))
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
            self.core.cursors.release(cursor.info.handle);
            return Ok(CLOSED);
        }
        Ok(0)
    }

    /// What is no single query runs as it is, and its results are the answer.
    fn run_directly(
        &mut self,
        batch: &Arc<Compiled>,
        vars: &mut Vec<Value>,
        outs: &OpenArgs,
    ) -> Result<(Flow, i32), Failure> {
        self.sink.message(&SqlError::new(16954, 10, 1, "Executing SQL directly; no cursor."))?;
        let (flow, status) = self.nested_batch(batch, vars)?;
        if flow == Flow::Next {
            for arg in [&outs.cursor, &outs.scroll, &outs.concurrency] {
                self.put(arg.as_ref(), 0)?;
            }
            self.put(outs.rows.as_ref(), self.core.rowcount as i64)?;
        }
        Ok((flow, if status == 0 { self.core.error_number } else { status }))
    }
}

fn open_args(args: &mut std::vec::IntoIter<Arg>) -> OpenArgs {
    OpenArgs { cursor: args.next(), scroll: args.next(), concurrency: args.next(), rows: args.next() }
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
fn source_of(batch: &Arc<Compiled>, wish: Model) -> Option<Source> {
    let program = &batch.program;
    let ([Op::Stmt(0)], [stmt]) = (program.ops.as_slice(), program.stmts.as_slice()) else { return None };
    let StmtKind::Select(query) = &stmt.kind else { return None };
    let first = query.body.first_select();
    let assigns = |item: &syntax::ast::SelectItem| matches!(item, syntax::ast::SelectItem::Assign { .. });
    if first.into.is_some() || first.items.iter().any(assigns) || query.for_clause.is_some() {
        return None;
    }
    Some(Source {
        query: Arc::new((**query).clone()),
        vars: Arc::new(program.vars.clone()),
        wish,
        update_of: Vec::new(),
    })
}

/// What goes before the rows of a cursor that is opened.
pub(super) struct Header {
    columns: Vec<ColumnInfo>,
    origins: Origins,
}

impl Header {
    pub(super) fn send(&self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        sink.columns(&self.columns)?;
        sink.origins(&self.origins)
    }
}

/// Where the columns of a cursor come from, for a session in the database `here`.
fn origins_of(plan: &CursorPlan, here: i32) -> Origins {
    let rowstat = Origin { hidden: true, ..Origin::default() };
    let mut origins = origins::of(&plan.origins, &plan.columns, &plan.origin_of, here);
    origins.columns.push(rowstat);
    origins
}
