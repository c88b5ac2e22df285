//! Data files that are made and opened, alone and as a database. Guarantees: a file that could not
//! be made whole is not there; what is opened is locked and says in its header that it belongs to
//! the database and to nobody else's instance, before a byte of it is written; torn pages have been
//! repaired from the doublewrite area before anybody reads them.

use crate::dwb::RecoveredArea;
use crate::error::PageError;
use crate::files::{CleanEnd, DataFile, FileHeader, FileSpec, read_direct};
use crate::home::{InstanceHome, InstanceId};
use crate::id::{BOOT_PAGE, PAGE_SIZE, PageId, UnitId};
use crate::log::LogHandle;
use crate::mend::mend;
use crate::page::{Page, PageType, id_in};
use crate::pool::BufferPool;
use crate::store::Store;
use disk::{AlignedBuf, BlockFile, Disk, OpenMode};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The data files of a database that is about to be opened: all locked, all its own, nothing
/// written yet.
#[derive(Debug)]
pub struct DataFiles {
    home: InstanceHome,
    area: RecoveredArea,
    /// The primary file first.
    files: Vec<DataFile>,
    database: [u8; 16],
    closed: Option<CleanEnd>,
}

impl DataFiles {
    /// Opens them by the primary one.
    ///
    /// # Errors
    /// [`PageError::NotADataFile`], [`PageError::Foreign`], damage of a header page, I/O.
    pub fn open(
        disk: &dyn Disk,
        primary: &Path,
        home: &InstanceHome,
    ) -> Result<DataFiles, PageError> {
        let one = DataFile::new(FileSpec::unread(1, primary), disk.open(primary, OpenMode::Open)?)?;
        let area = RecoveredArea::read(&one).map_err(|e| match e {
            PageError::NoSuchPage { .. } => not_primary(primary),
            e => e,
        })?;
        let header = header_of(&one, &area, primary, home)?;
        if header.spec.id != 1 {
            return Err(not_primary(primary));
        }
        home.check(disk, primary, &header.owner)?;
        let (database, closed) = (header.database, header.closed);
        let spec = FileSpec { path: primary.to_path_buf(), ..header.spec };
        let mut files = vec![one.described(spec, header.grown)];
        let mut all_closed = closed;
        for (id, path) in header.others.iter().filter(|(id, _)| *id != 1) {
            let (file, other) = open_file(disk, &area, database, *id, path, home)?;
            if closed.is_some() && other.is_some() && closed != other {
                let path = path.display().to_string();
                return Err(PageError::NotADataFile { path, why: OTHER_TIME });
            }
            all_closed = all_closed.and(other);
            files.push(file);
        }
        let closed = all_closed;
        Ok(DataFiles { home: home.clone(), area, files, database, closed })
    }

    /// Identity of the database.
    pub fn database(&self) -> [u8; 16] {
        self.database
    }

    /// Where its log ended, if the database was closed cleanly and not opened since.
    pub fn closed(&self) -> Option<CleanEnd> {
        self.closed
    }

    /// Numbers and logical names of the files, with their filegroups and places.
    pub fn specs(&self) -> impl Iterator<Item = &FileSpec> {
        self.files.iter().map(|file| &file.spec)
    }
}

fn not_primary(path: &Path) -> PageError {
    PageError::NotADataFile { path: path.display().to_string(), why: NOT_PRIMARY }
}

/// Why a file cannot be the first of a database.
pub const NOT_PRIMARY: &str = "not a primary file";

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
        home: &InstanceHome,
    ) -> Result<Arc<Store>, PageError> {
        check_specs(specs)?;
        let all: Vec<(u16, PathBuf)> = specs.iter().map(|s| (s.id, s.path.clone())).collect();
        let mut files = Vec::new();
        for spec in specs {
            let others = if spec.id == 1 { all.clone() } else { Vec::new() };
            let header = FileHeader { others, ..FileHeader::new(database, home, spec) };
            match create_file(&*disk, &header, home) {
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
        let store = Store::assemble(
            disk,
            pool,
            log,
            database,
            files,
            &RecoveredArea::nothing(),
            home.clone(),
        )?;
        store.alloc.settled.store(true, Ordering::Release);
        Ok(store)
    }

    /// Takes the files of a database into use: repairs torn pages from the doublewrite area. The
    /// caller runs redo before anything else.
    ///
    /// # Errors
    /// I/O.
    pub fn open(
        disk: Arc<dyn Disk>,
        pool: Arc<BufferPool>,
        log: Arc<dyn LogHandle>,
        files: DataFiles,
    ) -> Result<Arc<Store>, PageError> {
        let DataFiles { home, area, files, database, .. } = files;
        for file in &files {
            area.repair(file)?;
        }
        if let Some(primary) = files.iter().find(|file| file.spec.id == 1) {
            area.end_loan(primary)?;
        }
        let files = files.into_iter().map(Arc::new).collect();
        Store::assemble(disk, pool, log, database, files, &area, home)
    }
}

/// The header of a file. One that power loss has torn is in the doublewrite area.
fn header_of(
    file: &DataFile,
    area: &RecoveredArea,
    path: &Path,
    home: &InstanceHome,
) -> Result<FileHeader, PageError> {
    let mut buf = AlignedBuf::new(PAGE_SIZE);
    file.read_raw(0, &mut buf).map_err(|e| match e {
        PageError::NoSuchPage { .. } => {
            PageError::NotADataFile { path: path.display().to_string(), why: "it is too short" }
        }
        e => e,
    })?;
    let mut page = Page::zeroed();
    page.bytes_mut().copy_from_slice(&buf);
    if page.stored_checksum() != page.compute_checksum()
        && let Some(whole) = area.images().get(&PageId::new(file.spec.id, 0))
    {
        page.bytes_mut().copy_from_slice(&whole[..]);
    }
    if page.stored_checksum() != page.compute_checksum() {
        return Err(PageError::Checksum {
            page: page.id(),
            path: path.display().to_string(),
            offset: 0,
            expected: page.stored_checksum(),
            actual: page.compute_checksum(),
        });
    }
    let header = FileHeader::decode(&page, path, home)?;
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
    header.check_format(path)?;
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

/// Opens a file that is not the primary one, and changes nothing in it.
pub(crate) fn open_file(
    disk: &dyn Disk,
    area: &RecoveredArea,
    database: [u8; 16],
    id: u16,
    path: &Path,
    home: &InstanceHome,
) -> Result<(DataFile, Option<CleanEnd>), PageError> {
    let one = DataFile::new(FileSpec::unread(id, path), disk.open(path, OpenMode::Open)?)?;
    let header = header_of(&one, area, path, home)?;
    if header.database != database || header.spec.id != id {
        return Err(PageError::NotADataFile {
            path: path.display().to_string(),
            why: OTHER_DATABASE,
        });
    }
    home.check(disk, path, &header.owner)?;
    let spec = FileSpec { path: path.to_path_buf(), ..header.spec };
    Ok((one.described(spec, header.grown), header.closed))
}

/// What the header page of a data file says.
#[derive(Clone, Debug)]
pub struct DataFileIdentity {
    /// Identity of the database.
    pub database: [u8; 16],
    /// The instance that it belongs to; zeros: none.
    pub owner: InstanceId,
    /// The database was closed cleanly.
    pub closed: Option<CleanEnd>,
    pub spec: FileSpec,
    /// Numbers and places of the files that a primary file lists.
    pub files: Vec<(u16, PathBuf)>,
}

/// Looks at an open file; `None` when it is no data file.
///
/// # Errors
/// I/O.
pub fn identify(
    file: &Arc<dyn BlockFile>,
    path: &Path,
    home: &InstanceHome,
) -> Result<Option<DataFileIdentity>, PageError> {
    let header = read_header(file, path, home)?.and_then(Result::ok);
    Ok(header.map(|FileHeader { database, owner, closed, spec, others, .. }| DataFileIdentity {
        database,
        owner,
        closed,
        spec,
        files: others,
    }))
}

/// What the header page of a file says, if it is whole.
fn read_header(
    file: &Arc<dyn BlockFile>,
    path: &Path,
    home: &InstanceHome,
) -> Result<Option<Result<FileHeader, PageError>>, PageError> {
    let mut buf = AlignedBuf::new(PAGE_SIZE);
    match file.read_at(0, &mut buf) {
        Err(disk::DiskError::ShortRead { .. }) => return Ok(None),
        read => read?,
    }
    let Some(image) = buf.first_chunk::<PAGE_SIZE>() else { return Ok(None) };
    let mut page = Page::from_bytes(image);
    let whole = page.stored_checksum() == page.compute_checksum();
    // The number of the file is not known before: it is one of the first when a bit of it has
    // changed.
    let whole = whole || mend(page.bytes_mut(), PageId::new(id_in(image).file, 0)).is_some();
    Ok(whole.then(|| FileHeader::decode(&page, path, home)))
}

/// Refuses a whole data file that another version has made. What is damaged, or no data file, is
/// not told here.
///
/// # Errors
/// [`PageError::OtherFormat`]; I/O.
pub fn check_format(disk: &dyn Disk, path: &Path) -> Result<(), PageError> {
    let file = disk.open(path, OpenMode::Read)?;
    let header = read_header(&file, path, &InstanceHome::default());
    file.release();
    match header? {
        Some(Ok(header)) => header.check_format(path),
        Some(Err(e @ PageError::OtherFormat { .. })) => Err(e),
        _ => Ok(()),
    }
}

/// Why a file is not one of a database, or not one of its present.
pub const OTHER_TIME: &str = "it is of another time than the primary file";
/// It is another one's.
pub const OTHER_DATABASE: &str = "it belongs to another database";

/// Creates one file; nothing is left of it after an error.
pub(crate) fn create_file(
    disk: &dyn Disk,
    header: &FileHeader,
    home: &InstanceHome,
) -> Result<Arc<DataFile>, PageError> {
    let raw = disk.open(&header.spec.path, OpenMode::Create)?;
    let made = fill_file(raw, header, home);
    if made.is_err() {
        let _ = disk.remove(&header.spec.path);
    }
    made
}

fn fill_file(
    raw: Arc<dyn BlockFile>,
    header: &FileHeader,
    home: &InstanceHome,
) -> Result<Arc<DataFile>, PageError> {
    let spec = &header.spec;
    raw.allocate(0, u64::from(spec.pages()?) * PAGE_SIZE as u64)?;
    let page = header.page(home)?;
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
