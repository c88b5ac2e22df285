//! Types that users make: alias types and table types. They share their names, and what a DROP TYPE
//! asks. Guarantees: a type that a column or parameter is of stays (3732).

pub mod alias;
pub mod table;

use std::sync::Arc;

use syntax::ast::TypeName;
use types::{DataType, SqlError, msg};

use catalog::{Catalog, Db, ModuleDef};
use programs::module::declared_types;
use session::state::SessionCore;

/// Error 219 for a name that is a type's.
pub fn check_name(catalog: &Catalog, schema: &str, name: &str) -> Result<(), SqlError> {
    let built_in = DataType::from_name(name, &[]).is_ok();
    if built_in
        || catalog.find_type(schema, name).is_some()
        || catalog.find_table_type(schema, name).is_some()
    {
        return Err(SqlError::of(msg::TYPE_EXISTS, [&schema, &name]));
    }
    Ok(())
}

/// Drops an alias type or a table type.
///
/// # Errors
/// 218 there is none, 3732 a column or parameter is of it.
pub fn drop_type(
    core: &mut SessionCore,
    db: &Arc<Db>,
    schema: &str,
    name: &str,
) -> Result<(), SqlError> {
    if let Some(def) = db.catalog().find_table_type(schema, name).cloned() {
        return table::drop_type(core, db, &def);
    }
    alias::drop_type(core, db, schema, name)
}

/// The first module with a parameter of a type, or that returns one.
fn module_with(catalog: &Catalog, is: impl Fn(&TypeName) -> bool) -> Option<&Arc<ModuleDef>> {
    let uses = |module: &&Arc<ModuleDef>| {
        let (params, returns) = declared_types(module);
        params.iter().map(|param| &param.data_type).chain(returns).any(&is)
    };
    catalog.modules.values().filter(uses).min_by_key(|module| module.object_id)
}

/// 3732.
fn in_use(schema: &str, name: &str, user: &str) -> SqlError {
    SqlError::of(msg::TYPE_REFERENCED, [&schema, &name, &user])
}
