//! ALTER INDEX: rebuilt, reorganized, disabled, its options set. Guarantee: an index that is
//! disabled has no entries and is used by nobody; what depends on it is disabled with it, and told.

use std::sync::Arc;

use syntax::ast::{AlterIndex, AlterIndexAction, OptionItem};
use types::{SqlError, msg};

use super::StmtCtx;
use super::index::{constraint_kind, no_table, renew_changed};
use super::view_index::{IndexedObject, resolve_indexed};
use catalog::errors;
use catalog::{Db, IndexDef, IndexOptions, TableDef, fold_name};
use ddl::work::SchemaChange;
use ddl::{index_options, option_rules};

/// The table of the statement, and which of its indexes is meant; `None` is ALL.
struct MeantIndexes<'t> {
    db: &'t Arc<Db>,
    table: &'t Arc<TableDef>,
    only: Option<i32>,
}

impl MeantIndexes<'_> {
    fn is(&self, index: &IndexDef) -> bool {
        index.index_id > 0 && self.only.is_none_or(|id| id == index.index_id)
    }

    /// The first one, and whether it alone is meant.
    fn first(&self) -> Option<&Arc<IndexDef>> {
        self.table.all_indexes().find(|index| self.is(index))
    }

    /// 1973: one that is disabled, and meant by its name.
    fn check_enabled(&self) -> Result<(), SqlError> {
        match self.first().filter(|index| self.only.is_some() && index.options.disabled) {
            None => Ok(()),
            Some(index) => Err(SqlError::of(msg::INDEX_DISABLED, [&index.name, &self.table.name])),
        }
    }

    /// 7729, 7735: nothing is partitioned.
    fn not_partitioned(&self) -> SqlError {
        let text = match (self.only, self.first()) {
            (Some(_), Some(index)) => {
                return SqlError::of(msg::INDEX_NOT_PARTITIONED, [&index.name]);
            }
            (_, Some(index)) => format!("index '{}' as index", index.name),
            (_, None) => format!("table '{}' as table", self.table.name),
        };
        SqlError::of(msg::PARTITION_OF_NOT_PARTITIONED, [&text])
    }

    /// 10638, 10680: nothing is paused.
    fn nothing_pending(&self, word: &str) -> SqlError {
        match self.first().filter(|_| self.only.is_some()) {
            Some(index) => {
                let state = if word == "RESUME" { 1 } else { 2 };
                SqlError::of(msg::NOTHING_TO_RESUME, [&word, &index.name, &self.table.name])
                    .state(state)
            }
            None => SqlError::of(msg::NOTHING_TO_RESUME_ALL, [&word, &self.table.name]),
        }
    }
}

impl StmtCtx<'_> {
    pub(super) fn alter_index(&mut self, stmt: &AlterIndex) -> Result<(), SqlError> {
        let (db, table) = match resolve_indexed(self.core, &stmt.table).map_err(no_table)? {
            IndexedObject::Table(db, table) => (db, table),
            IndexedObject::View(..) => {
                return Err(no_table(errors::invalid_object(&stmt.table.to_string())));
            }
        };
        if table.of_view.is_some() && matches!(stmt.action, AlterIndexAction::Disable) {
            return Err(errors::not_supported("ALTER INDEX DISABLE on a view"));
        }
        let only = match &stmt.name {
            None => None,
            Some(name) => {
                let named = |i: &&Arc<IndexDef>| {
                    i.index_id > 0 && fold_name(&i.name) == fold_name(&name.value)
                };
                let found = table.all_indexes().find(named).map(|index| index.index_id);
                let missing = || SqlError::of(msg::INDEX_NOT_FOUND, [&name]);
                Some(found.ok_or_else(missing)?)
            }
        };
        let meant = MeantIndexes { db: &db, table: &table, only };
        match &stmt.action {
            AlterIndexAction::Rebuild { partition: Some(_), .. }
            | AlterIndexAction::Reorganize { partition: Some(_), .. } => {
                Err(meant.not_partitioned())
            }
            AlterIndexAction::Rebuild { options, .. } => {
                option_rules::check("ALTER INDEX", options, option_rules::INDEX)?;
                self.rebuild_indexes(&meant, options)
            }
            // Pages are reorganised as ghosts are removed; there is nothing more to do while others
            // work.
            AlterIndexAction::Reorganize { options, .. } => {
                option_rules::check("ALTER INDEX REORGANIZE", options, option_rules::REORGANIZE)?;
                meant.check_enabled()
            }
            AlterIndexAction::Set(options) => {
                option_rules::check("ALTER INDEX", options, option_rules::SET_INDEX)?;
                meant.check_enabled()?;
                self.set_index_options(&meant, options)
            }
            AlterIndexAction::Resumable { word, options } => {
                option_rules::check("ALTER INDEX", options, option_rules::RESUME)?;
                Err(meant.nothing_pending(word))
            }
            AlterIndexAction::Disable => self.disable_indexes(&meant),
        }
    }

    /// REBUILD: the clustered index (and with it all others that are enabled), or nonclustered
    /// ones.
    fn rebuild_indexes(
        &mut self,
        meant: &MeantIndexes<'_>,
        options: &[OptionItem],
    ) -> Result<(), SqlError> {
        let table = meant.table;
        let base = meant.only.is_none_or(|id| id == table.storage.index_id);
        if table.storage.options.disabled && !base {
            return Err(clustered_disabled(table));
        }
        let mut changed = TableDef::clone(table);
        each(&mut changed, meant, &mut |index| {
            let (fill, kept) = read_options(table, index, options)?;
            index.fill_factor = fill.unwrap_or(index.fill_factor);
            index.options = IndexOptions { disabled: false, ..kept };
            Ok(())
        })?;
        let filtered = |index: &IndexDef| meant.is(index) && index.filter.is_some();
        if table.indexes.iter().any(|index| filtered(index)) {
            self.core.options.check_for_filters("ALTER INDEX")?;
        }
        let mut work = SchemaChange::begin(self.core, meant.db)?;
        work.lock_current(table)?;
        renew_changed(&mut work, table, changed, base, &|index| meant.is(index)).map(drop)
    }

    /// SET: what an index that stays as it is says of itself.
    fn set_index_options(
        &mut self,
        meant: &MeantIndexes<'_>,
        options: &[OptionItem],
    ) -> Result<(), SqlError> {
        let mut changed = TableDef::clone(meant.table);
        each(&mut changed, meant, &mut |index| {
            if !index.options.disabled {
                index.options = read_options(meant.table, index, options)?.1;
            }
            Ok(())
        })?;
        let mut work = SchemaChange::begin(self.core, meant.db)?;
        work.lock_current(meant.table)?;
        work.replace(meant.table, changed).map(drop)
    }

    /// DISABLE: nonclustered indexes lose their entries; with the clustered one the table cannot be
    /// used and the others are disabled too. Foreign keys that refer to what is disabled hold no
    /// longer.
    fn disable_indexes(&mut self, meant: &MeantIndexes<'_>) -> Result<(), SqlError> {
        let table = meant.table;
        let with_all = meant.is(&table.storage);
        let gone = |index: &IndexDef| with_all || meant.is(index);
        let mut next = TableDef::clone(table);
        if with_all {
            let mut base = IndexDef::clone(&table.storage);
            base.options.disabled = true;
            next.storage = Arc::new(base);
        }
        let mut notes = Vec::new();
        for index in next.indexes.iter_mut().filter(|index| index.is_stored() && gone(index)) {
            *index = Arc::new(index.without_unit());
            if with_all {
                notes.push(SqlError::of(
                    msg::INDEX_DISABLED_WITH_CLUSTERED,
                    [&index.name, &table.name],
                ));
            }
        }
        let mut work = SchemaChange::begin(self.core, meant.db)?;
        work.lock_current(table)?;
        let keys = work.db.catalog().foreign_keys_to(table.object_id);
        let keys = keys.into_iter().filter(|(_, key)| !key.disabled);
        let refers =
            |key: &i32| table.all_indexes().any(|index| index.index_id == *key && gone(index));
        let keys: Vec<_> = keys.filter(|(_, key)| refers(&key.key)).collect();
        let mut after = work.replace(table, next)?;
        for (child, key) in &keys {
            let own = child.object_id == table.object_id;
            let catalog = work.db.catalog();
            let Some(before) = catalog.by_id.get(&child.object_id).cloned() else { continue };
            if !own {
                work.lock_current(&before)?;
            }
            let mut changed = TableDef::clone(&before);
            for known in
                changed.foreign_keys.iter_mut().filter(|known| known.object_id == key.object_id)
            {
                (known.disabled, known.untrusted) = (true, true);
            }
            let changed = work.replace(&before, changed)?;
            if own {
                after = changed;
            }
            let name = after
                .all_indexes()
                .find(|index| index.index_id == key.key)
                .map(|index| &index.name);
            let name = name.map_or("", |name| name.as_str());
            notes.push(SqlError::of(
                msg::FOREIGN_KEY_DISABLED,
                [&key.name, &child.name, &table.name, &name],
            ));
        }
        drop(work);
        notes.iter().try_for_each(|note| self.sink.message(note))
    }
}

/// Changes the definitions of the indexes that are meant.
fn each(
    table: &mut TableDef,
    meant: &MeantIndexes<'_>,
    change: &mut dyn FnMut(&mut IndexDef) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let all = std::iter::once(&mut table.storage).chain(&mut table.indexes);
    all.filter(|index| meant.is(index)).try_for_each(|index| change(Arc::make_mut(index)))
}

/// Options for an index that is there.
///
/// # Errors
/// 1915, 1979, 10618 IGNORE_DUP_KEY of an index that cannot have it.
fn read_options(
    table: &TableDef,
    index: &IndexDef,
    options: &[OptionItem],
) -> Result<(Option<u8>, IndexOptions), SqlError> {
    if options.iter().any(|o| o.name == "IGNORE_DUP_KEY" && o.is_on()) {
        let name = &index.name;
        if !index.unique {
            return Err(SqlError::of(msg::IGNORE_DUP_KEY_NON_UNIQUE, [&name]));
        }
        if constraint_kind(index).is_some() {
            return Err(SqlError::of(msg::IGNORE_DUP_KEY_OF_CONSTRAINT, [&name]));
        }
        if index.filter.is_some() {
            return Err(index_options::ignores_with_filter("alter", name, &table.name));
        }
    }
    index_options::read(options, index.options)
}

/// 1974: what cannot be done while a table's clustered index is disabled.
pub(super) fn clustered_disabled(table: &TableDef) -> SqlError {
    SqlError::of(msg::CLUSTERED_INDEX_DISABLED, [&table.name, &table.storage.name])
}
