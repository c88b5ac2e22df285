//! The log as the page store uses it, for records of the system: allocation, page splits, ghost removal.
//! Guarantees: such a record gets through a full log when it is part of a rollback, because a rollback must not fail.

use std::cell::Cell;
use std::sync::Arc;

use pages::{LogHandle, PageError};
use wal::{Log, Lsn};

thread_local! {
    /// This thread is undoing: what it appends may use the space that other records leave free.
    static UNDOING: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as undoing until dropped.
pub(crate) struct Undoing(bool);

impl Undoing {
    pub fn begin() -> Undoing {
        Undoing(UNDOING.replace(true))
    }
}

impl Drop for Undoing {
    fn drop(&mut self) {
        UNDOING.set(self.0);
    }
}

/// Appends a record that reserves nothing.
pub(crate) fn append_system(log: &Log, record: &[u8]) -> Result<Lsn, PageError> {
    if UNDOING.get() {
        return Ok(log.append_reserved(&[record], 0)?);
    }
    Ok(log.append(&[record], 0)?)
}

/// The store's view of the log.
pub(crate) struct StoreLog(pub Arc<Log>);

impl LogHandle for StoreLog {
    fn append(&self, record: &[u8]) -> Result<Lsn, PageError> {
        append_system(&self.0, record)
    }

    fn end(&self) -> Lsn {
        self.0.end()
    }

    fn flush_to(&self, lsn: Lsn) -> Result<(), PageError> {
        Ok(self.0.flush_to(lsn)?)
    }

    fn hardened(&self) -> Lsn {
        self.0.hardened()
    }

    fn read(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), PageError> {
        Ok(self.0.read(lsn, out)?)
    }
}
