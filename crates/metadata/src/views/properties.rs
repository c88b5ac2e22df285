//! sys.extended_properties and fn_listextendedproperty. Guarantee: a property is shown to whoever
//! may know of what has it.

use std::sync::Arc;

use catalog::properties::{Property, PropertyClass, PropertyHolder, key_of, read};
use catalog::{Db, errors};
use types::{DataType, Len, SqlError, Value};

use super::property_targets::{Level, find};
use super::rights::sees;
use super::{NVARCHAR60, SYSNAME, View, WantedRows, text};
use ddl::properties::{RANKS, is_there};
use session::state::SessionCore;

use DataType::{Int, SqlVariant, TinyInt};

/// Properties by the beginning of their key, as the statement sees them.
fn seen(
    session: &mut SessionCore,
    db: &Arc<Db>,
    prefix: &[Value],
) -> Result<Vec<(PropertyHolder, Property)>, SqlError> {
    let snapshot = session.snapshot(db)?;
    read(&db.open()?.trees, prefix, snapshot.mode()).map_err(|e| errors::store_error(db, e))
}

fn rows(
    session: &mut SessionCore,
    db: &Arc<Db>,
    wanted: &WantedRows<'_>,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let class = wanted.id(0).map(|class| Value::TinyInt(u8::try_from(class).unwrap_or(u8::MAX)));
    // The key begins with the class.
    let major = class.as_ref().and(wanted.id(2)).map(Value::Int);
    let prefix: Vec<Value> = class.into_iter().chain(major).collect();
    let mut found = seen(session, db, &prefix)?;
    found.retain(|(holder, _)| holder.class != PropertyClass::Sensitivity);
    found.retain(|(holder, _)| is_there(db, *holder));
    found.retain(|(holder, _)| !holder.class.is_of_object() || sees(session, db, holder.major));
    let row = |(holder, property): (PropertyHolder, Property)| {
        wanted.part(vec![
            Value::TinyInt(holder.class as u8),
            text(holder.class.description()),
            Value::Int(holder.major),
            Value::Int(holder.minor),
            Value::Str(property.name),
            property.value,
        ])
    };
    Ok(found.into_iter().map(row).collect())
}

/// sys.extended_properties.
pub(crate) static EXTENDED_PROPERTIES: View = View::seeking(
    "extended_properties",
    &[
        ("class", TinyInt, false),
        ("class_desc", NVARCHAR60, true),
        ("major_id", Int, false),
        ("minor_id", Int, false),
        ("name", SYSNAME, false),
        ("value", SqlVariant, true),
    ],
    &[0, 2],
    |_| 100.0,
    rows,
);

/// sys.sensitivity_classifications: a row for each classified column.
pub static SENSITIVITY: View = View::sys(
    "sensitivity_classifications",
    &[
        ("class", Int, false),
        ("class_desc", DataType::VarChar(Len::N(16)), false),
        ("major_id", Int, false),
        ("minor_id", Int, false),
        ("label", SYSNAME, true),
        ("label_id", SYSNAME, true),
        ("information_type", SYSNAME, true),
        ("information_type_id", SYSNAME, true),
        ("rank", Int, true),
        ("rank_desc", SYSNAME, true),
    ],
    |session, db, _| {
        let found = seen(session, db, &[Value::TinyInt(PropertyClass::Sensitivity as u8)])?;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for (holder, property) in found {
            let same = |row: &&mut Vec<Value>| {
                row[2] == Value::Int(holder.major) && row[3] == Value::Int(holder.minor)
            };
            if !rows.last_mut().is_some_and(|row| same(&row)) {
                let mut row = vec![
                    Value::Int(PropertyClass::Object as i32),
                    text(holder.class.description()),
                    Value::Int(holder.major),
                    Value::Int(holder.minor),
                ];
                row.resize(10, Value::Null);
                rows.push(row);
            }
            let Some(row) = rows.last_mut() else { continue };
            // Numbers of properties are the places of columns, from `label` on.
            let at = usize::try_from(property.number).unwrap_or(0) + 3;
            if at == 8
                && let Some((_, rank)) =
                    RANKS.iter().find(|(word, _)| property.value.as_str() == Some(*word))
            {
                row[8] = Value::Int(*rank);
                row[9] = property.value;
            } else if (4..8).contains(&at) {
                row[at] = property.value;
            }
        }
        Ok(rows)
    },
);

/// fn_listextendedproperty(name, level 0 type and name, level 1, level 2); NULL names stand for
/// all.
pub(crate) static FN_LISTEXTENDEDPROPERTY: View = View::function(
    "fn_listextendedproperty",
    7,
    &[
        ("objtype", SYSNAME, true),
        ("objname", SYSNAME, true),
        ("name", SYSNAME, false),
        ("value", SqlVariant, true),
    ],
    |session, db, args| {
        let given =
            |at: usize| args.get(at).and_then(Value::as_str).filter(|text| !text.is_empty());
        let level = |at: usize| Level { kind: given(1 + 2 * at), name: given(2 + 2 * at) };
        let name = given(0).map(catalog::fold_name);
        let mut rows = Vec::new();
        // Levels that make no sense list nothing.
        let levels = [level(0), level(1), level(2)];
        let targets = find(session, db, "fn_listextendedproperty", levels).unwrap_or_default();
        for target in targets {
            if !target.is_seen(session, db) {
                continue;
            }
            for (_, property) in seen(session, db, &key_of(target.holder))? {
                if name.as_ref().is_none_or(|name| *name == catalog::fold_name(&property.name)) {
                    let (kind, object) = match &target.shown {
                        Some((kind, object)) => (text(kind), text(object)),
                        None => (Value::Null, Value::Null),
                    };
                    rows.push(vec![kind, object, Value::Str(property.name), property.value]);
                }
            }
        }
        Ok(rows)
    },
);
