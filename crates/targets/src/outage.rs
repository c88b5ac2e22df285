//! What a power failure, or a stop of the operating system, takes from sessions that commit one row
//! after the other: an embedded instance on a simulated disk, which ends at a random operation, in
//! the middle of whatever the engine does. What was acknowledged is noted by the sessions' threads,
//! outside of the engine. Guarantees: of each session the rows that are there afterwards are the
//! first ones it committed, or it is an error; so is a row that nobody committed.

use crate::LabError;
use crate::embedded::{Embedded, OpenOptions, page_memory};
use crate::tsql::{self, Connection, Server};
use crate::work::{Figure, Outage};
use sim::SimDisk;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The disk ends with one of so many operations from the beginning of the commits on.
const OPERATIONS: u64 = 200;
/// More rows no session commits: the disk would have ended long before.
const MOST_ROWS: i32 = 1_000_000;
/// Memory of the buffer pool.
const MEMORY: u64 = 64 << 20;

/// Sessions that commit until the disk ends, at so many moments, each with a new instance: the most
/// acknowledged rows that were missing afterwards, and how many had been acknowledged in all.
pub(super) fn outage(
    sessions: u32,
    moments: u32,
    window_kb: Option<u32>,
    outage: Outage,
) -> Result<Vec<Figure>, LabError> {
    let (mut missing, mut acknowledged) = (0, 0);
    for _ in 0..moments {
        let seed = fastrand::u64(..);
        let found = moment(sessions, window_kb, outage, seed)
            .map_err(|e| LabError::Request(format!("outage with seed {seed}: {e}")))?;
        missing = missing.max(found.missing);
        acknowledged += found.acknowledged;
    }
    Ok(vec![
        Figure::new("rows", f64::from(missing)),
        Figure::named("acknowledged in all", "rows", f64::from(acknowledged)),
    ])
}

/// What one moment has left.
struct OutageResult {
    acknowledged: i32,
    missing: i32,
}

fn open(disk: &SimDisk) -> Result<Embedded, LabError> {
    Embedded::open(OpenOptions {
        folder: "/outage".into(),
        memory: page_memory(MEMORY, false)?,
        volumes: HashMap::new(),
        disk: Some(Arc::new(disk.clone())),
        flags: vec![],
    })
}

fn moment(
    sessions: u32,
    window_kb: Option<u32>,
    outage: Outage,
    seed: u64,
) -> Result<OutageResult, LabError> {
    let disk = SimDisk::new(seed);
    let server = open(&disk)?;
    make(&server, window_kb)?;
    let clients = (0..sessions)
        .map(|_| server.connect(Some(tsql::DATABASE)))
        .collect::<Result<Vec<_>, _>>()?;
    let acknowledged: Vec<AtomicI32> = (0..sessions).map(|_| AtomicI32::new(0)).collect();
    let after = 1 + fastrand::Rng::with_seed(seed).u64(0..OPERATIONS);
    disk.crash_at(disk.io_count() + after);
    let refused: Vec<Option<LabError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .zip(&acknowledged)
            .enumerate()
            .map(|(session, (client, done))| {
                scope.spawn(move || until_refused(client, session, done))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
    });
    if !disk.has_crashed() {
        let why = refused.into_iter().flatten().next();
        let why = why.map_or_else(|| "nothing failed".into(), |e| e.to_string());
        return Err(LabError::Request(format!("the sessions ended before the disk did: {why}")));
    }
    // Its log can no longer be written, and it says so.
    let _ = server.close();
    drop(server);
    let left = match outage {
        Outage::Power => disk.crash(seed),
        Outage::System => disk.crash_keeping(|_| true),
    };
    let acknowledged: Vec<i32> = acknowledged.into_iter().map(AtomicI32::into_inner).collect();
    look(&left, &acknowledged)
}

/// The database and its empty table, all of it written.
fn make(server: &Embedded, window_kb: Option<u32>) -> Result<(), LabError> {
    let mut client = server.connect(None)?;
    let database = tsql::DATABASE;
    client.run(&format!("create database {database}"))?;
    if let Some(kb) = window_kb {
        let window = format!("(window_ms = 1000, window_kb = {kb})");
        client
            .run(&format!("alter database {database} set delayed_durability = forced {window}"))?;
    }
    client.run(&format!("use {database}"))?;
    // Rows as large as those of `one_row`.
    client.run(
        "create table commits (s int not null, n int not null, b char(92) not null); checkpoint",
    )?;
    Ok(())
}

/// Commits rows 0, 1, 2, ... until one is refused; `done` is how many were acknowledged. What
/// refused.
fn until_refused(
    mut client: Box<dyn Connection>,
    session: usize,
    done: &AtomicI32,
) -> Option<LabError> {
    let prepared = client.prepare(&format!("insert commits values ({session}, @a, 'x')"));
    let mut insert = match prepared {
        Ok(insert) => insert,
        Err(error) => return Some(error),
    };
    for number in 0..MOST_ROWS {
        if let Err(error) = insert(number) {
            return Some(error);
        }
        done.store(number + 1, Ordering::Relaxed);
    }
    None
}

/// Opens what is left and compares it with what was acknowledged.
fn look(disk: &SimDisk, acknowledged: &[i32]) -> Result<OutageResult, LabError> {
    let server = open(disk)?;
    let mut client = server.connect(Some(tsql::DATABASE))?;
    let reply = client.run("select s, count(*), max(n) from commits group by s")?;
    let mut there = vec![0; acknowledged.len()];
    for row in reply.sets.iter().flatten() {
        let field = |at: usize| row.get(at).and_then(|f| f.as_ref()?.parse::<i32>().ok());
        let wrong = || LabError::Request(format!("rows that nobody committed: {row:?}"));
        let (session, count, last) =
            field(0).zip(field(1)).zip(field(2)).map(|((s, c), l)| (s, c, l)).ok_or_else(wrong)?;
        if count != last + 1 {
            let what =
                format!("{count} of the first {} rows of session {session} are there", last + 1);
            return Err(LabError::Request(format!("{what}: commits are missing in the middle")));
        }
        let at = usize::try_from(session).ok().filter(|at| *at < there.len()).ok_or_else(wrong)?;
        // The last one may have been committed and not acknowledged.
        if count > acknowledged[at] + 1 {
            return Err(wrong());
        }
        there[at] = count;
    }
    drop(client);
    server.close()?;
    let missing = acknowledged.iter().zip(&there).map(|(acked, there)| (acked - there).max(0));
    Ok(OutageResult { missing: missing.sum(), acknowledged: acknowledged.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `ROW` bytes at least: what a window of so many KB can hold.
    const ROW: i32 = 100;

    #[test]
    fn durable_commits_survive_and_delayed_ones_lose_a_window_at_most() {
        for outage in [Outage::Power, Outage::System] {
            for (window_kb, most) in [(None, 0), (Some(60), 60 * 1024 / ROW)] {
                for seed in 0..3 {
                    let found = moment(16, window_kb, outage, seed).unwrap();
                    assert!(
                        found.missing <= most,
                        "{outage:?}, {window_kb:?}, seed {seed}: {}",
                        found.missing
                    );
                }
            }
        }
    }

    /// A disk that takes back what it had promised is found out.
    #[test]
    fn what_is_missing_is_counted_and_a_gap_is_an_error() {
        let disk = SimDisk::new(1);
        let server = open(&disk).unwrap();
        make(&server, None).unwrap();
        let mut client = server.connect(Some(tsql::DATABASE)).unwrap();
        client.run("insert commits values (0, 0, 'x'), (0, 1, 'x'), (1, 0, 'x')").unwrap();
        drop(client);
        server.close().unwrap();
        drop(server);
        let missing = |acknowledged: &[i32]| look(&disk, acknowledged).map(|found| found.missing);
        assert_eq!(missing(&[2, 1]).unwrap(), 0);
        assert_eq!(missing(&[1, 0]).unwrap(), 0, "committed and not acknowledged");
        assert_eq!(missing(&[5, 1]).unwrap(), 3);
        assert!(missing(&[0, 1]).is_err(), "two more than were acknowledged");
        assert!(missing(&[2]).is_err(), "a session that was not there");
        let server = open(&disk).unwrap();
        let mut client = server.connect(Some(tsql::DATABASE)).unwrap();
        client.run("insert commits values (1, 3, 'x')").unwrap();
        drop(client);
        server.close().unwrap();
        drop(server);
        let error = look(&disk, &[2, 4]).map(|found| found.missing).unwrap_err().to_string();
        assert!(error.contains("missing in the middle"), "{error}");
    }
}
