//! BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION, and the end of all that a session has open.
//!
//! Guarantee: the transactions of all databases end the same way; a rollback takes changes of
//! schema back from the catalog in memory before anybody else sees the tables. What a rollback
//! waits for: `rolled_back`.

use super::rolled_back::told_commits;
use super::undoing::UndoScope;
use super::{NamedSavepoint, OpenTxn, Transactions};
use crate::state::core::SessionCore;
use crate::state::holdings::HoldingKind;
use catalog::change::DdlChange;
use catalog::errors::{self, db_error};
use catalog::{TEMPDB, TableDef, fold_name};
use std::sync::atomic::Ordering;
use txn::{Durability, Txn, TxnError};
use types::{SqlError, msg};

impl SessionCore {
    /// BEGIN TRANSACTION. `implicit`: it is a statement that begins a transaction around its own
    /// under SET IMPLICIT_TRANSACTIONS ON.
    pub fn begin_tran(&mut self, name: &str, implicit: bool) {
        let around = u32::from(implicit && self.trancount() == 0);
        if self.trancount() == 0 {
            self.transactions.name = name.into();
            self.transaction_began();
        }
        self.set_trancount(self.trancount() + 1 + around);
    }

    /// COMMIT: the outermost one commits, the others count down.
    ///
    /// Errors: 3902 without BEGIN TRANSACTION, 3930 doomed, and what the log says.
    pub fn commit_tran(&mut self, durability: Durability) -> Result<(), SqlError> {
        match self.trancount() {
            0 => Err(SqlError::of(msg::COMMIT_WITHOUT_BEGIN, [])),
            _ if self.transactions.client.doomed => Err(errors::doomed()),
            1 => {
                self.set_trancount(0);
                let result = self.commit_open(durability);
                self.objects
                    .cursors
                    .transaction_ended(result.is_ok(), self.options.cursor_close_on_commit);
                self.transactions.client.end(result.is_ok());
                result
            }
            _ => {
                self.set_trancount(self.trancount() - 1);
                Ok(())
            }
        }
    }

    /// ROLLBACK without a name, or with the outermost transaction's; with a savepoint's only to
    /// there.
    ///
    /// Errors: 3903 without BEGIN TRANSACTION, 6401 an unknown name.
    pub fn rollback_tran(&mut self, name: Option<&str>) -> Result<(), SqlError> {
        if self.trancount() == 0 {
            return Err(SqlError::of(msg::ROLLBACK_WITHOUT_BEGIN, []));
        }
        let Some(name) = name else { return self.rollback_and_wait() };
        let folded = fold_name(name);
        if let Some(at) =
            self.transactions.savepoints.iter().rposition(|s| fold_name(&s.name) == folded)
        {
            return self.rollback_to_savepoint(at);
        }
        if fold_name(&self.transactions.name) == folded {
            return self.rollback_and_wait();
        }
        Err(SqlError::of(msg::NO_SUCH_SAVEPOINT, [&name]))
    }

    fn rollback_to_savepoint(&mut self, at: usize) -> Result<(), SqlError> {
        if self.transactions.client.doomed {
            return Err(SqlError::of(msg::DOOMED_TO_SAVEPOINT, []));
        }
        self.settle_undo();
        let saved = &self.transactions.savepoints[at];
        let (places, ddl, counts) = (saved.places.clone(), saved.ddl, saved.counts);
        let ends = |open: &&OpenTxn| !places.iter().any(|(db, _)| *db == open.db.id());
        let told = told_commits(self.transactions.open.iter().filter(ends));
        self.undo_ddl(ddl);
        self.transactions.counts.undo(counts);
        let mut result = Ok(());
        for mut open in std::mem::take(&mut self.transactions.open) {
            let place = places.iter().find(|(db, _)| *db == open.db.id()).map(|(_, place)| *place);
            // A database that was first touched after the savepoint goes back to its beginning.
            let Some(place) = place else {
                drop(open.txn);
                continue;
            };
            if let Err(e) = open.txn.rollback_to(&place) {
                self.transactions.client.doomed = true;
                result = Err(db_error(&open.db, &e));
            }
            self.transactions.open.push(open);
        }
        self.transactions.savepoints.truncate(at + 1);
        self.after_ddl_undo();
        result.and(self.await_told(&told))
    }

    /// SAVE TRANSACTION. Errors: 628 outside a transaction, 3930 doomed.
    pub fn save_tran(&mut self, name: &str) -> Result<(), SqlError> {
        if self.trancount() == 0 {
            return Err(SqlError::of(msg::SAVE_WITHOUT_TRANSACTION, []));
        }
        if self.transactions.client.doomed {
            return Err(errors::doomed());
        }
        self.settle_undo();
        let mut places = Vec::new();
        for open in &mut self.transactions.open {
            let place = open.txn.savepoint().map_err(|e| db_error(&open.db, &e))?;
            places.push((open.db.id(), place));
        }
        let (ddl, counts) = (self.transactions.ddl.len(), self.transactions.counts.save());
        let saved = NamedSavepoint { name: name.into(), places, ddl, counts };
        let list = &mut self.transactions.savepoints;
        // Nobody can go back to an older one of the name with none between: a loop keeps one.
        if list.last().is_some_and(|last| fold_name(&last.name) == fold_name(name)) {
            list.pop();
        } else {
            self.memory.holdings.add(HoldingKind::Transaction, saved.held())?;
        }
        self.transactions.savepoints.push(saved);
        Ok(())
    }

    /// Takes back what the end of a batch finds open without BEGIN TRANSACTION: mostly nothing.
    #[inline]
    pub fn rollback_rest(&mut self) {
        let Transactions { open, ddl, undone, savepoints, counts, .. } = &self.transactions;
        let nothing =
            open.is_empty() && ddl.is_empty() && undone.is_empty() && savepoints.is_empty();
        if !nothing
            || !counts.is_empty()
            || self.transactions.client.doomed
            || self.transactions.client.number() != 0
            || self.trancount() > 0
        {
            self.rollback_all();
        }
    }

    /// As [`SessionCore::rollback_all`] where nobody is told any more: the session ends.
    pub fn rollback_untold(&mut self) {
        if self.trancount() > 0 {
            self.objects.cursors.transaction_ended(false, self.options.cursor_close_on_commit);
        }
        self.undo_all_open();
        self.set_trancount(0);
        self.transactions.client.end(false);
        self.transactions.client.doomed = false;
        self.transactions.savepoints.clear();
        self.release_transaction_memory();
    }

    pub(super) fn undo_all_open(&mut self) {
        self.settle_undo();
        self.transactions.began = None;
        self.shared.lock_owner.store(0, Ordering::Relaxed);
        self.leave_table_variables();
        self.undo_ddl(0);
        self.transactions.counts.undo(0);
        let frees = self.transactions.frees_storage();
        for open in std::mem::take(&mut self.transactions.open) {
            // Nothing stays, and who fails is offline.
            match frees {
                true => drop(open.undo(UndoScope::Transaction)),
                false => drop(self.undo_open(open, UndoScope::Transaction)),
            }
        }
        self.after_ddl_undo();
    }

    pub(super) fn commit_open(&mut self, durability: Durability) -> Result<(), SqlError> {
        self.transactions.counts.clear();
        self.transactions.savepoints.clear();
        self.release_transaction_memory();
        self.transactions.began = None;
        if self.transactions.open.is_empty() {
            return Ok(());
        }
        self.shared.lock_owner.store(0, Ordering::Relaxed);
        if let ([open], true) = (&mut self.transactions.open[..], self.transactions.ddl.is_empty())
            && open.txn.end_unwritten()
        {
            // In its place: a transaction is long, and would be copied some times on the usual way.
            self.keep_ended();
            return Ok(());
        }
        let changes = std::mem::take(&mut self.transactions.ddl);
        let mut list = std::mem::take(&mut self.transactions.open);
        for open in &mut list {
            open.end_snapshots();
            // Before the commit: a snapshot that sees it must not take the old definition for its
            // own.
            open.db.note_ddl(changes.iter().filter_map(|c| c.object_in(&open.db)), open.txn.id());
            // Before the locks go: who reads by the new definitions may have to wait for it.
            if changes.iter().any(|change| change.is_in(&open.db)) {
                open.db.note_definition(open.txn.id());
            }
            open.txn.throttle();
        }
        // A definition is seen by others without a look at the log.
        let later = self.answers.is_held() && changes.is_empty();
        let failed = self.commit_all(&mut list, durability, later).err();
        let undone = !list.iter().any(|open| open.txn.is_over() && open.txn.has_written());
        if let Some(e) = failed.as_ref().filter(|_| undone) {
            // Nothing is committed anywhere, and the databases go on.
            self.transactions.ddl = changes;
            self.undo_ddl(0);
            let told = told_commits(&list);
            // Rolls back.
            list.clear();
            self.after_ddl_undo();
            // It fails already.
            let _ = self.await_told(&told);
            return Err(e.clone());
        }
        if failed.is_some() || !changes.is_empty() || list.len() > 1 {
            list.clear();
        }
        for change in changes {
            change.committed(self.spid());
        }
        self.transactions.ddl_mark = 0;
        self.release_transaction_memory();
        // Keeps its memory for the next transaction, and one that has ended well.
        if self.transactions.open.is_empty() {
            self.transactions.open = list;
            self.keep_ended();
        }
        match failed {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }

    /// Takes back the catalog's changes from position `from` on; the data behind them is the
    /// caller's.
    pub(super) fn undo_ddl(&mut self, from: usize) {
        while self.transactions.ddl.len() > from {
            if let Some(change) = self.transactions.ddl.pop() {
                change.undo(self.spid());
                self.transactions.undone.push(change);
            }
        }
        self.transactions.ddl_mark = self.transactions.ddl_mark.min(from);
    }

    /// What was created and rolled back is freed, once the rows that name it are as they were.
    pub(super) fn after_ddl_undo(&mut self) {
        for change in self.transactions.undone.drain(..) {
            change.free_created();
        }
        self.release_transaction_memory();
    }

    /// Charges a change of schema that is about to be made of a table, until the transaction ends.
    ///
    /// # Errors
    /// 701.
    pub fn charge_ddl(&mut self, before: Option<&TableDef>) -> Result<(), SqlError> {
        self.memory.holdings.add(HoldingKind::Transaction, DdlChange::held_for(before))
    }

    /// Savepoints and changes of schema may have gone.
    fn release_transaction_memory(&mut self) {
        let charged = self.memory.holdings.of(HoldingKind::Transaction);
        if charged > 0 {
            let Transactions { ddl, savepoints, .. } = &self.transactions;
            let left = ddl.iter().map(DdlChange::held).sum::<usize>()
                + savepoints.iter().map(NamedSavepoint::held).sum::<usize>();
            self.memory.holdings.remove(HoldingKind::Transaction, charged.saturating_sub(left));
        }
    }

    /// Commits the transactions of a session: those that have written in several databases as one.
    /// In their places: a transaction is long. After an error those that are not over are to be
    /// rolled back. `later`: whoever sends the answer waits for the log.
    fn commit_all(
        &self,
        list: &mut [OpenTxn],
        durability: Durability,
        later: bool,
    ) -> Result<(), SqlError> {
        // Table variables and the session's own temporary tables are nobody else's.
        let shared = |open: &OpenTxn| open.db.id() == TEMPDB && open.in_shared_tables;
        // What is seen in tempdb at once may not be ahead of the rest of its transaction, and who
        // gets an application lock next may take what was done under it for done.
        let agreed = |open: &OpenTxn| self.objects.app_locks.are_of(open.txn.locks.id().0);
        let later = later && !list.iter().any(|open| shared(open) || agreed(open));
        // Before anything is committed: it can still be rolled back everywhere.
        for open in list.iter().filter(|open| open.txn.has_written()) {
            let own = open.db.is_autonomous() || later && open.db.id() == TEMPDB;
            self.answers.settle_others(!own, open.txn.database())?;
        }
        if list.iter().filter(|open| takes_part(open)).count() > 1 {
            self.answers.settle()?;
            commit_several(list)?;
        }
        // Rows of tempdb and locks of those that have only read are free when the rest is durable.
        for turn in [CommitTurn::Kept, CommitTurn::Scratch, CommitTurn::Unwritten] {
            for open in list.iter_mut().filter(|open| !open.txn.is_over() && turn_of(open) == turn)
            {
                let committed = match later {
                    true => open.txn.commit_unflushed(durability),
                    false => open.txn.commit_in_place(durability).map(|_| None),
                };
                let unflushed = committed.map_err(|e| failed(open, &e))?;
                if let Some(record) = unflushed {
                    self.committed_unflushed(&open.db, open.txn.database(), record);
                }
            }
        }
        Ok(())
    }
}

/// When the transaction of a database is committed among those of its session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitTurn {
    /// What it has written survives a crash.
    Kept,
    /// What it has written is in tempdb, and gone after a crash in any case.
    Scratch,
    /// It has written nothing, and may have locks.
    Unwritten,
}

fn turn_of(open: &OpenTxn) -> CommitTurn {
    match open.txn.has_written() {
        true if takes_part(open) => CommitTurn::Kept,
        true => CommitTurn::Scratch,
        false => CommitTurn::Unwritten,
    }
}

/// What is in tempdb is gone after a crash in any case.
fn takes_part(open: &OpenTxn) -> bool {
    open.txn.has_written() && !open.txn.database().env().scratch
}

fn failed(open: &OpenTxn, e: &TxnError) -> SqlError {
    open.db.note_failure(e);
    db_error(&open.db, e)
}

/// Commits those transactions as one that take part in it.
fn commit_several(list: &mut [OpenTxn]) -> Result<(), SqlError> {
    let mut parts: Vec<usize> = (0..list.len()).filter(|&at| takes_part(&list[at])).collect();
    // The one that most others have in common decides: a system database can always be asked.
    parts.sort_by_key(|&at| list[at].db.id());
    let name = list[parts[0]].db.name();
    let mut txns: Vec<(usize, &mut Txn)> = Vec::with_capacity(parts.len());
    for (at, open) in list.iter_mut().enumerate() {
        if let Some(order) = parts.iter().position(|part| *part == at) {
            txns.push((order, &mut open.txn));
        }
    }
    txns.sort_by_key(|(order, _)| *order);
    let mut txns: Vec<&mut Txn> = txns.into_iter().map(|(_, txn)| txn).collect();
    txn::commit_together(&mut txns, &name).map_err(|(at, e)| failed(&list[parts[at]], &e))
}
