//! Rights to DROP, by what is dropped.

use std::sync::Arc;

use catalog::security::{Class, Permission, Securable};
use catalog::{Db, errors, fold_name};
use syntax::ast::{DropKind, DropObjects, ObjectName, TriggerTarget};
use types::SqlError;

use super::object::{alter_schema, alter_table, control_object, is_temporary, object};
use super::{server, sysadmin};
use crate::database_of;
use ddl::temp_procedures;
use session::state::SessionCore;

/// 15151 where a schema is not the caller's to drop.
pub(crate) fn may_drop_schema(
    core: &mut SessionCore,
    db: &Arc<Db>,
    id: i32,
    name: &str,
) -> Result<(), SqlError> {
    let may = core.has(db, Securable::new(Class::Schema, id), 0, Permission::Control)
        || core.has(db, Securable::DATABASE, 0, Permission::AlterAnySchema);
    if may { Ok(()) } else { Err(crate::principal::cannot("drop", "schema", name)) }
}

pub(super) fn drop_objects(core: &mut SessionCore, drop: &DropObjects) -> Result<(), SqlError> {
    for name in &drop.names {
        let kind = match drop.kind {
            DropKind::Table if is_temporary(name) => continue,
            DropKind::Table => "table",
            DropKind::View => "view",
            DropKind::Procedure if temp_procedures::find(core, &name.name.value)?.is_some() => {
                if temp_procedures::may_change(core, &name.name.value)? {
                    continue;
                }
                return Err(errors::cannot_drop("procedure", &name.to_string()));
            }
            DropKind::Procedure => "procedure",
            DropKind::Function => "function",
            DropKind::Trigger => "trigger",
            DropKind::Sequence => "sequence object",
            DropKind::Synonym => "synonym",
            DropKind::Default => "default",
            DropKind::Rule => "rule",
            DropKind::Type => {
                let db = database_of(core, name)?;
                alter_schema(core, &db, name)?;
                continue;
            }
            DropKind::Statistics => {
                // `table.statistics`
                let Some(table) = &name.schema else { continue };
                let schema = name.database.clone();
                let table =
                    ObjectName { server: None, database: None, schema, name: table.clone() };
                alter_table(core, &table)?;
                continue;
            }
            DropKind::Schema => {
                let db = core.db().clone();
                let id = db.catalog().schemas.get(&fold_name(&name.name.value)).copied();
                if let Some(id) = id {
                    may_drop_schema(core, &db, id, &name.name.value)?;
                }
                continue;
            }
            DropKind::Credential | DropKind::DatabaseCredential => {
                server(core, Permission::AlterAnyCredential)?;
                continue;
            }
            DropKind::SecurityPolicy => {
                object(core, name, Permission::AlterAnySecurityPolicy)?;
                continue;
            }
            // Where they are carried out.
            DropKind::Login
            | DropKind::User
            | DropKind::Role
            | DropKind::ServerRole
            | DropKind::ApplicationRole => continue,
        };
        let db = database_of(core, name)?;
        db.check_usable()?;
        let error = errors::cannot_drop(kind, &name.to_string());
        if matches!(drop.on, Some(TriggerTarget::Database | TriggerTarget::Server)) {
            sysadmin(core)?;
        } else if drop.kind == DropKind::Trigger {
            trigger_table(core, &db, name, &error)?;
        } else {
            control_object(core, &db, name, &error)?;
        }
    }
    Ok(())
}

/// A trigger is its table's.
fn trigger_table(
    core: &mut SessionCore,
    db: &Arc<Db>,
    name: &ObjectName,
    error: &SqlError,
) -> Result<(), SqlError> {
    let catalog = db.catalog();
    let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
    let Some(trigger) = catalog.find_module(schema, &name.name.value) else { return Ok(()) };
    let on = Securable::new(Class::Object, trigger.parent);
    let schema = catalog.schemas.get(&fold_name(&trigger.schema)).copied().unwrap_or(0);
    if core.has(db, on, schema, Permission::Alter) { Ok(()) } else { Err(error.clone()) }
}
