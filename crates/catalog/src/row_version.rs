//! Row versions: the values of rowversion columns, from one counter for each database. Guarantee:
//! each value is greater than all that were given before, whatever was rolled back and whatever a
//! crash has lost.

use std::sync::Arc;

use txn::Txn;
use types::{SqlError, Value};

use crate::{Db, errors};

/// The first of `count` new values for rows that a transaction writes; the others follow it.
///
/// # Errors
/// What the log says.
pub fn next(db: &Arc<Db>, txn: &mut Txn, count: u64) -> Result<i64, SqlError> {
    let open = db.open()?;
    let txn = txn.begun().map_err(|e| errors::db_error(db, &e))?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let first = open.counters.next_row_versions(txn, count, &open.storage, &open.trees);
    first.map_err(|e| errors::store_error(db, e))
}

/// The value that was given last: @@DBTS.
///
/// # Errors
/// The database is not online.
pub fn last(db: &Db) -> Result<i64, SqlError> {
    Ok(db.open()?.counters.last_row_version())
}

/// The lowest value that may still be committed: MIN_ACTIVE_ROWVERSION().
///
/// # Errors
/// The database is not online.
pub fn min_active(db: &Db) -> Result<i64, SqlError> {
    let open = db.open()?;
    Ok(open.counters.min_active_row_version(&open.storage))
}

/// A number as a column has it.
pub fn value(number: i64) -> Value {
    Value::bytes(number.to_be_bytes())
}
