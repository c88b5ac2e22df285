//! Opening an instance: its databases, then what is made by running T-SQL in it, then the procedures that run at a start.

use std::sync::Arc;

use crate::above::Engine;
use crate::chores;
use crate::deadlocks;
use crate::instance::{Instance, InstanceError, InstanceOptions, PageMemory};
use crate::msdb;
use crate::startup;

impl Instance {
    /// Opens the instance of a folder and all its databases; makes it when the folder is empty.
    ///
    /// # Errors
    /// The folder is in use or cannot be written, the list of databases is damaged, master cannot be opened.
    pub fn open(options: InstanceOptions) -> Result<Arc<Instance>, InstanceError> {
        Instance::open_with(options, None)
    }

    /// The same in memory that was had before, whatever the options say of memory for pages.
    ///
    /// # Errors
    /// As for [`Instance::open`].
    pub fn open_in(options: InstanceOptions, memory: PageMemory) -> Result<Arc<Instance>, InstanceError> {
        Instance::open_with(options, Some(memory))
    }

    fn open_with(
        options: InstanceOptions,
        memory: Option<PageMemory>,
    ) -> Result<Arc<Instance>, InstanceError> {
        let period = options.chore_period;
        let instance = Instance::open_databases(options, memory, &Engine)?;
        deadlocks::listen(&instance);
        if !instance.is_read_only() {
            msdb::ensure(&instance);
            startup::launch(&instance);
            chores::begin(&instance, period);
        }
        Ok(instance)
    }
}
