//! Names of the run files of sorts and the like, beside tempdb's primary file, and what a crash leaves of them.

use std::path::{Path, PathBuf};

use disk::{Disk, DiskError};

/// What follows the name of tempdb's primary file in the name of a run file; a number follows.
const MARK: &str = ".sort-";

pub fn run_path(primary: &Path, number: u64) -> PathBuf {
    let mut name = primary.file_name().unwrap_or_default().to_os_string();
    name.push(format!("{MARK}{number}"));
    primary.with_file_name(name)
}

/// Removes the run files that a crash has left beside tempdb's primary file. Names that no sort gives are not touched.
pub fn remove_left_over(disk: &dyn Disk, primary: &Path) -> Result<(), DiskError> {
    let (Some(folder), Some(name)) = (primary.parent(), primary.file_name().and_then(|n| n.to_str())) else {
        return Ok(());
    };
    for path in disk.list(folder)? {
        let number =
            path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_prefix(name)?.strip_prefix(MARK));
        if number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
            disk.remove(&path)?;
        }
    }
    Ok(())
}
