//! sp_addrolemember and sp_droprolemember: ALTER ROLE ADD and DROP MEMBER by their old names.

use types::{SqlError, msg};

use super::Call;
use statements::user::set_member;

/// sp_addrolemember role, member.
pub fn add_member(call: &mut Call<'_>) -> Result<i32, SqlError> {
    change(call, "sp_addrolemember", true)
}

/// sp_droprolemember role, member.
pub(crate) fn drop_member(call: &mut Call<'_>) -> Result<i32, SqlError> {
    change(call, "sp_droprolemember", false)
}

fn change(call: &mut Call<'_>, procedure: &str, present: bool) -> Result<i32, SqlError> {
    let text = |at, name| call.arg(at, name).and_then(|v| v.as_str().map(str::to_owned));
    let (Some(role), Some(member)) = (text(0, "@rolename"), text(1, "@membername")) else {
        return Err(SqlError::of(msg::PARAMETER_NOT_SUPPLIED, [&procedure, &"@rolename"]));
    };
    set_member(call.core, &role, &member, present)?;
    Ok(0)
}
