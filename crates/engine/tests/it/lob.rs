//! Large values that are replaced or deleted: their pages come back, whatever reads the older
//! values still finds them, and every page is accounted for.

use crate::support::text::{self, Bench};
use std::time::{Duration, Instant};

/// Pages in use of the large values of table t.
fn used(b: &mut Bench) -> u64 {
    let text = b.run(
        "select a.used_pages from sys.allocation_units a join sys.partitions p \
         on a.container_id = p.partition_id where a.type = 2 and p.object_id = object_id('t')",
    );
    text.trim().parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Waits until the background work has brought the pages in use below a bound.
#[track_caller]
fn falls_to(b: &mut Bench, bound: u64) {
    let end = Instant::now() + Duration::from_secs(20);
    while used(b) > bound {
        assert!(Instant::now() < end, "{} pages are in use", used(b));
        std::thread::sleep(Duration::from_millis(10));
    }
    b.check("dbcc checkdb with no_infomsgs", "");
}

fn filled(key: &str) -> Bench {
    let mut b = Bench::of_short_pace();
    b.check(
        &format!(
            "alter database t set recovery simple; \
             create table t(id int not null {key}, n int not null, a varchar(max), b nvarchar(max)) \
             insert t select v, 0, replicate(cast(char(64 + v) as varchar(max)), 20000), \
             replicate(cast(N'ü' as nvarchar(max)), 9000) from (values(1),(2),(3),(4),(5)) as x(v)"
        ),
        "(5)",
    );
    b
}

#[test]
fn repeated_changes_use_bounded_space() {
    for key in ["primary key", "", "primary key nonclustered"] {
        let b = &mut filled(key);
        let full = used(b);
        for round in 0..30 {
            let letter = char::from(b'A' + round % 26);
            b.check(
                &format!("update t set a = replicate(cast('{letter}' as varchar(max)), 20000) where n = 0"),
                "(5)",
            );
            b.check(
                "delete t where id = 3 insert t select 3, 0, a, b from t where id = 4",
                "(1)\n(1)",
            );
            if round % 10 == 9 {
                falls_to(b, full);
            }
        }
        b.check(
            "select count(*), min(len(a)), max(len(b)), min(left(a, 1)) from t",
            "5|20000|9000|D",
        );
        b.check("delete t", "(5)");
        falls_to(b, 1);
    }
}

#[test]
fn columns_that_are_not_set_keep_their_values() {
    let b = &mut filled("primary key");
    let full = used(b);
    b.check("update t set n = n + 1; update t set b = N'short' where id = 1", "(5)\n(1)");
    assert!(used(b) <= full + 1, "values were copied");
    b.check("select sum(n), sum(len(a)), sum(len(b)) from t", "5|100000|36005");
    falls_to(b, full - 3);
    // Another key means another row; all of its values move along.
    b.check(
        "update t set id = id + 10; select sum(id), sum(len(a)), sum(len(b)) from t",
        "(5)\n65|100000|36005",
    );
    falls_to(b, full - 3);
}

#[test]
fn a_rollback_keeps_and_a_savepoint_restores() {
    let b = &mut filled("primary key");
    let full = used(b);
    b.check(
        "begin tran update t set a = 'x' delete t where id = 2 rollback select sum(len(a)) from t",
        "(5)\n(1)\n100000",
    );
    b.check(
        "begin tran update t set a = 'x' where id = 1 save tran s update t set a = null delete t rollback tran s commit \
         select sum(len(a)) from t",
        "(1)\n(5)\n(5)\n80001",
    );
    // A statement that fails takes back what it wrote.
    let said = b.run("insert t select id, 0, a, b from t where id = 2");
    assert!(said.starts_with("Msg 2627"), "{said}");
    falls_to(b, full - 3);
    b.check("select sum(len(a)), count(distinct left(a, 1)) from t", "80001|5");
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
    b.check("update t set a = replicate(cast('z' as varchar(max)), 30000), b = null", "(5)");
    b.check("delete t where id > 3", "(2)");
    // The cleanup comes by, and has to leave what the snapshot sees.
    std::thread::sleep(15 * text::SHORT_PACE);
    b.check(
        "insert t select id + 10, 0, replicate(cast('y' as varchar(max)), 30000), null from t",
        "(3)",
    );
    assert_eq!(
        read("select sum(len(a)), sum(len(b)), min(left(a, 1)), max(right(a, 1)) from t"),
        "100000|45000|A|E"
    );
    assert_eq!(read("commit select count(*), min(len(a)) from t"), "6|30000");
    falls_to(b, 6 * 4 + 1);
}
