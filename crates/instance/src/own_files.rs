//! What an instance keeps in its folder beside the files of its databases: one list, by names.
//! Guarantee: whatever is added to the folder is added here, so that no statement reads or
//! overwrites it (tests ask for each file that they find in the folder of an instance and of a
//! server).

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use disk::{Disk, FileIdentity};

/// Files that are kept in two copies ([`disk::mirrored`]).
pub const MIRRORED: [&str; 5] = [
    catalog::registry::FILE_NAME,
    super::identity::FILE_NAME,
    "credentials.registry",
    "backup-devices.registry",
    "configuration-options.registry",
];
/// The folder of damaged system databases that `ringwood repair` has put aside.
pub const REPAIR: &str = "repair";

/// Beginnings of the names of files: of a file, its copies, and what is written before it takes the
/// name. A database may be called so, too: its files have an ending of their own.
const FILES: [&str; 7] = [
    "databases.registry",
    "instance.id",
    "instance.lock",
    "instance.sock",
    "server-cert.pem",
    "server-key.pem",
    "init-scripts.txt",
];
/// Part of the names of other lists (credentials, backup devices), which are named after what they
/// list.
const LIST: &str = ".registry";
/// Endings of the files of databases.
const OF_DATABASES: [&str; 3] = [".mdf", ".ndf", ".ldf"];
/// Folders: the error log, certificates of storage, and what was put aside.
const FOLDERS: [&str; 3] = [ERROR_LOG, "ca-certificates", REPAIR];
const ERROR_LOG: &str = "log";
/// Part of the names of run files, which lie beside tempdb's primary file.
const RUN_FILE: &str = ".mdf.sort-";

/// Whether a path below an instance's folder is that of a file or folder which the instance keeps.
pub fn keeps(below: &Path) -> bool {
    let mut parts = below.components();
    let Some(Component::Normal(first)) = parts.next() else { return false };
    let first = first.to_string_lossy().to_ascii_lowercase();
    let is_of_database = |name: &str| OF_DATABASES.iter().any(|ending| name.ends_with(ending));
    let of_database = is_of_database(&first);
    let last = below.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    // The folder of the error log may be a volume, too: files of databases are no reports.
    FOLDERS.contains(&first.as_str()) && !(first == ERROR_LOG && is_of_database(&last))
        || (!of_database
            && (FILES.iter().any(|file| first.starts_with(file)) || first.contains(LIST)))
        || is_run_file(below.file_name().unwrap_or_default())
}

/// Whether a name is that of a run file, in whichever folder tempdb is.
pub(super) fn is_run_file(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let number = name.rsplit_once(RUN_FILE).map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The identities of the files that an instance keeps in its folder and below, as far as they can
/// be told now.
pub(super) fn identities(disk: &dyn Disk, root: &Path) -> Vec<FileIdentity> {
    let list = |folder: &Path| disk.list(folder).unwrap_or_default();
    let top = list(root);
    let own = |path: &&PathBuf| path.strip_prefix(root).is_ok_and(keeps);
    let below = FOLDERS.iter().flat_map(|folder| list(&root.join(folder)));
    top.iter()
        .filter(own)
        .cloned()
        .chain(below)
        .filter_map(|path| disk.identity(&path).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mirrored_list_is_named() {
        use crate::persisted::file_name;
        for name in [
            file_name::<crate::credentials::Credential>(),
            file_name::<crate::configuration::Configured>(),
        ] {
            assert!(keeps(Path::new(&name)) && MIRRORED.contains(&name.as_str()), "{name}");
        }
    }

    #[test]
    fn own_files_are_told_from_those_of_databases() {
        for own in [
            "databases.registry",
            "databases.registry.new",
            "databases.registry.copy.new",
            "credentials.registry.damaged",
            "repair/rebuild-1/master.mdf",
            "DATABASES.REGISTRY",
            "credentials.registry",
            "backup-devices.registry.new",
            "instance.id",
            "server-key.pem",
            "log/ERRORLOG",
            "log",
            "ca-certificates/a.pem",
            "tempdb.mdf.sort-17",
            "fast/temp.mdf.sort-1",
        ] {
            assert!(keeps(Path::new(own)), "{own}");
        }
        for other in [
            "app.mdf",
            "instance.mdf",
            "databases.bak",
            "backup/log/a.bak",
            "a.sort-x",
            "logs/a",
            "log/app_log.ldf",
            "a.registry.mdf",
        ] {
            assert!(!keeps(Path::new(other)), "{other}");
        }
    }
}
