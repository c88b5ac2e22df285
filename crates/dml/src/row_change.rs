//! What a change does to rows that were found, and what it meets at one: its writer, a version that
//! its snapshot does not see.

use std::sync::Arc;

use access::RowBatch;
use catalog::{Db, errors};
use exec::operators::RowSet;
use exec::operators::rt::Rt;
use pages::TxnId;
use storage::left::wait;
use storage::write::{Locator, StoredRow};
use storage::{Base, TableStore};
use types::{SqlError, Value};

/// How far a change of the rows of a page came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageProgress {
    /// Rows changed.
    pub count: u64,
    /// The row (its number in the page) that is to be read again; none after it was touched.
    pub stopped_at: Option<usize>,
}

/// What is done to the rows that were found.
///
/// Rows of one table are locked in the order in which they are read: a row that is in use is waited
/// for before any later one is changed. Two statements that read the same rows in the same
/// direction never wait for each other.
pub trait RowChange {
    /// Changes rows of one page in the order given: `picked` are their numbers in the page, `slots`
    /// their decoded values. Stops before a row that someone else changed meanwhile.
    fn page(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
        slots: &RowSet,
    ) -> Result<PageProgress, SqlError>;

    /// Changes one row that was just read; false when it was changed by someone else in between.
    fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: StoredRow<'_>,
        slots: &[Value],
    ) -> Result<bool, SqlError>;
}

/// [`RowChange::page`] one row after another.
///
/// # Errors
/// Those of the change.
pub fn one_by_one(
    change: &mut dyn RowChange,
    store: &TableStore,
    rt: &mut Rt<'_, '_>,
    (page, picked): (&RowBatch, &[usize]),
    slots: &RowSet,
) -> Result<PageProgress, SqlError> {
    let mut done = PageProgress::default();
    for (at, i) in picked.iter().enumerate() {
        let locator = match &store.base {
            Base::Heap(_) => Locator::Rid(page.rid(*i)),
            Base::Tree(_) => Locator::Key(page.key(*i).to_vec()),
        };
        let row = StoredRow { locator: &locator, header: page.header(*i), bytes: page.row(*i) };
        if change.one(rt, row, slots.row(at))? {
            done.count += 1;
        } else {
            done.stopped_at = Some(*i);
            break;
        }
    }
    Ok(done)
}

/// 3960 when the newest version of a row (none: it is gone) is not the snapshot's and not the
/// transaction's own.
pub fn no_conflict(
    db: &Arc<Db>,
    store: &TableStore,
    rt: &mut Rt<'_, '_>,
    row: &RowBatch,
) -> Result<(), SqlError> {
    let session = rt.session();
    let own = session.txn(db)?.id();
    let writer = (!row.is_empty()).then(|| row.header(0).txn);
    match writer {
        Some(writer) if writer == own || session.snapshot(db)?.sees(writer) => Ok(()),
        _ => Err(errors::snapshot_conflict(&store.table.full_name(), &db.name())),
    }
}

/// Waits for the writer of a row that an attempt met.
pub fn wait_for(db: &Arc<Db>, rt: &mut Rt<'_, '_>, other: TxnId) -> Result<(), SqlError> {
    let txn = rt.session().txn(db)?;
    wait(db, txn, other)
}
