//! Locks of tables that sessions keep for themselves (`txn::locks::weak`): they exclude, are listed
//! and are waited for as if they were in the lock table, whoever asks for the table alone.

use crate::support::text::{self, Bench, Text};
use engine::{Instance, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A database with a table of two rows.
fn bench() -> Bench {
    let mut b = Bench::new();
    b.check(
        "CREATE TABLE r (id int PRIMARY KEY, v int NOT NULL) INSERT r VALUES (1, 0), (2, 0)",
        "(2)",
    );
    b
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out.trim().to_owned()
}

/// A session whose transactions begin in the place of earlier ones, so that it keeps what it may.
fn keeper(instance: &Arc<Instance>) -> Session {
    let mut session = instance.session().unwrap();
    session.use_database("t").unwrap();
    for _ in 0..3 {
        assert_eq!(run(&mut session, "SELECT COUNT(*) FROM r"), "2");
    }
    session
}

/// Starts a batch that has to wait.
#[track_caller]
fn blocked(mut session: Session, sql: &'static str) -> JoinHandle<String> {
    let running = std::thread::spawn(move || run(&mut session, sql));
    std::thread::sleep(Duration::from_millis(60));
    assert!(!running.is_finished(), "did not wait: {sql}: {}", running.join().unwrap());
    running
}

/// Statements that take the table alone.
const ALONE: [&str; 5] = [
    "ALTER TABLE r ADD c int",
    "DROP TABLE r",
    "TRUNCATE TABLE r",
    "SELECT COUNT(*) FROM r WITH (TABLOCKX)",
    "UPDATE r WITH (TABLOCKX) SET v = v",
];

#[test]
fn a_table_that_somebody_uses_is_not_to_be_had_alone() {
    let mut b = bench();
    let mut session = keeper(&b.instance);
    let locks = format!(
        "SELECT request_mode, request_status FROM sys.dm_tran_locks \
         WHERE resource_type = 'OBJECT' AND request_session_id = {}",
        session.spid()
    );
    b.check("SET LOCK_TIMEOUT 0", "");
    let uses = [
        ("SELECT v FROM r WITH (REPEATABLEREAD) WHERE id = 1", "IS"),
        ("INSERT r VALUES (3, 0)", "IX"),
    ];
    for (used, mode) in uses {
        for alone in ALONE {
            // Each finds that it is kept again.
            let said = run(&mut session, &format!("BEGIN TRAN {used}"));
            assert!(!said.contains("Msg"), "{said}");
            b.check(&locks, &format!("{mode}|GRANT"));
            b.fails(alone, 1222);
            b.check(&locks, &format!("{mode}|GRANT"));
            match mode {
                "IS" => b.check("SELECT COUNT(*) FROM r WITH (TABLOCK)", "2"),
                _ => b.fails("SELECT COUNT(*) FROM r WITH (TABLOCK)", 1222),
            }
            assert_eq!(run(&mut session, "ROLLBACK SELECT COUNT(*) FROM r"), "2");
            b.check(&locks, "");
        }
    }
    // Nobody uses it any more.
    b.check("ALTER TABLE r ADD c int; TRUNCATE TABLE r", "");
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM r"), "0");
    b.check("DROP TABLE r", "");
    assert!(run(&mut session, "SELECT COUNT(*) FROM r").starts_with("Msg 208"));
}

/// Who waits for what a session keeps goes on when that is given back, in whichever way.
#[test]
fn who_waits_for_what_is_kept_is_woken() {
    let b = bench();
    let alone = "SELECT COUNT(*) FROM r WITH (TABLOCKX)";
    for ends in ["COMMIT", "ROLLBACK", "it goes away"] {
        let mut session = keeper(&b.instance);
        assert_eq!(
            run(&mut session, "BEGIN TRAN UPDATE r SET v = 7 WHERE id = 1"),
            "(1)",
            "{ends}"
        );
        let waiting = blocked(keeper(&b.instance), alone);
        match ends {
            "it goes away" => drop(session),
            ends => assert_eq!(run(&mut session, ends), ""),
        }
        assert_eq!(waiting.join().unwrap(), "2", "{ends}");
    }
    // One that is ended while it waits leaves the table to the others.
    let mut session = keeper(&b.instance);
    assert_eq!(run(&mut session, "BEGIN TRAN UPDATE r SET v = 8 WHERE id = 1"), "(1)");
    let other = keeper(&b.instance);
    let kill = format!("KILL {}", other.spid());
    let waiting = blocked(other, alone);
    text::run(&b.instance, &kill);
    assert_ne!(waiting.join().unwrap(), "2");
    let mut third = keeper(&b.instance);
    assert_eq!(run(&mut third, "UPDATE r SET v = 8 WHERE id = 2"), "(1)");
    assert_eq!(run(&mut session, "COMMIT"), "");
    assert_eq!(
        text::say(&b.instance, "SELECT COUNT(*) FROM t.dbo.r WITH (TABLOCKX) WHERE v = 8"),
        "2"
    );
}

/// Beside a lock on the whole table nobody changes it, and all that was changed before is seen.
#[test]
fn nobody_changes_a_table_that_is_locked() {
    let b = bench();
    let over = AtomicBool::new(false);
    let end = Instant::now() + Duration::from_millis(500);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (instance, over) = (&b.instance, &over);
            scope.spawn(move || {
                let mut session = keeper(instance);
                while !over.load(Relaxed) {
                    let change = "BEGIN TRAN UPDATE r SET v += 1 WHERE id = 1 \
                                  UPDATE r SET v -= 1 WHERE id = 2 COMMIT";
                    assert_eq!(run(&mut session, change), "(1)\n(1)");
                }
            });
        }
        let mut session = keeper(&b.instance);
        let look = "BEGIN TRAN DECLARE @all int = (SELECT SUM(v) FROM r WITH (TABLOCK, HOLDLOCK)) \
                    DECLARE @now int = (SELECT SUM(v) FROM r WITH (READUNCOMMITTED)) \
                    COMMIT SELECT @all, @now";
        let mut said = "0|0".to_owned();
        while Instant::now() < end && said == "0|0" {
            said = run(&mut session, look);
        }
        over.store(true, Relaxed);
        assert_eq!(said, "0|0");
    });
}
