//! CREATE, ALTER and DROP APPLICATION ROLE.
//! Guarantee: the password is kept as a login's is, as a hash that no view shows.

use std::sync::Arc;

use catalog::properties::PropertyClass;
use catalog::security::{
    Class, FIRST_USER, Kind, Permission, Principal, Scope, Securable, Security,
};
use catalog::{Db, clock, errors};
use compact_str::CompactString;
use syntax::ast::{DropObjects, Principal as Statement, PrincipalSource};
use types::SqlError;

use super::StmtCtx;
use super::login::check_password;
use super::principal::{cannot, check_owns_nothing, new_role, taken, valid_name};
use super::rights::not_permitted;
use super::user::check_granted_nothing;
use instance::OfInstance;
use instance::security::change::Change;
use session::state::SessionCore;

impl StmtCtx<'_> {
    pub(super) fn create_application_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        may_create(self.core, &db)?;
        let name = valid_name(&stmt.name.value)?;
        let options = self.user_options("CREATE APPLICATION ROLE", &stmt.options)?;
        let (PrincipalSource::None, Some(password)) = (&stmt.source, options.password) else {
            return Err(errors::syntax_near(&name));
        };
        let hash = self.hash_of(&name, &password)?;
        let mut change = Change::begin(self.core, &db)?;
        may_create(change.core, &db)?;
        let security = change.security();
        if security.database.find(&name).is_some() {
            return Err(taken("", &name));
        }
        let role = Principal {
            kind: Kind::ApplicationRole,
            default_name: options.default_schema,
            hash: Some(hash),
            ..new_role(security.database.free_id(FIRST_USER), name, 0)
        };
        change.put_principal(Scope::Database, &role)?;
        change.finish()
    }

    pub(super) fn alter_application_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let options = self.user_options("ALTER APPLICATION ROLE", &stmt.options)?;
        if stmt.source != PrincipalSource::None || stmt.options.is_empty() {
            return Err(errors::syntax_near(&stmt.name.value));
        }
        let before = find(&self.core.security(&db), "alter", &stmt.name.value)?;
        may_change(self.core, &db, &before, "alter")?;
        let mut role = Principal::clone(&before);
        if let Some(name) = options.name {
            role.name = valid_name(&name)?;
        }
        if let Some(password) = &options.password {
            role.hash = Some(self.hash_of(&role.name, password)?);
        }
        role.default_name = options.default_schema.or(role.default_name);
        role.modified = clock::now();
        let mut change = Change::begin(self.core, &db)?;
        let security = change.security();
        match security.database.get(before.id) {
            Some(now) if *now == before => {}
            _ => return Err(errors::schema_changed()),
        }
        may_change(change.core, &db, &before, "alter")?;
        if security.database.find(&role.name).is_some_and(|other| other.id != role.id) {
            return Err(taken("", &role.name));
        }
        change.put_principal(Scope::Database, &role)?;
        change.finish()
    }

    pub(super) fn drop_application_role(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        if stmt.if_exists {
            return Err(errors::syntax_near("IF"));
        }
        for name in &stmt.names {
            let name = name.name.value.as_str();
            let role = find(&self.core.security(&db), "drop", name)?;
            may_change(self.core, &db, &role, "drop")?;
            let mut change = Change::begin(self.core, &db)?;
            let security = change.security();
            let role = find(&security, "drop", name)?;
            may_change(change.core, &db, &role, "drop")?;
            check_owns_nothing(&security, Scope::Database, &role)?;
            check_granted_nothing(&security, &role)?;
            change.delete_principal(Scope::Database, role.id)?;
            change.finish()?;
            ddl::properties::forget(self.core, &db, PropertyClass::Principal, role.id)?;
        }
        Ok(())
    }

    fn hash_of(&self, name: &str, password: &str) -> Result<CompactString, SqlError> {
        check_password(name, password, true)?;
        self.core.instance().authentication.passwords.hash(password)
    }
}

fn may_create(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    match core.has(db, Securable::DATABASE, 0, Permission::AlterAnyApplicationRole) {
        true => Ok(()),
        false => Err(not_permitted()),
    }
}

fn may_change(
    core: &mut SessionCore,
    db: &Arc<Db>,
    role: &Principal,
    verb: &str,
) -> Result<(), SqlError> {
    let may = core.has(db, Securable::new(Class::User, role.id), 0, Permission::Alter)
        || core.has(db, Securable::DATABASE, 0, Permission::AlterAnyApplicationRole);
    if may { Ok(()) } else { Err(cannot(verb, "application role", &role.name)) }
}

fn find(security: &Security, verb: &str, name: &str) -> Result<Arc<Principal>, SqlError> {
    let found = security.database.find(name).filter(|p| p.kind == Kind::ApplicationRole);
    found.cloned().ok_or_else(|| cannot(verb, "application role", name))
}
