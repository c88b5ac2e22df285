//! The state that a database is in, and what stopped it. Once suspect or offline it is never online
//! again: every later call is told the cause.

use super::Database;
use crate::error::TxnError;
use pages::PageError;
use std::sync::atomic::Ordering;

/// State of a database, with sys.databases.state's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Open for work.
    Online = 0,
    /// Restart recovery runs.
    Recovering = 2,
    /// A failure stopped it; see [`Database::cause`].
    Suspect = 4,
    /// Closed.
    Offline = 6,
}

impl Status {
    /// ONLINE, RECOVERING, SUSPECT, OFFLINE.
    pub fn name(self) -> &'static str {
        match self {
            Status::Online => "ONLINE",
            Status::Recovering => "RECOVERING",
            Status::Suspect => "SUSPECT",
            Status::Offline => "OFFLINE",
        }
    }

    fn from_u8(b: u8) -> Status {
        [Status::Online, Status::Recovering, Status::Suspect]
            .into_iter()
            .find(|s| *s as u8 == b)
            .unwrap_or(Status::Offline)
    }
}

impl Database {
    /// Its state.
    #[inline]
    pub fn status(&self) -> Status {
        Status::from_u8(self.status.load(Ordering::Acquire))
    }

    pub(super) fn set_status(&self, s: Status) {
        self.status.store(s as u8, Ordering::Release);
    }

    /// Why it is not online.
    pub fn cause(&self) -> Option<String> {
        self.cause.lock().clone()
    }

    /// An error unless changes are possible (online, or recovery itself).
    #[inline]
    pub(crate) fn check_online(&self) -> Result<(), PageError> {
        match self.status() {
            Status::Online | Status::Recovering => Ok(()),
            status => Err(self.offline(status)),
        }
    }

    #[cold]
    fn offline(&self, status: Status) -> PageError {
        PageError::Offline { cause: self.cause().unwrap_or_else(|| status.name().into()) }
    }

    /// Takes the database out of service after a failure that only a restart can repair. The first
    /// cause is kept; all waiters for locks in it are woken with an error.
    pub fn fail(&self, during: &str, cause: &TxnError) {
        let text = self.cause.lock().get_or_insert_with(|| format!("{during}: {cause}")).clone();
        // Out of service already: the waits were ended then, and those of now may be another
        // database's with this number.
        if matches!(self.status(), Status::Suspect | Status::Offline) {
            return;
        }
        self.set_status(Status::Suspect);
        // What is changed and not written never will be: it is not to take room from other
        // databases as long as a session stays in this one.
        self.store.give_up(&text);
        self.env.locks.cancel_database(self.env.db);
        self.checkpointer.wake_waiters();
        self.report(&text);
    }
}
