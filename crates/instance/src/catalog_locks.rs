//! Locks of a session's transaction on parts of a catalog: the whole, a schema, an object or a
//! type. Guarantees: each is held until the transaction ends, and waits no longer than LOCK_TIMEOUT
//! says.

use std::sync::Arc;

use catalog::{Db, errors};
use session::state::SessionCore;
use txn::LockMode;
use txn::locks::LockTarget;
use types::SqlError;

/// Locks the database's catalog as a whole until the transaction ends: IX to change any of it, S
/// for a statement that must see all of it standing still. Errors: 1205, 1222.
pub fn lock_catalog(core: &mut SessionCore, db: &Arc<Db>, mode: LockMode) -> Result<(), SqlError> {
    let locked = core.txn(db)?.lock(LockTarget::Schema(0), mode);
    locked.map_err(|e| errors::db_error(db, &e))
}

/// Locks a schema until the transaction ends: SCH-S for whoever puts something into it or takes
/// something out, SCH-M for whoever makes or drops it. Errors: 1205, 1222.
pub fn lock_schema(
    core: &mut SessionCore,
    db: &Arc<Db>,
    id: i32,
    mode: LockMode,
) -> Result<(), SqlError> {
    let locked = core.txn(db)?.lock(LockTarget::Schema(id as u32), mode);
    locked.map_err(|e| errors::db_error(db, &e))
}

/// Keeps an object or a type as it is until the transaction ends. Errors: 1205, 1222.
pub fn hold_object(core: &mut SessionCore, db: &Arc<Db>, id: i32) -> Result<(), SqlError> {
    let locked = core.txn(db)?.lock(LockTarget::Table(id as u32), LockMode::SchS);
    locked.map_err(|e| errors::db_error(db, &e))
}
