//! CREATE TABLE, DROP TABLE, TRUNCATE TABLE, and DROP of other kinds of objects.

use syntax::ast::{CreateTable, DropKind, DropObjects, Truncate};
use types::SqlError;

use super::table_def::{self, ColumnDefaults};
use super::{StmtCtx, database_of, option_rules, resolve_table};
use crate::ddl::tables;
use catalog::errors;

impl StmtCtx<'_> {
    pub(super) fn create_table(&mut self, stmt: &CreateTable) -> Result<(), SqlError> {
        let db = database_of(self.core, &stmt.name)?;
        db.check_usable()?;
        if stmt.name.name.value.starts_with('#') {
            return Err(errors::not_supported("temporary table"));
        }
        if stmt.on.as_ref().is_some_and(|on| on.column.is_some()) {
            return Err(errors::not_supported("partitioned table"));
        }
        option_rules::check("CREATE TABLE", &stmt.options, option_rules::TABLE)?;
        let nullable = self.core.options.ansi_null_dflt_on;
        let defaults = ColumnDefaults { collation: db.default_collation(), nullable };
        let new = table_def::from_create(stmt, self.text, defaults)?;
        tables::create_table(self.core, &db, new).map(drop)
    }

    pub(super) fn truncate(&mut self, stmt: &Truncate) -> Result<(), SqlError> {
        option_rules::check("TRUNCATE TABLE", &stmt.options, option_rules::TRUNCATE)?;
        let (db, table) = resolve_table(self.core, &stmt.table).map_err(|e| match e.number {
            208 => SqlError::new(
                4701,
                16,
                1,
                format!(
                    "Cannot find the object \"{}\" because it does not exist or you do not have permissions.",
                    stmt.table
                ),
            ),
            _ => e,
        })?;
        tables::truncate_table(self.core, &db, &table)
    }

    pub(super) fn drop_objects(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        match stmt.kind {
            DropKind::Table => {
                for name in &stmt.names {
                    match resolve_table(self.core, name) {
                        Ok((db, table)) => tables::drop_table(self.core, &db, &table)?,
                        Err(e) if e.number == 208 && stmt.if_exists => {}
                        Err(e) if e.number == 208 => {
                            // The table may be another transaction's uncommitted drop, and come back.
                            if !self.core.wait_for_ddl_of_others()? {
                                return Err(errors::cannot_drop("table", &name.to_string()));
                            }
                            return Err(errors::schema_changed());
                        }
                        Err(e) => return Err(e),
                    }
                }
                Ok(())
            }
            DropKind::Schema => self.drop_schema(stmt),
            DropKind::Statistics => Ok(()),
            kind => {
                let (word, text) = kind_name(kind);
                if stmt.if_exists {
                    return Ok(());
                }
                match (word, stmt.names.first()) {
                    (Some(word), Some(name)) => Err(errors::cannot_drop(word, &name.to_string())),
                    _ => Err(errors::not_supported(text)),
                }
            }
        }
    }
}

/// What 3701 calls a kind of object that no database has yet, and the statement's name.
fn kind_name(kind: DropKind) -> (Option<&'static str>, &'static str) {
    match kind {
        DropKind::View => (Some("view"), "DROP VIEW"),
        DropKind::Procedure => (Some("procedure"), "DROP PROCEDURE"),
        DropKind::Function => (Some("function"), "DROP FUNCTION"),
        DropKind::Trigger => (Some("trigger"), "DROP TRIGGER"),
        DropKind::Type => (Some("type"), "DROP TYPE"),
        DropKind::Sequence => (Some("sequence object"), "DROP SEQUENCE"),
        DropKind::Synonym => (Some("synonym"), "DROP SYNONYM"),
        _ => (None, "DROP"),
    }
}
