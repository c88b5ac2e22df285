//! Changes of a database's state that sessions can be in the way of: SINGLE_USER, RESTRICTED_USER,
//! OFFLINE, READ_ONLY; and what becomes of those sessions (WITH NO_WAIT, ROLLBACK AFTER, ROLLBACK
//! IMMEDIATE; without a clause they are waited for).
//!
//! Guarantees: the state changes in the moment in which nobody is in the way; a wait holds nothing
//! that other sessions need, and ends when the statement is cancelled, or when one of those that it
//! waits for waits for it (1205); a change that fails leaves who may use the database as it was.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;
use syntax::ast::Termination;
use types::{SqlError, msg};

use super::StmtCtx;
use catalog::db::{DbStatus, UserAccess};
use catalog::settings::DbSettings;
use catalog::{Db, MASTER, errors};
use instance::InstanceCore;
use instance::boot_text::save_settings;
use session::state::core::SessionShared;
use session::state::uses::qualifies;

/// How often a statement that waits looks who is still there.
const LOOK: Duration = Duration::from_millis(10);
/// How often it looks whether they wait for it.
const SEARCH: Duration = Duration::from_secs(1);
/// How long it waits for sessions of the program itself that were ended with a transaction open:
/// only the program can roll it back, by letting go of the session.
const ABANDONED: Duration = Duration::from_secs(2);
/// ROLLBACK AFTER waits no longer than this, a century.
const LONGEST: u64 = 100 * 366 * 24 * 3600;

/// The right to change databases.
pub(super) type Turn<'i> = Option<MutexGuard<'i, ()>>;

/// What a change of state has in its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionsInTheWay {
    /// SINGLE_USER: all other sessions; RESTRICTED_USER: those that it does not let in.
    Access(UserAccess),
    /// OFFLINE: all sessions.
    Offline,
    /// READ_ONLY: transactions that have written.
    ReadOnly,
}

impl SessionsInTheWay {
    /// Makes the change hold for all who come from now on, if nobody is in its way; else gives who
    /// is.
    fn claim(self, instance: &InstanceCore, db: &Arc<Db>, own: i32) -> Result<Vec<i32>, SqlError> {
        match self {
            SessionsInTheWay::Access(UserAccess::Restricted) => {
                let master =
                    instance.db_by_id(MASTER).ok_or_else(|| errors::no_database("master"))?;
                let may_stay = |spid: &i32| match session(instance, *spid) {
                    Some(session) => qualifies(&session, db, &master),
                    None => true,
                };
                let mut stay: Vec<i32> = db.other_users(own).into_iter().filter(may_stay).collect();
                stay.push(own);
                Ok(db.claim(UserAccess::Restricted, &stay))
            }
            SessionsInTheWay::Access(access) => Ok(db.claim(access, &[own])),
            SessionsInTheWay::Offline => Ok(db.claim(UserAccess::Nobody, &[])),
            SessionsInTheWay::ReadOnly => {
                let storage = db.storage()?;
                let writers = || -> Vec<i32> {
                    storage.txns().active().iter().map(|txn| txn.session as i32).collect()
                };
                let found = writers();
                if !found.is_empty() {
                    return Ok(found);
                }
                let before = db.settings();
                // First, so that every write that begins from now on is refused.
                db.set_settings(DbSettings { read_only: true, ..before.clone() });
                let found = writers();
                if !found.is_empty() {
                    db.set_settings(before);
                }
                Ok(found)
            }
        }
    }

    /// Lets nobody in any more who would be in the way, while those that are go.
    fn close(self, db: &Db) {
        match self {
            SessionsInTheWay::Access(UserAccess::Restricted) => {
                db.set_user_access(UserAccess::Restricted)
            }
            SessionsInTheWay::Access(_) | SessionsInTheWay::Offline => {
                db.set_user_access(UserAccess::Nobody)
            }
            SessionsInTheWay::ReadOnly => {}
        }
    }
}

fn session(instance: &InstanceCore, spid: i32) -> Option<Arc<SessionShared>> {
    instance.session_of(u32::try_from(spid).ok()?)
}

/// How a change of state waits.
struct Waiting {
    /// When the sessions in the way are ended, if they are.
    ends_them: Option<Instant>,
    /// When the statement gives up: LOCK_TIMEOUT.
    gives_up: Option<Instant>,
    /// Since when they are being ended.
    ending: Option<Instant>,
    /// Those that were ended and were found running nothing.
    idle: Vec<i32>,
}

impl Waiting {
    fn new(termination: Option<Termination>, lock_timeout: i32) -> Waiting {
        let now = Instant::now();
        let ends_them = match termination {
            Some(Termination::Immediate) => Some(now),
            Some(Termination::After(seconds)) => {
                now.checked_add(Duration::from_secs(seconds.min(LONGEST)))
            }
            Some(Termination::NoWait) | None => None,
        };
        let patience = u64::try_from(lock_timeout).ok().filter(|_| termination.is_none());
        let gives_up = patience.and_then(|ms| now.checked_add(Duration::from_millis(ms)));
        Waiting { ends_them, gives_up, ending: None, idle: Vec::new() }
    }

    /// Ends the sessions that are in the way. One that was ended and that runs nothing, and has no
    /// transaction, has left: whoever has it finds that out when it is used next. True: none of the
    /// others will go unless the program lets go of it.
    fn end(&mut self, instance: &InstanceCore, db: &Db, in_the_way: &[i32]) -> bool {
        let writers: Vec<u32> = match db.storage_if_open() {
            Some(storage) => storage.txns().active().iter().map(|txn| txn.session).collect(),
            None => Vec::new(),
        };
        let mut stuck = true;
        for spid in in_the_way {
            let Some(session) = session(instance, *spid) else {
                // The system's own transaction, or a session that is just going.
                stuck = false;
                continue;
            };
            if !session.killed.load(Ordering::Acquire) {
                instance.end_session(&session);
                stuck = false;
            } else if session.runs_after_kill() {
                stuck = false;
            } else if session.open_transactions.load(Ordering::Acquire) > 0
                || writers.contains(&session.number)
            {
                stuck &= session.watcher().is_none();
            } else if self.idle.contains(spid) {
                // Found twice: whether its last request has left a transaction was found out before
                // that was seen to have ended, the first time.
                db.evict(*spid);
                stuck = false;
            } else {
                self.idle.push(*spid);
                stuck = false;
            }
        }
        stuck
    }
}

impl StmtCtx<'_> {
    /// SET SINGLE_USER, RESTRICTED_USER, MULTI_USER.
    pub(super) fn set_user_access<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        access: UserAccess,
        termination: Option<Termination>,
        turn: &mut Turn<'i>,
    ) -> Result<(), SqlError> {
        db.check_usable()?;
        if access != UserAccess::Multi && InstanceCore::is_reserved_name(&db.name()) {
            let option =
                if access == UserAccess::Single { "SINGLE_USER" } else { "RESTRICTED_USER" };
            return Err(cannot_be_set(option, db));
        }
        let before = db.user_access();
        match access {
            UserAccess::Multi => db.set_user_access(UserAccess::Multi),
            _ => {
                self.clear_way(instance, db, SessionsInTheWay::Access(access), termination, turn)?
            }
        }
        let settings = DbSettings { user_access: access as u8, ..db.settings() };
        save_settings(db, &settings).inspect_err(|_| db.set_user_access(before))
    }

    /// Changes of a database that takes one session are those of the session that is in it;
    /// ROLLBACK ends that one.
    ///
    /// # Errors
    /// 5064 another session is in it.
    pub(super) fn check_held<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        termination: Option<Termination>,
        turn: &mut Turn<'i>,
    ) -> Result<(), SqlError> {
        if !db.is_held_by_another(self.core.spid()) {
            return Ok(());
        }
        match termination {
            Some(Termination::Immediate | Termination::After(_)) => self.clear_way(
                instance,
                db,
                SessionsInTheWay::Access(UserAccess::Single),
                termination,
                turn,
            ),
            Some(Termination::NoWait) | None => {
                Err(SqlError::of(msg::SINGLE_USER_CONNECTED, [&db.name()]))
            }
        }
    }

    /// SET OFFLINE.
    pub(super) fn set_offline<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        termination: Option<Termination>,
        turn: &mut Turn<'i>,
    ) -> Result<(), SqlError> {
        if InstanceCore::is_reserved_name(&db.name()) {
            return Err(cannot_be_set("OFFLINE", db));
        }
        if db.status() == DbStatus::Offline {
            return Ok(());
        }
        if self.core.db().id() == db.id() {
            return Err(in_use(db));
        }
        let before = db.user_access();
        self.clear_way(instance, db, SessionsInTheWay::Offline, termination, turn)?;
        let done = instance.close_database(db).and_then(|()| {
            db.take_down(DbStatus::Offline, "it was taken offline");
            db.change_entry(|entry| entry.offline = true);
            instance.forget_batches();
            instance.save_registry()
        });
        db.set_user_access(before);
        done
    }

    /// SET READ_ONLY. Nobody may be changing rows when the database becomes read-only.
    pub(super) fn set_read_only<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        termination: Option<Termination>,
        turn: &mut Turn<'i>,
    ) -> Result<(), SqlError> {
        if InstanceCore::is_reserved_name(&db.name()) {
            return Err(cannot_be_set("READ_ONLY", db));
        }
        if db.settings().read_only {
            return Ok(());
        }
        self.clear_way(instance, db, SessionsInTheWay::ReadOnly, termination, turn)?;
        let settings = DbSettings { read_only: true, ..db.settings() };
        let before = DbSettings { read_only: false, ..db.settings() };
        save_settings(db, &settings).inspect_err(|_| db.set_settings(before))
    }

    /// Waits until nobody is in the way, or ends who is; then the change holds for all who come,
    /// and the turn is had.
    ///
    /// # Errors
    /// 5070 somebody is and the statement does not wait; 1205; 1222; 3617; 5061 sessions that were
    /// ended do not go.
    fn clear_way<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        way: SessionsInTheWay,
        termination: Option<Termination>,
        turn: &mut Turn<'i>,
    ) -> Result<(), SqlError> {
        let before = db.user_access();
        let mut waiting = Waiting::new(termination, self.core.options.lock_timeout);
        let cleared = self.wait_for_way(instance, db, way, termination, &mut waiting, turn);
        if cleared.is_err() {
            db.set_user_access(before);
        } else if waiting.ending.is_some() {
            // A client that cannot be told of the end has been told of the beginning.
            let _ = self.tell_rollback(100);
        }
        cleared
    }

    fn wait_for_way<'i>(
        &mut self,
        instance: &'i Arc<InstanceCore>,
        db: &Arc<Db>,
        way: SessionsInTheWay,
        termination: Option<Termination>,
        waiting: &mut Waiting,
        turn: &mut Turn<'i>,
    ) -> Result<(), SqlError> {
        let own_wait = instance.session_waits.begin(self.core.spid());
        let mut search = Instant::now();
        loop {
            if turn.is_none() {
                *turn = Some(instance.changing.lock());
                // Others may have changed it meanwhile.
                if instance.db_by_id(db.id()).is_none_or(|now| !Arc::ptr_eq(&now, db)) {
                    return Err(no_such_database(&db.name()));
                }
            }
            let in_the_way = way.claim(instance, db, self.core.spid())?;
            if in_the_way.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            if termination == Some(Termination::NoWait) || in_the_way.contains(&self.core.spid()) {
                return Err(in_use(db));
            }
            if waiting.gives_up.is_some_and(|end| now >= end) {
                return Err(SqlError::of(msg::LOCK_TIMEOUT, []));
            }
            // Others have their turn while this waits.
            *turn = None;
            if waiting.ends_them.is_some_and(|end| now >= end) {
                if waiting.ending.is_none() {
                    way.close(db);
                    self.tell_rollback(0)?;
                }
                let since = *waiting.ending.get_or_insert(now);
                if waiting.end(instance, db, &in_the_way) && now - since > ABANDONED {
                    return Err(cannot_lock(db));
                }
            }
            if waiting.ending.is_none() && now >= search {
                search = now + SEARCH;
                if own_wait.is_in_a_cycle(&in_the_way, &blocked_sessions(instance)) {
                    return Err(errors::deadlock_victim(self.core.spid()));
                }
            }
            self.core.shared.pause_until(now + LOOK);
            self.core.check_cancel()?;
        }
    }

    fn tell_rollback(&mut self, percent: u8) -> Result<(), SqlError> {
        self.inform(msg::ROLLING_BACK, [&percent])
    }
}

/// The sessions whose requests for locks are blocked, each with the one that blocks it.
fn blocked_sessions(instance: &InstanceCore) -> HashMap<i32, i32> {
    let waits = instance.locks().waiting();
    waits.iter().filter_map(|w| Some((w.who.session as i32, w.blocker?.session as i32))).collect()
}

/// 5011.
pub(super) fn no_such_database(name: &str) -> SqlError {
    SqlError::of(msg::ALTER_DATABASE_PERMISSION, [&name])
}

fn cannot_be_set(option: &str, db: &Db) -> SqlError {
    SqlError::of(msg::OPTION_NOT_SETTABLE, [&option, &db.name()])
}

fn in_use(db: &Db) -> SqlError {
    SqlError::of(msg::OTHER_USERS_IN_DATABASE, [&db.name()])
}

/// 5061.
pub(super) fn cannot_lock(db: &Db) -> SqlError {
    SqlError::of(msg::DATABASE_NOT_LOCKED, [&db.name()])
}
