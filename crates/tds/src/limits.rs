//! Bounds on what a decoded request may take. Guarantees: decoding charges before it keeps anything whose number the
//! other side chose, so memory stays within [`Limits::memory`] plus the message's own bytes.

use crate::error::TdsError;

/// Most parameters of one remote procedure call.
pub const MAX_PARAMETERS: usize = 2100;
/// Most columns of a table-valued parameter or a bulk load.
pub const MAX_COLUMNS: usize = 1024;

/// What the caller allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of decoded values, parameters and rows kept at once.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 64 << 20 }
    }
}

/// What is left of a limit.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: usize,
    limit: usize,
}

impl Budget {
    /// A full budget.
    pub fn new(limits: Limits) -> Budget {
        Budget { left: limits.memory, limit: limits.memory }
    }

    /// Takes bytes off; `TooLarge` when there are not so many.
    pub fn charge(&mut self, bytes: usize) -> Result<(), TdsError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(TdsError::TooLarge { what: "the request's data", limit: self.limit }),
        }
    }

    /// Gives everything back, when what was charged has been dropped.
    pub fn reset(&mut self) {
        self.left = self.limit;
    }
}
