//! What must be durable before a client is told of it: the commits of its session, and those of
//! others that its statements have read.
//!
//! # Guarantees
//! - After a failed wait every later one fails as well, until the session has ended: nothing that
//!   may not be on disk is ever told.
//! - No commit in one database is recorded while another database owes one of before: what is on
//!   disk after a crash is never the later of two commits of a session without the earlier.
//! - What is owed is told to others by [`OwedLogs`], which keeps nothing open.
//! - It holds one entry per database that owes something, and one of the session's current
//!   database: what is committed there next needs no memory, and no reference that sessions share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use catalog::Db;
use catalog::errors::db_error;
use parking_lot::Mutex;
use smallvec::SmallVec;
use txn::Database;
use types::SqlError;
use wal::Lsn;

/// What is owed and nobody waits for becomes durable within this and a flush, however long the
/// window of delayed commits is.
const SOON: Duration = Duration::from_millis(10);

/// A log that an answer waits for, up to a record.
struct AwaitedLog {
    db: Arc<Db>,
    /// As it was when the record was written: the database may have been opened again.
    storage: Arc<Database>,
    record: Lsn,
    /// Nobody has waited for it yet.
    owed: bool,
    /// It is of the current database, and stays for the next record.
    stays: bool,
}

type AwaitedLogs = SmallVec<[AwaitedLog; 1]>;

/// What the answers of a session wait for.
#[derive(Default)]
pub struct BeforeAnswer {
    list: Mutex<AwaitedLogs>,
    /// Something in the list is owed: mostly nobody has to look at it.
    any: AtomicBool,
}

/// What answers wait for that were made up to some moment, for whoever may not wait.
#[derive(Default)]
pub struct OwedLogs(SmallVec<[(Weak<Database>, Lsn); 1]>);

impl OwedLogs {
    /// Whether all of it is durable; what is not will be soon. Of a database that was closed
    /// meanwhile nobody can tell: no.
    pub fn is_durable(&self) -> bool {
        let is_durable = |storage: Arc<Database>, record: Lsn| {
            let durable = storage.log().is_durable(record);
            if !durable {
                // A flusher that was at work when it was called first may not have come to this.
                storage.flush_within(SOON);
            }
            durable
        };
        self.0
            .iter()
            .all(|(storage, record)| storage.upgrade().is_some_and(|s| is_durable(s, *record)))
    }
}

impl AwaitedLog {
    fn wait(&self) -> Result<(), SqlError> {
        self.storage.make_durable(self.record).map_err(|e| {
            self.db.note_failure(&e);
            db_error(&self.db, &e)
        })
    }
}

impl BeforeAnswer {
    /// Whether something is owed.
    #[inline]
    pub fn is_owed(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Waits until all of it is durable. To be called before a byte of an answer is sent.
    ///
    /// # Errors
    /// Those of a log that cannot be flushed; its database is offline, and what the answer tells
    /// may not be on disk.
    #[inline]
    pub fn wait(&self) -> Result<(), SqlError> {
        if self.is_owed() { self.wait_for(|_| true) } else { Ok(()) }
    }

    /// What is owed now. It becomes durable soon, also where the session does not come to wait for
    /// it: its next request may take long.
    pub fn owed(&self) -> OwedLogs {
        let list = self.list.lock();
        let owed = list.iter().filter(|awaited| awaited.owed).map(|awaited| {
            awaited.storage.flush_within(SOON);
            (Arc::downgrade(&awaited.storage), awaited.record)
        });
        OwedLogs(owed.collect())
    }

    /// Waits for what other databases owe, before something is committed in this one.
    pub(super) fn wait_for_others(&self, storage: &Arc<Database>) -> Result<(), SqlError> {
        if !self.is_owed() {
            return Ok(());
        }
        self.wait_for(|awaited| !Arc::ptr_eq(&awaited.storage, storage))
    }

    fn wait_for(&self, which: impl Fn(&AwaitedLog) -> bool) -> Result<(), SqlError> {
        // Only the session's own thread comes here. Were there another one, it would have to wait
        // for the same: the lock is held across the waits.
        let mut list = self.list.lock();
        for awaited in list.iter_mut().filter(|awaited| awaited.owed && which(awaited)) {
            // It is owed on where the wait fails, in whichever way.
            awaited.wait()?;
            awaited.owed = false;
        }
        list.retain(|left| left.owed || left.stays);
        self.any.store(list.iter().any(|left| left.owed), Ordering::Release);
        Ok(())
    }

    /// One record more to wait for; whether its database owed one before. `stays`: the database is
    /// the session's current one.
    pub(super) fn add(
        &self,
        db: &Arc<Db>,
        storage: &Arc<Database>,
        record: Lsn,
        stays: bool,
    ) -> bool {
        let mut list = self.list.lock();
        let before = match list.iter_mut().find(|awaited| Arc::ptr_eq(&awaited.storage, storage)) {
            Some(awaited) => {
                awaited.record = awaited.record.max(record);
                awaited.stays = stays;
                std::mem::replace(&mut awaited.owed, true)
            }
            None => {
                list.retain(|left| left.owed);
                let (db, storage) = (db.clone(), storage.clone());
                list.push(AwaitedLog { db, storage, record, owed: true, stays });
                false
            }
        };
        self.any.store(true, Ordering::Release);
        before
    }

    /// The session leaves its current database.
    pub(super) fn leaves(&self) {
        let mut list = self.list.lock();
        list.retain(|left| left.owed);
        list.iter_mut().for_each(|left| left.stays = false);
    }
}
