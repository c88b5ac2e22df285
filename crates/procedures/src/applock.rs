//! sp_getapplock and sp_releaseapplock: locks on names that applications choose. Guarantees: a lock
//! is given back with its owner, the transaction or the session; it must be released as often as it
//! was got.

use std::sync::atomic::Ordering;

use ::types::{DataType, Len, SqlError, msg};
use txn::{LockOwner, Resource};

use super::params::Param;
use super::{ProcedureCall, params::GivenValues};
use catalog::errors;
use instance::OfInstance;
use metadata::functions::activity::{lock_of, mode_of};
use session::state::holdings::HoldingKind;

const PARAMS: &[Param] = &[
    ("@Resource", DataType::NVarChar(Len::N(255))),
    ("@LockMode", DataType::VarChar(Len::N(32))),
    ("@LockOwner", DataType::VarChar(Len::N(32))),
    ("@LockTimeout", DataType::Int),
    ("@DbPrincipal", DataType::NVarChar(Len::N(128))),
];

const RELEASE: &[Param] = &[
    ("@Resource", DataType::NVarChar(Len::N(255))),
    ("@LockOwner", DataType::VarChar(Len::N(32))),
    ("@DbPrincipal", DataType::NVarChar(Len::N(128))),
];

/// A parameter is wrong, or another error.
const WRONG: i32 = -999;

/// Whether the session owns; `None` for an unknown owner.
fn owned_by_session(given: &GivenValues, at: usize) -> Option<bool> {
    match given.text(at).unwrap_or("Transaction").to_ascii_lowercase().as_str() {
        "session" => Some(true),
        "transaction" => Some(false),
        _ => None,
    }
}

fn no_transaction(verb: &str) -> SqlError {
    SqlError::of(msg::APP_LOCK_WITHOUT_TRANSACTION, [&verb])
}

/// EXEC sp_getapplock: 0 granted, 1 granted after a wait, -1 time-out, -2 cancelled, -3 deadlock
/// victim, -999 a wrong parameter.
pub fn get(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_getapplock", 0, PARAMS)?;
    let resource = given.text(0).unwrap_or_default();
    let (Some(mode), Some(of_session)) =
        (mode_of(given.text(1).unwrap_or_default()), owned_by_session(&given, 2))
    else {
        return Ok(WRONG);
    };
    let default = i64::from(call.core.options.lock_timeout);
    let timeout = given.number(3, default);
    if resource.is_empty() || timeout < -1 {
        return Ok(WRONG);
    }
    if !of_session && call.core.trancount() == 0 {
        call.sink.error(&no_transaction("acquire"))?;
        return Ok(WRONG);
    }
    let db = call.core.db().clone();
    let what = lock_of(resource, given.text(4).unwrap_or("public"));
    let resource = Resource { db: db.storage()?.id(), what };
    let core = &mut *call.core;
    core.memory.holdings.set(HoldingKind::ApplicationLocks, core.objects.app_locks.bytes())?;
    // Without a wait first, so that the answer can tell.
    let mut waited = 0;
    loop {
        let wait = if waited == 0 { 0 } else { timeout };
        let locked = if of_session {
            let mut args = core.transactions.wait_args(&core.options);
            args.timeout_ms = wait;
            let (manager, spid) = (core.instance().locks().clone(), core.spid());
            let owner = core
                .objects
                .app_locks
                .owner
                .get_or_insert_with(|| LockOwner::new(manager, spid as u32));
            // So that a cancel finds the wait.
            let before = core.shared.lock_owner.swap(owner.id().0, Ordering::Relaxed);
            let locked = owner.lock(resource, mode, args).map_err(txn::TxnError::from);
            core.shared.lock_owner.store(before, Ordering::Relaxed);
            locked
        } else {
            core.lock_within(&db, what, mode, wait)?
        };
        let Err(error) = locked else { break };
        match errors::db_error(&db, &error).number {
            1222 if waited == 0 && timeout != 0 => waited = 1,
            1222 => return Ok(-1),
            1205 => return Ok(-3),
            3617 => return Ok(-2),
            _ => return Err(errors::db_error(&db, &error)),
        }
    }
    if of_session {
        *core.objects.app_locks.session.entry(resource).or_default() += 1;
    } else {
        let number = core.transaction_number(&db)?;
        core.objects.app_locks.tidy(resource.db, number);
        let count = core.objects.app_locks.transaction.entry(resource).or_insert((number, 0));
        // What an ended transaction had is gone.
        *count = (number, if count.0 == number { count.1 } else { 0 } + 1);
    }
    // Locks of a transaction are free before its commit is durable.
    core.follows_others(&db)?;
    Ok(waited)
}

/// EXEC sp_releaseapplock: 0 released, -999 not held.
pub fn release(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_releaseapplock", 0, RELEASE)?;
    let name = given.text(0).unwrap_or_default().to_owned();
    let Some(of_session) = owned_by_session(&given, 1) else { return Ok(WRONG) };
    if !of_session && call.core.trancount() == 0 {
        call.sink.error(&no_transaction("release"))?;
        return Ok(WRONG);
    }
    let db = call.core.db().clone();
    let what = lock_of(&name, given.text(2).unwrap_or("public"));
    let resource = Resource { db: db.storage()?.id(), what };
    let core = &mut *call.core;
    let left = if of_session {
        match core.objects.app_locks.session.get_mut(&resource) {
            Some(count) => {
                *count -= 1;
                Some(*count)
            }
            None => None,
        }
    } else {
        let number = core.transaction_number(&db)?;
        match core.objects.app_locks.transaction.get_mut(&resource) {
            Some((of, count)) if *of == number => {
                *count -= 1;
                Some(*count)
            }
            _ => None,
        }
    };
    match left {
        None => {
            call.sink.error(&SqlError::of(
                msg::APP_LOCK_NOT_HELD,
                [&given.text(2).unwrap_or("public"), &name],
            ))?;
            return Ok(WRONG);
        }
        Some(0) if of_session => {
            core.objects.app_locks.session.remove(&resource);
            if let Some(owner) = &mut core.objects.app_locks.owner {
                owner.unlock(&resource);
            }
        }
        Some(0) => {
            core.objects.app_locks.transaction.remove(&resource);
            core.unlock_early(&db, &resource)?;
        }
        Some(_) => {}
    }
    Ok(0)
}
