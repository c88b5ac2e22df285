//! The memory of compiled batches: what each is charged, how much the cache keeps, what it lets go.
//! Guarantees: a batch is charged as long as anybody has it, kept or not; a text whose plan has no
//! room is refused before it is parsed.

use std::sync::Arc;

use catalog::errors::out_of_memory;
use memory::{Cache, Clerk, Reservation};
use types::SqlError;

use super::{BatchCache, PARTS};
use crate::compiled::CompiledBatch;
use crate::module::ModuleCode;

/// Least bytes that plans of texts may take, and what a compiled batch is charged: for itself, and
/// for each byte of its text. An estimate: a plan is made when its statement runs first.
const LEAST_BYTES: usize = 4 << 20;
const BATCH_BYTES: usize = 4 << 10;
const BYTES_PER_BYTE: usize = 32;

/// Memory of the compiled batch of a text of so many bytes, about.
pub fn plan_bytes(text: usize) -> usize {
    BATCH_BYTES + BYTES_PER_BYTE * text
}

impl BatchCache {
    /// Bytes that the plans of one part may take.
    pub(super) fn most_of_part(&self) -> usize {
        (self.account.target() / 8).max(LEAST_BYTES) / PARTS
    }

    /// Compiles what its text's memory can be had for; it is charged as long as somebody has it.
    pub fn charged(
        &self,
        clerk: Clerk,
        text: &str,
        compile: impl FnOnce() -> Result<CompiledBatch, SqlError>,
    ) -> Result<CompiledBatch, SqlError> {
        let mut charge = Reservation::in_steps(&self.account, clerk, BATCH_BYTES);
        charge.take(plan_bytes(text.len())).map_err(|_| out_of_memory())?;
        let mut compiled = compile()?;
        compiled.charge = Some(charge);
        Ok(compiled)
    }

    /// Charges the code of a module.
    ///
    /// # Errors
    /// 701.
    pub(super) fn charged_module(&self, mut code: ModuleCode) -> Result<ModuleCode, SqlError> {
        let mut charge = Reservation::in_steps(&self.account, Clerk::ModulePlans, BATCH_BYTES);
        charge.take(plan_bytes(code.batch.text.len())).map_err(|_| out_of_memory())?;
        // Nobody else has it yet.
        if let Some(batch) = Arc::get_mut(&mut code.batch) {
            batch.charge = Some(charge);
        }
        Ok(code)
    }
}

/// Plans that have not been used for long go when others need the memory.
impl Cache for BatchCache {
    fn give_back(&self, bytes: usize) -> usize {
        let mut given = 0;
        for part in &self.parts {
            let mut part = part.lock();
            let before = part.bytes;
            while before - part.bytes < bytes.div_ceil(PARTS) && !part.entries.is_empty() {
                part.evict();
            }
            given += before - part.bytes;
        }
        given
    }
}
