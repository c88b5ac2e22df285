//! The units of values that do not fit their rows: listed from the beginning, made when the first
//! value comes, whatever becomes of the transaction that wrote it, and gone with their tables.

use crate::support::text::{Bench, Text};

const LONG: &str = "replicate('a', 8000), replicate('b', 8000)";

/// The unit is listed from the beginning, and takes its first extent when the first value comes.
#[test]
fn a_table_without_such_values_takes_no_space_for_them() {
    let b = &mut Bench::new();
    let units =
        "select total_pages, used_pages, data_pages from sys.allocation_units where type = 3";
    for (table, database) in [("t", "t"), ("#t", "tempdb")] {
        b.check(
            &format!("create table {table}(id int primary key, a varchar(8000), b varchar(8000))"),
            "",
        );
        let pages = |b: &mut Bench| {
            b.run(&units.replace("sys", &format!("{database}.sys"))).trim().to_owned()
        };
        assert_eq!(pages(b), "0|0|0", "{table}");
        b.check(
            &format!("insert {table} values (1, 'a', 'b') update {table} set a = 'c'"),
            "(1)\n(1)",
        );
        assert_eq!(pages(b), "0|0|0", "{table}");
        // A rollback takes the value back, not the unit.
        b.check(&format!("begin tran insert {table} values (2, {LONG}) rollback"), "(1)");
        assert_eq!(pages(b), "8|1|0", "{table}");
        b.check(
            &format!("insert {table} values (2, {LONG}) select sum(len(b)) from {table}"),
            "(1)\n8001",
        );
        assert_eq!(pages(b), "8|2|1", "{table}");
    }
    b.check("drop table t drop table #t dbcc checkdb with no_infomsgs", "");
    // A hundred tables take the space of their rows.
    let many = |columns: &str| {
        let b = &mut Bench::new();
        for i in 0..100 {
            b.check(&format!("create table t{i} ({columns}) insert t{i} values ('a', 'b')"), "(1)");
        }
        let used = "select sum(total_pages) from sys.allocation_units";
        b.run(used).trim().parse::<u64>().unwrap()
    };
    assert_eq!(many("a varchar(8000), b varchar(8000)"), many("a varchar(80), b varchar(80)"));
}

/// The first value may come in the transaction that makes the table, or gives it another unit; a
/// rollback leaves nothing of that, and everything of what was before.
#[test]
fn the_first_value_in_a_transaction_that_changes_the_table() {
    let b = &mut Bench::new();
    let create = "create table t(id int not null, a varchar(8000), b varchar(8000))";
    let insert = |id: u8| format!("insert t (id, a, b) values ({id}, {LONG})");
    for (before, said, rows) in [(String::new(), "", "0|NULL"), (insert(1), "(1)", "1|8000")] {
        b.check(&format!("begin tran {create} {} rollback", insert(1)), "(1)");
        b.check("dbcc checkdb with no_infomsgs", "");
        b.check(&format!("{create} {before}"), said);
        for change in [
            "truncate table t",
            "alter table t add constraint pk primary key nonclustered (id)",
            "alter table t add d varchar(8000)",
            "alter table t alter column a varchar(8000) not null",
            "create clustered index c on t(id)",
        ] {
            b.check(&format!("begin tran {change} {} rollback", insert(2)), "(1)");
            b.check("select count(*), sum(len(a)) from t", rows);
            b.check("dbcc checkdb with no_infomsgs", "");
        }
        b.check(&format!("begin tran truncate table t {} commit", insert(2)), "(1)");
        b.check("select count(*), sum(len(b)), max(id) from t", "1|8000|2");
        b.check("dbcc checkdb with no_infomsgs", "");
        b.check("drop table t", "");
    }
    // A savepoint too.
    let (first, second) = (insert(1), insert(2));
    b.check(
        &format!("begin tran {create} save tran s {first} rollback tran s {second} commit"),
        "(1)\n(1)",
    );
    b.check("select id, len(a) from t dbcc checkdb with no_infomsgs", "2|8000");
}

/// Many sessions write the first value at once: they share the unit, whoever of them rolls back.
#[test]
fn the_first_values_of_many_sessions() {
    for round in 0..5 {
        let b = &mut Bench::new();
        b.check("create table t(id int primary key, a varchar(8000), b varchar(8000))", "");
        let together = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            for id in 0..6 {
                let (instance, together) = (b.instance.clone(), &together);
                scope.spawn(move || {
                    let mut session = instance.session().unwrap();
                    session.use_database("t").unwrap();
                    together.wait();
                    let end = if id % 2 == 0 { "commit" } else { "rollback" };
                    let mut out = Text::default();
                    session.execute(
                        &format!("begin tran insert t values ({id}, {LONG}) {end}"),
                        &mut out,
                    );
                    assert_eq!(out.out.trim(), "(1)", "{round}");
                });
            }
        });
        b.check("select count(*), sum(len(a) + len(b)) from t", "3|48000");
        b.check("select count(*) from sys.allocation_units where type = 3", "1");
        b.check("dbcc checkdb with no_infomsgs", "");
    }
}
