//! sp_sequence_get_range: many values of a sequence at once.

use ::types::convert::{Mode, convert};
use ::types::{DataType, Len, SqlError, Value, msg};

use super::Call;
use super::params::Param;
use catalog::other::OtherObject;
use catalog::security::{Class, Permission, Securable};
use catalog::{errors, fold_name, sequence};
use metadata::names::name_parts;

const PARAMS: &[Param] = &[
    ("@sequence_name", DataType::NVarChar(Len::N(776))),
    ("@range_size", DataType::BigInt),
    ("@range_first_value", DataType::BigInt),
    ("@range_last_value", DataType::BigInt),
    ("@range_cycle_count", DataType::Int),
    ("@sequence_increment", DataType::BigInt),
    ("@sequence_min_value", DataType::BigInt),
    ("@sequence_max_value", DataType::BigInt),
];

/// EXEC sp_sequence_get_range.
pub fn get_range(call: &mut Call<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_sequence_get_range", 3, PARAMS)?;
    let shown = given.text(0).unwrap_or_default().to_string();
    let parts = name_parts(&shown).ok_or_else(|| errors::invalid_object(&shown))?;
    let db = match parts.get(2).filter(|part| !part.is_empty()) {
        Some(name) => call.core.host().database(name)?,
        None => call.core.db().clone(),
    };
    let catalog = db.catalog();
    let schema = parts.get(1).map_or("", String::as_str);
    let Some(OtherObject::Sequence(def)) = catalog.find_other(schema, &parts[0]).cloned() else {
        return Err(errors::invalid_object(&shown));
    };
    let schema_id = catalog.schemas.get(&fold_name(&def.schema)).copied().unwrap_or(0);
    let on = Securable::new(Class::Object, def.object_id);
    if !call.core.may_all() && !call.core.has(&db, on, schema_id, Permission::Update) {
        return Err(errors::invalid_object(&shown));
    }
    let size = u64::try_from(given.number(1, 0)).unwrap_or(0);
    if size == 0 {
        return Err(SqlError::of(msg::SEQUENCE_RANGE_SIZE, []));
    }
    call.core.lock_sequence(&db, &def)?;
    let range = sequence::range(&db, &def, size)?;
    let options = &def.options;
    let own = |n: i64| convert(&Value::BigInt(n), DataType::BigInt, options.ty, 0, Mode::Implicit);
    let results = [
        own(range.first)?,
        own(range.last)?,
        Value::Int(i32::try_from(range.cycles).unwrap_or(i32::MAX)),
        own(options.increment)?,
        own(options.min)?,
        own(options.max)?,
    ];
    for (i, arg) in call.args.iter().enumerate() {
        let Some(slot) = arg.output else { continue };
        let at = match &arg.name {
            Some(name) => PARAMS.iter().position(|(known, _)| fold_name(known) == fold_name(name)),
            None => Some(i),
        };
        if let Some(value) = at.and_then(|at| at.checked_sub(2)).and_then(|at| results.get(at)) {
            call.outputs.push((slot, value.clone()));
        }
    }
    Ok(0)
}
