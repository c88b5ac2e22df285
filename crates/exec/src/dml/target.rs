//! The rows that an UPDATE or DELETE changes. Two ways: *pages* (one table, read along the heap or
//! clustered index, changed page by page while it is read) and *gathered* (joins, secondary
//! indexes, changes of the clustered key: the rows are found first, then changed).

use super::current::CurrentTarget;
use crate::explain;
use crate::operators::RowSet;
use crate::operators::memory::row_bytes;
use crate::operators::rt::Rt;
use crate::operators::scan::{Again, Scan};
use access::RowBatch;
use catalog::{Db, errors};
use expr::key::{KeySet, encode};
use expr::{Pred, Told};
use logical::tree::TopSpec;
use pages::{RowHeader, TxnId};
use plan::nodes::{Plan, ScanPlan};
use std::sync::Arc;
use storage::left::AwaitedWriters;
use storage::left::wait;
use storage::write::{Locator, read_current};
use storage::{Base, TableStore};
use types::{Collation, SqlError, Value};

/// How the rows are found.
#[derive(Debug)]
pub enum Target {
    Pages(Box<ScanPlan>),
    Gathered(Box<Gathered>),
    /// The row that a cursor stands on.
    Current(Box<CurrentTarget>),
}

/// Rows found by a plan; slot 0 is the locator.
#[derive(Debug)]
pub struct Gathered {
    pub plan: Plan,
    /// Slots that hold columns of the target: (slot, column). They are read again before the
    /// change.
    pub own: Vec<(usize, u16)>,
    /// Where values have come with the rows.
    pub mark: Option<Mark>,
    /// Tested again on the row as it is then.
    pub recheck: Option<Pred>,
    /// Several source rows may lead to one target row.
    pub repeats: bool,
    /// The rows are the snapshot's: a newer version is a conflict.
    pub snapshot: bool,
}

/// The slot that tells whether a row's values are to be computed again, and the slots of the
/// columns that they were made of.
#[derive(Debug)]
pub struct Mark {
    pub slot: usize,
    pub of: Vec<usize>,
}

impl Mark {
    /// Notes that a slot gets a value that it may not have had when the values were made.
    fn note(&self, row: &mut [Value], slot: usize, new: &Value) {
        // Not SQL's equality: a function may tell of blanks and zeros at the end.
        let same = match (&row[slot], new) {
            (Value::Bytes(old), Value::Bytes(new)) => old == new,
            (old, new) => old == new,
        };
        if !same && self.of.contains(&slot) {
            row[self.slot] = Value::Bit(true);
        }
    }
}

impl Target {
    /// Where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> explain::Source<'_> {
        match self {
            Target::Pages(scan) => explain::Source::Scan(scan),
            Target::Gathered(gathered) => explain::Source::Plan(&gathered.plan),
            Target::Current(_) => explain::Source::Constant,
        }
    }
}

/// How far a change of the rows of a page came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
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
    ) -> Result<Progress, SqlError>;

    /// Changes one row that was just read; false when it was changed by someone else in between.
    fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        locator: &Locator,
        header: &RowHeader,
        row: &[u8],
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
) -> Result<Progress, SqlError> {
    let mut done = Progress::default();
    for (at, i) in picked.iter().enumerate() {
        let locator = match &store.base {
            Base::Heap(_) => Locator::Rid(page.rid(*i)),
            Base::Tree(_) => Locator::Key(page.key(*i).to_vec()),
        };
        if change.one(rt, &locator, &page.header(*i), page.row(*i), slots.row(at))? {
            done.count += 1;
        } else {
            done.stopped_at = Some(*i);
            break;
        }
    }
    Ok(done)
}

impl Target {
    /// Finds the rows and changes them; at most `limit`.
    pub fn run(
        &self,
        db: &Arc<Db>,
        store: &Arc<TableStore>,
        rt: &mut Rt<'_, '_>,
        limit: Limit,
        change: &mut dyn RowChange,
    ) -> Result<u64, SqlError> {
        match self {
            Target::Pages(plan) => Pages::new(db, plan).run(rt, limit.wanted(), change),
            Target::Gathered(gathered) => gathered.run(db, store, rt, limit, change),
            Target::Current(current) => current.run(db, store, rt, change),
        }
    }
}

/// How far the rows of a page have been tested.
struct Seen {
    /// The row where testing has stopped: someone else is changing it, or was when the page was
    /// read.
    unsettled: Option<usize>,
    /// The first row that was not tested.
    next: usize,
}

/// A page-by-page run.
struct Pages<'p> {
    db: &'p Arc<Db>,
    plan: &'p ScanPlan,
    slots: RowSet,
    picked: Vec<usize>,
    lookup: RowBatch,
    /// A transaction whose rows are settled.
    quiet: TxnId,
}

impl<'p> Pages<'p> {
    fn new(db: &'p Arc<Db>, plan: &'p ScanPlan) -> Pages<'p> {
        Pages {
            db,
            plan,
            slots: RowSet::new(plan.width()),
            picked: Vec::new(),
            lookup: RowBatch::new(),
            quiet: TxnId(0),
        }
    }

    fn run(
        &mut self,
        rt: &mut Rt<'_, '_>,
        limit: u64,
        change: &mut dyn RowChange,
    ) -> Result<u64, SqlError> {
        let plan = self.plan;
        // Of few rows, only the first that is in use is perhaps wanted.
        let awaited = if limit == u64::MAX { AwaitedWriters::All } else { AwaitedWriters::First };
        let mut scan = Scan::default();
        let mut count = 0;
        let mut more = count < limit && scan.next_page(plan, rt)?;
        let mut from = scan.first();
        while more && count < limit {
            let seen = self.pick(rt, &scan, from, limit - count)?;
            let mut stopped_at = None;
            if !self.picked.is_empty() {
                let done = change.page(rt, scan.rows(), &self.picked, &self.slots)?;
                count += done.count;
                stopped_at = done.stopped_at;
            }
            if let Some(i) = stopped_at {
                // Others have waited for it, or changed it, since the page was read.
                count += u64::from(count < limit && self.settle(rt, scan.rows(), i, change)?);
                more = scan.read_again(plan, rt, Again::Behind(i))?;
            } else if let Some(i) = seen.unsettled {
                more = count >= limit || scan.settle(plan, rt, i, awaited)?;
            } else if seen.next < scan.rows().len() {
                from = seen.next;
                continue;
            } else {
                more = scan.next_page(plan, rt)?;
            }
            from = scan.first();
        }
        Ok(count)
    }

    /// Tests the rows of a page from `first` on, up to one that is not settled, or until `limit`
    /// are picked.
    fn pick(
        &mut self,
        rt: &mut Rt<'_, '_>,
        scan: &Scan,
        first: usize,
        limit: u64,
    ) -> Result<Seen, SqlError> {
        let (plan, page) = (self.plan, scan.rows());
        self.slots.reset(plan.width());
        self.picked.clear();
        for i in first..page.len() {
            if self.picked.len() as u64 >= limit {
                return Ok(Seen { unsettled: None, next: i });
            }
            let writer = page.header(i).txn;
            if writer != self.quiet {
                if !scan.is_settled(i, rt.session().txn(self.db)?) {
                    return Ok(Seen { unsettled: Some(i), next: i });
                }
                self.quiet = writer;
            }
            if page.is_ghost(i) {
                continue;
            }
            let told = scan.tell(plan, i);
            if told == Told::NotTrue {
                continue;
            }
            let slots = self.slots.push_row();
            plan.store.columns(self.db, page.row(i), &plan.columns[..plan.tested], slots)?;
            if told == Told::Nothing
                && let Some(pred) = &plan.pred
                && !pred.is_true(slots, rt)?
            {
                self.slots.pop_row();
                continue;
            }
            plan.store.columns(
                self.db,
                page.row(i),
                &plan.columns[plan.tested..],
                &mut slots[plan.tested..],
            )?;
            self.picked.push(i);
        }
        Ok(Seen { unsettled: None, next: page.len() })
    }

    /// A row that someone else is or was changing: reads it as it is now and tries again.
    fn settle(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        i: usize,
        change: &mut dyn RowChange,
    ) -> Result<bool, SqlError> {
        let plan = self.plan;
        let locator = match &plan.store.base {
            Base::Heap(_) => Locator::Rid(page.rid(i)),
            Base::Tree(_) => Locator::Key(page.key(i).to_vec()),
        };
        let value = locator.value();
        let mut slots = vec![Value::Null; plan.width()];
        loop {
            let txn = rt.session().txn(self.db)?;
            if !read_current(self.db, txn, &plan.store, &value, &mut self.lookup)? {
                return Ok(false);
            }
            plan.store.columns(self.db, self.lookup.row(0), &plan.columns, &mut slots)?;
            if let Some(pred) = &plan.pred
                && !pred.is_true(&slots, rt)?
            {
                return Ok(false);
            }
            // A clustered key that no longer satisfies the seek means another key, so the row is
            // found elsewhere.
            let header = self.lookup.header(0);
            if change.one(rt, &locator, &header, self.lookup.row(0), &slots)? {
                return Ok(true);
            }
        }
    }
}

impl Gathered {
    fn run(
        &self,
        db: &Arc<Db>,
        store: &Arc<TableStore>,
        rt: &mut Rt<'_, '_>,
        limit: Limit,
        change: &mut dyn RowChange,
    ) -> Result<u64, SqlError> {
        let mut rows = self.gather(rt, limit.wanted())?;
        rows.truncate(usize::try_from(limit.among(rows.len())).unwrap_or(usize::MAX));
        let mut lookup = RowBatch::new();
        let mut count = 0;
        // Values outside the rows are not freed before they are read.
        let _held = store.has_outside().then(|| rt.snapshot(db)).transpose()?;
        for row in &mut rows {
            rt.check_cancel()?;
            let locator = Locator::of(&row[0])?;
            loop {
                let txn = rt.session().txn(db)?;
                let found = read_current(db, txn, store, &row[0], &mut lookup)?;
                if self.snapshot {
                    no_conflict(db, store, rt, &lookup)?;
                }
                if !found {
                    break;
                }
                for (slot, column) in &self.own {
                    let value = store.column(db, lookup.row(0), usize::from(*column))?;
                    if let Some(mark) = &self.mark {
                        mark.note(row, *slot, &value);
                    }
                    row[*slot] = value;
                }
                if let Some(pred) = &self.recheck
                    && !pred.is_true(row, rt)?
                {
                    break;
                }
                let header = lookup.header(0);
                if change.one(rt, &locator, &header, lookup.row(0), row)? {
                    count += 1;
                    break;
                }
            }
        }
        Ok(count)
    }

    fn gather(&self, rt: &mut Rt<'_, '_>, limit: u64) -> Result<Vec<Box<[Value]>>, SqlError> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let mut seen = KeySet::default();
        let mut key = Vec::new();
        let mut batch = RowSet::default();
        let mut op = crate::operators::open::start(&self.plan, rt);
        while (rows.len() as u64) < limit && op.next(&self.plan, rt, &mut batch)? {
            for i in 0..batch.len() {
                if rows.len() as u64 >= limit {
                    break;
                }
                let row = batch.row(i);
                // The target of an outer join may be missing.
                if row[0].is_null() {
                    continue;
                }
                if self.repeats {
                    key.clear();
                    encode_locator(&row[0], &mut key);
                    if seen.contains(key.as_slice()) {
                        continue;
                    }
                    seen.insert(key.clone());
                }
                rt.reserve(row_bytes(row) + key.len())?;
                rows.push(row.into());
            }
        }
        Ok(rows)
    }
}

/// 3960 when the newest version of a row (none: it is gone) is not the snapshot's and not the
/// transaction's own.
pub(super) fn no_conflict(
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

/// Locators are compared byte for byte: trailing zeros of a key count.
pub fn encode_locator(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        other => encode(other, Collation::BIN2, out),
    }
}

/// How many rows TOP and SET ROWCOUNT allow.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    rows: u64,
    /// Of the rows that there are.
    percent: Option<f64>,
}

impl Limit {
    /// As it is now.
    ///
    /// # Errors
    /// 1031; those of the expression.
    pub fn of(top: Option<&TopSpec>, rt: &mut Rt<'_, '_>) -> Result<Limit, SqlError> {
        let rows = match rt.session().options.rowcount {
            0 => u64::MAX,
            n => n,
        };
        let Some(TopSpec { count: Some(count), percent, .. }) = top else {
            return Ok(Limit { rows, percent: None });
        };
        let value = count.eval(&[], rt)?;
        if *percent {
            return Ok(Limit { rows, percent: Some(crate::operators::top::percent(&value)?) });
        }
        Ok(Limit { rows: rows.min(value.as_i64().map_or(0, |n| n.max(0) as u64)), percent: None })
    }

    /// How many of the rows that were found.
    pub fn among(self, found: usize) -> u64 {
        match self.percent {
            None => self.rows,
            Some(percent) => self.rows.min((found as f64 * percent / 100.0).ceil() as u64),
        }
    }

    /// How many have to be found; all for a share of them.
    fn wanted(self) -> u64 {
        if self.percent.is_some() { u64::MAX } else { self.rows }
    }
}

/// Waits for the writer of a row that an attempt met.
pub fn wait_for(db: &Arc<Db>, rt: &mut Rt<'_, '_>, other: TxnId) -> Result<(), SqlError> {
    let txn = rt.session().txn(db)?;
    wait(db, txn, other)
}
