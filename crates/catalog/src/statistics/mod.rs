//! Statistics of columns: what the planner knows of the values in a table. Each has a histogram of
//! its first column and the density of each prefix of its columns.
//!
//! The definitions of those that users have made are kept in the transaction that makes them. What
//! was measured is derived: it is kept in memory, written when the database is closed ([`store`]),
//! and measured again when too much has changed since.
//!
//! Guarantees: ids of statistics are unique within a table and those of its indexes' are the
//! indexes' own; nothing here changes what a statement gives.

pub mod histogram;
pub mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use compact_str::{CompactString, format_compact};
use parking_lot::{Mutex, MutexGuard, RwLock};
use types::Value;

use crate::{LOB_INDEX_ID, StatisticsFilter, TableDef, fold_name};
pub use histogram::{Histogram, HistogramStep, SampledValue};

/// What has made statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsOrigin {
    /// An index: they go with it.
    Index,
    /// CREATE STATISTICS.
    User,
    /// The planner.
    Auto,
}

/// Statistics of one or more columns.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// sys.stats.stats_id; that of an index is its index_id.
    pub stats_id: i32,
    pub name: CompactString,
    /// column_ids; the histogram is of the first.
    pub columns: Vec<i32>,
    pub origin: StatisticsOrigin,
    /// NORECOMPUTE: only UPDATE STATISTICS measures again.
    pub no_recompute: bool,
    /// Which rows they are of; none for all.
    pub filter: Option<StatisticsFilter>,
    /// What was measured; none before the first time.
    pub measured: Option<Arc<MeasuredValues>>,
}

impl Statistics {
    /// column_ids whose values decide what is measured.
    pub fn dependent(&self) -> impl Iterator<Item = i32> {
        self.columns.iter().copied().chain(self.filter.iter().flat_map(StatisticsFilter::columns))
    }

    /// Whether it measures or tests a column.
    pub fn depends_on(&self, column_id: i32) -> bool {
        self.dependent().any(|id| id == column_id)
    }
}

/// What was measured of a table's values.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredValues {
    /// When, as datetime.
    pub updated: Value,
    /// Rows that the filter admits, without one those of the table; and of the sample.
    pub rows: f64,
    pub sampled: f64,
    /// Rows of the table.
    pub unfiltered: f64,
    /// [`crate::TableState::modified`] at that time.
    pub modified: u64,
    /// Of the first column.
    pub histogram: Histogram,
    /// For each prefix of the columns: one divided by its number of different values.
    pub densities: Vec<f64>,
    /// For each prefix of the columns: bytes of its values, on average.
    pub lengths: Vec<f64>,
}

impl MeasuredValues {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        const VALUE: usize = 32;
        let steps = self
            .histogram
            .steps
            .iter()
            .map(|step| size_of::<HistogramStep>() + VALUE + step.key.len());
        size_of::<MeasuredValues>() + steps.sum::<usize>()
    }

    /// Different values of the first columns, as far as known.
    pub fn distinct(&self, columns: usize) -> Option<f64> {
        let density = *self.densities.get(columns.checked_sub(1)?)?;
        (density > 0.0).then(|| 1.0 / density)
    }

    /// The share of the rows that have a value. A value outside of what was seen is taken for one
    /// of those that a sample does not see: rare, but there.
    pub fn share_equal(&self, key: &[u8]) -> f64 {
        let rows = self.histogram.equal_rows(key).filter(|rows| *rows > 0.0);
        let unseen = if self.sampled < self.rows {
            self.rows / self.distinct(1).unwrap_or(1.0)
        } else {
            1.0
        };
        (rows.unwrap_or(unseen.max(1.0)) / self.rows.max(1.0)).clamp(0.0, 1.0)
    }

    /// The share of the rows whose value lies below, or at and below, a value.
    pub fn share_below(&self, key: &[u8], inclusive: bool) -> f64 {
        (self.histogram.rows_below(key, inclusive) / self.rows.max(1.0)).clamp(0.0, 1.0)
    }

    /// One divided by the different values that are no step of the histogram; 0 when there are
    /// none.
    pub fn density_between(&self) -> f64 {
        let values: f64 = self.histogram.steps.iter().map(|step| step.range_values).sum();
        if values >= 1.0 { 1.0 / values } else { 0.0 }
    }

    /// The share of the rows without a value.
    pub fn share_null(&self) -> f64 {
        (self.histogram.null_rows() / self.rows.max(1.0)).clamp(0.0, 1.0)
    }
}

/// The statistics of a table; shared by all versions of its definition.
#[derive(Debug, Default)]
pub struct TableStatistics {
    list: RwLock<Vec<Arc<Statistics>>>,
    /// Something has been measured since the statistics were last written.
    unwritten: AtomicBool,
    /// Held by the session that measures because its plan needs it.
    turn: Mutex<()>,
    /// The columns of which something was measured, as [`column_bit`]s: changes of others make no
    /// plan worse.
    measured: AtomicU64,
    /// There are some of a part of the rows.
    filtered: AtomicBool,
    /// How often something was measured again.
    renewals: AtomicU64,
    /// Ids of those that are to be measured again by a thread of the database.
    asked: Mutex<Vec<i32>>,
}

/// The bit of a column in a set of columns; columns that are 64 apart have the same.
pub fn column_bit(column_id: i32) -> u64 {
    1 << (column_id & 63)
}

impl TableStatistics {
    /// Those of a database that is being opened.
    pub fn of(list: Vec<Statistics>) -> TableStatistics {
        let list: Vec<_> = list.into_iter().map(Arc::new).collect();
        let statistics = TableStatistics::default();
        statistics.note_measured(&list);
        *statistics.list.write() = list;
        statistics
    }

    /// The columns of which something was measured, as [`column_bit`]s.
    #[inline]
    pub(crate) fn measured_columns(&self) -> u64 {
        self.measured.load(Relaxed)
    }

    fn note_measured(&self, list: &[Arc<Statistics>]) {
        let measured = list.iter().filter(|s| s.measured.is_some());
        let columns = measured.flat_map(|s| s.dependent()).fold(0, |all, id| all | column_bit(id));
        self.measured.store(columns, Relaxed);
        self.filtered.store(list.iter().any(|s| s.filter.is_some()), Relaxed);
    }

    /// Whether there are any of a part of the rows.
    #[inline]
    pub fn has_filtered(&self) -> bool {
        self.filtered.load(Relaxed)
    }

    /// The right to measure, when no other session has it.
    pub fn try_turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.turn.try_lock()
    }

    /// The right to measure; waits for another session that has it.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// How often something that was known has been measured again.
    #[inline]
    pub fn renewals(&self) -> u64 {
        self.renewals.load(Relaxed)
    }

    /// Somebody wants statistics to be measured again. False: they are already waited for.
    pub fn ask(&self, stats_id: i32) -> bool {
        let mut asked = self.asked.lock();
        let is_new = !asked.contains(&stats_id);
        if is_new {
            asked.push(stats_id);
        }
        is_new
    }

    /// What was asked for has been measured, or cannot be.
    pub fn answered(&self, stats_id: i32) {
        self.asked.lock().retain(|id| *id != stats_id);
    }

    /// All of them, by id.
    pub fn list(&self) -> Vec<Arc<Statistics>> {
        self.list.read().clone()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        const ONE: usize = 256;
        let of = |one: &Arc<Statistics>| {
            ONE + one.measured.as_ref().map_or(0, |measured| measured.memory())
        };
        self.list.read().iter().map(of).sum()
    }

    /// What was measured of a column and is known best: of the newest statistics whose first column
    /// it is.
    pub fn of_column(&self, column_id: i32) -> Option<Arc<Statistics>> {
        let list = self.list.read();
        let own =
            list.iter().filter(|s| s.columns.first() == Some(&column_id) && s.measured.is_some());
        let own = own.filter(|s| s.filter.is_none());
        let newest = |s: &&Arc<Statistics>| s.measured.as_ref().map_or(0, |m| m.modified);
        own.max_by_key(newest).cloned()
    }

    /// Different combinations of values of these columns, from statistics that begin with them in
    /// any order.
    pub fn distinct(&self, columns: &[i32]) -> Option<f64> {
        let list = self.list.read();
        list.iter().filter(|s| s.filter.is_none()).find_map(|s| {
            let prefix = s.columns.get(..columns.len())?;
            let same = columns.iter().all(|id| prefix.contains(id));
            same.then(|| s.measured.as_ref()?.distinct(columns.len()))?
        })
    }

    /// The most of these columns that statistics begin with, at least two, in any order, and their
    /// different combinations.
    pub fn begun_with(&self, columns: &[i32]) -> Option<(Vec<i32>, f64)> {
        let list = self.list.read();
        let prefix = |s: &Arc<Statistics>| {
            let length = s.columns.iter().take_while(|id| columns.contains(id)).count();
            let distinct = s.measured.as_ref().filter(|_| length > 1)?.distinct(length)?;
            Some((s.columns[..length].to_vec(), distinct))
        };
        let whole = list.iter().filter(|s| s.filter.is_none());
        whole.filter_map(prefix).max_by_key(|(columns, _)| columns.len())
    }

    /// Adds statistics, or puts them in the place of those with their id.
    pub fn put(&self, statistics: Statistics) {
        let mut list = self.list.write();
        self.unwritten.store(true, Relaxed);
        match list.binary_search_by_key(&statistics.stats_id, |s| s.stats_id) {
            Ok(at) => {
                let again = list[at].measured.is_some() && statistics.measured.is_some();
                self.renewals.fetch_add(u64::from(again), Relaxed);
                list[at] = Arc::new(statistics);
            }
            Err(at) => list.insert(at, Arc::new(statistics)),
        }
        self.note_measured(&list);
    }

    /// Takes statistics out.
    pub fn remove(&self, stats_id: i32) -> Option<Arc<Statistics>> {
        let mut list = self.list.write();
        self.unwritten.store(true, Relaxed);
        let at = list.binary_search_by_key(&stats_id, |s| s.stats_id).ok()?;
        let removed = list.remove(at);
        self.note_measured(&list);
        Some(removed)
    }

    /// Forgets what was measured of a column: it is dropped, or its type changes.
    pub fn forget_column(&self, column_id: i32) {
        let mut list = self.list.write();
        self.unwritten.store(true, Relaxed);
        list.retain(|s| s.origin == StatisticsOrigin::User || !s.depends_on(column_id));
        for statistics in list.iter_mut().filter(|s| s.depends_on(column_id)) {
            *statistics = Arc::new(Statistics { measured: None, ..Statistics::clone(statistics) });
        }
        self.note_measured(&list);
    }

    /// Whether something is to be written, asked once.
    pub(crate) fn take_unwritten(&self) -> bool {
        self.unwritten.swap(false, Relaxed)
    }

    /// Those of an emptied table: the same definitions of users, nothing measured.
    pub fn emptied(&self) -> TableStatistics {
        let list = self.list.read();
        let users = list.iter().filter(|s| s.origin == StatisticsOrigin::User);
        TableStatistics::of(
            users.map(|s| Statistics { measured: None, ..Statistics::clone(s) }).collect(),
        )
    }
}

/// An id that neither an index nor statistics of the table have.
pub fn free_id(table: &TableDef) -> i32 {
    let indexes = table.all_indexes().map(|index| index.index_id);
    let statistics = table.state.statistics.list();
    let used = indexes.chain(statistics.iter().map(|s| s.stats_id)).max().unwrap_or(0);
    let next = used.max(1) + 1;
    if next == LOB_INDEX_ID { next + 1 } else { next }
}

/// The name that the planner gives to statistics of a column.
pub fn auto_name(table: &TableDef, column_id: i32) -> CompactString {
    format_compact!("_WA_Sys_{column_id:08X}_{:08X}", table.object_id)
}

/// All statistics of a table: its indexes' (measured or not yet), the users', the planner's.
pub fn all(table: &TableDef) -> Vec<Arc<Statistics>> {
    let known = table.state.statistics.list();
    let mut out: Vec<Arc<Statistics>> = Vec::new();
    for index in table.all_indexes().filter(|index| !index.key.is_empty()) {
        let mut own = of_index(table, index);
        // Those of a dropped index may still be there; an index of the same name and other columns
        // has not been measured.
        let same = |s: &&Arc<Statistics>| {
            s.stats_id == own.stats_id && s.columns == own.columns && s.filter == own.filter
        };
        if let Some(known) = known.iter().filter(|s| s.origin == StatisticsOrigin::Index).find(same)
        {
            (own.measured, own.no_recompute) = (known.measured.clone(), known.no_recompute);
        }
        out.push(Arc::new(own));
    }
    out.extend(known.into_iter().filter(|s| s.origin != StatisticsOrigin::Index));
    out.sort_by_key(|s| s.stats_id);
    out
}

/// The statistics of an index, not measured yet.
pub fn of_index(table: &TableDef, index: &crate::IndexDef) -> Statistics {
    let columns = index.key.iter().map(|(at, _)| table.columns[*at].column_id).collect();
    Statistics {
        stats_id: index.index_id,
        name: index.name.clone(),
        columns,
        origin: StatisticsOrigin::Index,
        no_recompute: false,
        filter: index.filter.as_ref().map(|filter| StatisticsFilter::new(filter, &table.columns)),
        measured: None,
    }
}

/// The statistics of a table with this name.
pub fn find(table: &TableDef, name: &str) -> Option<Arc<Statistics>> {
    let folded = fold_name(name);
    all(table).into_iter().find(|s| fold_name(&s.name) == folded)
}

/// How many changed rows make statistics of a table with so many rows stale: SQL Server's rule
/// since 2016, the smaller one of 500 + 20 % and the square root of 1,000 times the rows.
pub fn threshold(rows: f64) -> u64 {
    let old = 500.0 + 0.2 * rows;
    let new = (1_000.0 * rows).sqrt();
    if rows <= 500.0 { 500 } else { old.min(new.max(500.0)) as u64 }
}

/// Whether what was measured is to be measured again.
pub fn is_stale(table: &TableDef, measured: &MeasuredValues) -> bool {
    let changed = table.state.modified().saturating_sub(measured.modified);
    let limit = threshold(measured.unfiltered);
    if changed >= limit {
        return true;
    }
    // After a crash nobody has counted the changes, but the rows tell.
    let rows = crate::row_counts::estimate(table).map_or(measured.unfiltered, |rows| rows as f64);
    (rows - measured.unfiltered).abs() >= limit as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_sql_servers() {
        let cases = [
            (0.0, 500),
            (500.0, 500),
            (1_000.0, 700),
            (10_000.0, 2_500),
            (1e6, 31_622),
            (1e8, 316_227),
        ];
        for (rows, limit) in cases {
            assert_eq!(threshold(rows), limit, "{rows} rows");
        }
    }

    #[test]
    fn the_newest_measurement_of_a_column_counts() {
        let statistics = TableStatistics::default();
        let measured = |modified| MeasuredValues {
            updated: Value::Null,
            rows: 10.0,
            sampled: 10.0,
            unfiltered: 10.0,
            modified,
            histogram: Histogram::default(),
            densities: vec![0.1, 0.05],
            lengths: vec![4.0, 8.0],
        };
        let make = |stats_id, columns: &[i32], modified| Statistics {
            stats_id,
            name: "s".into(),
            columns: columns.to_vec(),
            origin: StatisticsOrigin::User,
            no_recompute: false,
            filter: None,
            measured: Some(Arc::new(measured(modified))),
        };
        statistics.put(make(7, &[1, 2], 5));
        statistics.put(make(3, &[1], 9));
        // Of some of the rows: they say nothing of all.
        let columns = [crate::ColumnDef::of_type(4, types::DataType::Int)];
        let filter = StatisticsFilter::load(9, "4:N \n([c4] IS NULL)", &columns);
        assert!(filter.is_some());
        statistics.put(Statistics { filter, ..make(8, &[1, 2, 3], 11) });
        assert!(statistics.has_filtered());
        assert_eq!(statistics.of_column(1).map(|s| s.stats_id), Some(3));
        assert_eq!(statistics.begun_with(&[3, 2, 1]), Some((vec![1, 2], 20.0)));
        assert!(statistics.list()[2].depends_on(4) && !statistics.list()[1].depends_on(4));
        assert_eq!(statistics.measured_columns(), (1..=4).fold(0, |all, id| all | column_bit(id)));
        statistics.remove(8);
        assert!(!statistics.has_filtered());
        assert_eq!(statistics.of_column(1).map(|s| s.stats_id), Some(3));
        assert_eq!(statistics.measured_columns(), column_bit(1) | column_bit(2));
        assert!(statistics.of_column(2).is_none());
        assert_eq!(statistics.distinct(&[2, 1]), Some(20.0));
        assert_eq!(statistics.begun_with(&[3, 2, 1]), Some((vec![1, 2], 20.0)));
        assert_eq!(statistics.begun_with(&[3, 2]), None);
        assert_eq!(statistics.list().iter().map(|s| s.stats_id).collect::<Vec<_>>(), [3, 7]);
        assert!(statistics.remove(3).is_some() && statistics.remove(3).is_none());
        statistics.remove(7);
        assert_eq!(statistics.measured_columns(), 0);
    }
}
