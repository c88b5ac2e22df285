//! Reading with row locks: REPEATABLE READ, SERIALIZABLE, UPDLOCK, XLOCK, READPAST and their kin.
//!
//! A row is locked first and read afterwards, in its newest version; a transaction that is changing it is waited for. Range locks lock
//! every key that is physically there, ghosts too, and the first live key after the range: a pass over the range is
//! repeated until it finds nothing that is not locked yet.
//! Guarantee: what was read under a lock that is held stays so until the transaction ends; with range locks no row
//! comes into it either. Nothing is given out that was never committed: see [`Ended`].

mod ended;
mod ranges;

use super::decode::{base_row, entry_passes, index_locator};
use super::scan::locator_of;
use super::{Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use crate::operators::seek;
use access::{BTree, Heap, HeapScan, ReadMode, Rid, RowBatch, RowName};
use catalog::errors::db_error;
use ended::{Ended, Left};
use pages::UnitId;
use plan::hints::{RowLocks, TableLock};
use plan::nodes::{Node, Path, Plan, ScanPlan, SeekSpec};
use std::ops::Bound;
use storage::write::{Locator, wait};
use storage::{Base, access_error};
use txn::locks::LockMode;
use txn::{Grant, Resource, Txn, What};
use types::{SqlError, Value};

/// From so many row locks of one scan on, a lock on the table is tried instead; again after as many more.
const ESCALATE_AT: usize = 5000;

enum Source {
    Heap(HeapScan),
    Range { tree: BTree, range: seek::Range },
    Point { tree: BTree, key: Vec<u8> },
    Done,
}

/// The operator.
pub struct LockedScan {
    locks: RowLocks,
    source: Option<Source>,
    batch: RowBatch,
    at: usize,
    /// So many rows of the batch are dealt with: in a range all of them are locked.
    end: usize,
    /// How many keys of a range are locked in one go: few at first, for statements that want few rows.
    step: usize,
    /// Newest versions of rows that are locked.
    entry: RowBatch,
    lookup: RowBatch,
    /// What is tested of an entry.
    tested: Vec<Value>,
    taken: usize,
    /// The gap after a range that is read backward is locked.
    begun: bool,
    /// The table is locked in a mode that makes row locks needless.
    whole: bool,
    /// Which writers had ended before the rows at hand were read.
    ended: Ended,
    /// Ranges that are still to be read, the next one last.
    rest: Vec<seek::Range>,
}

/// A structure whose rows are locked.
enum Rows<'t> {
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

impl Rows<'_> {
    fn unit(&self) -> UnitId {
        match self {
            Rows::Heap(heap) => heap.unit_id(),
            Rows::Tree(tree) => tree.unit_id(),
        }
    }

    fn fetch(&self, name: &Name, batch: &mut RowBatch) -> Result<bool, access::AccessError> {
        match (self, name) {
            (Rows::Heap(heap), Name::Rid(rid)) => heap.fetch(*rid, ReadMode::Current, batch),
            (Rows::Tree(tree), Name::Key(key)) => tree.fetch(key, ReadMode::Current, batch),
            _ => Ok(false),
        }
    }
}

impl LockedScan {
    /// A scan that has not begun. Its plan has locks.
    pub fn new(plan: &ScanPlan) -> LockedScan {
        let locks =
            plan.locks.unwrap_or(RowLocks { mode: LockMode::S, range: true, hold: true, read_past: false });
        LockedScan {
            locks,
            source: None,
            batch: RowBatch::new(),
            at: 0,
            end: 0,
            step: 1,
            entry: RowBatch::new(),
            lookup: RowBatch::new(),
            tested: Vec::new(),
            taken: 0,
            begun: false,
            whole: false,
            ended: Ended::default(),
            rest: Vec::new(),
        }
    }

    fn txn<'r>(&self, plan: &ScanPlan, rt: &'r mut Rt<'_, '_>) -> Result<&'r mut Txn, SqlError> {
        rt.session().txn(&plan.db)
    }

    fn start(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<Source, SqlError> {
        if !plan.locator {
            rt.session().shows_newest(&plan.db)?;
        }
        self.whole = is_locked(self.txn(plan, rt)?, plan, self.locks.mode);
        let all = || seek::Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let source = match (&plan.path, &plan.store.base) {
            (Path::Base, Base::Heap(heap)) => {
                if self.locks.range && !self.whole {
                    // A heap has no gaps to lock: rows can come anywhere.
                    let lock = TableLock::of(self.locks.mode);
                    rt.session().lock_table(&plan.db, &plan.store.table, lock)?;
                    self.whole = true;
                }
                Source::Heap(heap.scan().map_err(|e| access_error(&plan.db, e))?)
            }
            (Path::Base, Base::Tree(tree)) => Source::Range { tree: tree.clone(), range: all() },
            (Path::Clustered(spec), Base::Tree(tree)) => {
                self.ranges_of(plan, tree, seek::ranges(spec, &plan.store.parts, rt)?)
            }
            (Path::Point(spec), Base::Tree(tree)) => point_of(tree, spec, &plan.store.parts, rt)?,
            (Path::Index { index, seek: spec, point, .. }, _) => {
                let index = &plan.store.indexes[*index];
                match *point {
                    true => point_of(&index.tree, spec, &index.parts, rt)?,
                    false => self.ranges_of(plan, &index.tree, seek::ranges(spec, &index.order_parts, rt)?),
                }
            }
            _ => return Err(SqlError::internal("a seek on a heap")),
        };
        if matches!(source, Source::Heap(_) | Source::Range { .. }) {
            rt.session().scanned(&plan.db, &plan.store.table);
        }
        Ok(source)
    }

    /// Reads the next page of rows; false at the end.
    fn page(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        (self.at, self.end) = (0, 0);
        self.ended.forget_many();
        let Some(source) = self.source.take() else { return Ok(false) };
        let (found, next) = match source {
            Source::Heap(mut scan) => {
                let more = scan.next_batch(ReadMode::Current, &mut self.batch);
                (more.map_err(|e| access_error(&plan.db, e))?, Source::Heap(scan))
            }
            Source::Range { tree, range } => self.ranges_page(plan, rt, tree, range)?,
            Source::Point { tree, key } => (self.point(plan, rt, &tree, &key)?, Source::Done),
            Source::Done => (false, Source::Done),
        };
        self.source = Some(next);
        if found && self.end == 0 {
            self.end = self.batch.len();
        }
        Ok(found)
    }

    /// The row with a whole key, as the page at hand. In a range the row is locked, or where there is none the gap that
    /// it would come into.
    fn point(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        tree: &BTree,
        key: &[u8],
    ) -> Result<bool, SqlError> {
        let mut settled = !self.locks.range || self.whole;
        loop {
            rt.check_cancel()?;
            self.ended.reads(rt.session().txn(&plan.db)?);
            let found = tree.fetch(key, ReadMode::Current, &mut self.batch);
            let found = found.map_err(|e| access_error(&plan.db, e))?;
            if settled {
                return Ok(found);
            }
            if found && !self.had_ended(plan, rt, self.batch.header(0).txn)? {
                continue;
            }
            if found && !self.batch.is_ghost(0) {
                let name = Name::Key(key.to_vec());
                settled = self.lock(plan, rt, tree.unit_id(), &name, self.locks.mode)? == Grant::Held;
            } else {
                let before = self.taken;
                self.lock_gap(plan, rt, tree, Some(Bound::Included(key.to_vec())))?;
                settled = self.taken == before;
            }
        }
    }

    /// Locks a row of a unit, or skips it: [`Grant::Busy`].
    fn lock(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        unit: UnitId,
        name: &Name,
        mode: LockMode,
    ) -> Result<Grant, SqlError> {
        if self.whole {
            return Ok(Grant::Held);
        }
        let (db, patient) = (&plan.db, !self.locks.read_past);
        let txn = rt.session().txn(db)?;
        let grant = txn.lock_row(unit, name.as_ref(), mode, patient).map_err(|e| db_error(db, &e))?;
        if matches!(grant, Grant::New | Grant::Stronger) && self.locks.hold {
            self.taken += 1;
            let may = plan.store.table.lock_escalation != catalog::LockEscalation::Disable;
            if may && self.taken.is_multiple_of(ESCALATE_AT) {
                self.whole = escalate(txn, plan, self.locks.mode);
            }
        }
        Ok(grant)
    }

    /// Whether the lock of a row stays: of one that the condition rejects (`!given`) only where none may come in.
    fn keeps(&self, given: bool) -> bool {
        self.locks.hold && (given || self.locks.range)
    }

    fn unlock(
        &self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        unit: UnitId,
        name: &Name,
    ) -> Result<(), SqlError> {
        self.txn(plan, rt)?.unlock_row(unit, name.as_ref());
        Ok(())
    }

    /// Locks a row and reads its newest version into `into`. False: it is deleted, or skipped, and not locked.
    fn locked_row(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        rows: &Rows<'_>,
        name: &Name,
        into: &mut RowBatch,
    ) -> Result<Option<Grant>, SqlError> {
        let unit = rows.unit();
        let grant = self.lock(plan, rt, unit, name, self.locks.mode)?;
        if grant == Grant::Busy {
            return Ok(None);
        }
        loop {
            let txn = rt.session().txn(&plan.db)?;
            self.ended.reads(txn);
            let found = rows.fetch(name, into).map_err(|e| access_error(&plan.db, e))?;
            let writer = into.header(0).txn;
            let left = if found { self.ended.left_by(txn, writer) } else { Left::ForGood };
            match left {
                Left::ForGood if found && !into.is_ghost(0) => return Ok(Some(grant)),
                Left::Meanwhile => continue,
                Left::NotYet if !self.locks.read_past => {
                    wait(&plan.db, txn, writer)?;
                    self.ended.add(writer);
                    continue;
                }
                Left::ForGood | Left::NotYet => {}
            }
            if grant == Grant::New {
                self.unlock(plan, rt, unit, name)?;
            }
            return Ok(None);
        }
    }

    /// Locks and reads row `i` of the page at hand and adds it to `out`, unless the condition rejects it.
    fn row(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        // A ghost may have been brought back by a rollback since the page was read.
        let (mut entry, mut lookup) = (std::mem::take(&mut self.entry), std::mem::take(&mut self.lookup));
        let result = match (&plan.path, &plan.store.base) {
            (Path::Index { index, .. }, _) => {
                let tree = plan.store.indexes[*index].tree.clone();
                let name = Name::Key(self.batch.key(i).to_vec());
                self.indexed(plan, rt, (&tree, &name), (&mut entry, &mut lookup), out)
            }
            (_, Base::Heap(heap)) => self
                .base(plan, rt, &Rows::Heap(heap), &Name::Rid(self.batch.rid(i)), &mut lookup, out)
                .map(drop),
            (_, Base::Tree(tree)) => {
                let name = Name::Key(self.batch.key(i).to_vec());
                self.base(plan, rt, &Rows::Tree(tree), &name, &mut lookup, out).map(drop)
            }
        };
        (self.entry, self.lookup) = (entry, lookup);
        result
    }

    /// The row behind an index entry: the entry is locked, then the row, unless the entry tells
    /// that it is not wanted.
    fn indexed(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        (tree, name): (&BTree, &Name),
        (entry, lookup): (&mut RowBatch, &mut RowBatch),
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let Path::Index { index, .. } = &plan.path else { return Ok(()) };
        let Some(grant) = self.locked_row(plan, rt, &Rows::Tree(tree), name, entry)? else { return Ok(()) };
        let index = &plan.store.indexes[*index];
        if !entry_passes(plan, index, entry.row(0), rt, &mut self.tested)? {
            if grant == Grant::New && !self.keeps(false) {
                self.unlock(plan, rt, tree.unit_id(), name)?;
            }
            return Ok(());
        }
        let locator = index_locator(index, entry.row(0), plan)?;
        let given = match (&plan.store.base, Locator::of(&locator)?) {
            (Base::Heap(heap), Locator::Rid(rid)) => {
                self.base(plan, rt, &Rows::Heap(heap), &Name::Rid(rid), lookup, out)?
            }
            (Base::Tree(base), Locator::Key(key)) => {
                self.base(plan, rt, &Rows::Tree(base), &Name::Key(key), lookup, out)?
            }
            _ => return Err(SqlError::internal("a locator of another table")),
        };
        if grant == Grant::New && !self.keeps(given) {
            self.unlock(plan, rt, tree.unit_id(), name)?;
        }
        Ok(())
    }

    /// A row of the heap or clustered index; whether it was given out.
    fn base(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        rows: &Rows<'_>,
        name: &Name,
        lookup: &mut RowBatch,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Some(grant) = self.locked_row(plan, rt, rows, name, lookup)? else { return Ok(false) };
        let locator = locator_of(plan, || match name {
            Name::Rid(rid) => Locator::Rid(*rid).value(),
            Name::Key(key) => Value::bytes(key.clone()),
            Name::End => Value::Null,
        });
        let before = out.len();
        base_row(plan, lookup.row(0), locator, rt, out)?;
        let given = out.len() > before;
        if grant == Grant::New && !self.keeps(given) {
            self.unlock(plan, rt, rows.unit(), name)?;
        }
        Ok(given)
    }
}

fn point_of(
    tree: &BTree,
    spec: &SeekSpec,
    parts: &[types::KeyPart],
    rt: &mut Rt<'_, '_>,
) -> Result<Source, SqlError> {
    let mut key = Vec::new();
    let possible = seek::point(spec, parts, rt, &mut key)?;
    Ok(if possible { Source::Point { tree: tree.clone(), key } } else { Source::Done })
}

/// Whether the transaction has locked the table in a mode that covers locks on its rows.
fn is_locked(txn: &Txn, plan: &ScanPlan, mode: LockMode) -> bool {
    let what = What::Table(plan.store.table.object_id as u32);
    let held = txn.locks.mode_of(&Resource { db: txn.database().id(), what });
    let needed = if mode == LockMode::S { LockMode::S } else { LockMode::X };
    held.is_some_and(|held| held.covers(needed))
}

/// Tries to lock the table as a whole in place of further rows.
fn escalate(txn: &mut Txn, plan: &ScanPlan, mode: LockMode) -> bool {
    let mode = if mode == LockMode::S { LockMode::S } else { LockMode::X };
    let timeout = std::mem::replace(&mut txn.wait.timeout_ms, 0);
    let locked = txn.lock(What::Table(plan.store.table.object_id as u32), mode).is_ok();
    txn.wait.timeout_ms = timeout;
    locked
}

impl Operator for LockedScan {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::Scan(plan) = &plan.node else { return Err(other_node()) };
        out.reset(plan.width());
        if self.source.is_none() {
            self.source = Some(self.start(plan, rt)?);
        }
        // One row at a time: a statement that wants no more of them locks no more.
        while out.is_empty() {
            if self.at >= self.end {
                rt.check_cancel()?;
                if !self.page(plan, rt)? {
                    return Ok(false);
                }
            }
            while self.at < self.end && out.is_empty() {
                self.at += 1;
                self.row(plan, self.at - 1, rt, out)?;
            }
        }
        Ok(true)
    }
}
