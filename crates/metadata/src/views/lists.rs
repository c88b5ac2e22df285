//! Lists that the server keeps in its own code: events of triggers, classes of what permissions are
//! given on; and the columns of table functions.

use types::{Collation, DataType, Len, Value};

use super::information_schema::TypeParts;
use super::{SYSNAME, SystemView, View, ViewColumn, pick, text};
use catalog::ModuleKind;
use catalog::security::Class;
use ddl::events;

use DataType::{Int, NVarChar, SmallInt, TinyInt, VarChar};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] =
    &[&TRIGGER_EVENT_TYPES, &SECURABLE_CLASSES, &ROUTINE_COLUMNS];

/// sys.trigger_event_types: the events that triggers can wait for, and their groups.
static TRIGGER_EVENT_TYPES: View = View::sys(
    "trigger_event_types",
    &[("type", Int, false), ("type_name", NVarChar(Len::N(64)), true), ("parent_type", Int, true)],
    |_, _, _| {
        let changes = [(1, "INSERT"), (2, "UPDATE"), (3, "DELETE")]
            .map(|(number, name)| (number, name, None));
        let all = changes.into_iter().chain(events::types());
        let row = |(number, name, parent): (i32, &str, Option<i32>)| {
            vec![Value::Int(number), text(name), parent.map_or(Value::Null, Value::Int)]
        };
        Ok(all.map(row).collect())
    },
);

/// sys.securable_classes: what permissions can be given on.
static SECURABLE_CLASSES: View = View::sys(
    "securable_classes",
    &[("class_desc", SYSNAME, true), ("class", Int, true)],
    |_, _, _| {
        let row = |class: Class| vec![text(class.description()), Value::Int(class as i32)];
        Ok(Class::ALL.into_iter().map(row).collect())
    },
);

const COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("ORDINAL_POSITION", Int, false),
    ("COLUMN_DEFAULT", NVarChar(Len::N(4000)), true),
    ("IS_NULLABLE", VarChar(Len::N(3)), true),
    ("DATA_TYPE", SYSNAME, true),
    ("CHARACTER_MAXIMUM_LENGTH", Int, true),
    ("CHARACTER_OCTET_LENGTH", Int, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("DATETIME_PRECISION", SmallInt, true),
    ("CHARACTER_SET_CATALOG", SYSNAME, true),
    ("CHARACTER_SET_SCHEMA", SYSNAME, true),
    ("CHARACTER_SET_NAME", SYSNAME, true),
    ("COLLATION_CATALOG", SYSNAME, true),
    ("COLLATION_SCHEMA", SYSNAME, true),
    ("COLLATION_NAME", SYSNAME, true),
    ("DOMAIN_CATALOG", SYSNAME, true),
    ("DOMAIN_SCHEMA", SYSNAME, true),
    ("DOMAIN_NAME", SYSNAME, true),
];

/// INFORMATION_SCHEMA.ROUTINE_COLUMNS: of functions that give tables.
static ROUTINE_COLUMNS: View = View::information_seeking(
    "ROUTINE_COLUMNS",
    COLUMNS,
    &[2],
    pick::per_module,
    |session, db, wanted| {
        let kinds = [ModuleKind::InlineFunction, ModuleKind::TableFunction];
        let mut rows = Vec::new();
        for function in pick::modules_of(&db.catalog(), &kinds, wanted, usize::MAX, Some(2)) {
            let columns = super::columns_of_view(session, db, &function).unwrap_or_default();
            for (number, column) in (1..).zip(&columns) {
                let parts = TypeParts::of(column.ty, Collation::DEFAULT);
                rows.push(wanted.row(|at| match at {
                    0 => Value::Str(db.name()),
                    1 => text(&function.schema),
                    2 => text(&function.name),
                    3 => text(&column.name),
                    4 => Value::Int(number),
                    6 => text(if column.nullable { "YES" } else { "NO" }),
                    at => parts.value(COLUMNS[at].0),
                }));
            }
        }
        Ok(rows)
    },
);
