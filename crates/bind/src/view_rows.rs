//! The rows that an indexed view keeps: the table that has them, by the name that only the engine's
//! own statements can use, and in the place of the view under the hint NOEXPAND. Without the hint a
//! view is its query. Guarantee: the right to the view is the right to its rows.

use super::Binder;
use super::system_time::TableMention;
use catalog::security::Permission;
use catalog::{Db, ModuleDef, TableDef};
use logical::rights::OwnershipChain;
use logical::tree::Logical;
use std::sync::Arc;
use syntax::ast;
use types::{SqlError, msg};

/// The hint.
pub const NOEXPAND: &str = "NOEXPAND";
const PREFIX: &str = "$view ";

/// The name of a table that keeps the rows of a view.
pub fn rows_name(table: &TableDef) -> String {
    format!("[{PREFIX}{}]", table.object_id)
}

/// 8171: NOEXPAND on a table, or on a view that keeps no rows.
pub(super) fn keeps_no_rows(name: &ast::ObjectName) -> SqlError {
    SqlError::of(msg::HINT_INVALID, [&"noexpand", &name])
}

impl Binder<'_> {
    /// The table of such a name, in a statement of the engine.
    pub(super) fn view_rows(&self, name: &ast::ObjectName) -> Option<Arc<TableDef>> {
        let id = name.name.value.strip_prefix(PREFIX).filter(|_| name.is_bare())?;
        let id: i32 = id.parse().ok().filter(|_| self.rights.chain == OwnershipChain::Trusted)?;
        self.catalog.by_id.get(&id).filter(|table| table.of_view.is_some()).cloned()
    }

    /// Binds the rows that a view keeps as a source of the current block.
    ///
    /// # Errors
    /// 8171 it keeps none.
    pub(super) fn kept_view(
        &mut self,
        (db, view): (Arc<Db>, &Arc<ModuleDef>),
        mention: &TableMention<'_>,
    ) -> Result<Logical, SqlError> {
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        let Some(rows) = catalog.rows_of_view(view.object_id).cloned() else {
            return Err(keeps_no_rows(mention.name));
        };
        self.rights.need_object(
            &db,
            (&view.schema, &view.name),
            view.object_id,
            Permission::Select,
            &[],
        );
        let hints: Vec<ast::OptionItem> =
            mention.hints.iter().filter(|hint| hint.name != NOEXPAND).cloned().collect();
        let chain = std::mem::replace(&mut self.rights.chain, OwnershipChain::Trusted);
        let bound = self.base_table(db.clone(), rows, mention.name, mention.alias, &hints);
        self.rights.chain = chain;
        let mut bound = bound?;
        if let Some(source) = self.scope()?.sources.last().cloned() {
            let kept: Vec<_> = source.columns.iter().map(|c| (c.folded.clone(), c.id)).collect();
            self.learn_view(&db, view, &kept)?;
            bound = self.let_through((&db, view), &source, bound)?;
        }
        if !self.modules.iter().any(|(_, used)| Arc::ptr_eq(used, view)) {
            self.modules.push((db, view.clone()));
        }
        // Nobody changes them but by changing the tables of the view.
        if let Some(source) = self.scope()?.sources.last_mut() {
            (source.object_id, source.db_id) = (0, 0);
        }
        Ok(bound)
    }
}
