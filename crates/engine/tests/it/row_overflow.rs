//! Rows whose values do not fit: the largest go outside and come back, whatever reads or moves the
//! rows finds them, older snapshots find the older ones, and every page is accounted for.

use crate::support::text::{self, Bench};
use std::time::{Duration, Instant};

/// Pages in use of values outside the rows of table t: one is the unit's own, once it has any.
fn used(b: &mut Bench) -> u64 {
    let text = b.run(
        "select a.used_pages from sys.allocation_units a join sys.partitions p \
         on a.container_id = p.partition_id where a.type = 3 and p.object_id = object_id('t')",
    );
    text.trim().parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Waits until the background work has brought the pages in use to a number.
#[track_caller]
fn comes_to(b: &mut Bench, pages: u64) {
    let end = Instant::now() + Duration::from_secs(20);
    while used(b) != pages {
        assert!(Instant::now() < end, "{} pages are in use", used(b));
        std::thread::sleep(Duration::from_millis(10));
    }
    b.check("dbcc checkdb with no_infomsgs", "");
}

const KEYS: [&str; 3] = ["primary key", "", "primary key nonclustered"];

/// Five rows of 10,500 bytes and more: of each, column b is outside.
fn filled(key: &str) -> Bench {
    let mut b = Bench::of_short_pace();
    b.check(
        &format!(
            "alter database t set recovery simple; \
             create table t(id int not null {key}, n int not null, a varchar(8000), b nvarchar(4000), c varbinary(8000)) \
             insert t select v, 0, replicate(char(64 + v), 3000), replicate(N'ü', 2000 + v), \
             cast(replicate('c', 3500) as varbinary(8000)) from (values(1),(2),(3),(4),(5)) as x(v)"
        ),
        "(5)",
    );
    b
}

const SUMS: &str =
    "select count(*), sum(n), sum(len(a)), sum(len(b)), sum(datalength(c)), min(b), max(a) from t";

#[test]
fn the_largest_leave_and_come_back() {
    for key in KEYS {
        let b = &mut filled(key);
        comes_to(b, 6);
        b.check(
            "select id, n, len(a), len(b), datalength(c), left(a, 1), right(b, 1) from t where b like N'%ü' order by id",
            "1|0|3000|2001|3500|A|ü\n2|0|3000|2002|3500|B|ü\n3|0|3000|2003|3500|C|ü\n4|0|3000|2004|3500|D|ü\n5|0|3000|2005|3500|E|ü",
        );
        // Fixed and other columns: what is outside stays.
        b.check(
            "update t set n = id; update t set a = replicate('z', 2900) where id < 3",
            "(5)\n(2)",
        );
        assert_eq!(used(b), 6, "values were copied");
        // There is room again in two rows.
        b.check("update t set c = 0x01 where id in (2, 4)", "(2)");
        comes_to(b, 4);
        b.check("select sum(len(b)), sum(n) from t", "10015|15");
        // They leave again, now another one.
        b.check("update t set a = replicate('y', 8000) where id in (2, 4)", "(2)");
        comes_to(b, 6);
        b.check(
            "select id, len(a), len(b), left(a, 1) from t where id in (2, 4) order by id",
            "2|8000|2002|y\n4|8000|2004|y",
        );
        b.check("update t set a = null, b = N'' where id = 3 delete t where id = 5", "(1)\n(1)");
        comes_to(b, 4);
        b.check("delete t", "(4)");
        comes_to(b, 1);
    }
}

#[test]
fn repeated_changes_use_bounded_space() {
    for key in KEYS {
        let b = &mut filled(key);
        for round in 0..30u8 {
            let letter = char::from(b'A' + round % 26);
            b.check(
                &format!("update t set a = replicate('{letter}', 2000 + {round} * 200)"),
                "(5)",
            );
            b.check(
                "delete t where id = 3 insert t select 3, 0, a, b, c from t where id = 4",
                "(1)\n(1)",
            );
        }
        // With 7,800 bytes column a is outside and the others have room, b too, which was outside
        // when a was shorter.
        comes_to(b, 6);
        b.check("truncate table t", "");
        comes_to(b, 0);
    }
}

#[test]
fn a_key_stays_in_its_row() {
    let b = &mut Bench::of_short_pace();
    b.check(
        "create table t(a varchar(1500) not null primary key, b varchar(8000), c varchar(8000)) \
         insert t values (replicate('k', 1400), replicate('b', 6000), 'c'), (replicate('l', 1400), replicate('b', 8000), replicate('c', 8000))",
        "(2)",
    );
    // The first row has fewer than 8,060 bytes, and no room beside its key in a leaf; of the second
    // both values leave.
    comes_to(b, 4);
    b.check(
        "select len(a), len(b), len(c), left(a, 1) from t order by a",
        "1400|6000|1|k\n1400|8000|8000|l",
    );
    b.check(
        "update t set a = replicate('m', 1500) where a like 'k%' select min(left(a, 1)), max(len(a)) from t",
        "(1)\nl|1500",
    );
    comes_to(b, 4);
    b.run("create table s(a char(8000), b char(40), c varchar(100), d varchar(24))");
    b.fails("insert s values ('a', 'b', replicate('c', 100), null)", 511);
    b.check("insert s values ('a', 'b', 'c', null)", "(1)");
    b.fails("update s set c = replicate('c', 100)", 511);
    b.fails("update s set d = replicate('d', 24)", 511);
    b.check("select c, d from s", "c|NULL");
    // A value of 25 bytes goes where one of 24 does not fit.
    b.run("create table e(a char(8000), b char(26), c varchar(30))");
    b.fails("insert e values ('a', 'b', replicate('c', 24))", 511);
    b.check("insert e values ('a', 'b', replicate('c', 25)) select len(c) from e", "(1)\n25");
    b.check("dbcc checkdb with no_infomsgs", "");
}

#[test]
fn a_rollback_keeps_and_a_savepoint_restores() {
    let b = &mut filled("primary key");
    b.check(
        "begin tran update t set a = 'x', c = null delete t where id = 2 rollback select sum(len(a)), sum(len(b)) from t",
        "(5)\n(1)\n15000|10015",
    );
    b.check(
        "begin tran update t set b = replicate(N'x', 3000) where id = 1 save tran s update t set b = null delete t \
         insert t select v, 1, replicate('q', 8000), replicate(N'q', 4000), null from (values (1), (7)) as x(v) \
         rollback tran s commit select count(*), sum(len(b)) from t",
        "(1)\n(5)\n(5)\n(2)\n5|11014",
    );
    // A statement that fails takes back what it wrote.
    let said = b.run("insert t select id, 0, a, b, c from t where id = 2");
    assert!(said.starts_with("Msg 2627"), "{said}");
    comes_to(b, 6);
}

/// Who reads rows that are being rolled back may come too late for their values outside: that is
/// 601, and no damage.
#[test]
fn dirty_reads_beside_rollbacks() {
    let b = &mut Bench::new();
    b.run("alter database t set recovery simple");
    b.run("create table m(id int primary key, x varchar(max), a varchar(8000), b varchar(8000))");
    b.run("create statistics s on m(b)");
    let instance = b.instance.clone();
    let rolled_back = "use t set nocount on begin tran \
        insert m select value, replicate(cast('x' as varchar(max)), 20000), 'a', 'b' from generate_series(1, 200) \
        insert m select value, null, replicate('a', 8000), replicate('b', 8000) from generate_series(201, 250) rollback";
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..40 {
                text::run(&instance, rolled_back);
            }
        });
        let mut reads = [
            "select sum(len(x)), sum(len(b)) from m with (nolock)",
            "update statistics m s with fullscan",
        ]
        .into_iter()
        .cycle();
        while !writer.is_finished() {
            let said = b.run(reads.next().unwrap());
            assert!(!said.replace("Msg 601:", "").contains("Msg "), "{said}");
        }
    });
    b.check("select count(*) from m dbcc checkdb with no_infomsgs", "0");
}

/// Where rows of a table may have values outside them, those that a condition rejects are not
/// locked either.
#[test]
fn rows_with_all_their_values_are_read_as_those_of_other_tables() {
    for key in KEYS {
        let b = &mut filled(key);
        b.run("update t set n = id");
        b.check("update t set b = N'' where id < 4", "(3)");
        let mut other = b.instance.session().unwrap();
        other.use_database("t").unwrap();
        let mut other = |sql: &str| {
            let mut out = text::Text::default();
            other.execute(sql, &mut out);
            out.out.trim().to_owned()
        };
        assert_eq!(other("begin tran select n from t with (updlock, rowlock) where id = 2"), "2");
        // Rows 1 and 3 have no value outside, row 5 has one.
        b.check(
            "set lock_timeout 0 begin tran select n from t with (updlock) where n in (1, 3) commit",
            "1\n3",
        );
        b.check(
            "begin tran select n, len(b) from t with (readcommittedlock) where n = 3 or n = 5 order by n commit",
            "3|0\n5|2005",
        );
        b.fails("select n from t with (updlock) where n = 2", 1222);
        assert_eq!(other("rollback"), "");
    }
}

#[test]
fn older_snapshots_read_older_values() {
    let b = &mut filled("primary key");
    b.check("alter database t set allow_snapshot_isolation on", "");
    let mut reader = b.instance.session().unwrap();
    reader.use_database("t").unwrap();
    let mut read = |sql: &str| {
        let mut out = text::Text::default();
        reader.execute(sql, &mut out);
        out.out.trim().to_owned()
    };
    assert_eq!(
        read("set transaction isolation level snapshot begin tran select count(*) from t"),
        "5"
    );
    b.check("update t set b = replicate(N'z', 4000), c = null; delete t where id > 3", "(5)\n(2)");
    // The cleanup comes by, and has to leave what the snapshot sees.
    std::thread::sleep(15 * text::SHORT_PACE);
    b.check("insert t select id + 10, 0, replicate('y', 8000), b, c from t", "(3)");
    assert_eq!(
        read(SUMS),
        format!("5|0|15000|10015|17500|{}|{}", "ü".repeat(2001), "E".repeat(3000))
    );
    assert_eq!(
        read("commit select count(*), min(len(b)), max(b) from t"),
        format!("6|4000|{}", "z".repeat(4000))
    );
    // Of the new rows column a is outside.
    comes_to(b, 7);
}

#[test]
fn included_values_that_do_not_fit_are_read_from_the_row() {
    for key in KEYS {
        let b = &mut filled(key);
        b.run("update t set n = id * 10");
        // One index over rows that are there, one that has rows come to it.
        b.check(
            "create index i on t(n) include (a, b, c) create table m(id int not null, n int, x varchar(max))",
            "",
        );
        b.check("create index j on m(n) include (x) insert m values (1, 1, replicate(cast('x' as varchar(max)), 50000)), (2, 2, 'y')", "(2)");
        b.check("select n, len(x) from m with (index(j)) where n > 0 order by n", "1|50000\n2|1");
        b.check(
            "select n, len(a), len(b), datalength(c) from t with (index(i)) where n > 20 order by n",
            "30|3000|2003|3500\n40|3000|2004|3500\n50|3000|2005|3500",
        );
        b.check("select n from t with (index(i)) where b like N'%ü' and len(b) = 2004", "40");
        b.check(
            "update t set b = replicate(N'w', 3900) where n = 40; delete t where n = 30",
            "(1)\n(1)",
        );
        b.check(
            "insert t values (6, 60, replicate('a', 8000), replicate(N'b', 4000), null)",
            "(1)",
        );
        b.check(
            "select n, len(a), len(b), left(b, 1) from t with (index(i)) order by n desc",
            "60|8000|4000|b\n50|3000|2005|ü\n40|3000|3900|w\n20|3000|2002|ü\n10|3000|2001|ü",
        );
        b.check(
            "select count(*), sum(len(b)) from t with (index(i), nolock) where n >= 20",
            "4|11907",
        );
        b.check("dbcc checkdb with no_infomsgs", "");
    }
}

/// An entry that lacks one value of the condition says nothing of the others: the row is asked.
#[test]
fn an_entry_without_a_value_leaves_the_whole_condition_to_its_row() {
    for key in KEYS {
        let b = &mut Bench::new();
        b.check(
            &format!(
                "create table t(id int not null {key}, k int, m int, a varchar(8000), b varchar(8000), c int) \
                 create index i on t(k) include (m, a, b) \
                 insert t values (1, 1, 4, replicate('x', 8000), replicate('x', 8000), 1), \
                 (2, 1, 5, replicate('x', 8000), replicate('x', 8000), 2), (3, 1, 4, 'x', 'x', 3), (4, 1, 5, 'x', 'x', 4), \
                 (5, 1, 5, replicate('y', 8000), replicate('x', 8000), 5), (6, 1, 5, 'y', 'x', 6)"
            ),
            "(6)",
        );
        for hint in ["", ", nolock", ", holdlock", ", readcommittedlock", ", updlock"] {
            for condition in
                ["m = 5 and a like 'x%'", "a like 'x%' and m = 5", "m = 5 and a + b like 'x%'"]
            {
                let rows = format!("from t with (index(i){hint}) where k = 1 and {condition}");
                b.check(&format!("select id, c {rows} order by id"), "2|2\n4|4");
                b.check(&format!("select top (9) id, c {rows} order by k, id"), "2|2\n4|4");
            }
        }
    }
}

#[test]
fn rows_that_are_copied_and_rebuilt_keep_their_values() {
    for key in KEYS {
        let b = &mut filled(key);
        let sums = b.run(SUMS);
        b.check(&format!("create table u(id int not null {key}, n int not null, a varchar(8000), b nvarchar(4000), c varbinary(8000))"), "");
        b.check("insert u select * from t", "(5)");
        b.check("select id, n, a, b, c from t except select id, n, a, b, c from u", "");
        b.run("select * into w from t");
        b.check("select count(*), sum(len(b)) from w", "5|10015");
        b.check("delete t", "(5)");
        comes_to(b, 1);
        b.check("insert t select * from u", "(5)");
        comes_to(b, 6);
        for change in [
            "alter table t rebuild",
            "alter table t add d varchar(4000) null",
            "alter table t alter column a varchar(7000) null",
            "update t set d = replicate('d', 4000) alter table t drop column d",
            "create index by_a on t(n) include (a)",
            "alter index all on t rebuild",
            "drop index by_a on t",
            "create statistics s on t(b)",
            "update statistics t with fullscan",
            "drop statistics t.s",
        ] {
            let said = b.run(change);
            assert!(!said.contains("Msg "), "{change}: {said}");
            assert_eq!(b.run(SUMS), sums, "{change}");
            comes_to(b, 6);
        }
        b.check("create table s(id int not null, n int not null, a varchar(7000), b nvarchar(4000), c varbinary(8000))", "");
        if key.is_empty() {
            b.check("alter table t switch to s select count(*), sum(len(b)) from s", "5|10015");
            b.check("dbcc checkdb with no_infomsgs", "");
            b.check("alter table s switch to t", "");
            b.check("create clustered index k on t(n, id)", "");
            assert_eq!(b.run(SUMS), sums);
            comes_to(b, 6);
            b.check("drop index k on t", "");
        }
        assert_eq!(b.run(SUMS), sums);
        comes_to(b, 6);
    }
}

/// Rows that may not fit with all their values outside are warned of; those that always fit then
/// are not.
#[test]
fn a_table_of_rows_that_may_be_too_long_is_warned_of() {
    let b = &mut Bench::new();
    let warning = |name: &str| {
        format!(
            "Warning: The table \"{name}\" has been created, but its maximum row size exceeds the allowed maximum of 8060 bytes. \
             INSERT or UPDATE to this table will fail if the resulting row exceeds the size limit."
        )
    };
    // 7 bytes of each row, 2 of the number of variable columns, 2 for the end of each, and 24 of
    // its value.
    b.check("create table a(x char(8000), y char(25), z varchar(100))", "");
    b.check("create table b(x char(8000), y char(26), z varchar(100))", &warning("b"));
    b.check("create table #c(x char(8000), y char(26), z varchar(max))", &warning("#c"));
    b.check("create table d(x char(8000), y char(53))", "");
    b.check(
        "create table e(x varchar(8000), y nvarchar(4000), z sql_variant, v varchar(8000))",
        "",
    );
    let columns = (0..400).map(|n| format!("c{n} nvarchar(100)")).collect::<Vec<_>>().join(", ");
    b.check(&format!("create table dbo.f({columns})"), &warning("f"));
    b.check("create table g(k varchar(900) primary key, x char(7200))", &warning("g"));
}

/// A table that needs no room outside gets it when a change of its columns asks for it.
#[test]
fn a_wider_column_brings_the_unit() {
    let b = &mut Bench::new();
    let units = "select count(*) from sys.allocation_units where type_desc = 'ROW_OVERFLOW_DATA'";
    b.check(
        &format!("create table t(id int primary key, a varchar(4000), b varchar(4000)) {units}"),
        "0",
    );
    b.check(&format!("alter table t alter column b varchar(8000) {units}"), "1");
    b.check(
        "insert t values (1, replicate('a', 4000), replicate('b', 8000)) select len(b) from t",
        "(1)\n8000",
    );
    b.check(
        &format!(
            "create table u(id int primary key, a varchar(8000)) alter table u add b nvarchar(40) {units}"
        ),
        "2",
    );
    b.check(
        "insert u values (1, replicate('a', 8000), replicate(N'b', 40)) select len(a), len(b) from u",
        "(1)\n8000|40",
    );
    b.check(&format!("drop table u {units}"), "1");
    b.check("dbcc checkdb with no_infomsgs", "");
}

#[test]
fn temporary_tables_and_what_follows_a_change_have_the_values() {
    let b = &mut filled("primary key");
    b.check(
        "declare @t table (id int primary key, a varchar(8000), b varchar(8000)) \
         insert @t values (1, replicate('a', 8000), replicate('b', 8000)) update @t set a = replicate('c', 7000) \
         select len(a), len(b), left(a, 1) from @t \
         create table #t (a varchar(8000), b varchar(8000), c sql_variant) \
         insert #t values (replicate('a', 8000), replicate('b', 8000), replicate(cast('v' as varchar(8000)), 7000)) \
         select len(a), len(b), len(cast(c as varchar(8000))) from #t",
        "(1)\n(1)\n7000|8000|c\n(1)\n8000|8000|7000",
    );
    b.run("create table seen(was varchar(8000), [is] nvarchar(4000), part varchar(8000))");
    b.run("create trigger g on t for update as set nocount on insert seen select d.a, i.b, i.a from deleted d join inserted i on i.id = d.id");
    b.check(
        "update t set b = replicate(N'n', 4000) where id = 1 select len(was), len([is]), len(part) from seen",
        "(1)\n3000|4000|3000",
    );
    b.run("drop trigger g");
    b.check(
        "merge t using (values (2), (9)) as s(id) on s.id = t.id \
         when matched then update set a = replicate('m', 8000) \
         when not matched then insert (id, n, a, b, c) values (s.id, 1, replicate('m', 8000), replicate(N'm', 4000), null); \
         select id, len(a), len(b) from t where id in (2, 9) order by id",
        "(2)\n2|8000|2002\n9|8000|4000",
    );
    b.check(
        "declare c cursor for select id from t where id = 9 for update open c fetch c \
         update t set a = 'short' where current of c select len(a), len(b) from t where id = 9 close c deallocate c",
        "9\n(1)\n5|4000",
    );
    b.check("select n, count(*) from t where b = replicate(N'm', 4000) group by n", "1|1");
    b.check("select max(len(x.b)) from t x join t y on x.b = y.b and x.a = y.a", "4000");
    b.check(
        "update t set a = b + cast(n as varchar(10)) where id = 3 select right(a, 2) from t where id = 3",
        "(1)\nü0",
    );
    b.check("dbcc checkdb with no_infomsgs", "");
}

#[test]
fn views_tell_of_the_unit() {
    let b = &mut filled("");
    b.check(
        "select type_desc from sys.allocation_units a join sys.partitions p on a.container_id = p.partition_id \
         where p.object_id = object_id('t') order by type",
        "IN_ROW_DATA\nROW_OVERFLOW_DATA",
    );
    b.check(
        "select row_overflow_used_page_count, lob_used_page_count from sys.dm_db_partition_stats where object_id = object_id('t')",
        "6|0",
    );
    b.check(
        "select alloc_unit_type_desc, page_count from sys.dm_db_index_physical_stats(db_id(), object_id('t'), null, null, 'DETAILED') \
         where alloc_unit_type_desc <> 'IN_ROW_DATA'",
        "ROW_OVERFLOW_DATA|5",
    );
}

#[test]
fn backups_have_the_values() {
    let b = &mut filled("primary key");
    let sums = b.run(SUMS);
    assert!(!b.run("backup database t to disk = 't.bak'").contains("Msg "));
    b.check("update t set b = N'', a = replicate('x', 8000); delete t where id = 1", "(5)\n(1)");
    let said = b.run("use master restore database t from disk = 't.bak' with replace use t");
    assert!(!said.contains("Msg "), "{said}");
    assert_eq!(b.run(SUMS), sums);
    b.check("dbcc checkdb with no_infomsgs", "");
}

/// Also where nobody has read one of them since the start.
#[test]
fn an_emptied_file_takes_the_values_along() {
    for restarts in [false, true] {
        let mut b = Bench::new();
        for sql in [
            "create database f on (name = f1, filename = 'f1.mdf', size = 4MB), \
             filegroup fg (name = g1, filename = 'g1.ndf', size = 2MB, filegrowth = 1MB) log on (name = l, filename = 'l.ldf', size = 2MB)",
            "use f create table t(id int primary key, n int, a varchar(8000), b nvarchar(4000), c varbinary(8000)) on fg",
            "insert t select value, 0, replicate('a', 3000), replicate(N'b', 2000 + value), null from generate_series(1, 20)",
            "update t set c = cast(replicate('c', 5000) as varbinary(8000)) where id % 2 = 0",
            "alter database f add file (name = g2, filename = 'g2.ndf', size = 2MB, filegrowth = 1MB) to filegroup fg",
        ] {
            let said = b.run(sql);
            assert!(!said.contains("Msg "), "{sql}: {said}");
        }
        let sums = b.run(SUMS);
        if restarts {
            b = b.restart();
            b.run("use f");
        }
        for sql in
            ["dbcc shrinkfile (g1, emptyfile) with no_infomsgs", "alter database f remove file g1"]
        {
            let said = b.run(sql);
            assert!(!said.contains("Msg "), "{sql}: {said}");
        }
        assert_eq!(b.run(SUMS), sums);
        b.check("dbcc checkdb with no_infomsgs", "");
    }
}

#[test]
fn files_are_loaded_with_the_values() {
    let b = &mut Bench::new();
    b.check(
        "create table t(id int, n int, a varchar(8000), b nvarchar(4000), c varbinary(8000))",
        "",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.txt");
    let row = |id: usize| {
        format!(
            "{id}\t0\t{}\t{}\t{}\n",
            "a".repeat(4000 + id),
            "b".repeat(2000),
            "0C".repeat(id * 30)
        )
    };
    std::fs::write(&path, (1..=40).map(row).collect::<String>()).unwrap();
    b.check(&format!("bulk insert t from '{}'", path.display()), "(40)");
    b.check("select sum(len(a)), sum(len(b)), sum(datalength(c)) from t", "160820|80000|24600");
    // 15 bytes of columns, 8 of ends, a, 4,000 of b and 30 times the id of c: from the second row
    // on that is too much.
    comes_to(b, 40);
}
