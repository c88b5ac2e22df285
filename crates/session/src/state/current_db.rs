//! The current database of a session, and the ones that it goes back to at the ends of scopes.
//! Guarantee: a database stays used until the session can come back to it no more.

use std::sync::Arc;

use catalog::Db;
use catalog::db::DbUse;

/// The current database, and those that scopes go back to.
pub struct CurrentDb {
    current: DbUse,
    /// The databases that scopes go back to which a USE inside of them has left.
    kept: Vec<DbUse>,
}

impl CurrentDb {
    /// A session begins in a database.
    pub fn new(current: DbUse) -> CurrentDb {
        CurrentDb { current, kept: Vec::new() }
    }

    /// The current database.
    #[inline]
    pub fn get(&self) -> &Arc<Db> {
        self.current.database()
    }

    /// Makes another database the current one; gives the use of the one before.
    pub fn replace(&mut self, db: DbUse) -> DbUse {
        std::mem::replace(&mut self.current, db)
    }

    /// A USE inside of a scope has left a database, to which the scope's end goes back.
    pub fn keep(&mut self, before: DbUse) {
        self.kept.push(before);
    }

    /// How many databases scopes go back to.
    #[inline]
    pub fn left(&self) -> usize {
        self.kept.len()
    }

    /// Forgets all that was left beyond so many; gives the first of them, where the scope began.
    pub fn take_left(&mut self, beyond: usize) -> Option<DbUse> {
        let beyond = beyond.min(self.kept.len());
        let mut left = self.kept.drain(beyond..);
        left.next()
    }

    /// A panic has left scopes without their ends.
    pub fn forget_left(&mut self) {
        self.kept.clear();
    }
}
