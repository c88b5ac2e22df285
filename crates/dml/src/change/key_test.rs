//! The test of a foreign key: a query that finds a row which breaks it among the rows of a change.
//!
//! Its plan is made with the statement, perhaps while the other table is empty, and is kept while
//! that grows. So it seeks the other table for each changed row wherever an index begins with the
//! key, whatever it costs just then. Many rows have few different keys where the other table is
//! small: each of these is sought once. How many rows there are is known when the test comes, and
//! the query is planned then. No table is read from end to end for that, however small it is: the
//! test would wait for all who are changing rows of it, two loads of parents with their children
//! for each other.
//! Guarantee: where an index begins with the key, a test reads what that has for its keys, and no
//! more, in a table of any size.

use std::sync::Arc;

use super::keys::query;
use crate::bulk::environment;
use bind::env::{CompileEnv, VarScope};
use bind::module::ChangedTable;
use catalog::TableDef;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::query::run_query;
use logical::rights::OwnershipChain;
use pages::PageTrace;
use plan::QueryPlan;
use plan::statistics::table_rows;
use plan::watched::WatchedTable;
use session::state::core::SessionCore;
use session::state::phases::{self, Phase};
use types::{ResultRows, SqlError};

/// So many changed rows are worth a plan of their own.
const MANY: usize = 500;

/// Rows of a table that is small: many rows are expected to share their keys. Of others they are
/// sought in the order in which they come, as they may lie near to each other.
const SMALL: f64 = 100.0;

/// No plan does what the hints say.
const NO_PLAN: i32 = 8622;

/// A query that finds a row that breaks a foreign key.
#[derive(Debug)]
pub struct KeyTest {
    broken: Arc<QueryPlan>,
    /// Where `broken` seeks for each row: the query that seeks for each different key.
    of_keys: Option<Box<OfKeys>>,
    error: SqlError,
}

/// What is tested of the rows of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyTestRows {
    Each,
    /// Their different keys.
    Keys,
}

/// A query that has to be planned yet.
#[derive(Debug)]
struct OfKeys {
    text: String,
    changes: ChangedTable,
    /// The table that is looked at.
    other: Arc<TableDef>,
}

/// Keeps whether there was a row.
#[derive(Default)]
struct AnyRow(bool);

impl RowSink for AnyRow {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        self.0 |= !rows.is_empty();
        Ok(())
    }
}

impl KeyTest {
    /// A query that finds a row only if something is wrong.
    pub fn new(broken: Arc<QueryPlan>, error: SqlError) -> KeyTest {
        KeyTest { broken, of_keys: None, error }
    }

    /// Such a query over changed rows and another table, as a text for the hints of the tables that
    /// follow on how these are locked, and for what is tested of the rows. `helps`: an index begins
    /// with the whole key.
    ///
    /// # Errors
    /// Those of compiling it.
    pub fn compile(
        text: impl Fn(&str, KeyTestRows) -> String,
        (other, helps): (&Arc<TableDef>, bool),
        env: &CompileEnv<'_>,
        error: SqlError,
    ) -> Result<KeyTest, SqlError> {
        let sought = |rows| text(", FORCESEEK", rows);
        if helps
            && let Some(changes) = &env.changes
            && let Some(broken) = or_no_plan(query(&sought(KeyTestRows::Each), env))?
        {
            let (changes, other) = (changes.clone(), other.clone());
            let of_keys = OfKeys { text: sought(KeyTestRows::Keys), changes, other };
            return Ok(KeyTest { broken, of_keys: Some(Box::new(of_keys)), error });
        }
        Ok(KeyTest::new(query(&text("", KeyTestRows::Each), env)?, error))
    }

    /// The tables whose rows have decided how it is planned; of one that seeks, by which index.
    pub fn watched(&self) -> &[WatchedTable] {
        &self.broken.needs.watched
    }

    /// Its error when there is such a row.
    ///
    /// # Errors
    /// That one, and those of the query.
    pub fn run(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        let planned = match &self.of_keys {
            Some(of_keys) => of_keys.plan(ctx.session),
            None => None,
        };
        let broken: &QueryPlan = planned.as_ref().unwrap_or(&self.broken);
        let mut any = AnyRow::default();
        run_query(broken, ctx, &mut any)?;
        if any.0 { Err(self.error.clone()) } else { Ok(()) }
    }
}

impl OfKeys {
    /// The plan for the rows that have been changed, if they are many and the table is small. One
    /// that cannot be made is not needed: that which seeks for each row finds the same.
    fn plan(&self, core: &SessionCore) -> Option<Arc<QueryPlan>> {
        let rows = core
            .run
            .triggers
            .changes
            .as_ref()
            .map_or(0, |rows| rows.inserted.len().max(rows.deleted.len()));
        if rows < MANY || table_rows(&self.other) > SMALL {
            return None;
        }
        let _plan = phases::enter(Phase::Plan);
        // Statistics that the plan wants are measured now: not what the statement reads.
        let _apart = core.options.statistics_io.then(PageTrace::begin);
        let vars = VarScope::new();
        let changes = ChangedTable { rows: rows as f64, ..self.changes.clone() };
        let env = CompileEnv {
            chain: OwnershipChain::Trusted,
            changes: Some(changes),
            ..environment(core, &vars)
        };
        query(&self.text, &env).ok()
    }
}

/// What was compiled; nothing where its hints leave no plan.
///
/// # Errors
/// All others.
pub(super) fn or_no_plan<T>(compiled: Result<T, SqlError>) -> Result<Option<T>, SqlError> {
    match compiled {
        Ok(compiled) => Ok(Some(compiled)),
        Err(error) if error.number == NO_PLAN => Ok(None),
        Err(error) => Err(error),
    }
}
