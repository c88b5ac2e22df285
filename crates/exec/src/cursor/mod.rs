//! Cursors while they run: where the rows of each kind come from. Statements, system procedures and
//! clients use them through [`Body`]; names and scopes are `session::state::cursors`.
//! docs/internals/cursors.md has the design. Guarantees: a fetch reads at most one row more than it
//! gives; nothing of a cursor borrows the session; a table that was changed or dropped under an
//! open cursor is error 16943.

mod dynamic;
mod keyset;
mod lookup;
mod rows;
mod stream;

use std::any::Any;
use std::sync::Arc;

use catalog::{Db, errors};
use plan::cursor::{CursorPlan, Model};
use types::{SqlError, Value, msg};

use crate::operators::context::ExecCtx;
use crate::operators::row_store::RowStore;
use dynamic::DynamicCursor;
use keyset::Keyset;
use rows::CursorRows;
use session::query_memory::{Share, row_bytes};
use session::state::SessionCore;
use session::state::cursors::{CurrentRow, CursorBody, PositionedRows};
use stream::Stream;

/// Which row a fetch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchTarget {
    Next,
    Prior,
    First,
    Last,
    Absolute(i64),
    Relative(i64),
}

/// How a fetch ended: @@FETCH_STATUS 0, -1, -2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Row,
    /// There is no such row.
    End,
    /// The row was in the keyset and has been deleted.
    Missing,
}

impl Status {
    /// @@FETCH_STATUS.
    pub fn code(self) -> i32 {
        match self {
            Status::Row => 0,
            Status::End => -1,
            Status::Missing => -2,
        }
    }
}

/// A row that was fetched; its memory is used again.
#[derive(Default)]
pub struct FetchedRow {
    pub row: Vec<Value>,
    /// The rows of tables that it is made of, where positioned changes are possible.
    pub tables: Vec<CurrentRow>,
}

/// Where a cursor stands, to go back there.
#[derive(Clone)]
pub struct CursorMark(CursorPosition);

#[derive(Clone)]
enum CursorPosition {
    /// Rows that come one way only.
    Anywhere,
    Row(i64),
    Place(dynamic::CursorPlace),
}

/// A row of a client's buffer.
pub struct BufferRow {
    pub mark: CursorMark,
    /// What positioned changes go to.
    pub current: PositionedRows,
}

impl BufferRow {
    /// Bytes that it holds.
    fn held(&self) -> usize {
        let mark = match &self.mark.0 {
            CursorPosition::Place(dynamic::CursorPlace::On(key)) => key.capacity(),
            _ => 0,
        };
        let of_table = |row: &CurrentRow| {
            let written = row.written.as_ref().map_or(0, Vec::capacity);
            size_of::<CurrentRow>() + row.locator.heap_bytes() + row.image.capacity() + written
        };
        let current = match &self.current {
            PositionedRows::Row(rows) => rows.iter().map(of_table).sum::<usize>(),
            PositionedRows::None | PositionedRows::Missing => 0,
        };
        size_of::<BufferRow>() + mark + current
    }
}

/// The rows that a client has fetched last. How many it fetches at a time is the client's wish:
/// what they hold is charged once it is much.
#[derive(Default)]
pub struct Buffer {
    /// Where its first and last row are, or the end that was met.
    pub first: Option<CursorMark>,
    pub last: Option<CursorMark>,
    pub rows: Vec<BufferRow>,
    /// Rows that are still to be sent.
    pub values: Vec<Vec<Value>>,
    /// What it holds, and of that those rows.
    bytes: usize,
    value_bytes: usize,
    memory: Option<Share>,
}

/// What a buffer may hold that is charged to nobody.
const UNCHARGED: usize = 64 << 10;

impl Buffer {
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Buffer::default();
    }

    /// Adds a row; with its values where they are still to be sent.
    ///
    /// # Errors
    /// 701; then it has forgotten everything.
    pub fn keep(
        &mut self,
        core: &SessionCore,
        row: BufferRow,
        values: Option<Vec<Value>>,
    ) -> Result<(), SqlError> {
        let of_values = values.as_deref().map_or(0, row_bytes);
        self.value_bytes += of_values;
        if let Err(error) = self.charge(core, row.held() + of_values) {
            self.clear();
            return Err(error);
        }
        self.rows.push(row);
        self.values.extend(values);
        Ok(())
    }

    fn charge(&mut self, core: &SessionCore, bytes: usize) -> Result<(), SqlError> {
        self.bytes += bytes;
        match &mut self.memory {
            Some(memory) => memory.need(bytes),
            None if self.bytes <= UNCHARGED => Ok(()),
            None => {
                let mut memory = core.shared.grants.add(core.query_memory()).share();
                memory.need(self.bytes)?;
                self.memory = Some(memory);
                Ok(())
            }
        }
    }

    /// The values were sent, and are gone.
    pub fn values_sent(&mut self) {
        let bytes = std::mem::take(&mut self.value_bytes);
        self.bytes -= bytes;
        if let Some(memory) = &mut self.memory {
            memory.give(bytes);
        }
    }
}

/// Where the rows come from.
enum CursorRowSource {
    Rows(CursorRows),
    Keys(Keyset),
    Place(DynamicCursor),
    Stream(Stream),
}

/// Where a cursor was declared: what its names mean there, wherever it is opened, `plan` tells with
/// it.
#[derive(Clone)]
pub struct DeclaredIn {
    /// The database that the names are of.
    pub db: Arc<Db>,
    /// Nesting level of the scope, whose temporary tables it sees.
    pub level: u32,
}

/// What a cursor runs with.
pub struct Body {
    pub plan: Arc<CursorPlan>,
    /// `None` for rows that are there already.
    pub declared_in: Option<DeclaredIn>,
    /// The variables of its batch, as they were when it was declared.
    vars: Vec<Value>,
    /// Positioned changes are possible.
    updatable: bool,
    /// Rows are locked as they are fetched.
    locks: bool,
    source: Option<CursorRowSource>,
    /// The row that was fetched last.
    pub fetched: FetchedRow,
    /// Of a client's cursor.
    pub buffer: Buffer,
}

impl CursorBody for Body {
    fn close(&mut self) {
        self.source = None;
        self.buffer.clear();
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Body {
    /// A closed cursor.
    pub fn new(
        plan: Arc<CursorPlan>,
        declared_in: DeclaredIn,
        vars: Vec<Value>,
        updatable: bool,
        locks: bool,
    ) -> Body {
        Body {
            plan,
            declared_in: Some(declared_in),
            vars,
            updatable,
            locks,
            source: None,
            fetched: FetchedRow::default(),
            buffer: Buffer::default(),
        }
    }

    /// A cursor over rows that are there already. It is open, and cannot be opened again.
    pub fn of_rows(plan: Arc<CursorPlan>, rows: RowStore) -> Body {
        let source = Some(CursorRowSource::Rows(CursorRows::new(rows)));
        let fetched = FetchedRow::default();
        let buffer = Buffer::default();
        let declared_in = None;
        Body {
            plan,
            declared_in,
            vars: Vec::new(),
            updatable: false,
            locks: false,
            source,
            fetched,
            buffer,
        }
    }

    /// The variables of its batch.
    pub fn vars(&self) -> &[Value] {
        &self.vars
    }

    /// Opens it; gives the number of its rows where it is known.
    ///
    /// # Errors
    /// Those of the query; [`errors::SCHEMA_CHANGED`]: it is to be compiled again.
    pub fn open(&mut self, core: &mut SessionCore) -> Result<Option<i64>, SqlError> {
        let ctx = &mut ExecCtx { session: core, vars: &mut self.vars };
        let (source, rows) = match self.plan.model {
            Model::Static => {
                let rows = CursorRows::fill(&self.plan, ctx)?;
                let count = rows.len();
                (CursorRowSource::Rows(rows), Some(count))
            }
            Model::Keyset => {
                let keys = Keyset::fill(&self.plan, ctx)?;
                let count = keys.len();
                (CursorRowSource::Keys(keys), Some(count))
            }
            Model::Dynamic => (CursorRowSource::Place(DynamicCursor::open(&self.plan, ctx)?), None),
            Model::FastForward => (CursorRowSource::Stream(Stream::open(&self.plan, ctx)?), None),
        };
        self.source = Some(source);
        Ok(rows)
    }

    /// Whether positioned changes are possible.
    pub fn is_updatable(&self) -> bool {
        self.updatable
    }

    /// Fetches a row into `fetched`, which is left alone unless there is one.
    ///
    /// # Errors
    /// Those of the query; 16943 a table was changed; 16917 the cursor is closed.
    pub fn fetch(&mut self, core: &mut SessionCore, to: FetchTarget) -> Result<Status, SqlError> {
        let Body { plan, vars, updatable, locks, source, fetched: out, .. } = self;
        let ctx = &mut ExecCtx { session: core, vars };
        let how = FetchMode { updatable: *updatable, locks: *locks };
        let result = match source {
            None => Err(session::state::cursors::not_open()),
            Some(CursorRowSource::Stream(stream)) => stream.next(ctx, out),
            Some(CursorRowSource::Rows(rows)) => rows.fetch(plan, to, out),
            Some(CursorRowSource::Keys(keys)) => keys.fetch(plan, ctx, to, how, out),
            Some(CursorRowSource::Place(place)) => place.fetch(plan, ctx, to, how, out),
        };
        result.map_err(changed)
    }

    /// Rows are locked as they are fetched from now on, or not; gives what was before.
    pub fn set_locks(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.locks, on)
    }

    /// Where it stands.
    pub fn mark(&self) -> CursorMark {
        CursorMark(match &self.source {
            Some(CursorRowSource::Rows(rows)) => CursorPosition::Row(rows.at()),
            Some(CursorRowSource::Keys(keys)) => CursorPosition::Row(keys.at()),
            Some(CursorRowSource::Place(dynamic)) => CursorPosition::Place(dynamic.place.clone()),
            Some(CursorRowSource::Stream(_)) | None => CursorPosition::Anywhere,
        })
    }

    /// Goes back to where it stood.
    pub fn go_to(&mut self, mark: &CursorMark) {
        match (&mut self.source, &mark.0) {
            (Some(CursorRowSource::Rows(rows)), CursorPosition::Row(at)) => rows.stand_on(*at),
            (Some(CursorRowSource::Keys(keys)), CursorPosition::Row(at)) => keys.stand_on(*at),
            (Some(CursorRowSource::Place(dynamic)), CursorPosition::Place(place)) => {
                dynamic.place = place.clone()
            }
            _ => {}
        }
    }

    /// Number of the row that it stands on, where rows have numbers: 0 before the first, one more
    /// than there are after the last.
    pub fn position(&self) -> Option<i64> {
        match &self.source {
            Some(CursorRowSource::Rows(rows)) => Some(rows.at()),
            Some(CursorRowSource::Keys(keys)) => Some(keys.at()),
            _ => None,
        }
    }
}

/// What a fetch does besides reading.
#[derive(Clone, Copy)]
struct FetchMode {
    updatable: bool,
    locks: bool,
}

/// 16943 for a table whose definition is another by now.
fn changed(error: SqlError) -> SqlError {
    if error.number != errors::SCHEMA_CHANGED {
        return error;
    }
    SqlError::of(msg::CURSOR_SCHEMA_CHANGED, [])
}

/// The number of the row that is asked for of `rows`, standing on `at`: 0 before the first, `rows +
/// 1` after the last.
fn target(at: i64, rows: i64, to: FetchTarget) -> i64 {
    let wanted = match to {
        FetchTarget::Next => at.saturating_add(1),
        FetchTarget::Prior => at.saturating_sub(1),
        FetchTarget::First => 1,
        FetchTarget::Last => rows,
        FetchTarget::Absolute(n) if n >= 0 => n,
        FetchTarget::Absolute(n) => rows.saturating_add(1).saturating_add(n),
        FetchTarget::Relative(n) => at.saturating_add(n),
    };
    wanted.clamp(0, rows + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fetch_leads_to_a_row_or_an_end() {
        let all = |at, rows| {
            [
                FetchTarget::Next,
                FetchTarget::Prior,
                FetchTarget::First,
                FetchTarget::Last,
                FetchTarget::Absolute(2),
                FetchTarget::Absolute(-2),
                FetchTarget::Relative(-2),
            ]
            .map(|to| target(at, rows, to))
        };
        assert_eq!(all(0, 3), [1, 0, 1, 3, 2, 2, 0]);
        assert_eq!(all(3, 3), [4, 2, 1, 3, 2, 2, 1]);
        assert_eq!(all(4, 3), [4, 3, 1, 3, 2, 2, 2]);
        assert_eq!(all(0, 0), [1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(target(2, 3, FetchTarget::Absolute(i64::MIN)), 0);
        assert_eq!(target(2, 3, FetchTarget::Relative(i64::MAX)), 4);
    }
}
