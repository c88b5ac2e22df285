//! What a database keeps for its backups in the header of its log, where it outlives the data
//! files: its chain of log backups, the base of the next differential one, recovery forks, and how
//! far a restore has come. Guarantees: what was encoded is decoded to the same; other bytes give
//! `None`.

use pages::InstanceId;
use wal::Lsn;

use crate::codec::{Dec, Enc};
use crate::options::RecoveryModel;

/// The full backup that a differential one builds on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupBase {
    /// Its backup set.
    pub set_id: [u8; 16],
    /// Its checkpoint: differential_base_lsn.
    pub checkpoint_lsn: Lsn,
    /// Pages with an LSN from here on may differ from it.
    pub changed_from: Lsn,
    /// When it began, in microseconds since 1970.
    pub time_us: u64,
}

/// Of the bytes of a state.
const STATE_VERSION: u16 = 3;

impl BackupBase {
    /// Adds one that may not be there.
    pub(crate) fn put(base: &Option<BackupBase>, e: &mut Enc) {
        e.flag(base.is_some());
        if let Some(b) = base {
            e.guid(&b.set_id).lsn(b.checkpoint_lsn).lsn(b.changed_from).u64(b.time_us);
        }
    }

    /// Takes what [`BackupBase::put`] has added; `None`: it is not that.
    pub(crate) fn get(d: &mut Dec<'_>) -> Option<Option<BackupBase>> {
        if !d.flag()? {
            return Some(None);
        }
        let (set_id, checkpoint_lsn) = (d.guid()?, d.lsn()?);
        let (changed_from, time_us) = (d.lsn()?, d.u64()?);
        Some(Some(BackupBase { set_id, checkpoint_lsn, changed_from, time_us }))
    }
}

/// What the log's header keeps for backups, beside the checkpoint: it outlives the data files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupState {
    /// Identity that stays through restores; zero = that of the files.
    pub family: [u8; 16],
    /// Recovery fork: parent, own, and where it began.
    pub parent_fork: [u8; 16],
    pub fork: [u8; 16],
    pub fork_lsn: Lsn,
    /// Where the next log backup begins; zero = no log chain.
    pub log_from: Lsn,
    /// The newest full backup, unless it was copy-only.
    pub base: Option<BackupBase>,
    /// When the log was last backed up, in microseconds since 1970; 0 = never.
    pub log_backup_us: u64,
    pub recovery_model: Option<RecoveryModel>,
    /// A restore is going on.
    pub restoring: Option<RestoreState>,
    /// The instance that the database belongs to; zeros: none yet.
    pub owner: InstanceId,
}

/// How far a restore has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreState {
    /// First block of log that is not restored.
    pub end: Lsn,
    /// The database is as it was then, in microseconds since 1970.
    pub time_us: u64,
    /// The last block was cut at a stop time: only the recovery fork that began here can go on.
    pub cut: bool,
}

impl BackupState {
    /// Where the log begins that waits for a log backup; `None`: there is no log chain.
    pub fn chain(&self) -> Option<Lsn> {
        (!self.log_from.is_zero()).then_some(self.log_from)
    }

    /// The restore is over: a new recovery fork begins where what was restored ends, and so does
    /// the log chain.
    pub(crate) fn end_restore(&mut self, model: RecoveryModel) -> bool {
        let Some(RestoreState { end, .. }) = self.restoring.take() else { return false };
        self.parent_fork = self.fork;
        fastrand::fill(&mut self.fork);
        self.fork_lsn = end;
        self.log_from = if model == RecoveryModel::Simple { Lsn::ZERO } else { end };
        true
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut e = Enc::default();
        e.u16(STATE_VERSION)
            .guid(&self.family)
            .guid(&self.parent_fork)
            .guid(&self.fork)
            .lsn(self.fork_lsn);
        e.lsn(self.log_from);
        BackupBase::put(&self.base, &mut e);
        e.u64(self.log_backup_us).u8(self.recovery_model.map_or(0, |m| m as u8));
        e.flag(self.restoring.is_some());
        if let Some(r) = self.restoring {
            e.lsn(r.end).u64(r.time_us).flag(r.cut);
        }
        e.guid(&self.owner);
        e.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<BackupState> {
        let d = &mut Dec(bytes);
        if d.u16()? != STATE_VERSION {
            return None;
        }
        let mut state = BackupState {
            family: d.guid()?,
            parent_fork: d.guid()?,
            fork: d.guid()?,
            fork_lsn: d.lsn()?,
            log_from: d.lsn()?,
            base: BackupBase::get(d)?,
            log_backup_us: d.u64()?,
            ..BackupState::default()
        };
        let model = d.u8()?;
        state.recovery_model = if model == 0 { None } else { Some(RecoveryModel::from_u8(model)?) };
        if d.flag()? {
            state.restoring =
                Some(RestoreState { end: d.lsn()?, time_us: d.u64()?, cut: d.flag()? });
        }
        // Logs made before logs had an owner end here.
        state.owner = d.guid().unwrap_or_default();
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsn(vlf: u32) -> Lsn {
        Lsn { vlf, block: 16, slot: 1 }
    }

    fn state() -> BackupState {
        BackupState {
            base: Some(BackupBase {
                set_id: [6; 16],
                checkpoint_lsn: lsn(6),
                changed_from: lsn(7),
                time_us: 8,
            }),
            recovery_model: Some(RecoveryModel::Full),
            restoring: Some(RestoreState { end: lsn(8), time_us: 9, cut: true }),
            ..BackupState::default()
        }
    }

    #[test]
    fn states_survive_and_fit_the_header() {
        let state = state();
        let bytes = state.encode();
        assert!(bytes.len() < 300, "it has to fit the log's header");
        assert_eq!(BackupState::decode(&bytes), Some(state));
    }

    #[test]
    fn random_bytes_do_no_harm() {
        let mut rng = fastrand::Rng::with_seed(3);
        let sample = state().encode();
        for _ in 0..20_000 {
            let mut bytes = sample.clone();
            for _ in 0..rng.usize(1..5) {
                let at = rng.usize(0..bytes.len());
                bytes[at] = rng.u8(..);
            }
            // What is taken for one is one: it comes back as it was read.
            let state = BackupState::decode(&bytes);
            assert_eq!(state.as_ref().and_then(|s| BackupState::decode(&s.encode())), state);
        }
    }
}
