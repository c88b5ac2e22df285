//! Fuzzy checkpoints, log truncation, and what holds it back. Guarantees: a checkpoint is recorded
//! only after every page changed before its redo LSN is on disk and its records are durable; the
//! log is truncated only below what redo, undo, snapshots and backups need; nobody is stopped
//! meanwhile.
//!
//! Order: CkptBegin is appended; dirty pages are written; the active transactions are listed, each
//! under the mutex that it holds while it appends, so that what it wrote before CkptBegin is in the
//! list and what it writes later is after CkptBegin, where analysis sees it; CkptEnd is appended
//! and made durable; the log's header gets the new start.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use pages::{PageError, RecordBuilder, RecordKind, TxnId};
use wal::{CheckpointInfo, Lsn};

use crate::backup_state::BackupState;
use crate::checkpoint_state::Unwritten;
use crate::database::{Database, Status};
use crate::error::{ErrorKind, TxnError};
use crate::global::{DECISIONS, Decision};
use crate::options::LogReuseWait;
use crate::txn::time_bytes;

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Its CkptBegin record.
    pub lsn: Lsn,
    /// Where redo would start.
    pub redo_lsn: Lsn,
    /// How long it took.
    pub took: Duration,
}

/// Payload of the records that list active transactions: the checkpoint they belong to, then 26
/// bytes each.
pub const ACTIVE_LIST: RecordKind = RecordKind::Misc(1);
const ENTRY: usize = 26;
const ENTRIES_PER_RECORD: usize = 1500;
/// So many transactions may begin while a checkpoint is written before it takes more log than it
/// has set aside; each has set some aside for that as well.
const ACTIVE_MORE: usize = 64;

/// One active transaction of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActiveEntry {
    pub id: TxnId,
    pub begin: Lsn,
    pub last: Lsn,
}

pub(crate) fn encode_list(checkpoint: Lsn, list: &[ActiveEntry]) -> Vec<u8> {
    let mut b = Vec::with_capacity(10 + ENTRY * list.len());
    b.extend_from_slice(&checkpoint.to_bytes());
    for e in list {
        b.extend_from_slice(&e.id.to_bytes());
        b.extend_from_slice(&e.begin.to_bytes());
        b.extend_from_slice(&e.last.to_bytes());
    }
    b
}

/// The checkpoint and its entries; None for bytes of another form.
pub(crate) fn decode_list(b: &[u8]) -> Option<(Lsn, Vec<ActiveEntry>)> {
    let (head, rest) = b.split_first_chunk::<10>()?;
    if !rest.len().is_multiple_of(ENTRY) {
        return None;
    }
    let list = rest.chunks_exact(ENTRY).map(|c| {
        Some(ActiveEntry {
            id: TxnId::from_bytes(*c.first_chunk()?),
            begin: Lsn::from_bytes(*c[6..].first_chunk()?),
            last: Lsn::from_bytes(*c[16..].first_chunk()?),
        })
    });
    Some((Lsn::from_bytes(*head), list.collect::<Option<_>>()?))
}

/// The payload of the log header's checkpoint slot: the next transaction id, whether the database
/// was closed after this checkpoint, and what backups need to know.
pub(crate) fn encode_header(next: TxnId, clean: bool, backup: &BackupState) -> Vec<u8> {
    let mut b = next.0.to_le_bytes().to_vec();
    b.push(clean.into());
    b.extend_from_slice(&backup.encode());
    b
}

pub(crate) fn decode_header(b: &[u8]) -> Option<(TxnId, bool, BackupState)> {
    let (id, rest) = b.split_first_chunk::<8>()?;
    let (clean, backup) = rest.split_first()?;
    let backup =
        if backup.is_empty() { BackupState::default() } else { BackupState::decode(backup)? };
    Some((TxnId(u64::from_le_bytes(*id)), *clean != 0, backup))
}

impl Database {
    /// Writes a checkpoint and, where the recovery model allows, truncates the log.
    ///
    /// # Errors
    /// [`PageError::Unwritten`] when the device refuses to write some pages: there is a checkpoint
    /// all the same, which keeps the log that these pages need, and another attempt follows by
    /// itself. [`TxnError::LogFull`]. Anything else has taken the database offline.
    pub fn checkpoint(&self) -> Result<CheckpointReport, TxnError> {
        self.checkpoint_as(false)
    }

    pub(crate) fn checkpoint_as(&self, clean: bool) -> Result<CheckpointReport, TxnError> {
        let c = self.checkpointer();
        let _one = c.one.lock();
        self.check_online()?;
        let begun = Instant::now();
        let done = self.write_checkpoint(clean);
        let mut last = c.last.lock();
        last.at = Instant::now();
        last.time += begun.elapsed();
        match &done {
            Ok((r, unwritten)) => {
                last.lsn = r.lsn;
                last.redo_lsn = r.redo_lsn;
                last.bytes = self.log_bytes();
                last.error = unwritten.as_ref().map(ToString::to_string);
                last.unwritten =
                    unwritten.as_ref().map(|_| Unwritten::after(last.unwritten, r.redo_lsn));
            }
            Err(e) => last.error = Some(e.to_string()),
        }
        let retry = last.unwritten;
        drop(last);
        if done.is_ok() {
            self.truncate_log();
        }
        // Not before: a thread that waits for a checkpoint waits for the log space that it frees.
        c.last.lock().count += 1;
        c.done.notify_all();
        match (done?, retry) {
            ((_, Some(e)), Some(retry)) => {
                self.report_unwritten(&e, retry.pause);
                Err(e.into())
            }
            ((report, _), _) => Ok(report),
        }
    }

    /// The error log hears of each attempt.
    fn report_unwritten(&self, e: &PageError, pause: Duration) {
        self.report(&format!(
            "Error: 823, Severity: 24, State: 3. {e}. The pages stay in memory, and the log that they need is kept; the next \
             attempt is due in {} seconds.",
            pause.as_secs()
        ));
    }

    /// Also where the device refuses some pages, which hold redo then: the error says so.
    fn write_checkpoint(
        &self,
        clean: bool,
    ) -> Result<(CheckpointReport, Option<PageError>), TxnError> {
        let start = Instant::now();
        let log = self.log();
        // One that frees at least what it takes may use the last of a full log: without it nothing
        // would become free.
        let decisions = self.coordinator().list_bytes().div_ceil(ENTRY);
        let active = self.txns().active().len() + decisions + ACTIVE_MORE;
        let useful = clean
            || log.bytes_before_vlf(self.needed_otherwise().0.vlf) >= log.checkpoint_cost(active);
        let _space = log.reserve_checkpoint(active, useful)?;
        let mut rec = RecordBuilder::new();
        rec.begin(RecordKind::CkptBegin).payload(&time_bytes())?;
        let begin = self.append_checkpoint(&mut rec)?;
        let unwritten = match self.store().write_dirty(begin) {
            Ok(_) => None,
            Err(e @ PageError::Unwritten { .. }) => Some(e),
            Err(e) => {
                // Pages may be lost in a failed sync: only the log knows them now, so a restart has
                // to redo.
                let e = TxnError::from(e);
                self.fail("checkpoint", &e);
                return Err(e);
            }
        };
        let redo_lsn = self.store().min_rec_lsn().map_or(begin, |l| l.min(begin));
        let next = self.txns().next_id();
        for chunk in self.active_list().chunks(ENTRIES_PER_RECORD) {
            rec.begin(ACTIVE_LIST).payload(&encode_list(begin, chunk))?;
            self.append_checkpoint(&mut rec)?;
        }
        for list in Decision::encode_list(begin, &self.coordinator().list()) {
            rec.begin(DECISIONS).payload(&list)?;
            self.append_checkpoint(&mut rec)?;
        }
        rec.begin(RecordKind::CkptEnd).payload(&begin.to_bytes())?;
        let end = self.append_checkpoint(&mut rec)?;
        let recorded = log.flush_to(end).and_then(|()| {
            let payload = encode_header(next, clean && unwritten.is_none(), &self.backup_state());
            log.set_checkpoint(CheckpointInfo { checkpoint_lsn: begin, redo_lsn, payload })
        });
        if let Err(e) = recorded {
            let e = TxnError::from(e);
            self.fail("checkpoint", &e);
            return Err(e);
        }
        Ok((CheckpointReport { lsn: begin, redo_lsn, took: start.elapsed() }, unwritten))
    }

    /// Out of the space that was set aside when the checkpoint began.
    fn append_checkpoint(&self, rec: &mut RecordBuilder) -> Result<Lsn, TxnError> {
        rec.stamp(TxnId::SYSTEM, Lsn::ZERO);
        Ok(self.log().append_reserved(&[rec.bytes()], 0)?)
    }

    fn active_list(&self) -> Vec<ActiveEntry> {
        let list = self.txns().active();
        list.iter()
            .filter_map(|t| {
                let l = t.log.lock();
                (!l.ended && l.last > Lsn::ZERO).then_some(ActiveEntry {
                    id: t.id,
                    begin: l.begin,
                    last: l.last,
                })
            })
            .collect()
    }

    /// The oldest log that is needed, and what keeps it from being reused: the checkpoint that is
    /// due, or what would hold the log all the same after it.
    pub(crate) fn log_holder(&self) -> (Lsn, LogReuseWait) {
        // The checkpoint first: what begins after the table is asked needs nothing from before that
        // moment, and the checkpoint read before lies further back still.
        let last = self.checkpointer().last.lock();
        let checkpoint = last.redo_lsn.min(last.lsn);
        drop(last);
        let other = self.needed_otherwise();
        if other.0 <= checkpoint {
            return other;
        }
        // A checkpoint would free what lies between; it is the reason if that is at least what the
        // other goes on holding.
        let freed = self.log().bytes_before_vlf(other.0.vlf);
        let held = self.log().space().used.saturating_sub(freed);
        let named = other.1 == LogReuseWait::Checkpoint || (freed > 0 && freed >= held);
        (checkpoint, if named { LogReuseWait::Checkpoint } else { other.1 })
    }

    /// Would a checkpoint make log free?
    fn checkpoint_frees(&self) -> bool {
        let unwritten = self.checkpointer().last.lock().unwritten.map_or(Lsn::MAX, |u| u.redo_lsn);
        self.log().bytes_before_vlf(self.needed_otherwise().0.min(unwritten).vlf) > 0
    }

    /// The oldest log that would be needed right after a checkpoint, and what needs it; Checkpoint
    /// where nobody needs any.
    fn needed_otherwise(&self) -> (Lsn, LogReuseWait) {
        let (chain, running) = *self.checkpointer().holds.lock();
        self.txns().note_log_end(|| self.log().end());
        let txn = self.txns().log_hold().map(|(lsn, _)| (lsn, LogReuseWait::ActiveTransaction));
        // In SIMPLE there is no chain, even where a change of the model has not ended it yet.
        let chain = chain.filter(|_| !self.is_simple());
        let backup = chain.map(|l| (l, LogReuseWait::LogBackup));
        let running = running.map(|l| (l, LogReuseWait::ActiveBackupOrRestore));
        let nobody = (Lsn::MAX, LogReuseWait::Checkpoint);
        // The first of equals.
        [backup, txn, running]
            .into_iter()
            .flatten()
            .fold(nobody, |min, h| if h.0 < min.0 { h } else { min })
    }

    /// The current reason why the log is not truncated further (log_reuse_wait_desc).
    pub fn log_reuse_wait(&self) -> LogReuseWait {
        let (lsn, why) = self.log_holder();
        // The virtual log file that is being written cannot be freed by anything.
        if lsn.vlf == self.log().end().vlf { LogReuseWait::Nothing } else { why }
    }

    /// Adds to "the log is full" why it is and from which record on (error 9002); other errors stay
    /// as they are.
    pub fn explain(&self, e: TxnError) -> TxnError {
        if e.kind() != ErrorKind::LogFull {
            return e;
        }
        let (lsn, reason) = self.log_holder();
        TxnError::LogFull { reason, lsn }
    }

    /// Gives back the log that nobody needs.
    pub(crate) fn truncate_log(&self) {
        self.log().truncate_to(self.log_holder().0);
    }

    /// The log from `lsn` on waits for a log backup (None: no log chain).
    pub fn hold_for_log_backup(&self, lsn: Option<Lsn>) {
        self.checkpointer().holds.lock().0 = lsn;
    }

    /// A running backup needs the log from `lsn` on (None: no more).
    pub(crate) fn hold_for_running_backup(&self, lsn: Option<Lsn>) {
        self.checkpointer().holds.lock().1 = lsn;
    }

    /// Does the log empty itself at checkpoints? SIMPLE, or a log chain that has not begun.
    pub fn truncates_at_checkpoint(&self) -> bool {
        let chain = self.checkpointer().holds.lock().0.is_some();
        !chain || self.is_simple()
    }

    /// What the log's header keeps for backups.
    pub fn backup_state(&self) -> BackupState {
        let mut state = self.checkpointer().backup.lock().clone();
        state.recovery_model = Some(self.settings().recovery_model);
        state
    }

    /// Recovery has read the header: a log chain that had begun goes on holding the log.
    pub(crate) fn restore_backup_state(&self, state: BackupState) {
        self.hold_for_log_backup(state.chain());
        *self.checkpointer().backup.lock() = state;
    }

    /// Changes what the header keeps for backups; durable on return. `change` is called under the
    /// lock that all changes of it take, so what it decides by (the log chain, the recovery model)
    /// is what is true when its change takes effect.
    pub(crate) fn change_backup_state(
        &self,
        change: impl FnOnce(&mut BackupState),
    ) -> Result<(), TxnError> {
        let _one = self.checkpointer().one.lock();
        self.change_backup_state_locked(change)
    }

    /// The recovery model has become SIMPLE: the log waits for no backup any more.
    pub(crate) fn end_log_chain(&self) -> Result<(), TxnError> {
        let c = self.checkpointer();
        let _one = c.one.lock();
        if c.backup.lock().log_from.is_zero() || !self.is_simple() {
            return Ok(());
        }
        self.change_backup_state_locked(|state| state.log_from = Lsn::ZERO)
    }

    fn change_backup_state_locked(
        &self,
        change: impl FnOnce(&mut BackupState),
    ) -> Result<(), TxnError> {
        let c = self.checkpointer();
        {
            let mut state = c.backup.lock();
            change(&mut state);
            self.hold_for_log_backup(state.chain());
        }
        let info = self.log().checkpoint();
        let header = decode_header(&info.payload);
        let (next, clean, _) = header.ok_or(TxnError::Invalid("the log has no checkpoint"))?;
        let payload = encode_header(next, clean, &self.backup_state());
        let written = self.log().set_checkpoint(CheckpointInfo { payload, ..info });
        written.map_err(|e| {
            let e = TxnError::from(e);
            self.fail("backup", &e);
            e
        })
    }

    /// Log bytes written since the last checkpoint.
    pub fn log_since_checkpoint(&self) -> u64 {
        self.log_bytes().saturating_sub(self.checkpointer().last.lock().bytes)
    }

    /// How many checkpoints have ended since the database was opened, and how long they took
    /// together.
    pub fn checkpoints(&self) -> (u64, Duration) {
        let last = self.checkpointer().last.lock();
        (last.count, last.time)
    }

    /// LSN and redo LSN of the last checkpoint.
    pub fn last_checkpoint(&self) -> (Lsn, Lsn) {
        let last = self.checkpointer().last.lock();
        (last.lsn, last.redo_lsn)
    }

    pub(crate) fn restore_checkpoint(&self, lsn: Lsn, redo_lsn: Lsn) {
        let mut last = self.checkpointer().last.lock();
        last.lsn = lsn;
        last.redo_lsn = redo_lsn;
    }

    /// Share of what ordinary records may use of the log that is in use or reserved, 0 to about
    /// 100.
    pub(crate) fn log_percent(&self) -> u64 {
        let s = self.log().space();
        // The file's header, and what the log keeps free for checkpoints and rollbacks.
        let overhead = 8192 + 2 * (s.size / 16).min(64 << 10);
        ((s.used + s.reserved) * 100).checked_div(s.size.saturating_sub(overhead)).unwrap_or(100)
    }

    /// Is a checkpoint due?
    fn checkpoint_due(&self) -> bool {
        let since = self.log_since_checkpoint();
        let pace = self.pace();
        if let Some(unwritten) = self.checkpointer().last.lock().unwritten {
            return Instant::now() >= unwritten.retry_at;
        }
        if since == 0 {
            return false;
        }
        let age = self.checkpointer().last.lock().at.elapsed();
        since >= pace.checkpoint_bytes
            || age >= pace.checkpoint_interval
            || (self.log_percent() >= 70 && self.checkpoint_frees())
    }

    /// One round of the checkpoint thread. Errors are kept; those that matter have taken the
    /// database offline.
    pub(crate) fn checkpoint_round(&self) {
        let asked = self.checkpointer().asked.swap(false, Relaxed);
        let due = self.check_online().is_ok()
            && self.pace().checkpoints()
            && (asked || self.checkpoint_due());
        if due && self.checkpoint().is_err() {
            // Nothing becomes free: growth no longer waits for it.
            self.log().truncate_to(Lsn::ZERO);
        }
    }

    /// At a statement boundary: pokes the checkpoint thread when the log is 70 % full and waits for
    /// it when the log is over 90 % full and a checkpoint would help.
    pub fn throttle(&self) {
        let c = self.checkpointer();
        let end = self.log().end();
        let here = (u64::from(end.vlf) << 32) | u64::from(end.block >> 5);
        if c.looked.swap(here, Relaxed) == here || !self.pace().checkpoints() {
            return;
        }
        let percent = self.log_percent();
        if percent < 70 || !self.checkpoint_frees() {
            return;
        }
        let mut last = c.last.lock();
        let before = last.count;
        self.log().expect_truncation();
        c.asked.store(true, Relaxed);
        c.bell.poke();
        let deadline = Instant::now() + Duration::from_secs(5);
        while percent >= 90 && last.count == before && self.status() == Status::Online {
            if c.done.wait_until(&mut last, deadline).timed_out() {
                return;
            }
        }
    }

    /// The error of the last checkpoint, if it failed.
    pub fn checkpoint_error(&self) -> Option<String> {
        self.checkpointer().last.lock().error.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_survive_their_encoding() {
        let at = Lsn { vlf: 3, block: 16, slot: 9 };
        let list: Vec<_> = (1..=5u64)
            .map(|i| ActiveEntry {
                id: TxnId(i << 20),
                begin: Lsn { vlf: i as u32, block: 16, slot: 1 },
                last: at,
            })
            .collect();
        let b = encode_list(at, &list);
        assert_eq!(decode_list(&b), Some((at, list)));
        assert_eq!(decode_list(&b[..b.len() - 1]), None);
        assert_eq!(decode_list(&[]), None);
        let state = BackupState { log_from: at, ..BackupState::default() };
        assert_eq!(
            decode_header(&encode_header(TxnId(77), true, &state)),
            Some((TxnId(77), true, state))
        );
        assert_eq!(
            decode_header(&[1, 0, 0, 0, 0, 0, 0, 0, 0]),
            Some((TxnId(1), false, BackupState::default()))
        );
        assert_eq!(decode_header(&[1; 8]), None);
    }
}
