//! Sequences, synonyms, plan guides: made, changed, dropped, in the session's transaction like a
//! change of a table. The values of a sequence are no part of any transaction: see
//! `catalog::sequence`. Guarantee: a name is free in its schema when an object takes it.

use std::sync::Arc;

use txn::LockMode;
use types::{SqlError, Value, msg};

use super::work::Work;
use catalog::change::DdlChange;
use catalog::given_up::Name;
use catalog::other::{OtherObject, SequenceDef, row_of};
use catalog::systables::SysTable;
use catalog::{errors, fold_name};

/// Puts an object in the place of another, of none or of itself.
///
/// # Errors
/// 2714 the name is taken; what the storage says.
pub fn replace(
    work: &mut Work<'_>,
    before: Option<OtherObject>,
    after: Option<OtherObject>,
) -> Result<(), SqlError> {
    let (db, open) = (work.db.clone(), work.open.clone());
    if let Some(before) = &before {
        work.hold_schema(before.schema())?;
    }
    let catalog = db.catalog();
    let row = |object: &OtherObject| {
        row_of(object, catalog.schemas.get(&fold_name(object.schema())).copied().unwrap_or(1))
    };
    let txn = work.core.txn(&db)?;
    let fail = |e| errors::store_error(&db, e);
    if let Some(before) = &before {
        let (system, values) = row(before);
        open.trees.delete(txn, system, &values).map_err(fail)?;
        // Where it stood goes with it; a restarted sequence has another counter.
        if let OtherObject::Sequence(old) = before {
            let kept = matches!(&after, Some(OtherObject::Sequence(new)) if new.options.counter == old.options.counter);
            if !kept {
                open.trees
                    .delete(txn, SysTable::Identities, &[Value::Int(old.options.counter)])
                    .map_err(fail)?;
            }
        }
    }
    if let Some(after) = &after {
        let (system, values) = row(after);
        open.trees.put(txn, system, &values).map_err(fail)?;
    }
    let change = DdlChange::other(&db, work.core.spid(), before, after)?;
    work.core.remember_ddl(change);
    Ok(())
}

/// Adds an object whose name must be free.
///
/// # Errors
/// 2714; as [`replace`].
pub fn create(work: &mut Work<'_>, object: OtherObject) -> Result<(), SqlError> {
    work.wait_for_name(&Name::object(object.schema(), object.name()))?;
    work.check_free_name(object.schema(), object.name())
        .map_err(|_| errors::name_taken(object.name()))?;
    work.lock(object.object_id(), LockMode::SchM)?;
    replace(work, None, Some(object))
}

/// Locks an object that is to be changed; it must still be the current one.
///
/// # Errors
/// 1205, 1222; that the schema has changed.
pub fn lock(work: &mut Work<'_>, object: &OtherObject) -> Result<(), SqlError> {
    work.lock(object.object_id(), LockMode::SchM)?;
    let catalog = work.db.catalog();
    match catalog.others.get(&object.object_id()) {
        Some(current) if current.is(object) => Ok(()),
        _ => Err(errors::schema_changed()),
    }
}

/// Gives an object another name, which is free.
///
/// # Errors
/// As [`lock`] and [`replace`]; 15336 the DEFAULT of a column takes values of the sequence.
pub fn rename(work: &mut Work<'_>, object: &OtherObject, name: &str) -> Result<(), SqlError> {
    lock(work, object)?;
    if has_user(work, object) {
        return Err(SqlError::of(msg::RENAME_ENFORCED_DEPENDENCIES, [&object.name()]));
    }
    replace(work, Some(object.clone()), Some(object.named(object.schema(), name)))
}

/// Puts an object into another schema, where its name is free.
///
/// # Errors
/// As [`lock`] and [`replace`]; 15348 the DEFAULT of a column takes values of the sequence.
pub fn transfer(work: &mut Work<'_>, object: &OtherObject, schema: &str) -> Result<(), SqlError> {
    lock(work, object)?;
    if has_user(work, object) {
        return Err(SqlError::of(msg::TRANSFER_SCHEMABOUND, []));
    }
    replace(work, Some(object.clone()), Some(object.named(schema, object.name())))
}

/// Whether the DEFAULT of a column takes values of what may be a sequence.
fn has_user(work: &Work<'_>, object: &OtherObject) -> bool {
    let OtherObject::Sequence(sequence) = object else { return false };
    let catalog = work.db.catalog();
    let mut defaults = catalog.by_id.values().flat_map(|table| &table.columns);
    defaults.any(|column| column.default.as_ref().is_some_and(|default| uses(default, sequence)))
}

/// Drops an object.
///
/// # Errors
/// As [`lock`] and [`replace`]; 3729 the DEFAULT of a column takes values of the sequence.
pub fn drop_object(work: &mut Work<'_>, object: OtherObject) -> Result<(), SqlError> {
    lock(work, &object)?;
    let catalog = work.db.catalog();
    if let OtherObject::Sequence(sequence) = &object {
        let mut tables = catalog.by_id.values();
        let user = tables.find_map(|t| {
            t.columns.iter().find_map(|c| c.default.as_ref().filter(|d| uses(d, sequence)))
        });
        if let Some(default) = user {
            return Err(SqlError::of(
                msg::REFERENCED_BY_OBJECT,
                [&"DROP SEQUENCE", &sequence.name, &default.name],
            ));
        }
    }
    replace(work, Some(object), None)
}

/// Whether a DEFAULT takes values of a sequence.
fn uses(default: &catalog::DefaultDef, sequence: &Arc<SequenceDef>) -> bool {
    use syntax::ast::ExprKind;
    let name = |kind: &ExprKind| match kind {
        ExprKind::NextValueFor { sequence, .. } => Some(sequence.clone()),
        _ => None,
    };
    name(&default.expr.kind).is_some_and(|named| {
        let schema = named.schema.as_ref().map_or("dbo", |s| s.value.as_str());
        fold_name(schema) == fold_name(&sequence.schema) && named.name.is(&sequence.name)
    })
}
