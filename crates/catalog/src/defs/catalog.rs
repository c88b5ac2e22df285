//! The names of one database at one schema version, and what each means. Guarantees: adding and
//! taking out keep every index of names in step; versions share what is the same in them.

use super::TableDef;
use crate::fold_name;
use crate::lookups::{Lookups, constraints_of, name_of};
use crate::other::OtherObject;
use crate::policy::PolicyDef;
use crate::security::Security;
use crate::{AliasDef, ForeignKeyDef, ModuleDef, ModuleKind, TableTypeDef};
use compact_str::CompactString;
use rpds::HashTrieMapSync;
use std::sync::Arc;

/// By (schema, name), both folded to lower case. Versions of a map share what is the same in them.
pub type ByName<T> = HashTrieMapSync<(CompactString, CompactString), T>;

/// By object_id or another number.
pub type ById<T> = HashTrieMapSync<i32, T>;

/// Everything that names resolve to in one database, at one schema version. A clone that is changed
/// costs what changes in it.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Raised by each committed or rolled back change of schema.
    pub version: u64,
    /// Tables by (schema, name), both folded to lower case.
    pub tables: ByName<Arc<TableDef>>,
    /// The tables that keep the rows of indexed views, by the view's object_id.
    pub view_rows: ById<i32>,
    /// Tables by object_id.
    pub by_id: ById<Arc<TableDef>>,
    /// The ids of constraints by (schema, name), both folded.
    pub constraint_names: ByName<i32>,
    /// Views, procedures and triggers by object_id.
    pub modules: ById<Arc<ModuleDef>>,
    /// Their ids by (schema, name), both folded.
    pub module_names: ByName<i32>,
    /// Triggers of the database and of the server, which have no schema, by object_id.
    pub ddl_triggers: Vec<i32>,
    /// Sequences, synonyms and security policies by object_id.
    pub others: ById<OtherObject>,
    /// The security policies that are on, by the object_id of each table that they are about.
    pub policies: ById<Arc<PolicyDef>>,
    /// Their ids by (schema, name), both folded.
    pub other_names: ByName<i32>,
    /// Alias types by (schema, name), both folded.
    pub types: ByName<Arc<AliasDef>>,
    /// Table types by (schema, name), both folded. No name is one of an alias type too.
    pub table_types: ByName<Arc<TableTypeDef>>,
    /// Tables with a foreign key to a table, by the id of the table that is referred to; once per
    /// foreign key.
    pub referenced_by: ById<Vec<i32>>,
    /// Schemas by lower-case name.
    pub schemas: HashTrieMapSync<CompactString, i32>,
    /// Schemas' names as written, by schema_id.
    pub schema_names: ById<CompactString>,
    /// Principals, permissions and owners, as committed. Their changes do not raise the version.
    pub security: Arc<Security>,
    /// Bytes of the definitions of tables and modules; temporary ones are charged to the session
    /// that makes them.
    pub bytes: usize,
    /// What is made of the tables when it is asked for.
    pub lookups: Lookups,
}

/// What a table adds to [`Catalog::bytes`].
fn bytes_of(table: &TableDef) -> usize {
    if table.is_temporary() { 0 } else { table.memory() }
}

/// What a module adds to [`Catalog::bytes`].
fn bytes_of_module(module: &ModuleDef) -> usize {
    if module.is_temporary() { 0 } else { module.memory() }
}

impl Catalog {
    /// Adds a table.
    pub fn insert(&mut self, table: Arc<TableDef>) {
        self.lookups = Lookups::default();
        let schema = fold_name(&table.schema);
        match table.of_view {
            Some(view) => self.view_rows.insert_mut(view, table.object_id),
            None => self.tables.insert_mut((schema.clone(), fold_name(&table.name)), table.clone()),
        }
        for key in &table.foreign_keys {
            let mut list = self.referenced_by.get(&key.parent).cloned().unwrap_or_default();
            list.push(table.object_id);
            self.referenced_by.insert_mut(key.parent, list);
        }
        for (id, kind) in constraints_of(&table) {
            let name = fold_name(name_of(&table, kind));
            self.constraint_names.insert_mut((schema.clone(), name), id);
        }
        self.bytes += bytes_of(&table);
        self.by_id.insert_mut(table.object_id, table);
    }

    /// Takes a table out.
    pub fn remove(&mut self, object_id: i32) {
        self.lookups = Lookups::default();
        let Some(table) = self.by_id.get(&object_id).cloned() else { return };
        let schema = fold_name(&table.schema);
        self.by_id.remove_mut(&object_id);
        self.bytes = self.bytes.saturating_sub(bytes_of(&table));
        match table.of_view {
            Some(view) => drop(self.view_rows.remove_mut(&view)),
            None => drop(self.tables.remove_mut(&(schema.clone(), fold_name(&table.name)))),
        }
        for key in &table.foreign_keys {
            if let Some(list) = self.referenced_by.get_mut(&key.parent)
                && let Some(at) = list.iter().position(|id| *id == object_id)
            {
                list.remove(at);
            }
        }
        for (_, kind) in constraints_of(&table) {
            self.constraint_names.remove_mut(&(schema.clone(), fold_name(name_of(&table, kind))));
        }
    }

    /// The rows of an indexed view.
    pub fn rows_of_view(&self, view: i32) -> Option<&Arc<TableDef>> {
        self.view_rows.get(&view).and_then(|id| self.by_id.get(id))
    }

    /// The table with this name; an empty schema is `dbo`.
    pub fn find(&self, schema: &str, name: &str) -> Option<&Arc<TableDef>> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.tables.get(&(fold_name(schema), fold_name(name)))
    }

    /// Adds a module, or puts it in the place of the one with its id.
    pub fn insert_module(&mut self, module: Arc<ModuleDef>) {
        if module.is_ddl_trigger() {
            self.ddl_triggers.retain(|id| *id != module.object_id);
            self.ddl_triggers.push(module.object_id);
        } else {
            let name = (fold_name(&module.schema), fold_name(&module.name));
            self.module_names.insert_mut(name, module.object_id);
        }
        self.bytes += bytes_of_module(&module);
        if let Some(before) = self.modules.get(&module.object_id) {
            self.bytes = self.bytes.saturating_sub(bytes_of_module(before));
        }
        self.modules.insert_mut(module.object_id, module);
    }

    /// Takes a module out.
    pub(crate) fn remove_module(&mut self, object_id: i32) {
        self.ddl_triggers.retain(|id| *id != object_id);
        let Some(module) = self.modules.get(&object_id).cloned() else { return };
        self.modules.remove_mut(&object_id);
        self.bytes = self.bytes.saturating_sub(bytes_of_module(&module));
        if !module.is_ddl_trigger() {
            self.module_names.remove_mut(&(fold_name(&module.schema), fold_name(&module.name)));
        }
    }

    /// The module with this name; an empty schema is `dbo`.
    pub fn find_module(&self, schema: &str, name: &str) -> Option<&Arc<ModuleDef>> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.modules.get(self.module_names.get(&(fold_name(schema), fold_name(name)))?)
    }

    /// The triggers of the database, or those of the server, which only master has.
    pub fn event_triggers(&self, of_server: bool) -> impl Iterator<Item = &Arc<ModuleDef>> {
        let all = self.ddl_triggers.iter().filter_map(|id| self.modules.get(id));
        all.filter(move |trigger| trigger.is_server_trigger() == of_server)
    }

    /// The triggers of the database.
    pub fn ddl_triggers(&self) -> impl Iterator<Item = &Arc<ModuleDef>> {
        self.event_triggers(false)
    }

    /// The trigger of the database, or of the server, with this name.
    pub fn event_trigger(&self, of_server: bool, name: &str) -> Option<&Arc<ModuleDef>> {
        self.event_triggers(of_server).find(|trigger| fold_name(&trigger.name) == fold_name(name))
    }

    /// The trigger of the database with this name.
    pub fn ddl_trigger(&self, name: &str) -> Option<&Arc<ModuleDef>> {
        self.event_trigger(false, name)
    }

    /// Adds a sequence, synonym or policy, or puts it in the place of the one with its id.
    pub(crate) fn insert_other(&mut self, object: OtherObject) {
        let name = (fold_name(object.schema()), fold_name(object.name()));
        self.other_names.insert_mut(name, object.object_id());
        if let OtherObject::Policy(policy) = &object {
            for target in policy.targets().filter(|_| policy.enabled) {
                self.policies.insert_mut(target, policy.clone());
            }
        }
        self.others.insert_mut(object.object_id(), object);
    }

    /// Takes a sequence, synonym or policy out.
    pub(crate) fn remove_other(&mut self, object_id: i32) {
        let Some(object) = self.others.get(&object_id).cloned() else { return };
        self.others.remove_mut(&object_id);
        if let OtherObject::Policy(policy) = &object {
            for target in policy.targets().filter(|_| policy.enabled) {
                self.policies.remove_mut(&target);
            }
        }
        self.other_names.remove_mut(&(fold_name(object.schema()), fold_name(object.name())));
    }

    /// The sequence, synonym or policy with this name; an empty schema is `dbo`.
    pub fn find_other(&self, schema: &str, name: &str) -> Option<&OtherObject> {
        if self.others.is_empty() {
            return None;
        }
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.others.get(self.other_names.get(&(fold_name(schema), fold_name(name)))?)
    }

    /// Whether a security policy, on or off, has a predicate on a table or view.
    pub fn is_in_policy(&self, object_id: i32) -> bool {
        self.others.values().any(|other| match other {
            OtherObject::Policy(policy) => policy.on(object_id).next().is_some(),
            _ => false,
        })
    }

    /// Whether no table, module, sequence or synonym has this name.
    pub fn is_free(&self, schema: &str, name: &str) -> bool {
        self.find(schema, name).is_none()
            && self.find_module(schema, name).is_none()
            && self.find_other(schema, name).is_none()
    }

    /// Adds or takes out an alias type.
    pub(crate) fn set_type(&mut self, alias: &Arc<AliasDef>, present: bool) {
        let name = (fold_name(&alias.schema), fold_name(&alias.name));
        match present {
            true => self.types.insert_mut(name, alias.clone()),
            false => drop(self.types.remove_mut(&name)),
        }
    }

    /// Adds or takes out a table type.
    pub(crate) fn set_table_type(&mut self, def: &Arc<TableTypeDef>, present: bool) {
        let name = (fold_name(&def.schema), fold_name(&def.name));
        match present {
            true => self.table_types.insert_mut(name, def.clone()),
            false => drop(self.table_types.remove_mut(&name)),
        }
    }

    /// The alias type with this name; an empty schema is `dbo`.
    pub fn find_type(&self, schema: &str, name: &str) -> Option<&Arc<AliasDef>> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.types.get(&(fold_name(schema), fold_name(name)))
    }

    /// The alias type with this user_type_id.
    pub fn alias(&self, type_id: i32) -> Option<&Arc<AliasDef>> {
        self.types.values().find(|alias| alias.type_id == type_id)
    }

    /// The table type with this name; an empty schema is `dbo`.
    pub fn find_table_type(&self, schema: &str, name: &str) -> Option<&Arc<TableTypeDef>> {
        if self.table_types.is_empty() {
            return None;
        }
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.table_types.get(&(fold_name(schema), fold_name(name)))
    }

    /// The triggers of a table that are not disabled, in the order of their making.
    pub fn triggers_of(&self, table: i32) -> Vec<Arc<ModuleDef>> {
        let own =
            |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == table && !m.disabled;
        let mut triggers: Vec<_> = self.modules.values().filter(own).cloned().collect();
        triggers.sort_by_key(|trigger| trigger.object_id);
        triggers
    }

    /// The enabled trigger that stands in the place of an action on a table or view.
    pub fn instead_of(&self, object_id: i32, event: &str) -> Option<Arc<ModuleDef>> {
        let own = |m: &&Arc<ModuleDef>| {
            m.kind == ModuleKind::Trigger
                && m.parent == object_id
                && !m.disabled
                && m.stands_for(event)
        };
        self.modules.values().find(own).cloned()
    }

    /// The foreign keys that refer to a table, each with the table that has it.
    pub fn foreign_keys_to(&self, table: i32) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        let mut ids = self.referenced_by.get(&table).cloned().unwrap_or_default();
        ids.sort_unstable();
        ids.dedup();
        let children = ids.iter().filter_map(|id| self.by_id.get(id));
        let keys = children.flat_map(|child| {
            child.foreign_keys.iter().map(move |key| (child.clone(), key.clone()))
        });
        keys.filter(|(_, key)| key.parent == table).collect()
    }

    /// The schema_id of a table's schema.
    pub fn schema_id(&self, table: &TableDef) -> i32 {
        self.schemas.get(&fold_name(&table.schema)).copied().unwrap_or(1)
    }
}
