//! ALTER TABLE ... SWITCH TO: the rows of a table become those of another, empty one of the same
//! form. Guarantee: the units change hands in the statement's transaction; no row is read or
//! written.

use std::sync::Arc;

use types::{SqlError, msg};

use super::foreign_keys::reference_from_outside;
use super::view_bases;
use super::work::SchemaChange;
use crate::own_queries::has_rows;
use catalog::{IndexDef, TableDef, fold_name};
use catalog::{definition, errors};

/// Both tables, with their names in messages.
struct SwitchedTables<'t> {
    source: &'t TableDef,
    target: &'t TableDef,
    from: String,
    to: String,
}

/// Gives the units of a table to another one, and those of that one to the first. Both are locked.
///
/// # Errors
/// 4905 the target has rows; 4913, 4942 to 4947, 4967, 4968, 4970, 4985, 13546, 13547, 13577, 13578
/// the tables differ; 4941 a table with itself.
pub fn switch(
    work: &mut SchemaChange<'_>,
    source: &Arc<TableDef>,
    target: &Arc<TableDef>,
) -> Result<(), SqlError> {
    let name = |table: &TableDef| format!("{}.{}", work.db.name(), table.full_name());
    let pair = SwitchedTables { source, target, from: name(source), to: name(target) };
    if source.object_id == target.object_id {
        return Err(SqlError::of(msg::SWITCH_SAME_TABLE, []));
    }
    pair.check_versioning()?;
    let catalog = work.db.catalog();
    if [source, target].into_iter().any(|table| view_bases::indexed_over(&catalog, table).is_some())
    {
        return Err(errors::not_supported("ALTER TABLE SWITCH under an indexed view"));
    }
    pair.check_columns()?;
    let indexes = pair.matching_indexes()?;
    pair.check_constraints()?;
    if let Some(key) = reference_from_outside(&work.db.catalog(), source) {
        return Err(SqlError::of(msg::SWITCH_PRIMARY_KEY, [&pair.from, &key.name]));
    }
    if has_rows(work, target)? {
        return Err(SqlError::of(msg::SWITCH_TARGET_NOT_EMPTY, [&pair.to]));
    }
    let (mut left, mut right) = (TableDef::clone(source), TableDef::clone(target));
    exchange(Arc::make_mut(&mut left.storage), Arc::make_mut(&mut right.storage));
    for (at, place) in indexes {
        exchange(Arc::make_mut(&mut left.indexes[at]), Arc::make_mut(&mut right.indexes[place]));
    }
    std::mem::swap(&mut left.lob, &mut right.lob);
    std::mem::swap(&mut left.overflow, &mut right.overflow);
    for (table, of) in [(&mut left, source), (&mut right, target)] {
        // Identity values go on where they were; rows are counted again.
        let state = of.state.emptied();
        *state.identity.lock() = *of.state.identity.lock();
        table.state = Arc::new(state);
    }
    let mut state = catalog::TableState::opened(-1, right.state.statistics.emptied());
    state.usage = target.state.usage.clone();
    right.state = Arc::new(state);
    *right.state.identity.lock() = *target.state.identity.lock();
    work.exchange(source, target, left, right)
}

/// The units of two indexes of one form change places.
fn exchange(a: &mut IndexDef, b: &mut IndexDef) {
    std::mem::swap(&mut a.unit, &mut b.unit);
    std::mem::swap(&mut a.first_iam, &mut b.first_iam);
    std::mem::swap(&mut a.root, &mut b.root);
}

impl SwitchedTables<'_> {
    /// 13546, 13547, 13577: rows of a versioned table leave it only into its history, and nobody
    /// adds to that.
    fn check_versioning(&self) -> Result<(), SqlError> {
        let SwitchedTables { source, target, from, to } = self;
        let (table, message) = if source.temporal.is_versioned() || target.temporal.is_versioned() {
            (from, msg::SWITCH_OUT_VERSIONED)
        } else if target.temporal.is_history() || source.temporal.is_history() {
            (to, msg::SWITCH_IN_HISTORY)
        } else if target.period().is_some() && source.period().is_none() {
            (to, msg::SWITCH_PERIOD_MISSING)
        } else if target.period().is_some() && target.period() != source.period() {
            (to, msg::SWITCH_PERIOD_DIFFERS)
        } else {
            return Ok(());
        };
        Err(SqlError::of(message, [table]))
    }

    fn check_columns(&self) -> Result<(), SqlError> {
        let SwitchedTables { source, target, from, to } = self;
        let (a, b) = (source.columns.len(), target.columns.len());
        if a != b {
            return Err(SqlError::of(msg::SWITCH_COLUMN_COUNT, [&from, &a, &to, &b]));
        }
        for (at, (s, t)) in source.columns.iter().zip(&target.columns).enumerate() {
            let name = &s.name;
            if fold_name(name) != fold_name(&t.name) {
                return Err(SqlError::of(
                    msg::SWITCH_COLUMN_NAME,
                    [name, &(at + 1), &from, &t.name, &to],
                ));
            }
            if s.ty != t.ty {
                return Err(SqlError::of(
                    msg::SWITCH_COLUMN_TYPE,
                    [name, &s.ty, &from, &t.ty, &to],
                ));
            }
            let kept =
                |c: &catalog::ColumnDef| c.computed.as_ref().map(|d| (d.text.clone(), d.stored));
            let differs = if s.nullable != t.nullable {
                Some(msg::SWITCH_NULLABILITY)
            } else if s.ty.is_string() && s.collation != t.collation {
                Some(msg::SWITCH_COLLATION)
            } else {
                (kept(s) != kept(t)).then_some(msg::SWITCH_PERSISTED)
            };
            if let Some(message) = differs {
                return Err(SqlError::of(message, [name, &from, &to]));
            }
        }
        Ok(())
    }

    /// Pairs of places of nonclustered indexes: each of the target has one in the source, and the
    /// other way round.
    fn matching_indexes(&self) -> Result<Vec<(usize, usize)>, SqlError> {
        let clustered = |table: &TableDef| table.storage.index_id == 1;
        let lacks = |with: &str, index: &IndexDef, without: &str| {
            SqlError::of(msg::SWITCH_CLUSTERED_INDEX, [&with, &index.name, &without])
        };
        match (clustered(self.source), clustered(self.target)) {
            (true, false) => return Err(lacks(&self.from, &self.source.storage, &self.to)),
            (false, true) => return Err(lacks(&self.to, &self.target.storage, &self.from)),
            _ => {}
        }
        let missing = |index: &IndexDef| {
            SqlError::of(msg::SWITCH_INDEX_MISSING, [&self.from, &index.name, &self.to])
        };
        if !is_alike(&self.source.storage, &self.target.storage) {
            return Err(missing(&self.target.storage));
        }
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (place, wanted) in self.target.indexes.iter().enumerate() {
            let free = |at: &usize| pairs.iter().all(|(taken, _)| taken != at);
            let mut same = (0..self.source.indexes.len()).filter(free);
            let at = same
                .find(|at| is_alike(&self.source.indexes[*at], wanted))
                .ok_or_else(|| missing(wanted))?;
            pairs.push((at, place));
        }
        match self
            .source
            .indexes
            .iter()
            .enumerate()
            .find(|(at, _)| pairs.iter().all(|(taken, _)| taken != at))
        {
            None => Ok(pairs),
            // Its entries would be lost with the rows that they stand for.
            Some((_, index)) => Err(missing(index)),
        }
    }

    /// What the target says of its rows, the source says of them too.
    fn check_constraints(&self) -> Result<(), SqlError> {
        let SwitchedTables { source, target, from, to } = self;
        // A database may have been made before texts were brought into one form.
        let form = |check: &catalog::CheckDef| {
            let kept = || check.text.split_whitespace().collect::<String>().to_lowercase();
            definition::of_condition(&check.condition, check.text.len()).unwrap_or_else(kept)
        };
        for check in target.checks.iter().filter(|check| !check.disabled) {
            let same = |own: &&catalog::CheckDef| !own.untrusted && form(own) == form(check);
            if !source.checks.iter().any(|own| same(&own)) {
                return Err(SqlError::of(msg::SWITCH_CHECK, [&to, &check.name, &from]));
            }
        }
        for key in target.foreign_keys.iter().filter(|key| !key.disabled) {
            let place = |table: &TableDef, key: &catalog::ForeignKeyDef| {
                key.columns
                    .iter()
                    .map(|(own, other)| (table.position(*own), *other))
                    .collect::<Vec<_>>()
            };
            let wanted = place(target, key);
            let same = |own: &&catalog::ForeignKeyDef| {
                !own.untrusted && own.parent == key.parent && place(source, own) == wanted
            };
            if !source.foreign_keys.iter().any(|own| same(&own)) {
                return Err(SqlError::of(msg::SWITCH_FOREIGN_KEY, [&to, &key.name, &from]));
            }
        }
        Ok(())
    }
}

/// Whether the entries of one index could be those of another.
fn is_alike(a: &IndexDef, b: &IndexDef) -> bool {
    let filter = |index: &IndexDef| index.filter.as_ref().map(|filter| filter.text.clone());
    (a.index_id.min(2), a.unique, a.filegroup) == (b.index_id.min(2), b.unique, b.filegroup)
        && (&a.key, &a.included) == (&b.key, &b.included)
        && a.options.disabled == b.options.disabled
        && filter(a) == filter(b)
}
