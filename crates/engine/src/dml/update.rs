//! UPDATE. Where no index holds a changed column, rows are changed page by page with one log record per page, and
//! fixed-length columns are patched in a copy of the row instead of encoding it anew. One row by its key takes a short way
//! ([`point`]).

mod point;

use super::change::{self, ChangePlan, CompileCascade, Kept, TableChange};
use super::output::{self, Images, OutputPlan};
use super::target::{Progress, RowChange, Target, dml_source, limit_of, plan_target, wait_for};
use super::values::{column_value, default_of, into_column, null_error};
use crate::exec::RowSet;
use crate::exec::context::{ExecCtx, RowSink};
use crate::exec::memory::row_bytes;
use crate::exec::rt::Rt;
use crate::explain::Source;
use crate::state::changes::Action;
use access::{Change, EntryChange, HeapChange, Outcome, RowBatch};
use catalog::Db;
use catalog::TableDef;
use catalog::fold_name;
use catalog::statistics::column_bit;
use expr::{ColId, Expr, Typed, bind_ops};
use pages::RowHeader;
use plan::Needs;
use plan::bind::deduce::Wanted;
use plan::bind::scope::Clause;
use plan::bind::select::compound;
use plan::bind::{Binder, unsupported};
use plan::hints::TableLock;
use plan::logical::Get;
use plan::physical::slots;
use std::sync::Arc;
use storage::write::{Locator, Rest, RowWriter, touches, wait_for_lock};
use storage::{Base, TableStore, access_error};
use syntax::ast::{self, Assignment, ExprKind};
use types::convert::Mode;
use types::{SqlError, Value};

/// A compiled UPDATE.
#[derive(Debug)]
pub struct UpdatePlan {
    db: Arc<Db>,
    store: Arc<TableStore>,
    target: Target,
    sets: Vec<SetColumn>,
    /// `@v = x` and `@v = column = x`: slot, value over the row's slots, or the new value of a set column.
    vars: Vec<(usize, VarValue)>,
    /// Columns that are set.
    changed: Vec<usize>,
    /// The same as bits of `column_bit`.
    changed_bits: u64,
    /// Some nonclustered index holds a changed column, a large value may be one, or each row is seen by itself (OUTPUT,
    /// variables).
    row_by_row: bool,
    top: Option<Expr>,
    output: Option<OutputPlan>,
    /// CHECK, foreign keys, triggers.
    change: ChangePlan,
    lock: TableLock,
    /// One row by its whole key, and nothing but its bytes changes: see [`point`].
    point: bool,
    pub(super) needs: Needs,
}

#[derive(Debug)]
enum VarValue {
    Expr(Expr),
    /// The new value of `sets[i]`, converted.
    Set(usize, Expr),
}

/// `column = x`.
#[derive(Debug)]
struct SetColumn {
    column: usize,
    expr: Expr,
    /// How to write the value into a row without encoding the others.
    patch: Option<Patch>,
}

/// Where the bytes of a fixed-length column lie.
#[derive(Clone, Copy, Debug)]
struct Patch {
    offset: usize,
    width: usize,
}

fn patch_of(table: &TableDef, column: usize) -> Option<Patch> {
    let (offset, width) = table.layout.fixed_place(column)?;
    Some(Patch { offset, width })
}

/// Compiles UPDATE.
pub fn compile(
    binder: &mut Binder<'_>,
    update: &ast::Update,
    compile_cascade: CompileCascade,
) -> Result<UpdatePlan, SqlError> {
    binder.push_ctes(&update.ctes);
    let bound = dml_source(binder, &update.target, &update.from, update.filter.as_ref(), &update.hints)?;
    let lock = bound.lock;
    let get = bound.get.clone();
    let (db, table) = (get.db.clone(), get.table.clone());
    let (mut sets, mut vars) = (Vec::new(), Vec::new());
    for assignment in &update.assignments {
        bind_assignment(binder, &get, assignment, &mut sets, &mut vars)?;
    }
    let top = match &update.top {
        Some(top) if top.percent => return Err(unsupported("UPDATE TOP (n) PERCENT")),
        Some(top) => binder.top(top, Vec::new())?.count,
        None => None,
    };
    let changed: Vec<usize> = sets.iter().map(|s| s.column).collect();
    let mut needed: Vec<ColId> = Vec::new();
    sets.iter().for_each(|s| s.expr.columns(&mut needed));
    for (_, value) in &vars {
        if let VarValue::Expr(e) = value {
            e.columns(&mut needed);
        }
    }
    needed.iter().for_each(|id| binder.rights.mentions(*id));
    let moves = table.storage.key.iter().any(|(c, _)| changed.contains(c));
    let (mut target, cols) = plan_target(binder, bound, &needed, moves)?;
    if let Target::Current(current) = &mut target {
        current.sets.clone_from(&changed);
    }
    binder.scopes.pop();
    for set in &mut sets {
        slots(&mut set.expr, &cols)?;
    }
    for (_, value) in &mut vars {
        if let VarValue::Expr(e) = value {
            slots(e, &cols)?;
        }
    }
    let output = output::compile(binder, (&db, &table), &update.output, Images::Both)?;
    let store = TableStore::open(&db, &table)?;
    let indexed = store.indexes.iter().any(|i| touches(i, &changed));
    let change = TableChange {
        db: &db,
        table: &table,
        action: Action::Update,
        columns: &changed,
        constraints: true,
        triggers: true,
    };
    let change = change::compile(binder.env, &mut binder.rights, &change, compile_cascade)?;
    change.check_output(output.is_some())?;
    let seen = output.is_some() || !vars.is_empty() || change.sees_rows();
    let row_by_row = indexed || !store.lob_columns.is_empty() || seen;
    let mut needs = plan::physical::needs(binder)?;
    // The lock on the target covers what reading it takes.
    needs.tables.retain(|used| {
        let covered = lock.mode.covers(used.lock.mode) && (lock.hold || !used.lock.hold);
        !(Arc::ptr_eq(&used.table, &table) && covered && !used.lock.no_wait)
    });
    let point = !row_by_row && top.is_none() && point::is_one(&target, &sets);
    Ok(UpdatePlan {
        db,
        store,
        target,
        sets,
        vars,
        changed_bits: changed.iter().fold(0, |all, c| all | column_bit(table.columns[*c].column_id)),
        changed,
        row_by_row,
        top,
        output,
        change,
        lock,
        point,
        needs,
    })
}

fn target_column(get: &Get, name: &ast::ColumnRef) -> Result<usize, SqlError> {
    let folded = fold_name(&name.name.value);
    let found = get.table.columns.iter().position(|c| fold_name(&c.name) == folded);
    found.ok_or_else(|| SqlError::new(207, 16, 1, format!("Invalid column name '{}'.", name.name.value)))
}

fn bind_assignment(
    binder: &mut Binder<'_>,
    get: &Get,
    assignment: &Assignment,
    sets: &mut Vec<SetColumn>,
    vars: &mut Vec<(usize, VarValue)>,
) -> Result<(), SqlError> {
    match assignment {
        Assignment::Variable { variable, op, value } => {
            binder.scope()?.clause = Clause::Select;
            let (slot, e) = binder.assignment(variable, *op, value)?;
            vars.push((slot, VarValue::Expr(e)));
        }
        Assignment::Column { variable, column, op, value } => {
            let at = target_column(get, column)?;
            let def = &get.table.columns[at];
            if def.identity.is_some() {
                let text = format!("Cannot update identity column '{}'.", def.name);
                return Err(SqlError::new(8102, 16, 1, text));
            }
            if sets.iter().any(|s| s.column == at) {
                let text = format!(
                    "The column name '{}' is specified more than once in the SET clause or column list of an \
                     INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause \
                     to make sure that a column is updated only once. If this statement updates or inserts columns \
                     into a view, column aliasing can conceal the duplication in your code.",
                    def.name
                );
                return Err(SqlError::new(264, 16, 1, text));
            }
            let expr = match &value.kind {
                ExprKind::Default => default_of(binder, &get.table, at)?,
                _ => {
                    binder.scope()?.clause = Clause::Where;
                    match compound(*op) {
                        None => binder.deduce(value, Wanted::Becomes(def.ty))?,
                        Some(_) => binder.deduce(value, Wanted::Ordered(def.ty))?,
                    }
                    let mut typed = binder.expr(value)?;
                    if let Some(op) = compound(*op) {
                        let own = Typed {
                            expr: Expr::Col(get.first + at as ColId),
                            ty: def.ty,
                            nullable: def.nullable,
                            collation: def.collation,
                            explicit_collation: false,
                        };
                        typed = binder.binary(op, own, typed)?;
                    }
                    into_column(typed, &get.table, at)?
                }
            };
            sets.push(SetColumn { column: at, expr, patch: patch_of(&get.table, at) });
            if let Some(variable) = variable {
                let (slot, ty) = binder.env.vars.find(variable)?;
                let new = Typed::new(Expr::Col(0), def.ty, true);
                let e = bind_ops::assigned(new, ty, Mode::Implicit)?;
                vars.push((slot, VarValue::Set(sets.len() - 1, e)));
            }
        }
        Assignment::Write { .. } => return Err(unsupported("The .WRITE clause")),
    }
    Ok(())
}

impl UpdatePlan {
    /// Its table and where the rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&Db, &TableStore, Source<'_>) {
        let source = self.target.shown();
        (&self.db, &self.store, source)
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// Runs the statement.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        ctx.session.lock_table(&self.db, &self.store.table, self.lock)?;
        self.db.check_writable()?;
        if self.output.is_some() || !self.vars.is_empty() {
            ctx.session.shows_newest(&self.db)?;
        }
        crate::exec::query::lock_tables(&self.needs, ctx)?;
        if self.point
            && let Some(count) = self.run_point(ctx)?
        {
            return Ok(count);
        }
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = limit_of(&self.top, &mut rt)?;
        let width = self.store.table.columns.len();
        let mut change = Updating {
            plan: self,
            writer: RowWriter::default(),
            values: Vec::with_capacity(self.sets.len()),
            old: vec![Value::Null; width],
            new: vec![Value::Null; width],
            rows: Vec::new(),
            ends: Vec::new(),
            rests: Vec::new(),
            kept: self.change.begin(),
            out,
        };
        let count = self.target.run(&self.db, &self.store, &mut rt, limit, &mut change)?;
        self.store.table.state.updated(count, self.changed_bits);
        let Updating { mut writer, rests, kept, .. } = change;
        for (rest, new) in &rests {
            rt.check_cancel()?;
            let txn = rt.session().txn(&self.db)?;
            writer.finish_update(&self.db, txn, &self.store, rest, new, &self.changed)?;
        }
        self.change.finish(ctx, kept)?;
        Ok(count)
    }
}

struct Updating<'p> {
    plan: &'p UpdatePlan,
    writer: RowWriter,
    /// New values of the set columns.
    values: Vec<Value>,
    old: Vec<Value>,
    new: Vec<Value>,
    /// New rows of a page, one after another.
    rows: Vec<u8>,
    ends: Vec<usize>,
    /// New keys that go in when all old ones are out, with the rows' values.
    rests: Vec<(Rest, Box<[Value]>)>,
    /// Rows for what follows the change.
    kept: Option<Box<Kept>>,
    out: &'p mut dyn RowSink,
}

impl Updating<'_> {
    /// Computes the new values of a row.
    fn compute(&mut self, slots: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let plan = self.plan;
        self.values.clear();
        for set in &plan.sets {
            let value = column_value(&set.expr, slots, rt, &plan.db, &plan.store.table, set.column)?;
            if value.is_null() && !plan.store.table.columns[set.column].nullable {
                return Err(null_error(&plan.db, &plan.store.table, set.column, "UPDATE"));
            }
            self.values.push(value);
        }
        Ok(())
    }

    /// Assigns variables, once for each row that was changed: `new` holds its columns.
    fn assign(&mut self, slots: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let plan = self.plan;
        for (slot, value) in &plan.vars {
            let value = match value {
                VarValue::Expr(e) => e.eval(slots, rt)?,
                VarValue::Set(at, e) => e.eval(std::slice::from_ref(&self.new[plan.sets[*at].column]), rt)?,
            };
            rt.set_var(*slot, value);
        }
        Ok(())
    }

    /// Appends the new row to `self.rows`: patched where all changed columns are of fixed length and not NULL.
    fn build(&mut self, row: &[u8]) -> Result<(), SqlError> {
        let start = self.rows.len();
        if !self.patch(row, start)? {
            self.rows.truncate(start);
            let store = &self.plan.store;
            store.all_columns(&self.plan.db, row, &mut self.new)?;
            for (set, value) in self.plan.sets.iter().zip(&mut self.values) {
                self.new[set.column] = std::mem::take(value);
            }
            store.table.layout.encode(&self.new, &mut self.rows)?;
        }
        self.ends.push(self.rows.len());
        Ok(())
    }

    fn patch(&mut self, row: &[u8], start: usize) -> Result<bool, SqlError> {
        self.rows.extend_from_slice(row);
        for (set, value) in self.plan.sets.iter().zip(&self.values) {
            let Some(patch) = &set.patch else { return Ok(false) };
            let there = self.plan.store.table.layout.raw_column(row, set.column);
            if value.is_null() || there.is_none() {
                return Ok(false);
            }
            let place = self.rows.get_mut(start + patch.offset..start + patch.offset + patch.width);
            let Some(place) = place else { return Ok(false) };
            self.plan.store.table.layout.put_fixed(set.column, value, place)?;
        }
        Ok(true)
    }

    fn apply(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
    ) -> Result<Progress, SqlError> {
        let (db, store) = (&self.plan.db, &self.plan.store);
        let txn = rt.session().txn(db)?;
        let fail = |e| access_error(db, e);
        let mut start = 0;
        let rows = self.ends.iter().map(|end| {
            let row = &self.rows[start..*end];
            start = *end;
            row
        });
        let mut done = Progress::default();
        let mut settle = |i: usize, outcome: Outcome<()>| match outcome {
            Outcome::Done(()) => done.count += 1,
            Outcome::Wait(_) | Outcome::Locked | Outcome::Changed => done.stopped_at = Some(i),
            Outcome::Missing | Outcome::Duplicate => {}
        };
        match &store.base {
            Base::Heap(heap) => {
                let changes = picked.iter().zip(rows);
                let mut changes: Vec<HeapChange<'_>> = changes
                    .map(|(i, row)| HeapChange::new(page.rid(*i), page.header(*i), Change::Update(row)))
                    .collect();
                let tried = heap.apply_batch(txn, &mut changes).map_err(fail)?;
                picked.iter().zip(changes).take(tried).for_each(|(i, c)| settle(*i, c.outcome));
            }
            Base::Tree(tree) => {
                let changes = picked.iter().zip(rows);
                let mut changes: Vec<EntryChange<'_>> = changes
                    .map(|(i, row)| {
                        EntryChange::new(page.key(*i), page.slot(*i), page.header(*i), Change::Update(row))
                    })
                    .collect();
                let tried = tree.apply_batch(txn, &mut changes).map_err(fail)?;
                picked.iter().zip(changes).take(tried).for_each(|(i, c)| settle(*i, c.outcome));
            }
        }
        Ok(done)
    }
}

impl RowChange for Updating<'_> {
    fn page(
        &mut self,
        rt: &mut Rt<'_, '_>,
        page: &RowBatch,
        picked: &[usize],
        slots: &RowSet,
    ) -> Result<Progress, SqlError> {
        if self.plan.sets.is_empty() {
            for i in 0..picked.len() {
                self.assign(slots.row(i), rt)?;
            }
            return Ok(Progress { count: picked.len() as u64, stopped_at: None });
        }
        if self.plan.row_by_row {
            let mut done = Progress::default();
            for (at, i) in picked.iter().enumerate() {
                let locator = match &self.plan.store.base {
                    Base::Heap(_) => Locator::Rid(page.rid(*i)),
                    Base::Tree(_) => Locator::Key(page.key(*i).to_vec()),
                };
                if self.one(rt, &locator, &page.header(*i), page.row(*i), slots.row(at))? {
                    done.count += 1;
                } else {
                    done.stopped_at = Some(*i);
                    break;
                }
            }
            return Ok(done);
        }
        self.rows.clear();
        self.ends.clear();
        for (at, i) in picked.iter().enumerate() {
            self.compute(slots.row(at), rt)?;
            self.build(page.row(*i))?;
        }
        self.apply(rt, page, picked)
    }

    fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        locator: &Locator,
        header: &RowHeader,
        row: &[u8],
        slots: &[Value],
    ) -> Result<bool, SqlError> {
        if self.plan.sets.is_empty() {
            self.assign(slots, rt)?;
            return Ok(true);
        }
        self.compute(slots, rt)?;
        let (db, store) = (&self.plan.db, &self.plan.store);
        store.all_columns(db, row, &mut self.old)?;
        self.new.clone_from_slice(&self.old);
        for (set, value) in self.plan.sets.iter().zip(&mut self.values) {
            self.new[set.column] = std::mem::take(value);
        }
        self.plan.change.check(&self.new, rt)?;
        let txn = rt.session().txn(db)?;
        let outcome = self.writer.update(
            db,
            txn,
            store,
            locator,
            header,
            row,
            &self.old,
            &self.new,
            &self.plan.changed,
        )?;
        match outcome {
            Outcome::Done(rest) => {
                self.assign(slots, rt)?;
                if let Some(output) = &self.plan.output {
                    output.send(&self.old, &self.new, rt, self.out)?;
                }
                if let Some(kept) = &mut self.kept {
                    kept.deleted(&self.old, rt)?;
                    kept.inserted(&self.new, rt)?;
                }
                if rest != Rest::Nothing {
                    rt.reserve(row_bytes(&self.new))?;
                    self.rests.push((rest, self.new.as_slice().into()));
                }
                Ok(true)
            }
            Outcome::Wait(other) => {
                wait_for(db, rt, other)?;
                Ok(false)
            }
            Outcome::Locked => {
                wait_for_lock(db, rt.session().txn(db)?)?;
                Ok(false)
            }
            _ => Ok(false),
        }
    }
}
