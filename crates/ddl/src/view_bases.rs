//! Which tables a view with an index reads, and which view reads a table.

use std::sync::Arc;

use catalog::{Catalog, ModuleDef, TableDef};
use dml::change::view_rows::{reads, select_of};

/// The tables that a view reads.
pub(crate) fn bases(catalog: &Catalog, view: &ModuleDef) -> Vec<Arc<TableDef>> {
    let Some(select) = select_of(view) else { return Vec::new() };
    let mut found: Vec<_> =
        catalog.tables.values().filter(|table| reads(&select.from, table)).cloned().collect();
    found.sort_by_key(|table| table.object_id);
    found
}

/// The view with an index that reads a table.
pub fn indexed_over(catalog: &Catalog, table: &TableDef) -> Option<Arc<ModuleDef>> {
    let views = catalog.view_rows.keys().filter_map(|id| catalog.modules.get(id));
    let mut views =
        views.filter(|view| select_of(view).is_some_and(|select| reads(&select.from, table)));
    views.next().cloned()
}
