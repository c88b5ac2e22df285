//! Seeks past a column of an index whose values are visited one after another: the rows of a scan,
//! fewer entries read and locked, and no row that comes into what was read.

use crate::support::text::{Bench, Text};
use engine::Session;

/// The heap `o` with an index, and `c` that is clustered by the same columns: four sources of 25
/// sessions, each with 100 types of four rows.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         CREATE TABLE o (source int NOT NULL, session int NOT NULL, type int NULL, v int NOT NULL, w int)
         CREATE INDEX by_session ON o (source, session DESC, type)
         CREATE TABLE c (source int NOT NULL, session int NOT NULL, type int NOT NULL, v int NOT NULL, w int,
                         PRIMARY KEY (source, session, type, v))
         INSERT c SELECT value % 4, value / 4 % 25, value / 100 % 100, value, value * 7919 % 10007
                  FROM GENERATE_SERIES(0, 39999)
         INSERT o SELECT * FROM c",
    );
    b
}

fn plan(b: &mut Bench, sql: &str) -> String {
    b.run("SET SHOWPLAN_TEXT ON");
    let shown = b.run(sql);
    b.run("SET SHOWPLAN_TEXT OFF");
    shown
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// The answer is that of a scan, at every level.
fn same(b: &mut Bench, sql: &str) {
    let by_scan = b.run(&sql.replace("{}", "WITH (INDEX(0))"));
    assert!(!by_scan.contains("Msg "), "{sql}: {by_scan}");
    for hint in [
        "",
        "WITH (HOLDLOCK)",
        "WITH (UPDLOCK, HOLDLOCK)",
        "WITH (REPEATABLEREAD)",
        "WITH (READCOMMITTEDLOCK)",
        "WITH (NOLOCK)",
        "WITH (READPAST)",
    ] {
        assert_eq!(b.run(&sql.replace("{}", hint)), by_scan, "{sql} {hint}");
    }
}

#[test]
fn rows_behind_a_passed_column_are_those_of_a_scan() {
    let mut b = bench();
    let conditions = [
        "source = 1 AND session BETWEEN 3 AND 9 AND type = 7",
        "source = 1 AND session >= 5 AND type IN (7, 99)",
        "source = 1 AND type = 7",
        "source = 3 AND session > 1 AND session < 9 AND type BETWEEN 3 AND 4",
        "source = 2 AND session <> 5 AND (type = 4 OR type = 90)",
    ];
    for table in ["o", "c"] {
        for condition in conditions {
            for list in ["COUNT(*), SUM(type), MAX(session)", "COUNT(*), SUM(v), SUM(w)"] {
                let sql = format!("SELECT {list} FROM {table} {{}} WHERE {condition}");
                let shown = plan(&mut b, &sql.replace("{}", ""));
                assert!(shown.contains("EACH [session], [type]"), "{sql}: {shown}");
                same(&mut b, &sql);
            }
        }
        for condition in [
            "source = 1 AND session > 100 AND type = 7",
            "source = 1 AND session > 3 AND type = NULLIF(1, 1)",
            "source = 99 AND type = 7",
            "source IN (1, 2) AND session BETWEEN 3 AND 9 AND type = 7",
        ] {
            same(&mut b, &format!("SELECT COUNT(*), SUM(v) FROM {table} {{}} WHERE {condition}"));
        }
        // In the order of the key, and against it; few are wanted.
        for order in ["session, type, v", "session DESC, type DESC, v DESC"] {
            for top in ["", "TOP (9) "] {
                let condition = "source = 1 AND type IN (5, 7)";
                let wanted = format!("{top}session, type, v FROM {table} {{}}");
                same(&mut b, &format!("SELECT {wanted} WHERE {condition} ORDER BY {order}"));
            }
        }
        // What is changed so.
        let change = format!(
            "UPDATE {table} SET w = w + 1 WHERE source = 1 AND session BETWEEN 3 AND 9 AND type = 7"
        );
        for level in ["READ COMMITTED", "SERIALIZABLE"] {
            let changed = b.run(&format!(
                "SET TRANSACTION ISOLATION LEVEL {level} SET NOCOUNT OFF BEGIN TRAN {change} ROLLBACK
                 SET TRANSACTION ISOLATION LEVEL READ COMMITTED SET NOCOUNT ON"
            ));
            assert_eq!(changed.trim(), "(28)", "{table}, {level}");
        }
    }
    // NULL is a value among those that are looked for, and rows that are gone leave their values.
    b.run("UPDATE o SET type = NULL WHERE type = 7 DELETE o WHERE session IN (0, 4, 24)");
    same(&mut b, "SELECT COUNT(*), SUM(v) FROM o {} WHERE source = 1 AND type IS NULL");
    same(
        &mut b,
        "SELECT COUNT(*), SUM(v) FROM o {} WHERE source = 1 AND session < 9 AND type IN (7, 8)",
    );
    // One's own rows count, those of others only when they have come to stay.
    b.run(
        "BEGIN TRAN
         INSERT o SELECT source, 100, type, v, w FROM c WHERE session = 9
         DELETE o WHERE session = 3",
    );
    let mut other = b.instance.session().expect("a session");
    other.use_database("t").expect("it is there");
    let read = "SELECT COUNT(*) FROM o WHERE source = 1 AND type = 8";
    assert_eq!(run(&mut other, read), "88");
    assert_eq!(b.run(read).trim(), "88");
    b.run("ROLLBACK");
}

#[test]
fn no_value_comes_into_what_was_passed_by() {
    const TIMEOUT: &str = "Msg 1222: Lock request time out period exceeded.";
    for (table, backward) in [("c", false), ("c", true), ("o", false)] {
        let mut b = bench();
        b.run(&format!(
            "SELECT * INTO others FROM {table} WHERE session <> 6 TRUNCATE TABLE {table}
             INSERT {table} SELECT * FROM others"
        ));
        let mut other = b.instance.session().expect("a session");
        other.use_database("t").expect("it is there");
        run(&mut other, "SET LOCK_TIMEOUT 30");
        let list = if backward { "session, type, v" } else { "COUNT(*)" };
        let order = if backward { "ORDER BY session DESC, type DESC, v DESC" } else { "" };
        let condition = "source = 1 AND session BETWEEN 3 AND 9 AND type = 7";
        let read = format!("SELECT {list} FROM {table} WITH (HOLDLOCK) WHERE {condition} {order}");
        let shown = plan(&mut b, &read);
        assert!(shown.contains("EACH [session]"), "{read}: {shown}");
        let found = b.run(&format!("BEGIN TRAN {read}"));
        let rows =
            if backward { found.trim().lines().count() } else { found.trim().parse().unwrap_or(0) };
        assert_eq!(rows, 24, "{found}");
        // Six values of four rows; for each one where it begins and one where its rows end.
        let locks = b.run("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY'");
        let locks: usize = locks.trim().parse().expect("a number");
        assert!((24..80).contains(&locks), "{table}: {locks} locks");
        for (row, kept_out) in [
            ("1, 5, 7, 100000, 0", true),
            ("1, 6, 7, 100000, 0", true),
            ("1, 3, 7, 100000, 0", true),
            ("1, 9, 7, 100000, 0", true),
            ("1, 5, 50, 100000, 0", false),
            ("1, 12, 7, 100000, 0", false),
            ("2, 5, 7, 100000, 0", false),
        ] {
            let said =
                run(&mut other, &format!("BEGIN TRAN INSERT {table} VALUES ({row}) ROLLBACK"));
            assert_eq!(said.contains(TIMEOUT), kept_out, "{table}, {row}: {said}");
        }
        b.run("COMMIT");
    }
}

/// The values turn out to be very many: what is left is read as it lies.
#[test]
fn many_values_are_not_visited() {
    let mut b = Bench::new();
    b.run(
        "SET NOCOUNT ON
         ALTER DATABASE t SET AUTO_UPDATE_STATISTICS OFF
         CREATE TABLE g (a int NOT NULL, b int NOT NULL, c int NOT NULL, v int NOT NULL)
         CREATE INDEX i ON g (a, b, c) INCLUDE (v)
         INSERT g SELECT 1, value % 5, value % 1000, value FROM GENERATE_SERIES(1, 20000)",
    );
    let sql = "SELECT COUNT(*), SUM(v) FROM g {} WHERE a = 1 AND c = 7";
    let read = sql.replace("{}", "");
    assert!(plan(&mut b, &read).contains("EACH [b]"));
    same(&mut b, sql);
    b.run("UPDATE g SET b = v");
    assert!(plan(&mut b, &read).contains("EACH [b]"));
    same(&mut b, sql);
    let said = b.run(&format!("SET STATISTICS IO ON {read} SET STATISTICS IO OFF"));
    let count = said.split("Scan count ").nth(1).and_then(|rest| rest.split(',').next());
    let count: usize = count.and_then(|count| count.parse().ok()).expect("how many scans");
    assert!((2..40).contains(&count), "{said}");
}
