//! The files that an instance keeps in its folder beside its databases: one list, for everything
//! that must know them. Guarantee: whatever the instance writes there under a name of its own is in
//! the list, its second copies, temporary names and what is put aside included.

use std::path::Path;

/// Small files: each may have a second copy (`.copy`), one that is being written (`.new`, `.part`),
/// one that was damaged (`.damaged`).
pub const FILES: [&str; 9] = [
    catalog::registry::FILE_NAME,
    super::identity::FILE_NAME,
    "instance.lock",
    "credentials.registry",
    "backup-devices.registry",
    "server-cert.pem",
    "server-key.pem",
    "server-cert.part",
    "server-key.part",
];

/// Those that have two copies ([`disk::mirrored`]).
pub const MIRRORED: [&str; 4] = [FILES[0], FILES[1], "credentials.registry", "backup-devices.registry"];

/// Further small files of the programs that serve an instance.
pub const PROGRAM_FILES: [&str; 2] = ["init-scripts.txt", "instance.sock"];

/// Folders that are wholly the instance's: the error log, and what `ringwood repair` has put aside.
pub const FOLDERS: [&str; 2] = ["log", REPAIR];

/// Where damaged system databases are put.
pub const REPAIR: &str = "repair";

const ENDINGS: [&str; 4] = [".copy", ".new", ".part", ".damaged"];

/// Whether a path in or below the folder is one of the instance's own files, or in a folder of its
/// own.
#[must_use]
pub fn is_own(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let mut parts = below.components();
    let Some(first) = parts.next().and_then(|part| part.as_os_str().to_str()) else { return false };
    if FOLDERS.contains(&first) {
        return true;
    }
    if parts.next().is_some() {
        return false;
    }
    let mut name = first;
    while let Some(rest) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) {
        if FILES.contains(&name) {
            return true;
        }
        name = rest;
    }
    FILES.contains(&name) || PROGRAM_FILES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_folders_are_own_and_databases_are_not() {
        let own = |path: &str| is_own(Path::new("/data"), Path::new(path));
        for path in ["databases.registry", "databases.registry.copy.new", "server-key.pem", "log/ERRORLOG"] {
            assert!(own(&format!("/data/{path}")), "{path}");
        }
        assert!(own("/data/credentials.registry.damaged") && own("/data/repair"));
        for path in ["/data/master.mdf", "/data/E/databases.registry", "/other/instance.id", "/data"] {
            assert!(!own(path), "{path}");
        }
    }

    #[test]
    fn every_list_is_named() {
        use super::super::kept::file_name;
        for name in [
            file_name::<crate::instance::credentials::Credential>(),
            file_name::<crate::objects::backup_device::BackupDevice>(),
        ] {
            assert!(FILES.contains(&name.as_str()) && MIRRORED.contains(&name.as_str()), "{name}");
        }
    }
}
