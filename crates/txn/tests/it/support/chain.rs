//! A load whose every commit is a point in time, backups of it, and restores of them on the same
//! simulated disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use disk::Disk;
use sim::SimDisk;
use wal::{Growth, LogOptions, VlfRule};

use super::txn::backup::{
    BackupDevice, BackupDone, BackupError, BackupSpec, ExistingSets, FileDevice, MediaSet,
    RestoreNext, RestoreTarget, RestoredStep, RollTo, SetKind, restore_data, restore_log,
};
use super::txn::{Database, DbState, Durability, RecoveryModel, Txn, TxnError};
use super::{Model, Table, TriedChange, create, difference, env, log_options};

pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// Waits until the clock has moved on: commits of different microseconds are told apart.
fn tick() -> u64 {
    let now = now_us();
    while now_us() <= now + 1 {
        std::hint::spin_loop();
    }
    now
}

pub struct TestTxn {
    txn: Txn,
    delta: BTreeMap<u64, Option<Vec<u8>>>,
}

/// A database under load, with what it held at every point in time.
pub struct Rig {
    pub disk: SimDisk,
    pub db: Arc<Database>,
    pub table: Table,
    pub rng: fastrand::Rng,
    pub now: Model,
    /// After the commits up to a time.
    pub points: Vec<(u64, Model)>,
    pub open: Vec<TestTxn>,
    pub background: bool,
}

/// A backup file: where, which set, and what it holds.
#[derive(Clone)]
pub struct TakenBackup {
    pub files: Vec<String>,
    pub position: u16,
    pub done: BackupDone,
}

pub fn devices(disk: &SimDisk, files: &[String]) -> Vec<Box<dyn BackupDevice>> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let device = |name: &String| -> Box<dyn BackupDevice> {
        let path = PathBuf::from(name);
        let rule = Arc::new(disk::AnyFile(path.clone()));
        Box::new(FileDevice::new(disk.clone(), path, name.clone(), rule))
    };
    files.iter().map(device).collect()
}

pub fn options() -> LogOptions {
    LogOptions {
        vlf_rule: VlfRule::Fixed(64 << 10),
        ..log_options(1 << 20, Growth::Bytes(256 << 10), false)
    }
}

impl Rig {
    pub fn new(seed: u64, background: bool) -> Rig {
        let disk = SimDisk::new(seed);
        let settings = DbState { recovery_model: RecoveryModel::Full, ..DbState::initial() };
        let db = create(env(Arc::new(disk.clone()), 600, background), options(), settings).unwrap();
        let table = Table::create(&db).unwrap();
        let rng = fastrand::Rng::with_seed(seed);
        let (now, points, open) = (Model::new(), Vec::new(), Vec::new());
        Rig { disk, db, table, rng, now, points, open, background }
    }

    /// Changes, commits and rollbacks of up to three transactions side by side, each with ids of
    /// its own.
    pub fn work(&mut self, steps: u32) -> Result<(), TxnError> {
        for _ in 0..steps {
            while self.open.len() < 3 {
                self.open.push(TestTxn { txn: self.db.begin(51)?, delta: BTreeMap::new() });
            }
            let who = self.rng.usize(0..3);
            match self.rng.u32(0..20) {
                0..3 => self.commit(who)?,
                3 => {
                    let fresh = TestTxn { txn: self.db.begin(51)?, delta: BTreeMap::new() };
                    std::mem::replace(&mut self.open[who], fresh).txn.rollback()?;
                }
                4 if self.rng.u32(0..4) == 0 => drop(self.db.checkpoint()?),
                5 if self.rng.u32(0..4) == 0 => drop(self.db.clean_ghosts()?),
                _ => self.change(who)?,
            }
        }
        Ok(())
    }

    fn change(&mut self, who: usize) -> Result<(), TxnError> {
        let id = self.rng.u64(0..40) * 3 + who as u64;
        let len = if self.rng.u32(0..12) == 0 { 3000 } else { self.rng.usize(0..200) };
        let payload: Vec<u8> = (0..len).map(|_| self.rng.u8(b'a'..=b'f')).collect();
        let what = self.rng.u32(0..3);
        let TestTxn { txn, delta } = &mut self.open[who];
        let there = delta.get(&id).map_or_else(|| self.now.contains_key(&id), Option::is_some);
        let (tried, effect) = match what {
            _ if !there => (self.table.insert(txn, id, &payload)?, Some(payload)),
            0 => (self.table.delete(txn, id)?, None),
            _ => (self.table.update(txn, id, &payload)?, Some(payload)),
        };
        assert_eq!(tried, TriedChange::Done);
        delta.insert(id, effect);
        Ok(())
    }

    fn commit(&mut self, who: usize) -> Result<(), TxnError> {
        tick();
        let fresh = TestTxn { txn: self.db.begin(51)?, delta: BTreeMap::new() };
        let TestTxn { txn, delta } = std::mem::replace(&mut self.open[who], fresh);
        txn.commit(Durability::Full)?;
        for (id, payload) in delta {
            match payload {
                Some(p) => drop(self.now.insert(id, p)),
                None => drop(self.now.remove(&id)),
            }
        }
        self.points.push((tick(), self.now.clone()));
        Ok(())
    }

    /// Rolls everything open back.
    pub fn quiet(&mut self) {
        self.open.drain(..).for_each(|open| open.txn.rollback().unwrap());
    }

    pub fn backup(&mut self, kind: SetKind, files: &[&str]) -> Result<TakenBackup, BackupError> {
        let compress = self.rng.bool();
        self.backup_as(files, &BackupSpec { kind, compress, ..BackupSpec::default() })
    }

    pub fn backup_as(
        &mut self,
        files: &[&str],
        spec: &BackupSpec,
    ) -> Result<TakenBackup, BackupError> {
        let files: Vec<String> = files.iter().map(ToString::to_string).collect();
        let done = self.db.backup(&devices(&self.disk, &files), spec, &mut |_| true)?;
        Ok(TakenBackup { files, position: done.header.position, done })
    }
}

pub fn spec(kind: SetKind) -> BackupSpec {
    BackupSpec { kind, ..BackupSpec::default() }
}

pub fn format(kind: SetKind) -> BackupSpec {
    BackupSpec { kind, existing: ExistingSets::Format, ..BackupSpec::default() }
}

pub fn target(name: &str) -> RestoreTarget {
    RestoreTarget {
        files: vec![(1, format!("{name}/a.mdf").into()), (2, format!("{name}/b.ndf").into())],
        log_path: format!("{name}/a.ldf").into(),
        log: options(),
    }
}

/// A restore under another name.
pub struct RestoredCopy {
    pub disk: SimDisk,
    pub target: RestoreTarget,
    pub background: bool,
}

impl RestoredCopy {
    pub fn new(disk: &SimDisk, name: &str) -> RestoredCopy {
        disk.create_dir_all(std::path::Path::new(name)).unwrap();
        RestoredCopy { disk: disk.clone(), target: target(name), background: false }
    }

    pub fn env(&self) -> super::txn::Env {
        env(Arc::new(self.disk.clone()), 300, self.background)
    }

    pub fn step(
        &self,
        taken: &TakenBackup,
        stop: Option<u64>,
        step: RestoreNext,
    ) -> Result<RestoredStep, BackupError> {
        let mut media = MediaSet::open(&devices(&self.disk, &taken.files), false)?;
        let (env, at) = (self.env(), taken.position);
        match taken.done.header.kind {
            SetKind::Log => {
                let to = RollTo {
                    stop_us: stop,
                    place: &mut |new| Ok(new.iter().map(|f| self.place(f.id)).collect()),
                };
                restore_log(&env, &mut media, at, &self.target, to, step, &mut |_| true)
            }
            _ => restore_data(&env, &mut media, at, &self.target, step, &mut |_| true),
        }
    }

    /// Where a file goes that the log adds.
    fn place(&self, id: u16) -> PathBuf {
        self.target.log_path.with_file_name(format!("added{id}.ndf"))
    }

    pub fn recover(&self) -> Result<Arc<Database>, TxnError> {
        let (primary, log) = (&self.target.files[0].1, &self.target.log_path);
        Database::open(self.env(), primary, log, self.target.log.clone(), &mut |_, _| {})
    }

    pub fn remove(&self) {
        for path in self.disk.list(self.target.log_path.parent().unwrap()).unwrap() {
            let _ = self.disk.remove(&path);
        }
    }
}

/// An error unless the database holds exactly the model and is sound.
pub fn check(db: &Arc<Database>, model: &Model) -> Result<Table, String> {
    let table = Table::open(db).map_err(|e| e.to_string())?;
    let seen = table.read_all(db.snapshot().mode()).map_err(|e| e.to_string())??;
    if seen != *model {
        return Err(format!("rows differ (found / wanted): {}", difference(&seen, model)));
    }
    let faults = table.faults(db).map_err(|e| e.to_string())?;
    if faults.is_empty() { Ok(table) } else { Err(format!("structural faults: {faults:?}")) }
}

/// Restores a chain up to `stop` and says where it stopped.
pub fn restore_to(
    copy: &RestoredCopy,
    chain: &[TakenBackup],
    stop: u64,
) -> Result<Arc<Database>, BackupError> {
    for taken in chain {
        let done = copy.step(taken, Some(stop), RestoreNext::More)?;
        if done.stopped {
            break;
        }
    }
    Ok(copy.recover()?)
}

/// Restores a chain, losing power again and again; returns how often.
pub fn restore_with_crashes(
    rng: &mut fastrand::Rng,
    mut disk: SimDisk,
    chain: &[TakenBackup],
    model: &Model,
    seed: u64,
) -> u32 {
    let (mut at, mut crashes) = (0, 0);
    let mut copy = RestoredCopy::new(&disk, "copy");
    while at < chain.len() {
        if crashes < 4 {
            disk.crash_at(disk.io_count() + rng.u64(1..90));
        }
        let done = copy.step(&chain[at], None, RestoreNext::More);
        if !disk.has_crashed() {
            done.unwrap_or_else(|e| panic!("seed {seed}, step {at}: {e}"));
            at += 1;
            continue;
        }
        crashes += 1;
        disk = disk.crash(rng.u64(..));
        copy = RestoredCopy { disk: disk.clone(), ..copy };
        if at == 0 {
            // A full backup begins a new chain.
            copy.remove();
        }
    }
    disk.clear_faults();
    let db = copy.recover().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    check(&db, model).unwrap_or_else(|e| panic!("seed {seed}, restored: {e}"));
    crashes
}
