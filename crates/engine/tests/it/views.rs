//! The views into a running instance: names and types of their columns, and that their values
//! follow what is done.

use std::time::{Duration, Instant};

use crate::support::text::{self, Bench, Text};
use engine::{ColumnInfo, DataType, ResultRows, Session, Sink, SqlError, Value};
use sim::{SimConfig, SimDisk};

/// A result set.
#[derive(Default)]
struct Set {
    columns: Vec<ColumnInfo>,
    rows: Vec<Vec<Value>>,
    error: Option<SqlError>,
}

impl Sink for Set {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.rows.push(row.to_vec());
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error = Some(error.clone());
        Ok(())
    }
}

fn query(session: &mut Session, sql: &str) -> Set {
    let mut set = Set::default();
    session.execute(sql, &mut set);
    assert!(set.error.is_none(), "{sql}: {:?}", set.error);
    set
}

fn number(session: &mut Session, sql: &str) -> i64 {
    let set = query(session, sql);
    let value = set.rows.first().and_then(|row| row.first()).cloned().unwrap_or(Value::Null);
    value.as_i64().unwrap_or_else(|| panic!("{sql}: {value:?}"))
}

/// Runs a query until it gives the number that is wanted.
fn wait_for(session: &mut Session, sql: &str, wanted: i64) {
    let end = Instant::now() + Duration::from_secs(20);
    while number(session, sql) != wanted {
        assert!(Instant::now() < end, "{sql} never gave {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn columns(session: &mut Session, view: &str) -> Vec<(String, DataType)> {
    let set = query(session, &format!("select * from {view}"));
    for row in &set.rows {
        assert_eq!(row.len(), set.columns.len(), "{view}");
    }
    set.columns.iter().map(|c| (c.name.to_string(), c.ty)).collect()
}

#[test]
fn every_view_can_be_read_and_every_value_fits_its_column() {
    let mut b = Bench::new();
    b.run("create table a(i int primary key, t varchar(max)) insert a values (1, 'x') update statistics a begin tran update a set i = 2");
    let names = query(
        &mut b.session,
        "select schema_name(schema_id), name from sys.all_objects where object_id < 0",
    );
    assert!(names.rows.len() > 40, "{}", names.rows.len());
    for row in names.rows {
        let [Value::Str(schema), Value::Str(name)] = &row[..] else { panic!("{row:?}") };
        let arguments = match name.as_str() {
            "fn_dblog" | "dm_io_virtual_file_stats" | "dm_os_volume_stats" => "(null, null)",
            "dm_exec_input_buffer" => "(@@spid, null)",
            "fn_listextendedproperty" => "(null, null, null, null, null, null, null)",
            "dm_db_log_info" | "dm_db_log_stats" => "(db_id())",
            "dm_exec_sql_text" | "dm_exec_query_plan" | "dm_exec_plan_attributes" => "(0x02)",
            "dm_exec_text_query_plan" => "(0x02, 0, -1)",
            "dm_sql_referenced_entities" | "dm_sql_referencing_entities" => "('dbo.a', 'OBJECT')",
            "dm_exec_describe_first_result_set" => "('select i, t from a', null, 0)",
            "dm_exec_describe_first_result_set_for_object" => "(object_id('a'), 0)",
            "dm_db_index_physical_stats" | "dm_db_database_page_allocations" => {
                "(db_id(), object_id('a'), null, null, 'DETAILED')"
            }
            "dm_db_page_info" => "(db_id(), 1, 0, 'DETAILED')",
            "dm_exec_cursors" => "(0)",
            "dm_db_missing_index_columns" => "(1)",
            "dm_ringwood_cursors" => "(3, null, null)",
            "fn_my_permissions" => "('dbo.a', 'OBJECT')",
            "fn_builtin_permissions" => "(null)",
            "generate_series" => "(1, 2)",
            "openjson" => "('[1]')",
            "fn_helpcollations" => "()",
            "string_split" => "('a', ',')",
            "dm_db_stats_properties" | "dm_db_stats_histogram" => "(object_id('a'), 1)",
            _ => "",
        };
        let view = format!("{schema}.{name}{arguments}");
        let set = query(&mut b.session, &format!("select * from {view}"));
        for row in &set.rows {
            for (value, column) in row.iter().zip(&set.columns) {
                let natural = value.natural_type();
                let same = value.is_null()
                    || natural.base_name() == column.ty.base_name()
                    || both_text(natural, column.ty);
                assert!(same, "{view}.{}: {value:?} is no {}", column.name, column.ty);
                assert!(!value.is_null() || column.nullable, "{view}.{} is NULL", column.name);
            }
        }
    }
}

fn both_text(a: DataType, b: DataType) -> bool {
    let bytes = |ty: DataType| matches!(ty, DataType::Binary(_) | DataType::VarBinary(_));
    a.is_string() && b.is_string()
        || bytes(a) && bytes(b)
        || b == DataType::SqlVariant
        || a.is_number() && b.is_number()
}

#[test]
fn fn_dblog_shows_what_was_done_in_order() {
    let mut b = Bench::new();
    b.run("create table h(a int not null, b varchar(20)) create table c(a int not null constraint pk_c primary key, b varchar(20))");
    b.run("insert h values (1, 'one') insert c values (1, 'one')");
    let start =
        "declare @from nvarchar(25) = (select max([Current LSN]) from sys.fn_dblog(null, null)) ";
    b.run("begin tran insert c values (2, 'two') update c set b = 'zwei' where a = 2 save tran s delete c where a = 1 rollback tran s delete c where a = 2 commit");
    b.run("begin tran insert h values (7, 'gone') rollback");
    b.check(
        "select Operation, Context, AllocUnitName from fn_dblog(null, null)
         where [Transaction ID] in (select [Transaction ID] from fn_dblog(null, null) where AllocUnitName = 'dbo.c.pk_c' and Operation = 'LOP_DELETE_ROWS')
         order by [Current LSN]",
        "LOP_BEGIN_XACT|LCX_NULL|NULL
         LOP_INSERT_ROWS|LCX_CLUSTERED|dbo.c.pk_c
         LOP_MODIFY_ROW|LCX_CLUSTERED|dbo.c.pk_c
         LOP_MARK_SAVEPOINT|LCX_NULL|NULL
         LOP_DELETE_ROWS|LCX_MARK_AS_GHOST|dbo.c.pk_c
         LOP_MODIFY_ROW|LCX_CLUSTERED|dbo.c.pk_c
         LOP_DELETE_ROWS|LCX_MARK_AS_GHOST|dbo.c.pk_c
         LOP_COMMIT_XACT|LCX_NULL|NULL",
    );
    b.check(
        "select Operation, Context, left(Description, 8) from sys.fn_dblog(null, null)
         where [Transaction ID] = (select [Transaction ID] from fn_dblog(null, null) where Operation = 'LOP_ABORT_XACT')
         order by [Current LSN]",
        "LOP_BEGIN_XACT|LCX_NULL|
         LOP_INSERT_ROWS|LCX_HEAP|insert 1
         LOP_DELETE_ROWS|LCX_HEAP|COMPENSA
         LOP_ABORT_XACT|LCX_NULL|",
    );
    // The inserted row as it is stored, its key, times, the chain backwards.
    b.check(
        "select count(*) from fn_dblog(null, null) where charindex(cast('two' as varbinary(8)), [RowLog Contents 0]) > 0 and datalength([RowLog Contents 2]) > 0 and Operation = 'LOP_INSERT_ROWS'
         select count(*) from fn_dblog(null, null) where Operation = 'LOP_BEGIN_XACT' and (isdate(left(replace([Begin Time], '/', '-'), 10)) = 0 or [Xact ID] is null)
         select count(*) from fn_dblog(null, null) l where [Previous LSN] <> '00000000:00000000:0000' and not exists
             (select 1 from fn_dblog(null, null) p where p.[Current LSN] = l.[Previous LSN])",
        "1\n0\n0",
    );
    // From a place on, as it is printed and as a decimal; up to a place.
    let all = number(&mut b.session, "select count(*) from fn_dblog(null, null)");
    let from = query(
        &mut b.session,
        "select [Current LSN] from fn_dblog(null, null) order by [Current LSN] offset 5 rows fetch next 1 row only",
    );
    let Value::Str(from) = &from.rows[0][0] else { panic!() };
    assert_eq!(
        number(&mut b.session, &format!("select count(*) from fn_dblog('{from}', null)")),
        all - 5
    );
    assert_eq!(
        number(&mut b.session, &format!("select count(*) from fn_dblog('0x{from}', null)")),
        all - 5
    );
    assert_eq!(
        number(&mut b.session, &format!("select count(*) from fn_dblog(null, '{from}')")),
        6
    );
    let parts: Vec<u32> = from.split(':').map(|p| u32::from_str_radix(p, 16).unwrap()).collect();
    let decimal = format!("{}:{}:{}", parts[0], parts[1], parts[2]);
    assert_eq!(
        number(&mut b.session, &format!("select count(*) from fn_dblog('{decimal}', null)")),
        all - 5
    );
    for bad in ["'x'", "'1:2'", "'999:16:1'", "5"] {
        let said = b.run(&format!("select count(*) from fn_dblog({bad}, null)"));
        assert!(said.starts_with("Msg 9005: Either start LSN or end LSN"), "{bad}: {said}");
    }
    let said = b.run(&format!("{start} select count(*) from fn_dblog(@from, null)"));
    assert_eq!(said.trim(), "1");
    assert!(b.run("select * from fn_dblog(null)").starts_with("Msg 313"));
}

#[test]
fn fn_dblog_counts_the_rows_of_set_based_statements_and_follows_a_log_that_is_truncated() {
    let mut b = Bench::new();
    b.run("create table n(i int not null primary key, t char(100) not null)");
    b.run("insert n select top (5000) row_number() over (order by (select 1)), 'x' from sys.all_columns a cross join sys.all_columns c");
    assert_eq!(number(&mut b.session, "select count(*) from n"), 5000);
    let elements = "select sum(cast([Num Elements] as int)) from fn_dblog(null, null) where Operation = 'LOP_INSERT_ROWS' and AllocUnitName like 'dbo.n.%'";
    assert!(number(&mut b.session, elements) >= 5000);
    let records = "select count(*) from fn_dblog(null, null) where Operation = 'LOP_INSERT_ROWS' and AllocUnitName like 'dbo.n.%'";
    assert!(number(&mut b.session, records) < 1000);
    // Lengths add up to the log that was written.
    let bytes = number(&mut b.session, "select sum([Log Record Length]) from fn_dblog(null, null)");
    assert!(bytes > 500_000, "{bytes}");
    b.run("checkpoint");
    let begins = "select count(*) from fn_dblog(null, null) where Operation in ('LOP_BEGIN_CKPT', 'LOP_END_CKPT')";
    assert_eq!(number(&mut b.session, begins), 2);
    assert_eq!(number(&mut b.session, records), 0);
}

/// The statement of a request, as it is asked for everywhere.
const STATEMENT: &str = "substring(t.text, r.statement_start_offset / 2 + 1, (case r.statement_end_offset when -1 then \
    datalength(t.text) else r.statement_end_offset end - r.statement_start_offset) / 2 + 1)";
const OF_REQUESTS: &str =
    "from sys.dm_exec_requests r cross apply sys.dm_exec_sql_text(r.sql_handle) t";

#[test]
fn a_request_shows_the_statement_of_the_module_that_runs() {
    let mut b = Bench::new();
    let look = format!(
        "select left(t.text, 20), object_name(t.objectid), {STATEMENT} {OF_REQUESTS} where r.session_id = @@spid"
    );
    b.check(&format!("create procedure below as set nocount on {look} set nocount off"), "");
    b.check(&format!("create procedure above as exec below {look} return 1"), "");
    let below = format!("create procedure bel|below|{look}");
    let above = format!("create procedure abo|above|{look}");
    b.check(
        &format!("declare @i int exec above {look}"),
        &format!("{below}\n{above}\ndeclare @i int exec |NULL|{look}"),
    );
    b.check("create table w (a int)", "");
    b.check(&format!("create trigger tr on w after insert as {look} select 1"), "");
    b.check("insert w values (1)", &format!("create trigger tr on|tr|{look}\n1\n(1)"));
    // An error leaves none behind; a function is part of the statement that calls it.
    b.check("create procedure failing as select 1 / 0", "");
    b.run("begin try exec failing end try begin catch end catch");
    b.check("create function f (@i int) returns int as begin declare @r int = @i while @r < 9 set @r += 1 return @r end", "");
    let called = look.replacen("select", "select dbo.f(1),", 1);
    b.check(&called, &format!("9|{}|NULL|{called}", &called[..20]));
}

#[test]
fn sessions_and_requests_show_who_runs_what() {
    let mut b = Bench::new();
    b.run("create table w(a int not null primary key) insert w values (1)");
    let mut other = b.instance.session().unwrap();
    other.set_names("app", "box", "me");
    other.use_database("t").unwrap();
    let spid = other.spid();
    let mut quiet = Text::default();
    other.execute(
        "set lock_timeout 5000 set transaction isolation level read uncommitted begin tran select a from w",
        &mut quiet,
    );
    b.check(
        &format!("select program_name, host_name, login_name, status, lock_timeout, transaction_isolation_level, row_count, open_transaction_count, db_name(database_id) from sys.dm_exec_sessions where session_id = {spid}"),
        "app|box|me|sleeping|5000|1|1|1|t",
    );
    b.check(
        &format!("select t.text from sys.dm_exec_connections c cross apply sys.dm_exec_sql_text(c.most_recent_sql_handle) t where c.session_id = {spid}"),
        "set lock_timeout 5000 set transaction isolation level read uncommitted begin tran select a from w",
    );
    let own = format!(
        "select status, command, {STATEMENT}, r.blocking_session_id, r.wait_type {OF_REQUESTS} where session_id = @@spid"
    );
    b.check(&own, &format!("running|SELECT|{own}|0|NULL"));
    let between = format!("declare @i int = 1; {own}; set @i = 2");
    b.check(&between, &format!("running|SELECT|{own}|0|NULL"));
    b.check(
        &format!("select event_type from sys.dm_exec_input_buffer({spid}, null)"),
        "Language Event",
    );
    b.check("select count(*) from sys.dm_exec_sql_text(0x0200)", "0");
    drop(other);
    b.check(&format!("select count(*) from sys.dm_exec_sessions where session_id = {spid}"), "0");
}

#[test]
fn a_row_lock_that_is_waited_for_is_seen_from_all_sides() {
    let mut b = Bench::new();
    b.run("create table w(a int not null primary key, n int) insert w values (1, 0)");
    b.run("begin tran update w set n = 1");
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let (me, spid) = (b.session.spid(), other.spid());
    let waiting = std::thread::spawn(move || {
        let mut text = Text::default();
        other.execute("waitfor delay '0:0:0.001' update w set n = 2", &mut text);
        text.out
    });
    wait_for(
        &mut b.session,
        &format!("select count(*) from sys.dm_os_waiting_tasks where session_id = {spid}"),
        1,
    );
    b.check(
        &format!("select wait_type, blocking_session_id - {me}, left(resource_description, 8) from sys.dm_os_waiting_tasks where session_id = {spid}"),
        "LCK_M_X|0|xactlock",
    );
    b.check(
        &format!("select status, command, wait_type, blocking_session_id - {me}, left(wait_resource, 5), case when wait_time < 60000 then 'now' end from sys.dm_exec_requests where session_id = {spid}"),
        "suspended|UPDATE|LCK_M_X|0|XACT:|now",
    );
    // Holder and waiter meet on one resource.
    b.check(
        "select h.request_status, h.request_mode, w.request_status, w.request_mode from sys.dm_tran_locks h join sys.dm_tran_locks w
             on w.resource_type = h.resource_type and w.resource_description = h.resource_description and w.request_status = 'WAIT'
         where h.resource_type = 'XACT' and h.request_status = 'GRANT'",
        "GRANT|X|WAIT|X",
    );
    b.check(
        "select s.session_id - @@spid, s.is_user_transaction, s.open_transaction_count, a.name, a.transaction_state, a.transaction_type,
             case when d.database_transaction_log_bytes_used > 0 and d.database_transaction_log_record_count = 2 then 'logged' end,
             case when d.database_transaction_last_lsn > d.database_transaction_begin_lsn then 'ordered' end,
             case when l.request_owner_id = a.transaction_id then 'owner' end
         from sys.dm_tran_session_transactions s join sys.dm_tran_active_transactions a on a.transaction_id = s.transaction_id
             join sys.dm_tran_database_transactions d on d.transaction_id = a.transaction_id and d.database_id = db_id()
             join sys.dm_tran_locks l on l.request_session_id = s.session_id and l.resource_type = 'XACT' and l.request_status = 'GRANT'
         where s.session_id = @@spid",
        "0|1|1|user_transaction|2|1|logged|ordered|owner",
    );
    b.run("commit");
    assert_eq!(waiting.join().unwrap().trim(), "(1)");
    b.check("select count(*) from sys.dm_os_waiting_tasks select n from w", "0\n2");
    b.check("begin tran select count(*) from sys.dm_tran_session_transactions where session_id = @@spid and is_user_transaction = 1 rollback select count(*) from sys.dm_tran_session_transactions", "1\n0");
}

#[test]
fn files_show_their_sectors_and_the_sizes_of_their_writes() {
    let sectors = disk::Sectors { logical: 512, physical: 4096 };
    let disk = SimDisk::with_config(7, SimConfig { sectors, ..SimConfig::default() });
    let mut b = Bench::on(disk);
    b.check(
        "select file_id, type_desc, logical_sector_bytes, physical_sector_bytes, log_alignment_bytes from sys.dm_ringwood_files where database_id = db_id() order by file_id",
        "1|ROWS|512|4096|NULL\n2|LOG|512|4096|4096",
    );
    b.run("create table s(a int, b varchar(8000))");
    let small = "select sum(num_of_writes) from sys.dm_ringwood_write_sizes where database_id = db_id() and type_desc = 'LOG' and up_to_bytes = 4096";
    let before = number(&mut b.session, small);
    for _ in 0..5 {
        b.run("insert s values (1, 'x')");
    }
    assert_eq!(number(&mut b.session, small), before + 5);
    let large = "select sum(num_of_writes) from sys.dm_ringwood_write_sizes where database_id = db_id() and type_desc = 'LOG' and up_to_bytes = 8192";
    let before = number(&mut b.session, large);
    b.run("insert s values (1, replicate('x', 5000))");
    assert_eq!(number(&mut b.session, large), before + 1);
    // The classes together are what dm_io_virtual_file_stats counts.
    b.check(
        "select sum(w.num_of_writes) - max(f.num_of_writes) from sys.dm_ringwood_write_sizes w
             join sys.dm_io_virtual_file_stats(db_id(), null) f on f.database_id = w.database_id and f.file_id = w.file_id
         where w.file_id = 2",
        "0",
    );
    b.check("select distinct operation from sys.dm_ringwood_io_latencies where database_id = db_id() and type_desc = 'LOG' and operation = 'WRITE'", "WRITE");
    b.check("select sum(num_of_read_modify_writes), count(*) from sys.dm_ringwood_files where database_id = db_id() and num_of_durable_writes > 0 and type_desc = 'LOG'", "0|1");
}

/// A volume that reports 512 bytes may have larger sectors: 4096 unless the user knows better.
#[test]
fn log_blocks_are_4096_bytes_whatever_the_device_reports() {
    let mut b = Bench::on(SimDisk::new(7));
    let alignment = "select physical_sector_bytes, log_alignment_bytes from sys.dm_ringwood_files where database_id = db_id() and type_desc = 'LOG'";
    b.check(alignment, "512|4096");
    // A change is taken when the log is opened, and then with its next VLF.
    let change = |b: &mut Bench, to: &str| {
        b.run(&format!(
            "alter database current set log_alignment = {to} alter database current set recovery simple"
        ));
        b.run("use master alter database t set offline alter database t set online use t");
        b.run("if object_id('filler') is null create table filler (a varchar(8000))");
        let started =
            number(&mut b.session, "select vlf_changes from sys.dm_db_log_stats(db_id())");
        assert_eq!(started, 0, "counted since the database was opened");
        while number(&mut b.session, "select vlf_changes from sys.dm_db_log_stats(db_id())") < 1 {
            b.run("insert filler values (replicate('x', 8000))");
        }
    };
    change(&mut b, "device");
    b.check(alignment, "512|512");
    change(&mut b, "auto");
    b.check(alignment, "512|4096");
    change(&mut b, "512");
    b.check(alignment, "512|512");
}

#[test]
fn log_blocks_are_never_smaller_than_the_sector() {
    let sectors = disk::Sectors { logical: 4096, physical: 4096 };
    let disk = SimDisk::with_config(7, SimConfig { sectors, ..SimConfig::default() });
    let mut b = Bench::on(disk);
    b.check("alter database current set log_alignment = 512", "Msg 5178: Cannot use file 't_log.ldf' with log blocks of 512 bytes because it is on a volume with sector size 4096. Choose a block size that is the same as or larger than the sector size.\nMsg 5069: ALTER DATABASE statement failed.");
    b.check("alter database current set log_alignment = 4096", "");
}

#[test]
fn columns_have_the_names_and_types_of_sql_server() {
    let mut b = Bench::new();
    use DataType::{BigInt, Int, SmallInt};
    let nvarchar = |n| DataType::NVarChar(types::Len::N(n));
    let expect = |b: &mut Bench, view: &str, wanted: &[(&str, DataType)]| {
        let got = columns(&mut b.session, view);
        for (name, ty) in wanted {
            let found = got.iter().find(|(n, _)| n == name);
            assert_eq!(found.map(|f| f.1), Some(*ty), "{view}.{name}");
        }
        got.len()
    };
    let n = expect(
        &mut b,
        "fn_dblog(null, null)",
        &[
            ("Current LSN", nvarchar(23)),
            ("Operation", nvarchar(31)),
            ("Slot ID", Int),
            ("AllocUnitName", nvarchar(387)),
        ],
    );
    assert_eq!(n, 130);
    let n = expect(
        &mut b,
        "sys.dm_os_waiting_tasks",
        &[
            ("session_id", SmallInt),
            ("wait_duration_ms", BigInt),
            ("wait_type", nvarchar(60)),
            ("blocking_session_id", SmallInt),
        ],
    );
    assert_eq!(n, 10);
    assert_eq!(
        expect(
            &mut b,
            "sys.dm_exec_requests",
            &[("wait_resource", nvarchar(256)), ("transaction_id", BigInt)]
        ),
        61
    );
    assert_eq!(
        expect(
            &mut b,
            "sys.dm_exec_sessions",
            &[("program_name", nvarchar(128)), ("row_count", BigInt)]
        ),
        50
    );
    assert_eq!(expect(&mut b, "sys.dm_exec_connections", &[("session_id", Int)]), 22);
    assert_eq!(
        expect(&mut b, "sys.dm_tran_active_transactions", &[("transaction_id", BigInt)]),
        12
    );
    assert_eq!(expect(&mut b, "sys.dm_tran_session_transactions", &[("session_id", Int)]), 9);
}

/// Value of a counter of the database or, without one, of the instance.
fn counter(b: &mut Bench, name: &str, instance: &str) -> i64 {
    let sql = format!(
        "select cntr_value from sys.dm_os_performance_counters where counter_name = '{name}' and instance_name = '{instance}'"
    );
    number(&mut b.session, &sql)
}

#[test]
fn performance_counters_count_what_is_done() {
    let mut b = Bench::new();
    b.run("create table p(a int not null primary key, b char(200) not null)");
    let names = [
        "Log Flushes/sec",
        "Log Bytes Flushed/sec",
        "Log Flush Waits/sec",
        "Write Transactions/sec",
    ];
    let before: Vec<i64> = names.iter().map(|n| counter(&mut b, n, "t")).collect();
    for i in 0..10 {
        b.run(&format!("insert p values ({i}, 'x')"));
    }
    let after: Vec<i64> = names.iter().map(|n| counter(&mut b, n, "t")).collect();
    let grown: Vec<i64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    assert_eq!(
        (grown[0], grown[2], grown[3]),
        (10, 10, 10),
        "one write, one wait, one commit each"
    );
    assert!(grown[1] >= 10 * 512, "{grown:?}");
    let reads = counter(&mut b, "Transactions/sec", "t");
    b.run("select count(*) from p");
    assert!(counter(&mut b, "Transactions/sec", "t") > reads);
    assert_eq!(counter(&mut b, "Write Transactions/sec", "t"), after[3], "a reader does not write");
    // Pages that a checkpoint writes, look-ups of pages that are here, the pool's share.
    let pages = counter(&mut b, "Checkpoint pages/sec", "");
    let truncations = counter(&mut b, "Log Truncations", "t");
    b.run(
        "insert p select 100 + row_number() over (order by (select 1)), 'y' from sys.all_columns",
    );
    b.run("checkpoint");
    assert!(counter(&mut b, "Checkpoint pages/sec", "") > pages);
    let written = counter(&mut b, "Page writes/sec", "");
    assert!(written >= counter(&mut b, "Checkpoint pages/sec", "") - pages);
    b.run("declare @i int = 0 while @i < 2000 begin declare @b char(200) = (select b from p where a = @i % 10) set @i += 1 end");
    let (hits, base) = (
        counter(&mut b, "Buffer cache hit ratio", ""),
        counter(&mut b, "Buffer cache hit ratio base", ""),
    );
    assert!(base > 2000 && hits > base * 9 / 10 && hits <= base, "{hits} of {base}");
    assert!(counter(&mut b, "Database pages", "") > 10);
    assert!(counter(&mut b, "Page life expectancy", "") < 3600);
    // Growth, truncation and shrinking of a small log.
    b.run("create database g on (name = g, filename = 'g.mdf') log on (name = gl, filename = 'g.ldf', size = 1MB, filegrowth = 1MB)");
    b.run("alter database g set recovery simple");
    b.run("use g create table big(a int, b char(8000))");
    let grow = "use g begin tran declare @i int = 0 while @i < 400 begin insert big values (@i, 'x') set @i += 1 end commit";
    b.run(grow);
    assert!(counter(&mut b, "Log Growths", "g") >= 2);
    b.run("checkpoint use g checkpoint");
    assert!(counter(&mut b, "Log Truncations", "g") > 0);
    b.run("use g dbcc shrinkfile(gl, 1) with no_infomsgs use t");
    let shown = b.run("select count(*) from sys.dm_os_performance_counters where counter_name = 'Percent Log Used' and cntr_value between 0 and 100");
    assert_eq!(
        shown.trim(),
        number(&mut b.session, "select count(*) + 1 from sys.databases").to_string()
    );
    let _ = truncations;
    let batches = counter(&mut b, "Batch Requests/sec", "");
    drop(b.instance.session().unwrap());
    b.run("select 1");
    assert!(counter(&mut b, "Batch Requests/sec", "") >= batches + 2);
    b.check(
        "select distinct rtrim(object_name), cntr_type from sys.dm_os_performance_counters where counter_name in ('Buffer cache hit ratio', 'Buffer cache hit ratio base', 'Log Growths', 'Log Flushes/sec') order by 1, 2",
        "SQLServer:Buffer Manager|537003264\nSQLServer:Buffer Manager|1073939712\nSQLServer:Databases|65792\nSQLServer:Databases|272696576",
    );
}

#[test]
fn a_session_that_waits_for_the_log_says_so() {
    let mut b = Bench::new();
    b.run("create table p(a int)");
    let mut other = b.instance.session().unwrap();
    other.use_database("t").unwrap();
    let spid = other.spid();
    let writing = std::thread::spawn(move || {
        other.execute(
            "declare @i int = 0 while @i < 30000 begin insert p values (@i) set @i += 1 end",
            &mut Text::default(),
        );
    });
    let look = format!("select last_wait_type from sys.dm_exec_requests where session_id = {spid}");
    let end = Instant::now() + Duration::from_secs(20);
    let mut seen = String::new();
    while !writing.is_finished() && Instant::now() < end && seen.trim() != "WRITELOG" {
        seen = b.run(&look);
    }
    assert_eq!(seen.trim(), "WRITELOG");
    b.run(&format!("kill {spid}"));
    writing.join().unwrap();
    b.check(
        &format!("select count(*) from sys.dm_os_waiting_tasks where session_id = {spid}"),
        "0",
    );
}

/// Where the files of a volume really lie, with the file system under them; a simulated disk has
/// none.
#[test]
fn volumes_of_files() {
    let dir = std::env::temp_dir().join(format!("ringwood-volumes-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let options = engine::InstanceOptions {
        memory_bytes: Some(16 << 20),
        ..engine::InstanceOptions::new(&dir)
    };
    let instance = engine::Instance::open(options).unwrap();
    let create = r"CREATE DATABASE v ON (NAME = d, FILENAME = 'E:\Data\v.mdf', SIZE = 4MB) LOG ON (NAME = l, FILENAME = 'v.ldf', SIZE = 4MB)";
    assert_eq!(text::say(&instance, create), "");
    let said = text::say(
        &instance,
        "SELECT real_path FROM sys.dm_ringwood_files WHERE database_id = DB_ID('v') ORDER BY file_id",
    );
    let real = dir.canonicalize().unwrap();
    let wanted = [real.join("E/Data/v.mdf"), real.join("v.ldf")].map(|p| p.display().to_string());
    assert_eq!(said.lines().collect::<Vec<_>>(), wanted);
    let said = text::say(
        &instance,
        "SELECT COUNT(*), MIN(file_id), SUM(CASE WHEN total_bytes >= available_bytes AND available_bytes > 0 THEN 1 END)
         FROM sys.dm_os_volume_stats(DB_ID('v'), NULL)",
    );
    assert_eq!(said, "2|1|2");
    let said = text::say(
        &instance,
        "SELECT volume_mount_point FROM sys.dm_os_volume_stats(DB_ID('v'), 1)",
    );
    assert!(real.starts_with(&said), "{said}");
    instance.close().unwrap();
    drop(instance);
    std::fs::remove_dir_all(&dir).unwrap();
}
