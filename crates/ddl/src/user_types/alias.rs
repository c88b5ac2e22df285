//! Alias types: CREATE TYPE ... FROM, DROP TYPE, sp_addtype, sp_droptype and sp_rename.

use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::{TableElement, TypeName};
use types::{DataType, SqlError, msg};

use super::{check_name, in_use, module_with};
use crate::properties;
use crate::work::Work;
use bind::type_names::alias_id;
use catalog::alias::row_of;
use catalog::change::DdlChange;
use catalog::given_up::Name;
use catalog::properties::PropertyClass;
use catalog::security::Class;
use catalog::{AliasDef, Catalog, ColumnDef, Db, errors};
use instance::OfInstance;
use instance::security::change::forget;
use session::state::SessionCore;
use txn::locks::LockMode;

/// Makes an alias type.
///
/// # Errors
/// 219 the name is taken, 2760 no such schema.
pub fn create(
    core: &mut SessionCore,
    db: &Arc<Db>,
    schema: &str,
    name: &str,
    base: DataType,
    nullable: bool,
) -> Result<(), SqlError> {
    let work = &mut Work::begin(core, db)?;
    let schema = work.schema(schema)?;
    work.wait_for_name(&Name::of_type(&schema, name))?;
    check_name(&db.catalog(), &schema, name)?;
    let type_id = work.type_id()?;
    let alias = Arc::new(AliasDef { type_id, schema, name: name.into(), base, nullable });
    change(work, &alias, true)
}

/// Drops an alias type.
///
/// # Errors
/// 218 there is none, 3732 a column or parameter is of it.
pub(super) fn drop_type(
    core: &mut SessionCore,
    db: &Arc<Db>,
    schema: &str,
    name: &str,
) -> Result<(), SqlError> {
    let work = &mut Work::begin(core, db)?;
    let Some(alias) = db.catalog().find_type(schema, name).cloned() else {
        return Err(SqlError::of(msg::TYPE_NOT_FOUND, [&name]));
    };
    work.lock(alias.type_id, LockMode::SchM)?;
    if let Some(user) = user_of(&db.catalog(), &alias) {
        return Err(in_use(&alias.schema, &alias.name, &user));
    }
    change(work, &alias, false)?;
    forget(work.core, db, Class::Type, alias.type_id)?;
    properties::forget(work.core, db, PropertyClass::Type, alias.type_id)?;
    // Batches that were compiled with it hold what it stood for.
    work.core.instance().forget_batches();
    Ok(())
}

/// Name of the first object that has a column or parameter of an alias type.
fn user_of(catalog: &Catalog, alias: &AliasDef) -> Option<CompactString> {
    let named = |name: &TypeName| alias_id(name, catalog) == Some(alias.type_id);
    let has =
        |columns: &[ColumnDef]| columns.iter().any(|column| column.alias == Some(alias.type_id));
    let declares = |element: &TableElement| match element {
        TableElement::Column(column) => column.data_type.as_ref().is_some_and(named),
        TableElement::Constraint(_) | TableElement::Index(_) | TableElement::Period { .. } => false,
    };
    let tables = catalog.tables.values().filter(|table| has(&table.columns));
    let tables = tables.map(|table| (table.object_id, &table.name));
    let types = catalog.table_types.values().filter(|def| def.elements.iter().any(declares));
    let types = types.map(|def| (def.type_id, &def.name));
    let module = module_with(catalog, named).map(|module| (module.object_id, &module.name));
    tables.chain(types).chain(module).min().map(|(_, name)| name.clone())
}

/// Gives an alias type another name, which is free.
///
/// # Errors
/// What the storage says.
pub fn rename(work: &mut Work<'_>, alias: &Arc<AliasDef>, name: &str) -> Result<(), SqlError> {
    let after = Arc::new(AliasDef { name: name.into(), ..AliasDef::clone(alias) });
    change(work, alias, false)?;
    change(work, &after, true)?;
    work.core.instance().forget_batches();
    Ok(())
}

/// Puts an alias type into another schema, where its name is free.
///
/// # Errors
/// What the storage says.
pub fn transfer(work: &mut Work<'_>, alias: &Arc<AliasDef>, schema: &str) -> Result<(), SqlError> {
    let after = Arc::new(AliasDef { schema: schema.into(), ..AliasDef::clone(alias) });
    change(work, alias, false)?;
    change(work, &after, true)?;
    work.core.instance().forget_batches();
    Ok(())
}

fn change(work: &mut Work<'_>, alias: &Arc<AliasDef>, made: bool) -> Result<(), SqlError> {
    let (db, open) = (work.db.clone(), work.open.clone());
    // Nobody makes a column of it meanwhile.
    work.lock(alias.type_id, LockMode::SchM)?;
    if !made {
        // Nor has anybody dropped it, and made another of its name, while its lock was waited for.
        let now = db.catalog().find_type(&alias.schema, &alias.name).cloned();
        if !now.is_some_and(|now| Arc::ptr_eq(&now, alias)) {
            return Err(errors::schema_changed());
        }
    }
    work.hold_schema(&alias.schema)?;
    let schema_id =
        db.catalog().schemas.get(&catalog::fold_name(&alias.schema)).copied().unwrap_or(1);
    let (system, values) = row_of(alias, schema_id);
    let txn = work.core.txn(&db)?;
    let done = match made {
        true => open.trees.put(txn, system, &values),
        false => open.trees.delete(txn, system, &values).map(drop),
    };
    done.map_err(|e| errors::store_error(&db, e))?;
    let published = DdlChange::alias(&db, work.core.spid(), alias, made)?;
    work.core.remember_ddl(published);
    Ok(())
}
