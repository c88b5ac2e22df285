//! sp_updatestats: measures the statistics of all tables of the current database whose rows have changed.

use types::SqlError;

use super::Call;
use statements::update_changed_statistics;

/// sp_updatestats [@resample].
pub fn run(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let db = call.core.db().clone();
    let again =
        match call.arg(0, "@resample").map(|value| value.as_str().unwrap_or_default().to_ascii_lowercase()) {
            None => false,
            Some(word) if word == "no" => false,
            Some(word) if word == "resample" => true,
            Some(_) => return Err(SqlError::new(14138, 16, 1, "Invalid option name.")),
        };
    let catalog = db.catalog();
    for table in catalog.sorted() {
        let (renewed, current) = update_changed_statistics(call.core, &db, table, again)?;
        let text = format!(
            "Updating [{}].[{}]\n    {renewed} index(es)/statistic(s) have been updated, {current} did not require update.",
            table.schema, table.name
        );
        call.sink.message(&SqlError::new(15650, 0, 1, text))?;
    }
    db.forget_plans();
    call.sink.message(&SqlError::new(15005, 0, 1, "Statistics for all tables have been updated."))?;
    Ok(0)
}
