//! Indexes: sys.indexes, sys.index_columns.

use types::{Len, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, bit, pick, text};

use types::DataType::{Bit, Int, NVarChar, TinyInt};

const INDEX_COLUMNS_OF: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("name", SYSNAME, true),
    ("index_id", Int, false),
    ("type", TinyInt, false),
    ("type_desc", NVARCHAR60, true),
    ("is_unique", Bit, true),
    ("data_space_id", Int, true),
    ("ignore_dup_key", Bit, true),
    ("is_primary_key", Bit, true),
    ("is_unique_constraint", Bit, true),
    ("fill_factor", TinyInt, false),
    ("is_padded", Bit, true),
    ("is_disabled", Bit, true),
    ("is_hypothetical", Bit, true),
    ("is_ignored_in_optimization", Bit, true),
    ("allow_row_locks", Bit, true),
    ("allow_page_locks", Bit, true),
    ("has_filter", Bit, true),
    ("filter_definition", NVarChar(Len::Max), true),
    ("compression_delay", Int, true),
    ("suppress_dup_key_messages", Bit, true),
    ("auto_created", Bit, true),
    ("optimize_for_sequential_key", Bit, true),
];

const INDEX_KINDS: [&str; 3] = ["HEAP", "CLUSTERED", "NONCLUSTERED"];

/// sys.indexes.
pub static INDEXES: View =
    View::seeking("indexes", INDEX_COLUMNS_OF, &[0], pick::some_per_table, |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 0) {
            for index in table.all_indexes() {
                let kind = index.index_id.clamp(0, 2);
                let off = bit(false);
                rows.push(wanted.part(vec![
                    Value::Int(table.shown_id()),
                    if index.name.is_empty() { Value::Null } else { text(&index.name) },
                    Value::Int(index.index_id),
                    Value::TinyInt(kind as u8),
                    text(INDEX_KINDS[kind as usize]),
                    bit(index.unique),
                    Value::Int(index.filegroup.into()),
                    bit(index.options.ignore_dup_key),
                    bit(index.primary_key.is_some()),
                    bit(index.unique_constraint.is_some()),
                    Value::TinyInt(index.fill_factor),
                    bit(index.options.padded),
                    bit(index.options.disabled),
                    off.clone(),
                    off.clone(),
                    bit(!index.options.no_row_locks),
                    bit(!index.options.no_page_locks),
                    bit(index.filter.is_some()),
                    index.filter.as_ref().map_or(Value::Null, |filter| text(&filter.text)),
                    Value::Null,
                    off.clone(),
                    off,
                    bit(index.options.sequential_key),
                ]));
            }
        }
        Ok(rows)
    });

const INDEX_COLUMN_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("index_column_id", Int, false),
    ("column_id", Int, false),
    ("key_ordinal", TinyInt, false),
    ("partition_ordinal", TinyInt, false),
    ("is_descending_key", Bit, true),
    ("is_included_column", Bit, true),
    ("column_store_order_ordinal", TinyInt, false),
];

/// sys.index_columns.
pub(crate) static INDEX_COLUMNS: View = View::seeking(
    "index_columns",
    INDEX_COLUMN_COLUMNS,
    &[0],
    pick::some_per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 0) {
            for index in table.all_indexes() {
                let keys = index
                    .key
                    .iter()
                    .enumerate()
                    .map(|(i, (at, descending))| (*at, i + 1, *descending, false));
                let included = index.included.iter().map(|at| (*at, 0, false, true));
                for (i, (at, ordinal, descending, included)) in keys.chain(included).enumerate() {
                    rows.push(wanted.part(vec![
                        Value::Int(table.shown_id()),
                        Value::Int(index.index_id),
                        Value::Int(i as i32 + 1),
                        Value::Int(table.columns[at].column_id),
                        Value::TinyInt(ordinal as u8),
                        Value::TinyInt(0),
                        bit(descending),
                        bit(included),
                        Value::TinyInt(0),
                    ]));
                }
            }
        }
        Ok(rows)
    },
);
