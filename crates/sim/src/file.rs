//! One open file of the simulated disk, and its lock guard.

use std::io::IoSliceMut;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use disk::{BlockFile, Data, DiskError, FileStats, Launch, LockGuard, Op, Sectors, check_aligned};
use parking_lot::Mutex;

use crate::ChangeFate;
use crate::plan::{Fault, OpKind};
use crate::world::{LockHolder, SimWorld, fault_error};

#[derive(Debug)]
pub(crate) struct SimFile {
    world: Arc<Mutex<SimWorld>>,
    path: PathBuf,
    inode: u64,
    sectors: Sectors,
    stats: FileStats,
    /// How this handle has locked the file; `None` once it was released.
    lock: Mutex<Option<LockHolder>>,
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl SimFile {
    pub fn new(
        world: Arc<Mutex<SimWorld>>,
        path: PathBuf,
        inode: u64,
        sectors: Sectors,
        lock: LockHolder,
    ) -> Self {
        SimFile {
            world,
            path,
            inode,
            sectors,
            stats: FileStats::default(),
            lock: Mutex::new(Some(lock)),
        }
    }

    fn give_up(&self) {
        if let Some(holder) = self.lock.lock().take() {
            self.world.lock().unlock(self.inode, holder);
        }
    }

    /// Fails once the file was released, or if it is only read.
    fn changing(&self, op: Op) -> Result<(), DiskError> {
        match *self.lock.lock() {
            Some(holder) if !holder.shared => Ok(()),
            _ => Err(DiskError::Released { op, path: self.path.clone() }),
        }
    }

    fn read(&self, offset: u64, bufs: &mut [IoSliceMut<'_>]) -> Result<(), DiskError> {
        let mut end = offset;
        for buf in bufs.iter() {
            check_aligned(&self.path, self.sectors, end, buf)?;
            end += buf.len() as u64;
        }
        let world = &mut *self.world.lock();
        world.step_read(&self.path, offset)?;
        let live = &world.inode(self.inode).live;
        let wanted = end - offset;
        if end > live.len() {
            let got = live.len().saturating_sub(offset).min(wanted);
            return Err(DiskError::ShortRead { path: self.path.clone(), offset, wanted, got });
        }
        let mut at = offset;
        for buf in bufs {
            live.read(at, buf);
            at += buf.len() as u64;
        }
        self.stats.count_read(wanted, Duration::ZERO);
        Ok(())
    }

    fn write(&self, offset: u64, bufs: &[&[u8]], durable: bool) -> Result<(), DiskError> {
        let mut at = offset;
        for buf in bufs {
            check_aligned(&self.path, self.sectors, at, buf)?;
            at += buf.len() as u64;
        }
        let bytes = bufs.concat();
        self.changing(Op::Write)?;
        let gate = self.world.lock().holds.get(&self.path).cloned();
        if let Some(gate) = gate {
            gate.pass();
        }
        let world = &mut *self.world.lock();
        let atom = world.atom();
        world.alive()?;
        if !world.has_room(self.inode, at) {
            return Err(DiskError::NoSpace { op: Op::Write, path: self.path.clone() });
        }
        match world.step_write(&self.path, offset..offset + bytes.len() as u64)? {
            ChangeFate::Go => {
                let inode = world.inode(self.inode);
                inode.write(offset, &bytes, atom);
                if durable {
                    inode.make_durable(offset, bytes.len() as u64, atom);
                    self.stats.count_durable_write(bytes.len() as u64, Duration::ZERO);
                } else {
                    self.stats.count_write(bytes.len() as u64, Duration::ZERO);
                }
                if self.sectors.partial(offset, bytes.len() as u64) > 0 {
                    self.stats.count_rmw();
                }
                Ok(())
            }
            ChangeFate::Crash => {
                // All its sectors are in flight; the crash decides for each whether it survives.
                world.inode(self.inode).write(offset, &bytes, atom);
                Err(DiskError::Crashed)
            }
            ChangeFate::Fault(fault) => {
                let unit = self.sectors.logical as usize;
                let wrote = match fault {
                    Fault::ShortWrite => world.random_below(bytes.len() / unit) * unit,
                    Fault::LoseUnsynced => bytes.len(),
                    Fault::Io | Fault::NoSpace | Fault::FileLimit => 0,
                };
                let inode = world.inode(self.inode);
                if fault == Fault::LoseUnsynced {
                    inode.live.write(offset, &bytes);
                } else {
                    inode.write(offset, &bytes[..wrote], atom);
                }
                self.stats.count_failure();
                Err(fault_error(fault, Op::Write, &self.path, offset))
            }
        }
    }

    fn change_len(&self, op: Op, len: u64) -> Result<(), DiskError> {
        self.changing(op)?;
        let world = &mut *self.world.lock();
        let atom = world.atom();
        world.alive()?;
        if !world.has_room(self.inode, len) {
            return Err(DiskError::NoSpace { op, path: self.path.clone() });
        }
        match world.step(&self.path, OpKind::SetLen)? {
            ChangeFate::Go => {
                world.inode(self.inode).set_len(len, atom);
                Ok(())
            }
            ChangeFate::Crash => {
                world.inode(self.inode).interrupted_len = Some(len);
                Err(DiskError::Crashed)
            }
            ChangeFate::Fault(Fault::LoseUnsynced) => {
                world.inode(self.inode).lose_at_len(len);
                Err(fault_error(Fault::LoseUnsynced, Op::Sync, &self.path, len))
            }
            ChangeFate::Fault(fault) => Err(fault_error(fault, op, &self.path, len)),
        }
    }
}

impl BlockFile for SimFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError> {
        self.read(offset, &mut [IoSliceMut::new(buf)])
    }

    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.write(offset, bufs, false)
    }

    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.write(offset, bufs, true)
    }

    fn sync(&self) -> Result<(), DiskError> {
        let world = &mut *self.world.lock();
        let atom = world.atom();
        match world.step(&self.path, OpKind::Sync)? {
            ChangeFate::Go => {
                world.inode(self.inode).sync(atom);
                self.stats.count_sync(Duration::ZERO);
                Ok(())
            }
            // Some of it may be durable: the crash decides that for each unsynced sector anyway.
            ChangeFate::Crash => Err(DiskError::Crashed),
            ChangeFate::Fault(fault) => {
                if fault == Fault::LoseUnsynced {
                    world.inode(self.inode).unsynced.clear();
                }
                self.stats.count_failure();
                Err(fault_error(fault, Op::Sync, &self.path, 0))
            }
        }
    }

    fn len(&self) -> Result<u64, DiskError> {
        let mut world = self.world.lock();
        world.alive()?;
        Ok(world.inode(self.inode).live.len())
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.change_len(Op::SetLength, len)
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let end = offset.saturating_add(len).max(self.len()?);
        self.change_len(Op::Allocate, end)
    }

    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        const CHUNK: u64 = 1 << 20;
        let zeros = disk::AlignedBuf::new(CHUNK.min(len) as usize);
        let end = offset.saturating_add(len);
        let mut at = offset;
        self.world.lock().step_reserve(&self.path, offset)?;
        while at < end {
            let piece = (end - at).min(CHUNK);
            self.write(at, &[&zeros[..piece as usize]], false)?;
            at += piece;
        }
        self.sync()
    }

    fn sectors(&self) -> Sectors {
        self.sectors
    }

    fn device(&self) -> u64 {
        // Two devices, so that tests cover writing several files both on one device and on several.
        self.inode % 2
    }

    fn is_direct(&self) -> bool {
        true
    }

    fn stats(&self) -> &FileStats {
        &self.stats
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn release(&self) {
        self.give_up();
    }

    /// A write is in flight from here on: a power loss before it lands leaves any part of it.
    fn launch<'s>(&'s self, offset: u64, data: &mut Data<'_>) -> Launch<'s> {
        let Data::Write(bufs) = data else { return Launch::Held(0) };
        if let Err(error) = self.changing(Op::Write) {
            return Launch::Done(Err(error));
        }
        let mut at = offset;
        for buf in bufs.iter() {
            if let Err(error) = check_aligned(&self.path, self.sectors, at, buf) {
                return Launch::Done(Err(error));
            }
            at += buf.len() as u64;
        }
        let mut bytes = Vec::with_capacity((at - offset) as usize);
        bufs.iter().for_each(|buf| bytes.extend_from_slice(buf));
        Launch::Held(self.world.lock().put_in_flight(self.inode, offset, bytes.into_boxed_slice()))
    }

    fn next_to_land(&self, count: usize) -> usize {
        self.world.lock().random_below(count)
    }

    fn land(&self, ticket: u64, offset: u64, data: &mut Data<'_>) -> Result<(), DiskError> {
        match data {
            Data::Write(bufs) => {
                self.world.lock().take_from_flight(ticket);
                let bufs: Vec<&[u8]> = bufs.iter().map(|buf| &**buf).collect();
                self.write(offset, &bufs, false)
            }
            Data::Read(bufs) => self.read(offset, bufs),
        }
    }
}

/// A lock on a name, without an open file.
#[derive(Debug)]
pub(crate) struct SimLock {
    pub world: Arc<Mutex<SimWorld>>,
    pub inode: u64,
    pub holder: LockHolder,
}

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.world.lock().unlock(self.inode, self.holder);
    }
}
