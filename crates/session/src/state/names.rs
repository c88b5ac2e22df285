//! What names of databases and tables mean in a session.

use std::sync::Arc;

use super::core::SessionCore;
use catalog::{Db, TableDef, errors};
use syntax::ast::ObjectName;
use types::SqlError;

/// The database that a name of up to four parts is in. Errors: 7202 a linked server, 911 no such
/// database.
pub fn database_of(core: &SessionCore, name: &ObjectName) -> Result<Arc<Db>, SqlError> {
    if let Some(server) = &name.server {
        return Err(errors::no_server(&server.value));
    }
    match &name.database {
        None => Ok(core.db().clone()),
        Some(database) => core.host().database(&database.value),
    }
}

/// The table of a name. Errors: 208 no such table, 911 no such database.
pub fn resolve_table(
    core: &SessionCore,
    name: &ObjectName,
) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    let temporary = name.name.value.starts_with('#');
    let db = match (&name.database, temporary) {
        (None, true) => core.host().database("tempdb")?,
        _ => database_of(core, name)?,
    };
    db.check_usable()?;
    if temporary && let Some(table) = core.objects.temps.find(&name.name.value, &db) {
        return Ok((db, table));
    }
    let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
    let table = db.catalog().find(schema, &name.name.value).cloned();
    match table {
        Some(table) => Ok((db, table)),
        None => Err(errors::invalid_object(&name.to_string())),
    }
}
