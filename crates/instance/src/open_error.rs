//! Why a database could not be opened: the state that it is in then, and what the user is told.

use catalog::db::DbStatus;
use catalog::registry::DbEntry;
use catalog::store::StoreError;
use txn::{ErrorKind, TxnError};
use types::{SqlError, msg};

use super::file_errors::{is_unavailable, open_failed};

/// Why a database could not be opened.
pub(super) enum OpenError {
    Txn(TxnError),
    Other(String),
    /// The folder is only read.
    NeedsRecovery,
}

impl From<TxnError> for OpenError {
    fn from(e: TxnError) -> Self {
        OpenError::Txn(e)
    }
}

impl From<StoreError> for OpenError {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::Txn(e) => OpenError::Txn(e),
            StoreError::Sql(e) => OpenError::Other(e.into_message()),
        }
    }
}

impl OpenError {
    pub(super) fn status(&self) -> DbStatus {
        match self {
            OpenError::Txn(e) if is_unavailable(e) => DbStatus::RecoveryPending,
            OpenError::NeedsRecovery => DbStatus::RecoveryPending,
            _ => DbStatus::Suspect,
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            OpenError::Txn(e) if e.kind() == ErrorKind::LogDamaged => format!("error {}: {e}", e.number()),
            OpenError::Txn(e) => e.to_string(),
            OpenError::Other(text) => text.clone(),
            OpenError::NeedsRecovery => "it was not stopped cleanly and needs recovery, which writes to its files:                  open it once where they can be written"
                .into(),
        }
    }

    /// The text for a person who looks for the cause: SQL Server's error where there is one.
    pub(super) fn explain(&self, entry: &DbEntry) -> String {
        self.sql(entry)
            .map_or_else(|| self.text(), |e| format!("Error {}: {}", e.number, e.message))
    }

    /// SQL Server's error for a file of the database.
    pub(super) fn sql(&self, entry: &DbEntry) -> Option<SqlError> {
        match self {
            OpenError::Txn(e) => open_failed(entry, e),
            OpenError::NeedsRecovery => {
                Some(SqlError::of(msg::NOT_RECOVERED_READ_ONLY, [&entry.name, &self.text()]))
            }
            OpenError::Other(_) => None,
        }
    }
}
