//! The place of a session's last transaction, where the next one begins: most are one statement,
//! and what a transaction needs of memory and of its database is the same as the last time.
//! Guarantees: what stays has ended, holds no lock and no snapshot, and is of the session's current
//! database; a transaction never begins in the storage of a database that has been out of service
//! since.

use super::Transactions;
use crate::state::core::SessionCore;
use catalog::Db;
use pages::TxnId;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl SessionCore {
    /// Others may see that a transaction has begun.
    pub(super) fn tell_begun(&self, lock_owner: u64) {
        self.shared.lock_owner.store(lock_owner, Ordering::Relaxed);
        self.shared.isolation.store(self.options.isolation.number() as u8, Ordering::Relaxed);
    }

    /// Begins a transaction in the place of the session's last one, if that was of this database,
    /// which has been in service all the time. False: it is to begin in the usual way.
    pub(super) fn begin_in_place(&mut self, db: &Arc<Db>) -> bool {
        let wait = self.transactions.wait_args(&self.options);
        let Transactions { open, idle, .. } = &mut self.transactions;
        let Some(last) = idle.first_mut().filter(|last| Arc::ptr_eq(&last.db, db)) else {
            return false;
        };
        if last.turns != db.turns() || !last.txn.begin_again(wait) {
            // Its storage is to go.
            idle.clear();
            return false;
        }
        let mark = last.txn.mark();
        (last.mark, last.start) = (mark, mark);
        (last.in_shared_tables, last.looked_at) = (false, TxnId(0));
        let owner = last.txn.locks.id().0;
        std::mem::swap(open, idle);
        self.tell_begun(owner);
        true
    }

    /// The session's transactions have ended. One of the current database stays for the next to
    /// begin in its place. With it stays what the database is in memory, which the session's plans
    /// keep anyway: also when it has failed and been opened again, until the session begins another
    /// transaction there. Its files are given up all the same (`Database::abandon`).
    #[inline]
    pub(super) fn keep_ended(&mut self) {
        let current = Arc::as_ptr(self.db());
        let Transactions { open, idle, .. } = &mut self.transactions;
        match &mut open[..] {
            [one]
                if std::ptr::eq(Arc::as_ptr(&one.db), current)
                    && one.used.is_none()
                    && one.txn.is_over() =>
            {
                one.end_snapshots();
                idle.clear();
                std::mem::swap(open, idle);
            }
            _ => open.clear(),
        }
    }

    /// The session leaves its current database.
    pub(in crate::state) fn forget_ended(&mut self) {
        self.transactions.idle.clear();
        self.answers.leaves_db();
    }
}
