//! Fetches of a client's cursor: sp_cursorfetch, and the rows that an open sends at once.
//! Guarantee: the buffer holds the rows that were sent last, in their order; it is charged.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plan::cursor::Model;
use types::{SqlError, Value};

use super::open::Header;
use super::{ROWS, invalid, number, row_with_state, shown_columns};
use crate::batch::cursors::{body_of, check_fetch, fetch, own};
use crate::batch::run::{Failure, Flow, Run};
use exec::cursor::{Body, BufferRow, FetchTarget, Status};
use programs::arguments::Arg;
use session::output::MadeRows;
use session::state::SessionCore;
use session::state::cursors::{Cursor, PositionedRows};

/// Which rows a fetch asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Block {
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
    fn kind(self) -> FetchTarget {
        match self {
            Block::First => FetchTarget::First,
            // The rows are where they were.
            Block::Next | Block::Refresh => FetchTarget::Next,
            Block::Prior { .. } => FetchTarget::Prior,
            Block::Last => FetchTarget::Last,
            Block::Absolute(n) => FetchTarget::Absolute(n),
            Block::Relative(n) => FetchTarget::Relative(n),
        }
    }
}

impl Run<'_> {
    /// sp_cursorfetch @cursor [, @fetchtype [, @rownum OUTPUT [, @nrows OUTPUT]]].
    pub(in crate::batch) fn cursor_fetch(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
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

    /// Fetches rows into the buffer and sends them; gives how many. `header`: the rows come with
    /// the opening, which tells where the columns come from.
    pub(super) fn fetch_block(
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

    fn block(
        &mut self,
        cursor: &Cursor,
        body: &mut Body,
        block: Block,
        count: i64,
    ) -> Result<u64, SqlError> {
        let before = std::mem::take(&mut body.buffer);
        let (first, last) = (before.first.clone(), before.last.clone());
        let to = match block {
            Block::First => FetchTarget::First,
            Block::Next => {
                last.iter().for_each(|mark| body.go_to(mark));
                FetchTarget::Next
            }
            Block::Absolute(n) => FetchTarget::Absolute(n),
            Block::Relative(n) => {
                first.iter().for_each(|mark| body.go_to(mark));
                FetchTarget::Relative(n)
            }
            Block::Refresh => {
                first.iter().for_each(|mark| body.go_to(mark));
                return self.forward(
                    cursor,
                    body,
                    FetchTarget::Relative(0),
                    before.rows.len() as i64,
                );
            }
            Block::Prior { adjust } => {
                first.iter().for_each(|mark| body.go_to(mark));
                if self.backward(cursor, body, FetchTarget::Prior, count)? || !adjust {
                    return self.send_buffer(body);
                }
                // The beginning was met on the way: the first rows then.
                body.buffer.clear();
                FetchTarget::First
            }
            Block::Last if count == 0 => {
                body.fetch(self.core, FetchTarget::Last)?;
                body.fetch(self.core, FetchTarget::Next)?;
                return Ok(0);
            }
            Block::Last => {
                self.backward(cursor, body, FetchTarget::Last, count)?;
                return self.send_buffer(body);
            }
        };
        if count == 0 && to == FetchTarget::First {
            body.fetch(self.core, FetchTarget::First)?;
            body.fetch(self.core, FetchTarget::Prior)?;
            return Ok(0);
        }
        self.forward(cursor, body, to, count)
    }

    fn forward(
        &mut self,
        cursor: &Cursor,
        body: &mut Body,
        to: FetchTarget,
        count: i64,
    ) -> Result<u64, SqlError> {
        let (mut to, mut rows) = (to, 0);
        let mut made = MadeRows::default();
        let result = loop {
            if rows as i64 >= count {
                break Ok(());
            }
            match self.forward_one(cursor, body, to, &mut made) {
                Ok(true) => (rows, to) = (rows + 1, FetchTarget::Next),
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // The rows before an error are the client's before it.
        let sent = made.flush(width(body), |rows| self.sink.rows(rows));
        sent.and(result).map(|()| rows)
    }

    /// Fetches a row that goes to the client; false when there is none.
    fn forward_one(
        &mut self,
        cursor: &Cursor,
        body: &mut Body,
        to: FetchTarget,
        made: &mut MadeRows,
    ) -> Result<bool, SqlError> {
        self.core.check_cancel()?;
        let status = fetch(self.core, cursor, body, to)?;
        let mark = body.mark();
        if body.buffer.first.is_none() {
            body.buffer.first = Some(mark.clone());
        }
        body.buffer.last = Some(mark);
        if status == Status::End {
            return Ok(false);
        }
        keep_in_buffer(self.core, body, status, false)?;
        self.core.acknowledge_reads()?;
        let row = row_with_state(body, status);
        if add_row(made, row)? {
            made.flush(width(body), |rows| self.sink.rows(rows))?;
        }
        Ok(true)
    }

    /// Fills the buffer backward; false when the beginning was met before it was full.
    fn backward(
        &mut self,
        cursor: &Cursor,
        body: &mut Body,
        to: FetchTarget,
        count: i64,
    ) -> Result<bool, SqlError> {
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
            keep_in_buffer(self.core, body, status, true)?;
            to = FetchTarget::Prior;
        }
        body.buffer.rows.reverse();
        Ok(full)
    }

    /// Sends the rows of a buffer that was filled backward.
    fn send_buffer(&mut self, body: &mut Body) -> Result<u64, SqlError> {
        self.core.acknowledge_reads()?;
        let rows = std::mem::take(&mut body.buffer.values);
        let count = rows.len() as u64;
        let mut made = MadeRows::default();
        for row in rows.into_iter().rev() {
            if add_row(&mut made, row)? {
                made.flush(width(body), |rows| self.sink.rows(rows))?;
            }
        }
        made.flush(width(body), |rows| self.sink.rows(rows))?;
        body.buffer.values_sent();
        Ok(count)
    }
}

/// Adds a row to those that go to the client together; true: they are to go now.
fn add_row(made: &mut MadeRows, row: Vec<Value>) -> Result<bool, SqlError> {
    made.add(|values| {
        values.extend(row);
        Ok(())
    })
}

/// Values of a row for the client: the columns, and what has become of the row.
fn width(body: &Body) -> usize {
    body.plan.columns.len() + 1
}

/// Keeps where the row that was just fetched is, and where it is sent later its values.
fn keep_in_buffer(
    core: &SessionCore,
    body: &mut Body,
    status: Status,
    values: bool,
) -> Result<(), SqlError> {
    let mark = body.mark();
    let current = match status {
        Status::Row => PositionedRows::Row(body.fetched.tables.clone()),
        Status::Missing => PositionedRows::Missing,
        Status::End => PositionedRows::None,
    };
    let values = values.then(|| row_with_state(body, status));
    body.buffer.keep(core, BufferRow { mark, current }, values)
}
