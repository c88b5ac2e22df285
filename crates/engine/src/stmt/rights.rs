//! Which right each statement needs, apart from what its plan needs. docs/internals/security.md has the same as a table.
//! Guarantee: a kind of statement that is not here does not compile; a DBCC command or system procedure that is not here is the
//! sysadmin's.

use std::sync::Arc;

use catalog::security::{Class, DBO, Permission, Principal, Scope, Securable};
use catalog::{Db, FIRST_USER_DB, errors, fold_name};
use plan::rights::Rights;
use syntax::ast::{
    AlterDatabase, AlterTableAction, Backup, CreateTable, Declaration, DropKind, DropObjects, ModuleVerb,
    NameOrVariable, ObjectName, Restore, RestoreKind, SetOption, Stmt, StmtKind, TableElement, TriggerTarget,
};
use types::SqlError;

use super::{StmtCtx, database_of};
use crate::security::change::Change;
use exec::state::SessionCore;
use exec::state::rights::{denied_in, denied_on_server};

/// 15247.
pub(crate) fn not_permitted() -> SqlError {
    SqlError::new(15_247, 16, 1, "User does not have permission to perform this action.")
}

/// 1088.
fn cannot_find(name: &ObjectName) -> SqlError {
    let text = format!(
        "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
    );
    SqlError::new(1088, 16, 13, text)
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
                AlterTableAction::AlterColumn { column, .. } if column.mask.is_some() => {
                    alter_masks(core, &alter.name)
                }
                AlterTableAction::AlterColumn { column, .. } if is_masked(core, &alter.name, column) => {
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

/// schema_id that a name means.
fn schema_of(db: &Db, name: &ObjectName) -> i32 {
    let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
    db.catalog().schemas.get(&fold_name(schema)).copied().unwrap_or(0)
}

/// A table or module: database, object_id, schema_id. `None` when there is none; the statement says so.
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

fn is_temporary(name: &ObjectName) -> bool {
    name.name.value.starts_with('#')
}

fn alter_table(core: &mut SessionCore, name: &ObjectName) -> Result<(), SqlError> {
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

fn insert_into(core: &mut SessionCore, name: &ObjectName) -> Result<(), SqlError> {
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

fn alter_schema(core: &mut SessionCore, db: &Arc<Db>, name: &ObjectName) -> Result<(), SqlError> {
    let schema = schema_of(db, name);
    match core.has(db, Securable::new(Class::Schema, schema), 0, Permission::Alter) {
        true => Ok(()),
        false => {
            let shown = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
            let text = format!(
                "The specified schema name \"{shown}\" either does not exist or you do not have permission to use it."
            );
            Err(SqlError::new(2760, 16, 1, text))
        }
    }
}

/// The right to make an object of a kind in a schema.
fn object(core: &mut SessionCore, name: &ObjectName, permission: Permission) -> Result<(), SqlError> {
    let db = database_of(core, name)?;
    db.check_usable()?;
    core.effective(&db)?;
    in_database(core, &db, permission)?;
    alter_schema(core, &db, name)
}

/// Whether a column of a table has a mask.
fn is_masked(core: &SessionCore, name: &ObjectName, column: &syntax::ast::ColumnDef) -> bool {
    let found = super::resolve_table(core, name).ok();
    found.is_some_and(|(_, table)| {
        table.column(&column.name.value).is_some_and(|at| table.columns[at].mask.is_some())
    })
}

/// 15247 without ALTER ANY MASK.
fn alter_masks(core: &mut SessionCore, table: &ObjectName) -> Result<(), SqlError> {
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

fn create_table(core: &mut SessionCore, create: &CreateTable) -> Result<(), SqlError> {
    if !is_temporary(&create.name) {
        object(core, &create.name, Permission::CreateTable)?;
    }
    columns(core, &create.elements)
}

/// A column of a type that was made refers to it.
fn columns(core: &mut SessionCore, elements: &[TableElement]) -> Result<(), SqlError> {
    let types = elements.iter().filter_map(|element| match element {
        TableElement::Column(column) => column.data_type.as_ref(),
        _ => None,
    });
    let db = core.db().clone();
    let mut rights = Rights::new(core.chain);
    for ty in types {
        let schema = ty.name.schema.as_ref().map_or("", |s| s.value.as_str());
        if let Some(alias) = db.catalog().find_type(schema, &ty.name.name.value) {
            rights.need_type(&db, (&alias.schema, alias.type_id), Permission::References);
        }
    }
    core.check_rights(&rights.take())
}

/// A variable of a table type uses the type; one of an alias type does not.
fn declare(core: &mut SessionCore, list: &[Declaration]) -> Result<(), SqlError> {
    let db = core.db().clone();
    let mut rights = Rights::new(core.chain);
    for item in list {
        let Declaration::Scalar { data_type, .. } = item else { continue };
        if let Some(def) = super::table_def::table_type(data_type, &db.catalog()) {
            rights.need_type(&db, (&def.schema, def.type_id), Permission::Execute);
        }
    }
    core.check_rights(&rights.take())
}

/// CREATE needs the permission and the schema, ALTER of something that is there needs ALTER on it.
fn module(
    core: &mut SessionCore,
    verb: ModuleVerb,
    name: &ObjectName,
    permission: Permission,
) -> Result<(), SqlError> {
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
fn control_object(
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

fn drop_objects(core: &mut SessionCore, drop: &DropObjects) -> Result<(), SqlError> {
    for name in &drop.names {
        let kind = match drop.kind {
            DropKind::Table if is_temporary(name) => continue,
            DropKind::Table => "table",
            DropKind::View => "view",
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
                let table = ObjectName { server: None, database: None, schema, name: table.clone() };
                alter_table(core, &table)?;
                continue;
            }
            DropKind::Schema => {
                let db = core.db().clone();
                let id = db.catalog().schemas.get(&fold_name(&name.name.value)).copied();
                let control = |core: &mut SessionCore, id| {
                    core.has(&db, Securable::new(Class::Schema, id), 0, Permission::Control)
                        || core.has(&db, Securable::DATABASE, 0, Permission::AlterAnySchema)
                };
                if id.is_some_and(|id| !control(core, id)) {
                    return Err(super::login::cannot("drop", "schema", &name.name.value));
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

impl StmtCtx<'_> {
    /// A database belongs to the login that makes it.
    pub(super) fn own_database_made(&mut self, name: &str) -> Result<(), SqlError> {
        if self.core.may_all() || self.core.caller.login_id() == 0 {
            return Ok(());
        }
        let db = self.core.host().database(name)?;
        let sid: Arc<[u8]> = self.core.caller.sid().into();
        self.core.begin_statement(true)?;
        let owned = Change::begin(self.core, &db).and_then(|mut change| {
            let security = change.security();
            let dbo = security.database.get(DBO).ok_or_else(|| SqlError::internal("there is no dbo"))?;
            change.put_principal(Scope::Database, &Principal { sid, ..Principal::clone(dbo) })?;
            change.finish()
        });
        self.core.end_statement(owned)
    }

    /// Checks what [`check`] leaves to the statement because names may be in variables.
    pub(super) fn check_named(&mut self, kind: &StmtKind) -> Result<(), SqlError> {
        match kind {
            _ if self.core.may_all() => Ok(()),
            StmtKind::Backup(backup) => self.may_back_up(backup),
            StmtKind::Restore(restore) => self.may_restore(restore),
            StmtKind::Dbcc(dbcc) => self.may_dbcc(dbcc),
            _ => Ok(()),
        }
    }

    fn database_named(&self, name: &NameOrVariable) -> Result<Option<Arc<Db>>, SqlError> {
        let name = match name {
            NameOrVariable::Name(name) => name.value.clone(),
            NameOrVariable::Variable(variable) => {
                let (slot, _) = self.variables.scope.find(variable)?;
                let value = self.variables.values.get(slot).and_then(|v| v.as_str());
                value.unwrap_or_default().into()
            }
        };
        Ok(self.core.host().find_db(&name))
    }

    fn may_back_up(&mut self, backup: &Backup) -> Result<(), SqlError> {
        let Some(db) = self.database_named(&backup.database)? else { return Ok(()) };
        let permission = if backup.log { Permission::BackupLog } else { Permission::BackupDatabase };
        in_database(self.core, &db, permission)
    }

    /// Over a database that is there: its owner and whoever may make databases; never a system database but by a sysadmin.
    fn may_restore(&mut self, restore: &Restore) -> Result<(), SqlError> {
        let db = match &restore.database {
            Some(name) => self.database_named(name)?,
            None => None,
        };
        if db.as_ref().is_some_and(|db| db.id() < FIRST_USER_DB) {
            return sysadmin(self.core);
        }
        let creates = self.core.has_server(Permission::CreateAnyDatabase);
        let is_set = matches!(restore.kind, RestoreKind::Database | RestoreKind::Log);
        match db {
            Some(db) if is_set => {
                let alters = self.core.has_server(Permission::AlterAnyDatabase);
                match (creates && alters) || self.core.owns_database(&db) {
                    true => Ok(()),
                    false => {
                        let text =
                            format!("User does not have permission to RESTORE database '{}'.", db.name());
                        Err(SqlError::new(3110, 14, 1, text))
                    }
                }
            }
            _ if creates => Ok(()),
            _ => {
                let text = "CREATE DATABASE permission denied in database 'master'.";
                Err(SqlError::new(262, 14, 1, text))
            }
        }
    }

    fn may_dbcc(&mut self, dbcc: &syntax::ast::Dbcc) -> Result<(), SqlError> {
        let current = self.core.db().clone();
        let named = dbcc.args.first().map(|e| self.value(e)).transpose()?;
        let by_argument = match &named {
            Some(value) => match (value.as_str(), value.as_i64()) {
                (Some(name), _) => self.core.host().find_db(name),
                (_, Some(0)) => Some(current.clone()),
                (_, Some(id)) => i32::try_from(id).ok().and_then(|id| self.core.host().db_by_id(id)),
                _ => None,
            },
            None => Some(current.clone()),
        };
        let refused = || {
            let text = format!(
                "User '{}' does not have permission to run DBCC {} for database '{}'.",
                self.core.login_name(),
                dbcc.name,
                current.name()
            );
            SqlError::new(7983, 14, 36, text)
        };
        let refused = refused();
        match dbcc.name.to_ascii_uppercase().as_str() {
            "USEROPTIONS" | "TRACESTATUS" => Ok(()),
            "CHECKDB" | "CHECKALLOC" | "CHECKCATALOG" | "SHRINKDATABASE" | "LOGINFO" | "OPENTRAN"
            | "UPDATEUSAGE" => match by_argument {
                Some(db) if self.core.owns_database(&db) => Ok(()),
                Some(_) => Err(refused),
                None if self.core.is_sysadmin() => Ok(()),
                None => Err(refused),
            },
            // A file of the current database.
            "SHRINKFILE" | "CHECKFILEGROUP" | "CHECKCONSTRAINTS" if self.core.owns_database(&current) => {
                Ok(())
            }
            "CLEANTABLE" if by_argument.as_ref().is_some_and(|db| self.core.owns_database(db)) => Ok(()),
            // The own session's is everyone's to see.
            "INPUTBUFFER" if named.as_ref().and_then(|v| v.as_i64()) == Some(self.core.spid().into()) => {
                Ok(())
            }
            "INPUTBUFFER" | "PROCCACHE" => server(self.core, Permission::ViewServerState),
            "CHECKTABLE" | "SHOW_STATISTICS" | "CHECKIDENT" => {
                let name = named.as_ref().and_then(|v| v.as_str()).unwrap_or_default();
                let parts = crate::functions::metadata::name_parts(name).unwrap_or_default();
                let database = parts.get(2).filter(|part| !part.is_empty());
                let db = match database {
                    Some(name) => self.core.host().database(name)?,
                    None => current.clone(),
                };
                let part = |at: usize| parts.get(at).map_or("", |part| part.as_str());
                let table = db.catalog().find(part(1), part(0)).cloned();
                let Some(table) = table else { return Ok(()) };
                let schema = db.catalog().schemas.get(&fold_name(&table.schema)).copied().unwrap_or(0);
                let on = Securable::new(Class::Object, table.object_id);
                // Values of rows are in the steps of a histogram, of those too that a security policy or a mask hides.
                let hidden = db.catalog().policies.contains_key(&table.object_id)
                    || table.columns.iter().any(|c| c.mask.is_some());
                let permission = if dbcc.name.eq_ignore_ascii_case("SHOW_STATISTICS") && !hidden {
                    Permission::Select
                } else {
                    Permission::Alter
                };
                if self.core.has(&db, on, schema, permission) { Ok(()) } else { Err(refused) }
            }
            "SQLPERF" => {
                let clears = dbcc.args.len() > 1;
                let needed = if clears { Permission::AlterServerState } else { Permission::ViewServerState };
                server(self.core, needed)
            }
            "FREEPROCCACHE" | "DROPCLEANBUFFERS" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" => {
                server(self.core, Permission::AlterServerState)
            }
            _ if self.core.is_sysadmin() => Ok(()),
            _ => Err(refused),
        }
    }
}
