//! Changes of extended properties, and that they go with what has them.
//! Guarantees: a change is part of its statement's transaction; one transaction at a time adds
//! properties to a database, until it ends; what was dropped has no properties any more, and
//! neither has what gets its id. Files and filegroups are removed outside of all transactions:
//! from then on nobody is shown their properties, which are deleted before another file or
//! filegroup gets the id.

use std::sync::Arc;

use access::ReadMode;
use catalog::properties::{Property, PropertyClass, PropertyHolder, key_of, read, row_of};
use catalog::systables::SysTable;
use catalog::{Db, TableDef, constraints_of, errors, fold_name};
use txn::LockMode;
use txn::locks::LockTarget;
use types::{SqlError, Value};

use session::state::SessionCore;

/// The lock that whoever adds, changes or drops a property holds. Schemas' own ids are small.
const LOCK: LockTarget = LockTarget::Schema(u32::MAX - 1);

/// RANK of a sensitivity classification, as a number.
pub const RANKS: [(&str, i32); 5] =
    [("NONE", 0), ("LOW", 10), ("MEDIUM", 20), ("HIGH", 30), ("CRITICAL", 40)];

/// Waits until nobody else changes properties.
///
/// # Errors
/// 3906, 1205, 1222; why the database cannot be used.
pub fn lock(core: &mut SessionCore, db: &Arc<Db>) -> Result<(), SqlError> {
    db.check_writable()?;
    core.txn(db)?.lock(LOCK, LockMode::X).map_err(|e| errors::db_error(db, &e))
}

/// The properties of a holder as the lock's owner finds them.
pub fn of(db: &Arc<Db>, holder: PropertyHolder) -> Result<Vec<Property>, SqlError> {
    let found = read(&db.open()?.trees, &key_of(holder), ReadMode::Dirty);
    let found = found.map_err(|e| errors::store_error(db, e))?;
    Ok(found.into_iter().map(|(_, property)| property).collect())
}

/// The property of a name.
pub fn find<'p>(list: &'p [Property], name: &str) -> Option<&'p Property> {
    list.iter().find(|property| fold_name(&property.name) == fold_name(name))
}

/// Adds a property, or replaces the one with its number.
pub fn put(
    core: &mut SessionCore,
    db: &Arc<Db>,
    holder: PropertyHolder,
    property: &Property,
) -> Result<(), SqlError> {
    let row = row_of(holder, property)?;
    let open = db.open()?;
    let put = open.trees.put(core.txn(db)?, SysTable::Properties, &row);
    put.map_err(|e| errors::store_error(db, e))
}

/// Deletes a property.
pub fn delete(
    core: &mut SessionCore,
    db: &Arc<Db>,
    holder: PropertyHolder,
    number: i32,
) -> Result<(), SqlError> {
    let mut key = key_of(holder);
    key.push(Value::Int(number));
    let open = db.open()?;
    let deleted = open.trees.delete(core.txn(db)?, SysTable::Properties, &key);
    deleted.map(drop).map_err(|e| errors::store_error(db, e))
}

/// Deletes the properties of a class and id that `gone` tells from their minor_id.
fn forget_if(
    core: &mut SessionCore,
    db: &Arc<Db>,
    class: PropertyClass,
    major: i32,
    gone: impl Fn(i32) -> bool,
) -> Result<(), SqlError> {
    let prefix = [Value::TinyInt(class as u8), Value::Int(major)];
    let found = read(&db.open()?.trees, &prefix, ReadMode::Dirty);
    for (holder, property) in found.map_err(|e| errors::store_error(db, e))? {
        if gone(holder.minor) {
            delete(core, db, holder, property.number)?;
        }
    }
    Ok(())
}

/// What was dropped takes its properties with it.
pub fn forget(
    core: &mut SessionCore,
    db: &Arc<Db>,
    class: PropertyClass,
    major: i32,
) -> Result<(), SqlError> {
    forget_if(core, db, class, major, |_| true)
}

/// Deletes the properties that an earlier filegroup or file with this id has left, before another
/// one gets the id. This is a transaction of its own, like what ALTER DATABASE does besides. It
/// does not wait, because its caller keeps all others from changing databases.
///
/// # Errors
/// 1222 another transaction is changing properties of the database; 3906; what the storage says.
pub fn clear_id(
    core: &mut SessionCore,
    db: &Arc<Db>,
    class: PropertyClass,
    id: i32,
) -> Result<(), SqlError> {
    if of(db, PropertyHolder { class, major: id, minor: 0 })?.is_empty() {
        return Ok(());
    }
    db.check_writable()?;
    core.begin_statement(false)?;
    let done = core.lock_within(db, LOCK, LockMode::X, 0).and_then(|locked| {
        locked.map_err(|e| errors::db_error(db, &e))?;
        forget(core, db, class, id)
    });
    core.end_statement(done)
}

/// Whether what has these properties is there: no filegroup or file that was removed.
pub fn is_there(db: &Db, holder: PropertyHolder) -> bool {
    match holder.class {
        PropertyClass::Dataspace => {
            usize::try_from(holder.major).is_ok_and(|id| id <= db.entry().filegroups.len())
        }
        PropertyClass::DatabaseFile => {
            db.entry().files.iter().any(|file| i32::from(file.file_id) == holder.major)
        }
        _ => true,
    }
}

/// A module was dropped.
pub(crate) fn forget_module(
    core: &mut SessionCore,
    db: &Arc<Db>,
    object_id: i32,
) -> Result<(), SqlError> {
    forget(core, db, PropertyClass::Object, object_id)?;
    forget(core, db, PropertyClass::Parameter, object_id)
}

/// A table was dropped or has another definition: the columns, indexes and constraints that it no
/// longer has take their properties with them.
pub(crate) fn follow_table(
    core: &mut SessionCore,
    db: &Arc<Db>,
    before: &TableDef,
    after: Option<&TableDef>,
) -> Result<(), SqlError> {
    if db.is_autonomous() {
        return Ok(());
    }
    let id = before.object_id;
    forget_if(core, db, PropertyClass::Object, id, |minor| {
        after.is_none_or(|table| {
            minor != 0 && table.columns.iter().all(|column| column.column_id != minor)
        })
    })?;
    forget_if(core, db, PropertyClass::Sensitivity, id, |minor| {
        after.is_none_or(|table| table.columns.iter().all(|column| column.column_id != minor))
    })?;
    forget_if(core, db, PropertyClass::Index, id, |minor| {
        after.is_none_or(|table| table.all_indexes().all(|index| index.index_id != minor))
    })?;
    let kept = after.map(constraints_of).unwrap_or_default();
    for (constraint, _) in constraints_of(before) {
        if kept.iter().all(|(kept, _)| *kept != constraint) {
            forget(core, db, PropertyClass::Object, constraint)?;
        }
    }
    Ok(())
}
