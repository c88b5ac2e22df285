//! The first page of a data file: whose it is, what it is called, how it grows, and how it was
//! closed.
//!
//! Any bytes give a header or an error that says what is wrong with the file.

use super::{FileGrowth, FileSpec};
use crate::codec::Reader;
use crate::error::PageError;
use crate::home::{InstanceHome, InstanceId};
use crate::id::{PageId, UnitId};
use crate::page::{BODY_SIZE, Page, PageType};
use std::path::{Path, PathBuf};
use wal::Lsn;

const MAGIC: &[u8; 8] = b"RINGDATA";

/// The format of data files: of their header pages, and of what is in the file. Headers of earlier
/// formats can be read, so that files can be told apart, but such a file is not opened. Entries of
/// indexes repeated their keys in the values until format 2; files of format 1 name no instance.
const FORMAT: u16 = 3;

const FORMAT_WITHOUT_OWNER: u16 = 1;

/// A file of another format is not opened.
fn other_format(path: &Path, found: u16) -> PageError {
    PageError::OtherFormat { path: path.display().to_string(), found, known: FORMAT }
}

/// Where the log of a database ended that was closed cleanly: all pages are as that log left them,
/// and a new log may begin after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanEnd {
    /// Behind the last record.
    pub end: Lsn,
    /// The next transaction's id.
    pub next_txn: u64,
}

/// What the header page of a file says. Paths are where the files are; on disk they are as
/// [`InstanceHome`] records them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub format: u16,
    pub database: [u8; 16],
    /// The instance that the file belongs to; zeros: none.
    pub owner: InstanceId,
    /// While the database is closed.
    pub closed: Option<CleanEnd>,
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
    let len = u16::try_from(text.len())
        .map_err(|_| PageError::Invalid { what: "file name is too long" })?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn path_str(path: &Path) -> Result<&str, PageError> {
    path.to_str().ok_or(PageError::Invalid { what: "file path is not Unicode" })
}

impl FileHeader {
    /// The header of a new file.
    pub fn new(database: [u8; 16], home: &InstanceHome, spec: &FileSpec) -> FileHeader {
        FileHeader {
            format: FORMAT,
            database,
            owner: home.instance,
            closed: None,
            spec: spec.clone(),
            others: Vec::new(),
            emptied: false,
            grown: 0,
        }
    }

    /// Checks that what is in the file can be read.
    ///
    /// # Errors
    /// [`PageError::OtherFormat`].
    pub fn check_format(&self, path: &Path) -> Result<(), PageError> {
        if self.format == FORMAT { Ok(()) } else { Err(other_format(path, self.format)) }
    }

    /// The body of the header page.
    pub fn encode(&self, home: &InstanceHome) -> Result<Vec<u8>, PageError> {
        let mut b = Vec::with_capacity(512);
        b.extend_from_slice(MAGIC);
        b.extend_from_slice(&self.format.to_le_bytes());
        b.extend_from_slice(&self.database);
        b.extend_from_slice(&self.owner);
        let closed = self.closed.unwrap_or(CleanEnd { end: Lsn::ZERO, next_txn: 0 });
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
        let count = u16::try_from(self.others.len())
            .map_err(|_| PageError::Invalid { what: "too many files" })?;
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
            return Err(PageError::Invalid {
                what: "the list of data files does not fit the header page",
            });
        }
        Ok(b)
    }

    /// The header page as it is first written.
    pub fn page(&self, home: &InstanceHome) -> Result<Box<Page>, PageError> {
        let body = self.encode(home)?;
        let mut page = Page::zeroed();
        page.format(PageId::new(self.spec.id, 0), PageType::FileHeader, 0, UnitId(0));
        page.bytes_mut()[crate::page::HEADER_SIZE..][..body.len()].copy_from_slice(&body);
        page.set_checksum();
        Ok(page)
    }

    pub fn decode(page: &Page, path: &Path, home: &InstanceHome) -> Result<FileHeader, PageError> {
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

    /// The header from what [`FileHeader::encode`] has made, perhaps with something after it; paths
    /// as they are recorded.
    pub fn decode_body(body: &[u8], path: &Path) -> Result<FileHeader, PageError> {
        let not = |why| PageError::NotADataFile { path: path.display().to_string(), why };
        let text = |r: &mut Reader<'_>| -> Result<String, PageError> {
            let n = u16::from_le_bytes(*r.array()?);
            String::from_utf8(r.take(n as usize)?.to_vec())
                .map_err(|_| not("a name is not Unicode"))
        };
        let mut r = Reader { rest: body };
        let magic = *r.array::<8>()?;
        let format = u16::from_le_bytes(*r.array()?);
        if &magic != MAGIC || format < FORMAT_WITHOUT_OWNER {
            return Err(not("unknown format"));
        }
        if format > FORMAT {
            return Err(other_format(path, format));
        }
        let database = *r.array::<16>()?;
        let (mut owner, mut closed) = (InstanceId::default(), None);
        if format != FORMAT_WITHOUT_OWNER {
            owner = *r.array::<16>()?;
            let is_closed = r.u8()? != 0;
            let end = Lsn::from_bytes(*r.array()?);
            let next_txn = u64::from_le_bytes(*r.array()?);
            closed = is_closed.then_some(CleanEnd { end, next_txn });
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
        Ok(FileHeader { format, database, owner, closed, spec, others, emptied, grown })
    }
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
        let home = InstanceHome { instance: [3; 16], ..InstanceHome::default() };
        let others = vec![(1, "/data/a.mdf".into()), (3, "/b".into())];
        FileHeader { others, ..FileHeader::new([7; 16], &home, &spec()) }
    }

    #[test]
    fn header_page_keeps_everything() {
        let home = InstanceHome { folder: "/data".into(), ..InstanceHome::default() };
        let closed = Some(CleanEnd { end: Lsn { vlf: 4, block: 17, slot: 2 }, next_txn: 1 << 40 });
        let mut head = FileHeader { emptied: true, grown: 7, closed, ..header() };
        head.spec.path = "/data/x/data.ndf".into();
        let page = head.page(&home).unwrap();
        assert_eq!(page.stored_checksum(), page.compute_checksum());
        assert_eq!(FileHeader::decode(&page, Path::new("b"), &home).unwrap(), head);
        // In a folder that has moved the file has moved with it.
        let moved = InstanceHome {
            folder: "/new".into(),
            places: vec![(3, "/c".into())],
            ..InstanceHome::default()
        };
        let there = FileHeader::decode(&page, Path::new("b"), &moved).unwrap();
        assert_eq!(there.others, [(1, "/new/a.mdf".into()), (3, "/c".into())]);
    }

    /// Headers of earlier formats are read, and told from those of files that can be opened.
    #[test]
    fn earlier_formats_are_told() {
        let head = header();
        head.check_format(Path::new("b")).unwrap();
        let old = FileHeader { format: 2, ..head };
        let body = old.encode(&InstanceHome::default()).unwrap();
        let found = FileHeader::decode_body(&body, Path::new("b")).unwrap();
        assert_eq!(found, old);
        let error = found.check_format(Path::new("b")).unwrap_err();
        assert_eq!(error, PageError::OtherFormat { path: "b".into(), found: 2, known: FORMAT });
        let newer = FileHeader { format: FORMAT + 1, ..old };
        let body = newer.encode(&InstanceHome::default()).unwrap();
        let error = FileHeader::decode_body(&body, Path::new("b")).unwrap_err();
        assert_eq!(
            error,
            PageError::OtherFormat { path: "b".into(), found: FORMAT + 1, known: FORMAT }
        );
        let none = FileHeader { format: 0, ..newer };
        let body = none.encode(&InstanceHome::default()).unwrap();
        let error = FileHeader::decode_body(&body, Path::new("b")).unwrap_err();
        assert!(matches!(error, PageError::NotADataFile { .. }), "{error}");
    }

    /// A header as it was written before files named an instance.
    #[test]
    fn format_1_is_read() {
        let head = header();
        let body = head.encode(&InstanceHome::default()).unwrap();
        let mut old = body[..26].to_vec();
        old[8..10].copy_from_slice(&FORMAT_WITHOUT_OWNER.to_le_bytes());
        old.extend_from_slice(&body[26 + 16 + 1 + 10 + 8..]);
        let found = FileHeader::decode_body(&old, Path::new("b")).unwrap();
        assert_eq!(found, FileHeader { format: FORMAT_WITHOUT_OWNER, owner: [0; 16], ..head });
    }

    #[test]
    fn damaged_header_gives_errors() {
        let home = InstanceHome::default();
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
