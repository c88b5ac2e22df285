//! sp_addextendedproperty, sp_updateextendedproperty, sp_dropextendedproperty.

use std::sync::Arc;

use ::types::{DataType, Len, SqlError, Value, msg};
use catalog::properties::{MAX_BYTES, Property, PropertyClass, size};
use catalog::security::Securable;
use catalog::{Db, errors};

use super::ProcedureCall;
use super::params::{GivenValues, NAME, Param};
use ddl::properties::{self, delete, lock, put};
use instance::catalog_locks::hold_object;
use instance::security::change::{SecurityChange, hold};
use metadata::views::property_targets::{Level, PropertyTarget, find};
use statements::cannot;

const KIND: DataType = DataType::VarChar(Len::N(128));

const WITH_VALUE: &[Param] = &[
    ("@name", NAME),
    ("@value", DataType::SqlVariant),
    ("@level0type", KIND),
    ("@level0name", NAME),
    ("@level1type", KIND),
    ("@level1name", NAME),
    ("@level2type", KIND),
    ("@level2name", NAME),
];

const WITHOUT_VALUE: &[Param] = &[
    ("@name", NAME),
    ("@level0type", KIND),
    ("@level0name", NAME),
    ("@level1type", KIND),
    ("@level1name", NAME),
    ("@level2type", KIND),
    ("@level2name", NAME),
];

/// What a call names.
struct NamedProperty {
    name: String,
    target: PropertyTarget,
    /// As messages name the target.
    path: String,
}

/// The property and the one thing that a call names; its levels begin at parameter `first`. Nobody
/// else changes properties from now on.
///
/// # Errors
/// 15600 levels that make no sense, 15135 nothing that the caller may give properties to.
fn named(
    call: &mut ProcedureCall<'_>,
    procedure: &str,
    given: &GivenValues,
    first: usize,
) -> Result<NamedProperty, SqlError> {
    let level = |at: usize| Level {
        kind: given.name(first + 2 * at),
        name: given.name(first + 2 * at + 1),
    };
    let levels = [level(0), level(1), level(2)];
    let invalid = || SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&procedure]);
    let name = given.name(0).ok_or_else(invalid)?.to_owned();
    if levels.iter().any(|level| level.kind.is_some() && level.name.is_none()) {
        return Err(invalid());
    }
    let path: Vec<&str> = levels.iter().filter_map(|level| level.name).collect();
    let path = if path.is_empty() { "object specified".to_owned() } else { path.join(".") };
    let db = call.core.db().clone();
    let target = target_of(call, &db, procedure, levels, &path)?;
    // First what has the property: whoever has locked that may want the lock below, too.
    hold_target(call, &db, &target)?;
    lock(call.core, &db)?;
    // It may have been dropped meanwhile.
    match target_of(call, &db, procedure, levels, &path)? {
        now if now.holder == target.holder => Ok(NamedProperty { name, target, path }),
        _ => Err(errors::schema_changed()),
    }
}

/// The one thing that the levels of a call name.
fn target_of(
    call: &mut ProcedureCall<'_>,
    db: &Arc<Db>,
    procedure: &str,
    levels: [Level<'_>; 3],
    path: &str,
) -> Result<PropertyTarget, SqlError> {
    match find(call.core, db, procedure, levels)?.into_iter().next() {
        Some(target) if target.may_change(call.core, db) => Ok(target),
        _ => Err(SqlError::of(msg::PROPERTY_NOT_PERMITTED, [&path])),
    }
}

/// Keeps what has a property from being dropped until the transaction ends.
///
/// # Errors
/// 1205, 1222; 3906; 15151 a principal that is gone.
fn hold_target(
    call: &mut ProcedureCall<'_>,
    db: &Arc<Db>,
    target: &PropertyTarget,
) -> Result<(), SqlError> {
    let id = target.holder.major;
    match target.holder.class {
        PropertyClass::Principal => {
            let there = SecurityChange::begin(call.core, db)?.security().database.get(id).is_some();
            let name = target.shown.as_ref().map_or("", |(_, name)| name.as_str());
            if there { Ok(()) } else { Err(cannot("find", "user", name)) }
        }
        PropertyClass::Type => hold_object(call.core, db, id),
        // A trigger of the database belongs to no object.
        PropertyClass::Object if target.on == Securable::DATABASE => hold_object(call.core, db, id),
        _ => hold(call.core, db, target.on),
    }
}

/// The value of a call, if it is not too long. A text stays of the caller's type.
fn value(given: &GivenValues) -> Result<Value, SqlError> {
    let value = given.value(1);
    if size(&value) > MAX_BYTES {
        return Err(SqlError::of(msg::PROPERTY_TOO_LONG, []));
    }
    let other = match ::types::variant::parts(&value).0 {
        Value::Str(_) | Value::Bytes(_) => None,
        other => Some(other.clone()),
    };
    Ok(other.unwrap_or(value))
}

fn missing(named: &NamedProperty) -> SqlError {
    SqlError::of(msg::PROPERTY_DOES_NOT_EXIST, [&named.name, &named.path])
}

/// EXEC sp_addextendedproperty name [, value [, levels]].
pub fn add(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_addextendedproperty", 1, WITH_VALUE)?;
    let value = value(&given)?;
    let named = named(call, "sp_addextendedproperty", &given, 2)?;
    let (db, holder) = (call.core.db().clone(), named.target.holder);
    let others = properties::of(&db, holder)?;
    if properties::find(&others, &named.name).is_some() {
        return Err(SqlError::of(msg::PROPERTY_EXISTS, [&named.name, &named.path]));
    }
    let number = others.iter().map(|property| property.number + 1).max().unwrap_or(1);
    put(call.core, &db, holder, &Property { number, name: named.name.into(), value })?;
    Ok(0)
}

/// EXEC sp_updateextendedproperty name [, value [, levels]].
pub fn update(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_updateextendedproperty", 1, WITH_VALUE)?;
    let value = value(&given)?;
    let named = named(call, "sp_updateextendedproperty", &given, 2)?;
    let (db, holder) = (call.core.db().clone(), named.target.holder);
    let list = properties::of(&db, holder)?;
    let old = properties::find(&list, &named.name).ok_or_else(|| missing(&named))?;
    put(call.core, &db, holder, &Property { value, ..old.clone() })?;
    Ok(0)
}

/// EXEC sp_dropextendedproperty name [, levels].
pub fn remove(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_dropextendedproperty", 1, WITHOUT_VALUE)?;
    let named = named(call, "sp_dropextendedproperty", &given, 1)?;
    let (db, holder) = (call.core.db().clone(), named.target.holder);
    let list = properties::of(&db, holder)?;
    let old = properties::find(&list, &named.name).ok_or_else(|| missing(&named))?;
    delete(call.core, &db, holder, old.number)?;
    Ok(0)
}
