//! Parameters of procedures and functions: sys.parameters, sys.system_parameters,
//! sys.all_parameters.

use std::sync::Arc;

use types::{Len, Value};

use super::{Rows, SYSNAME, View, ViewColumn, Wanted, bit, pick, text};
use crate::scripts;
use bind::type_names::alias_id;
use catalog::{Catalog, Db, ModuleDef, ModuleKind};
use programs::module::{declared_types, params_of, result_of};
use syntax::ast::TypeName;

use types::DataType::{Bit, Int, NVarChar, SmallInt, SqlVariant, TinyInt};

pub(super) const PARAMETER_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("name", SYSNAME, true),
    ("parameter_id", Int, false),
    ("system_type_id", TinyInt, false),
    ("user_type_id", Int, false),
    ("max_length", SmallInt, false),
    ("precision", TinyInt, false),
    ("scale", TinyInt, false),
    ("is_output", Bit, false),
    ("is_cursor_ref", Bit, false),
    ("has_default_value", Bit, false),
    ("is_xml_document", Bit, false),
    ("default_value", SqlVariant, true),
    ("xml_collection_id", Int, false),
    ("is_readonly", Bit, false),
    ("is_nullable", Bit, true),
    ("encryption_type", Int, true),
    ("encryption_type_desc", NVarChar(Len::N(64)), true),
    ("encryption_algorithm_name", SYSNAME, true),
    ("column_encryption_key_id", Int, true),
    ("column_encryption_key_database_name", SYSNAME, true),
];

/// The modules that have parameters.
pub(super) const WITH_PARAMETERS: [ModuleKind; 4] = [
    ModuleKind::Procedure,
    ModuleKind::ScalarFunction,
    ModuleKind::InlineFunction,
    ModuleKind::TableFunction,
];

/// The parameters of the database's own modules.
pub(super) fn parameters(db: &Db, wanted: &Wanted<'_>) -> Rows {
    let catalog = db.catalog();
    parameters_of(pick::modules_of(&catalog, &WITH_PARAMETERS, wanted, 0, None), &catalog, wanted)
}

/// Those of the system's procedures whose texts say them.
pub(super) fn system_parameters(db: &Db, wanted: &Wanted<'_>) -> Rows {
    let mut modules = scripts::all()?;
    modules.retain(|module| wanted.id(0).is_none_or(|id| id == module.object_id));
    parameters_of(modules, &db.catalog(), wanted)
}

fn parameters_of(modules: Vec<Arc<ModuleDef>>, catalog: &Catalog, wanted: &Wanted<'_>) -> Rows {
    let mut rows = Vec::new();
    for module in modules {
        let (params, returns) = declared_types(&module);
        let alias = |name: &TypeName| alias_id(name, catalog);
        let returns = returns.and_then(alias);
        if let Some(result) = result_of(&module, catalog)? {
            let mut row = vec![
                Value::Int(module.object_id),
                text(""),
                Value::Int(0),
                Value::TinyInt(result.system_type_id()),
                Value::Int(returns.unwrap_or_else(|| result.user_type_id())),
                Value::SmallInt(result.max_length()),
                Value::TinyInt(result.precision()),
                Value::TinyInt(result.scale()),
                bit(true),
                bit(false),
                bit(false),
                bit(false),
                Value::Null,
                Value::Int(0),
                bit(false),
                bit(true),
            ];
            row.resize(PARAMETER_COLUMNS.len(), Value::Null);
            rows.push(wanted.part(row));
        }
        for (i, param) in params_of(&module, catalog)?.iter().enumerate() {
            let ty = param.ty;
            let mut row = vec![
                Value::Int(module.object_id),
                text(&param.name),
                Value::Int(i as i32 + 1),
                Value::TinyInt(ty.system_type_id()),
                Value::Int(alias(&params[i].data_type).unwrap_or_else(|| ty.user_type_id())),
                Value::SmallInt(ty.max_length()),
                Value::TinyInt(ty.precision()),
                Value::TinyInt(ty.scale()),
                bit(param.output),
                bit(false),
                // As SQL Server: only CLR parameters say so.
                bit(false),
                bit(false),
                Value::Null,
                Value::Int(0),
                bit(param.table.is_some()),
                bit(true),
            ];
            if let Some(def) = &param.table {
                row[3] = Value::TinyInt(super::types::TABLE);
                row[4] = Value::Int(def.type_id);
                row[5] = Value::SmallInt(-1);
                (row[6], row[7]) = (Value::TinyInt(0), Value::TinyInt(0));
            }
            row.resize(PARAMETER_COLUMNS.len(), Value::Null);
            rows.push(wanted.part(row));
        }
    }
    Ok(rows)
}

/// sys.parameters.
pub static PARAMETERS: View =
    View::seeking("parameters", PARAMETER_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        parameters(db, wanted)
    });

/// sys.system_parameters.
pub(crate) static SYSTEM_PARAMETERS: View = View::seeking(
    "system_parameters",
    PARAMETER_COLUMNS,
    &[0],
    |_| 200.0,
    |_, db, wanted| system_parameters(db, wanted),
);

/// sys.all_parameters.
pub(crate) static ALL_PARAMETERS: View =
    View::seeking("all_parameters", PARAMETER_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        let mut rows = parameters(db, wanted)?;
        rows.extend(system_parameters(db, wanted)?);
        Ok(rows)
    });
