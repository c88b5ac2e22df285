//! sp_addtype and sp_droptype: alias types as scripts of SQL Server 2000 make them.

use ::types::SqlError;

use super::Call;
use catalog::errors;
use ddl::alias_types;

/// sp_addtype name, 'type' [, 'NULL' | 'NOT NULL'].
pub fn add_type(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let text = |call: &Call<'_>, at, name| call.arg(at, name).and_then(|v| v.as_str().map(str::to_owned));
    let (Some(name), Some(base)) = (text(call, 0, "@typename"), text(call, 1, "@phystype")) else {
        let text =
            "Procedure or function 'sp_addtype' expects parameter '@typename', which was not supplied.";
        return Err(SqlError::new(201, 16, 4, text));
    };
    let nullable = match text(call, 2, "@nulltype").map(|word| word.trim().to_ascii_uppercase()).as_deref() {
        None | Some("NULL") => true,
        Some("NOT NULL" | "NONULL") => false,
        Some(_) => return Err(SqlError::new(15045, 16, 1, "The null type must be 'NULL' or 'NOT NULL'.")),
    };
    let base = catalog::load::type_of_text(&base.to_ascii_lowercase()).map_err(|_| {
        SqlError::new(
            15036,
            16,
            1,
            format!("The data type '{base}' does not exist or you do not have permission."),
        )
    })?;
    let db = call.core.db().clone();
    alias_types::create(call.core, &db, "", &name, base, nullable)?;
    Ok(0)
}

/// sp_droptype name.
pub fn drop_type(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let name = call.arg(0, "@typename").and_then(|v| v.as_str().map(str::to_owned));
    let name = name.ok_or_else(|| errors::no_procedure("sp_droptype"))?;
    let db = call.core.db().clone();
    alias_types::drop_type(call.core, &db, "", &name)?;
    Ok(0)
}
