//! Operators: one file each. An operator fills batches of rows. It is its state and nothing else:
//! its node of the plan and the run are handed to it at each call, so that it can be kept between
//! two statements or go to another thread, and no count of users of a plan is touched when a plan
//! is started. The caller that starts a plan holds its operators together with it
//! ([`open::StartedPlan`], [`query::RunningQuery`]), an operator hands its inputs those of its own
//! node. Guarantees: `next` gives at least one row or says that there are no more; rows of a batch
//! have the plan's width; a statement that is cancelled stops within a batch.

pub(crate) mod aggregate;
pub(crate) mod apply;
mod around;
pub(crate) mod basic;
mod condition;
pub mod context;
mod decode;
mod distinct;
mod document;
mod env;
pub mod external_sort;
mod groups;
mod hash;
pub(crate) mod hash_join;
mod join_parts;
mod join_probe;
mod large;
pub(crate) mod locked;
mod lookup;
pub(crate) mod loop_join;
pub(crate) mod merge;
mod merge_concat;
mod merge_join;
pub mod open;
pub(crate) mod outer;
mod own;
mod partition;
mod pending;
mod piecewise_sort;
pub mod plain;
mod point;
pub(crate) mod profile;
pub mod query;
mod routine;
pub mod row_store;
mod rows_first;
pub mod rt;
pub mod scalar;
pub mod scan;
pub mod seek;
mod skip;
pub(crate) mod sort;
pub(crate) mod spill;
mod stored;
mod stream;
pub(crate) mod subquery;
pub mod top;
pub(crate) mod window;
pub(crate) mod work;

use own::OpenCustom;
use plan::nodes::Plan;
use rt::Rt;
use stored::StoredRows;
use types::{ResultRows, SqlError, Value};

/// Rows that an operator aims to put in a batch.
pub const BATCH: usize = 128;

/// Values of a batch: wide rows are given a few at a time.
const VALUES: usize = 16 << 10;

/// An operator that runs.
pub(crate) trait Operator: Send {
    /// Replaces `out` by the next rows; false when there are none. `plan` is the node that it was
    /// started for, at every call.
    ///
    /// # Errors
    /// Those of expressions and of the storage; internal for another kind of node. Rows of the
    /// result that come before an error are in `out`, whole, if `RowsFirst` is to give them.
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError>;

    /// Pairs of rows on which a join has tested a condition so far.
    fn compared(&self) -> u64 {
        0
    }
}

/// The error of an operator that is called with a node of another kind.
#[cold]
fn other_node() -> SqlError {
    SqlError::internal("an operator runs with a node that is not its own")
}

/// How an operator starts plans of its own.
pub(crate) type OpenPlan = fn(&Plan) -> Box<dyn Operator>;

/// The operators of nodes that are no variants of `Node`, file by file.
const OWN: &[&[OpenCustom]] = &[merge_concat::ALL, around::ALL];

/// Starts a node of a kind of its own.
fn own_operator(plan: &Plan, open: OpenPlan) -> Box<dyn Operator> {
    match OWN.iter().copied().flatten().find_map(|own| own(plan, open)) {
        Some(operator) => operator,
        None => Box::new(Unknown),
    }
}

/// For a node whose operator is in no list.
struct Unknown;

impl Operator for Unknown {
    fn next(&mut self, _: &Plan, _: &mut Rt<'_, '_>, _: &mut RowSet) -> Result<bool, SqlError> {
        Err(other_node())
    }
}

/// Rows of one width, one after another. Cleared rows keep their memory.
#[derive(Debug)]
pub struct RowSet {
    width: usize,
    /// Rows of this width that make it full.
    most: usize,
    rows: usize,
    values: Vec<Value>,
    /// The rows that stay as they are stored, where they may.
    stored: Option<Box<StoredRows>>,
}

/// Rows without values.
impl Default for RowSet {
    fn default() -> RowSet {
        RowSet::new(0)
    }
}

/// Rows of a width that make a set full.
fn rows_of(width: usize) -> usize {
    (VALUES / width.max(1)).clamp(1, BATCH)
}

impl RowSet {
    /// An empty set of rows of a width.
    pub fn new(width: usize) -> RowSet {
        RowSet { width, most: rows_of(width), rows: 0, values: Vec::new(), stored: None }
    }

    /// Forgets the rows and sets the width of the next ones.
    #[inline]
    pub fn reset(&mut self, width: usize) {
        if self.width != width {
            self.width = width;
            self.most = rows_of(width);
        }
        self.rows = 0;
        if let Some(stored) = &mut self.stored {
            stored.clear();
        }
    }

    /// From now on rows may stay as they are stored ([`RowSet::stored`]).
    pub fn take_stored(&mut self) {
        self.stored.get_or_insert_default();
    }

    /// Whether rows may stay as they are stored.
    #[inline]
    pub fn takes_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// The row that was added last is this stored one; its values are not.
    pub fn store(&mut self, row: &[u8]) {
        if let (Some(stored), Some(last)) = (&mut self.stored, self.rows.checked_sub(1)) {
            stored.put(last, row);
        }
    }

    /// A row as it is stored; none for one that has values.
    #[inline]
    pub fn stored(&self, i: usize) -> Option<&[u8]> {
        self.stored.as_ref()?.get(i)
    }

    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it has as many rows as an operator gives at once.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows >= self.most
    }

    /// Rows that an operator gives at once.
    #[inline]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Values per row.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows in values, for a sink. Those that stay as they are stored have none worth reading.
    #[inline]
    pub fn as_rows(&self) -> ResultRows<'_> {
        let values = self.values.get(..self.rows * self.width).unwrap_or_default();
        ResultRows::of_values(self.rows, self.width, values)
    }

    /// A row.
    #[inline]
    pub fn row(&self, i: usize) -> &[Value] {
        &self.values[i * self.width..(i + 1) * self.width]
    }

    /// A row, to be changed.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [Value] {
        &mut self.values[i * self.width..(i + 1) * self.width]
    }

    /// Adds a row whose values are whatever was there before.
    #[inline]
    pub fn push_row(&mut self) -> &mut [Value] {
        let at = self.rows * self.width;
        if self.values.len() < at + self.width {
            self.values.resize(at + self.width, Value::Null);
        }
        self.rows += 1;
        &mut self.values[at..at + self.width]
    }

    /// Adds a copy of a row.
    pub fn push(&mut self, row: &[Value]) {
        debug_assert_eq!(row.len(), self.width, "a row of another width");
        if self.values.len() == self.rows * self.width {
            // No row was there before: each value is written once.
            self.values.extend_from_slice(row);
            self.rows += 1;
        } else {
            self.push_row().clone_from_slice(row);
        }
    }

    /// Exchanges the rows for others, whose values lie one after another.
    pub fn exchange(&mut self, width: usize, rows: usize, values: &mut Vec<Value>) {
        debug_assert_eq!(values.len(), rows * width, "rows of another width");
        std::mem::swap(&mut self.values, values);
        (self.width, self.rows) = (width, rows);
    }

    /// Adds a row of two parts.
    pub fn push_pair(&mut self, left: &[Value], right: &[Value]) {
        let row = self.push_row();
        row[..left.len()].clone_from_slice(left);
        row[left.len()..].clone_from_slice(right);
    }

    /// Takes the last row back.
    #[inline]
    pub fn pop_row(&mut self) {
        self.rows -= 1;
        if let Some(stored) = &mut self.stored {
            stored.truncate(self.rows);
        }
    }

    /// Takes the last row back when what should have filled it has failed.
    #[inline]
    pub fn or_pop<T>(&mut self, filled: Result<T, SqlError>) -> Result<T, SqlError> {
        if filled.is_err() {
            self.pop_row();
        }
        filled
    }

    /// Keeps the first `n` rows.
    pub fn truncate(&mut self, n: usize) {
        self.rows = self.rows.min(n);
        if let Some(stored) = &mut self.stored {
            stored.truncate(self.rows);
        }
    }

    /// Moves the rows from `from` on to the front.
    pub fn drop_front(&mut self, from: usize) {
        let from = from.min(self.rows);
        self.values.rotate_left(from * self.width);
        self.rows -= from;
        if let Some(stored) = &mut self.stored {
            stored.drop_front(from);
        }
    }
}
