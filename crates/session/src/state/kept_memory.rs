//! Memory that a session keeps from one statement to the next, so that they allocate little, and
//! what it is charged with.
//! Guarantees: memory whose size users decide is charged to the instance's account; a session that
//! may be idle for long keeps a bounded part of its last statement.

use std::any::Any;
use std::sync::Arc;

use access::RowBatch;
use expr::Parsed;
use memory::{Clerk, MemoryAccount, Reservation};
use types::Value;

use super::holdings::{HoldingKind, Holdings};
use crate::query_memory::QueryMemory;

/// Bytes of a document that a session keeps for the next statement.
const MOST_PARSED: usize = 16 << 20;

/// Bytes of a value that a session keeps for the next one.
const MOST_KEPT: usize = 1 << 10;

/// Room that is kept from one statement that reads or changes one row to the next, so that it
/// allocates nothing.
#[derive(Default)]
pub struct PointRoom {
    pub key: Vec<u8>,
    /// Values of the row's columns.
    pub values: Vec<Value>,
    /// The row as it was read.
    pub batch: RowBatch,
}

impl PointRoom {
    /// Takes the session's, or makes one.
    #[inline]
    pub fn take(memory: &mut KeptMemory) -> Box<PointRoom> {
        memory.point.take().unwrap_or_default()
    }

    /// Gives it back to the session.
    #[inline]
    pub fn give(mut self: Box<PointRoom>, memory: &mut KeptMemory) {
        self.tidy();
        memory.point = Some(self);
    }

    /// Gives back what is too large to be kept by a session that may be idle for long.
    #[inline]
    fn tidy(&mut self) {
        for value in &mut self.values {
            if let Value::Str(_) | Value::Bytes(_) = value
                && value.heap_bytes() > MOST_KEPT
            {
                *value = Value::Null;
            }
        }
    }
}

/// The memory that a session keeps between statements.
pub struct KeptMemory {
    /// The bindings of the batches that it ran last. Only the interpreter knows their type.
    pub bindings: Option<Box<dyn Any + Send + Sync>>,
    /// Charged for what the session keeps between statements.
    pub holdings: Holdings,
    /// Charged for large values that expressions work with.
    pub values: Reservation,
    /// The document that a method of xml has read last.
    document: Option<Arc<Parsed>>,
    /// What a statement works in that reads or changes one row.
    point: Option<Box<PointRoom>>,
    /// Memory for the session's queries that others do not share.
    pub own_queries: Option<Arc<QueryMemory>>,
}

impl KeptMemory {
    /// Nothing is kept yet; what will be is charged to this account.
    pub fn new(account: &Arc<MemoryAccount>) -> KeptMemory {
        KeptMemory {
            bindings: None,
            holdings: Holdings::new(account),
            values: Reservation::new(account, Clerk::QueryExecution),
            document: None,
            point: None,
            own_queries: None,
        }
    }

    /// The document that a method of xml has read last.
    pub fn document(&self) -> Option<&Arc<Parsed>> {
        self.document.as_ref()
    }

    /// Keeps a document that was read, in the place of the one before, if there is memory for it.
    pub fn keep_document(&mut self, parsed: &Arc<Parsed>) {
        self.document = None;
        if self.holdings.set(HoldingKind::ParsedDocument, parsed.heap_bytes()).is_ok() {
            self.document = Some(parsed.clone());
        } else {
            self.holdings
                .remove(HoldingKind::ParsedDocument, self.holdings.of(HoldingKind::ParsedDocument));
        }
    }

    /// A statement has ended: a large document is not kept for the next one.
    #[inline]
    pub fn drop_large_document(&mut self) {
        if self.document.is_some() && self.holdings.of(HoldingKind::ParsedDocument) > MOST_PARSED {
            self.document = None;
            self.holdings
                .remove(HoldingKind::ParsedDocument, self.holdings.of(HoldingKind::ParsedDocument));
        }
    }

    /// The session is reset: what it has kept is gone, or is no longer charged.
    pub fn clear_holdings(&mut self) {
        self.document = None;
        self.holdings.clear();
    }
}
