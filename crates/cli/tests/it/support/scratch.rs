//! Folders for tests whose files need no disk below them: what a process leaves is there whatever
//! they lie on.

use tempfile::TempDir;

/// How much room the folder of a test takes at most.
const ROOM: u64 = 1 << 30;

/// In memory where there is room, else where temporary folders are.
pub fn folder() -> TempDir {
    let memory = rustix::fs::statvfs("/dev/shm").is_ok_and(|fs| fs.f_bavail * fs.f_frsize >= ROOM);
    let folder = if memory { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    folder.expect("a folder")
}
