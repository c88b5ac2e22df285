//! A change of principals, permissions or owners: the rows of the system tables, then all of them
//! read again. Guarantees: one transaction at a time changes those of a database, until it ends;
//! nobody else sees the change before it has committed, and nobody at all after a rollback.

use std::sync::Arc;

use access::ReadMode;
use catalog::change::DdlChange;
use catalog::db::OpenStorage;
use catalog::security::store::{self, grant_row, member_row, owner_row, principal_row};
use catalog::security::{Class, FIRST_USER, Grant, Principal, Scope, Securable, Security};
use catalog::systables::SysTable;
use catalog::{Db, MODEL, TableDef, errors};
use txn::LockMode;
use txn::locks::LockTarget;
use types::{SqlError, Value, msg};

use crate::catalog_locks::{hold_object, lock_schema};
use session::state::SessionCore;

/// The lock that whoever changes principals or permissions holds. Schemas' own ids are small.
const LOCK: LockTarget = LockTarget::Schema(u32::MAX);

/// model has no objects and users of its own: new databases would not get them.
///
/// # Errors
/// 40510.
pub fn check_not_model(db: &Db) -> Result<(), SqlError> {
    match db.id() {
        MODEL => Err(errors::not_supported("a change of objects, users or permissions in model")),
        _ => Ok(()),
    }
}

/// A change in progress, within a statement.
pub struct SecurityChange<'a> {
    pub core: &'a mut SessionCore,
    db: Arc<Db>,
    open: Arc<OpenStorage>,
    security: Arc<Security>,
}

impl<'a> SecurityChange<'a> {
    /// Waits until nobody else changes them. From then on the session's transaction sees them as
    /// they are now: what was found out before about who may do what is to be asked again.
    ///
    /// # Errors
    /// 3906, 1205, 1222; why the database cannot be used.
    pub fn begin(core: &'a mut SessionCore, db: &Arc<Db>) -> Result<SecurityChange<'a>, SqlError> {
        db.check_writable()?;
        check_not_model(db)?;
        let open = db.open()?;
        core.txn(db)?.lock(LOCK, LockMode::X).map_err(|e| errors::db_error(db, &e))?;
        let security = Arc::new(store::load(&open.trees).map_err(|e| errors::store_error(db, e))?);
        // Another session's change is in force for others when it is durable, but it is made.
        if !security.says_as(&core.security(db)) {
            core.remember_ddl(DdlChange::security(db, security.clone()));
        }
        Ok(SecurityChange { core, db: db.clone(), open, security })
    }

    /// They as they were when the change began.
    pub fn security(&self) -> Arc<Security> {
        self.security.clone()
    }

    fn put(&mut self, table: SysTable, row: &[Value]) -> Result<(), SqlError> {
        let txn = self.core.txn(&self.db)?;
        self.open.trees.put(txn, table, row).map_err(|e| errors::store_error(&self.db, e))
    }

    fn delete(&mut self, table: SysTable, key: &[Value]) -> Result<(), SqlError> {
        let txn = self.core.txn(&self.db)?;
        let deleted = self.open.trees.delete(txn, table, key);
        deleted.map(drop).map_err(|e| errors::store_error(&self.db, e))
    }

    /// Adds a principal, or changes it.
    pub fn put_principal(&mut self, scope: Scope, principal: &Principal) -> Result<(), SqlError> {
        self.put(SysTable::Principals, &principal_row(scope, principal))
    }

    /// Takes a principal away, with its memberships, its members and what was granted to it.
    pub fn delete_principal(&mut self, scope: Scope, id: i32) -> Result<(), SqlError> {
        let security = self.security();
        let principals = security.of(scope);
        for (role, member) in
            principals.members().filter(|(role, member)| *role == id || *member == id)
        {
            self.delete(SysTable::Members, &member_row(scope, role, member))?;
        }
        let on = |grant: &&Grant| {
            let own = if scope == Scope::Server { Class::Login } else { Class::User };
            grant.grantee == id || (grant.on.class == own && grant.on.major == id)
        };
        for grant in principals.grants().filter(on) {
            self.delete_grant(scope, grant)?;
        }
        self.delete(SysTable::Principals, &[Value::TinyInt(scope as u8), Value::Int(id)])
    }

    /// Adds a member to a role, or takes it out.
    pub fn set_member(
        &mut self,
        scope: Scope,
        role: i32,
        member: i32,
        present: bool,
    ) -> Result<(), SqlError> {
        let row = member_row(scope, role, member);
        match present {
            true => self.put(SysTable::Members, &row),
            false => self.delete(SysTable::Members, &row),
        }
    }

    /// Adds or replaces a permission.
    pub fn put_grant(&mut self, scope: Scope, grant: &Grant) -> Result<(), SqlError> {
        self.put(SysTable::Permissions, &grant_row(scope, grant))
    }

    /// Takes a permission away.
    pub fn delete_grant(&mut self, scope: Scope, grant: &Grant) -> Result<(), SqlError> {
        self.delete(SysTable::Permissions, &grant_row(scope, grant))
    }

    /// Takes away what was said of the parts of something in the database that `gone` tells: 0 for
    /// the whole, else a column_id.
    fn delete_grants(
        &mut self,
        class: Class,
        major: i32,
        gone: impl Fn(i32) -> bool,
    ) -> Result<(), SqlError> {
        let security = self.security();
        let on_it = |grant: &&Grant| grant.on.class == class && grant.on.major == major;
        for grant in security.database.grants().filter(on_it).filter(|grant| gone(grant.on.minor)) {
            self.delete_grant(Scope::Database, grant)?;
        }
        Ok(())
    }

    /// Sets an owner, or that there is none of its own.
    pub fn set_owner(
        &mut self,
        class: Class,
        major: i32,
        owner: Option<i32>,
    ) -> Result<(), SqlError> {
        match owner {
            Some(owner) => self.put(SysTable::Owners, &owner_row(class, major, owner)),
            None => self.delete(SysTable::Owners, &owner_row(class, major, 0)),
        }
    }

    /// The transaction sees the change from now on, others when it has committed.
    pub fn finish(self) -> Result<(), SqlError> {
        let security =
            store::load(&self.open.trees).map_err(|e| errors::store_error(&self.db, e))?;
        self.core.remember_ddl(DdlChange::security(&self.db, Arc::new(security)));
        Ok(())
    }
}

/// Keeps a schema, an object or a type from being dropped until the transaction ends: what is said
/// of it now would be said of whatever gets its id later. Whether it is still there is to be looked
/// at afterwards. Principals are kept by the lock of [`SecurityChange::begin`].
///
/// # Errors
/// 1205, 1222.
pub fn hold(core: &mut SessionCore, db: &Arc<Db>, on: Securable) -> Result<(), SqlError> {
    match on.class {
        Class::Schema => lock_schema(core, db, on.major, LockMode::SchS),
        Class::Object | Class::Type => hold_object(core, db, on.major),
        _ => Ok(()),
    }
}

/// Whether a principal that was found before the change began has not been dropped meanwhile: its
/// id may be another one's by now.
pub fn is_still_there(security: &Security, scope: Scope, principal: &Principal) -> bool {
    security.of(scope).get(principal.id).is_some_and(|now| now.name == principal.name)
}

/// Keeps the user that a module of the database will run as from being dropped until the
/// transaction ends: it would run as the next one that gets the id.
///
/// # Errors
/// As [`SecurityChange::begin`]; 15151 it has been dropped.
pub fn hold_user(core: &mut SessionCore, db: &Arc<Db>, id: i32) -> Result<(), SqlError> {
    // Others are never dropped.
    if id < FIRST_USER {
        return Ok(());
    }
    let found =
        core.security(db).database.get(id).map(|user| user.name.clone()).unwrap_or_default();
    match SecurityChange::begin(core, db)?.security().database.get(id) {
        Some(now) if now.name == found => Ok(()),
        _ => Err(SqlError::of(msg::CANNOT_CHANGE_MISSING, [&"find", &"user", &found])),
    }
}

/// What was dropped takes its permissions and its owner with it. The caller has SCH-M on it, so
/// that nobody adds to them.
///
/// # Errors
/// As [`SecurityChange::begin`].
pub fn forget(
    core: &mut SessionCore,
    db: &Arc<Db>,
    class: Class,
    major: i32,
) -> Result<(), SqlError> {
    let owned = has(db, SysTable::Owners, &[Value::TinyInt(class as u8), Value::Int(major)])?;
    if !owned && !has_grants(db, class, major)? {
        return Ok(());
    }
    let mut change = SecurityChange::begin(core, db)?;
    change.delete_grants(class, major, |_| true)?;
    if owned {
        change.set_owner(class, major, None)?;
    }
    change.finish()
}

/// The columns that a table no longer has take their permissions with them: another column may get
/// the id of one. The caller has SCH-M on the table.
///
/// # Errors
/// As [`SecurityChange::begin`].
pub fn forget_columns(
    core: &mut SessionCore,
    db: &Arc<Db>,
    before: &TableDef,
    after: &TableDef,
) -> Result<(), SqlError> {
    let stays = |id: i32| after.columns.iter().any(|column| column.column_id == id);
    let all_stay = before.columns.iter().all(|column| stays(column.column_id));
    if all_stay || db.is_autonomous() || !has_grants(db, Class::Object, before.object_id)? {
        return Ok(());
    }
    let mut change = SecurityChange::begin(core, db)?;
    change.delete_grants(Class::Object, before.object_id, |column| column > 0 && !stays(column))?;
    change.finish()
}

fn has_grants(db: &Arc<Db>, class: Class, major: i32) -> Result<bool, SqlError> {
    let scope = Value::TinyInt(Scope::Database as u8);
    has(db, SysTable::Permissions, &[scope, Value::TinyInt(class as u8), Value::Int(major)])
}

/// Whether a table has rows whose key begins so. What is in force does not tell yet what another
/// transaction has just committed.
fn has(db: &Arc<Db>, table: SysTable, key: &[Value]) -> Result<bool, SqlError> {
    let rows = db.open()?.trees.rows(table, key, ReadMode::Dirty);
    Ok(!rows.map_err(|e| errors::store_error(db, e))?.is_empty())
}
