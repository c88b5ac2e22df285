//! Bulk loads that do not come as T-SQL: typed rows from the embedding program.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use compact_str::CompactString;
use syntax::ast::StmtKind;
use types::{DataType, SqlError, msg};

use super::{BatchOutcome, Session, round};
use crate::batch::flow::killed;
use crate::batch::run::BatchEnd;
use crate::typed_rows::TypedRows;
use catalog::TableDef;
use catalog::errors;
use catalog::fold_name;
use dml::bulk::{BulkRows, bulk_load};
use session::output::{Sink, StatementEnd, StatementKind};
use session::state::SessionCore;
use session::state::activity::CurrentSessionGuard;
use session::state::bulk::{BulkLoad, BulkOptions};
use session::state::names::resolve_table;

impl Session {
    /// Inserts rows into a table (`name`, `schema.name` or `database.schema.name`, in brackets
    /// where T-SQL wants them) as one statement. `columns` are those that the rows have, in the
    /// rows' order; none: all but the identity column, or with [`BulkOptions::keep_identity`] all.
    /// Columns that are not given get their defaults. Values may be of any type that converts to
    /// the column's; gives the number of rows.
    ///
    /// # Errors
    /// Those of INSERT, and what `rows` returns. A failed load leaves nothing behind but the
    /// batches that it has committed, which there are none of without [`BulkOptions::batch`] or
    /// within a transaction. 2628: a text that does not fit; 4864: one whose characters a char or
    /// varchar column does not have.
    pub fn bulk_insert(
        &mut self,
        table: &str,
        columns: &[&str],
        options: &BulkOptions,
        rows: &mut dyn BulkRows,
    ) -> Result<u64, SqlError> {
        let shared = self.core.shared.clone();
        if shared.killed.load(Ordering::Acquire) {
            return Err(killed());
        }
        if !self.core.options.runs() || self.core.options.parse_only {
            return Err(errors::not_supported(
                "A bulk load under NOEXEC, PARSEONLY, FMTONLY or SHOWPLAN",
            ));
        }
        if self.core.xact_state() == -1 {
            return Err(errors::doomed());
        }
        let _here = CurrentSessionGuard::enter(&shared);
        shared.begins();
        // As where a batch begins.
        if shared.killed.load(Ordering::Acquire) {
            shared.running.store(false, Ordering::Release);
            return Err(killed());
        }
        let result = load(&mut self.core, table, columns, options, rows);
        match &result {
            Ok(rows) => self.core.succeeded(*rows),
            Err(e) => {
                self.core.run.results.error_number = e.number;
                // The error of a trigger has doomed it, and nobody is there to take it back.
                let doomed = self.core.xact_state() == -1;
                if doomed || self.core.options.xact_abort || errors::ends_batch(e) {
                    self.core.rollback_all();
                }
            }
        }
        if self.core.trancount() == 0 {
            self.core.rollback_all();
        }
        // As where a batch ends: what ends sessions looks for transactions when nothing runs.
        shared.open_transactions.store(self.core.trancount().into(), Ordering::Relaxed);
        if shared.killed.load(Ordering::Acquire) {
            self.core.rollback_all();
        }
        shared.running.store(false, Ordering::Release);
        result
    }
}

impl Session {
    /// The columns that the rows of the bulk load have which INSERT BULK has announced: names and
    /// types in the rows' order. `None` when none is announced: the batch before had no INSERT
    /// BULK, or the load has begun.
    pub fn bulk_columns(&self) -> Option<Vec<(CompactString, DataType)>> {
        let bulk = self.core.run.pending_bulk.as_ref()?;
        let column = |at: &usize| bulk.table.columns.get(*at).map(|c| (c.name.clone(), c.ty));
        Some(bulk.columns.iter().filter_map(column).collect())
    }

    /// Loads the rows of the bulk load that INSERT BULK has announced, as one statement in the
    /// session's transaction. Values may be of any type that converts to the column's; characters
    /// that a column has not become others, as in INSERT. The sink gets the end of the statement,
    /// and errors: those of INSERT, what `rows` returns, 2628 as for [`Session::bulk_insert`], 4022
    /// when no load is announced.
    pub fn load_bulk(&mut self, rows: &mut dyn BulkRows, sink: &mut dyn Sink) -> BatchOutcome {
        let bulk = self.core.run.pending_bulk.take();
        let Session { core, shared, told, .. } = self;
        round::request(core, shared, told, sink, |core, sink, _| {
            let result = match &bulk {
                None => Err(SqlError::of(msg::BULK_DATA_UNEXPECTED, [])),
                Some(_) if core.xact_state() == -1 => Err(errors::doomed()),
                Some(bulk) => run_load(core, bulk, rows, sink),
            };
            let (rows, error) = match &result {
                Ok(rows) => {
                    core.succeeded(*rows);
                    (Some(*rows).filter(|_| !core.options.nocount), false)
                }
                Err(e) => {
                    core.run.results.error_number = e.number;
                    sink.error(e)?;
                    let ends = core.options.xact_abort || errors::ends_batch(e) || core.cancelled();
                    if ends && !core.keeps_transaction() {
                        core.rollback_all();
                    }
                    (None, true)
                }
            };
            core.tell_transactions(sink)?;
            sink.done(StatementEnd {
                statement: StatementKind::BulkInsert,
                rows,
                error,
                nested: false,
            })?;
            Ok(if error { BatchEnd::BatchAborted } else { BatchEnd::Finished(0) })
        })
    }
}

fn run_load(
    core: &mut SessionCore,
    bulk: &BulkLoad,
    rows: &mut dyn BulkRows,
    sink: &mut dyn Sink,
) -> Result<u64, SqlError> {
    let dialect = core.options.dialect;
    let mut typed =
        TypedRows { rows, table: &bulk.table, columns: &bulk.columns, dialect, exact: false };
    core.begin_statement(true)?;
    core.tell_transactions(sink)?;
    let result = bulk_load(bulk, core, &mut typed);
    let result = result.and_then(|rows| core.fire_triggers(sink, false).map(|()| rows));
    core.end_statement(result)
}

fn load(
    core: &mut SessionCore,
    table: &str,
    columns: &[&str],
    options: &BulkOptions,
    rows: &mut dyn BulkRows,
) -> Result<u64, SqlError> {
    // The name as the grammar has it.
    let stmts =
        syntax::parse(&format!("TRUNCATE TABLE {table}")).map_err(catalog::errors::syntax_error)?;
    let name = match stmts.as_slice() {
        [syntax::ast::Stmt { kind: StmtKind::Truncate(t), .. }] if t.options.is_empty() => &t.table,
        _ => return Err(errors::syntax_near(table)),
    };
    let (db, table) = resolve_table(core, name)?;
    let columns = positions(&table, columns, options.keep_identity)?;
    let dialect = core.options.dialect;
    let mut typed = TypedRows { rows, table: &table, columns: &columns, dialect, exact: true };
    let order = Vec::new();
    let bulk = BulkLoad {
        db,
        table: table.clone(),
        columns: columns.clone(),
        options: options.clone(),
        order,
    };
    core.begin_statement(true)?;
    let result = bulk_load(&bulk, core, &mut typed);
    let result =
        result.and_then(|rows| core.fire_triggers(&mut UnheardMessages, true).map(|()| rows));
    core.end_statement(result)
}

/// What triggers of a load say: the program that loads has asked for no messages; errors end the
/// load.
struct UnheardMessages;

impl Sink for UnheardMessages {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        Err(error.clone())
    }
}

fn positions(
    table: &Arc<TableDef>,
    names: &[&str],
    identity: bool,
) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        let given = |at: &usize| {
            let column = &table.columns[*at];
            !column.is_made() && (identity || column.identity.is_none())
        };
        return Ok((0..table.columns.len()).filter(given).collect());
    }
    let find = |name: &&str| {
        let folded = fold_name(name);
        let found = table.columns.iter().position(|c| fold_name(&c.name) == folded);
        found.ok_or_else(|| SqlError::of(msg::INVALID_COLUMN, [&name]))
    };
    names.iter().map(find).collect()
}
