//! Files that somebody else has named: where a name really leads, and opening that place and no
//! other.
//!
//! Guarantees: looking a name up opens nothing, so a device or a pipe does nothing because of it.
//! [`open_real`] and [`remove_real`] follow no link in any part of the path; what they open or
//! remove is a regular file of an ordinary file system that the caller's rule accepts by its
//! identity: what was decided about a place holds for that file, whoever renames things in between.

use std::fmt::Debug;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::{DiskError, Op, failure, failure_std};
use crate::{FileIdentity, lock};

/// Where a name leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlace {
    /// Absolute, without links. Its last parts need not exist yet.
    pub real: PathBuf,
    /// What is there; `None` if nothing is.
    pub found: Option<FoundKind>,
}

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundKind {
    /// A regular file of an ordinary file system.
    File(FileIdentity),
    Folder,
    /// A device, pipe or socket, a link to nothing, or anything in a file system that the kernel
    /// makes up.
    Special,
}

/// What must hold for a file that is opened by a name from outside.
pub trait OpenRule: Send + Sync + Debug {
    /// The place that the name led to when it was looked up.
    fn real(&self) -> &Path;
    /// Whether this file must not be opened.
    fn refuses(&self, file: &FileIdentity) -> bool;
}

/// Any regular file at a place: for names that come from the program itself.
#[derive(Clone, Debug)]
pub struct AnyFile(pub PathBuf);

impl OpenRule for AnyFile {
    fn real(&self) -> &Path {
        &self.0
    }

    fn refuses(&self, _file: &FileIdentity) -> bool {
        false
    }
}

/// File systems whose files are the kernel's, not somebody's data: proc, sysfs, devpts, debugfs,
/// tracefs, securityfs, cgroup, cgroup2, bpf, configfs, efivarfs, selinuxfs, pstore, mqueue,
/// binfmt_misc.
const OF_THE_KERNEL: [u64; 15] = [
    0x9fa0,
    0x6265_6572,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x6265_6570,
    0xde5e_81e4,
    0xf97c_ff8c,
    0x6165_676c,
    0x1980_0202,
    0x4249_4e4d,
];

/// Folders that hold devices and views of the kernel, whatever is mounted there.
const KERNEL_FOLDERS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Shared memory is ordinary files.
const SHARED_MEMORY: &str = "/dev/shm";

/// Whether a place without links is one of the kernel's.
fn is_of_the_kernel(real: &Path) -> bool {
    KERNEL_FOLDERS.iter().any(|folder| real.starts_with(folder)) && !real.starts_with(SHARED_MEMORY)
}

/// Where a name leads. Nothing is opened for it but the folders on the way.
///
/// # Errors
/// A folder on the way cannot be searched, or is a file.
pub fn look_up(path: &Path) -> Result<NamedPlace, DiskError> {
    let path = std::path::absolute(path).map_err(|e| failure_std(Op::Open, path, &e))?;
    // What `/proc/self/fd/0` leads to may be a file like any other, which has a name of its own.
    if is_of_the_kernel(&path) {
        return Ok(NamedPlace { real: path, found: Some(FoundKind::Special) });
    }
    let mut below = Vec::new();
    let mut above = path.as_path();
    let real = loop {
        match above.canonicalize() {
            Ok(real) => break real,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                // A link to nothing is something: what it would make lies elsewhere.
                if above.symlink_metadata().is_ok() {
                    return Ok(NamedPlace { real: path, found: Some(FoundKind::Special) });
                }
                let (Some(parent), Some(name)) = (above.parent(), above.file_name()) else {
                    return Err(DiskError::NotFound { path });
                };
                below.push(name);
                above = parent;
            }
            Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                return Ok(NamedPlace { real: path, found: Some(FoundKind::Special) });
            }
            Err(e) => return Err(failure_std(Op::Open, above, &e)),
        }
    };
    if !below.is_empty() {
        let real: PathBuf =
            std::iter::once(real.as_os_str()).chain(below.into_iter().rev()).collect();
        let found = is_of_the_kernel(&real).then_some(FoundKind::Special);
        return Ok(NamedPlace { real, found });
    }
    let fd = walk(&real, OFlags::PATH).map_err(|errno| failure(Op::Open, &real, 0, errno))?;
    let found = kind_of(&fd, &real)?;
    Ok(NamedPlace { real, found: Some(found) })
}

/// What an open file (or the place of one) is.
fn kind_of(fd: &OwnedFd, real: &Path) -> Result<FoundKind, DiskError> {
    let stat = rustix::fs::fstat(fd).map_err(|errno| failure(Op::Open, real, 0, errno))?;
    let system = rustix::fs::fstatfs(fd).map_err(|errno| failure(Op::Open, real, 0, errno))?;
    // Magic numbers are 32 bits; the type of the field is signed on some machines.
    let magic = system.f_type as u64 & 0xffff_ffff;
    if OF_THE_KERNEL.contains(&magic) || is_of_the_kernel(real) {
        return Ok(FoundKind::Special);
    }
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FoundKind::File(lock::identity(fd.as_fd(), real)?),
        FileType::Directory => FoundKind::Folder,
        _ => FoundKind::Special,
    })
}

/// Opens a path part by part, none of which is a link.
fn walk(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut folder: Option<OwnedFd> = None;
    let mut parts = real.components().peekable();
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
    while let Some(part) = parts.next() {
        let name: &std::ffi::OsStr = match part {
            Component::RootDir => "/".as_ref(),
            Component::Normal(name) => name,
            _ => return Err(Errno::INVAL),
        };
        let last = parts.peek().is_none();
        let wanted = if last { flags } else { OFlags::PATH | OFlags::DIRECTORY };
        let wanted = wanted | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match &folder {
            Some(folder) => rustix::fs::openat(folder, name, wanted, mode)?,
            None => rustix::fs::openat(CWD, name, wanted, mode)?,
        };
        if last {
            return Ok(opened);
        }
        folder = Some(opened);
    }
    Err(Errno::INVAL)
}

/// Opens the real place of a rule, with the flags of an access.
///
/// # Errors
/// [`DiskError::Refused`] where a link, a special file or one that the rule refuses is there by
/// now.
pub(crate) fn open_real(rule: &dyn OpenRule, flags: OFlags) -> Result<(OwnedFd, Stat), DiskError> {
    let real = rule.real();
    let refused = || DiskError::Refused { path: real.to_path_buf() };
    // Not waiting for the other end of a pipe: what it is shows when it is open.
    let opened = walk(real, flags | OFlags::NONBLOCK | OFlags::NOCTTY);
    let fd = opened.map_err(|errno| match errno {
        // A link, also one in place of a folder on the way; a socket.
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => refused(),
        errno => failure(Op::Open, real, 0, errno),
    })?;
    match kind_of(&fd, real)? {
        FoundKind::File(identity) if !rule.refuses(&identity) => {}
        _ => return Err(refused()),
    }
    let stat = rustix::fs::fstat(&fd).map_err(|errno| failure(Op::Open, real, 0, errno))?;
    Ok((fd, stat))
}

/// Removes the name of a file that [`open_real`] has opened; with `durable` it stays removed.
///
/// # Errors
/// [`DiskError::Refused`] where something else is there by now; those of the system.
pub(crate) fn remove_real(
    rule: &dyn OpenRule,
    file: &Stat,
    durable: bool,
) -> Result<(), DiskError> {
    let real = rule.real();
    let refused = || DiskError::Refused { path: real.to_path_buf() };
    let failed = |errno| match errno {
        Errno::LOOP | Errno::NOTDIR => refused(),
        errno => failure(Op::Remove, real, 0, errno),
    };
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(refused());
    };
    let folder = walk(folder, OFlags::RDONLY | OFlags::DIRECTORY).map_err(failed)?;
    let there = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    if (there.st_dev, there.st_ino) != (file.st_dev, file.st_ino) {
        return Err(refused());
    }
    rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(failed)?;
    match durable {
        true => rustix::fs::fsync(&folder).map_err(|errno| failure(Op::Sync, real, 0, errno)),
        false => Ok(()),
    }
}

/// Opens the file of a rule for reading, as the system's page cache has it: for data that comes
/// from outside.
///
/// # Errors
/// [`DiskError::Refused`] for what is no regular file, or is refused; those of the system.
pub fn read_named(rule: &dyn OpenRule) -> Result<File, DiskError> {
    open_real(rule, OFlags::RDONLY).map(|(fd, _)| File::from(fd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Disk;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[derive(Debug)]
    struct Rule(PathBuf, Option<u64>);

    impl OpenRule for Rule {
        fn real(&self) -> &Path {
            &self.0
        }
        fn refuses(&self, file: &FileIdentity) -> bool {
            Some(file.inode) == self.1
        }
    }

    fn read(path: &Path) -> Result<File, DiskError> {
        read_named(&Rule(path.into(), None))
    }

    #[test]
    fn removing_follows_no_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let disk = crate::OsDisk::new(&root);
        let (own, kept, link, way) =
            (root.join("own"), root.join("below/own"), root.join("link"), root.join("way"));
        std::fs::create_dir(root.join("below")).expect("a folder");
        for file in [&own, &kept] {
            std::fs::write(file, "x").expect("a file");
        }
        symlink(&own, &link).expect("a link");
        symlink(root.join("below"), &way).expect("a link");
        let remove = |path: &Path, refused| disk.remove_named(path, &Rule(path.into(), refused));
        let inode = std::os::unix::fs::MetadataExt::ino(&own.metadata().expect("it is there"));
        for (path, inode) in [(&link, None), (&way.join("own"), None), (&own, Some(inode))] {
            assert!(matches!(remove(path, inode), Err(DiskError::Refused { .. })), "{path:?}");
        }
        assert!(own.exists() && kept.exists() && link.exists());
        remove(&own, None).expect("it goes");
        assert!(!own.exists() && kept.exists());
        assert!(matches!(remove(&own, None), Err(DiskError::NotFound { .. })));
    }

    #[test]
    fn a_name_leads_to_a_place_without_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let at = |name: &str| root.join(name);
        std::fs::create_dir(at("real")).expect("a folder");
        std::fs::write(at("real/file"), "x").expect("a file");
        symlink(at("real"), at("link")).expect("a link");
        symlink("/nowhere/at/all", at("dangling")).expect("a link");
        symlink("loop", at("loop")).expect("a link");
        let found = |name: &str| look_up(&at(name)).expect("it is looked up");
        assert_eq!(found("link/file").real, at("real/file"));
        assert!(matches!(found("link/file").found, Some(FoundKind::File(_))));
        assert_eq!(found("link/new/file"), NamedPlace { real: at("real/new/file"), found: None });
        assert_eq!(found("link").found, Some(FoundKind::Folder));
        for special in ["dangling", "loop"] {
            assert_eq!(found(special).found, Some(FoundKind::Special), "{special}");
        }
        assert!(look_up(&at("real/file/below")).is_err());
        for kernel in
            ["/proc/self/environ", "/proc/self/nothing", "/dev/null", "/dev/nothing", "/sys/x"]
        {
            let place = look_up(Path::new(kernel)).expect("it is looked up");
            assert_eq!(place.found, Some(FoundKind::Special), "{kernel}");
        }
    }

    #[test]
    fn what_is_opened_is_what_was_looked_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let at = |name: &str| root.join(name);
        std::fs::create_dir(at("real")).expect("a folder");
        std::fs::write(at("real/file"), "x").expect("a file");
        assert!(read(&at("real/file")).is_ok());
        // The folder is replaced by a link after it was looked up, or the file is.
        std::fs::rename(at("real"), at("moved")).expect("it is renamed");
        symlink(at("moved"), at("real")).expect("a link");
        symlink(at("moved/file"), at("link")).expect("a link");
        for name in ["real/file", "link"] {
            assert!(matches!(read(&at(name)), Err(DiskError::Refused { .. })), "{name}");
        }
        let file = at("moved/file");
        let Some(FoundKind::File(identity)) = look_up(&file).expect("a place").found else {
            panic!("it is a file")
        };
        let refusing = Rule(file, Some(identity.inode));
        assert!(matches!(read_named(&refusing), Err(DiskError::Refused { .. })));
    }

    #[test]
    fn special_files_are_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let (pipe, socket) = (root.join("pipe"), root.join("socket"));
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .expect("a pipe");
        let _listener = UnixListener::bind(&socket).expect("a socket");
        for path in
            [&pipe, &socket, &root, &PathBuf::from("/dev/null"), &PathBuf::from("/proc/cpuinfo")]
        {
            // Without waiting for a writer of the pipe.
            assert!(matches!(read(path), Err(DiskError::Refused { .. })), "{}", path.display());
        }
        assert!(matches!(read(&root.join("none")), Err(DiskError::NotFound { .. })));
    }
}
