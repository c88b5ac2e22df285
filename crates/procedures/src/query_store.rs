//! The procedures of the Query Store: sp_query_store_flush_db, remove_query, remove_plan,
//! reset_exec_stats, force_plan, unforce_plan. Plans are not forced: 40510, at a query and a plan
//! that there are.

use std::sync::Arc;

use ::types::{DataType, SqlError, msg};
use catalog::query_store::StoreState;
use catalog::{Db, errors};

use super::Call;
use super::params::Param;
use instance::OfInstance;
use programs::usage::settle;

const QUERY: &[Param] = &[("@query_id", DataType::BigInt)];
const PLAN: &[Param] = &[("@plan_id", DataType::BigInt)];
const BOTH: &[Param] = &[("@query_id", DataType::BigInt), ("@plan_id", DataType::BigInt)];

/// The database, whose store is on.
fn store_of(call: &Call<'_>) -> Result<Arc<Db>, SqlError> {
    let db = call.core.db().clone();
    if db.settings().query_store.state == StoreState::Off {
        return Err(SqlError::of(msg::QUERY_STORE_OFF, [&db.id()]));
    }
    settle(call.core.instance().batches());
    Ok(db)
}

fn no_query(db: &Db, query: i64, state: u8) -> SqlError {
    SqlError::of(msg::QUERY_NOT_IN_STORE, [&query, &db.id()]).state(state)
}

fn no_plan(db: &Db, plan: i64, state: u8) -> SqlError {
    SqlError::of(msg::PLAN_NOT_IN_STORE, [&plan, &db.id()]).state(state)
}

/// EXEC sp_query_store_flush_db: what has run is noted.
pub fn flush(call: &mut Call<'_>) -> Result<i32, SqlError> {
    store_of(call).map(|_| 0)
}

/// EXEC sp_query_store_remove_query.
pub fn remove_query(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let query = call.given("sp_query_store_remove_query", 1, QUERY)?.number(0, 0);
    let db = store_of(call)?;
    match db.query_store().kept().remove_query(query) {
        true => Ok(0),
        false => Err(no_query(&db, query, 1)),
    }
}

/// EXEC sp_query_store_remove_plan.
pub fn remove_plan(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let plan = call.given("sp_query_store_remove_plan", 1, PLAN)?.number(0, 0);
    let db = store_of(call)?;
    match db.query_store().kept().remove_plan(plan) {
        true => Ok(0),
        false => Err(no_plan(&db, plan, 1)),
    }
}

/// EXEC sp_query_store_reset_exec_stats.
pub fn reset(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let plan = call.given("sp_query_store_reset_exec_stats", 1, PLAN)?.number(0, 0);
    let db = store_of(call)?;
    let mut kept = db.query_store().kept();
    if !kept.plans.contains_key(&plan) {
        return Err(no_plan(&db, plan, 2));
    }
    kept.forget_runtime(plan);
    Ok(0)
}

/// The query and the plan that a call names.
fn both(call: &mut Call<'_>, name: &str) -> Result<(), SqlError> {
    let given = call.given(name, 2, BOTH)?;
    let (query, plan) = (given.number(0, 0), given.number(1, 0));
    let db = store_of(call)?;
    let kept = db.query_store().kept();
    if !kept.is_shown(query) {
        return Err(no_query(&db, query, 2));
    }
    if kept.plans.get(&plan).is_none_or(|plan| plan.query != query) {
        return Err(SqlError::of(msg::PLAN_NOT_OF_QUERY, [&plan, &query]));
    }
    Ok(())
}

/// EXEC sp_query_store_force_plan: not there.
pub fn force(call: &mut Call<'_>) -> Result<i32, SqlError> {
    both(call, "sp_query_store_force_plan")?;
    Err(errors::not_supported("Forcing a plan"))
}

/// EXEC sp_query_store_unforce_plan: no plan is forced.
pub(crate) fn unforce(call: &mut Call<'_>) -> Result<i32, SqlError> {
    both(call, "sp_query_store_unforce_plan").map(|()| 0)
}
