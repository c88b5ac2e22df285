//! Why a database cannot be used, or not changed: SQL Server's errors for its state.

use types::{SqlError, msg};

use super::DbStatus;

/// 3906: a change in a read-only database.
pub fn read_only(database: &str) -> SqlError {
    SqlError::of(msg::DATABASE_READ_ONLY, [&database])
}

/// 924: another session is in a database that takes one at a time.
pub(crate) fn single_user(database: &str) -> SqlError {
    SqlError::of(msg::DATABASE_SINGLE_USER, [&database])
}

/// 923: the database is for its owners and administrators.
pub fn restricted_user(database: &str) -> SqlError {
    SqlError::of(msg::DATABASE_RESTRICTED, [&database])
}

/// 952: the state of a database is being changed.
pub(crate) fn in_transition(database: &str) -> SqlError {
    SqlError::of(msg::DATABASE_IN_TRANSITION, [&database])
}

/// 926, 942, 945 and their kin: the database exists and cannot be used.
pub fn not_usable(database: &str, status: DbStatus) -> SqlError {
    match status {
        DbStatus::Offline => SqlError::of(msg::DATABASE_OFFLINE, [&database]),
        DbStatus::Suspect => SqlError::of(msg::DATABASE_SUSPECT, [&database]),
        DbStatus::Restoring => SqlError::of(msg::DATABASE_RESTORING, [&database]),
        DbStatus::Recovering => SqlError::of(msg::DATABASE_RECOVERING, [&database]),
        _ => SqlError::of(msg::DATABASE_FILES_INACCESSIBLE, [&database]),
    }
}
