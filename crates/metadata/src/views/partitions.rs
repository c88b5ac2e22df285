//! Where tables and indexes lie: sys.partitions, sys.allocation_units, sys.dm_db_partition_stats.
//! Each heap and index is one partition. Guarantees: rows are counted at most once after a start;
//! from then on DML keeps their number up.

use std::sync::Arc;

use types::{SqlError, Value};

use super::{NVARCHAR60, View, ViewColumn, big, pick, text};
use catalog::names::quote;
use catalog::security::{Class, Permission, Securable};
use catalog::{Db, IndexDef, TableDef, UnitKind, fold_name};
use ddl::own_queries::query_rows;
use pages::UnitId;
use session::state::SessionCore;

use types::DataType::{BigInt, Int, SmallInt, TinyInt};

const PARTITION_COLUMNS: &[ViewColumn] = &[
    ("partition_id", BigInt, false),
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("partition_number", Int, false),
    ("hobt_id", BigInt, false),
    ("rows", BigInt, true),
    ("filestream_filegroup_id", SmallInt, false),
    ("data_compression", TinyInt, false),
    ("data_compression_desc", NVARCHAR60, true),
];

/// A unit's number as allocation_unit_id.
pub(super) fn allocation_unit_id(unit: UnitId) -> Value {
    Value::BigInt(super::dblog::alloc_unit_id(unit))
}

/// A unit's number in the form in which SQL Server shows partition and container ids.
pub(super) fn partition_id(index: &IndexDef) -> Value {
    allocation_unit_id(index.unit)
}

/// sys.partitions.
pub static PARTITIONS: View = View::seeking(
    "partitions",
    PARTITION_COLUMNS,
    &[1],
    pick::some_per_table,
    |session, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 1) {
            let count = shown_rows(session, db, table)?.map_or(Value::Null, Value::BigInt);
            for index in table.stored_indexes() {
                rows.push(wanted.part(vec![
                    partition_id(index),
                    Value::Int(table.shown_id()),
                    Value::Int(index.index_id),
                    Value::Int(1),
                    partition_id(index),
                    count.clone(),
                    Value::SmallInt(0),
                    Value::TinyInt(index.options.compression() as u8),
                    text(index.options.compression().word()),
                ]));
            }
        }
        Ok(rows)
    },
);

const UNIT_COLUMNS: &[ViewColumn] = &[
    ("allocation_unit_id", BigInt, false),
    ("type", TinyInt, false),
    ("type_desc", NVARCHAR60, true),
    ("container_id", BigInt, false),
    ("data_space_id", Int, true),
    ("total_pages", BigInt, false),
    ("used_pages", BigInt, false),
    ("data_pages", BigInt, false),
];

/// sys.allocation_units.
pub(crate) static ALLOCATION_UNITS: View =
    View::sys("allocation_units", UNIT_COLUMNS, |_, db, _| {
        let mut rows = Vec::new();
        for table in db.catalog().stored() {
            let units =
                table.stored_indexes().map(|i| (UnitKind::InRow, i.unit, Some(i.first_iam), i));
            let outside = table
                .outside()
                .map(|(kind, unit, first_iam)| (kind, unit, Some(first_iam), &table.storage));
            // One that no value has come to yet has no pages.
            let to_come = table.overflow_to_come();
            let to_come = to_come.map(|unit| (UnitKind::Overflow, unit, None, &table.storage));
            for (kind, unit, first_iam, index) in units.chain(outside).chain(to_come) {
                let pages = first_iam.map(|first_iam| super::files::unit_pages(db, first_iam));
                let (reserved, used) = pages.transpose()?.unwrap_or_default();
                rows.push(vec![
                    allocation_unit_id(unit),
                    Value::TinyInt(kind.number()),
                    text(kind.name()),
                    partition_id(index),
                    Value::Int(index.filegroup.into()),
                    big(reserved),
                    big(used),
                    big(used.saturating_sub(1)),
                ]);
            }
        }
        Ok(rows)
    });

const PARTITION_STATS_COLUMNS: &[ViewColumn] = &[
    ("partition_id", BigInt, true),
    ("object_id", Int, false),
    ("index_id", Int, false),
    ("partition_number", Int, false),
    ("in_row_data_page_count", BigInt, true),
    ("in_row_used_page_count", BigInt, true),
    ("in_row_reserved_page_count", BigInt, true),
    ("lob_used_page_count", BigInt, true),
    ("lob_reserved_page_count", BigInt, true),
    ("row_overflow_used_page_count", BigInt, true),
    ("row_overflow_reserved_page_count", BigInt, true),
    ("used_page_count", BigInt, true),
    ("reserved_page_count", BigInt, true),
    ("row_count", BigInt, true),
];

/// sys.dm_db_partition_stats.
pub(crate) static PARTITION_STATS: View = View::seeking(
    "dm_db_partition_stats",
    PARTITION_STATS_COLUMNS,
    &[1],
    pick::some_per_table,
    |session, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::indexed(&catalog, wanted, 1) {
            let count = table_rows(session, db, table)?;
            for index in table.stored_indexes() {
                let (reserved, used) = super::files::unit_pages(db, index.first_iam)?;
                // Values outside the rows are the base's.
                let outside = |wanted: UnitKind| {
                    let mut units = table
                        .outside()
                        .filter(|(kind, _, _)| *kind == wanted && index.index_id < 2);
                    match units.next() {
                        Some((_, _, first_iam)) => super::files::unit_pages(db, first_iam),
                        None => Ok((0, 0)),
                    }
                };
                let (lob_reserved, lob_used) = outside(UnitKind::Large)?;
                let (over_reserved, over_used) = outside(UnitKind::Overflow)?;
                rows.push(wanted.part(vec![
                    partition_id(index),
                    Value::Int(table.shown_id()),
                    Value::Int(index.index_id),
                    Value::Int(1),
                    big(used.saturating_sub(1)),
                    big(used),
                    big(reserved),
                    big(lob_used),
                    big(lob_reserved),
                    big(over_used),
                    big(over_reserved),
                    big(used + lob_used + over_used),
                    big(reserved + lob_reserved + over_reserved),
                    Value::BigInt(count),
                ]));
            }
        }
        Ok(rows)
    },
);

/// The number of a table's rows for the caller: none where a security policy hides rows of the
/// table from it, which a number would tell of. Whoever may change the table or sees the state of
/// the database knows it.
pub fn shown_rows(
    session: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
) -> Result<Option<i64>, SqlError> {
    if knows_rows(session, db, table) { table_rows(session, db, table).map(Some) } else { Ok(None) }
}

/// Whether the caller may know how many rows a table has.
pub(crate) fn knows_rows(session: &mut SessionCore, db: &Arc<Db>, table: &TableDef) -> bool {
    let catalog = db.catalog();
    if !catalog.policies.contains_key(&table.object_id) {
        return true;
    }
    let schema = catalog.schemas.get(&fold_name(&table.schema)).copied().unwrap_or(0);
    let on = Securable::new(Class::Object, table.object_id);
    session.has(db, on, schema, Permission::Alter)
        || session.has(db, Securable::DATABASE, 0, Permission::ViewDatabasePerformanceState)
}

/// The number of a table's rows: kept up by DML, counted once after a start.
pub fn table_rows(
    session: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
) -> Result<i64, SqlError> {
    let known = table.state.rows();
    if known >= 0 {
        return Ok(known);
    }
    let name = format!("{}.{}.{}", quote(&db.name()), quote(&table.schema), quote(&table.name));
    let rows = query_rows(session, db, &format!("SELECT COUNT_BIG(*) FROM {name}"))?;
    let counted = rows.first().and_then(|row| row.first()).and_then(Value::as_i64).unwrap_or(0);
    // DML that ran while we counted has moved the number: then the next one counts again.
    table.state.counted(known, counted);
    Ok(counted)
}
