//! Deadlocks through the engine: over databases and kinds of locks, many at random, and what is
//! reported of them.

#[path = "../../examples/support/deadlocks.rs"]
mod rounds;

use crate::support::text::{Bench, Text};
use engine::Session;
use std::sync::atomic::Ordering::Relaxed;

fn say(session: &mut Session, sql: &str) -> String {
    let mut text = Text::default();
    session.execute(sql, &mut text);
    text.out.trim().to_owned()
}

/// Two sessions take something each, then each what the other has: what they say, and their
/// numbers.
fn cross(
    b: &Bench,
    setups: [&str; 2],
    holds: [&str; 2],
    wants: [&str; 2],
) -> [(String, String); 2] {
    let mut sessions = [b.instance.session().unwrap(), b.instance.session().unwrap()];
    for (session, (setup, hold)) in sessions.iter_mut().zip(setups.into_iter().zip(holds)) {
        session.use_database("t").unwrap();
        // What is not found ends by its time-out, and the test fails.
        let said = say(
            session,
            &format!("SET NOCOUNT ON; SET LOCK_TIMEOUT 30000; {setup}; BEGIN TRAN; {hold}"),
        );
        assert!(!said.contains("Msg"), "{said}");
    }
    let threads: Vec<_> = sessions
        .into_iter()
        .zip(wants)
        .map(|(mut session, want)| {
            let want = want.to_owned();
            std::thread::spawn(move || {
                let said = say(&mut session, &want);
                say(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
                (said, say(&mut session, "SELECT @@SPID"))
            })
        })
        .collect();
    let mut said = threads.into_iter().map(|t| t.join().unwrap());
    [said.next().unwrap(), said.next().unwrap()]
}

/// One of two has got what it wanted, the other one is the victim.
#[track_caller]
fn one_victim(said: &[(String, String); 2]) {
    let victims =
        said.iter().filter(|(said, _)| said.contains("Msg 1205") || said.contains("-3")).count();
    let through =
        said.iter().filter(|(said, _)| !said.contains("Msg") && !said.contains('-')).count();
    assert_eq!((victims, through), (1, 1), "{said:?}");
}

fn two_databases() -> Bench {
    let mut b = Bench::new();
    b.check("CREATE TABLE a (id int PRIMARY KEY, n int); INSERT a VALUES (1, 0), (2, 0)", "(2)");
    b.check("CREATE DATABASE other", "");
    b.check(
        "CREATE TABLE other.dbo.a (id int PRIMARY KEY, n int); INSERT other.dbo.a VALUES (1, 0)",
        "(1)",
    );
    b
}

#[test]
fn a_deadlock_over_two_databases_has_one_victim() {
    let b = two_databases();
    let updates =
        ["UPDATE a SET n += 1 WHERE id = 1", "UPDATE other.dbo.a SET n += 1 WHERE id = 1"];
    one_victim(&cross(&b, [""; 2], updates, [updates[1], updates[0]]));
}

#[test]
fn an_application_lock_and_a_row_have_one_victim() {
    let b = two_databases();
    let row = "UPDATE a SET n += 1 WHERE id = 1";
    for owner in ["Session", "Transaction"] {
        let lock = format!(
            "DECLARE @r int; EXEC @r = sp_getapplock @Resource = 'x', @LockMode = 'Exclusive', @LockOwner = '{owner}'; \
             IF @r < 0 SELECT @r"
        );
        one_victim(&cross(&b, [""; 2], [&lock, row], [row, &lock]));
    }
}

/// Sessions whose transactions begin in the place of earlier ones keep their locks of tables for
/// themselves, until somebody wants a table alone.
#[test]
fn locks_of_tables_that_sessions_keep_have_one_victim() {
    let mut b = two_databases();
    b.check("CREATE TABLE c (id int)", "");
    let setup = "SELECT id FROM c; SELECT id FROM c; SELECT id FROM c";
    let holds = ["INSERT a VALUES (10, 0)", "INSERT c VALUES (1)"];
    let wants = ["UPDATE c WITH (TABLOCKX) SET id += 1", "UPDATE a WITH (TABLOCKX) SET n += 1"];
    one_victim(&cross(&b, [setup; 2], holds, wants));
}

/// The victim is who has the lowest priority, then who has written least: in all databases
/// together.
#[test]
fn the_victim_is_by_priority_and_by_what_all_databases_have_written() {
    let b = two_databases();
    b.instance
        .session()
        .unwrap()
        .execute("USE other; CREATE TABLE more (w char(500))", &mut Text::default());
    let rows = ["UPDATE a SET n += 1 WHERE id = 1", "UPDATE a SET n += 1 WHERE id = 2"];
    let much = "INSERT other.dbo.more SELECT 'x' FROM GENERATE_SERIES(1, 100)";
    let little = "INSERT a VALUES (9, 9)";
    let first = format!("{much}; {}", rows[0]);
    let second = format!("{little}; {}", rows[1]);
    let said = cross(&b, [""; 2], [&first, &second], [rows[1], rows[0]]);
    assert!(said[1].0.contains("Msg 1205"), "{said:?}");
    let low = ["SET DEADLOCK_PRIORITY LOW", ""];
    let said = cross(&b, low, [&first, &second], [rows[1], rows[0]]);
    let text = format!("Transaction (Process ID {}) was deadlocked on lock resources", said[0].1);
    assert!(said[0].0.contains(&text), "{said:?}");
}

const GRAPH: &str = "DECLARE @x xml = (SELECT CAST(t.target_data AS xml) FROM sys.dm_xe_sessions AS s \
     JOIN sys.dm_xe_session_targets AS t ON t.event_session_address = s.address \
     WHERE s.name = 'system_health' AND t.target_name = 'ring_buffer'); \
     SET @x = @x.query('(/RingBufferTarget/event[@name=\"xml_deadlock_report\"]/data/value/deadlock)[last()]'); ";

#[test]
fn the_graph_is_in_the_ring_buffer_and_with_trace_flags_in_the_error_log() {
    let mut b = two_databases();
    b.check("DBCC TRACEON (1222, 1204, -1) WITH NO_INFOMSGS", "");
    let read = "SELECT n FROM a WITH (REPEATABLEREAD) WHERE id = 1";
    let setups = ["SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET DEADLOCK_PRIORITY -4", ""];
    let update = "UPDATE a SET n += 1 WHERE id = 1 -- <both>";
    let said = cross(&b, setups, [read, read], [update, update]);
    assert!(said[0].0.contains("Msg 1205"), "{said:?}");
    let mut shows = |expression: &str, expected: &str| {
        b.check(&format!("{GRAPH} SELECT @x.value('{expression}', 'nvarchar(400)')"), expected);
    };
    shows("count(/deadlock/process-list/process)", "2");
    shows(
        "/deadlock/victim-list/victimProcess/@id = /deadlock/process-list/process[1]/@id",
        "true",
    );
    let of_victim = "(/deadlock/process-list/process)[1]";
    shows(&format!("{of_victim}/@spid"), &said[0].1);
    shows(&format!("{of_victim}/@isolationlevel"), "serializable (4)");
    shows(&format!("{of_victim}/@priority"), "-4");
    shows(&format!("{of_victim}/@lockMode"), "X");
    shows(&format!("contains(({of_victim}/@waitresource)[1], \"KEY: 5:\")"), "true");
    shows(&format!("({of_victim}/inputbuf/text())[1]"), update);
    let keylock = "(/deadlock/resource-list/keylock)[1]";
    shows("count(/deadlock/resource-list/*)", "1");
    shows(&format!("{keylock}/@objectname"), "t.dbo.a");
    shows(&format!("({keylock}/owner-list/owner/@mode)[1]"), "S");
    shows(&format!("({keylock}/waiter-list/waiter/@requestType)[1]"), "convert");
    let log = b.instance.error_log().lines();
    for part in [
        "deadlock-list",
        " deadlock victim=process",
        "   process id=process",
        "    inputbuf",
        "     UPDATE a SET n += 1 WHERE id = 1 -- <both>",
        "   keylock hobtid=",
        "     waiter id=process",
        "Wait-for graph",
        "Node:1",
        "   Input Buf: Language Event: UPDATE a SET n += 1",
        "Victim Resource Owner:",
    ] {
        assert!(log.iter().any(|line| line.contains(part)), "{part}: {log:#?}");
    }
}

#[test]
fn random_deadlocks_are_all_resolved_and_have_no_needless_victim() {
    let b = Bench::new();
    let outcome = rounds::make_deadlocks(&b.instance, 2, 300, 5);
    let figures = [&outcome.needless, &outcome.wrong, &outcome.missed].map(|of| of.load(Relaxed));
    assert_eq!(figures, [0; 3], "{}", outcome.json());
    assert!(
        outcome.deadlocks.load(Relaxed) >= 300 && outcome.chains.load(Relaxed) > 0,
        "{}",
        outcome.json()
    );
    // A bound on hangs; the example measures.
    assert!(outcome.longest_us.load(Relaxed) < 20_000_000, "{}", outcome.json());
}
