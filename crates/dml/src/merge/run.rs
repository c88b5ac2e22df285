//! Running MERGE: the joined rows are kept with what becomes of them; then deletes and updates,
//! then inserts.

use std::collections::HashMap;

use super::{Clause, ClauseAction, JoinedCase, MergePlan};
use crate::change::{ChangePlan, KeptChange, finish_all};
use crate::delete::RowDelete;
use crate::loader::Loader;
use crate::output::{OutputOutlet, OutputRow};
use crate::row_change::no_conflict;
use crate::set::SetClause;
use crate::target::{Limit, encode_locator};
use crate::update::row::RowUpdate;
use access::RowBatch;
use exec::operators::RowSet;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::open::start;
use exec::operators::rt::Rt;
use expr::Expr;
use session::query_memory::row_bytes;
use session::state::changes::Action as Kind;
use storage::write::{Locator, StoredRow, read_current};
use types::{SqlError, Value, msg};

/// A joined row and its clause.
type ChosenClause<'p> = (Box<[Value]>, &'p Clause);

/// How a row that was just read is changed; false when someone else has changed it in between.
type ChangeOne<'c> =
    &'c mut dyn FnMut(&mut Rt<'_, '_>, StoredRow<'_>, &[Value]) -> Result<bool, SqlError>;

/// Rows that were inserted, updated and deleted.
#[derive(Default)]
struct MergeCounts {
    inserted: u64,
    updated: u64,
    deleted: u64,
}

impl MergePlan {
    /// Whether something but triggers comes after the rows of one of its changes.
    fn is_followed(&self) -> bool {
        let inserts = self.inserts.as_ref().map(|rows| &rows.change);
        [inserts, self.updates.as_ref(), self.deletes.as_ref()]
            .into_iter()
            .flatten()
            .any(ChangePlan::is_followed)
    }

    /// Runs the statement; gives how many rows it has changed in all.
    ///
    /// # Errors
    /// 8672; those of the changes.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        if let Some(rows) = &self.inserts {
            rows.check_identity(ctx)?;
        }
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        ctx.session.shows_newest(&self.db)?;
        exec::operators::query::lock_tables(&self.needs, ctx)?;
        let mut out =
            OutputOutlet::begin(self.output.as_ref(), ctx, out)?.holding(self.is_followed());
        let mut rt = Rt::new(ctx, &self.needs);
        let chosen = self.choose(&mut rt)?;
        let mut counts = MergeCounts::default();
        let new_rows = self.new_rows_ahead(&chosen, &mut rt)?;
        let [updated, deleted] = self.change_rows(&chosen, &mut rt, &mut out, &mut counts)?;
        let inserted = self.insert_rows(&chosen, new_rows, &mut rt, &mut out, &mut counts)?;
        let waiting = out.finish(&mut rt)?;
        let changes = [
            self.inserts.as_ref().map(|rows| (&rows.change, inserted)),
            self.updates.as_ref().map(|change| (change, updated)),
            self.deletes.as_ref().map(|change| (change, deleted)),
        ];
        finish_all(ctx, changes.into_iter().flatten().collect())?;
        waiting.send()?;
        let total = counts.inserted + counts.updated + counts.deleted;
        if self.is_instead() {
            return Ok(total);
        }
        let table = &self.store.table;
        // Whichever columns each clause sets.
        table.state.updated(counts.updated, u64::MAX);
        ctx.session.inserted(&self.db, table, counts.inserted);
        ctx.session.deleted(&self.db, table, counts.deleted);
        Ok(total)
    }

    /// Whether triggers stand in the place of all of its actions.
    fn is_instead(&self) -> bool {
        let inserts = self.inserts.as_ref().map(|rows| &rows.change);
        inserts.into_iter().chain(&self.updates).chain(&self.deletes).any(ChangePlan::is_instead)
    }

    /// Reads all rows and finds the clause of each.
    fn choose(&self, rt: &mut Rt<'_, '_>) -> Result<Vec<ChosenClause<'_>>, SqlError> {
        let mut chosen: Vec<ChosenClause<'_>> = Vec::new();
        // Rows of the target that have an action: whether it is an UPDATE.
        let mut met: HashMap<Vec<u8>, bool> = HashMap::new();
        let mut batch = RowSet::default();
        let mut op = start(&self.plan, rt);
        while op.next(rt, &mut batch)? {
            for i in 0..batch.len() {
                let row = batch.row(i);
                let Some(clause) = self.clause_of(row, rt)? else { continue };
                if clause.case != JoinedCase::SourceOnly {
                    let mut key = Vec::new();
                    encode_locator(&row[0], &mut key);
                    rt.reserve(key.len())?;
                    let updates = matches!(clause.action, ClauseAction::Update(_));
                    match met.insert(key, updates) {
                        None => {}
                        Some(before) if before || updates => return Err(twice()),
                        // Deleted once is deleted.
                        Some(_) => continue,
                    }
                }
                rt.reserve(row_bytes(row))?;
                chosen.push((row.into(), clause));
            }
        }
        drop(op);
        let limit = Limit::of(self.top.as_ref(), rt)?.among(chosen.len());
        chosen.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(chosen)
    }

    fn clause_of(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<Option<&Clause>, SqlError> {
        let case = match (row[0].is_null(), row[1].is_null()) {
            (false, false) => JoinedCase::Both,
            (true, _) => JoinedCase::SourceOnly,
            (false, true) => JoinedCase::TargetOnly,
        };
        for clause in self.clauses.iter().filter(|clause| clause.case == case) {
            match &clause.condition {
                Some(condition) if !condition.is_true(row, rt)? => {}
                _ => return Ok(Some(clause)),
            }
        }
        Ok(None)
    }

    /// Updates and deletes; gives what is kept of both.
    fn change_rows(
        &self,
        chosen: &[ChosenClause<'_>],
        rt: &mut Rt<'_, '_>,
        out: &mut OutputOutlet<'_>,
        counts: &mut MergeCounts,
    ) -> Result<[Option<Box<KeptChange>>; 2], SqlError> {
        let nothing = SetClause::default();
        let mut update = self
            .updates
            .as_ref()
            .map(|change| RowUpdate::new(&self.db, &self.store, change, &nothing));
        let mut delete = self.deletes.as_ref().map(|change| {
            let seen = self.output.is_some() || change.sees_rows();
            RowDelete::new(&self.db, &self.store, change, seen)
        });
        let mut ahead = match &mut update {
            Some(update) => values_ahead(chosen, update, rt)?,
            None => HashMap::new(),
        };
        let mut lookup = RowBatch::new();
        let mut slots = Vec::new();
        for (at, (row, clause)) in chosen.iter().enumerate() {
            match (&clause.action, &mut update, &mut delete) {
                (ClauseAction::Update(set), Some(update), _) => {
                    update.set = set;
                    update.ahead = ahead.remove(&at);
                    let mut one = |rt: &mut Rt<'_, '_>, row: StoredRow<'_>, slots: &[Value]| {
                        update.one(rt, row, slots, out)
                    };
                    counts.updated +=
                        self.change_row(row, &mut slots, &mut lookup, rt, &mut one)?;
                }
                (ClauseAction::Delete, _, Some(delete)) => {
                    let mut one = |rt: &mut Rt<'_, '_>, row: StoredRow<'_>, slots: &[Value]| {
                        delete.one(rt, row, slots, out)
                    };
                    counts.deleted +=
                        self.change_row(row, &mut slots, &mut lookup, rt, &mut one)?;
                }
                _ => {}
            }
        }
        let updated = match update {
            None => None,
            Some(update) => update.finish(rt)?,
        };
        Ok([updated, delete.and_then(|delete| delete.kept)])
    }

    /// Reads a row of the target as it is now and changes it; 0 when it is gone.
    fn change_row(
        &self,
        row: &[Value],
        slots: &mut Vec<Value>,
        lookup: &mut RowBatch,
        rt: &mut Rt<'_, '_>,
        one: ChangeOne<'_>,
    ) -> Result<u64, SqlError> {
        rt.check_cancel()?;
        slots.clear();
        slots.extend_from_slice(row);
        let locator = Locator::of(&row[0])?;
        loop {
            let txn = rt.session().txn(&self.db)?;
            let found = read_current(&self.db, txn, &self.store, &row[0], lookup)?;
            if self.snapshot {
                no_conflict(&self.db, &self.store, rt, lookup)?;
            }
            if !found {
                return Ok(0);
            }
            for (slot, column) in &self.own {
                slots[*slot] = self.store.column(&self.db, lookup.row(0), usize::from(*column))?;
            }
            if one(rt, StoredRow::first(&locator, lookup), slots)? {
                return Ok(1);
            }
        }
    }

    /// New rows whose values have subqueries, by their places: computed before any row is changed,
    /// as the subqueries may read the target.
    fn new_rows_ahead(
        &self,
        chosen: &[ChosenClause<'_>],
        rt: &mut Rt<'_, '_>,
    ) -> Result<HashMap<usize, Vec<Value>>, SqlError> {
        let mut ahead = HashMap::new();
        let Some(rows) = &self.inserts else { return Ok(ahead) };
        for (at, (row, clause)) in chosen.iter().enumerate() {
            let ClauseAction::Insert(exprs) = &clause.action else { continue };
            if exprs.iter().any(Expr::has_subquery) {
                rt.check_cancel()?;
                let mut values = vec![Value::Null; self.store.table.columns.len()];
                rows.compute(exprs, row, rt, &mut values)?;
                rt.reserve(row_bytes(&values))?;
                ahead.insert(at, values);
            }
        }
        Ok(ahead)
    }

    fn insert_rows(
        &self,
        chosen: &[ChosenClause<'_>],
        mut ahead: HashMap<usize, Vec<Value>>,
        rt: &mut Rt<'_, '_>,
        out: &mut OutputOutlet<'_>,
        counts: &mut MergeCounts,
    ) -> Result<Option<Box<KeptChange>>, SqlError> {
        let Some(rows) = &self.inserts else { return Ok(None) };
        let mut kept = rows.change.begin();
        let mut loader = Loader::new(&self.db, &self.store);
        let mut values = vec![Value::Null; self.store.table.columns.len()];
        for (at, (row, clause)) in chosen.iter().enumerate() {
            let ClauseAction::Insert(exprs) = &clause.action else { continue };
            match ahead.remove(&at) {
                Some(known) => values = known,
                None => rows.compute(exprs, row, rt, &mut values)?,
            }
            rows.complete(&mut values, true, rt)?;
            if rows.load(&values, &mut loader, &mut kept, rt)? {
                out.give(
                    &OutputRow { deleted: &[], inserted: &values, row, action: Kind::Insert },
                    rt,
                )?;
            }
        }
        let written = loader.finish(rt)?;
        counts.inserted = match &kept {
            Some(kept) if rows.change.is_instead() => kept.count(),
            _ => written,
        };
        Ok(kept)
    }
}

/// The values of rows whose SET has subqueries, by their places: computed before any row is
/// changed, as the subqueries may read the target. Its rows are locked, or a change by others is an
/// error.
fn values_ahead<'p>(
    chosen: &[ChosenClause<'p>],
    update: &mut RowUpdate<'p>,
    rt: &mut Rt<'_, '_>,
) -> Result<HashMap<usize, Vec<Value>>, SqlError> {
    let mut ahead = HashMap::new();
    for (at, (row, clause)) in chosen.iter().enumerate() {
        let ClauseAction::Update(set) = &clause.action else { continue };
        // A variable that is set has another value at each row, as it is changed.
        if set.has_subquery() && set.vars.is_empty() {
            rt.check_cancel()?;
            update.set = set;
            update.compute(row, rt)?;
            rt.reserve(row_bytes(&update.values))?;
            ahead.insert(at, std::mem::take(&mut update.values));
        }
    }
    Ok(ahead)
}

/// 8672.
fn twice() -> SqlError {
    SqlError::of(msg::MERGE_SAME_ROW_TWICE, [])
}
