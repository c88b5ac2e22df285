//! The modelled disk: real files with the modelled timing of another device, so that studies can be
//! run on hard disks, arrays and flash that the machine does not have.
//!
//! [`device`] finds a [`Device`] by name or file; [`open`] puts it on top of a real [`disk::Disk`].
//! [`Timeline`] is the pure model inside: arithmetic on request times, without a clock. [`Routes`]
//! places folders on other mounts or devices.
//!
//! # Guarantees
//! - The bytes are real: what was written is in the files of the disk below.
//! - A request ends at the time that the model computed, or later if the real machine took longer;
//!   how many did and by how much is counted ([`HostLate`]).
//! - Sector sizes are the model's; a write that covers a physical sector only in part pays for
//!   reading it first and is counted in the file's [`disk::FileStats`].
//! - Reports with figures of a modelled device must say so: [`Device::describe`].

mod array;
mod builtin;
mod clock;
mod error;
mod file;
mod flash;
mod late;
mod modeldisk;
mod params;
mod parse;
mod place;
mod routes;
mod shared;
mod spindle;
mod timeline;

use std::path::Path;
use std::sync::Arc;

use disk::{Disk, DiskError};

pub use builtin::{NAMES, builtin};
pub use error::ModelError;
pub use late::{HostLate, LATE_AFTER, LATE_SHARE};
pub use modeldisk::ModelDisk;
pub use params::{Cache, CacheKind, Device, Disks, Flash, Medium, Nanos};
pub use routes::{FolderPlacement, Routes};
pub use timeline::{Counters, Request, Timeline};

/// The built-in device of that name, or the one that the file of that name describes.
///
/// # Errors
/// Neither exists, or the file is wrong.
pub fn device(name: &str) -> Result<Device, ModelError> {
    if let Some(device) = builtin(name) {
        return Ok(device);
    }
    let path = Path::new(name);
    if !path.is_file() {
        return Err(ModelError::Unknown { name: name.into(), known: NAMES.join(", ") });
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| ModelError::File { path: path.into(), text: error.to_string() })?;
    let mut device = Device::parse(&text)?;
    if device.name == "custom" {
        device.name = path
            .file_stem()
            .map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned());
    }
    Ok(device)
}

/// Puts a device on top of the disk of an instance folder. The real disk is as durable as the model
/// claims to be; for studies there is [`ModelDisk::for_measuring`].
///
/// # Errors
/// The file that remembers the arrays of files cannot be read.
pub fn open(device: Device, root: Arc<dyn Disk>) -> Result<Arc<ModelDisk>, DiskError> {
    ModelDisk::new(device, root).map(Arc::new)
}
