//! CHECK and FOREIGN KEY constraints: sys.check_constraints, sys.foreign_keys,
//! sys.foreign_key_columns.

use std::sync::Arc;

use types::{Len, Value};

use super::modules::{CHECK, FOREIGN_KEY};
use super::objects::{is_made_up, object, object_columns};
use super::{NVARCHAR60, View, ViewColumn, Wanted, bit, pick, text};
use catalog::{Catalog, TableDef};
use syntax::ast::ReferentialAction;

use types::DataType::{Bit, Int, NVarChar, TinyInt};

pub(super) const CHECK_COLUMNS: &[ViewColumn] = object_columns!(
    ("is_disabled", Bit, false),
    ("is_not_for_replication", Bit, false),
    ("is_not_trusted", Bit, false),
    ("parent_column_id", Int, false),
    ("definition", NVarChar(Len::Max), true),
    ("uses_database_collation", Bit, true),
    ("is_system_named", Bit, false)
);

/// sys.check_constraints.
pub static CHECK_CONSTRAINTS: View =
    View::seeking("check_constraints", CHECK_COLUMNS, &[1, 4], pick::per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::parents(&catalog, wanted, 1, 4) {
            let schema_id = catalog.schema_id(table);
            for check in &table.checks {
                let (id, parent) = (check.object_id, table.object_id);
                let mut row =
                    object(&check.name, id, schema_id, parent, CHECK, &table.create_date, false);
                row.extend([
                    bit(check.disabled),
                    bit(check.not_for_replication),
                    bit(check.untrusted),
                    Value::Int(check.column.unwrap_or(0)),
                    text(&check.text),
                    bit(true),
                    bit(is_made_up(&check.name, "CK__")),
                ]);
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    });

const FOREIGN_KEY_COLUMNS: &[ViewColumn] = object_columns!(
    ("referenced_object_id", Int, true),
    ("key_index_id", Int, true),
    ("is_disabled", Bit, false),
    ("is_not_for_replication", Bit, false),
    ("is_not_trusted", Bit, false),
    ("delete_referential_action", TinyInt, true),
    ("delete_referential_action_desc", NVARCHAR60, true),
    ("update_referential_action", TinyInt, true),
    ("update_referential_action_desc", NVARCHAR60, true),
    ("is_system_named", Bit, false)
);

/// sys.foreign_keys.
pub(crate) static FOREIGN_KEYS: View = View::seeking(
    "foreign_keys",
    FOREIGN_KEY_COLUMNS,
    &[1, 4, 12],
    pick::per_table,
    |_, db, wanted| {
        const ACTIONS: [&str; 4] = ["NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT"];
        let action = |action: ReferentialAction| {
            [Value::TinyInt(action as u8), text(ACTIONS[action as usize])]
        };
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in referring(&catalog, wanted, (1, 4, 12)) {
            let schema_id = catalog.schema_id(table);
            for key in &table.foreign_keys {
                let (id, parent) = (key.object_id, table.object_id);
                let mut row = object(
                    &key.name,
                    id,
                    schema_id,
                    parent,
                    FOREIGN_KEY,
                    &table.create_date,
                    false,
                );
                row.extend([
                    Value::Int(key.parent),
                    Value::Int(key.key),
                    bit(key.disabled),
                    bit(key.not_for_replication),
                    bit(key.untrusted),
                ]);
                row.extend(action(key.on_delete));
                row.extend(action(key.on_update));
                row.push(bit(is_made_up(&key.name, "FK__")));
                rows.push(wanted.part(row));
            }
        }
        Ok(rows)
    },
);

const PAIR_COLUMNS: &[ViewColumn] = &[
    ("constraint_object_id", Int, false),
    ("constraint_column_id", Int, false),
    ("parent_object_id", Int, false),
    ("parent_column_id", Int, false),
    ("referenced_object_id", Int, false),
    ("referenced_column_id", Int, false),
];

/// sys.foreign_key_columns.
pub(crate) static FOREIGN_KEY_PAIRS: View = View::seeking(
    "foreign_key_columns",
    PAIR_COLUMNS,
    &[0, 2, 4],
    pick::per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in referring(&catalog, wanted, (0, 2, 4)) {
            for key in &table.foreign_keys {
                for (i, (own, other)) in key.columns.iter().enumerate() {
                    rows.push(wanted.part(vec![
                        Value::Int(key.object_id),
                        Value::Int(i as i32 + 1),
                        Value::Int(table.object_id),
                        Value::Int(*own),
                        Value::Int(key.parent),
                        Value::Int(*other),
                    ]));
                }
            }
        }
        Ok(rows)
    },
);

/// The tables whose foreign keys are wanted: by the key's own id, its table's, or the id of the
/// table that it refers to.
fn referring<'c>(
    catalog: &'c Catalog,
    wanted: &Wanted<'_>,
    (own, parent, referred): (usize, usize, usize),
) -> Vec<&'c Arc<TableDef>> {
    match (wanted.id(own), wanted.id(parent), wanted.id(referred)) {
        (None, None, Some(id)) => {
            let mut ids = catalog.referenced_by.get(&id).cloned().unwrap_or_default();
            ids.sort_unstable();
            ids.dedup();
            ids.iter().filter_map(|id| catalog.by_id.get(id)).collect()
        }
        _ => pick::parents(catalog, wanted, own, parent),
    }
}
