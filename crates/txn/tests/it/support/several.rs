//! Crash histories of transactions over two and three databases: sessions on threads of their own
//! change and commit, power fails at a random I/O, recovery may lose power as well, and databases
//! are opened in any order.
//!
//! Checked: each session's committed transactions are there in all databases, its unfinished one is
//! whole or absent everywhere, in every database the structures agree; databases close cleanly and
//! have nothing to redo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pages::{FileGrowth, FileSpec};
use sim::SimDisk;
use wal::{Growth, LogOptions};

use super::txn::{
    CreateSpec, Database, DbState, Durability, Env, Outcomes, Txn, TxnError, commit_together,
};
use super::{Model, Table, TriedChange, difference, env, log_options};

/// What seeds exercised.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// Commits over several databases that were acknowledged.
    pub together: u64,
    pub crashed: u64,
    /// Databases that had to wait for another one when they were opened.
    pub waited: u64,
    /// Transactions that were not acknowledged and were there all the same.
    pub found: u64,
    /// Those that were not.
    pub absent: u64,
}

impl Tally {
    pub fn add(&mut self, o: &Tally) {
        self.together += o.together;
        self.crashed += o.crashed;
        self.waited += o.waited;
        self.found += o.found;
        self.absent += o.absent;
    }
}

/// Rows of one session in each database.
type SessionRows = Vec<Model>;
const IDS: u64 = 20;

fn primary(n: usize) -> PathBuf {
    format!("db/several{n}.mdf").into()
}

fn log_path(n: usize) -> PathBuf {
    format!("db/several{n}_log.ldf").into()
}

fn log() -> LogOptions {
    log_options(1 << 20, Growth::Bytes(1 << 20), false)
}

/// What databases of one start share.
pub struct OneStart {
    env: Env,
}

impl OneStart {
    pub fn new(disk: &SimDisk) -> OneStart {
        OneStart { env: env(Arc::new(disk.clone()), 600, false) }
    }

    pub fn outcomes(&self) -> &Arc<Outcomes> {
        &self.env.outcomes
    }

    fn env(&self, n: usize) -> Env {
        Env { db: 5 + n as u16, ..self.env.clone() }
    }

    pub fn create(&self, n: usize) -> Result<(Arc<Database>, Table), TxnError> {
        self.env.disk.create_dir_all(Path::new("db"))?;
        let file = FileSpec {
            id: 1,
            name: "first".into(),
            path: primary(n),
            filegroup: 1,
            size: 4 << 20,
            growth: FileGrowth::Bytes(1 << 20),
            max_size: None,
        };
        let spec = CreateSpec {
            guid: [n as u8 + 1; 16],
            files: vec![file],
            log_path: log_path(n),
            log: log(),
            settings: DbState::initial(),
        };
        let db = Database::create(self.env(n), spec)?;
        let table = Table::create(&db)?;
        Ok((db, table))
    }

    pub fn open(&self, n: usize) -> Result<(Arc<Database>, Table), TxnError> {
        let db = Database::open(self.env(n), &primary(n), &log_path(n), log(), &mut |_, _| {})?;
        let table = Table::open(&db)?;
        Ok((db, table))
    }

    /// All of them, in a random order; those that wait for others when the others are there.
    fn open_all(
        &self,
        count: usize,
        rng: &mut fastrand::Rng,
        tally: &mut Tally,
    ) -> Result<Vec<(Arc<Database>, Table)>, TxnError> {
        let mut order: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut order);
        let mut open: BTreeMap<usize, (Arc<Database>, Table)> = BTreeMap::new();
        let mut waiting = Vec::new();
        for n in order {
            match self.open(n) {
                Ok(db) => drop(open.insert(n, db)),
                Err(TxnError::InDoubt(_)) => waiting.push(n),
                Err(e) => return Err(e),
            }
        }
        tally.waited += waiting.len() as u64;
        for n in waiting {
            open.insert(n, self.open(n)?);
        }
        self.outcomes().settle();
        Ok(open.into_values().collect())
    }
}

/// What the world knows of one session.
struct Session {
    number: u64,
    rng: fastrand::Rng,
    /// After the commits that were acknowledged.
    now: SessionRows,
    /// After the one that was attempted last, if that was not acknowledged.
    attempted: Option<SessionRows>,
    together: u64,
}

impl Session {
    fn new(number: u64, seed: u64, databases: usize) -> Session {
        let rng = fastrand::Rng::with_seed(seed);
        Session { number, rng, now: vec![Model::new(); databases], attempted: None, together: 0 }
    }

    fn run(&mut self, dbs: &[(Arc<Database>, Table)], steps: u32) -> Result<(), TxnError> {
        for _ in 0..steps {
            match self.rng.u32(0..20) {
                0 => drop(dbs[self.rng.usize(0..dbs.len())].0.checkpoint()?),
                1 => dbs[self.rng.usize(0..dbs.len())].0.flush_log()?,
                _ => self.transaction(dbs)?,
            }
        }
        Ok(())
    }

    fn transaction(&mut self, dbs: &[(Arc<Database>, Table)]) -> Result<(), TxnError> {
        let mut after = self.now.clone();
        let mut txns: Vec<Txn> = Vec::new();
        for (n, (db, table)) in dbs.iter().enumerate() {
            if self.rng.u32(0..5) == 0 {
                continue;
            }
            let mut t = db.begin(51)?;
            for _ in 0..self.rng.usize(1..4) {
                self.change(table, &mut t, &mut after[n])?;
            }
            txns.push(t);
        }
        self.rng.shuffle(&mut txns);
        if self.rng.u32(0..10) == 0 {
            return txns.into_iter().try_for_each(Txn::rollback);
        }
        // From the attempt on it may be there.
        self.attempted = Some(after);
        let together = txns.len() > 1;
        if together {
            let mut list: Vec<&mut Txn> = txns.iter_mut().collect();
            commit_together(&mut list, "first").map_err(|(_, e)| e)?;
        } else if let Some(t) = txns.pop() {
            t.commit(Durability::Full)?;
        }
        self.together += u64::from(together);
        if let Some(after) = self.attempted.take() {
            self.now = after;
        }
        Ok(())
    }

    fn change(&mut self, table: &Table, t: &mut Txn, rows: &mut Model) -> Result<(), TxnError> {
        let id = self.number * IDS + self.rng.u64(0..IDS);
        let payload = vec![self.rng.u8(b'a'..=b'z'); self.rng.usize(1..120)];
        let tried = match (rows.contains_key(&id), self.rng.u32(0..3)) {
            (false, _) => table.insert(t, id, &payload)?,
            (true, 0) => {
                rows.remove(&id);
                assert_eq!(table.delete(t, id)?, TriedChange::Done);
                return Ok(());
            }
            (true, _) => table.update(t, id, &payload)?,
        };
        assert_eq!(tried, TriedChange::Done, "sessions have rows of their own");
        rows.insert(id, payload);
        Ok(())
    }

    /// Compares with what recovery has left, and takes that.
    fn verify(&mut self, found: &[Model], tally: &mut Tally) -> Result<(), String> {
        let range = self.number * IDS..(self.number + 1) * IDS;
        let own =
            |model: &Model| model.range(range.clone()).map(|(id, p)| (*id, p.clone())).collect();
        let found: SessionRows = found.iter().map(own).collect();
        let attempted = self.attempted.take().filter(|rows| *rows != self.now);
        if attempted.as_ref().is_some_and(|rows| *rows == found) {
            tally.found += 1;
            self.now = found;
            return Ok(());
        }
        tally.absent += u64::from(attempted.is_some());
        if self.now == found {
            return Ok(());
        }
        let differences = |rows: &SessionRows| -> Vec<String> {
            rows.iter().zip(&found).map(|(wanted, found)| difference(found, wanted)).collect()
        };
        Err(format!(
            "session {}: in part, or lost (found / wanted): before {:?}, after {:?}",
            self.number,
            differences(&self.now),
            attempted.as_ref().map(differences)
        ))
    }
}

/// Runs one seed. The error says what went wrong.
pub fn explore(seed: u64) -> Result<Tally, String> {
    let mut tally = Tally::default();
    run_seed(seed, &mut tally).map_err(|e| format!("seed {seed}: {e}"))?;
    Ok(tally)
}

fn run_seed(seed: u64, tally: &mut Tally) -> Result<(), String> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let count = 2 + (seed % 2) as usize;
    let mut disk = SimDisk::new(seed);
    let text = |e: TxnError| format!("unexpected error: {e}");
    let start = OneStart::new(&disk);
    let mut dbs: Vec<_> =
        (0..count).map(|n| start.create(n)).collect::<Result<_, _>>().map_err(text)?;
    let mut sessions: Vec<Session> =
        (0..1 + seed / 2 % 3).map(|n| Session::new(n, rng.u64(..), count)).collect();
    for _ in 0..3 {
        disk.crash_at(disk.io_count() + rng.u64(1..160));
        live(&disk, &dbs, &mut sessions)?;
        tally.crashed += u64::from(disk.has_crashed());
        drop(dbs);
        disk = disk.crash(rng.u64(..));
        for _ in 0..rng.usize(0..3) {
            disk.crash_at(rng.u64(1..80));
            match OneStart::new(&disk).open_all(count, &mut rng, tally) {
                Err(e) if !disk.has_crashed() => return Err(text(e)),
                _ => {}
            }
            disk = disk.crash(rng.u64(..));
        }
        dbs = OneStart::new(&disk).open_all(count, &mut rng, tally).map_err(text)?;
        verify(&dbs, &mut sessions, tally)?;
    }
    live(&disk, &dbs, &mut sessions)?;
    tally.together += sessions.iter().map(|session| session.together).sum::<u64>();
    for (db, _) in &dbs {
        db.close().map_err(text)?;
    }
    drop(dbs);
    let dbs = OneStart::new(&disk).open_all(count, &mut rng, tally).map_err(text)?;
    if !dbs.iter().all(|(db, _)| db.recovery_report().clean) {
        return Err("a closed database had to be recovered".into());
    }
    verify(&dbs, &mut sessions, tally)
}

/// Sessions at the same time, until they are done or the power goes.
fn live(
    disk: &SimDisk,
    dbs: &[(Arc<Database>, Table)],
    sessions: &mut [Session],
) -> Result<(), String> {
    let ends: Vec<Result<(), TxnError>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            sessions.iter_mut().map(|session| scope.spawn(move || session.run(dbs, 40))).collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    match ends.into_iter().find_map(Result::err) {
        Some(e) if !disk.has_crashed() => Err(format!("unexpected error: {e}")),
        _ => Ok(()),
    }
}

fn verify(
    dbs: &[(Arc<Database>, Table)],
    sessions: &mut [Session],
    tally: &mut Tally,
) -> Result<(), String> {
    let mut found = Vec::new();
    for (db, table) in dbs {
        let text = |e: TxnError| e.to_string();
        found.push(table.read_all(db.snapshot().mode()).map_err(text)??);
        let faults = table.faults(db).map_err(text)?;
        if !faults.is_empty() {
            return Err(format!("structural faults: {faults:?}"));
        }
    }
    sessions.iter_mut().try_for_each(|session| session.verify(&found, tally))
}
