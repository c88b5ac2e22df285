//! An instance for a benchmark, in a folder of its own that goes with it.

use std::error::Error;
use std::sync::Arc;

use ringwood_engine::{Instance, InstanceOptions};

/// Does something with an instance that may hold so many bytes of pages. Sessions are gone when it
/// is done.
pub fn with_instance(
    name: &str,
    memory_bytes: u64,
    work: impl FnOnce(&Arc<Instance>) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let dir = std::env::temp_dir().join(format!("ringwood-{name}-{}", std::process::id()));
    let options =
        InstanceOptions { memory_bytes: Some(memory_bytes), ..InstanceOptions::new(&dir) };
    let instance = Instance::open(options)?;
    let done = work(&instance);
    instance.close()?;
    let _ = std::fs::remove_dir_all(&dir);
    done
}
