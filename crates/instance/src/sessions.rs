//! The sessions of an instance: their numbers, what others see of them, KILL. Guarantees: no two
//! running sessions have one number; one that is ended stops at its next statement or wait.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use types::SqlError;

use super::InstanceCore;
use catalog::{Db, MASTER, errors};
use session::state::core::SessionShared;

/// session_ids up to here are the system's.
pub(super) const FIRST_SPID: i32 = 51;

/// A procedure that was started with the instance: its session and its thread.
pub struct Launched {
    pub session: Weak<SessionShared>,
    pub thread: JoinHandle<()>,
}

impl InstanceCore {
    /// A procedure was started that ends with the instance at the latest.
    pub fn add_launched(&self, launched: Launched) {
        self.launched.lock().push(launched);
    }

    /// Ends the procedures that were started with the instance and that still run: afterwards they
    /// hold it no more.
    pub fn end_launched(&self) {
        let launched = std::mem::take(&mut *self.launched.lock());
        launched
            .iter()
            .filter_map(|one| one.session.upgrade())
            .for_each(|session| self.end_session(&session));
        for one in launched {
            // It can be the last to hold the instance, and so close it.
            if one.thread.thread().id() != std::thread::current().id() {
                // A panic of the thread has been written down by itself.
                let _ = one.thread.join();
            }
        }
    }

    /// A number and the public part of a new session, which begins in the returned database:
    /// master.
    ///
    /// # Errors
    /// 6005 when the instance is shutting down.
    pub fn enter(&self) -> Result<(Arc<Db>, i32, Arc<SessionShared>), SqlError> {
        if self.closed.load(Ordering::Acquire) || self.shutdown_requested() {
            return Err(errors::shutting_down());
        }
        let master = self.db_by_id(MASTER).ok_or_else(|| errors::no_database("master"))?;
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        let spid = self.free_spid(&sessions);
        let shared = Arc::new(SessionShared { number: spid as u32, ..SessionShared::default() });
        sessions.insert(spid, Arc::downgrade(&shared));
        drop(sessions);
        self.logins.fetch_add(1, Ordering::Relaxed);
        Ok((master, spid, shared))
    }

    /// The next number that no session has. Numbers come again only after all others: a view that
    /// was read a moment ago does not speak of another session.
    fn free_spid(&self, sessions: &BTreeMap<i32, Weak<SessionShared>>) -> i32 {
        loop {
            let spid = self.next_spid.load(Ordering::Relaxed);
            // session_id is a smallint. With all of them in use, which no limit on connections
            // allows, it goes on above.
            let full = sessions.len() >= (i16::MAX as i32 - FIRST_SPID) as usize;
            let next = if spid >= i16::MAX.into() && !full { FIRST_SPID } else { spid + 1 };
            self.next_spid.store(next, Ordering::Relaxed);
            if !sessions.contains_key(&spid) {
                return spid;
            }
        }
    }

    /// Running sessions by spid.
    pub fn sessions(&self) -> Vec<(i32, Arc<SessionShared>)> {
        let sessions = self.sessions.lock();
        sessions
            .iter()
            .filter_map(|(spid, session)| session.upgrade().map(|s| (*spid, s)))
            .collect()
    }

    /// A running session.
    pub fn session_of(&self, spid: u32) -> Option<Arc<SessionShared>> {
        self.sessions.lock().get(&i32::try_from(spid).ok()?)?.upgrade()
    }

    /// Ends all sessions as KILL does: their batches stop at the next statement or wait, and roll
    /// back.
    pub fn end_sessions(&self) {
        for (_, session) in self.sessions() {
            self.end_session(&session);
        }
    }

    /// Ends all sessions but one.
    pub fn end_other_sessions(&self, but: &SessionShared) {
        for (_, session) in self.sessions() {
            if !std::ptr::eq(Arc::as_ptr(&session), but) {
                self.end_session(&session);
            }
        }
    }

    pub fn end_session(&self, session: &SessionShared) {
        session.kill();
        self.wake(session);
        if let Some(watcher) = session.watcher() {
            watcher.killed();
        }
    }

    /// Batches since the start.
    pub fn batches_run(&self) -> u64 {
        let running =
            self.sessions().iter().map(|(_, s)| s.batches.load(Ordering::Relaxed)).sum::<u64>();
        self.host.ended_batches() + running
    }

    /// Sessions since the start.
    pub fn logins(&self) -> u64 {
        self.logins.load(Ordering::Relaxed)
    }

    /// Ends the wait of a session that is to stop.
    pub fn wake(&self, session: &SessionShared) {
        self.locks.cancel(session.number);
        session.end_pause();
    }
}
