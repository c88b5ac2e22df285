//! What is looked for in a catalog less often than objects by name: constraints by id, tables in
//! order of name. Made from the tables when it is first asked for. Guarantee: a changed or cloned
//! catalog makes it again.

use compact_str::CompactString;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::{TableDef, fold_name};

/// What kind of constraint, and where in its table's definition it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// The index_id of its index.
    PrimaryKey(i32),
    /// The index_id of its index.
    Unique(i32),
    /// The position of the column.
    Default(usize),
    /// The position among the table's CHECK constraints.
    Check(usize),
    /// The position among the table's FOREIGN KEY constraints.
    ForeignKey(usize),
}

/// A constraint and its table.
#[derive(Clone, Debug)]
pub struct ConstraintAt {
    pub table: Arc<TableDef>,
    pub kind: ConstraintKind,
}

impl ConstraintAt {
    /// Its name.
    pub fn name(&self) -> &CompactString {
        name_of(&self.table, self.kind)
    }

    /// sys.objects.type.
    pub fn code(&self) -> &'static str {
        match self.kind {
            ConstraintKind::PrimaryKey(_) => "PK",
            ConstraintKind::Unique(_) => "UQ",
            ConstraintKind::Default(_) => "D ",
            ConstraintKind::Check(_) => "C ",
            ConstraintKind::ForeignKey(_) => "F ",
        }
    }
}

/// The name of a table's constraint.
pub(crate) fn name_of(table: &TableDef, kind: ConstraintKind) -> &CompactString {
    let index = |id: i32| table.all_indexes().find(|index| index.index_id == id);
    let found = match kind {
        ConstraintKind::PrimaryKey(id) | ConstraintKind::Unique(id) => index(id).map(|i| &i.name),
        ConstraintKind::Default(at) => table.columns[at].default.as_ref().map(|d| &d.name),
        ConstraintKind::Check(at) => Some(&table.checks[at].name),
        ConstraintKind::ForeignKey(at) => Some(&table.foreign_keys[at].name),
    };
    debug_assert!(found.is_some(), "a constraint of {} is not there", table.name);
    found.unwrap_or(&table.name)
}

/// The constraints of a table: object_id, kind.
pub fn constraints_of(table: &TableDef) -> Vec<(i32, ConstraintKind)> {
    let key = |index: &Arc<crate::IndexDef>| match (index.primary_key, index.unique_constraint) {
        (Some(id), _) => Some((id, ConstraintKind::PrimaryKey(index.index_id))),
        (_, Some(id)) => Some((id, ConstraintKind::Unique(index.index_id))),
        _ => None,
    };
    let mut list: Vec<_> = table.all_indexes().filter_map(key).collect();
    for (at, column) in table.columns.iter().enumerate() {
        list.extend(column.default.as_ref().map(|d| (d.object_id, ConstraintKind::Default(at))));
    }
    let checks = table.checks.iter().enumerate();
    list.extend(checks.map(|(at, check)| (check.object_id, ConstraintKind::Check(at))));
    let keys = table.foreign_keys.iter().enumerate();
    list.extend(keys.map(|(at, key)| (key.object_id, ConstraintKind::ForeignKey(at))));
    list
}

/// Names of a table's constraints.
pub fn constraint_names(table: &TableDef) -> impl Iterator<Item = &str> {
    let keys = table
        .all_indexes()
        .filter(|i| i.primary_key.is_some() || i.unique_constraint.is_some())
        .map(|i| i.name.as_str());
    let defaults = table.columns.iter().filter_map(|c| c.default.as_ref()).map(|d| d.name.as_str());
    let checks = table.checks.iter().map(|check| check.name.as_str());
    let foreign = table.foreign_keys.iter().map(|key| key.name.as_str());
    keys.chain(defaults).chain(checks).chain(foreign)
}

#[derive(Debug)]
struct SortedTables {
    sorted: Vec<Arc<TableDef>>,
    constraints: HashMap<i32, ConstraintAt>,
}

/// The lookups of a catalog.
#[derive(Debug, Default)]
pub struct Lookups(OnceLock<SortedTables>);

/// A clone is about to become another catalog.
impl Clone for Lookups {
    fn clone(&self) -> Lookups {
        Lookups::default()
    }
}

impl Lookups {
    fn made<'a>(&self, tables: impl Fn() -> Vec<&'a Arc<TableDef>>) -> &SortedTables {
        self.0.get_or_init(|| {
            let mut sorted: Vec<Arc<TableDef>> = tables().into_iter().cloned().collect();
            sorted.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
            let mut made = SortedTables { sorted, constraints: HashMap::new() };
            for table in &made.sorted {
                for (id, kind) in constraints_of(table) {
                    made.constraints.insert(id, ConstraintAt { table: table.clone(), kind });
                }
            }
            made
        })
    }
}

impl crate::Catalog {
    fn lookups(&self) -> &SortedTables {
        self.lookups.made(|| self.by_id.values().collect())
    }

    /// Tables in order of schema and name.
    pub fn sorted(&self) -> Vec<&Arc<TableDef>> {
        self.stored().into_iter().filter(|table| table.of_view.is_none()).collect()
    }

    /// The same, with those that keep the rows of views.
    pub fn stored(&self) -> Vec<&Arc<TableDef>> {
        self.lookups().sorted.iter().collect()
    }

    /// The constraint with this object_id.
    pub fn constraint(&self, id: i32) -> Option<&ConstraintAt> {
        self.lookups().constraints.get(&id)
    }

    /// The object_id of the constraint with this name; an empty schema is `dbo`.
    pub fn constraint_id(&self, schema: &str, name: &str) -> Option<i32> {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        self.constraint_names.get(&(fold_name(schema), fold_name(name))).copied()
    }
}
