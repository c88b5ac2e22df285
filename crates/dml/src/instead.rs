//! INSERT, UPDATE and DELETE of a view with an INSTEAD OF trigger: the rows of the view as they
//! would be go to the trigger, and nothing else happens. (A table's INSTEAD OF trigger is a step of
//! the table's own changes.) Guarantee: any view will do, for only its rows are read.

use std::sync::Arc;

use super::change::{CompileCascade, KeptChange, stands_instead};
use super::insert_rows::{RowsToInsert, query_source, values_source};
use super::named::table_position;
use super::new_row::{row_of, target_columns};
use super::output::{
    self, OutputColumn, OutputOutlet, OutputPlan, OutputRow, OutputScope, PseudoTables,
};
use super::set::{SetClause, VarValue};
use super::target::Limit;
use super::values::column_value;
use bind::resolve::NamedSource;
use bind::scope::{Clause, Scope};
use bind::source::{FromSource as Names, ScopeColumn};
use bind::{Binder, unsupported};
use catalog::security::Permission;
use catalog::{ColumnDef, Db, ModuleDef, TableDef, fold_name};
use exec::operators::RowSet;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::query::lock_tables;
use exec::operators::rt::Rt;
use expr::{ColId, Expr, Pred};
use logical::hints::Hints;
use logical::tree::input::Input;
use logical::tree::{Get, Logical, TopSpec};
use plan::Needs;
use plan::nodes::Plan;
use plan::physical;
use plan::statement::Statement;
use session::state::changes::Action;
use storage::TableMode;
use syntax::ast::{self, InsertSource, TableRefKind};
use types::{DataType, SqlError, Value, msg};

/// A compiled change of a view whose trigger does it.
#[derive(Debug)]
pub struct InsteadPlan {
    db: Arc<Db>,
    /// The view's rows.
    table: Arc<TableDef>,
    trigger: Arc<ModuleDef>,
    rows: InsteadRows,
    top: Option<TopSpec>,
    output: Option<OutputPlan>,
    pub(super) needs: Needs,
}

#[derive(Debug)]
enum InsteadRows {
    Insert(RowsToInsert),
    /// The view's columns come first.
    Update {
        plan: Plan,
        set: SetClause,
    },
    Delete {
        plan: Plan,
    },
}

/// A view that a statement names, and the trigger for it.
struct FoundTrigger {
    db: Arc<Db>,
    view: Arc<ModuleDef>,
    trigger: Arc<ModuleDef>,
    /// As the statement writes it.
    name: String,
}

/// The parts of an UPDATE or DELETE.
struct ReadClauses<'a> {
    ctes: &'a [ast::Cte],
    target: &'a ast::Target,
    from: &'a [ast::TableRef],
    filter: Option<&'a ast::Filter>,
    top: Option<&'a ast::Top>,
    output: &'a [ast::Output],
}

/// The view of a target that has a trigger for the action.
fn find(
    binder: &Binder<'_>,
    target: &ast::Target,
    from: &[ast::TableRef],
    ctes: &[ast::Cte],
    action: Action,
) -> Option<FoundTrigger> {
    let ast::Target::Name(target) = target else { return None };
    let name = from.iter().find_map(|table| source_named(table, target)).unwrap_or(target);
    if name.is_bare()
        && ctes.iter().any(|cte| fold_name(&cte.name.value) == fold_name(&name.name.value))
    {
        return None;
    }
    let Ok(NamedSource::Module(db, view)) = binder.resolve(name) else { return None };
    view.view()?;
    let trigger = stands_instead(binder.env, &db.catalog(), view.object_id, action)?;
    Some(FoundTrigger { db, view, trigger, name: name.to_string() })
}

/// The object that a source of FROM names, if the source is the target.
fn source_named<'f>(
    table: &'f ast::TableRef,
    target: &ast::ObjectName,
) -> Option<&'f ast::ObjectName> {
    match &table.kind {
        TableRefKind::Named { name, alias, .. } => {
            let shown = alias.as_ref().map_or(&name.name.value, |alias| &alias.value);
            let whole = alias.is_none() || target.is_bare();
            (whole && fold_name(shown) == fold_name(&target.name.value)).then_some(name)
        }
        TableRefKind::Join { left, right, .. } | TableRefKind::Apply { left, right, .. } => {
            source_named(left, target).or_else(|| source_named(right, target))
        }
        _ => None,
    }
}

/// Compiles the statement if its target is a view with a trigger for its action.
///
/// # Errors
/// 414, 415; those of the names and types.
pub fn compile(
    binder: &mut Statement<'_>,
    stmt: &ast::StmtKind,
    compile_cascade: CompileCascade,
) -> Result<Option<InsteadPlan>, SqlError> {
    match stmt {
        ast::StmtKind::Insert(insert) => {
            match find(binder, &insert.target, &[], &insert.ctes, Action::Insert) {
                None => Ok(None),
                Some(found) => inserted(binder, insert, found, compile_cascade).map(Some),
            }
        }
        ast::StmtKind::Update(u) => {
            let Some(found) = find(binder, &u.target, &u.from, &u.ctes, Action::Update) else {
                return Ok(None);
            };
            let (filter, top) = (u.filter.as_ref(), u.top.as_ref());
            let read = ReadClauses {
                ctes: &u.ctes,
                target: &u.target,
                from: &u.from,
                filter,
                top,
                output: &u.output,
            };
            changed(binder, &read, Some(&u.assignments), found, compile_cascade).map(Some)
        }
        ast::StmtKind::Delete(d) => {
            let Some(found) = find(binder, &d.target, &d.from, &d.ctes, Action::Delete) else {
                return Ok(None);
            };
            let (filter, top) = (d.filter.as_ref(), d.top.as_ref());
            let read = ReadClauses {
                ctes: &d.ctes,
                target: &d.target,
                from: &d.from,
                filter,
                top,
                output: &d.output,
            };
            changed(binder, &read, None, found, compile_cascade).map(Some)
        }
        _ => Ok(None),
    }
}

fn table_of(view: &ModuleDef, columns: &[ScopeColumn]) -> Arc<TableDef> {
    let columns = columns.iter().enumerate().map(|(at, c)| ColumnDef {
        column_id: at as i32 + 1,
        name: c.name.clone(),
        ty: match c.ty {
            // The trigger is given what the statement says.
            DataType::RowVersion => DataType::Binary(8),
            ty => ty,
        },
        nullable: true,
        collation: c.collation,
        default: None,
        identity: None,
        computed: None,
        generated: None,
        alias: None,
        mask: None,
        traits: catalog::ColumnTraits::default(),
    });
    Arc::new(TableDef::of_view(view, columns.collect()))
}

fn need(binder: &mut Binder<'_>, found: &FoundTrigger, permission: Permission) {
    let view = &found.view;
    binder.rights.need_object(
        &found.db,
        (&view.schema, &view.name),
        view.object_id,
        permission,
        &[],
    );
}

fn inserted(
    binder: &mut Statement<'_>,
    insert: &ast::Insert,
    found: FoundTrigger,
    compile_cascade: CompileCascade,
) -> Result<InsteadPlan, SqlError> {
    binder.push_ctes(&insert.ctes)?;
    need(binder, &found, Permission::Insert);
    let (tables, subqueries) = (binder.tables.len(), binder.subqueries.len());
    let (_, columns) = binder.view_query(&found.db, &found.view)?;
    binder.tables.truncate(tables);
    binder.subqueries.truncate(subqueries);
    let columns: Vec<ScopeColumn> = columns.iter().map(ScopeColumn::of_query).collect();
    let table = table_of(&found.view, &columns);
    let given =
        target_columns(&table, &insert.columns, false, &|name| table_position(&table, name))?;
    let listed = !insert.columns.is_empty();
    let source = match &insert.source {
        InsertSource::Values(rows) => {
            values_source(binder, (&found.db, &table), &given, rows, listed)?
        }
        InsertSource::DefaultValues => {
            RowsToInsert::Values(vec![row_of(binder, &table, &[], Vec::new())?])
        }
        InsertSource::Query(query) => {
            query_source(binder, (&found.db, &table), &given, query, listed, false)?
        }
        InsertSource::Execute(_) => return Err(unsupported("INSERT ... EXEC")),
    };
    binder.scopes.push(Scope::default());
    let top = insert.top.as_ref().map(|top| binder.top(top, Vec::new())).transpose();
    binder.scopes.pop();
    let columns = OutputColumn::of_table(&table, 0);
    let names = OutputScope {
        db: &found.db,
        table: &table,
        images: PseudoTables::Inserted,
        merge: false,
        others: Vec::new(),
        columns,
    };
    let output = output::bind(binder, names, &insert.output, compile_cascade)?;
    let output = output.map(|output| output.planned(&[])).transpose()?;
    finish(binder, found, table, (InsteadRows::Insert(source), top?), output)
}

fn changed(
    binder: &mut Statement<'_>,
    read: &ReadClauses<'_>,
    sets: Option<&[ast::Assignment]>,
    found: FoundTrigger,
    compile_cascade: CompileCascade,
) -> Result<InsteadPlan, SqlError> {
    binder.push_ctes(read.ctes)?;
    need(binder, &found, if sets.is_some() { Permission::Update } else { Permission::Delete });
    let ast::Target::Name(name) = read.target else {
        return Err(SqlError::internal("a view without a name"));
    };
    binder.scopes.push(Scope::default());
    let logical = match read.from {
        [] => binder.target_query(name)?,
        [ast::TableRef { kind: TableRefKind::Named { .. }, .. }] => {
            binder.from_clause(read.from)?
        }
        _ => return Err(in_a_join(&found, sets.is_some())),
    };
    let scope = binder.scope()?;
    let [source] = &mut scope.sources[..] else { return Err(in_a_join(&found, sets.is_some())) };
    if !source.is_named(name) {
        return Err(in_a_join(&found, sets.is_some()));
    }
    let table = table_of(&found.view, &source.columns);
    let (logical, get) = numbered(binder, logical, &found.db, &table)?;
    binder.learn(&logical);
    binder.scope()?.visible = true;
    binder.scope()?.clause = Clause::Where;
    let mut preds: Vec<Pred> = Vec::new();
    match read.filter {
        None => {}
        Some(ast::Filter::Condition(e)) => binder.pred(e)?.into_conjuncts(&mut preds),
        Some(ast::Filter::CurrentOf(_)) => {
            return Err(unsupported("WHERE CURRENT OF of a view with a trigger"));
        }
    }
    let mut set = match sets {
        None => SetClause::default(),
        Some(list) => SetClause::bind(binder, &get, list, &|name| table_position(&table, name))?,
    };
    let top = read.top.map(|top| binder.top(top, Vec::new())).transpose()?;
    binder.scopes.pop();
    let images = if sets.is_some() { PseudoTables::Both } else { PseudoTables::Deleted };
    let columns = OutputColumn::of_table(&table, get.first);
    let names = OutputScope {
        db: &found.db,
        table: &table,
        images,
        merge: false,
        others: Vec::new(),
        columns,
    };
    let output = output::bind(binder, names, read.output, compile_cascade)?;
    let cols: Vec<ColId> = (get.first..get.first + table.columns.len() as ColId).collect();
    let output = output.map(|output| output.planned(&cols)).transpose()?;
    let plan = physical::plan_query(
        binder,
        Logical::Filter { input: Input::new(logical), preds },
        &cols,
        None,
    )?;
    set.plan(&cols)?;
    let rows = if sets.is_some() {
        InsteadRows::Update { plan, set }
    } else {
        InsteadRows::Delete { plan }
    };
    finish(binder, found, table, (rows, top), output)
}

/// Gives the columns of the one source consecutive ids, as those of a table have them.
fn numbered(
    binder: &mut Binder<'_>,
    logical: Logical,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
) -> Result<(Logical, Get), SqlError> {
    let first = binder.new_cols(table.columns.len() + 1);
    let values = binder.values.clone();
    let scope = binder.scope()?;
    let columns = scope.sources.first_mut().map(|s: &mut Names| &mut s.columns);
    let mut exprs = Vec::new();
    for (at, column) in columns.into_iter().flatten().enumerate() {
        exprs.push((first + at as ColId, Expr::Col(column.id)));
        column.id = first + at as ColId;
    }
    let (db, table) = (db.clone(), table.clone());
    let get = Get {
        db,
        table,
        first,
        mode: TableMode::Snapshot,
        locks: None,
        hints: Hints::default(),
        values,
    };
    Ok((Logical::Project { input: Input::new(logical), exprs }, get))
}

fn finish(
    binder: &mut Statement<'_>,
    found: FoundTrigger,
    table: Arc<TableDef>,
    (rows, top): (InsteadRows, Option<TopSpec>),
    output: Option<OutputPlan>,
) -> Result<InsteadPlan, SqlError> {
    if output::to_client(output.as_ref()) {
        return Err(SqlError::of(msg::OUTPUT_WITH_TRIGGERS, [&found.name]));
    }
    let needs = physical::needs(binder)?;
    Ok(InsteadPlan { db: found.db, table, trigger: found.trigger, rows, top, output, needs })
}

/// 414, 415.
fn in_a_join(found: &FoundTrigger, update: bool) -> SqlError {
    let message = if update { msg::UPDATE_OF_JOINED_VIEW } else { msg::DELETE_OF_JOINED_VIEW };
    SqlError::of(message, [&found.name])
}

/// What becomes of a row that was read.
type GiveRow<'g> = &'g mut dyn FnMut(&[Value], &mut Rt<'_, '_>) -> Result<(), SqlError>;

/// The rows of a statement on their way to the trigger.
struct TriggerRows<'p> {
    plan: &'p InsteadPlan,
    kept: Box<KeptChange>,
    out: OutputOutlet<'p>,
    new: Vec<Value>,
}

impl InsteadPlan {
    /// The view's name and where its rows come from, for SHOWPLAN.
    pub fn shown(&self) -> (&str, &'static str, Option<&Plan>) {
        match &self.rows {
            InsteadRows::Insert(RowsToInsert::Values(_)) => (&self.table.name, "Insert", None),
            InsteadRows::Insert(RowsToInsert::Query { plan, .. }) => {
                (&self.table.name, "Insert", Some(plan))
            }
            InsteadRows::Update { plan, .. } => (&self.table.name, "Update", Some(plan)),
            InsteadRows::Delete { plan } => (&self.table.name, "Delete", Some(plan)),
        }
    }

    /// OUTPUT.
    pub fn output(&self) -> Option<&OutputPlan> {
        self.output.as_ref()
    }

    /// What its trigger stands for.
    pub fn action(&self) -> Action {
        match &self.rows {
            InsteadRows::Insert(_) => Action::Insert,
            InsteadRows::Update { .. } => Action::Update,
            InsteadRows::Delete { .. } => Action::Delete,
        }
    }

    /// Runs the statement: gives how many rows its trigger gets.
    ///
    /// # Errors
    /// Those of the rows.
    pub fn run(&self, ctx: &mut ExecCtx<'_>, out: &mut dyn RowSink) -> Result<u64, SqlError> {
        lock_tables(&self.needs, ctx)?;
        let width = self.table.columns.len();
        let out = OutputOutlet::begin(self.output.as_ref(), ctx, out)?;
        let mut giving = TriggerRows {
            plan: self,
            kept: KeptChange::new(width),
            out,
            new: vec![Value::Null; width],
        };
        let mut rt = Rt::new(ctx, &self.needs);
        let limit = Limit::of(self.top.as_ref(), &mut rt)?;
        match &self.rows {
            InsteadRows::Insert(RowsToInsert::Values(rows)) => {
                let most = usize::try_from(limit.among(rows.len())).unwrap_or(usize::MAX);
                rows.iter().take(most).try_for_each(|exprs| giving.insert(exprs, &[], &mut rt))?;
            }
            InsteadRows::Insert(RowsToInsert::Query { plan, exprs, .. }) => {
                self.read(plan, limit, &mut rt, &mut |row, rt| giving.insert(exprs, row, rt))?;
            }
            InsteadRows::Update { plan, set } => {
                self.read(plan, limit, &mut rt, &mut |row, rt| giving.update(set, row, rt))?;
            }
            InsteadRows::Delete { plan } => {
                self.read(plan, limit, &mut rt, &mut |row, rt| giving.delete(row, rt))?;
            }
        }
        giving.out.finish(&mut rt)?.send()?;
        let kept = *giving.kept;
        let (count, columns) = (kept.count(), self.set_columns());
        kept.fire_instead(ctx, (&self.db, &self.table), self.action(), (&self.trigger, &columns));
        Ok(count)
    }

    fn set_columns(&self) -> Vec<usize> {
        match &self.rows {
            InsteadRows::Insert(_) => (0..self.table.columns.len()).collect(),
            InsteadRows::Update { set, .. } => set.changed.clone(),
            InsteadRows::Delete { .. } => Vec::new(),
        }
    }

    /// Reads the rows of a plan: all of them first, where TOP takes a share.
    fn read(
        &self,
        plan: &Plan,
        limit: Limit,
        rt: &mut Rt<'_, '_>,
        give: GiveRow<'_>,
    ) -> Result<(), SqlError> {
        let mut op = exec::operators::open::start(plan, rt);
        let mut batch = RowSet::default();
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        while op.next(rt, &mut batch)? {
            for i in 0..batch.len() {
                rt.reserve(session::query_memory::row_bytes(batch.row(i)))?;
                rows.push(batch.row(i).into());
            }
        }
        drop(op);
        let most = usize::try_from(limit.among(rows.len())).unwrap_or(usize::MAX);
        rows.iter().take(most).try_for_each(|row| give(row, rt))
    }
}

impl TriggerRows<'_> {
    fn insert(
        &mut self,
        exprs: &[Expr],
        row: &[Value],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let plan = self.plan;
        for (column, (place, e)) in self.new.iter_mut().zip(exprs).enumerate() {
            *place = column_value(e, row, rt, &plan.db, &plan.table, column)?;
        }
        self.kept.inserted(&self.new, rt)?;
        let row = OutputRow { deleted: &[], inserted: &self.new, row: &[], action: Action::Insert };
        self.out.give(&row, rt)
    }

    fn update(
        &mut self,
        set: &SetClause,
        row: &[Value],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        let plan = self.plan;
        self.new.clone_from_slice(row);
        for column in &set.sets {
            self.new[column.column] =
                column_value(&column.expr, row, rt, &plan.db, &plan.table, column.column)?;
        }
        for (slot, value) in &set.vars {
            let value = match value {
                VarValue::Expr(e) => e.eval(row, rt)?,
                VarValue::Set(at, e) => {
                    e.eval(std::slice::from_ref(&self.new[set.sets[*at].column]), rt)?
                }
            };
            rt.set_var(*slot, value);
        }
        self.kept.deleted(row, rt)?;
        self.kept.inserted(&self.new, rt)?;
        let row = OutputRow { deleted: row, inserted: &self.new, row, action: Action::Update };
        self.out.give(&row, rt)
    }

    fn delete(&mut self, row: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.kept.deleted(row, rt)?;
        self.out.give(&OutputRow { deleted: row, inserted: &[], row, action: Action::Delete }, rt)
    }
}
