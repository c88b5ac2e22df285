//! The cursors of ODBC, JDBC and FreeTDS: sp_cursoropen and similar procedures, by RPC or by
//! EXECUTE. A cursor has a handle of the session instead of a name, and a buffer of rows that were
//! fetched last, which changes go to. Guarantees: a handle that was given back or never given is
//! 16909; a kind that a query cannot have is told in the option parameters; each row has its state
//! in a last column ROWSTAT.

mod change;
mod fetch;
mod open;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::cursor::Model;
use types::{DataType, SqlError, Value, msg};

use super::run::{Failure, Flow, Run};
use catalog::errors;
use exec::cursor::{Body, Status};
use programs::arguments::Arg;
use session::output::{ColumnInfo, StatementEnd, StatementKind};
use session::state::cursors::{Concurrency, Cursor};

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

fn number(arg: Option<&Arg>) -> Option<i64> {
    arg.filter(|arg| !arg.is_default).and_then(|arg| arg.value.as_i64())
}

/// 16902.
fn invalid(procedure: &str, parameter: &str) -> SqlError {
    SqlError::of(msg::PARAMETER_VALUE, [&procedure, &parameter])
}

/// The name under which positioned statements of the engine's own find a cursor.
fn hidden_name(handle: i32) -> String {
    format!("{}{handle}", session::state::cursors::HIDDEN)
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

impl Run<'_> {
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

    fn server_cursor(&self, procedure: &str, arg: Option<&Arg>) -> Result<Arc<Cursor>, SqlError> {
        let handle = number(arg).unwrap_or(0) as i32;
        self.core.objects.cursors.by_handle(handle).ok_or_else(|| {
            SqlError::of(msg::CURSOR_HANDLE_INVALID, [&procedure, &format_args!("{handle:x}")])
        })
    }

    /// sp_cursorclose @cursor; -1 closes all.
    pub(in crate::batch) fn cursor_close(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let handle = args.next();
        if number(handle.as_ref()) == Some(-1) {
            self.core.objects.cursors.release_all();
            return Ok((Flow::Next, 0));
        }
        let cursor = self.server_cursor("sp_cursorclose", handle.as_ref())?;
        self.core.objects.cursors.release(cursor.info.handle);
        Ok((Flow::Next, 0))
    }

    /// sp_cursoroption @cursor, @code, @value OUTPUT.
    pub(in crate::batch) fn cursor_option(
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
                self.core.objects.cursors.declare(name, true, cursor.clone())?;
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
}

/// The columns of a cursor's rows with the state of the row. `missing`: rows may be gone, and have
/// no values then.
fn shown_columns(columns: &[ColumnInfo], missing: bool) -> Vec<ColumnInfo> {
    let mut shown = columns.to_vec();
    if missing {
        shown.iter_mut().for_each(|column| column.nullable = true);
    }
    shown.push(ColumnInfo::new("ROWSTAT", DataType::Int, false));
    shown
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
