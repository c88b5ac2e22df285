//! Which sessions use a database, and who may: MULTI_USER, SINGLE_USER, RESTRICTED_USER.
//!
//! Guarantees: a session is counted from before it uses the database until it has left; in
//! SINGLE_USER nobody comes in beside the session that is there; who may come in changes in the
//! same moment in which it is found out who is there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use types::SqlError;

use super::{Db, errors};
use crate::registry::{FIRST_USER_DB, VARIABLES};

/// Who may use a database, with the numbers of sys.databases.user_access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserAccess {
    /// Everybody.
    Multi = 0,
    /// One session at a time.
    Single = 1,
    /// Owners of the database, members of dbcreator and sysadmin.
    Restricted = 2,
    /// Nobody who is not there: its state is being changed. Never kept.
    Nobody = 3,
}

impl UserAccess {
    /// That of a number; MULTI_USER for one that means nothing.
    pub fn of(number: u8) -> UserAccess {
        match number {
            1 => UserAccess::Single,
            2 => UserAccess::Restricted,
            _ => UserAccess::Multi,
        }
    }
}

/// Why a session may not come in.
#[derive(Debug)]
pub enum RefusedSession {
    /// It has to be found out whether it is one of those that RESTRICTED_USER lets in.
    Unknown,
    /// It may not.
    Error(SqlError),
}

/// The sessions in a database.
pub(super) struct Users {
    /// As in `inside`, for a look that takes no lock.
    access: AtomicU8,
    inside: Mutex<SessionsInside>,
}

struct SessionsInside {
    access: UserAccess,
    /// How many uses each session has.
    sessions: HashMap<i32, u32>,
}

impl Users {
    pub(super) fn new(access: UserAccess) -> Users {
        let inside = SessionsInside { access, sessions: HashMap::new() };
        Users { access: AtomicU8::new(access as u8), inside: Mutex::new(inside) }
    }

    fn leave(&self, session: i32) {
        let mut inside = self.inside.lock();
        // One that was evicted has left already.
        if let Some(uses) = inside.sessions.get_mut(&session) {
            *uses -= 1;
            if *uses == 0 {
                inside.sessions.remove(&session);
            }
        }
    }

    fn add(&self, session: i32) {
        *self.inside.lock().sessions.entry(session).or_default() += 1;
    }

    fn set(&self, inside: &mut SessionsInside, access: UserAccess) {
        inside.access = access;
        self.access.store(access as u8, Ordering::Release);
    }
}

impl SessionsInside {
    fn admits(&self, db: &Db, session: i32, qualified: Option<bool>) -> Result<(), RefusedSession> {
        if self.sessions.contains_key(&session) {
            return Ok(());
        }
        match (self.access, qualified) {
            (UserAccess::Multi, _) | (UserAccess::Restricted, Some(true)) => Ok(()),
            (UserAccess::Single, _) if self.sessions.is_empty() => Ok(()),
            (UserAccess::Single, _) => Err(RefusedSession::Error(errors::single_user(&db.name()))),
            (UserAccess::Nobody, _) => {
                Err(RefusedSession::Error(errors::in_transition(&db.name())))
            }
            (UserAccess::Restricted, None) => Err(RefusedSession::Unknown),
            (UserAccess::Restricted, Some(false)) => {
                Err(RefusedSession::Error(errors::restricted_user(&db.name())))
            }
        }
    }

    fn others(&self, session: i32) -> Vec<i32> {
        self.sessions.keys().copied().filter(|one| *one != session).collect()
    }
}

/// A session uses a database as long as this lives.
pub struct DbUse {
    db: Arc<Db>,
    session: i32,
}

impl DbUse {
    /// Of a session that nobody keeps out: in a system database.
    pub fn of(db: Arc<Db>, session: i32) -> DbUse {
        db.users.add(session);
        DbUse { db, session }
    }

    /// The database.
    #[inline]
    pub fn database(&self) -> &Arc<Db> {
        &self.db
    }

    /// One more use of the same session.
    pub fn again(&self) -> DbUse {
        DbUse::of(self.db.clone(), self.session)
    }
}

impl Drop for DbUse {
    fn drop(&mut self) {
        self.db.users.leave(self.session);
    }
}

/// Nobody comes into a database while this lives, until it is brought up again.
pub struct ClosedDatabase {
    db: Arc<Db>,
    before: UserAccess,
}

impl Drop for ClosedDatabase {
    fn drop(&mut self) {
        if self.db.user_access() == UserAccess::Nobody {
            self.db.set_user_access(self.before);
        }
    }
}

impl Db {
    /// A database that users have made: the others are always open to all.
    #[inline]
    pub fn is_users_own(&self) -> bool {
        (FIRST_USER_DB..VARIABLES).contains(&self.id)
    }

    /// Whether it is in MULTI_USER.
    #[inline]
    pub fn is_open_to_all(&self) -> bool {
        self.users.access.load(Ordering::Acquire) == UserAccess::Multi as u8
    }

    /// The sessions that may use the database.
    pub fn user_access(&self) -> UserAccess {
        self.users.inside.lock().access
    }

    /// A session comes in, and has left when what this returns is gone. `qualified`: whether it is
    /// one of those that RESTRICTED_USER lets in, as far as that is known.
    ///
    /// # Errors
    /// 924 another session is in it alone; 923; [`RefusedSession::Unknown`].
    pub fn enter(
        self: &Arc<Db>,
        session: i32,
        qualified: Option<bool>,
    ) -> Result<DbUse, RefusedSession> {
        let mut inside = self.users.inside.lock();
        inside.admits(self, session, qualified)?;
        *inside.sessions.entry(session).or_default() += 1;
        drop(inside);
        Ok(DbUse { db: self.clone(), session })
    }

    /// Whether [`Db::enter`] would let a session in now.
    ///
    /// # Errors
    /// As for [`Db::enter`].
    pub fn admits(&self, session: i32, qualified: Option<bool>) -> Result<(), RefusedSession> {
        self.users.inside.lock().admits(self, session, qualified)
    }

    /// How many sessions use it.
    pub fn users(&self) -> usize {
        self.users.inside.lock().sessions.len()
    }

    /// The sessions that use it, but for one.
    pub fn other_users(&self, session: i32) -> Vec<i32> {
        self.users.inside.lock().others(session)
    }

    /// Another session is in it, and it is in SINGLE_USER.
    pub fn is_held_by_another(&self, session: i32) -> bool {
        let inside = self.users.inside.lock();
        inside.access == UserAccess::Single && inside.sessions.keys().any(|one| *one != session)
    }

    /// Sets who may come in from now on, if all that are in it are among `stay`; else nothing
    /// changes, and those that are not are returned. What is kept of it in the settings is the
    /// caller's.
    pub fn claim(&self, access: UserAccess, stay: &[i32]) -> Vec<i32> {
        let mut inside = self.users.inside.lock();
        let in_the_way: Vec<i32> =
            inside.sessions.keys().copied().filter(|session| !stay.contains(session)).collect();
        if in_the_way.is_empty() {
            self.users.set(&mut inside, access);
        }
        in_the_way
    }

    /// Lets nobody in as long as what this returns lives; `None` when somebody is in it.
    pub fn close_if_unused(self: &Arc<Db>) -> Option<ClosedDatabase> {
        let before = self.user_access();
        self.claim(UserAccess::Nobody, &[])
            .is_empty()
            .then(|| ClosedDatabase { db: self.clone(), before })
    }

    /// Sets who may come in from now on, whoever is there.
    pub fn set_user_access(&self, access: UserAccess) {
        self.users.set(&mut self.users.inside.lock(), access);
    }

    /// A session that was ended and that runs nothing counts no longer, although nobody has let go
    /// of it yet.
    pub fn evict(&self, session: i32) {
        self.users.inside.lock().sessions.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::DbStatus;
    use crate::errorlog::ErrorLog;
    use crate::registry::DbEntry;

    fn database() -> Arc<Db> {
        let log = Arc::new(ErrorLog::new(Arc::new(sim::SimDisk::new(1)), "/log".into()));
        let entry = DbEntry {
            id: 5,
            name: "d".into(),
            offline: true,
            restoring: false,
            log_alignment: 0,
            filegroups: Vec::new(),
            files: Vec::new(),
        };
        Db::down(entry, DbStatus::Offline, String::new(), log)
    }

    fn number(entered: Result<DbUse, RefusedSession>) -> Option<i32> {
        match entered {
            Err(RefusedSession::Error(e)) => Some(e.number),
            Err(RefusedSession::Unknown) => Some(0),
            Ok(_) => None,
        }
    }

    #[test]
    fn one_session_at_a_time() {
        let db = database();
        let first = db.enter(51, None).ok();
        assert_eq!(db.claim(UserAccess::Single, &[52]), [51]);
        assert!(db.is_open_to_all(), "nothing has changed");
        assert_eq!(db.claim(UserAccess::Single, &[51]), [] as [i32; 0]);
        assert_eq!(number(db.enter(52, None)), Some(924));
        // The one that is there may have as many uses as it likes.
        let again = first.as_ref().map(DbUse::again);
        drop(first);
        assert_eq!(number(db.enter(52, None)), Some(924));
        assert!(db.enter(51, None).is_ok());
        drop(again);
        let second = db.enter(52, None).ok();
        assert_eq!(number(db.enter(51, None)), Some(924));
        assert!(db.is_held_by_another(51) && !db.is_held_by_another(52));
        // One that was evicted does not take the place of its successor away when it goes at last.
        db.evict(52);
        let third = db.enter(53, None).ok();
        drop(second);
        assert_eq!(db.users(), 1);
        drop(third);
        assert_eq!(db.users(), 0);
    }

    #[test]
    fn restricted_to_those_who_qualify() {
        let db = database();
        db.set_user_access(UserAccess::Restricted);
        assert_eq!(number(db.enter(51, None)), Some(0), "it has to be found out");
        assert_eq!(number(db.enter(51, Some(false))), Some(923));
        let owner = db.enter(51, Some(true)).ok();
        let other = db.enter(52, Some(true)).ok();
        assert!(db.admits(51, None).is_ok(), "whoever is in stays in");
        drop((owner, other));
    }

    #[test]
    fn nobody_comes_in_while_the_state_changes() {
        let db = database();
        let user = db.enter(51, None).ok();
        assert!(db.close_if_unused().is_none());
        assert!(db.enter(52, None).is_ok());
        drop(user);
        let closed = db.close_if_unused();
        assert!(closed.is_some() && db.close_if_unused().is_some());
        assert_eq!(number(db.enter(51, Some(true))), Some(952));
        drop(closed);
        assert!(db.enter(51, None).is_ok());
    }

    #[test]
    fn a_change_of_options_leaves_who_may_come_in() {
        let db = database();
        db.set_user_access(UserAccess::Single);
        db.set_settings(db.settings());
        assert_eq!(db.user_access(), UserAccess::Single);
    }
}
