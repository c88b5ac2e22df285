//! Files of the operating system: `O_DIRECT` where the file system allows it, the page cache
//! elsewhere.
//!
//! Durable writes use `RWF_DSYNC`: one system call instead of two, and on overwritten space a
//! little faster than a write followed by `fdatasync` (58 against 60 microseconds measured);
//! kernels that refuse the flag get the pair.

mod file;

use file::OsFile;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::{DiskError, Op, failure, failure_std};
use crate::kernel::FileHandle;
use crate::lock::{self, FileLock, WriteGate};
use crate::stats::FileStats;
use crate::transfer::IoOptions;
use crate::volume::{Volume, volume_of};
use crate::{
    BlockFile, Disk, DiskLock, FileIdentity, NamedPlace, OpenMode, OpenRule, SMALL_FILE_MAX, named,
    probe,
};

/// The disk of the operating system below a root folder.
#[derive(Debug)]
pub struct OsDisk {
    root: PathBuf,
    direct: bool,
    durable: bool,
    io: IoOptions,
    /// Device and inode of the files that this disk has open for writing, and how many handles
    /// each.
    open: Arc<OpenFiles>,
}

type OpenFiles = Mutex<BTreeMap<(u64, u64), u32>>;

impl OsDisk {
    /// Relative paths are resolved below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        OsDisk::with(root.into(), true, true)
    }

    /// The same without direct I/O, for comparison and for tests of that path.
    pub fn buffered(root: impl Into<PathBuf>) -> Self {
        OsDisk::with(root.into(), false, true)
    }

    /// In the page cache and without any durability: nothing is ever synced. For files that need
    /// not survive a loss of the machine's power, such as those under a modelled device that is
    /// measured. **No database belongs here.**
    pub fn scratch(root: impl Into<PathBuf>) -> Self {
        OsDisk::with(root.into(), false, false)
    }

    /// The same with other options for batches of requests.
    pub fn with_io(self, io: IoOptions) -> Self {
        OsDisk { io, ..self }
    }

    fn with(root: PathBuf, direct: bool, durable: bool) -> Self {
        OsDisk { root, direct, durable, io: IoOptions::default(), open: Arc::default() }
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    /// Opens a file for reading, to inspect or to lock it.
    fn look_at(&self, path: &Path, op: Op) -> Result<OwnedFd, DiskError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failure(op, path, 0, errno))
    }

    /// Fails if the file is open elsewhere than in this disk. The caller keeps the lock until the
    /// file is removed.
    fn lock_to_remove(&self, path: &Path) -> Result<Option<OwnedFd>, DiskError> {
        let stat = rustix::fs::lstat(path).map_err(|errno| failure(Op::Remove, path, 0, errno))?;
        let own = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if own.contains_key(&(stat.st_dev, stat.st_ino))
            || rustix::fs::FileType::from_raw_mode(stat.st_mode)
                != rustix::fs::FileType::RegularFile
        {
            return Ok(None);
        }
        drop(own);
        // Some file systems lock exclusively only what is open for writing.
        let fd = open_fd(path, OFlags::RDWR | OFlags::NONBLOCK)
            .or_else(|_| self.look_at(path, Op::Remove))?;
        lock::take(&fd, path, false)?;
        Ok(Some(fd))
    }

    /// Opens a file by a way of opening it, and locks it.
    fn open_by(
        &self,
        path: &Path,
        mode: OpenMode,
        open: &dyn Fn(OFlags) -> Result<(OwnedFd, Stat), DiskError>,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        // The name is made without O_DIRECT: some file systems create the file and only then refuse
        // the flag.
        let flags =
            if mode == OpenMode::Create { OFlags::CREATE | OFlags::EXCL } else { OFlags::empty() };
        let access = if mode == OpenMode::Read { OFlags::RDONLY } else { OFlags::RDWR };
        let (plain, stat) = open(flags | access)?;
        if mode == OpenMode::Create {
            self.sync_parent(path)?;
        }
        let found = probe::probe(&plain);
        let wanted = access | OFlags::DIRECT;
        let direct = if self.direct && found.allowed { open(wanted).ok() } else { None };
        let key = (stat.st_dev, stat.st_ino);
        // The name may have been given to another file in between.
        let direct = direct.filter(|(_, stat)| (stat.st_dev, stat.st_ino) == key);
        let is_direct = direct.is_some();
        let fd = direct.map_or(plain, |(fd, _)| fd);
        lock::take(&fd, path, mode == OpenMode::Read)?;
        let writes = mode != OpenMode::Read;
        if writes {
            *self.open.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
        }
        let handle = FileHandle {
            path: path.to_path_buf(),
            fd,
            direct: is_direct,
            sectors: found.sectors,
            backend: self.io.backend,
            stats: FileStats::default(),
            gate: WriteGate::default(),
        };
        if !writes {
            handle.gate.shut();
        }
        let file = OsFile {
            handle,
            device: stat.st_dev,
            durable: self.durable,
            dsync: AtomicBool::new(true),
            depth: self.io.depth.map_or(found.depth, |depth| depth.clamp(1, 256) as usize),
            listed: writes.then(|| (Arc::clone(&self.open), key)),
        };
        Ok(Arc::new(file))
    }

    /// Syncs the folder of a name: a name is durable only once its folder is.
    fn sync_parent(&self, path: &Path) -> Result<(), DiskError> {
        if self.durable { sync_dir(&parent_of(path)) } else { Ok(()) }
    }
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn sync_dir(dir: &Path) -> Result<(), DiskError> {
    let fd =
        rustix::fs::open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| failure(Op::Open, dir, 0, errno))?;
    rustix::fs::fsync(&fd).map_err(|errno| failure(Op::Sync, dir, 0, errno))
}

fn open_fd(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
    rustix::fs::open(path, flags | OFlags::CLOEXEC, mode)
}

impl Disk for OsDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        let path = self.resolve(path);
        let open = |flags| {
            let fd = open_fd(&path, flags).map_err(|errno| failure(Op::Open, &path, 0, errno))?;
            let stat =
                rustix::fs::fstat(&fd).map_err(|errno| failure(Op::Open, &path, 0, errno))?;
            Ok((fd, stat))
        };
        self.open_by(&path, mode, &open)
    }

    fn look_up(&self, path: &Path) -> Result<NamedPlace, DiskError> {
        named::look_up(&self.resolve(path))
    }

    fn open_named(
        &self,
        _path: &Path,
        mode: OpenMode,
        rule: &dyn OpenRule,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        self.open_by(rule.real(), mode, &|flags| named::open_real(rule, flags))
    }

    fn remove_named(&self, _path: &Path, rule: &dyn OpenRule) -> Result<(), DiskError> {
        // Some file systems lock exclusively only what is open for writing.
        let opened = named::open_real(rule, OFlags::RDWR).or_else(|e| match e {
            DiskError::Refused { .. } => Err(e),
            _ => named::open_real(rule, OFlags::RDONLY),
        });
        let (fd, stat) = opened?;
        let own = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = own.contains_key(&(stat.st_dev, stat.st_ino));
        drop(own);
        if !is_own {
            lock::take(&fd, rule.real(), false)?;
        }
        named::remove_real(rule, &stat, self.durable)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let path = self.resolve(path);
        let _locked = self.lock_to_remove(&path)?;
        rustix::fs::unlink(&path).map_err(|errno| failure(Op::Remove, &path, 0, errno))?;
        self.sync_parent(&path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let (from, to) = (self.resolve(from), self.resolve(to));
        rustix::fs::rename(&from, &to).map_err(|errno| failure(Op::Rename, &from, 0, errno))?;
        self.sync_parent(&to)?;
        if parent_of(&from) != parent_of(&to) {
            self.sync_parent(&from)?;
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        let path = self.resolve(path);
        path.try_exists().map_err(|error| failure_std(Op::Open, &path, &error))
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        let path = self.resolve(path);
        let mut missing = Vec::new();
        let mut dir = path.as_path();
        while !dir.as_os_str().is_empty() && !dir.is_dir() {
            missing.push(dir.to_path_buf());
            match dir.parent() {
                Some(parent) => dir = parent,
                None => break,
            }
        }
        if let Err(error) = std::fs::create_dir_all(&path) {
            let above = path.ancestors().find(|above| above.exists());
            return Err(match above {
                Some(file) if !file.is_dir() => DiskError::NotAFolder { path: file.to_path_buf() },
                _ => failure_std(Op::CreateDir, &path, &error),
            });
        }
        for made in missing.iter().rev() {
            self.sync_parent(made)?;
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let full = self.resolve(dir);
        let entries =
            std::fs::read_dir(&full).map_err(|error| failure_std(Op::List, &full, &error))?;
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failure_std(Op::List, &full, &error))?;
            paths.push(dir.join(entry.file_name()));
        }
        paths.sort();
        Ok(paths)
    }

    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        let path = self.resolve(path);
        let len =
            std::fs::metadata(&path).map_err(|error| failure_std(Op::Open, &path, &error))?.len();
        if len > SMALL_FILE_MAX {
            return Err(DiskError::TooLarge { path, len });
        }
        std::fs::read(&path).map_err(|error| failure_std(Op::Read, &path, &error))
    }

    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        let path = self.resolve(path);
        if bytes.len() as u64 > SMALL_FILE_MAX {
            return Err(DiskError::TooLarge { path, len: bytes.len() as u64 });
        }
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".new");
        let temp = path.with_file_name(name);
        let write = || -> std::io::Result<()> {
            use std::io::Write;
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            let mut options = std::fs::OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&temp)?;
            // A temporary file that a crash has left may have other permissions.
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
            file.write_all(bytes)?;
            if self.durable { file.sync_all() } else { Ok(()) }
        };
        write().map_err(|error| failure_std(Op::Write, &temp, &error))?;
        rustix::fs::rename(&temp, &path).map_err(|errno| failure(Op::Rename, &temp, 0, errno))?;
        self.sync_parent(&path)
    }

    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.resolve(path);
        let write = || -> std::io::Result<()> {
            let mut file =
                std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
            file.write_all(bytes)?;
            if durable && self.durable { file.sync_all() } else { Ok(()) }
        };
        write().map_err(|error| failure_std(Op::Write, &path, &error))
    }

    fn free_space(&self, path: &Path) -> Result<u64, DiskError> {
        let path = self.resolve(path);
        let mut at = path.as_path();
        while !at.exists() {
            match at.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => at = parent,
                _ => at = Path::new("."),
            }
        }
        let stat = rustix::fs::statvfs(at).map_err(|errno| failure(Op::FreeSpace, at, 0, errno))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn volume(&self, path: &Path) -> Option<Volume> {
        volume_of(&self.resolve(path))
    }

    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        let path = self.resolve(path);
        let fd = open_fd(&path, OFlags::RDWR | OFlags::CREATE)
            .map_err(|errno| failure(Op::Lock, &path, 0, errno))?;
        lock::take(&fd, &path, false)?;
        Ok(DiskLock::new(FileLock { _fd: fd }))
    }

    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        let path = self.resolve(path);
        let fd = self.look_at(&path, Op::Lock)?;
        lock::take(&fd, &path, true)?;
        Ok(DiskLock::new(FileLock { _fd: fd }))
    }

    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        let path = self.resolve(path);
        lock::identity(self.look_at(&path, Op::Open)?, &path)
    }

    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        let (path, folder) = (self.resolve(path), self.resolve(folder));
        let real = |p: &Path| p.canonicalize().map_err(|error| failure_std(Op::Open, p, &error));
        if !real(&path)?.starts_with(real(&folder)?) {
            return Ok(false);
        }
        let stat = rustix::fs::stat(&path).map_err(|errno| failure(Op::Open, &path, 0, errno))?;
        Ok(stat.st_nlink <= 1)
    }
}
