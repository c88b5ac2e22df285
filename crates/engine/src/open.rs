//! Opening an instance: its databases, then what is made by running T-SQL in it, then the
//! procedures that run at a start.

use std::sync::Arc;

use crate::chores;
use crate::deadlocks;
use crate::msdb;
use crate::startup;
use crate::upcalls::Engine;
use instance::{InstanceCore, InstanceError, InstanceOptions, PageMemory};

/// Opens the instance of a folder; `memory`: for pages, had before.
///
/// # Errors
/// As for `Instance::open`.
pub(crate) fn open(
    options: InstanceOptions,
    memory: Option<PageMemory>,
) -> Result<Arc<InstanceCore>, InstanceError> {
    let period = options.chore_period;
    let instance = InstanceCore::open_databases(options, memory, &Engine)?;
    deadlocks::listen(&instance);
    if !instance.is_read_only() {
        msdb::ensure(&instance);
        startup::launch(&instance);
        chores::begin(&instance, period);
    }
    Ok(instance)
}
