//! Which databases a session uses: the current one, those that it goes back to, those of its open
//! transactions.
//!
//! Guarantees: a session reads and changes rows of a user's database only while it is counted among
//! the sessions that use it; it is let into one that is not open to all before that, and stays
//! counted until the last of its uses ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use catalog::db::{DbUse, RefusedSession};
use catalog::security::{DB_OWNER, DBCREATOR, DBO, PUBLIC, SERVER_PUBLIC, SYSADMIN};
use catalog::{Db, MASTER};
use types::SqlError;

use super::core::{SessionCore, SessionShared};

/// What a session goes back to when it has ended what it did in another database.
#[must_use]
pub struct DatabaseVisit {
    /// `None`: it has not left its database.
    outer: Option<DbUse>,
}

impl SessionCore {
    /// Whether the session may use a database now.
    ///
    /// # Errors
    /// 924 another session is in it alone, 923 it is for its owners.
    #[inline]
    pub fn check_admitted(&mut self, db: &Arc<Db>) -> Result<(), SqlError> {
        if db.is_open_to_all() {
            Ok(())
        } else {
            self.ask(db, |db, spid, known| db.admits(spid, known))
        }
    }

    /// The session begins to use a database.
    ///
    /// # Errors
    /// As for [`SessionCore::check_admitted`].
    pub fn enter(&mut self, db: &Arc<Db>) -> Result<DbUse, SqlError> {
        self.ask(db, Db::enter)
    }

    /// Asks a database; whether the caller is one of those that RESTRICTED_USER lets in is found
    /// out when it matters.
    fn ask<T>(
        &mut self,
        db: &Arc<Db>,
        question: impl Fn(&Arc<Db>, i32, Option<bool>) -> Result<T, RefusedSession>,
    ) -> Result<T, SqlError> {
        let answer = match question(db, self.spid(), None) {
            Err(RefusedSession::Unknown) => {
                let qualified = self.may_use_restricted(db);
                question(db, self.spid(), Some(qualified))
            }
            answer => answer,
        };
        answer.map_err(|refused| match refused {
            RefusedSession::Error(e) => e,
            RefusedSession::Unknown => catalog::db::errors::restricted_user(&db.name()),
        })
    }

    /// Whether RESTRICTED_USER lets the caller in.
    fn may_use_restricted(&mut self, db: &Arc<Db>) -> bool {
        self.may_all()
            || self.effective(db).is_ok_and(|e| {
                e.all
                    || e.user == DBO
                    || e.users.contains(&DB_OWNER)
                    || e.logins.contains(&DBCREATOR)
            })
    }

    /// USE: the database is the current one until another is. Inside of a scope that goes back at
    /// its end the one before is used on.
    ///
    /// # Errors
    /// As for [`SessionCore::check_admitted`].
    pub fn use_db(&mut self, db: Arc<Db>) -> Result<(), SqlError> {
        if Arc::ptr_eq(self.db(), &db) {
            return Ok(());
        }
        let entered = self.enter(&db)?;
        let before = self.move_to(entered);
        if self.run.nest_level > 0 {
            self.db.keep(before);
        }
        Ok(())
    }

    /// How many databases scopes go back to: what a scope that begins gives
    /// [`SessionCore::return_to_db`] at its end.
    #[inline]
    pub fn left_databases(&self) -> usize {
        self.db.left()
    }

    /// The end of a scope: the database in which it began is the current one again, and all that it
    /// has used on its way is used no more.
    pub fn return_to_db(&mut self, left: usize) {
        // What its first USE has left is where it began.
        let Some(back) = self.db.take_left(left) else { return };
        if self.db().id() != back.database().id() {
            self.move_to(back);
        }
    }

    /// What follows is done in another database, until [`SessionCore::end_visit`].
    ///
    /// # Errors
    /// As for [`SessionCore::check_admitted`].
    pub fn visit_db(&mut self, db: &Arc<Db>) -> Result<DatabaseVisit, SqlError> {
        if Arc::ptr_eq(self.db(), db) {
            return Ok(DatabaseVisit { outer: None });
        }
        let entered = self.enter(db)?;
        Ok(DatabaseVisit { outer: Some(self.move_to(entered)) })
    }

    /// The database in which a visit began is the current one again.
    pub fn end_visit(&mut self, visit: DatabaseVisit) {
        if let Some(outer) = visit.outer {
            self.move_to(outer);
        }
    }

    /// A panic has left scopes and visits without their ends.
    pub fn forget_kept_uses(&mut self) {
        self.db.forget_left();
    }

    /// Makes a database the current one; gives the use of the one before.
    fn move_to(&mut self, to: DbUse) -> DbUse {
        let to_id = to.database().id();
        self.forget_ended();
        let before = self.db.replace(to);
        self.shared.db.store(to_id.into(), Ordering::Relaxed);
        let left = before.database();
        if left.is_users_own() {
            // What is open there uses it until it ends.
            for open in &mut self.transactions.open {
                if open.used.is_none() && open.db.id() == left.id() {
                    open.used = Some(before.again());
                }
            }
        }
        before
    }

    /// A transaction begins in a database: one that is not the current one is used until it ends.
    ///
    /// # Errors
    /// As for [`SessionCore::check_admitted`].
    #[inline]
    pub(super) fn use_in_transaction(&mut self, db: &Arc<Db>) -> Result<Option<DbUse>, SqlError> {
        if db.id() == self.db().id() || !db.is_users_own() {
            return Ok(None);
        }
        self.enter(db).map(Some)
    }
}

/// Whether RESTRICTED_USER lets the login of a session into a database, or the program itself.
pub fn qualifies(session: &SessionShared, db: &Db, master: &Db) -> bool {
    debug_assert_eq!(master.id(), MASTER);
    let login = session.login_id.load(Ordering::Relaxed);
    if login == 0 {
        return true;
    }
    let (server, database) = (master.security(), db.security());
    let mut logins = vec![login, SERVER_PUBLIC];
    server.server.close_over_roles(&mut logins);
    if logins.contains(&SYSADMIN) || logins.contains(&DBCREATOR) {
        return true;
    }
    let user = server.server.get(login).and_then(|login| database.database.with_sid(&login.sid));
    user.is_some_and(|user| {
        let mut users = vec![user.id, PUBLIC];
        database.database.close_over_roles(&mut users);
        user.id == DBO || users.contains(&DB_OWNER)
    })
}
