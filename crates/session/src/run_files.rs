//! The run files of sorts, hash tables and kept rows: their names beside tempdb's primary file, and
//! what a crash leaves of them. Guarantee: no two run files of an instance have one name while it
//! runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use catalog::errorlog::ErrorLog;
use disk::{Disk, DiskError};
use parking_lot::RwLock;
use types::SqlError;

/// What follows the name of tempdb's primary file in the name of a run file; a number follows.
const MARK: &str = ".sort-";

/// Where an instance's run files are made.
#[derive(Debug)]
pub struct RunFiles {
    pub disk: Arc<dyn Disk>,
    /// Where a failed write or read of one is told.
    pub errors: Arc<ErrorLog>,
    /// Tempdb's primary file, once there is one.
    beside: RwLock<Option<PathBuf>>,
    /// Number of the next one.
    next: AtomicU64,
}

impl RunFiles {
    /// On a disk; what goes wrong is told to `errors`.
    pub fn new(disk: Arc<dyn Disk>, errors: Arc<ErrorLog>) -> RunFiles {
        RunFiles { disk, errors, beside: RwLock::new(None), next: AtomicU64::new(1) }
    }

    /// Beside which file they are made from now on.
    pub fn set_beside(&self, primary: Option<PathBuf>) {
        *self.beside.write() = primary;
    }

    /// The path of a new one.
    ///
    /// # Errors
    /// 911 there is no tempdb.
    pub fn next_path(&self) -> Result<PathBuf, SqlError> {
        match &*self.beside.read() {
            Some(primary) => Ok(run_path(primary, self.next.fetch_add(1, Ordering::Relaxed))),
            None => Err(catalog::errors::no_database("tempdb")),
        }
    }
}

fn run_path(primary: &Path, number: u64) -> PathBuf {
    let mut name = primary.file_name().unwrap_or_default().to_os_string();
    name.push(format!("{MARK}{number}"));
    primary.with_file_name(name)
}

/// Removes the run files that a crash has left beside tempdb's primary file. Names that no sort
/// gives are not touched.
pub fn remove_left_over(disk: &dyn Disk, primary: &Path) -> Result<(), DiskError> {
    let (Some(folder), Some(name)) =
        (primary.parent(), primary.file_name().and_then(|n| n.to_str()))
    else {
        return Ok(());
    };
    for path in disk.list(folder)? {
        let number = path
            .file_name()
            .and_then(|n| n.to_str())
            .and_then(|n| n.strip_prefix(name)?.strip_prefix(MARK));
        if number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
            disk.remove(&path)?;
        }
    }
    Ok(())
}
