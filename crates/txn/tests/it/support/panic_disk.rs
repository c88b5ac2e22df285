//! A disk that panics: once armed, the next operation of one kind on one kind of file by a thread
//! of one name does not return. Works in release builds, with the program as it is: the fault is in
//! the disk.
#![allow(dead_code)] // each test uses its part

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use disk::{BlockFile, Disk, DiskError, DiskLock, FileIdentity, FileStats, OpenMode, Sectors};

/// What a thread is doing when it panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Read,
    /// A write of any kind.
    Write,
    Sync,
    /// Making the file longer.
    Zeros,
}

#[derive(Debug, Default)]
struct Plan {
    /// Beginning of the thread's name, the operation, and the end of the file's name.
    armed: Option<(String, Doing, String)>,
    struck: Option<Instant>,
}

/// The disk below, until it is armed.
#[derive(Clone, Debug)]
pub struct PanicDisk {
    below: Arc<dyn Disk>,
    plan: Arc<Mutex<Plan>>,
}

impl PanicDisk {
    pub fn new(below: Arc<dyn Disk>) -> PanicDisk {
        PanicDisk { below, plan: Arc::default() }
    }

    /// The next such operation panics.
    pub fn arm(&self, thread: &str, doing: Doing, file: &str) {
        self.plan.lock().unwrap().armed = Some((thread.into(), doing, file.into()));
    }

    /// When it did.
    pub fn struck(&self) -> Option<Instant> {
        self.plan.lock().unwrap().struck
    }
}

#[derive(Debug)]
struct PanicFile {
    below: Arc<dyn BlockFile>,
    plan: Arc<Mutex<Plan>>,
}

impl PanicFile {
    fn may_panic(&self, doing: Doing) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        let mut plan = self.plan.lock().unwrap();
        let meant = |(thread, what, file): &(String, Doing, String)| {
            // Sessions have a number after their name; "log writer 2" is another thread than "log
            // writer".
            let another = name == "log writer 2" && thread != name;
            !another
                && name.starts_with(thread)
                && *what == doing
                && self.below.path().to_string_lossy().ends_with(file)
        };
        if plan.armed.as_ref().is_some_and(meant) {
            plan.armed = None;
            plan.struck = Some(Instant::now());
            drop(plan);
            panic!("injected: {doing:?} by {name}");
        }
    }
}

impl BlockFile for PanicFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError> {
        self.may_panic(Doing::Read);
        self.below.read_at(offset, buf)
    }
    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.may_panic(Doing::Write);
        self.below.write_gather(offset, bufs)
    }
    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.may_panic(Doing::Write);
        self.below.write_durable(offset, bufs)
    }
    fn sync(&self) -> Result<(), DiskError> {
        self.may_panic(Doing::Sync);
        self.below.sync()
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.below.len()
    }
    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.below.set_len(len)
    }
    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        self.below.allocate(offset, len)
    }
    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        self.may_panic(Doing::Zeros);
        self.below.write_zeros(offset, len)
    }
    fn sectors(&self) -> Sectors {
        self.below.sectors()
    }
    fn device(&self) -> u64 {
        self.below.device()
    }
    fn is_direct(&self) -> bool {
        self.below.is_direct()
    }
    fn stats(&self) -> &FileStats {
        self.below.stats()
    }
    fn path(&self) -> &Path {
        self.below.path()
    }
    fn release(&self) {
        self.below.release();
    }
}

impl Disk for PanicDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        Ok(Arc::new(PanicFile { below: self.below.open(path, mode)?, plan: self.plan.clone() }))
    }
    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.below.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.below.rename(from, to)
    }
    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.below.exists(path)
    }
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.below.create_dir_all(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.below.list(dir)
    }
    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.below.read_small(path)
    }
    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.below.write_small_atomic(path, bytes)
    }
    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        self.below.append(path, bytes, durable)
    }
    fn free_space(&self, path: &Path) -> Result<u64, DiskError> {
        self.below.free_space(path)
    }
    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.below.lock_exclusive(path)
    }
    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.below.lock_shared(path)
    }
    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        self.below.identity(path)
    }
    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        self.below.is_within(path, folder)
    }
}
