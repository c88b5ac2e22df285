//! Data files: what they are called and how they grow, their header page, and which of their writes
//! are not durable yet.

mod header;

pub use header::CleanEnd;
pub(crate) use header::FileHeader;

use crate::error::PageError;
use crate::id::{DWB_FIRST, DWB_PAGES, EXTENT_PAGES, PAGE_SIZE, PageId};
use crate::page::{Page, checksum_of, id_in, sum_in};
use disk::{AlignedBuf, BlockFile};
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use wal::Lsn;

/// Bytes of an extent; files are whole extents.
pub(crate) const EXTENT_BYTES: u64 = EXTENT_PAGES as u64 * PAGE_SIZE as u64;

/// How a data file grows when its filegroup is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileGrowth {
    /// By this many bytes, rounded up to 64 KB.
    Bytes(u64),
    /// By this percentage of its size, at least 64 KB.
    Percent(u32),
    None,
}

/// A data file as CREATE DATABASE names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// From 1; file 1 is the primary file.
    pub id: u16,
    /// Logical name.
    pub name: String,
    pub path: PathBuf,
    /// From 1; filegroup 1 is PRIMARY.
    pub filegroup: u16,
    /// Bytes, rounded up to 64 KB and to what the fixed pages need.
    pub size: u64,
    pub growth: FileGrowth,
    /// Bytes; `None` is UNLIMITED.
    pub max_size: Option<u64>,
}

impl FileSpec {
    /// Of a file whose own description has not been read yet.
    pub(crate) fn unread(id: u16, path: &Path) -> FileSpec {
        FileSpec {
            id,
            name: String::new(),
            path: path.to_path_buf(),
            filegroup: 1,
            size: 0,
            growth: FileGrowth::None,
            max_size: None,
        }
    }

    /// Least number of pages: the fixed ones and two extents.
    pub(crate) fn pages(&self) -> Result<u32, PageError> {
        let fixed = if self.id == 1 { DWB_FIRST + DWB_PAGES } else { 2 * EXTENT_PAGES };
        let pages = self.size.div_ceil(EXTENT_BYTES).saturating_mul(u64::from(EXTENT_PAGES));
        let pages = u32::try_from(pages).ok().filter(|p| *p < u32::MAX - EXTENT_PAGES);
        let pages = pages.ok_or(PageError::Invalid { what: "a data file is limited to 32 TB" })?;
        Ok(pages.max(fixed + 2 * EXTENT_PAGES))
    }
}

/// Writes that are not durable yet, by the oldest record whose effect they carry.
#[derive(Debug, Default)]
struct SyncState {
    unsynced: Option<Lsn>,
    /// The first sync that failed.
    failed: Option<disk::DiskError>,
    syncing: Option<Lsn>,
    /// Something was written since the last sync began.
    touched: bool,
}

/// One open data file.
#[derive(Debug)]
pub(crate) struct DataFile {
    pub spec: FileSpec,
    pub file: Arc<dyn BlockFile>,
    pages: AtomicU32,
    state: Mutex<SyncState>,
    sync_turn: Mutex<()>,
    pub grow_turn: Mutex<()>,
    /// Its description as it is now; `spec` is that of the time it was opened. Number and path
    /// stay.
    pub now: RwLock<FileSpec>,
    /// It is being removed: nothing new goes into it.
    pub closing: AtomicBool,
    /// Number of its latest growth among those of its filegroup; 0: it has not grown. The file with
    /// the smallest number is the next to grow.
    pub grown: AtomicU64,
}

impl Drop for DataFile {
    fn drop(&mut self) {
        self.file.release();
    }
}

fn least(a: Option<Lsn>, b: Option<Lsn>) -> Option<Lsn> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl DataFile {
    pub fn new(spec: FileSpec, file: Arc<dyn BlockFile>) -> Result<DataFile, PageError> {
        let extents = file.len()? / EXTENT_BYTES;
        let pages = u32::try_from(extents * u64::from(EXTENT_PAGES))
            .map_err(|_| PageError::Invalid { what: "a data file is limited to 32 TB" })?;
        Ok(DataFile {
            now: RwLock::new(spec.clone()),
            closing: AtomicBool::new(false),
            grown: AtomicU64::new(0),
            spec,
            file,
            pages: AtomicU32::new(pages),
            state: Mutex::default(),
            sync_turn: Mutex::new(()),
            grow_turn: Mutex::new(()),
        })
    }

    pub fn path_text(&self) -> String {
        self.spec.path.display().to_string()
    }

    /// The filegroup that it fills; 0: none yet.
    pub fn filegroup(&self) -> u16 {
        self.now.read().filegroup
    }

    /// The same file under its full description, before anybody else has it.
    pub fn described(mut self, spec: FileSpec, grown: u64) -> DataFile {
        *self.now.get_mut() = spec.clone();
        *self.grown.get_mut() = grown;
        self.spec = spec;
        self
    }

    /// Whole pages in the file.
    pub fn pages(&self) -> u32 {
        self.pages.load(Ordering::Acquire)
    }

    /// Makes the file longer; durable and allocated on return, so that no later write runs out of
    /// space.
    pub fn extend_to(&self, pages: u32) -> Result<(), PageError> {
        let old = self.pages();
        if pages > old {
            let bytes = PAGE_SIZE as u64;
            let made = self.file.allocate(u64::from(old) * bytes, u64::from(pages - old) * bytes);
            self.fails_for_good(&made)?;
            self.pages.store(pages, Ordering::Release);
        }
        Ok(())
    }

    /// Makes the file shorter; durable on return.
    pub fn cut_to(&self, pages: u32) -> Result<(), PageError> {
        let old = self.pages();
        // First, so that nobody reads what is about to go.
        self.pages.store(pages.min(old), Ordering::Release);
        let cut = self.file.set_len(u64::from(pages) * PAGE_SIZE as u64);
        if cut.is_err() {
            // The cut may have failed at its sync only.
            let now = self.file.len().map_or(pages, |len| (len / PAGE_SIZE as u64) as u32);
            self.pages.store(now.min(old), Ordering::Release);
        }
        Ok(self.fails_for_good(&cut)?)
    }

    /// A change of the length ends with a sync: after a failed one nothing of the file can be
    /// proved durable. A change that was refused is no such failure.
    fn fails_for_good(&self, result: &Result<(), disk::DiskError>) -> Result<(), disk::DiskError> {
        if let Err(cause) = result
            && cause.is_final()
        {
            self.state.lock().failed.get_or_insert_with(|| cause.clone());
        }
        result.clone()
    }

    /// The size in pages after one step of growth; `None` when the file may not grow.
    pub fn next_size(&self) -> Option<u32> {
        let now = u64::from(self.pages()) * PAGE_SIZE as u64;
        let (growth, max_size) = {
            let now = self.now.read();
            (now.growth, now.max_size)
        };
        let step = match growth {
            FileGrowth::None | FileGrowth::Bytes(0) | FileGrowth::Percent(0) => return None,
            FileGrowth::Bytes(b) => b,
            FileGrowth::Percent(p) => now / 100 * u64::from(p),
        };
        let limit = max_size.unwrap_or(u64::MAX).min((u64::from(u32::MAX) - 16) * PAGE_SIZE as u64);
        let next =
            now.saturating_add(step.max(1)).div_ceil(EXTENT_BYTES).saturating_mul(EXTENT_BYTES);
        let next = next.min(limit / EXTENT_BYTES * EXTENT_BYTES);
        if next <= now { None } else { u32::try_from(next / PAGE_SIZE as u64).ok() }
    }

    /// Notes that a write with changes from `rec_lsn` on has finished.
    pub fn written(&self, rec_lsn: Lsn) {
        let mut state = self.state.lock();
        state.unsynced = least(state.unsynced, Some(rec_lsn));
        state.touched = true;
    }

    /// The oldest record whose effect is written and not durable.
    pub fn unsynced(&self) -> Option<Lsn> {
        let state = self.state.lock();
        least(state.unsynced, state.syncing)
    }

    /// Makes finished writes durable; does nothing when there are none.
    pub fn sync(&self) -> Result<(), PageError> {
        let _turn = self.sync_turn.lock();
        {
            let mut state = self.state.lock();
            // After a failed sync the kernel may call pages clean that never reached the disk: the
            // next sync would succeed and prove nothing, so the file stays failed for everyone.
            if let Some(cause) = &state.failed {
                return Err(cause.clone().into());
            }
            if !state.touched {
                return Ok(());
            }
            state.touched = false;
            state.syncing = state.unsynced.take();
        }
        let result = self.file.sync();
        let mut state = self.state.lock();
        let syncing = state.syncing.take();
        if let Err(cause) = &result {
            state.unsynced = least(state.unsynced, syncing);
            state.touched = true;
            state.failed = Some(cause.clone());
        }
        Ok(result?)
    }

    /// Reads adjacent pages without looking at them.
    pub fn read_raw(&self, first: u32, into: &mut [u8]) -> Result<(), PageError> {
        let count = (into.len() / PAGE_SIZE) as u64;
        if u64::from(first) + count > u64::from(self.pages()) {
            return Err(PageError::NoSuchPage { page: PageId::new(self.spec.id, first) });
        }
        Ok(self.file.read_at(u64::from(first) * PAGE_SIZE as u64, into)?)
    }

    /// Whether a page image is what belongs at the place. An empty map page counts as good.
    pub fn verify(&self, page: u32, image: &[u8; PAGE_SIZE]) -> Result<(), PageError> {
        let id = PageId::new(self.spec.id, page);
        let offset = u64::from(page) * PAGE_SIZE as u64;
        let (expected, actual) = (sum_in(image), checksum_of(image));
        if expected != actual {
            let empty_map = (id.is_pfs() || id.is_gam()) && image.iter().all(|&b| b == 0);
            if empty_map {
                return Ok(());
            }
            return Err(PageError::Checksum {
                page: id,
                path: self.path_text(),
                offset,
                expected,
                actual,
            });
        }
        let named = id_in(image);
        if named != id {
            return Err(PageError::WrongPage {
                page: id,
                actual: named,
                path: self.path_text(),
                offset,
            });
        }
        Ok(())
    }
}

/// Reads and verifies one page outside the pool.
pub(crate) fn read_direct(file: &DataFile, page: u32) -> Result<Box<Page>, PageError> {
    let mut buf = AlignedBuf::new(PAGE_SIZE);
    file.read_raw(page, &mut buf)?;
    let mut out = Page::zeroed();
    out.bytes_mut().copy_from_slice(&buf);
    file.verify(page, out.bytes())?;
    Ok(out)
}
