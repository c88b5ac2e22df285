//! Errors of files: out of space, damaged or short files and plain I/O errors are distinguished,
//! because the database handles them differently.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Open,
    Create,
    Remove,
    Rename,
    CreateDir,
    List,
    Read,
    Write,
    Sync,
    Length,
    SetLength,
    Allocate,
    FreeSpace,
    Lock,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Open => "open",
            Op::Create => "create",
            Op::Remove => "remove",
            Op::Rename => "rename",
            Op::CreateDir => "create folder",
            Op::List => "list folder",
            Op::Read => "read",
            Op::Write => "write",
            Op::Sync => "sync",
            Op::Length => "length query",
            Op::SetLength => "length change",
            Op::Allocate => "allocation",
            Op::FreeSpace => "free space query",
            Op::Lock => "lock",
        })
    }
}

/// A failed file operation. Clonable: one failed log write is the answer to many waiting sessions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The operating system refused; `code` is its error number, `text` its explanation.
    #[error("{op} of '{}'{} failed: {text} (operating system error {code})", path.display(), at(*op, *offset))]
    Io { op: Op, path: PathBuf, offset: u64, code: i32, text: String },
    /// The volume or a quota is full.
    #[error("{op} of '{}' failed: there is not enough space on the disk", path.display())]
    NoSpace { op: Op, path: PathBuf },
    /// The file system allows no file of that size.
    #[error("{op} of '{}' failed: the file would be larger than its file system allows", path.display())]
    FileLimit { op: Op, path: PathBuf },
    /// The file ends before the last byte that was requested.
    #[error("'{}' ends early: {wanted} bytes wanted at offset {offset}, {got} read", path.display())]
    ShortRead { path: PathBuf, offset: u64, wanted: u64, got: u64 },
    /// No such file.
    #[error("'{}' does not exist", path.display())]
    NotFound { path: PathBuf },
    /// The name is taken.
    #[error("'{}' already exists", path.display())]
    Exists { path: PathBuf },
    /// Offset, length or buffer address is not a multiple of the sector.
    #[error("transfer of {len} bytes at offset {offset} of '{}' is not aligned to sectors of {sector} bytes", path.display())]
    Misaligned { path: PathBuf, offset: u64, len: u64, sector: u32 },
    /// Another process or instance has it open; which process, as far as the system reports it.
    #[error("'{}' is in use by {}", path.display(), who(*holder))]
    Locked { path: PathBuf, holder: Option<u32> },
    /// Something else than a folder is where a folder should be.
    #[error("'{}' is a file, not a folder", path.display())]
    NotAFolder { path: PathBuf },
    /// The handle was released ([`BlockFile::release`](crate::BlockFile::release)), or only reads.
    #[error("{op} of '{}' failed: the file is not open for writing any more", path.display())]
    Released { op: Op, path: PathBuf },
    /// A whole-file read or write of a file that is larger than
    /// [`SMALL_FILE_MAX`](crate::SMALL_FILE_MAX).
    #[error("'{}' is too large to be handled in one piece ({len} bytes)", path.display())]
    TooLarge { path: PathBuf, len: u64 },
    /// What a statement names is not a file that it may open: a link, a device, a file of the
    /// system or of the instance.
    #[error("'{}' may not be opened", path.display())]
    Refused { path: PathBuf },
    /// A simulated disk has lost power; nothing works any more.
    #[error("the simulated disk has lost power")]
    Crashed,
}

/// The offset in the file, for operations that have one.
fn at(op: Op, offset: u64) -> String {
    match op {
        Op::Read | Op::Write | Op::Sync | Op::Allocate => format!(" at offset {offset}"),
        _ => String::new(),
    }
}

/// What the system has refused, by its error number.
pub(crate) fn failure(op: Op, path: &Path, offset: u64, errno: Errno) -> DiskError {
    let path = path.to_path_buf();
    match errno {
        Errno::NOSPC | Errno::DQUOT => DiskError::NoSpace { op, path },
        Errno::FBIG => DiskError::FileLimit { op, path },
        Errno::NOENT => DiskError::NotFound { path },
        Errno::EXIST => DiskError::Exists { path },
        _ => {
            let code = errno.raw_os_error();
            DiskError::Io { op, path, offset, code, text: errno.kind().to_string() }
        }
    }
}

/// The same for an error of the standard library.
pub(crate) fn failure_std(op: Op, path: &Path, error: &std::io::Error) -> DiskError {
    match Errno::from_io_error(error) {
        Some(errno) => failure(op, path, 0, errno),
        None => DiskError::Io {
            op,
            path: path.to_path_buf(),
            offset: 0,
            code: 0,
            text: error.to_string(),
        },
    }
}

/// Text that names a process by its number.
pub fn who(holder: Option<u32>) -> String {
    match holder {
        Some(pid) if pid == std::process::id() => {
            format!("another instance in this process (process {pid})")
        }
        Some(pid) => format!("process {pid}"),
        None => "another process".into(),
    }
}

impl DiskError {
    /// Number and text of the failure as SQL Server's messages show them: those of Windows for
    /// errors that every system has, the operating system's own for the rest.
    pub fn system_error(&self) -> (i32, String) {
        match self {
            // EPERM, EACCES
            DiskError::Io { code: 1 | 13, .. } | DiskError::Refused { .. } => {
                (5, "Access is denied.".into())
            }
            DiskError::Io { code, text, .. } => (*code, text.clone()),
            DiskError::NotFound { .. } => (2, "The system cannot find the file specified.".into()),
            DiskError::NoSpace { .. } => (112, "There is not enough space on the disk.".into()),
            DiskError::FileLimit { .. } => {
                (223, "The file size exceeds the limit allowed and cannot be saved.".into())
            }
            DiskError::ShortRead { .. } => (38, "Reached the end of the file.".into()),
            DiskError::Exists { .. } => (80, "The file exists.".into()),
            DiskError::NotAFolder { .. } => (267, "The directory name is invalid.".into()),
            DiskError::Locked { holder, .. } => {
                let who = who(*holder);
                let text = "The process cannot access the file because it is being used by another process";
                (32, format!("{text}: {who}."))
            }
            other => (31, other.to_string()),
        }
    }

    /// True if there was no space for more: on the volume, in a quota, or in a file of this file
    /// system.
    pub fn is_no_space(&self) -> bool {
        matches!(self, DiskError::NoSpace { .. } | DiskError::FileLimit { .. })
    }

    /// True if the content of the file is unknown from now on: a write or a sync has failed, and
    /// the system may report that once and treat the data as clean afterwards. Any other operation
    /// that was refused has changed nothing, and neither has a write for which there was no space;
    /// a sync that finds no space has lost what it should have written.
    pub fn is_final(&self) -> bool {
        match self {
            DiskError::Io { op, .. } => matches!(op, Op::Write | Op::Sync),
            DiskError::NoSpace { op, .. } | DiskError::FileLimit { op, .. } => *op == Op::Sync,
            DiskError::Crashed | DiskError::Released { .. } => true,
            DiskError::NotAFolder { .. }
            | DiskError::ShortRead { .. }
            | DiskError::NotFound { .. }
            | DiskError::Exists { .. }
            | DiskError::Misaligned { .. }
            | DiskError::Locked { .. }
            | DiskError::TooLarge { .. }
            | DiskError::Refused { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_where_there_is_one() {
        let io = |op| DiskError::Io {
            op,
            path: "/x".into(),
            offset: 8,
            code: 13,
            text: "denied".into(),
        };
        assert_eq!(
            io(Op::Lock).to_string(),
            "lock of '/x' failed: denied (operating system error 13)"
        );
        assert!(io(Op::Write).to_string().contains("at offset 8"));
        let locked = DiskError::Locked { path: "/x".into(), holder: Some(7) };
        assert_eq!(locked.to_string(), "'/x' is in use by process 7");
        assert!(locked.system_error().1.ends_with("used by another process: process 7."));
    }
}
