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

impl AppLocks {
    /// Gives back those of the session: it ends or is reset.
    pub fn release_session(&mut self) {
        self.owner = None;
        self.session.clear();
    }
}
