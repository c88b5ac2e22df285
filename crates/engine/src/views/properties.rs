//! sys.extended_properties and fn_listextendedproperty. Guarantee: a property is shown to whoever may know of what has it.

use std::sync::Arc;

use catalog::properties::{Holder, Property, key_of, read};
use catalog::{Db, errors};
use types::{DataType, SqlError, Value};

use super::rights::sees;
use super::{NVARCHAR60, SYSNAME, View, Wanted, text};
use crate::properties::targets::{Level, find};
use exec::state::SessionCore;

use DataType::{Int, SqlVariant, TinyInt};

/// Properties by the beginning of their key, as the statement sees them.
fn seen(
    session: &mut SessionCore,
    db: &Arc<Db>,
    prefix: &[Value],
) -> Result<Vec<(Holder, Property)>, SqlError> {
    let snapshot = session.snapshot(db)?;
    read(&db.open()?.trees, prefix, snapshot.mode()).map_err(|e| errors::store_error(db, e))
}

fn rows(session: &mut SessionCore, db: &Arc<Db>, wanted: &Wanted<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
    let class = wanted.id(0).map(|class| Value::TinyInt(u8::try_from(class).unwrap_or(u8::MAX)));
    // The key begins with the class.
    let major = class.as_ref().and(wanted.id(2)).map(Value::Int);
    let prefix: Vec<Value> = class.into_iter().chain(major).collect();
    let mut found = seen(session, db, &prefix)?;
    found.retain(|(holder, _)| !holder.class.is_of_object() || sees(session, db, holder.major));
    let row = |(holder, property): (Holder, Property)| {
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
pub static EXTENDED_PROPERTIES: View = View::seeking(
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

/// fn_listextendedproperty(name, level 0 type and name, level 1, level 2); NULL names stand for all.
pub static FN_LISTEXTENDEDPROPERTY: View = View::function(
    "fn_listextendedproperty",
    7,
    &[
        ("objtype", SYSNAME, true),
        ("objname", SYSNAME, true),
        ("name", SYSNAME, false),
        ("value", SqlVariant, true),
    ],
    |session, db, args| {
        let given = |at: usize| args.get(at).and_then(Value::as_str).filter(|text| !text.is_empty());
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
