//! The state of a simulated disk: names, files, counters, the fault plan, and the moment of power
//! loss.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::{DiskError, Op, OpenMode, SMALL_FILE_MAX};

use crate::SimConfig;
use crate::hold::HoldGate;
use crate::image::Inode;
use crate::plan::{Fault, OpKind, Plan};

/// A change of names that the crash interrupted: done or not, by the crash's seed.
#[derive(Clone, Debug)]
enum NameChange {
    Create(PathBuf, u64),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    Dirs(PathBuf),
    Small(PathBuf, Vec<u8>),
}

/// The process that holds a lock, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockHolder {
    pub pid: u32,
    pub shared: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SimWorld {
    pub config: SimConfig,
    pub plan: Plan,
    /// Writes that wait, by file ([`crate::Hold`]).
    pub holds: BTreeMap<PathBuf, Arc<HoldGate>>,
    pub io_count: u64,
    pub crashed: bool,
    pub names: BTreeMap<PathBuf, u64>,
    /// Folders and their numbers.
    pub dirs: BTreeMap<PathBuf, u64>,
    /// The holders of the lock of each inode.
    locks: BTreeMap<u64, Vec<LockHolder>>,
    /// Inodes of names that are only locked.
    lock_names: BTreeMap<PathBuf, u64>,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    interrupted: Option<NameChange>,
    /// A small write that power loss interrupts may leave a torn file.
    pub tears: bool,
    /// Writes of batches that have begun and not ended, by number: inode, offset, bytes.
    in_flight: BTreeMap<u64, (u64, u64, Box<[u8]>)>,
    next_flight: u64,
    rng: fastrand::Rng,
}

/// What a changing operation must do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChangeFate {
    Go,
    /// Power is lost during this very operation: do what may be half done, then return
    /// [`DiskError::Crashed`].
    Crash,
    Fault(Fault),
}

pub(crate) fn io_error(op: Op, path: &Path, offset: u64) -> DiskError {
    DiskError::Io {
        op,
        path: path.to_path_buf(),
        offset,
        code: 5,
        text: "simulated input/output error".into(),
    }
}

pub(crate) fn fault_error(fault: Fault, op: Op, path: &Path, offset: u64) -> DiskError {
    match fault {
        Fault::NoSpace => DiskError::NoSpace { op, path: path.to_path_buf() },
        Fault::FileLimit => DiskError::FileLimit { op, path: path.to_path_buf() },
        Fault::Io | Fault::ShortWrite | Fault::LoseUnsynced => io_error(op, path, offset),
    }
}

impl SimWorld {
    pub fn new(seed: u64, config: SimConfig) -> Self {
        SimWorld {
            config,
            plan: Plan::default(),
            holds: BTreeMap::new(),
            io_count: 0,
            crashed: false,
            names: BTreeMap::new(),
            dirs: BTreeMap::new(),
            locks: BTreeMap::new(),
            lock_names: BTreeMap::new(),
            inodes: BTreeMap::new(),
            next_inode: 1,
            interrupted: None,
            tears: false,
            in_flight: BTreeMap::new(),
            next_flight: 1,
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    pub fn alive(&self) -> Result<(), DiskError> {
        if self.crashed { Err(DiskError::Crashed) } else { Ok(()) }
    }

    /// Counts a changing operation and returns what it must do.
    pub fn step(&mut self, path: &Path, kind: OpKind) -> Result<ChangeFate, DiskError> {
        self.alive()?;
        self.io_count += 1;
        if self.plan.crash_at.is_some_and(|n| self.io_count >= n) {
            self.crashed = true;
            self.interrupt_flights();
            return Ok(ChangeFate::Crash);
        }
        Ok(match self.plan.strike(path, kind) {
            Some(fault) => ChangeFate::Fault(fault),
            None => ChangeFate::Go,
        })
    }

    /// The same for a write, which part of the file may refuse.
    pub fn step_write(&mut self, path: &Path, bytes: Range<u64>) -> Result<ChangeFate, DiskError> {
        let refusal = self.plan.refusal(path, &bytes);
        Ok(match (self.step(path, OpKind::Write)?, refusal) {
            (ChangeFate::Go, Some(fault)) => ChangeFate::Fault(fault),
            (step, _) => step,
        })
    }

    /// A write of a batch has begun; returns its number.
    pub fn put_in_flight(&mut self, inode: u64, offset: u64, bytes: Box<[u8]>) -> u64 {
        let number = self.next_flight;
        self.next_flight += 1;
        if !self.crashed {
            self.in_flight.insert(number, (inode, offset, bytes));
        }
        number
    }

    /// A write of a batch ends: its effect from here on is up to the caller.
    pub fn take_from_flight(&mut self, number: u64) {
        self.in_flight.remove(&number);
    }

    /// Power is lost: of each write in flight any sectors may have arrived.
    fn interrupt_flights(&mut self) {
        let atom = self.atom();
        for (inode, offset, bytes) in std::mem::take(&mut self.in_flight).into_values() {
            // A write that would have grown the file, or whose file no longer exists, has done
            // nothing.
            if let Some(inode) = self.inodes.get_mut(&inode)
                && offset + bytes.len() as u64 <= inode.live.len()
            {
                inode.write(offset, &bytes, atom);
            }
        }
    }

    /// Counts a read.
    pub fn step_read(&mut self, path: &Path, offset: u64) -> Result<(), DiskError> {
        self.alive()?;
        match self.plan.strike(path, OpKind::Read) {
            Some(fault) => Err(fault_error(fault, Op::Read, path, offset)),
            None => Ok(()),
        }
    }

    /// Counts a reservation of space. It has no effect that a crash could reveal.
    pub fn step_reserve(&mut self, path: &Path, offset: u64) -> Result<(), DiskError> {
        self.alive()?;
        match self.plan.strike(path, OpKind::SetLen) {
            Some(fault) => Err(fault_error(fault, Op::Allocate, path, offset)),
            None => Ok(()),
        }
    }

    pub fn atom(&self) -> u64 {
        u64::from(self.config.atom.max(512))
    }

    pub fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes.entry(inode).or_default()
    }

    /// Bytes of all files, sparse or not.
    pub fn occupied(&self) -> u64 {
        self.inodes.values().map(|inode| inode.live.len()).sum()
    }

    /// True if `inode` may grow to `len`.
    pub fn has_room(&mut self, inode: u64, len: u64) -> bool {
        let growth = len.saturating_sub(self.inode(inode).live.len());
        self.occupied() + growth <= self.config.capacity
    }

    pub fn random_below(&mut self, n: usize) -> usize {
        self.rng.usize(0..n.max(1))
    }

    pub fn unsynced_atoms(&self) -> usize {
        self.inodes.values().map(|inode| inode.unsynced.len()).sum()
    }

    pub fn open(&mut self, path: &Path, mode: OpenMode) -> Result<u64, DiskError> {
        self.alive()?;
        let known = self.names.get(path).copied();
        match (mode, known) {
            (OpenMode::Open | OpenMode::Read, Some(inode)) => Ok(inode),
            (OpenMode::Open | OpenMode::Read, None) => {
                Err(DiskError::NotFound { path: path.to_path_buf() })
            }
            (OpenMode::Create, Some(_)) => Err(DiskError::Exists { path: path.to_path_buf() }),
            (OpenMode::Create, None) => {
                let inode = self.new_inode();
                self.change_names(Op::Create, path, NameChange::Create(path.to_path_buf(), inode))?;
                Ok(inode)
            }
        }
    }

    /// Locks an inode for one more handle.
    pub fn lock(
        &mut self,
        path: &Path,
        inode: u64,
        pid: u32,
        shared: bool,
    ) -> Result<LockHolder, DiskError> {
        let holders = self.locks.entry(inode).or_default();
        if let Some(other) = holders.iter().find(|other| !(shared && other.shared)) {
            return Err(DiskError::Locked { path: path.to_path_buf(), holder: Some(other.pid) });
        }
        let holder = LockHolder { pid, shared };
        holders.push(holder);
        Ok(holder)
    }

    pub fn unlock(&mut self, inode: u64, holder: LockHolder) {
        if let Some(holders) = self.locks.get_mut(&inode)
            && let Some(at) = holders.iter().position(|other| *other == holder)
        {
            holders.swap_remove(at);
        }
    }

    /// The inode of a name that is only locked.
    pub fn lock_name(&mut self, path: &Path) -> u64 {
        let next = &mut self.next_inode;
        *self.lock_names.entry(path.to_path_buf()).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    pub fn copy_dir(&mut self, from: &Path, to: &Path) {
        let moved = |path: &PathBuf| Some(to.join(path.strip_prefix(from).ok()?));
        let dirs: Vec<PathBuf> = self.dirs.keys().filter_map(moved).collect();
        let files: Vec<(PathBuf, u64)> =
            self.names.iter().filter_map(|(path, inode)| Some((moved(path)?, *inode))).collect();
        for dir in dirs {
            self.add_dir(dir);
        }
        for (path, inode) in files {
            let live = self.inode(inode).live.clone();
            let copy = self.new_inode();
            self.inodes.insert(copy, Inode { durable: live.clone(), live, ..Inode::default() });
            self.names.insert(path, copy);
        }
        self.drop_unnamed();
    }

    pub fn rename_dir(&mut self, from: &Path, to: &Path) {
        let moved = |path: PathBuf| match path.strip_prefix(from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.to_path_buf(),
            Ok(rest) => to.join(rest),
            Err(_) => path,
        };
        self.dirs =
            std::mem::take(&mut self.dirs).into_iter().map(|(path, n)| (moved(path), n)).collect();
        self.names =
            std::mem::take(&mut self.names).into_iter().map(|(path, n)| (moved(path), n)).collect();
        self.lock_names = std::mem::take(&mut self.lock_names)
            .into_iter()
            .map(|(path, n)| (moved(path), n))
            .collect();
    }

    fn new_inode(&mut self) -> u64 {
        self.next_inode += 1;
        self.next_inode - 1
    }

    fn add_dir(&mut self, path: PathBuf) {
        if !self.dirs.contains_key(&path) {
            let inode = self.new_inode();
            self.dirs.insert(path, inode);
        }
    }

    pub fn remove(&mut self, path: &Path, pid: u32) -> Result<(), DiskError> {
        let inode = self.known(path)?;
        let others = self.locks.get(&inode).into_iter().flatten();
        if let Some(other) = others.into_iter().find(|other| other.pid != pid) {
            return Err(DiskError::Locked { path: path.to_path_buf(), holder: Some(other.pid) });
        }
        self.change_names(Op::Remove, path, NameChange::Remove(path.to_path_buf()))
    }

    pub fn rename(&mut self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.known(from)?;
        self.change_names(
            Op::Rename,
            from,
            NameChange::Rename(from.to_path_buf(), to.to_path_buf()),
        )
    }

    pub fn create_dir_all(&mut self, path: &Path) -> Result<(), DiskError> {
        self.change_names(Op::CreateDir, path, NameChange::Dirs(path.to_path_buf()))
    }

    pub fn write_small_atomic(&mut self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.alive()?;
        let len = bytes.len() as u64;
        if len > SMALL_FILE_MAX {
            return Err(DiskError::TooLarge { path: path.to_path_buf(), len });
        }
        if self.occupied() + len > self.config.capacity {
            return Err(DiskError::NoSpace { op: Op::Write, path: path.to_path_buf() });
        }
        self.change_names(Op::Write, path, NameChange::Small(path.to_path_buf(), bytes.to_vec()))
    }

    /// Durable at once, and no operation of the plan: what is added so is text for people, which
    /// nothing depends on.
    pub fn append(&mut self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.alive()?;
        if self.occupied() + bytes.len() as u64 > self.config.capacity {
            return Err(DiskError::NoSpace { op: Op::Write, path: path.to_path_buf() });
        }
        if !self.names.contains_key(path) {
            self.apply(NameChange::Small(path.to_path_buf(), Vec::new()));
        }
        let inode = self.known(path)?;
        let inode = self.inode(inode);
        for image in [&mut inode.live, &mut inode.durable] {
            let end = image.len();
            image.write(end, bytes);
        }
        Ok(())
    }

    pub fn read_small(&mut self, path: &Path) -> Result<Vec<u8>, DiskError> {
        let inode = self.known(path)?;
        self.step_read(path, 0)?;
        let live = &self.inode(inode).live;
        let len = live.len();
        if len > SMALL_FILE_MAX {
            return Err(DiskError::TooLarge { path: path.to_path_buf(), len });
        }
        let mut bytes = vec![0; len as usize];
        live.read(0, &mut bytes);
        Ok(bytes)
    }

    pub fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.alive()?;
        let inside = |path: &&PathBuf| path.parent() == Some(dir);
        let all: BTreeSet<&PathBuf> =
            self.names.keys().filter(inside).chain(self.dirs.keys().filter(inside)).collect();
        if all.is_empty() && !self.dirs.contains_key(dir) && !dir.as_os_str().is_empty() {
            return Err(DiskError::NotFound { path: dir.to_path_buf() });
        }
        Ok(all.into_iter().cloned().collect())
    }

    pub fn rot(&mut self, path: &Path, offset: u64) -> Result<(), DiskError> {
        let inode = self.known(path)?;
        let inode = self.inode(inode);
        for image in [&mut inode.live, &mut inode.durable] {
            if offset < image.len() {
                let mut byte = [0];
                image.read(offset, &mut byte);
                image.write(offset, &[byte[0] ^ 0x10]);
            }
        }
        Ok(())
    }

    fn known(&self, path: &Path) -> Result<u64, DiskError> {
        self.alive()?;
        self.names
            .get(path)
            .copied()
            .ok_or_else(|| DiskError::NotFound { path: path.to_path_buf() })
    }

    fn change_names(&mut self, op: Op, path: &Path, change: NameChange) -> Result<(), DiskError> {
        match self.step(path, OpKind::Name)? {
            ChangeFate::Go => {
                self.apply(change);
                Ok(())
            }
            ChangeFate::Crash => {
                self.interrupted = Some(change);
                Err(DiskError::Crashed)
            }
            ChangeFate::Fault(fault) => Err(fault_error(fault, op, path, 0)),
        }
    }

    fn apply(&mut self, change: NameChange) {
        match change {
            NameChange::Create(path, inode) => {
                self.inodes.insert(inode, Inode::default());
                self.names.insert(path, inode);
            }
            NameChange::Remove(path) => {
                // An open handle of a removed file finds it empty from now on; see `drop_unnamed`.
                self.names.remove(&path);
            }
            NameChange::Rename(from, to) => {
                if let Some(inode) = self.names.remove(&from) {
                    self.names.insert(to, inode);
                }
            }
            NameChange::Dirs(path) => {
                let dirs = path.ancestors().filter(|dir| !dir.as_os_str().is_empty());
                dirs.for_each(|dir| self.add_dir(dir.to_path_buf()));
            }
            NameChange::Small(path, bytes) => {
                let inode = self.new_inode();
                let mut content = Inode::default();
                content.live.write(0, &bytes);
                content.durable = content.live.clone();
                self.inodes.insert(inode, content);
                self.names.insert(path, inode);
            }
        }
        self.drop_unnamed();
    }

    /// Frees the content of removed and replaced files. A handle that is still open finds an empty
    /// file.
    fn drop_unnamed(&mut self) {
        let named: BTreeSet<u64> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
    }

    /// The same names, without the files' content and without faults.
    fn hollow_copy(&self, seed: u64) -> SimWorld {
        let mut left = SimWorld::new(seed, self.config);
        left.names.clone_from(&self.names);
        left.dirs.clone_from(&self.dirs);
        left.next_inode = self.next_inode;
        left.tears = self.tears;
        left
    }

    /// The world in which exactly the chosen unsynced atoms survive. Writes in flight are lost.
    pub fn kept_copy(&self, mut keep: impl FnMut(usize) -> bool) -> SimWorld {
        let mut left = self.hollow_copy(0);
        let atom = self.atom();
        let mut number = 0;
        let mut next = || {
            number += 1;
            keep(number - 1)
        };
        left.inodes = self
            .inodes
            .iter()
            .map(|(inode, content)| (*inode, content.kept(atom, &mut next)))
            .collect();
        left
    }

    /// The world that a power loss leaves.
    pub fn crashed_copy(&self, seed: u64) -> SimWorld {
        if !self.in_flight.is_empty() {
            let mut now = self.clone();
            now.interrupt_flights();
            return now.crashed_copy(seed);
        }
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut left = self.hollow_copy(seed);
        let atom = self.atom();
        left.inodes = self
            .inodes
            .iter()
            .map(|(inode, content)| (*inode, content.crashed(atom, &mut rng)))
            .collect();
        match &self.interrupted {
            Some(NameChange::Small(path, bytes)) if self.tears && rng.bool() => {
                let torn = self.torn(path, bytes, &mut rng);
                left.apply(NameChange::Small(path.clone(), torn));
            }
            Some(change) if rng.bool() => left.apply(change.clone()),
            _ => {}
        }
        left
    }

    /// A small file of which a part is new and the rest is as it was, or zeros, or not there.
    fn torn(&self, path: &Path, bytes: &[u8], rng: &mut fastrand::Rng) -> Vec<u8> {
        let before = self.names.get(path).and_then(|inode| self.inodes.get(inode));
        let mut old = vec![0; before.map_or(0, |inode| inode.live.len() as usize)];
        if let Some(inode) = before {
            inode.live.read(0, &mut old);
        }
        let cut = rng.usize(0..=bytes.len());
        let mut torn = bytes[..cut].to_vec();
        match rng.u8(0..3) {
            0 => torn.extend_from_slice(old.get(cut..).unwrap_or_default()),
            1 => torn.resize(bytes.len(), 0),
            _ => {}
        }
        torn
    }
}
