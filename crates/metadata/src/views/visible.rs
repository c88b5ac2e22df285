//! Who may know of what besides objects: databases, types, logins, users and roles. As SQL Server's
//! documentation has it, a caller knows of what it owns and of what it has any permission on.
//! Guarantee: views, functions and procedures that name one of these ask here (a test goes over all
//! of them).

use std::sync::Arc;

use catalog::security::{
    Class, FIRST_LOGIN, Kind, Permission, Principal, SA, Scope, Securable, Security,
};
use catalog::{Db, MASTER, TEMPDB, fold_name};
use session::state::SessionCore;

/// Permissions that tell of the one who has them on a type that it may know of it.
const ON_TYPES: [Permission; 4] =
    [Permission::ViewDefinition, Permission::References, Permission::Execute, Permission::Control];
/// Permissions on a schema, or on what includes it, by which everything in it is known.
const ON_SCHEMAS: [Permission; 8] = [
    Permission::ViewDefinition,
    Permission::Select,
    Permission::Insert,
    Permission::Update,
    Permission::Delete,
    Permission::Execute,
    Permission::References,
    Permission::Alter,
];
/// Permissions on a principal by which it is known.
const ON_PRINCIPALS: [Permission; 4] =
    [Permission::ViewDefinition, Permission::Alter, Permission::Impersonate, Permission::Control];

/// Principals of the server as the session sees them.
pub fn of_server(core: &SessionCore) -> Arc<Security> {
    core.host().db_by_id(MASTER).map(|db| core.security(&db)).unwrap_or_default()
}

/// Whether the caller may know of a database: master, tempdb, the current one and its own ones;
/// all with VIEW ANY DATABASE, which everybody has unless it is revoked or denied, ALTER ANY
/// DATABASE or CREATE ANY DATABASE.
pub fn sees_database(core: &mut SessionCore, db: &Arc<Db>) -> bool {
    let any =
        [Permission::ViewAnyDatabase, Permission::AlterAnyDatabase, Permission::CreateAnyDatabase];
    db.id() <= TEMPDB
        || db.id() == core.db().id()
        || any.into_iter().any(|permission| core.has_server(permission))
        || core.owns_database(db)
}

/// Whether the caller may know of a type: the system's, and those that users made and on which, or
/// on whose schema, it has a permission.
pub(crate) fn sees_type(core: &mut SessionCore, db: &Arc<Db>, type_id: i32) -> bool {
    if core.may_all() {
        return true;
    }
    let catalog = db.catalog();
    let schema = match catalog.alias(type_id) {
        Some(alias) => alias.schema.clone(),
        None => match catalog.table_types.values().find(|def| def.type_id == type_id) {
            Some(def) => def.schema.clone(),
            None => return true,
        },
    };
    let schema = catalog.schemas.get(&fold_name(&schema)).copied().unwrap_or(0);
    let (on, of_schema) =
        (Securable::new(Class::Type, type_id), Securable::new(Class::Schema, schema));
    ON_TYPES.into_iter().any(|permission| core.has(db, on, schema, permission))
        || ON_SCHEMAS.into_iter().any(|permission| core.has(db, of_schema, 0, permission))
}

/// Whether the caller may know of a login or a role of the server: itself, `sa`, fixed roles, roles
/// that it is a member of, and those on which it has a permission.
pub(crate) fn sees_login(core: &mut SessionCore, login: &Principal) -> bool {
    let own = core.identity.caller.login_id();
    if core.may_all() || login.id == own || login.id == SA || login.is_fixed(Scope::Server) {
        return true;
    }
    let Some(master) = core.host().db_by_id(MASTER) else { return false };
    let any = [Permission::ViewAnySecurityDefinition, Permission::AlterAnyLogin];
    let on = Securable::new(Class::Login, login.id);
    (login.kind == Kind::Role
        && (core.security(&master).server.is_member(login.id, own)
            || core.has_server(Permission::AlterAnyServerRole)))
        || any.into_iter().any(|permission| core.has_server(permission))
        || ON_PRINCIPALS.into_iter().any(|permission| core.has(&master, on, 0, permission))
}

/// Whether the caller may know of a user or role of a database: itself, the system's users, fixed
/// roles, roles that it is a member of, and those on which it has a permission.
pub(crate) fn sees_user(core: &mut SessionCore, db: &Arc<Db>, user: &Principal) -> bool {
    if core.may_all() || user.is_fixed(Scope::Database) {
        return true;
    }
    let own = core.user_in(db);
    let on = Securable::new(Class::User, user.id);
    let administers = match user.kind {
        Kind::Role => Permission::AlterAnyRole,
        Kind::ApplicationRole => Permission::AlterAnyApplicationRole,
        Kind::User => Permission::AlterAnyUser,
    };
    user.id == own
        || (user.kind == Kind::Role && core.security(db).database.is_member(user.id, own))
        || core.has(db, Securable::DATABASE, 0, administers)
        || core.has(db, Securable::DATABASE, 0, Permission::ViewSecurityDefinition)
        || ON_PRINCIPALS.into_iter().any(|permission| core.has(db, on, 0, permission))
}

/// Whether the caller may know who is a member of a role of a database: its own memberships, and
/// all with VIEW DEFINITION or ALTER ANY ROLE (db_securityadmin has it).
pub(crate) fn sees_member(core: &mut SessionCore, db: &Arc<Db>, role: i32, member: i32) -> bool {
    if core.may_all() {
        return true;
    }
    let own = core.user_in(db);
    let on = Securable::new(Class::User, role);
    let database = Securable::DATABASE;
    member == own
        || core.security(db).database.is_member(member, own)
        || [Permission::ViewSecurityDefinition, Permission::AlterAnyRole]
            .into_iter()
            .any(|permission| core.has(db, database, 0, permission))
        || ON_PRINCIPALS.into_iter().any(|permission| core.has(db, on, 0, permission))
}

/// The same of the server. Members of fixed roles are known to everybody.
pub(crate) fn sees_server_member(core: &mut SessionCore, role: i32, member: i32) -> bool {
    if core.may_all() || role < FIRST_LOGIN {
        return true;
    }
    let Some(master) = core.host().db_by_id(MASTER) else { return false };
    let own = core.identity.caller.login_id();
    let on = Securable::new(Class::Login, role);
    member == own
        || core.security(&master).server.is_member(member, own)
        || [Permission::ViewAnySecurityDefinition, Permission::AlterAnyServerRole]
            .into_iter()
            .any(|permission| core.has_server(permission))
        || ON_PRINCIPALS.into_iter().any(|permission| core.has(&master, on, 0, permission))
}
