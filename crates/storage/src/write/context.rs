//! What the write of a row is given: the table and the transaction, the row as it was read, what an
//! update makes of it.

use std::sync::Arc;

use access::{AccessError, RowBatch};
use catalog::Db;
use pages::{RowHeader, TxnId};
use txn::Txn;
use types::{SqlError, Value};

use super::{Locator, wait_for_lock};
use crate::left::wait;
use crate::{TableStore, access_error};

/// The table whose rows are written, and the transaction that writes them.
pub struct WriteContext<'a> {
    pub db: &'a Arc<Db>,
    pub txn: &'a mut Txn,
    pub store: &'a TableStore,
}

/// A row as it was read: a change of it fails if somebody else has changed it since.
#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'r> {
    pub locator: &'r Locator,
    pub header: RowHeader,
    pub bytes: &'r [u8],
}

impl<'r> StoredRow<'r> {
    /// The first row of a batch that was just read.
    pub fn first(locator: &'r Locator, batch: &'r RowBatch) -> StoredRow<'r> {
        StoredRow { locator, header: batch.header(0), bytes: batch.row(0) }
    }
}

/// The values of a row before and after an update.
#[derive(Clone, Copy, Debug)]
pub struct ValueChange<'r> {
    pub old: &'r [Value],
    pub new: &'r [Value],
    /// The columns that are set.
    pub columns: &'r [usize],
}

impl WriteContext<'_> {
    /// An error of the table's storage.
    #[cold]
    pub(super) fn error(&self, e: AccessError) -> SqlError {
        access_error(self.db, e)
    }

    /// Waits until a row's writer has ended.
    pub(super) fn wait(&self, other: TxnId) -> Result<(), SqlError> {
        wait(self.db, self.txn, other)
    }

    /// Waits for the lock that forbade the last change.
    pub(super) fn wait_for_lock(&mut self) -> Result<(), SqlError> {
        wait_for_lock(self.db, self.txn)
    }
}
