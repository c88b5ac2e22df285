//! sp_procedure_params_100_managed and similar procedures: what SqlClient asks to derive the
//! parameters of a procedure.

use ::types::{DataType, Len, SqlError, Value};

use super::ProcedureCall;
use super::params::{NAME, Param};
use catalog::{ModuleKind, TEMPDB, fold_name};
use metadata::results::column;
use programs::module::params_of;

use DataType::{Bit, Int, NVarChar, SmallInt};

/// For clients before SQL Server 2008: new types are nvarchar.
pub fn managed(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    list(call, "sp_procedure_params_managed", false)
}

/// EXEC sp_procedure_params_100_managed name [, group, schema, parameter].
pub(crate) fn managed_100(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    list(call, "sp_procedure_params_100_managed", true)
}

/// The number of System.Data.SqlDbType.
fn managed_type(ty: DataType, new: bool) -> i16 {
    const NVARCHAR: i16 = 12;
    match ty {
        DataType::VarBinary(Len::Old) => 7,
        DataType::NVarChar(Len::Old) => 11,
        DataType::VarChar(Len::Old) => 18,
        DataType::BigInt => 0,
        DataType::Binary(_) => 1,
        DataType::Bit => 2,
        DataType::Char(_) => 3,
        DataType::DateTime => 4,
        DataType::Decimal { .. } => 5,
        DataType::Float => 6,
        DataType::Int => 8,
        DataType::Money => 9,
        DataType::NChar(_) => 10,
        DataType::NVarChar(_) => NVARCHAR,
        DataType::Real => 13,
        DataType::UniqueIdentifier => 14,
        DataType::SmallDateTime => 15,
        DataType::SmallInt => 16,
        DataType::SmallMoney => 17,
        DataType::RowVersion => 19,
        DataType::TinyInt => 20,
        DataType::VarBinary(_) => 21,
        DataType::VarChar(_) => 22,
        DataType::SqlVariant => 23,
        DataType::Xml => 25,
        DataType::HierarchyId => 29,
        _ if !new => NVARCHAR,
        DataType::Date => 31,
        DataType::Time(_) => 32,
        DataType::DateTime2(_) => 33,
        DataType::DateTimeOffset(_) => 34,
    }
}

fn list(call: &mut ProcedureCall<'_>, procedure: &str, new: bool) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[
        ("@procedure_name", NAME),
        ("@group_number", Int),
        ("@procedure_schema", NAME),
        ("@parameter_name", NAME),
    ];
    let given = call.given(procedure, 1, PARAMS)?;
    let db = call.core.db().clone();
    let catalog = db.catalog();
    let name = given.text(0).unwrap_or_default();
    let own =
        (db.id() == TEMPDB).then(|| call.core.objects.temps.find_procedure(name, &db)).flatten();
    let module =
        own.or_else(|| catalog.find_module(given.name(2).unwrap_or_default(), name).cloned());
    let wanted = given.name(3).map(fold_name);
    let mut rows = Vec::new();
    if let Some(module) = module.filter(|m| m.kind == ModuleKind::Procedure) {
        let mut all = vec![(Value::str("@RETURN_VALUE"), 4, Int, false)];
        let mut tables = vec![None];
        for p in params_of(&module, &catalog)? {
            all.push((Value::Str(p.name), if p.output { 2 } else { 1 }, p.ty, true));
            tables.push(p.table);
        }
        for (i, (name, kind, ty, nullable)) in all.into_iter().enumerate() {
            if wanted.as_ref().is_some_and(|w| fold_name(name.as_str().unwrap_or_default()) != *w) {
                continue;
            }
            let sized = ty.is_string() || ty.is_binary();
            let exact = ty.as_decimal().is_some() && ty != Bit
                || matches!(ty, DataType::Float | DataType::Real);
            let length = ty.length().map_or(-1, |n| n as i32);
            let mut row = vec![
                Value::Str(db.name()),
                Value::str(&module.schema),
                Value::str(&module.name),
                name,
                Value::SmallInt(i as i16),
                Value::SmallInt(kind),
                Value::SmallInt(0),
                Value::Null,
                Value::Bit(nullable),
                Value::SmallInt(managed_type(ty, new)),
                if sized { Value::Int(length) } else { Value::Null },
                if sized {
                    Value::Int(if ty.is_unicode() && length > 0 { length * 2 } else { length })
                } else {
                    Value::Null
                },
                if exact { Value::SmallInt(ty.precision().into()) } else { Value::Null },
                if exact { Value::SmallInt(ty.scale().into()) } else { Value::Null },
                Value::Null,
                Value::Null,
                Value::str(ty.base_name()),
            ];
            if let Some(def) = &tables[i] {
                // SqlDbType.Structured.
                row[9] = Value::SmallInt(30);
                (row[12], row[13]) = (Value::Null, Value::Null);
                (row[14], row[15]) = (Value::Str(db.name()), Value::str(&def.schema));
                row[16] = Value::str(&def.name);
            }
            // Collections of xml schemas, as there are none.
            row.resize(row.len() + 3, Value::Null);
            if new {
                row.push(if ty.is_temporal() {
                    Value::SmallInt(ty.scale().into())
                } else {
                    Value::Null
                });
            }
            rows.push(row);
        }
    }
    let mut columns = vec![
        column("PROCEDURE_CATALOG", NAME, true),
        column("PROCEDURE_SCHEMA", NAME, true),
        column("PROCEDURE_NAME", NAME, true),
        column("PARAMETER_NAME", NAME, true),
        column("ORDINAL_POSITION", SmallInt, true),
        column("PARAMETER_TYPE", SmallInt, true),
        column("PARAMETER_HASDEFAULT", SmallInt, true),
        column("PARAMETER_DEFAULT", NVarChar(Len::N(4000)), true),
        column("IS_NULLABLE", Bit, true),
        column("MANAGED_DATA_TYPE", SmallInt, true),
        column("CHARACTER_MAXIMUM_LENGTH", Int, true),
        column("CHARACTER_OCTET_LENGTH", Int, true),
        column("NUMERIC_PRECISION", SmallInt, true),
        column("NUMERIC_SCALE", SmallInt, true),
        column("TYPE_CATALOG_NAME", NAME, true),
        column("TYPE_SCHEMA_NAME", NAME, true),
        column("TYPE_NAME", NAME, true),
        column("XML_CATALOGNAME", NAME, true),
        column("XML_SCHEMANAME", NAME, true),
        column("XML_SCHEMACOLLECTIONNAME", NAME, true),
    ];
    if new {
        columns.push(column("SS_DATETIME_PRECISION", SmallInt, true));
    }
    call.result(&columns, &rows)?;
    Ok(0)
}
