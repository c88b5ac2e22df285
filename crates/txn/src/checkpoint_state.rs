//! What a database knows of its checkpoints, and of what keeps its log: the state that `checkpoint`
//! works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use wal::Lsn;

use crate::background::Bell;
use crate::backup_state::BackupState;

/// The last checkpoint.
#[derive(Debug)]
pub(crate) struct LastCheckpoint {
    pub lsn: Lsn,
    pub redo_lsn: Lsn,
    pub at: Instant,
    /// Log bytes at its end, to tell how much came since.
    pub bytes: u64,
    pub count: u64,
    /// Time of all checkpoints together.
    pub time: Duration,
    pub error: Option<String>,
    /// It could not write all pages.
    pub unwritten: Option<Unwritten>,
}

/// Pages that the device refuses hold the log, and are tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unwritten {
    /// The oldest log that they need.
    pub redo_lsn: Lsn,
    /// When the next attempt is due, and how long after the one before.
    pub retry_at: Instant,
    pub pause: Duration,
}

/// Attempts to write refused pages come after such a pause, each twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Unwritten {
    /// After an attempt that has failed, the first one or another.
    pub fn after(before: Option<Unwritten>, redo_lsn: Lsn) -> Unwritten {
        let pause = before.map_or(FIRST_PAUSE, |before| (before.pause * 2).min(LONGEST_PAUSE));
        Unwritten { redo_lsn, retry_at: Instant::now() + pause, pause }
    }
}

/// Checkpoint state of a database.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    /// One checkpoint at a time.
    pub one: Mutex<()>,
    pub last: Mutex<LastCheckpoint>,
    pub done: Condvar,
    pub bell: Arc<Bell>,
    /// Where `throttle` last looked, in units of 16 KB of log: looking is not free.
    pub looked: AtomicU64,
    /// Somebody waits for a checkpoint: it is due whatever the log looks like by now.
    pub asked: AtomicBool,
    /// Log that backups need: (of the log chain, of a running backup).
    pub holds: Mutex<(Option<Lsn>, Option<Lsn>)>,
    /// What the log's header says for backups, as of now.
    pub backup: Mutex<BackupState>,
    /// One backup of the data or change of the list of files, and one backup of the log, at a time.
    pub data_backup: Mutex<()>,
    pub log_backup: Mutex<()>,
}

impl Default for Checkpointer {
    fn default() -> Self {
        Checkpointer {
            one: Mutex::new(()),
            last: Mutex::new(LastCheckpoint {
                lsn: Lsn::ZERO,
                redo_lsn: Lsn::ZERO,
                at: Instant::now(),
                bytes: 0,
                count: 0,
                time: Duration::ZERO,
                error: None,
                unwritten: None,
            }),
            done: Condvar::new(),
            bell: Arc::default(),
            looked: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            holds: Mutex::default(),
            backup: Mutex::default(),
            data_backup: Mutex::default(),
            log_backup: Mutex::default(),
        }
    }
}

impl Checkpointer {
    /// The database has failed: nobody waits for a checkpoint any more.
    pub fn wake_waiters(&self) {
        // Under the lock, so that nobody is between looking and waiting.
        let _last = self.last.lock();
        self.done.notify_all();
    }
}
