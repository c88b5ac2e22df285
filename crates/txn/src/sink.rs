//! The log as the page store uses it, for records of the system (allocation, page splits, ghost
//! removal), and as rollbacks do. Guarantees: a record that is part of a rollback or of restart
//! recovery gets through a full log, because neither may fail: where the space that was set aside
//! for it is not enough, the log grows past its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pages::{LogHandle, PageError, UndoingThread};
use wal::{Log, LogError, Lsn};

/// Appends a record of the system, which reserves nothing. `recovering`: nobody else has the
/// database yet.
pub(crate) fn append_system(log: &Log, record: &[u8], recovering: bool) -> Result<Lsn, PageError> {
    if recovering || UndoingThread::now() {
        return Ok(append_at_any_cost(log, record, 0)?);
    }
    Ok(log.append(&[record], 0)?)
}

/// Appends a record that ends or undoes something, and gives back `release` bytes of what was set
/// aside.
///
/// # Errors
/// The volume is full and the reserve was not enough; offline.
pub(crate) fn append_at_any_cost(log: &Log, record: &[u8], release: u32) -> Result<Lsn, LogError> {
    loop {
        match log.append_reserved(&[record], release) {
            Err(LogError::Full { .. }) => log.grow_past_limit()?,
            other => return other,
        }
    }
}

/// The store's view of the log.
pub(crate) struct StoreLog {
    pub log: Arc<Log>,
    /// Restart recovery has ended, or there was none.
    pub recovered: AtomicBool,
}

impl StoreLog {
    pub fn new(log: Arc<Log>, recovered: bool) -> Arc<StoreLog> {
        Arc::new(StoreLog { log, recovered: AtomicBool::new(recovered) })
    }
}

impl LogHandle for StoreLog {
    fn append(&self, record: &[u8]) -> Result<Lsn, PageError> {
        append_system(&self.log, record, !self.recovered.load(Ordering::Relaxed))
    }

    fn end(&self) -> Lsn {
        self.log.end()
    }

    fn flush_to(&self, lsn: Lsn) -> Result<(), PageError> {
        Ok(self.log.flush_to(lsn)?)
    }

    fn flush_all(&self) -> Result<(), PageError> {
        Ok(self.log.flush_all()?)
    }

    fn durable_lsn(&self) -> Lsn {
        self.log.durable_lsn()
    }

    fn read(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), PageError> {
        Ok(self.log.read(lsn, out)?)
    }
}
