//! The commit of one session's transactions in several databases, as one.
//!
//! First each database but the coordinator makes a Prepare record durable, then the coordinator's
//! Commit record is made durable, which decides, then the others write theirs. Whoever finds a
//! Prepare record without an end asks the coordinator (`outcomes`).
//!
//! # Guarantees
//! - After a crash at any moment the transaction is whole in all databases, or in none.
//! - Nothing is undecided longer than it takes to write one record, unless the coordinator's log
//!   fails: then the other databases go offline as well, and are recovered when it has been.

use std::sync::Arc;

use pages::{RecordBuilder, RecordKind, RecordSink};
use wal::Lsn;

use crate::database::Database;
use crate::error::TxnError;
use crate::global::{Decision, GlobalId, MAX_DATABASES, PrepareRecord};
use crate::outcomes::{InDoubt, Outcome};
use crate::recovery::failed;
use crate::txn::{Txn, now_us};
use crate::txns::TxnLog;
use pages::{RecordView, TxnId};

/// Commits transactions of different databases as one, durably. The first database decides; `name`
/// is what it is called. Each has written, and none is in a database that is rebuilt at each start.
///
/// # Errors
/// The place of the transaction that failed, and why. Those that have not ended then
/// ([`Txn::is_over`]) are to be rolled back; all have ended when the outcome is unknown, and then
/// their databases are offline.
pub fn commit_together(txns: &mut [&mut Txn], name: &str) -> Result<(), (usize, TxnError)> {
    debug_assert!(txns.iter().all(|t| t.has_written() && !t.database().env().scratch));
    if txns.len() > MAX_DATABASES {
        return Err((0, TxnError::Invalid("a transaction has changed too many databases")));
    }
    if let Some(at) = txns.iter().position(|t| t.is_doomed()) {
        let id = txns[at].id();
        return Err((at, TxnError::Doomed(id)));
    }
    let Some((first, others)) = txns.split_first_mut() else { return Ok(()) };
    let home = first.database().clone();
    let (id, coordinator) = (home.env().outcomes.new_id(), home.coordinator().clone());
    coordinator.begin(id);
    let prepared = PrepareRecord { id, coordinator: home.store().database(), name: name.into() };
    if let Err((at, e)) = prepare_all(others, &prepared) {
        // Nobody will be told that it is committed: each can be rolled back.
        others.iter_mut().for_each(|t| t.set_prepared(false));
        coordinator.give_up(id);
        return Err((at + 1, e));
    }
    let databases = others.iter().map(|t| t.database().store().database()).collect();
    if let Err(e) = first.decide(&Decision { id, databases }) {
        others.iter_mut().for_each(|t| t.leave_in_doubt(id));
        return Err((0, e));
    }
    coordinator.decided(id);
    first.run_deferred_work();
    for t in others {
        let db = t.database().clone();
        // One that fails now has its part when it is opened again: the transaction is committed.
        if let Ok(end) = t.end_prepared() {
            coordinator.ended(id, db.store().database(), db.log(), end);
        }
    }
    Ok(())
}

/// All records first: the flushes of one find those of others done if they share a device.
fn prepare_all(txns: &mut [&mut Txn], prepared: &PrepareRecord) -> Result<(), (usize, TxnError)> {
    let mut ends = Vec::with_capacity(txns.len());
    for (at, t) in txns.iter_mut().enumerate() {
        ends.push(t.prepare(prepared).map_err(|e| (at, e))?);
    }
    for (at, (t, end)) in txns.iter().zip(ends).enumerate() {
        t.database().log().flush_to(end).map_err(|e| (at, e.into()))?;
    }
    Ok(())
}

impl Txn {
    /// From here on only its coordinator decides.
    fn prepare(&mut self, prepared: &PrepareRecord) -> Result<Lsn, TxnError> {
        let mut rec = RecordBuilder::new();
        prepared.put(&mut rec, now_us())?;
        self.set_prepared(true);
        Ok(self.append(&mut rec)?)
    }

    /// Commits in the coordinator, durably. After an error its database is offline, and the outcome
    /// is unknown.
    fn decide(&mut self, decision: &Decision) -> Result<(), TxnError> {
        let db = self.database().clone();
        let time = now_us();
        let appended = {
            let mut decisions = db.coordinator().lock();
            self.append_last(|id, prev| {
                let mut rec = RecordBuilder::new();
                decision.put(&mut rec, time)?;
                rec.stamp(id, prev);
                Ok(rec.bytes().to_vec())
            })
            .inspect(|_| decisions.add(decision))
        };
        let decided = appended.and_then(|lsn| {
            self.leave_table(lsn, true);
            Ok(db.log().flush_to(lsn)?)
        });
        decided.inspect_err(|e| {
            db.fail("commit", e);
            self.set_over();
        })
    }

    /// Commits what its coordinator has decided. Its record need not be durable: until it is, the
    /// decision is kept.
    fn end_prepared(&mut self) -> Result<Lsn, TxnError> {
        let db = self.database().clone();
        let ended = self.append_commit().inspect(|lsn| self.leave_table(*lsn, false));
        let ended = ended.and_then(|lsn| db.flush_delayed(lsn).map(|()| lsn));
        match &ended {
            Ok(_) => self.run_deferred_work(),
            Err(e) => {
                db.fail("commit", e);
                self.set_over();
            }
        }
        ended
    }

    /// Its coordinator's log has failed: nobody knows the outcome before that database is
    /// recovered. Its rows must not be free until then.
    pub(crate) fn leave_in_doubt(&mut self, id: GlobalId) {
        self.database().fail("commit", &TxnError::Undecided(id));
        self.set_over();
    }
}

impl Database {
    /// Restart: divides the transactions without an end into those that are committed by their
    /// coordinators' word and those that are to be undone.
    ///
    /// # Errors
    /// [`TxnError::InDoubt`] when a coordinator cannot say. Nothing has been appended.
    pub(crate) fn settle_prepared(
        &self,
        losers: Vec<(TxnId, TxnLog)>,
    ) -> Result<[Vec<(TxnId, TxnLog)>; 2], TxnError> {
        let (mut committed, mut undone, mut in_doubt) = (Vec::new(), Vec::new(), Vec::new());
        let outcomes = &self.env().outcomes;
        let mut bytes = Vec::new();
        for (id, log) in losers {
            let Some(prepared) = self.prepared_at(log.last, &mut bytes)? else {
                undone.push((id, log));
                continue;
            };
            match outcomes.ask(&prepared) {
                Outcome::Committed => committed.push((id, log)),
                Outcome::RolledBack => undone.push((id, log)),
                Outcome::Unknown => {
                    let (database, number) = (self.store().database(), self.id());
                    in_doubt.push(InDoubt { database, number, prepared });
                }
            }
        }
        if in_doubt.is_empty() {
            return Ok([committed, undone]);
        }
        outcomes.note_in_doubt(&in_doubt);
        Err(TxnError::InDoubt(Arc::from(in_doubt)))
    }

    /// Restart: commits what coordinators have decided, durably: they forget it when this database
    /// is open.
    pub(crate) fn commit_prepared(&self, txns: Vec<Txn>) -> Result<(), TxnError> {
        if txns.is_empty() {
            return Ok(());
        }
        for mut t in txns {
            let end = t.append_commit()?;
            t.leave_table(end, false);
        }
        self.flush_log()
    }

    /// What the record says if it is a Prepare record. A rollback that had begun has others behind
    /// it.
    fn prepared_at(&self, at: Lsn, bytes: &mut Vec<u8>) -> Result<Option<PrepareRecord>, TxnError> {
        self.log().read(at, bytes).map_err(|e| failed("analysis", at, e))?;
        let view = RecordView::decode(bytes).map_err(|e| failed("analysis", at, e))?;
        if view.kind() != RecordKind::Prepare {
            return Ok(None);
        }
        let payload = view.payload().map_err(|e| failed("analysis", at, e))?;
        let damaged = TxnError::Invalid("a prepare record is damaged");
        PrepareRecord::read(payload).map(Some).ok_or_else(|| failed("analysis", at, damaged))
    }
}
