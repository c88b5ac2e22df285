//! The rows that an UPDATE or DELETE changes. Two ways: *pages* (one table, read along the heap or
//! clustered index, changed page by page while it is read) and *gathered* (joins, secondary
//! indexes, changes of the clustered key: the rows are found first, then changed).

use super::current::CurrentTarget;
use super::row_change::{RowChange, no_conflict};
use crate::shown;
use access::RowBatch;
use catalog::Db;
use exec::operators::RowSet;
use exec::operators::rt::Rt;
use exec::operators::scan::{ReadAgain, Scan};
use expr::key::{KeySet, encode};
use expr::{ConditionResult, Pred};
use logical::tree::TopSpec;
use pages::TxnId;
use plan::nodes::{Plan, ScanPlan};
use session::query_memory::row_bytes;
use std::sync::Arc;
use storage::left::AwaitedWriters;
use storage::write::{Locator, StoredRow, read_current};
use storage::{Base, TableStore};
use types::{Collation, SqlError, Value};

/// How the rows are found.
#[derive(Debug)]
pub enum RowsTarget {
    Pages(Box<ScanPlan>),
    Gathered(Box<GatheredRows>),
    /// The row that a cursor stands on.
    Current(Box<CurrentTarget>),
}

/// Rows found by a plan; slot 0 is the locator.
#[derive(Debug)]
pub struct GatheredRows {
    pub plan: Plan,
    /// Slots that hold columns of the target: (slot, column). They are read again before the
    /// change.
    pub own: Vec<(usize, u16)>,
    /// Where values have come with the rows.
    pub mark: Option<RecomputeMark>,
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
pub struct RecomputeMark {
    pub slot: usize,
    pub of: Vec<usize>,
}

impl RecomputeMark {
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

impl RowsTarget {
    /// Where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> shown::ChangeSource<'_> {
        match self {
            RowsTarget::Pages(scan) => shown::ChangeSource::Scan(scan),
            RowsTarget::Gathered(gathered) => shown::ChangeSource::Plan(&gathered.plan),
            RowsTarget::Current(_) => shown::ChangeSource::Constant,
        }
    }
}

impl RowsTarget {
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
            RowsTarget::Pages(plan) => Pages::new(db, plan).run(rt, limit.wanted(), change),
            RowsTarget::Gathered(gathered) => gathered.run(db, store, rt, limit, change),
            RowsTarget::Current(current) => {
                let count = current.run(db, store, rt, change)?;
                if count == 0 {
                    // It does not tell what it has read.
                    rt.session().transactions.has_changed_nothing();
                }
                Ok(count)
            }
        }
    }
}

/// How far the rows of a page have been tested.
struct TestedRows {
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
                more = scan.read_again(plan, rt, ReadAgain::Behind(i))?;
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
        let mut writers = scan.take_writers();
        writers.add(self.lookup.take_writers());
        rt.session().has_read(self.db, writers, false)?;
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
    ) -> Result<TestedRows, SqlError> {
        let (plan, page) = (self.plan, scan.rows());
        self.slots.reset(plan.width());
        self.picked.clear();
        for i in first..page.len() {
            if self.picked.len() as u64 >= limit {
                return Ok(TestedRows { unsettled: None, next: i });
            }
            let writer = page.header(i).txn;
            if writer != self.quiet {
                if !scan.is_settled(i, rt.session().txn(self.db)?) {
                    return Ok(TestedRows { unsettled: Some(i), next: i });
                }
                self.quiet = writer;
            }
            if page.is_ghost(i) {
                continue;
            }
            let told = scan.tell(plan, i);
            if told == ConditionResult::NotTrue {
                continue;
            }
            let slots = self.slots.push_row();
            plan.store.columns(self.db, page.row(i), &plan.columns[..plan.tested], slots)?;
            if told == ConditionResult::Nothing
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
        Ok(TestedRows { unsettled: None, next: page.len() })
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
            let row = StoredRow::first(&locator, &self.lookup);
            if change.one(rt, row, &slots)? {
                return Ok(true);
            }
        }
    }
}

impl GatheredRows {
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
                if change.one(rt, StoredRow::first(&locator, &lookup), row)? {
                    count += 1;
                    break;
                }
            }
        }
        rt.session().has_read(db, lookup.take_writers(), false)?;
        Ok(count)
    }

    fn gather(&self, rt: &mut Rt<'_, '_>, limit: u64) -> Result<Vec<Box<[Value]>>, SqlError> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let mut seen = KeySet::default();
        let mut key = Vec::new();
        let mut batch = RowSet::default();
        let mut op = exec::operators::open::start(&self.plan, rt);
        while (rows.len() as u64) < limit && op.next(rt, &mut batch)? {
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
            return Ok(Limit { rows, percent: Some(exec::operators::top::percent(&value)?) });
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
