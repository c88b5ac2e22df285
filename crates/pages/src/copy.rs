//! Data files for backups: copying pages while they are in use, and making files again from such
//! copies.
//!
//! # Guarantees
//! - A copied page is whole and passes its checksum: one that was being written meanwhile is taken
//!   from the buffer pool.
//! - What is copied may be of different moments; redo from a checkpoint before the copy to an end
//!   of the log after it makes the moments one. Extents that were allocated after the list was made
//!   are rebuilt by that redo.
//! - A file that is being made again has no valid header page, so is no data file, until it is
//!   finished.

use crate::error::PageError;
use crate::files::{DataFile, FileHeader, FileSpec};
use crate::home::InstanceHome;
use crate::id::{DWB_DIRECTORY, DWB_FIRST, DWB_PAGES, EXTENT_PAGES, ExtentId, PAGE_SIZE, PageId};
use crate::page::{lsn_in, seal_image};
use crate::store::Store;
use disk::{AlignedBuf, BlockFile, Data, Disk, OpenMode, Request, transfer};
use std::io::IoSliceMut;
use std::path::PathBuf;
use std::sync::Arc;
use wal::Lsn;

/// Pages read at once: 1 MB.
pub(crate) const COPY_PAGES: u32 = 128;

/// Such reads in flight at a time.
const READS: usize = 4;
const EXTENT_BYTES: usize = EXTENT_PAGES as usize * PAGE_SIZE;

/// What is handed over: adjacent runs (first page, count) of one file, and their images one after
/// another.
pub type CopySink<'a> = dyn FnMut(&[(u32, u32)], &[u8]) -> Result<(), PageError> + 'a;

impl Store {
    /// The extents of a file that a backup holds: all that are allocated, and those with fixed
    /// pages; without the doublewrite area.
    ///
    /// # Errors
    /// As [`Store::read`]; damage of a map page.
    pub fn backup_extents(&self, file: u16) -> Result<Vec<u32>, PageError> {
        let used = self.allocated_extents(file)?;
        let extents = self.file(PageId::new(file, 0))?.pages() / EXTENT_PAGES;
        let dwb = DWB_FIRST / EXTENT_PAGES..(DWB_FIRST + DWB_PAGES) / EXTENT_PAGES;
        let mut used = used.into_iter().map(|e| e.extent).peekable();
        let mut list = Vec::new();
        for extent in 0..extents {
            let allocated = used.next_if_eq(&extent).is_some();
            let kept = allocated || (ExtentId { file, extent }).is_system();
            if kept && !(file == 1 && dwb.contains(&extent)) {
                list.push(extent);
            }
        }
        Ok(list)
    }

    /// Copies extents (ascending) of a file, in reads of up to 1 MB, four of them in flight: all of
    /// them, or those with a page that a record from `since` on has changed, and those with map
    /// pages: a map page that was cut off and came again knows no record. `keep_damaged`: hands
    /// damaged pages over as they are.
    ///
    /// # Errors
    /// I/O; a damaged page; what the sink says.
    pub fn copy_extents(
        &self,
        file: u16,
        extents: &[u32],
        since: Option<Lsn>,
        keep_damaged: bool,
        sink: &mut CopySink<'_>,
    ) -> Result<(), PageError> {
        let data = self.file(PageId::new(file, 0))?;
        let runs = runs_of(extents);
        let mut bufs: Vec<AlignedBuf> = (0..READS.min(runs.len()))
            .map(|_| AlignedBuf::new(COPY_PAGES as usize * PAGE_SIZE))
            .collect();
        let mut out = Vec::with_capacity(COPY_PAGES as usize * PAGE_SIZE);
        for some in runs.chunks(READS) {
            read_runs(&data, some, &mut bufs)?;
            for (run, buf) in some.iter().zip(&mut bufs) {
                let bytes = &mut buf[..run.len() * EXTENT_BYTES];
                self.mend(&data, run[0] * EXTENT_PAGES, bytes, keep_damaged)?;
                let kept = changed(file, run, bytes, since, &mut out);
                // Called for what holds nothing as well: the caller counts what has been looked at.
                sink(&kept, &out)?;
            }
        }
        Ok(())
    }

    /// Replaces what is not whole by the page as the pool has it.
    fn mend(
        &self,
        file: &DataFile,
        first: u32,
        bytes: &mut [u8],
        keep_damaged: bool,
    ) -> Result<(), PageError> {
        let (images, _) = bytes.as_chunks_mut::<PAGE_SIZE>();
        for (i, image) in images.iter_mut().enumerate() {
            let id = PageId::new(file.spec.id, first + i as u32);
            if id == PageId::new(1, DWB_DIRECTORY) {
                image.fill(0);
                continue;
            }
            // A page that was never written belongs to nobody yet, or is rebuilt by redo.
            if file.verify(id.page, image).is_ok() || image.iter().all(|&b| b == 0) {
                continue;
            }
            match self.read_scan(id) {
                Ok(page) => {
                    image.copy_from_slice(page.bytes());
                    drop(page);
                    seal_image(image);
                }
                Err(e) if e.is_damage() && keep_damaged => {}
                Err(e) if e.is_damage() && !self.is_allocated(id)? => image.fill(0),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Whether the GAM calls a page's extent allocated; true for fixed pages.
    pub(crate) fn is_allocated(&self, id: PageId) -> Result<bool, PageError> {
        let extent = id.extent();
        if extent.is_system() {
            return Ok(true);
        }
        let gam = self.read(id.gam_page())?;
        let bit = (extent.extent % crate::id::GAM_EXTENTS) as usize;
        Ok(gam.body().get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 != 0))
    }
}

/// Adjacent extents together, up to [`COPY_PAGES`].
fn runs_of(extents: &[u32]) -> Vec<&[u32]> {
    let adjacent = extents.chunk_by(|a, b| a + 1 == *b);
    adjacent.flat_map(|run| run.chunks((COPY_PAGES / EXTENT_PAGES) as usize)).collect()
}

/// Reads each run to the begin of a buffer, all of them in flight together.
fn read_runs(file: &DataFile, runs: &[&[u32]], bufs: &mut [AlignedBuf]) -> Result<(), PageError> {
    let end =
        runs.iter().filter_map(|run| run.last()).max().map_or(0, |last| (last + 1) * EXTENT_PAGES);
    if end > file.pages() {
        return Err(PageError::NoSuchPage { page: PageId::new(file.spec.id, end - 1) });
    }
    let each = runs.iter().zip(bufs);
    let mut slices: Vec<IoSliceMut<'_>> =
        each.map(|(run, buf)| IoSliceMut::new(&mut buf[..run.len() * EXTENT_BYTES])).collect();
    let mut requests: Vec<Request<'_>> = Vec::with_capacity(runs.len());
    for (run, slice) in runs.iter().zip(slices.chunks_mut(1)) {
        let offset = u64::from(run[0]) * EXTENT_BYTES as u64;
        requests.push(Request { file: &*file.file, offset, data: Data::Read(slice) });
    }
    let mut first = Ok(());
    transfer(&mut requests, &mut |_, _, result| {
        if first.is_ok() {
            first = result;
        }
    });
    Ok(first?)
}

/// Puts the extents into `out` that have a page which a record from `since` on has changed, or map
/// pages; their runs.
fn changed(
    file: u16,
    run: &[u32],
    bytes: &[u8],
    since: Option<Lsn>,
    out: &mut Vec<u8>,
) -> Vec<(u32, u32)> {
    let mut kept: Vec<(u32, u32)> = Vec::new();
    out.clear();
    for (&number, extent) in run.iter().zip(bytes.chunks_exact(EXTENT_BYTES)) {
        let (images, _) = extent.as_chunks::<PAGE_SIZE>();
        let map = ExtentId { file, extent: number }.is_system();
        if !map && since.is_some_and(|since| images.iter().all(|image| lsn_in(image) < since)) {
            continue;
        }
        let page = number * EXTENT_PAGES;
        match kept.last_mut() {
            Some(run) if run.0 + run.1 == page => run.1 += EXTENT_PAGES,
            _ => kept.push((page, EXTENT_PAGES)),
        }
        out.extend_from_slice(extent);
    }
    kept
}

/// Whether page images from a backup are whole: nothing but pages of the file at their places, or
/// zeros.
#[must_use]
pub fn check_images(file: u16, first: u32, bytes: &[u8]) -> Option<PageId> {
    let (images, _) = bytes.as_chunks::<PAGE_SIZE>();
    for (i, image) in images.iter().enumerate() {
        let id = PageId::new(file, first.saturating_add(i as u32));
        let sum = crate::page::sum_in(image) == crate::page::checksum_of(image);
        if !(sum && crate::page::id_in(image) == id) && image.iter().any(|&b| b != 0) {
            return Some(id);
        }
    }
    None
}

/// Data files that are being made from backups.
#[derive(Debug)]
pub struct FileRestore {
    database: [u8; 16],
    files: Vec<(FileSpec, Arc<dyn BlockFile>)>,
    /// Made here, to be removed if it does not come to an end.
    created: Vec<PathBuf>,
    disk: Arc<dyn Disk>,
    home: InstanceHome,
}

impl FileRestore {
    /// Makes the files, as long as is said of each.
    ///
    /// # Errors
    /// [`PageError::Invalid`] for a wrong list; [`PageError::Disk`]; no file of it is left then.
    pub fn create(
        disk: Arc<dyn Disk>,
        database: [u8; 16],
        specs: &[(FileSpec, u64)],
        home: &InstanceHome,
    ) -> Result<FileRestore, PageError> {
        FileRestore::take_up(disk, database, specs, home, |_| Ok(OpenMode::Create))
    }

    /// Takes up files that were made before, cut if they have become shorter since, and makes those
    /// that are new.
    ///
    /// # Errors
    /// As [`FileRestore::create`].
    pub fn open(
        disk: Arc<dyn Disk>,
        database: [u8; 16],
        specs: &[(FileSpec, u64)],
        home: &InstanceHome,
    ) -> Result<FileRestore, PageError> {
        let there = disk.clone();
        FileRestore::take_up(disk, database, specs, home, |spec| {
            Ok(if there.exists(&spec.path)? { OpenMode::Open } else { OpenMode::Create })
        })
    }

    fn take_up(
        disk: Arc<dyn Disk>,
        database: [u8; 16],
        specs: &[(FileSpec, u64)],
        home: &InstanceHome,
        mode: impl Fn(&FileSpec) -> Result<OpenMode, PageError>,
    ) -> Result<FileRestore, PageError> {
        crate::open::check_specs(specs.iter().map(|(spec, _)| spec))?;
        let mut restore = FileRestore {
            database,
            files: Vec::new(),
            created: Vec::new(),
            disk,
            home: home.clone(),
        };
        for (spec, bytes) in specs {
            restore.add(spec, *bytes, mode(spec)?)?;
        }
        Ok(restore)
    }

    fn add(&mut self, spec: &FileSpec, bytes: u64, mode: OpenMode) -> Result<(), PageError> {
        let file = self.disk.open(&spec.path, mode)?;
        if mode == OpenMode::Create {
            self.created.push(spec.path.clone());
        } else {
            let found = crate::open::identify(&file, &spec.path, &self.home)?;
            // Another file of the database was here, which is no more. None of its pages may pass
            // for one of this file.
            let other = found.as_ref().is_some_and(|found| found.spec.id != spec.id);
            let owner = found.map(|found| found.owner).unwrap_or_default();
            self.home.check(&*self.disk, &spec.path, &owner)?;
            if other {
                file.set_len(0)?;
            }
        }
        let pages = FileSpec { size: bytes, ..spec.clone() }.pages()?;
        let (len, wanted) = (file.len()?, u64::from(pages) * PAGE_SIZE as u64);
        if wanted > len {
            file.allocate(len, wanted - len)?;
        } else if wanted < len {
            file.set_len(wanted)?;
        }
        self.files.push((spec.clone(), file));
        Ok(())
    }

    /// Writes pages to their place. The first page of a file is left out: its header is written at
    /// the end.
    ///
    /// # Errors
    /// No such file; a place beyond the largest file; I/O.
    pub fn write(&self, file: u16, first: u32, images: &[u8]) -> Result<(), PageError> {
        let page = PageId::new(file, first);
        let found = self.files.iter().find(|(spec, _)| spec.id == file);
        let (_, file) = found.ok_or(PageError::NoSuchPage { page })?;
        let pages = (images.len() / PAGE_SIZE) as u32;
        if first.checked_add(pages).is_none_or(|end| end > u32::MAX - EXTENT_PAGES) {
            return Err(PageError::NoSuchPage { page });
        }
        let skip = usize::from(first == 0);
        let Some(rest) = images.get(skip * PAGE_SIZE..).filter(|rest| !rest.is_empty()) else {
            return Ok(());
        };
        let at = (u64::from(first) + skip as u64) * PAGE_SIZE as u64;
        Ok(file.write_at(at, &AlignedBuf::from_slice(rest))?)
    }

    /// Makes the pages durable, then writes the header pages.
    ///
    /// # Errors
    /// I/O.
    pub fn finish(mut self) -> Result<(), PageError> {
        let all: Vec<(u16, PathBuf)> =
            self.files.iter().map(|(s, _)| (s.id, s.path.clone())).collect();
        for (_, file) in &self.files {
            let extent = u64::from(EXTENT_PAGES) * PAGE_SIZE as u64;
            let len = file.len()?;
            if !len.is_multiple_of(extent) {
                file.set_len(len.next_multiple_of(extent))?;
            }
            file.sync()?;
        }
        for (spec, file) in self.files.iter().rev() {
            let others = if spec.id == 1 { all.clone() } else { Vec::new() };
            let header = FileHeader { others, ..FileHeader::new(self.database, &self.home, spec) };
            let page = header.page(&self.home)?;
            file.write_durable(0, &[&AlignedBuf::from_slice(page.bytes())])?;
        }
        self.created.clear();
        Ok(())
    }
}

impl Drop for FileRestore {
    fn drop(&mut self) {
        for path in &self.created {
            // The error that matters has been reported.
            let _ = self.disk.remove(path);
        }
        self.files.iter().for_each(|(_, file)| file.release());
    }
}
