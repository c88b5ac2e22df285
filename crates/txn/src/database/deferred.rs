//! Work that transactions leave to their database until they have committed. It is done by the
//! background thread (`cleanup`). Guarantee: it is done in the order in which it was left. Nothing
//! here is durable.

use std::collections::VecDeque;
use std::sync::Arc;

use pages::{PageId, UnitId};
use parking_lot::Mutex;

use super::Database;

/// What a thread does for a transaction that has committed.
pub type DeferredWork = Box<dyn FnOnce(&Arc<Database>) + Send>;

/// Work that runs after the commit, outside of the transaction.
pub struct Deferred {
    /// Units that nobody uses any more once the transaction has committed, and that the work frees.
    pub units: Vec<(UnitId, PageId)>,
    pub work: DeferredWork,
}

/// A piece of deferred work with its lists of units.
const DEFERRED_BYTES: usize = 256;

/// Deferred work waiting for its thread.
#[derive(Default)]
pub(crate) struct DeferredQueue {
    work: Mutex<VecDeque<Deferred>>,
    /// Held by the thread that does it.
    pub turn: Mutex<()>,
}

impl DeferredQueue {
    pub fn add(&self, work: Vec<Deferred>) {
        self.work.lock().extend(work);
    }

    pub fn next(&self) -> Option<Deferred> {
        self.work.lock().pop_front()
    }

    /// Memory of the work that waits.
    pub fn memory(&self) -> usize {
        self.work.lock().len() * DEFERRED_BYTES
    }
}
