//! What one run of a statement keeps, and hands to its operators and expressions at each call.

use std::collections::HashSet;
use std::sync::Arc;

use expr::KeptList;
use expr::key::ValueKey;
use types::{SqlError, Value};

use crate::operators::context::ExecCtx;
use catalog::Db;
use logical::tree::WorkSource;
use plan::Needs;
use plan::nodes::Plan;
use session::query_memory::{Share, StatementMemory};
use session::state::SessionCore;
use session::state::changes::KeptRows;
use txn::SnapshotGuard;

/// A kept result.
#[derive(Debug, Default)]
pub(crate) enum SubState {
    #[default]
    Unknown,
    Scalar(Value),
    Exists(bool),
    /// All values of the column, and the set of them for equality; whether a NULL was among them.
    List {
        values: Vec<Value>,
        set: HashSet<ValueKey>,
        has_null: bool,
    },
}

/// Where a scan begins that goes on from a row which an earlier run has given, and how many rows it
/// gives at a time.
#[derive(Clone, Debug)]
pub(crate) struct ScanPlace {
    /// Key of that row in the structure that is read; none for an end of it.
    pub key: Option<Vec<u8>>,
    /// The row with that key is given too.
    pub inclusive: bool,
    /// Against the direction of the plan.
    pub reverse: bool,
    pub most: usize,
}

/// What one run of a statement keeps between its batches: parameters of inner plans, results of
/// subqueries that need no second run, the statement's clock, memory in use. It borrows nothing.
#[derive(Default)]
pub struct RunState {
    pub(super) params: Vec<Value>,
    pub(super) subs: Vec<SubState>,
    /// Nanoseconds since 1970 when the statement first asked for the time.
    pub(super) clock: Option<i128>,
    /// Values of RAND(), by the number of the call.
    pub(super) once: Vec<Option<f64>>,
    /// What the statement keeps in memory to its end; the grant of its operators.
    pub memory: StatementMemory,
    /// Where the first scan of the run begins, when not where its path does.
    pub(super) place: Option<Box<ScanPlace>>,
    /// State that few executions need.
    rare: Option<Box<RareState>>,
}

/// State that few executions need. It is boxed, so that the others do not look at it when they end.
#[derive(Default)]
struct RareState {
    /// The last round of each recursive query.
    rounds: Vec<Option<Arc<KeptRows>>>,
    /// The values of IN lists with variables, by their numbers.
    lists: Vec<KeptList>,
    /// The snapshots that an execution reads which is suspended between batches, by database. Other
    /// statements take new ones meanwhile.
    snapshots: Option<Vec<(Arc<Db>, Arc<SnapshotGuard>)>>,
    /// How many rows the run has locked that stay locked, by database and table.
    locked: Vec<((i32, i32), usize)>,
}

impl RunState {
    /// The state of an execution that goes on from a row.
    pub(crate) fn from_place(place: ScanPlace) -> RunState {
        RunState { place: Some(Box::new(place)), ..RunState::default() }
    }

    /// Waits until what a suspended run has read so far is durable, or has that waited for before
    /// the session's answer is sent.
    ///
    /// # Errors
    /// Those of the log.
    pub fn acknowledge(&self, session: &SessionCore) -> Result<(), SqlError> {
        let mut snapshots = self.rare.iter().flat_map(|rare| rare.snapshots.iter().flatten());
        snapshots.try_for_each(|(db, guard)| session.await_snapshot(db, guard))
    }

    /// Rows that the run begins with, by their number.
    pub fn keep_rows(&mut self, work: usize, rows: KeptRows) {
        let rounds = &mut self.rare.get_or_insert_default().rounds;
        if rounds.len() <= work {
            rounds.resize(work + 1, None);
        }
        rounds[work] = Some(Arc::new(rows));
    }

    /// The state of an execution that is suspended while other statements of the session run.
    pub(crate) fn suspendable() -> RunState {
        let rare = RareState { snapshots: Some(Vec::new()), ..RareState::default() };
        RunState { rare: Some(Box::new(rare)), ..RunState::default() }
    }
}

/// A run of a statement while it is at work: what it keeps, the session and its variables, the
/// plans of its subqueries.
pub struct Rt<'r, 's> {
    pub(super) ctx: &'r mut ExecCtx<'s>,
    /// Plans of the statement's subqueries.
    pub(super) subqueries: &'r [Arc<Plan>],
    pub(crate) state: RunState,
}

impl<'r, 's> Rt<'r, 's> {
    /// For a statement's run.
    #[inline]
    pub fn new(ctx: &'r mut ExecCtx<'s>, needs: &'r Needs) -> Rt<'r, 's> {
        Rt::resume(ctx, needs, RunState::default())
    }

    /// Goes on with a run that was suspended.
    #[inline]
    pub fn resume(ctx: &'r mut ExecCtx<'s>, needs: &'r Needs, state: RunState) -> Rt<'r, 's> {
        Rt { ctx, subqueries: &needs.subqueries, state }
    }

    /// What the run keeps until it goes on.
    #[inline]
    pub fn suspend(self) -> RunState {
        self.state
    }

    /// Counts a row of a table that stays locked; how many the run has locked of it by now,
    /// whichever scans did.
    pub(super) fn count_lock(&mut self, table: (i32, i32)) -> usize {
        let locked = &mut self.state.rare.get_or_insert_default().locked;
        let at = locked.iter().position(|(known, _)| *known == table).unwrap_or_else(|| {
            locked.push((table, 0));
            locked.len() - 1
        });
        locked[at].1 += 1;
        locked[at].1
    }

    /// Whether other statements of the session come between its batches.
    #[inline]
    pub(crate) fn is_suspendable(&self) -> bool {
        self.state.rare.as_ref().is_some_and(|rare| rare.snapshots.is_some())
    }

    /// The snapshot in which the run reads a database.
    ///
    /// # Errors
    /// Those of opening a transaction.
    pub fn snapshot(&mut self, db: &Arc<Db>) -> Result<Arc<SnapshotGuard>, SqlError> {
        let kept = self.state.rare.as_mut().and_then(|rare| rare.snapshots.as_mut());
        let Some(kept) = kept else { return self.ctx.session.snapshot(db) };
        if let Some((_, guard)) = kept.iter().find(|(known, _)| Arc::ptr_eq(known, db)) {
            return Ok(guard.clone());
        }
        let guard = self.ctx.session.snapshot(db)?;
        kept.push((db.clone(), guard.clone()));
        Ok(guard)
    }

    /// The rows that a plan names by their source.
    ///
    /// # Errors
    /// Internal: `inserted` or `deleted` where no rows are being changed.
    pub(crate) fn kept_rows(&mut self, source: WorkSource) -> Result<Arc<KeptRows>, SqlError> {
        let changes = self.ctx.session.run.triggers.changes.as_ref();
        let rows = match source {
            WorkSource::Inserted => changes.map(|changes| changes.inserted.clone()),
            WorkSource::Deleted => changes.map(|changes| changes.deleted.clone()),
            WorkSource::Recursion(work) => {
                let rounds = self.state.rare.as_ref().map(|rare| &rare.rounds);
                rounds.and_then(|rounds| rounds.get(work).cloned().flatten())
            }
        };
        rows.ok_or_else(|| SqlError::internal("the statement keeps no such rows"))
    }

    /// What the run knows of an IN list.
    pub(super) fn kept_list(&mut self, number: usize) -> &mut KeptList {
        let lists = &mut self.state.rare.get_or_insert_default().lists;
        if lists.len() <= number {
            lists.resize_with(number + 1, KeptList::default);
        }
        &mut lists[number]
    }

    /// A round of a recursive query has ended with these rows.
    pub(crate) fn set_round(&mut self, work: usize, rows: Arc<KeptRows>) {
        let rounds = &mut self.state.rare.get_or_insert_default().rounds;
        if rounds.len() <= work {
            rounds.resize(work + 1, None);
        }
        rounds[work] = Some(rows);
    }

    /// Takes memory to the end of the statement.
    ///
    /// # Errors
    /// 701.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        if self.state.memory.count(bytes) {
            return Ok(());
        }
        let session = &*self.ctx.session;
        self.state.memory.take_counted(&session.shared.grants, session.query_memory())
    }

    /// A share of the statement's grant, for an operator.
    pub fn share(&mut self) -> Share {
        let session = &*self.ctx.session;
        self.state.memory.grant(&session.shared.grants, session.query_memory()).share()
    }

    /// The session.
    #[inline]
    pub fn session(&mut self) -> &mut SessionCore {
        self.ctx.session
    }

    /// Sets a variable.
    #[inline]
    pub fn set_var(&mut self, slot: usize, value: Value) {
        if let Some(place) = self.ctx.vars.get_mut(slot) {
            *place = value;
        }
    }

    /// All variables.
    #[inline]
    pub fn vars_mut(&mut self) -> &mut [Value] {
        self.ctx.vars
    }

    /// Sets a parameter for an inner plan.
    #[inline]
    pub(crate) fn set_param(&mut self, slot: usize, value: Value) {
        if self.state.params.len() <= slot {
            self.state.params.resize(slot + 1, Value::Null);
        }
        self.state.params[slot] = value;
    }

    /// Error when the session was told to stop; called once per page or batch.
    #[inline]
    pub fn check_cancel(&self) -> Result<(), SqlError> {
        self.ctx.session.check_cancel()
    }
}
