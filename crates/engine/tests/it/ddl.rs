//! Changes of schema: tables, columns, indexes, constraints, schemas, databases; their rollback;
//! what the catalog views say; that a restart finds everything again.

use crate::support::text::{self, Bench, Text, say};
use engine::{Instance, InstanceOptions};
use sim::SimDisk;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn open(disk: &SimDisk) -> Arc<Instance> {
    text::try_open(disk, 64 << 20).expect("the instance opens")
}

#[test]
fn tables_come_and_go() {
    let b = &mut Bench::new();
    b.check(
        "create table d(a int identity(5,5), b varchar(10)) insert d(b) values('a'),('b') select * from d",
        "(2)\n5|a\n10|b",
    );
    b.check("begin tran drop table d rollback select count(*) from d", "2");
    b.check(
        "begin tran truncate table d insert d(b) values('z') select * from d rollback select * from d",
        "(1)\n5|z\n5|a\n10|b",
    );
    b.check("truncate table d insert d(b) values('y') select * from d", "(1)\n5|y");
    b.check(
        "begin tran create table n(a int) insert n values(1) rollback select object_id('n')",
        "(1)\nNULL",
    );
    b.check(
        "create table d(a int)",
        "Msg 2714: There is already an object named 'd' in the database.",
    );
    b.check(
        "drop table nope",
        "Msg 3701: Cannot drop the table 'nope', because it does not exist or you do not have permission.",
    );
    b.check(
        "drop table if exists nope drop table d select count(*) from sys.objects where is_ms_shipped = 0",
        "0",
    );
    b.check("dbcc checkdb with no_infomsgs", "");
}

#[test]
fn indexes_are_built_and_dropped() {
    let b = &mut Bench::new();
    b.check("set nocount on create table d(a int, b varchar(10)) insert d values(1,'x'),(3,'z'),(2,'y')", "");
    b.check(
        "create index ix on d(b) include(a) create unique clustered index cx on d(a desc) select * from d order by a desc",
        "3|z\n2|y\n1|x",
    );
    b.check("select name, type_desc, is_unique from sys.indexes where object_id = object_id('d') order by index_id", "cx|CLUSTERED|1\nix|NONCLUSTERED|0");
    b.check("insert d values(4,'w') select a from d where b = 'w'", "4");
    b.check("create unique index ux on d(b)", "");
    b.check(
        "begin try insert d values(5,'w') end try begin catch print error_number() end catch",
        "2601",
    );
    b.check("drop index cx on d select count(*) from d where b > 'a'", "4");
    b.check("drop index d.ix drop index ux on d select name, type_desc from sys.indexes where object_id = object_id('d')", "NULL|HEAP");
    b.check("insert d values(4,'w') create unique index ux on d(b)", "Msg 1505: The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name 'dbo.d' and the index name 'ux'. The duplicate key value is (w).");
    b.check("begin tran create clustered index c on d(b) rollback select type_desc from sys.indexes where object_id = object_id('d')", "HEAP");
    b.check("alter index all on d rebuild select count(*) from d", "5");
    // As above: what was dropped is freed in the background.
    b.check("waitfor delay '00:00:00.5' dbcc checkdb with no_infomsgs", "");
}

#[test]
fn columns_and_constraints_change() {
    let b = &mut Bench::new();
    b.check(
        "set nocount on create table d(a int not null, b varchar(10)) insert d values(1,'x'),(2,'y')",
        "",
    );
    b.check(
        "alter table d add c int, e varchar(5) not null default 'q' select * from d",
        "1|x|NULL|q\n2|y|NULL|q",
    );
    b.check("alter table d add constraint pk_d primary key(a) alter table d add constraint df_c default 7 for c insert d(a) values(3) select * from d", "1|x|NULL|q\n2|y|NULL|q\n3|NULL|7|q");
    b.check("alter table d drop column a", "Msg 5074: The index 'pk_d' is dependent on column 'a'.\nMsg 4922: ALTER TABLE DROP COLUMN a failed because one or more objects access this column.");
    b.check(
        "alter table d drop constraint df_c alter table d drop column c select * from d",
        "1|x|q\n2|y|q\n3|NULL|q",
    );
    b.check("alter table d alter column b varchar(30) not null", "Msg 515: Cannot insert the value NULL into column 'b', table 't.dbo.d'; column does not allow nulls. INSERT fails.");
    b.check("alter table d add f int not null", "Msg 4901: ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, or the column being added is an identity or timestamp column, or alternatively if none of the previous conditions are satisfied the table must be empty to allow addition of this column. Column 'f' cannot be added to non-empty table 'd' because it does not satisfy these conditions.");
    b.check(
        "alter table d drop constraint pk_d alter table d alter column a bigint select * from d",
        "1|x|q\n2|y|q\n3|NULL|q",
    );
    b.check("dbcc checkdb with no_infomsgs", "");
}

#[test]
fn columns_that_must_have_values_come_to_empty_tables_of_every_kind() {
    let b = &mut Bench::new();
    b.check("create table parent(id int primary key)", "");
    let versioned = "f datetime2 generated always as row start not null, u datetime2 generated always as row end not null,
                     period for system_time (f, u)";
    let kinds = [
        "id int identity primary key",
        "id int identity",
        "v rowversion",
        "c as 1 + 1, a int",
        versioned,
    ];
    for first in kinds {
        b.check(&format!("create table d({first})"), "");
        b.check("alter table d add n int not null, s varchar(5) not null", "");
        b.check("alter table d add p int not null references parent(id)", "");
        b.check("select name from sys.columns where object_id = object_id('d') and is_nullable = 0 and column_id > 1 and name in ('n', 's', 'p')", "n\ns\np");
        b.check("drop table d", "");
    }
    b.check("create table d(id int identity) insert d default values", "(1)");
    b.fails("alter table d add n int not null", 4901);
    b.check(
        "delete d alter table d add n int not null insert d values (4) select * from d",
        "(1)\n(1)\n2|4",
    );
    b.check("create table #d(id int identity) alter table #d add n int not null insert #d values (4) select * from #d", "(1)\n1|4");
    b.fails("alter table #d add m int not null", 4901);
}

#[test]
fn databases_come_and_go() {
    let b = &mut Bench::new();
    b.check(
        "create database t",
        "Msg 1801: Database 't' already exists. Choose a different database name.",
    );
    b.check("create database [x y] on (name = a, filename = 'E:\\d\\a.mdf', size = 4MB), (name = b, filename = 'sub/b.ndf', size = 2MB) log on (name = l, filename = 'F:\\l.ldf', size = 1024KB, filegrowth = 10%)", "");
    b.check("use [x y] select file_id, name, physical_name, size, growth, is_percent_growth from sys.database_files", "Changed database context to 'x y'.\n1|a|E:\\d\\a.mdf|512|8192|0\n2|l|F:\\l.ldf|128|10|1\n3|b|sub/b.ndf|256|8192|0");
    b.check("create database z on (name = a, filename = 'E:\\d\\a.mdf')", "Msg 5170: Cannot create file 'E:\\d\\a.mdf' because it already exists. Change the file path or the file name, and retry the operation.\nMsg 1802: CREATE DATABASE failed. Some file names listed could not be created. Check related errors.");
    b.check("create database z on (name = a, size = 10MB, maxsize = 5MB)", "Msg 5103: MAXSIZE cannot be less than SIZE for file 'a'.\nMsg 1802: CREATE DATABASE failed. Some file names listed could not be created. Check related errors.");
    b.check(
        "drop database [x y]",
        "Msg 3702: Cannot drop database \"x y\" because it is currently in use.",
    );
    b.check(
        "alter database [x y] modify name = w select db_name()",
        "The database name 'w' has been set.\nw",
    );
    b.check(
        "use master drop database w select db_id('w')",
        "Changed database context to 'master'.\nNULL",
    );
    b.check(
        "use w",
        "Msg 911: Database 'w' does not exist. Make sure that the name is entered correctly.",
    );
    b.check(
        "drop database master",
        "Msg 3708: Cannot drop the database 'master' because it is a system database.",
    );
}

#[test]
fn options_are_kept_and_shown() {
    let b = &mut Bench::new();
    let show = "select recovery_model_desc, delayed_durability_desc, compatibility_level, is_read_committed_snapshot_on, target_recovery_time_in_seconds from sys.databases where name = 't'";
    b.check(show, "FULL|DISABLED|160|1|60");
    b.check("alter database t set recovery simple, delayed_durability = allowed alter database t set compatibility_level = 100, read_committed_snapshot off, target_recovery_time = 2 minutes", "");
    b.check(show, "SIMPLE|ALLOWED|100|0|120");
    b.check("alter database t set compatibility_level = 99", "Msg 15048: Valid values of the database compatibility level are 90, 100, 110, 120, 130, 140, 150, or 160.\nMsg 5069: ALTER DATABASE statement failed.");
    b.check("alter database t modify file (name = t_log, size = 1MB)", "Msg 5039: MODIFY FILE failed. Specified size is less than or equal to current size.\nMsg 5069: ALTER DATABASE statement failed.");
    b.check("alter database t modify file (name = t_log, size = 12MB) select size from sys.database_files where file_id = 2", "1536");
}

#[test]
fn the_window_of_delayed_durability_is_an_option() {
    let b = &mut Bench::new();
    let show = "select delayed_durability_desc, delayed_durability_window_ms, delayed_durability_window_kb from sys.databases where name = 't'";
    b.check(show, "DISABLED|10|240");
    b.check("alter database t set delayed_durability = forced (window_ms = 250)", "");
    b.check(show, "FORCED|250|240");
    b.check(
        "alter database t set delayed_durability = allowed (window_kb = 1024, window_ms = 5)",
        "",
    );
    b.check(show, "ALLOWED|5|1024");
    b.check("alter database t set delayed_durability = allowed (window_kb = 3)", "Msg 5005: The window of delayed durability is out of range: WINDOW_MS is 1 to 60000, WINDOW_KB is 4 to 65536.\nMsg 5069: ALTER DATABASE statement failed.");
    b.check(show, "ALLOWED|5|1024");
}

#[test]
fn vlfs_follow_the_compatibility_level() {
    let b = &mut Bench::new();
    let count = "select count(*) from sys.dm_db_log_info(db_id('v'))";
    b.check("create database v on (name = v, size = 4MB) log on (name = v_log, size = 1MB)", "");
    b.check(count, "4");
    b.check("alter database v set compatibility_level = 100 alter database v modify file (name = v_log, size = 2MB) alter database v modify file (name = v_log, size = 3MB)", "");
    b.check(count, "12");
    b.check("alter database v set compatibility_level = 160 alter database v modify file (name = v_log, size = 4MB)", "");
    b.check(count, "13");
    b.check("dbcc shrinkfile('v_log', 1) with no_infomsgs", "Msg 8985: Could not locate file 'v_log' for database 't' in sys.database_files. The file either does not exist, or was dropped.");
    b.check("use v dbcc shrinkfile(v_log, 1) with no_infomsgs select size from sys.database_files where file_id = 2", "Changed database context to 'v'.\n6|2|128|512|128|128\n128");
}

#[test]
fn a_restart_finds_everything_again() {
    let disk = Arc::new(SimDisk::new(3));
    let instance = open(&disk);
    assert_eq!(say(&instance, "create database r"), "");
    assert_eq!(
        say(
            &instance,
            "set nocount on exec('use r') use r exec('create schema s') create table s.t(a int identity primary key, b decimal(12,2) not null default 1.5, c varchar(max)) create index ix on s.t(b desc) insert s.t(c) values('x'),(replicate(cast('y' as varchar(max)), 20000)) alter database r set recovery simple"
        ),
        "Changed database context to 'r'.\nChanged database context to 'r'."
    );
    instance.close().unwrap();
    drop(instance);
    let instance = open(&disk);
    let rows = "use r select a, b, len(c) from s.t";
    assert_eq!(say(&instance, rows), "Changed database context to 'r'.\n1|1.50|1\n2|1.50|20000");
    assert_eq!(
        say(&instance, "use r insert s.t(c) values('n') select max(a), count(*) from s.t where b = 1.5 select name, type from sys.objects where is_ms_shipped = 0 order by type select recovery_model_desc from sys.databases where name = 'r'")
            .lines()
            .filter(|l| !l.contains("__"))
            .collect::<Vec<_>>(),
        ["Changed database context to 'r'.", "(1)", "3|3", "t|U ", "SIMPLE"]
    );
    assert!(instance.check_database("r").unwrap().is_clean());
}

#[test]
fn one_bad_database_does_not_keep_the_others() {
    let disk = Arc::new(SimDisk::new(4));
    let instance = open(&disk);
    assert_eq!(say(&instance, "create database good create database bad"), "");
    instance.close().unwrap();
    drop(instance);
    disk::Disk::remove(&*disk, std::path::Path::new("/data/bad_log.ldf")).unwrap();
    let instance = open(&disk);
    assert_eq!(
        say(
            &instance,
            "select name, state_desc from sys.databases where database_id > 4 order by name"
        ),
        "bad|RECOVERY_PENDING\ngood|ONLINE"
    );
    assert!(say(&instance, "use bad").starts_with("Msg 945"));
    assert!(say(&instance, "select * from bad..x").starts_with("Msg 945"));
    assert_eq!(say(&instance, "drop database bad select db_id('bad')"), "NULL");
}

#[test]
fn an_instance_has_its_folder_alone() {
    let disk = Arc::new(SimDisk::new(5));
    let first = open(&disk);
    let options = InstanceOptions {
        data_dir: "/data".into(),
        memory_bytes: Some(16 << 20),
        disk: disk.clone(),
        ..InstanceOptions::default()
    };
    assert!(Instance::open(options).is_err());
    drop(first);
    open(&disk);
}

#[test]
fn others_wait_for_uncommitted_schema() {
    let b = &mut Bench::new();
    b.check("create table w(a int) insert w values(1)", "(1)");
    b.check("begin tran drop table w", "");
    let instance = b.instance.clone();
    let reader = std::thread::spawn(move || {
        say(&instance, "use t set lock_timeout 10000 select count(*) from w")
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    b.check("rollback", "");
    assert_eq!(reader.join().unwrap(), "Changed database context to 't'.\n1");
    b.check("begin tran alter table w add b int", "");
    let said = say(&b.instance, "use t set lock_timeout 50 select count(*) from w");
    assert!(said.contains("Msg 1222"), "{said}");
    b.check("commit", "");
}

#[test]
fn a_rebuild_keeps_its_constraint() {
    let b = &mut Bench::new();
    b.check("create table r(a int not null primary key, b int) insert r values(1,2),(3,4)", "(2)");
    b.check("alter index all on r rebuild select * from r where a = 3", "3|4");
    b.check(
        "select count(*) from sys.key_constraints where type = 'PK' and parent_object_id = object_id('r')",
        "1",
    );
}

#[test]
fn a_kept_plan_does_not_keep_dirty_reads() {
    let b = &mut Bench::new();
    b.check("create table iso(a int)", "");
    b.check("begin tran insert iso values(1)", "(1)");
    let text = "select count(*) from t..iso";
    let mut dirty = b.instance.session().unwrap();
    let mut out = Text::default();
    dirty.execute("set transaction isolation level read uncommitted", &mut out);
    dirty.execute(text, &mut out);
    assert_eq!(out.out.trim(), "1");
    assert_eq!(say(&b.instance, text), "0");
    b.check("rollback", "");
}

/// Dropped units, discarded values and ghosts go in the background, other sessions change the
/// schema: a check sees a moment between all that.
#[test]
fn a_check_sees_nothing_half_done() {
    let b = &mut Bench::new();
    b.check(
        "create table g(a int primary key, t varchar(max)) alter database t set recovery simple",
        "",
    );
    let instance = b.instance.clone();
    let rounds = Arc::new(AtomicU32::new(0));
    let done = rounds.clone();
    let busy = std::thread::spawn(move || {
        let mut session = instance.session().unwrap();
        session.use_database("t").unwrap();
        while done.load(Ordering::Relaxed) < 8 {
            for sql in [
                "select top 3000 row_number() over (order by (select null)) as n, replicate('x', 200) as t into big \
                 from sys.all_columns a cross join sys.all_columns b",
                "create index ix on big(n) insert g select n, replicate(cast('y' as varchar(max)), 9000) from big where n < 40",
                "begin tran exec('create schema s') create table other(a int) insert other values (1) rollback",
                "drop table big delete g",
            ] {
                let mut out = Text::default();
                session.execute(sql, &mut out);
                assert!(!out.out.contains("Msg"), "{sql}: {}", out.out);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut checks = 0;
    while !busy.is_finished() {
        b.check("dbcc checkdb with no_infomsgs", "");
        checks += 1;
    }
    busy.join().unwrap();
    assert_eq!(rounds.load(Ordering::Relaxed), 8);
    assert!(checks > 8, "{checks} checks");
}

/// An index that a constraint made is rebuilt, and recreated where it stays what the constraint
/// says; the constraint stays.
#[test]
fn indexes_of_constraints_are_rebuilt_and_stay_constraints() {
    let instance = text::try_open(&sim::SimDisk::new(77), 8 << 20).unwrap();
    let say = |sql: &str| text::say(&instance, sql);
    assert_eq!(
        say("CREATE TABLE t (id int NOT NULL, a int NOT NULL, b int, CONSTRAINT pk_t PRIMARY KEY (id), CONSTRAINT uq_t UNIQUE (a));
             SET NOCOUNT ON; INSERT t VALUES (1, 1, 7), (2, 2, 7); CREATE INDEX ix ON t (b)"),
        ""
    );
    let all =
        "SELECT name, type_desc, is_primary_key, is_unique_constraint, fill_factor FROM sys.indexes
               WHERE object_id = OBJECT_ID('t') ORDER BY index_id";
    let before = say(all);
    for statement in [
        "ALTER INDEX pk_t ON t REBUILD",
        "ALTER INDEX uq_t ON t REBUILD",
        "ALTER INDEX ALL ON t REBUILD",
        "ALTER INDEX pk_t ON t REORGANIZE",
        "ALTER TABLE t REBUILD",
        "ALTER TABLE t REBUILD PARTITION = ALL WITH (ONLINE = OFF)",
        "CREATE UNIQUE CLUSTERED INDEX pk_t ON t (id) WITH (DROP_EXISTING = ON)",
        "CREATE UNIQUE INDEX uq_t ON t (a DESC) WITH (DROP_EXISTING = ON)",
        "CREATE INDEX ix ON t (b) INCLUDE (a) WITH (DROP_EXISTING = ON)",
    ] {
        assert_eq!(say(statement), "", "{statement}");
        assert_eq!(say(all), before, "{statement}");
    }
    for (statement, number) in [
        ("CREATE INDEX uq_t ON t (a) WITH (DROP_EXISTING = ON)", "Msg 1907"),
        ("CREATE UNIQUE INDEX uq_t ON t (b) WITH (DROP_EXISTING = ON)", "Msg 1907"),
        ("CREATE UNIQUE INDEX uq_t ON t (a) INCLUDE (b) WITH (DROP_EXISTING = ON)", "Msg 1907"),
        ("CREATE UNIQUE INDEX pk_t ON t (id) WITH (DROP_EXISTING = ON)", "Msg 1925"),
        ("CREATE UNIQUE CLUSTERED INDEX pk_t ON t (a) WITH (DROP_EXISTING = ON)", "Msg 1907"),
        ("CREATE INDEX nosuch ON t (a) WITH (DROP_EXISTING = ON)", "Msg 7999"),
        ("CREATE INDEX uq_t ON t (a)", "Msg 1913"),
        ("DROP INDEX pk_t ON t", "Msg 3723"),
        ("ALTER INDEX nosuch ON t REBUILD", "Msg 2727"),
        ("INSERT t VALUES (2, 9, 9)", "Msg 2627"),
        ("INSERT t VALUES (9, 2, 9)", "Msg 2627"),
    ] {
        let said = say(statement);
        assert!(said.starts_with(number), "{statement}: {said}");
        assert_eq!(say(all), before, "{statement}");
    }
    assert_eq!(say("ALTER INDEX ix ON t REBUILD WITH (FILLFACTOR = 40)"), "");
    assert_eq!(say("SELECT fill_factor FROM sys.indexes WHERE name = 'ix'"), "40");
    assert_eq!(say("ALTER INDEX ALL ON t REBUILD WITH (FILLFACTOR = 70)"), "");
    assert_eq!(
        say(
            "SELECT MIN(fill_factor), MAX(fill_factor) FROM sys.indexes WHERE object_id = OBJECT_ID('t')"
        ),
        "70|70"
    );
    assert_eq!(say("SELECT COUNT(*), SUM(a) FROM t"), "2|3");
    assert!(instance.check_database("master").unwrap().is_clean());
}

#[test]
fn alias_types_stand_for_their_base() {
    let mut b = Bench::new();
    b.check(
        "CREATE TYPE code FROM varchar(5) NOT NULL; EXEC sp_addtype money_amount, 'decimal(9,2)', 'NULL'",
        "",
    );
    b.check("CREATE TABLE a (c code, m money_amount, d code NULL)", "");
    b.check(
        "SELECT c.name, TYPE_NAME(c.system_type_id), c.max_length, c.is_nullable FROM sys.columns AS c WHERE c.object_id = OBJECT_ID('a') ORDER BY column_id",
        "c|varchar|5|0\nm|decimal|5|1\nd|varchar|5|1",
    );
    b.check("DECLARE @c code = 'abcdefgh'; SELECT @c", "abcde");
    b.check(
        "SELECT name, is_user_defined, is_nullable FROM sys.types WHERE is_user_defined = 1 ORDER BY name",
        "code|1|0\nmoney_amount|1|1",
    );
    b = b.restart();
    b.check("CREATE PROCEDURE p @c code AS SELECT @c", "");
    b.check("EXEC p 'abcdefgh'", "abcde");
    b.check(
        "CREATE TYPE code FROM int",
        "Msg 219: The type 'dbo.code' already exists, or you do not have permission to create it.",
    );
    b.check("DROP PROCEDURE p; DROP TABLE a", "");
    b.check("DROP TYPE code; DROP TYPE IF EXISTS code; EXEC sp_droptype money_amount", "");
    assert!(b.run("DECLARE @c code").starts_with("Msg 2715: "));
    assert!(b.run("CREATE TABLE z (c money_amount)").starts_with("Msg 2715: "));
    b.check("BEGIN TRAN; CREATE TYPE t FROM int; ROLLBACK", "");
    assert!(b.run("CREATE TABLE z (c t)").starts_with("Msg 2715: "));
}

/// The types of columns by the names that they were declared with.
const DECLARED: &str = "SELECT c.name, t.name, c.system_type_id, t.is_user_defined FROM sys.columns c JOIN sys.types t \
                        ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('a') ORDER BY c.column_id";

#[test]
fn columns_keep_their_alias_types() {
    let mut b = Bench::new();
    b.check("EXEC ('CREATE SCHEMA s'); CREATE TYPE s.code FROM varchar(5) NOT NULL; CREATE TYPE amount FROM decimal(9,2)", "");
    b.check("CREATE TABLE a (id int PRIMARY KEY, c s.code, m amount, n sysname, v varchar(5))", "");
    let declared = "id|int|56|0\nc|code|167|1\nm|amount|106|1\nn|sysname|231|0\nv|varchar|167|0";
    b.check(DECLARED, declared);
    b = b.restart();
    b.check(DECLARED, declared);
    b.check(
        "SELECT OBJECT_NAME(object_id), column_id, TYPE_NAME(user_type_id) FROM sys.column_type_usages ORDER BY column_id",
        "a|2|code\na|3|amount",
    );
    b.check(
        "SELECT * FROM INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE ORDER BY COLUMN_NAME",
        "t|s|code|t|dbo|a|c\nt|dbo|amount|t|dbo|a|m",
    );
    b.check(
        "SELECT COLUMN_NAME, DATA_TYPE, DOMAIN_CATALOG, DOMAIN_SCHEMA, DOMAIN_NAME FROM INFORMATION_SCHEMA.COLUMNS \
         WHERE TABLE_NAME = 'a' ORDER BY ORDINAL_POSITION",
        "id|int|NULL|NULL|NULL\nc|varchar|t|s|code\nm|decimal|t|dbo|amount\nn|nvarchar|NULL|NULL|NULL\nv|varchar|NULL|NULL|NULL",
    );
    b.check(
        "SET NOCOUNT ON; DECLARE @t TABLE (q sysname, o sysname, t sysname, c sysname, dt int, ty sysname, p int, l int, s int, r int, n int, re \
         varchar(9), d varchar(99), sd int, su int, ol int, op int, i varchar(9), ss int); INSERT @t EXEC sp_columns 'a'; SELECT c, dt, ty FROM @t",
        "id|4|int\nc|12|code\nm|3|amount\nn|-9|sysname\nv|12|varchar",
    );
    b.check("SELECT name, xtype, xusertype FROM syscolumns WHERE id = OBJECT_ID('a') AND colid < 4 ORDER BY colid; SELECT name, xusertype, usertype FROM systypes WHERE name = 'code'", "id|56|56\nc|167|257\nm|106|258\ncode|257|257");
    // Renamed, in another schema, changed and added.
    b.check(
        "EXEC sp_rename 'amount', 'money_amount', 'USERDATATYPE'; ALTER SCHEMA dbo TRANSFER TYPE::s.code",
        "Caution: Changing any part of an object name could break scripts and stored procedures.",
    );
    b.check("ALTER TABLE a ALTER COLUMN c varchar(5) NOT NULL; ALTER TABLE a ALTER COLUMN v code NULL; ALTER TABLE a ADD x code NULL", "");
    let declared = "id|int|56|0\nc|varchar|167|0\nm|money_amount|106|1\nn|sysname|231|0\nv|code|167|1\nx|code|167|1";
    b.check(DECLARED, declared);
    b.check(&format!("BEGIN TRAN; ALTER TABLE a DROP COLUMN x; ALTER TABLE a ALTER COLUMN m decimal(9,2); ROLLBACK; {DECLARED}"), declared);
    // What has its rows in tempdb keeps none: its types are in another database.
    b.check(
        "CREATE TABLE #a (c code); SELECT user_type_id FROM tempdb.sys.columns WHERE object_id = OBJECT_ID('tempdb..#a')",
        "167",
    );
    b.check("ALTER TABLE a DROP COLUMN x; DROP TABLE #a; CHECKPOINT", "");
    assert!(b.instance.check_database("t").unwrap().is_clean());
}

#[test]
fn alias_types_in_use_stay() {
    let mut b = Bench::new();
    let refused = |by: &str| {
        format!(
            "Msg 3732: Cannot drop type 'dbo.code' because it is being referenced by object '{by}'. There may be other objects that \
             reference this type."
        )
    };
    b.check("CREATE TYPE code FROM varchar(5); CREATE TABLE a (c code)", "");
    b.check("DROP TYPE code", &refused("a"));
    b.check("EXEC sp_droptype 'code'", &refused("a"));
    b.check("DROP TABLE a; EXEC ('CREATE PROCEDURE p @n int, @c code OUTPUT AS SELECT 1')", "");
    b.check("DROP TYPE code", &refused("p"));
    b.check("EXEC ('CREATE FUNCTION f (@n int) RETURNS code AS BEGIN RETURN 1 END')", "");
    let parameters = "SELECT OBJECT_NAME(object_id), parameter_id, TYPE_NAME(user_type_id) FROM sys.parameter_type_usages ORDER BY 1";
    b.check(parameters, "f|0|code\np|2|code");
    b.check("DROP PROCEDURE p", "");
    b.check("DROP TYPE code", &refused("f"));
    b.check("DROP FUNCTION f; CREATE TYPE codes AS TABLE (c code)", "");
    b.check("SELECT TYPE_NAME(user_type_id) FROM sys.columns WHERE user_type_id > 256", "code");
    b.check("DROP TYPE code", &refused("codes"));
    b.check("EXEC ('CREATE FUNCTION g (@c codes READONLY) RETURNS int AS BEGIN RETURN 1 END')", "");
    assert!(b.run("DROP TYPE codes").starts_with("Msg 3732: "));
    b.check("DROP FUNCTION g; DROP TYPE codes; DROP TYPE code; SELECT TYPE_ID('code')", "NULL");
}

/// A type stays while a transaction that has made a column of it may still commit.
#[test]
fn types_of_columns_that_are_being_made_stay() {
    let mut b = Bench::new();
    b.check("CREATE TYPE code FROM varchar(5)", "");
    b.check("BEGIN TRAN; CREATE TABLE a (c code)", "");
    let dropped = say(&b.instance, "USE t; SET LOCK_TIMEOUT 0; DROP TYPE code");
    assert!(dropped.contains("Msg 1222"), "{dropped}");
    b.check("COMMIT", "");
    let dropped = say(&b.instance, "USE t; DROP TYPE code");
    assert!(dropped.contains("Msg 3732"), "{dropped}");
}

#[test]
fn columns_are_named_by_their_temporary_table() {
    let mut b = Bench::new();
    b.check("SET NOCOUNT ON; CREATE TABLE #x (a int); CREATE TABLE t (a int, b int); INSERT #x VALUES (1), (2); INSERT t VALUES (1, 0), (3, 0)", "");
    for (sql, rows) in [
        ("SELECT t.a FROM t JOIN #x ON t.a = #x.a", "1"),
        ("SELECT #X.a FROM #x ORDER BY #x.a", "1\n2"),
        ("SELECT #x.* FROM t, #x WHERE t.a = #x.a", "1"),
        ("SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM #x WHERE t.a = #x.a)", "3"),
        ("SELECT #x.a, COUNT(*) FROM tempdb..#x GROUP BY #x.a ORDER BY 1", "1|1\n2|1"),
        ("SELECT tempdb..#x.a FROM tempdb..#x WHERE #x.a = 2", "2"),
        (
            "UPDATE t SET b = #x.a + 5 FROM t JOIN #x ON t.a = #x.a; SELECT a, b FROM t ORDER BY a",
            "1|6\n3|0",
        ),
        ("UPDATE #x SET a = #x.a + 10 WHERE #x.a = 2; SELECT MAX(a) FROM #x", "12"),
        // In a new database the two tables have the same object_id.
        (
            "UPDATE #x SET a = #x.a + t.b FROM t WHERE t.a = #x.a; SELECT a FROM #x ORDER BY a",
            "7\n12",
        ),
        (
            "DELETE #x FROM t WHERE t.b = #x.a - 1; SELECT a FROM #x; SELECT COUNT(*) FROM t",
            "12\n2",
        ),
        ("DELETE FROM #x WHERE #x.a = 12; SELECT COUNT(*) FROM #x", "0"),
    ] {
        b.check(sql, rows);
    }
    assert!(b.run("SELECT #x.a FROM #x AS y").starts_with("Msg 4104: "));
}

/// A table with many columns and constraints.
fn wide() -> String {
    let columns: Vec<String> = (0..300)
        .map(|n| match n % 10 {
            0 => format!("c{n} int CONSTRAINT d{n} DEFAULT {n} CONSTRAINT k{n} CHECK (c{n} < 999)"),
            _ => format!("c{n} int"),
        })
        .collect();
    format!("CREATE TABLE w (id int CONSTRAINT pk PRIMARY KEY, {})", columns.join(", "))
}

/// What a change of a definition writes, and a rollback has to undo, is what changes.
#[test]
fn a_change_writes_what_it_changes() {
    let b = &mut Bench::new();
    b.check("CREATE TABLE n (id int)", "");
    b.check(&wide(), "");
    for change in [
        "ALTER TABLE {t} ADD x int NULL",
        "ALTER TABLE {t} ADD CONSTRAINT {t}_x CHECK (id > 0)",
        "ALTER TABLE {t} ADD y int CONSTRAINT {t}_y DEFAULT 4",
        "CREATE INDEX {t}_i ON {t} (id)",
    ] {
        let mut records = |table: &str| -> i64 {
            let change = change.replace("{t}", table);
            b.check(&format!("BEGIN TRAN; {change}"), "");
            let said = b.run(
                "SELECT SUM(database_transaction_log_record_count)
                 FROM sys.dm_tran_database_transactions WHERE database_id = DB_ID(); ROLLBACK",
            );
            said.trim().parse().unwrap_or_else(|_| panic!("{change}: {said}"))
        };
        let (narrow, wide) = (records("n"), records("w"));
        assert!(wide <= narrow + 20, "{change}: {narrow} and {wide} records");
    }
}

#[test]
fn changed_definitions_are_whole_after_power_loss() {
    let disk = SimDisk::new(11);
    {
        let instance = open(&disk);
        text::run(&instance, "CREATE DATABASE d");
        text::run(&instance, &format!("USE d; {}; INSERT w (id) VALUES (1)", wide()));
        instance.close().unwrap();
    }
    let changes = "USE d; BEGIN TRAN;
         ALTER TABLE w ADD x int NOT NULL CONSTRAINT dx DEFAULT 7;
         ALTER TABLE w DROP CONSTRAINT k10;
         ALTER TABLE w DROP COLUMN c11;
         EXEC ('UPDATE w SET c12 = x');
         COMMIT";
    let sums = "USE d; SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('w');
         SELECT COUNT(*) FROM sys.objects WHERE parent_object_id = OBJECT_ID('w');
         SELECT c0, c10, c12 FROM w";
    text::power_loss(&disk, open, changes, 60, |instance, _, at| {
        let said = say(instance, sums);
        let expected = ["301\n61\n0|10|NULL", "301\n61\n0|10|7"];
        assert!(expected.iter().any(|rows| said.ends_with(rows)), "at {at}: {said}");
        assert_eq!(say(instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "at {at}");
        let fresh = said.ends_with('7');
        let x = say(
            instance,
            "USE d; INSERT w (id, c10) VALUES (2, 1000); SELECT COL_LENGTH('w', 'x')",
        );
        assert_eq!(x.contains("Msg 547"), !fresh, "at {at}: {x}");
        assert!(x.ends_with(if fresh { "4" } else { "NULL" }), "at {at}: {x}");
    });
}
