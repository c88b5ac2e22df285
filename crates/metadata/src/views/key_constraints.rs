//! Key and DEFAULT constraints: sys.key_constraints, sys.default_constraints.

use types::{Len, Value};

use super::objects::{DEFAULT, is_made_up, keys, object, object_columns};
use super::{View, ViewColumn, bit, pick, text};

use types::DataType::{Bit, Int, NVarChar};

const KEY_COLUMNS: &[ViewColumn] = object_columns!(
    ("unique_index_id", Int, true),
    ("is_system_named", Bit, false),
    ("is_enforced", Bit, true)
);

/// sys.key_constraints.
pub(crate) static KEY_CONSTRAINTS: View =
    View::seeking("key_constraints", KEY_COLUMNS, &[1, 4], pick::per_table, |_, db, wanted| {
        let catalog = db.catalog();
        let mut rows = Vec::new();
        for table in pick::parents(&catalog, wanted, 1, 4) {
            for (index, id, kind) in keys(table) {
                let schema_id = catalog.schema_id(table);
                let mut row = object(
                    &index.name,
                    id,
                    schema_id,
                    table.object_id,
                    kind,
                    &table.create_date,
                    false,
                );
                let made_up = is_made_up(&index.name, "PK__") || is_made_up(&index.name, "UQ__");
                row.extend([Value::Int(index.index_id), bit(made_up), bit(true)]);
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    });

const DEFAULT_COLUMNS: &[ViewColumn] = object_columns!(
    ("parent_column_id", Int, false),
    ("definition", NVarChar(Len::Max), true),
    ("is_system_named", Bit, false)
);

/// sys.default_constraints.
pub(crate) static DEFAULT_CONSTRAINTS: View = View::seeking(
    "default_constraints",
    DEFAULT_COLUMNS,
    &[1, 4],
    pick::per_table,
    |_, db, wanted| {
        let catalog = db.catalog();
        let mut rows = Vec::new();
        for table in pick::parents(&catalog, wanted, 1, 4) {
            for column in &table.columns {
                let Some(d) = &column.default else { continue };
                let (schema_id, parent) = (catalog.schema_id(table), table.object_id);
                let mut row = object(
                    &d.name,
                    d.object_id,
                    schema_id,
                    parent,
                    DEFAULT,
                    &table.create_date,
                    false,
                );
                let made_up = is_made_up(&d.name, "DF__");
                row.extend([Value::Int(column.column_id), text(&d.text), bit(made_up)]);
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    },
);
