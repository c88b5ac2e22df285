//! UPDATE of the partitioning column of a partitioned view: rows that belong to another table then
//! are deleted from theirs and inserted there.
//!
//! ```text
//! for each table:  rows ─► new values ─► same table:    changed in place
//!                                     ─► another table: deleted; the new row is kept in a run file
//! for each table:  the rows that have come to it are inserted
//! ```
//! Guarantees: no row meets a change of the statement's own; what follows from the rows (keys,
//! indexed views) is tested when all of them are where they belong.

use std::sync::Arc;

use super::super::change::{self, ChangePlan, KeptChange, TableChange, WrittenRows};
use super::super::delete::RowDelete;
use super::super::loader::Loader;
use super::super::new_row::NewRows;
use super::super::output::OutputOutlet;
use super::super::row_change::{PageProgress, RowChange};
use super::super::set::SetClause;
use super::super::source::{Purpose, RowClauses, dml_source, plan_target};
use super::super::target::{Limit, RowsTarget};
use super::super::update::row::RowUpdate;
use super::changing::ChangingMember;
use super::domain::Routes;
use super::refusals;
use super::turns::in_turn;
use crate::shown::ChangeSource;
use access::RowBatch;
use catalog::Db;
use exec::operators::RowSet;
use exec::operators::context::ExecCtx;
use exec::operators::query::lock_tables;
use exec::operators::row_store::{Cursor, RowStore};
use exec::operators::rt::Rt;
use expr::ColId;
use logical::hints::TableLock;
use plan::Needs;
use plan::statement::Statement;
use session::state::changes::Action;
use storage::TableStore;
use storage::write::StoredRow;
use syntax::ast;
use types::{SqlError, Value, pack_row};

/// The part of the UPDATE that is one table's.
#[derive(Debug)]
pub struct MovePlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    target: RowsTarget,
    set: SetClause,
    /// CHECK, foreign keys, indexed views of rows that stay, that go and that come.
    update: ChangePlan,
    delete: ChangePlan,
    rows: NewRows,
    lock: TableLock,
    /// The partitioning column.
    key: usize,
    /// The columns in the order of the view.
    columns: Vec<usize>,
    pub(super) needs: Needs,
}

/// Compiles the part of one table.
///
/// # Errors
/// Those of UPDATE.
pub fn compile(
    changing: &ChangingMember<'_>,
    at: usize,
    binder: &mut Statement<'_>,
    update: &ast::Update,
) -> Result<MovePlan, SqlError> {
    binder.push_ctes(&update.ctes)?;
    let rows = RowClauses {
        target: &update.target,
        from: &update.from,
        filter: update.filter.as_ref(),
        hints: &update.hints,
    };
    let bound = dml_source(binder, &rows, Purpose::Update(&update.assignments))?;
    let (lock, view) = (bound.lock, bound.view());
    let get = bound.get.clone();
    let (db, table) = (get.db.clone(), get.table.clone());
    let mut set = SetClause::bind(binder, &get, &update.assignments, &|name| bound.position(name))?;
    let mut needed: Vec<ColId> = Vec::new();
    set.needed(&mut needed);
    needed.iter().for_each(|id| binder.rights.mentions(*id));
    let (mut target, cols) = plan_target(binder, bound, &needed, true, None)?;
    if let RowsTarget::Current(current) = &mut target {
        current.sets.clone_from(&set.changed);
    }
    binder.scopes.pop();
    set.plan(&cols)?;
    let of = |action, columns| TableChange {
        verb: Action::Update.word(),
        view: view.as_ref(),
        ..TableChange::new(&db, &table, action, columns)
    };
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let steps = [of(Action::Update, &set.changed[..]), of(Action::Delete, &[][..])];
    let [stay, go] = steps.map(|steps| change::compile(binder, &steps, changing.cascade));
    let mut rows = NewRows::compile(binder, &of(Action::Insert, &all), &all, changing.cascade)?;
    // UPDATE leaves out no row.
    rows.ignores = false;
    let member = &changing.view.members()[at];
    let columns =
        (0..changing.view.width()).map(|at| member.column(at)).collect::<Result<_, _>>()?;
    Ok(MovePlan {
        store: TableStore::open(&db, &table)?,
        target,
        set,
        update: stay?,
        delete: go?,
        rows,
        lock,
        key: member.column(changing.view.key())?,
        columns,
        needs: plan::physical::needs(binder)?,
        db,
    })
}

/// Runs the statement; returns how many rows were changed.
///
/// # Errors
/// Those of UPDATE, DELETE and INSERT; 4457 a row belongs to no table.
pub fn run(plans: &[MovePlan], routes: &Routes, ctx: &mut ExecCtx<'_>) -> Result<u64, SqlError> {
    plans.iter().try_for_each(|plan| plan.lock(ctx))?;
    let grant = ctx.session.shared.grants.add(ctx.session.query_memory());
    let files = ctx.session.host().run_files().clone();
    let mut away = LeavingRows { rows: Vec::with_capacity(plans.len()), homeless: false };
    for _ in plans {
        away.rows.push(RowStore::new(files.clone(), grant.share()));
    }
    let mut left =
        in_turn(ctx, plans.len(), |at, ctx| plans[at].leave(at, routes, &mut away, ctx))?;
    let mut come = Vec::with_capacity(plans.len());
    for (plan, rows) in plans.iter().zip(&away.rows) {
        come.push(plan.arrive(rows, ctx)?);
    }
    // What a table says of its rows comes first.
    if away.homeless {
        return Err(refusals::no_partition());
    }
    let mut changes = Vec::with_capacity(3 * plans.len());
    for (plan, left) in plans.iter().zip(&mut left) {
        changes.push((&plan.update, left.stayed.take()));
        changes.push((&plan.delete, left.rows.kept.take()));
    }
    for (plan, come) in plans.iter().zip(&mut come) {
        changes.push((&plan.rows.change, come.kept.take()));
    }
    change::finish_all(ctx, changes)?;
    for (plan, left) in plans.iter().zip(&left) {
        let table = &plan.store.table;
        table.state.updated(left.rows.count - left.gone, plan.set.bits);
        ctx.session.deleted(&plan.db, table, left.gone);
    }
    for (plan, come) in plans.iter().zip(&come) {
        ctx.session.inserted(&plan.db, &plan.store.table, come.count);
    }
    Ok(left.iter().map(|left| left.rows.count).sum())
}

/// Rows that have left their tables.
struct LeavingRows {
    /// By the table that they go to, in the order of the view's columns.
    rows: Vec<RowStore>,
    /// Some go to none.
    homeless: bool,
}

/// What a table's own rows have come to.
struct OwnRows {
    /// All that were changed; what is kept of those that are gone.
    rows: WrittenRows,
    gone: u64,
    /// What is kept of those that are not.
    stayed: Option<Box<KeptChange>>,
}

impl AsRef<WrittenRows> for OwnRows {
    fn as_ref(&self) -> &WrittenRows {
        &self.rows
    }
}

impl MovePlan {
    /// Its table, where its rows come from, and the columns that it sets, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, ChangeSource<'_>, Option<&[usize]>) {
        (&self.db, &self.store, self.target.shown(), self.set.unless_moved(&self.store))
    }

    fn lock(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        lock_tables(&self.needs, ctx)
    }

    /// Changes the rows that stay, and takes away those that go.
    fn leave(
        &self,
        at: usize,
        routes: &Routes,
        away: &mut LeavingRows,
        ctx: &mut ExecCtx<'_>,
    ) -> Result<OwnRows, SqlError> {
        if !self.set.vars.is_empty() {
            ctx.session.shows_newest(&self.db)?;
        }
        let mut nobody: Vec<Vec<Value>> = Vec::new();
        let out = OutputOutlet::begin(None, ctx, &mut nobody)?;
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = Limit::of(None, &mut rt)?;
        let mut moving = MovingRows {
            plan: self,
            at,
            routes,
            away,
            stay: RowUpdate::new(&self.db, &self.store, &self.update, &self.set),
            go: RowDelete::new(&self.db, &self.store, &self.delete, self.delete.sees_rows()),
            gone: 0,
            row: Vec::with_capacity(self.columns.len()),
            packed: Vec::new(),
            out,
        };
        let count = self.target.run(&self.db, &self.store, &mut rt, limit, &mut moving)?;
        let MovingRows { stay, go, gone, out, .. } = moving;
        let stayed = stay.finish(&mut rt)?;
        out.finish(&mut rt)?.send()?;
        Ok(OwnRows { rows: WrittenRows::new(count, go.kept, rt.suspend()), gone, stayed })
    }

    /// Inserts the rows that have come from other tables.
    fn arrive(&self, rows: &RowStore, ctx: &mut ExecCtx<'_>) -> Result<WrittenRows, SqlError> {
        let mut rt = Rt::new(ctx, &self.needs);
        let mut kept = self.rows.change.begin();
        let mut loader = Loader::new(&self.db, &self.store);
        let (mut cursor, mut row) = (Cursor::default(), vec![Value::Null; self.columns.len()]);
        let mut values = vec![Value::Null; self.store.table.columns.len()];
        for at in 0..rows.len() {
            rows.read(at, &mut cursor, &mut row)?;
            for (column, value) in self.columns.iter().zip(&mut row) {
                values[*column] = std::mem::take(value);
            }
            self.rows.complete(&mut values, false, &mut rt)?;
            self.rows.load(&values, &mut loader, &mut kept, &mut rt)?;
        }
        let count = loader.finish(&mut rt)?;
        Ok(WrittenRows::new(count, kept, rt.suspend()))
    }
}

/// Rows of a table that is being changed.
struct MovingRows<'p> {
    plan: &'p MovePlan,
    /// The table's place among those of the view.
    at: usize,
    routes: &'p Routes,
    away: &'p mut LeavingRows,
    stay: RowUpdate<'p>,
    go: RowDelete<'p>,
    gone: u64,
    /// A row in the order of the view's columns, and packed.
    row: Vec<Value>,
    packed: Vec<u8>,
    out: OutputOutlet<'p>,
}

impl MovingRows<'_> {
    /// Keeps the row that was prepared, for its table.
    fn keep(&mut self, to: Option<usize>) -> Result<(), SqlError> {
        self.gone += 1;
        let rows = match to {
            Some(to) => self.away.rows.get_mut(to),
            None => None,
        };
        let Some(rows) = rows else {
            self.away.homeless = true;
            return Ok(());
        };
        self.row.clear();
        self.row.extend(self.plan.columns.iter().map(|column| self.stay.new[*column].clone()));
        self.packed.clear();
        pack_row(&self.row, &mut self.packed);
        rows.push(&self.packed)
    }
}

impl RowChange for MovingRows<'_> {
    fn page(
        &mut self,
        _: &mut Rt<'_, '_>,
        _: &RowBatch,
        _: &[usize],
        _: &RowSet,
    ) -> Result<PageProgress, SqlError> {
        Err(SqlError::internal("rows that may move are found first, then changed"))
    }

    fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: StoredRow<'_>,
        slots: &[Value],
    ) -> Result<bool, SqlError> {
        self.stay.prepare(rt, row.bytes, slots)?;
        let to = self.routes.find(&self.stay.new[self.plan.key]);
        if to == Some(self.at) {
            return self.stay.write(rt, row, slots, &mut self.out);
        }
        if !self.go.one(rt, row, slots, &mut self.out)? {
            return Ok(false);
        }
        self.stay.assign(slots, rt)?;
        self.keep(to)?;
        Ok(true)
    }
}
