//! sp_addtype and sp_droptype: alias types as scripts of SQL Server 2000 make them.

use ::types::{SqlError, msg};

use super::Call;
use catalog::errors;
use ddl::user_types;

/// sp_addtype name, 'type' [, 'NULL' | 'NOT NULL'].
pub fn add_type(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let text =
        |call: &Call<'_>, at, name| call.arg(at, name).and_then(|v| v.as_str().map(str::to_owned));
    let (Some(name), Some(base)) = (text(call, 0, "@typename"), text(call, 1, "@phystype")) else {
        return Err(SqlError::of(msg::PARAMETER_NOT_SUPPLIED, [&"sp_addtype", &"@typename"]));
    };
    let nullable =
        match text(call, 2, "@nulltype").map(|word| word.trim().to_ascii_uppercase()).as_deref() {
            None | Some("NULL") => true,
            Some("NOT NULL" | "NONULL") => false,
            Some(_) => return Err(SqlError::of(msg::NULL_TYPE, [])),
        };
    let base = catalog::load::type_of_text(&base.to_ascii_lowercase())
        .map_err(|_| SqlError::of(msg::DATA_TYPE_NOT_FOUND, [&base]))?;
    let db = call.core.db().clone();
    user_types::alias::create(call.core, &db, "", &name, base, nullable)?;
    Ok(0)
}

/// sp_droptype name.
pub fn drop_type(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let name = call.arg(0, "@typename").and_then(|v| v.as_str().map(str::to_owned));
    let name = name.ok_or_else(|| errors::no_procedure("sp_droptype"))?;
    let db = call.core.db().clone();
    user_types::drop_type(call.core, &db, "", &name)?;
    Ok(0)
}
