//! sp_helplanguage: the languages of sessions, or one of them.

use ::types::{LANGUAGES, Language, SqlError, msg};

use super::ProcedureCall;
use super::params::{NAME, Param};
use metadata::results::column;
use metadata::views::languages::{COLUMNS, row};

/// EXEC sp_helplanguage [language].
pub fn help(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@language", NAME)];
    let given = call.given("sp_helplanguage", 0, PARAMS)?;
    let rows: Vec<_> = match given.text(0) {
        None => LANGUAGES.iter().map(row).collect(),
        Some(name) => {
            let found =
                Language::find(name).ok_or_else(|| SqlError::of(msg::NOT_A_LANGUAGE, [&name]))?;
            vec![row(found)]
        }
    };
    let columns: Vec<_> =
        COLUMNS.iter().map(|(name, ty, nullable)| column(name, *ty, *nullable)).collect();
    call.result(&columns, &rows)?;
    Ok(0)
}
