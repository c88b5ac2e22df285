//! ALTER SCHEMA ... TRANSFER and ALTER AUTHORIZATION: where a thing is, and whose. Guarantees: what
//! belongs to a table or view (triggers, constraints, indexes) goes with it; permissions on what is
//! moved end.

use std::sync::Arc;

use catalog::given_up::Name;
use catalog::security::{
    Class, DBO, FIRST_USER, Kind, PUBLIC, Permission, Principal, Scope, Securable, Security,
};
use catalog::{Db, MASTER, ModuleKind, errors, fold_name};
use session::state::SessionCore;
use syntax::ast::{AlterAuthorization, Ident, ObjectName, Securable as Named};
use types::{SqlError, msg};

use super::StmtCtx;
use super::principal::cannot;
use super::rights::not_permitted;
use ddl::work::Work;
use ddl::{moves, others, schemabinding, user_types};
use instance::security::change::{Change, forget, hold, is_still_there};

fn schema_of(name: &ObjectName) -> &str {
    name.schema.as_ref().map_or("", |s| s.value.as_str())
}

impl StmtCtx<'_> {
    /// ALTER SCHEMA schema TRANSFER [class::]name.
    ///
    /// Errors: 15151 no such schema or thing, 15347 what belongs to a table, 15348 what is bound to
    /// a schema, 15530 the name is taken.
    pub(super) fn transfer(&mut self, schema: &Ident, what: &Named) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let catalog = db.catalog();
        if !catalog.schemas.contains_key(&fold_name(&schema.value)) {
            return Err(cannot("find", "schema", &schema.value));
        }
        let (from, name) = (schema_of(&what.name), what.name.name.value.as_str());
        let mut work = Work::begin(self.core, &db)?;
        let to = work.schema(&schema.value)?;
        match what.class.as_deref().unwrap_or("OBJECT") {
            "OBJECT" => {}
            "TYPE" => {
                let alias = catalog
                    .find_type(from, name)
                    .cloned()
                    .ok_or_else(|| cannot("find", "type", name))?;
                if fold_name(&alias.schema) == fold_name(&to) {
                    return Ok(());
                }
                work.wait_for_name(&Name::of_type(&to, name))?;
                user_types::check_name(&db.catalog(), &to, name)
                    .map_err(|_| taken("type", name))?;
                user_types::alias::transfer(&mut work, &alias, &to)?;
                drop(work);
                return forget(self.core, &db, Class::Type, alias.type_id);
            }
            "XML SCHEMA COLLECTION" => return Err(cannot("find", "XML schema collection", name)),
            other => return Err(errors::syntax_near(other)),
        }
        let free = |work: &mut Work<'_>, name: &str| {
            work.wait_for_name(&Name::object(&to, name))?;
            work.check_free_name(&to, name).map_err(|_| taken("object", name))
        };
        // They go with their table or view.
        let triggers = |parent: i32| {
            let own = catalog
                .modules
                .values()
                .filter(|m| m.kind == ModuleKind::Trigger && m.parent == parent);
            own.map(|trigger| trigger.name.clone()).collect::<Vec<_>>()
        };
        let same = |own: &str| fold_name(own) == fold_name(&to);
        let id = if let Some(table) = catalog.find(from, name).cloned() {
            if same(&table.schema) {
                return Ok(());
            }
            unbound(&db, &table.schema, &table.name)?;
            free(&mut work, &table.name)?;
            ddl::names::constraint_names(&table).try_for_each(|name| free(&mut work, name))?;
            triggers(table.object_id).iter().try_for_each(|name| free(&mut work, name))?;
            moves::table(&mut work, &table, &to)?;
            table.object_id
        } else if let Some(module) = catalog.find_module(from, name).cloned() {
            if module.kind == ModuleKind::Trigger {
                return Err(of_parent());
            }
            if same(&module.schema) {
                return Ok(());
            }
            if module.has_option("SCHEMABINDING") {
                return Err(bound());
            }
            unbound(&db, &module.schema, &module.name)?;
            free(&mut work, &module.name)?;
            triggers(module.object_id).iter().try_for_each(|name| free(&mut work, name))?;
            moves::module(&mut work, &module, &to)?;
            module.object_id
        } else if let Some(other) = catalog.find_other(from, name).cloned() {
            if same(other.schema()) {
                return Ok(());
            }
            free(&mut work, other.name())?;
            others::transfer(&mut work, &other, &to)?;
            other.object_id()
        } else if catalog.constraint_id(from, name).is_some() {
            return Err(of_parent());
        } else {
            return Err(cannot("find", "object", name));
        };
        drop(work);
        forget(self.core, &db, Class::Object, id)
    }

    /// ALTER AUTHORIZATION ON [class::]name TO principal.
    ///
    /// Errors: 15151 no such thing or principal, 15346 what belongs to a table, 15247 without the
    /// right to it.
    pub(super) fn alter_authorization(
        &mut self,
        stmt: &AlterAuthorization,
    ) -> Result<(), SqlError> {
        let (on, db) = (&stmt.on, self.core.db().clone());
        let name = on.name.name.value.as_str();
        match on.class.as_deref().unwrap_or("OBJECT") {
            "OBJECT" => {
                let (id, schema) = self.owned_object(&db, &on.name)?;
                let object = Securable::new(Class::Object, id);
                check_takes(self.core, &db, object, schema)?;
                hold(self.core, &db, object)?;
                // It may have been dropped or moved while its lock was waited for.
                if self.owned_object(&db, &on.name)? != (id, schema) {
                    return Err(errors::schema_changed());
                }
                self.set_owner(&db, (object, schema), stmt)
            }
            "SCHEMA" => {
                let find = || db.catalog().schemas.get(&fold_name(name)).copied();
                let id = find().ok_or_else(|| cannot("find", "schema", name))?;
                if !catalog::load::is_user_schema(id) {
                    return Err(SqlError::of(
                        msg::CANNOT_CHANGE_PRINCIPAL,
                        [&"alter", &"schema", &name],
                    ));
                }
                let schema = Securable::new(Class::Schema, id);
                check_takes(self.core, &db, schema, 0)?;
                hold(self.core, &db, schema)?;
                if find() != Some(id) {
                    return Err(errors::schema_changed());
                }
                self.set_owner(&db, (schema, 0), stmt)
            }
            "ROLE" => self.own_role(&db, Scope::Database, name, stmt),
            "SERVER ROLE" => {
                let master = self.core.host().database("master")?;
                self.own_role(&master, Scope::Server, name, stmt)
            }
            "DATABASE" => self.give_database(name, stmt),
            other => Err(errors::not_supported(&format!("ALTER AUTHORIZATION ON {other}"))),
        }
    }

    /// object_id and schema_id of what may have an owner of its own.
    fn owned_object(&self, db: &Arc<Db>, name: &ObjectName) -> Result<(i32, i32), SqlError> {
        let catalog = db.catalog();
        let (schema, own) = (schema_of(name), name.name.value.as_str());
        let (id, schema) = if let Some(table) = catalog.find(schema, own) {
            (table.object_id, table.schema.clone())
        } else if let Some(module) = catalog.find_module(schema, own) {
            if module.kind == ModuleKind::Trigger {
                return Err(not_owned());
            }
            (module.object_id, module.schema.clone())
        } else if let Some(other) = catalog.find_other(schema, own) {
            (other.object_id(), other.schema().clone())
        } else if catalog.constraint_id(schema, own).is_some() {
            return Err(not_owned());
        } else {
            return Err(cannot("find", "object", own));
        };
        Ok((id, catalog.schemas.get(&fold_name(&schema)).copied().unwrap_or(0)))
    }

    /// The principal that gets something, which the caller is or may act as.
    fn new_owner(
        &mut self,
        db: &Arc<Db>,
        scope: Scope,
        name: &str,
    ) -> Result<Arc<Principal>, SqlError> {
        let security = self.core.security(db);
        let found = security
            .of(scope)
            .find(name)
            .filter(|p| p.id != PUBLIC || scope == Scope::Server)
            .cloned();
        let found = found.ok_or_else(|| cannot("find", "principal", name))?;
        if self.core.owns_database(db) {
            return Ok(found);
        }
        let own = match scope {
            Scope::Database => self.core.user_id(),
            Scope::Server => self.core.identity.caller.login_id(),
        };
        let class = if scope == Scope::Server { Class::Login } else { Class::User };
        let acts = match found.kind {
            Kind::Role => security.of(scope).is_member(found.id, own),
            _ => self.core.has(db, Securable::new(class, found.id), 0, Permission::Impersonate),
        };
        if found.id == own || acts { Ok(found) } else { Err(cannot("find", "principal", name)) }
    }

    fn set_owner(
        &mut self,
        db: &Arc<Db>,
        (on, schema): (Securable, i32),
        stmt: &AlterAuthorization,
    ) -> Result<(), SqlError> {
        let owner = match (&stmt.to, on.class) {
            (None, Class::Object) => None,
            (None, _) => return Err(errors::syntax_near("SCHEMA")),
            (Some(name), _) => Some(self.new_owner(db, Scope::Database, &name.value)?),
        };
        // Chains of ownership are worked out from committed owners.
        if owner.as_ref().is_some_and(|owner| owner.id != DBO) && self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("ALTER AUTHORIZATION"));
        }
        let mut change = Change::begin(self.core, db)?;
        check_takes(change.core, db, on, schema)?;
        check_still_there(&change.security(), Scope::Database, owner.as_deref())?;
        change.set_owner(on.class, on.major, owner.map(|owner| owner.id))?;
        change.finish()
    }

    fn own_role(
        &mut self,
        db: &Arc<Db>,
        scope: Scope,
        name: &str,
        stmt: &AlterAuthorization,
    ) -> Result<(), SqlError> {
        let what = if scope == Scope::Server { "server role" } else { "role" };
        let security = self.core.security(db);
        let role = security.of(scope).find(name).filter(|p| p.kind == Kind::Role).cloned();
        let role = role.ok_or_else(|| cannot("find", what, name))?;
        if role.is_fixed(scope) || (scope == Scope::Database && role.id < FIRST_USER) {
            return Err(SqlError::of(msg::CANNOT_CHANGE_PRINCIPAL, [&"alter", &what, &name]));
        }
        let Some(to) = &stmt.to else { return Err(errors::syntax_near("SCHEMA")) };
        let class = if scope == Scope::Server { Class::Login } else { Class::User };
        let on = Securable::new(class, role.id);
        check_takes(self.core, db, on, 0)?;
        let owner = self.new_owner(db, scope, &to.value)?;
        let mut change = Change::begin(self.core, db)?;
        let security = change.security();
        check_takes(change.core, db, on, 0)?;
        check_still_there(&security, scope, Some(&owner))?;
        // As it is now: another session may have changed or dropped it.
        let role = security.of(scope).find(name).filter(|now| now.id == role.id).cloned();
        let role = role.ok_or_else(|| cannot("find", what, name))?;
        change.put_principal(scope, &Principal { owner: owner.id, ..Principal::clone(&role) })?;
        change.finish()
    }

    /// A database's owner is the login that its dbo is.
    fn give_database(&mut self, name: &str, stmt: &AlterAuthorization) -> Result<(), SqlError> {
        let db = self.core.host().find_db(name).ok_or_else(|| cannot("find", "database", name))?;
        db.check_usable()?;
        if [MASTER, catalog::MODEL, catalog::TEMPDB].contains(&db.id()) {
            return Err(SqlError::of(msg::OWNER_OF_SYSTEM_DATABASE, []));
        }
        let Some(to) = &stmt.to else { return Err(errors::syntax_near("SCHEMA")) };
        if !self.core.owns_database(&db) {
            return Err(not_permitted());
        }
        let master = self.core.host().database("master")?;
        let security = self.core.security(&master);
        let login = security.server.find(&to.value).filter(|p| p.kind == Kind::User).cloned();
        let login = login.ok_or_else(|| cannot("find", "principal", &to.value))?;
        let mut change = Change::begin(self.core, &db)?;
        if !change.core.owns_database(&db) {
            return Err(not_permitted());
        }
        let security = change.security();
        if security.database.with_sid(&login.sid).is_some_and(|user| user.id != DBO) {
            return Err(SqlError::of(msg::OWNER_IS_USER, []));
        }
        let dbo =
            security.database.get(DBO).ok_or_else(|| SqlError::internal("there is no dbo"))?;
        change.put_principal(
            Scope::Database,
            &Principal { sid: login.sid.clone(), ..Principal::clone(dbo) },
        )?;
        change.finish()
    }
}

/// 15247: the caller may not say whose something is.
fn check_takes(
    core: &mut SessionCore,
    db: &Arc<Db>,
    on: Securable,
    schema: i32,
) -> Result<(), SqlError> {
    let takes = core.owns_database(db) || core.has(db, on, schema, Permission::TakeOwnership);
    if takes { Ok(()) } else { Err(not_permitted()) }
}

/// 15151: the new owner has been dropped before anybody could be kept from that.
fn check_still_there(
    security: &Security,
    scope: Scope,
    owner: Option<&Principal>,
) -> Result<(), SqlError> {
    match owner.filter(|owner| !is_still_there(security, scope, owner)) {
        Some(gone) => Err(cannot("find", "principal", &gone.name)),
        None => Ok(()),
    }
}

fn of_parent() -> SqlError {
    SqlError::of(msg::TRANSFER_OWNED_BY_PARENT, [])
}

fn bound() -> SqlError {
    SqlError::of(msg::TRANSFER_SCHEMABOUND, [])
}

fn not_owned() -> SqlError {
    SqlError::of(msg::OWNER_OF_OWNED_BY_PARENT, [])
}

/// 15348: a module with SCHEMABINDING names it.
fn unbound(db: &Db, schema: &str, name: &str) -> Result<(), SqlError> {
    if schemabinding::bound_to(&db.catalog(), schema, name).is_some() {
        Err(bound())
    } else {
        Ok(())
    }
}

fn taken(what: &str, name: &str) -> SqlError {
    SqlError::of(msg::NAMED_OBJECT_EXISTS, [&what, &name])
}
