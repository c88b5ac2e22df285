//! The simulated disk: [`disk::Disk`] in memory, with power loss, faults and bit rot by plan and
//! seed.
//!
//! # Model
//! - Every file has a live image (what reads see) and a durable image (what a power loss leaves for
//!   certain). A write changes the live image; a sync of the file, or `write_durable` for its own
//!   bytes, copies the change to the durable one.
//! - [`SimDisk::crash`] makes the disk that a power loss leaves: every sector written since its
//!   last sync is, each for itself, old, new or any version in between; a file that grew by writing
//!   has any length in between. So a write of several sectors may be torn and writes may be
//!   reordered.
//! - Open files are locked as on a real disk, against handles of other processes
//!   ([`SimDisk::process`]) and of the same one. A power loss ends all locks.
//! - Creating, removing, renaming, `write_small_atomic`, `set_len` and `allocate` are durable on
//!   return. The operation that [`SimDisk::crash_at`] interrupts has happened, has not, or (writes)
//!   has happened in part; a small file is torn only where [`SimDisk::tear_small_writes`] says so.
//!
//! # Guarantee
//! In single-threaded use everything follows from the seeds and the sequence of calls, so a failing
//! run can be replayed.
//!
//! # Not here: time. No latency is modelled, and nothing waits except for a [`Hold`].

mod file;
mod hold;
mod image;
mod plan;
mod world;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::{BlockFile, Disk, DiskError, DiskLock, FileIdentity, OpenMode, Sectors};
use parking_lot::Mutex;

pub use hold::Hold;
pub use plan::{Fault, OpKind};
use world::{ChangeFate, SimWorld};

/// Shape of a simulated disk.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// What files report as their device's sectors.
    pub sectors: Sectors,
    /// Unit in bytes that power loss leaves whole: 512 or a multiple. Smaller than the physical
    /// sector is the harsher test.
    pub atom: u32,
    /// Bytes that all files together may occupy.
    pub capacity: u64,
}

impl Default for SimConfig {
    fn default() -> Self {
        SimConfig { sectors: Sectors { logical: 512, physical: 512 }, atom: 512, capacity: 1 << 40 }
    }
}

/// A disk in memory; clones share it.
#[derive(Clone, Debug)]
pub struct SimDisk {
    world: Arc<Mutex<SimWorld>>,
    /// Number of the process that works through this handle.
    pid: u32,
}

/// Number of the process of a disk that was not given another one.
const FIRST_PROCESS: u32 = 1;

impl SimDisk {
    /// An empty disk with 512-byte sectors. The seed determines what is random before any crash
    /// (short writes).
    pub fn new(seed: u64) -> Self {
        Self::with_config(seed, SimConfig::default())
    }

    /// An empty disk of the given shape.
    pub fn with_config(seed: u64, config: SimConfig) -> Self {
        SimDisk { world: Arc::new(Mutex::new(SimWorld::new(seed, config))), pid: FIRST_PROCESS }
    }

    /// The disk after power loss now, or at the point where [`crash_at`](Self::crash_at) struck.
    /// `self` is not changed; the same seed leads to the same result. The new disk has no faults
    /// planned, no locks, and counts from zero.
    pub fn crash(&self, seed: u64) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(self.world.lock().crashed_copy(seed))), pid: self.pid }
    }

    /// The disk after power loss if exactly those unsynced sectors survive (in their newest
    /// version) for which `keep` returns true; sectors are numbered by file and offset, from 0 to
    /// [`unsynced_atoms`](Self::unsynced_atoms). For tests that try all. Lengths are as the files'
    /// users saw them; writes in flight and interrupted changes of names and lengths did not
    /// happen.
    pub fn crash_keeping(&self, keep: impl FnMut(usize) -> bool) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(self.world.lock().kept_copy(keep))), pid: self.pid }
    }

    /// The same disk as another process sees it: what it locks is locked for all others. A number
    /// above 0.
    pub fn process(&self, pid: u32) -> SimDisk {
        SimDisk { world: Arc::clone(&self.world), pid }
    }

    /// Copies a folder with all that is in it, as `cp -a` does: new files with the present content.
    pub fn copy_dir(&self, from: &Path, to: &Path) {
        self.world.lock().copy_dir(from, to);
    }

    /// Renames a folder.
    pub fn rename_dir(&self, from: &Path, to: &Path) {
        self.world.lock().rename_dir(from, to);
    }

    /// Loses power at the `n`-th changing operation since the disk was created (see
    /// [`io_count`](Self::io_count)): it and everything after it return [`DiskError::Crashed`].
    pub fn crash_at(&self, n: u64) {
        self.world.lock().plan.crash_at = Some(n);
    }

    /// Lets a power loss that interrupts `write_small_atomic` leave a file of which only a part is
    /// new, as a file system does whose renames do not wait for the file's content.
    pub fn tear_small_writes(&self) {
        self.world.lock().tears = true;
    }

    /// True once the planned crash has struck.
    pub fn has_crashed(&self) -> bool {
        self.world.lock().crashed
    }

    /// Operations so far that can change the disk: writes, syncs, length changes, changes of names.
    pub fn io_count(&self) -> u64 {
        self.world.lock().io_count
    }

    /// Reads so far.
    pub fn read_count(&self) -> u64 {
        self.world.lock().plan.count(OpKind::Read)
    }

    /// Makes the `nth` operation of that kind from now (1 = the next) fail, on any file.
    pub fn fail(&self, kind: OpKind, nth: u64, fault: Fault) {
        self.world.lock().plan.add(None, kind, nth, fault);
    }

    /// Makes the `nth` operation of that kind on one file from now (1 = the next) fail.
    pub fn fail_on(&self, path: &Path, kind: OpKind, nth: u64, fault: Fault) {
        self.world.lock().plan.add(Some(path.to_path_buf()), kind, nth, fault);
    }

    /// Makes every write to that part of a file fail, until [`clear_faults`](Self::clear_faults).
    pub fn refuse_writes(&self, path: &Path, bytes: Range<u64>, fault: Fault) {
        self.world.lock().plan.refuse(path.to_path_buf(), bytes, fault);
    }

    /// Lets writes to one file wait until the returned [`Hold`] is dropped, in place of any hold on
    /// it before.
    pub fn hold_writes(&self, path: &Path) -> Hold {
        let hold = Hold::default();
        self.world.lock().holds.insert(path.to_path_buf(), hold.gate());
        hold
    }

    /// Discards all planned faults and the planned crash.
    pub fn clear_faults(&self) {
        self.world.lock().plan.clear();
    }

    /// Flips one bit of the byte at `offset`, live and durable, as a decaying sector would.
    pub fn rot(&self, path: &Path, offset: u64) -> Result<(), DiskError> {
        self.world.lock().rot(path, offset)
    }

    /// Changes how many bytes all files together may occupy.
    pub fn set_capacity(&self, bytes: u64) {
        self.world.lock().config.capacity = bytes;
    }

    /// Bytes of a file as its users see it, open or not; `None`: there is no file of that name.
    pub fn file_len(&self, path: &Path) -> Option<u64> {
        let world = &mut *self.world.lock();
        let inode = *world.names.get(path)?;
        Some(world.inode(inode).live.len())
    }

    /// Sectors over all files whose newest content a power loss may lose.
    pub fn unsynced_atoms(&self) -> usize {
        self.world.lock().unsynced_atoms()
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        let mut world = self.world.lock();
        let (inode, sectors) = (world.open(path, mode)?, world.config.sectors);
        let holder = world.lock(path, inode, self.pid, mode == OpenMode::Read)?;
        let path = path.to_path_buf();
        Ok(Arc::new(file::SimFile::new(Arc::clone(&self.world), path, inode, sectors, holder)))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.world.lock().remove(path, self.pid)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.world.lock().rename(from, to)
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        let world = self.world.lock();
        world.alive()?;
        Ok(world.names.contains_key(path) || world.dirs.contains_key(path))
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.world.lock().create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.world.lock().list(dir)
    }

    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.world.lock().read_small(path)
    }

    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.world.lock().write_small_atomic(path, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8], _durable: bool) -> Result<(), DiskError> {
        self.world.lock().append(path, bytes)
    }

    fn free_space(&self, _path: &Path) -> Result<u64, DiskError> {
        let world = self.world.lock();
        world.alive()?;
        Ok(world.config.capacity.saturating_sub(world.occupied()))
    }

    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        let mut world = self.world.lock();
        world.alive()?;
        let inode = world.lock_name(path);
        let holder = world.lock(path, inode, self.pid, false)?;
        Ok(DiskLock::new(file::SimLock { world: Arc::clone(&self.world), inode, holder }))
    }

    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        let mut world = self.world.lock();
        world.alive()?;
        let inode = world.lock_name(path);
        let holder = world.lock(path, inode, self.pid, true)?;
        Ok(DiskLock::new(file::SimLock { world: Arc::clone(&self.world), inode, holder }))
    }

    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        let world = self.world.lock();
        world.alive()?;
        let inode = world.names.get(path).or_else(|| world.dirs.get(path)).copied();
        let inode = inode.ok_or_else(|| DiskError::NotFound { path: path.to_path_buf() })?;
        Ok(FileIdentity { device: 1, inode, born_ns: 0 })
    }

    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        // There are no links.
        Ok(path.starts_with(folder))
    }
}
