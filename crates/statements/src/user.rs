//! CREATE, ALTER and DROP of users and database roles, members of roles.

use std::sync::Arc;

use catalog::properties::PropertyClass;
use catalog::security::{
    Class, FIRST_USER, Kind, PUBLIC, PasswordAge, Permission, Principal, Scope, Securable,
    Security, is_fixed_role,
};
use catalog::{Db, clock, errors, fold_name};
use compact_str::CompactString;
use syntax::ast::{DropObjects, OptionItem, Principal as Statement, PrincipalSource};
use types::{SqlError, msg};

use super::StmtCtx;
use super::login::not_from;
use super::principal::{
    cannot, check_circle, check_droppable, check_owns_nothing, find_member, find_role, new_role,
    new_sid, public_members, rename_role, special, taken, text_of, unknown_option, valid_name,
};
use super::rights::not_permitted;
use instance::security::change::SecurityChange;
use session::state::SessionCore;

/// What WITH of CREATE and ALTER says of users and application roles.
#[derive(Default)]
pub(super) struct UserOptions {
    pub default_schema: Option<CompactString>,
    pub name: Option<CompactString>,
    /// Of an application role.
    pub password: Option<CompactString>,
    login: Option<CompactString>,
}

impl StmtCtx<'_> {
    pub(super) fn create_user(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        may_create_users(self.core, &db)?;
        let name = valid_name(&stmt.name.value)?;
        let options = self.user_options("CREATE USER", &stmt.options)?;
        if self.core.security(&db).database.find(&name).is_some() {
            return Err(taken("", &name));
        }
        let without_login = matches!(stmt.source, PrincipalSource::WithoutLogin);
        let login = match &stmt.source {
            PrincipalSource::WithoutLogin => None,
            PrincipalSource::None => Some(name.clone()),
            PrincipalSource::Login(login) => Some(login.value.clone()),
            PrincipalSource::Provider(provider) => {
                return Err(not_from(provider, &stmt.name.value, "CREATE USER"));
            }
            PrincipalSource::Key(kind, name) => {
                return Err(cannot("find", &kind.to_lowercase(), &name.value));
            }
            _ => return Err(errors::syntax_near(&stmt.name.value)),
        };
        let sid = match &login {
            Some(login) => login_sid(self.core, login)?,
            None => new_sid().into(),
        };
        let mut change = SecurityChange::begin(self.core, &db)?;
        may_create_users(change.core, &db)?;
        let security = change.security();
        if security.database.find(&name).is_some() {
            return Err(taken("", &name));
        }
        check_sid_free(&security, &sid, None)?;
        let now = clock::now();
        let user = Principal {
            id: security.database.free_id(FIRST_USER),
            name,
            kind: Kind::User,
            disabled: false,
            check_policy: true,
            password_age: PasswordAge::default(),
            without_login,
            sid,
            owner: 0,
            created: now.clone(),
            modified: now,
            language: 0,
            default_name: options.default_schema,
            hash: None,
        };
        change.put_principal(Scope::Database, &user)?;
        change.finish()
    }

    pub(super) fn alter_user(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        may_alter_users(self.core, &db)?;
        let options = self.user_options("ALTER USER", &stmt.options)?;
        if stmt.source != PrincipalSource::None || stmt.options.is_empty() {
            return Err(errors::syntax_near(&stmt.name.value));
        }
        let sid = options.login.as_ref().map(|login| login_sid(self.core, login)).transpose()?;
        let mut change = SecurityChange::begin(self.core, &db)?;
        may_alter_users(change.core, &db)?;
        let security = change.security();
        let before = find_user(&security, "alter", &stmt.name.value)?;
        if before.is_fixed(Scope::Database) {
            return Err(SqlError::of(
                msg::CANNOT_CHANGE_PRINCIPAL,
                [&"alter", &"user", &before.name],
            ));
        }
        let mut user = Principal::clone(&before);
        if let Some(name) = options.name {
            user.name = valid_name(&name)?;
            if security.database.find(&user.name).is_some_and(|other| other.id != user.id) {
                return Err(taken("", &user.name));
            }
        }
        if let Some(sid) = sid {
            check_sid_free(&security, &sid, Some(user.id))?;
            (user.sid, user.without_login) = (sid, false);
        }
        user.default_name = options.default_schema.or(user.default_name);
        user.modified = clock::now();
        change.put_principal(Scope::Database, &user)?;
        change.finish()
    }

    pub(super) fn drop_user(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        may_alter_users(self.core, &db)?;
        for name in &stmt.names {
            let mut change = SecurityChange::begin(self.core, &db)?;
            may_alter_users(change.core, &db)?;
            let security = change.security();
            let user = match find_user(&security, "drop", &name.name.value) {
                Err(_) if stmt.if_exists => continue,
                user => user?,
            };
            if user.is_fixed(Scope::Database) {
                return Err(SqlError::of(
                    msg::CANNOT_CHANGE_PRINCIPAL,
                    [&"drop", &"user", &user.name],
                ));
            }
            check_owns_nothing(&security, Scope::Database, &user)?;
            check_granted_nothing(&security, &user)?;
            if db.catalog().modules.values().any(|module| module.run_as == Some(user.id)) {
                return Err(SqlError::of(msg::PRINCIPAL_IS_CONTEXT, []));
            }
            change.delete_principal(Scope::Database, user.id)?;
            change.finish()?;
            ddl::properties::forget(self.core, &db, PropertyClass::Principal, user.id)?;
        }
        Ok(())
    }

    pub(super) fn create_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        super::rights::in_database(self.core, &db, Permission::CreateRole)?;
        let name = valid_name(&stmt.name.value)?;
        let mut change = SecurityChange::begin(self.core, &db)?;
        super::rights::in_database(change.core, &db, Permission::CreateRole)?;
        let (caller, owns) = (change.core.user_id(), change.core.owns_database(&db));
        let security = change.security();
        if security.database.find(&name).is_some() {
            return Err(taken("", &name));
        }
        let owner = match &stmt.source {
            PrincipalSource::None if stmt.options.is_empty() => caller,
            PrincipalSource::Authorization(owner) if stmt.options.is_empty() => {
                let found = security.database.find(&owner.value).filter(|p| p.id != PUBLIC);
                let found = found.filter(|p| owns || p.id == caller);
                found.map(|p| p.id).ok_or_else(|| cannot("find", "principal", &owner.value))?
            }
            _ => return Err(errors::syntax_near(&name)),
        };
        let role = new_role(security.database.free_id(FIRST_USER), name, owner);
        change.put_principal(Scope::Database, &role)?;
        change.finish()
    }

    pub(super) fn alter_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let options = self.role_options("ALTER ROLE", &stmt.options)?;
        let role = stmt.name.value.as_str();
        match (&stmt.source, options) {
            (PrincipalSource::AddMember(member), None) => {
                set_member(self.core, role, &member.value, true)
            }
            (PrincipalSource::DropMember(member), None) => {
                set_member(self.core, role, &member.value, false)
            }
            (PrincipalSource::None, Some(name)) => {
                let found = find_role(&self.core.security(&db), Scope::Database, "alter", role)?;
                may_alter_role(self.core, &db, &found, "alter")?;
                let mut change = SecurityChange::begin(self.core, &db)?;
                let found = find_role(&change.security(), Scope::Database, "alter", role)?;
                may_alter_role(change.core, &db, &found, "alter")?;
                rename_role(&mut change, Scope::Database, &found, &name)?;
                change.finish()
            }
            _ => Err(errors::syntax_near(role)),
        }
    }

    pub(super) fn drop_role(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        for name in &stmt.names {
            let name = name.name.value.as_str();
            let found = find_role(&self.core.security(&db), Scope::Database, "drop", name);
            match found {
                Err(_) if stmt.if_exists => continue,
                found => may_alter_role(self.core, &db, &*found?, "drop")?,
            }
            let mut change = SecurityChange::begin(self.core, &db)?;
            let security = change.security();
            let role = find_role(&security, Scope::Database, "drop", name)?;
            may_alter_role(change.core, &db, &role, "drop")?;
            check_droppable(&security, Scope::Database, &role)?;
            check_granted_nothing(&security, &role)?;
            change.delete_principal(Scope::Database, role.id)?;
            change.finish()?;
            ddl::properties::forget(self.core, &db, PropertyClass::Principal, role.id)?;
        }
        Ok(())
    }

    pub(super) fn user_options(
        &self,
        statement: &str,
        options: &[OptionItem],
    ) -> Result<UserOptions, SqlError> {
        let mut out = UserOptions::default();
        for option in options {
            match option.name.as_str() {
                "DEFAULT_SCHEMA" => {
                    let name = self.name_option(option)?;
                    // Names without a schema are dbo's for everyone.
                    if fold_name(&name) != "dbo" {
                        return Err(errors::not_supported(&format!(
                            "{statement} WITH DEFAULT_SCHEMA other than dbo"
                        )));
                    }
                    out.default_schema = Some(CompactString::const_new("dbo"));
                }
                "PASSWORD" if statement.ends_with("APPLICATION ROLE") => {
                    out.password = Some(text_of(option)?);
                }
                "PASSWORD" => {
                    return Err(SqlError::of(msg::USER_PASSWORD_NOT_CONTAINED, []));
                }
                "NAME" if statement.starts_with("ALTER") => {
                    out.name = Some(self.name_option(option)?)
                }
                "LOGIN" if statement == "ALTER USER" => out.login = Some(self.name_option(option)?),
                "DEFAULT_LANGUAGE" | "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS" | "SID"
                    if statement.ends_with("USER") =>
                {
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

fn may_create_users(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    match core.has(db, Securable::DATABASE, 0, Permission::CreateUser) {
        true => Ok(()),
        false => Err(not_permitted()),
    }
}

fn may_alter_users(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    match core.has(db, Securable::DATABASE, 0, Permission::AlterAnyUser) {
        true => Ok(()),
        false => Err(not_permitted()),
    }
}

/// The members of fixed roles are db_owner's to choose; of others, of whoever may alter the role.
fn may_alter_role(
    core: &mut SessionCore,
    db: &Arc<Db>,
    role: &Principal,
    verb: &str,
) -> Result<(), SqlError> {
    let may = core.owns_database(db)
        || (!is_fixed_role(role.id)
            && (core.has(db, Securable::new(Class::User, role.id), 0, Permission::Alter)
                || core.has(db, Securable::DATABASE, 0, Permission::AlterAnyRole)));
    if may { Ok(()) } else { Err(cannot(verb, "role", &role.name)) }
}

/// ALTER ROLE ADD and DROP MEMBER, sp_addrolemember and sp_droprolemember.
///
/// # Errors
/// 15151 no such role or member, or no permission; 15081 public; 15405 dbo and other users that
/// cannot be members; 15413 a circle.
pub fn set_member(
    core: &mut SessionCore,
    role: &str,
    member: &str,
    present: bool,
) -> Result<(), SqlError> {
    let db = core.db().clone();
    let found = find_role(&core.security(&db), Scope::Database, "alter", role)?;
    may_alter_role(core, &db, &found, "alter")?;
    let mut change = SecurityChange::begin(core, &db)?;
    let security = change.security();
    let role = find_role(&security, Scope::Database, "alter", role)?;
    may_alter_role(change.core, &db, &role, "alter")?;
    if role.id == PUBLIC {
        return Err(public_members());
    }
    let member =
        find_member(&security, Scope::Database, if present { "add" } else { "drop" }, member)?;
    if present {
        check_circle(&security, Scope::Database, &role, &member)?;
    }
    let built_in = member.is_fixed(Scope::Database) && member.id != catalog::security::GUEST;
    if built_in || is_fixed_role(member.id) {
        return Err(special(&member.name));
    }
    change.set_member(Scope::Database, role.id, member.id, present)?;
    change.finish()
}

fn find_user(security: &Security, verb: &str, name: &str) -> Result<Arc<Principal>, SqlError> {
    let found = security.database.find(name).filter(|p| p.kind == Kind::User);
    found.cloned().ok_or_else(|| cannot(verb, "user", name))
}

/// sid of a login. Error: 15007.
fn login_sid(core: &SessionCore, name: &str) -> Result<Arc<[u8]>, SqlError> {
    let master = core.host().database("master")?;
    let security = core.security(&master);
    match security.server.find(name).filter(|p| p.kind == Kind::User) {
        Some(login) => Ok(login.sid.clone()),
        None => Err(SqlError::of(msg::LOGIN_NOT_VALID, [&name])),
    }
}

/// 15063: a login is one user in a database.
fn check_sid_free(security: &Security, sid: &[u8], but: Option<i32>) -> Result<(), SqlError> {
    match security.database.with_sid(sid) {
        Some(other) if Some(other.id) != but => Err(SqlError::of(msg::LOGIN_HAS_USER, [])),
        _ => Ok(()),
    }
}

/// 15284: what a principal has granted keeps it.
pub(super) fn check_granted_nothing(
    security: &Security,
    principal: &Principal,
) -> Result<(), SqlError> {
    if security.database.grants().any(|grant| grant.grantor == principal.id) {
        return Err(SqlError::of(msg::PRINCIPAL_HAS_GRANTED, []));
    }
    Ok(())
}
