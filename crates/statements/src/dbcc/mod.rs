//! DBCC: one file per group of commands.

pub mod check;
mod constraints;
mod identity;
mod log;
mod others;
mod shrink;
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
use ddl::option_rules;
use instance::OfInstance;
use metadata::functions::metadata::name_parts;
use metadata::results::send;

/// A command at work.
pub struct Command<'c, 's> {
    pub ctx: &'c mut StmtCtx<'s>,
    /// Evaluated arguments; a bare word is text.
    pub args: Vec<Value>,
    /// Options in upper case.
    pub options: Vec<String>,
}

/// Runs a DBCC statement.
pub fn run(ctx: &mut StmtCtx<'_>, stmt: &Dbcc) -> Result<(), SqlError> {
    option_rules::check("DBCC", &stmt.options, option_rules::DBCC)?;
    let args = stmt.args.iter().map(|e| ctx.value(e)).collect::<Result<Vec<_>, _>>()?;
    let options = stmt.options.iter().map(|o| o.name.to_ascii_uppercase().to_string()).collect();
    let mut command = Command { ctx, args, options };
    match stmt.name.to_ascii_uppercase().as_str() {
        "LOGINFO" => log::log_info(&mut command)?,
        "SQLPERF" => log::sql_perf(&mut command)?,
        "OPENTRAN" => log::open_tran(&mut command)?,
        "SHRINKFILE" => shrink::shrink_file(&mut command)?,
        "SHRINKDATABASE" => shrink::shrink_database(&mut command)?,
        "CHECKDB" | "CHECKALLOC" | "CHECKCATALOG" => check::check_db(&mut command)?,
        "CHECKCONSTRAINTS" => constraints::check_constraints(&mut command)?,
        "CHECKTABLE" => check::check_table(&mut command)?,
        "SHOW_STATISTICS" => statistics::show(&mut command)?,
        "CHECKIDENT" => identity::check_ident(&mut command)?,
        "TRACEON" => trace::switch(&mut command, true)?,
        "TRACEOFF" => trace::switch(&mut command, false)?,
        "TRACESTATUS" => trace::status(&mut command)?,
        "USEROPTIONS" => user_options::show(&mut command)?,
        "CHECKFILEGROUP" => others::check_filegroup(&mut command)?,
        "CLEANTABLE" => others::clean_table(&mut command)?,
        "HELP" => others::help(&mut command)?,
        "INPUTBUFFER" => others::input_buffer(&mut command)?,
        "PROCCACHE" => others::proc_cache(&mut command)?,
        "FREEPROCCACHE" => command.ctx.core.instance().forget_batches(),
        // Caches of pages empty themselves; emptying them by hand only costs time.
        "DROPCLEANBUFFERS" | "FREESYSTEMCACHE" | "FREESESSIONCACHE" | "UPDATEUSAGE" => {}
        // What was sent is not kept.
        "OUTPUTBUFFER" => return Err(catalog::errors::not_supported("DBCC OUTPUTBUFFER")),
        other => {
            return Err(SqlError::of(msg::INCORRECT_DBCC, [&other]));
        }
    }
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
