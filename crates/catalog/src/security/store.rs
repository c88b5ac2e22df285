//! From the rows of the system tables to [`Security`] and back. Guarantee: `load` of what was
//! written gives the same principals, members, permissions and owners.

use access::ReadMode;
use compact_str::CompactString;
use types::Value;

use super::{
    Class, Grant, GrantState, Kind, PasswordAge, Permission, Principal, Principals, Scope,
    Securable, Security,
};
use crate::store::{StoreError, SysTrees};
use crate::systables::SysTable;

const DISABLED: i64 = 1;
const NO_POLICY: i64 = 2;
const WITHOUT_LOGIN: i64 = 4;
/// The first of the 8 bits that have the number of the language. [`PasswordAge`] has bits 3 and 4,
/// and those from 16 on.
const LANGUAGE: u32 = 8;
const ROLE: &str = "R";
const USER: &str = "S";
const APPLICATION_ROLE: &str = "A";

/// Reads everything, what the caller's transaction has written included. No other transaction may
/// be changing it.
///
/// # Errors
/// What the storage says; 8966 rows that cannot be read.
pub fn load(trees: &SysTrees) -> Result<Security, StoreError> {
    let mut security = Security::default();
    for row in trees.rows(SysTable::Principals, &[], ReadMode::Dirty)? {
        let (scope, principal) = principal_of(&row).ok_or_else(damaged)?;
        principals(&mut security, scope).insert(principal);
    }
    for row in trees.rows(SysTable::Members, &[], ReadMode::Dirty)? {
        let scope = scope_of(&row).ok_or_else(damaged)?;
        let pair = (int(&row, 1).ok_or_else(damaged)?, int(&row, 2).ok_or_else(damaged)?);
        principals(&mut security, scope).members.insert(pair);
    }
    for row in trees.rows(SysTable::Permissions, &[], ReadMode::Dirty)? {
        let scope = scope_of(&row).ok_or_else(damaged)?;
        let grant = grant_of(&row).ok_or_else(damaged)?;
        principals(&mut security, scope).grants.entry(grant.grantee).or_default().push(grant);
    }
    for row in trees.rows(SysTable::Owners, &[], ReadMode::Dirty)? {
        let class = int(&row, 0).and_then(|n| u8::try_from(n).ok()).ok_or_else(damaged)?;
        let (major, owner) = (int(&row, 1).ok_or_else(damaged)?, int(&row, 2).ok_or_else(damaged)?);
        security.owners.insert((class, major), owner);
    }
    Ok(security)
}

fn principals(security: &mut Security, scope: Scope) -> &mut Principals {
    match scope {
        Scope::Server => &mut security.server,
        Scope::Database => &mut security.database,
    }
}

fn damaged() -> StoreError {
    crate::rows::damaged("a principal or permission", 0)
}

fn int(row: &[Value], at: usize) -> Option<i32> {
    row.get(at)?.as_i64().and_then(|n| i32::try_from(n).ok())
}

fn scope_of(row: &[Value]) -> Option<Scope> {
    match int(row, 0)? {
        0 => Some(Scope::Server),
        1 => Some(Scope::Database),
        _ => None,
    }
}

fn principal_of(row: &[Value]) -> Option<(Scope, Principal)> {
    let flags = row.get(4)?.as_i64()?;
    let kind = match row.get(3)?.as_str()? {
        ROLE => Kind::Role,
        APPLICATION_ROLE => Kind::ApplicationRole,
        _ => Kind::User,
    };
    let Value::Bytes(sid) = row.get(5)? else { return None };
    let text = |at: usize| row.get(at).and_then(Value::as_str).map(CompactString::from);
    let principal = Principal {
        id: int(row, 1)?,
        name: text(2)?,
        kind,
        disabled: flags & DISABLED != 0,
        check_policy: flags & NO_POLICY == 0,
        password_age: PasswordAge::of_bits(flags),
        without_login: flags & WITHOUT_LOGIN != 0,
        sid: sid[..].into(),
        owner: int(row, 6)?,
        created: row.get(7)?.clone(),
        modified: row.get(8)?.clone(),
        language: (flags >> LANGUAGE) as u8,
        default_name: text(9),
        hash: text(10),
    };
    Some((scope_of(row)?, principal))
}

fn grant_of(row: &[Value]) -> Option<Grant> {
    let class = Class::from_number(u8::try_from(int(row, 1)?).ok()?)?;
    Some(Grant {
        on: Securable { class, major: int(row, 2)?, minor: int(row, 3)? },
        grantee: int(row, 4)?,
        grantor: int(row, 5)?,
        permission: Permission::of_code(row.get(6)?.as_str()?, class)?,
        state: GrantState::of_code(row.get(7)?.as_str()?)?,
    })
}

/// A principal's row.
pub fn principal_row(scope: Scope, principal: &Principal) -> Vec<Value> {
    let flag = |on: bool, bit: i64| if on { bit } else { 0 };
    let flags = flag(principal.disabled, DISABLED)
        + flag(!principal.check_policy, NO_POLICY)
        + flag(principal.without_login, WITHOUT_LOGIN)
        + principal.password_age.bits()
        + (i64::from(principal.language) << LANGUAGE);
    let text = |text: &Option<CompactString>| text.as_ref().map_or(Value::Null, Value::str);
    vec![
        Value::TinyInt(scope as u8),
        Value::Int(principal.id),
        Value::str(&principal.name),
        Value::str(match principal.kind {
            Kind::Role => ROLE,
            Kind::ApplicationRole => APPLICATION_ROLE,
            Kind::User => USER,
        }),
        Value::Int(flags as i32),
        Value::bytes(principal.sid.to_vec()),
        Value::Int(principal.owner),
        principal.created.clone(),
        principal.modified.clone(),
        text(&principal.default_name),
        text(&principal.hash),
    ]
}

/// A member's row.
pub fn member_row(scope: Scope, role: i32, member: i32) -> Vec<Value> {
    vec![Value::TinyInt(scope as u8), Value::Int(role), Value::Int(member)]
}

/// A permission's row.
pub fn grant_row(scope: Scope, grant: &Grant) -> Vec<Value> {
    vec![
        Value::TinyInt(scope as u8),
        Value::TinyInt(grant.on.class as u8),
        Value::Int(grant.on.major),
        Value::Int(grant.on.minor),
        Value::Int(grant.grantee),
        Value::Int(grant.grantor),
        Value::str(format!("{:<4}", grant.permission.code())),
        Value::str(grant.state.code()),
    ]
}

/// An owner's row.
pub fn owner_row(class: Class, major: i32, owner: i32) -> Vec<Value> {
    vec![Value::TinyInt(class as u8), Value::Int(major), Value::Int(owner)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of them is read as it was written, whatever the others are.
    #[test]
    fn all_flags_of_a_principal_are_kept() {
        let age = PasswordAge::default().set(102_000, true).expiring(true, 0);
        for (on, language, password_age) in [
            (true, 0, PasswordAge::default()),
            (false, 255, PasswordAge::default()),
            (false, 0, age),
            (true, 255, age),
        ] {
            let principal = Principal {
                disabled: on,
                check_policy: !on,
                without_login: on,
                language,
                password_age,
                ..Principal::built_in(300, "ann", Kind::User, &[7; 16])
            };
            let row = principal_row(Scope::Server, &principal);
            assert_eq!(principal_of(&row), Some((Scope::Server, principal)));
        }
    }
}
