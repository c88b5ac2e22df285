//! Which right each statement needs, apart from what its plan needs. docs/internals/security.md has
//! the same as a table. Guarantee: a kind of statement that is not here does not compile; commands
//! say it themselves.

use std::sync::Arc;

use catalog::Db;
use catalog::security::{Permission, Securable};
use syntax::ast::{ObjectName, Stmt, StmtKind, TriggerTarget};
use types::{SqlError, msg};

use super::database_of;
use session::state::SessionCore;
use session::state::rights::{denied_bulk, denied_in, denied_on_server};

mod dropping;
mod named;
mod object;
mod several;

use dropping::drop_objects;
pub(super) use dropping::may_drop_schema;
use object::{alter_schema, alter_table, create_table, declare, insert_into, module, object};
use several::{
    alter_database, alter_table_by, create_schema, create_sequence, drop_database, set_option,
    transfer,
};
pub use several::{no_create_database, on_server};

/// 15247.
pub fn not_permitted() -> SqlError {
    SqlError::of(msg::NO_PERMISSION, [])
}

/// Checks the right to a statement that is about to run.
///
/// # Errors
/// The error of SQL Server for a caller without the right: 262, 300, 1088, 2760, 3701, 15247 and
/// others.
pub fn check(core: &mut SessionCore, stmt: &Stmt) -> Result<(), SqlError> {
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

        StmtKind::RaisError(raise) if !raise.log => Ok(()),
        StmtKind::RaisError(_) => {
            on_server(core, Permission::AlterTrace, || SqlError::of(msg::WITH_LOG_PERMISSION, []))
        },
        StmtKind::Declare(list) => declare(core, list),
        StmtKind::SetOption(option) => set_option(core, option),
        StmtKind::BulkInsert(bulk) => {
            if !core.has_server(Permission::AdministerBulk) {
                return Err(denied_bulk());
            }
            insert_into(core, &bulk.table)
        }
        StmtKind::InsertBulk(bulk) => insert_into(core, &bulk.table),
        StmtKind::Truncate(truncate) => alter_table(core, &truncate.table),
        StmtKind::AlterTable(alter) => alter_table_by(core, alter),
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
        StmtKind::CreateSequence(create) => create_sequence(core, create),
        StmtKind::AlterSequence(alter) => {
            let db = database_of(core, &alter.name)?;
            alter_schema(core, &db, &alter.name)
        }
        StmtKind::TransferSchema { schema, object } => transfer(core, schema, object),
        StmtKind::Sensitivity(stmt) => stmt.columns.iter().try_for_each(|column| {
            let Some(table) = column.schema.clone() else { return Ok(()) };
            let schema = column.database.clone();
            alter_table(core, &ObjectName { server: None, database: None, schema, name: table })
        }),
        // Who may take and give it is found with it.
        StmtKind::AlterAuthorization(_) => Ok(()),
        StmtKind::CreateSchema(create) => create_schema(core, create),
        StmtKind::Drop(drop) => drop_objects(core, drop),

        StmtKind::CreateDatabase(_) => on_server(core, Permission::CreateAnyDatabase, no_create_database),
        StmtKind::AlterDatabase(alter) => alter_database(core, alter),
        StmtKind::DropDatabase { names, .. } => {
            names.iter().try_for_each(|name| drop_database(core, &name.value))
        }
        StmtKind::Backup(_) | StmtKind::Restore(_) | StmtKind::Dbcc(_) => Ok(()),
        StmtKind::Command(command) => super::command::of(command)?.check_right(core),
        StmtKind::Shutdown { .. } => {
            on_server(core, Permission::Shutdown, || SqlError::of(msg::SHUTDOWN_PERMISSION, []))
        },
        StmtKind::CreateCredential(_) => server(core, Permission::AlterAnyCredential),
    }
}

/// Error 15247 unless the caller is a member of sysadmin.
pub fn sysadmin(core: &mut SessionCore) -> Result<(), SqlError> {
    if core.is_sysadmin() { Ok(()) } else { Err(not_permitted()) }
}

/// 300 without a permission of the server.
pub fn server(core: &mut SessionCore, permission: Permission) -> Result<(), SqlError> {
    if core.has_server(permission) { Ok(()) } else { Err(denied_on_server(permission)) }
}

/// 262 without a permission on a database.
pub fn in_database(
    core: &mut SessionCore,
    db: &Arc<Db>,
    permission: Permission,
) -> Result<(), SqlError> {
    match core.has(db, Securable::DATABASE, 0, permission) {
        true => Ok(()),
        false => Err(denied_in(permission, &db.name())),
    }
}

/// Error 15247 unless the caller is a member of sysadmin or db_owner, or dbo.
pub fn owner(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    if core.owns_database(db) { Ok(()) } else { Err(not_permitted()) }
}
