//! Restart recovery: analysis and redo in one pass over the log since the last checkpoint, then
//! undo of the losers. Guarantees: afterwards the database holds the work of exactly those
//! transactions whose commit record is in the log; a crash during recovery leaves a log from which
//! recovery starts again; the log is read once, from the checkpoint's redo LSN to its end
//! (`forward`); nothing depends on the number of virtual log files.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pages::{RecordKind, RecordView, TxnId};
use wal::Lsn;

use crate::checkpoint::{ACTIVE_LIST, decode_list};
use crate::database::Database;
use crate::error::TxnError;
use crate::global::{DECISIONS, Decision};
use crate::recovery_report::RecoveryReport;
use crate::txn::Txn;
use crate::txns::TxnLog;

/// The phase that recovery is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Analysis,
    Redo,
    Undo,
}

/// Progress in percent of a phase; called about once per batch.
pub type RecoveryProgress<'a> = &'a mut dyn FnMut(Phase, u8);

/// What analysis has learned.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    checkpoint: Lsn,
    running: BTreeMap<TxnId, TxnLog>,
    /// Ended since the scan began, until the checkpoint's list of active transactions is complete:
    /// the list may name a transaction whose end came into the log before the list did.
    ended: HashSet<TxnId>,
    list_complete: bool,
    /// The newest checkpoint whose end has been seen.
    newest: Lsn,
    highest: TxnId,
    committed: u64,
    /// What the database has decided for others, as far as it may be asked for it.
    decisions: Vec<Decision>,
}

impl Analysis {
    pub fn new(checkpoint: Lsn) -> Self {
        Analysis { checkpoint, newest: checkpoint, ..Analysis::default() }
    }

    /// The newest checkpoint that the log has whole: where a later recovery may begin once all
    /// pages are on disk.
    pub fn newest_checkpoint(&self) -> Lsn {
        self.newest
    }

    /// The highest transaction id that was seen.
    pub fn highest(&self) -> TxnId {
        self.highest
    }

    /// Takes one record into account, in log order.
    pub fn record(&mut self, lsn: Lsn, view: &RecordView<'_>) -> Result<(), TxnError> {
        let id = view.txn();
        if id == TxnId::SYSTEM {
            return self.system_record(view);
        }
        self.highest = self.highest.max(id);
        match view.kind() {
            RecordKind::Commit | RecordKind::Abort => {
                self.running.remove(&id);
                self.committed += u64::from(view.kind() == RecordKind::Commit);
                if view.kind() == RecordKind::Commit {
                    self.decisions.extend(Decision::read(view.payload()?));
                }
                if !self.list_complete {
                    self.ended.insert(id);
                }
            }
            _ => {
                let t =
                    self.running.entry(id).or_insert(TxnLog { begin: lsn, ..TxnLog::default() });
                t.last = lsn;
                t.records += 1;
            }
        }
        Ok(())
    }

    fn system_record(&mut self, view: &RecordView<'_>) -> Result<(), TxnError> {
        if view.kind() == RecordKind::CkptEnd
            && let Some(begin) = view.payload()?.first_chunk()
        {
            self.newest = self.newest.max(Lsn::from_bytes(*begin));
        }
        match view.kind() {
            RecordKind::CkptEnd if view.payload()? == self.checkpoint.to_bytes() => {
                self.list_complete = true;
                self.ended = HashSet::new();
            }
            ACTIVE_LIST => {
                let (checkpoint, list) = decode_list(view.payload()?)
                    .ok_or(TxnError::Invalid("checkpoint record is damaged"))?;
                if checkpoint != self.checkpoint {
                    return Ok(()); // of a checkpoint that was never completed
                }
                for e in list {
                    self.highest = self.highest.max(e.id);
                    if self.ended.contains(&e.id) {
                        continue;
                    }
                    let t = self
                        .running
                        .entry(e.id)
                        .or_insert(TxnLog { last: e.last, ..TxnLog::default() });
                    t.begin = e.begin;
                    t.last = t.last.max(e.last);
                }
            }
            DECISIONS => {
                let (checkpoint, list) = Decision::decode_list(view.payload()?)
                    .ok_or(TxnError::Invalid("checkpoint record is damaged"))?;
                if checkpoint == self.checkpoint {
                    self.decisions.extend(list);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The transactions to undo.
    pub fn losers(&self) -> impl Iterator<Item = (TxnId, TxnLog)> {
        self.running.iter().map(|(id, log)| (*id, *log))
    }
}

pub(crate) fn failed(phase: &'static str, lsn: Lsn, e: impl Into<TxnError>) -> TxnError {
    let e = e.into();
    TxnError::Recovery { phase, lsn, cause: e.to_string() }
}

fn micros(d: Duration) -> u64 {
    d.as_micros() as u64
}

impl Database {
    /// Brings the database to a transaction-consistent state. Called once, before anybody else has
    /// it.
    pub(crate) fn recover(
        self: &Arc<Self>,
        progress: RecoveryProgress<'_>,
    ) -> Result<RecoveryReport, TxnError> {
        let info = self.log().checkpoint();
        let mut report = RecoveryReport::default();
        let from = info.checkpoint_lsn.min(info.redo_lsn);
        let mut analysis = Analysis::new(info.checkpoint_lsn);
        self.analyse_and_redo(from, &mut analysis, &mut report, progress)?;
        self.store().finish_redo().map_err(|e| failed("redo", from, e))?;
        let restoring = self.backup_state().restoring.is_some();
        self.store().settle_files(restoring).map_err(|e| failed("redo", from, e))?;
        self.txns().saw(analysis.highest);
        report.rolled_forward = analysis.committed;
        {
            let mut decisions = self.coordinator().lock();
            analysis.decisions.iter().for_each(|decision| decisions.add(decision));
        }
        // Others may ask from now on, whether this database can be opened or has to ask one itself.
        self.join_outcomes();
        let [committed, losers] = self.settle_prepared(analysis.losers().collect())?;
        let start = Instant::now();
        // All come back to life first: while one is undone the rows of the others must not look
        // free.
        let resume = |(id, log): &(TxnId, TxnLog)| Txn::resume(self.clone(), *id, *log);
        let committed: Vec<Txn> = committed.iter().map(resume).collect();
        let mut txns: Vec<Txn> = losers.iter().map(resume).collect();
        report.rolled_forward += committed.len() as u64;
        self.commit_prepared(committed).map_err(|e| failed("undo", from, e))?;
        let total = txns.len();
        while let Some(txn) = txns.pop() {
            let (before, last) = (txn.log_state().records, txn.log_state().last);
            let shared = txn.shared();
            txn.rollback().map_err(|e| failed("undo", last, e))?;
            report.compensations += shared.map_or(0, |s| s.log.lock().records - before);
            report.rolled_back += 1;
            progress(Phase::Undo, ((total - txns.len()) * 100 / total) as u8);
        }
        report.undo_us = micros(start.elapsed());
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{ActiveEntry, encode_list};
    use pages::RecordBuilder;

    fn lsn(n: u32) -> Lsn {
        Lsn { vlf: 1, block: n, slot: 1 }
    }

    fn feed(a: &mut Analysis, at: u32, kind: RecordKind, txn: u64, payload: &[u8]) {
        let mut rec = RecordBuilder::new();
        rec.begin(kind).payload(payload).unwrap();
        rec.stamp(TxnId(txn), Lsn::ZERO);
        a.record(lsn(at), &RecordView::decode(rec.bytes()).unwrap()).unwrap();
    }

    /// The list is written after the transactions went on: ends between the checkpoint's begin and
    /// its list count.
    #[test]
    fn the_list_of_a_checkpoint_may_be_older_than_its_place() {
        let ckpt = lsn(10);
        let mut a = Analysis::new(ckpt);
        feed(&mut a, 5, RecordKind::Change, 3, &[]);
        feed(&mut a, 10, RecordKind::CkptBegin, 0, &[]);
        feed(&mut a, 11, RecordKind::Commit, 2, &[]);
        feed(&mut a, 12, RecordKind::Change, 1, &[]);
        let entry = |id, last| ActiveEntry { id: TxnId(id), begin: lsn(1), last: lsn(last) };
        let foreign = encode_list(lsn(9), &[entry(77, 8)]);
        feed(&mut a, 13, ACTIVE_LIST, 0, &foreign);
        let list = encode_list(ckpt, &[entry(1, 8), entry(2, 9), entry(3, 5), entry(4, 7)]);
        feed(&mut a, 14, ACTIVE_LIST, 0, &list);
        feed(&mut a, 15, RecordKind::CkptEnd, 0, &ckpt.to_bytes());
        feed(&mut a, 16, RecordKind::Abort, 3, &[]);
        feed(&mut a, 17, RecordKind::Begin, 9, &[]);
        let losers: Vec<_> = a.losers().map(|(id, l)| (id.0, l.begin, l.last)).collect();
        assert_eq!(losers, [(1, lsn(1), lsn(12)), (4, lsn(1), lsn(7)), (9, lsn(17), lsn(17))]);
        assert_eq!((a.highest, a.committed), (TxnId(9), 1));
        assert!(a.ended.is_empty());
    }
}
