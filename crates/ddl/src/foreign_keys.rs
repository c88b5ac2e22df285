//! FOREIGN KEY constraints are made.
//! Guarantees: a foreign key refers to a primary key or a unique key of the same types; cascades of
//! one DELETE or UPDATE come to each table once only; both tables are locked meanwhile.

use std::collections::HashSet;
use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::ReferentialAction;
use types::{SqlError, msg};

use super::constraints::{Constraint, made_up, test_one};
use super::work::Work;
use catalog::given_up::Name;
use catalog::security::Permission;
use catalog::{Catalog, ForeignKeyDef, IndexDef, NewForeignKey, TableDef, fold_name};
use logical::rights::Rights;

/// The rows that a new foreign key finds in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// There are none: the table is being made.
    None,
    /// They must satisfy it.
    Tested,
    /// Nobody looks at them, so the key is not trusted.
    Untested,
}

/// Adds a FOREIGN KEY constraint.
///
/// # Errors
/// 1766 a temporary table, 1767 no such table, 1769 and 1770 no such column, 1773 and 1776 no key
/// there, 1778 and 1753 other types, 1761 and 1762 actions that the columns do not allow, 1785
/// cascades in a circle; 547.
pub fn add_foreign_key(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    new: &NewForeignKey,
    rows: Rows,
) -> Result<Arc<TableDef>, SqlError> {
    let object_id = work.object_id()?;
    let first = new.columns.first().map(CompactString::as_str);
    let name = new.name.clone().unwrap_or_else(|| made_up("FK", &table.name, first, object_id));
    work.wait_for_name(&Name::object(&table.schema, &name))?;
    work.check_free_name(&table.schema, &name)?;
    let parent = parent_of(work, table, new, &name)?;
    let same = parent.object_id == table.object_id;
    if !same {
        work.lock_current(&parent)?;
    }
    let Referenced { columns, key } = match_key(table, &parent, new, &name)?;
    if !same {
        // Who may refer to a table learns which keys it has, and keeps its rows from being deleted.
        let at: Vec<usize> = columns.iter().filter_map(|(_, id)| parent.position(*id)).collect();
        let mut rights = Rights::default();
        rights.need_table(&work.db, &parent, Permission::References, &at);
        work.core.check_rights(&rights.take())?;
    }
    let def = ForeignKeyDef {
        object_id,
        name,
        columns,
        parent: parent.object_id,
        key,
        on_delete: new.on_delete,
        on_update: new.on_update,
        disabled: false,
        untrusted: rows == Rows::Untested || new.not_for_replication,
        not_for_replication: new.not_for_replication,
    };
    check_actions(table, &def)?;
    check_no_instead_of(&work.db.catalog(), table, &def)?;
    check_circles(&work.db.catalog(), table, &def)?;
    let mut next = TableDef::clone(table);
    next.foreign_keys.push(def.clone());
    let next = work.replace(table, next)?;
    if !same {
        // Changes of the other table have one more thing to look at.
        work.publish(Some(parent.clone()), Some(Arc::new(TableDef::clone(&parent))))?;
    }
    if rows == Rows::Tested {
        test_one(work, &next, &Constraint::ForeignKey(def))?;
    }
    Ok(next)
}

/// What is said of a foreign key of a temporary table, which does not get it.
///
/// # Errors
/// What the storage says.
pub fn skipped(work: &Work<'_>, table: &str, new: &NewForeignKey) -> Result<SqlError, SqlError> {
    let first = new.columns.first().map(CompactString::as_str);
    let name = match &new.name {
        Some(name) => name.clone(),
        None => made_up("FK", table, first, work.object_id()?),
    };
    Ok(SqlError::of(msg::FOREIGN_KEY_SKIPPED, [&name]))
}

pub(super) fn parent_of(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    new: &NewForeignKey,
    name: &str,
) -> Result<Arc<TableDef>, SqlError> {
    let shown = &new.parent;
    if shown.database.as_ref().is_some_and(|db| fold_name(&db.value) != fold_name(&work.db.name()))
    {
        return Err(SqlError::of(msg::FOREIGN_KEY_CROSS_DATABASE, [&shown]));
    }
    if shown.name.value.starts_with('#') {
        return Err(SqlError::of(msg::FOREIGN_KEY_TO_TEMPORARY, [&name]));
    }
    let schema = shown.schema.as_ref().map_or("", |s| s.value.as_str());
    let found = work.db.catalog().find(schema, &shown.name.value).cloned();
    match found {
        Some(found) if found.object_id == table.object_id => Ok(table.clone()),
        Some(found) => Ok(found),
        None => Err(SqlError::of(msg::FOREIGN_KEY_INVALID_TABLE, [&name, &shown])),
    }
}

/// What a foreign key refers to: column_id here and there, pair by pair, and the index_id of the
/// key.
struct Referenced {
    columns: Vec<(i32, i32)>,
    key: i32,
}

/// The key of the other table that a foreign key refers to.
fn match_key(
    table: &TableDef,
    parent: &TableDef,
    new: &NewForeignKey,
    name: &str,
) -> Result<Referenced, SqlError> {
    let find = |table: &TableDef, column: &str, missing: msg::Message<3>| {
        table.column(column).ok_or_else(|| SqlError::of(missing, [&name, &column, &table.name]))
    };
    let own =
        new.columns.iter().map(|c| find(table, c, msg::FOREIGN_KEY_INVALID_REFERENCING_COLUMN));
    let own: Vec<usize> = own.collect::<Result<_, _>>()?;
    let primary = parent.all_indexes().find(|index| index.primary_key.is_some());
    let theirs: Vec<usize> = if new.keys.is_empty() {
        let Some(primary) = primary else {
            return Err(SqlError::of(
                msg::FOREIGN_KEY_WITHOUT_PRIMARY_KEY,
                [&name, &parent.full_name()],
            ));
        };
        primary.key.iter().map(|(at, _)| *at).collect()
    } else {
        new.keys
            .iter()
            .map(|c| find(parent, c, msg::FOREIGN_KEY_INVALID_REFERENCED_COLUMN))
            .collect::<Result<_, _>>()?
    };
    if own.len() != theirs.len() {
        return Err(SqlError::of(msg::FOREIGN_KEY_COLUMN_COUNT, [&table.full_name()]));
    }
    let matches = |index: &&Arc<IndexDef>| {
        index.is_key()
            && index.key.len() == theirs.len()
            && index.key.iter().all(|(at, _)| theirs.contains(at))
            && theirs.iter().collect::<HashSet<_>>().len() == theirs.len()
    };
    let Some(key) = primary.filter(matches).or_else(|| parent.all_indexes().find(matches)) else {
        return Err(SqlError::of(msg::FOREIGN_KEY_NO_CANDIDATE_KEY, [&parent.full_name(), &name]));
    };
    let mut pairs = Vec::with_capacity(own.len());
    for (a, b) in own.iter().zip(&theirs) {
        check_types(table, *a, parent, *b, name)?;
        pairs.push((table.columns[*a].column_id, parent.columns[*b].column_id));
    }
    Ok(Referenced { columns: pairs, key: key.index_id })
}

fn check_types(
    table: &TableDef,
    own: usize,
    parent: &TableDef,
    other: usize,
    name: &str,
) -> Result<(), SqlError> {
    let (a, b) = (&table.columns[own], &parent.columns[other]);
    let (child, key) =
        (format!("{}.{}", table.name, a.name), format!("{}.{}", parent.name, b.name));
    if std::mem::discriminant(&a.ty) != std::mem::discriminant(&b.ty) {
        return Err(SqlError::of(msg::FOREIGN_KEY_TYPE_DIFFERS, [&key, &child, &name]));
    }
    if a.ty != b.ty {
        return Err(SqlError::of(msg::FOREIGN_KEY_LENGTH_DIFFERS, [&key, &child, &name]));
    }
    if a.ty.is_string() && a.collation != b.collation {
        return Err(SqlError::of(msg::FOREIGN_KEY_COLLATION_DIFFERS, [&key, &child, &name]));
    }
    Ok(())
}

/// SET NULL and SET DEFAULT need columns that take it.
fn check_actions(table: &TableDef, key: &ForeignKeyDef) -> Result<(), SqlError> {
    let columns = || {
        key.columns.iter().filter_map(|(own, _)| table.position(*own)).map(|at| &table.columns[at])
    };
    for action in [key.on_delete, key.on_update] {
        let (message, what) = match action {
            ReferentialAction::SetNull if columns().any(|c| !c.nullable) => {
                (msg::SET_NULL_NOT_NULLABLE, "SET NULL")
            }
            ReferentialAction::SetDefault
                if columns().any(|c| !c.nullable && c.default.is_none()) =>
            {
                (msg::SET_DEFAULT_WITHOUT_DEFAULT, "SET DEFAULT")
            }
            _ => continue,
        };
        return Err(SqlError::of(message, [&key.name, &what]));
    }
    Ok(())
}

/// 1787: a cascade that a trigger of the table would take the place of.
fn check_no_instead_of(
    catalog: &Catalog,
    table: &TableDef,
    key: &ForeignKeyDef,
) -> Result<(), SqlError> {
    let meets = |action: ReferentialAction, event: &str| {
        action != ReferentialAction::NoAction
            && catalog.instead_of(table.object_id, event).is_some()
    };
    if !meets(key.on_delete, "DELETE") && !meets(key.on_update, "UPDATE") {
        return Ok(());
    }
    Err(SqlError::of(msg::CASCADE_WITH_INSTEAD_OF, [&key.name, &table.name]))
}

/// What happens to rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Delete,
    Update,
}

impl Event {
    /// What a foreign key does to its own table when this happens to the table that it refers to.
    fn cascade(self, key: &ForeignKeyDef) -> Option<Event> {
        let action = match self {
            Event::Delete => key.on_delete,
            Event::Update => key.on_update,
        };
        match (self, action) {
            (_, ReferentialAction::NoAction) => None,
            (Event::Delete, ReferentialAction::Cascade) => Some(Event::Delete),
            // Rows whose key is set to something stay, and so do the rows that refer to them.
            _ => Some(Event::Update),
        }
    }
}

/// 1785: a new foreign key whose cascades would come back to a table, or reach one on two ways: no
/// table may be met twice by what one DELETE or one UPDATE starts.
fn check_circles(catalog: &Catalog, table: &TableDef, new: &ForeignKeyDef) -> Result<(), SqlError> {
    let below = |(id, event): (i32, Event)| -> Vec<(i32, Event)> {
        let known =
            catalog.foreign_keys_to(id).into_iter().map(|(child, key)| (child.object_id, key));
        let added = (id == new.parent).then(|| (table.object_id, new.clone()));
        let keys = known.chain(added);
        keys.filter_map(|(child, key)| Some((child, event.cascade(&key)?))).collect()
    };
    let above = |(id, caused): (i32, Event)| -> Vec<(i32, Event)> {
        let keys =
            catalog.by_id.get(&id).map(|table| table.foreign_keys.as_slice()).unwrap_or_default();
        let causes = keys.iter().flat_map(|key| [(key, Event::Delete), (key, Event::Update)]);
        let causes = causes.filter(|(key, event)| event.cascade(key) == Some(caused));
        causes.map(|(key, event)| (key.parent, event)).collect()
    };
    let begins =
        [Event::Delete, Event::Update].into_iter().filter(|event| event.cascade(new).is_some());
    let mut starts = HashSet::new();
    let mut todo: Vec<_> = begins.map(|event| (new.parent, event)).collect();
    while let Some(start) = todo.pop() {
        if starts.insert(start) {
            todo.extend(above(start));
        }
    }
    if starts.into_iter().any(|start| meets_twice(start, below)) {
        return Err(SqlError::of(msg::CASCADE_CYCLE, [&new.name, &table.name]));
    }
    Ok(())
}

/// Whether the cascades that begin with an event come to a table a second time.
fn meets_twice(start: (i32, Event), below: impl Fn((i32, Event)) -> Vec<(i32, Event)>) -> bool {
    let (mut met, mut todo) = (HashSet::from([start.0]), vec![start]);
    while let Some(event) = todo.pop() {
        for next in below(event) {
            if !met.insert(next.0) {
                return true;
            }
            todo.push(next);
        }
    }
    false
}

/// The foreign key of another table that refers to this one.
pub(crate) fn reference_from_outside(catalog: &Catalog, table: &TableDef) -> Option<ForeignKeyDef> {
    let mut keys = catalog.foreign_keys_to(table.object_id).into_iter();
    keys.find(|(child, _)| child.object_id != table.object_id).map(|(_, key)| key)
}

/// 3725: a key that a foreign key refers to.
///
/// # Errors
/// 3725.
pub fn check_not_referenced(
    catalog: &Catalog,
    table: &TableDef,
    index: &IndexDef,
) -> Result<(), SqlError> {
    let mut keys = catalog.foreign_keys_to(table.object_id).into_iter();
    match keys.find(|(_, key)| key.key == index.index_id) {
        None => Ok(()),
        Some((child, key)) => {
            Err(SqlError::of(msg::CONSTRAINT_REFERENCED, [&index.name, &child.name, &key.name]))
        }
    }
}
