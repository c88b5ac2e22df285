//! What statements on logins, users and roles have in common: names, finding who is named,
//! membership, what keeps a principal from being dropped, and the errors for it. Guarantees:
//! whoever is not there and whoever the caller may not change are answered alike (15151).

use std::sync::Arc;

use catalog::security::{Class, Kind, PasswordAge, Principal, Scope, Security};
use catalog::{clock, errors};
use compact_str::CompactString;
use syntax::ast::{ExprKind, Literal, OptionItem, OptionValue};
use types::{SqlError, msg};

use super::StmtCtx;
use instance::security::change::SecurityChange;
use instance::security::passwords;

/// Longest name of a principal.
pub(super) const NAME_MAX: usize = 128;

impl StmtCtx<'_> {
    /// `NAME = x` of ALTER ROLE.
    pub(super) fn role_options(
        &self,
        statement: &str,
        options: &[OptionItem],
    ) -> Result<Option<CompactString>, SqlError> {
        match options {
            [] => Ok(None),
            [option] if option.name == "NAME" => self.name_option(option).map(Some),
            [option, ..] => Err(unknown_option(statement, &option.name)),
        }
    }

    /// A name as it is written after `=`.
    pub(super) fn name_option(&self, option: &OptionItem) -> Result<CompactString, SqlError> {
        let OptionValue::Word(word) = &option.value else {
            return Err(errors::syntax_near(&option.name));
        };
        // The parser has put a bare word in upper case.
        let span = option.span;
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let written = written.split_once('=').map_or("", |(_, value)| value.trim());
        Ok(if written.eq_ignore_ascii_case(word) { written.into() } else { word.clone() })
    }
}

/// The string literal of an option.
pub(super) fn text_of(option: &OptionItem) -> Result<CompactString, SqlError> {
    match &option.value {
        OptionValue::Expr(expr) => match &expr.kind {
            ExprKind::Literal(Literal::String { value, .. }) => Ok(value.as_str().into()),
            ExprKind::Literal(Literal::Binary(_)) => {
                Err(errors::not_supported("PASSWORD = a hash of another server"))
            }
            _ => Err(errors::syntax_near(&option.name)),
        },
        _ => Err(errors::syntax_near(&option.name)),
    }
}

pub(super) fn unknown_option(statement: &str, name: &str) -> SqlError {
    SqlError::of(msg::UNKNOWN_OPTION, [&name, &statement])
}

/// A name that a principal can have. Errors: 103 too long, 15006 with characters that it cannot
/// have.
pub(super) fn valid_name(name: &str) -> Result<CompactString, SqlError> {
    if name.chars().count() > NAME_MAX {
        return Err(SqlError::of(
            msg::NAME_TOO_LONG,
            [&"identifier", &name.chars().take(NAME_MAX).collect::<String>(), &NAME_MAX],
        ));
    }
    if name.is_empty() || name.contains('\\') || name.chars().any(char::is_control) {
        return Err(SqlError::of(msg::INVALID_NAME, [&name]));
    }
    Ok(name.into())
}

/// 16 random bytes.
pub(super) fn new_sid() -> Vec<u8> {
    let mut sid = vec![0; 16];
    passwords::fill(&mut sid);
    sid
}

pub(super) fn new_role(id: i32, name: CompactString, owner: i32) -> Principal {
    let now = clock::now();
    Principal {
        id,
        name,
        kind: Kind::Role,
        disabled: false,
        check_policy: true,
        password_age: PasswordAge::default(),
        without_login: false,
        sid: new_sid().into(),
        owner,
        created: now.clone(),
        modified: now,
        language: 0,
        default_name: None,
        hash: None,
    }
}

/// A role that a statement names.
pub(super) fn find_role(
    security: &Security,
    scope: Scope,
    verb: &str,
    name: &str,
) -> Result<Arc<Principal>, SqlError> {
    let found = security.of(scope).find(name).filter(|p| p.kind == Kind::Role);
    let what = if scope == Scope::Server { "server role" } else { "role" };
    found.cloned().ok_or_else(|| cannot(verb, what, name))
}

/// A member that a statement names.
pub(super) fn find_member(
    security: &Security,
    scope: Scope,
    verb: &str,
    name: &str,
) -> Result<Arc<Principal>, SqlError> {
    let what = if scope == Scope::Server { "server principal" } else { "principal" };
    security.of(scope).find(name).cloned().ok_or_else(|| cannot(verb, what, name))
}

/// 15413: a role would be a member of itself.
pub(super) fn check_circle(
    security: &Security,
    scope: Scope,
    role: &Principal,
    member: &Principal,
) -> Result<(), SqlError> {
    if role.id == member.id || security.of(scope).is_member(member.id, role.id) {
        return Err(SqlError::of(msg::ROLE_OF_ITSELF, []));
    }
    Ok(())
}

/// Whether a role can be dropped. Errors: 15150 a fixed one, 15144 it has members, 15138 it owns
/// something.
pub(super) fn check_droppable(
    security: &Security,
    scope: Scope,
    role: &Principal,
) -> Result<(), SqlError> {
    if role.is_fixed(scope) {
        let what = if scope == Scope::Server { "server role" } else { "role" };
        return Err(SqlError::of(msg::CANNOT_CHANGE_PRINCIPAL, [&"drop", &what, &role.name]));
    }
    if security.of(scope).members().any(|(id, _)| id == role.id) {
        return Err(SqlError::of(msg::ROLE_HAS_MEMBERS, []));
    }
    check_owns_nothing(security, scope, role)
}

/// 15138: what belongs to a principal keeps it.
pub(super) fn check_owns_nothing(
    security: &Security,
    scope: Scope,
    principal: &Principal,
) -> Result<(), SqlError> {
    let owned = match scope {
        Scope::Server => None,
        Scope::Database => security.owned_by(principal.id).next().map(|(class, _)| match class {
            Class::Schema => "schema",
            _ => "object",
        }),
    };
    let owns_role =
        security.of(scope).iter().any(|role| role.kind == Kind::Role && role.owner == principal.id);
    match owned.or(owns_role.then_some("role")) {
        None => Ok(()),
        Some(what) => Err(SqlError::of(msg::PRINCIPAL_OWNS, [&what])),
    }
}

/// ALTER ROLE WITH NAME.
pub(super) fn rename_role(
    change: &mut SecurityChange<'_>,
    scope: Scope,
    role: &Principal,
    name: &str,
) -> Result<(), SqlError> {
    let name = valid_name(name)?;
    if role.is_fixed(scope) {
        return Err(special(&role.name));
    }
    let security = change.security();
    if security.of(scope).find(&name).is_some_and(|other| other.id != role.id) {
        return Err(taken(if scope == Scope::Server { "server" } else { "" }, &name));
    }
    change
        .put_principal(scope, &Principal { name, modified: clock::now(), ..Principal::clone(role) })
}

/// 15025, 15023.
pub(super) fn taken(scope: &str, name: &str) -> SqlError {
    match scope {
        "server" => SqlError::of(msg::SERVER_PRINCIPAL_EXISTS, [&name]),
        _ => SqlError::of(msg::PRINCIPAL_EXISTS, [&name]),
    }
}

/// 15151.
pub fn cannot(verb: &str, what: &str, name: &str) -> SqlError {
    SqlError::of(msg::CANNOT_CHANGE_MISSING, [&verb, &what, &name])
}

/// 15405.
pub(super) fn special(name: &str) -> SqlError {
    SqlError::of(msg::SPECIAL_PRINCIPAL, [&name])
}

/// 15081.
pub(super) fn public_members() -> SqlError {
    SqlError::of(msg::PUBLIC_MEMBERSHIP, [])
}
