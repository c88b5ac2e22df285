//! CREATE SCHEMA and DROP SCHEMA.
//! Guarantees: no two schemas get the same id or name, whoever makes, drops or rolls back at the
//! same time; a schema goes only when nothing is in it and no open transaction has put something
//! into it or taken something out.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use catalog::{Catalog, Db};
use compact_str::CompactString;
use syntax::ast::{CreateSchema, DropObjects, StmtKind};
use txn::locks::LockTarget;
use txn::{LockMode, Resource};
use types::{SqlError, Value, msg};

use super::StmtCtx;
use super::rights::{in_database, may_drop_schema};
use catalog::change::DdlChange;
use catalog::errors;
use catalog::fold_name;
use catalog::load::{FIRST_USER_SCHEMA, is_user_schema};
use catalog::properties::PropertyClass;
use catalog::security::{Class, DBO, PUBLIC, Permission};
use catalog::systables::SysTable;
use ddl::work::SchemaChange;
use instance::catalog_locks::lock_schema;
use instance::security::change::{SecurityChange, forget};

impl StmtCtx<'_> {
    pub(super) fn create_schema(&mut self, stmt: &CreateSchema) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let name = stmt.name.value.as_str();
        check_free(&db.catalog(), name)?;
        let owner = self.schema_owner(&db, stmt)?;
        let open = SchemaChange::begin(self.core, &db)?.open.clone();
        let id = self.new_schema(&db, name)?;
        let row = [Value::Int(id), Value::str(name)];
        let txn = self.core.txn(&db)?;
        open.trees.put(txn, SysTable::Schemas, &row).map_err(|e| errors::store_error(&db, e))?;
        self.core.remember_ddl(DdlChange::schema(&db, name, id, true));
        if owner != DBO {
            let mut change = SecurityChange::begin(self.core, &db)?;
            // The owner may have been dropped before this kept others from changing principals.
            if let Some(named) = &stmt.owner
                && change
                    .security()
                    .database
                    .find(&named.value)
                    .is_none_or(|found| found.id != owner)
            {
                return Err(super::principal::cannot("find", "principal", &named.value));
            }
            change.set_owner(Class::Schema, id, Some(owner))?;
            change.finish()?;
        }
        for element in &stmt.elements {
            match &element.kind {
                StmtKind::CreateTable(table) => {
                    let mut table = table.clone();
                    table.name.schema.get_or_insert_with(|| stmt.name.clone());
                    in_database(self.core, &db, Permission::CreateTable)?;
                    if table
                        .name
                        .schema
                        .as_ref()
                        .is_some_and(|s| fold_name(&s.value) != fold_name(name))
                    {
                        return Err(errors::not_supported(
                            "CREATE SCHEMA with a table of another schema",
                        ));
                    }
                    self.create_table(&table)?;
                }
                _ => return Err(errors::not_supported("CREATE SCHEMA with this element")),
            }
        }
        Ok(())
    }

    /// Whoever makes or drops a schema of a name holds this until the transaction ends.
    fn lock_schema_name(&mut self, db: &Arc<Db>, name: &str) -> Result<(), SqlError> {
        let mut hasher = DefaultHasher::new();
        fold_name(name).hash(&mut hasher);
        // Ids of schemas are below, other locks above. Names that meet in one wait for each other.
        let what = LockTarget::Schema(0x4000_0000 | (hasher.finish() as u32 >> 2));
        self.core.txn(db)?.lock(what, LockMode::X).map_err(|e| errors::db_error(db, &e))
    }

    /// The id of a new schema, whose name must be free. Nobody else puts anything into it before
    /// the transaction ends.
    fn new_schema(&mut self, db: &Arc<Db>, name: &str) -> Result<i32, SqlError> {
        self.lock_schema_name(db, name)?;
        let mut from = FIRST_USER_SCHEMA;
        loop {
            let catalog = db.catalog();
            check_free(&catalog, name)?;
            let used = catalog.schema_names.keys().copied().filter(|id| is_user_schema(*id));
            from = used.max().map_or(FIRST_USER_SCHEMA, |last| last + 1).max(from);
            // Those of the fixed roles are passed over.
            let id = (from..).find(|id| is_user_schema(*id)).unwrap_or(from);
            let what = LockTarget::Schema(id as u32);
            match self.core.lock_within(db, what, LockMode::SchM, 0)? {
                Ok(()) if !db.catalog().schema_names.contains_key(&id) => return Ok(id),
                // Another session took it just now.
                Ok(()) => self.core.unlock_early(db, &Resource { db: db.storage()?.id(), what })?,
                // Another session is taking it, or may still roll back its end.
                Err(e) => match errors::db_error(db, &e) {
                    e if e.number == 1222 => {}
                    e => return Err(e),
                },
            }
            from = id + 1;
        }
    }

    /// The owner of a new schema: AUTHORIZATION's principal, else the caller.
    fn schema_owner(&mut self, db: &Arc<Db>, stmt: &CreateSchema) -> Result<i32, SqlError> {
        let owner = match &stmt.owner {
            None => self.core.user_id(),
            Some(owner) => {
                let security = self.core.security(db);
                let found = security.database.find(&owner.value).filter(|p| p.id != PUBLIC);
                found
                    .map(|p| p.id)
                    .ok_or_else(|| super::principal::cannot("find", "principal", &owner.value))?
            }
        };
        // Chains of ownership are worked out from committed owners.
        if owner != DBO && self.core.trancount() > 0 {
            return Err(errors::not_in_transaction("CREATE SCHEMA ... AUTHORIZATION"));
        }
        Ok(owner)
    }

    pub(super) fn drop_schema(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        for name in &stmt.names {
            let name = name.name.value.as_str();
            let open = SchemaChange::begin(self.core, &db)?.open.clone();
            self.lock_schema_name(&db, name)?;
            let folded = fold_name(name);
            let Some(id) = db.catalog().schemas.get(&folded).copied() else {
                if stmt.if_exists {
                    continue;
                }
                return Err(SqlError::of(msg::CANNOT_CHANGE_MISSING, [&"drop", &"schema", &name]));
            };
            if !is_user_schema(id) {
                return Err(SqlError::of(
                    msg::CANNOT_CHANGE_PRINCIPAL,
                    [&"drop", &"schema", &name],
                ));
            }
            // It may have come back, or be another's, since rights were looked at.
            may_drop_schema(self.core, &db, id, name)?;
            lock_schema(self.core, &db, id, LockMode::SchM)?;
            if let Some(object) = first_in(&db.catalog(), &folded) {
                return Err(SqlError::of(
                    msg::REFERENCED_BY_OBJECT,
                    [&"drop schema", &name, &object],
                ));
            }
            let txn = self.core.txn(&db)?;
            let deleted = open.trees.delete(txn, SysTable::Schemas, &[Value::Int(id)]);
            deleted.map_err(|e| errors::store_error(&db, e))?;
            self.core.remember_ddl(DdlChange::schema(&db, name, id, false));
            forget(self.core, &db, Class::Schema, id)?;
            ddl::properties::forget(self.core, &db, PropertyClass::Schema, id)?;
        }
        Ok(())
    }
}

/// 2714.
fn check_free(catalog: &Catalog, schema: &str) -> Result<(), SqlError> {
    match catalog.schemas.contains_key(&fold_name(schema)) {
        true => Err(errors::name_taken(schema)),
        false => Ok(()),
    }
}

/// The oldest object, else the oldest type, in a schema.
fn first_in(catalog: &Catalog, folded: &str) -> Option<CompactString> {
    let is = |schema: &str| fold_name(schema) == folded;
    let tables = catalog.by_id.values().filter(|t| is(&t.schema)).map(|t| (t.object_id, &t.name));
    let modules = catalog.modules.values().filter(|m| !m.is_ddl_trigger() && is(&m.schema));
    let modules = modules.map(|m| (m.object_id, &m.name));
    let others =
        catalog.others.values().filter(|o| is(o.schema())).map(|o| (o.object_id(), o.name()));
    let table_types =
        catalog.table_types.values().filter(|t| is(&t.schema)).map(|t| (t.type_id, &t.name));
    let types = catalog.types.values().filter(|t| is(&t.schema)).map(|t| (t.type_id, &t.name));
    let objects = tables.chain(modules).chain(others);
    objects.min().or_else(|| table_types.chain(types).min()).map(|(_, name)| name.clone())
}
