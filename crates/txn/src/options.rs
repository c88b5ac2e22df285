//! What a database is told to be: recovery model, durability, checkpoint pace; and how that is kept
//! in the boot page. Guarantees: [`DbState::decode`] accepts what [`DbState::encode`] made and
//! rejects everything else with an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The recovery model, with sys.databases.recovery_model's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecoveryModel {
    /// The log waits for log backups.
    Full = 1,
    /// Like full; bulk operations may log less.
    BulkLogged = 2,
    /// The log is reused after checkpoints.
    Simple = 3,
}

impl RecoveryModel {
    /// FULL, BULK_LOGGED, SIMPLE.
    pub fn name(self) -> &'static str {
        match self {
            RecoveryModel::Full => "FULL",
            RecoveryModel::BulkLogged => "BULK_LOGGED",
            RecoveryModel::Simple => "SIMPLE",
        }
    }

    pub(crate) fn from_u8(b: u8) -> Option<Self> {
        [RecoveryModel::Full, RecoveryModel::BulkLogged, RecoveryModel::Simple]
            .into_iter()
            .find(|m| *m as u8 == b)
    }
}

/// The database's DELAYED_DURABILITY setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DelayedDurability {
    /// Every commit waits for the log.
    Disabled = 0,
    /// The commit decides.
    Allowed = 1,
    /// No commit waits for the log.
    Forced = 2,
}

impl DelayedDurability {
    /// DISABLED, ALLOWED, FORCED.
    pub fn name(self) -> &'static str {
        match self {
            DelayedDurability::Disabled => "DISABLED",
            DelayedDurability::Allowed => "ALLOWED",
            DelayedDurability::Forced => "FORCED",
        }
    }

    /// What a commit that asked for `wanted` gets: the database's setting goes first.
    pub fn decide(self, wanted: Durability) -> Durability {
        match self {
            DelayedDurability::Disabled => Durability::Full,
            DelayedDurability::Allowed => wanted,
            DelayedDurability::Forced => Durability::Delayed,
        }
    }

    /// The setting with this number; None for other numbers.
    pub fn from_u8(b: u8) -> Option<Self> {
        use DelayedDurability::*;
        [Disabled, Allowed, Forced].into_iter().find(|m| *m as u8 == b)
    }
}

/// How much work of delayed commits a crash may lose, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossWindow {
    /// Milliseconds from a delayed commit to the flush that makes it durable, the flush itself not
    /// counted; 1 to [`LossWindow::MAX_MS`].
    pub ms: u32,
    /// Log that may not be durable yet, in KB; 4 to [`LossWindow::MAX_KB`]. The delayed commit that
    /// exceeds it waits.
    pub kb: u32,
}

impl LossWindow {
    /// Longest time, in milliseconds.
    pub const MAX_MS: u32 = 60_000;
    /// Largest amount of log, in KB.
    pub const MAX_KB: u32 = 65_536;

    /// Both limits are in their ranges.
    pub fn is_valid(self) -> bool {
        (1..=Self::MAX_MS).contains(&self.ms) && (4..=Self::MAX_KB).contains(&self.kb)
    }

    /// The limit in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.kb) << 10
    }
}

impl Default for LossWindow {
    /// 10 milliseconds and what four log buffers hold: with one, commits of 200 bytes wait for the
    /// disk every 300.
    fn default() -> Self {
        LossWindow { ms: 10, kb: 240 }
    }
}

/// What COMMIT asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The answer waits until the commit record is durable.
    Full,
    /// The answer does not wait; the log is written soon after.
    Delayed,
}

/// How the background tasks of a database pace themselves. Not kept in the database.
#[derive(Clone, Debug)]
pub struct BackgroundPace {
    /// Run background threads at all. Without them checkpoints, ghost cleanup and delayed flushes
    /// happen only when called.
    pub background: bool,
    /// A checkpoint starts after this many bytes of log (default 256 MB).
    pub checkpoint_bytes: u64,
    /// A checkpoint starts after this time if anything was logged (default 60 s).
    pub checkpoint_interval: Duration,
    /// Ghost cleanup looks at its queue this often (default 1 s).
    pub ghost_interval: Duration,
    /// While set, no checkpoint begins by itself, not even when the log is nearly full. Shared by
    /// the databases of an instance.
    pub checkpoints_held: Arc<AtomicBool>,
}

impl BackgroundPace {
    /// Whether checkpoints begin by themselves.
    pub(crate) fn checkpoints(&self) -> bool {
        self.background && !self.checkpoints_held.load(Ordering::Relaxed)
    }
}

impl Default for BackgroundPace {
    fn default() -> Self {
        BackgroundPace {
            background: true,
            checkpoint_bytes: 256 << 20,
            checkpoint_interval: Duration::from_secs(60),
            ghost_interval: Duration::from_secs(1),
            checkpoints_held: Arc::default(),
        }
    }
}

/// The database's own settings in the boot page, and the engine's bytes beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbState {
    /// Recovery model.
    pub recovery_model: RecoveryModel,
    /// Delayed durability.
    pub delayed: DelayedDurability,
    /// What delayed commits may lose.
    pub window: LossWindow,
    /// A full backup exists, so FULL and BULK_LOGGED hold the log for log backups.
    pub log_chain: bool,
    /// Opaque bytes of the engine, at most [`DbState::MAX_META`].
    pub meta: Vec<u8>,
}

const MAGIC: &[u8; 4] = b"RWDB";
const VERSION: u8 = 2;
/// Bytes before the engine's.
const HEAD: usize = 20;

impl DbState {
    /// Longest `meta` in bytes.
    pub const MAX_META: usize = 7000;

    /// SIMPLE, durable, without meta bytes.
    pub fn initial() -> DbState {
        DbState {
            recovery_model: RecoveryModel::Simple,
            delayed: DelayedDurability::Disabled,
            window: LossWindow::default(),
            log_chain: false,
            meta: Vec::new(),
        }
    }

    /// The boot page's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(HEAD + self.meta.len());
        b.extend_from_slice(MAGIC);
        b.extend_from_slice(&[
            VERSION,
            self.recovery_model as u8,
            self.delayed as u8,
            u8::from(self.log_chain),
        ]);
        for number in [self.meta.len() as u32, self.window.ms, self.window.kb] {
            b.extend_from_slice(&number.to_le_bytes());
        }
        b.extend_from_slice(&self.meta);
        b
    }

    /// Reads what [`DbState::encode`] made; bytes after it are ignored. The error says what is
    /// wrong.
    pub fn decode(b: &[u8]) -> Result<DbState, &'static str> {
        let Some((head, rest)) = b.split_at_checked(HEAD) else {
            return Err("boot page is too short");
        };
        if &head[..4] != MAGIC {
            return Err("boot page has no database record");
        }
        if head[4] != VERSION {
            return Err("database version is not known");
        }
        let recovery_model =
            RecoveryModel::from_u8(head[5]).ok_or("recovery model is not known")?;
        let delayed =
            DelayedDurability::from_u8(head[6]).ok_or("delayed durability is not known")?;
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let window = LossWindow { ms: number(12), kb: number(16) };
        if !window.is_valid() {
            return Err("loss window is out of range");
        }
        let meta = rest.get(..number(8) as usize).ok_or("boot page is cut off")?.to_vec();
        Ok(DbState { recovery_model, delayed, window, log_chain: head[7] != 0, meta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_survives_its_encoding() {
        let s = DbState {
            recovery_model: RecoveryModel::BulkLogged,
            delayed: DelayedDurability::Forced,
            window: LossWindow { ms: 250, kb: 1024 },
            log_chain: true,
            meta: vec![7; 300],
        };
        let b = s.encode();
        assert_eq!(DbState::decode(&b), Ok(s));
        for cut in 0..b.len() {
            assert!(DbState::decode(&b[..cut]).is_err());
        }
        for at in 0..8 {
            let mut bad = b.clone();
            bad[at] = 0xEE;
            assert_eq!(DbState::decode(&bad).is_err(), at != 7, "byte {at}");
        }
    }

    #[test]
    fn the_database_decides_before_the_commit() {
        use Durability::*;
        assert_eq!(DelayedDurability::Disabled.decide(Delayed), Full);
        assert_eq!(DelayedDurability::Allowed.decide(Delayed), Delayed);
        assert_eq!(DelayedDurability::Allowed.decide(Full), Full);
        assert_eq!(DelayedDurability::Forced.decide(Full), Delayed);
    }
}

/// What keeps the log from being reused, with sys.databases.log_reuse_wait's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LogReuseWait {
    /// Nothing does.
    Nothing = 0,
    /// The next checkpoint will free some.
    Checkpoint = 1,
    /// A log backup will free some.
    LogBackup = 2,
    /// A running backup reads it.
    ActiveBackupOrRestore = 3,
    /// A transaction, or a snapshot that may need its versions, is open.
    ActiveTransaction = 4,
}

impl LogReuseWait {
    /// The text of log_reuse_wait_desc.
    pub fn name(self) -> &'static str {
        match self {
            LogReuseWait::Nothing => "NOTHING",
            LogReuseWait::Checkpoint => "CHECKPOINT",
            LogReuseWait::LogBackup => "LOG_BACKUP",
            LogReuseWait::ActiveBackupOrRestore => "ACTIVE_BACKUP_OR_RESTORE",
            LogReuseWait::ActiveTransaction => "ACTIVE_TRANSACTION",
        }
    }
}
