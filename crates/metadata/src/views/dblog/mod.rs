//! sys.fn_dblog(start, end): the log of the current database, one row per log record.
//!
//! A record is the unit of the log: it may change many rows, and several pages. [Num Elements] says
//! how many operations it has, [Page ID] and [Slot ID] name the first, [Description] lists them
//! all. The log goes on, and may be truncated, while it is read; what was appended after the call
//! is not shown.

mod columns;
mod operation;
mod units;

use std::any::Any;
use std::sync::Arc;

use pages::{RecordKind, RecordView, TxnId};
use types::{CancelCheck, SqlError, Value, msg};
use wal::{Log, LogError, Lsn};

use super::view::all_of;
use super::{RowSource, SystemView, ViewColumn, ViewDef, ViewResult, ViewRows, text};
use catalog::Db;
use catalog::clock::log_text;
use catalog::errors::db_error;
use columns::COLUMNS;
use operation::Summary;
use session::state::SessionCore;
use units::Units;
pub(super) use units::alloc_unit_id;

/// A piece of the answer ends after this many records or bytes of records.
const PIECE_RECORDS: usize = 4096;
const PIECE_BYTES: usize = 4 << 20;
/// Longest varbinary.
const MAX_BYTES: usize = 8000;

/// sys.fn_dblog.
pub(crate) static FN_DBLOG: DbLog = DbLog;

/// The table function.
pub struct DbLog;

impl ViewDef for DbLog {
    fn right(&self) -> logical::rights::ViewRight {
        super::rights::needs(self.schema(), self.name())
    }

    fn name(&self) -> &'static str {
        "fn_dblog"
    }

    fn columns(&self) -> &'static [ViewColumn] {
        COLUMNS
    }

    fn arguments(&self) -> Option<usize> {
        Some(2)
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.open(super::session_of(session)?, db, args, keep)
    }
}

impl SystemView for DbLog {
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult {
        let keep: Vec<usize> = (0..COLUMNS.len()).collect();
        all_of(self.open(session, db, args, &keep)?)
    }

    fn open(
        &self,
        _session: &mut SessionCore,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let storage = db.storage()?;
        let log = storage.log().clone();
        let end = log.end();
        let at = match limit(args.first())? {
            None => log.oldest(),
            // It must be the place of a record.
            Some(lsn) => log.read(lsn, &mut Vec::new()).map(|()| lsn).map_err(|_| invalid())?,
        };
        let last = limit(args.get(1))?.unwrap_or(Lsn::MAX);
        let units = Units::new(db, storage);
        let mut wanted = vec![false; COLUMNS.len()];
        keep.iter().for_each(|at| wanted[*at] = true);
        let scratch = vec![Value::Null; COLUMNS.len()];
        Ok(Box::new(LogRows {
            db: db.clone(),
            log,
            at,
            end,
            last,
            units,
            keep: keep.to_vec(),
            wanted,
            scratch,
        }))
    }
}

/// Error 9005.
fn invalid() -> SqlError {
    SqlError::of(msg::DBLOG_LSN_INVALID, [])
}

/// An LSN as the arguments are written: decimal with colons; hexadecimal after 0x or in the form of
/// [Current LSN].
fn limit(arg: Option<&Value>) -> Result<Option<Lsn>, SqlError> {
    let Some(Value::Str(written)) = arg else {
        return if arg.is_none_or(Value::is_null) { Ok(None) } else { Err(invalid()) };
    };
    let written = written.trim();
    let parts: Vec<usize> = written.split(':').map(str::len).collect();
    let hex = written.starts_with("0x") || parts == [8, 8, 4];
    let lsn = if hex { Lsn::parse_hex(written) } else { Lsn::parse_decimal(written) };
    lsn.map(Some).ok_or_else(invalid)
}

/// A place in the log, read on from call to call.
struct LogRows {
    db: Arc<Db>,
    log: Arc<Log>,
    at: Lsn,
    /// The end of the log when the function was called.
    end: Lsn,
    /// The last record that was asked for.
    last: Lsn,
    units: Units,
    keep: Vec<usize>,
    /// For each column: is it kept?
    wanted: Vec<bool>,
    /// The row that is being made.
    scratch: Vec<Value>,
}

impl RowSource for LogRows {
    fn next(&mut self, out: &mut ViewRows, _: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        match self.piece(out) {
            Ok(()) => {}
            // Truncated meanwhile: what is kept follows.
            Err(_) if self.at < self.log.oldest() => self.at = self.log.oldest(),
            Err(e) => return Err(db_error(&self.db, &e.into())),
        }
        Ok(!out.is_empty() || self.at < self.end)
    }
}

impl LogRows {
    fn piece(&mut self, rows: &mut ViewRows) -> Result<(), LogError> {
        let log = self.log.clone();
        let mut scan = log.scan(self.at);
        let mut bytes = 0;
        while rows.len() < PIECE_RECORDS && bytes < PIECE_BYTES {
            match scan.next_record()? {
                Some((lsn, record)) if lsn < self.end && lsn <= self.last => {
                    bytes += record.len();
                    rows.push(self.row(lsn, record));
                    self.at = Lsn { slot: lsn.slot.saturating_add(1), ..lsn };
                }
                _ => {
                    self.at = self.end;
                    break;
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, lsn: Lsn, record: &[u8]) -> Vec<Value> {
        let mut row = std::mem::take(&mut self.scratch);
        row.fill(Value::Null);
        row[columns::CURRENT_LSN] = text(lsn.to_string());
        row[columns::LOG_RECORD_LENGTH] = Value::Int(record.len() as i32);
        if self.wanted[columns::LOG_RECORD] {
            row[columns::LOG_RECORD] = cut(record);
        }
        match RecordView::decode(record) {
            Ok(view) => self.fill(&mut row, &view),
            Err(e) => {
                row[columns::OPERATION] = text("LOP_NULL");
                row[columns::CONTEXT] = text("LCX_NULL");
                row[columns::TRANSACTION_ID] = transaction(TxnId::SYSTEM);
                row[columns::DESCRIPTION] = text(e.to_string());
            }
        }
        let kept = self.keep.iter().map(|at| row[*at].clone()).collect();
        self.scratch = row;
        kept
    }

    fn fill(&mut self, row: &mut [Value], view: &RecordView<'_>) {
        let summary = Summary::of(view);
        if let Some(header) = summary.formatted() {
            self.units.learn(summary.page(), header);
        }
        row[columns::OPERATION] = text(summary.operation(view));
        row[columns::TRANSACTION_ID] = transaction(view.txn());
        row[columns::PREVIOUS_LSN] = text(view.prev_lsn().to_string());
        if self.wanted[columns::DESCRIPTION] {
            row[columns::DESCRIPTION] = text(summary.description(view));
        }
        match view.kind() {
            RecordKind::Begin => {
                row[columns::BEGIN_TIME] = time(view);
                row[columns::XACT_ID] = super::big(view.txn().0);
            }
            RecordKind::Commit | RecordKind::Abort => row[columns::END_TIME] = time(view),
            RecordKind::CkptBegin => row[columns::CHECKPOINT_BEGIN] = time(view),
            _ => {}
        }
        self.fill_place(row, &summary);
        summary.fill(row);
        if CONTENTS.iter().any(|column| self.wanted[*column]) {
            summary.fill_contents(row);
        }
    }

    /// What the record's page belongs to; the page is looked at only if somebody wants to know.
    fn fill_place(&mut self, row: &mut [Value], summary: &Summary<'_>) {
        let wants = PLACE.iter().any(|column| self.wanted[*column]) && summary.first.is_some();
        let place = wants.then(|| self.units.place(summary.page()));
        row[columns::CONTEXT] = text(summary.context(place.as_ref()));
        if let Some(place) = place.filter(|place| place.unit.0 != 0) {
            let id = Value::BigInt(alloc_unit_id(place.unit));
            row[columns::ALLOCUNITNAME] = text(&place.name);
            row[columns::PARTITIONID] = id.clone();
            row[columns::ALLOCUNITID] = id;
        }
    }
}

/// Columns for which a page must be looked at.
const PLACE: [usize; 4] =
    [columns::CONTEXT, columns::ALLOCUNITID, columns::ALLOCUNITNAME, columns::PARTITIONID];
/// Columns with bytes of rows.
const CONTENTS: [usize; 3] =
    [columns::ROWLOG_CONTENTS_0, columns::ROWLOG_CONTENTS_1, columns::ROWLOG_CONTENTS_2];

/// 4 and 8 hexadecimal digits.
fn transaction(id: TxnId) -> Value {
    text(format!("{:04x}:{:08x}", id.0 >> 32, id.0 & 0xffff_ffff))
}

/// The time with which a record's payload begins.
fn time(view: &RecordView<'_>) -> Value {
    let payload = view.payload().unwrap_or_default();
    payload.first_chunk::<8>().map_or(Value::Null, |b| text(log_text(u64::from_le_bytes(*b))))
}

fn cut(bytes: &[u8]) -> Value {
    Value::bytes(&bytes[..bytes.len().min(MAX_BYTES)])
}
