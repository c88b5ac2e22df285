//! A disk that remembers the files that were opened through it, so that their statistics can be
//! read by kind of file (data, log, backup): reads, writes, their sizes, and writes that begin or
//! end inside a physical sector of the device. The counts outlive the files. Transfers themselves
//! go straight to the file below.

use disk::{
    BlockFile, Disk, DiskError, DiskLock, FileIdentity, FileStats, LATENCY_BUCKETS, NamedPlace,
    OpenMode, OpenRule, SIZE_BUCKETS, latency_bucket_limit_us, size_bucket_label,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::work::IoCount;

/// Kinds of files.
const KINDS: [&str; 3] = ["data", "log", "backup"];

/// Sums of one kind of file.
#[derive(Clone, Debug, Default)]
struct Sums {
    writes: u64,
    bytes_written: u64,
    reads: u64,
    bytes_read: u64,
    partial: u64,
    sizes: [u64; SIZE_BUCKETS],
    exact: BTreeMap<i64, i64>,
    durable: [u64; LATENCY_BUCKETS],
}

impl Sums {
    fn add(&mut self, stats: &FileStats) {
        let s = &stats.snapshot();
        self.writes += s.writes;
        self.bytes_written += s.bytes_written;
        self.reads += s.reads;
        self.bytes_read += s.bytes_read;
        self.partial += s.rmw_writes;
        for (sum, count) in self.sizes.iter_mut().zip(s.write_sizes) {
            *sum += count;
        }
        for (bytes, count) in stats.exact_write_sizes() {
            *self.exact.entry(bytes as i64).or_default() += count as i64;
        }
        for (sum, count) in self.durable.iter_mut().zip(s.durable_latency) {
            *sum += count;
        }
    }
}

#[derive(Debug, Default)]
struct WatchState {
    /// Of files that were let go.
    past: [Sums; KINDS.len()],
    open: Vec<(usize, Arc<dyn BlockFile>)>,
}

/// The statistics of a watched disk.
#[derive(Debug, Default)]
pub struct Watch {
    state: Mutex<WatchState>,
}

impl Watch {
    /// A disk that does what `inner` does and is counted here. Only files of the database `name`
    /// are.
    pub fn over(self: &Arc<Watch>, inner: Arc<dyn Disk>, name: &'static str) -> Arc<dyn Disk> {
        Arc::new(WatchDisk { inner, name, watch: self.clone() })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, WatchState> {
        // A panic elsewhere leaves counts, which are whole at any moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted so far.
    pub fn counts(&self) -> Vec<IoCount> {
        let state = self.state();
        let mut sums = state.past.clone();
        for (kind, file) in &state.open {
            sums[*kind].add(file.stats());
        }
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let durable = |s: &Sums| -> BTreeMap<i64, i64> {
            let classes = s.durable.iter().enumerate().filter(|(_, count)| **count > 0);
            classes.map(|(i, count)| (number(latency_bucket_limit_us(i)), number(*count))).collect()
        };
        sums.iter()
            .zip(KINDS)
            .map(|(s, kind)| IoCount {
                file: kind.into(),
                writes: number(s.writes),
                bytes_written: number(s.bytes_written),
                reads: number(s.reads),
                bytes_read: number(s.bytes_read),
                write_sizes: (0..SIZE_BUCKETS)
                    .map(|i| (size_bucket_label(i).to_owned(), number(s.sizes[i])))
                    .collect(),
                partial_writes: number(s.partial),
                exact_sizes: s.exact.clone(),
                durable_us: durable(s),
            })
            .collect()
    }

    /// Lets the files go that were opened so far; their counts stay. Call it when the instance is
    /// closed.
    pub fn release(&self) {
        let state = &mut *self.state();
        for (kind, file) in state.open.drain(..) {
            state.past[kind].add(file.stats());
        }
    }
}

fn kind_of(path: &Path, name: &str) -> Option<usize> {
    path.file_stem()?.to_str()?.starts_with(name).then_some(())?;
    match path.extension()?.to_str()? {
        "mdf" | "ndf" => Some(0),
        "ldf" => Some(1),
        "bak" | "trn" => Some(2),
        _ => None,
    }
}

#[derive(Debug)]
struct WatchDisk {
    inner: Arc<dyn Disk>,
    name: &'static str,
    watch: Arc<Watch>,
}

impl WatchDisk {
    /// A file that was opened, which is watched if it is the database's.
    fn watched(&self, inner: Arc<dyn BlockFile>, path: &Path) -> Arc<dyn BlockFile> {
        if let Some(kind) = kind_of(path, self.name) {
            self.watch.state().open.push((kind, inner.clone()));
        }
        inner
    }
}

impl Disk for WatchDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn BlockFile>, DiskError> {
        Ok(self.watched(self.inner.open(path, mode)?, path))
    }
    fn look_up(&self, path: &Path) -> Result<NamedPlace, DiskError> {
        self.inner.look_up(path)
    }
    fn open_named(
        &self,
        path: &Path,
        mode: OpenMode,
        rule: &dyn OpenRule,
    ) -> Result<Arc<dyn BlockFile>, DiskError> {
        Ok(self.watched(self.inner.open_named(path, mode, rule)?, path))
    }
    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.inner.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.inner.rename(from, to)
    }
    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        self.inner.exists(path)
    }
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.inner.create_dir_all(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, DiskError> {
        self.inner.list(dir)
    }
    fn read_small(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.inner.read_small(path)
    }
    fn write_small_atomic(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        self.inner.write_small_atomic(path, bytes)
    }
    fn append(&self, path: &Path, bytes: &[u8], durable: bool) -> Result<(), DiskError> {
        self.inner.append(path, bytes, durable)
    }
    fn free_space(&self, path: &Path) -> Result<u64, DiskError> {
        self.inner.free_space(path)
    }
    fn lock_exclusive(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.inner.lock_exclusive(path)
    }
    fn lock_shared(&self, path: &Path) -> Result<DiskLock, DiskError> {
        self.inner.lock_shared(path)
    }
    fn identity(&self, path: &Path) -> Result<FileIdentity, DiskError> {
        self.inner.identity(path)
    }
    fn is_within(&self, path: &Path, folder: &Path) -> Result<bool, DiskError> {
        self.inner.is_within(path, folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_by_kind_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let watch = Arc::new(Watch::default());
        let disk = watch.over(Arc::new(disk::OsDisk::new(folder.path())), "lab");
        let log = disk.open(Path::new("lab_log.ldf"), OpenMode::Create).unwrap();
        log.set_len(1 << 20).unwrap();
        let buffer = disk::AlignedBuf::new(8192);
        log.write_durable(4096, &[&buffer]).unwrap();
        log.write_durable(0, &[&buffer[..512]]).unwrap();
        disk.open(Path::new("master.mdf"), OpenMode::Create)
            .unwrap()
            .write_durable(0, &[&buffer])
            .unwrap();
        drop(log);
        watch.release();
        let counts = watch.counts();
        assert_eq!((counts[0].writes, counts[1].writes, counts[1].bytes_written), (0, 2, 8704));
        let sizes: Vec<_> = counts[1].write_sizes.iter().filter(|s| s.1 > 0).collect();
        assert_eq!(sizes, [&("512".to_owned(), 1), &("8K".to_owned(), 1)]);
        let partial = i64::from(
            disk.open(Path::new("lab_log.ldf"), OpenMode::Open).unwrap().sectors().physical > 512,
        );
        assert_eq!(counts[1].partial_writes, partial);
    }
}
