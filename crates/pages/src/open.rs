//! Data files that are made and opened, alone and as a database.
//! Guarantees: a file that could not be made whole is not there; what is opened says in its header that it belongs to the
//! database, and torn pages have been repaired from the doublewrite area before anybody reads them.

use crate::dwb::Recovered;
use crate::error::PageError;
use crate::files::{DataFile, FileHeader, FileSpec, read_direct};
use crate::id::{BOOT_PAGE, PAGE_SIZE, PageId, UnitId};
use crate::log::LogHandle;
use crate::page::{Page, PageType};
use crate::pool::BufferPool;
use crate::store::Store;
use disk::{AlignedBuf, BlockFile, Disk, OpenMode};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Store {
    /// Creates the data files of a new database. Everything is durable on return.
    ///
    /// # Errors
    /// [`PageError::Invalid`] when the list of files is wrong; [`PageError::Disk`].
    pub fn create(
        disk: Arc<dyn Disk>,
        pool: Arc<BufferPool>,
        log: Arc<dyn LogHandle>,
        database: [u8; 16],
        specs: &[FileSpec],
    ) -> Result<Arc<Store>, PageError> {
        check_specs(specs)?;
        let all: Vec<(u16, PathBuf)> = specs.iter().map(|s| (s.id, s.path.clone())).collect();
        let mut files = Vec::new();
        for spec in specs {
            let others = if spec.id == 1 { all.clone() } else { Vec::new() };
            let header = FileHeader::new(database, spec.clone(), others);
            match create_file(&*disk, &header) {
                Ok(file) => files.push(file),
                Err(e) => {
                    // Half a database is of no use. The first error is the one that matters.
                    for file in files {
                        let _ = disk.remove(&file.spec.path);
                    }
                    return Err(e);
                }
            }
        }
        Store::assemble(disk, pool, log, database, files, &Recovered::nothing())
    }

    /// Opens a database by its primary file and repairs torn pages from the doublewrite area. The caller runs redo
    /// before anything else.
    ///
    /// # Errors
    /// [`PageError::NotADataFile`], damage of a header page, I/O.
    pub fn open(
        disk: Arc<dyn Disk>,
        pool: Arc<BufferPool>,
        log: Arc<dyn LogHandle>,
        primary: &Path,
    ) -> Result<Arc<Store>, PageError> {
        let one = DataFile::new(placeholder(1, primary), disk.open(primary, OpenMode::Open)?)?;
        let area = Recovered::read(&one)?;
        area.repair(&one)?;
        let header = header_of(&one, primary)?;
        let first = DataFile::new(
            FileSpec { path: primary.to_path_buf(), ..header.spec.clone() },
            Arc::clone(&one.file),
        )?;
        first.grown.store(header.grown, Ordering::Relaxed);
        if header.spec.id != 1 {
            return Err(PageError::NotADataFile {
                path: primary.display().to_string(),
                why: "not a primary file",
            });
        }
        let mut files = vec![Arc::new(first)];
        for (id, path) in header.others.iter().filter(|(id, _)| *id != 1) {
            files.push(Arc::new(open_file(&*disk, &area, header.database, *id, path)?));
        }
        Store::assemble(disk, pool, log, header.database, files, &area)
    }
}

pub(crate) fn placeholder(id: u16, path: &Path) -> FileSpec {
    FileSpec {
        id,
        name: String::new(),
        path: path.to_path_buf(),
        filegroup: 1,
        size: 0,
        growth: crate::files::FileGrowth::None,
        max_size: None,
    }
}

fn header_of(file: &DataFile, path: &Path) -> Result<FileHeader, PageError> {
    let mut buf = AlignedBuf::new(PAGE_SIZE);
    file.read_raw(0, &mut buf).map_err(|e| match e {
        PageError::NoSuchPage { .. } => {
            PageError::NotADataFile { path: path.display().to_string(), why: "it is too short" }
        }
        e => e,
    })?;
    let mut page = Page::zeroed();
    page.bytes_mut().copy_from_slice(&buf);
    if page.stored_checksum() != page.compute_checksum() {
        return Err(PageError::Checksum {
            page: page.id(),
            path: path.display().to_string(),
            offset: 0,
            expected: page.stored_checksum(),
            actual: page.compute_checksum(),
        });
    }
    let header = FileHeader::decode(&page, path)?;
    let named = page.id();
    if named != PageId::new(header.spec.id, 0) {
        let page = PageId::new(header.spec.id, 0);
        return Err(PageError::WrongPage {
            page,
            actual: named,
            path: path.display().to_string(),
            offset: 0,
        });
    }
    Ok(header)
}

pub(crate) fn check_specs<'a>(
    specs: impl IntoIterator<Item = &'a FileSpec> + Clone,
) -> Result<(), PageError> {
    let mut ids = HashSet::new();
    if !specs.clone().into_iter().any(|s| s.id == 1 && s.filegroup == 1) {
        return Err(PageError::Invalid { what: "a database needs file 1 in filegroup 1" });
    }
    for spec in specs {
        if spec.id == 0 || spec.id > 0x7fff || spec.filegroup == 0 || !ids.insert(spec.id) {
            return Err(PageError::Invalid {
                what: "file or filegroup number is out of range or used twice",
            });
        }
        spec.pages()?;
    }
    Ok(())
}

/// Opens a file that is not the primary one. Its header may be torn: the doublewrite area has it then.
pub(crate) fn open_file(
    disk: &dyn Disk,
    area: &Recovered,
    database: [u8; 16],
    id: u16,
    path: &Path,
) -> Result<DataFile, PageError> {
    let one = DataFile::new(placeholder(id, path), disk.open(path, OpenMode::Open)?)?;
    area.repair(&one)?;
    let header = header_of(&one, path)?;
    if header.database != database || header.spec.id != id {
        return Err(PageError::NotADataFile {
            path: path.display().to_string(),
            why: "it belongs to another database",
        });
    }
    let file = DataFile::new(FileSpec { path: path.to_path_buf(), ..header.spec }, Arc::clone(&one.file))?;
    file.grown.store(header.grown, Ordering::Relaxed);
    Ok(file)
}

/// Creates one file; nothing is left of it after an error.
pub(crate) fn create_file(disk: &dyn Disk, header: &FileHeader) -> Result<Arc<DataFile>, PageError> {
    let raw = disk.open(&header.spec.path, OpenMode::Create)?;
    let made = fill_file(raw, header);
    if made.is_err() {
        let _ = disk.remove(&header.spec.path);
    }
    made
}

fn fill_file(raw: Arc<dyn BlockFile>, header: &FileHeader) -> Result<Arc<DataFile>, PageError> {
    let spec = &header.spec;
    raw.allocate(0, u64::from(spec.pages()?) * PAGE_SIZE as u64)?;
    let page = header.page()?;
    raw.write_at(0, &AlignedBuf::from_slice(page.bytes()))?;
    if spec.id == 1 {
        let mut boot = Page::zeroed();
        boot.format(BOOT_PAGE, PageType::Boot, 0, UnitId(0));
        boot.set_checksum();
        let at = u64::from(BOOT_PAGE.page) * PAGE_SIZE as u64;
        raw.write_at(at, &AlignedBuf::from_slice(boot.bytes()))?;
    }
    raw.sync()?;
    let file = DataFile::new(spec.clone(), raw)?;
    // Proves the file can be read back before the database counts on it.
    read_direct(&file, 0)?;
    Ok(Arc::new(file))
}
