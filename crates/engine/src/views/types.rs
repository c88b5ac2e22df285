//! sys.types.

use types::{Collation, DataType, Len, Value};

use super::{SYSNAME, View, ViewColumn, bit, text};

use DataType::{Bit, Int, SmallInt, TinyInt};

const COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("system_type_id", TinyInt, false),
    ("user_type_id", Int, false),
    ("schema_id", Int, false),
    ("principal_id", Int, true),
    ("max_length", SmallInt, false),
    ("precision", TinyInt, false),
    ("scale", TinyInt, false),
    ("collation_name", SYSNAME, true),
    ("is_nullable", Bit, true),
    ("is_user_defined", Bit, false),
    ("is_assembly_type", Bit, false),
    ("default_object_id", Int, false),
    ("rule_object_id", Int, false),
    ("is_table_type", Bit, false),
];

/// Each type at its greatest, as sys.types shows them.
const ALL: [DataType; 25] = [
    DataType::UniqueIdentifier,
    DataType::Date,
    DataType::Time(7),
    DataType::DateTime2(7),
    DataType::DateTimeOffset(7),
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::SmallDateTime,
    DataType::Real,
    DataType::Money,
    DataType::DateTime,
    DataType::Float,
    DataType::SqlVariant,
    DataType::Bit,
    DataType::decimal(38, 38),
    DataType::numeric(38, 38),
    DataType::SmallMoney,
    DataType::BigInt,
    DataType::VarBinary(Len::N(8000)),
    DataType::VarChar(Len::N(8000)),
    DataType::Binary(8000),
    DataType::Char(8000),
    DataType::NVarChar(Len::N(4000)),
    DataType::NChar(4000),
];

fn row(name: &str, ty: DataType, user_type_id: i32) -> Vec<Value> {
    let collation = if ty.is_string() { text(Collation::default().name()) } else { Value::Null };
    vec![
        text(name),
        Value::TinyInt(ty.system_type_id()),
        Value::Int(user_type_id),
        Value::Int(4),
        Value::Null,
        Value::SmallInt(ty.max_length()),
        Value::TinyInt(ty.precision()),
        Value::TinyInt(ty.scale()),
        collation,
        bit(name != "sysname"),
        bit(false),
        bit(false),
        Value::Int(0),
        Value::Int(0),
        bit(false),
    ]
}

/// sys.types.
pub static TYPES: View = View::sys("types", COLUMNS, |_, db, _| {
    let mut rows: Vec<Vec<Value>> =
        ALL.iter().map(|ty| row(ty.base_name(), *ty, ty.user_type_id())).collect();
    rows.push(row("sysname", DataType::NVarChar(Len::N(128)), 256));
    let catalog = db.catalog();
    let mut aliases: Vec<_> = catalog.types.values().collect();
    aliases.sort_by_key(|alias| alias.type_id);
    for alias in aliases {
        let mut row = row(&alias.name, alias.base, alias.type_id);
        // schema_id, is_nullable, is_user_defined.
        row[3] = Value::Int(catalog.schemas.get(&catalog::fold_name(&alias.schema)).copied().unwrap_or(1));
        row[9] = bit(alias.nullable);
        row[10] = bit(true);
        rows.push(row);
    }
    Ok(rows)
});
