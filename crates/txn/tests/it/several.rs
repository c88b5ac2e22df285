//! Transactions over several databases: whole or absent everywhere after a crash at any I/O; what
//! becomes of one whose coordinator cannot be asked.

use ringwood_txn as txn;

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use crate::support::several::{OneStart, Tally, explore};
use crate::support::{Table, TriedChange};
use sim::{Fault, OpKind, SimDisk};
use txn::{Database, GlobalId, Status, Txn, TxnError, commit_together};

/// As many as the environment asks for.
fn seeds() -> u64 {
    std::env::var("RINGWOOD_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// One that is not done after this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn transactions_are_whole_or_absent_everywhere() {
    let (done, results) = mpsc::channel();
    let seeds = seeds();
    for part in 0..2 {
        let done = done.clone();
        std::thread::spawn(move || {
            for seed in (0..seeds).filter(|s| s / 2 % 2 == part) {
                let result = std::panic::catch_unwind(|| explore(seed));
                if done
                    .send(result.unwrap_or_else(|_| Err(format!("seed {seed} panicked"))))
                    .is_err()
                {
                    return;
                }
            }
        });
    }
    drop(done);
    let mut sum = Tally::default();
    for n in 0..seeds {
        let result =
            results.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("hangs after {n} seeds"));
        sum.add(&result.unwrap_or_else(|e| panic!("{e}")));
    }
    println!("{sum:?}");
    // The load must have met what it is meant to test.
    assert!(sum.crashed > seeds && sum.together > seeds && sum.waited > seeds / 10, "{sum:?}");
    assert!(sum.found > seeds / 10 && sum.absent > seeds / 10, "{sum:?}");
}

type OpenDatabase = (Arc<Database>, Table);

fn put(txn: &mut Txn, table: &Table, id: u64) {
    assert_eq!(table.insert(txn, id, b"row").unwrap(), TriedChange::Done);
}

fn rows(open: &OpenDatabase) -> Vec<u64> {
    open.1.read_all(open.0.snapshot().mode()).unwrap().unwrap().into_keys().collect()
}

/// A transaction with the row `id` in both.
fn both(dbs: &[OpenDatabase; 2], id: u64) -> [Txn; 2] {
    [0, 1].map(|n| {
        let mut t = dbs[n].0.begin(51).unwrap();
        put(&mut t, &dbs[n].1, id);
        t
    })
}

fn commit(txns: &mut [Txn; 2]) -> Result<(), (usize, TxnError)> {
    let [a, b] = txns;
    commit_together(&mut [a, b], "first")
}

fn two(disk: &SimDisk) -> (OneStart, [OpenDatabase; 2]) {
    let start = OneStart::new(disk);
    let dbs = [0, 1].map(|n| start.create(n).unwrap());
    (start, dbs)
}

/// The second database cannot prepare: the first has not committed, both go on or fail alone.
#[test]
fn a_database_that_cannot_prepare_rolls_all_back() {
    let disk = SimDisk::new(1);
    let (_start, dbs) = two(&disk);
    disk.fail_on(std::path::Path::new("db/several1_log.ldf"), OpKind::Any, 1, Fault::Io);
    let mut txns = both(&dbs, 7);
    let (at, e) = commit(&mut txns).unwrap_err();
    assert_eq!(at, 1, "{e}");
    assert!(!txns[0].is_over());
    drop(txns);
    assert_eq!((dbs[0].0.status(), dbs[1].0.status()), (Status::Online, Status::Suspect));
    assert!(rows(&dbs[0]).is_empty());
    let after = disk.crash(1);
    drop(dbs);
    let start = OneStart::new(&after);
    // Presumed abort: the coordinator has no record of it.
    let dbs = [0, 1].map(|n| start.open(n).unwrap());
    assert!(rows(&dbs[0]).is_empty() && rows(&dbs[1]).is_empty());
}

/// The coordinator's log fails at the decision: nobody knows the outcome until it has been
/// recovered, and the other database, taken offline, does not open before that.
#[test]
fn a_coordinator_that_fails_leaves_the_others_in_doubt() {
    for (seed, fault) in
        (0..20).map(|seed| (seed, [Fault::Io, Fault::ShortWrite][seed as usize % 2]))
    {
        let disk = SimDisk::new(seed);
        let (start, dbs) = two(&disk);
        disk.fail_on(std::path::Path::new("db/several0_log.ldf"), OpKind::Any, 1, fault);
        let mut txns = both(&dbs, 7);
        let (at, e) = commit(&mut txns).unwrap_err();
        assert_eq!(at, 0, "{e}");
        assert!(txns.iter().all(Txn::is_over));
        assert_eq!(dbs.each_ref().map(|(db, _)| db.status()), [Status::Suspect; 2]);
        drop(txns);
        dbs.iter().for_each(|(db, _)| db.abandon());
        drop(dbs);
        // In the same process: the coordinator is known and has not decided.
        let doubt = match start.open(1) {
            Err(TxnError::InDoubt(list)) => list[0].clone(),
            other => panic!("{:?}", other.map(drop)),
        };
        assert_eq!((doubt.number, doubt.prepared.name.as_str()), (6, "first"));
        assert_eq!(start.outcomes().in_doubt(), [doubt]);
        let first = start.open(0).unwrap();
        let second = start.open(1).unwrap();
        assert!(start.outcomes().in_doubt().is_empty());
        assert_eq!(rows(&first), rows(&second), "seed {seed}");
    }
}

/// A database in doubt whose coordinator is not there: it does not open, until an administrator
/// decides.
#[test]
fn an_administrator_decides_what_is_in_doubt() {
    for commits in [true, false] {
        let disk = SimDisk::new(3);
        let (_start, dbs) = two(&disk);
        let mut txns = both(&dbs, 7);
        // The last write of the commit is the coordinator's: the power fails in it.
        disk.fail_on(std::path::Path::new("db/several0_log.ldf"), OpKind::Any, 1, Fault::Io);
        commit(&mut txns).unwrap_err();
        let after = disk.crash(3);
        drop((txns, dbs));
        for _ in 0..2 {
            let start = OneStart::new(&after);
            assert!(matches!(start.open(1), Err(TxnError::InDoubt(_))), "and it stays so");
        }
        let start = OneStart::new(&after);
        let Err(TxnError::InDoubt(list)) = start.open(1).map(drop) else { panic!("it opens") };
        let id = list[0].prepared.id;
        assert!(start.outcomes().tell(GlobalId([9; 16]), true).is_empty(), "nobody asks for it");
        assert_eq!(start.outcomes().tell(id, commits), *list);
        let second = start.open(1).unwrap();
        assert_eq!(rows(&second), if commits { vec![7] } else { vec![] });
        second.0.close().unwrap();
        drop(second);
        // It is durable, and asked no more.
        let second = OneStart::new(&after).open(1).unwrap();
        assert_eq!(rows(&second), if commits { vec![7] } else { vec![] });
    }
}

/// A decision outlives checkpoints and starts of the coordinator as long as a database may ask, and
/// no longer.
#[test]
fn decisions_are_kept_until_everybody_has_heard() {
    let disk = SimDisk::new(4);
    let (_start, dbs) = two(&disk);
    let mut txns = both(&dbs, 7);
    // Its Prepare record is durable; what comes later is not.
    commit(&mut txns).unwrap();
    drop(txns);
    let lost = disk.crash(4);
    drop(dbs);
    for _ in 0..3 {
        // The coordinator alone, again and again.
        let start = OneStart::new(&lost);
        let first = start.open(0).unwrap();
        assert_eq!(rows(&first), [7]);
        first.0.checkpoint().unwrap();
        first.0.close().unwrap();
    }
    let start = OneStart::new(&lost);
    let first = start.open(0).unwrap();
    let second = start.open(1).unwrap();
    assert_eq!(rows(&second), [7]);
    // Both have it: nothing is listed any more.
    assert_eq!(first.0.decisions_kept(), 0);
}

/// Many commits: the coordinator forgets what the others have acknowledged.
#[test]
fn decisions_do_not_pile_up() {
    let disk = SimDisk::new(5);
    let (_start, dbs) = two(&disk);
    for id in 0..3000 {
        let mut txns = both(&dbs, id);
        commit(&mut txns).unwrap();
        assert!(dbs[0].0.decisions_kept() <= 1100, "after {id}: {}", dbs[0].0.decisions_kept());
    }
    dbs[1].0.flush_log().unwrap();
    dbs[0].0.checkpoint().unwrap();
    assert_eq!(dbs[0].0.decisions_kept(), 0);
}
