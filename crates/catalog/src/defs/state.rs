//! What a running instance keeps of a table besides its definition: counts of rows, identity
//! values, use, open handles. Guarantees: shared by all versions of the definition; a statement
//! adds to its counts without a lock.

use crate::row_counts;
use crate::statistics::TableStatistics;
use crate::usage::TableUsage;
use pages::{PageId, UnitId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// What a running instance keeps of a table besides its definition; shared by all versions of the
/// definition.
#[derive(Debug, Default)]
pub struct TableState {
    /// Rows as far as known: kept up by DML; negative when unknown (after a start, until counted).
    rows: AtomicI64,
    /// With `rows` added: how many rows were changed since the database was opened. So an INSERT
    /// counts once.
    other: AtomicI64,
    /// Rows at the last clean stop; negative when there was none. See [`crate::row_counts`].
    pub noted: AtomicI64,
    /// What is known of the values, and how many rows have changed.
    pub statistics: TableStatistics,
    /// Next identity value and the value up to which the catalog has reserved.
    pub identity: Mutex<IdentityState>,
    /// How its indexes were used; an emptied table goes on with it.
    pub usage: Arc<TableUsage>,
    /// Open storage handles by unit and root page (heap, trees), made on first use.
    pub handles: Mutex<HashMap<(UnitId, PageId), Arc<dyn std::any::Any + Send + Sync>>>,
    /// What is charged for the definition of a temporary table: as long as a catalog or a plan has
    /// it.
    pub charged: Mutex<Option<Box<dyn std::any::Any + Send + Sync>>>,
}

impl TableState {
    /// Of a table that is opened, of whose rows so many were noted (negative: nothing).
    pub fn opened(noted: i64, statistics: TableStatistics) -> TableState {
        TableState {
            rows: AtomicI64::new(row_counts::UNKNOWN),
            other: AtomicI64::new(-row_counts::UNKNOWN),
            noted: AtomicI64::new(noted),
            statistics,
            ..TableState::default()
        }
    }

    /// Of an emptied table: its users' statistics are still wanted.
    pub fn emptied(&self) -> TableState {
        TableState {
            statistics: self.statistics.emptied(),
            usage: self.usage.clone(),
            ..TableState::default()
        }
    }

    /// A statement has added rows.
    #[inline]
    pub fn inserted(&self, rows: u64) {
        self.rows.fetch_add(rows as i64, Relaxed);
    }

    /// A statement has deleted rows.
    #[inline]
    pub fn deleted(&self, rows: u64) {
        self.rows.fetch_sub(rows as i64, Relaxed);
        self.other.fetch_add(2 * rows as i64, Relaxed);
    }

    /// A statement has updated rows in these columns (bits of `statistics::column_bit`). It counts
    /// where something is known of one of them that may no longer be so.
    #[inline]
    pub fn updated(&self, rows: u64, columns: u64) {
        if columns & self.statistics.measured_columns() != 0 {
            self.other.fetch_add(rows as i64, Relaxed);
        }
    }

    /// Rows as they were kept up; below zero when nobody has counted them.
    #[inline]
    pub fn rows(&self) -> i64 {
        self.rows.load(Relaxed)
    }

    /// The rows were counted while they were kept up as `before`. Changes in the meantime win.
    pub fn counted(&self, before: i64, rows: i64) {
        if self.rows.compare_exchange(before, rows, Relaxed, Relaxed).is_ok() {
            self.other.fetch_add(before - rows, Relaxed);
        }
    }

    /// How many rows were inserted, deleted, and updated in columns of which something is known,
    /// since the database was opened or the table made.
    #[inline]
    pub fn modified(&self) -> u64 {
        let sum = self.rows.load(Relaxed).wrapping_add(self.other.load(Relaxed));
        u64::try_from(sum).unwrap_or(0)
    }
}

/// Identity counter: values are reserved in blocks in the catalog so that a crash never reuses one.
#[derive(Debug, Default, Clone, Copy)]
pub struct IdentityState {
    /// The value that was given last; `None` before the first.
    pub last: Option<i64>,
    /// Values up to here may be given without touching the catalog.
    pub reserved: i64,
}
