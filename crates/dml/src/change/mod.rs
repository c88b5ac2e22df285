//! What every change of rows goes through besides the rows themselves: CHECK before a row is
//! written; when all are written, cascades, foreign keys both ways, and the triggers that are to
//! run. INSERT, UPDATE, DELETE, bulk loads and cascades use it; a plan without any of these steps
//! costs nothing.
//!
//! ```text
//! new row ─► NOT NULL, CHECK ─► table and indexes ─► kept rows ─► indexed views
//!         ─► cascades, history ─► foreign keys ─► AFTER triggers
//! ```
//! Guarantees: rows are kept only where a later step reads them; cascades come before the tests of
//! foreign keys; a failure undoes the whole statement.

mod checks;
mod history;
mod key_test;
mod keys;
mod policies;
pub mod view_rows;

use std::sync::Arc;

use bind::env::CompileEnv;
use bind::module::ChangedTable;
use catalog::security::Permission;
use catalog::{Catalog, Db, ModuleDef, TableDef};
use checks::Check;
use exec::operators::context::ExecCtx;
use exec::operators::rt::{Rt, RunState};
use expr::{ColId, Pred};
use key_test::KeyTest;
use keys::Cascade;
pub use keys::{CascadePlan, CompileCascade};
use logical::rights::{OwnershipChain, Rights};
use plan::statement::Statement;
use session::query_memory::row_bytes;
use session::state::changes::{Action, Cause, ChangedRows, FiredTriggers, KeptRows};
use types::{SqlError, Value, msg};

/// A change of a table's rows that is being compiled.
pub struct TableChange<'a> {
    pub db: &'a Arc<Db>,
    pub table: &'a Arc<TableDef>,
    pub action: Action,
    /// Positions of the columns that get a value.
    pub columns: &'a [usize],
    /// The statement, as messages name it: the action's own, or MERGE.
    pub verb: &'static str,
    /// CHECK and FOREIGN KEY hold for it.
    pub constraints: bool,
    /// Its triggers run.
    pub triggers: bool,
    /// It goes through a view or another query.
    pub view: Option<&'a ViewChange>,
}

/// What a change through a view or another query has to keep.
pub struct ViewChange {
    /// The view that the statement names: the right to the change is one on it.
    pub view: Option<(Arc<Db>, Arc<ModuleDef>)>,
    /// WITH CHECK OPTION: what changed rows satisfy.
    pub check: Option<Vec<Pred>>,
    /// The id of the table's first column in the conditions.
    pub first: ColId,
}

impl<'a> TableChange<'a> {
    /// The whole of a statement with one action.
    pub fn new(
        db: &'a Arc<Db>,
        table: &'a Arc<TableDef>,
        action: Action,
        columns: &'a [usize],
    ) -> TableChange<'a> {
        TableChange {
            db,
            table,
            action,
            columns,
            verb: action.word(),
            constraints: true,
            triggers: true,
            view: None,
        }
    }
}

/// The steps of a change.
#[derive(Debug)]
pub struct ChangePlan {
    db: Arc<Db>,
    table: Arc<TableDef>,
    action: Action,
    columns: Arc<[usize]>,
    checks: Vec<Check>,
    /// What indexed views keep of the rows.
    views: Vec<Cascade>,
    cascades: Vec<Cascade>,
    keys: Vec<KeyTest>,
    triggers: Arc<[Arc<ModuleDef>]>,
    /// A trigger stands in the place of the change.
    instead: bool,
}

/// Compiles the steps; the right to the change goes to the statement's, and so do the tables whose
/// rows have decided how the steps are planned: they are planned again with the statement.
///
/// # Errors
/// Those of binding a constraint.
pub fn compile(
    binder: &mut Statement<'_>,
    change: &TableChange<'_>,
    compile_cascade: CompileCascade,
) -> Result<ChangePlan, SqlError> {
    let plan = steps(binder.env, &mut binder.rights, change, compile_cascade)?;
    plan.views
        .iter()
        .chain(&plan.cascades)
        .for_each(|step| binder.watch_all(&step.needs().watched));
    plan.keys.iter().for_each(|test| binder.watch_all(test.watched()));
    Ok(plan)
}

fn steps(
    env: &CompileEnv<'_>,
    rights: &mut Rights,
    change: &TableChange<'_>,
    compile_cascade: CompileCascade,
) -> Result<ChangePlan, SqlError> {
    let permission = match change.action {
        Action::Insert => Permission::Insert,
        Action::Update => Permission::Update,
        Action::Delete => Permission::Delete,
    };
    let columns = if change.action == Action::Update { change.columns } else { &[] };
    match change.view.and_then(|through| through.view.as_ref()) {
        None => rights.need_table(change.db, change.table, permission, columns),
        Some((db, view)) => {
            rights.need_object(db, (&view.schema, &view.name), view.object_id, permission, &[]);
            rights.in_view(db, view, |rights| {
                rights.need_table(change.db, change.table, permission, columns);
            });
        }
    }
    change.table.check_enabled()?;
    history::check_no_history(env, change)?;
    if change.table.indexes.iter().any(|index| index.filter.is_some()) {
        env.options.check_for_filters(change.verb)?;
    }
    // Only a user who could drop the constraints and triggers may add rows without them.
    let table = change.table;
    let checked = change.constraints || (table.checks.is_empty() && table.foreign_keys.is_empty());
    let fired = change.triggers || triggers_for(&change.db.catalog(), change).is_empty();
    if !(checked && fired) {
        rights.need_table(change.db, change.table, Permission::Alter, &[]);
    }
    // What follows from constraints is the engine's to read and change.
    let env = &CompileEnv { chain: OwnershipChain::Trusted, ..env.clone() };
    let catalog =
        if change.db.id() == env.db.id() { env.catalog.clone() } else { change.db.catalog() };
    let mut plan = ChangePlan {
        db: change.db.clone(),
        table: change.table.clone(),
        action: change.action,
        columns: change.columns.into(),
        checks: Vec::new(),
        views: Vec::new(),
        cascades: Vec::new(),
        keys: Vec::new(),
        triggers: if change.triggers {
            triggers_for(&catalog, change).into()
        } else {
            Arc::default()
        },
        instead: false,
    };
    if change.triggers
        && let Some(trigger) = stands_instead(env, &catalog, change.table.object_id, change.action)
    {
        plan.triggers = [trigger].into();
        plan.instead = true;
        return Ok(plan);
    }
    if let Some(view) = change.view
        && change.action != Action::Delete
    {
        plan.checks.extend(checks::of_view(view, change.table)?);
    }
    if change.constraints {
        if change.action != Action::Delete {
            plan.checks.extend(checks::compile(env, change)?);
        }
        let keys = keys::compile(env, &catalog, change, compile_cascade)?;
        (plan.cascades, plan.keys) = (keys.cascades, keys.tests);
    }
    plan.keys.extend(policies::compile(env, &catalog, change)?);
    plan.views = view_rows::compile(env, &catalog, change, compile_cascade)?;
    if let Some(history) = history::compile(env, &catalog, change, compile_cascade)? {
        plan.cascades.push(history.writes);
        plan.keys.push(history.test);
    }
    Ok(plan)
}

/// The trigger that stands in the place of an action on a table or view, unless its own body is
/// what acts.
pub fn stands_instead(
    env: &CompileEnv<'_>,
    catalog: &Catalog,
    object_id: i32,
    action: Action,
) -> Option<Arc<ModuleDef>> {
    let own = |changes: &ChangedTable| {
        changes.table.object_id == object_id && changes.instead_of == Some(action.word())
    };
    if env.changes.as_ref().is_some_and(own) {
        return None;
    }
    catalog.instead_of(object_id, action.word())
}

/// AFTER triggers.
fn triggers_for(catalog: &Catalog, change: &TableChange<'_>) -> Vec<Arc<ModuleDef>> {
    let mut triggers = catalog.triggers_of(change.table.object_id);
    triggers.retain(|module| {
        let wanted = change.action.word();
        module
            .trigger()
            .is_some_and(|t| !t.instead_of && t.events.iter().any(|event| event == wanted))
    });
    triggers.sort_by_key(|module| module.order.rank(change.action.word()));
    triggers
}

/// The rows of a change, as far as a later step reads them.
#[derive(Debug)]
pub struct KeptChange {
    deleted: KeptRows,
    inserted: KeptRows,
}

impl ChangePlan {
    /// Whether the steps see each row: then it must be there with all its columns.
    pub fn sees_rows(&self) -> bool {
        !self.checks.is_empty() || self.keeps_rows()
    }

    /// Whether a step comes after the rows.
    pub fn keeps_rows(&self) -> bool {
        !(self.views.is_empty()
            && self.cascades.is_empty()
            && self.keys.is_empty()
            && self.triggers.is_empty())
    }

    /// Whether nothing is written: a trigger gets the rows and does what is to be done.
    #[inline]
    pub fn is_instead(&self) -> bool {
        self.instead
    }

    /// 334: rows go to the client while triggers are still to come.
    ///
    /// # Errors
    /// 334.
    pub fn check_output(&self, to_client: bool) -> Result<(), SqlError> {
        if self.triggers.is_empty() || !to_client {
            return Ok(());
        }
        Err(SqlError::of(msg::OUTPUT_WITH_TRIGGERS, [&self.table.name]))
    }

    /// The change begins: where its rows are kept.
    #[inline]
    pub fn begin(&self) -> Option<Box<KeptChange>> {
        self.keeps_rows().then(|| KeptChange::new(self.table.columns.len()))
    }

    /// Tests a new row, one value per column.
    ///
    /// # Errors
    /// 547.
    #[inline]
    pub fn check(&self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.checks.iter().try_for_each(|check| check.test(row, rt))
    }

    /// What follows when all rows are written.
    ///
    /// # Errors
    /// 547, and those of cascades.
    #[inline]
    pub fn finish(
        &self,
        ctx: &mut ExecCtx<'_>,
        kept: Option<Box<KeptChange>>,
    ) -> Result<(), SqlError> {
        match kept {
            None => Ok(()),
            Some(kept) => self.consequences(ctx, *kept),
        }
    }

    #[cold]
    fn consequences(&self, ctx: &mut ExecCtx<'_>, kept: KeptChange) -> Result<(), SqlError> {
        follow(ctx, &[(self, self.changed(kept))])
    }

    fn changed(&self, kept: KeptChange) -> Arc<ChangedRows> {
        Arc::new(ChangedRows {
            table: self.table.clone(),
            action: self.action,
            deleted: Arc::new(kept.deleted),
            inserted: Arc::new(kept.inserted),
            columns: self.columns.clone(),
            instead_of: self.instead,
        })
    }

    fn keep_views(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        self.views.iter().try_for_each(|view| view.run(ctx))
    }

    fn cascade(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        self.cascades.iter().try_for_each(|cascade| cascade.run(ctx))
    }

    /// Whether something but triggers comes after the rows.
    pub fn is_followed(&self) -> bool {
        !(self.views.is_empty() && self.cascades.is_empty() && self.keys.is_empty())
    }

    fn test_keys(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        self.keys.iter().try_for_each(|key| key.run(ctx))
    }
}

/// The rows of one table that a statement has written.
pub struct WrittenRows {
    /// How many.
    pub count: u64,
    /// As far as a later step reads them.
    pub kept: Option<Box<KeptChange>>,
    /// The memory that they are charged with. Boxed: it is large, and most statements keep nothing.
    _state: Option<Box<RunState>>,
}

impl WrittenRows {
    /// The result of an execution that ends with this state.
    pub fn new(count: u64, kept: Option<Box<KeptChange>>, state: RunState) -> WrittenRows {
        WrittenRows { count, kept, _state: Some(Box::new(state)) }
    }

    /// The result of an execution that has kept no other rows.
    #[inline]
    pub fn alone(count: u64, kept: Option<Box<KeptChange>>, rt: Rt<'_, '_>) -> WrittenRows {
        let state = kept.is_some().then(|| Box::new(rt.suspend()));
        WrittenRows { count, kept, _state: state }
    }
}

impl AsRef<WrittenRows> for WrittenRows {
    fn as_ref(&self) -> &WrittenRows {
        self
    }
}

/// What follows when the rows of all changes of one statement are written: their triggers run in
/// this order.
///
/// # Errors
/// 547, and those of cascades.
pub fn finish_all(
    ctx: &mut ExecCtx<'_>,
    changes: Vec<(&ChangePlan, Option<Box<KeptChange>>)>,
) -> Result<(), SqlError> {
    let changed = changes.into_iter().filter_map(|(plan, kept)| Some((plan, plan.changed(*kept?))));
    follow(ctx, &changed.collect::<Vec<_>>())
}

/// What comes after the rows of a change.
type ChangeStep = fn(&ChangePlan, &mut ExecCtx<'_>) -> Result<(), SqlError>;

/// Views come first: what they say of the rows follows from the other tables as they were beside
/// them. Cascades come before tests of keys: what they take along breaks no key.
fn follow(
    ctx: &mut ExecCtx<'_>,
    changes: &[(&ChangePlan, Arc<ChangedRows>)],
) -> Result<(), SqlError> {
    let before = ctx.session.run.triggers.fired.len();
    let steps: [ChangeStep; 3] =
        [ChangePlan::keep_views, ChangePlan::cascade, ChangePlan::test_keys];
    for step in steps {
        for (plan, rows) in
            changes.iter().filter(|(plan, rows)| plan.is_followed() && !rows.is_empty())
        {
            let outer = ctx.session.run.triggers.changes.replace(rows.clone());
            let limit = std::mem::take(&mut ctx.session.options.rowcount);
            let result = step(plan, ctx);
            ctx.session.options.rowcount = limit;
            ctx.session.run.triggers.changes = outer;
            result?;
        }
    }
    // The statement's own table comes before those that its cascades have changed.
    for (plan, rows) in changes.iter().filter(|(plan, _)| !plan.triggers.is_empty()).rev() {
        let fired = FiredTriggers {
            db: plan.db.clone(),
            triggers: plan.triggers.clone(),
            cause: Cause::Rows(rows.clone()),
        };
        ctx.session.run.triggers.fired.insert(before, fired);
    }
    Ok(())
}

impl KeptChange {
    /// No row yet.
    pub fn new(width: usize) -> Box<KeptChange> {
        Box::new(KeptChange { deleted: KeptRows::new(width), inserted: KeptRows::new(width) })
    }

    /// The rows of a view, for the trigger that stands in the place of a change of it.
    pub fn fire_instead(
        self,
        ctx: &mut ExecCtx<'_>,
        (db, table): (&Arc<Db>, &Arc<TableDef>),
        action: Action,
        (trigger, columns): (&Arc<ModuleDef>, &[usize]),
    ) {
        let rows = Arc::new(ChangedRows {
            table: table.clone(),
            action,
            deleted: Arc::new(self.deleted),
            inserted: Arc::new(self.inserted),
            columns: columns.into(),
            instead_of: true,
        });
        let cause = Cause::Rows(rows);
        ctx.session.run.triggers.fired.push(FiredTriggers {
            db: db.clone(),
            triggers: [trigger.clone()].into(),
            cause,
        });
    }

    /// How many rows the change has.
    pub fn count(&self) -> u64 {
        self.inserted.len().max(self.deleted.len()) as u64
    }

    /// Keeps a row that was written.
    ///
    /// # Errors
    /// 701.
    pub fn inserted(&mut self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        rt.reserve(row_bytes(row))?;
        self.inserted.push(row);
        Ok(())
    }

    /// Keeps a row that is gone.
    ///
    /// # Errors
    /// 701.
    pub fn deleted(&mut self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        rt.reserve(row_bytes(row))?;
        self.deleted.push(row);
        Ok(())
    }
}

/// Tests the rows that a table has against one of its constraints: ALTER TABLE ... ADD or CHECK
/// CONSTRAINT.
pub use checks::{condition as check_condition, test_rows as test_check};
pub use keys::test_rows as test_foreign_key;
