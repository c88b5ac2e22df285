//! Clean stops: `ringwood sql` under a load of delayed commits is told to stop by SIGTERM, again
//! and again. Nothing that was acknowledged may be missing, although the window of delayed
//! durability is far larger than the load.
//!
//! `RINGWOOD_STOPS=50 cargo test -p ringwood-cli --test it stop::` runs more rounds than the few of
//! the normal run.

use ringwood::{Options, Value};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Each message says that the commit before it was acknowledged.
const LOAD: &str = "set nocount on;
    declare @i int = isnull((select max(i) from t), 0);
    while 1 = 1
    begin
        set @i += 1;
        insert t values (@i);
        raiserror('%d', 0, 1, @i) with nowait;
    end";

#[test]
fn a_termination_signal_loses_nothing() {
    let folder = tempfile::tempdir().expect("scratch folder");
    {
        let db = Options::new(folder.path()).memory(64 << 20).open().expect("open");
        let mut session = db.session().expect("session");
        session.execute("create database stops").expect("create");
        session
            .execute(
                "alter database stops set delayed_durability = forced (window_ms = 60000, window_kb = 65536)",
            )
            .expect("option");
        session.execute("use stops create table t (i int not null primary key)").expect("table");
        drop(session);
        db.close().expect("close");
    }
    let stops = std::env::var("RINGWOOD_STOPS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    for round in 0..stops {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args(["sql", "--memory", "64MB", "-d", "stops", "-Q", LOAD, "--data"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start");
        let mut last = 0;
        let mut said = Vec::new();
        for (n, line) in BufReader::new(child.stderr.take().expect("stderr")).lines().enumerate() {
            let line = line.expect("a line");
            match line.parse::<i32>() {
                Ok(i) => last = last.max(i),
                Err(_) => said.push(line),
            }
            if n == 100 + 37 * round {
                kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
            }
        }
        let status = child.wait().expect("status");
        assert_eq!(status.code(), Some(128 + 15), "{said:?}");
        let db = Options::new(folder.path()).memory(64 << 20).open().expect("open again");
        let mut session = db.session().expect("session");
        let found = session.query("select max(i), count(*) from stops.dbo.t").expect("count");
        let Some([Value::Int(max), Value::Int(count)]) = found.rows.first().map(Vec::as_slice)
        else {
            panic!("{found:?}");
        };
        assert!(
            *max >= last && max == count,
            "acknowledged {last}, there are {count} up to {max}; {said:?}"
        );
        drop(session);
        db.close().expect("close");
    }
}
