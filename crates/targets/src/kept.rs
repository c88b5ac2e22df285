//! Configurations that are kept for all rounds. A file in the folder says which configuration is
//! there, whole; it goes before a run uses the folder and comes back when the engine was stopped.
//! So what an interrupted run has left in the middle of its work is made again, and so is what a
//! run of another scale has left under the same name.

use crate::LabError;
use crate::work::Config;
use std::io::ErrorKind;
use std::path::Path;

const FILE: &str = "ready";
/// What targets say of a configuration that they did not make in this run of it.
pub const MADE_EARLIER: &str = "made in an earlier round";

/// Whether the folder has this configuration; its owner from now on is the caller.
pub fn take(folder: &Path, config: &Config) -> Result<bool, LabError> {
    let path = folder.join(FILE);
    let kept = match std::fs::read(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    std::fs::remove_file(&path)?;
    Ok(config.keep && kept == identity(config).into_bytes())
}

/// Leaves the configuration to the next round.
pub fn leave(folder: &Path, config: &Config) -> Result<(), LabError> {
    Ok(std::fs::write(folder.join(FILE), identity(config))?)
}

/// All of it: nothing that differs may be taken for the same.
fn identity(config: &Config) -> String {
    format!("{config:?}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_configuration_is_taken_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let config = &Config { keep: true, ..crate::work::for_tests() };
        assert!(!take(folder.path(), config).unwrap(), "nothing is there");
        leave(folder.path(), config).unwrap();
        assert!(take(folder.path(), config).unwrap());
        assert!(!take(folder.path(), config).unwrap(), "whoever took it was interrupted");
        leave(folder.path(), config).unwrap();
        let larger = Config { customers: config.customers + 1, ..config.clone() };
        assert!(!take(folder.path(), &larger).unwrap());
        assert!(!take(folder.path(), config).unwrap(), "it has been given up");
        std::fs::write(folder.path().join(FILE), &identity(config)[..20]).unwrap();
        assert!(!take(folder.path(), config).unwrap(), "a file that was cut short says nothing");
        std::fs::write(folder.path().join(FILE), b"\xff\0").unwrap();
        assert!(!take(folder.path(), config).unwrap(), "nor does one that is no text");
    }
}
