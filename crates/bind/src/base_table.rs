//! Base tables in FROM. Guarantees: each mention is its own node with columns of its own; the
//! rights to read it, its lock, its hints and what security policies hide of it are noted here,
//! whatever mentions it.

use super::Binder;
use super::source::{ScopeColumn, Source};
use super::table_use::TableUse;
use catalog::security::Permission;
use catalog::{Db, TEMPDB, TableDef, fold_name};
use logical::hints::{Hints, Reading};
use logical::tree::{Get, Logical};
use std::sync::Arc;
use syntax::ast;
use types::SqlError;

impl Binder<'_> {
    pub(super) fn base_table(
        &mut self,
        db: Arc<Db>,
        table: Arc<TableDef>,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        hints: &[ast::OptionItem],
    ) -> Result<Logical, SqlError> {
        table.check_enabled()?;
        let hints = match self.table_hint(&table, name, alias, hints)? {
            Some(hints) => Hints::parse(&table, &hints)?,
            None => Hints::parse(&table, hints)?,
        };
        // Whose readers wait for writers expects it of the tables that it shares with others, too.
        let shared = db.id() == TEMPDB && table.name.starts_with("##");
        let by_locks = if shared { self.db.reads_by_locks() } else { db.reads_by_locks() };
        let reading = hints.reading(self.env.options.isolation, by_locks)?;
        self.rights.need_table(&db, &table, Permission::Select, &[]);
        let get = self.get(db, table, reading, hints);
        let mut source = table_source(&get, name, alias);
        source.columns = self.columns_of(&get.db, &get.table, get.first)?;
        let conditions = self.policy_conditions(&get)?;
        self.scope()?.sources.push(source);
        Ok(Logical::Get(Arc::new(get)).filtered(conditions))
    }

    /// A table as a node, its columns numbered.
    pub fn get(
        &mut self,
        db: Arc<Db>,
        table: Arc<TableDef>,
        reading: Reading,
        hints: Hints,
    ) -> Get {
        let first = self.new_cols(table.columns.len() + 1);
        let lock = reading.table;
        self.note_mention(&db, &table);
        if !self.tables.iter().any(|used| Arc::ptr_eq(&used.table, &table) && used.lock == lock) {
            self.tables.push(TableUse { db: db.clone(), table: table.clone(), lock });
        }
        self.rights.reads(&db, &table, first);
        self.note_masks(&db, &table, first);
        let values = self.values.clone();
        Get { db, table, first, mode: reading.mode, locks: reading.locks, hints, values }
    }
}

/// A base table as a name source.
pub fn table_source(get: &Get, name: &ast::ObjectName, alias: Option<&ast::Ident>) -> Source {
    let columns = get.table.columns.iter().enumerate();
    let columns = columns.map(|(i, c)| ScopeColumn::of_table(c, get.first + i as u32));
    // A temporary table's own name is a longer one, which nobody writes.
    let called = if name.name.value.starts_with('#') { &name.name.value } else { &get.table.name };
    Source {
        name: fold_name(alias.map_or(called, |alias| &alias.value)),
        aliased: alias.is_some(),
        schema: Some(fold_name(&get.table.schema)),
        database: Some(
            name.database
                .as_ref()
                .map_or_else(|| fold_name(&get.db.name()), |d| fold_name(&d.value)),
        ),
        columns: columns.collect(),
        object_id: get.table.object_id,
        db_id: get.db.id(),
    }
}
