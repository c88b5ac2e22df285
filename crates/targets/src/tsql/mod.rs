//! The studies' work in T-SQL, over any connection that takes batches: Ringwood embedded, or a
//! server that speaks the wire protocol, SQL Server from 2008 on too, by another [`Server`].
//! Statements are such that all of these take them; where a version lacks one, [`site`] says so and
//! the other is chosen here.

mod backup;
mod commits;
mod customers;
mod growth;
mod load;
mod mix;
mod payload;
mod setup;
mod site;
mod trigger;
mod vlf;

pub use commits::delayed_commits;
pub use setup::set_up;
pub use site::{EMBEDDED, Folders, Product, Site};
pub use vlf::{log_counts, next_vlf, used_kb};

use crate::LabError;
use crate::at_once::at_once;
use crate::work::{Durability, Figure, LOAD_FILLER, TsqlWork, WaitCount, Work, loaded};
use std::path::Path;
use std::time::Instant;

/// What a batch answered.
#[derive(Clone, Debug, Default)]
pub struct BatchReply {
    /// Result sets, rows, fields as text.
    pub sets: Vec<Vec<Vec<Option<String>>>>,
    /// PRINT and informational messages.
    pub messages: Vec<String>,
}

/// A value as studies read it; `None` for NULL.
pub fn text_of(value: &types::Value) -> Option<String> {
    match value {
        types::Value::Null => None,
        types::Value::Str(text) => Some(text.to_string()),
        other => Some(other.to_string()),
    }
}

/// Whether an error's number says that something cannot be done here, as opposed to what went
/// wrong: 40510 is not in this version of Ringwood, 4208 is BACKUP LOG under the SIMPLE recovery
/// model.
pub fn is_unsupported(number: i32) -> bool {
    matches!(number, 40510 | 4208)
}

/// A prepared statement with one parameter `@a` of type int, on the session that prepared it.
pub type PreparedBatch<'a> = Box<dyn FnMut(i32) -> Result<(), LabError> + 'a>;

/// A session of a server.
pub trait Connection: Send {
    /// Runs a batch. Errors: the first of the batch; [`LabError::Unsupported`] for what the server
    /// does not do.
    fn run(&mut self, batch: &str) -> Result<BatchReply, LabError>;
    /// Prepares a statement once, as a driver does.
    fn prepare<'a>(&'a mut self, statement: &str) -> Result<PreparedBatch<'a>, LabError>;
    /// Where it runs.
    fn site(&self) -> &Site;
}

/// A server of T-SQL.
pub trait Server: Send + Sync {
    /// A new session, in `database` when one is named.
    fn connect(&self, database: Option<&str>) -> Result<Box<dyn Connection>, LabError>;
    /// Where sessions run.
    fn site(&self) -> &Site;
    /// Loads rows of the customer table into a table like it: fields of the file are separated by
    /// `|`, rows by a line feed.
    fn load_customers(&self, table: &str, file: &Path) -> Result<(), LabError>;

    /// A new session in the study's database.
    fn connect_in(&self) -> Result<Box<dyn Connection>, LabError> {
        self.connect(Some(&self.site().database))
    }
}

/// The database of every study on an embedded instance.
pub const DATABASE: &str = "lab";
/// The customer table of the studies, as its author wrote it.
pub const CUSTOMER: &str = include_str!("customer.sql");
/// The author's insert.
pub const INSERT: &str = "insert customer_tmp select * from customer";
/// The author's update.
pub const UPDATE: &str = "update customer set c_data = lower(c_data)";
/// The author's delete.
pub const DELETE: &str = "delete from customer";

/// The single number that a query returns.
pub fn number(client: &mut dyn Connection, query: &str) -> Result<f64, LabError> {
    let reply = client.run(query)?;
    reply
        .sets
        .first()
        .and_then(|s| s.first())
        .and_then(|r| r.first())
        .and_then(|v| v.as_ref()?.parse().ok())
        .ok_or_else(|| LabError::Request(format!("this query returned no number: {query}")))
}

/// Runs a batch; seconds.
pub fn timed(client: &mut dyn Connection, batch: &str) -> Result<f64, LabError> {
    let begin = Instant::now();
    client.run(batch)?;
    Ok(begin.elapsed().as_secs_f64())
}

/// Drops the tables that are there. Not by `IF EXISTS`, which came with SQL Server 2016.
pub(super) fn drop_tables(names: &[&str]) -> String {
    let drop = |name: &&str| format!("if object_id('{name}') is not null drop table {name}");
    names.iter().map(drop).collect::<Vec<_>>().join("; ")
}

/// The customer table under another name, without its index.
fn customer_named(name: &str) -> String {
    CUSTOMER.replacen("customer", name, 1)
}

fn expect(client: &mut dyn Connection, query: &str, rows: f64) -> Result<(), LabError> {
    let found = number(client, query)?;
    if found == rows {
        return Ok(());
    }
    Err(LabError::Request(format!("{query}: {found} rows, not {rows}")))
}

/// Runs `batch(i)` on that many sessions at once; seconds.
fn sessions(
    server: &dyn Server,
    count: u32,
    batch: &(dyn Fn(u32) -> String + Sync),
) -> Result<f64, LabError> {
    let clients = (0..count).map(|_| server.connect_in()).collect::<Result<Vec<_>, _>>()?;
    let clients = clients.into_iter().zip((0..).map(batch)).collect();
    at_once(clients, |_, (client, text)| client.run(text).map(drop))
}

/// Runs a piece of work. [`Work::Recovery`] and [`Work::RawWrites`] are not work in T-SQL: they are
/// unsupported here.
pub fn run(server: &dyn Server, work: &Work) -> Result<Vec<Figure>, LabError> {
    let mut client = server.connect_in()?;
    let client = client.as_mut();
    let prepare = |client: &mut dyn Connection, batch: &str| client.run(batch).map(|_| vec![]);
    match work {
        Work::MakeCustomer => customers::make_customer(client).map(|()| vec![]),
        Work::InsertSelect | Work::Update | Work::Delete => customers::all_customers(client, work),
        Work::Checkpoint => Ok(Figure::seconds(timed(client, "checkpoint")?)),
        Work::LogBackup => backup::log_backup(client),
        Work::MakeOneRow => prepare(
            client,
            &format!(
                "{}; create table one_row (a int not null, b char(100) not null); checkpoint",
                drop_tables(&["one_row"])
            ),
        ),
        Work::LoopInserts(n) => Ok(Figure::seconds(timed(
            client,
            &format!(
                "set nocount on; declare @i int = 0; begin tran; \
                 while @i < {n} begin insert one_row values (@i, 'x'); set @i += 1 end; commit"
            ),
        )?)),
        Work::Commits(n, durability) => commits::commits(client, *n, *durability),
        Work::Latencies(ms) => {
            let mut insert = client.prepare("insert one_row values (@a, 'x')")?;
            crate::latency::latencies(*ms, |number| insert(number as i32))
        }
        Work::SessionCommits(count, each) => commits::session_commits(server, *count, *each),
        Work::MakeLoad => prepare(
            client,
            &format!(
                "{}; create table arrivals (a int not null, b int not null, c char({LOAD_FILLER}) not null); checkpoint",
                drop_tables(&["arrivals"])
            ),
        ),
        Work::Load(connections, rows) => load::load(server, *connections, *rows),
        Work::CheckLoad(connections, rows) => {
            expect(
                client,
                "select count_big(*) from arrivals",
                loaded(*connections, *rows) as f64,
            )?;
            Ok(vec![])
        }
        Work::MakeWide => prepare(client, &growth::make_wide("")),
        Work::MakeWideWithKey => prepare(client, &growth::make_wide("primary key")),
        Work::RowUpdates(n) => growth::row_updates(client, *n),
        Work::GrowLog { step_kb, to_kb } => growth::grow_log(client, *step_kb, *to_kb),
        Work::MakePayload => prepare(
            client,
            &format!(
                "{}; create table tab1 (col1 varchar(max), col2 varchar(max), col3 varchar(max)); checkpoint",
                drop_tables(&["tab1"])
            ),
        ),
        Work::Payload(bytes, ms) => payload::payload(client, *bytes, *ms),
        Work::Tsql(work) => run_tsql(server, client, work),
        Work::Recovery(_) | Work::RawWrites => {
            Err(LabError::Unsupported(format!("{work:?} is not work in T-SQL")))
        }
    }
}

/// The work that only T-SQL has. [`TsqlWork::Loss`] needs a process to kill: it is unsupported
/// here.
fn run_tsql(
    server: &dyn Server,
    client: &mut dyn Connection,
    work: &TsqlWork,
) -> Result<Vec<Figure>, LabError> {
    let done = |result: Result<(), LabError>| result.map(|()| vec![]);
    match work {
        TsqlWork::Customers => done(customers::customers(client)),
        TsqlWork::UpdateBack => customers::update_back(client),
        TsqlWork::MakeTrigger => done(trigger::make(client)),
        TsqlWork::UpdateSome { back } => trigger::update_some(client, *back),
        TsqlWork::DropTrigger => done(trigger::drop_checked(client)),
        TsqlWork::DeleteRolledBack => customers::delete_rolled_back(server, client),
        TsqlWork::PlaceHead { below_kb, room_kb } => {
            done(vlf::place_head(client, *below_kb, *room_kb))
        }
        TsqlWork::KeepHead { below_kb, room_kb } => {
            done(vlf::keep_head(client, *below_kb, *room_kb))
        }
        TsqlWork::FillLog(kb) => done(vlf::fill_log(client, *kb)),
        TsqlWork::Remedy { to_kb } => done(vlf::remedy(client, *to_kb)),
        TsqlWork::CountVlfs => vlf::count_vlfs(client),
        TsqlWork::MakeMix => done(client.run(&mix::tables()).map(drop)),
        TsqlWork::Mix(count, each) => mix::run(server, *count, *each),
        TsqlWork::MakeRows(row) => done(client.run(&load::make_rows(*row)).map(drop)),
        TsqlWork::InsertRows(row, connections, rows) => {
            load::insert_rows(server, *row, *connections, *rows)
        }
        TsqlWork::CheckRows(rows) => {
            done(expect(client, "select count_big(*) from arrivals", *rows as f64))
        }
        TsqlWork::AddFiles { from, to, arrays, each_kb } => {
            done(load::add_files(client, *from, *to, *arrays, *each_kb))
        }
        TsqlWork::MakeScattered(pages) => done(load::make_scattered(client, *pages)),
        TsqlWork::Scatter { step, .. } => done(
            client.run(&format!("update scattered set b = b + 1 where a % {step} = 0")).map(drop),
        ),
        TsqlWork::Sessions(count, each, durability) => {
            commits::durable_sessions(server, client, (*count, *each), *durability)
        }
        TsqlWork::CommitsFor(ms, durability) => {
            commits::inserts_for(client, *ms, *durability, false)
        }
        TsqlWork::InsertsFor(ms) => commits::inserts_for(client, *ms, Durability::Full, true),
        TsqlWork::WriteSizes(bytes) => payload::write_sizes(client, *bytes),
        TsqlWork::FullBackup => backup::full_backup(client),
        TsqlWork::HeldRowUpdates(updates) => growth::held_row_updates(server, client, *updates),
        TsqlWork::Loss { .. } => {
            Err(LabError::Unsupported("this needs a process that can be killed".into()))
        }
        TsqlWork::Outage { .. } => Err(LabError::Unsupported(
            "this needs an engine in this process, on a simulated disk".into(),
        )),
    }
}

/// Waits of threads that have nothing to do, or that wait for a time or a client: parts of these
/// names. Ringwood counts none of them.
const IDLE: [&str; 14] = [
    "SLEEP",
    "QUEUE",
    "IDLE",
    "_TIMER",
    "CLR_AUTO_EVENT",
    "CLR_MANUAL_EVENT",
    "BROKER_",
    "XE_",
    "HADR_",
    "DIRTY_PAGE_POLL",
    "WAITFOR",
    "LOGMGR_QUEUE",
    "QDS_",
    "PREEMPTIVE_XE",
];

/// sys.dm_os_wait_stats, without the waits of idle threads.
pub fn waits(client: &mut dyn Connection) -> Result<Vec<WaitCount>, LabError> {
    let all = client.site().product.ringwood;
    let reply = client.run(
        "select wait_type, waiting_tasks_count, wait_time_ms from sys.dm_os_wait_stats where waiting_tasks_count > 0",
    )?;
    let number = |field: Option<&Option<String>>| -> i64 {
        field.and_then(|f| f.as_ref()?.parse().ok()).unwrap_or(0)
    };
    Ok(reply
        .sets
        .into_iter()
        .flatten()
        .filter(|row| {
            all || !row.first().is_some_and(|n| is_idle(n.as_deref().unwrap_or_default()))
        })
        .filter_map(|row| {
            Some(WaitCount {
                wait_type: row.first()?.clone()?,
                count: number(row.get(1)),
                us: number(row.get(2)) * 1000,
            })
        })
        .collect())
}

fn is_idle(wait_type: &str) -> bool {
    IDLE.iter().any(|part| wait_type.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_idle_threads_are_told_from_others() {
        assert!(
            is_idle("LAZYWRITER_SLEEP")
                && is_idle("XE_DISPATCHER_WAIT")
                && is_idle("SQLTRACE_INCREMENTAL_FLUSH_SLEEP")
        );
        for wait in [
            "WRITELOG",
            "PAGELATCH_EX",
            "PAGEIOLATCH_SH",
            "LCK_M_X",
            "SOS_SCHEDULER_YIELD",
            "CXPACKET",
        ] {
            assert!(!is_idle(wait), "{wait}");
        }
    }

    #[test]
    fn tables_are_dropped_as_every_version_can() {
        assert_eq!(
            drop_tables(&["a", "b"]),
            "if object_id('a') is not null drop table a; if object_id('b') is not null drop table b"
        );
    }
}
