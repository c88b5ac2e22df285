//! The properties of what has a type or a place in a table: columns, parameters, indexes, types,
//! collations.

use super::{catalog_seen, flag, table_of};
use crate::views;
use catalog::{Catalog, ModuleKind, fold_name};
use ddl::function_nature::FunctionNature;
use ddl::system_functions::SystemFunctions;
use ddl::table_def::computed::nature_of;
use session::state::SessionCore;
use types::{Collation, DataType, Value};

pub(super) fn collation_value(collation: Collation, property: &str) -> Value {
    match property {
        "codepage" => Value::Int(collation.code_page().number().into()),
        "lcid" => Value::Int(collation.lcid() as i32),
        "comparisonstyle" => Value::Int(collation.comparison_style()),
        "version" => Value::Int(collation.version().into()),
        "sortid" => Value::Int(collation.sort_id().unwrap_or(0).into()),
        "tdscollation" => Value::bytes(collation.wire_bytes().as_slice()),
        "collationid" => {
            let [a, b, c, d, _] = collation.wire_bytes();
            Value::Int(i32::from_le_bytes([a, b, c, d]))
        }
        _ => Value::Null,
    }
}

pub(super) fn type_value(catalog: &Catalog, name: &str, property: &str) -> Value {
    let parts = crate::names::name_parts(name).unwrap_or_default();
    let schema = parts.get(1).map_or("", String::as_str);
    let alias = parts.first().and_then(|name| catalog.find_type(schema, name));
    let built_in = || DataType::from_name(parts.first().map_or("", String::as_str), &[]).ok();
    let (ty, nullable) = match alias {
        Some(alias) => (Some(alias.base), alias.nullable),
        None => (built_in(), true),
    };
    let Some(ty) = ty else { return Value::Null };
    let sized = ty.is_string() || ty.is_binary();
    // A built-in type without a length has the greatest.
    let greatest = if ty.is_unicode() { 4000 } else { 8000 };
    match property {
        "allowsnull" => flag(nullable),
        "ownerid" => Value::Int(1),
        "precision" if sized && alias.is_none() && !ty.is_old_lob() => Value::Int(greatest),
        "precision" if sized => Value::Int(ty.shown_length()),
        "precision" if matches!(ty, DataType::Decimal { .. }) && alias.is_none() => Value::Int(38),
        "precision" => Value::Int(ty.precision().into()),
        "scale" if sized => Value::Null,
        "scale" if matches!(ty, DataType::Decimal { .. }) && alias.is_none() => Value::Int(38),
        "scale" => Value::Int(ty.scale().into()),
        "usesansitrim" => {
            if sized {
                flag(true)
            } else {
                Value::Null
            }
        }
        _ => Value::Null,
    }
}

pub(super) fn index(catalog: &Catalog, table: i64, name: &str, property: &str) -> Value {
    let Some(table) = table_of(catalog, table) else { return Value::Null };
    let name = fold_name(name);
    let Some(index) = table.all_indexes().find(|i| i.index_id > 0 && fold_name(&i.name) == name)
    else {
        let statistics = catalog::statistics::all(table);
        let found = statistics.iter().find(|s| fold_name(&s.name) == name);
        return match (found, property) {
            (Some(_), "isstatistics") => flag(true),
            (Some(s), "indexid") => Value::Int(s.stats_id),
            (Some(_), "isclustered" | "isunique" | "isdisabled" | "ishypothetical") => flag(false),
            _ => Value::Null,
        };
    };
    match property {
        "isunique" => flag(index.unique),
        "isclustered" => flag(index.index_id == 1),
        "indexid" => Value::Int(index.index_id),
        "indexfillfactor" => Value::Int(index.fill_factor.into()),
        "isdisabled" => flag(index.options.disabled),
        "isoptimizedforsequentialkey" => flag(index.options.sequential_key),
        "ispadindex" => flag(index.options.padded),
        "ispagelockdisallowed" => flag(index.options.no_page_locks),
        "isrowlockdisallowed" => flag(index.options.no_row_locks),
        "isautostatistics" | "iscolumnstore" | "isfulltextkey" | "ishypothetical"
        | "isstatistics" => flag(false),
        _ => Value::Null,
    }
}

/// COLUMNPROPERTY: of a column of a table or view, or of a parameter.
pub(super) fn column(id: i64, name: &str, property: &str, session: &mut SessionCore) -> Value {
    let db = session.db().clone();
    let Some(catalog) = catalog_seen(id, session) else { return Value::Null };
    let Ok(id) = i32::try_from(id) else { return Value::Null };
    let name = fold_name(name);
    if let Some(table) = catalog.by_id.get(&id) {
        let Some(at) = table.column(&name) else { return Value::Null };
        let (c, functions) = (&table.columns[at], SystemFunctions::of(session));
        return match property {
            "isidentity" => flag(c.identity.is_some()),
            "columnid" => Value::Int(c.column_id),
            "ordinal" => Value::Int(at as i32 + 1),
            "isindexable" => {
                let can_be = || {
                    nature_of(functions, &db, table, at).is_ok_and(FunctionNature::is_of_arguments)
                };
                flag(!c.ty.is_lob() && (!c.is_virtual() || can_be()))
            }
            "iscomputed" => flag(c.computed.is_some()),
            "ismasked" => flag(c.mask.is_some()),
            "isdeterministic" | "isprecise" | "issystemverified" | "userdataaccess" => {
                match nature_of(functions, &db, table, at) {
                    Err(_) => Value::Null,
                    Ok(nature) => flag(match property {
                        "isdeterministic" => nature.deterministic,
                        "isprecise" => nature.precise,
                        "issystemverified" => nature.verified,
                        _ => nature.reads,
                    }),
                }
            }
            "generatedalwaystype" => {
                Value::Int(c.generated.map_or(0, |generated| 1 + i32::from(generated.end)))
            }
            "ishidden" => flag(c.is_hidden()),
            "isrowguidcol" => flag(c.traits.rowguid),
            "issparse" => flag(c.traits.sparse),
            "isidnotforrepl" => flag(c.traits.not_for_replication),
            _ => typed(c.ty, c.nullable, property),
        };
    }
    match catalog.modules.get(&id) {
        Some(module) if module.kind == ModuleKind::View => {
            let columns = views::columns_of_view(session, &db, module).unwrap_or_default();
            let Some(at) = columns.iter().position(|c| fold_name(&c.name) == name) else {
                return Value::Null;
            };
            match property {
                "columnid" | "ordinal" => Value::Int(at as i32 + 1),
                "isidentity" => flag(false),
                _ => typed(columns[at].ty, columns[at].nullable, property),
            }
        }
        Some(module) => {
            let params = programs::module::params_of(module, &catalog).unwrap_or_default();
            let Some(at) = params.iter().position(|p| fold_name(&p.name) == name) else {
                return Value::Null;
            };
            match property {
                "columnid" | "ordinal" => Value::Int(at as i32 + 1),
                "isoutparam" => flag(params[at].output),
                _ => typed(params[at].ty, true, property),
            }
        }
        None => Value::Null,
    }
}

/// What COLUMNPROPERTY says of a type alone.
fn typed(ty: DataType, nullable: bool, property: &str) -> Value {
    let sized = ty.is_string() || ty.is_binary();
    match property {
        "allowsnull" => flag(nullable),
        "precision" | "charmaxlen" if sized => Value::Int(ty.shown_length()),
        "precision" => Value::Int(ty.precision().into()),
        "scale" if sized => Value::Null,
        "scale" => Value::Int(ty.scale().into()),
        "usesansitrim" if sized => flag(true),
        "iscomputed" | "isrowguidcol" | "iscursortype" | "isfulltextindexed" | "ishidden"
        | "isidnotforrepl" | "isoutparam" | "issparse" | "iscolumnset" | "isxmlindexable" => {
            flag(false)
        }
        _ => Value::Null,
    }
}
