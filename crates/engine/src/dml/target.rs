//! The rows that an UPDATE or DELETE changes. Two ways: *pages* (one table, read along the heap or clustered index,
//! changed page by page while it is read) and *gathered* (joins, secondary indexes, changes of the clustered key: the
//! rows are found first, then changed).

use super::current::CurrentTarget;
use crate::exec::RowSet;
use crate::exec::memory::row_bytes;
use crate::exec::rt::Rt;
use crate::exec::scan::Scan;
use crate::explain;
use access::{RowBatch, Writer};
use catalog::Db;
use catalog::TableDef;
use catalog::VARIABLES;
use catalog::errors;
use expr::key::{KeySet, encode};
use expr::{ColId, Pred};
use pages::{RowHeader, TxnId};
use plan::bind::from::inner;
use plan::bind::scope::{Clause, Scope, Source};
use plan::bind::set_options::Isolation;
use plan::bind::{Binder, unsupported};
use plan::hints::{Hints, Reading, TableLock};
use plan::logical::{Get, Logical, TopSpec};
use plan::nodes::{Node, Plan};
use plan::nodes::{Path, ScanPlan};
use plan::physical::{self, pred_slots};
use std::sync::Arc;
use storage::write::{Locator, read_current, wait};
use storage::{Base, TableMode, TableStore};
use syntax::ast;
use types::{Collation, SqlError, Value};

/// The bound source of an UPDATE or DELETE: its scope is on the binder's stack.
pub struct BoundTarget {
    pub get: Get,
    /// The lock on the table as a whole.
    pub lock: TableLock,
    logical: Logical,
    preds: Vec<Pred>,
    /// WHERE CURRENT OF.
    cursor: Option<ast::CursorName>,
}

impl BoundTarget {
    /// The sources beside the target, which OUTPUT may name.
    ///
    /// # Errors
    /// Internal: the scope is gone.
    pub fn others(&self, binder: &mut Binder<'_>) -> Result<Vec<Source>, SqlError> {
        let target = |s: &&Source| s.columns.first().is_none_or(|c| c.id != self.get.first);
        Ok(binder.scope()?.sources.iter().filter(target).cloned().collect())
    }
}

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
    plan: Plan,
    /// Slots that hold columns of the target: (slot, column). They are read again before the change.
    own: Vec<(usize, u16)>,
    /// Tested again on the row as it is then.
    recheck: Option<Pred>,
    /// Several source rows may lead to one target row.
    repeats: bool,
    /// The rows are the snapshot's: a newer version is a conflict.
    snapshot: bool,
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

/// Binds target, FROM and WHERE; leaves the scope on the stack for the assignments.
pub fn dml_source(
    binder: &mut Binder<'_>,
    target: &ast::Target,
    from: &[ast::TableRef],
    filter: Option<&ast::Filter>,
    hints: &[ast::OptionItem],
) -> Result<BoundTarget, SqlError> {
    let name = &match target {
        ast::Target::Name(name) => name.clone(),
        ast::Target::Variable(name) => plan::bind::from::variable_name(name),
        ast::Target::Function { .. } => return Err(unsupported("This target")),
    };
    binder.scopes.push(Scope::default());
    let mut logical = binder.from_clause(from)?;
    let scope = binder.scope()?;
    let known = scope.sources.iter().find(|s| s.is_named(name));
    let variable = known.filter(|s| s.db_id == VARIABLES).map(|s| s.object_id);
    let known = known.map(|s| (s.object_id, s.columns.first().map(|c| c.id)));
    if let Some(variable) = variable {
        super::named::check_changeable(binder, variable)?;
    }
    let first = match known {
        Some((0, _)) | Some((_, None)) => {
            let text = format!("Cannot update the view or function '{name}' because it is not updatable.");
            return Err(SqlError::new(4405, 16, 1, text));
        }
        Some((_, Some(first))) => first,
        None => {
            let (db, table) = super::named::target_table(binder, target)?;
            let existing = source_of(binder, &table, from.is_empty());
            match existing {
                Some(first) => first,
                None => {
                    let hints = Hints::parse(&table, hints)?;
                    let reading = hints.target(binder.env.options.isolation)?;
                    let get = binder.get(db, table, reading, hints);
                    let mut source = plan::bind::from::table_source(&get, name, None);
                    source.columns = binder.columns_of(&get.db, &get.table, get.first)?;
                    binder.scope()?.sources.insert(0, source);
                    let (first, node) = (get.first, Logical::Get(Box::new(get)));
                    logical = if from.is_empty() { node } else { inner(node, logical) };
                    first
                }
            }
        }
    };
    let Some((get, reading)) = read_for_change(&mut logical, first, binder.env.options.isolation)? else {
        return Err(SqlError::internal("the target is not among the sources"));
    };
    let lock = reading.table;
    binder.scope()?.visible = true;
    binder.scope()?.clause = Clause::Where;
    let (mut preds, mut cursor) = (Vec::new(), None);
    match filter {
        None => {}
        Some(ast::Filter::Condition(e)) => binder.pred(e)?.into_conjuncts(&mut preds),
        Some(ast::Filter::CurrentOf(_)) if !matches!(logical, Logical::Get(_)) => {
            return Err(unsupported("WHERE CURRENT OF beside a join"));
        }
        Some(ast::Filter::CurrentOf(name)) => cursor = Some(name.clone()),
    }
    Ok(BoundTarget { get, lock, logical, preds, cursor })
}

/// `UPDATE t ... FROM dbo.t AS x`: the one source that is the table is the target.
fn source_of(binder: &mut Binder<'_>, table: &TableDef, alone: bool) -> Option<ColId> {
    if alone {
        return None;
    }
    let scope = binder.scopes.last()?;
    let mut same = scope.sources.iter().filter(|s| s.object_id == table.object_id);
    let first = same.next()?.columns.first()?.id;
    same.next().is_none().then_some(first)
}

/// Decides how the rows are found. `needed`: columns that the change reads. `gather`: the change moves rows within
/// the structure that is read.
pub fn plan_target(
    binder: &mut Binder<'_>,
    bound: BoundTarget,
    needed: &[ColId],
    gather: bool,
) -> Result<(Target, Vec<ColId>), SqlError> {
    let BoundTarget { get, logical, preds, cursor, .. } = bound;
    let snapshot = get.mode == TableMode::Snapshot;
    if let Some(cursor) = cursor {
        let own = |id: &ColId| get.position(*id).map(|at| at as u16);
        let reads = needed.iter().map(own).collect::<Option<Vec<u16>>>();
        let reads = reads.ok_or_else(|| SqlError::internal("a column of another table"))?;
        let target = CurrentTarget { cursor, reads, sets: Vec::new(), snapshot };
        return Ok((Target::Current(Box::new(target)), needed.to_vec()));
    }
    let gather = gather || snapshot || get.locks.is_some();
    let simple = matches!(logical, Logical::Get(_)) && !gather && !preds.iter().any(Pred::has_subquery);
    if simple {
        let mut ids: Vec<ColId> = needed.to_vec();
        preds.iter().for_each(|p| p.columns(&mut ids));
        let node = Logical::Filter { input: Box::new(logical.clone()), preds: preds.clone() };
        let plan = plan::planner::Planner { binder }.plan(node, &ids, None)?;
        if let Node::Scan(scan) = plan.node
            && !matches!(scan.path, Path::Index { .. })
        {
            return Ok((Target::Pages(scan), plan.cols));
        }
    }
    let repeats = !matches!(logical, Logical::Get(_));
    let (mut again, mut ids) = (Vec::new(), vec![get.locator()]);
    let add = |list: &[ColId], ids: &mut Vec<ColId>| {
        list.iter().for_each(|id| {
            if !ids.contains(id) {
                ids.push(*id)
            }
        });
    };
    add(needed, &mut ids);
    for pred in preds.iter().filter(|p| !p.has_subquery()) {
        let mut used = Vec::new();
        pred.columns(&mut used);
        add(&used, &mut ids);
        again.push(pred.clone());
    }
    let node = Logical::Filter { input: Box::new(logical), preds };
    let plan = physical::plan_query(binder, node, &ids, None)?;
    let mut recheck = Pred::from_conjuncts(again);
    if let Some(pred) = &mut recheck {
        pred_slots(pred, &ids)?;
    }
    let own = ids.iter().enumerate().filter_map(|(slot, id)| Some((slot, get.position(*id)? as u16)));
    let own = own.collect();
    Ok((Target::Gathered(Box::new(Gathered { plan, own, recheck, repeats, snapshot })), ids))
}

/// Makes the target's node one that is read for change, by its hints. Returns a copy of it. In SNAPSHOT isolation the
/// rows are those of the snapshot, and one that was changed since is a conflict.
fn read_for_change(
    logical: &mut Logical,
    first: ColId,
    isolation: Isolation,
) -> Result<Option<(Get, Reading)>, SqlError> {
    match logical {
        Logical::Get(get) if get.first == first => {
            let reading = get.hints.target(isolation)?;
            (get.mode, get.locks) = (reading.mode, reading.locks);
            Ok(Some(((**get).clone(), reading)))
        }
        Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
            match read_for_change(left, first, isolation)? {
                None => read_for_change(right, first, isolation),
                found => Ok(found),
            }
        }
        Logical::Filter { input, .. } => read_for_change(input, first, isolation),
        _ => Ok(None),
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
/// Rows of one table are locked in the order in which they are read: a row that is in use is waited for before any
/// later one is changed. Two statements that read the same rows in the same direction never wait for each other.
pub trait RowChange {
    /// Changes rows of one page in the order given: `picked` are their numbers in the page, `slots` their decoded
    /// values. Stops before a row that someone else changed meanwhile.
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
    /// The row that someone else is changing, where testing has stopped.
    busy: Option<usize>,
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
    /// A transaction that is known not to be running elsewhere.
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

    fn run(&mut self, rt: &mut Rt<'_, '_>, limit: u64, change: &mut dyn RowChange) -> Result<u64, SqlError> {
        let mut scan = Scan::default();
        let mut count = 0;
        while count < limit && scan.next_page(self.plan, rt)? {
            let page = scan.rows();
            let mut from = 0;
            while from < page.len() && count < limit {
                let mut seen = self.pick(rt, &scan, from, limit - count)?;
                if !self.picked.is_empty() {
                    let done = change.page(rt, page, &self.picked, &self.slots)?;
                    count += done.count;
                    if done.stopped_at.is_some() {
                        seen.busy = done.stopped_at;
                    }
                }
                if let Some(i) = seen.busy {
                    if count < limit && self.settle(rt, page, i, change)? {
                        count += 1;
                    }
                    seen.next = i + 1;
                }
                from = seen.next;
            }
        }
        Ok(count)
    }

    /// Tests the rows of a page from `first` on, up to one that someone else is changing, or until `limit` are picked.
    fn pick(&mut self, rt: &mut Rt<'_, '_>, scan: &Scan, first: usize, limit: u64) -> Result<Seen, SqlError> {
        let (plan, page) = (self.plan, scan.rows());
        self.slots.reset(plan.width());
        self.picked.clear();
        for i in first..page.len() {
            if self.picked.len() as u64 >= limit {
                return Ok(Seen { busy: None, next: i });
            }
            let writer = page.header(i).txn;
            if writer != self.quiet {
                if rt.session().txn(self.db)?.active_elsewhere(writer) {
                    return Ok(Seen { busy: Some(i), next: i + 1 });
                }
                self.quiet = writer;
            }
            if page.is_ghost(i) {
                if !scan.is_gone(i, rt.session().txn(self.db)?.id()) {
                    return Ok(Seen { busy: Some(i), next: i + 1 });
                }
                continue;
            }
            let slots = self.slots.push_row();
            plan.store.columns(self.db, page.row(i), &plan.columns[..plan.tested], slots)?;
            if let Some(pred) = &plan.pred
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
        Ok(Seen { busy: None, next: page.len() })
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
            // A clustered key that no longer satisfies the seek means another key, so the row is found elsewhere.
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
                    row[*slot] = store.column(db, lookup.row(0), usize::from(*column))?;
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
        let mut op = crate::exec::open::start(&self.plan, rt);
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

/// 3960 when the newest version of a row (none: it is gone) is not the snapshot's and not the transaction's own.
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
            return Ok(Limit { rows, percent: Some(crate::exec::top::percent(&value)?) });
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
