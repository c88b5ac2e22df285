//! Data files: what they are called and how they grow, their header page, and which of their writes are not durable yet.

use crate::codec::Reader;
use crate::error::PageError;
use crate::home::{Home, InstanceId};
use crate::id::{DWB_FIRST, DWB_PAGES, EXTENT_PAGES, PAGE_SIZE, PageId, UnitId};
use crate::page::{BODY_SIZE, Page, PageType, checksum_of, id_in, sum_in};
use disk::{AlignedBuf, BlockFile};
use parking_lot::{Mutex, RwLock};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use wal::Lsn;

const MAGIC: &[u8; 8] = b"RINGDATA";
/// The format of header pages; files of format 1 name no instance.
const FORMAT: u16 = 2;
const FORMAT_WITHOUT_OWNER: u16 = 1;
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
    /// Its description as it is now; `spec` is that of the time it was opened. Number and path stay.
    pub now: RwLock<FileSpec>,
    /// It is being removed: nothing new goes into it.
    pub closing: AtomicBool,
    /// Number of its latest growth among those of its filegroup; 0: it has not grown. The file with the smallest number
    /// is the next to grow.
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

    /// Makes the file longer; durable and allocated on return, so that no later write runs out of space.
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

    /// A change of the length ends with a sync: after a failed one nothing of the file can be proved durable. A change that was
    /// refused is no such failure.
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
        let next = now.saturating_add(step.max(1)).div_ceil(EXTENT_BYTES).saturating_mul(EXTENT_BYTES);
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
            // After a failed sync the kernel may call pages clean that never reached the disk: the next sync would
            // succeed and prove nothing, so the file stays failed for everyone.
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
            return Err(PageError::Checksum { page: id, path: self.path_text(), offset, expected, actual });
        }
        let named = id_in(image);
        if named != id {
            return Err(PageError::WrongPage { page: id, actual: named, path: self.path_text(), offset });
        }
        Ok(())
    }
}

/// Where the log of a database ended that was closed cleanly: all pages are as that log left them, and a new log may begin
/// after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Behind the last record.
    pub end: Lsn,
    /// The next transaction's id.
    pub next_txn: u64,
}

/// What the header page of a file says. Paths are where the files are; on disk they are as [`Home`] records them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub database: [u8; 16],
    /// The instance that the file belongs to; zeros: none.
    pub owner: InstanceId,
    /// While the database is closed.
    pub closed: Option<Closed>,
    pub spec: FileSpec,
    /// In file 1: number and path of every file.
    pub others: Vec<(u16, PathBuf)>,
    /// Its content was moved to other files; nothing new goes into it.
    pub emptied: bool,
    /// As [`DataFile::grown`].
    pub grown: u64,
}

/// Stands in front of `grown`, after everything else: older headers have no such number.
const GROWN: &[u8; 4] = b"GROW";

/// Set in the byte that says how a file grows when the file was emptied.
const EMPTIED: u8 = 0x80;

fn put_text(out: &mut Vec<u8>, text: &str) -> Result<(), PageError> {
    let len = u16::try_from(text.len()).map_err(|_| PageError::Invalid { what: "file name is too long" })?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn path_str(path: &Path) -> Result<&str, PageError> {
    path.to_str().ok_or(PageError::Invalid { what: "file path is not Unicode" })
}

impl FileHeader {
    /// The header of a new file.
    pub fn new(database: [u8; 16], home: &Home, spec: &FileSpec) -> FileHeader {
        FileHeader {
            database,
            owner: home.instance,
            closed: None,
            spec: spec.clone(),
            others: Vec::new(),
            emptied: false,
            grown: 0,
        }
    }

    /// The body of the header page.
    pub fn encode(&self, home: &Home) -> Result<Vec<u8>, PageError> {
        let mut b = Vec::with_capacity(512);
        b.extend_from_slice(MAGIC);
        b.extend_from_slice(&FORMAT.to_le_bytes());
        b.extend_from_slice(&self.database);
        b.extend_from_slice(&self.owner);
        let closed = self.closed.unwrap_or(Closed { end: Lsn::ZERO, next_txn: 0 });
        b.push(self.closed.is_some().into());
        b.extend_from_slice(&closed.end.to_bytes());
        b.extend_from_slice(&closed.next_txn.to_le_bytes());
        b.extend_from_slice(&self.spec.id.to_le_bytes());
        b.extend_from_slice(&self.spec.filegroup.to_le_bytes());
        let (kind, value) = match self.spec.growth {
            FileGrowth::None => (0u8, 0),
            FileGrowth::Bytes(n) => (1, n),
            FileGrowth::Percent(p) => (2, u64::from(p)),
        };
        b.push(kind | if self.emptied { EMPTIED } else { 0 });
        b.extend_from_slice(&value.to_le_bytes());
        b.extend_from_slice(&self.spec.size.to_le_bytes());
        b.extend_from_slice(&self.spec.max_size.unwrap_or(0).to_le_bytes());
        put_text(&mut b, &self.spec.name)?;
        put_text(&mut b, path_str(&home.recorded(&self.spec.path))?)?;
        let count =
            u16::try_from(self.others.len()).map_err(|_| PageError::Invalid { what: "too many files" })?;
        b.extend_from_slice(&count.to_le_bytes());
        for (id, path) in &self.others {
            b.extend_from_slice(&id.to_le_bytes());
            put_text(&mut b, path_str(&home.recorded(path))?)?;
        }
        // A list that fills the page to its end goes without.
        if b.len() + GROWN.len() + 8 <= BODY_SIZE {
            b.extend_from_slice(GROWN);
            b.extend_from_slice(&self.grown.to_le_bytes());
        }
        if b.len() > BODY_SIZE {
            return Err(PageError::Invalid { what: "the list of data files does not fit the header page" });
        }
        Ok(b)
    }

    /// The header page as it is first written.
    pub fn page(&self, home: &Home) -> Result<Box<Page>, PageError> {
        let body = self.encode(home)?;
        let mut page = Page::zeroed();
        page.format(PageId::new(self.spec.id, 0), PageType::FileHeader, 0, UnitId(0));
        page.bytes_mut()[crate::page::HEADER_SIZE..][..body.len()].copy_from_slice(&body);
        page.set_checksum();
        Ok(page)
    }

    pub fn decode(page: &Page, path: &Path, home: &Home) -> Result<FileHeader, PageError> {
        if page.page_type() != Some(PageType::FileHeader) {
            let why = "page 0 is no file header";
            return Err(PageError::NotADataFile { path: path.display().to_string(), why });
        }
        let mut header = FileHeader::decode_body(page.body(), path)?;
        header.spec.path = home.place_of(header.spec.id, &header.spec.path);
        for (id, path) in &mut header.others {
            *path = home.place_of(*id, path);
        }
        Ok(header)
    }

    /// The header from what [`FileHeader::encode`] has made, perhaps with something after it; paths as they are recorded.
    pub fn decode_body(body: &[u8], path: &Path) -> Result<FileHeader, PageError> {
        let not = |why| PageError::NotADataFile { path: path.display().to_string(), why };
        let text = |r: &mut Reader<'_>| -> Result<String, PageError> {
            let n = u16::from_le_bytes(*r.array()?);
            String::from_utf8(r.take(n as usize)?.to_vec()).map_err(|_| not("a name is not Unicode"))
        };
        let mut r = Reader { rest: body };
        let magic = *r.array::<8>()?;
        let format = u16::from_le_bytes(*r.array()?);
        if &magic != MAGIC || !matches!(format, FORMAT | FORMAT_WITHOUT_OWNER) {
            return Err(not("unknown format"));
        }
        let database = *r.array::<16>()?;
        let (mut owner, mut closed) = (InstanceId::default(), None);
        if format != FORMAT_WITHOUT_OWNER {
            owner = *r.array::<16>()?;
            let is_closed = r.u8()? != 0;
            let end = Lsn::from_bytes(*r.array()?);
            let next_txn = u64::from_le_bytes(*r.array()?);
            closed = is_closed.then_some(Closed { end, next_txn });
        }
        let id = u16::from_le_bytes(*r.array()?);
        let filegroup = u16::from_le_bytes(*r.array()?);
        let kind = r.u8()?;
        let value = u64::from_le_bytes(*r.array()?);
        let (kind, emptied) = (kind & !EMPTIED, kind & EMPTIED != 0);
        let growth = match kind {
            0 => FileGrowth::None,
            1 => FileGrowth::Bytes(value),
            2 => FileGrowth::Percent(u32::try_from(value).map_err(|_| not("growth out of range"))?),
            _ => return Err(not("unknown growth")),
        };
        let size = u64::from_le_bytes(*r.array()?);
        let max = u64::from_le_bytes(*r.array()?);
        let name = text(&mut r)?;
        let own_path = PathBuf::from(text(&mut r)?);
        let count = u16::from_le_bytes(*r.array()?);
        let mut others = Vec::new();
        for _ in 0..count {
            let id = u16::from_le_bytes(*r.array()?);
            others.push((id, PathBuf::from(text(&mut r)?)));
        }
        let grown = match r.rest.split_first_chunk::<4>() {
            Some((GROWN, rest)) => rest.first_chunk::<8>().map_or(0, |n| u64::from_le_bytes(*n)),
            _ => 0,
        };
        let max_size = (max != 0).then_some(max);
        let spec = FileSpec { id, name, path: own_path, filegroup, size, growth, max_size };
        Ok(FileHeader { database, owner, closed, spec, others, emptied, grown })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FileSpec {
        FileSpec {
            id: 3,
            name: "data".into(),
            path: "x/data.ndf".into(),
            filegroup: 2,
            size: 1 << 20,
            growth: FileGrowth::Percent(10),
            max_size: Some(1 << 30),
        }
    }

    fn header() -> FileHeader {
        let home = Home { instance: [3; 16], ..Home::default() };
        let others = vec![(1, "/data/a.mdf".into()), (3, "/b".into())];
        FileHeader { others, ..FileHeader::new([7; 16], &home, &spec()) }
    }

    #[test]
    fn header_page_keeps_everything() {
        let home = Home { folder: "/data".into(), ..Home::default() };
        let closed = Some(Closed { end: Lsn { vlf: 4, block: 17, slot: 2 }, next_txn: 1 << 40 });
        let mut head = FileHeader { emptied: true, grown: 7, closed, ..header() };
        head.spec.path = "/data/x/data.ndf".into();
        let page = head.page(&home).unwrap();
        assert_eq!(page.stored_checksum(), page.compute_checksum());
        assert_eq!(FileHeader::decode(&page, Path::new("b"), &home).unwrap(), head);
        // In a folder that has moved the file has moved with it.
        let moved = Home { folder: "/new".into(), places: vec![(3, "/c".into())], ..Home::default() };
        let there = FileHeader::decode(&page, Path::new("b"), &moved).unwrap();
        assert_eq!(there.others, [(1, "/new/a.mdf".into()), (3, "/c".into())]);
    }

    /// A header as it was written before files named an instance.
    #[test]
    fn format_1_is_read() {
        let head = header();
        let body = head.encode(&Home::default()).unwrap();
        let mut old = body[..26].to_vec();
        old[8..10].copy_from_slice(&FORMAT_WITHOUT_OWNER.to_le_bytes());
        old.extend_from_slice(&body[26 + 16 + 1 + 10 + 8..]);
        let found = FileHeader::decode_body(&old, Path::new("b")).unwrap();
        assert_eq!(found, FileHeader { owner: [0; 16], ..head });
    }

    #[test]
    fn damaged_header_gives_errors() {
        let home = Home::default();
        let page = header().page(&home).unwrap();
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let mut bad = Page::from_bytes(page.bytes());
            for _ in 0..3 {
                let at = rng.usize(0..200);
                bad.bytes_mut()[at] = rng.u8(..);
            }
            // Any result will do: no panic, no endless allocation.
            let _ = FileHeader::decode(&bad, Path::new("b"), &home);
        }
        let zero = Page::zeroed();
        assert!(matches!(
            FileHeader::decode(&zero, Path::new("b"), &home),
            Err(PageError::NotADataFile { .. })
        ));
    }
}
