//! Reading with row locks: REPEATABLE READ, SERIALIZABLE, UPDLOCK, XLOCK, READPAST, READ COMMITTED
//! by locks and similar hints.
//!
//! Range locks lock every key that is physically there, ghosts too, and the first live key after
//! the range: a pass over some keys is repeated until it finds nothing that is not locked yet, or
//! their leaf and the one that the scan came from tell that it would find what the last one has. A
//! ghost may go, and its lock guards nothing then: where the scan rests on one, the first live key
//! behind it is locked before it goes on. How the rows are locked that are given out is in
//! [`rows`]. A transaction that is changing a row is waited for. Guarantee: what was read under a
//! lock that is held stays so until the transaction ends; with range locks no row comes into it
//! either. Nothing is given out that was never committed: see [`EndedTxns`].

mod behind;
mod entries;
mod first;
mod near;
mod ranges;
mod rows;
mod skipped;

use super::{Operator, RowSet, other_node};
use crate::operators::condition::Condition;
use crate::operators::large::{LargeRows, MOST};
use crate::operators::rt::Rt;
use crate::operators::scan::{long_row, may_be_long};
use crate::operators::seek;
use crate::operators::skip::SeekPastColumn;
use access::{BTree, Cursor, Heap, HeapScan, NewestWriters, ReadMode, Rid, RowBatch, RowName};
use behind::RowsBehind;
use catalog::errors::db_error;
use logical::hints::{RowLocks, TableLock};
use near::NearRows;
use pages::{PageId, UnitId};
use plan::nodes::{Node, Path, Plan, ScanPlan, SeekSpec};
use std::ops::Bound;
use storage::left::EndedTxns;
use storage::{Base, access_error};
use txn::locks::LockMode;
use txn::{Grant, LockDuration, LockTarget, Resource, Txn};
use types::{SqlError, Value};

/// From so many rows of a table on that a statement has locked and that stay so, a lock on the
/// table is tried instead; again after as many more.
const ESCALATE_AT: usize = 5000;
/// A table of so many rows whose scan locks all of them and keeps others out is locked as a whole
/// at once, if that is to be had at once. Of fewer rows the locks cost little.
const WHOLE_AT: i64 = 250;

/// A row goal up to here is known: so many keys of a range are locked before it is asked whether
/// they were enough.
const FEW_WANTED: usize = 32;

enum LockedSource {
    Heap(HeapScan),
    Range { tree: BTree, range: seek::Range },
    Point { tree: BTree, key: Vec<u8> },
    Done,
}

/// The operator.
pub struct LockedScan {
    locks: RowLocks,
    source: Option<LockedSource>,
    condition: Condition,
    batch: RowBatch,
    at: usize,
    /// So many rows of the batch are dealt with: in a range all of them are locked.
    end: usize,
    /// Nobody can have changed the rows of the batch since it was read: they, or the table, were
    /// locked.
    sure: bool,
    /// How many keys of a range are locked in one go: few at first, for statements that want few
    /// rows.
    step: usize,
    /// What is left of a small row goal: so many keys are locked next, wherever a page ends.
    wanted: usize,
    /// A leaf as an earlier pass has read it.
    earlier: RowBatch,
    /// Newest versions of rows that are locked.
    entry: RowBatch,
    lookup: RowBatch,
    /// Whether rows lie beside those that were read before them.
    near: NearRows,
    /// Rows of the page at hand that were read when they were locked.
    rows_behind: RowsBehind,
    /// What is tested of an entry.
    tested: Vec<Value>,
    /// The row that is read next by itself is locked already.
    held: Option<Grant>,
    /// The gap after a range that is read backward is locked.
    begun: bool,
    /// The table is locked in a mode that makes row locks needless.
    whole: bool,
    /// Which writers had ended before the batch was read.
    ended: EndedTxns,
    /// The same of a row that is read by itself.
    alone: EndedTxns,
    /// A page of a heap that is read again: what comes before this slot has been dealt with.
    from: Option<(PageId, u32)>,
    /// The page at hand is read again.
    again: bool,
    /// Goes on at the beginning of what is left of the range; else that is looked for by its key.
    /// Where gaps are locked it comes from a page that was given whole.
    cursor: Option<Cursor>,
    /// Ranges that are still to be read, the next one last.
    rest: Vec<seek::Range>,
    /// Of a seek past a column: the values whose ranges are still to be found.
    skip: Option<Box<SeekPastColumn>>,
    /// From the place where the scan is up to this key no other can come in, whatever ghosts go.
    locked_to: Option<Name>,
    /// The row of the page that was given last.
    given: usize,
    /// It was not there any more, or another one in its place, when it was locked.
    moved: bool,
    /// The first row has been found twice, where that is wanted.
    settled: bool,
    /// The large values of a batch.
    large: LargeRows,
    /// Who has written what was read into batches that are gone.
    passed: NewestWriters,
}

/// A structure whose rows are locked.
enum LockedRows<'t> {
    Heap(&'t Heap),
    Tree(&'t BTree),
}

/// A row by name, owned.
#[derive(Clone, PartialEq, Eq)]
enum Name {
    Rid(Rid),
    Key(Vec<u8>),
    End,
}

impl Name {
    fn as_ref(&self) -> RowName<'_> {
        match self {
            Name::Rid(rid) => RowName::Rid(*rid),
            Name::Key(key) => RowName::Key(key),
            Name::End => RowName::End,
        }
    }
}

impl LockedRows<'_> {
    fn unit(&self) -> UnitId {
        match self {
            LockedRows::Heap(heap) => heap.unit_id(),
            LockedRows::Tree(tree) => tree.unit_id(),
        }
    }

    /// The name of a row that was read.
    fn name(&self, batch: &RowBatch, i: usize) -> Name {
        match self {
            LockedRows::Heap(_) => Name::Rid(batch.rid(i)),
            LockedRows::Tree(_) => Name::Key(batch.key(i).to_vec()),
        }
    }

    /// Whether nothing has changed on the page since it was read.
    fn is_as_read(&self, batch: &RowBatch) -> Result<bool, access::AccessError> {
        match self {
            LockedRows::Heap(heap) => heap.is_as_read(batch),
            LockedRows::Tree(tree) => tree.is_as_read(batch),
        }
    }

    fn fetch(&self, name: &Name, batch: &mut RowBatch) -> Result<bool, access::AccessError> {
        match (self, name) {
            (LockedRows::Heap(heap), Name::Rid(rid)) => heap.fetch(*rid, ReadMode::Current, batch),
            (LockedRows::Tree(tree), Name::Key(key)) => tree.fetch(key, ReadMode::Current, batch),
            _ => Ok(false),
        }
    }
}

impl LockedScan {
    /// A scan that has not begun. Its plan has locks.
    pub fn new(plan: &ScanPlan) -> LockedScan {
        let locks =
            plan.locks.unwrap_or(RowLocks { range: true, ..RowLocks::until_changed(LockMode::S) });
        let wanted = plan.goal.filter(|goal| *goal <= FEW_WANTED).unwrap_or(0);
        LockedScan {
            locks,
            source: None,
            condition: Condition::default(),
            batch: RowBatch::new(),
            at: 0,
            end: 0,
            sure: false,
            step: wanted.max(1),
            wanted,
            earlier: RowBatch::new(),
            entry: RowBatch::new(),
            lookup: RowBatch::new(),
            near: NearRows::default(),
            rows_behind: RowsBehind::default(),
            tested: Vec::new(),
            held: None,
            begun: false,
            whole: false,
            ended: EndedTxns::default(),
            alone: EndedTxns::default(),
            from: None,
            again: false,
            cursor: None,
            rest: Vec::new(),
            skip: None,
            locked_to: None,
            given: 0,
            moved: false,
            settled: !locks.first_again,
            large: LargeRows::default(),
            passed: NewestWriters::default(),
        }
    }

    fn txn<'r>(&self, plan: &ScanPlan, rt: &'r mut Rt<'_, '_>) -> Result<&'r mut Txn, SqlError> {
        rt.session().txn(&plan.db)
    }

    /// Finds out whether the table is locked in place of its rows, and locks it where that is the
    /// only way.
    fn cover(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.whole = is_locked(self.txn(plan, rt)?, plan, self.locks.mode);
        let heap = matches!((&plan.path, &plan.store.base), (Path::Base, Base::Heap(_)));
        if self.locks.range && heap && !self.whole {
            // A heap has no gaps to lock: rows can come anywhere.
            let lock = TableLock::of(self.locks.mode);
            rt.session().lock_table(&plan.db, &plan.store.table, lock)?;
            self.whole = true;
        } else if !self.whole && self.locks_all(plan, rt) {
            self.whole = escalate(self.txn(plan, rt)?, plan, self.locks.mode);
        }
        Ok(())
    }

    /// Whether very many locks of the scan would come to what one on the table is: it reads every
    /// row, and nobody may change one, or bring one in, until the transaction ends. Entries of an
    /// index leave the other columns of their rows to others, unless they are so many that the
    /// table would be locked for them anyway. A filtered index has some of the rows alone.
    fn locks_all(&self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> bool {
        let least = match &plan.path {
            Path::Base => WHOLE_AT,
            Path::Index { index, seek, .. }
                if seek.is_empty() && plan.store.indexes[*index].def.filter.is_none() =>
            {
                ESCALATE_AT as i64
            }
            _ => return false,
        };
        // Where few rows may be enough the others are not locked.
        let all = plan.goal.is_none() && !rt.is_suspendable() && rt.session().options.rowcount == 0;
        let reads = self.locks.range && self.locks.mode == LockMode::S;
        let may = plan.store.table.lock_escalation != catalog::LockEscalation::Disable;
        let rows = || catalog::row_counts::estimate(&plan.store.table);
        reads && all && may && rows().is_some_and(|rows| rows >= least)
    }

    /// A run that may have been suspended goes on. Locks that were held to the end of a statement
    /// or a transaction are gone then, and others may have changed the rows of the page since.
    fn go_on(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.cover(plan, rt)?;
        (self.sure, self.locked_to, self.cursor) = (false, None, None);
        self.rows_behind.clear();
        Ok(())
    }

    fn start(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<LockedSource, SqlError> {
        self.cover(plan, rt)?;
        if rt.is_suspendable() {
            // Each row is wanted by itself.
            (self.step, self.wanted) = (1, 0);
        }
        let all = || seek::Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let source = match (&plan.path, &plan.store.base) {
            (Path::Base, Base::Heap(heap)) => {
                LockedSource::Heap(heap.scan().map_err(|e| access_error(&plan.db, e))?)
            }
            (Path::Base, Base::Tree(tree)) => {
                LockedSource::Range { tree: tree.clone(), range: all() }
            }
            (Path::Clustered(spec), Base::Tree(tree)) => {
                self.sought(plan, tree, (spec, &plan.store.parts), rt)?
            }
            (Path::Point(spec), Base::Tree(tree)) => point_of(tree, spec, &plan.store.parts, rt)?,
            (Path::Index { index, seek: spec, point, .. }, _) => {
                let index = &plan.store.indexes[*index];
                match *point {
                    true => point_of(&index.tree, spec, &index.parts, rt)?,
                    false => self.sought(plan, &index.tree, (spec, &index.order_parts), rt)?,
                }
            }
            _ => return Err(SqlError::internal("a seek on a heap")),
        };
        Ok(source)
    }

    /// The next rows; false at the end.
    fn following(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        while out.is_empty() {
            if self.at >= self.end {
                rt.check_cancel()?;
                if !self.page(plan, rt)? {
                    return Ok(false);
                }
            }
            let (most, long) = (self.most(rt, out), may_be_long(plan));
            let mut bytes = 0;
            while self.at < self.end && out.len() < most && bytes < MOST {
                let before = out.len();
                if !self.give(plan, rt, out)? {
                    break;
                }
                if long && out.len() > before {
                    bytes += long_row(&mut self.large, plan, rt, out)?;
                }
            }
        }
        Ok(true)
    }

    /// Tells the session who has written what has been read since the last time: an answer that
    /// is made of it waits until that is durable. Every batch that the scan reads is asked.
    fn tell_writers(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let mut writers = std::mem::take(&mut self.passed);
        let batches = [&mut self.batch, &mut self.earlier, &mut self.entry, &mut self.lookup];
        batches.into_iter().for_each(|batch| writers.add(batch.take_writers()));
        rt.session().has_read(&plan.db, writers, !plan.locator)
    }

    /// Reads the next page of rows; false at the end.
    fn page(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        (self.at, self.end) = (0, 0);
        self.rows_behind.clear();
        let Some(source) = self.source.take() else { return Ok(false) };
        if !std::mem::take(&mut self.again) {
            self.ended.forget_many();
        }
        self.ended.reads(rt.session().txn(&plan.db)?);
        self.sure = self.whole || self.locks.range;
        let (found, next) = match source {
            LockedSource::Heap(mut scan) => {
                let more = scan.next_batch(ReadMode::Current, &mut self.batch);
                (more.map_err(|e| access_error(&plan.db, e))?, LockedSource::Heap(scan))
            }
            LockedSource::Range { tree, range } => self.ranges_page(plan, rt, tree, range)?,
            LockedSource::Point { tree, key } => {
                (self.point(plan, rt, &tree, &key)?, LockedSource::Done)
            }
            LockedSource::Done => (false, LockedSource::Done),
        };
        self.source = Some(next);
        if found && self.end == 0 {
            self.end = self.batch.len();
        }
        self.condition.rows_come(plan, self.end, rt);
        if let Some((page, slot)) = self.from.take()
            && self.batch.page() == page
        {
            let mut rows = 0..self.end;
            self.at = rows.find(|i| u32::from(self.batch.slot(*i)) >= slot).unwrap_or(self.end);
        }
        Ok(found)
    }

    /// The row with a whole key, as the page at hand. In a range the row is locked, or where there
    /// is none the gap that it would come into.
    fn point(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
        key: &[u8],
    ) -> Result<bool, SqlError> {
        loop {
            rt.check_cancel()?;
            let covered = !self.locks.range || self.whole;
            self.ended.reads(rt.session().txn(&plan.db)?);
            let found = tree.fetch(key, ReadMode::Current, &mut self.batch);
            let found = found.map_err(|e| access_error(&plan.db, e))?;
            if covered {
                // The table was locked in place of what was to be locked, perhaps after a wait.
                self.rows_behind.clear();
                return Ok(found);
            }
            if found && !self.had_ended(plan, rt, self.batch.header(0).txn)? {
                continue;
            }
            let settled = if found && !self.batch.is_ghost(0) {
                self.lock_rows_behind(plan, rt, 1)?;
                let grant =
                    self.lock(plan, rt, tree.unit_id(), RowName::Key(key), self.locks.mode)?;
                grant == Grant::Held
                    || tree.is_as_read(&self.batch).map_err(|e| access_error(&plan.db, e))?
            } else {
                self.lock_gap(plan, rt, tree, Some(Bound::Included(key.to_vec())))?
            };
            // What the table was locked for in place of the rest may have changed before that.
            if settled && !self.whole {
                return Ok(found);
            }
        }
    }

    /// Locks a row of a unit, or skips it: [`Grant::Busy`].
    fn lock(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        unit: UnitId,
        row: RowName<'_>,
        mode: LockMode,
    ) -> Result<Grant, SqlError> {
        if self.whole {
            return Ok(Grant::Held);
        }
        let (db, patient) = (&plan.db, !self.locks.read_past);
        // Whether a row stays locked that none may come in beside is known now, else when it was
        // read.
        let until =
            if self.locks.range { LockDuration::Transaction } else { LockDuration::GivenBack };
        let txn = rt.session().txn(db)?;
        let grant = txn.lock_row(unit, row, mode, patient, until).map_err(|e| db_error(db, &e))?;
        if until == LockDuration::Transaction {
            self.count(plan, rt, grant)?;
        }
        Ok(grant)
    }

    /// Counts a lock that stays. When there are many the table is locked, if it is to be had at
    /// once.
    fn count(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        grant: Grant,
    ) -> Result<(), SqlError> {
        let may = plan.store.table.lock_escalation != catalog::LockEscalation::Disable;
        if may && matches!(grant, Grant::New | Grant::Stronger) {
            let locked = rt.count_lock((plan.db.id(), plan.store.table.object_id));
            if locked.is_multiple_of(ESCALATE_AT) {
                self.whole = escalate(self.txn(plan, rt)?, plan, self.locks.mode);
            }
            if self.whole {
                // A row may have come in behind the page that the cursor comes from, where the gap
                // would have been locked with the next page.
                self.cursor = None;
            }
        }
        Ok(())
    }
}

fn point_of(
    tree: &BTree,
    spec: &SeekSpec,
    parts: &[types::KeyPart],
    rt: &mut Rt<'_, '_>,
) -> Result<LockedSource, SqlError> {
    let mut key = Vec::new();
    let possible = seek::point(spec, parts, rt, &mut key)?;
    Ok(if possible { LockedSource::Point { tree: tree.clone(), key } } else { LockedSource::Done })
}

/// Whether the transaction has locked the table in a mode that covers locks on its rows.
fn is_locked(txn: &Txn, plan: &ScanPlan, mode: LockMode) -> bool {
    let what = LockTarget::Table(plan.store.table.object_id as u32);
    let held = txn.locks.mode_of(&Resource { db: txn.database().id(), what });
    let needed = if mode == LockMode::S { LockMode::S } else { LockMode::X };
    held.is_some_and(|held| held.covers(needed))
}

/// Tries to lock the table as a whole in place of further rows. Nobody is waited for, so it is no
/// timeout where others are in the way.
fn escalate(txn: &mut Txn, plan: &ScanPlan, mode: LockMode) -> bool {
    let mode = if mode == LockMode::S { LockMode::S } else { LockMode::X };
    let what = LockTarget::Table(plan.store.table.object_id as u32);
    let table = Resource { db: txn.database().id(), what };
    let grant = txn.locks.try_until(table, mode, LockDuration::Transaction);
    grant.is_ok_and(|grant| grant != Grant::Busy)
}

impl Operator for LockedScan {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Scan(plan) = &plan.node else { return Err(other_node()) };
        out.reset(plan.width());
        self.large.begin();
        if self.source.is_none() {
            let source = self.start(plan, rt)?;
            if matches!(source, LockedSource::Heap(_) | LockedSource::Range { .. }) {
                rt.session().run.scanned(&plan.db, &plan.store.table);
            }
            self.source = Some(source);
        } else if rt.is_suspendable() {
            self.go_on(plan, rt)?;
        }
        let more =
            if self.settled { self.following(plan, rt, out) } else { self.first(plan, rt, out) };
        self.tell_writers(plan, rt)?;
        more
    }
}
