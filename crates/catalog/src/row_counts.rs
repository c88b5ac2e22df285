//! Row counts that survive a stop: noted when a database is closed ([`crate::closing`]), read when
//! it is opened, kept up by the changes in between. After a crash they are those of the last clean
//! stop and what has changed since the start: good enough to estimate with, never shown as a count.

use std::sync::atomic::Ordering;

use crate::TableDef;

/// [`crate::TableState::rows`] of a table that has not been counted: so far below zero that changes
/// cannot bring it above.
pub const UNKNOWN: i64 = i64::MIN / 2;

/// Rows of a table as far as can be told without counting them; `None` when nothing is known.
#[inline]
pub fn estimate(table: &TableDef) -> Option<i64> {
    let rows = table.state.rows();
    if rows >= 0 {
        return Some(rows);
    }
    let noted = table.state.noted.load(Ordering::Relaxed);
    (noted >= 0).then(|| (noted + (rows - UNKNOWN)).max(0))
}
