//! Power loss under changes of names by several sessions at once: schemas, objects, constraints and
//! types that come, go, get other names and other schemas, and what is said of them. After the
//! restart the database opens, a name is one thing's, a transaction is there as a whole or not at
//! all, and nothing is said of what is not there.
//!
//! `RINGWOOD_CRASH_SEEDS=2000 cargo test --release -p ringwood-engine --test it crash_names::` runs
//! more; RINGWOOD_CRASH_FROM sets the first seed, so a failing seed can be run alone.

use std::sync::Arc;

use crate::schemas::LEFT;
use crate::support::text::{Text, run, run_in, say, try_open};
use engine::{Instance, Session};
use sim::{SimConfig, SimDisk};

const MEMORY: u64 = 4 << 20;

fn setting(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn in_database(instance: &Arc<Instance>) -> Option<Session> {
    let mut session = instance.session().ok()?;
    session.use_database("d").ok()?;
    Some(session)
}

/// A question in the database, and its answer.
#[track_caller]
fn ask(instance: &Arc<Instance>, sql: &str, expected: &str, about: &str) {
    let mut session = in_database(instance).unwrap_or_else(|| panic!("{about}: it cannot be used"));
    assert_eq!(run_in(&mut session, sql), expected, "{about}: {sql}");
}

/// The disk of an instance that was closed, with a database in which these batches have run.
fn prepared(seed: u64, batches: &[&str]) -> SimDisk {
    let config = SimConfig { capacity: 256 << 20, ..SimConfig::default() };
    let disk = SimDisk::with_config(seed, config);
    let instance = try_open(&disk, MEMORY).expect("a fresh instance");
    run(
        &instance,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf', SIZE = 4MB) LOG ON (NAME = l, FILENAME = 'd.ldf', SIZE = 2MB)",
    );
    let mut session = in_database(&instance).expect("a new database");
    for batch in batches {
        assert_eq!(run_in(&mut session, batch), "", "{batch}");
    }
    drop(session);
    instance.close().unwrap();
    disk
}

/// One session takes something away and ends its transaction, another one wants what it had.
struct Contest {
    make: &'static str,
    first: &'static str,
    want: &'static str,
    /// What is there, before and when the second session has what it wants; "" or 0: neither.
    there: &'static str,
    before: &'static str,
    after: &'static str,
}

const NAMED: &str = "SELECT RTRIM(type) FROM sys.objects WHERE name = 'k' AND schema_id = 1";
const TYPED: &str =
    "SELECT CASE is_table_type WHEN 1 THEN 'TT' ELSE 'T' END FROM sys.types WHERE name = 'k'";
const SCHEMA: &str = "SELECT COUNT(*) FROM sys.schemas WHERE name = 'x'";

const fn contest(
    make: &'static str,
    first: &'static str,
    want: &'static str,
    (there, before, after): (&'static str, &'static str, &'static str),
) -> Contest {
    Contest { make, first, want, there, before, after }
}

const CONTESTS: [Contest; 8] = [
    contest(
        "CREATE VIEW k AS SELECT 1 AS n",
        "DROP VIEW k",
        "CREATE TABLE k (n int)",
        (NAMED, "V", "U"),
    ),
    contest(
        "CREATE TABLE k (n int)",
        "EXEC sp_rename 'k', 'l'",
        "CREATE SEQUENCE k",
        (NAMED, "U", "SO"),
    ),
    contest(
        "CREATE TABLE k (n int)",
        "ALTER SCHEMA s TRANSFER k",
        "CREATE VIEW k AS SELECT 1 AS n",
        (NAMED, "U", "V"),
    ),
    contest(
        "CREATE TRIGGER k ON base FOR INSERT AS SET NOCOUNT ON",
        "DROP TABLE base",
        "CREATE PROCEDURE k AS SELECT 1",
        (NAMED, "TR", "P"),
    ),
    contest(
        "ALTER TABLE base ADD CONSTRAINT k CHECK (n > 0)",
        "ALTER TABLE base DROP CONSTRAINT k",
        "CREATE SYNONYM k FOR base",
        (NAMED, "C", "SN"),
    ),
    contest(
        "CREATE TYPE k FROM int",
        "DROP TYPE k",
        "CREATE TYPE k AS TABLE (n int)",
        (TYPED, "T", "TT"),
    ),
    contest("CREATE SCHEMA x", "DROP SCHEMA x", "CREATE SCHEMA x", (SCHEMA, "1", "1")),
    contest(
        "CREATE SCHEMA x",
        "DROP SCHEMA x",
        "GRANT SELECT ON SCHEMA::x TO u",
        (SCHEMA, "1", "0"),
    ),
];

/// Both sessions until the power goes, and what is there afterwards.
fn end_of(contest: &Contest, disk: &SimDisk, end: &str, at: u64) {
    let about = format!("{}; {end}, then {}, I/O {at}", contest.first, contest.want);
    let disk = disk.crash(at);
    let instance = try_open(&disk, MEMORY).expect("it was closed");
    let (mut one, mut two) = (in_database(&instance).unwrap(), in_database(&instance).unwrap());
    let said = run_in(&mut one, &format!("BEGIN TRAN; {}", contest.first));
    assert!(!said.contains("Msg"), "{about}: {said}");
    disk.crash_at(disk.io_count() + at);
    let want = contest.want;
    let second = std::thread::spawn(move || !run_in(&mut two, want).contains("Msg"));
    let ended = !run_in(&mut one, end).contains("Msg");
    let got = second.join().expect("a session panicked");
    drop((one, instance));
    let instance = try_open(&disk.crash(at + 1000), MEMORY)
        .unwrap_or_else(|| panic!("{about}: it does not open"));
    let there = run_in(
        &mut in_database(&instance).unwrap_or_else(|| panic!("{about}: no d")),
        contest.there,
    );
    let gone = if contest.there == SCHEMA { "0" } else { "" };
    let possible = match end {
        // What was taken away is there in any case.
        "ROLLBACK" => vec![contest.before],
        _ if got => vec![contest.after],
        // The second one may have been on disk before it could be told.
        _ if ended => vec![gone, contest.after],
        _ => vec![contest.before, gone, contest.after],
    };
    assert!(possible.contains(&there.as_str()), "{about}: '{there}', ended: {ended}, got: {got}");
    ask(&instance, LEFT, "0\n0", &about);
    assert_eq!(say(&instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "{about}");
}

#[test]
fn of_two_that_want_a_name_one_has_it_after_power_loss() {
    for (seed, contest) in (1..).zip(&CONTESTS) {
        let user = "CREATE USER u WITHOUT LOGIN; CREATE TABLE base (n int)";
        let disk = prepared(seed, &[user, "CREATE SCHEMA s", contest.make]);
        for end in ["ROLLBACK", "COMMIT"] {
            (1..=6).for_each(|at| end_of(contest, &disk, end, at));
        }
    }
}

/// One change of a name that all sessions use, or of what is said of a schema; by EXEC, whose
/// errors do not end the batch.
fn statement(random: &mut fastrand::Rng, session: u32) -> String {
    let (k, l, x) = (random.u8(0..3), random.u8(0..3), random.u8(0..2));
    let schema = ["dbo", "x0", "x1"][random.usize(0..3)];
    let sql = match random.u8(0..22) {
        0 => format!("CREATE VIEW {schema}.k{k} AS SELECT 1 AS n"),
        1 | 2 => format!("CREATE TABLE {schema}.k{k} (n int CONSTRAINT q{l} CHECK (n > 0))"),
        3 => format!("CREATE SEQUENCE {schema}.k{k}"),
        4 => format!("CREATE SYNONYM {schema}.k{k} FOR dbo.base"),
        5 => format!("DROP VIEW {schema}.k{k}"),
        6 | 7 => format!("DROP TABLE {schema}.k{k}"),
        8 => format!("DROP SEQUENCE {schema}.k{k}"),
        9 => format!("DROP SYNONYM {schema}.k{k}"),
        10 => format!("EXEC sp_rename '{schema}.k{k}', 'k{l}'"),
        11 | 12 => format!("CREATE SCHEMA x{x}"),
        13 | 14 => format!("DROP SCHEMA x{x}"),
        15 => format!("ALTER SCHEMA {schema} TRANSFER x{x}.k{k}"),
        16 => format!("ALTER SCHEMA x{x} TRANSFER {schema}.k{k}"),
        17 => format!("GRANT SELECT ON SCHEMA::x{x} TO u"),
        18 => format!("EXEC sp_addextendedproperty 'p{session}', 1, 'SCHEMA', 'x{x}'"),
        19 => format!("CREATE TYPE {schema}.y FROM int"),
        20 => format!("DROP TYPE {schema}.y"),
        _ => format!("CREATE TRIGGER {schema}.k{l} ON {schema}.k{k} FOR INSERT AS SET NOCOUNT ON"),
    };
    format!("EXEC ('{}'); ", sql.replace('\'', "''"))
}

/// What a session is told when the power has gone.
const LOST_POWER: [&str; 5] = ["Msg 9001", "Msg 823", "Msg 926", "Msg 945", "Msg 6005"];

/// Transactions of one session until the power goes; gives the number of the last one that was
/// acknowledged. Each that commits has made a schema of its own and says so in `done`.
fn work(instance: &Arc<Instance>, session: u32, seed: u64) -> u32 {
    let mut random = fastrand::Rng::with_seed(seed * 10 + u64::from(session));
    let Some(mut own) = in_database(instance) else { return 0 };
    let mut acknowledged = 0;
    for no in 1..40 {
        let mut sql = String::from("SET NOCOUNT ON; BEGIN TRAN; ");
        for _ in 0..random.u8(1..4) {
            sql += &statement(&mut random, session);
        }
        let end = if random.u8(0..4) == 0 { "ROLLBACK" } else { "COMMIT" };
        sql += &format!(
            "IF XACT_STATE() = 1
             BEGIN
                 EXEC ('CREATE SCHEMA own{session}_{no}')
                 IF SCHEMA_ID('own{session}_{no}') IS NOT NULL INSERT done VALUES ({session}, {no})
                 IF NOT EXISTS (SELECT 1 FROM done WHERE session = {session} AND no = {no}) ROLLBACK
                 ELSE BEGIN {end}; PRINT 'ended {end}' END
             END
             ELSE IF @@TRANCOUNT > 0 ROLLBACK"
        );
        let said = run_in(&mut own, &sql);
        let lost = LOST_POWER.iter().any(|error| said.contains(error));
        // A database that has lost its log refuses statements: such a transaction may have had
        // nothing to commit.
        if said.contains("ended COMMIT") && !lost {
            acknowledged = no;
        }
        if own.trancount() > 0 {
            own.execute("ROLLBACK", &mut Text::default());
        }
        if lost {
            break;
        }
    }
    acknowledged
}

/// Drops what has one of the names that all sessions use.
const DROP_ALL: &str = "SET NOCOUNT ON; DECLARE @drops nvarchar(max);
    SELECT @drops = STRING_AGG(CAST(CONCAT('DROP ', CASE RTRIM(type) WHEN 'U' THEN 'TABLE ' WHEN 'V' THEN 'VIEW '
        WHEN 'SO' THEN 'SEQUENCE ' ELSE 'SYNONYM ' END, SCHEMA_NAME(schema_id), '.', name) AS nvarchar(max)), '; ')
        FROM sys.objects WHERE name LIKE 'k[0-2]' AND type <> 'TR';
    IF @drops IS NOT NULL EXEC (@drops);
    DROP TYPE IF EXISTS dbo.y; DROP TYPE IF EXISTS x0.y; DROP TYPE IF EXISTS x1.y;
    DROP SCHEMA IF EXISTS x0; DROP SCHEMA IF EXISTS x1";

fn history(seed: u64) {
    let tables = "CREATE USER u WITHOUT LOGIN; CREATE TABLE base (n int);
                  CREATE TABLE done (session int, no int, PRIMARY KEY (session, no))";
    let disk = prepared(seed, &[tables, "CREATE SCHEMA x0"]);
    let instance = try_open(&disk, MEMORY).expect("it was closed");
    let mut random = fastrand::Rng::with_seed(seed);
    disk.crash_at(disk.io_count() + 1 + random.u64(0..200));
    let sessions = 2 + seed as u32 % 3;
    let acknowledged: Vec<u32> = std::thread::scope(|scope| {
        let instance = &instance;
        let threads: Vec<_> =
            (0..sessions).map(|n| scope.spawn(move || work(instance, n, seed))).collect();
        threads.into_iter().map(|t| t.join().expect("a session panicked")).collect()
    });
    drop(instance);
    let disk = disk.crash(seed + 1);
    let about = format!("seed {seed}");
    let instance = try_open(&disk, MEMORY).unwrap_or_else(|| panic!("{about}: it does not open"));
    let no_doubles =
        "SELECT COUNT(*) FROM (SELECT name FROM sys.objects GROUP BY schema_id, name HAVING COUNT(*) > 1
        UNION ALL SELECT name FROM sys.types GROUP BY schema_id, name HAVING COUNT(*) > 1) AS doubles";
    ask(&instance, no_doubles, "0", &about);
    let in_nothing = "SELECT COUNT(*) FROM (SELECT schema_id FROM sys.objects UNION ALL SELECT schema_id FROM sys.types) AS o
        WHERE SCHEMA_NAME(o.schema_id) IS NULL";
    ask(&instance, in_nothing, "0", &about);
    ask(&instance, LEFT, "0\n0", &about);
    // Schemas and rows that were made together.
    let own = "CONCAT('own', d.session, '_', d.no)";
    ask(
        &instance,
        &format!("SELECT COUNT(*) FROM done AS d WHERE SCHEMA_ID({own}) IS NULL"),
        "0",
        &about,
    );
    ask(
        &instance,
        "SELECT (SELECT COUNT(*) FROM sys.schemas WHERE name LIKE 'own%') - (SELECT COUNT(*) FROM done)",
        "0",
        &about,
    );
    for (session, no) in acknowledged.iter().enumerate().filter(|(_, no)| **no > 0) {
        let found = format!("SELECT COUNT(*) FROM done WHERE session = {session} AND no = {no}");
        ask(&instance, &found, "1", &about);
    }
    assert_eq!(say(&instance, "DBCC CHECKDB (d) WITH NO_INFOMSGS"), "", "{about}");
    // Everything can go, and is gone after another start.
    ask(&instance, DROP_ALL, "", &about);
    let left = "SELECT COUNT(*) FROM sys.objects WHERE name LIKE '[kq][0-2]';
        SELECT COUNT(*) FROM sys.types WHERE name = 'y'; SELECT COUNT(*) FROM sys.schemas WHERE name LIKE 'x_'";
    ask(&instance, left, "0\n0\n0", &about);
    instance.close().unwrap();
    drop(instance);
    let instance =
        try_open(&disk, MEMORY).unwrap_or_else(|| panic!("{about}: it does not open again"));
    ask(&instance, left, "0\n0\n0", &about);
    ask(&instance, LEFT, "0\n0", &about);
}

#[test]
fn names_are_one_things_after_power_loss() {
    let from = setting("RINGWOOD_CRASH_FROM", 0);
    (from..from + setting("RINGWOOD_CRASH_SEEDS", 30)).for_each(history);
}
