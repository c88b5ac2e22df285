//! The end of a transaction always has room: up to 300 open transactions on a log that is full and
//! may not grow end one by one, by commit or rollback, with crashes and with blocks of 512 and
//! 4,096 bytes. A full log is an error of the statement that wants more; the database stays online,
//! loses nothing, and the file keeps its size.
//!
//! `RINGWOOD_FULL_LOG_RUNS=2000 cargo test --release -p ringwood-txn --test it full_log::` runs as
//! many seeds; a failure names its seed, `RINGWOOD_FULL_LOG_SEED` replays it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{Model, Table, TriedChange, create, difference, env, log_options, open};
use disk::Sectors;
use ringwood_txn::{
    Database, DbState, DelayedDurability, Durability, ErrorKind, LogReuseWait, Status, Txn,
    TxnError,
};
use sim::{SimConfig, SimDisk};
use wal::{Alignment, Growth, LogOptions, VlfRule};

/// Rows of one transaction: `slot * ROWS ..`.
const ROWS: u64 = 8;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A transaction's rows before and after it, and what is known of its end.
struct TxnChange {
    before: Model,
    after: Model,
    /// Some: it has ended, committed or not, and that was acknowledged as durable (or cannot be
    /// undone any more).
    ended: Option<bool>,
    /// The commit was asked for: after a crash either may be.
    in_doubt: bool,
}

struct FullLogRun {
    rng: fastrand::Rng,
    disk: SimDisk,
    db: Arc<Database>,
    table: Table,
    changes: Vec<TxnChange>,
    log_size: u64,
}

fn options(rng: &mut fastrand::Rng, align: u32) -> LogOptions {
    let vlf_rule = match rng.u8(0..4) {
        0 => VlfRule::R160,
        n => VlfRule::Fixed(64 << 10 << n),
    };
    LogOptions {
        vlf_rule,
        alignment: Alignment::Force(align),
        ..log_options(rng.u64(2 << 20..8 << 20), Growth::None, false)
    }
}

/// What the statement changes in a row, in the model as well.
fn change_row(
    rng: &mut fastrand::Rng,
    table: &Table,
    txn: &mut Txn,
    id: u64,
    rows: &mut Model,
) -> Result<(), TxnError> {
    let payload =
        vec![rng.u8(b'a'..=b'z'); if rng.u8(0..8) == 0 { 900 } else { rng.usize(0..120) }];
    let mark = txn.mark();
    let tried = match rows.contains_key(&id) {
        false => table.insert(txn, id, &payload),
        true if rng.bool() => table.update(txn, id, &payload),
        true => {
            let tried = table.delete(txn, id);
            if tried.is_ok() {
                rows.remove(&id);
            }
            return settled(txn, &mark, tried);
        }
    };
    if tried.is_ok() {
        rows.insert(id, payload);
    }
    settled(txn, &mark, tried)
}

/// A statement that failed is taken back, which must work.
fn settled(
    txn: &mut Txn,
    mark: &ringwood_txn::Savepoint,
    tried: Result<TriedChange, TxnError>,
) -> Result<(), TxnError> {
    match tried {
        Ok(tried) => {
            assert_eq!(tried, TriedChange::Done);
            Ok(())
        }
        Err(e) => {
            txn.rollback_to(mark)?;
            Err(e)
        }
    }
}

fn is_full(e: &TxnError) -> bool {
    e.kind() == ErrorKind::LogFull
}

impl FullLogRun {
    fn new(seed: u64) -> (FullLogRun, LogOptions) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let align = if seed.is_multiple_of(2) { 512 } else { 4096 };
        let sectors = Sectors { logical: 512, physical: align };
        let disk = SimDisk::with_config(seed, SimConfig { sectors, ..SimConfig::default() });
        let options = options(&mut rng, align);
        let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
        // With few frames pages leave the pool while transactions roll back, and take flushes that
        // nobody has reserved for.
        let frames = if rng.u8(0..4) == 0 { 80 } else { 2000 };
        let db = create(env(Arc::new(disk.clone()), frames, false), options.clone(), settings)
            .expect("create");
        let table = Table::create(&db).expect("table");
        let log_size = db.log().space().size;
        (FullLogRun { rng, disk, db, table, changes: Vec::new(), log_size }, options)
    }

    /// Opens transactions with a few changes each, on rows that were there before and on new ones.
    fn open_many(&mut self, count: usize) -> Vec<Option<Txn>> {
        let mut load = self.db.begin(51).expect("begin");
        for slot in 0..count as u64 {
            let mut before = Model::new();
            for id in slot * ROWS..slot * ROWS + self.rng.u64(0..3) {
                change_row(&mut self.rng, &self.table, &mut load, id, &mut before).expect("load");
            }
            self.changes.push(TxnChange {
                after: before.clone(),
                before,
                ended: None,
                in_doubt: false,
            });
        }
        load.commit(Durability::Full).expect("load");
        self.db.checkpoint().expect("checkpoint");
        (0..count).map(|slot| self.open_one(slot)).collect()
    }

    /// `None` once the log is full, which small ones are with many transactions.
    fn open_one(&mut self, slot: usize) -> Option<Txn> {
        let mut txn = self.db.begin(52).expect("begin");
        for _ in 0..self.rng.usize(1..5) {
            let id = slot as u64 * ROWS + self.rng.u64(0..ROWS);
            let rows = &mut self.changes[slot].after;
            match self.rng.u8(0..10) {
                0 => {
                    let (mark, kept) = (txn.savepoint(), rows.clone());
                    let Ok(mark) = mark else { continue };
                    let done = change_row(&mut self.rng, &self.table, &mut txn, id, rows);
                    assert!(done.as_ref().err().is_none_or(is_full), "{done:?}");
                    txn.rollback_to(&mark).expect("back to the savepoint");
                    *rows = kept;
                }
                1 => self.db.flush_log().expect("flush"),
                _ => match change_row(&mut self.rng, &self.table, &mut txn, id, rows) {
                    Ok(()) => {}
                    Err(e) if is_full(&e) => break,
                    Err(e) => panic!("{e}"),
                },
            }
        }
        Some(txn)
    }

    /// One more transaction that takes all the log there is. It stays open.
    fn fill(&mut self) -> Txn {
        let slot = self.changes.len() as u64;
        let mut txn = self.db.begin(53).expect("begin");
        let mut after = Model::new();
        let full = loop {
            let id = (slot << 20) + after.len() as u64;
            let payload = vec![b'f'; self.rng.usize(10..3500)];
            let mark = txn.mark();
            let tried = self.table.insert(&mut txn, id, &payload);
            match settled(&mut txn, &mark, tried) {
                Ok(()) => drop(after.insert(id, payload)),
                Err(e) => break e,
            }
        };
        let (full, why) = (self.db.explain(full), self.db.log_reuse_wait());
        assert!(
            matches!(full, TxnError::LogFull { reason: LogReuseWait::ActiveTransaction, .. }),
            "{full}: open transactions hold the log"
        );
        assert_eq!(why, LogReuseWait::ActiveTransaction);
        self.changes.push(TxnChange { before: Model::new(), after, ended: None, in_doubt: false });
        txn
    }

    /// Ends all, in any order, with other work between. `Err`: the disk has lost power.
    fn end_all(&mut self, mut open: Vec<Option<Txn>>) -> Result<(), TxnError> {
        let mut order: Vec<usize> = (0..open.len()).collect();
        self.rng.shuffle(&mut order);
        for slot in order {
            self.disturb()?;
            let Some(txn) = open[slot].take() else { continue };
            if self.rng.u8(0..5) < 2 {
                txn.rollback()?;
                self.changes[slot].ended = Some(false);
                continue;
            }
            let wanted =
                if self.rng.u8(0..4) == 0 { Durability::Delayed } else { Durability::Full };
            self.changes[slot].in_doubt = true;
            if txn.commit(wanted)?.durable {
                self.changes[slot].ended = Some(true);
            }
        }
        self.db.flush_log()?;
        for change in &mut self.changes {
            change.ended.get_or_insert(change.in_doubt);
        }
        Ok(())
    }

    /// What others do to a full log: statements that want more, checkpoints, flushes. Each works or
    /// says that the log is full.
    fn disturb(&mut self) -> Result<(), TxnError> {
        let done = match self.rng.u8(0..12) {
            0 => self.db.checkpoint().map(drop),
            1 => self.db.flush_log(),
            2 => self.db.clean_ghosts().map(drop),
            3 => {
                let mut txn = self.db.begin(54)?;
                let id = (900 << 20) + self.rng.u64(0..1000);
                let mut rows = Model::new();
                let tried = change_row(&mut self.rng, &self.table, &mut txn, id, &mut rows);
                txn.rollback()?;
                tried
            }
            _ => Ok(()),
        };
        done.or_else(|e| if is_full(&e) { Ok(()) } else { Err(e) })
    }

    /// Every transaction is there whole or not at all, as it ended.
    fn verify(&mut self) {
        let seen = {
            let snapshot = self.db.snapshot();
            self.table.read_all(snapshot.mode()).expect("read").expect("structures agree")
        };
        let mut left: BTreeMap<u64, Vec<u8>> = seen;
        for (slot, change) in self.changes.iter_mut().enumerate() {
            let ids: Vec<u64> = change.before.keys().chain(change.after.keys()).copied().collect();
            let rows: Model = ids.iter().filter_map(|id| Some((*id, left.remove(id)?))).collect();
            let committed = match change.ended {
                Some(committed) => committed,
                None => change.in_doubt && rows == change.after,
            };
            let wanted = if committed { &change.after } else { &change.before };
            assert!(rows == *wanted, "transaction {slot}: {}", difference(&rows, wanted));
            change.ended = Some(committed);
        }
        assert!(
            left.is_empty(),
            "rows that nobody committed: {:?}",
            left.keys().take(5).collect::<Vec<_>>()
        );
        assert_eq!(self.table.faults(&self.db).expect("check"), Vec::<String>::new());
        assert_eq!((self.db.status(), self.db.log().space().size), (Status::Online, self.log_size));
    }
}

/// Returns whether it crashed.
fn run(seed: u64) -> bool {
    let (mut run, options) = FullLogRun::new(seed);
    let count = run.rng.usize(1..=300);
    let mut open_txns = run.open_many(count);
    let filler = run.fill();
    open_txns.push(Some(filler));
    if run.rng.bool() {
        run.disk.crash_at(run.disk.io_count() + run.rng.u64(1..2 * count as u64 + 20));
    }
    let ended = run.end_all(open_txns);
    let crashed = run.disk.has_crashed();
    assert!(ended.is_ok() || crashed, "{ended:?}, {:?}", run.db.cause());
    if crashed {
        let mut tries = run.rng.u32(0..4);
        loop {
            run.disk = run.disk.crash(run.rng.u64(..));
            if tries > 0 {
                run.disk.crash_at(run.rng.u64(1..80));
            }
            tries = tries.saturating_sub(1);
            match open(env(Arc::new(run.disk.clone()), 2000, false), options.clone()) {
                Ok(db) if !run.disk.has_crashed() => {
                    run.db = db;
                    break;
                }
                Err(e) if !run.disk.has_crashed() => panic!("recovery: {e}"),
                _ => {}
            }
        }
        run.table = Table::open(&run.db).expect("table");
    }
    run.disk.crash_at(u64::MAX);
    run.verify();
    // A checkpoint frees the log, and work goes on.
    run.db.checkpoint().expect("a checkpoint has room");
    assert_eq!(run.db.log().space().reserved, 0);
    let mut txn = run.db.begin(55).expect("begin");
    let mut rows = Model::new();
    for id in 0..50 {
        change_row(&mut run.rng, &run.table, &mut txn, (901 << 20) + id, &mut rows)
            .expect("room again");
    }
    txn.commit(Durability::Full).expect("commit");
    run.changes.push(TxnChange {
        before: Model::new(),
        after: rows,
        ended: Some(true),
        in_doubt: true,
    });
    run.db.close().expect("close");
    run.db = open(env(Arc::new(run.disk.clone()), 2000, false), options).expect("open");
    run.table = Table::open(&run.db).expect("table");
    run.verify();
    crashed
}

/// Sessions that end at the same time, while the background threads work.
#[test]
fn sessions_that_end_together_on_a_full_log() {
    for seed in 0..8u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let sectors = Sectors { logical: 512, physical: 512 };
        let disk = SimDisk::with_config(seed, SimConfig { sectors, ..SimConfig::default() });
        let alignment = Alignment::Force(if seed % 2 == 0 { 512 } else { 4096 });
        let options = LogOptions { alignment, ..log_options(2 << 20, Growth::None, true) };
        let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
        let db = create(env(Arc::new(disk.clone()), 300, true), options.clone(), settings)
            .expect("create");
        let table = Table::create(&db).expect("table");
        let size = db.log().space().size;
        let mut open_txns = Vec::new();
        for id in 0..96 {
            let mut txn = db.begin(51).expect("begin");
            assert_eq!(table.insert(&mut txn, id, b"open").expect("room"), TriedChange::Done);
            open_txns.push((id, txn));
        }
        let mut filler = db.begin(52).expect("begin");
        let mut full = 1000;
        while table.insert(&mut filler, full, &vec![b'f'; rng.usize(10..3000)]).is_ok() {
            full += 1;
        }
        open_txns.push((full, filler));
        rng.shuffle(&mut open_txns);
        let open_txns = std::sync::Mutex::new(open_txns);
        let committed = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (db, table, open_txns, committed) = (&db, &table, &open_txns, &committed);
                let mut rng = fastrand::Rng::with_seed(seed << 8 | thread);
                scope.spawn(move || {
                    while let Some((id, txn)) = { open_txns.lock().expect("no panic").pop() } {
                        if id >= 1000 || rng.u8(0..3) == 0 {
                            txn.rollback().expect("a rollback has room");
                        } else {
                            let delayed = rng.u8(0..3) == 0;
                            let wanted =
                                if delayed { Durability::Delayed } else { Durability::Full };
                            txn.commit(wanted).expect("a commit has room");
                            committed.lock().expect("no panic").push(id);
                        }
                        let mut more = db.begin(53).expect("online");
                        let tried = table.insert(&mut more, (thread + 2) << 20 | id, &[b'm'; 500]);
                        assert!(tried.as_ref().err().is_none_or(is_full), "{tried:?}");
                        more.rollback().expect("a rollback has room");
                    }
                });
            }
        });
        db.flush_log().expect("flush");
        assert_eq!((db.status(), db.log().space().size), (Status::Online, size));
        db.abandon();
        let db = open(env(Arc::new(disk.crash(seed)), 300, false), options).expect("open");
        let rows = Table::open(&db)
            .expect("table")
            .read_all(db.snapshot().mode())
            .expect("read")
            .expect("whole");
        let mut ids = committed.into_inner().expect("no panic");
        ids.sort_unstable();
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), ids, "seed {seed}");
    }
}

#[test]
fn every_transaction_can_end_on_a_full_log() {
    if let Some(seed) = number("RINGWOOD_FULL_LOG_SEED") {
        run(seed);
        return;
    }
    let runs = number("RINGWOOD_FULL_LOG_RUNS").unwrap_or(40);
    let crashes = std::thread::scope(|scope| {
        let part = |part: u64| {
            let mut crashes = 0;
            for seed in (0..runs).filter(|seed| seed % 4 / 2 == part) {
                match std::panic::catch_unwind(|| run(seed)) {
                    Ok(crashed) => crashes += u64::from(crashed),
                    Err(panic) => {
                        eprintln!("failed: RINGWOOD_FULL_LOG_SEED={seed}");
                        std::panic::resume_unwind(panic);
                    }
                }
            }
            crashes
        };
        let other = scope.spawn(move || part(1));
        part(0) + other.join().expect("no run fails")
    });
    println!("{runs} runs, {crashes} crashes");
    assert!(crashes >= runs / 5, "{crashes} crashes in {runs} runs");
}
