//! Bounds on what a decoded request may take. Guarantees: decoding charges before it keeps anything
//! whose number the other side chose, so memory stays within [`Limits::memory`] plus the message's
//! own bytes; where somebody grants the memory ([`Grant`]) no more than a step is in use that was
//! not granted.

use crate::error::TdsError;

/// Most parameters of one remote procedure call.
pub(crate) const MAX_PARAMETERS: usize = 2100;
/// Most columns of a table-valued parameter or a bulk load.
pub(crate) const MAX_COLUMNS: usize = 1024;

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

/// Somebody whose memory the decoded values take.
pub trait Grant {
    /// Takes bytes; false when there are not so many.
    fn take(&mut self, bytes: usize) -> bool;
    /// All that was taken is free again.
    fn give_all(&mut self);
}

/// Bytes that are asked for at once.
const STEP: usize = 64 << 10;

/// What is left of a limit.
pub struct Budget<'g> {
    left: usize,
    limit: usize,
    grant: Option<&'g mut dyn Grant>,
    /// Charged here, and not yet taken from the grant.
    not_taken: usize,
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Budget({} of {})", self.left, self.limit)
    }
}

impl<'g> Budget<'g> {
    /// A full budget.
    pub fn new(limits: Limits) -> Budget<'g> {
        Budget { left: limits.memory, limit: limits.memory, grant: None, not_taken: 0 }
    }

    /// What is charged is taken from somebody, too.
    pub fn set_grant(&mut self, grant: &'g mut dyn Grant) {
        self.grant = Some(grant);
    }

    /// Takes bytes off; `TooLarge` when there are not so many, `OutOfMemory` when they are not
    /// granted.
    pub fn charge(&mut self, bytes: usize) -> Result<(), TdsError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                let Some(grant) = &mut self.grant else { return Ok(()) };
                self.not_taken += bytes;
                if self.not_taken >= STEP && !grant.take(std::mem::take(&mut self.not_taken)) {
                    return Err(TdsError::OutOfMemory);
                }
                Ok(())
            }
            None => Err(TdsError::TooLarge { what: "the request's data", limit: self.limit }),
        }
    }

    /// Gives everything back, when what was charged has been dropped.
    pub fn reset(&mut self) {
        self.left = self.limit;
        self.not_taken = 0;
        if let Some(grant) = &mut self.grant {
            grant.give_all();
        }
    }
}
