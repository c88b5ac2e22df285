//! The integrity check of a database: structures, and allocation maps against their owners.
//! Guarantees: a damaged page is reported and does not end the check; every allocated extent belongs to exactly one
//! unit of the caller's list or is reported.

use std::collections::HashMap;

use access::{BTree, Heap};
use pages::{ExtentId, Unit};

use crate::database::Database;
use crate::error::TxnError;

/// A structure to check.
#[derive(Clone, Debug)]
pub enum CheckUnit {
    /// A heap.
    Heap(Heap),
    /// A B+tree.
    Tree(BTree),
    /// A LOB space: only its allocation.
    Space(Unit),
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckResult {
    /// Faults, each naming pages.
    pub messages: Vec<String>,
    /// Rows of each unit, in the order given (0 for a LOB space).
    pub rows: Vec<u64>,
    /// Pages of each unit.
    pub pages: Vec<u64>,
}
