//! The studies' work in T-SQL, over any connection that takes batches: Ringwood embedded today, a server that speaks the
//! wire protocol (SQL Server too) by another [`Server`].

use crate::LabError;
use crate::work::{Config, Durability, Figure, WaitCount, Work};
use std::path::Path;
use std::time::{Duration, Instant};

/// What a batch answered.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Result sets, rows, fields as text.
    pub sets: Vec<Vec<Vec<Option<String>>>>,
    /// PRINT and informational messages.
    pub messages: Vec<String>,
}

/// A session of a server.
pub trait Connection: Send {
    /// Runs a batch. Errors: the first of the batch; [`LabError::Unsupported`] for what the server does not do.
    fn run(&mut self, batch: &str) -> Result<Reply, LabError>;
}

/// A server of T-SQL.
pub trait Server: Send + Sync {
    /// A new session, in `database` when one is named.
    fn connect(&self, database: Option<&str>) -> Result<Box<dyn Connection>, LabError>;
}

/// The database of every study.
pub const DATABASE: &str = "lab";
/// The customer table of the studies, as its author wrote it.
pub const CUSTOMER: &str = include_str!("customer.sql");
/// The author's insert.
pub const INSERT: &str = "insert customer_tmp select * from customer";
/// The author's update.
pub const UPDATE: &str = "update customer set c_data = lower(c_data)";
/// The author's delete.
pub const DELETE: &str = "delete from customer";
/// Rows of `Load` in one transaction.
pub const LOAD_BATCH: u64 = 64;

/// Rows that a `Load` leaves.
pub fn loaded(connections: u32, rows: u64) -> u64 {
    u64::from(connections) * rows.div_ceil(LOAD_BATCH) * LOAD_BATCH
}
/// Bytes of the filler column of a `Load` row.
pub const LOAD_FILLER: u32 = 980;

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

/// The customer table under another name, without its index.
fn customer_named(name: &str) -> String {
    CUSTOMER.replacen("customer", name, 1)
}

/// Drive of the n-th data file: E, and G for every other file when there are two arrays.
fn drive(file: u32, arrays: u32) -> char {
    if arrays > 1 && file % 2 == 1 { 'G' } else { 'E' }
}

/// CREATE DATABASE with the files of a configuration: data on E: (and G:), log on F:.
pub fn create_database(config: &Config) -> String {
    let each_kb = (config.data.size_kb / u64::from(config.data.files.max(1))).max(4096) / 64 * 64;
    let files: Vec<String> = (0..config.data.files.max(1))
        .map(|i| {
            let (name, ending) = match i {
                0 => (DATABASE.to_owned(), "mdf"),
                _ => (format!("{DATABASE}_{}", i + 1), "ndf"),
            };
            let drive = drive(i, config.data.arrays);
            format!(
                "(name = {name}, filename = '{drive}:\\{name}.{ending}', size = {each_kb}KB, filegrowth = 65536KB)"
            )
        })
        .collect();
    format!(
        "create database {DATABASE} on primary {} log on (name = {DATABASE}_log, filename = 'F:\\{DATABASE}_log.ldf', \
         size = {}KB, filegrowth = {}KB)",
        files.join(", "),
        config.log.initial_kb,
        config.log.growth_kb
    )
}

/// Makes the database of a configuration; what was made, in words.
/// The compatibility level is 100: growths make virtual log files by the rule of the authors' SQL Server 2008.
pub fn set_up(
    server: &dyn Server,
    config: &Config,
    customers: Option<&Path>,
) -> Result<Vec<String>, LabError> {
    let mut client = server.connect(None)?;
    let client = client.as_mut();
    client.run(&create_database(config))?;
    client.run(&format!("alter database {DATABASE} set compatibility_level = 100"))?;
    client.run(&format!("alter database {DATABASE} set recovery simple"))?;
    client.run(&format!("use {DATABASE}"))?;
    if config.log.fill_to_kb > 0 {
        grow_by_steps(server, client, config.log.fill_to_kb)?;
    }
    if log_kb(client)? < config.log.final_kb {
        let size = config.log.final_kb;
        client.run(&format!(
            "alter database {DATABASE} modify file (name = {DATABASE}_log, size = {size}KB)"
        ))?;
    }
    if let Some(file) = customers.filter(|_| config.customers > 0) {
        client.run(&customer_named("source"))?;
        client.run(&format!(
            "bulk insert source from '{}' with (fieldterminator = '|', rowterminator = '0x0a', tablock)",
            file.display().to_string().replace('\'', "''")
        ))?;
    }
    let mut said = Vec::new();
    if config.full_recovery {
        client.run(&format!("alter database {DATABASE} set recovery full"))?;
        if let Err(LabError::Unsupported(why)) = start_log_chain(client) {
            client.run(&format!("alter database {DATABASE} set recovery simple"))?;
            said.push(format!("recovery model SIMPLE instead of FULL: {why}"));
        }
    }
    client.run("checkpoint")?;
    let vlfs = number(client, &format!("select count(*) from sys.dm_db_log_info(db_id('{DATABASE}'))"))?;
    said.insert(
        0,
        format!(
            "{}: {} data file(s) of {} MB together, log {} MB in {vlfs:.0} VLFs",
            config.key,
            config.data.files,
            config.data.size_kb / 1024,
            log_kb(client)? / 1024
        ),
    );
    Ok(said)
}

fn log_kb(client: &mut dyn Connection) -> Result<u64, LabError> {
    Ok(number(client, "select size from sys.database_files where type = 1")? as u64 * 8)
}

/// Grows the log by its own steps, as the author did: an open transaction holds truncation while another session fills
/// a dummy table of char(8000).
fn grow_by_steps(server: &dyn Server, client: &mut dyn Connection, to_kb: u64) -> Result<(), LabError> {
    client.run("create table dummy (a char(8000)); create table holder (a int)")?;
    let mut holder = server.connect(Some(DATABASE))?;
    holder.run("begin tran; insert holder values (1)")?;
    while log_kb(client)? < to_kb {
        client.run(
            "set nocount on; declare @i int = 0; begin tran; \
             while @i < 500 begin insert dummy values ('x'); set @i += 1 end; commit",
        )?;
    }
    holder.run("commit")?;
    client.run("truncate table dummy; checkpoint; drop table dummy; drop table holder; checkpoint")?;
    Ok(())
}

fn start_log_chain(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run(&format!("backup database {DATABASE} to disk = 'H:\\{DATABASE}.bak' with init"))?;
    log_backup(client).map(drop)
}

/// BACKUP LOG: seconds, and the pages and seconds of its message.
fn log_backup(client: &mut dyn Connection) -> Result<Vec<Figure>, LabError> {
    let begin = Instant::now();
    let reply = client.run(&format!("backup log {DATABASE} to disk = 'H:\\{DATABASE}.trn' with init"))?;
    let seconds = begin.elapsed().as_secs_f64();
    let mut figures = Figure::seconds(seconds);
    if let Some((pages, said)) = reply.messages.iter().find_map(|m| backup_message(m)) {
        figures.push(Figure::named("pages", "pages", pages));
        figures.push(Figure::named("by its message", "s", said));
    }
    Ok(figures)
}

/// Pages and seconds of `BACKUP LOG successfully processed 412 pages in 0.034 seconds (94.6 MB/sec).`
fn backup_message(text: &str) -> Option<(f64, f64)> {
    let mut words = text.split("successfully processed ").nth(1)?.split_whitespace();
    let pages = words.next()?.parse().ok()?;
    let seconds = words.nth(2)?.parse().ok()?;
    Some((pages, seconds))
}

/// `customer` as "bulk copied, index rebuilt" left it, and an empty `customer_tmp`.
fn make_customer(client: &mut dyn Connection) -> Result<(), LabError> {
    client.run("drop table if exists customer; drop table if exists customer_tmp")?;
    client.run(&customer_named("customer"))?;
    client.run("insert customer select * from source")?;
    client.run("create unique clustered index ci_customer on customer (c_w_id, c_d_id, c_id)")?;
    client.run("select * into customer_tmp from customer where 1 = 2")?;
    client.run("checkpoint").map(drop)
}

fn expect(client: &mut dyn Connection, query: &str, rows: f64) -> Result<(), LabError> {
    let found = number(client, query)?;
    if found == rows {
        return Ok(());
    }
    Err(LabError::Request(format!("{query}: {found} rows, not {rows}")))
}

/// Sets the durability of commits for the database.
fn set_durability(client: &mut dyn Connection, durability: Durability) -> Result<(), LabError> {
    let setting = if durability == Durability::Delayed { "forced" } else { "disabled" };
    client.run(&format!("alter database {DATABASE} set delayed_durability = {setting}")).map(drop)
}

/// Runs a statement over all customers and checks what it left.
fn all_customers(client: &mut dyn Connection, work: &Work) -> Result<Vec<Figure>, LabError> {
    let before = number(client, "select count_big(*) from customer")?;
    let (statement, check, rows) = match work {
        Work::InsertSelect => (INSERT, "select count_big(*) from customer_tmp", before),
        Work::Update => (UPDATE, "select count_big(*) from customer", before),
        _ => (DELETE, "select count_big(*) from customer", 0.0),
    };
    let seconds = timed(client, statement)?;
    expect(client, check, rows)?;
    Ok(Figure::seconds(seconds))
}

fn commits(client: &mut dyn Connection, count: u64, durability: Durability) -> Result<Vec<Figure>, LabError> {
    set_durability(client, durability)?;
    let before = number(client, "select count_big(*) from one_row")?;
    let seconds = timed(
        client,
        &format!(
            "set nocount on; declare @i int = 0; while @i < {count} begin insert one_row values (@i, 'x'); set @i += 1 end"
        ),
    )?;
    set_durability(client, Durability::Full)?;
    expect(client, "select count_big(*) from one_row", before + count as f64)?;
    Ok(Figure::seconds(seconds))
}

/// Runs `batch(i)` on that many sessions at once, all started together; seconds until the last has ended.
fn sessions(
    server: &dyn Server,
    count: u32,
    batch: &(dyn Fn(u32) -> String + Sync),
) -> Result<f64, LabError> {
    let clients = (0..count).map(|_| server.connect(Some(DATABASE))).collect::<Result<Vec<_>, _>>()?;
    let barrier = std::sync::Barrier::new(clients.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .zip(0..)
            .map(|(mut client, index)| {
                let (barrier, text) = (&barrier, batch(index));
                scope.spawn(move || {
                    barrier.wait();
                    client.run(&text).map(drop)
                })
            })
            .collect();
        barrier.wait();
        let begin = Instant::now();
        let results: Vec<_> = threads.into_iter().map(|t| t.join()).collect();
        let seconds = begin.elapsed().as_secs_f64();
        for result in results {
            result
                .unwrap_or_else(|_| Err(LabError::Request("a session's thread ended by a panic".into())))?;
        }
        Ok(seconds)
    })
}

fn session_commits(server: &dyn Server, count: u32, each: u64) -> Result<Vec<Figure>, LabError> {
    let seconds = sessions(server, count, &|session| {
        format!(
            "set nocount on; declare @i int = 0; while @i < {each} begin insert one_row values ({session}, 'x'); set @i += 1 end"
        )
    })?;
    Ok(vec![Figure::new("commits/s", (u64::from(count) * each) as f64 / seconds)])
}

fn load(server: &dyn Server, connections: u32, rows: u64) -> Result<Vec<Figure>, LabError> {
    let batches = rows.div_ceil(LOAD_BATCH);
    let seconds = sessions(server, connections, &|session| {
        format!(
            "set nocount on; declare @i int = 0, @j int; while @i < {batches} begin begin tran; set @j = 0; \
             while @j < {LOAD_BATCH} begin insert arrivals values ({session}, @i, 'filler'); set @j += 1 end; commit; set @i += 1 end"
        )
    })?;
    Ok(Figure::seconds(seconds))
}

/// The author's loop: two updates of the same row in each turn.
fn row_updates(client: &mut dyn Connection, updates: u64) -> Result<Vec<Figure>, LabError> {
    let turns = updates / 2;
    let seconds = timed(
        client,
        &format!(
            "set nocount on
             begin tran
             declare @x int, @a char(8000), @b char(8000)
             set @a = replicate('a', 8000)
             set @b = replicate('b', 8000)
             set @x = 0
             while @x <> {turns}
             begin
                 update vlf_test set b = @a, c = @x where a = 1
                 update vlf_test set b = @b where a = 1
                 set @x = @x + 1
             end
             commit tran"
        ),
    )?;
    expect(
        client,
        &format!("select count(*) from vlf_test where c = {} and b = replicate('b', 8000)", turns - 1),
        1.0,
    )?;
    Ok(Figure::seconds(seconds))
}

fn grow_log(client: &mut dyn Connection, step_kb: u64, to_kb: u64) -> Result<Vec<Figure>, LabError> {
    let mut size = log_kb(client)?;
    let begin = Instant::now();
    while size < to_kb {
        size = (size + step_kb).min(to_kb);
        client.run(&format!(
            "alter database {DATABASE} modify file (name = {DATABASE}_log, size = {size}KB)"
        ))?;
    }
    Ok(Figure::seconds(begin.elapsed().as_secs_f64()))
}

/// The author's loop: rows of three columns (a quarter, a quarter, a half of the bytes), each a transaction.
fn payload(client: &mut dyn Connection, bytes: u32, ms: u64) -> Result<Vec<Figure>, LabError> {
    let quarter = bytes / 4;
    let begin = Instant::now();
    client.run(&format!(
        "set nocount on;
         declare @a varchar(max) = replicate(cast('A' as varchar(max)), {quarter});
         declare @x varchar(max) = replicate(cast('X' as varchar(max)), {quarter});
         declare @z varchar(max) = replicate(cast('Z' as varchar(max)), {half});
         declare @end datetime2 = dateadd(millisecond, {ms}, sysdatetime());
         while sysdatetime() < @end insert tab1 (col1, col2, col3) values (@a, @x, @z)",
        half = bytes - 2 * quarter
    ))?;
    let seconds = begin.elapsed().max(Duration::from_millis(1)).as_secs_f64();
    let rows = number(client, "select count(*) from tab1")?;
    Ok(vec![Figure::new("rows/s", rows / seconds)])
}

/// Runs a piece of work. [`Work::Recovery`] and [`Work::RawWrites`] are not work in T-SQL: they are unsupported here.
pub fn run(server: &dyn Server, work: &Work) -> Result<Vec<Figure>, LabError> {
    let mut client = server.connect(Some(DATABASE))?;
    let client = client.as_mut();
    let prepare = |client: &mut dyn Connection, batch: &str| client.run(batch).map(|_| vec![]);
    match work {
        Work::MakeCustomer => make_customer(client).map(|()| vec![]),
        Work::InsertSelect | Work::Update | Work::Delete => all_customers(client, work),
        Work::Checkpoint => Ok(Figure::seconds(timed(client, "checkpoint")?)),
        Work::LogBackup => log_backup(client),
        Work::MakeOneRow => prepare(
            client,
            "drop table if exists one_row; create table one_row (a int not null, b char(100) not null); checkpoint",
        ),
        Work::LoopInserts(n) => Ok(Figure::seconds(timed(
            client,
            &format!(
                "set nocount on; declare @i int = 0; begin tran; \
                 while @i < {n} begin insert one_row values (@i, 'x'); set @i += 1 end; commit"
            ),
        )?)),
        Work::Commits(n, durability) => commits(client, *n, *durability),
        Work::SessionCommits(count, each) => session_commits(server, *count, *each),
        Work::MakeLoad => prepare(
            client,
            &format!(
                "drop table if exists arrivals; create table arrivals (a int not null, b int not null, c char({LOAD_FILLER}) not null); checkpoint"
            ),
        ),
        Work::Load(connections, rows) => load(server, *connections, *rows),
        Work::CheckLoad(connections, rows) => {
            expect(client, "select count_big(*) from arrivals", loaded(*connections, *rows) as f64)?;
            Ok(vec![])
        }
        Work::MakeWide => prepare(
            client,
            "drop table if exists vlf_test; \
             create table vlf_test (a int identity(1,1) not null, b char(8000) not null, c int not null); \
             insert vlf_test values (replicate('a', 8000), 0); checkpoint",
        ),
        Work::RowUpdates(n) => row_updates(client, *n),
        Work::GrowLog { step_kb, to_kb } => grow_log(client, *step_kb, *to_kb),
        Work::MakePayload => prepare(
            client,
            "drop table if exists tab1; create table tab1 (col1 varchar(max), col2 varchar(max), col3 varchar(max)); checkpoint",
        ),
        Work::Payload(bytes, ms) => payload(client, *bytes, *ms),
        Work::Recovery(_) | Work::RawWrites => {
            Err(LabError::Unsupported(format!("{work:?} is not work in T-SQL")))
        }
    }
}

/// sys.dm_os_wait_stats.
pub fn waits(server: &dyn Server) -> Result<Vec<WaitCount>, LabError> {
    let reply = server.connect(None)?.run(
        "select wait_type, waiting_tasks_count, wait_time_ms from sys.dm_os_wait_stats where waiting_tasks_count > 0",
    )?;
    let number =
        |field: Option<&Option<String>>| -> i64 { field.and_then(|f| f.as_ref()?.parse().ok()).unwrap_or(0) };
    Ok(reply
        .sets
        .into_iter()
        .flatten()
        .filter_map(|row| {
            Some(WaitCount {
                wait_type: row.first()?.clone()?,
                count: number(row.get(1)),
                us: number(row.get(2)) * 1000,
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_s_message_is_read() {
        let text = "BACKUP LOG successfully processed 412 pages in 0.034 seconds (94.600 MB/sec).";
        assert_eq!(backup_message(text), Some((412.0, 0.034)));
        assert_eq!(backup_message("Processed 412 pages for database 'lab', file 'lab_log' on file 1."), None);
    }

    #[test]
    fn files_go_round_the_arrays() {
        let all: String = (0..4).map(|i| drive(i, 2)).collect();
        assert_eq!(all, "EGEG");
        assert_eq!(drive(3, 1), 'E');
    }
}
