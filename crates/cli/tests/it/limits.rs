//! Memory of queries at a server with many connections: a statement that needs more than it may
//! have gets error 701, all others go on.
//!
//! `RINGWOOD_CONNECTIONS=1000 cargo test -p ringwood-cli --test it limits::` takes more
//! connections.

use crate::support::served::{ServedInstance, batch};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Connections that ask for too much, each as often as this.
const GREEDY: usize = 4;
const TIMES: usize = 3;

#[test]
fn a_greedy_statement_gets_701_and_others_go_on() {
    let connections =
        std::env::var("RINGWOOD_CONNECTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(50);
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(
        folder.path(),
        &["--memory", "32MB", "--query-memory", "64MB", "--max-query-memory", "8MB"],
    );
    let mut first = server.connect();
    for text in [
        "create database d",
        "use d create table t (k int not null primary key, v int not null)",
        "use d set nocount on declare @i int = 0 begin tran while @i < 1000 begin insert t values (@i, @i) set @i += 1 end commit",
    ] {
        assert!(batch(&mut first, text).unwrap().errors.is_empty(), "{text}");
    }
    let (over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    // 40 MB that cannot go to disk.
    let greedy =
        "select len(string_agg(replicate(cast('x' as varchar(max)), 40000), '')) from d.dbo.t";
    std::thread::scope(|scope| {
        let modest: Vec<_> = (0..connections)
            .map(|at| {
                let (server, over, asked) = (&server, &over, &asked);
                scope.spawn(move || {
                    let mut connection = server.connect();
                    let mut rounds = 0;
                    while rounds < 3 || !over.load(Ordering::Relaxed) {
                        let k = (at * 31 + rounds * 7) % 1000;
                        let text = format!(
                            "select v from d.dbo.t where k = {k} update d.dbo.t set v = v where k = {k}"
                        );
                        let outcome = batch(&mut connection, &text).unwrap();
                        assert!(outcome.errors.is_empty(), "{outcome:?}");
                        assert_eq!(outcome.ints(), [k as i64]);
                        rounds += 1;
                        asked.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                })
            })
            .collect();
        let hogs: Vec<_> = (0..GREEDY)
            .map(|_| {
                let server = &server;
                scope.spawn(move || {
                    let mut connection = server.connect();
                    for _ in 0..TIMES {
                        let outcome = batch(&mut connection, greedy).unwrap();
                        assert_eq!(outcome.errors, [701]);
                        // The session goes on.
                        assert_eq!(batch(&mut connection, "select 1").unwrap().ints(), [1]);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = hogs.into_iter().map(|hog| hog.join()).collect();
        over.store(true, Ordering::Relaxed);
        for result in ended.into_iter().chain(modest.into_iter().map(|one| one.join())) {
            result.unwrap();
        }
    });
    assert!(asked.load(Ordering::Relaxed) >= connections * 3);
    // What fits goes on working, and nothing of the refused ones is kept.
    let fits =
        "select len(string_agg(replicate(cast('x' as varchar(max)), 1000), '')) from d.dbo.t";
    assert_eq!(batch(&mut first, fits).unwrap().ints(), [1_000_000]);
    assert_eq!(server.stop(), Some(0));
}
