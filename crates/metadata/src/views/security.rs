//! Principals, members of roles and permissions, of the server and of a database.

use types::{DataType, LANGUAGES, Len, Value};

use super::visible::of_server as server;
use super::{NVARCHAR60, SYSNAME, View, ViewColumn, text};
use catalog::security::{Class, Grant, Kind, PUBLIC, Principal, SERVER_PUBLIC, Scope, Security};

use DataType::{Bit, Char, DateTime, Int, NVarChar, TinyInt, VarBinary};

const SERVER_PRINCIPAL_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("principal_id", Int, false),
    ("sid", VarBinary(Len::N(85)), true),
    ("type", Char(1), false),
    ("type_desc", NVARCHAR60, true),
    ("is_disabled", Int, true),
    ("create_date", DateTime, false),
    ("modify_date", DateTime, false),
    ("default_database_name", SYSNAME, true),
    ("default_language_name", SYSNAME, true),
    ("credential_id", Int, true),
    ("owning_principal_id", Int, true),
    ("is_fixed_role", Bit, false),
];

/// The columns that sys.server_principals and sys.sql_logins share.
fn login_row(p: &Principal) -> Vec<Value> {
    let role = p.kind == Kind::Role;
    let default = p.default_name.as_deref().unwrap_or("master");
    vec![
        text(&p.name),
        Value::Int(p.id),
        Value::bytes(p.sid.to_vec()),
        text(if role { "R" } else { "S" }),
        text(if role { "SERVER_ROLE" } else { "SQL_LOGIN" }),
        Value::Int(p.disabled.into()),
        p.created.clone(),
        p.modified.clone(),
        if role { Value::Null } else { text(default) },
        if role {
            Value::Null
        } else {
            text(LANGUAGES[usize::from(p.language) % LANGUAGES.len()].name)
        },
        Value::Null,
    ]
}

/// sys.server_principals.
pub(crate) static SERVER_PRINCIPALS: View =
    View::sys("server_principals", SERVER_PRINCIPAL_COLUMNS, |session, _, _| {
        let security = server(session);
        let rows = security.server.iter().map(|p| {
            let role = p.kind == Kind::Role;
            let mut row = login_row(p);
            row.push(if role { Value::Int(p.owner) } else { Value::Null });
            row.push(Value::Bit(role && p.is_fixed(Scope::Server) && p.id != SERVER_PUBLIC));
            row
        });
        Ok(rows.collect())
    });

const LOGIN_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("principal_id", Int, false),
    ("sid", VarBinary(Len::N(85)), true),
    ("type", Char(1), false),
    ("type_desc", NVARCHAR60, true),
    ("is_disabled", Int, true),
    ("create_date", DateTime, false),
    ("modify_date", DateTime, false),
    ("default_database_name", SYSNAME, true),
    ("default_language_name", SYSNAME, true),
    ("credential_id", Int, true),
    ("is_policy_checked", Bit, true),
    ("is_expiration_checked", Bit, true),
    ("password_hash", VarBinary(Len::N(256)), true),
];

/// sys.sql_logins. No hash is shown to anyone.
pub(crate) static SQL_LOGINS: View = View::sys("sql_logins", LOGIN_COLUMNS, |session, _, _| {
    let security = server(session);
    let rows = security.server.iter().filter(|p| p.kind == Kind::User).map(|p| {
        let mut row = login_row(p);
        row.extend([Value::Bit(p.check_policy), Value::Bit(p.password_age.expires), Value::Null]);
        row
    });
    Ok(rows.collect())
});

const MEMBER_COLUMNS: &[ViewColumn] =
    &[("role_principal_id", Int, false), ("member_principal_id", Int, false)];

fn members(security: &Security, scope: Scope) -> Vec<Vec<Value>> {
    let pairs = security.of(scope).members();
    pairs.map(|(role, member)| vec![Value::Int(role), Value::Int(member)]).collect()
}

/// sys.server_role_members.
pub(crate) static SERVER_ROLE_MEMBERS: View =
    View::sys("server_role_members", MEMBER_COLUMNS, |session, _, _| {
        Ok(members(&server(session), Scope::Server))
    });

/// sys.database_role_members.
pub(crate) static DATABASE_ROLE_MEMBERS: View =
    View::sys("database_role_members", MEMBER_COLUMNS, |session, db, _| {
        Ok(members(&session.security(db), Scope::Database))
    });

const DATABASE_PRINCIPAL_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("principal_id", Int, false),
    ("type", Char(1), false),
    ("type_desc", NVARCHAR60, true),
    ("default_schema_name", SYSNAME, true),
    ("create_date", DateTime, false),
    ("modify_date", DateTime, false),
    ("owning_principal_id", Int, true),
    ("sid", VarBinary(Len::N(85)), true),
    ("is_fixed_role", Bit, false),
    ("authentication_type", Int, false),
    ("authentication_type_desc", NVARCHAR60, true),
    ("default_language_name", SYSNAME, true),
    ("default_language_lcid", Int, true),
    ("allow_encrypted_value_modifications", Bit, false),
];

fn user_row(p: &Principal) -> Vec<Value> {
    let role = p.kind == Kind::Role;
    let (code, description) = match p.kind {
        Kind::Role => ("R", "DATABASE_ROLE"),
        Kind::ApplicationRole => ("A", "APPLICATION_ROLE"),
        Kind::User => ("S", "SQL_USER"),
    };
    let default = match (&p.default_name, p.id) {
        _ if role => Value::Null,
        (Some(name), _) => text(name),
        (None, 2) => text("guest"),
        (None, 3 | 4) => Value::Null,
        (None, _) => text("dbo"),
    };
    // INSTANCE for users of a login, NONE for the other users.
    let by_login = p.kind == Kind::User && !p.without_login && !(2..=4).contains(&p.id);
    vec![
        text(&p.name),
        Value::Int(p.id),
        text(code),
        text(description),
        default,
        p.created.clone(),
        p.modified.clone(),
        if role { Value::Int(p.owner) } else { Value::Null },
        if p.sid.is_empty() || (3..=4).contains(&p.id) {
            Value::Null
        } else {
            Value::bytes(p.sid.to_vec())
        },
        Value::Bit(role && p.is_fixed(Scope::Database) && p.id != PUBLIC),
        Value::Int(by_login.into()),
        text(if by_login { "INSTANCE" } else { "NONE" }),
        Value::Null,
        Value::Null,
        Value::Bit(false),
    ]
}

/// sys.database_principals.
pub(crate) static DATABASE_PRINCIPALS: View =
    View::sys("database_principals", DATABASE_PRINCIPAL_COLUMNS, |session, db, _| {
        Ok(session.security(db).database.iter().map(|p| user_row(p)).collect())
    });

const PERMISSION_COLUMNS: &[ViewColumn] = &[
    ("class", TinyInt, false),
    ("class_desc", NVARCHAR60, true),
    ("major_id", Int, false),
    ("minor_id", Int, false),
    ("grantee_principal_id", Int, false),
    ("grantor_principal_id", Int, false),
    ("type", Char(4), false),
    ("permission_name", NVarChar(Len::N(128)), true),
    ("state", Char(1), false),
    ("state_desc", NVARCHAR60, true),
];

fn grant_row(grant: &Grant) -> Vec<Value> {
    vec![
        Value::TinyInt(grant.on.class as u8),
        text(grant.on.class.description()),
        Value::Int(grant.on.major),
        Value::Int(grant.on.minor),
        Value::Int(grant.grantee),
        Value::Int(grant.grantor),
        text(grant.permission.code()),
        text(grant.permission.name()),
        text(grant.state.code()),
        text(grant.state.description()),
    ]
}

fn permissions(security: &Security, scope: Scope) -> Vec<Vec<Value>> {
    let mut grants: Vec<&Grant> = security.of(scope).grants().collect();
    grants.sort_by_key(|g| (g.on, g.grantee, g.grantor, g.permission.code()));
    grants.into_iter().map(grant_row).collect()
}

/// sys.server_permissions.
pub(crate) static SERVER_PERMISSIONS: View =
    View::sys("server_permissions", PERMISSION_COLUMNS, |session, _, _| {
        Ok(permissions(&server(session), Scope::Server))
    });

/// sys.database_permissions.
pub(crate) static DATABASE_PERMISSIONS: View =
    View::sys("database_permissions", PERMISSION_COLUMNS, |session, db, _| {
        let security = session.security(db);
        debug_assert!(
            security.database.grants().all(|g| !matches!(g.on.class, Class::Server | Class::Login))
        );
        Ok(permissions(&security, Scope::Database))
    });
