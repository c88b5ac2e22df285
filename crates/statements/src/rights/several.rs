//! Statements that need more than one right, or one that depends on what they say; and those whose
//! missing right has an error of its own.

use catalog::errors;
use catalog::security::{Class, Permission, Securable};
use syntax::ast::{
    self, AlterDatabase, AlterTable, AlterTableAction, CreateSchema, Ident, ObjectName,
    SequenceDef, SetOption, TableElement,
};
use types::{SqlError, msg};

use super::object::{
    alter_masks, alter_schema, alter_table, cannot_find, columns, control_object, is_masked,
    schema_of,
};
use super::{in_database, not_permitted};
use crate::database_of;
use session::state::SessionCore;

/// 262: no database may be made.
pub fn no_create_database() -> SqlError {
    SqlError::of(msg::DATABASE_PERMISSION_DENIED, [&"CREATE DATABASE", &"master"])
}

/// The error of a missing permission of the server.
pub fn on_server(
    core: &mut SessionCore,
    permission: Permission,
    missing: fn() -> SqlError,
) -> Result<(), SqlError> {
    if core.has_server(permission) { Ok(()) } else { Err(missing()) }
}

pub(super) fn alter_table_by(core: &mut SessionCore, alter: &AlterTable) -> Result<(), SqlError> {
    alter_table(core, &alter.name)?;
    let masks = match &alter.action {
        AlterTableAction::Add { elements, .. } => {
            columns(core, elements)?;
            elements.iter().any(|e| matches!(e, TableElement::Column(c) if c.mask.is_some()))
        }
        AlterTableAction::AlterColumn { column, .. } => {
            column.mask.is_some() || is_masked(core, &alter.name, column)
        }
        AlterTableAction::Mask { .. } => true,
        _ => false,
    };
    if masks { alter_masks(core, &alter.name) } else { Ok(()) }
}

pub(super) fn create_sequence(
    core: &mut SessionCore,
    create: &SequenceDef,
) -> Result<(), SqlError> {
    let db = database_of(core, &create.name)?;
    let schema = Securable::new(Class::Schema, schema_of(&db, &create.name));
    match core.has(&db, schema, 0, Permission::CreateSequence) {
        true => Ok(()),
        false => alter_schema(core, &db, &create.name),
    }
}

pub(super) fn transfer(
    core: &mut SessionCore,
    schema: &Ident,
    object: &ast::Securable,
) -> Result<(), SqlError> {
    let db = core.db().clone();
    let to = ObjectName { schema: Some(schema.clone()), ..object.name.clone() };
    alter_schema(core, &db, &to)?;
    match object.class.as_deref() {
        None | Some("OBJECT") => {
            control_object(core, &db, &object.name, &cannot_find(&object.name))
        }
        Some(_) => in_database(core, &db, Permission::AlterAnySchema),
    }
}

pub(super) fn create_schema(core: &mut SessionCore, create: &CreateSchema) -> Result<(), SqlError> {
    let db = core.db().clone();
    if create.owner.is_some() && !core.owns_database(&db) {
        return Err(not_permitted());
    }
    in_database(core, &db, Permission::CreateSchema)
}

/// A database that is not there is the statement's affair.
pub(super) fn drop_database(core: &mut SessionCore, name: &str) -> Result<(), SqlError> {
    let Some(db) = core.host().find_db(name) else { return Ok(()) };
    match core.has_server(Permission::AlterAnyDatabase)
        || core.has(&db, Securable::DATABASE, 0, Permission::Control)
    {
        true => Ok(()),
        false => Err(errors::cannot_drop("database", name)),
    }
}

pub(super) fn set_option(core: &mut SessionCore, option: &SetOption) -> Result<(), SqlError> {
    match option {
        SetOption::IdentityInsert { table, .. } => alter_table(core, table),
        SetOption::Switch { names, on: true }
            if names.iter().any(|n| n.starts_with("SHOWPLAN_")) =>
        {
            let db = core.db().clone();
            in_database(core, &db, Permission::Showplan)
        }
        SetOption::Statistics { names, on: true }
            if names.iter().any(|n| n == "PROFILE" || n == "XML") =>
        {
            let db = core.db().clone();
            in_database(core, &db, Permission::Showplan)
        }
        SetOption::Switch { .. }
        | SetOption::Statistics { .. }
        | SetOption::IsolationLevel(_)
        | SetOption::Value { .. } => Ok(()),
    }
}

pub(super) fn alter_database(
    core: &mut SessionCore,
    alter: &AlterDatabase,
) -> Result<(), SqlError> {
    let db = match &alter.name {
        Some(name) => core.host().find_db(&name.value),
        None => Some(core.db().clone()),
    };
    let Some(db) = db else { return Ok(()) };
    if core.has_server(Permission::AlterAnyDatabase)
        || core.has(&db, Securable::DATABASE, 0, Permission::Alter)
    {
        return Ok(());
    }
    Err(SqlError::of(msg::ALTER_DATABASE_PERMISSION, [&db.name()]))
}
