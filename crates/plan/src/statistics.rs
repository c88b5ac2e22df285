//! What the planner knows of the values of a table's columns. Statistics that it needs and that are
//! not there are measured now, before the plan is made, as SQL Server does with
//! AUTO_CREATE_STATISTICS on; those that have become stale are measured again by a thread of the
//! database while plans are made of what is known, or now when half of the table is another one
//! (AUTO_UPDATE_STATISTICS). Guarantee: what cannot be measured is not known, and never an error of
//! the statement.

use std::sync::Arc;

use catalog::statistics::{self, MeasuredValues, Statistics, StatisticsOrigin};
use catalog::{Db, IndexDef, RowFilter, TableDef};
use storage::sample::{self, Amount};
use types::DataType;

/// Rows of a table of which nothing is known.
const UNKNOWN_ROWS: f64 = 10_000.0;

/// Rows of a table as far as known.
pub fn table_rows(table: &TableDef) -> f64 {
    catalog::row_counts::estimate(table).map_or(UNKNOWN_ROWS, |rows| (rows as f64).max(1.0))
}

/// What is known of a column.
pub fn of_column(
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    column: usize,
) -> Option<Arc<MeasuredValues>> {
    let def = table.columns.get(column)?;
    // The rows of a table variable are few, and gone before it is worth knowing them.
    if db.is_autonomous() || !can_be_measured(def.ty) {
        return None;
    }
    let settings = db.settings();
    let known = || table.state.statistics.of_column(def.column_id);
    match known() {
        Some(old) => {
            let measured = old.measured.clone()?;
            let fits = |measured: &MeasuredValues| {
                old.no_recompute
                    || !statistics::is_stale(table, measured)
                    || !settings.auto_update_stats
            };
            if fits(&measured) {
                return Some(measured);
            }
            if !is_urgent(table, &measured) && leave(db, table, &old) {
                return Some(measured);
            }
            // One session measures; the others go on with what is known.
            let Some(_turn) = table.state.statistics.try_turn() else { return Some(measured) };
            let newer =
                known().and_then(|newer| newer.measured.clone()).filter(|newer| fits(newer));
            newer.or_else(|| measure(db, table, &old, Amount::Default)).or(Some(measured))
        }
        None if !settings.auto_create_stats => None,
        None => {
            let _turn = table.state.statistics.turn();
            match known() {
                Some(made) => made.measured.clone(),
                None => measure(db, table, &wanted(table, def.column_id), Amount::Default),
            }
        }
    }
}

/// Whether so much is different that no plan should be made of what is known: half of the rows.
fn is_urgent(table: &TableDef, measured: &MeasuredValues) -> bool {
    let changed = table.state.modified().saturating_sub(measured.modified) as f64;
    let rows = table_rows(table);
    changed * 2.0 >= measured.rows || rows > measured.rows * 2.0 || rows * 2.0 < measured.rows
}

/// Leaves it to a thread of the database to measure statistics again: the statement goes on with
/// what is known, and plans are made again when that is done. False: there is no such thread.
fn leave(db: &Arc<Db>, table: &Arc<TableDef>, statistics: &Arc<Statistics>) -> bool {
    let Ok(storage) = db.storage() else { return false };
    let id = statistics.stats_id;
    if !table.state.statistics.ask(id) {
        return true;
    }
    // A database is not kept open by what it has to do.
    let (of, at, target) = (Arc::downgrade(db), table.clone(), statistics.clone());
    let left = storage.leave(Box::new(move || {
        let _turn = at.state.statistics.turn();
        let is_there = at.state.statistics.list().iter().any(|known| known.stats_id == id);
        if let Some(db) = of.upgrade().filter(|_| is_there) {
            measure(&db, &at, &target, Amount::Default);
        }
        at.state.statistics.answered(id);
    }));
    if !left {
        table.state.statistics.answered(id);
    }
    left
}

/// Statistics of a part of a table's rows: those of users, and those of filtered indexes.
pub struct Filtered {
    pub filter: RowFilter,
    /// Position of the column of the histogram.
    pub column: usize,
    statistics: Arc<Statistics>,
}

/// Whether a table has statistics of parts of its rows, or may have.
pub fn has_filtered(db: &Db, table: &TableDef) -> bool {
    let indexed =
        || table.indexes.iter().any(|index| index.filter.is_some() && !index.options.disabled);
    !db.is_autonomous() && (table.state.statistics.has_filtered() || indexed())
}

/// The statistics of parts of a table's rows.
pub fn filtered(table: &TableDef) -> Vec<Filtered> {
    let usable = |statistics: Arc<Statistics>| {
        let filter = statistics.filter.as_ref()?.over(&table.columns)?;
        let column = table.position(*statistics.columns.first()?)?;
        can_be_measured(table.columns[column].ty).then_some(Filtered { filter, column, statistics })
    };
    statistics::all(table).into_iter().filter_map(usable).collect()
}

/// What is known of a part of a table's rows. Those of an index that nobody has asked for are
/// measured now; what is stale is measured again by a thread of the database.
pub(crate) fn of_part(
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    part: &Filtered,
) -> Option<Arc<MeasuredValues>> {
    let known = &part.statistics;
    match &known.measured {
        Some(measured) => {
            let renew = !known.no_recompute && db.settings().auto_update_stats;
            if renew && statistics::is_stale(table, measured) {
                leave(db, table, known);
            }
            Some(measured.clone())
        }
        None if !db.settings().auto_create_stats => None,
        None => {
            let _turn = table.state.statistics.turn();
            let id = known.stats_id;
            let made = statistics::all(table).into_iter().find(|s| s.stats_id == id)?;
            made.measured.clone().or_else(|| measure(db, table, &made, Amount::Default))
        }
    }
}

/// The most of these columns of which it is known how many combinations of values they have: their
/// ids, and that number.
pub fn together(db: &Arc<Db>, table: &Arc<TableDef>, columns: &[i32]) -> Option<(Vec<i32>, f64)> {
    let known = table.state.statistics.begun_with(columns);
    let length = |index: &IndexDef| {
        let ids = index.key.iter().map(|(at, _)| table.columns[*at].column_id);
        ids.take_while(|id| columns.contains(id)).count()
    };
    let whole = table.all_indexes().filter(|index| index.filter.is_none());
    let best = whole.max_by_key(|index| length(index))?;
    let most = known.as_ref().map_or(1, |(columns, _)| columns.len());
    if length(best) > most && !db.is_autonomous() && db.settings().auto_create_stats {
        // An index says more, and has not been asked yet.
        let _turn = table.state.statistics.turn();
        let made = table.state.statistics.begun_with(columns);
        if made.as_ref().is_some_and(|(columns, _)| columns.len() >= length(best)) {
            return made;
        }
        measure(db, table, &statistics::of_index(table, best), Amount::Default)?;
        return table.state.statistics.begun_with(columns).or(known);
    }
    known
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
) -> Option<Arc<MeasuredValues>> {
    let measured = Arc::new(sample::measure(db, table, target, amount).ok()?);
    let renewed = Statistics { measured: Some(measured.clone()), ..target.clone() };
    table.state.statistics.put(renewed);
    Some(measured)
}

/// The statistics to be made for a column: those of an index that begins with it, or new ones.
fn wanted(table: &TableDef, column_id: i32) -> Statistics {
    let all = statistics::all(table);
    let own = all.iter().find(|s| s.columns.first() == Some(&column_id) && s.filter.is_none());
    own.map_or_else(|| new_of(table, column_id), |s| Statistics::clone(s))
}

fn new_of(table: &TableDef, column_id: i32) -> Statistics {
    Statistics {
        stats_id: statistics::free_id(table),
        name: statistics::auto_name(table, column_id),
        columns: vec![column_id],
        origin: StatisticsOrigin::Auto,
        no_recompute: false,
        filter: None,
        measured: None,
    }
}
