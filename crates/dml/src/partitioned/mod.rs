//! INSERT, UPDATE and DELETE of a partitioned view: a UNION ALL of tables of which each has the
//! rows that a CHECK constraint on one column of its primary key admits.
//!
//! ```text
//! INSERT               rows of the source ─► value of the partitioning column ─► the table that has it
//! UPDATE, DELETE       the statement once for each table, with the view being that table
//! UPDATE of the        the same, and rows that another table has to have then go there
//! partitioning column
//! ```
//! Guarantees: a statement that fails leaves nothing behind in any table; it reads no table of the
//! view but as its target (4439); foreign keys and indexed views are tested, and triggers run, when
//! all rows are in their tables.

mod changing;
mod domain;
mod insert;
mod members;
mod moving;
mod refusals;
mod turns;

use std::sync::Arc;

use super::change::{ChangePlan, CompileCascade, WrittenRows, finish_all};
use super::delete::{self, DeletePlan};
use super::source::{Purpose, RowClauses, dml_source};
use super::through::set_names;
use super::update::{self, UpdatePlan};
use crate::shown::ChangeSource;
use bind::env::CompileEnv;
use catalog::{Db, ModuleDef};
use changing::ChangingMember;
use domain::Routes;
use exec::operators::context::ExecCtx;
use insert::PartitionedInsert;
use members::{MemberChange, UnionView};
use moving::MovePlan;
use plan::Needs;
use plan::cost;
use plan::nodes::Plan;
use session::state::changes::Action;
use storage::TableStore;
use syntax::ast::{self, Assignment, ExprKind, InsertSource, StmtKind};
use turns::in_turn;
use types::{SqlError, Value};

/// A compiled change of a partitioned view.
#[derive(Debug)]
pub struct PartitionedPlan {
    work: MemberPlans,
    needs: Needs,
}

#[derive(Debug)]
enum MemberPlans {
    Insert(Box<PartitionedInsert>),
    Update(Vec<UpdatePlan>),
    /// Rows may move from table to table.
    Move(Vec<MovePlan>, Arc<Routes>),
    Delete(Vec<DeletePlan>),
}

/// What is done to one table, for SHOWPLAN.
pub struct MemberPart<'p> {
    pub db: &'p Db,
    pub store: &'p TableStore,
    /// Where the rows come from, when they are the table's own or it is the first one.
    pub source: Option<ChangeSource<'p>>,
    /// Columns that change; none where rows come or go.
    pub changed: Option<&'p [usize]>,
    /// Plans of the subqueries in its expressions.
    pub subqueries: &'p [Arc<Plan>],
}

/// Whether the table that is changed through a query was not found: then a UNION may be why.
pub fn may_be_why(refused: &SqlError) -> bool {
    matches!(refused.number, 4405 | 4406 | 4417 | 4420 | 4421 | 4426)
}

/// Compiles a change that was refused, because of a UNION ALL of tables perhaps: that may be a
/// partitioned view.
///
/// # Errors
/// The same, where it is none by its form; else why it is none, and those of the change.
pub fn compile(
    env: &CompileEnv<'_>,
    stmt: &StmtKind,
    (options, assigns): (&[ast::OptionItem], bool),
    (db, view): (Arc<Db>, Arc<ModuleDef>),
    refused: SqlError,
    cascade: CompileCascade,
) -> Result<PartitionedPlan, SqlError> {
    let Some(union) = UnionView::of(env, db, view)? else { return Err(refused) };
    check_form(stmt)?;
    let view = union.partitioned(env)?;
    let changing = ChangingMember { env, options, assigns, cascade, view: &view };
    let (work, needs) = match stmt {
        StmtKind::Insert(insert) => {
            let (insert, needs) = insert::compile(&changing, insert)?;
            (MemberPlans::Insert(Box::new(insert)), needs)
        }
        StmtKind::Update(statement) => updates(&changing, statement)?,
        StmtKind::Delete(statement) => {
            view.check(MemberChange::Delete, &[])?;
            let plans = changing.each(|_, binder| delete::compile(binder, statement, cascade))?;
            let needs = Needs::together(plans.iter().map(|plan| &plan.needs));
            (MemberPlans::Delete(plans), needs)
        }
        _ => return Err(refused),
    };
    Ok(PartitionedPlan { work, needs })
}

fn updates(
    changing: &ChangingMember<'_>,
    statement: &ast::Update,
) -> Result<(MemberPlans, Needs), SqlError> {
    let view = changing.view;
    let set = set_places(changing, statement)?;
    if !set.contains(&view.key()) {
        view.check(MemberChange::Update, &set)?;
        let plans =
            changing.each(|_, binder| update::compile(binder, statement, changing.cascade))?;
        let needs = Needs::together(plans.iter().map(|plan| &plan.needs));
        return Ok((MemberPlans::Update(plans), needs));
    }
    view.check(MemberChange::Move, &set)?;
    let plans = changing.each(|at, binder| moving::compile(changing, at, binder, statement))?;
    let needs = Needs::together(plans.iter().map(|plan| &plan.needs));
    Ok((MemberPlans::Move(plans, view.routes.clone()), needs))
}

/// The places in the view of the columns that SET names.
fn set_places(changing: &ChangingMember<'_>, update: &ast::Update) -> Result<Vec<usize>, SqlError> {
    let mut binder = changing.binder(0)?;
    binder.push_ctes(&update.ctes)?;
    let rows = RowClauses {
        target: &update.target,
        from: &update.from,
        filter: update.filter.as_ref(),
        hints: &update.hints,
    };
    let bound = dml_source(&mut binder, &rows, Purpose::Update(&update.assignments))?;
    let first = &changing.view.members()[0];
    let mut places = Vec::new();
    for name in set_names(&update.assignments) {
        places.extend(first.place(bound.position(name)?));
    }
    Ok(places)
}

/// What no change of a partitioned view may say: 417, 489, 4449, 5317.
fn check_form(stmt: &StmtKind) -> Result<(), SqlError> {
    let (target, output, top) = match stmt {
        StmtKind::Insert(insert) => (&insert.target, &insert.output, false),
        StmtKind::Update(update) => (&update.target, &update.output, update.top.is_some()),
        StmtKind::Delete(delete) => (&delete.target, &delete.output, delete.top.is_some()),
        StmtKind::Merge(_) => return Err(refusals::merge_target()),
        _ => return Ok(()),
    };
    if !output.is_empty() {
        return Err(refusals::with_output(&refusals::written(target)));
    }
    if top {
        return Err(refusals::with_top());
    }
    let is_default = |e: &ast::Expr| matches!(e.kind, ExprKind::Default);
    let defaults = match stmt {
        StmtKind::Insert(insert) => match &insert.source {
            InsertSource::DefaultValues => true,
            InsertSource::Values(rows) => rows.iter().flatten().any(is_default),
            InsertSource::Query(_) | InsertSource::Execute(_) => false,
        },
        StmtKind::Update(update) => update.assignments.iter().any(|assignment| match assignment {
            Assignment::Column { value, .. } => is_default(value),
            Assignment::Variable { .. } | Assignment::Write { .. } => false,
        }),
        _ => false,
    };
    if defaults { Err(refusals::with_default()) } else { Ok(()) }
}

impl PartitionedPlan {
    /// What it needs when it runs.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// What the statement does.
    pub fn action(&self) -> Action {
        match &self.work {
            MemberPlans::Insert(_) => Action::Insert,
            MemberPlans::Update(_) | MemberPlans::Move(..) => Action::Update,
            MemberPlans::Delete(_) => Action::Delete,
        }
    }

    /// Whether it adds rows that it has itself.
    pub fn reads_nothing(&self) -> bool {
        matches!(&self.work, MemberPlans::Insert(insert) if insert.reads_nothing())
    }

    /// What finding its rows is expected to cost, in units of [`plan::cost`].
    pub fn cost(&self) -> f64 {
        let plans = self.parts();
        plans
            .iter()
            .filter_map(|part| part.source.as_ref()?.plan())
            .map(|plan| cost::of(plan).total)
            .sum()
    }

    /// What is done to each table.
    pub fn parts(&self) -> Vec<MemberPart<'_>> {
        match &self.work {
            MemberPlans::Insert(insert) => {
                let (tables, plan) = insert.shown();
                let mut source = Some(plan.map_or(ChangeSource::Constant, ChangeSource::Plan));
                let part = |(db, store)| MemberPart {
                    db,
                    store,
                    source: source.take(),
                    changed: None,
                    subqueries: &[],
                };
                tables.map(part).collect()
            }
            MemberPlans::Update(plans) => {
                let part = |plan| {
                    let (db, store, source) = UpdatePlan::shown(plan);
                    let subqueries = &plan.needs.subqueries[..];
                    MemberPart {
                        db,
                        store,
                        source: Some(source),
                        changed: plan.changed(),
                        subqueries,
                    }
                };
                plans.iter().map(part).collect()
            }
            MemberPlans::Move(plans, _) => {
                let part = |plan| {
                    let (db, store, source, changed) = MovePlan::shown(plan);
                    MemberPart {
                        db,
                        store,
                        source: Some(source),
                        changed,
                        subqueries: &plan.needs.subqueries,
                    }
                };
                plans.iter().map(part).collect()
            }
            MemberPlans::Delete(plans) => {
                let part = |plan| {
                    let (db, store, source) = DeletePlan::shown(plan);
                    let subqueries = &plan.needs.subqueries[..];
                    MemberPart { db, store, source: Some(source), changed: None, subqueries }
                };
                plans.iter().map(part).collect()
            }
        }
    }

    /// Runs the statement; returns how many rows it changed.
    ///
    /// # Errors
    /// Those of the change of a table; 4457.
    pub fn run(&self, ctx: &mut ExecCtx<'_>) -> Result<u64, SqlError> {
        match &self.work {
            MemberPlans::Insert(insert) => insert.run(&self.needs, ctx),
            MemberPlans::Move(plans, routes) => moving::run(plans, routes, ctx),
            MemberPlans::Update(plans) => {
                plans.iter().try_for_each(|plan| plan.lock(ctx))?;
                let mut written = in_turn(ctx, plans.len(), |at, ctx| plans[at].run_member(ctx))?;
                follow(ctx, plans.iter().map(UpdatePlan::steps), &mut written)?;
                Ok(written.iter().map(|written| written.count).sum())
            }
            MemberPlans::Delete(plans) => {
                plans.iter().try_for_each(|plan| plan.lock(ctx))?;
                let mut written = in_turn(ctx, plans.len(), |at, ctx| plans[at].run_member(ctx))?;
                follow(ctx, plans.iter().map(DeletePlan::steps), &mut written)?;
                plans
                    .iter()
                    .zip(&written)
                    .for_each(|(plan, written)| plan.note(ctx, written.count));
                Ok(written.iter().map(|written| written.count).sum())
            }
        }
    }

    /// Runs a compiled `INSERT ... VALUES (@1, ...)` once for each row that `next` puts into the
    /// variables.
    ///
    /// # Errors
    /// Those of INSERT and of the rows.
    pub fn load_rows(
        &self,
        ctx: &mut ExecCtx<'_>,
        next: &mut dyn FnMut(&mut [Value]) -> Result<bool, SqlError>,
    ) -> Result<u64, SqlError> {
        match &self.work {
            MemberPlans::Insert(insert) => insert.load_rows(&self.needs, ctx, next),
            _ => Err(SqlError::internal("an INSERT was expected")),
        }
    }
}

/// What follows the rows of all tables; triggers of those that had some, the last one's first.
fn follow<'p>(
    ctx: &mut ExecCtx<'_>,
    steps: impl Iterator<Item = &'p ChangePlan>,
    written: &mut [WrittenRows],
) -> Result<(), SqlError> {
    let changes = steps.zip(written).map(|(steps, written)| (steps, written.kept.take()));
    let mut with_rows: Vec<_> =
        changes.filter(|(_, kept)| kept.as_ref().is_some_and(|kept| kept.count() > 0)).collect();
    with_rows.reverse();
    finish_all(ctx, with_rows)
}
