//! Table types: CREATE TYPE ... AS TABLE and DROP TYPE.

use std::sync::Arc;

use syntax::ast::TypeName;
use txn::LockMode;
use types::SqlError;

use super::{check_name, in_use, module_with};
use crate::properties;
use crate::work::Work;
use bind::type_names::table_type;
use catalog::change::DdlChange;
use catalog::given_up::Name;
use catalog::properties::PropertyClass;
use catalog::security::Class;
use catalog::table_type::{elements_of, rows_of};
use catalog::{Db, TableTypeDef, errors, fold_name};
use instance::OfInstance;
use instance::security::change::forget;
use session::state::SessionCore;

/// A table type to make.
pub struct NewTableType<'a> {
    /// `dbo` when empty.
    pub schema: &'a str,
    pub name: &'a str,
    /// The CREATE TYPE statement.
    pub text: &'a str,
    /// SET QUOTED_IDENTIFIER and ANSI_NULL_DFLT_ON of the session.
    pub quoted_identifier: bool,
    pub nullable: bool,
}

/// Makes a table type; its columns and constraints were checked.
///
/// # Errors
/// 219 the name is taken, 2760 no such schema.
pub fn create(
    core: &mut SessionCore,
    db: &Arc<Db>,
    new: &NewTableType<'_>,
) -> Result<(), SqlError> {
    let work = &mut Work::begin(core, db)?;
    let schema = work.schema(new.schema)?;
    work.wait_for_name(&Name::of_type(&schema, new.name))?;
    check_name(&db.catalog(), &schema, new.name)?;
    let type_id = work.object_id()?;
    let def = TableTypeDef {
        type_id,
        schema,
        name: new.name.into(),
        text: new.text.into(),
        quoted_identifier: new.quoted_identifier,
        nullable: new.nullable,
        create_date: catalog::clock::now(),
        elements: elements_of(new.text, new.quoted_identifier)?,
    };
    change(work, &Arc::new(def), true)
}

/// Drops a table type.
///
/// # Errors
/// 3732 a module has a parameter of the type.
pub(super) fn drop_type(
    core: &mut SessionCore,
    db: &Arc<Db>,
    def: &Arc<TableTypeDef>,
) -> Result<(), SqlError> {
    let work = &mut Work::begin(core, db)?;
    work.lock(def.type_id, LockMode::SchM)?;
    let catalog = db.catalog();
    if !catalog.find_table_type(&def.schema, &def.name).is_some_and(|now| Arc::ptr_eq(now, def)) {
        return Err(errors::schema_changed());
    }
    let named = |name: &TypeName| {
        table_type(name, &catalog).is_some_and(|found| found.type_id == def.type_id)
    };
    if let Some(user) = module_with(&catalog, named) {
        return Err(in_use(&def.schema, &def.name, &user.name));
    }
    change(work, def, false)?;
    forget(work.core, db, Class::Type, def.type_id)?;
    properties::forget(work.core, db, PropertyClass::Type, def.type_id)?;
    // Batches that were compiled with it hold its columns.
    work.core.instance().forget_batches();
    Ok(())
}

fn change(work: &mut Work<'_>, def: &Arc<TableTypeDef>, made: bool) -> Result<(), SqlError> {
    let (db, open) = (work.db.clone(), work.open.clone());
    work.lock(def.type_id, LockMode::SchM)?;
    work.hold_schema(&def.schema)?;
    let schema_id = db.catalog().schemas.get(&fold_name(&def.schema)).copied().unwrap_or(1);
    let txn = work.core.txn(&db)?;
    for (system, values) in rows_of(def, schema_id) {
        let done = match made {
            true => open.trees.put(txn, system, &values),
            false => open.trees.delete(txn, system, &values).map(drop),
        };
        done.map_err(|e| errors::store_error(&db, e))?;
    }
    let published = DdlChange::table_type(&db, work.core.spid(), def, made)?;
    work.core.remember_ddl(published);
    Ok(())
}
