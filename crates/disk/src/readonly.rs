//! A disk whose files are only read: what is written to them stays in memory and is lost when the
//! file is closed.
//!
//! For databases in folders that cannot or must not be written. Guarantee: nothing of the disk
//! below is changed; new files can be created only in a scratch folder, which is removed with the
//! disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{DiskError, Op};
use crate::stats::FileStats;
use crate::{
    BlockFile, Disk, DiskLock, FileIdentity, NamedPlace, OpenMode, OpenRule, OsDisk, Sectors,
    check_aligned,
};

/// EROFS.
const READ_ONLY: i32 = 30;

/// See the module.
#[derive(Debug)]
pub struct ReadOnlyDisk {
    base: Arc<dyn Disk>,
    scratch: OsDisk,
    folder: PathBuf,
}

fn refused(op: Op, path: &Path) -> DiskError {
    let text = "read-only file system".to_string();
    DiskError::Io { op, path: path.to_path_buf(), offset: 0, code: READ_ONLY, text }
}

impl ReadOnlyDisk {
    /// On top of a disk, with a scratch folder of its own below the system's folder for temporary
    /// files.
    ///
    /// # Errors
    /// The scratch folder cannot be created.
    pub fn new(base: Arc<dyn Disk>) -> Result<ReadOnlyDisk, DiskError> {
        use std::os::unix::fs::DirBuilderExt;
        let mut number = 0;
        loop {
            let folder =
                std::env::temp_dir().join(format!("ringwood-{}-{number}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    return Ok(ReadOnlyDisk { base, scratch: OsDisk::scratch(&folder), folder });
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(crate::error::failure_std(Op::CreateDir, &folder, &e)),
            }
        }
    }

    /// The folder in which files can be created.
    pub fn scratch(&self) -> &Path {
        &self.folder
    }

    /// The scratch disk, for a path that may be written; else an error.
    fn writable(&self, op: Op, path: &Path) -> Result<&OsDisk, DiskError> {
        if path.starts_with(&self.folder) { Ok(&self.scratch) } else { Err(refused(op, path)) }
    }

    fn readable(&self, path: &Path) -> &dyn Disk {
        if path.starts_with(&self.folder) { &self.scratch } else { &*self.base }
    }
}

impl Drop for ReadOnlyDisk {
    fn drop(&mut self) {
        // Temporary files; the system clears its own folder if this fails.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Disk for ReadOnlyDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        if path.starts_with(&self.folder) {
            return self.scratch.open(path, mode);
        }
        if mode == OpenMode::Create {
            return Err(refused(Op::Create, path));
        }
        overlaid(self.base.open(path, OpenMode::Read)?)
    }

    fn look_up(&self, path: &Path) -> Result<NamedPlace, DiskError> {
        self.readable(path).look_up(path)
    }

    fn open_named(
        &self,
        path: &Path,
        mode: OpenMode,
        rule: &dyn OpenRule,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        if path.starts_with(&self.folder) {
            return self.scratch.open_named(path, mode, rule);
        }
        if mode == OpenMode::Create {
            return Err(refused(Op::Create, path));
        }
        overlaid(self.base.open_named(path, OpenMode::Read, rule)?)
    }

    fn remove_named(&self, path: &Path, rule: &dyn OpenRule) -> Result<(), DiskError> {
        self.writable(Op::Remove, path)?.remove_named(path, rule)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.writable(Op::Remove, path)?.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.writable(Op::Rename, to)?;
        self.writable(Op::Rename, from)?.rename(from, to)
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.readable(path).exists(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        if self.exists(path)? {
            Ok(())
        } else {
            self.writable(Op::CreateDir, path)?.create_dir_all(path)
        }
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.readable(dir).list(dir)
    }

    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.readable(path).read_small(path)
    }

    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.writable(Op::Write, path)?.write_small_atomic(path, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        self.writable(Op::Write, path)?.append(path, bytes, durable)
    }

    fn free_space(&self, path: &Path) -> Result<u64, DiskError> {
        self.readable(path).free_space(path)
    }

    fn volume(&self, path: &Path) -> Option<crate::Volume> {
        self.readable(path).volume(path)
    }

    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.lock_shared(path)
    }

    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.base.lock_shared(path)
    }

    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        self.readable(path).identity(path)
    }

    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        self.readable(path).is_within(path, folder)
    }
}

fn overlaid(base: Arc<dyn BlockFile>) -> Result<Arc<dyn BlockFile>, DiskError> {
    let content = RwLock::new(WrittenContent { len: base.len()?, sectors: BTreeMap::new() });
    Ok(Arc::new(OverlaidFile { base, content }))
}

/// What was written to a file.
#[derive(Debug)]
struct WrittenContent {
    len: u64,
    /// By sector number.
    sectors: BTreeMap<u64, Box<[u8]>>,
}

/// A file that is only read, with what was written to it on top.
#[derive(Debug)]
struct OverlaidFile {
    base: Arc<dyn BlockFile>,
    content: RwLock<WrittenContent>,
}

impl OverlaidFile {
    fn sector(&self) -> usize {
        self.base.sectors().logical as usize
    }

    fn change(&self, change: impl FnOnce(&mut WrittenContent)) {
        change(&mut self.content.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl BlockFile for OverlaidFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError> {
        check_aligned(self.path(), self.sectors(), offset, buf)?;
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        let (wanted, unit) = (buf.len() as u64, self.sector());
        if offset.saturating_add(wanted) > content.len {
            let got = content.len.saturating_sub(offset).min(wanted);
            return Err(DiskError::ShortRead {
                path: self.path().to_path_buf(),
                offset,
                wanted,
                got,
            });
        }
        // The file below may end earlier. It may also continue where this one was cut and extended
        // again: `set_len` wrote zeros there.
        let below = (self.base.len()?.saturating_sub(offset).min(wanted) as usize) / unit * unit;
        let (old, new) = buf.split_at_mut(below);
        if !old.is_empty() {
            self.base.read_at(offset, old)?;
        }
        new.fill(0);
        let first = offset / unit as u64;
        for (number, bytes) in content.sectors.range(first..first + (buf.len() / unit) as u64) {
            let at = (number - first) as usize * unit;
            buf[at..at + unit].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        let unit = self.sector();
        let mut at = offset;
        for buf in bufs {
            check_aligned(self.path(), self.sectors(), at, buf)?;
            self.change(|content| {
                for (i, sector) in buf.chunks_exact(unit).enumerate() {
                    content.sectors.insert(at / unit as u64 + i as u64, sector.into());
                }
                content.len = content.len.max(at + buf.len() as u64);
            });
            at += buf.len() as u64;
        }
        Ok(())
    }

    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.write_gather(offset, bufs)
    }

    fn sync(&self) -> Result<(), DiskError> {
        Ok(())
    }

    fn len(&self) -> Result<u64, DiskError> {
        Ok(self.content.read().unwrap_or_else(PoisonError::into_inner).len)
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        let unit = self.sector() as u64;
        let below = self.base.len()?;
        self.change(|content| {
            drop(content.sectors.split_off(&len.div_ceil(unit)));
            // What reappears of the file below must read as zeros.
            for number in content.len.min(below) / unit..len.min(below) / unit {
                content.sectors.insert(number, vec![0; unit as usize].into());
            }
            content.len = len;
        });
        Ok(())
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let end = offset.saturating_add(len);
        if end > self.len()? { self.set_len(end) } else { Ok(()) }
    }

    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let zeros = crate::AlignedBuf::new(len.min(1 << 20) as usize);
        let mut at = offset;
        while at < offset + len {
            let piece = (offset + len - at).min(zeros.len() as u64);
            self.write_gather(at, &[&zeros[..piece as usize]])?;
            at += piece;
        }
        Ok(())
    }

    fn sectors(&self) -> Sectors {
        self.base.sectors()
    }

    fn device(&self) -> u64 {
        self.base.device()
    }

    fn is_direct(&self) -> bool {
        self.base.is_direct()
    }

    fn stats(&self) -> &FileStats {
        self.base.stats()
    }

    fn path(&self) -> &Path {
        self.base.path()
    }

    fn release(&self) {
        self.base.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlignedBuf;

    #[test]
    fn what_is_written_is_seen_and_changes_nothing() {
        let folder = tempfile::tempdir().expect("scratch");
        let real: Arc<dyn Disk> = Arc::new(OsDisk::new(folder.path()));
        let name = Path::new("f");
        let mut ones = AlignedBuf::new(8192);
        ones.fill(1);
        real.open(name, OpenMode::Create)
            .expect("create")
            .write_durable(0, &[&ones])
            .expect("write");

        let disk = ReadOnlyDisk::new(Arc::clone(&real)).expect("disk");
        let file = disk.open(name, OpenMode::Open).expect("open");
        let mut twos = AlignedBuf::new(4096);
        twos.fill(2);
        file.write_at(4096, &twos).expect("write");
        file.write_at(12_288, &twos).expect("behind the end");
        let content = || {
            let mut buf = AlignedBuf::new(file.len().expect("len") as usize);
            file.read_at(0, &mut buf).expect("read");
            buf.chunks(4096).map(|c| (c[0], c[4095])).collect::<Vec<_>>()
        };
        assert_eq!(content(), [(1, 1), (2, 2), (0, 0), (2, 2)]);
        file.set_len(4096).expect("cut");
        file.allocate(0, 16_384).expect("long again");
        assert_eq!(content(), [(1, 1), (0, 0), (0, 0), (0, 0)]);
        assert!(
            matches!(real.open(name, OpenMode::Open), Err(DiskError::Locked { .. })),
            "nobody else writes"
        );
        drop(file);
        let mut buf = AlignedBuf::new(8192);
        real.open(name, OpenMode::Open).expect("open").read_at(0, &mut buf).expect("read");
        assert!(buf.iter().all(|byte| *byte == 1));
    }

    #[test]
    fn new_files_are_made_in_the_scratch_folder_alone() {
        let folder = tempfile::tempdir().expect("scratch");
        let disk = ReadOnlyDisk::new(Arc::new(OsDisk::new(folder.path()))).expect("disk");
        let refused = |e: DiskError| matches!(e, DiskError::Io { code: READ_ONLY, .. });
        assert!(disk.open(Path::new("new"), OpenMode::Create).is_err_and(refused));
        assert!(disk.write_small_atomic(Path::new("new"), b"x").is_err_and(refused));
        assert!(disk.create_dir_all(Path::new("new/x")).is_err_and(refused));
        let (scratch, name) = (disk.scratch().to_path_buf(), disk.scratch().join("t"));
        disk.open(&name, OpenMode::Create).expect("create").write_zeros(0, 4096).expect("write");
        disk.remove(&name).expect("remove");
        drop(disk);
        assert!(
            !scratch.exists() && std::fs::read_dir(folder.path()).expect("list").next().is_none()
        );
    }
}
