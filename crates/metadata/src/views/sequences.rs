//! Sequences, synonyms and plan guides: sys.sequences, sys.synonyms, sys.plan_guides,
//! INFORMATION_SCHEMA.SEQUENCES.

use types::{DataType, Len, Value};

use super::information_schema::TypeParts;
use super::objects::{object, object_columns};
use super::{NVARCHAR60, SYSNAME, SystemView, View, ViewColumn, WantedRows, bit, pick, text};
use catalog::other::{OtherObject, base_text};
use catalog::{Catalog, fold_name};
use types::Collation;

use DataType::{Bit, Int, NVarChar, SmallInt, SqlVariant, TinyInt};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&SYNONYMS, &SEQUENCES, &IS_SEQUENCES, &PLAN_GUIDES];

/// Sequences and synonyms with the wanted id and name, in order of name.
fn wanted_others(
    catalog: &Catalog,
    wanted: &WantedRows<'_>,
    id: usize,
    name: Option<usize>,
) -> Vec<OtherObject> {
    let mut list: Vec<OtherObject> = match wanted.id(id) {
        Some(id) => catalog.others.get(&id).cloned().into_iter().collect(),
        None => catalog.others.values().cloned().collect(),
    };
    list.retain(|object| name.is_none_or(|at| wanted.may_be(at, object.name())));
    list.sort_by(|a, b| (a.schema(), a.name()).cmp(&(b.schema(), b.name())));
    list
}

fn object_row(catalog: &Catalog, other: &OtherObject) -> Vec<Value> {
    let schema_id = catalog.schemas.get(&fold_name(other.schema())).copied().unwrap_or(1);
    let kind = (other.code(), other.description());
    let mut row =
        object(other.name(), other.object_id(), schema_id, 0, kind, other.create_date(), false);
    // modify_date.
    row[8] = other.modify_date().clone();
    row
}

/// Rows of sys.objects.
pub(super) fn other_objects(
    catalog: &Catalog,
    wanted: &WantedRows<'_>,
    rows: &mut Vec<Vec<Value>>,
) {
    if wanted.id(4).is_none_or(|parent| parent == 0) {
        rows.extend(
            wanted_others(catalog, wanted, 1, Some(0))
                .iter()
                .map(|other| object_row(catalog, other)),
        );
    }
}

/// sys.synonyms.
static SYNONYMS: View = View::seeking(
    "synonyms",
    object_columns!(("base_object_name", NVarChar(Len::N(1035)), true)),
    &[0, 1],
    pick::per_module,
    |_, db, wanted| {
        let catalog = db.catalog();
        let row = |other: &OtherObject| {
            let OtherObject::Synonym(synonym) = other else { return None };
            let mut row = object_row(&catalog, other);
            row.push(text(base_text(&synonym.base)));
            Some(wanted.part(row))
        };
        Ok(wanted_others(&catalog, wanted, 1, Some(0)).iter().filter_map(row).collect())
    },
);

/// sys.sequences.
static SEQUENCES: View = View::seeking(
    "sequences",
    object_columns!(
        ("start_value", SqlVariant, false),
        ("increment", SqlVariant, false),
        ("minimum_value", SqlVariant, true),
        ("maximum_value", SqlVariant, true),
        ("is_cycling", Bit, true),
        ("is_cached", Bit, true),
        ("cache_size", Int, true),
        ("system_type_id", TinyInt, false),
        ("user_type_id", Int, false),
        ("precision", TinyInt, false),
        ("scale", TinyInt, true),
        ("current_value", SqlVariant, false),
        ("is_exhausted", Bit, false),
        ("last_used_value", SqlVariant, true)
    ),
    &[0, 1],
    pick::per_module,
    |_, db, wanted| {
        let catalog = db.catalog();
        let row = |other: &OtherObject| {
            let OtherObject::Sequence(sequence) = other else { return None };
            let (options, last) = (&sequence.options, sequence.state.last());
            let ty = options.ty;
            let value = |n: i64| {
                let mode = types::convert::Mode::Implicit;
                types::convert::convert(&Value::BigInt(n), DataType::BigInt, ty, 0, mode)
                    .unwrap_or(Value::Null)
            };
            let mut row = object_row(&catalog, other);
            row.extend([
                value(options.start),
                value(options.increment),
                value(options.min),
                value(options.max),
                bit(options.cycle),
                bit(options.cache.is_some()),
                options
                    .cache
                    .filter(|n| *n > 0)
                    .map_or(Value::Null, |n| Value::Int(i32::try_from(n).unwrap_or(i32::MAX))),
                Value::TinyInt(ty.system_type_id()),
                Value::Int(ty.user_type_id()),
                Value::TinyInt(ty.precision()),
                Value::TinyInt(ty.scale()),
                value(last.unwrap_or(options.first)),
                bit(options.is_exhausted(last)),
                last.map_or(Value::Null, value),
            ]);
            Some(wanted.part(row))
        };
        Ok(wanted_others(&catalog, wanted, 1, Some(0)).iter().filter_map(row).collect())
    },
);

const IS_COLUMNS: &[ViewColumn] = &[
    ("SEQUENCE_CATALOG", SYSNAME, true),
    ("SEQUENCE_SCHEMA", SYSNAME, true),
    ("SEQUENCE_NAME", SYSNAME, false),
    ("DATA_TYPE", SYSNAME, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("START_VALUE", SqlVariant, true),
    ("MINIMUM_VALUE", SqlVariant, true),
    ("MAXIMUM_VALUE", SqlVariant, true),
    ("INCREMENT", SqlVariant, true),
    ("CYCLE_OPTION", Int, true),
    ("DECLARED_DATA_TYPE", SYSNAME, true),
    ("DECLARED_NUMERIC_PRECISION", TinyInt, true),
    ("DECLARED_NUMERIC_SCALE", DataType::BigInt, true),
];

/// INFORMATION_SCHEMA.SEQUENCES.
static IS_SEQUENCES: View =
    View::information_seeking("SEQUENCES", IS_COLUMNS, &[2], pick::per_module, |_, db, wanted| {
        let catalog = db.catalog();
        let row = |other: &OtherObject| {
            let OtherObject::Sequence(sequence) = other else { return None };
            let options = &sequence.options;
            let ty = options.ty;
            let parts = TypeParts::of(ty, Collation::DEFAULT);
            let value = |n: i64| {
                let mode = types::convert::Mode::Implicit;
                types::convert::convert(&Value::BigInt(n), DataType::BigInt, ty, 0, mode)
                    .unwrap_or(Value::Null)
            };
            Some(wanted.row(|at| match IS_COLUMNS[at].0 {
                "SEQUENCE_CATALOG" => Value::Str(db.name()),
                "SEQUENCE_SCHEMA" => text(&sequence.schema),
                "SEQUENCE_NAME" => text(&sequence.name),
                "START_VALUE" => value(options.start),
                "MINIMUM_VALUE" => value(options.min),
                "MAXIMUM_VALUE" => value(options.max),
                "INCREMENT" => value(options.increment),
                "CYCLE_OPTION" => Value::Int(i32::from(options.cycle)),
                // Of a type that stands for another.
                "DECLARED_DATA_TYPE" | "DECLARED_NUMERIC_PRECISION" | "DECLARED_NUMERIC_SCALE" => {
                    Value::Null
                }
                name => parts.value(name),
            }))
        };
        Ok(wanted_others(&catalog, wanted, usize::MAX, Some(2)).iter().filter_map(row).collect())
    });

/// sys.plan_guides.
static PLAN_GUIDES: View = View::sys(
    "plan_guides",
    &[
        ("plan_guide_id", Int, false),
        ("name", SYSNAME, false),
        ("create_date", DataType::DateTime, false),
        ("modify_date", DataType::DateTime, false),
        ("is_disabled", Bit, false),
        ("query_text", NVarChar(Len::Max), true),
        ("scope_type", TinyInt, false),
        ("scope_type_desc", NVARCHAR60, true),
        ("scope_object_id", Int, true),
        ("scope_batch", NVarChar(Len::Max), true),
        ("parameters", NVarChar(Len::Max), true),
        ("hints", NVarChar(Len::Max), true),
    ],
    |_, db, _| {
        let part = |part: &Option<String>| part.as_deref().map_or(Value::Null, text);
        let row = |other: &OtherObject| {
            let OtherObject::PlanGuide(guide) = other else { return None };
            Some(vec![
                Value::Int(guide.head.object_id),
                text(&guide.head.name),
                guide.head.create_date.clone(),
                guide.head.modify_date.clone(),
                bit(guide.disabled),
                text(&guide.statement),
                Value::TinyInt(2),
                text("SQL"),
                Value::Null,
                part(&guide.batch),
                part(&guide.params),
                part(&guide.hints),
            ])
        };
        Ok(db.catalog().others.values().filter_map(row).collect())
    },
);
