//! What is known of how a table's indexes were used since the database was opened, and of the
//! indexes that plans would have liked to have: for sys.dm_db_index_usage_stats and the views of
//! missing indexes. Guarantees: nothing here is written by an execution; what executions have
//! counted for themselves is added when somebody asks, and when their plan is given up. A table
//! remembers no more than [`MOST_WANTED`] missing indexes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use compact_str::CompactString;
use parking_lot::Mutex;

/// Missing indexes of one table that are remembered; the one that was asked for longest ago makes
/// room.
const MOST_WANTED: usize = 16;

/// Numbers of missing indexes, over all tables of the process.
static NEXT: AtomicI32 = AtomicI32::new(1);

/// How a plan uses an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexUse {
    Seek,
    Scan,
    /// Rows by locators that another index has given.
    Lookup,
    Update,
}

/// How often, and when last: microseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseCount {
    pub count: u64,
    pub last: u64,
}

impl UseCount {
    fn add(&mut self, more: UseCount) {
        self.count += more.count;
        self.last = self.last.max(more.last);
    }
}

/// The uses of an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexUses([UseCount; 4]);

impl IndexUses {
    /// Of one kind.
    pub fn of(&self, kind: IndexUse) -> UseCount {
        self.0[kind as usize]
    }
}

/// The key and the other columns of an index that there is not, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingColumns {
    /// Compared by `=`.
    pub equality: Vec<CompactString>,
    /// Compared by `<` and its kin.
    pub inequality: Vec<CompactString>,
    /// Wanted besides.
    pub included: Vec<CompactString>,
}

/// A missing index and what it would have been good for.
#[derive(Clone, Debug, Default)]
pub struct MissingIndex {
    /// Tells it from all others.
    pub number: i32,
    pub columns: MissingColumns,
    /// Plans that were made without it.
    pub compiles: u64,
    /// Executions that would have sought it.
    pub seeks: UseCount,
    /// Of those executions: the sum of their plans' costs in seconds, and of the percentages that
    /// it would have saved.
    pub cost: f64,
    pub impact: f64,
}

#[derive(Debug, Default)]
struct KnownUsage {
    indexes: BTreeMap<i32, IndexUses>,
    missing: Vec<MissingIndex>,
}

/// Of a table.
#[derive(Debug, Default)]
pub struct TableUsage(Mutex<KnownUsage>);

impl TableUsage {
    /// Executions have used an index.
    pub fn used(&self, index_id: i32, kind: IndexUse, times: UseCount) {
        self.0.lock().indexes.entry(index_id).or_default().0[kind as usize].add(times);
    }

    /// A plan was made (`compiles`), or executed, that would be better with an index of these
    /// columns.
    pub fn missed(
        &self,
        columns: &MissingColumns,
        compiles: u64,
        seeks: UseCount,
        cost: f64,
        impact: f64,
    ) {
        let mut known = self.0.lock();
        let at =
            known.missing.iter().position(|known| known.columns == *columns).unwrap_or_else(|| {
                if known.missing.len() >= MOST_WANTED {
                    let oldest =
                        known.missing.iter().enumerate().min_by_key(|(_, one)| one.seeks.last);
                    let oldest = oldest.map_or(0, |(at, _)| at);
                    known.missing.remove(oldest);
                }
                let (number, columns) = (NEXT.fetch_add(1, Relaxed), columns.clone());
                known.missing.push(MissingIndex { number, columns, ..MissingIndex::default() });
                known.missing.len() - 1
            });
        let one = &mut known.missing[at];
        one.compiles += compiles;
        one.seeks.add(seeks);
        one.cost += cost * seeks.count as f64;
        one.impact += impact * seeks.count as f64;
    }

    /// Indexes that were used, by their ids.
    pub fn indexes(&self) -> Vec<(i32, IndexUses)> {
        self.0.lock().indexes.iter().map(|(id, uses)| (*id, *uses)).collect()
    }

    /// Indexes that were missed.
    pub fn missing(&self) -> Vec<MissingIndex> {
        self.0.lock().missing.clone()
    }

    /// The table has another index than before: what was missing is to be found out again, and a
    /// number that comes again begins at nothing.
    pub fn changed(&self, index_id: i32) {
        let mut known = self.0.lock();
        known.missing.clear();
        known.indexes.remove(&index_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(name: &str) -> MissingColumns {
        MissingColumns { equality: vec![name.into()], ..MissingColumns::default() }
    }

    #[test]
    fn uses_add_up_and_the_last_is_the_latest() {
        let usage = TableUsage::default();
        usage.used(1, IndexUse::Seek, UseCount { count: 3, last: 20 });
        usage.used(1, IndexUse::Seek, UseCount { count: 1, last: 10 });
        usage.used(2, IndexUse::Update, UseCount { count: 5, last: 7 });
        let all = usage.indexes();
        assert_eq!(all.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(all[0].1.of(IndexUse::Seek), UseCount { count: 4, last: 20 });
        assert_eq!(all[0].1.of(IndexUse::Scan), UseCount::default());
        usage.changed(1);
        assert_eq!(usage.indexes().len(), 1);
    }

    #[test]
    fn a_table_remembers_a_bounded_number_of_missing_indexes() {
        let usage = TableUsage::default();
        for n in 0..100u64 {
            usage.missed(&on(&format!("c{n}")), 1, UseCount { count: 1, last: n + 1 }, 2.0, 50.0);
        }
        usage.missed(&on("c99"), 0, UseCount { count: 3, last: 500 }, 1.0, 90.0);
        let all = usage.missing();
        assert_eq!(all.len(), MOST_WANTED);
        let last = all.iter().find(|one| one.columns == on("c99")).unwrap();
        assert_eq!(
            (last.compiles, last.seeks, last.cost),
            (1, UseCount { count: 4, last: 500 }, 5.0)
        );
        assert_eq!(last.impact, 320.0);
        let numbers: std::collections::BTreeSet<i32> = all.iter().map(|one| one.number).collect();
        assert_eq!(numbers.len(), MOST_WANTED);
    }
}
