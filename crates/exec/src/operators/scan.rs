//! Scans and seeks of base tables: a page of rows at a time; the condition's columns are decoded
//! first, the others only for rows that satisfy it. Newest versions, which are read for a change,
//! are in [`newest`].

mod newest;

pub use newest::ReadAgain;

mod looked_up;
mod skipped;

use super::condition::Condition;
use super::decode::{base_row, entry_into, entry_passes, index_locator, index_place};
use super::large::{LargeRows, MOST};
use super::pending::Pending;
use super::skip::SeekPastColumn;
use super::{BATCH, Operator, RowSet, other_node};
use crate::operators::rt::{Rt, ScanPlace};
use crate::operators::seek;
use access::{BTree, Cursor, Direction, HeapScan, NewestWriters, ReadMode, RowBatch};
use expr::{ConditionResult, Env};
use logical::access_hints::Sample;
use newest::Newest;
use plan::nodes::{Node, Path, Plan, ScanPlan, SeekSpec};
use std::ops::Bound;
use std::sync::Arc;
use storage::{Base, TableMode, access_error, rid_value};
use txn::SnapshotGuard;
use types::{KeyPart, SqlError, Value};

/// Fewest rows that are copied of a leaf at once: some do not satisfy the condition.
const FIRST: usize = 4;

#[allow(clippy::large_enum_variant)] // one per operator, and a box would be followed for each page
enum ScanSource {
    Heap(HeapScan),
    Tree(Cursor),
    /// The batch is all there is.
    Done,
}

/// The operator.
pub struct Scan {
    source: Option<ScanSource>,
    guard: Option<Arc<SnapshotGuard>>,
    batch: RowBatch,
    at: usize,
    /// Of newest versions: what was known when the page was read, and how it is read again.
    newest: Option<Box<Newest>>,
    condition: Condition,
    /// Base rows behind index entries.
    lookup: RowBatch,
    /// What is tested of an entry.
    tested: Vec<Value>,
    /// Rows that are to be looked up together, and what failed behind the entries of these.
    pending: Pending,
    failure: Option<SqlError>,
    /// It goes on from a place in the order of the entries.
    placed: bool,
    /// Ranges that are still to be read, the next one last.
    rest: Vec<seek::Range>,
    /// Of a seek past a column: the values whose ranges are still to be found.
    skip: Option<Box<SeekPastColumn>>,
    /// Who has written what was read into batches that are gone.
    passed: NewestWriters,
    /// From the end of the ranges to their beginning.
    backward: bool,
    /// Rows of a batch.
    most: usize,
    /// Each batch has twice as many rows as the one before it, up to [`BATCH`].
    grows: bool,
    /// The large values of a batch.
    large: LargeRows,
    /// Of TABLESAMPLE: how many of 2^32 pages, the seed, the number of the next page.
    sample: (u64, u64, u64),
}

/// A scan that has not begun.
impl Default for Scan {
    fn default() -> Scan {
        Scan {
            source: None,
            guard: None,
            batch: RowBatch::new(),
            at: 0,
            newest: None,
            condition: Condition::default(),
            lookup: RowBatch::new(),
            tested: Vec::new(),
            pending: Pending::default(),
            failure: None,
            placed: false,
            rest: Vec::new(),
            skip: None,
            passed: NewestWriters::default(),
            backward: false,
            most: BATCH,
            grows: false,
            large: LargeRows::default(),
            sample: (0, 0, 0),
        }
    }
}

impl Scan {
    fn start(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<ScanSource, SqlError> {
        // Whatever the mode: values outside the rows are read after them, and freed only when no
        // older snapshot is left.
        if plan.mode == TableMode::Snapshot || plan.store.has_outside() {
            self.guard = Some(rt.snapshot(&plan.db)?);
        }
        if let Some(sample) = &plan.sample {
            let rows = catalog::row_counts::estimate(&plan.store.table).unwrap_or(0);
            let seed = sample.seed.map_or_else(|| rt.clock() as u64, |seed| seed as u64);
            self.sample = (sample.share(u64::try_from(rows).unwrap_or(0)), seed, 0);
        }
        let place = rt.state.place.take();
        self.backward = plan.backward;
        if let Some(goal) = plan.goal {
            (self.most, self.grows) = (goal.clamp(1, BATCH), true);
        }
        self.placed = place.is_some();
        if let Some(place) = &place {
            (self.most, self.grows) = (place.most, false);
            self.backward ^= place.reverse;
        }
        let place = place.as_deref();
        let point_again = place.is_none_or(|place| place.key.is_none() || place.inclusive);
        let fail = |e| access_error(&plan.db, e);
        let source = match (&plan.path, &plan.store.base) {
            (Path::Base, Base::Heap(heap)) => ScanSource::Heap(heap.scan().map_err(fail)?),
            (Path::Base, Base::Tree(tree)) => {
                let mut all = seek::Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
                let more = place.is_none_or(|place| go_on(&mut all, place, self.backward));
                if more { self.cursor(tree, all) } else { ScanSource::Done }
            }
            (Path::Clustered(spec), Base::Tree(tree)) => {
                self.seek(plan, tree, (spec, &plan.store.parts), place, rt)?
            }
            // The one row that there can be was given.
            (Path::Point(_) | Path::Index { point: true, .. }, _) if !point_again => {
                ScanSource::Done
            }
            (Path::Point(spec), Base::Tree(tree)) => {
                let mut key = Vec::new();
                if seek::point(spec, &plan.store.parts, rt, &mut key)? {
                    tree.fetch(&key, read_mode(&self.guard, plan.mode), &mut self.batch)
                        .map_err(fail)?;
                }
                ScanSource::Done
            }
            (Path::Index { index, seek: spec, point, .. }, _) => {
                let index = &plan.store.indexes[*index];
                if *point {
                    let mut key = Vec::new();
                    if seek::point(spec, &index.parts, rt, &mut key)? {
                        let mode = read_mode(&self.guard, plan.mode);
                        index.tree.fetch(&key, mode, &mut self.batch).map_err(fail)?;
                    }
                    ScanSource::Done
                } else {
                    self.seek(plan, &index.tree, (spec, &index.order_parts), place, rt)?
                }
            }
            _ => return Err(SqlError::internal("a seek on a heap")),
        };
        if !matches!(source, ScanSource::Done) {
            rt.session().run.scanned(&plan.db, &plan.store.table);
        }
        Ok(source)
    }

    /// The first range of a seek; the others are kept.
    fn seek(
        &mut self,
        plan: &ScanPlan,
        tree: &BTree,
        (spec, parts): (&SeekSpec, &[KeyPart]),
        place: Option<&ScanPlace>,
        rt: &mut Rt<'_, '_>,
    ) -> Result<ScanSource, SqlError> {
        let backward = self.backward;
        let ahead =
            |range: &mut seek::Range| place.is_none_or(|place| go_on(range, place, backward));
        let first = if let Some(behind) = spec.behind.as_ref().filter(|_| place.is_none()) {
            self.skip = SeekPastColumn::of(spec, behind, parts, rt)?;
            self.next_range(plan, rt)?
        } else if spec.others.is_empty() {
            seek::range(spec, parts, rt)?.and_then(|mut range| ahead(&mut range).then_some(range))
        } else {
            self.rest = seek::ranges(spec, parts, rt)?;
            self.rest.retain_mut(ahead);
            if !backward {
                self.rest.reverse();
            }
            self.rest.pop()
        };
        Ok(first.map_or(ScanSource::Done, |range| self.cursor(tree, range)))
    }

    fn cursor(&mut self, tree: &BTree, range: seek::Range) -> ScanSource {
        let direction = if self.backward { Direction::Backward } else { Direction::Forward };
        let (lower, upper) =
            (storage::keys::borrowed(&range.lower), storage::keys::borrowed(&range.upper));
        let cursor = tree.cursor(lower, upper, direction);
        // A sample counts whole leaves.
        let few = self.most < BATCH && self.sample.0 == 0;
        if let Some(newest) = &mut self.newest {
            newest.range = Some(range);
        }
        ScanSource::Tree(if few {
            cursor.beginning_with(self.most.max(FIRST) as u16)
        } else {
            cursor
        })
    }

    /// The next page of rows that the path leads to, the condition not yet tested; false at the
    /// end.
    pub fn next_page(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        rt.check_cancel()?;
        if self.source.is_none() {
            self.look(plan, rt)?;
            self.source = Some(self.start(plan, rt)?);
            if !self.batch.is_empty() {
                return Ok(true);
            }
        }
        self.page(plan, rt)
    }

    /// The rows of the page.
    pub fn rows(&self) -> &RowBatch {
        &self.batch
    }

    /// Who has written what was read of newest versions since this was asked last.
    pub fn take_writers(&mut self) -> NewestWriters {
        let mut writers = std::mem::take(&mut self.passed);
        writers.add(self.batch.take_writers());
        writers.add(self.lookup.take_writers());
        writers
    }

    /// What the bytes of row `i` of the page, a base row, tell of the condition.
    #[inline]
    pub fn tell(&self, plan: &ScanPlan, i: usize) -> ConditionResult {
        self.condition.of_rows(plan).tell(plan, self.batch.row(i))
    }

    /// Reads the next page of rows; false at the end.
    fn page(&mut self, plan: &ScanPlan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        self.look(plan, rt)?;
        loop {
            let mode = read_mode(&self.guard, plan.mode);
            let more = match &mut self.source {
                Some(ScanSource::Heap(scan)) => scan.next_batch(mode, &mut self.batch),
                Some(ScanSource::Tree(cursor)) => cursor.next_batch(mode, &mut self.batch),
                // The batch stays as it is: it has been given.
                _ => return Ok(false),
            };
            self.at = 0;
            if more.map_err(|e| access_error(&plan.db, e))? {
                self.pass_by();
                if plan.sample.is_some() && !is_sampled(&mut self.sample) {
                    rt.check_cancel()?;
                    continue;
                }
                self.condition.rows_come(plan, self.batch.len(), rt);
                return Ok(true);
            }
            let Some(range) = self.next_range(plan, rt)? else { return Ok(false) };
            rt.check_cancel()?;
            rt.session().run.scanned(&plan.db, &plan.store.table);
            let next = tree_of(plan).map(|tree| self.cursor(tree, range));
            self.source = next;
        }
    }

    /// As [`long_row`].
    fn long_row(
        &mut self,
        plan: &ScanPlan,
        rt: &mut Rt<'_, '_>,
        out: &RowSet,
    ) -> Result<usize, SqlError> {
        long_row(&mut self.large, plan, rt, out)
    }

    /// Adds the base row of the entry at hand, which does not have all values that its index
    /// covers, unless the condition rejects it.
    fn row_behind(
        &mut self,
        plan: &ScanPlan,
        index: usize,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        let locator = index_locator(&plan.store.indexes[index], self.batch.entry(i), plan)?;
        let mode = read_mode(&self.guard, plan.mode);
        if !storage::fetch(&plan.db, &plan.store, &locator, mode, &mut self.lookup)? {
            // The entry and its row are versions of one moment; only a dirty read can miss the row.
            return Ok(());
        }
        let test = self.condition.of_rows(plan);
        base_row(plan, test, self.lookup.row(0), locator_of(plan, || locator.clone()), rt, out)
    }

    /// Decodes the row at hand into a new row of `out`, unless the condition rejects it.
    fn row(
        &mut self,
        plan: &ScanPlan,
        i: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<(), SqlError> {
        match &plan.path {
            Path::Index { index, covering: true, .. } => {
                let entries = &plan.store.indexes[*index];
                let (test, entry) = (self.condition.of_entries(plan), self.batch.entry(i));
                let filled = entry_into(plan, test, entries, entry, rt, out.push_row());
                let filled = out.or_pop(filled)?;
                if filled != Some(true) {
                    out.pop_row();
                }
                if filled.is_none() { self.row_behind(plan, *index, i, rt, out) } else { Ok(()) }
            }
            Path::Index { index, .. } => {
                let index = &plan.store.indexes[*index];
                if !entry_passes(plan, index, self.batch.entry(i), rt, &mut self.tested)? {
                    return Ok(());
                }
                let place = index_place(index, self.batch.entry(i), plan)?;
                let (of, mode) = ((&*plan.db, &*plan.store), read_mode(&self.guard, plan.mode));
                let beside = &mut self.pending.beside;
                if !storage::fetch_beside(of, beside, place, mode, &mut self.lookup)? {
                    // The entry and its row are versions of one moment; only a dirty read can miss
                    // the row.
                    return Ok(());
                }
                let test = self.condition.of_rows(plan);
                base_row(
                    plan,
                    test,
                    self.lookup.row(0),
                    locator_of(plan, || place.value()),
                    rt,
                    out,
                )
            }
            _ => {
                let locator = locator_of(plan, || match &plan.store.base {
                    Base::Heap(_) => rid_value(self.batch.rid(i)),
                    Base::Tree(_) => Value::bytes(self.batch.key(i).to_vec()),
                });
                base_row(plan, self.condition.of_rows(plan), self.batch.row(i), locator, rt, out)
            }
        }
    }
}

/// Most bytes of memory that the values of a row have which are all in it: stored, a character may
/// take one byte, and three here.
const LONGEST_INSIDE: usize = 3 * types::MAX_ROW;

/// Whether a batch of as many rows as an operator gives at once may come to more than [`MOST`]
/// bytes.
#[inline]
pub(super) fn may_be_long(plan: &ScanPlan) -> bool {
    plan.store.lob.is_some() || plan.store.longest_row > MOST / BATCH
}

/// Bytes of the row that was added last; charged where it may have large values.
#[inline(never)]
pub(super) fn long_row(
    large: &mut LargeRows,
    plan: &ScanPlan,
    rt: &Rt<'_, '_>,
    out: &RowSet,
) -> Result<usize, SqlError> {
    if let Some(row) = out.stored(out.len() - 1) {
        return Ok(row.len());
    }
    let row = out.row(out.len() - 1);
    let bytes: usize = row.iter().map(Value::heap_bytes).sum();
    if plan.store.lob.is_some() || bytes > LONGEST_INSIDE {
        large.add(row, rt)?;
    }
    Ok(bytes)
}

/// Whether TABLESAMPLE takes the next page.
fn is_sampled((share, seed, page): &mut (u64, u64, u64)) -> bool {
    *page += 1;
    Sample::takes(*share, *seed, *page)
}

/// Cuts from a range what lies before a place in it; false when nothing is left.
fn go_on(range: &mut seek::Range, place: &ScanPlace, backward: bool) -> bool {
    let Some(key) = &place.key else { return true };
    let (begin, end) = match backward {
        true => (&mut range.upper, &range.lower),
        false => (&mut range.lower, &range.upper),
    };
    // Whether a key comes before another in the direction of the scan.
    let before = |a: &[u8], b: &[u8]| if backward { a > b } else { a < b };
    let ends_before = match end {
        Bound::Unbounded => false,
        Bound::Included(last) => before(last, key) || (last == key && !place.inclusive),
        Bound::Excluded(last) => !before(key, last),
    };
    if ends_before {
        return false;
    }
    let begins_after = match begin {
        Bound::Unbounded => false,
        Bound::Included(first) | Bound::Excluded(first) => before(key, first),
    };
    if !begins_after {
        *begin = if place.inclusive {
            Bound::Included(key.clone())
        } else {
            Bound::Excluded(key.clone())
        };
    }
    true
}

/// The tree that is read.
fn tree_of(plan: &ScanPlan) -> Option<&BTree> {
    match (&plan.path, &plan.store.base) {
        (Path::Index { index, .. }, _) => Some(&plan.store.indexes[*index].tree),
        (_, Base::Tree(tree)) => Some(tree),
        (_, Base::Heap(_)) => None,
    }
}

pub(super) fn read_mode(guard: &Option<Arc<SnapshotGuard>>, mode: TableMode) -> ReadMode<'_> {
    match (guard, mode) {
        (Some(guard), TableMode::Snapshot) => guard.mode(),
        (_, TableMode::Current) => ReadMode::Current,
        _ => ReadMode::Dirty,
    }
}

pub(super) fn locator_of(plan: &ScanPlan, make: impl FnOnce() -> Value) -> Option<Value> {
    plan.locator.then(make)
}

impl Operator for Scan {
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
            self.look(plan, rt)?;
            self.source = Some(self.start(plan, rt)?);
        }
        if plan.any_order && !self.placed {
            return self.looked_up(plan, rt, out);
        }
        if plan.mode == TableMode::Current {
            self.newest_rows(plan, rt, out)?;
        } else {
            let (most, long) = (self.most.min(out.most()), may_be_long(plan));
            let mut bytes = 0;
            while out.len() < most && bytes < MOST {
                if self.at >= self.batch.len() {
                    rt.check_cancel()?;
                    if !self.page(plan, rt)? {
                        break;
                    }
                }
                while self.at < self.batch.len() && out.len() < most && bytes < MOST {
                    let before = out.len();
                    if !self.batch.is_ghost(self.at) {
                        self.row(plan, self.at, rt, out)?;
                    }
                    self.at += 1;
                    if long && out.len() > before {
                        bytes += self.long_row(plan, rt, out)?;
                    }
                }
            }
        }
        if self.grows {
            self.most = (self.most * 2).min(BATCH);
        }
        Ok(!out.is_empty())
    }
}
