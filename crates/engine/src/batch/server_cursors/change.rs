//! Changes through the buffer of a client's cursor: sp_cursor, which updates, deletes, inserts,
//! locks and reads its rows again. Guarantee: a change is an ordinary positioned statement: rights,
//! constraints and triggers are those of that statement.

use std::sync::Arc;

use compact_str::CompactString;
use plan::cursor::Model;
use types::{ResultRows, SqlError, Value, msg};

use super::{hidden_name, invalid, number, quoted, row_with_state, shown_columns};
use crate::batch::cursors::{body_of, fetch, own};
use crate::batch::run::{Failure, Flow, Run};
use crate::batch::scope;
use exec::cursor::{Body, BufferRow, FetchTarget};
use instance::OfInstance;
use programs::arguments::Arg;
use programs::program::BatchParam;
use session::state::cursors::{Concurrency, Cursor};

impl Run<'_> {
    /// sp_cursor @cursor, @optype, @rownum, @table [, values...]: changes, locks or shows rows of
    /// the buffer.
    pub(in crate::batch) fn cursor_change(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let cursor = self.server_cursor("sp_cursor", args.next().as_ref())?;
        let (operation, row, table) = (args.next(), args.next(), args.next());
        let operation = number(operation.as_ref()).unwrap_or(0);
        let row = number(row.as_ref()).unwrap_or(0);
        let table =
            table.as_ref().and_then(|arg| arg.value.as_str()).unwrap_or_default().to_string();
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
        let batch = instance.batches().get(self.core, text, params)?;
        let (flow, status) = self.in_scope(&batch, vars, scope::Body::Text)?;
        Ok((flow, if status == 0 { self.core.run.results.error_number } else { status }))
    }

    fn insert_through(
        &mut self,
        cursor: &Cursor,
        table: &str,
        values: Vec<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        if cursor.info.declared.concurrency == Concurrency::ReadOnly {
            return Err(SqlError::of(msg::CURSOR_READ_ONLY, []).into());
        }
        let target = self.target_of(cursor, table)?;
        if values.is_empty() {
            return self.run_change(
                &format!("INSERT {target} DEFAULT VALUES"),
                &[],
                &mut Vec::new(),
            );
        }
        let named = named_values(&values)?;
        let columns: Vec<String> = named.iter().map(|(column, ..)| quoted(column)).collect();
        let (params, mut vars) = parameters(&named);
        let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
        let text =
            format!("INSERT {target} ({}) VALUES ({})", columns.join(", "), names.join(", "));
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
        let table = table.ok_or_else(|| SqlError::of(msg::CURSOR_READ_ONLY, []))?;
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
            let columns =
                shown_columns(&body.plan.columns, cursor.info.declared.model == Model::Keyset);
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
            let status = fetch(self.core, cursor, body, FetchTarget::Relative(0))?;
            let current = cursor.current.lock().clone();
            body.buffer.rows[*at] = BufferRow { mark, current };
            if !lock {
                self.core.acknowledge_reads()?;
                let row = row_with_state(body, status);
                self.sink.rows(&ResultRows::one(&row))?;
            }
        }
        Ok(places.len() as u64)
    }
}

/// Rows of the buffer that a number means: 0 all, else one, from 1.
fn buffer_places(body: &Body, row: i64) -> Result<Vec<usize>, SqlError> {
    let rows = body.buffer.rows.len();
    if rows == 0 {
        return Err(SqlError::of(msg::FETCH_BUFFER_EMPTY, []));
    }
    match usize::try_from(row) {
        Ok(0) => Ok((0..rows).collect()),
        Ok(n) if n <= rows => Ok(vec![n - 1]),
        _ => Err(SqlError::of(msg::ROW_NOT_IN_FETCH_BUFFER, [])),
    }
}

/// Column and value of each argument.
fn named_values(values: &[Arg]) -> Result<Vec<(&str, &Arg)>, SqlError> {
    let named = values.iter().map(|arg| {
        let name = arg.name.as_deref().map(|name| name.trim_start_matches('@'));
        name.filter(|name| !name.is_empty())
            .map(|name| (name, arg))
            .ok_or_else(|| SqlError::of(msg::CURSOR_VALUES_INVALID, []))
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
        return Err(SqlError::of(msg::CURSOR_UPDATE_WITHOUT_VALUES, []));
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
