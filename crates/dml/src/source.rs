//! Binding of what an UPDATE or DELETE changes: its table, by name, as a source of FROM, or through
//! a view, common table expression or derived table; and how its rows are found.

use super::change::ViewChange;
use super::current::CurrentTarget;
use super::named::{check_changeable, is_query, table_position, target_table};
use super::output::OutputColumn;
use super::set::SetClause;
use super::target::{Gathered, Mark, Target};
use super::through::{Through, set_names};
use bind::base_table::table_source;
use bind::from::inner;
use bind::nested_change::{Place, check_none};
use bind::resolve::{Named, variable_name};
use bind::scope::{Clause, Scope};
use bind::source::Source;
use bind::updatable::{Origin, conditions, find_table};
use bind::{Binder, unsupported};
use catalog::{TableDef, VARIABLES};
use expr::{ColId, Pred};
use logical::hints::{Hints, TableLock};
use logical::slots::pred_slots;
use logical::tree::input::Input;
use logical::tree::{Get, Logical};
use plan::nodes::{Node, Path};
use plan::physical;
use plan::statement::Statement;
use session::state::changes::Action;
use std::sync::Arc;
use storage::TableMode;
use syntax::ast::{self, Assignment};
use types::SqlError;

/// The bound source of an UPDATE or DELETE: its scope is on the binder's stack.
pub struct BoundTarget {
    pub get: Get,
    /// The lock on the table as a whole.
    pub lock: TableLock,
    pub through: Option<Through>,
    logical: Logical,
    preds: Vec<Pred>,
    /// WHERE CURRENT OF.
    cursor: Option<ast::CursorName>,
}

/// What is done to the rows.
pub enum Purpose<'a> {
    Update(&'a [Assignment]),
    Delete,
}

/// The statement's parts that say which rows.
pub struct Rows<'a> {
    pub target: &'a ast::Target,
    pub from: &'a [ast::TableRef],
    pub filter: Option<&'a ast::Filter>,
    pub hints: &'a [ast::OptionItem],
}

impl BoundTarget {
    /// The sources beside the target, which OUTPUT may name.
    ///
    /// # Errors
    /// Internal: the scope is gone.
    pub fn others(&self, binder: &mut Binder<'_>) -> Result<Vec<Source>, SqlError> {
        let target = |s: &&Source| match &self.through {
            Some(through) => !through.is(s),
            None => s.columns.first().is_none_or(|c| c.id != self.get.first),
        };
        Ok(binder.scope()?.sources.iter().filter(target).cloned().collect())
    }

    /// The target's columns, as OUTPUT names them.
    pub fn output(&self) -> Vec<OutputColumn> {
        match &self.through {
            Some(through) => through.output(&self.get),
            None => OutputColumn::of_table(&self.get.table, self.get.first),
        }
    }

    /// What a view asks of the change.
    pub fn view(&self) -> Option<ViewChange> {
        self.through.as_ref().map(|through| through.change(&self.get))
    }

    /// The position in the table of a column that SET names.
    ///
    /// # Errors
    /// 207, 4405, 4406.
    pub fn position(&self, name: &str) -> Result<usize, SqlError> {
        match &self.through {
            Some(through) => through.position(&self.get, name),
            None => table_position(&self.get.table, name),
        }
    }
}

/// Binds target, FROM and WHERE; leaves the scope on the stack for the assignments.
///
/// # Errors
/// Those of the names; those of a change through a query.
pub fn dml_source(
    binder: &mut Binder<'_>,
    rows: &Rows<'_>,
    purpose: Purpose<'_>,
) -> Result<BoundTarget, SqlError> {
    let name = &match rows.target {
        ast::Target::Name(name) => name.clone(),
        ast::Target::Variable(name) => variable_name(name),
        ast::Target::Function { .. } => return Err(unsupported("This target")),
    };
    binder.scopes.push(Scope::default());
    check_none(&rows.from.iter().collect::<Vec<_>>(), Place::Change)?;
    let mut logical = binder.from_clause(rows.from)?;
    let mut known = binder.scope()?.sources.iter().find(|s| s.is_named(name)).cloned();
    if known.is_none() && is_query(binder, rows.target)? {
        known = view_under_alias(binder, name);
    }
    if known.is_none() && is_query(binder, rows.target)? {
        let query = binder.target_query(name)?;
        logical = if rows.from.is_empty() { query } else { inner(query, logical) };
        known = binder.scope()?.sources.first().cloned();
    }
    let (mut through, mut preds) = (None, Vec::new());
    let first = match known {
        Some(source) if source.object_id == 0 => {
            let over = Through::of(binder, name.to_string(), source)?;
            let first = through_target(binder, &over, purpose, &mut logical);
            let first = first.inspect_err(|_| binder.union_target = over.union_view())?;
            through = Some(over);
            first
        }
        Some(source) => {
            if source.db_id == VARIABLES {
                check_changeable(binder, source.object_id)?;
            }
            let first = source.columns.first().map(|c| c.id);
            first.ok_or_else(|| SqlError::internal("a table without columns"))?
        }
        None => {
            let (db, table) = target_table(binder, rows.target)?;
            match source_of(binder, (db.id(), &table), rows.from.is_empty()) {
                Some(first) => first,
                None => {
                    let (get, conditions) = named_target(binder, (db, table), name, rows.hints)?;
                    preds = conditions;
                    let (first, node) = (get.first, Logical::Get(Arc::new(get)));
                    logical = if rows.from.is_empty() { node } else { inner(node, logical) };
                    first
                }
            }
        }
    };
    let Some(get) = find_table(&mut logical, first) else {
        return Err(SqlError::internal("the target is not among the sources"));
    };
    // It is read for the change, by its hints. In SNAPSHOT isolation the rows are those of the
    // snapshot, and one that was changed since is a conflict.
    if through.is_some() && !rows.hints.is_empty() {
        get.hints = Hints::parse(&get.table, rows.hints)?;
    }
    let reading = get.hints.target(binder.env.options.isolation)?;
    (get.mode, get.locks) = (reading.mode, reading.locks);
    let get = get.clone();
    binder.scope()?.visible = true;
    binder.scope()?.clause = Clause::Where;
    let mut cursor = None;
    match rows.filter {
        None => {}
        // What a security policy says comes first.
        Some(ast::Filter::Condition(e)) => binder.pred(e)?.into_conjuncts(&mut preds),
        Some(ast::Filter::CurrentOf(_)) if !matches!(logical, Logical::Get(_)) => {
            return Err(unsupported("WHERE CURRENT OF beside a join or a view"));
        }
        Some(ast::Filter::CurrentOf(name)) => cursor = Some(name.clone()),
    }
    binder.learn(&logical);
    Ok(BoundTarget { get, lock: reading.table, through, logical, preds, cursor })
}

/// The first column of the table that a change of a query's rows changes.
fn through_target(
    binder: &Binder<'_>,
    over: &Through,
    purpose: Purpose<'_>,
    logical: &mut Logical,
) -> Result<ColId, SqlError> {
    match purpose {
        Purpose::Update(list) => {
            over.check_triggers(binder, Action::Update)?;
            over.table_of(set_names(list), logical)
        }
        Purpose::Delete => {
            over.check_triggers(binder, Action::Delete)?;
            over.deleted_table()
        }
    }
}

/// A target that is not among the sources of FROM: it becomes the first of them. With what security
/// policies say of its rows.
fn named_target(
    binder: &mut Binder<'_>,
    (db, table): (Arc<catalog::Db>, Arc<TableDef>),
    name: &ast::ObjectName,
    hints: &[ast::OptionItem],
) -> Result<(Get, Vec<Pred>), SqlError> {
    let in_option = binder.table_hint(&table, name, None, hints)?;
    let hints = Hints::parse(&table, in_option.as_deref().unwrap_or(hints))?;
    let reading = hints.target(binder.env.options.isolation)?;
    let get = binder.get(db, table, reading, hints);
    let conditions = binder.policy_conditions(&get)?;
    let mut source = table_source(&get, name, None);
    source.columns = binder.columns_of(&get.db, &get.table, get.first)?;
    binder.scope()?.sources.insert(0, source);
    Ok((get, conditions))
}

/// `UPDATE t ... FROM dbo.t AS x`: the one source that is the table is the target.
fn source_of(
    binder: &mut Binder<'_>,
    (db_id, table): (i32, &TableDef),
    alone: bool,
) -> Option<ColId> {
    if alone {
        return None;
    }
    let scope = binder.scopes.last()?;
    let mut same =
        scope.sources.iter().filter(|s| (s.db_id, s.object_id) == (db_id, table.object_id));
    let first = same.next()?.columns.first()?.id;
    same.next().is_none().then_some(first)
}

/// `UPDATE v ... FROM dbo.v AS x`: the one source that is the view is the target.
fn view_under_alias(binder: &Binder<'_>, name: &ast::ObjectName) -> Option<Source> {
    if name.is_bare() && binder.is_cte(&name.name.value) {
        return None;
    }
    let Ok(Named::Module(db, view)) = binder.resolve(name) else { return None };
    let own = |source: &&Source| {
        let origin = binder.query_of(source).map(|query| &query.origin);
        matches!(origin, Some(Origin::View(of, other)) if (of.id(), other.object_id) == (db.id(), view.object_id))
    };
    let mut same = binder.scopes.last()?.sources.iter().filter(own);
    let first = same.next()?;
    same.next().is_none().then(|| first.clone())
}

/// Decides how the rows are found. `needed`: columns that the change reads. `gather`: the change
/// moves rows within the structure that is read. `set`: what gets new values, which may be joined
/// with the rows, and whether they are where that only costs less.
///
/// # Errors
/// Those of planning.
pub fn plan_target(
    binder: &mut Statement<'_>,
    bound: BoundTarget,
    needed: &[ColId],
    gather: bool,
    set: Option<(&mut SetClause, bool)>,
) -> Result<(Target, Vec<ColId>), SqlError> {
    let BoundTarget { get, logical, preds, cursor, through, .. } = bound;
    let snapshot = get.mode == TableMode::Snapshot;
    if let Some(cursor) = cursor {
        let own = |id: &ColId| get.position(*id).map(|at| at as u16);
        let reads = needed.iter().map(own).collect::<Option<Vec<u16>>>();
        let reads = reads.ok_or_else(|| SqlError::internal("a column of another table"))?;
        let target = CurrentTarget { cursor, reads, sets: Vec::new(), snapshot };
        return Ok((Target::Current(Box::new(target)), needed.to_vec()));
    }
    let joined = match set {
        Some((set, all)) if set.has_subquery() => {
            let rows = logical.clone().filtered(preds.clone());
            set.join(binder, &get, rows, all)?
        }
        _ => None,
    };
    let gather = gather || snapshot || get.locks.is_some() || joined.is_some();
    let simple =
        matches!(logical, Logical::Get(_)) && !gather && !preds.iter().any(Pred::has_subquery);
    if simple {
        let mut ids: Vec<ColId> = needed.to_vec();
        preds.iter().for_each(|p| p.columns(&mut ids));
        let node = Logical::Filter { input: Input::new(logical.clone()), preds: preds.clone() };
        let plan = plan::planner::Planner { statement: binder }.plan(node, &ids, None)?;
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
    if through.is_some() || binder.has_policy(&get) {
        // What a view or a security policy says of its rows holds for the row as it is then, too.
        let mut inside = Vec::new();
        conditions(&logical, &mut inside);
        for pred in inside.into_iter().filter(|p| !p.has_subquery()) {
            let mut used = Vec::new();
            pred.columns(&mut used);
            if used.iter().any(|id| get.position(*id).is_some()) {
                add(&used, &mut ids);
                again.push(pred);
            }
        }
    }
    let mut mark = None;
    let plan = match joined {
        Some(joined) => {
            add(&joined.columns, &mut ids);
            let slot = |id: &ColId| ids.iter().position(|known| known == id);
            let of = joined.of.iter().filter_map(slot).collect();
            mark = slot(&joined.mark).map(|slot| Mark { slot, of });
            physical::plan_rewritten(binder, joined.logical, &ids, None)?
        }
        None => {
            let node = Logical::Filter { input: Input::new(logical), preds };
            physical::plan_query(binder, node, &ids, None)?
        }
    };
    let mut recheck = Pred::from_conjuncts(again);
    if let Some(pred) = &mut recheck {
        pred_slots(pred, &ids)?;
    }
    let own =
        ids.iter().enumerate().filter_map(|(slot, id)| Some((slot, get.position(*id)? as u16)));
    let own = own.collect();
    Ok((Target::Gathered(Box::new(Gathered { plan, own, mark, recheck, repeats, snapshot })), ids))
}
