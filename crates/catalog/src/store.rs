//! The system tables on disk: reading, writing and deleting their rows through the session's
//! transaction. Guarantee: a row that another transaction holds is waited for, never overwritten.

use std::ops::Bound;

use access::{BTree, Outcome, ReadMode, RowBatch};
use pages::PageId;
use txn::{Txn, TxnError};
use types::{SqlError, Value};

use super::systables::{ALL, SysTable, prefix_end};

/// How often a row may change under its writer before something is wrong.
const MAX_TRIES: usize = 1000;

/// What reading or writing the system tables can end in.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Txn(#[from] TxnError),
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl From<access::AccessError> for StoreError {
    fn from(e: access::AccessError) -> StoreError {
        StoreError::Txn(e.into())
    }
}

/// The trees of a database's system tables.
pub struct SysTrees {
    trees: Vec<BTree>,
    iams: Vec<PageId>,
}

impl SysTrees {
    /// Trees and the first IAM pages of their units, in the order of [`ALL`].
    pub fn new(trees: Vec<(BTree, PageId)>) -> SysTrees {
        debug_assert_eq!(trees.len(), ALL.len());
        let (trees, iams) = trees.into_iter().unzip();
        SysTrees { trees, iams }
    }

    /// The first IAM page of a table's unit.
    pub fn first_iam(&self, table: SysTable) -> PageId {
        self.iams[table.number()]
    }

    /// The tree of a table.
    pub fn tree(&self, table: SysTable) -> &BTree {
        &self.trees[table.number()]
    }

    /// Adds a row, or replaces the one with the same key.
    pub fn put(&self, txn: &mut Txn, table: SysTable, values: &[Value]) -> Result<(), StoreError> {
        self.put_row(txn, table, values, false)
    }

    /// The same of a row that no other transaction can be changing: one that is there as it is to
    /// be is left alone.
    ///
    /// # Errors
    /// As [`SysTrees::put`].
    pub fn put_changed(
        &self,
        txn: &mut Txn,
        table: SysTable,
        values: &[Value],
    ) -> Result<(), StoreError> {
        self.put_row(txn, table, values, true)
    }

    fn put_row(
        &self,
        txn: &mut Txn,
        table: SysTable,
        values: &[Value],
        changed: bool,
    ) -> Result<(), StoreError> {
        let (key, row) = (table.key(values), table.encode(values)?);
        let tree = self.tree(table);
        let mut batch = RowBatch::new();
        for _ in 0..MAX_TRIES {
            let there = tree.fetch(&key, ReadMode::Current, &mut batch)? && !batch.is_ghost(0);
            if there && changed && batch.row(0) == row.as_slice() {
                return Ok(());
            }
            let outcome = if there {
                tree.update(txn, &key, &batch.header(0), &row)?
            } else {
                tree.insert(txn, &key, &row)?
            };
            match outcome {
                Outcome::Done(()) => return Ok(()),
                Outcome::Wait(other) => txn.wait_for(other)?,
                Outcome::Locked => txn.wait_for_lock()?,
                Outcome::Changed | Outcome::Missing | Outcome::Duplicate => {}
            }
        }
        Err(unstable(table))
    }

    /// Deletes the row with the key that `values` begins with; false when there is none.
    pub fn delete(
        &self,
        txn: &mut Txn,
        table: SysTable,
        values: &[Value],
    ) -> Result<bool, StoreError> {
        let key = table.key(values);
        let tree = self.tree(table);
        let mut batch = RowBatch::new();
        for _ in 0..MAX_TRIES {
            if !tree.fetch(&key, ReadMode::Current, &mut batch)? || batch.is_ghost(0) {
                return Ok(false);
            }
            match tree.delete(txn, &key, &batch.header(0))? {
                Outcome::Done(()) => return Ok(true),
                Outcome::Wait(other) => txn.wait_for(other)?,
                Outcome::Locked => txn.wait_for_lock()?,
                Outcome::Missing => return Ok(false),
                Outcome::Changed | Outcome::Duplicate => {}
            }
        }
        Err(unstable(table))
    }

    /// Deletes every row whose key begins with `prefix`.
    pub(crate) fn delete_all(
        &self,
        txn: &mut Txn,
        table: SysTable,
        prefix: &[Value],
    ) -> Result<(), StoreError> {
        for row in self.rows(table, prefix, ReadMode::Dirty)? {
            self.delete(txn, table, &row)?;
        }
        Ok(())
    }

    /// The rows whose key begins with `prefix` (all for an empty one), in key order.
    pub fn rows(
        &self,
        table: SysTable,
        prefix: &[Value],
        mode: ReadMode<'_>,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let start = table.key(prefix);
        let end = if start.is_empty() { None } else { prefix_end(&start) };
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range(table, (Bound::Included(start.as_slice()), upper), mode)
    }

    /// The rows whose key is below `end`, in key order.
    pub(crate) fn rows_below(
        &self,
        table: SysTable,
        end: &[Value],
        mode: ReadMode<'_>,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let end = table.key(end);
        self.range(table, (Bound::Unbounded, Bound::Excluded(end.as_slice())), mode)
    }

    fn range(
        &self,
        table: SysTable,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        mode: ReadMode<'_>,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let mut cursor = self.tree(table).cursor(lower, upper, access::Direction::Forward);
        let (mut batch, mut out) = (RowBatch::new(), Vec::new());
        while cursor.next_batch(mode, &mut batch)? {
            for i in 0..batch.len() {
                if !batch.is_ghost(i) {
                    out.push(table.decode(batch.row(i))?);
                }
            }
        }
        Ok(out)
    }
}

fn unstable(table: SysTable) -> StoreError {
    StoreError::Sql(SqlError::internal(format!(
        "a row of system table {} does not hold still",
        table.number()
    )))
}
