//! CREATE SCHEMA and DROP SCHEMA.

use std::sync::Arc;

use catalog::Db;
use syntax::ast::{CreateSchema, DropObjects, StmtKind};
use txn::LockMode;
use types::{SqlError, Value};

use super::StmtCtx;
use super::rights::in_database;
use catalog::change::DdlChange;
use catalog::errors;
use catalog::fold_name;
use catalog::load::{FIRST_USER_SCHEMA, is_user_schema};
use catalog::properties::PropertyClass;
use catalog::security::{Class, DBO, PUBLIC, Permission};
use catalog::systables::SysTable;
use ddl::work::lock_catalog;
use instance::security::change::{Change, forget};

impl StmtCtx<'_> {
    pub(super) fn create_schema(&mut self, stmt: &CreateSchema) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let name = stmt.name.value.as_str();
        let catalog = db.catalog();
        if catalog.schemas.contains_key(&fold_name(name)) {
            return Err(errors::name_taken(name));
        }
        let owner = self.schema_owner(&db, stmt)?;
        let used = catalog.schema_names.keys().copied().filter(|id| is_user_schema(*id));
        let next = used.max().map_or(FIRST_USER_SCHEMA, |last| last + 1);
        // Those of the fixed roles are passed over.
        let id = (next..).find(|id| is_user_schema(*id)).unwrap_or(next);
        let open = db.open()?;
        let row = [Value::Int(id), Value::str(name)];
        lock_catalog(self.core, &db, LockMode::IX)?;
        let txn = self.core.txn(&db)?;
        open.trees.put(txn, SysTable::Schemas, &row).map_err(|e| errors::store_error(&db, e))?;
        self.core.remember_ddl(DdlChange::schema(&db, name, id, true));
        if owner != DBO {
            let mut change = Change::begin(self.core, &db)?;
            change.set_owner(Class::Schema, id, Some(owner))?;
            change.finish()?;
        }
        for element in &stmt.elements {
            match &element.kind {
                StmtKind::CreateTable(table) => {
                    let mut table = table.clone();
                    table.name.schema.get_or_insert_with(|| stmt.name.clone());
                    in_database(self.core, &db, Permission::CreateTable)?;
                    if table.name.schema.as_ref().is_some_and(|s| fold_name(&s.value) != fold_name(name)) {
                        return Err(errors::not_supported("CREATE SCHEMA with a table of another schema"));
                    }
                    self.create_table(&table)?;
                }
                _ => return Err(errors::not_supported("CREATE SCHEMA with this element")),
            }
        }
        Ok(())
    }

    /// Whose a new schema is: AUTHORIZATION's, else the caller's.
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
            let catalog = db.catalog();
            let folded = fold_name(name);
            let Some(&id) = catalog.schemas.get(&folded) else {
                if stmt.if_exists {
                    continue;
                }
                let text = format!(
                    "Cannot drop the schema '{name}', because it does not exist or you do not have permission."
                );
                return Err(SqlError::new(15151, 16, 1, text));
            };
            if !is_user_schema(id) {
                return Err(SqlError::new(15150, 16, 1, format!("Cannot drop the schema '{name}'.")));
            }
            if let Some(table) = catalog.by_id.values().find(|t| fold_name(&t.schema) == folded) {
                let text = format!(
                    "Cannot drop schema '{name}' because it is being referenced by object '{}'.",
                    table.name
                );
                return Err(SqlError::new(3729, 16, 1, text));
            }
            if let Some(module) = catalog.modules.values().find(|m| fold_name(&m.schema) == folded) {
                let text = format!(
                    "Cannot drop schema '{name}' because it is being referenced by object '{}'.",
                    module.name
                );
                return Err(SqlError::new(3729, 16, 1, text));
            }
            let open = db.open()?;
            lock_catalog(self.core, &db, LockMode::IX)?;
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
