//! Power loss under statements with consequences: cascades, triggers that keep an audit, INSTEAD OF
//! triggers of a view, MERGE with OUTPUT INTO, changes through common table expressions, temporary
//! tables, indexes that come and go, rows that change tables, several sessions at once. After the
//! restart every child has a parent, the audit adds up to the rows, tempdb is empty, every
//! acknowledged commit is there, and the integrity check is clean.
//!
//! `RINGWOOD_CRASH_SEEDS=2000 cargo test --release -p ringwood-engine --test it crash_chains::`
//! runs more; RINGWOOD_CRASH_FROM sets the first seed, so a failing seed can be run alone.

use std::sync::Arc;

use crate::support::text::{Text, say, try_open};
use engine::Instance;
use sim::{SimConfig, SimDisk};

const MEMORY: u64 = 4 << 20;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

const TABLES: [&str; 14] = [
    "CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf', SIZE = 4MB) LOG ON (NAME = l, FILENAME = 'd.ldf', SIZE = 2MB)",
    "USE d CREATE TABLE p (id int PRIMARY KEY, name varchar(10) NULL)",
    "USE d CREATE TABLE c (id int PRIMARY KEY, pid int NOT NULL REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE,
                           n int NOT NULL CHECK (n BETWEEN 1 AND 99), pad varchar(200))",
    // One row, which is in one of two tables.
    "USE d CREATE TABLE s1 (id int PRIMARY KEY, m varchar(max)) CREATE INDEX by_id ON s1 (id) WHERE id > 0
           CREATE TABLE s2 (id int PRIMARY KEY, m varchar(max)) CREATE INDEX by_id ON s2 (id) WHERE id > 0
           INSERT s1 VALUES (1, REPLICATE(CAST('x' AS varchar(max)), 9000))",
    "USE d CREATE INDEX few ON c (n, pad) WHERE n > 50 AND pid IN (0, 1, 2, 3) CREATE UNIQUE INDEX nobody ON p (name, id) WHERE name IS NULL",
    "USE d CREATE INDEX by_parent ON c (pid) CREATE TABLE g (id int PRIMARY KEY, cid int NULL REFERENCES c ON DELETE SET NULL)",
    "USE d CREATE TABLE audit (no int IDENTITY PRIMARY KEY, cid int, delta int)
           CREATE TABLE done (session int, no int, PRIMARY KEY (session, no))",
    // Each change of a child is in the audit, also what cascades do.
    "USE d EXEC ('CREATE TRIGGER keep ON c FOR INSERT, UPDATE, DELETE AS
         SET NOCOUNT ON
         INSERT audit (cid, delta) SELECT id, -n FROM deleted
         INSERT audit (cid, delta) SELECT id, n FROM inserted')",
    "USE d CREATE TABLE merged (no int IDENTITY PRIMARY KEY, what nvarchar(10), cid int, old int NULL, new int NULL)",
    // A view whose rows are changed by its triggers.
    "USE d EXEC ('CREATE VIEW cv AS SELECT c.id, c.pid, c.n, p.name FROM c JOIN p ON p.id = c.pid')",
    "USE d EXEC ('CREATE TRIGGER cv_in ON cv INSTEAD OF INSERT, UPDATE AS
         SET NOCOUNT ON
         MERGE c USING inserted AS i ON i.id = c.id
         WHEN MATCHED THEN UPDATE SET pid = i.pid, n = i.n
         WHEN NOT MATCHED THEN INSERT (id, pid, n) VALUES (i.id, i.pid, i.n)
         OUTPUT $action, COALESCE(inserted.id, deleted.id), deleted.n, inserted.n INTO merged;')",
    "USE d EXEC ('CREATE TRIGGER cv_out ON cv INSTEAD OF DELETE AS
         SET NOCOUNT ON
         DELETE c FROM c JOIN deleted AS d ON d.id = c.id')",
    "USE d EXEC ('CREATE PROCEDURE move_up @from int, @to int AS
         SET NOCOUNT ON
         SELECT id INTO #moving FROM c WHERE pid = @from
         UPDATE c SET pid = @to WHERE id IN (SELECT id FROM #moving) AND EXISTS (SELECT 1 FROM p WHERE id = @to)')",
    "USE d INSERT p (id) VALUES (0), (1), (2), (3), (4), (5), (6), (7)",
];

fn statement(random: &mut fastrand::Rng) -> String {
    let (id, p, n) = (random.u32(0..200), random.u32(0..12), random.u32(0..110));
    match random.u8(0..20) {
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
        11 | 12 => format!(
            "MERGE c USING (VALUES ({id}, 1), ({id} + 1, 2), ({id} + 2, {n})) AS v (id, n) ON v.id = c.id
             WHEN MATCHED AND c.n > 50 THEN DELETE
             WHEN MATCHED THEN UPDATE SET n = v.n, pad = REPLICATE('m', v.n)
             WHEN NOT MATCHED THEN INSERT VALUES (v.id, {p}, v.n, NULL)
             WHEN NOT MATCHED BY SOURCE AND c.pid = {p} AND c.id % 5 = 0 THEN DELETE
             OUTPUT $action, COALESCE(inserted.id, deleted.id), deleted.n, inserted.n INTO merged"
        ),
        13 => format!("INSERT cv (id, pid, n) VALUES ({id}, {p}, {n}), ({id} + 3, {p}, 3)"),
        14 => format!("UPDATE cv SET n = n % 9 + 1, pid = {p} WHERE id BETWEEN {id} AND {id} + 9"),
        15 => format!("DELETE cv WHERE pid = {p} AND n > {n}"),
        16 => format!(
            "WITH o AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY id) AS no FROM c) DELETE o WHERE no > 15;
             WITH o AS (SELECT TOP (3) n FROM c WHERE pid = {p} ORDER BY n) UPDATE o SET n += 1"
        ),
        17 if p < 4 => "ALTER INDEX few ON c DISABLE".to_string(),
        17 => "ALTER INDEX few ON c REBUILD".to_string(),
        18 => "ALTER TABLE s1 SWITCH TO s2; UPDATE s2 SET id = id + 1, m = CONCAT(m, 'y')".to_string(),
        19 => "ALTER TABLE s2 SWITCH TO s1".to_string(),
        10 => format!("EXEC move_up {p}, {}", random.u32(0..12)),
        _ => format!(
            "INSERT g SELECT COALESCE(MAX(id), 0) + 1, (SELECT MIN(id) FROM c WHERE id > {id}) FROM g"
        ),
    }
}

/// Transactions of one session until the power goes; gives the number of the last one that was
/// acknowledged.
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
        // A statement may have failed and even ended the transaction: then there is nothing to
        // commit.
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
        if ["Msg 9001", "Msg 823", "Msg 926", "Msg 945", "Msg 6005"]
            .iter()
            .any(|e| said.out.contains(e))
        {
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
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(n, instance)| scope.spawn(move || work(&instance, n, seed)))
            .collect();
        threads.into_iter().map(|t| t.join().expect("a session panicked")).collect()
    });
    drop(instance);
    let disk = disk.crash(seed + 1);
    let instance =
        try_open(&disk, MEMORY).unwrap_or_else(|| panic!("seed {seed}: it does not open"));
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
        "USE d SELECT COUNT(*) FROM (SELECT id FROM s1 WHERE id > 0 UNION ALL SELECT id FROM s2 WHERE LEN(m) >= 9000) AS s",
        "1",
    );
    ask(
        "USE d SELECT COUNT(*) FROM (SELECT cid, SUM(delta) AS n FROM audit GROUP BY cid) AS a
         FULL JOIN c ON c.id = a.cid WHERE COALESCE(a.n, 0) <> COALESCE(c.n, 0)",
        "0",
    );
    // What MERGE has put out it has done: the trigger has noted the same.
    ask(
        "USE d SELECT COUNT(*) FROM merged AS m WHERE
             (m.new IS NOT NULL AND NOT EXISTS (SELECT 1 FROM audit AS a WHERE a.cid = m.cid AND a.delta = m.new))
             OR (m.old IS NOT NULL AND NOT EXISTS (SELECT 1 FROM audit AS a WHERE a.cid = m.cid AND a.delta = -m.old))",
        "0",
    );
    ask("SELECT COUNT(*) FROM tempdb.sys.tables", "0");
    for (session, no) in acknowledged.iter().enumerate().filter(|(_, no)| **no > 0) {
        ask(
            &format!("USE d SELECT COUNT(*) FROM done WHERE session = {session} AND no = {no}"),
            "1",
        );
    }
    ask("DBCC CHECKDB (d) WITH NO_INFOMSGS", "");
    // It goes on: constraints and triggers are the ones that were made.
    ask(
        "USE d SET NOCOUNT ON DELETE c WHERE id = 7000; INSERT p SELECT 7000, 'x' WHERE NOT EXISTS (SELECT 1 FROM p WHERE id = 7000)
         INSERT cv (id, pid, n) VALUES (7000, 7000, 7); SELECT n FROM c WHERE id = 7000",
        "7",
    );
    ask("USE d SET NOCOUNT ON DELETE g; DELETE p; SELECT COUNT(*) FROM c", "0");
    ask(
        "USE d SELECT COUNT(*) FROM (SELECT cid FROM audit GROUP BY cid HAVING SUM(delta) <> 0) AS x",
        "0",
    );
}

#[test]
fn what_follows_a_change_survives_with_it() {
    let from = number("RINGWOOD_CRASH_FROM", 0);
    (from..from + number("RINGWOOD_CRASH_SEEDS", 40)).for_each(history);
}
