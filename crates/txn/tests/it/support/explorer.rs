//! The crash explorer: a seeded load of interleaved transactions on a simulated disk that loses
//! power at a random I/O, recovery that may lose power as well, and the comparison with the model.
//!
//! Checked: every acknowledged durable commit is there; what is there is the work of a prefix of
//! the commits, so that nothing uncommitted is and delayed commits are lost only from the end; heap
//! and indexes agree; every structural check is clean; the database works on, closes cleanly, and
//! has nothing to redo when it is opened next.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::txn::{
    Database, DbState, DelayedDurability, Durability, Env, ErrorKind, Savepoint, SnapshotGuard,
    Txn, TxnError,
};
use access::ReadMode;
use disk::Sectors;
use sim::{SimConfig, SimDisk};
use wal::{Growth, LogOptions, VlfRule};

use super::{Model, Table, TriedChange, create, difference, env, log_options, open};

/// What a seed exercised.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub commits: u64,
    pub rollbacks: u64,
    pub crashed: u64,
    pub recoveries: u64,
    pub undone: u64,
    pub log_full: u64,
    pub waits: u64,
}

impl Tally {
    pub fn add(&mut self, o: &Tally) {
        self.commits += o.commits;
        self.rollbacks += o.rollbacks;
        self.crashed += o.crashed;
        self.recoveries += o.recoveries;
        self.undone += o.undone;
        self.log_full += o.log_full;
        self.waits += o.waits;
    }
}

type Delta = BTreeMap<u64, Option<Vec<u8>>>;

fn apply(model: &mut Model, delta: &Delta) {
    for (id, payload) in delta {
        match payload {
            Some(p) => drop(model.insert(*id, p.clone())),
            None => drop(model.remove(id)),
        }
    }
}

/// What the world outside knows of the database.
#[derive(Default)]
struct History {
    base: Model,
    /// After all commits.
    now: Model,
    /// In the order of their commit records; the last may be in doubt.
    commits: Vec<Delta>,
    /// So many are acknowledged as durable.
    acked: usize,
}

impl History {
    fn push(&mut self, delta: Delta) {
        apply(&mut self.now, &delta);
        self.commits.push(delta);
    }

    fn state(&self, n: usize) -> Model {
        let mut m = self.base.clone();
        self.commits[..n].iter().for_each(|d| apply(&mut m, d));
        m
    }
}

struct RunningTxn {
    txn: Txn,
    delta: Delta,
    marks: Vec<(Savepoint, Delta)>,
}

/// A load on an open database.
struct RunningLoad<'a> {
    rng: fastrand::Rng,
    db: Arc<Database>,
    table: Table,
    history: &'a mut History,
    running: Vec<RunningTxn>,
    snapshots: Vec<(SnapshotGuard, Model)>,
    tally: Tally,
}

const IDS: u64 = 60;

/// Why a step did not go on.
enum StopReason {
    /// The disk lost power (or the error looks like it).
    Error(TxnError),
    Wrong(String),
}

impl From<TxnError> for StopReason {
    fn from(e: TxnError) -> StopReason {
        StopReason::Error(e)
    }
}

fn payload(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = match rng.u32(0..20) {
        0 => rng.usize(2000..4500),
        1..5 => rng.usize(300..900),
        _ => rng.usize(0..80),
    };
    (0..len).map(|_| rng.u8(b'a'..=b'f')).collect()
}

impl RunningLoad<'_> {
    /// The row as transaction `who` sees it, and who else has changed it.
    fn view(&self, who: usize, id: u64) -> (Option<Vec<u8>>, Option<usize>) {
        let other =
            (0..self.running.len()).find(|i| *i != who && self.running[*i].delta.contains_key(&id));
        let own = self.running[who].delta.get(&id).cloned();
        (own.unwrap_or_else(|| self.history.now.get(&id).cloned()), other)
    }

    fn run(&mut self, steps: u32) -> Result<(), StopReason> {
        for _ in 0..steps {
            match self.step() {
                Err(StopReason::Error(e)) if e.kind() == ErrorKind::LogFull => {
                    self.give_up_one()?
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// The log is full: a transaction rolls back, which must work, and a checkpoint makes room.
    fn give_up_one(&mut self) -> Result<(), StopReason> {
        self.tally.log_full += 1;
        for r in std::mem::take(&mut self.running) {
            r.txn.rollback()?;
            self.tally.rollbacks += 1;
        }
        self.snapshots.clear();
        self.db.checkpoint()?;
        Ok(())
    }

    fn step(&mut self) -> Result<(), StopReason> {
        if self.running.is_empty() || (self.running.len() < 4 && self.rng.u32(0..8) == 0) {
            let txn = self.db.begin(51)?;
            self.running.push(RunningTxn { txn, delta: Delta::new(), marks: Vec::new() });
        }
        let who = self.rng.usize(0..self.running.len());
        match self.rng.u32(0..100) {
            0..70 => self.change(who),
            70..76 => {
                let r = &mut self.running[who];
                let mark = if self.rng.bool() { r.txn.savepoint()? } else { r.txn.mark() };
                r.marks.push((mark, r.delta.clone()));
                Ok(())
            }
            76..80 => self.roll_back_to(who),
            80..90 => self.commit(who),
            90..93 => {
                self.tally.rollbacks += 1;
                Ok(self.running.swap_remove(who).txn.rollback()?)
            }
            93..95 => {
                self.db.checkpoint()?;
                Ok(())
            }
            95 => Ok(self.db.clean_ghosts().map(drop)?),
            96 => Ok(self.db.free_pending()?),
            97 => {
                self.snapshots.push((self.db.snapshot(), self.history.now.clone()));
                Ok(())
            }
            98 => self.check_snapshot(),
            _ => Ok(self.db.flush_log()?),
        }
    }

    fn change(&mut self, who: usize) -> Result<(), StopReason> {
        let what = self.rng.u32(0..3);
        // Half of the updates come back to a row that the transaction has changed before.
        let own = &self.running[who].delta;
        let again = if what == 1 && self.rng.bool() {
            self.rng.usize(0..own.len().max(1))
        } else {
            own.len()
        };
        let id = own.keys().nth(again).copied().unwrap_or_else(|| self.rng.u64(0..IDS));
        let (now, other) = self.view(who, id);
        let new = payload(&mut self.rng);
        let t = &mut self.running[who].txn;
        let (tried, wanted, effect) = match what {
            0 => (
                self.table.insert(t, id, &new)?,
                now.is_some().then_some(TriedChange::Duplicate),
                Some(new),
            ),
            1 => (
                self.table.update(t, id, &new)?,
                now.is_none().then_some(TriedChange::Missing),
                Some(new),
            ),
            _ => (self.table.delete(t, id)?, now.is_none().then_some(TriedChange::Missing), None),
        };
        let wanted = match other {
            Some(o) => TriedChange::Wait(self.running[o].txn.id()),
            None => wanted.unwrap_or(TriedChange::Done),
        };
        // An insert that another running transaction undid to a savepoint leaves nothing behind, so
        // its id is free: the model sees that by the delta. Everything else is exact.
        if tried != wanted {
            return Err(StopReason::Wrong(format!(
                "change {what} of row {id}: {tried:?} instead of {wanted:?}"
            )));
        }
        match tried {
            TriedChange::Done => drop(self.running[who].delta.insert(id, effect)),
            TriedChange::Wait(_) => self.tally.waits += 1,
            _ => {}
        }
        Ok(())
    }

    fn roll_back_to(&mut self, who: usize) -> Result<(), StopReason> {
        let r = &mut self.running[who];
        if r.marks.is_empty() {
            return Ok(());
        }
        let to = self.rng.usize(0..r.marks.len());
        r.txn.rollback_to(&r.marks[to].0)?;
        r.delta = r.marks[to].1.clone();
        r.marks.truncate(to + 1);
        Ok(())
    }

    fn commit(&mut self, who: usize) -> Result<(), StopReason> {
        let r = self.running.swap_remove(who);
        let wanted = if self.rng.u32(0..3) == 0 { Durability::Delayed } else { Durability::Full };
        // From the attempt on the commit may be in the log.
        self.history.push(r.delta);
        let done = r.txn.commit(wanted)?;
        self.tally.commits += 1;
        if done.durable && done.lsn > wal::Lsn::ZERO {
            self.history.acked = self.history.commits.len();
        }
        Ok(())
    }

    fn check_snapshot(&mut self) -> Result<(), StopReason> {
        if self.snapshots.is_empty() {
            return Ok(());
        }
        let (s, model) = self.snapshots.swap_remove(self.rng.usize(0..self.snapshots.len()));
        same(&self.table, s.mode(), &model).map_err(|e| match e {
            StopReason::Wrong(w) => StopReason::Wrong(format!("old snapshot: {w}")),
            e => e,
        })
    }
}

fn same(table: &Table, mode: ReadMode<'_>, model: &Model) -> Result<(), StopReason> {
    let seen = table.read_all(mode)?.map_err(StopReason::Wrong)?;
    if seen != *model {
        return Err(StopReason::Wrong(format!(
            "rows differ (found / wanted): {}",
            difference(&seen, model)
        )));
    }
    Ok(())
}

/// Takes what recovery has left, checks it, and makes it the history's new base.
fn verify(db: &Arc<Database>, history: &mut History) -> Result<Table, StopReason> {
    let table = Table::open(db)?;
    let seen = table.read_all(db.snapshot().mode())?.map_err(StopReason::Wrong)?;
    let (from, to) = (history.acked, history.commits.len());
    if !(from..=to).any(|n| history.state(n) == seen) {
        return Err(StopReason::Wrong(format!(
            "not a state after {from} to {to} commits: (found / after {to}) {}; (found / after {from}) {}",
            difference(&seen, &history.state(to)),
            difference(&seen, &history.state(from))
        )));
    }
    let faults = table.faults(db)?;
    if !faults.is_empty() {
        return Err(StopReason::Wrong(format!("structural faults: {faults:?}")));
    }
    *history = History { base: seen.clone(), now: seen, ..History::default() };
    Ok(table)
}

struct Shape {
    frames: u64,
    log: LogOptions,
}

impl Shape {
    fn of(rng: &mut fastrand::Rng) -> (Shape, SimConfig) {
        let physical = if rng.bool() { 512 } else { 4096 };
        let sectors = Sectors { logical: 512, physical };
        let frames = if rng.u32(0..4) == 0 { 48 } else { 500 };
        let mut log = log_options(2 << 20, Growth::Bytes(1 << 20), false);
        if rng.u32(0..5) == 0 {
            // A log that is full again and again.
            log.vlf_rule = VlfRule::Fixed(64 << 10);
            log.initial_size = (8 + 5 * 64) << 10;
            log.growth = Growth::None;
        }
        let atom = if rng.bool() { 512 } else { physical };
        (Shape { frames, log }, SimConfig { sectors, atom, ..SimConfig::default() })
    }

    fn env(&self, disk: &SimDisk) -> Env {
        env(Arc::new(disk.clone()), self.frames, false)
    }

    fn open(&self, disk: &SimDisk) -> Result<Arc<Database>, TxnError> {
        open(self.env(disk), self.log.clone())
    }
}

/// Runs one seed. The error says what went wrong.
pub fn explore(seed: u64) -> Result<Tally, String> {
    let mut tally = Tally::default();
    run_seed(seed, &mut tally).map(|()| tally).map_err(|stop| match stop {
        StopReason::Error(e) => format!("seed {seed}: unexpected error: {e}"),
        StopReason::Wrong(w) => format!("seed {seed}: {w}"),
    })
}

fn run_seed(seed: u64, tally: &mut Tally) -> Result<(), StopReason> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (shape, config) = Shape::of(&mut rng);
    let mut disk = SimDisk::with_config(seed, config);
    let mut history = History::default();
    let settings = DbState { delayed: DelayedDurability::Allowed, ..DbState::initial() };
    let db = create(shape.env(&disk), shape.log.clone(), settings)?;
    let table = Table::create(&db)?;
    for life in 0..3 {
        // Only the first life has a database at hand; each later one begins with the recovery of
        // the one before.
        let (db, table) = match life {
            0 => (db.clone(), table.clone()),
            _ => recover(&mut rng, &shape, &mut disk, &mut history, tally)?,
        };
        disk.crash_at(disk.io_count() + rng.u64(1..250));
        let load = RunningLoad {
            rng: fastrand::Rng::with_seed(rng.u64(..)),
            db,
            table,
            history: &mut history,
            running: Vec::new(),
            snapshots: Vec::new(),
            tally: Tally::default(),
        };
        live(load, &disk, tally)?;
        disk = disk.crash(rng.u64(..));
    }
    drop((db, table));
    let (db, table) = recover(&mut rng, &shape, &mut disk, &mut history, tally)?;
    finish(&mut rng, &shape, &disk, db, table, history, tally)
}

/// Runs a load until the power goes or it is done.
fn live(mut load: RunningLoad<'_>, disk: &SimDisk, tally: &mut Tally) -> Result<(), StopReason> {
    let steps = load.rng.u32(100..600);
    let end = load.run(steps);
    tally.add(&load.tally);
    match end {
        Err(StopReason::Error(_)) if disk.has_crashed() => tally.crashed += 1,
        other => return other,
    }
    Ok(())
}

/// Opens after a crash, with up to three more crashes while recovery runs.
fn recover(
    rng: &mut fastrand::Rng,
    shape: &Shape,
    disk: &mut SimDisk,
    history: &mut History,
    tally: &mut Tally,
) -> Result<(Arc<Database>, Table), StopReason> {
    for _ in 0..rng.usize(0..4) {
        disk.crash_at(rng.u64(1..60));
        if let Err(e) = shape.open(disk)
            && !disk.has_crashed()
        {
            return Err(e.into());
        }
        *disk = disk.crash(rng.u64(..));
    }
    let db = shape.open(disk)?;
    tally.recoveries += 1;
    tally.undone += db.recovery_report().rolled_back;
    let table = verify(&db, history)?;
    Ok((db, table))
}

/// After the last recovery: work on, close, open.
fn finish(
    rng: &mut fastrand::Rng,
    shape: &Shape,
    disk: &SimDisk,
    db: Arc<Database>,
    table: Table,
    mut history: History,
    tally: &mut Tally,
) -> Result<(), StopReason> {
    let mut load = RunningLoad {
        rng: fastrand::Rng::with_seed(rng.u64(..)),
        db: db.clone(),
        table,
        history: &mut history,
        running: Vec::new(),
        snapshots: Vec::new(),
        tally: Tally::default(),
    };
    load.run(150)?;
    for r in std::mem::take(&mut load.running) {
        r.txn.rollback()?;
    }
    tally.add(&load.tally);
    drop(load);
    db.clean_ghosts()?;
    db.close()?;
    drop(db);
    history.acked = history.commits.len();
    let db = shape.open(disk)?;
    if !db.recovery_report().clean {
        return Err(StopReason::Wrong(format!(
            "a closed database had to be recovered: {:?}",
            db.recovery_report()
        )));
    }
    verify(&db, &mut history)?;
    Ok(())
}
