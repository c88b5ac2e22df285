//! KILL while a program loads rows: at any of them, and in the moment in which the load ends, when
//! it asks no more whether it is to stop. What was not committed is gone, with its locks.

use crate::support::text::{Bench, Text, say};
use engine::{BulkOptions, Session, SqlError, Value};

const KILLED: &str =
    "Msg 596: Cannot continue the execution because the session is in the kill state.";

fn tell(session: &mut Session, sql: &str) -> String {
    let mut out = Text::default();
    session.execute(sql, &mut out);
    out.out.trim().to_string()
}

/// Loads `rows` rows into r; before number `at` is given, or the end of them, the session is
/// killed.
fn load(
    b: &Bench,
    session: &mut Session,
    options: &BulkOptions,
    rows: i32,
    at: i32,
) -> Result<u64, SqlError> {
    let (instance, spid) = (b.instance.clone(), session.spid());
    let mut next = 0;
    let mut source = |row: &mut [Value]| -> Result<bool, SqlError> {
        if next == at {
            let instance = instance.clone();
            let killer = std::thread::spawn(move || say(&instance, &format!("KILL {spid}")));
            assert_eq!(killer.join().unwrap(), "");
        }
        if next == rows {
            return Ok(false);
        }
        row[0] = Value::Int(next);
        next += 1;
        Ok(true)
    };
    session.bulk_insert("r", &[], options, &mut source)
}

#[test]
fn a_load_that_is_killed_leaves_what_it_has_committed() {
    let mut b = Bench::new();
    b.check("CREATE TABLE r (a int); CREATE TABLE q (a int)", "");
    let mut dead = Vec::new();
    for (begin, batch) in [("", 0), ("", 500), ("BEGIN TRAN; INSERT q VALUES (1)", 0)] {
        // Of 1,024 rows none are on their way when they end.
        for rows in [1000, 1024, 2048] {
            for at in [0, 1, 500, rows - 1, rows] {
                let what = format!("{begin} {batch}: {at} of {rows}");
                b.check("TRUNCATE TABLE r; TRUNCATE TABLE q", "");
                let mut session = b.instance.session().unwrap();
                session.use_database("t").unwrap();
                assert_eq!(tell(&mut session, &format!("SET NOCOUNT ON; {begin}")), "", "{what}");
                let options = BulkOptions { batch, table_lock: true, ..BulkOptions::default() };
                let loaded = load(&b, &mut session, &options, rows, at);
                let committed = match (&loaded, begin) {
                    (Ok(loaded), "") => {
                        assert_eq!(*loaded, rows as u64, "{what}");
                        rows
                    }
                    (Err(e), _) if !matches!(e.number, 596 | 3617) => panic!("{what}: {e}"),
                    (Err(_), "") if batch > 0 => at / batch as i32 * batch as i32,
                    _ => 0,
                };
                // Nothing is locked any more, by rows or the table.
                let count = "SET LOCK_TIMEOUT 2000 SELECT (SELECT COUNT(*) FROM r WITH (TABLOCKX)), \
                             (SELECT COUNT(*) FROM q WITH (TABLOCKX))";
                b.check(count, &format!("{committed}|0"));
                assert!(session.is_killed() && session.trancount() == 0, "{what}");
                let open = format!(
                    "SELECT open_transaction_count FROM sys.dm_exec_sessions WHERE session_id = {}",
                    session.spid()
                );
                b.check(&open, "0");
                assert_eq!(tell(&mut session, "SELECT 1"), KILLED, "{what}");
                let again = load(&b, &mut session, &options, 1, -1);
                assert_eq!(again.unwrap_err().number, 596, "{what}");
                dead.push(session);
            }
        }
    }
    // The program has them still, and they are in nobody's way.
    let said = b.run("ALTER DATABASE t SET SINGLE_USER WITH ROLLBACK IMMEDIATE");
    assert!(!said.contains("Msg "), "{said}");
    b.check(
        "ALTER DATABASE t SET MULTI_USER; SELECT COUNT(*) FROM q; DBCC CHECKDB WITH NO_INFOMSGS",
        "0",
    );
    drop(dead);
}
