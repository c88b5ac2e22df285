//! Statements other than queries, DML and control of flow: one file each. Each works in the session's transaction and
//! is undone as a whole when it fails.

mod admin;
mod alter_database;
mod alter_table;
mod backup;
mod backup_errors;
mod backup_media;
mod backup_url;
mod bulk_file;
mod bulk_insert;
mod create_database;
mod credential;
mod database_files;
pub mod file_specs;
pub mod index;
pub(crate) mod option_rules;
mod restore;
mod restore_lists;
mod restore_places;
mod schema;
mod table;
pub mod table_def;

pub(crate) use create_database::{attach, new_log};

use std::sync::Arc;

use syntax::ast::{DropKind, Expr, ExprKind, ObjectName, Stmt, StmtKind};
use types::{SqlError, Value};

use crate::bind::env::VarScope;
use crate::output::Sink;
use crate::session::{Isolation, SessionCore};
use catalog::Db;
use catalog::TableDef;
use catalog::errors;

/// The variables of the batch, for statements that take one where a constant may stand.
pub struct Variables<'a> {
    pub scope: &'a VarScope,
    pub values: &'a [Value],
}

/// A statement's surroundings.
pub struct StmtCtx<'a> {
    pub core: &'a mut SessionCore,
    pub sink: &'a mut dyn Sink,
    /// The batch's text, which spans point into.
    pub text: &'a str,
    /// Line of the statement within the batch.
    pub line: u32,
    pub variables: Variables<'a>,
}

impl StmtCtx<'_> {
    /// Runs a statement; returns the number of rows that it reports, if it reports one.
    pub fn run(&mut self, stmt: &Stmt) -> Result<Option<u64>, SqlError> {
        match &stmt.kind {
            // These manage databases and sessions as a whole and take no part in a transaction.
            StmtKind::CreateDatabase(create) => self.create_database(create)?,
            StmtKind::AlterDatabase(alter) => self.alter_database(alter)?,
            StmtKind::DropDatabase { names, if_exists } => self.drop_databases(names, *if_exists)?,
            StmtKind::Backup(backup) => {
                self.core.instance().check_writable()?;
                self.backup(backup)?;
            }
            StmtKind::Restore(restore) => self.restore(restore)?,
            StmtKind::CreateCredential(credential) => {
                self.core.instance().check_writable()?;
                self.credential(credential)?;
            }
            StmtKind::Drop(drop) if drop.kind == DropKind::Credential => {
                self.core.instance().check_writable()?;
                self.drop_credential(drop)?;
            }
            StmtKind::Checkpoint(_) => self.checkpoint()?,
            StmtKind::Kill(kill) => self.kill(kill)?,
            StmtKind::Reconfigure { .. } => {}
            StmtKind::Dbcc(dbcc) => {
                self.core.begin_statement(false)?;
                let result = crate::dbcc::run(self, dbcc);
                self.core.end_statement(result)?;
            }
            kind => {
                self.core.begin_statement(true)?;
                let result = self.in_transaction(kind);
                return self.core.end_statement(result);
            }
        }
        Ok(None)
    }

    fn in_transaction(&mut self, kind: &StmtKind) -> Result<Option<u64>, SqlError> {
        let ddl = matches!(
            kind,
            StmtKind::AlterTable(_)
                | StmtKind::CreateIndex(_)
                | StmtKind::AlterIndex(_)
                | StmtKind::DropIndex(_)
        );
        if ddl && self.core.trancount() > 0 && self.core.options.isolation == Isolation::Snapshot {
            return Err(errors::ddl_in_snapshot());
        }
        match kind {
            StmtKind::CreateTable(create) => self.create_table(create)?,
            StmtKind::AlterTable(alter) => self.alter_table(alter)?,
            StmtKind::Truncate(truncate) => self.truncate(truncate)?,
            StmtKind::CreateIndex(create) => self.create_index(create)?,
            StmtKind::AlterIndex(alter) => self.alter_index(alter)?,
            StmtKind::DropIndex(drop) => self.drop_index(drop)?,
            StmtKind::CreateSchema(create) => self.create_schema(create)?,
            StmtKind::Drop(drop) => self.drop_objects(drop)?,
            StmtKind::BulkInsert(bulk) => return self.bulk_insert(bulk).map(Some),
            // There are no statistics to keep: the planner asks the storage.
            StmtKind::CreateStatistics(create) => {
                option_rules::check("CREATE STATISTICS", &create.options, option_rules::STATISTICS)?;
                resolve_table(self.core, &create.table)?;
            }
            StmtKind::UpdateStatistics(update) => {
                option_rules::check("UPDATE STATISTICS", &update.options, option_rules::STATISTICS)?;
                resolve_table(self.core, &update.table)?;
            }
            other => return Err(errors::not_supported(name_of(other))),
        }
        Ok(None)
    }

    /// A constant, a variable, or a bare word (as text).
    pub fn value(&self, expr: &Expr) -> Result<Value, SqlError> {
        match &expr.kind {
            ExprKind::Variable(name) => {
                let (slot, _) = self.variables.scope.find(name)?;
                Ok(self.variables.values.get(slot).cloned().unwrap_or_default())
            }
            ExprKind::Column(column) => Ok(Value::str(&column.name.value)),
            _ => literal(expr),
        }
    }

    /// Sends an error that comes before the statement's own.
    pub fn first_error(&mut self, reason: SqlError) {
        // Whoever cannot hear the reason will not hear the error either.
        let _ = self.sink.error(&reason.at_line(self.line));
    }

    /// Sends an informational message.
    pub fn inform(&mut self, number: i32, severity: u8, text: String) -> Result<(), SqlError> {
        self.sink.message(&SqlError::new(number, severity, 1, text))
    }
}

pub use crate::bind::literal::literal;

/// The database that a name of up to four parts is in. Errors: 7202 a linked server, 911 no such database.
pub fn database_of(core: &SessionCore, name: &ObjectName) -> Result<Arc<Db>, SqlError> {
    if let Some(server) = &name.server {
        let text = format!(
            "Could not find server '{server}' in sys.servers. Verify that the correct server name was specified."
        );
        return Err(SqlError::new(7202, 11, 2, text));
    }
    match &name.database {
        None => Ok(core.db().clone()),
        Some(database) => core.instance().database(&database.value),
    }
}

/// The table of a name. Errors: 208 no such table, 911 no such database.
pub fn resolve_table(core: &SessionCore, name: &ObjectName) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    let db = database_of(core, name)?;
    db.check_usable()?;
    let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
    let table = db.catalog().find(schema, &name.name.value).cloned();
    match table {
        Some(table) => Ok((db, table)),
        None => Err(errors::invalid_object(&name.to_string())),
    }
}

fn name_of(kind: &StmtKind) -> &'static str {
    match kind {
        StmtKind::Merge(_) => "MERGE",
        StmtKind::InsertBulk(_) => "INSERT BULK",
        StmtKind::ExecuteAs(_) => "EXECUTE AS",
        StmtKind::Revert => "REVERT",
        StmtKind::DeclareCursor(_)
        | StmtKind::OpenCursor(_)
        | StmtKind::Fetch(_)
        | StmtKind::CloseCursor(_)
        | StmtKind::Deallocate(_) => "CURSOR",
        StmtKind::CreateView(_) => "CREATE VIEW",
        StmtKind::CreateProcedure(_) => "CREATE PROCEDURE",
        StmtKind::CreateFunction(_) => "CREATE FUNCTION",
        StmtKind::CreateTrigger(_) | StmtKind::SwitchTrigger(_) => "TRIGGER",
        StmtKind::CreateType(_) => "CREATE TYPE",
        StmtKind::CreateSequence(_) | StmtKind::AlterSequence(_) => "SEQUENCE",
        StmtKind::CreateSynonym { .. } => "CREATE SYNONYM",
        StmtKind::TransferSchema { .. } => "ALTER SCHEMA",
        StmtKind::CreatePrincipal(_) | StmtKind::AlterPrincipal(_) => "LOGIN, USER, ROLE",
        StmtKind::Permission(_) => "GRANT, DENY, REVOKE",
        _ => "this statement",
    }
}
