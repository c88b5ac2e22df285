//! How one table is read: the structure, the ranges that are sought in it, the columns and the
//! conditions.

use catalog::Db;
use expr::{Expr, Pred};
use logical::access_hints::Sample;
use logical::hints::RowLocks;
use std::sync::Arc;
use storage::{Base, TableMode, TableStore};
use types::DataType;

/// Which structure is read, and how.
#[derive(Debug)]
pub enum Path {
    /// The heap, or the clustered index from end to end.
    Base,
    /// A range of the clustered index.
    Clustered(SeekSpec),
    /// One row by its whole clustered key.
    Point(SeekSpec),
    /// A nonclustered index (its number in `TableStore::indexes`); `covering` when it holds all
    /// wanted columns.
    Index { index: usize, seek: SeekSpec, point: bool, covering: bool },
}

impl ScanPlan {
    /// Whether it gives one row as it was by its whole clustered key, and asks for nothing but
    /// variables: it needs no operator.
    pub fn is_plain_point(&self) -> bool {
        let Path::Point(spec) = &self.path else { return false };
        self.mode != TableMode::Current
            && self.locks.is_none()
            && self.sample.is_none()
            && !self.locator
            && self.store.lob.is_none()
            && matches!(self.store.base, Base::Tree(_))
            && spec.equal.iter().all(Expr::is_plain)
            && self.pred.as_ref().is_none_or(Pred::is_plain)
    }
}

impl Path {
    /// One row at most, by the whole key of a unique index.
    pub fn is_point(&self) -> bool {
        matches!(self, Path::Point(_) | Path::Index { point: true, .. })
    }
}

/// A read of one table. Slot `i` holds table column `columns[i]`; after them the locator when it is
/// wanted.
#[derive(Debug)]
pub struct ScanPlan {
    pub db: Arc<Db>,
    pub store: Arc<TableStore>,
    pub mode: TableMode,
    /// Locks that it takes on rows: another operator then, `LockedScan`.
    pub locks: Option<RowLocks>,
    pub path: Path,
    pub backward: bool,
    pub columns: Vec<u16>,
    /// As `columns`, in a covering index's own positions.
    pub index_columns: Vec<u16>,
    /// So many columns are decoded for the condition.
    pub tested: usize,
    /// Nothing but the condition asks for these columns: where it is known without them they are
    /// NULL in what the scan gives.
    pub only_tested: bool,
    pub pred: Option<Pred>,
    /// Parts of it are computed once where many rows are tested (`Pred::with_computed`): the
    /// variables that it asks for keep their values.
    pub computes: bool,
    /// Its first parts may be tested on the bytes of base rows, or of entries of a covering index,
    /// where many are tested (`expr::InPlace`): the variables that it asks for keep their values.
    pub in_place: bool,
    /// What an index's entry has to satisfy so that its row is looked up.
    pub entry: Option<EntryTest>,
    /// Rows behind entries may come in another order than these.
    pub any_order: bool,
    pub locator: bool,
    /// So many rows may be all that are asked for: its first batch is that small, and each further
    /// one twice as large.
    pub goal: Option<usize>,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
    /// An index that would be better than `path`, if there were one.
    pub missing: Option<Box<WantedIndex>>,
}

/// A condition on the columns of an index's entry.
#[derive(Debug)]
pub struct EntryTest {
    /// Over slots of its own.
    pub pred: Pred,
    /// The table's columns in these slots.
    pub columns: Vec<u16>,
    /// The same in the entry's own positions.
    pub places: Vec<u16>,
}

/// An index that there is not: positions of columns, and what the read would cost with it.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedIndex {
    /// Compared by `=`.
    pub equality: Vec<usize>,
    /// Compared by `<`, `<=`, `>` or `>=`.
    pub inequality: Vec<usize>,
    /// Wanted besides.
    pub included: Vec<usize>,
    /// In units of [`crate::cost`].
    pub cost: f64,
}

impl ScanPlan {
    /// Slots of a row.
    pub fn width(&self) -> usize {
        self.columns.len() + usize::from(self.locator)
    }
}

/// What a seek is for: equal values of the first key columns, and a range of the next.
#[derive(Clone, Debug, Default)]
pub struct SeekSpec {
    /// Value per leading key column.
    pub equal: Vec<Expr>,
    /// NULL is a value to look for (IS NULL), per leading key column.
    pub null_ok: Vec<bool>,
    /// Lower end of the next column.
    pub lower: Option<SeekEnd>,
    /// Upper end of the next column.
    pub upper: Option<SeekEnd>,
    /// Further ranges: the rows of any of them are sought, each once and in the order of the index.
    pub others: Vec<SeekSpec>,
    /// Of several ranges: so many equal columns have the same value in each.
    pub common: usize,
    /// The next columns are passed over. Then there are no other ranges.
    pub behind: Option<Box<BehindPassed>>,
}

/// What a seek that passes over columns is for: for each combination of values of these that there
/// is in its range, the ranges of the columns behind them are sought. The conditions that those
/// stand for are tested on what is found all the same: a run may read the range as it lies.
#[derive(Clone, Debug)]
pub struct BehindPassed {
    /// So many columns are passed over, one at least.
    pub columns: usize,
    /// So many combinations of their values are expected.
    pub values: f64,
    /// So many are visited before it counts that what is found has few rows.
    pub visits: f64,
    /// Ranges of the columns behind them.
    pub ranges: SeekSpec,
}

/// An end of a range.
#[derive(Clone, Debug)]
pub struct SeekEnd {
    pub value: Expr,
    pub inclusive: bool,
    /// The column is compared in this type, in which several of its values may be one: the range
    /// ends with the last of those that may be the value (`types::rounding`).
    pub rounded: Option<DataType>,
}

impl SeekSpec {
    /// Whether nothing is asked for: a scan.
    pub fn is_empty(&self) -> bool {
        self.is_unbounded() && self.behind.is_none()
    }

    /// Whether nothing is asked for of the first key column.
    pub fn is_unbounded(&self) -> bool {
        self.equal.is_empty() && self.lower.is_none() && self.upper.is_none()
    }

    /// So many leading key columns have one value in all rows.
    pub fn common_equal(&self) -> usize {
        if self.others.is_empty() { self.equal.len() } else { self.common }
    }

    /// Its ranges.
    pub fn ranges(&self) -> impl Iterator<Item = &SeekSpec> {
        std::iter::once(self).chain(&self.others)
    }

    /// Its ranges, and those of the columns behind those that it passes over.
    pub fn all_ranges(&self) -> impl Iterator<Item = &SeekSpec> {
        self.ranges().chain(self.behind.iter().flat_map(|behind| behind.ranges.ranges()))
    }

    /// Ways down the tree behind the first one, as expected: each further range, and of a seek that
    /// passes over columns a search for each value and its ranges.
    pub fn further_ways(&self) -> f64 {
        match &self.behind {
            Some(behind) => behind.values * (1.0 + behind.ranges.ranges().count() as f64),
            None => self.others.len() as f64,
        }
    }
}
