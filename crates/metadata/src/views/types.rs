//! sys.types.

use std::sync::Arc;

use catalog::{Catalog, TableTypeDef};
use types::{Collation, DataType, Len, Value};

use super::absent::TABLE_TYPE_COLUMNS;
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
const ALL: [DataType; 31] = [
    DataType::VarBinary(Len::Old),
    DataType::VarChar(Len::Old),
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
    DataType::NVarChar(Len::Old),
    DataType::Bit,
    DataType::decimal(38, 38),
    DataType::numeric(38, 38),
    DataType::SmallMoney,
    DataType::BigInt,
    DataType::VarBinary(Len::N(8000)),
    DataType::VarChar(Len::N(8000)),
    DataType::Binary(8000),
    DataType::RowVersion,
    DataType::Char(8000),
    DataType::NVarChar(Len::N(4000)),
    DataType::NChar(4000),
    DataType::Xml,
    DataType::HierarchyId,
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
        bit(ty == DataType::HierarchyId),
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
        row[3] = Value::Int(
            catalog.schemas.get(&catalog::fold_name(&alias.schema)).copied().unwrap_or(1),
        );
        row[9] = bit(alias.nullable);
        row[10] = bit(true);
        rows.push(row);
    }
    rows.extend(table_types(&catalog).map(|def| table_type_row(&catalog, def)));
    Ok(rows)
});

/// System type of a table type.
pub const TABLE: u8 = 243;

fn table_types(catalog: &Catalog) -> impl Iterator<Item = &Arc<TableTypeDef>> {
    let mut types: Vec<_> = catalog.table_types.values().collect();
    types.sort_by_key(|def| def.type_id);
    types.into_iter()
}

fn table_type_row(catalog: &Catalog, def: &TableTypeDef) -> Vec<Value> {
    let schema = catalog.schemas.get(&catalog::fold_name(&def.schema)).copied().unwrap_or(1);
    vec![
        text(&def.name),
        Value::TinyInt(TABLE),
        Value::Int(def.type_id),
        Value::Int(schema),
        Value::Null,
        Value::SmallInt(-1),
        Value::TinyInt(0),
        Value::TinyInt(0),
        Value::Null,
        bit(false),
        bit(true),
        bit(false),
        Value::Int(0),
        Value::Int(0),
        bit(true),
    ]
}

/// sys.table_types.
pub(crate) static TABLE_TYPES: View = View::sys("table_types", TABLE_TYPE_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let row = |def: &Arc<TableTypeDef>| {
        let mut row = table_type_row(&catalog, def);
        row.extend([Value::Int(def.type_id), bit(false)]);
        row
    };
    Ok(table_types(&catalog).map(row).collect())
});
