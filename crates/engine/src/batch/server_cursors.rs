//! The cursors of ODBC, JDBC and FreeTDS: sp_cursoropen and its kin, by RPC or by EXECUTE. A cursor has a handle of the session
//! instead of a name, and a buffer of rows that were fetched last, which changes go to.
//! Guarantees: a handle that was given back or never given is 16909; a kind that a query cannot have is told in the option
//! parameters; each row has its state in a last column ROWSTAT.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use compact_str::CompactString;
use plan::cursor::{CursorPlan, Model, Source};
use syntax::ast::StmtKind;
use types::{DataType, SqlError, Value};

use super::cache::BatchCache;
use super::cursors::{NewCursor, body_of, check_fetch, compile, fetch, open, own};
use super::program::Op;
use super::run::{Failure, Flow, Run};
use super::{BatchParam, Compiled};
use crate::instance::OfInstance;
use crate::sysproc::Arg;
use catalog::{Db, TableDef, errors};
use exec::cursor::{Body, BufferRow, Status, To};
use exec::output::{ColumnInfo, Origin, Origins, Sink, StatementEnd, StatementKind};
use exec::state::cursors::{Concurrency, Current, Cursor};
use exec::state::handles::Declared;

/// Scroll options.
mod scroll {
    pub const KEYSET: i64 = 1;
    pub const DYNAMIC: i64 = 2;
    pub const FORWARD_ONLY: i64 = 4;
    pub const STATIC: i64 = 8;
    pub const FAST_FORWARD: i64 = 0x10;
    pub const PARAMETERS: i64 = 0x1000;
    pub const AUTO_FETCH: i64 = 0x2000;
    pub const AUTO_CLOSE: i64 = 0x4000;
    pub const CHECK_ACCEPTED: i64 = 0x8000;
    /// KEYSET_ACCEPTABLE; the others follow in the order of the kinds.
    pub const ACCEPTABLE: i64 = 0x10000;
}

/// Concurrency options.
mod concurrency {
    pub const READ_ONLY: i64 = 1;
    pub const SCROLL_LOCKS: i64 = 2;
    pub const OPTIMISTIC: i64 = 4;
    pub const BY_VALUES: i64 = 8;
    pub const ALLOW_DIRECT: i64 = 0x2000;
}

/// ROWSTAT.
const ROW_FETCHED: i32 = 1;
const ROW_MISSING: i32 = 2;
/// Rows of a fetch that names no number.
const ROWS: i64 = 20;
/// Status of an open that has fetched all rows and closed the cursor.
const CLOSED: i32 = 16;

/// The parameters that all ways of opening have.
struct OpenArgs {
    cursor: Option<Arg>,
    scroll: Option<Arg>,
    concurrency: Option<Arg>,
    rows: Option<Arg>,
}

fn number(arg: Option<&Arg>) -> Option<i64> {
    arg.filter(|arg| !arg.is_default).and_then(|arg| arg.value.as_i64())
}

/// 16902.
fn invalid(procedure: &str, parameter: &str) -> SqlError {
    SqlError::new(16902, 16, 4, format!("{procedure}: The value of the parameter {parameter} is invalid."))
}

/// The name under which positioned statements of the engine's own find a cursor.
fn hidden_name(handle: i32) -> String {
    format!("{}{handle}", exec::state::cursors::HIDDEN)
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

impl Run<'_> {
    /// sp_cursoropen @cursor OUTPUT, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT [, @params, values...].
    pub(super) fn cursor_open(&mut self, mut args: std::vec::IntoIter<Arg>) -> Result<(Flow, i32), Failure> {
        let cursor = args.next();
        let text = super::dynamic::text_of("sp_cursoropen", args.next())?;
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
    pub(super) fn cursor_prepare(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let handle = args.next();
        let declared = self.declared(args.next())?;
        let text = super::dynamic::text_of("sp_cursorprepare", args.next())?;
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
    pub(super) fn cursor_execute(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (prepared, batch) = self.prepared(args.next())?;
        let outs = open_args(&mut args);
        self.open_server_cursor(&prepared.declared, &batch, &outs, args)
    }

    /// sp_cursorprepexec @handle OUTPUT, @cursor OUTPUT, @params, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT
    /// [, values...].
    pub(super) fn cursor_prep_exec(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (handle, cursor) = (args.next(), args.next());
        let declared = self.declared(args.next())?;
        let text = super::dynamic::text_of("sp_cursorprepexec", args.next())?;
        let outs = OpenArgs { cursor, scroll: args.next(), concurrency: args.next(), rows: args.next() };
        let (prepared, batch) = self.prepare(text, declared)?;
        if let Some(old) = handle.as_ref().and_then(super::dynamic::number_of) {
            self.core.handles.remove(old);
        }
        self.keep(handle, prepared.clone())?;
        self.open_server_cursor(&prepared.declared, &batch, &outs, args)
    }

    /// The end of a result set of the procedure.
    fn rows_sent(&mut self, rows: u64) -> Result<(), Failure> {
        self.core.tell_transactions(self.sink)?;
        let rows = Some(rows).filter(|_| !self.core.options.nocount);
        let statement = StatementKind::Select;
        Ok(self.sink.done(StatementEnd { statement, rows, error: false, nested: true })?)
    }

    fn put(&mut self, arg: Option<&Arg>, value: i64) -> Result<(), SqlError> {
        match arg.and_then(|arg| arg.output) {
            Some(slot) => {
                let value = i32::try_from(value).unwrap_or(i32::MAX);
                self.give_back(slot, DataType::Int, &Value::Int(value))
            }
            None => Ok(()),
        }
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

    fn server_cursor(&self, procedure: &str, arg: Option<&Arg>) -> Result<Arc<Cursor>, SqlError> {
        let handle = number(arg).unwrap_or(0) as i32;
        self.core.cursors.by_handle(handle).ok_or_else(|| {
            let text =
                format!("{procedure}: The cursor identifier value provided ({handle:x}) is not valid.");
            SqlError::new(16909, 16, 1, text)
        })
    }

    /// sp_cursorclose @cursor; -1 closes all.
    pub(super) fn cursor_close(&mut self, mut args: std::vec::IntoIter<Arg>) -> Result<(Flow, i32), Failure> {
        let handle = args.next();
        if number(handle.as_ref()) == Some(-1) {
            self.core.cursors.release_all();
            return Ok((Flow::Next, 0));
        }
        let cursor = self.server_cursor("sp_cursorclose", handle.as_ref())?;
        self.core.cursors.release(cursor.info.handle);
        Ok((Flow::Next, 0))
    }

    /// sp_cursorfetch @cursor [, @fetchtype [, @rownum OUTPUT [, @nrows OUTPUT]]].
    pub(super) fn cursor_fetch(&mut self, mut args: std::vec::IntoIter<Arg>) -> Result<(Flow, i32), Failure> {
        let cursor = self.server_cursor("sp_cursorfetch", args.next().as_ref())?;
        let kind = args.next();
        // Whether conflicts with updates are looked for is decided when a row is changed.
        let kind = number(kind.as_ref()).unwrap_or(2) & !0x400;
        let (row, rows) = (args.next(), args.next());
        if kind == 0x100 {
            self.put(row.as_ref(), cursor.info.position.load(Relaxed))?;
            self.put(rows.as_ref(), cursor.info.rows.load(Relaxed))?;
            return Ok((Flow::Next, 0));
        }
        let number_of_row = number(row.as_ref()).unwrap_or(0);
        let count = number(rows.as_ref()).unwrap_or(ROWS);
        let block = match kind {
            1 => Block::First,
            2 => Block::Next,
            4 => Block::Prior { adjust: true },
            8 => Block::Last,
            0x10 => Block::Absolute(number_of_row),
            0x20 => Block::Relative(number_of_row),
            0x80 => Block::Refresh,
            0x200 => Block::Prior { adjust: false },
            _ => return Err(invalid("sp_cursorfetch", "fetchtype").into()),
        };
        if count < 0 {
            return Err(invalid("sp_cursorfetch", "nrows").into());
        }
        self.fetch_block(&cursor, block, count, None)?;
        Ok((Flow::Next, 0))
    }

    /// Fetches rows into the buffer and sends them; gives how many. `header`: the rows come with the opening, which tells where the
    /// columns come from.
    fn fetch_block(
        &mut self,
        cursor: &Arc<Cursor>,
        block: Block,
        count: i64,
        header: Option<&Header>,
    ) -> Result<u64, Failure> {
        cursor.check_open()?;
        check_fetch(&cursor.info.declared, block.kind())?;
        let mut guard = body_of(cursor)?;
        let body = own(&mut guard)?;
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        match header {
            Some(header) => header.send(self.sink)?,
            None => {
                let missing = cursor.info.declared.model == Model::Keyset;
                self.sink.columns(&shown_columns(&body.plan.columns, missing))?;
            }
        }
        let result = self.block(cursor, body, block, count);
        let rows = self.core.end_statement(result)?;
        self.core.succeeded(rows);
        self.rows_sent(rows)?;
        Ok(rows)
    }

    fn block(&mut self, cursor: &Cursor, body: &mut Body, block: Block, count: i64) -> Result<u64, SqlError> {
        let before = std::mem::take(&mut body.buffer);
        let (first, last) = (before.first.clone(), before.last.clone());
        let to = match block {
            Block::First => To::First,
            Block::Next => {
                last.iter().for_each(|mark| body.go_to(mark));
                To::Next
            }
            Block::Absolute(n) => To::Absolute(n),
            Block::Relative(n) => {
                first.iter().for_each(|mark| body.go_to(mark));
                To::Relative(n)
            }
            Block::Refresh => {
                first.iter().for_each(|mark| body.go_to(mark));
                return self.forward(cursor, body, To::Relative(0), before.rows.len() as i64);
            }
            Block::Prior { adjust } => {
                first.iter().for_each(|mark| body.go_to(mark));
                if self.backward(cursor, body, To::Prior, count)? || !adjust {
                    return self.send_buffer(body);
                }
                // The beginning was met on the way: the first rows then.
                body.buffer.clear();
                To::First
            }
            Block::Last if count == 0 => {
                body.fetch(self.core, To::Last)?;
                body.fetch(self.core, To::Next)?;
                return Ok(0);
            }
            Block::Last => {
                self.backward(cursor, body, To::Last, count)?;
                return self.send_buffer(body);
            }
        };
        if count == 0 && to == To::First {
            body.fetch(self.core, To::First)?;
            body.fetch(self.core, To::Prior)?;
            return Ok(0);
        }
        self.forward(cursor, body, to, count)
    }

    fn forward(&mut self, cursor: &Cursor, body: &mut Body, to: To, count: i64) -> Result<u64, SqlError> {
        let mut to = to;
        let mut rows = 0;
        while (rows as i64) < count {
            self.core.check_cancel()?;
            let status = fetch(self.core, cursor, body, to)?;
            let mark = body.mark();
            if body.buffer.first.is_none() {
                body.buffer.first = Some(mark.clone());
            }
            body.buffer.last = Some(mark);
            if status == Status::End {
                break;
            }
            keep_in_buffer(body, status, false);
            self.core.acknowledge_reads()?;
            let row = row_with_state(body, status);
            self.sink.row(&row)?;
            rows += 1;
            to = To::Next;
        }
        Ok(rows)
    }

    /// Fills the buffer backward; false when the beginning was met before it was full.
    fn backward(&mut self, cursor: &Cursor, body: &mut Body, to: To, count: i64) -> Result<bool, SqlError> {
        let mut to = to;
        let mut full = true;
        for _ in 0..count {
            self.core.check_cancel()?;
            let status = fetch(self.core, cursor, body, to)?;
            let mark = body.mark();
            if status == Status::End {
                if body.buffer.rows.is_empty() {
                    (body.buffer.first, body.buffer.last) = (Some(mark.clone()), Some(mark));
                }
                full = false;
                break;
            }
            if body.buffer.rows.is_empty() {
                body.buffer.last = Some(mark.clone());
            }
            body.buffer.first = Some(mark);
            keep_in_buffer(body, status, true);
            to = To::Prior;
        }
        body.buffer.rows.reverse();
        Ok(full)
    }

    /// Sends the rows of a buffer that was filled backward.
    fn send_buffer(&mut self, body: &mut Body) -> Result<u64, SqlError> {
        self.core.acknowledge_reads()?;
        let rows = std::mem::take(&mut body.buffer.values);
        for row in rows.iter().rev() {
            self.sink.row(row)?;
        }
        Ok(rows.len() as u64)
    }

    /// sp_cursoroption @cursor, @code, @value OUTPUT.
    pub(super) fn cursor_option(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let cursor = self.server_cursor("sp_cursoroption", args.next().as_ref())?;
        let (code, value) = (args.next(), args.next());
        let declared = &cursor.info.declared;
        match number(code.as_ref()) {
            Some(2) => {
                let name = value.as_ref().and_then(|arg| arg.value.as_str()).unwrap_or_default();
                if name.is_empty() {
                    return Err(invalid("sp_cursoroption", "value").into());
                }
                self.core.cursors.declare(name, true, cursor.clone())?;
                *cursor.info.name.lock() = name.into();
            }
            // Large values are always sent whole.
            Some(3) => {}
            Some(4) => {
                let kind = match declared.model {
                    Model::Keyset => scroll::KEYSET,
                    Model::Dynamic if !declared.scroll => scroll::FORWARD_ONLY,
                    Model::Dynamic => scroll::DYNAMIC,
                    Model::Static => scroll::STATIC,
                    Model::FastForward => scroll::FAST_FORWARD,
                };
                self.put(value.as_ref(), kind)?;
            }
            Some(5) => {
                let access = match declared.concurrency {
                    Concurrency::ReadOnly => concurrency::READ_ONLY,
                    Concurrency::ScrollLocks => concurrency::SCROLL_LOCKS,
                    Concurrency::Optimistic => concurrency::OPTIMISTIC,
                };
                self.put(value.as_ref(), access)?;
            }
            Some(6) => self.put(value.as_ref(), cursor.info.rows.load(Relaxed))?,
            Some(1) => return Err(errors::not_supported("sp_cursoroption TEXTPTR_ONLY").into()),
            _ => return Err(invalid("sp_cursoroption", "code").into()),
        }
        Ok((Flow::Next, 0))
    }

    /// sp_cursor @cursor, @optype, @rownum, @table [, values...]: changes, locks or shows rows of the buffer.
    pub(super) fn cursor_change(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let cursor = self.server_cursor("sp_cursor", args.next().as_ref())?;
        let (operation, row, table) = (args.next(), args.next(), args.next());
        let operation = number(operation.as_ref()).unwrap_or(0);
        let row = number(row.as_ref()).unwrap_or(0);
        let table = table.as_ref().and_then(|arg| arg.value.as_str()).unwrap_or_default().to_string();
        cursor.check_open()?;
        if operation & 4 != 0 {
            return self.insert_through(&cursor, &table, args.collect());
        }
        let places = {
            let mut guard = body_of(&cursor)?;
            let body = own(&mut guard)?;
            buffer_places(body, row)?
        };
        if operation & 8 != 0 || operation & 0x10 != 0 {
            return self.refresh_rows(&cursor, &places, operation & 0x10 != 0);
        }
        let values: Vec<Arg> = args.collect();
        let mut done = (Flow::Next, 0);
        for at in places {
            self.set_position(&cursor, at)?;
            if operation & 3 == 0 {
                continue;
            }
            let target = self.target_of(&cursor, &table)?;
            let name = quoted(&hidden_name(cursor.info.handle));
            let (text, params, mut vars) = if operation & 1 != 0 {
                let (sets, params, vars) = assignments(&values)?;
                (format!("UPDATE {target} SET {sets} WHERE CURRENT OF {name}"), params, vars)
            } else {
                (format!("DELETE {target} WHERE CURRENT OF {name}"), Vec::new(), Vec::new())
            };
            done = self.run_change(&text, &params, &mut vars)?;
            self.note_written(&cursor, at)?;
            if done.0 == Flow::Abort || done.1 != 0 {
                break;
            }
        }
        if operation & 0x23 == 0 {
            return Err(invalid("sp_cursor", "optype").into());
        }
        Ok(done)
    }

    fn run_change(
        &mut self,
        text: &str,
        params: &[BatchParam],
        vars: &mut Vec<Value>,
    ) -> Result<(Flow, i32), Failure> {
        let instance = self.core.instance().clone();
        let batch = BatchCache::of(&instance)?.get(self.core.db(), &self.core.options, text, params)?;
        let (flow, status) = self.nested_batch(&batch, vars)?;
        Ok((flow, if status == 0 { self.core.error_number } else { status }))
    }

    fn insert_through(
        &mut self,
        cursor: &Cursor,
        table: &str,
        values: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        if cursor.info.declared.concurrency == Concurrency::ReadOnly {
            return Err(SqlError::new(16929, 16, 1, "The cursor is READ ONLY.").into());
        }
        let target = self.target_of(cursor, table)?;
        if values.is_empty() {
            return self.run_change(&format!("INSERT {target} DEFAULT VALUES"), &[], &mut Vec::new());
        }
        let named = named_values(&values)?;
        let columns: Vec<String> = named.iter().map(|(column, ..)| quoted(column)).collect();
        let (params, mut vars) = parameters(&named);
        let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("INSERT {target} ({}) VALUES ({})", columns.join(", "), names.join(", "));
        self.run_change(&text, &params, &mut vars)
    }

    /// The table that a change goes to: the one that is named, or the first of the query.
    fn target_of(&self, cursor: &Cursor, table: &str) -> Result<String, SqlError> {
        if !table.is_empty() {
            return Ok(table.to_string());
        }
        let mut guard = body_of(cursor)?;
        let body = own(&mut guard)?;
        let table = body.plan.tables.first();
        let table = table.ok_or_else(|| SqlError::new(16929, 16, 1, "The cursor is READ ONLY."))?;
        let def = &table.store.table;
        Ok(format!("{}.{}.{}", quoted(&table.db.name()), quoted(&def.schema), quoted(&def.name)))
    }

    fn set_position(&mut self, cursor: &Cursor, at: usize) -> Result<(), SqlError> {
        let mut guard = body_of(cursor)?;
        let body = own(&mut guard)?;
        if let Some(row) = body.buffer.rows.get(at) {
            *cursor.current.lock() = row.current.clone();
        }
        Ok(())
    }

    /// The row of the buffer is what the change has made of it.
    fn note_written(&mut self, cursor: &Cursor, at: usize) -> Result<(), SqlError> {
        let mut guard = body_of(cursor)?;
        let body = own(&mut guard)?;
        if let Some(row) = body.buffer.rows.get_mut(at) {
            row.current = cursor.current.lock().clone();
        }
        Ok(())
    }

    /// Reads rows of the buffer again and sends them; `lock`: locks them instead.
    fn refresh_rows(
        &mut self,
        cursor: &Arc<Cursor>,
        places: &[usize],
        lock: bool,
    ) -> Result<(Flow, i32), Failure> {
        let mut guard = body_of(cursor)?;
        let body = own(&mut guard)?;
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        if !lock {
            let columns = shown_columns(&body.plan.columns, cursor.info.declared.model == Model::Keyset);
            self.sink.columns(&columns)?;
        }
        let back = body.mark();
        let locks = body.set_locks(lock);
        let result = self.read_again(cursor, body, places, lock);
        body.set_locks(locks);
        body.go_to(&back);
        let rows = self.core.end_statement(result)?;
        self.core.succeeded(rows);
        if !lock {
            self.rows_sent(rows)?;
        }
        Ok((Flow::Next, 0))
    }

    fn read_again(
        &mut self,
        cursor: &Cursor,
        body: &mut Body,
        places: &[usize],
        lock: bool,
    ) -> Result<u64, SqlError> {
        for at in places {
            let mark = body.buffer.rows[*at].mark.clone();
            body.go_to(&mark);
            let status = fetch(self.core, cursor, body, To::Relative(0))?;
            let current = cursor.current.lock().clone();
            body.buffer.rows[*at] = BufferRow { mark, current };
            if !lock {
                self.core.acknowledge_reads()?;
                let row = row_with_state(body, status);
                self.sink.row(&row)?;
            }
        }
        Ok(places.len() as u64)
    }
}

/// Which rows a fetch asks for.
#[derive(Clone, Copy, Debug)]
enum Block {
    First,
    Next,
    Prior { adjust: bool },
    Last,
    Absolute(i64),
    Relative(i64),
    Refresh,
}

impl Block {
    /// What the cursor must be able to.
    fn kind(self) -> To {
        match self {
            Block::First => To::First,
            // The rows are where they were.
            Block::Next | Block::Refresh => To::Next,
            Block::Prior { .. } => To::Prior,
            Block::Last => To::Last,
            Block::Absolute(n) => To::Absolute(n),
            Block::Relative(n) => To::Relative(n),
        }
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

/// The columns of a cursor's rows with the state of the row. `missing`: rows may be gone, and have no values then.
fn shown_columns(columns: &[ColumnInfo], missing: bool) -> Vec<ColumnInfo> {
    let mut shown = columns.to_vec();
    if missing {
        shown.iter_mut().for_each(|column| column.nullable = true);
    }
    shown.push(ColumnInfo::new("ROWSTAT", DataType::Int, false));
    shown
}

/// What goes before the rows of a cursor that is opened.
struct Header {
    columns: Vec<ColumnInfo>,
    origins: Origins,
}

impl Header {
    fn send(&self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        sink.columns(&self.columns)?;
        sink.origins(&self.origins)
    }
}

/// Where the columns of a cursor come from, for a session in the database `here`.
fn origins_of(plan: &CursorPlan, here: i32) -> Origins {
    let name = |(db, table): &(Arc<Db>, Arc<TableDef>)| {
        let mut parts = Vec::with_capacity(3);
        if !table.name.starts_with('#') {
            parts.extend((db.id() != here).then(|| db.name()));
            parts.push(table.schema.clone());
        }
        parts.push(table.name.clone());
        parts
    };
    let column = |(info, origin): (&ColumnInfo, &Option<(usize, usize)>)| {
        let Some((at, column)) = *origin else { return Origin::default() };
        let table = &plan.origins[at].1;
        let unique = table.all_indexes().find(|index| index.index_id > 0 && index.is_key());
        let base = &table.columns[column].name;
        Origin {
            table: Some(at),
            name: (*base != info.name).then(|| base.clone()),
            key: unique.is_some_and(|index| index.key.iter().any(|(key, _)| *key == column)),
            hidden: false,
        }
    };
    let rowstat = Origin { hidden: true, ..Origin::default() };
    Origins {
        tables: plan.origins.iter().map(name).collect(),
        columns: plan.columns.iter().zip(&plan.origin_of).map(column).chain([rowstat]).collect(),
    }
}

fn row_with_state(body: &mut Body, status: Status) -> Vec<Value> {
    let width = body.plan.columns.len();
    let mut row = std::mem::take(&mut body.fetched.row);
    if status != Status::Row {
        row.clear();
    }
    row.resize(width, Value::Null);
    row.push(Value::Int(if status == Status::Row { ROW_FETCHED } else { ROW_MISSING }));
    row
}

/// Keeps where the row that was just fetched is, and where it is sent later its values.
fn keep_in_buffer(body: &mut Body, status: Status, values: bool) {
    let mark = body.mark();
    let current = match status {
        Status::Row => Current::Row(body.fetched.tables.clone()),
        Status::Missing => Current::Missing,
        Status::End => Current::None,
    };
    body.buffer.rows.push(BufferRow { mark, current });
    if values {
        let row = row_with_state(body, status);
        body.buffer.values.push(row);
    }
}

/// Rows of the buffer that a number means: 0 all, else one, from 1.
fn buffer_places(body: &Body, row: i64) -> Result<Vec<usize>, SqlError> {
    let rows = body.buffer.rows.len();
    if rows == 0 {
        return Err(SqlError::new(16931, 16, 1, "There are no rows in the current fetch buffer."));
    }
    match usize::try_from(row) {
        Ok(0) => Ok((0..rows).collect()),
        Ok(n) if n <= rows => Ok(vec![n - 1]),
        _ => Err(SqlError::new(16930, 16, 1, "The requested row is not in the fetch buffer.")),
    }
}

/// Column and value of each argument.
fn named_values(values: &[Arg]) -> Result<Vec<(&str, &Arg)>, SqlError> {
    let named = values.iter().map(|arg| {
        let name = arg.name.as_deref().map(|name| name.trim_start_matches('@'));
        name.filter(|name| !name.is_empty()).map(|name| (name, arg)).ok_or_else(|| {
            SqlError::new(16936, 16, 1, "sp_cursor: One or more values parameters were invalid.")
        })
    });
    named.collect()
}

type Parameters = (Vec<BatchParam>, Vec<Value>);

fn parameters(named: &[(&str, &Arg)]) -> Parameters {
    let params = named
        .iter()
        .enumerate()
        .map(|(i, (_, arg))| (CompactString::from(format!("@v{i}")), Some(arg.ty)))
        .collect();
    (params, named.iter().map(|(_, arg)| arg.value.clone()).collect())
}

fn assignments(values: &[Arg]) -> Result<(String, Vec<BatchParam>, Vec<Value>), SqlError> {
    if values.is_empty() {
        let text = "No parameter values were specified for the sp_cursor-update statement.";
        return Err(SqlError::new(16935, 16, 1, text));
    }
    let named = named_values(values)?;
    let (params, vars) = parameters(&named);
    let sets: Vec<String> = named
        .iter()
        .zip(&params)
        .map(|((column, _), (name, _))| format!("{} = {name}", quoted(column)))
        .collect();
    Ok((sets.join(", "), params, vars))
}
