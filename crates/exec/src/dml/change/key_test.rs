//! The test of a foreign key: a query that finds a row which breaks it among the rows of a change.
//!
//! Its plan is made with the statement, perhaps while the other table is empty, and is kept while
//! that grows. So it seeks the other table for each changed row wherever an index begins with the
//! key, whatever it costs just then. For many rows a hash table of a small table is better: how
//! many there are is known when the test comes, and the query is planned then, for so many rows and
//! the tables as they are. A large table is never read from end to end for that: the test would
//! wait for all who are changing rows of it, two loads of parents with their children for each
//! other.
//! Guarantee: where an index begins with the key, a test reads what that has for its keys, and no
//! more, in a table of any size.

use std::sync::Arc;

use super::keys::query;
use crate::dml::bulk::environment;
use crate::operators::context::{ExecCtx, RowSink};
use crate::operators::query::run_query;
use crate::state::core::SessionCore;
use crate::state::phases::{self, Phase};
use catalog::TableDef;
use pages::PageTrace;
use plan::bind::env::{CompileEnv, VarScope};
use plan::bind::module::ChangedTable;
use plan::rights::Chain;
use plan::statistics::table_rows;
use plan::{QueryPlan, Watched};
use types::{SqlError, Value};

/// So many changed rows are worth a plan of their own.
const MANY: usize = 500;

/// Most rows of a table that is read for them.
const MOST_READ: f64 = 100.0;

/// No plan does what the hints say.
const NO_PLAN: i32 = 8622;

/// A query that finds a row that breaks a foreign key.
#[derive(Debug)]
pub struct KeyTest {
    broken: Arc<QueryPlan>,
    /// Where `broken` seeks for each row: the query that is planned by what it costs.
    by_cost: Option<Box<ByCost>>,
    error: SqlError,
}

/// A query that has to be planned yet.
#[derive(Debug)]
struct ByCost {
    text: String,
    changes: ChangedTable,
    /// The table that is looked at.
    other: Arc<TableDef>,
}

/// Keeps whether there was a row.
#[derive(Default)]
struct Any(bool);

impl RowSink for Any {
    fn row(&mut self, _: &[Value]) -> Result<(), SqlError> {
        self.0 = true;
        Ok(())
    }
}

impl KeyTest {
    /// A query that finds a row only if something is wrong.
    pub fn new(broken: Arc<QueryPlan>, error: SqlError) -> KeyTest {
        KeyTest { broken, by_cost: None, error }
    }

    /// Such a query over changed rows and another table, as a text for the hints of the tables that
    /// follow on how these are locked. `helps`: an index begins with the whole key.
    ///
    /// # Errors
    /// Those of compiling it.
    pub fn compile(
        text: impl Fn(&str) -> String,
        (other, helps): (&Arc<TableDef>, bool),
        env: &CompileEnv<'_>,
        error: SqlError,
    ) -> Result<KeyTest, SqlError> {
        let plain = text("");
        if helps
            && let Some(changes) = &env.changes
            && let Some(broken) = or_no_plan(query(&text(", FORCESEEK"), env))?
        {
            let by_cost = ByCost { text: plain, changes: changes.clone(), other: other.clone() };
            return Ok(KeyTest { broken, by_cost: Some(Box::new(by_cost)), error });
        }
        Ok(KeyTest::new(query(&plain, env)?, error))
    }

    /// The tables whose rows have decided how it is planned; of one that seeks, by which index.
    pub fn watched(&self) -> &[Watched] {
        &self.broken.needs.watched
    }

    /// Its error when there is such a row.
    ///
    /// # Errors
    /// That one, and those of the query.
    pub fn run(&self, ctx: &mut ExecCtx<'_>) -> Result<(), SqlError> {
        let planned = match &self.by_cost {
            Some(by_cost) => by_cost.plan(ctx.session),
            None => None,
        };
        let broken: &QueryPlan = planned.as_ref().unwrap_or(&self.broken);
        let mut any = Any::default();
        run_query(broken, ctx, &mut any)?;
        if any.0 { Err(self.error.clone()) } else { Ok(()) }
    }
}

impl ByCost {
    /// The plan for the rows that have been changed, if they are many and the table is small. One
    /// that cannot be made is not needed: that which seeks finds the same.
    fn plan(&self, core: &SessionCore) -> Option<Arc<QueryPlan>> {
        let rows = core.changes.as_ref().map_or(0, |rows| rows.inserted.len().max(rows.deleted.len()));
        if rows < MANY || table_rows(&self.other) > MOST_READ {
            return None;
        }
        let _plan = phases::enter(Phase::Plan);
        // Statistics that the plan wants are measured now: not what the statement reads.
        let _apart = core.options.statistics_io.then(PageTrace::begin);
        let vars = VarScope::new();
        let changes = ChangedTable { rows: rows as f64, ..self.changes.clone() };
        let env = CompileEnv { chain: Chain::Trusted, changes: Some(changes), ..environment(core, &vars) };
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
