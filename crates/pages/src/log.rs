//! What the page store needs of the log.

use crate::error::PageError;
use crate::id::TxnId;
use crate::record::{RecordBuilder, RecordSink};
use std::cell::Cell;
use wal::Lsn;

thread_local! {
    static UNDOING: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as undoing a transaction until dropped: a rollback must not fail for want of
/// space, so what it allocates and logs may use what is kept from others.
#[derive(Debug)]
pub struct UndoingThread(bool);

impl UndoingThread {
    /// Begins; may be nested.
    #[must_use]
    pub fn begin() -> UndoingThread {
        UndoingThread(UNDOING.replace(true))
    }

    /// Whether this thread is undoing.
    #[must_use]
    pub fn now() -> bool {
        UNDOING.get()
    }
}

impl Drop for UndoingThread {
    fn drop(&mut self) {
        UNDOING.set(self.0);
    }
}

thread_local! {
    static BEYOND: Cell<bool> = const { Cell::new(false) };
}

/// Until dropped, what the thread allocates may use what is kept for rollbacks, and makes files
/// longer than their limits where nothing else is left: for statements that need a few pages to
/// free many.
#[derive(Debug)]
pub struct BeyondLimits(bool);

impl BeyondLimits {
    /// Begins; may be nested.
    #[must_use]
    pub fn begin() -> BeyondLimits {
        BeyondLimits(BEYOND.replace(true))
    }

    /// Whether this thread's allocations may do so; those of a rollback always may.
    pub(crate) fn now() -> bool {
        BEYOND.get() || UndoingThread::now()
    }
}

impl Drop for BeyondLimits {
    fn drop(&mut self) {
        BEYOND.set(self.0);
    }
}

/// The log as the page store sees it. `wal::Log` implements it; tests have their own.
pub trait LogHandle: Send + Sync {
    /// Appends an encoded record and returns its LSN. Does not wait for it to become durable.
    ///
    /// # Errors
    /// The log is full or offline.
    fn append(&self, record: &[u8]) -> Result<Lsn, PageError>;
    /// An LSN that no record appended after this call is below.
    fn end(&self) -> Lsn;
    /// Returns when the record at `lsn` and all before it are durable.
    ///
    /// # Errors
    /// The log is offline.
    fn flush_to(&self, lsn: Lsn) -> Result<(), PageError>;
    /// Returns when all that was appended before the call is durable.
    ///
    /// # Errors
    /// The log is offline.
    fn flush_all(&self) -> Result<(), PageError>;
    /// All records up to this one are durable.
    fn durable_lsn(&self) -> Lsn;
    /// Reads a record that is not truncated.
    ///
    /// # Errors
    /// No such record; I/O.
    fn read(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), PageError>;
}

impl LogHandle for wal::Log {
    fn append(&self, record: &[u8]) -> Result<Lsn, PageError> {
        match wal::Log::append(self, &[record], 0) {
            // Allocation may be part of a rollback, which must not fail for log space: the space
            // set aside for undo serves it. A transaction that is not rolling back meets the full
            // log with its own record right after.
            Err(wal::LogError::Full { .. }) => Ok(self.append_reserved(&[record], 0)?),
            other => Ok(other?),
        }
    }

    fn end(&self) -> Lsn {
        wal::Log::end(self)
    }

    fn flush_to(&self, lsn: Lsn) -> Result<(), PageError> {
        Ok(wal::Log::flush_to(self, lsn)?)
    }

    fn flush_all(&self) -> Result<(), PageError> {
        Ok(wal::Log::flush_all(self)?)
    }

    fn durable_lsn(&self) -> Lsn {
        wal::Log::durable_lsn(self)
    }

    fn read(&self, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), PageError> {
        Ok(wal::Log::read(self, lsn, out)?)
    }
}

/// Appends records in the name of the system: redone, never undone.
pub struct SystemSink<'a>(pub(crate) &'a dyn LogHandle);

impl RecordSink for SystemSink<'_> {
    fn append(&mut self, rec: &mut RecordBuilder) -> Result<Lsn, PageError> {
        rec.stamp(TxnId::SYSTEM, Lsn::ZERO);
        self.0.append(rec.bytes())
    }
}
