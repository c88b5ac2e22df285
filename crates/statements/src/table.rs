//! CREATE TABLE, DROP TABLE, TRUNCATE TABLE, and DROP of other kinds of objects.

use std::sync::Arc;

use syntax::ast::{
    CreateTable, CreateType, Declaration, DropKind, DropObjects, Span, TableElement, Truncate,
    TypeKind, TypeName,
};
use types::{SqlError, msg};

use super::{StmtCtx, database_of, resolve_table, sequence};
use catalog::security::Class;
use catalog::{Db, ModuleKind, errors};
use ddl::system_functions::SystemFunctions;
use ddl::table_def::{self, ColumnDefaults};
use ddl::user_types::table::NewTableType;
use ddl::work::Work;
use ddl::{
    foreign_keys, option_rules, periods, policies, schemabinding, shape, tables, temps, user_types,
};
use instance::security::change::forget;

impl StmtCtx<'_> {
    pub(super) fn create_table(&mut self, stmt: &CreateTable) -> Result<(), SqlError> {
        let db = database_of(self.core, &stmt.name)?;
        db.check_usable()?;
        if stmt.on.as_ref().is_some_and(|on| on.column.is_some()) {
            return Err(errors::not_supported("partitioned table"));
        }
        option_rules::refuse_in_memory(&stmt.options)?;
        option_rules::check("CREATE TABLE", &stmt.options, option_rules::TABLE)?;
        let nullable = self.core.options.ansi_null_dflt_on;
        let quoted_identifier = self.core.options.quoted_identifier;
        let defaults = ColumnDefaults {
            functions: SystemFunctions::of(self.core),
            db: db.clone(),
            collation: match stmt.name.name.value.starts_with('#') {
                true => types::Collation::DEFAULT,
                false => db.default_collation(),
            },
            nullable,
            catalog: db.catalog(),
            quoted_identifier,
        };
        let mut new = table_def::from_create(stmt, self.text, &defaults)?;
        let versioning = periods::versioning_of(&stmt.options)?.flatten();
        let (db, table) = if stmt.name.name.value.starts_with('#') {
            let (keys, name) = (std::mem::take(&mut new.foreign_keys), new.name.clone());
            let table = temps::create(self.core, new)?;
            let db = temps::tempdb(self.core)?;
            for key in &keys {
                let said = foreign_keys::skipped(&Work::begin(self.core, &db)?, &name, key)?;
                self.sink.message(&said)?;
            }
            (db, table)
        } else {
            let table = tables::create_table(self.core, &db, new)?;
            (db, table)
        };
        if let Some(warning) = shape::warning(&table, &stmt.name.name.value) {
            self.sink.message(&warning)?;
        }
        match versioning {
            None => Ok(()),
            Some(versioning) => ddl::temporal::switch_on(self.core, &db, &table, &versioning),
        }
    }

    /// DECLARE @t TABLE.
    pub(super) fn declare_tables(&mut self, list: &[Declaration]) -> Result<(), SqlError> {
        for item in list {
            let (name, elements) = match item {
                Declaration::Table { name, elements, .. } => (name, elements),
                Declaration::Scalar { name, data_type, .. } => {
                    self.declare_typed(name, data_type)?;
                    continue;
                }
                Declaration::Cursor { .. } => continue,
            };
            let db = self.core.db().clone();
            let new = table_def::of_variable(self.core, name, elements, self.text, &db)?;
            if !new.foreign_keys.is_empty() {
                return Err(errors::syntax_near("REFERENCES"));
            }
            temps::declare(self.core, new, None)?;
        }
        Ok(())
    }

    /// DECLARE @t of a table type.
    fn declare_typed(&mut self, name: &str, data_type: &TypeName) -> Result<(), SqlError> {
        let db = self.core.db().clone();
        let catalog = db.catalog();
        let Some(def) = table_def::table_type(data_type, &catalog) else { return Ok(()) };
        let new = table_def::from_type(SystemFunctions::of(self.core), def, name, &db)?;
        temps::declare(self.core, new, Some(def.type_id))
    }

    pub(super) fn create_type(&mut self, stmt: &CreateType, span: Span) -> Result<(), SqlError> {
        let db = database_of(self.core, &stmt.name)?;
        let schema = stmt.name.schema.as_ref().map_or("", |s| s.value.as_str());
        let name = &stmt.name.name.value;
        match &stmt.kind {
            TypeKind::Alias { base, nullable } => {
                let base = table_def::built_in(base)?;
                user_types::alias::create(
                    self.core,
                    &db,
                    schema,
                    name,
                    base,
                    nullable.unwrap_or(true),
                )
            }
            TypeKind::Table { elements, options } => {
                option_rules::refuse_in_memory(options)?;
                option_rules::check("CREATE TYPE", options, option_rules::TABLE_TYPE)?;
                let new = NewTableType {
                    schema,
                    name,
                    text: span.text(self.text),
                    quoted_identifier: self.core.options.quoted_identifier,
                    nullable: self.core.options.ansi_null_dflt_on,
                };
                periods::check_none(elements)?;
                table_def::check_type_elements(elements)?;
                self.try_table_type(stmt, elements, &db)?;
                user_types::table::create(self.core, &db, &new)
            }
        }
    }

    /// Makes a table as variables of the type have it, and takes it away: what is wrong with
    /// columns and constraints is wrong with the type.
    fn try_table_type(
        &mut self,
        stmt: &CreateType,
        elements: &[TableElement],
        db: &Arc<Db>,
    ) -> Result<(), SqlError> {
        let created = CreateTable {
            name: stmt.name.clone(),
            elements: elements.to_vec(),
            on: None,
            textimage_on: None,
            options: Vec::new(),
        };
        let defaults = ColumnDefaults {
            functions: SystemFunctions::of(self.core),
            db: db.clone(),
            collation: db.default_collation(),
            nullable: self.core.options.ansi_null_dflt_on,
            catalog: db.catalog(),
            quoted_identifier: self.core.options.quoted_identifier,
        };
        let mut new = table_def::from_create(&created, self.text, &defaults)?;
        if !new.foreign_keys.is_empty() {
            return Err(errors::syntax_near("REFERENCES"));
        }
        let variables = self.core.host().variables_db()?;
        new.schema = Default::default();
        new.forget_types();
        new.name = format!("#type {}", new.name).into();
        let table = tables::create_table(self.core, &variables, new)?;
        tables::drop_table(self.core, &variables, &table)
    }

    fn drop_types(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        for name in &stmt.names {
            let db = database_of(self.core, name)?;
            let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
            match user_types::drop_type(self.core, &db, schema, &name.name.value) {
                Err(e) if e.number == 218 && stmt.if_exists => {}
                other => other?,
            }
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, stmt: &Truncate) -> Result<(), SqlError> {
        option_rules::check("TRUNCATE TABLE", &stmt.options, option_rules::TRUNCATE)?;
        let (db, table) = resolve_table(self.core, &stmt.table).map_err(|e| match e.number {
            208 => SqlError::of(msg::TRUNCATE_OBJECT_NOT_FOUND, [&stmt.table]),
            _ => e,
        })?;
        tables::truncate_table(self.core, &db, &table)
    }

    pub(super) fn drop_objects(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        match stmt.kind {
            DropKind::Table => {
                for name in &stmt.names {
                    let looked = self.core.looked();
                    match resolve_table(self.core, name) {
                        Ok((db, table)) => {
                            let catalog = db.catalog();
                            schemabinding::check_free(
                                &catalog,
                                "DROP TABLE",
                                &table.schema,
                                &table.name,
                            )?;
                            if catalog.is_in_policy(table.object_id) {
                                policies::forget_table(
                                    &mut Work::begin(self.core, &db)?,
                                    table.object_id,
                                )?;
                            }
                            tables::drop_table(self.core, &db, &table)?;
                            forget(self.core, &db, Class::Object, table.object_id)?;
                        }
                        Err(e) if e.number == 208 => {
                            if !stmt.if_exists {
                                self.check_is_table(name)?;
                            }
                            // Another transaction may have dropped it, and take it back.
                            self.settle_missing(name, looked)?;
                            if !stmt.if_exists {
                                return Err(errors::cannot_drop("table", &name.to_string()));
                            }
                        }
                        Err(e) => return Err(e),
                    }
                }
                Ok(())
            }
            DropKind::View => self.drop_modules(stmt, ModuleKind::View),
            DropKind::Procedure => self.drop_modules(stmt, ModuleKind::Procedure),
            DropKind::Trigger => self.drop_modules(stmt, ModuleKind::Trigger),
            DropKind::Function => self.drop_modules(stmt, ModuleKind::ScalarFunction),
            DropKind::Schema => self.drop_schema(stmt),
            DropKind::Type => self.drop_types(stmt),
            DropKind::Statistics => self.drop_statistics(stmt),
            DropKind::Login => self.drop_login(stmt),
            DropKind::ServerRole => self.drop_server_role(stmt),
            DropKind::User => self.drop_user(stmt),
            DropKind::Role => self.drop_role(stmt),
            DropKind::ApplicationRole => self.drop_application_role(stmt),
            DropKind::SecurityPolicy => self.drop_security_policy(stmt),
            DropKind::Sequence => self.drop_others(stmt, sequence::SEQUENCE),
            DropKind::Synonym => self.drop_others(stmt, sequence::SYNONYM),
            _ if stmt.if_exists => Ok(()),
            _ => Err(errors::not_supported("DROP")),
        }
    }
}
