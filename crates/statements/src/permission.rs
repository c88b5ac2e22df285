//! GRANT, DENY, REVOKE.
//! Guarantees: nobody grants what it does not hold with the grant option, own, or administer; what
//! a permission is on is not dropped before the transaction ends, so that none is left behind.

use std::sync::Arc;

use catalog::other::OtherObject;
use catalog::security::{
    Class, DBO, FIRST_LOGIN, Grant, GrantState, Kind, PUBLIC, Permission, Principal, SA,
    SERVER_PUBLIC, Scope, Securable, Security, is_fixed_role,
};
use catalog::{Db, MASTER, ModuleKind, TableDef, errors, fold_name};
use compact_str::CompactString;
use session::state::SessionCore;
use syntax::ast::{Permission as Statement, PermissionItem, PermissionVerb, Securable as Named};
use types::{SqlError, msg};

use super::principal::cannot;
use super::{StmtCtx, database_of};
use instance::security::change::{Change, hold, is_still_there};

/// What a statement is about: the securable, its schema, and the table whose columns may be named.
struct Target {
    on: Securable,
    schema: i32,
    table: Option<Arc<TableDef>>,
    /// The one that it is on, if it is on one.
    principal: Option<Arc<Principal>>,
    /// Of an object: what ALL means.
    all: &'static [Permission],
    /// What 15151 calls it.
    what: &'static str,
    name: CompactString,
}

const OF_TABLE: &[Permission] = &[
    Permission::Select,
    Permission::Insert,
    Permission::Update,
    Permission::Delete,
    Permission::References,
];
const OF_PROCEDURE: &[Permission] = &[Permission::Execute];
const OF_SEQUENCE: &[Permission] = &[Permission::Update];
const OF_DATABASE: &[Permission] = &[
    Permission::BackupDatabase,
    Permission::BackupLog,
    Permission::CreateFunction,
    Permission::CreateProcedure,
    Permission::CreateTable,
    Permission::CreateView,
];

impl StmtCtx<'_> {
    pub(super) fn permission(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        if stmt.grantor.is_some() {
            return Err(errors::not_supported("GRANT, DENY or REVOKE ... AS"));
        }
        let target = self.target(stmt)?;
        let scope = if target.on.class.is_server() { Scope::Server } else { Scope::Database };
        let db = match scope {
            Scope::Server if self.core.db().id() != MASTER => {
                return Err(SqlError::of(msg::SERVER_GRANT_OUTSIDE_MASTER, []));
            }
            _ => self.core.db().clone(),
        };
        let wanted = permissions(&target, &stmt.permissions)?;
        // Nobody waits for what may not be done anyway.
        said_by(self.core, &db, &target, &wanted)?;
        self.hold_target(&db, stmt, &target)?;
        let mut change = Change::begin(self.core, &db)?;
        // Another session may have taken the right back meanwhile.
        let rows = said_by(change.core, &db, &target, &wanted)?;
        let security = change.security();
        if target.principal.as_ref().is_some_and(|of| !is_still_there(&security, scope, of)) {
            return Err(cannot("find", target.what, &target.name));
        }
        for name in &stmt.principals {
            let grantee = grantee(&security, scope, &name.value)?;
            for (on, permission, grantor) in &rows {
                let grant = Grant {
                    on: *on,
                    permission: *permission,
                    grantee: grantee.id,
                    grantor: *grantor,
                    state: GrantState::Grant,
                };
                apply(&mut change, &security, scope, stmt, grant)?;
            }
        }
        change.finish()
    }

    /// What the statement is about stays until the transaction ends.
    fn hold_target(
        &mut self,
        db: &Arc<Db>,
        stmt: &Statement,
        target: &Target,
    ) -> Result<(), SqlError> {
        hold(self.core, db, target.on)?;
        // It may have been dropped, or lost a column, while its lock was waited for.
        let now = self.target(stmt)?;
        let columns_stay = target.table.as_ref().is_none_or(|table| db.is_current(table));
        if now.on == target.on && columns_stay { Ok(()) } else { Err(errors::schema_changed()) }
    }

    fn target(&self, stmt: &Statement) -> Result<Target, SqlError> {
        let Some(named) = &stmt.on else {
            let name = stmt.permissions.first().map_or("", |p| p.name.as_str());
            let of_server = Permission::named(name, Class::Server).is_some();
            let of_database = name == "ALL" || Permission::named(name, Class::Database).is_some();
            return Ok(match of_server && !of_database {
                true => whole(Class::Server, Securable::SERVER, "server"),
                false => whole(Class::Database, Securable::DATABASE, "database"),
            });
        };
        match named.class.as_deref().unwrap_or("OBJECT") {
            "OBJECT" => self.object_target(named),
            "DATABASE" => {
                let db = self.core.db().clone();
                if fold_name(&named.name.name.value) != fold_name(&db.name()) {
                    return Err(cannot("find", "database", &named.name.name.value));
                }
                Ok(whole(Class::Database, Securable::DATABASE, "database"))
            }
            "SCHEMA" => {
                let name = named.name.name.value.as_str();
                let id = self.core.db().catalog().schemas.get(&fold_name(name)).copied();
                let id = id.ok_or_else(|| cannot("find", "schema", name))?;
                let mut target = whole(Class::Schema, Securable::new(Class::Schema, id), "schema");
                target.name = name.into();
                Ok(target)
            }
            "TYPE" => self.type_target(named),
            class @ ("USER" | "ROLE" | "APPLICATION ROLE") => {
                let db = self.core.db().clone();
                let security = self.core.security(&db);
                self.principal_target(&security, Scope::Database, named, class)
            }
            class @ ("LOGIN" | "SERVER ROLE") => {
                let master = self.core.host().database("master")?;
                let security = self.core.security(&master);
                self.principal_target(&security, Scope::Server, named, class)
            }
            other => Err(errors::not_supported(&format!("GRANT, DENY or REVOKE ON {other}::"))),
        }
    }

    fn principal_target(
        &self,
        security: &Security,
        scope: Scope,
        named: &Named,
        class: &str,
    ) -> Result<Target, SqlError> {
        let name = named.name.name.value.as_str();
        let (kind, what, of) = match class {
            "USER" => (Kind::User, "user", Class::User),
            "ROLE" => (Kind::Role, "role", Class::User),
            "APPLICATION ROLE" => (Kind::ApplicationRole, "application role", Class::User),
            "LOGIN" => (Kind::User, "login", Class::Login),
            _ => (Kind::Role, "server role", Class::Login),
        };
        let found = security.of(scope).find(name).filter(|p| p.kind == kind);
        let found = found.ok_or_else(|| cannot("find", what, name))?;
        let mut target = whole(of, Securable::new(of, found.id), what);
        (target.name, target.principal) = (found.name.clone(), Some(found.clone()));
        Ok(target)
    }

    fn type_target(&self, named: &Named) -> Result<Target, SqlError> {
        let name = &named.name;
        let missing = || cannot("find", "type", &name.name.value);
        let catalog = self.core.db().catalog();
        let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
        let schema_id = catalog.schemas.get(&fold_name(schema)).copied().ok_or_else(missing)?;
        let name = name.name.value.as_str();
        let id = match (catalog.find_type(schema, name), catalog.find_table_type(schema, name)) {
            (Some(alias), _) => alias.type_id,
            (_, Some(table)) => table.type_id,
            _ => return Err(missing()),
        };
        let mut target = whole(Class::Type, Securable::new(Class::Type, id), "type");
        (target.schema, target.name) = (schema_id, name.into());
        Ok(target)
    }

    fn object_target(&self, named: &Named) -> Result<Target, SqlError> {
        let name = &named.name;
        let missing = || cannot("find", "object", &name.name.value);
        let db = database_of(self.core, name)?;
        if db.id() != self.core.db().id() {
            return Err(SqlError::of(msg::GRANT_IN_OTHER_DATABASE, []));
        }
        let catalog = db.catalog();
        let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
        let schema_id = catalog.schemas.get(&fold_name(schema)).copied().ok_or_else(missing)?;
        let name = name.name.value.as_str();
        let (id, table, all) = match (catalog.find(schema, name), catalog.find_module(schema, name))
        {
            (Some(table), _) => (table.object_id, Some(table.clone()), OF_TABLE),
            (_, Some(module)) => match module.kind {
                ModuleKind::View => (module.object_id, None, OF_TABLE),
                ModuleKind::InlineFunction | ModuleKind::TableFunction => {
                    (module.object_id, None, OF_TABLE)
                }
                ModuleKind::Trigger => return Err(missing()),
                _ => (module.object_id, None, OF_PROCEDURE),
            },
            _ => match catalog.find_other(schema, name) {
                Some(OtherObject::Sequence(sequence)) => (sequence.object_id, None, OF_SEQUENCE),
                _ => return Err(missing()),
            },
        };
        Ok(Target {
            on: Securable::new(Class::Object, id),
            schema: schema_id,
            table,
            principal: None,
            all,
            what: "object",
            name: name.into(),
        })
    }
}

/// What the permissions are on, each with the principal that gives or takes it.
fn said_by(
    core: &mut SessionCore,
    db: &Arc<Db>,
    target: &Target,
    wanted: &[(Permission, Vec<i32>)],
) -> Result<Vec<(Securable, Permission, i32)>, SqlError> {
    let mut rows = Vec::new();
    for (permission, columns) in wanted {
        let grantor = grantor(core, db, target, *permission)?;
        for column in columns {
            rows.push((Securable { minor: *column, ..target.on }, *permission, grantor));
        }
    }
    Ok(rows)
}

/// In whose name the caller gives or takes a permission. Errors: 15151, 4613.
fn grantor(
    core: &mut SessionCore,
    db: &Arc<Db>,
    target: &Target,
    permission: Permission,
) -> Result<i32, SqlError> {
    let (on, schema) = (target.on, target.schema);
    let refused = || match on.class {
        Class::Database | Class::Server => SqlError::of(msg::GRANTOR_WITHOUT_GRANT, []),
        _ => cannot("find", target.what, &target.name),
    };
    let security = core.security(db);
    if on.class.is_server() {
        let administers = core.is_sysadmin()
            || core.has_server(Permission::ControlServer)
            || (core.identity.caller.login_id() != 0
                && permission != Permission::ControlServer
                && security
                    .server
                    .is_member(catalog::security::SECURITYADMIN, core.identity.caller.login_id()));
        if administers {
            return Ok(SA);
        }
        let mut ids = vec![core.identity.caller.login_id(), SERVER_PUBLIC];
        security.server.close_over_roles(&mut ids);
        return with_option(&security, Scope::Server, &ids, on, permission).ok_or_else(refused);
    }
    let owner = match on.class {
        Class::Object => security.object_owner(on.major, schema),
        Class::Schema => security.schema_owner(on.major),
        Class::Type => security.schema_owner(schema),
        _ => DBO,
    };
    let mut ids = vec![core.user_id(), PUBLIC];
    security.database.close_over_roles(&mut ids);
    let administers = core.owns_database(db)
        || core.has(db, on, schema, Permission::Control)
        // It may give what is on the database's contents, but nobody the database itself.
        || (ids.contains(&catalog::security::DB_SECURITYADMIN)
            && !(on.class == Class::Database && permission == Permission::Control));
    if administers {
        return Ok(owner);
    }
    with_option(&security, Scope::Database, &ids, on, permission).ok_or_else(refused)
}

fn whole(class: Class, on: Securable, what: &'static str) -> Target {
    let all: &[Permission] = if class == Class::Database { OF_DATABASE } else { &[] };
    Target {
        on,
        schema: 0,
        table: None,
        principal: None,
        all,
        what,
        name: CompactString::default(),
    }
}

/// The principal among these that holds a permission with the grant option.
fn with_option(
    security: &Security,
    scope: Scope,
    ids: &[i32],
    on: Securable,
    permission: Permission,
) -> Option<i32> {
    ids.iter().copied().find(|id| {
        let grants = security.of(scope).grants_of(*id).iter();
        grants.into_iter().any(|g| {
            g.on == on && g.permission == permission && g.state == GrantState::GrantWithOption
        })
    })
}

/// The permissions that are named, each with its column_ids; 0 for the whole.
fn permissions(
    target: &Target,
    items: &[PermissionItem],
) -> Result<Vec<(Permission, Vec<i32>)>, SqlError> {
    let mut out = Vec::new();
    for item in items {
        if matches!(item.name.as_str(), "ALL" | "ALL PRIVILEGES") {
            if target.all.is_empty() {
                return Err(errors::syntax_near("ALL"));
            }
            let columns =
                |p: Permission| if p.has_columns() { columns(target, item) } else { Ok(vec![0]) };
            for permission in target.all {
                out.push((*permission, columns(*permission)?));
            }
            continue;
        }
        let found = Permission::named(&item.name, target.on.class);
        let fits = |p: &Permission| {
            target.on.class != Class::Object
                || target.all.contains(p)
                || !p.is_of_rows_or_code()
                || (*p == Permission::Unmask && target.table.is_some())
        };
        let Some(permission) = found.filter(fits) else {
            let known = Permission::ALL.iter().any(|p| p.name() == item.name);
            let message = if known { msg::PRIVILEGE_NOT_COMPATIBLE } else { msg::SYNTAX_NEAR };
            return Err(SqlError::of(message, [&item.name]));
        };
        if !item.columns.is_empty() && !permission.has_columns() {
            return Err(SqlError::of(msg::SUB_ENTITIES_NOT_ALLOWED, [&permission.name()]));
        }
        out.push((permission, columns(target, item)?));
    }
    Ok(out)
}

fn columns(target: &Target, item: &PermissionItem) -> Result<Vec<i32>, SqlError> {
    if item.columns.is_empty() {
        return Ok(vec![0]);
    }
    let Some(table) = &target.table else {
        return Err(errors::not_supported("permissions on columns of what is no table"));
    };
    let id = |name: &syntax::ast::Ident| {
        let found = table.columns.iter().find(|c| fold_name(&c.name) == fold_name(&name.value));
        found
            .map(|c| c.column_id)
            .ok_or_else(|| SqlError::of(msg::COLUMN_NOT_IN_TARGET, [&name.value]))
    };
    item.columns.iter().map(id).collect()
}

fn grantee(security: &Security, scope: Scope, name: &str) -> Result<Arc<Principal>, SqlError> {
    let what = if scope == Scope::Server { "login" } else { "user" };
    let found = security.of(scope).find(name).cloned().ok_or_else(|| cannot("find", what, name))?;
    let (special, fixed_role) = match scope {
        Scope::Server => (found.id == SA, found.id < FIRST_LOGIN && found.id > SERVER_PUBLIC),
        Scope::Database => (matches!(found.id, DBO | 3 | 4), is_fixed_role(found.id)),
    };
    if special {
        return Err(SqlError::of(msg::GRANT_TO_OWNER, []));
    }
    if fixed_role {
        return Err(SqlError::of(msg::GRANT_TO_SPECIAL_ROLE, []));
    }
    Ok(found)
}

fn apply(
    change: &mut Change<'_>,
    security: &Security,
    scope: Scope,
    stmt: &Statement,
    grant: Grant,
) -> Result<(), SqlError> {
    let same = |g: &&Grant| g.on == grant.on && g.permission == grant.permission;
    let held: Vec<Grant> =
        security.of(scope).grants_of(grant.grantee).iter().filter(same).copied().collect();
    match stmt.verb {
        PermissionVerb::Grant => {
            for before in held.iter().filter(|g| g.state == GrantState::Deny) {
                change.delete_grant(scope, before)?;
            }
            let had_option = held
                .iter()
                .any(|g| g.grantor == grant.grantor && g.state == GrantState::GrantWithOption);
            let with = stmt.grant_option || had_option;
            let state = if with { GrantState::GrantWithOption } else { GrantState::Grant };
            change.put_grant(scope, &Grant { state, ..grant })
        }
        PermissionVerb::Deny => {
            take(change, security, scope, stmt, &grant, &held)?;
            change.put_grant(scope, &Grant { state: GrantState::Deny, ..grant })
        }
        PermissionVerb::Revoke => {
            take(change, security, scope, stmt, &grant, &held)?;
            // What was said of single columns goes with the whole.
            let of_columns = |g: &&Grant| {
                g.on.class == grant.on.class
                    && g.on.major == grant.on.major
                    && g.on.minor > 0
                    && g.permission == grant.permission
            };
            if grant.on.minor == 0 && grant.on.class == Class::Object {
                for g in security.of(scope).grants_of(grant.grantee).iter().filter(of_columns) {
                    change.delete_grant(scope, g)?;
                }
            }
            Ok(())
        }
    }
}

/// Takes away what a principal holds, and with CASCADE what it has passed on. Error: 4611 it has
/// passed it on.
fn take(
    change: &mut Change<'_>,
    security: &Security,
    scope: Scope,
    stmt: &Statement,
    grant: &Grant,
    held: &[Grant],
) -> Result<(), SqlError> {
    let mut passed: Vec<Grant> = Vec::new();
    if held.iter().any(|g| g.state == GrantState::GrantWithOption) {
        let mut from = vec![grant.grantee];
        while let Some(id) = from.pop() {
            let by = |g: &&Grant| {
                g.grantor == id
                    && g.grantee != id
                    && g.on == grant.on
                    && g.permission == grant.permission
            };
            for g in security.of(scope).grants().filter(by) {
                if !passed.contains(g) {
                    passed.push(*g);
                    from.push(g.grantee);
                }
            }
        }
        if !stmt.cascade {
            return Err(SqlError::of(msg::REVOKE_NEEDS_CASCADE, []));
        }
    }
    for g in passed {
        change.delete_grant(scope, &g)?;
    }
    for before in held {
        change.delete_grant(scope, before)?;
        // GRANT OPTION FOR leaves the permission itself.
        if stmt.grant_option && before.state != GrantState::Deny {
            change.put_grant(scope, &Grant { state: GrantState::Grant, ..*before })?;
        }
    }
    Ok(())
}
