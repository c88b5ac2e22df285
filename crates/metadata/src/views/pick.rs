//! Which objects a view makes its rows of: all, or those that the query wants.

use std::sync::Arc;

use super::Wanted;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, TableDef};

/// The tables with the wanted id and name, in order of name. `id` and `name` are positions of the
/// view's columns.
pub fn tables<'c>(
    catalog: &'c Catalog,
    wanted: &Wanted<'_>,
    id: usize,
    name: Option<usize>,
) -> Vec<&'c Arc<TableDef>> {
    match wanted.id(id) {
        Some(id) => {
            catalog.by_id.get(&id).filter(|table| table.of_view.is_none()).into_iter().collect()
        }
        None => {
            let all = catalog.sorted().into_iter();
            all.filter(|t| name.is_none_or(|at| wanted.may_be(at, &t.name))).collect()
        }
    }
}

/// The tables, and those that keep the rows of views, with the wanted id of what their indexes are
/// shown to belong to.
pub fn indexed<'c>(catalog: &'c Catalog, wanted: &Wanted<'_>, id: usize) -> Vec<&'c Arc<TableDef>> {
    match wanted.id(id) {
        Some(object) => match catalog.rows_of_view(object) {
            Some(rows) => vec![rows],
            None => tables(catalog, wanted, id, None),
        },
        None => catalog.stored(),
    }
}

/// The tables that have a constraint with the wanted id (column `own`) or are the wanted parent
/// (column `parent`).
pub fn parents<'c>(
    catalog: &'c Catalog,
    wanted: &Wanted<'_>,
    own: usize,
    parent: usize,
) -> Vec<&'c Arc<TableDef>> {
    match wanted.id(own) {
        Some(id) => catalog.constraint(id).map(|c| &c.table).into_iter().collect(),
        None => tables(catalog, wanted, parent, None),
    }
}

/// The modules of a kind with the wanted id and name, in order of name.
pub fn modules(
    catalog: &Catalog,
    kind: ModuleKind,
    wanted: &Wanted<'_>,
    id: usize,
    name: Option<usize>,
) -> Vec<Arc<ModuleDef>> {
    modules_of(catalog, &[kind], wanted, id, name)
}

/// The same, of several kinds.
pub(crate) fn modules_of(
    catalog: &Catalog,
    kinds: &[ModuleKind],
    wanted: &Wanted<'_>,
    id: usize,
    name: Option<usize>,
) -> Vec<Arc<ModuleDef>> {
    let of_kind = |m: &&Arc<ModuleDef>| {
        kinds.contains(&m.kind) && name.is_none_or(|at| wanted.may_be(at, &m.name))
    };
    if let Some(id) = wanted.id(id) {
        return catalog.modules.get(&id).filter(of_kind).cloned().into_iter().collect();
    }
    let mut list: Vec<_> = catalog.modules.values().filter(of_kind).cloned().collect();
    list.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    list
}

/// About as many rows as there are tables.
pub(crate) fn per_table(db: &Db) -> f64 {
    (db.catalog().by_id.size() as f64).max(10.0)
}

/// Some rows for each table.
pub(crate) fn some_per_table(db: &Db) -> f64 {
    per_table(db) * 4.0
}

/// Ten rows for each table.
pub(crate) fn per_column(db: &Db) -> f64 {
    per_table(db) * 10.0
}

/// About as many rows as there are modules.
pub(crate) fn per_module(db: &Db) -> f64 {
    (db.catalog().modules.size() as f64).max(10.0)
}
