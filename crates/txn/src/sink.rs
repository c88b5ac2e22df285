//! The log as the page store uses it, for records of the system: allocation, page splits, ghost removal.
//! Guarantees: such a record gets through a full log when it is part of a rollback, because a rollback must not fail.

use std::sync::Arc;

use pages::{LogHandle, PageError, Undoing};
use wal::{Log, Lsn};

/// Appends a record that reserves nothing.
pub(crate) fn append_system(log: &Log, record: &[u8]) -> Result<Lsn, PageError> {
    if Undoing::now() {
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
