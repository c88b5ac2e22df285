//! Rights to make, change and drop objects of schemas.
//! Guarantees: an object that is not there is no matter of rights: the statement says so.

use std::sync::Arc;

use catalog::security::{Class, Permission, Securable};
use catalog::{Db, fold_name};
use logical::rights::Rights;
use syntax::ast::{CreateTable, Declaration, ModuleVerb, ObjectName, TableElement};
use types::{SqlError, msg};

use super::{in_database, not_permitted};
use crate::database_of;
use ddl::temp_procedures;
use session::state::SessionCore;

/// 1088.
pub(super) fn cannot_find(name: &ObjectName) -> SqlError {
    SqlError::of(msg::OBJECT_NOT_FOUND, [&name]).state(13)
}

/// schema_id that a name means.
pub(super) fn schema_of(db: &Db, name: &ObjectName) -> i32 {
    let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
    db.catalog().schemas.get(&fold_name(schema)).copied().unwrap_or(0)
}

/// A table or module: database, object_id, schema_id. `None` when there is none; the statement says
/// so.
fn find_object(core: &SessionCore, db: &Arc<Db>, name: &ObjectName) -> Option<(i32, i32)> {
    let catalog = db.catalog();
    let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
    let id = match catalog.find(schema, &name.name.value) {
        Some(table) => table.object_id,
        None => catalog.find_module(schema, &name.name.value)?.object_id,
    };
    debug_assert!(!name.name.value.starts_with('#') || core.db().id() > 0);
    Some((id, schema_of(db, name)))
}

pub(super) fn is_temporary(name: &ObjectName) -> bool {
    name.name.value.starts_with('#')
}

pub(super) fn alter_table(core: &mut SessionCore, name: &ObjectName) -> Result<(), SqlError> {
    if is_temporary(name) {
        return Ok(());
    }
    let db = database_of(core, name)?;
    db.check_usable()?;
    core.effective(&db)?;
    match find_object(core, &db, name) {
        Some((id, schema))
            if !core.has(&db, Securable::new(Class::Object, id), schema, Permission::Alter) =>
        {
            Err(cannot_find(name))
        }
        _ => Ok(()),
    }
}

pub(super) fn insert_into(core: &mut SessionCore, name: &ObjectName) -> Result<(), SqlError> {
    if is_temporary(name) {
        return Ok(());
    }
    let db = database_of(core, name)?;
    db.check_usable()?;
    let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
    let Some(table) = db.catalog().find(schema, &name.name.value).cloned() else { return Ok(()) };
    let mut rights = Rights::default();
    rights.need_table(&db, &table, Permission::Insert, &[]);
    core.check_rights(&rights.take())
}

pub(super) fn alter_schema(
    core: &mut SessionCore,
    db: &Arc<Db>,
    name: &ObjectName,
) -> Result<(), SqlError> {
    let schema = schema_of(db, name);
    match core.has(db, Securable::new(Class::Schema, schema), 0, Permission::Alter) {
        true => Ok(()),
        false => {
            let shown = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
            Err(SqlError::of(msg::SCHEMA_NOT_FOUND, [&shown]))
        }
    }
}

/// The right to make an object of a kind in a schema.
pub(super) fn object(
    core: &mut SessionCore,
    name: &ObjectName,
    permission: Permission,
) -> Result<(), SqlError> {
    let db = database_of(core, name)?;
    db.check_usable()?;
    core.effective(&db)?;
    in_database(core, &db, permission)?;
    alter_schema(core, &db, name)
}

/// Whether a column of a table has a mask.
pub(super) fn is_masked(
    core: &SessionCore,
    name: &ObjectName,
    column: &syntax::ast::ColumnDef,
) -> bool {
    let found = crate::resolve_table(core, name).ok();
    found.is_some_and(|(_, table)| {
        table.column(&column.name.value).is_some_and(|at| table.columns[at].mask.is_some())
    })
}

/// 15247 without ALTER ANY MASK.
pub(super) fn alter_masks(core: &mut SessionCore, table: &ObjectName) -> Result<(), SqlError> {
    let db = database_of(core, table)?;
    match core.has(&db, Securable::DATABASE, 0, Permission::AlterAnyMask) {
        true => Ok(()),
        false => {
            let mut refused = not_permitted();
            refused.state = 5;
            Err(refused)
        }
    }
}

pub(super) fn create_table(core: &mut SessionCore, create: &CreateTable) -> Result<(), SqlError> {
    if !is_temporary(&create.name) {
        object(core, &create.name, Permission::CreateTable)?;
    }
    columns(core, &create.elements)
}

/// A column of a type that was made refers to it.
pub(super) fn columns(core: &mut SessionCore, elements: &[TableElement]) -> Result<(), SqlError> {
    let types = elements.iter().filter_map(|element| match element {
        TableElement::Column(column) => column.data_type.as_ref(),
        _ => None,
    });
    let db = core.db().clone();
    let mut rights = Rights::new(core.identity.chain);
    for ty in types {
        let schema = ty.name.schema.as_ref().map_or("", |s| s.value.as_str());
        if let Some(alias) = db.catalog().find_type(schema, &ty.name.name.value) {
            rights.need_type(&db, (&alias.schema, alias.type_id), Permission::References);
        }
    }
    core.check_rights(&rights.take())
}

/// A variable of a table type uses the type; one of an alias type does not.
pub(super) fn declare(core: &mut SessionCore, list: &[Declaration]) -> Result<(), SqlError> {
    let db = core.db().clone();
    let mut rights = Rights::new(core.identity.chain);
    for item in list {
        let Declaration::Scalar { data_type, .. } = item else { continue };
        if let Some(def) = ddl::table_def::table_type(data_type, &db.catalog()) {
            rights.need_type(&db, (&def.schema, def.type_id), Permission::Execute);
        }
    }
    core.check_rights(&rights.take())
}

/// CREATE needs the permission and the schema, ALTER of something that is there needs ALTER on it.
pub(super) fn module(
    core: &mut SessionCore,
    verb: ModuleVerb,
    name: &ObjectName,
    permission: Permission,
) -> Result<(), SqlError> {
    // Everybody may make temporary procedures.
    if is_temporary(name) && permission == Permission::CreateProcedure {
        let may =
            verb == ModuleVerb::Create || temp_procedures::may_change(core, &name.name.value)?;
        return if may { Ok(()) } else { Err(cannot_find(name)) };
    }
    let db = database_of(core, name)?;
    db.check_usable()?;
    core.effective(&db)?;
    match (verb, find_object(core, &db, name)) {
        (ModuleVerb::Alter | ModuleVerb::CreateOrAlter, Some((id, schema))) => {
            match core.has(&db, Securable::new(Class::Object, id), schema, Permission::Alter) {
                true => Ok(()),
                false => Err(cannot_find(name)),
            }
        }
        _ => object(core, name, permission),
    }
}

/// CONTROL on an object, or ALTER on its schema.
pub(super) fn control_object(
    core: &mut SessionCore,
    db: &Arc<Db>,
    name: &ObjectName,
    error: &SqlError,
) -> Result<(), SqlError> {
    core.effective(db)?;
    let Some((id, schema)) = find_object(core, db, name) else { return Ok(()) };
    let control = core.has(db, Securable::new(Class::Object, id), schema, Permission::Control)
        || core.has(db, Securable::new(Class::Schema, schema), 0, Permission::Alter);
    if control { Ok(()) } else { Err(error.clone()) }
}
