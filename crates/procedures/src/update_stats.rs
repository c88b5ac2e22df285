//! sp_updatestats: measures the statistics of all tables of the current database whose rows have
//! changed.

use types::{SqlError, msg};

use super::ProcedureCall;
use statements::update_changed_statistics;

/// sp_updatestats [@resample].
pub fn run(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let db = call.core.db().clone();
    let again = match call
        .arg(0, "@resample")
        .map(|value| value.as_str().unwrap_or_default().to_ascii_lowercase())
    {
        None => false,
        Some(word) if word == "no" => false,
        Some(word) if word == "resample" => true,
        Some(_) => return Err(SqlError::of(msg::INVALID_OPTION_NAME, [])),
    };
    let catalog = db.catalog();
    for table in catalog.sorted() {
        let (renewed, current) = update_changed_statistics(call.core, &db, table, again)?;
        call.sink.message(&SqlError::of(
            msg::UPDATING_STATISTICS,
            [&table.schema, &table.name, &renewed, &current],
        ))?;
    }
    db.forget_plans();
    call.sink.message(&SqlError::of(msg::STATISTICS_UPDATED, []))?;
    Ok(0)
}
