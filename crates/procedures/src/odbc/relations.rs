//! Tables, views and system views as the catalog procedures list them.

use std::sync::Arc;

use ::types::{DataType, SqlError};
use compact_str::CompactString;

use super::Names;
use bind::type_names::SYSNAME;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, TableDef, fold_name};
use metadata::views::rights::sees;
use metadata::views::{self, SystemView};
use session::state::SessionCore;

/// What has columns.
pub enum Relation {
    Table(Arc<TableDef>),
    View(Arc<ModuleDef>),
    System(&'static dyn SystemView),
}

/// A column of one.
pub struct Column {
    pub name: CompactString,
    pub ty: DataType,
    pub nullable: bool,
    /// The text of its default.
    pub default: Option<CompactString>,
    pub identity: bool,
    /// Name of the alias type that it was declared with.
    pub alias: Option<CompactString>,
}

impl Relation {
    pub fn schema(&self) -> &str {
        match self {
            Relation::Table(table) => &table.schema,
            Relation::View(view) => &view.schema,
            Relation::System(view) => view.schema(),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Relation::Table(table) => &table.name,
            Relation::View(view) => &view.name,
            Relation::System(view) => view.name(),
        }
    }

    /// `TABLE` or `VIEW`.
    pub fn kind(&self) -> &'static str {
        match self {
            Relation::Table(_) => "TABLE",
            Relation::View(_) | Relation::System(_) => "VIEW",
        }
    }

    /// Its columns in order. A view whose tables have gone has none.
    pub fn columns(&self, session: &SessionCore, db: &Arc<Db>) -> Vec<Column> {
        match self {
            Relation::Table(table) => {
                let catalog = db.catalog();
                let column = |c: &catalog::ColumnDef| Column {
                    name: c.name.clone(),
                    ty: c.ty,
                    nullable: c.nullable,
                    default: c.default.as_ref().map(|d| d.text.clone()),
                    identity: c.identity.is_some(),
                    alias: alias_name(c, &catalog),
                };
                table.columns.iter().map(column).collect()
            }
            Relation::View(view) => {
                let columns = views::columns_of_view(session, db, view).unwrap_or_default();
                let plain = |c: plan::ColumnInfo| plain(&c.name, c.ty, c.nullable);
                columns.into_iter().map(plain).collect()
            }
            Relation::System(view) => view
                .columns()
                .iter()
                .map(|(name, ty, nullable)| plain(name, *ty, *nullable))
                .collect(),
        }
    }
}

fn plain(name: &str, ty: DataType, nullable: bool) -> Column {
    Column { name: name.into(), ty, nullable, default: None, identity: false, alias: None }
}

/// Name of the alias type that a column was declared with.
pub(crate) fn alias_name(column: &catalog::ColumnDef, catalog: &Catalog) -> Option<CompactString> {
    match column.alias? {
        SYSNAME => Some("sysname".into()),
        id => catalog.alias(id).map(|alias| alias.name.clone()),
    }
}

/// The relations of these names, in order of schema and name.
pub fn find(catalog: &Catalog, schemas: &Names, names: &Names) -> Vec<Relation> {
    let wanted = |schema: &str, name: &str| names.has(name) && schemas.has(schema);
    let mut found = Vec::new();
    if let (Names::One(schema), Names::One(name)) = (schemas, names) {
        if let Some(table) = catalog.find(schema, name) {
            found.push(Relation::Table(table.clone()));
        } else if let Some(view) =
            catalog.find_module(schema, name).filter(|m| m.kind == ModuleKind::View)
        {
            found.push(Relation::View(view.clone()));
        }
    } else {
        let tables = catalog.tables.values().filter(|t| wanted(&t.schema, &t.name));
        found.extend(tables.cloned().map(Relation::Table));
        let views = catalog.modules.values().filter(|m| m.kind == ModuleKind::View);
        found.extend(views.filter(|m| wanted(&m.schema, &m.name)).cloned().map(Relation::View));
    }
    let system = views::all().filter(|v| v.arguments().is_none() && wanted(v.schema(), v.name()));
    found.extend(system.map(Relation::System));
    found.sort_by(|a, b| (a.schema(), a.name()).cmp(&(b.schema(), b.name())));
    found
}

/// The table of a name that the caller may know of. With no schema: the one in `dbo`, or the only
/// one of this name.
///
/// # Errors
/// None today; kept for those of names.
pub fn table(
    core: &mut SessionCore,
    schema: Option<&str>,
    name: &str,
) -> Result<Option<Arc<TableDef>>, SqlError> {
    let db = core.db().clone();
    let found = named(&db.catalog(), schema, name)?;
    Ok(found.filter(|table| sees(core, &db, table.object_id)))
}

fn named(
    catalog: &Catalog,
    schema: Option<&str>,
    name: &str,
) -> Result<Option<Arc<TableDef>>, SqlError> {
    if let Some(table) = catalog.find(schema.unwrap_or("dbo"), name) {
        return Ok(Some(table.clone()));
    }
    if schema.is_some() {
        return Ok(None);
    }
    let folded = fold_name(name);
    let mut same = catalog.tables.values().filter(|t| fold_name(&t.name) == folded);
    Ok(match (same.next(), same.next()) {
        (Some(table), None) => Some(table.clone()),
        _ => None,
    })
}
