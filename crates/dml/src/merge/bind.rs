//! Binding of MERGE: which sides the clauses see, how the two are joined, what the join has to
//! give.

use std::sync::Arc;

use super::{Clause, ClauseAction, JoinedCase, MergePlan, clauses};
use crate::change::{self, ChangePlan, CompileCascade, TableChange, ViewChange};
use crate::named::{check_changeable, inserted_columns, is_query, table_position, target_table};
use crate::new_row::{NewRows, row_of, wrong_count};
use crate::output::{self, BoundOutput, OutputColumn, OutputScope, PseudoTables};
use crate::set::SetClause;
use crate::through::{ThroughQuery, set_names};
use crate::values::{default_of, into_column, masked_column};
use bind::Binder;
use bind::base_table::table_source;
use bind::deduce::ValueUse;
use bind::nested_change::{self, check_none};
use bind::resolve::variable_name;
use bind::scope::{Clause as Place, Scope};
use bind::source::FromSource;
use bind::updatable::find_table;
use catalog::{Db, TableDef, VARIABLES};
use expr::{ColId, Expr, Pred};
use logical::hints::{Hints, RowLocks};
use logical::slots::{pred_slots, slots};
use logical::tree::input::Input;
use logical::tree::{Get, JoinKind, Logical, TopSpec};
use plan::physical;
use plan::statement::Statement;
use session::state::changes::Action as Kind;
use storage::{TableMode, TableStore};
use syntax::ast::{self, ExprKind, MergeAction, MergeWhen};
use txn::locks::LockMode;
use types::{SqlError, Value, msg};

/// The two sides, as names see them.
struct MergeSides {
    sources: Vec<FromSource>,
    target: FromSource,
    get: Get,
    /// How the target's rows are read.
    rows: Logical,
    /// The view or common table expression that the statement names.
    through: Option<ThroughQuery>,
}

/// What the statement's clauses have come to.
#[derive(Default)]
struct BoundClauses {
    clauses: Vec<Clause>,
    /// Columns that INSERT gives values for, when there is one.
    inserted: Option<Vec<usize>>,
    /// Columns that UPDATE sets, when there is one.
    updated: Option<Vec<usize>>,
    deletes: bool,
}

/// Compiles MERGE.
///
/// # Errors
/// Those of its clauses, of names and types, of constraints.
pub fn compile(
    binder: &mut Statement<'_>,
    merge: &ast::Merge,
    compile_cascade: CompileCascade,
) -> Result<MergePlan, SqlError> {
    clauses::check(&merge.clauses)?;
    binder.push_ctes(&merge.ctes)?;
    binder.scopes.push(Scope::default());
    check_none(&[&merge.source], nested_change::ChangePosition::Using)?;
    let source = binder.from_clause(std::slice::from_ref(&merge.source))?;
    let (sides, lock) = target(binder, merge)?;
    let on = on(binder, &sides, &merge.on)?;
    binder.learn(&source);
    binder.learn(&sides.rows);
    let mut bound = BoundClauses::default();
    for clause in &merge.clauses {
        bound.clause(binder, &sides, clause)?;
    }
    binder.scope()?.sources = sides.sources.clone().into();
    let top = merge.top.as_ref().map(|top| binder.top(top, Vec::new())).transpose()?;
    let (db, table) = (sides.get.db.clone(), sides.get.table.clone());
    let names = OutputScope {
        db: &db,
        table: &table,
        images: PseudoTables::Both,
        merge: true,
        others: sides.sources.clone(),
        columns: match &sides.through {
            Some(through) => through.output(&sides.get),
            None => OutputColumn::of_table(&table, sides.get.first),
        },
    };
    let output = output::bind(binder, names, &merge.output, compile_cascade)?;
    let snapshot = sides.get.mode == TableMode::Snapshot;
    let view = sides.through.as_ref().map(|through| through.change(&sides.get));
    let (plan, own, cols) = join(binder, source, sides, on, &mut bound, output.as_ref())?;
    binder.scopes.pop();
    let output = output.map(|output| output.planned(&cols)).transpose()?;
    let [inserts, updates, deletes] = [Kind::Insert, Kind::Update, Kind::Delete];
    let inserts = match &bound.inserted {
        None => None,
        Some(columns) => {
            let all: Vec<usize> = (0..table.columns.len()).collect();
            let change = of_merge(&db, &table, inserts, &all, view.as_ref());
            Some(NewRows::compile(binder, &change, columns, compile_cascade)?)
        }
    };
    let mut steps = |action, columns: Option<&[usize]>| -> Result<Option<ChangePlan>, SqlError> {
        let Some(columns) = columns else { return Ok(None) };
        let change = of_merge(&db, &table, action, columns, view.as_ref());
        change::compile(binder, &change, compile_cascade).map(Some)
    };
    let updates = steps(updates, bound.updated.as_deref())?;
    let deletes = steps(deletes, bound.deletes.then_some(&[]))?;
    let changes = inserts.iter().map(|rows| &rows.change).chain(&updates).chain(&deletes);
    let changes: Vec<&ChangePlan> = changes.collect();
    if changes.iter().any(|c| c.is_instead()) && !changes.iter().all(|c| c.is_instead()) {
        return Err(partly_instead(merge));
    }
    changes
        .into_iter()
        .try_for_each(|change| change.check_output(output::to_client(output.as_ref())))?;
    Ok(MergePlan {
        store: TableStore::open(&db, &table)?,
        plan,
        own,
        clauses: bound.clauses,
        inserts,
        updates,
        deletes,
        top: top.map(|top| TopSpec { ties: None, ..top }),
        output,
        lock,
        snapshot,
        needs: physical::needs(binder)?,
        db,
    })
}

/// 5316.
fn partly_instead(merge: &ast::Merge) -> SqlError {
    let target = match &merge.target {
        ast::Target::Name(name) | ast::Target::Function { name, .. } => name.to_string(),
        ast::Target::Variable(name) => name.to_string(),
    };
    SqlError::of(msg::MERGE_INSTEAD_OF_SOME, [&target])
}

fn of_merge<'a>(
    db: &'a Arc<Db>,
    table: &'a Arc<TableDef>,
    action: Kind,
    columns: &'a [usize],
    view: Option<&'a ViewChange>,
) -> TableChange<'a> {
    TableChange { verb: "MERGE", view, ..TableChange::new(db, table, action, columns) }
}

/// Rows that are read for a change stay locked until it.
fn lock_rows(get: &mut Get, table: logical::hints::TableLock) {
    if get.mode == TableMode::Current && get.locks.is_none() && table.mode != LockMode::X {
        get.locks = Some(RowLocks::until_changed(LockMode::U));
    }
}

/// The target, as it is read for the change: its rows stay locked from then on, so that what the
/// join has found still holds when a row is changed.
fn target(
    binder: &mut Binder<'_>,
    merge: &ast::Merge,
) -> Result<(MergeSides, logical::hints::TableLock), SqlError> {
    if let ast::Target::Name(name) = &merge.target
        && is_query(binder, &merge.target)?
    {
        return query_target(binder, merge, name);
    }
    let (db, table) = target_table(binder, &merge.target)?;
    let name = match &merge.target {
        ast::Target::Name(name) => name.clone(),
        ast::Target::Variable(name) => variable_name(name),
        ast::Target::Function { .. } => return Err(SqlError::internal("a function as target")),
    };
    let in_option = binder.table_hint(&table, &name, merge.alias.as_ref(), &merge.hints)?;
    let hints = Hints::parse(&table, in_option.as_deref().unwrap_or(&merge.hints))?;
    let reading = hints.target(binder.env.options.isolation)?;
    let mut get = binder.get(db, table, reading, hints);
    lock_rows(&mut get, reading.table);
    let mut target = table_source(&get, &name, merge.alias.as_ref());
    target.columns = binder.columns_of(&get.db, &get.table, get.first)?;
    if matches!(merge.target, ast::Target::Variable(_)) && merge.alias.is_none() {
        target.name = catalog::fold_name(&name.name.value);
    }
    let scope = binder.scope()?;
    let sources = std::mem::take(&mut scope.sources).into_vec();
    check_names(&sources, &target)?;
    scope.visible = true;
    let conditions = binder.policy_conditions(&get)?;
    let rows = Logical::Get(Arc::new(get.clone())).filtered(conditions);
    Ok((MergeSides { sources, target, get, rows, through: None }, reading.table))
}

/// 5318.
fn check_names(sources: &[FromSource], target: &FromSource) -> Result<(), SqlError> {
    let same = |s: &FromSource| {
        s.name == target.name && (s.aliased || target.aliased || s.schema == target.schema)
    };
    if sources.iter().any(same) {
        return Err(SqlError::of(msg::MERGE_SAME_NAME, []));
    }
    Ok(())
}

/// A view or common table expression as the target: its rows are those that the query has, and one
/// of its tables is changed.
fn query_target(
    binder: &mut Binder<'_>,
    merge: &ast::Merge,
    name: &ast::ObjectName,
) -> Result<(MergeSides, logical::hints::TableLock), SqlError> {
    let sources = std::mem::take(&mut binder.scope()?.sources).into_vec();
    let mut rows = binder.target_query(name)?;
    let target = std::mem::take(&mut binder.scope()?.sources).into_vec().into_iter().next();
    let mut target = target.ok_or_else(|| SqlError::internal("a view that is no source"))?;
    let through = ThroughQuery::of(binder, name.to_string(), target.clone())?;
    let first = changed_table(binder, merge, &through, &mut rows);
    let first = first.inspect_err(|_| binder.union_target = through.union_view())?;
    if let Some(alias) = &merge.alias {
        (target.name, target.aliased) = (catalog::fold_name(&alias.value), true);
    }
    check_names(&sources, &target)?;
    let get = find_table(&mut rows, first)
        .ok_or_else(|| SqlError::internal("a view has lost its table"))?;
    if !merge.hints.is_empty() {
        get.hints = Hints::parse(&get.table, &merge.hints)?;
    }
    let reading = get.hints.target(binder.env.options.isolation)?;
    (get.mode, get.locks) = (reading.mode, reading.locks);
    lock_rows(get, reading.table);
    let get = get.clone();
    if get.db.id() == VARIABLES {
        check_changeable(binder, get.table.object_id)?;
    }
    binder.scope()?.visible = true;
    Ok((MergeSides { sources, target, get, rows, through: Some(through) }, reading.table))
}

/// The table of the query that the actions change.
///
/// # Errors
/// 4403, 4405, 4406, 4426; 40517 a trigger stands in the place of the view.
fn changed_table(
    binder: &Binder<'_>,
    merge: &ast::Merge,
    through: &ThroughQuery,
    rows: &mut Logical,
) -> Result<ColId, SqlError> {
    let mut names: Vec<&str> = Vec::new();
    let mut deletes = None;
    for clause in &merge.clauses {
        let kind = match &clause.action {
            MergeAction::Update(list) => {
                names.extend(set_names(list));
                Kind::Update
            }
            MergeAction::Insert { columns, .. } if columns.is_empty() => {
                names.extend(through.names());
                Kind::Insert
            }
            MergeAction::Insert { columns, .. } => {
                names.extend(columns.iter().map(|column| column.value.as_str()));
                Kind::Insert
            }
            MergeAction::Delete => {
                deletes = Some(through.deleted_table()?);
                Kind::Delete
            }
        };
        through.check_triggers(binder, kind)?;
        through.check_own_trigger(binder, kind)?;
    }
    if let (Some(first), true) = (deletes, names.is_empty()) {
        return Ok(first);
    }
    through.table_of(names.into_iter(), rows)
}

fn on(binder: &mut Binder<'_>, sides: &MergeSides, on: &ast::Expr) -> Result<Vec<Pred>, SqlError> {
    let scope = binder.scope()?;
    scope.sources = sides.of(JoinedCase::Both).into();
    scope.clause = Place::On;
    let mut preds = Vec::new();
    binder.pred(on)?.into_conjuncts(&mut preds);
    Ok(preds)
}

impl MergeSides {
    /// The position in the table of a column that SET names. Errors: 207, 4405, 4406.
    fn position(&self, name: &str) -> Result<usize, SqlError> {
        match &self.through {
            Some(through) => through.position(&self.get, name),
            None => table_position(&self.get.table, name),
        }
    }

    /// What a clause of a case may name.
    fn of(&self, case: JoinedCase) -> Vec<FromSource> {
        let target = std::iter::once(&self.target);
        match case {
            JoinedCase::Both => target.chain(&self.sources).cloned().collect(),
            JoinedCase::SourceOnly => self.sources.clone(),
            JoinedCase::TargetOnly => target.cloned().collect(),
        }
    }

    /// The name that is wrong in an expression that does not bind in its clause, when it would bind
    /// with both sides.
    fn misplaced(
        &self,
        binder: &mut Binder<'_>,
        case: JoinedCase,
        e: &ast::Expr,
    ) -> Result<Option<SqlError>, SqlError> {
        binder.scope()?.sources = self.of(JoinedCase::Both).into();
        let mut used = Vec::new();
        if self.columns_of(binder, e, &mut used).is_err() {
            return Ok(None);
        }
        let (hidden, message, clause) = match case {
            JoinedCase::Both => return Ok(None),
            JoinedCase::SourceOnly => {
                (vec![&self.target], msg::MERGE_NOT_SOURCE_COLUMN, "WHEN NOT MATCHED")
            }
            JoinedCase::TargetOnly => {
                let sources = self.sources.iter().collect();
                (sources, msg::MERGE_NOT_TARGET_COLUMN, "WHEN NOT MATCHED BY SOURCE")
            }
        };
        let mut columns = hidden.iter().flat_map(|s| s.columns.iter().map(move |c| (s, c)));
        Ok(columns.find(|(_, c)| used.contains(&c.id)).map(|(source, column)| {
            SqlError::of(message, [&format_args!("{}.{}", source.name, column.name), &clause])
        }))
    }

    fn columns_of(
        &self,
        binder: &mut Binder<'_>,
        e: &ast::Expr,
        used: &mut Vec<ColId>,
    ) -> Result<(), SqlError> {
        match binder.pred(e) {
            Ok(pred) => pred.columns(used),
            Err(error) if error.number == 4145 => binder.expr(e)?.expr.columns(used),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl BoundClauses {
    fn clause(
        &mut self,
        binder: &mut Binder<'_>,
        sides: &MergeSides,
        clause: &ast::MergeClause,
    ) -> Result<(), SqlError> {
        let case = match clause.when {
            MergeWhen::Matched => JoinedCase::Both,
            MergeWhen::NotMatchedByTarget => JoinedCase::SourceOnly,
            MergeWhen::NotMatchedBySource => JoinedCase::TargetOnly,
        };
        let condition = match &clause.condition {
            None => None,
            Some(e) => Some(in_clause(binder, sides, case, &[e], |b| {
                b.scope()?.clause = Place::Where;
                b.pred(e)
            })?),
        };
        let action = match &clause.action {
            MergeAction::Delete => {
                self.deletes = true;
                ClauseAction::Delete
            }
            MergeAction::Update(list) => {
                let values = list.iter().filter_map(|a| match a {
                    ast::Assignment::Column { value, .. }
                    | ast::Assignment::Variable { value, .. } => {
                        Some(value).filter(|value| !matches!(value.kind, ExprKind::Default))
                    }
                    ast::Assignment::Write { .. } => None,
                });
                let values: Vec<&ast::Expr> = values.collect();
                let set = in_clause(binder, sides, case, &values, |b| {
                    SetClause::bind(b, &sides.get, list, &|name| sides.position(name))
                })?;
                let updated = self.updated.get_or_insert_default();
                updated.extend(
                    set.changed
                        .iter()
                        .filter(|c| !updated.contains(c))
                        .copied()
                        .collect::<Vec<_>>(),
                );
                ClauseAction::Update(set)
            }
            MergeAction::Insert { columns, values } => {
                let all: Vec<&ast::Expr> =
                    values.iter().filter(|e| !matches!(e.kind, ExprKind::Default)).collect();
                let (columns, row) =
                    in_clause(binder, sides, case, &all, |b| insert(b, sides, columns, values))?;
                self.inserted = Some(columns);
                ClauseAction::Insert(row)
            }
        };
        self.clauses.push(Clause { case, condition, action });
        Ok(())
    }

    /// Columns that the clauses are made of.
    fn needed(&self, needed: &mut Vec<ColId>) {
        for clause in &self.clauses {
            if let Some(pred) = &clause.condition {
                pred.columns(needed);
            }
            match &clause.action {
                ClauseAction::Insert(row) => row.iter().for_each(|e| e.columns(needed)),
                ClauseAction::Update(set) => set.needed(needed),
                ClauseAction::Delete => {}
            }
        }
    }

    /// Columns become slots.
    fn plan(&mut self, cols: &[ColId]) -> Result<(), SqlError> {
        for clause in &mut self.clauses {
            if let Some(pred) = &mut clause.condition {
                pred_slots(pred, cols)?;
            }
            match &mut clause.action {
                ClauseAction::Insert(row) => row.iter_mut().try_for_each(|e| slots(e, cols))?,
                ClauseAction::Update(set) => set.plan(cols)?,
                ClauseAction::Delete => {}
            }
        }
        Ok(())
    }

    fn has(&self, case: JoinedCase) -> bool {
        self.clauses.iter().any(|clause| clause.case == case)
    }
}

/// Binds part of a clause where only what the clause may name is seen; 5333 or 5334 when a name of
/// the other side is meant.
fn in_clause<T>(
    binder: &mut Binder<'_>,
    sides: &MergeSides,
    case: JoinedCase,
    exprs: &[&ast::Expr],
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    binder.scope()?.sources = sides.of(case).into();
    let error = match bind(binder) {
        Err(error) if matches!(error.number, 207 | 4104) => error,
        result => return result,
    };
    for e in exprs {
        if let Some(misplaced) = sides.misplaced(binder, case, e)? {
            return Err(misplaced);
        }
    }
    Err(error)
}

fn insert(
    binder: &mut Binder<'_>,
    sides: &MergeSides,
    names: &[ast::Ident],
    values: &[ast::Expr],
) -> Result<(Vec<usize>, Vec<Expr>), SqlError> {
    let get = &sides.get;
    let table = &get.table;
    if values.is_empty() {
        return Ok((Vec::new(), row_of(binder, table, &[], Vec::new())?));
    }
    let explicit = binder.env.options.identity_insert == Some((get.db.id(), table.object_id));
    let through = sides.through.as_ref().map(|through| (through, get));
    let columns = inserted_columns(table, through, names, explicit)?;
    if columns.len() != values.len() {
        return Err(wrong_count(values.len(), columns.len(), !names.is_empty(), false));
    }
    let mut given = Vec::with_capacity(values.len());
    for (e, column) in values.iter().zip(&columns) {
        given.push(match e.kind {
            ExprKind::Default => default_of(binder, table, *column)?,
            _ => {
                binder.scope()?.clause = Place::Where;
                binder.deduce(e, ValueUse::Becomes(table.columns[*column].ty))?;
                let value = into_column(binder.expr(e)?, (&sides.get.db, table), *column)?;
                masked_column(binder, value, table, *column)
            }
        });
    }
    let row = row_of(binder, table, &columns, given)?;
    Ok((columns, row))
}

/// Joins the sides as far as the clauses ask for it. Gives the plan, which slots hold columns of
/// the target, and the columns.
#[allow(clippy::type_complexity)] // three things of one plan
fn join(
    binder: &mut Statement<'_>,
    source: Logical,
    sides: MergeSides,
    on: Vec<Pred>,
    bound: &mut BoundClauses,
    output: Option<&BoundOutput>,
) -> Result<(plan::nodes::Plan, Vec<(usize, u16)>, Vec<ColId>), SqlError> {
    let get = sides.get;
    // NULL where a joined row has no source.
    let there = binder.new_col();
    let source = Logical::Project {
        input: Input::new(source),
        exprs: vec![(there, Expr::Const(Value::Int(1)))],
    };
    let target = sides.rows;
    let (kind, left, right) =
        match (bound.has(JoinedCase::SourceOnly), bound.has(JoinedCase::TargetOnly)) {
            (true, true) => (JoinKind::Full, source, target),
            (true, false) => (JoinKind::Left, source, target),
            (false, true) => (JoinKind::Left, target, source),
            (false, false) => (JoinKind::Inner, source, target),
        };
    let logical =
        Logical::Join { kind, left: Input::new(left), right: Input::new(right), on, hint: None };
    let mut needed = Vec::new();
    bound.needed(&mut needed);
    needed.iter().for_each(|id| binder.rights.mentions(*id));
    if let Some(output) = output {
        output.needed(&mut needed);
    }
    let mut ids = vec![get.locator(), there];
    for id in needed {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let plan = physical::plan_query(binder, logical, &ids, None)?;
    bound.plan(&ids)?;
    let own =
        ids.iter().enumerate().filter_map(|(slot, id)| Some((slot, get.position(*id)? as u16)));
    Ok((plan, own.collect(), ids))
}
