//! The known anomalies at each isolation level, over the wire: what a level forbids does not
//! happen, what it allows is shown.

use crate::support::served::{PATIENCE, ServedInstance, ServedOutcome, batch};
use client::Connection;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Errors by which the server refuses what would be an anomaly: a deadlock's victim, an update
/// conflict of SNAPSHOT.
const REFUSALS: [i32; 2] = [1205, 3960];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    ReadUncommitted,
    /// Of row versions, as SQL Server's with READ_COMMITTED_SNAPSHOT.
    ReadCommitted,
    /// The hint READCOMMITTEDLOCK, as SQL Server's without.
    ReadCommittedLock,
    RepeatableRead,
    Snapshot,
    Serializable,
}

use Level::*;

const LEVELS: [Level; 6] =
    [ReadUncommitted, ReadCommitted, ReadCommittedLock, RepeatableRead, Snapshot, Serializable];

impl Level {
    fn set(self) -> String {
        let name = match self {
            ReadUncommitted => "read uncommitted",
            ReadCommitted | ReadCommittedLock => "read committed",
            RepeatableRead => "repeatable read",
            Snapshot => "snapshot",
            Serializable => "serializable",
        };
        format!("use d set transaction isolation level {name} set xact_abort on")
    }

    /// A batch as this level has it.
    fn written(self, text: &str) -> String {
        if self != ReadCommittedLock {
            return text.to_owned();
        }
        ["t", "shifts"].iter().fold(text.to_owned(), |text, table| {
            text.replace(
                &format!(" from {table}"),
                &format!(" from {table} with (readcommittedlock)"),
            )
        })
    }
}

/// A session that runs batches in a thread of its own.
struct SessionActor {
    batches: Option<Sender<String>>,
    outcomes: Receiver<ServedOutcome>,
    thread: Option<JoinHandle<()>>,
    spid: i64,
    /// A batch was begun and has not ended.
    busy: bool,
    /// Its transaction was refused.
    refused: bool,
}

impl SessionActor {
    fn new(server: &ServedInstance, level: Level) -> SessionActor {
        let mut connection = server.connect();
        let set = batch(&mut connection, &level.set()).unwrap();
        assert!(set.errors.is_empty(), "{set:?}");
        let spid = batch(&mut connection, "select @@spid").unwrap().ints()[0];
        let (batches, to_run) = channel::<String>();
        let (done, outcomes) = channel();
        let thread = std::thread::spawn(move || {
            for text in to_run {
                if done.send(batch(&mut connection, &text).unwrap()).is_err() {
                    return;
                }
            }
        });
        SessionActor {
            batches: Some(batches),
            outcomes,
            thread: Some(thread),
            spid,
            busy: false,
            refused: false,
        }
    }
}

impl Drop for SessionActor {
    fn drop(&mut self) {
        drop(self.batches.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Two sessions and one that looks whether they wait.
struct IsolationScene {
    level: Level,
    actors: [SessionActor; 2],
    observer: Connection,
}

impl IsolationScene {
    fn new(server: &ServedInstance, level: Level) -> IsolationScene {
        let mut observer = server.connect();
        let text = "use d delete t insert t values (1, 10), (2, 10) delete shifts insert shifts values (1, 1), (2, 1)";
        let made = batch(&mut observer, text).unwrap();
        assert!(made.errors.is_empty(), "{made:?}");
        IsolationScene {
            level,
            actors: [SessionActor::new(server, level), SessionActor::new(server, level)],
            observer,
        }
    }

    fn is_blocked(&mut self, spid: i64) -> bool {
        let text = format!(
            "select count(*) from sys.dm_exec_requests where session_id = {spid} and blocking_session_id <> 0"
        );
        batch(&mut self.observer, &text).unwrap().ints() == [1]
    }

    /// Waits until the actor's batch has ended, or, unless it `must` end, waits for a lock.
    fn settle(&mut self, who: usize, must: bool) -> Option<ServedOutcome> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.actors[who].outcomes.recv_timeout(Duration::from_millis(5)) {
                Ok(outcome) => {
                    self.actors[who].busy = false;
                    let refused = outcome.errors.iter().any(|number| REFUSALS.contains(number));
                    self.actors[who].refused |= refused;
                    assert!(refused || outcome.errors.is_empty(), "{outcome:?}");
                    return Some(outcome);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("a session has ended"),
            }
            let spid = self.actors[who].spid;
            if !must && self.is_blocked(spid) {
                return None;
            }
            assert!(Instant::now() < end, "a batch neither ends nor waits");
        }
    }

    /// Runs the steps in their order; an actor that waits for a lock does its later ones when it
    /// goes on, one whose transaction was refused does none. The outcome of each step that ran.
    fn run(&mut self, steps: &[(usize, &str)]) -> Vec<Option<ServedOutcome>> {
        let mut outcomes: Vec<Option<ServedOutcome>> = steps.iter().map(|_| None).collect();
        let mut begun = vec![false; steps.len()];
        let mut current = [0; 2];
        loop {
            for who in 0..2 {
                if self.actors[who].busy {
                    let settled = self.settle(who, false);
                    if settled.is_some() {
                        outcomes[current[who]] = settled;
                    }
                }
            }
            let next = (0..steps.len()).find(|&at| {
                let (who, _) = steps[at];
                !begun[at] && !self.actors[who].busy && !self.actors[who].refused
            });
            if let Some(at) = next {
                let (who, text) = steps[at];
                begun[at] = true;
                current[who] = at;
                self.actors[who].batches.as_ref().unwrap().send(self.level.written(text)).unwrap();
                self.actors[who].busy = true;
                outcomes[at] = self.settle(who, false);
                continue;
            }
            // Who waits now waits for a deadlock to be found, or for one that has ended meanwhile.
            match (0..2).find(|&who| self.actors[who].busy) {
                Some(_) => std::thread::sleep(Duration::from_millis(5)),
                None => return outcomes,
            }
        }
    }

    fn value(&mut self, query: &str) -> i64 {
        batch(&mut self.observer, query).unwrap().ints()[0]
    }
}

/// What step `at` has read; -1 when it did not run.
fn read(outcomes: &[Option<ServedOutcome>], at: usize) -> i64 {
    outcomes[at].as_ref().and_then(|o| o.ints().first().copied()).unwrap_or(-1)
}

/// Whether the scene shows the anomaly.
type Play = fn(&mut IsolationScene) -> bool;

fn dirty_read(scene: &mut IsolationScene) -> bool {
    let outcomes = scene.run(&[
        (0, "begin tran update t set v = 11 where k = 1"),
        (1, "begin tran select v from t where k = 1"),
        (0, "rollback"),
        (1, "commit"),
    ]);
    read(&outcomes, 1) == 11
}

fn dirty_write(scene: &mut IsolationScene) -> bool {
    scene.run(&[
        (0, "begin tran update t set v = 21 where k = 1"),
        (1, "begin tran update t set v = 31 where k = 1"),
        (1, "update t set v = 31 where k = 2"),
        (1, "commit"),
        (0, "update t set v = 21 where k = 2"),
        (0, "commit"),
    ]);
    scene.value("select count(distinct v) from t") != 1
}

fn lost_update(scene: &mut IsolationScene) -> bool {
    scene.run(&[
        (0, "begin tran select v from t where k = 1"),
        (1, "begin tran select v from t where k = 1"),
        (0, "update t set v = 11 where k = 1"),
        (0, "commit"),
        (1, "update t set v = 11 where k = 1"),
        (1, "commit"),
    ]);
    let refused = scene.actors.iter().any(|actor| actor.refused);
    // Two increments that both were done, and one is left.
    !refused && scene.value("select v from t where k = 1") == 11
}

fn unrepeatable_read(scene: &mut IsolationScene) -> bool {
    let outcomes = scene.run(&[
        (0, "begin tran select v from t where k = 1"),
        (1, "begin tran update t set v = 11 where k = 1"),
        (1, "commit"),
        (0, "select v from t where k = 1"),
        (0, "commit"),
    ]);
    read(&outcomes, 0) != read(&outcomes, 3)
}

fn phantom(scene: &mut IsolationScene) -> bool {
    let outcomes = scene.run(&[
        (0, "begin tran select count(*) from t where k between 1 and 9"),
        (1, "begin tran insert t values (5, 10)"),
        (1, "commit"),
        (0, "select count(*) from t where k between 1 and 9"),
        (0, "commit"),
    ]);
    read(&outcomes, 0) != read(&outcomes, 3)
}

fn read_skew(scene: &mut IsolationScene) -> bool {
    let outcomes = scene.run(&[
        (0, "begin tran select v from t where k = 1"),
        (1, "begin tran update t set v = 5 where k = 1"),
        (1, "update t set v = 15 where k = 2"),
        (1, "commit"),
        (0, "select v from t where k = 2"),
        (0, "commit"),
    ]);
    !scene.actors[0].refused && read(&outcomes, 0) == 10 && read(&outcomes, 4) == 15
}

fn write_skew(scene: &mut IsolationScene) -> bool {
    scene.run(&[
        (0, "begin tran select sum(on_call) from shifts where k in (1, 2)"),
        (1, "begin tran select sum(on_call) from shifts where k in (1, 2)"),
        (0, "update shifts set on_call = 0 where k = 1"),
        (1, "update shifts set on_call = 0 where k = 2"),
        (0, "commit"),
        (1, "commit"),
    ]);
    scene.value("select sum(on_call) from shifts") == 0
}

/// Write skew through rows that are not there yet.
fn phantom_write_skew(scene: &mut IsolationScene) -> bool {
    scene.run(&[
        (0, "begin tran select count(*) from t where k between 100 and 200"),
        (1, "begin tran select count(*) from t where k between 100 and 200"),
        (0, "insert t values (110, 1)"),
        (1, "insert t values (120, 1)"),
        (0, "commit"),
        (1, "commit"),
    ]);
    scene.value("select count(*) from t where k between 100 and 200") == 2
}

/// The levels at which each anomaly is allowed.
const ANOMALIES: [(&str, Play, &[Level]); 8] = [
    ("dirty write", dirty_write, &[]),
    ("dirty read", dirty_read, &[ReadUncommitted]),
    ("lost update", lost_update, &[ReadUncommitted, ReadCommitted, ReadCommittedLock]),
    ("unrepeatable read", unrepeatable_read, &[ReadUncommitted, ReadCommitted, ReadCommittedLock]),
    ("read skew", read_skew, &[ReadUncommitted, ReadCommitted, ReadCommittedLock]),
    ("phantom", phantom, &[ReadUncommitted, ReadCommitted, ReadCommittedLock, RepeatableRead]),
    ("write skew", write_skew, &[ReadUncommitted, ReadCommitted, ReadCommittedLock, Snapshot]),
    (
        "write skew by phantoms",
        phantom_write_skew,
        &[ReadUncommitted, ReadCommitted, ReadCommittedLock, RepeatableRead, Snapshot],
    ),
];

#[test]
fn each_level_allows_what_it_should_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &["--memory", "32MB"]);
    let mut connection = server.connect();
    for text in [
        "create database d",
        "alter database d set allow_snapshot_isolation on",
        "use d create table t (k int not null primary key, v int not null)
         create table shifts (k int not null primary key, on_call int not null)",
    ] {
        let outcome = batch(&mut connection, text).unwrap();
        assert!(outcome.errors.is_empty(), "{text}: {outcome:?}");
    }
    let mut wrong = Vec::new();
    for level in LEVELS {
        for (name, play, allowed) in ANOMALIES {
            let shown = play(&mut IsolationScene::new(&server, level));
            if shown != allowed.contains(&level) {
                wrong.push(format!(
                    "{level:?}: {name} {}",
                    if shown { "happens" } else { "is not shown" }
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
