//! What the name of an object means: a table, a view of the system, a user's module; through one
//! synonym. Guarantees: a name means one thing, or is 208 (1087 for a table variable).

use super::Binder;
use super::module_schema;
use super::synonym::{base_of, invalid_synonym};
use catalog::other::OtherObject;
use catalog::{Catalog, Db, MASTER, ModuleDef, TableDef, errors, fold_name};
use logical::view::ViewDef;
use std::sync::Arc;
use syntax::ast;
use types::{SqlError, msg};

/// What a name in FROM means.
pub enum NamedSource {
    Table(Arc<Db>, Arc<TableDef>),
    View(Arc<Db>, &'static dyn ViewDef),
    /// A user's view, procedure or trigger.
    Module(Arc<Db>, Arc<ModuleDef>),
}

impl Binder<'_> {
    /// The table variable of a name. Error: 1087.
    pub fn table_variable(&self, name: &str) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
        let db = self.env.names.variables()?;
        match self.env.temps.find_variable(name, &db) {
            Some(table) => Ok((db, table)),
            None => Err(SqlError::of(msg::UNDECLARED_TABLE_VARIABLE, [&name])),
        }
    }

    /// As [`module_schema::schema_of`], in the text that is being bound.
    pub(super) fn schema_of<'n>(&'n self, catalog: &Catalog, name: &'n ast::ObjectName) -> &'n str {
        module_schema::schema_of(self.schema.as_deref(), catalog, name)
    }

    /// What an object name means. Error: 208.
    pub fn resolve(&self, name: &ast::ObjectName) -> Result<NamedSource, SqlError> {
        self.resolve_through(name, true)
    }

    /// Through a synonym, or where that has led.
    fn resolve_through(
        &self,
        name: &ast::ObjectName,
        synonyms: bool,
    ) -> Result<NamedSource, SqlError> {
        let missing = || errors::invalid_object(&name.to_string());
        if let Some(table) = self.view_rows(name) {
            return Ok(NamedSource::Table(self.db.clone(), table));
        }
        if let Some(server) = &name.server {
            return Err(errors::no_server(&server.value));
        }
        let db = match &name.database {
            Some(db) => {
                let db = self.env.names.find_db(&db.value).ok_or_else(missing)?;
                db.check_usable()?;
                db
            }
            None if name.name.value.starts_with('#') => {
                self.env.names.find_db("tempdb").ok_or_else(missing)?
            }
            None => self.db.clone(),
        };
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        if name.name.value.starts_with('#')
            && let Some(table) = self.env.temps.find(&name.name.value, &db)
        {
            return Ok(NamedSource::Table(db, table));
        }
        let schema = self.schema_of(&catalog, name);
        if let Some(table) = catalog.tables.get(&(fold_name(schema), fold_name(&name.name.value))) {
            return Ok(NamedSource::Table(db, table.clone()));
        }
        if let Some(module) = catalog.find_module(schema, &name.name.value) {
            return Ok(NamedSource::Module(db, module.clone()));
        }
        if let (Some(OtherObject::Synonym(synonym)), true) =
            (catalog.find_other(schema, &name.name.value), synonyms)
        {
            return self
                .resolve_through(&base_of(&db, synonym), false)
                .map_err(|_| invalid_synonym(name));
        }
        let view = self.env.names.view(schema, &name.name.value);
        let view = view.filter(|view| view.schema() != "dbo" || db.id() == MASTER);
        view.map(|view| NamedSource::View(db, view)).ok_or_else(missing)
    }
}

/// A table variable's name as that of an object.
pub fn variable_name(name: &str) -> ast::ObjectName {
    let name = ast::Ident { value: name.into(), quoted: false, span: ast::Span::default() };
    ast::ObjectName { server: None, database: None, schema: None, name }
}
