//! Statements of Ringwood other than queries, changes of rows and control of flow: one file each,
//! who may run it ([`rights`]) and what it does; BACKUP and RESTORE, and DBCC ([`dbcc`]). Entry
//! point: [`StmtCtx::run`]. Guarantee: each works in the session's transaction and is undone as a
//! whole when it fails, but for those that manage databases and sessions as a whole, which take no
//! part in one.

mod admin;
mod alter_database;
mod alter_index;
mod alter_table;
mod app_role;
mod backup;
mod backup_errors;
mod backup_history;
mod backup_media;
mod backup_url;
mod bulk_insert;
pub mod command;
mod create_database;
mod credential;
mod database_files;
mod database_state;
pub mod dbcc;
pub mod ddl_events;
mod index;
mod insert_bulk;
mod login;
mod module;
mod permission;
mod policy;
mod principal;
mod query_store;
mod restore;
mod restore_lists;
mod restore_options;
mod restore_places;
pub mod rights;
mod schema;
mod sensitivity;
mod sequence;
mod server_role;
mod set_user;
pub mod statistics;
mod table;
mod transfer;
pub mod user;
mod view_index;

pub use create_database::{attach, new_log};
pub use module::refresh as refresh_module;
pub use principal::cannot;
pub use statistics::update_changed as update_changed_statistics;

use std::fmt::Display;
use syntax::ast::{
    AlterTableAction, DropElement, DropKind, Expr, ExprKind, ObjectName, Principal, PrincipalKind,
    Span, Stmt, StmtKind,
};
use syntax::commands::{Checkpoint, Kill, Reconfigure, SetUser};
use types::{SqlError, Value, msg};

use bind::env::VarScope;
use catalog::errors;
use instance::OfInstance;
use logical::isolation::Isolation;
use session::output::Sink;
use session::state::SessionCore;
use session::state::locks::Looked;

/// What carries out each command.
static COMMANDS: &[command::Known] = &[
    command::known::<Checkpoint>,
    command::known::<Kill>,
    command::known::<Reconfigure>,
    command::known::<SetUser>,
];

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
    /// A CATCH block waits for the statement's errors.
    pub catching: bool,
}

impl StmtCtx<'_> {
    /// Runs a statement; returns the number of rows that it reports, if it reports one. These are
    /// seen outside of the session's answer (by other sessions, in files), but for its table
    /// variables: the log does not wait for the answer.
    pub fn run(&mut self, stmt: &Stmt) -> Result<Option<u64>, SqlError> {
        if matches!(stmt.kind, StmtKind::Declare(_)) {
            return self.carry_out(stmt);
        }
        self.core.answers.begin_at_once()?;
        let result = self.carry_out(stmt);
        self.core.answers.end_at_once();
        result
    }

    fn carry_out(&mut self, stmt: &Stmt) -> Result<Option<u64>, SqlError> {
        self.check_named(&stmt.kind)?;
        match &stmt.kind {
            // These manage databases and sessions as a whole and take no part in a transaction.
            StmtKind::CreateDatabase(create) => {
                self.create_database(create)?;
                self.own_database_made(&create.name.value)?;
                if let Err(refused) = self.raise_alone(stmt) {
                    // A trigger of the server did not want it.
                    self.drop_databases(std::slice::from_ref(&create.name), true)?;
                    return Err(refused);
                }
            }
            StmtKind::AlterDatabase(alter) => {
                self.alter_database(alter)?;
                self.raise_alone(stmt)?;
            }
            StmtKind::DropDatabase { names, if_exists } => {
                self.raise_alone(stmt)?;
                self.drop_databases(names, *if_exists)?;
            }
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
            StmtKind::Command(what) => command::of(what)?.run(self)?,
            StmtKind::Dbcc(dbcc) => {
                self.core.begin_statement(false)?;
                let result = crate::dbcc::run(self, dbcc);
                self.core.end_statement(result)?;
            }
            kind => {
                self.core.begin_statement(true)?;
                let raised = self.events(kind);
                let result = self.in_transaction(kind, stmt.span);
                let result = match kind {
                    // What it has loaded may be committed.
                    StmtKind::BulkInsert(_) => result,
                    _ => result.map_err(|error| self.core.unless_given_up(error, None)),
                };
                let result = match raised.is_empty() {
                    true => result,
                    false => result.and_then(|rows| self.raise(&raised, stmt.span).map(|()| rows)),
                };
                return self.core.end_statement(result);
            }
        }
        Ok(None)
    }

    /// Before an object that was looked for is said not to be there: another session's transaction
    /// may have dropped it, and take it back. The statement runs again then.
    fn settle_missing(&mut self, name: &ObjectName, looked: Looked) -> Result<(), SqlError> {
        let missing = errors::invalid_object(&name.to_string());
        match self.core.unless_given_up(missing, Some(looked)) {
            error if error.number == 208 => Ok(()),
            again => Err(again),
        }
    }

    fn in_transaction(&mut self, kind: &StmtKind, span: Span) -> Result<Option<u64>, SqlError> {
        let ddl = matches!(
            kind,
            StmtKind::AlterTable(_)
                | StmtKind::CreateIndex(_)
                | StmtKind::AlterIndex(_)
                | StmtKind::DropIndex(_)
                | StmtKind::CreateTrigger(_)
                | StmtKind::SwitchTrigger(_)
        );
        if ddl && self.core.trancount() > 0 && self.core.options.isolation == Isolation::Snapshot {
            return Err(errors::ddl_in_snapshot());
        }
        match kind {
            StmtKind::CreateTable(create) => {
                let made = self.create_table(create);
                self.of_constraints(made)?;
            }
            StmtKind::AlterTable(alter) => {
                let made = self.alter_table(alter);
                self.of_alteration(&alter.action, made)?;
            }
            StmtKind::Truncate(truncate) => self.truncate(truncate)?,
            StmtKind::CreateIndex(create) => self.create_index(create)?,
            StmtKind::AlterIndex(alter) => self.alter_index(alter)?,
            StmtKind::DropIndex(drop) => self.drop_index(drop)?,
            StmtKind::CreateSchema(create) => self.create_schema(create)?,
            StmtKind::Drop(drop) => self.drop_objects(drop)?,
            StmtKind::Declare(list) => {
                let made = self.declare_tables(list);
                self.of_constraints(made)?;
            }
            StmtKind::CreateType(create) => {
                let made = self.create_type(create, span);
                self.of_constraints(made)?;
            }
            StmtKind::CreateView(create) => self.create_view(create)?,
            StmtKind::CreateProcedure(create) => self.create_procedure(create)?,
            StmtKind::CreateSequence(create) => self.create_sequence(create)?,
            StmtKind::AlterSequence(alter) => self.alter_sequence(alter)?,
            StmtKind::CreateSynonym { name, target } => self.create_synonym(name, target)?,
            StmtKind::CreateFunction(create) => self.create_function(create)?,
            StmtKind::CreateTrigger(create) => self.create_trigger(create)?,
            StmtKind::SwitchTrigger(switch) => self.switch_trigger(switch)?,
            StmtKind::BulkInsert(bulk) => {
                let rows = self.bulk_insert(bulk)?;
                self.core.fire_triggers(self.sink, self.catching)?;
                return Ok(Some(rows));
            }
            StmtKind::CreatePrincipal(stmt) => self.create_principal(stmt)?,
            StmtKind::AlterPrincipal(stmt) => self.alter_principal(stmt)?,
            StmtKind::Permission(stmt) => self.permission(stmt)?,
            StmtKind::TransferSchema { schema, object } => self.transfer(schema, object)?,
            StmtKind::Sensitivity(stmt) => self.sensitivity(stmt)?,
            StmtKind::SecurityPolicy(stmt) => self.security_policy(stmt)?,
            StmtKind::AlterAuthorization(stmt) => self.alter_authorization(stmt)?,
            StmtKind::InsertBulk(bulk) => self.insert_bulk(bulk)?,
            StmtKind::CreateStatistics(create) => self.create_statistics(create)?,
            StmtKind::UpdateStatistics(update) => self.update_statistics(update)?,
            StmtKind::Foreign(foreign) if foreign.part => {
                return Err(bind::unsupported(&foreign.what));
            }
            StmtKind::Foreign(foreign) => return Err(errors::not_supported(&foreign.what)),
            other => return Err(errors::not_supported(name_of(other))),
        }
        Ok(None)
    }

    fn create_principal(&mut self, stmt: &Principal) -> Result<(), SqlError> {
        match stmt.kind {
            PrincipalKind::Login => self.create_login(stmt),
            PrincipalKind::ServerRole => self.create_server_role(stmt),
            PrincipalKind::User => self.create_user(stmt),
            PrincipalKind::Role => self.create_role(stmt),
            PrincipalKind::ApplicationRole => self.create_application_role(stmt),
        }
    }

    fn alter_principal(&mut self, stmt: &Principal) -> Result<(), SqlError> {
        match stmt.kind {
            PrincipalKind::Login => self.alter_login(stmt),
            PrincipalKind::ServerRole => self.alter_server_role(stmt),
            PrincipalKind::User => self.alter_user(stmt),
            PrincipalKind::Role => self.alter_role(stmt),
            PrincipalKind::ApplicationRole => self.alter_application_role(stmt),
        }
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

    /// Sends an error that comes before the statement's own. A CATCH sees the last one alone, and
    /// nobody the others.
    pub fn first_error(&mut self, reason: SqlError) {
        if !self.catching {
            // A client that cannot be told the reason cannot be told the error either.
            let _ = self.sink.error(&reason.at_line(self.line));
        }
    }

    /// What CREATE or ALTER TABLE and CREATE TYPE say: when a constraint cannot be, the reason,
    /// then 1750.
    fn of_constraints(&mut self, made: Result<(), SqlError>) -> Result<(), SqlError> {
        made.map_err(|reason| {
            if !errors::is_of_constraint(&reason) {
                return reason;
            }
            self.first_error(reason);
            SqlError::of(msg::CONSTRAINT_NOT_CREATED, [])
        })
    }

    /// What ALTER TABLE says: the reason, then what it was that failed.
    fn of_alteration(
        &mut self,
        action: &AlterTableAction,
        made: Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let Err(reason) = made else { return Ok(()) };
        let failed = match (reason.number, action) {
            (5074, AlterTableAction::AlterColumn { column, .. }) => {
                SqlError::of(msg::COLUMN_ACCESSED, [&"ALTER COLUMN", &column.name.value])
            }
            (5074, AlterTableAction::Drop(elements)) => {
                let column = elements.iter().find_map(|element| match element {
                    DropElement::Column { name, .. } => Some(name.value.as_str()),
                    DropElement::Constraint { .. } | DropElement::Period => None,
                });
                SqlError::of(msg::COLUMN_ACCESSED, [&"DROP COLUMN", &column.unwrap_or_default()])
            }
            (3725 | 3728, _) => SqlError::of(msg::CONSTRAINT_NOT_DROPPED, []),
            (4917, _) => SqlError::of(msg::CONSTRAINT_NOT_ENABLED, []),
            (1904 | 1909 | 1911 | 1919, AlterTableAction::AlterColumn { .. }) => {
                return Err(reason);
            }
            _ => return self.of_constraints(Err(reason)),
        };
        self.first_error(reason);
        Err(failed)
    }

    /// Sends an informational message.
    pub(crate) fn inform<const VALUES: usize>(
        &mut self,
        message: msg::Message<VALUES>,
        values: [&dyn Display; VALUES],
    ) -> Result<(), SqlError> {
        self.sink.message(&SqlError::of(message, values))
    }
}

pub use bind::literal::literal;

pub use session::state::names::{database_of, resolve_table};

fn name_of(kind: &StmtKind) -> &'static str {
    match kind {
        StmtKind::Merge(_) => "MERGE",
        StmtKind::DeclareCursor(_)
        | StmtKind::OpenCursor(_)
        | StmtKind::Fetch(_)
        | StmtKind::CloseCursor(_)
        | StmtKind::Deallocate(_) => "CURSOR",
        _ => "this statement",
    }
}
