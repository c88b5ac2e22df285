//! Errors of device descriptions.

use std::path::PathBuf;

/// Why there is no such device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Neither a built-in name nor a file.
    #[error("there is no device {name:?} and no file of that name; built in are: {known}")]
    Unknown { name: String, known: String },
    /// The file cannot be read.
    #[error("the device file '{}' cannot be read: {text}", path.display())]
    File { path: PathBuf, text: String },
    /// A line of a description that cannot be read.
    #[error("line {line}: {reason}")]
    Line { line: usize, reason: String },
    /// A value out of its range.
    #[error("{key} must be {rule}")]
    Value { key: &'static str, rule: &'static str },
    /// A placement that names neither a folder nor a device.
    #[error("{text:?}: {reason}")]
    Placement { text: String, reason: String },
}
