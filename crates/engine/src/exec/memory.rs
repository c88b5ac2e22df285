//! Memory that one statement's hashes, aggregates and kept rows hold: a statement that passes the limit fails with error
//! 701 instead of taking the machine down. Sorts have a budget of their own and go to run files beyond it.

use std::sync::OnceLock;

use types::SqlError;

/// Bytes that one statement may hold, at least.
const LIMIT_MIN: usize = 1 << 30;

/// Bytes that one statement may hold: a quarter of the machine's memory.
fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let quarter = crate::instance::machine_memory() / 4;
        usize::try_from(quarter).unwrap_or(usize::MAX).max(LIMIT_MIN)
    })
}

/// One statement's use of memory.
#[derive(Debug, Default)]
pub struct MemoryGrant {
    used: usize,
}

impl MemoryGrant {
    /// Takes bytes for the rest of the statement. Error: 701.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.used = self.used.saturating_add(bytes);
        if self.used > limit() { Err(out_of_memory()) } else { Ok(()) }
    }

    /// Gives bytes back.
    pub fn release(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Whether bytes could be had at all. Error: 701.
    pub fn check(&self, bytes: usize) -> Result<(), SqlError> {
        if bytes > limit() { Err(out_of_memory()) } else { Ok(()) }
    }
}

/// 701.
pub fn out_of_memory() -> SqlError {
    SqlError::new(
        701,
        17,
        123,
        "There is insufficient system memory in resource pool 'default' to run this query.",
    )
}

/// Bytes that a kept row takes.
pub fn row_bytes(row: &[types::Value]) -> usize {
    std::mem::size_of_val(row) + row.iter().map(types::Value::heap_bytes).sum::<usize>() + 32
}
