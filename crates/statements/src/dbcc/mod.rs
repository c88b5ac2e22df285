//! DBCC: one file per group of commands. A new one is its file and an entry of `commands.rs`.

pub mod check;
mod commands;
mod constraints;
mod identity;
mod log;
mod reindex;
mod rights;
mod shrink;
mod small_commands;
mod statistics;
mod trace;
mod user_options;
pub mod vacate;

use std::sync::Arc;

use syntax::ast::Dbcc;
use types::{SqlError, Value, msg};

use crate::StmtCtx;
use catalog::Db;
use catalog::TableDef;
use catalog::security::Permission;
use ddl::option_rules;
use instance::OfInstance;
use metadata::names::name_parts;
use metadata::results::send;

/// A command at work.
pub struct Command<'c, 's> {
    pub ctx: &'c mut StmtCtx<'s>,
    /// Evaluated arguments; a bare word is text.
    pub args: Vec<Value>,
    /// Options in upper case.
    pub options: Vec<String>,
}

/// Who may run a command.
#[derive(Clone, Copy)]
enum Right {
    Everybody,
    /// The owner of the current database.
    Owner,
    /// The owner of the database that the first argument names; of the current one without it.
    OwnerOfNamed,
    /// Who may alter the table that the first argument names.
    Table,
    /// Who may see the statistics of that table.
    Statistics,
    /// The session's own is everyone's to see; otherwise VIEW SERVER PERFORMANCE STATE.
    Session,
    /// VIEW SERVER PERFORMANCE STATE, with a second argument ALTER SERVER STATE.
    Clears,
    Server(Permission),
    Sysadmin,
}

/// A command as it is known.
struct KnownCommand {
    /// In upper case.
    name: &'static str,
    right: Right,
    run: fn(&mut Command<'_, '_>) -> Result<(), SqlError>,
    /// What DBCC HELP says of it; empty for what HELP does not know.
    syntax: &'static str,
}

/// Runs a DBCC statement.
pub fn run(ctx: &mut StmtCtx<'_>, stmt: &Dbcc) -> Result<(), SqlError> {
    option_rules::check("DBCC", &stmt.options, option_rules::DBCC)?;
    let args = stmt.args.iter().map(|e| ctx.value(e)).collect::<Result<Vec<_>, _>>()?;
    let options = stmt.options.iter().map(|o| o.name.to_ascii_uppercase().to_string()).collect();
    let Some(known) = commands::find(&stmt.name) else {
        return Err(SqlError::of(msg::INCORRECT_DBCC, [&stmt.name.to_ascii_uppercase()]));
    };
    let mut command = Command { ctx, args, options };
    (known.run)(&mut command)?;
    if !command.quiet() {
        command.ctx.inform(msg::DBCC_COMPLETED, [])?;
    }
    Ok(())
}

impl Command<'_, '_> {
    /// WITH NO_INFOMSGS.
    pub fn quiet(&self) -> bool {
        self.options.iter().any(|o| o == "NO_INFOMSGS")
    }

    /// An argument as text.
    pub fn text(&self, at: usize) -> Option<&str> {
        self.args.get(at).and_then(Value::as_str)
    }

    /// An argument as a number.
    pub fn number(&self, at: usize) -> Option<i64> {
        self.args.get(at).and_then(Value::as_i64)
    }

    /// Sends a result set.
    pub fn result(
        &mut self,
        columns: &[session::output::ColumnInfo],
        rows: &[Vec<Value>],
    ) -> Result<(), SqlError> {
        send(self.ctx.sink, columns, rows, self.ctx.core, false)
    }

    /// The database and the table of a name of up to three parts. Errors: 911 no such database,
    /// those of its state.
    pub fn table(&self, name: &str) -> Result<(Arc<Db>, Option<Arc<TableDef>>), SqlError> {
        let mut parts = name_parts(name).unwrap_or_default().into_iter();
        let mut part = || parts.next().unwrap_or_default();
        let (table, schema, database) = (part(), part(), part());
        let db = match database.is_empty() {
            true => self.ctx.core.db().clone(),
            false => self.ctx.core.host().database(&database)?,
        };
        db.check_usable()?;
        let table = db.catalog().find(&schema, &table).cloned();
        Ok((db, table))
    }

    /// The database of an argument (name or id), the current one without it.
    pub fn database(&self, at: usize) -> Result<Arc<Db>, SqlError> {
        let instance = self.ctx.core.instance();
        match (self.text(at), self.number(at)) {
            (Some(name), _) => instance.database(name),
            (_, Some(0)) | (None, None) => Ok(self.ctx.core.db().clone()),
            (_, Some(id)) => i32::try_from(id)
                .ok()
                .and_then(|id| instance.db_by_id(id))
                .ok_or_else(|| catalog::errors::no_database(&id.to_string())),
        }
    }
}
