//! CREATE SCHEMA and DROP SCHEMA.

use syntax::ast::{CreateSchema, DropObjects, StmtKind};
use txn::LockMode;
use types::{SqlError, Value};

use super::StmtCtx;
use crate::ddl::tables::lock_catalog;
use catalog::change::DdlChange;
use catalog::errors;
use catalog::fold_name;
use catalog::load::FIRST_USER_SCHEMA;
use catalog::systables::SysTable;

impl StmtCtx<'_> {
    pub(super) fn create_schema(&mut self, stmt: &CreateSchema) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let name = stmt.name.value.as_str();
        let catalog = db.catalog();
        if catalog.schemas.contains_key(&fold_name(name)) {
            return Err(errors::name_taken(name));
        }
        let id = catalog.schema_names.keys().copied().max().unwrap_or(0).max(FIRST_USER_SCHEMA - 1) + 1;
        let open = db.open()?;
        let row = [Value::Int(id), Value::str(name)];
        lock_catalog(self.core, &db, LockMode::IX)?;
        let txn = self.core.txn(&db)?;
        open.trees.put(txn, SysTable::Schemas, &row).map_err(|e| errors::store_error(&db, e))?;
        self.core.remember_ddl(DdlChange::schema(&db, name, id, true));
        for element in &stmt.elements {
            match &element.kind {
                StmtKind::CreateTable(table) => {
                    let mut table = table.clone();
                    table.name.schema.get_or_insert_with(|| stmt.name.clone());
                    self.create_table(&table)?;
                }
                _ => return Err(errors::not_supported("CREATE SCHEMA with this element")),
            }
        }
        Ok(())
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
            if id < FIRST_USER_SCHEMA {
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
        }
        Ok(())
    }
}
