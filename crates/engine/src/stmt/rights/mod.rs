//! Which right each statement needs, apart from what its plan needs. docs/internals/security.md has the same as a table.
//! Guarantee: a kind of statement that is not here does not compile.

use std::sync::Arc;

use catalog::security::{Class, Permission, Securable};
use catalog::{Db, errors};
use syntax::ast::{
    AlterDatabase, AlterTableAction, ObjectName, SetOption, Stmt, StmtKind, TableElement, TriggerTarget,
};
use types::SqlError;

use super::database_of;
use exec::state::SessionCore;
use exec::state::rights::{denied_in, denied_on_server};

mod dropping;
mod named;
mod object;

use dropping::drop_objects;
use object::{
    alter_masks, alter_schema, alter_table, cannot_find, columns, control_object, create_table, declare,
    insert_into, is_masked, module, object, schema_of,
};

/// 15247.
pub(crate) fn not_permitted() -> SqlError {
    SqlError::new(15_247, 16, 1, "User does not have permission to perform this action.")
}

/// Checks the right to a statement that is about to run.
///
/// # Errors
/// What SQL Server says to whom it is missing: 262, 300, 1088, 2760, 3701, 15247 and others.
pub(crate) fn check(core: &mut SessionCore, stmt: &Stmt) -> Result<(), SqlError> {
    match &stmt.kind {
        // In the plan.
        StmtKind::Select(_)
        | StmtKind::Insert(_)
        | StmtKind::Update(_)
        | StmtKind::Delete(_)
        | StmtKind::Merge(_)
        | StmtKind::DeclareCursor(_)
        | StmtKind::OpenCursor(_)
        | StmtKind::SetVariable(_)
        // Control of flow: what its expressions read is in their plans.
        | StmtKind::If { .. }
        | StmtKind::While { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Block(_)
        | StmtKind::TryCatch { .. }
        | StmtKind::Return(_)
        | StmtKind::Goto(_)
        | StmtKind::Label(_)
        | StmtKind::WaitFor(_)
        | StmtKind::Print(_)
        | StmtKind::Throw(_)
        | StmtKind::Fetch(_)
        | StmtKind::CloseCursor(_)
        | StmtKind::Deallocate(_)
        // Everyone's own transaction.
        | StmtKind::BeginTransaction(_)
        | StmtKind::Commit(_)
        | StmtKind::Rollback(_)
        | StmtKind::SaveTransaction(_)
        // Where they are carried out: USE, EXECUTE, EXECUTE AS, principals, permissions.
        | StmtKind::Use(_)
        | StmtKind::Execute(_)
        | StmtKind::ExecuteAs { .. }
        | StmtKind::Revert { .. }
        | StmtKind::Foreign(_)
        | StmtKind::CreatePrincipal(_)
        | StmtKind::AlterPrincipal(_)
        | StmtKind::Permission(_) => Ok(()),

        StmtKind::RaisError(raise) => match raise.log && !core.has_server(Permission::AlterTrace) {
            true => Err(SqlError::new(
                2778,
                16,
                1,
                "Only System Administrator can specify WITH LOG option for RAISERROR command.",
            )),
            false => Ok(()),
        },
        StmtKind::Declare(list) => declare(core, list),
        StmtKind::SetOption(option) => set_option(core, option),
        StmtKind::BulkInsert(bulk) => match core.has_server(Permission::AdministerBulk) {
            true => insert_into(core, &bulk.table),
            false => {
                let text = "You do not have permission to use the bulk load statement.";
                Err(SqlError::new(4834, 16, 1, text))
            }
        },
        StmtKind::InsertBulk(bulk) => insert_into(core, &bulk.table),
        StmtKind::Truncate(truncate) => alter_table(core, &truncate.table),
        StmtKind::AlterTable(alter) => {
            alter_table(core, &alter.name)?;
            match &alter.action {
                AlterTableAction::Add { elements, .. } => {
                    columns(core, elements)?;
                    let masks = |e: &TableElement| matches!(e, TableElement::Column(c) if c.mask.is_some());
                    if elements.iter().any(masks) { alter_masks(core, &alter.name) } else { Ok(()) }
                }
                AlterTableAction::AlterColumn { column, .. }
                    if column.mask.is_some() || is_masked(core, &alter.name, column) =>
                {
                    alter_masks(core, &alter.name)
                }
                AlterTableAction::Mask { .. } => alter_masks(core, &alter.name),
                _ => Ok(()),
            }
        }
        StmtKind::CreateIndex(create) => alter_table(core, &create.table),
        StmtKind::AlterIndex(alter) => alter_table(core, &alter.table),
        StmtKind::DropIndex(drop) => drop.items.iter().try_for_each(|item| alter_table(core, &item.table)),
        StmtKind::CreateStatistics(create) => alter_table(core, &create.table),
        StmtKind::UpdateStatistics(update) => alter_table(core, &update.table),
        StmtKind::SwitchTrigger(switch) => match &switch.on {
            TriggerTarget::Table(table) => alter_table(core, table),
            TriggerTarget::Database | TriggerTarget::Server => sysadmin(core),
        },
        StmtKind::CreateTable(create) => create_table(core, create),
        StmtKind::CreateView(create) => module(core, create.verb, &create.name, Permission::CreateView),
        StmtKind::CreateProcedure(create) => {
            module(core, create.verb, &create.name, Permission::CreateProcedure)
        }
        StmtKind::CreateFunction(create) => {
            module(core, create.verb, &create.name, Permission::CreateFunction)
        }
        StmtKind::CreateTrigger(create) => match &create.on {
            TriggerTarget::Table(table) => alter_table(core, table),
            TriggerTarget::Database | TriggerTarget::Server => sysadmin(core),
        },
        StmtKind::CreateType(create) => object(core, &create.name, Permission::CreateType),
        StmtKind::SecurityPolicy(stmt) => {
            object(core, &stmt.name, Permission::AlterAnySecurityPolicy)?;
            super::policy::check_rights(core, stmt)
        }
        StmtKind::CreateSynonym { name, .. } => object(core, name, Permission::CreateSynonym),
        StmtKind::CreateSequence(create) => {
            let db = database_of(core, &create.name)?;
            let schema = Securable::new(Class::Schema, schema_of(&db, &create.name));
            match core.has(&db, schema, 0, Permission::CreateSequence) {
                true => Ok(()),
                false => alter_schema(core, &db, &create.name),
            }
        }
        StmtKind::AlterSequence(alter) => {
            let db = database_of(core, &alter.name)?;
            alter_schema(core, &db, &alter.name)
        }
        StmtKind::TransferSchema { schema, object } => {
            let db = core.db().clone();
            let to = ObjectName { schema: Some(schema.clone()), ..object.name.clone() };
            alter_schema(core, &db, &to)?;
            match object.class.as_deref() {
                None | Some("OBJECT") => control_object(core, &db, &object.name, &cannot_find(&object.name)),
                Some(_) => in_database(core, &db, Permission::AlterAnySchema),
            }
        }
        StmtKind::Sensitivity(stmt) => stmt.columns.iter().try_for_each(|column| {
            let Some(table) = column.schema.clone() else { return Ok(()) };
            let schema = column.database.clone();
            alter_table(core, &ObjectName { server: None, database: None, schema, name: table })
        }),
        // Who may take and give it is found with it.
        StmtKind::AlterAuthorization(_) => Ok(()),
        StmtKind::CreateSchema(create) => {
            let db = core.db().clone();
            if create.owner.is_some() && !core.owns_database(&db) {
                return Err(not_permitted());
            }
            in_database(core, &db, Permission::CreateSchema)
        }
        StmtKind::Drop(drop) => drop_objects(core, drop),

        StmtKind::CreateDatabase(_) => match core.has_server(Permission::CreateAnyDatabase) {
            true => Ok(()),
            false => Err(SqlError::new(
                262,
                14,
                1,
                "CREATE DATABASE permission denied in database 'master'.",
            )),
        },
        StmtKind::AlterDatabase(alter) => alter_database(core, alter),
        StmtKind::DropDatabase { names, .. } => names.iter().try_for_each(|name| {
            let Some(db) = core.host().find_db(&name.value) else { return Ok(()) };
            match core.has_server(Permission::AlterAnyDatabase)
                || core.has(&db, Securable::DATABASE, 0, Permission::Control)
            {
                true => Ok(()),
                false => Err(errors::cannot_drop("database", &name.value)),
            }
        }),
        StmtKind::Backup(_) | StmtKind::Restore(_) | StmtKind::Dbcc(_) => Ok(()),
        StmtKind::Checkpoint(_) => {
            let db = core.db().clone();
            in_database(core, &db, Permission::Checkpoint)
        }
        StmtKind::Kill(_) => match core.has_server(Permission::AlterAnyConnection) {
            true => Ok(()),
            false => {
                let text = "User does not have permission to use the KILL statement.";
                Err(SqlError::new(6102, 14, 1, text))
            }
        },
        StmtKind::Shutdown { .. } => match core.has_server(Permission::Shutdown) {
            true => Ok(()),
            false => Err(SqlError::new(6004, 14, 1, "User does not have permission to perform this action.")),
        },
        StmtKind::Reconfigure { .. } => match core.has_server(Permission::AlterSettings) {
            true => Ok(()),
            false => {
                let text = "You do not have permission to run the RECONFIGURE statement.";
                Err(SqlError::new(5812, 14, 1, text))
            }
        },
        StmtKind::CreateCredential(_) => server(core, Permission::AlterAnyCredential),
    }
}

/// 15247 to whom is no sysadmin.
pub(crate) fn sysadmin(core: &mut SessionCore) -> Result<(), SqlError> {
    if core.is_sysadmin() { Ok(()) } else { Err(not_permitted()) }
}

/// 300 without a permission of the server.
pub(crate) fn server(core: &mut SessionCore, permission: Permission) -> Result<(), SqlError> {
    if core.has_server(permission) { Ok(()) } else { Err(denied_on_server(permission)) }
}

/// 262 without a permission on a database.
pub(crate) fn in_database(
    core: &mut SessionCore,
    db: &Arc<Db>,
    permission: Permission,
) -> Result<(), SqlError> {
    match core.has(db, Securable::DATABASE, 0, permission) {
        true => Ok(()),
        false => Err(denied_in(permission, &db.name())),
    }
}

/// 15247 to whom is neither sysadmin, dbo nor db_owner.
pub(crate) fn owner(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    if core.owns_database(db) { Ok(()) } else { Err(not_permitted()) }
}

fn set_option(core: &mut SessionCore, option: &SetOption) -> Result<(), SqlError> {
    match option {
        SetOption::IdentityInsert { table, .. } => alter_table(core, table),
        SetOption::Switch { names, on: true } if names.iter().any(|n| n.starts_with("SHOWPLAN_")) => {
            let db = core.db().clone();
            in_database(core, &db, Permission::Showplan)
        }
        SetOption::Statistics { names, on: true } if names.iter().any(|n| n == "PROFILE" || n == "XML") => {
            let db = core.db().clone();
            in_database(core, &db, Permission::Showplan)
        }
        SetOption::Switch { .. }
        | SetOption::Statistics { .. }
        | SetOption::IsolationLevel(_)
        | SetOption::Value { .. } => Ok(()),
    }
}

fn alter_database(core: &mut SessionCore, alter: &AlterDatabase) -> Result<(), SqlError> {
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
    let text = format!(
        "User does not have permission to alter database '{}', the database does not exist, or the database is not in a \
         state that allows access checks.",
        db.name()
    );
    Err(SqlError::new(5011, 14, 5, text))
}
