//! Backups to and restores from a real S3 server, as statements: chains under load against a model,
//! wrong keys, missing buckets, a server that goes away in the middle. The server is installed from
//! the registry by `scripts/s3-server`; a machine that cannot have it fails these tests.

#[path = "../../../engine/tests/it/support/text.rs"]
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::support::server::{self, KEY_ID, Proxy, SECRET, Server};
use engine::{Instance, InstanceOptions, UrlDevices};
use ringwood_s3::S3;
use sim::SimDisk;
use text::say;

/// Every statement says that it may go without TLS: the server has none.
const PLAIN: &str = r#"BACKUP_OPTIONS = '{"s3": {"tls": false}}'"#;
const FROM_PLAIN: &str = r#"RESTORE_OPTIONS = '{"s3": {"tls": false}}'"#;

fn open(disk: &SimDisk) -> Arc<Instance> {
    let s3: Arc<dyn UrlDevices> = Arc::new(S3::new().expect("a thread"));
    let options = InstanceOptions {
        memory_bytes: Some(64 << 20),
        disk: Arc::new(disk.clone()),
        url_devices: Some(s3),
        ..InstanceOptions::new("/data")
    };
    Instance::open(options).expect("the instance opens")
}

#[track_caller]
fn run(instance: &Arc<Instance>, sql: &str) {
    let said = say(instance, sql);
    assert!(!said.contains("Msg "), "{sql}\n{said}");
}

#[track_caller]
fn fails(instance: &Arc<Instance>, sql: &str, numbers: &[i32], words: &str) {
    let said = say(instance, sql);
    let found: Vec<i32> = said
        .lines()
        .filter_map(|line| line.strip_prefix("Msg ")?.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(found, numbers, "{sql}\n{said}");
    assert!(said.contains(words), "{sql}\n{said}");
    assert!(!said.contains(SECRET), "a message shows the secret");
}

/// A database with about 24 MB in `fill`, so that an upload has several parts, and a small table
/// `t`.
fn sales(host: &str) -> Arc<Instance> {
    let instance = open(&SimDisk::new(17));
    run(
        &instance,
        "CREATE DATABASE Sales; ALTER DATABASE Sales SET RECOVERY FULL; ALTER DATABASE Sales MODIFY FILE (NAME = 'Sales_log', \
         SIZE = 64MB)",
    );
    run(
        &instance,
        "USE Sales; SET NOCOUNT ON; CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL); CREATE TABLE fill (c char(4000)); \
         CREATE TABLE one (n int); CREATE TABLE two (n int); \
         DECLARE @i int = 0; WHILE @i < 60 BEGIN INSERT fill SELECT TOP 100 'x' FROM sys.all_columns; SET @i += 1; END",
    );
    credential(&instance, &format!("s3://{host}/backups"), SECRET);
    instance
}

fn credential(instance: &Arc<Instance>, name: &str, secret: &str) {
    run(
        instance,
        &format!(
            "CREATE CREDENTIAL [{name}] WITH IDENTITY = 'S3 Access Key', SECRET = '{KEY_ID}:{secret}'"
        ),
    );
}

/// Pairs of rows in one transaction each, until it is told to stop.
fn load(instance: &Arc<Instance>, stop: &AtomicBool) {
    let mut session = instance.session().expect("a session");
    session.use_database("Sales").expect("Sales is there");
    let mut n = 0;
    while !stop.load(Relaxed) {
        n += 1;
        let mut out = text::Text::default();
        let pair = format!("BEGIN TRAN; INSERT one VALUES ({n}); INSERT two VALUES ({n}); COMMIT");
        session.execute(&pair, &mut out);
        assert!(!out.out.contains("Msg "), "{}", out.out);
    }
    assert!(n > 20, "there was load");
}

#[test]
fn chains_taken_under_load_are_restored_to_any_time() {
    let server = Server::start();
    let host = server.host();
    let instance = sales(&host);
    let stop = AtomicBool::new(false);
    let mut rng = fastrand::Rng::with_seed(5);
    let mut model = std::collections::BTreeMap::new();
    // (moment, rows and sum of t then)
    let mut moments = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| load(&instance, &stop));
        let full = format!(
            "BACKUP DATABASE Sales TO URL = 's3://{host}/backups/deep/er/a.bak', URL = 's3://{host}/backups/b.bak' WITH \
             MAXTRANSFERSIZE = 5242880, CHECKSUM, {PLAIN}"
        );
        run(&instance, &full);
        for log in 0..4 {
            for _ in 0..10 {
                change(&instance, &mut rng, &mut model);
                let now = say(&instance, "SELECT CONVERT(varchar(30), SYSUTCDATETIME(), 126)");
                moments.push((now, model.len(), model.values().sum::<i32>(), log));
                std::thread::sleep(Duration::from_millis(2));
            }
            run(
                &instance,
                &format!(
                    "BACKUP LOG Sales TO URL = 's3://{host}/backups/{log}.trn' WITH COMPRESSION, {PLAIN}"
                ),
            );
        }
        stop.store(true, Relaxed);
    });
    for (i, (moment, rows, sum, last)) in moments.iter().enumerate().filter(|(i, _)| i % 7 == 3) {
        let moves = format!("MOVE 'Sales' TO 'c{i}.mdf', MOVE 'Sales_log' TO 'c{i}.ldf'");
        run(
            &instance,
            &format!(
                "RESTORE DATABASE c{i} FROM URL = 's3://{host}/backups/b.bak', URL = \
                 's3://{host}/backups/deep/er/a.bak' WITH NORECOVERY, {moves}, {FROM_PLAIN}"
            ),
        );
        for log in 0..=*last {
            let end = if log == *last {
                format!("STOPAT = '{moment}'")
            } else {
                "NORECOVERY".to_string()
            };
            run(
                &instance,
                &format!(
                    "RESTORE LOG c{i} FROM URL = 's3://{host}/backups/{log}.trn' WITH {end}, {FROM_PLAIN}"
                ),
            );
        }
        let found =
            say(&instance, &format!("SELECT COUNT(*), COALESCE(SUM(b), 0) FROM c{i}.dbo.t"));
        assert_eq!(found, format!("{rows}|{sum}"), "as of {moment}");
        let pairs = format!(
            "SELECT (SELECT COUNT(*) FROM c{i}.dbo.one) - (SELECT COUNT(*) FROM c{i}.dbo.two), (SELECT COUNT(*) FROM \
             c{i}.dbo.fill)"
        );
        assert_eq!(say(&instance, &pairs), "0|6000", "transactions are whole");
        run(&instance, &format!("DROP DATABASE c{i}"));
    }
    let lists =
        format!("RESTORE VERIFYONLY FROM URL = 's3://{host}/backups/0.trn' WITH {FROM_PLAIN}");
    assert_eq!(say(&instance, &lists), "The backup set on file 1 is valid.");
    assert_eq!(server.leftovers(), Vec::<String>::new(), "parts are gone once an object is there");
}

/// One random change of `t`, in the database and in the model.
fn change(
    instance: &Arc<Instance>,
    rng: &mut fastrand::Rng,
    model: &mut std::collections::BTreeMap<i32, i32>,
) {
    let (a, b) = (rng.i32(0..50), rng.i32(0..1000));
    let sql = match (model.contains_key(&a), rng.bool()) {
        (false, _) => format!("INSERT Sales.dbo.t VALUES ({a}, {b})"),
        (true, true) => format!("UPDATE Sales.dbo.t SET b = {b} WHERE a = {a}"),
        (true, false) => format!("DELETE Sales.dbo.t WHERE a = {a}"),
    };
    run(instance, &sql);
    if sql.starts_with("DELETE") {
        model.remove(&a);
    } else {
        model.insert(a, b);
    }
}

#[test]
fn what_the_server_refuses_is_said_and_work_goes_on() {
    let server = Server::start();
    let host = server.host();
    let instance = sales(&host);
    let to = |url: &str, with: &str| {
        format!("BACKUP DATABASE Sales TO URL = '{url}' WITH COPY_ONLY, {with}")
    };
    let good = format!("s3://{host}/backups/x.bak");
    run(&instance, &to(&good, PLAIN));
    fails(&instance, &to(&good, PLAIN), &[3296, 3013], "exists on the remote endpoint");
    run(&instance, &to(&good, &format!("FORMAT, {PLAIN}")));
    let other = server::without_buckets();
    credential(&instance, &format!("s3://{other}/nowhere"), SECRET);
    let nowhere = format!("s3://{other}/nowhere/x.bak");
    fails(
        &instance,
        &to(&nowhere, PLAIN),
        &[3201, 3013],
        "Operating system error 50(The request is not supported.).",
    );
    let unknown = format!("s3://{host}/unknown/x.bak");
    fails(
        &instance,
        &to(&unknown, PLAIN),
        &[3201, 3013],
        "Operating system error 50(The request is not supported.).",
    );
    credential(&instance, &format!("s3://{host}/backups/wrong"), "wrong");
    let wrong = format!("s3://{host}/backups/wrong/x.bak");
    fails(
        &instance,
        &to(&wrong, PLAIN),
        &[3201, 3013],
        "Operating system error 5(Access is denied.).",
    );
    // TLS is asked for unless the statement says otherwise, and this server has none.
    fails(&instance, &to(&good, "FORMAT"), &[3201, 3013], "Operating system error 12175(");
    let missing =
        format!("RESTORE HEADERONLY FROM URL = 's3://{host}/backups/none.bak' WITH {FROM_PLAIN}");
    fails(&instance, &missing, &[3201, 3013], "Operating system error 2(");
    credential(&instance, "s3://127.0.0.1:1/backups", SECRET);
    fails(
        &instance,
        &to("s3://127.0.0.1:1/backups/x", PLAIN),
        &[3201, 3013],
        "Operating system error 12029(",
    );
    run(&instance, "INSERT Sales.dbo.t VALUES (1, 1)");
    run(&instance, &to(&good, &format!("FORMAT, {PLAIN}")));
    let verify = format!("RESTORE VERIFYONLY FROM URL = '{good}' WITH {FROM_PLAIN}");
    assert_eq!(say(&instance, &verify), "The backup set on file 1 is valid.");
}

#[test]
fn a_server_that_goes_away_fails_the_statement_alone() {
    let server = Server::start();
    let host = server.host();
    let instance = sales(&host);
    // One stripe goes straight to the server, the other through a proxy that dies after 7 MB.
    let proxy = Proxy::start(&host, 7 << 20);
    credential(&instance, &format!("s3://{}/backups", proxy.host()), SECRET);
    let with = format!("MAXTRANSFERSIZE = 5242880, {PLAIN}");
    let both = format!(
        "BACKUP DATABASE Sales TO URL = 's3://{host}/backups/one.bak', URL = 's3://{}/backups/two.bak' WITH {with}",
        proxy.host()
    );
    fails(&instance, &both, &[3202, 3013], "Write on \"s3://");
    // Nothing of either is there; the parts of the one that could still be reached are gone too.
    assert_eq!(server.objects(), Vec::<String>::new());
    let left = server.leftovers();
    assert!(left.len() <= 2, "only what the dead proxy has carried may be left: {left:?}");
    run(&instance, "INSERT Sales.dbo.t VALUES (1, 1)");
    run(
        &instance,
        &format!("BACKUP DATABASE Sales TO URL = 's3://{host}/backups/full.bak' WITH {with}"),
    );
    run(&instance, "INSERT Sales.dbo.t VALUES (2, 2)");
    run(&instance, &format!("BACKUP LOG Sales TO URL = 's3://{host}/backups/log.trn' WITH {with}"));
    // The same while restoring: the step did not happen and is made again.
    let proxy = Proxy::start(&host, 7 << 20);
    credential(&instance, &format!("s3://{}/backups", proxy.host()), SECRET);
    let restore = |host: &str| {
        format!(
            "RESTORE DATABASE Copy FROM URL = 's3://{host}/backups/full.bak' WITH NORECOVERY, REPLACE, MOVE 'Sales' TO \
             'c.mdf', MOVE 'Sales_log' TO 'c.ldf', {FROM_PLAIN}"
        )
    };
    fails(&instance, &restore(&proxy.host()), &[3203, 3013], "Read on \"s3://");
    run(&instance, &restore(&host));
    run(
        &instance,
        &format!("RESTORE LOG Copy FROM URL = 's3://{host}/backups/log.trn' WITH {FROM_PLAIN}"),
    );
    assert_eq!(say(&instance, "SELECT COUNT(*) FROM Copy.dbo.t"), "2");
}
