//! CREATE, ALTER and DROP of logins. They are kept in master by the statement's transaction.
//! Guarantees: a password is kept as its hash only; a login that is in use, owns something or is a
//! fixed principal is not dropped; only a login with CHECK_POLICY has a password that expires or
//! must be changed.

use std::sync::Arc;

use catalog::security::{
    Class, FIRST_LOGIN, Kind, PasswordAge, Permission, Principal, SYSADMIN, Scope, Securable,
    Security,
};
use catalog::{Db, clock, errors};
use compact_str::CompactString;
use syntax::ast::{DropObjects, OptionItem, OptionValue, Principal as Statement, PrincipalSource};
use types::{Language, SqlError, msg};

use super::StmtCtx;
use super::principal::{cannot, new_sid, special, taken, text_of, unknown_option, valid_name};
use instance::OfInstance;
use instance::security::change::SecurityChange;
use instance::security::passwords::{self, PASSWORD_MAX};
use session::state::SessionCore;

/// There are no accounts of Windows and no certificates: SQL Server's errors for those that cannot
/// be found. `name`: DOMAIN\\user.
pub(super) fn not_from(provider: &str, name: &str, statement: &str) -> SqlError {
    match (provider, name.contains('\\')) {
        ("WINDOWS", true) => SqlError::of(msg::WINDOWS_USER_NOT_FOUND, [&name]),
        ("WINDOWS", false) => SqlError::of(msg::NOT_A_WINDOWS_NAME, [&name]),
        _ => errors::not_supported(&format!("{statement} FROM {provider}")),
    }
}

/// What WITH of CREATE LOGIN and ALTER LOGIN says.
#[derive(Default)]
struct LoginOptions {
    password: Option<CompactString>,
    old_password: Option<CompactString>,
    default_database: Option<CompactString>,
    default_language: Option<u8>,
    name: Option<CompactString>,
    sid: Option<Vec<u8>>,
    check_policy: Option<bool>,
    check_expiration: Option<bool>,
    must_change: bool,
}

impl LoginOptions {
    /// CHECK_POLICY and the age of the password as the statement leaves them. `before`: as they
    /// were; `latest`: the last day on which the password that there is can have been set.
    ///
    /// # Errors
    /// 15099, 15122, 15128: the options do not go together, or not with what the login has.
    fn policy(
        &self,
        before: (bool, PasswordAge),
        latest: i32,
    ) -> Result<(bool, PasswordAge), SqlError> {
        let (policy_before, age) = before;
        let check_policy = self.check_policy.unwrap_or(policy_before);
        // Expiration comes and goes with the policy, unless the statement says otherwise.
        let implied = if check_policy == policy_before { age.expires } else { check_policy };
        let expires = self.check_expiration.unwrap_or(implied);
        // That a new password comes with it makes no difference: the change has to come first.
        let turned_off = self.check_policy == Some(false) || self.check_expiration == Some(false);
        if age.must_change && turned_off {
            return Err(must_change_is_on());
        }
        if expires && !check_policy {
            return Err(SqlError::of(msg::EXPIRATION_WITHOUT_POLICY, []));
        }
        if self.must_change && !check_policy {
            return Err(must_change_is_on());
        }
        if self.must_change && !expires {
            return Err(SqlError::of(msg::MUST_CHANGE_WITHOUT_EXPIRATION, []));
        }
        let age = match self.password {
            Some(_) => age.set(clock::now_parts().0, self.must_change),
            None => age,
        };
        Ok((check_policy, age.expiring(expires, latest)))
    }
}

/// 15128.
fn must_change_is_on() -> SqlError {
    SqlError::of(msg::POLICY_WITH_MUST_CHANGE, [])
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
        may_create_logins(self.core)?;
        let name = valid_name(&stmt.name.value)?;
        let options = self.login_options("CREATE LOGIN", &stmt.options)?;
        // CHECK_POLICY is on and CHECK_EXPIRATION off where the statement does not say.
        let usual = (true, PasswordAge::default());
        let (check_policy, password_age) = options.policy(usual, clock::now_parts().0)?;
        let Some(password) = options.password else { return Err(errors::syntax_near(&name)) };
        check_password(&name, &password, check_policy)?;
        let hash = self.core.instance().authentication.passwords.hash(&password)?;
        let master = self.core.host().database("master")?;
        let mut change = SecurityChange::begin(self.core, &master)?;
        may_create_logins(change.core)?;
        let security = change.security();
        if security.server.find(&name).is_some() {
            return Err(taken("server", &name));
        }
        let sid = options.sid.unwrap_or_else(new_sid);
        if security.server.with_sid(&sid).is_some() {
            return Err(SqlError::of(msg::SID_IN_USE, []));
        }
        let now = clock::now();
        let login = Principal {
            id: security.server.free_id(FIRST_LOGIN),
            name,
            kind: Kind::User,
            disabled: false,
            check_policy,
            password_age,
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
        let so_far = (before.check_policy, before.password_age);
        (login.check_policy, login.password_age) = options.policy(so_far, last_change(&before))?;
        match &stmt.source {
            PrincipalSource::Enable => login.disabled = false,
            PrincipalSource::Disable => login.disabled = true,
            PrincipalSource::None if !stmt.options.is_empty() => {}
            _ => return Err(errors::syntax_near(&stmt.name.value)),
        }
        if let Some(name) = options.name {
            login.name = valid_name(&name)?;
        }
        login.default_name = options.default_database.or(login.default_name);
        login.language = options.default_language.unwrap_or(login.language);
        if let Some(old) = &options.old_password {
            let passwords = &self.core.instance().authentication.passwords;
            let turn = passwords
                .turn()
                .ok_or_else(|| errors::not_supported("ALTER LOGIN at this moment"))?;
            if !passwords.verify(&turn, old, before.hash.as_deref()) {
                return Err(cannot("alter", "login", &before.name));
            }
        }
        if let Some(password) = &options.password {
            check_password(&login.name, password, login.check_policy)?;
            login.hash = Some(self.core.instance().authentication.passwords.hash(password)?);
        }
        login.modified = clock::now();
        let mut change = SecurityChange::begin(self.core, &master)?;
        let security = change.security();
        match security.server.get(before.id) {
            Some(now) if *now == before => {}
            _ => return Err(errors::schema_changed()),
        }
        may_alter_login(change.core, &before, &stmt.source, &stmt.options)?;
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
            let mut change = SecurityChange::begin(self.core, &master)?;
            may_alter_logins(change.core)?;
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
                return Err(SqlError::of(msg::LOGIN_OWNS_DATABASES, [&login.name, &db.name()]));
            }
            if security.server.iter().any(|role| role.kind == Kind::Role && role.owner == login.id)
            {
                return Err(SqlError::of(msg::LOGIN_OWNS_ROLE, [&login.name]));
            }
            let here = |s: &session::state::core::SessionShared| {
                s.login_id.load(std::sync::atomic::Ordering::Relaxed) == login.id
            };
            if instance.sessions().iter().any(|(_, session)| here(session)) {
                return Err(SqlError::of(msg::LOGIN_IS_LOGGED_IN, [&login.name]));
            }
            change.delete_principal(Scope::Server, login.id)?;
            change.finish()?;
        }
        Ok(())
    }

    fn login_options(
        &self,
        statement: &str,
        options: &[OptionItem],
    ) -> Result<LoginOptions, SqlError> {
        let mut out = LoginOptions::default();
        for option in options {
            match option.name.as_str() {
                "PASSWORD" => {
                    out.password = Some(text_of(option)?);
                    for word in &option.nested {
                        match word.name.as_str() {
                            "OLD_PASSWORD" => out.old_password = Some(text_of(word)?),
                            "MUST_CHANGE" => out.must_change = true,
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
                    out.default_database =
                        Some(found.map(|db| db.name()).ok_or_else(|| no_database(&name))?);
                }
                "DEFAULT_LANGUAGE" => {
                    let name = self.name_option(option)?;
                    let language = Language::find(&name)
                        .ok_or_else(|| SqlError::of(msg::NOT_A_LANGUAGE, [&name]))?;
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
                            return Err(SqlError::of(msg::SID_LENGTH, []));
                        }
                    }
                }
                "CHECK_POLICY" => out.check_policy = Some(switch(option)?),
                "CHECK_EXPIRATION" => out.check_expiration = Some(switch(option)?),
                "CREDENTIAL" | "NO CREDENTIAL" | "NO" | "UNLOCK" => {
                    return Err(errors::not_supported(&format!(
                        "{statement} WITH {}",
                        option.name
                    )));
                }
                name => return Err(unknown_option(statement, name)),
            }
        }
        Ok(out)
    }
}

/// The day of the last change of a login, in days since 1900-01-01: its password is no newer.
fn last_change(login: &Principal) -> i32 {
    match login.modified {
        types::Value::DateTime { days, .. } => days,
        _ => clock::now_parts().0,
    }
}

fn may_create_logins(core: &mut SessionCore) -> Result<(), SqlError> {
    match core.has_server(Permission::CreateLogin) {
        true => Ok(()),
        false => Err(super::rights::not_permitted()),
    }
}

fn may_alter_logins(core: &mut SessionCore) -> Result<(), SqlError> {
    match core.has_server(Permission::AlterAnyLogin) {
        true => Ok(()),
        false => Err(super::rights::not_permitted()),
    }
}

/// Everyone may change the own password who knows the old one. A sysadmin is changed by a sysadmin
/// only: who could set its password would be one.
fn may_alter_login(
    core: &mut SessionCore,
    login: &Principal,
    source: &PrincipalSource,
    options: &[OptionItem],
) -> Result<(), SqlError> {
    let own = login.id == core.identity.caller.login_id() && *source == PrincipalSource::None;
    let password_alone = |o: &OptionItem| {
        o.name == "OLD_PASSWORD"
            || (o.name == "PASSWORD" && o.nested.iter().all(|n| n.name == "OLD_PASSWORD"))
    };
    let knows = options
        .iter()
        .any(|o| o.name == "OLD_PASSWORD" || o.nested.iter().any(|n| n.name == "OLD_PASSWORD"));
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

fn switch(option: &OptionItem) -> Result<bool, SqlError> {
    match option.value {
        OptionValue::On => Ok(true),
        OptionValue::Off => Ok(false),
        _ => Err(errors::syntax_near(&option.name)),
    }
}

pub(super) fn check_password(login: &str, password: &str, policy: bool) -> Result<(), SqlError> {
    if password.chars().count() > PASSWORD_MAX {
        return Err(SqlError::of(msg::PASSWORD_TOO_LONG, [&PASSWORD_MAX]));
    }
    if policy { passwords::check_policy(login, password) } else { Ok(()) }
}

/// The sid of the owner of a database.
fn owner_sid(db: &Arc<Db>) -> Option<Arc<[u8]>> {
    db.check_usable().ok()?;
    db.security().database.get(catalog::security::DBO).map(|dbo| dbo.sid.clone())
}

fn find_login(security: &Security, verb: &str, name: &str) -> Result<Arc<Principal>, SqlError> {
    let found = security.server.find(name).filter(|p| p.kind == Kind::User);
    found.cloned().ok_or_else(|| cannot(verb, "login", name))
}

fn no_database(name: &str) -> SqlError {
    SqlError::of(msg::DATABASE_DOES_NOT_EXIST, [&name])
}
