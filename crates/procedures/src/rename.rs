//! sp_rename: other names for tables, columns, indexes, statistics, constraints, types, and
//! whatever else has its name in a schema. Guarantee: texts that name the object are left as they
//! are; what depends on a name by its definition keeps it (15336).

use std::sync::Arc;

use compact_str::CompactString;
use types::{SqlError, Value, msg};

use super::Call;
use catalog::given_up::Name;
use catalog::statistics::Statistics;
use catalog::{Db, IndexDef, ModuleDef, ModuleKind, TableDef, errors, fold_name};
use ddl::table_def::computed;
use ddl::work::Work;
use ddl::{constraints, modules, others, schemabinding, user_types};
use metadata::names::name_parts;
use metadata::views::modules::columns_of_view;
use statements::statistics;

/// What is renamed, and how.
struct Rename {
    db: Arc<Db>,
    /// As it was given.
    old: String,
    /// Its parts, the last one first.
    parts: Vec<String>,
    new: String,
    kind: String,
}

/// EXEC sp_rename 'name', 'new name' [, 'COLUMN' | 'INDEX' | 'STATISTICS' | 'OBJECT' |
/// 'USERDATATYPE'].
///
/// # Errors
/// 15248 there is no such thing, 15249 no such kind, 15335 the name is taken, 15336 something
/// depends on it.
pub fn rename(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let text =
        |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_string();
    let (old, new) = (text(call.arg(0, "@objname")), text(call.arg(1, "@newname")));
    let kind = text(call.arg(2, "@objtype")).to_ascii_uppercase();
    let parts = name_parts(&old).unwrap_or_default();
    let what = Rename { db: call.core.db().clone(), old, parts, new, kind };
    let mut work = Work::begin(call.core, &what.db)?;
    match what.kind.as_str() {
        "COLUMN" => what.column(&mut work)?,
        "INDEX" => what.index(&mut work)?,
        "STATISTICS" => what.statistics(&mut work)?,
        "USERDATATYPE" => what.data_type(&mut work)?,
        "OBJECT" => what.object(&mut work)?,
        "" => what.any(&mut work).map_err(|e| what.without_kind(e))?,
        "DATABASE" => return Err(errors::not_supported("sp_rename of a database")),
        _ => {
            return Err(SqlError::of(msg::RENAME_TYPE_UNKNOWN, [&what.kind]));
        }
    }
    drop(work);
    call.sink.message(&SqlError::of(msg::RENAME_CAUTION, []))?;
    Ok(0)
}

impl Rename {
    /// 15225 for 15248, where nobody said what kind of thing it is.
    fn without_kind(&self, e: SqlError) -> SqlError {
        if e.number != 15248 {
            return e;
        }
        SqlError::of(msg::ITEM_NOT_FOUND, [&self.old, &self.db.name()])
    }

    fn part(&self, at: usize) -> &str {
        self.parts.get(at).map_or("", String::as_str)
    }

    fn missing(&self) -> SqlError {
        let kind = if self.kind.is_empty() { "(null)" } else { &self.kind };
        SqlError::of(msg::RENAME_TYPE_WRONG, [&kind, &self.old, &self.db.name()])
    }

    fn taken(&self, kind: &str) -> SqlError {
        SqlError::of(msg::NEW_NAME_IN_USE, [&self.new, &kind])
    }

    /// 15336: something depends on the name.
    fn enforced(&self) -> SqlError {
        SqlError::of(msg::RENAME_ENFORCED_DEPENDENCIES, [&self.old])
    }

    /// The table of a column, index or statistics, locked.
    fn table(&self, work: &mut Work<'_>) -> Result<Arc<TableDef>, SqlError> {
        let found = self.db.catalog().find(self.part(2), self.part(1)).cloned();
        let table = found.ok_or_else(|| self.missing())?;
        work.lock_current(&table)?;
        Ok(table)
    }

    /// Without a kind: an object, else a column or an index of a table.
    fn any(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let is_missing = |e: &SqlError| e.number == 15248;
        match self.object(work) {
            Err(e) if is_missing(&e) && self.parts.len() > 1 => match self.column(work) {
                Err(e) if is_missing(&e) => self.index(work),
                done => done,
            },
            Err(e) if is_missing(&e) => self.data_type(work),
            done => done,
        }
    }

    /// A view's columns are called what its text says.
    fn column_of_view(&self, work: &mut Work<'_>, view: &Arc<ModuleDef>) -> Result<(), SqlError> {
        let columns = columns_of_view(work.core, &self.db, view).unwrap_or_default();
        let columns: Vec<CompactString> = columns.into_iter().map(|column| column.name).collect();
        let find =
            |name: &str| columns.iter().position(|column| fold_name(column) == fold_name(name));
        let at = find(self.part(0)).ok_or_else(|| self.missing())?;
        if find(&self.new).is_some_and(|other| other != at) {
            return Err(self.taken("COLUMN"));
        }
        let bound = schemabinding::bound_to(&self.db.catalog(), &view.schema, &view.name).is_some();
        if bound || view.has_option("SCHEMABINDING") {
            return Err(self.enforced());
        }
        modules::rename_column(work, view, &columns, at, &self.new)
    }

    fn column(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let found = self.db.catalog().find_module(self.part(2), self.part(1)).cloned();
        if let Some(view) = found.filter(|module| module.kind == ModuleKind::View) {
            return self.column_of_view(work, &view);
        }
        let table = self.table(work)?;
        let name = self.part(0);
        let at = table.column(name).ok_or_else(|| self.missing())?;
        if table.column(&self.new).is_some_and(|other| other != at) {
            return Err(self.taken("COLUMN"));
        }
        let bound = schemabinding::column_bound_to(&self.db.catalog(), &table, name).is_some()
            || table.temporal.is_history();
        let tests = |index: &Arc<IndexDef>| {
            index.filter.iter().any(|filter| filter.columns().any(|column| column == at))
        };
        let statistics = table.state.statistics.list();
        let measured = |s: &Arc<Statistics>| {
            s.filter.iter().any(|f| f.columns().any(|id| id == table.columns[at].column_id))
        };
        let tested = table.indexes.iter().any(tests)
            || statistics.iter().any(measured)
            || constraints::check_of_column(&table, at).is_some();
        if bound || tested || computed::computed_from(&table, at).is_some() {
            return Err(self.enforced());
        }
        let history = ddl::versioned::history_of(&self.db, &table);
        for table in [Some(table), history].into_iter().flatten() {
            work.lock_current(&table)?;
            let mut next = TableDef::clone(&table);
            next.columns[at].name = self.new.as_str().into();
            work.replace(&table, next)?;
        }
        Ok(())
    }

    fn index(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let table = self.table(work)?;
        let wanted = fold_name(self.part(0));
        let found = table.all_indexes().find(|i| i.index_id > 0 && fold_name(&i.name) == wanted);
        let id = found.ok_or_else(|| self.missing())?.index_id;
        self.index_of(work, &table, id)
    }

    /// Another name for an index, and for the constraint that it may be.
    fn index_of(
        &self,
        work: &mut Work<'_>,
        table: &Arc<TableDef>,
        id: i32,
    ) -> Result<(), SqlError> {
        let folded = fold_name(&self.new);
        let same = |i: &Arc<IndexDef>| i.index_id != id && fold_name(&i.name) == folded;
        if table.all_indexes().any(same)
            || table.state.statistics.list().iter().any(|s| fold_name(&s.name) == folded)
        {
            return Err(self.taken("INDEX"));
        }
        let mut next = TableDef::clone(table);
        let all = std::iter::once(&mut next.storage).chain(&mut next.indexes);
        for index in all.filter(|index| index.index_id == id) {
            if index.primary_key.or(index.unique_constraint).is_some() {
                self.free(work, &table.schema)?;
            }
            Arc::make_mut(index).name = self.new.as_str().into();
        }
        work.replace(table, next).map(drop)
    }

    fn statistics(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let table = self.table(work)?;
        let wanted = fold_name(self.part(0));
        if let Some(index) =
            table.all_indexes().find(|i| i.index_id > 0 && fold_name(&i.name) == wanted)
        {
            return self.index_of(work, &table, index.index_id);
        }
        let known =
            catalog::statistics::find(&table, self.part(0)).ok_or_else(|| self.missing())?;
        if catalog::statistics::find(&table, &self.new).is_some() {
            return Err(self.taken("STATISTICS"));
        }
        statistics::rename(work, &table, &known, &self.new)
    }

    fn data_type(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let catalog = self.db.catalog();
        let alias =
            catalog.find_type(self.part(1), self.part(0)).cloned().ok_or_else(|| self.missing())?;
        work.wait_for_name(&Name::of_type(&alias.schema, &self.new))?;
        user_types::check_name(&self.db.catalog(), &alias.schema, &self.new)
            .map_err(|_| self.taken("USERDATATYPE"))?;
        user_types::alias::rename(work, &alias, &self.new)
    }

    /// What has a name of its own in a schema: table, module, sequence, synonym, constraint.
    fn object(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let catalog = self.db.catalog();
        let (schema, name) = (self.part(1), self.part(0));
        if let Some(table) = catalog.find(schema, name).cloned() {
            work.lock_current(&table)?;
            self.free(work, &table.schema)?;
            if schemabinding::bound_to(&catalog, &table.schema, &table.name).is_some() {
                return Err(self.enforced());
            }
            let next = TableDef { name: self.new.as_str().into(), ..TableDef::clone(&table) };
            return work.replace(&table, next).map(drop);
        }
        if let Some(module) = catalog.find_module(schema, name).cloned() {
            self.free(work, &module.schema)?;
            if schemabinding::bound_to(&catalog, &module.schema, &module.name).is_some() {
                return Err(self.enforced());
            }
            return modules::rename(work, &module, &self.new);
        }
        if let Some(other) = catalog.find_other(schema, name).cloned() {
            self.free(work, other.schema())?;
            return others::rename(work, &other, &self.new);
        }
        self.constraint(work)
    }

    /// The new name is no object's in a schema, nor may become one's again.
    fn free(&self, work: &mut Work<'_>, schema: &str) -> Result<(), SqlError> {
        work.wait_for_name(&Name::object(schema, &self.new))?;
        work.check_free_name(schema, &self.new).map_err(|_| self.taken("OBJECT"))
    }

    fn constraint(&self, work: &mut Work<'_>) -> Result<(), SqlError> {
        let catalog = self.db.catalog();
        let schema = if self.part(1).is_empty() { "dbo" } else { self.part(1) };
        let (schema, folded) = (fold_name(schema), fold_name(self.part(0)));
        let is = |name: &str| fold_name(name) == folded;
        let mut tables = catalog.by_id.values().filter(|table| fold_name(&table.schema) == schema);
        let has = |table: &&Arc<TableDef>| ddl::names::constraint_names(table).any(is);
        let table = tables.find(has).cloned().ok_or_else(|| self.missing())?;
        work.lock_current(&table)?;
        self.free(work, &table.schema)?;
        let key = table
            .all_indexes()
            .find(|i| i.primary_key.or(i.unique_constraint).is_some() && is(&i.name));
        if let Some(index) = key {
            return self.index_of(work, &table, index.index_id);
        }
        let mut next = TableDef::clone(&table);
        let checks = next.checks.iter_mut().map(|check| &mut check.name);
        let keys = next.foreign_keys.iter_mut().map(|key| &mut key.name);
        let defaults =
            next.columns.iter_mut().filter_map(|c| c.default.as_mut()).map(|d| &mut d.name);
        for name in checks.chain(keys).chain(defaults).filter(|name| is(name)) {
            *name = self.new.as_str().into();
        }
        work.replace(&table, next).map(drop)
    }
}
