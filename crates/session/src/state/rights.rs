//! Asking what the caller may do, and the errors that say that it may not. Guarantees: sysadmin,
//! dbo and db_owner, which are denied nothing, cost one look; what was worked out is used as long
//! as nobody has changed principals or permissions.

use std::sync::Arc;

use bind::mask::MaskedColumn;
use catalog::security::{
    Class, DATABASE_ROLES, DB_OWNER, DBO, GUEST, GrantState, PUBLIC, Permission, SERVER_PUBLIC,
    SYSADMIN, Securable,
};
use catalog::{Db, MASTER, fold_name};
use logical::rights::Right;
use types::{SqlError, msg};

use super::core::SessionCore;
use super::effective::Effective;

impl SessionCore {
    fn version_of(&self, db: &Db) -> u64 {
        match self.transactions.ddl.is_empty() {
            true => db.security_version(),
            false => self.security(db).version,
        }
    }

    fn master(&self) -> Result<Arc<Db>, SqlError> {
        self.host().db_by_id(MASTER).ok_or_else(|| catalog::errors::no_database("master"))
    }

    /// What the caller is and may do in a database.
    ///
    /// # Errors
    /// 916 the caller may not use the database.
    pub fn effective(&mut self, db: &Arc<Db>) -> Result<&mut Effective, SqlError> {
        let at = match self.known_of(db) {
            Some(at) => at,
            None => self.learn(db)?,
        };
        Ok(&mut self.identity.caller.known[at])
    }

    /// Where it stands what was worked out for a database, as long as nobody has changed principals
    /// or permissions.
    #[inline]
    fn known_of(&self, db: &Db) -> Option<usize> {
        let at = self.identity.caller.known.iter().position(|known| known.db == db.id())?;
        let known = &self.identity.caller.known[at];
        let versions = (self.version_of(&known.master), self.version_of(db));
        (known.versions == versions).then_some(at)
    }

    #[cold]
    fn learn(&mut self, db: &Arc<Db>) -> Result<usize, SqlError> {
        let master = self.master()?;
        let versions = (self.version_of(&master), self.version_of(db));
        let made = self.work_out(db, &master, versions)?;
        let known = &mut self.identity.caller.known;
        match known.iter().position(|known| known.db == db.id()) {
            Some(at) => {
                known[at] = made;
                Ok(at)
            }
            None => {
                known.push(made);
                Ok(known.len() - 1)
            }
        }
    }

    fn work_out(
        &self,
        db: &Arc<Db>,
        master: &Arc<Db>,
        versions: (u64, u64),
    ) -> Result<Effective, SqlError> {
        let (server, database) = (self.security(master), self.security(db));
        let mut logins = Vec::new();
        if let Some(login) = self.identity.caller.acting_login() {
            logins.push(login);
            logins.push(SERVER_PUBLIC);
            server.server.close_over_roles(&mut logins);
        }
        let sysadmin = self.identity.caller.is_powerful() || logins.contains(&SYSADMIN);
        let user = match self.identity.caller.acting_user(db.id()) {
            // A principal_id may have been given to another since.
            Some((id, sid)) => database.database.get(id).filter(|p| *p.sid == *sid).map(|p| p.id),
            None if sysadmin => Some(DBO),
            None if self.identity.caller.acting_login().is_none() => None,
            None => database.database.with_sid(self.identity.caller.sid()).map(|p| p.id),
        };
        let mut effective = Effective {
            db: db.id(),
            master: master.clone(),
            versions,
            all: sysadmin || user == Some(DBO),
            sysadmin,
            user: user.unwrap_or(GUEST),
            server,
            database,
            logins,
            users: Vec::new(),
            known: Default::default(),
        };
        effective.users = vec![effective.user, PUBLIC];
        effective.database.database.close_over_roles(&mut effective.users);
        if effective.all {
            return Ok(effective);
        }
        if !effective.has(Securable::DATABASE, 0, Permission::Connect) {
            return Err(no_access(self.identity.caller.name(), &db.name()));
        }
        let principals = &effective.database.database;
        let denied =
            |id: &i32| principals.grants_of(*id).iter().any(|g| g.state == GrantState::Deny);
        let denying =
            DATABASE_ROLES.iter().any(|r| !r.3.is_empty() && effective.users.contains(&r.1));
        effective.all =
            effective.users.contains(&DB_OWNER) && !denying && !effective.users.iter().any(denied);
        Ok(effective)
    }

    /// Whether nothing is asked of the caller.
    #[inline]
    pub fn may_all(&self) -> bool {
        self.identity.caller.is_powerful()
    }

    /// Checks what a plan needs.
    ///
    /// # Errors
    /// 229, 230, 262, 300, 916, 4834.
    #[inline]
    pub fn check_rights(&mut self, rights: &[Right]) -> Result<(), SqlError> {
        if rights.is_empty() || self.may_all() { Ok(()) } else { self.check_each(rights) }
    }

    #[cold]
    fn check_each(&mut self, rights: &[Right]) -> Result<(), SqlError> {
        for right in rights {
            let effective = self.effective(&right.db)?;
            if effective.all && !right.on.class.is_server() {
                continue;
            }
            if right.on.class != Class::Object {
                if !effective.has(right.on, right.schema, right.permission) {
                    return Err(denied(right, 0));
                }
            } else if let Err(column) = effective.columns(right) {
                return Err(denied(right, column));
            }
        }
        Ok(())
    }

    /// Whether the caller may use a database.
    ///
    /// # Errors
    /// 916; 923 and 924 while it is not open to all.
    pub fn check_access(&mut self, db: &Arc<Db>) -> Result<(), SqlError> {
        if !self.may_all() {
            self.effective(db)?;
        }
        self.check_admitted(db)
    }

    /// Whether the caller may go on in the current database: [`Db::check_usable`], and what
    /// [`SessionCore::check_access`] asks. What sessions have in common is only read.
    ///
    /// # Errors
    /// 916, 923, 924, and 945 or another error of a database that is not usable.
    pub fn check_here(&mut self) -> Result<(), SqlError> {
        let db = self.db();
        db.check_usable()?;
        if db.is_open_to_all() && (self.may_all() || self.known_of(db).is_some()) {
            return Ok(());
        }
        let db = db.clone();
        self.check_access(&db)
    }

    /// Whether the caller has a permission; false where it may not even use the database.
    pub fn has(
        &mut self,
        db: &Arc<Db>,
        on: Securable,
        schema: i32,
        permission: Permission,
    ) -> bool {
        if self.may_all() {
            return true;
        }
        self.effective(db).is_ok_and(|effective| effective.has(on, schema, permission))
    }

    /// Whether the caller may see the values of masked columns, of each of them.
    pub fn sees(&mut self, columns: impl Iterator<Item = MaskedColumn>) -> bool {
        if self.may_all() {
            return true;
        }
        for column in columns {
            let Some(db) = self.host().db_by_id(column.db) else { return false };
            let Ok(effective) = self.effective(&db) else { return false };
            if effective.all {
                continue;
            }
            let on = Securable::new(Class::Object, column.table);
            let (permission, columns) = (Permission::Unmask, vec![column.column]);
            if effective
                .columns(&Right { db, on, schema: column.schema, permission, columns })
                .is_err()
            {
                return false;
            }
        }
        true
    }

    /// Whether the caller has a permission of the server.
    pub fn has_server(&mut self, permission: Permission) -> bool {
        if self.may_all() {
            return true;
        }
        let Ok(master) = self.master() else { return false };
        self.has(&master, Securable::SERVER, 0, permission)
    }

    /// Whether the caller is a sysadmin.
    pub fn is_sysadmin(&mut self) -> bool {
        if self.may_all() {
            return true;
        }
        let Ok(master) = self.master() else { return false };
        self.effective(&master).is_ok_and(|effective| effective.logins.contains(&SYSADMIN))
    }

    /// Whether nothing in a database is forbidden to the caller: sysadmin, dbo, db_owner.
    pub fn owns_database(&mut self, db: &Arc<Db>) -> bool {
        self.may_all() || self.effective(db).is_ok_and(|effective| effective.all)
    }

    /// Whether the caller may know of an object: it owns it, or has any permission on it.
    pub fn sees_object(&mut self, db: &Arc<Db>, object_id: i32, schema: i32) -> bool {
        if self.may_all() {
            return true;
        }
        let Ok(effective) = self.effective(db) else { return false };
        if effective.all {
            return true;
        }
        let on = Securable::new(Class::Object, object_id);
        let any = [
            Permission::ViewDefinition,
            Permission::Select,
            Permission::Execute,
            Permission::Insert,
            Permission::Update,
            Permission::Delete,
            Permission::References,
            Permission::Alter,
            Permission::Control,
        ];
        if any.into_iter().any(|p| effective.has(on, schema, p)) {
            return true;
        }
        let principals = &effective.database.database;
        effective.users.iter().any(|id| {
            let own = |g: &catalog::security::Grant| {
                g.on.class == Class::Object
                    && g.on.major == object_id
                    && g.state != GrantState::Deny
            };
            principals.grants_of(*id).iter().any(own)
        })
    }

    /// principal_id of the user that the caller is in a database; guest's where it is nobody.
    pub fn user_in(&mut self, db: &Arc<Db>) -> i32 {
        if self.may_all() {
            DBO
        } else {
            self.effective(db).map_or(GUEST, |effective| effective.user)
        }
    }
}

/// 916.
pub fn no_access(login: &str, database: &str) -> SqlError {
    SqlError::of(msg::NO_DATABASE_ACCESS, [&login, &database])
}

/// 262.
pub fn denied_in(permission: Permission, database: &str) -> SqlError {
    SqlError::of(msg::DATABASE_PERMISSION_DENIED, [&permission.name(), &database])
}

/// 300.
pub fn denied_on_server(permission: Permission) -> SqlError {
    SqlError::of(msg::SERVER_PERMISSION_DENIED, [&permission.name()])
}

/// 4834: BULK INSERT, OPENROWSET(BULK ...).
pub fn denied_bulk() -> SqlError {
    SqlError::of(msg::BULK_PERMISSION, [])
}

fn denied(right: &Right, column: i32) -> SqlError {
    let (database, permission) = (right.db.name(), right.permission.name());
    let catalog = right.db.catalog();
    match right.on.class {
        Class::Server if right.permission == Permission::AdministerBulk => denied_bulk(),
        Class::Server | Class::Login => denied_on_server(right.permission),
        Class::Schema => {
            let name = catalog.schema_names.get(&right.on.major).cloned().unwrap_or_default();
            SqlError::of(msg::SCHEMA_NOT_FOUND, [&name])
        }
        Class::Database | Class::User => denied_in(right.permission, &database),
        Class::Type => {
            let alias = catalog.types.values().find(|def| def.type_id == right.on.major);
            let table = catalog.table_types.values().find(|def| def.type_id == right.on.major);
            let (schema, name) = match (alias, table) {
                (Some(def), _) => (def.schema.clone(), def.name.clone()),
                (_, Some(def)) => (def.schema.clone(), def.name.clone()),
                _ => Default::default(),
            };
            denied_object(right.permission, &name, &database, &schema)
        }
        Class::Object => {
            let table = catalog.by_id.get(&right.on.major);
            let module = catalog.modules.get(&right.on.major);
            let (schema, name) = match (table, module) {
                (Some(table), _) => (table.schema.clone(), table.name.clone()),
                (_, Some(module)) => (module.schema.clone(), module.name.clone()),
                _ => match catalog.others.get(&right.on.major) {
                    Some(other) => (other.schema().clone(), other.name().clone()),
                    None => Default::default(),
                },
            };
            let named =
                table.and_then(|t| t.columns.iter().find(|c| c.column_id == column && column > 0));
            debug_assert!(!fold_name(&name).is_empty(), "a right on an object that is not there");
            match named {
                Some(c) => SqlError::of(
                    msg::COLUMN_PERMISSION_DENIED,
                    [&permission, &c.name, &name, &database, &schema],
                ),
                None => denied_object(right.permission, &name, &database, &schema),
            }
        }
    }
}

/// 229.
fn denied_object(permission: Permission, name: &str, database: &str, schema: &str) -> SqlError {
    SqlError::of(msg::OBJECT_PERMISSION_DENIED, [&permission.name(), &name, &database, &schema])
}
