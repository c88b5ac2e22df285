//! Functions of principals: who runs the statement, names, ids and sids, members of roles.

use std::sync::Arc;

use super::{of_statement as f, session};
use crate::views::securable::securable;
use crate::views::visible::{self, of_server as server};
use catalog::security::{Kind, PUBLIC, Permission, SERVER_PUBLIC};
use expr::functions::{ArgRule as A, CallCx, Function, int, int_arg, sysname, text_arg};
use types::{DataType, LANGUAGES, Len, SqlError, Value};

fn sid_type(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::VarBinary(Len::N(85)))
}

/// sql_variant in SQL Server.
fn property_type(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::NVarChar(Len::N(128)))
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("suser_sname", (0, 1), &[A::Any], sysname, |a, cx| {
        let core = session(cx)?;
        match a.first() {
            None => Ok(Value::Str(core.identity.login_name())),
            Some(Value::Bytes(sid)) => {
                let found = server(core).server.with_sid(sid).map(|p| p.name.clone());
                Ok(found.map_or(Value::Null, Value::Str))
            }
            Some(_) => Ok(Value::Null),
        }
    }),
    f("suser_name", (0, 1), &[A::Int], sysname, |a, cx| {
        let core = session(cx)?;
        if a.is_empty() {
            return Ok(Value::Str(core.identity.login_name()));
        }
        Ok(name_of(server(core).server.get(id_arg(a, 0))))
    }),
    f("suser_id", (0, 1), &[A::Name], int, |a, cx| {
        let core = session(cx)?;
        if a.is_empty() {
            return Ok(Value::Int(core.identity.caller.login_id()));
        }
        Ok(server(core).server.find(text_arg(a, 0)).map_or(Value::Null, |p| Value::Int(p.id)))
    }),
    f("suser_sid", (0, 2), &[A::Name, A::Int], sid_type, |a, cx| {
        let core = session(cx)?;
        if a.is_empty() {
            return Ok(Value::bytes(core.identity.caller.sid().to_vec()));
        }
        let found = server(core).server.find(text_arg(a, 0)).map(|p| Value::bytes(p.sid.to_vec()));
        Ok(found.unwrap_or(Value::Null))
    }),
    f("original_login", (0, 0), &[], sysname, |_, cx| {
        Ok(Value::Str(session(cx)?.identity.login.clone()))
    }),
    f("system_user", (0, 0), &[], sysname, |_, cx| {
        Ok(Value::Str(session(cx)?.identity.login_name()))
    }),
    f("is_srvrolemember", (1, 2), &[A::Name], int, is_srvrolemember),
    f("loginproperty", (2, 2), &[A::Name], property_type, loginproperty),
    f("session_user", (0, 0), &[], sysname, user),
    f("current_user", (0, 0), &[], sysname, user),
    f("user", (0, 0), &[], sysname, user),
    f("user_name", (0, 1), &[A::Int], sysname, |a, cx| {
        if a.is_empty() {
            return user(a, cx);
        }
        let core = session(cx)?;
        Ok(name_of(core.security(&core.db().clone()).database.get(id_arg(a, 0))))
    }),
    f("user_id", (0, 1), &[A::Name], int, principal_id),
    f("database_principal_id", (0, 1), &[A::Name], int, principal_id),
    f("is_member", (1, 1), &[A::Name], int, |a, cx| {
        let core = session(cx)?;
        let security = core.security(&core.db().clone());
        let Some(role) = security.database.find(text_arg(a, 0)).filter(|p| p.kind == Kind::Role)
        else {
            return Ok(Value::Null);
        };
        let user = core.user_id();
        Ok(Value::Int((role.id == PUBLIC || security.database.is_member(role.id, user)).into()))
    }),
    Function {
        strict: false,
        ..f("has_perms_by_name", (3, 3), &[A::Name], int, has_perms_by_name)
    },
    f("is_rolemember", (1, 2), &[A::Name], int, |a, cx| {
        let core = session(cx)?;
        let db = core.db().clone();
        let security = core.security(&db);
        let of = match a.get(1) {
            None => Some(core.user_id()),
            Some(_) => security.database.find(text_arg(a, 1)).map(|p| p.id),
        };
        let role = security.database.find(text_arg(a, 0)).filter(|p| p.kind == Kind::Role);
        let (Some(role), Some(of)) = (role, of) else { return Ok(Value::Null) };
        if !visible::sees_member(core, &db, role.id, of) {
            return Ok(Value::Null);
        }
        Ok(Value::Int((role.id == PUBLIC || security.database.is_member(role.id, of)).into()))
    }),
];

fn id_arg(args: &[Value], at: usize) -> i32 {
    i32::try_from(int_arg(args, at)).unwrap_or(-1)
}

fn name_of(found: Option<&Arc<catalog::security::Principal>>) -> Value {
    found.map_or(Value::Null, |p| Value::Str(p.name.clone()))
}

fn user(_: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let id = core.user_id();
    Ok(name_of(core.security(&core.db().clone()).database.get(id)))
}

fn principal_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    if args.is_empty() {
        return Ok(Value::Int(core.user_id()));
    }
    let found = core.security(&core.db().clone()).database.find(text_arg(args, 0)).map(|p| p.id);
    Ok(found.map_or(Value::Null, Value::Int))
}

fn is_srvrolemember(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let security = server(core);
    let of = match args.get(1) {
        None => Some(core.identity.caller.login_id()),
        Some(_) => security.server.find(text_arg(args, 1)).map(|p| p.id),
    };
    let role = security.server.find(text_arg(args, 0)).filter(|p| p.kind == Kind::Role);
    let (Some(role), Some(of)) = (role, of) else { return Ok(Value::Null) };
    if !visible::sees_server_member(core, role.id, of) {
        return Ok(Value::Null);
    }
    Ok(Value::Int((role.id == SERVER_PUBLIC || security.server.is_member(role.id, of)).into()))
}

/// HAS_PERMS_BY_NAME(securable, class, permission); of columns it is not asked.
fn has_perms_by_name(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let text = |at: usize| args.get(at).and_then(Value::as_str).map(str::trim_end);
    let class = text(1).map(str::to_ascii_uppercase);
    let Some(wanted) = text(2).map(str::to_ascii_uppercase) else { return Ok(Value::Null) };
    let Some((db, on, schema)) = securable(core, class.as_deref(), text(0)) else {
        return Ok(Value::Null);
    };
    let Some(permission) = Permission::named(&wanted, on.class) else { return Ok(Value::Null) };
    Ok(Value::Int(core.has(&db, on, schema, permission).into()))
}

fn loginproperty(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let security = server(core);
    let login = security.server.find(text_arg(args, 0)).filter(|p| p.kind == Kind::User);
    let Some(login) = login.filter(|login| visible::sees_login(core, login)) else {
        return Ok(Value::Null);
    };
    let (age, today) = (login.password_age, catalog::clock::now_parts().0);
    let yes_or_no = |yes: bool| Value::str(if yes { "1" } else { "0" });
    Ok(match text_arg(args, 1).to_ascii_lowercase().as_str() {
        "defaultdatabase" => Value::str(login.default_name.as_deref().unwrap_or("master")),
        "defaultlanguage" => {
            Value::str(LANGUAGES[usize::from(login.language) % LANGUAGES.len()].name)
        }
        // Attempts are counted by address too, and nobody is locked out for good.
        "islocked" | "badpasswordcount" => yes_or_no(false),
        "isexpired" => yes_or_no(age.has_expired(today)),
        "ismustchange" => yes_or_no(age.must_change),
        "daysuntilexpiration" => {
            age.days_left(today).map_or(Value::Null, |days| Value::str(days.to_string()))
        }
        _ => Value::Null,
    })
}
