//! CREATE, ALTER and DROP of logins and server roles. They are kept in master by the statement's transaction.

use std::sync::Arc;

use catalog::security::{
    Class, FIRST_LOGIN, Kind, Permission, Principal, SA, SERVER_PUBLIC, SYSADMIN, Scope, Securable, Security,
};
use catalog::{Db, clock, errors};
use compact_str::CompactString;
use syntax::ast::{
    DropObjects, ExprKind, Literal, OptionItem, OptionValue, Principal as Statement, PrincipalSource,
};
use types::{Language, SqlError};

use super::StmtCtx;
use crate::instance::OfInstance;
use crate::security::change::Change;
use crate::security::passwords::{self, PASSWORD_MAX};
use exec::state::SessionCore;

/// Longest name of a principal.
const NAME_MAX: usize = 128;

/// What WITH of CREATE LOGIN and ALTER LOGIN says.
/// There are no accounts of Windows and no certificates: SQL Server's errors for those that cannot be found. `name`: DOMAIN\\user.
pub(super) fn not_from(provider: &str, name: &str, statement: &str) -> SqlError {
    match (provider, name.contains('\\')) {
        ("WINDOWS", true) => {
            let text = format!("Windows NT user or group '{name}' not found. Check the name again.");
            SqlError::new(15_401, 11, 1, text)
        }
        ("WINDOWS", false) => {
            let text = format!(
                "'{name}' is not a valid Windows NT name. Give the complete name: <domain\\username>."
            );
            SqlError::new(15_407, 11, 1, text)
        }
        _ => errors::not_supported(&format!("{statement} FROM {provider}")),
    }
}

#[derive(Default)]
struct LoginOptions {
    password: Option<CompactString>,
    old_password: Option<CompactString>,
    default_database: Option<CompactString>,
    default_language: Option<u8>,
    name: Option<CompactString>,
    sid: Option<Vec<u8>>,
    check_policy: Option<bool>,
}

impl StmtCtx<'_> {
    pub(super) fn create_login(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        match &stmt.source {
            PrincipalSource::None => {}
            PrincipalSource::Provider(provider) => {
                return Err(not_from(provider, &stmt.name.value, "CREATE LOGIN"));
            }
            PrincipalSource::Key(kind, name) => {
                return Err(cannot("find", &kind.to_lowercase(), &name.value));
            }
            _ => return Err(errors::syntax_near(&stmt.name.value)),
        }
        may_alter_logins(self.core)?;
        let name = valid_name(&stmt.name.value)?;
        let options = self.login_options("CREATE LOGIN", &stmt.options)?;
        let Some(password) = options.password else { return Err(errors::syntax_near(&name)) };
        let check_policy = options.check_policy.unwrap_or(true);
        check_password(&name, &password, check_policy)?;
        let hash = self.core.instance().authentication.passwords.hash(&password)?;
        let master = self.core.host().database("master")?;
        let mut change = Change::begin(self.core, &master)?;
        let security = change.security();
        if security.server.find(&name).is_some() {
            return Err(taken("server", &name));
        }
        let sid = options.sid.unwrap_or_else(new_sid);
        if security.server.with_sid(&sid).is_some() {
            return Err(SqlError::new(15_433, 16, 1, "Supplied parameter sid is in use."));
        }
        let now = clock::now();
        let login = Principal {
            id: security.server.free_id(FIRST_LOGIN),
            name,
            kind: Kind::User,
            disabled: false,
            check_policy,
            without_login: false,
            sid: sid.into(),
            owner: 0,
            created: now.clone(),
            modified: now,
            language: options.default_language.unwrap_or(0),
            default_name: options.default_database,
            hash: Some(hash),
        };
        change.put_principal(Scope::Server, &login)?;
        change.finish()
    }

    pub(super) fn alter_login(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let options = self.login_options("ALTER LOGIN", &stmt.options)?;
        if options.sid.is_some() {
            return Err(errors::not_supported("ALTER LOGIN WITH SID"));
        }
        let master = self.core.host().database("master")?;
        let before = find_login(&self.core.security(&master), "alter", &stmt.name.value)?;
        may_alter_login(self.core, &before, &stmt.source, &stmt.options)?;
        let mut login = Principal::clone(&before);
        match &stmt.source {
            PrincipalSource::Enable => login.disabled = false,
            PrincipalSource::Disable => login.disabled = true,
            PrincipalSource::None if !stmt.options.is_empty() => {}
            _ => return Err(errors::syntax_near(&stmt.name.value)),
        }
        if let Some(name) = options.name {
            login.name = valid_name(&name)?;
        }
        login.check_policy = options.check_policy.unwrap_or(login.check_policy);
        login.default_name = options.default_database.or(login.default_name);
        login.language = options.default_language.unwrap_or(login.language);
        if let Some(old) = &options.old_password {
            let passwords = &self.core.instance().authentication.passwords;
            let turn = passwords.turn().ok_or_else(|| errors::not_supported("ALTER LOGIN at this moment"))?;
            if !passwords.verify(&turn, old, before.hash.as_deref()) {
                return Err(cannot("alter", "login", &before.name));
            }
        }
        if let Some(password) = &options.password {
            check_password(&login.name, password, login.check_policy)?;
            login.hash = Some(self.core.instance().authentication.passwords.hash(password)?);
        }
        login.modified = clock::now();
        let mut change = Change::begin(self.core, &master)?;
        let security = change.security();
        match security.server.get(before.id) {
            Some(now) if *now == before => {}
            _ => return Err(errors::schema_changed()),
        }
        if security.server.find(&login.name).is_some_and(|other| other.id != login.id) {
            return Err(taken("server", &login.name));
        }
        change.put_principal(Scope::Server, &login)?;
        change.finish()
    }

    pub(super) fn drop_login(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let instance = self.core.instance().clone();
        let master = instance.database("master")?;
        may_alter_logins(self.core)?;
        for name in &stmt.names {
            let name = name.name.value.as_str();
            let mut change = Change::begin(self.core, &master)?;
            let security = change.security();
            let login = match find_login(&security, "drop", name) {
                Err(_) if stmt.if_exists => continue,
                login => login?,
            };
            if login.is_fixed(Scope::Server) {
                return Err(special(&login.name));
            }
            if security.server.is_member(SYSADMIN, login.id) {
                super::rights::sysadmin(change.core)?;
            }
            if let Some(db) =
                instance.databases().iter().find(|db| owner_sid(db).as_deref() == Some(&*login.sid))
            {
                let text = format!(
                    "Login '{}' owns one or more database(s). Change the owner of the database(s) before dropping the \
                     login. The first of them is '{}'.",
                    login.name,
                    db.name()
                );
                return Err(SqlError::new(15_174, 16, 1, text));
            }
            if security.server.iter().any(|role| role.kind == Kind::Role && role.owner == login.id) {
                let text = format!(
                    "The server principal '{}' owns a server role and cannot be dropped.",
                    login.name
                );
                return Err(SqlError::new(15_141, 16, 1, text));
            }
            let here = |s: &exec::state::core::SessionShared| {
                s.login_id.load(std::sync::atomic::Ordering::Relaxed) == login.id
            };
            if instance.sessions().iter().any(|(_, session)| here(session)) {
                let text =
                    format!("Could not drop login '{}' as the user is currently logged in.", login.name);
                return Err(SqlError::new(15_434, 16, 1, text));
            }
            change.delete_principal(Scope::Server, login.id)?;
            change.finish()?;
        }
        Ok(())
    }

    pub(super) fn create_server_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        super::rights::server(self.core, Permission::CreateServerRole)?;
        let sysadmin = self.core.is_sysadmin();
        let name = valid_name(&stmt.name.value)?;
        let master = self.core.host().database("master")?;
        let caller = self.core.caller.login_id();
        let mut change = Change::begin(self.core, &master)?;
        let security = change.security();
        if security.server.find(&name).is_some() {
            return Err(taken("server", &name));
        }
        let owner = match &stmt.source {
            PrincipalSource::None if stmt.options.is_empty() => caller,
            PrincipalSource::Authorization(owner) if stmt.options.is_empty() => {
                match security.server.find(&owner.value) {
                    Some(owner) if owner.id != SERVER_PUBLIC && (sysadmin || owner.id == caller) => owner.id,
                    _ => return Err(cannot("find", "server principal", &owner.value)),
                }
            }
            _ => return Err(errors::syntax_near(&name)),
        };
        let role = new_role(security.server.free_id(FIRST_LOGIN), name, owner);
        change.put_principal(Scope::Server, &role)?;
        change.finish()
    }

    pub(super) fn alter_server_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let master = self.core.host().database("master")?;
        let options = self.role_options("ALTER SERVER ROLE", &stmt.options)?;
        let role = find_role(&self.core.security(&master), Scope::Server, "alter", &stmt.name.value)?;
        may_alter_server_role(self.core, &master, &role, "alter")?;
        let mut change = Change::begin(self.core, &master)?;
        let security = change.security();
        let role = find_role(&security, Scope::Server, "alter", &stmt.name.value)?;
        match (&stmt.source, options) {
            (PrincipalSource::AddMember(name), None) => {
                if role.id == SERVER_PUBLIC {
                    return Err(public_members());
                }
                let member = find_member(&security, Scope::Server, "add", &name.value)?;
                check_circle(&security, Scope::Server, &role, &member)?;
                if member.kind == Kind::Role && member.is_fixed(Scope::Server) {
                    return Err(special(&member.name));
                }
                change.set_member(Scope::Server, role.id, member.id, true)?;
            }
            (PrincipalSource::DropMember(name), None) => {
                if role.id == SERVER_PUBLIC {
                    return Err(public_members());
                }
                let member = find_member(&security, Scope::Server, "drop", &name.value)?;
                if role.id == SYSADMIN && member.id == SA {
                    return Err(special(&member.name));
                }
                change.set_member(Scope::Server, role.id, member.id, false)?;
            }
            (PrincipalSource::None, Some(name)) => {
                rename_role(&mut change, Scope::Server, &role, &name)?;
            }
            _ => return Err(errors::syntax_near(&stmt.name.value)),
        }
        change.finish()
    }

    pub(super) fn drop_server_role(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let master = self.core.host().database("master")?;
        for name in &stmt.names {
            match find_role(&self.core.security(&master), Scope::Server, "drop", &name.name.value) {
                Err(_) if stmt.if_exists => continue,
                role => may_alter_server_role(self.core, &master, &*role?, "drop")?,
            }
            let mut change = Change::begin(self.core, &master)?;
            let security = change.security();
            let role = find_role(&security, Scope::Server, "drop", &name.name.value)?;
            check_droppable(&security, Scope::Server, &role)?;
            change.delete_principal(Scope::Server, role.id)?;
            change.finish()?;
        }
        Ok(())
    }

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
        let OptionValue::Word(word) = &option.value else { return Err(errors::syntax_near(&option.name)) };
        // The parser has put a bare word in upper case.
        let span = option.span;
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let written = written.split_once('=').map_or("", |(_, value)| value.trim());
        Ok(if written.eq_ignore_ascii_case(word) { written.into() } else { word.clone() })
    }

    fn login_options(&self, statement: &str, options: &[OptionItem]) -> Result<LoginOptions, SqlError> {
        let mut out = LoginOptions::default();
        for option in options {
            match option.name.as_str() {
                "PASSWORD" => {
                    out.password = Some(text_of(option)?);
                    for word in &option.nested {
                        match word.name.as_str() {
                            "OLD_PASSWORD" => out.old_password = Some(text_of(word)?),
                            word => {
                                let text = format!("{statement} WITH PASSWORD ... {word}");
                                return Err(errors::not_supported(&text));
                            }
                        }
                    }
                }
                "OLD_PASSWORD" => out.old_password = Some(text_of(option)?),
                "DEFAULT_DATABASE" => {
                    let name = self.name_option(option)?;
                    let found = self.core.host().find_db(&name);
                    out.default_database = Some(found.map(|db| db.name()).ok_or_else(|| no_database(&name))?);
                }
                "DEFAULT_LANGUAGE" => {
                    let name = self.name_option(option)?;
                    let language = Language::find(&name).ok_or_else(|| {
                        let text = format!("'{name}' is not an official language name or a language alias.");
                        SqlError::new(15_033, 16, 1, text)
                    })?;
                    out.default_language = Some(language.id);
                }
                "NAME" if statement == "ALTER LOGIN" => out.name = Some(self.name_option(option)?),
                "SID" => {
                    let OptionValue::Expr(expr) = &option.value else {
                        return Err(errors::syntax_near("SID"));
                    };
                    match super::literal(expr)? {
                        types::Value::Bytes(sid) if sid.len() == 16 => out.sid = Some(sid.to_vec()),
                        _ => {
                            return Err(SqlError::new(
                                15_419,
                                16,
                                1,
                                "Supplied parameter sid should be binary(16).",
                            ));
                        }
                    }
                }
                "CHECK_POLICY" => out.check_policy = Some(switch(option)?),
                "CHECK_EXPIRATION" => {
                    if switch(option)? {
                        return Err(errors::not_supported(&format!(
                            "{statement} WITH CHECK_EXPIRATION = ON"
                        )));
                    }
                }
                "CREDENTIAL" | "NO CREDENTIAL" | "NO" | "UNLOCK" => {
                    return Err(errors::not_supported(&format!("{statement} WITH {}", option.name)));
                }
                name => return Err(unknown_option(statement, name)),
            }
        }
        Ok(out)
    }
}

fn may_alter_logins(core: &mut SessionCore) -> Result<(), SqlError> {
    match core.has_server(Permission::AlterAnyLogin) {
        true => Ok(()),
        false => Err(super::rights::not_permitted()),
    }
}

/// Everyone may change the own password who knows the old one. A sysadmin is changed by a sysadmin only: who could set its password
/// would be one.
fn may_alter_login(
    core: &mut SessionCore,
    login: &Principal,
    source: &PrincipalSource,
    options: &[OptionItem],
) -> Result<(), SqlError> {
    let own = login.id == core.caller.login_id() && *source == PrincipalSource::None;
    let password_alone = |o: &OptionItem| {
        o.name == "OLD_PASSWORD"
            || (o.name == "PASSWORD" && o.nested.iter().all(|n| n.name == "OLD_PASSWORD"))
    };
    let knows =
        options.iter().any(|o| o.name == "OLD_PASSWORD" || o.nested.iter().any(|n| n.name == "OLD_PASSWORD"));
    if own && knows && options.iter().all(password_alone) {
        return Ok(());
    }
    let master = core.host().database("master")?;
    let on = Securable::new(Class::Login, login.id);
    let may = match core.security(&master).server.is_member(SYSADMIN, login.id) {
        true => core.is_sysadmin(),
        false => core.has(&master, on, 0, Permission::Alter),
    };
    if may { Ok(()) } else { Err(cannot("alter", "login", &login.name)) }
}

/// The members of a fixed role choose its members; of others, whoever may alter server roles or owns it.
fn may_alter_server_role(
    core: &mut SessionCore,
    master: &Arc<Db>,
    role: &Principal,
    verb: &str,
) -> Result<(), SqlError> {
    let security = core.security(master);
    let may = core.is_sysadmin()
        || match role.is_fixed(Scope::Server) {
            true => role.id != SYSADMIN && security.server.is_member(role.id, core.caller.login_id()),
            false => {
                core.has_server(Permission::AlterAnyServerRole)
                    || core.has(master, Securable::new(Class::Login, role.id), 0, Permission::Control)
            }
        };
    if may { Ok(()) } else { Err(cannot(verb, "server role", &role.name)) }
}

fn switch(option: &OptionItem) -> Result<bool, SqlError> {
    match option.value {
        OptionValue::On => Ok(true),
        OptionValue::Off => Ok(false),
        _ => Err(errors::syntax_near(&option.name)),
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
    SqlError::new(155, 15, 1, format!("'{name}' is not a recognized {statement} option."))
}

pub(super) fn check_password(login: &str, password: &str, policy: bool) -> Result<(), SqlError> {
    if password.chars().count() > PASSWORD_MAX {
        let text = format!(
            "Password validation failed. The password does not meet SQL Server password policy requirements because it is \
             too long. The password must be at most {PASSWORD_MAX} characters."
        );
        return Err(SqlError::new(33_063, 16, 1, text));
    }
    if policy { passwords::check_policy(login, password) } else { Ok(()) }
}

/// A name that a principal can have. Errors: 103 too long, 15006 with characters that it cannot have.
pub(super) fn valid_name(name: &str) -> Result<CompactString, SqlError> {
    if name.chars().count() > NAME_MAX {
        let text = format!(
            "The identifier that starts with '{}' is too long. Maximum length is {NAME_MAX}.",
            name.chars().take(NAME_MAX).collect::<String>()
        );
        return Err(SqlError::new(103, 15, 4, text));
    }
    if name.is_empty() || name.contains('\\') || name.chars().any(char::is_control) {
        let text = format!("'{name}' is not a valid name because it contains invalid characters.");
        return Err(SqlError::new(15_006, 16, 1, text));
    }
    Ok(name.into())
}

/// 16 random bytes.
pub(super) fn new_sid() -> Vec<u8> {
    let mut sid = vec![0; 16];
    passwords::fill(&mut sid);
    sid
}

/// sid of whom a database belongs to.
fn owner_sid(db: &Arc<Db>) -> Option<Arc<[u8]>> {
    db.check_usable().ok()?;
    db.security().database.get(catalog::security::DBO).map(|dbo| dbo.sid.clone())
}

pub(super) fn new_role(id: i32, name: CompactString, owner: i32) -> Principal {
    let now = clock::now();
    Principal {
        id,
        name,
        kind: Kind::Role,
        disabled: false,
        check_policy: true,
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

fn find_login(security: &Security, verb: &str, name: &str) -> Result<Arc<Principal>, SqlError> {
    let found = security.server.find(name).filter(|p| p.kind == Kind::User);
    found.cloned().ok_or_else(|| cannot(verb, "login", name))
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
        return Err(SqlError::new(15_413, 11, 1, "Cannot make a role a member of itself."));
    }
    Ok(())
}

/// Whether a role can be dropped. Errors: 15150 a fixed one, 15144 it has members, 15138 it owns something.
pub(super) fn check_droppable(security: &Security, scope: Scope, role: &Principal) -> Result<(), SqlError> {
    if role.is_fixed(scope) {
        let what = if scope == Scope::Server { "server role" } else { "role" };
        return Err(SqlError::new(15_150, 16, 1, format!("Cannot drop the {what} '{}'.", role.name)));
    }
    if security.of(scope).members().any(|(id, _)| id == role.id) {
        let text = "The role has members. It must be empty before it can be dropped.";
        return Err(SqlError::new(15_144, 16, 1, text));
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
        Some(what) => {
            let text =
                format!("The database principal owns a {what} in the database, and cannot be dropped.");
            Err(SqlError::new(15_138, 16, 1, text))
        }
    }
}

/// ALTER ROLE WITH NAME.
pub(super) fn rename_role(
    change: &mut Change<'_>,
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
    change.put_principal(scope, &Principal { name, modified: clock::now(), ..Principal::clone(role) })
}

/// 15025, 15023.
pub(super) fn taken(scope: &str, name: &str) -> SqlError {
    match scope {
        "server" => SqlError::new(15_025, 16, 1, format!("The server principal '{name}' already exists.")),
        _ => {
            let text = format!("User, group, or role '{name}' already exists in the current database.");
            SqlError::new(15_023, 16, 1, text)
        }
    }
}

/// 15151.
pub(crate) fn cannot(verb: &str, what: &str, name: &str) -> SqlError {
    let text = format!(
        "Cannot {verb} the {what} '{name}', because it does not exist or you do not have permission."
    );
    SqlError::new(15_151, 16, 1, text)
}

/// 15405.
pub(super) fn special(name: &str) -> SqlError {
    SqlError::new(15_405, 16, 1, format!("Cannot use the special principal '{name}'."))
}

/// 15081.
pub(super) fn public_members() -> SqlError {
    SqlError::new(15_081, 16, 1, "Membership of the public role cannot be changed.")
}

fn no_database(name: &str) -> SqlError {
    let text = format!(
        "The database '{name}' does not exist. Supply a valid database name. To see available databases, use sys.databases."
    );
    SqlError::new(15_010, 16, 1, text)
}
