//! What the planner knows of the values of a table's columns. Statistics that it needs and that are not there, or have become
//! stale, are measured now, before the plan is made: as SQL Server does with AUTO_CREATE_STATISTICS and
//! AUTO_UPDATE_STATISTICS on.
//! Guarantee: what cannot be measured is not known, and never an error of the statement.

use std::sync::Arc;

use catalog::statistics::{self, Measured, Origin, Statistics};
use catalog::{Db, TableDef};
use storage::sample::{self, Amount};
use types::DataType;

/// Rows of a table of which nothing is known.
const UNKNOWN_ROWS: f64 = 10_000.0;

/// Rows of a table as far as known.
pub fn table_rows(table: &TableDef) -> f64 {
    catalog::row_counts::estimate(table).map_or(UNKNOWN_ROWS, |rows| (rows as f64).max(1.0))
}

/// What is known of a column.
pub fn of_column(db: &Arc<Db>, table: &Arc<TableDef>, column: usize) -> Option<Arc<Measured>> {
    let def = table.columns.get(column)?;
    // The rows of a table variable are few, and gone before it is worth knowing them.
    if db.is_autonomous() || !can_be_measured(def.ty) {
        return None;
    }
    let known = table.state.statistics.of_column(def.column_id);
    match &known {
        Some(statistics) => {
            let measured = statistics.measured.as_ref()?;
            let renew = !statistics.no_recompute
                && statistics::is_stale(table, measured)
                && db.settings().auto_update_stats;
            if !renew {
                return Some(measured.clone());
            }
        }
        None if !db.settings().auto_create_stats => return None,
        None => {}
    }
    let target = known.clone().unwrap_or_else(|| Arc::new(wanted(table, def.column_id)));
    let kept = known.and_then(|statistics| statistics.measured.clone());
    measure(db, table, &target, Amount::Default).or(kept)
}

/// Whether values of a type have an order and lie in the row.
pub fn can_be_measured(ty: DataType) -> bool {
    !ty.is_lob() && ty != DataType::SqlVariant
}

/// Measures statistics of a table and keeps what was found. `None`: it cannot be read.
pub fn measure(
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    target: &Statistics,
    amount: Amount,
) -> Option<Arc<Measured>> {
    let measured = Arc::new(sample::measure(db, table, target, amount).ok()?);
    let renewed = Statistics { measured: Some(measured.clone()), ..target.clone() };
    table.state.statistics.put(renewed);
    Some(measured)
}

/// The statistics to be made for a column: those of an index that begins with it, or new ones.
fn wanted(table: &TableDef, column_id: i32) -> Statistics {
    let all = statistics::all(table);
    let own = all.iter().find(|s| s.columns.first() == Some(&column_id));
    own.map_or_else(|| new_of(table, column_id), |s| Statistics::clone(s))
}

fn new_of(table: &TableDef, column_id: i32) -> Statistics {
    Statistics {
        stats_id: statistics::free_id(table),
        name: statistics::auto_name(table, column_id),
        columns: vec![column_id],
        origin: Origin::Auto,
        no_recompute: false,
        measured: None,
    }
}
