//! The application locks of a session: what sp_getapplock has got, and how often.
//! Guarantee: those of the session are given back when it ends.

use std::collections::HashMap;

use txn::{LockOwner, Resource};

/// The application locks of a session.
#[derive(Default)]
pub struct AppLocks {
    /// Holds those of the session.
    pub owner: Option<LockOwner>,
    /// How often each was got for the session.
    pub session: HashMap<Resource, u32>,
    /// How often each was got for a transaction, with the transaction's number.
    pub transaction: HashMap<Resource, (u64, u32)>,
}

/// Bytes of a lock: here, with its owner and in the lock manager.
const LOCK_BYTES: usize = 512;

impl AppLocks {
    /// Memory of the locks with another one.
    pub fn bytes(&self) -> usize {
        (self.session.len() + self.transaction.len() + 1) * LOCK_BYTES
    }

    /// Whether a transaction has some; `transaction`: its number.
    #[inline]
    pub fn are_of(&self, transaction: u64) -> bool {
        !self.transaction.is_empty() && self.transaction.values().any(|(of, _)| *of == transaction)
    }

    /// Forgets what transactions of a database had that have ended: each time that the list has
    /// doubled.
    pub fn tidy(&mut self, db: u16, transaction: u64) {
        let count = self.transaction.len();
        if count >= 64 && count.is_power_of_two() {
            self.transaction.retain(|resource, (of, _)| resource.db != db || *of == transaction);
        }
    }

    /// Gives back those of the session: it ends or is reset.
    pub fn release_session(&mut self) {
        self.owner = None;
        self.session.clear();
    }
}
