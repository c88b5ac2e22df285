//! Changes of a table through a view, common table expression or derived table. Guarantees: exactly
//! one base table is changed (4405, 4420); nothing that is computed is set (4406, 4421); where rows
//! are no rows of a table, the error says why (4403, 4418, 4426, 4417).

use std::sync::Arc;

use super::change::stands_instead;
use bind::partitioned::members_of;
use bind::source::{ScopeColumn, Source};
use bind::updatable::{Barrier, Origin, QuerySource, find_table};
use bind::{Binder, unsupported};
use catalog::{Db, ModuleDef, fold_name};
use expr::ColId;
use logical::tree::{Get, Logical};
use session::state::changes::Action;
use syntax::ast::Assignment;
use types::{SqlError, msg};

use super::change::ViewChange;
use super::output::OutputColumn;

/// What a change goes through.
pub struct Through {
    /// As the statement names it.
    name: String,
    source: Source,
    query: QuerySource,
}

impl Through {
    /// For a source of the statement that is a query. Internal: it is none.
    pub fn of(binder: &Binder<'_>, name: String, source: Source) -> Result<Through, SqlError> {
        let query = binder.query_of(&source).cloned();
        // A system view or a function.
        let query = query.ok_or_else(|| derived(&name))?;
        Ok(Through { name, source, query })
    }

    /// Refuses a change past a view below whose trigger stands in its place.
    ///
    /// # Errors
    /// 40517.
    pub fn check_triggers(&self, binder: &Binder<'_>, action: Action) -> Result<(), SqlError> {
        let below = |(db, view): &(Arc<Db>, Arc<ModuleDef>)| {
            stands_instead(binder.env, &db.catalog(), view.object_id, action).is_some()
        };
        match self.query.views.iter().any(below) {
            true => Err(unsupported(
                "A change of a query over a view with an INSTEAD OF trigger for it",
            )),
            false => Ok(()),
        }
    }

    /// Refuses a change of a view whose own trigger stands in its place.
    ///
    /// # Errors
    /// 40517.
    pub fn check_own_trigger(&self, binder: &Binder<'_>, action: Action) -> Result<(), SqlError> {
        let Origin::View(db, view) = &self.query.origin else { return Ok(()) };
        match stands_instead(binder.env, &db.catalog(), view.object_id, action) {
            Some(_) => Err(unsupported("MERGE into a view with an INSTEAD OF trigger")),
            None => Ok(()),
        }
    }

    /// The view below that has the form of a partitioned one, if there is just one.
    pub fn union_view(&self) -> Option<(Arc<Db>, Arc<ModuleDef>)> {
        let mut found = self.query.views.iter().filter(|(_, view)| members_of(view).is_some());
        let first = found.next()?;
        found.next().is_none().then(|| first.clone())
    }

    fn is_derived(&self) -> bool {
        matches!(self.query.origin, Origin::Derived)
    }

    /// The table that DELETE takes rows of: its first column id.
    ///
    /// # Errors
    /// 4403, 4405, 4406, 4417, 4418, 4426.
    pub fn deleted_table(&self) -> Result<ColId, SqlError> {
        match (self.query.barrier, self.query.tables.as_slice()) {
            (Some(barrier), _) => Err(self.barred(barrier)),
            (None, [table]) => Ok(*table),
            (None, _) => Err(several(&self.name)),
        }
    }

    /// The table that has the columns which SET or the list of INSERT names.
    ///
    /// # Errors
    /// 207; 4403, 4405, 4406, 4418, 4420, 4421.
    pub fn table_of<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        logical: &mut Logical,
    ) -> Result<ColId, SqlError> {
        let mut found: Option<ColId> = None;
        for name in names {
            let column = self.named(name)?;
            let table = self.query.tables.iter().copied().find(|first| {
                find_table(logical, *first).is_some_and(|get| get.position(column.id).is_some())
            });
            let Some(table) = table else { return Err(self.not_of_a_table(column.id)) };
            if found.is_some_and(|other| other != table) {
                return Err(self.several_set());
            }
            found = Some(table);
        }
        match (found, self.query.barrier) {
            (Some(table), _) => Ok(table),
            (None, Some(barrier)) => Err(self.barred(barrier)),
            // Only variables are set.
            (None, None) => self.query.tables.first().copied().ok_or_else(|| self.computed()),
        }
    }

    /// A column by its name. Error: 207.
    fn named(&self, name: &str) -> Result<&ScopeColumn, SqlError> {
        let folded = fold_name(name);
        let found = self.source.columns.iter().find(|c| c.folded == folded);
        found.ok_or_else(|| SqlError::of(msg::INVALID_COLUMN, [&name]))
    }

    /// The position in the changed table of a column that the statement names.
    ///
    /// # Errors
    /// 207, 4405, 4406.
    pub fn position(&self, get: &Get, name: &str) -> Result<usize, SqlError> {
        let id = self.named(name)?.id;
        get.position(id).ok_or_else(|| self.not_of_a_table(id))
    }

    /// The names of all columns, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.source.columns.iter().filter(|c| !c.hidden).map(|c| c.name.as_str())
    }

    /// What the change must keep, and whose right it needs.
    pub fn change(&self, get: &Get) -> ViewChange {
        let view = match &self.query.origin {
            Origin::View(db, view) => Some((db.clone(), view.clone())),
            Origin::CommonTable | Origin::Derived => None,
        };
        ViewChange { view, check: self.query.check.clone(), first: get.first }
    }

    /// The columns as OUTPUT has them.
    pub fn output(&self, get: &Get) -> Vec<OutputColumn> {
        let shown = self.source.columns.iter().filter(|c| !c.hidden);
        let several = self.query.tables.len() > 1;
        let column = |c: &ScopeColumn| {
            let position = get.position(c.id);
            OutputColumn { column: c.clone(), position, foreign: several && position.is_none() }
        };
        shown.map(column).collect()
    }

    /// Whether it is a source of this statement.
    pub fn is(&self, source: &Source) -> bool {
        source.name == self.source.name
            && source.columns.first().map(|c| c.id) == self.source.columns.first().map(|c| c.id)
    }

    fn not_of_a_table(&self, id: ColId) -> SqlError {
        match self.query.barrier {
            Some(Barrier::Grouped) if !self.query.aggregates.contains(&id) => {
                self.barred(Barrier::Grouped)
            }
            _ => self.computed(),
        }
    }

    fn barred(&self, barrier: Barrier) -> SqlError {
        let name = &self.name;
        let message = match (barrier, self.is_derived()) {
            (Barrier::Grouped, false) => msg::VIEW_WITH_AGGREGATES,
            (Barrier::Grouped, true) => msg::DERIVED_TABLE_WITH_AGGREGATES,
            (Barrier::Union, false) => msg::VIEW_UNION,
            (Barrier::Union, true) => msg::DERIVED_TABLE_UNION,
            (Barrier::Made, _) => return derived(name),
        };
        SqlError::of(message, [name])
    }

    fn computed(&self) -> SqlError {
        if !self.is_derived() {
            return derived(&self.name);
        }
        SqlError::of(msg::DERIVED_TABLE_DERIVED_COLUMN, [&self.name])
    }

    fn several_set(&self) -> SqlError {
        if !self.is_derived() {
            return several(&self.name);
        }
        SqlError::of(msg::DERIVED_TABLE_OF_SEVERAL_TABLES, [&self.name])
    }
}

/// 4406.
fn derived(name: &str) -> SqlError {
    SqlError::of(msg::VIEW_DERIVED_FIELD, [&name])
}

/// 4405.
fn several(name: &str) -> SqlError {
    SqlError::of(msg::VIEW_OF_SEVERAL_TABLES, [&name])
}

/// The names of the columns that SET sets.
pub fn set_names(assignments: &[Assignment]) -> impl Iterator<Item = &str> {
    assignments.iter().filter_map(|a| match a {
        Assignment::Column { column, .. } | Assignment::Write { column, .. } => {
            Some(column.name.value.as_str())
        }
        Assignment::Variable { .. } => None,
    })
}
