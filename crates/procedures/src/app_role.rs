//! sp_setapprole and sp_unsetapprole: a session takes on the rights of an application role, and
//! gives them back. Guarantees: no role without its password; an unknown role and a wrong password
//! are told the same, after the same time.

use std::time::Instant;

use ::types::{DataType, Len, SqlError, Value, msg};

use super::Call;
use super::params::{NAME, Param};
use catalog::fold_name;
use catalog::security::Kind;
use instance::OfInstance;
use instance::security::passwords;

const SET: &[Param] = &[
    ("@rolename", NAME),
    ("@password", NAME),
    ("@encrypt", DataType::VarChar(Len::N(10))),
    ("@fCreateCookie", DataType::Bit),
    ("@cookie", DataType::VarBinary(Len::N(8000))),
];
const COOKIE: usize = 4;
const UNSET: &[Param] = &[("@cookie", DataType::VarBinary(Len::N(8000)))];

/// EXEC sp_setapprole.
pub fn set(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_setapprole", 2, SET)?;
    if call.core.run.nest_level > 0 {
        return Err(SqlError::of(msg::APPLICATION_ROLE_NOT_AD_HOC, []));
    }
    if call.core.trancount() > 0 {
        return Err(SqlError::of(msg::PROCEDURE_IN_TRANSACTION, [&"sys.sp_setapprole"]));
    }
    let encrypt = given.text(2).unwrap_or("none").trim_end();
    if encrypt.eq_ignore_ascii_case("odbc") {
        // What a driver makes of { encrypt N'...' } is not published.
        return Err(catalog::errors::not_supported("sp_setapprole with @encrypt = 'odbc'"));
    }
    if !encrypt.eq_ignore_ascii_case("none") {
        return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"sys.sp_setapprole"]));
    }
    let db = call.core.db().clone();
    let (name, password) = (given.text(0).unwrap_or_default(), given.text(1).unwrap_or_default());
    let refused = || SqlError::of(msg::APPLICATION_ROLE_PASSWORD, [&name]);
    let security = call.core.security(&db);
    let role = security.database.find(name).filter(|p| p.kind == Kind::ApplicationRole);
    let stored = role.and_then(|p| p.hash.as_deref());
    let authentication = &call.core.instance().authentication;
    // Attempts are counted for the role and whoever makes them.
    let (role_key, login) =
        (format!("{}\\{}", db.name(), fold_name(name)), call.core.identity.login_name());
    if authentication.throttle.refuses(&role_key, &login, Instant::now()) {
        return Err(refused());
    }
    if !stored.is_some_and(|stored| authentication.passwords.is_known(password, stored)) {
        let turn = authentication.passwords.turn().ok_or_else(refused)?;
        if !authentication.passwords.verify(&turn, password, stored) {
            authentication.throttle.failed(&role_key, &login, Instant::now());
            return Err(refused());
        }
    }
    let role = role.ok_or_else(refused)?;
    authentication.throttle.succeeded(&role_key, &login);
    let cookie = (given.number(3, 0) != 0).then(passwords::cookie);
    call.core.identity.take_role(&db, role, cookie.clone())?;
    if let Some(cookie) = cookie {
        let is_cookie = |(i, arg): &(usize, &programs::arguments::Arg)| match &arg.name {
            Some(name) => fold_name(name) == fold_name(SET[COOKIE].0),
            None => *i == COOKIE,
        };
        if let Some(slot) =
            call.args.iter().enumerate().find(is_cookie).and_then(|(_, arg)| arg.output)
        {
            call.outputs.push((slot, Value::bytes(cookie)));
        }
    }
    Ok(0)
}

/// EXEC sp_unsetapprole.
pub fn unset(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_unsetapprole", 1, UNSET)?;
    match given.value(0) {
        Value::Bytes(cookie) => call.core.identity.leave_role(&cookie)?,
        _ => call.core.identity.leave_role(&[])?,
    }
    Ok(0)
}
