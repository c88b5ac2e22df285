//! Power loss under statements with consequences: cascades, triggers that keep an audit, temporary tables, several sessions at
//! once. After the restart every child has a parent, the audit adds up to the rows, tempdb is empty,
//! every acknowledged commit is there, and the integrity check is clean.
//!
//! `RINGWOOD_CRASH_SEEDS=2000 cargo test --release -p ringwood-engine --test crash_chains` runs more; RINGWOOD_CRASH_FROM sets the
//! first seed, so a failing seed can be run alone.

extern crate ringwood_engine as engine;

#[path = "support/text.rs"]
mod text;

use std::sync::Arc;

use engine::Instance;
use sim::{SimConfig, SimDisk};
use text::{Text, say, try_open};

const MEMORY: u64 = 4 << 20;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

const TABLES: [&str; 8] = [
    "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf', SIZE = 4MB) LOG ON (NAME = l, FILENAME = 'd.ldf', SIZE = 2MB)",
    "USE d CREATE TABLE p (id int PRIMARY KEY, name varchar(10) NULL)",
    "USE d CREATE TABLE c (id int PRIMARY KEY, pid int NOT NULL REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE,
                           n int NOT NULL CHECK (n BETWEEN 1 AND 99), pad varchar(200))",
    "USE d CREATE INDEX by_parent ON c (pid) CREATE TABLE g (id int PRIMARY KEY, cid int NULL REFERENCES c ON DELETE SET NULL)",
    "USE d CREATE TABLE audit (no int IDENTITY PRIMARY KEY, cid int, delta int)
           CREATE TABLE done (session int, no int, PRIMARY KEY (session, no))",
    // Each change of a child is in the audit, also what cascades do.
    "USE d EXEC ('CREATE TRIGGER keep ON c FOR INSERT, UPDATE, DELETE AS
         SET NOCOUNT ON
         INSERT audit (cid, delta) SELECT id, -n FROM deleted
         INSERT audit (cid, delta) SELECT id, n FROM inserted')",
    "USE d EXEC ('CREATE PROCEDURE move_up @from int, @to int AS
         SET NOCOUNT ON
         SELECT id INTO #moving FROM c WHERE pid = @from
         UPDATE c SET pid = @to WHERE id IN (SELECT id FROM #moving) AND EXISTS (SELECT 1 FROM p WHERE id = @to)')",
    "USE d INSERT p (id) VALUES (0), (1), (2), (3), (4), (5), (6), (7)",
];

fn statement(random: &mut fastrand::Rng) -> String {
    let (id, p, n) = (random.u32(0..200), random.u32(0..12), random.u32(0..110));
    match random.u8(0..12) {
        0..=3 => format!("INSERT c VALUES ({id}, {p}, {n}, REPLICATE('x', {n}))"),
        4 => format!(
            "INSERT c SELECT {id} + v, {p}, 1 + v, 'several' FROM (VALUES (200), (401), (602)) AS x (v)"
        ),
        5 | 6 => format!("UPDATE c SET n = n + {} WHERE pid = {p}", n % 7),
        7 => format!("DELETE c WHERE id = {id}"),
        8 => format!("DELETE p WHERE id = {p}; INSERT p (id) VALUES ({p})"),
        9 => format!(
            "UPDATE p SET id = id + 20 WHERE id = {p}; INSERT p (id) SELECT {p} WHERE NOT EXISTS (SELECT 1 FROM p WHERE id = {p})"
        ),
        10 => format!("EXEC move_up {p}, {}", random.u32(0..12)),
        _ => format!(
            "INSERT g SELECT COALESCE(MAX(id), 0) + 1, (SELECT MIN(id) FROM c WHERE id > {id}) FROM g"
        ),
    }
}

/// Transactions of one session until the power goes; gives the number of the last one that was acknowledged.
fn work(instance: &Arc<Instance>, session: u32, seed: u64) -> u32 {
    let mut random = fastrand::Rng::with_seed(seed * 10 + u64::from(session));
    let Ok(mut own) = instance.session() else { return 0 };
    let mut acknowledged = 0;
    own.execute("USE d SET NOCOUNT ON CREATE TABLE #mine (a int)", &mut Text::default());
    for no in 1..60 {
        let mut sql = String::from("SET NOCOUNT ON BEGIN TRAN; ");
        for _ in 0..random.u8(1..4) {
            sql += &statement(&mut random);
            sql += "; INSERT #mine VALUES (1); ";
        }
        let end = if random.u8(0..8) == 0 { "ROLLBACK" } else { "COMMIT" };
        // A statement may have failed and even ended the transaction: then there is nothing to commit.
        sql += &format!(
            "IF XACT_STATE() = 1
             BEGIN
                 INSERT done VALUES ({session}, {no})
                 IF @@ERROR <> 0 ROLLBACK ELSE BEGIN {end}; PRINT 'ended {end}' END
             END
             ELSE IF @@TRANCOUNT > 0 ROLLBACK"
        );
        let mut said = Text::default();
        own.execute(&sql, &mut said);
        if said.out.contains("ended COMMIT") {
            acknowledged = no;
        }
        if own.trancount() > 0 {
            own.execute("ROLLBACK", &mut Text::default());
        }
        if ["Msg 9001", "Msg 823", "Msg 926", "Msg 945", "Msg 6005"].iter().any(|e| said.out.contains(e)) {
            break;
        }
    }
    acknowledged
}

fn history(seed: u64) {
    let config = SimConfig { capacity: 256 << 20, ..SimConfig::default() };
    let disk = SimDisk::with_config(seed, config);
    let instance = try_open(&disk, MEMORY).expect("a fresh instance");
    for sql in TABLES {
        let said = say(&instance, sql);
        assert!(!said.contains("Msg "), "seed {seed}: {sql}\n{said}");
    }
    let mut random = fastrand::Rng::with_seed(seed);
    disk.crash_at(disk.io_count() + 1 + random.u64(0..400));
    let sessions = 1 + seed as u32 % 3;
    let acknowledged: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions).map(|n| (n, instance.clone())).collect();
        let threads: Vec<_> =
            threads.into_iter().map(|(n, instance)| scope.spawn(move || work(&instance, n, seed))).collect();
        threads.into_iter().map(|t| t.join().expect("a session panicked")).collect()
    });
    drop(instance);
    let disk = disk.crash(seed + 1);
    let instance = try_open(&disk, MEMORY).unwrap_or_else(|| panic!("seed {seed}: it does not open"));
    let ask = |sql: &str, expected: &str| {
        let said = say(&instance, sql);
        let said = said.strip_prefix("Changed database context to 'd'.").unwrap_or(&said).trim();
        assert_eq!(said, expected, "seed {seed}: {sql}");
    };
    ask("USE d SELECT COUNT(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.id = c.pid)", "0");
    ask(
        "USE d SELECT COUNT(*) FROM g WHERE cid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM c WHERE c.id = g.cid)",
        "0",
    );
    ask("USE d SELECT COUNT(*) FROM c WHERE n NOT BETWEEN 1 AND 99", "0");
    ask(
        "USE d SELECT COUNT(*) FROM (SELECT cid, SUM(delta) AS n FROM audit GROUP BY cid) AS a
         FULL JOIN c ON c.id = a.cid WHERE COALESCE(a.n, 0) <> COALESCE(c.n, 0)",
        "0",
    );
    ask("SELECT COUNT(*) FROM tempdb.sys.tables", "0");
    for (session, no) in acknowledged.iter().enumerate().filter(|(_, no)| **no > 0) {
        ask(&format!("USE d SELECT COUNT(*) FROM done WHERE session = {session} AND no = {no}"), "1");
    }
    ask("DBCC CHECKDB (d) WITH NO_INFOMSGS", "");
    // It goes on: constraints and triggers are the ones that were made.
    ask("USE d SET NOCOUNT ON DELETE g; DELETE p; SELECT COUNT(*) FROM c", "0");
    ask("USE d SELECT COUNT(*) FROM (SELECT cid FROM audit GROUP BY cid HAVING SUM(delta) <> 0) AS x", "0");
}

#[test]
fn what_follows_a_change_survives_with_it() {
    let from = number("RINGWOOD_CRASH_FROM", 0);
    (from..from + number("RINGWOOD_CRASH_SEEDS", 40)).for_each(history);
}
