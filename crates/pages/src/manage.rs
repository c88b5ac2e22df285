//! Data files that come, change and go while the database is open.
//!
//! File 1's header page lists the files; each file's own header page has its growth and limit. Both
//! change through the log like any page, but are read from disk before redo runs:
//! [`Store::settle_files`] compares again after redo. The record that changes the list says when
//! and which file ([`FileEvent`]), and of a new file all that its header has: a restore makes the
//! file from it. Guarantees: a file takes part in proportional fill only when it is whole and the
//! list names it; a file is given up only when nothing is allocated in it; its number is not used
//! again while the store is open; the list on disk never names a place that another database's log
//! knows.

use crate::codec::Reader;
use crate::dwb::RecoveredArea;
use crate::error::PageError;
use crate::files::{CleanEnd, DataFile, FileGrowth, FileHeader, FileSpec};
use crate::home::InstanceHome;
use crate::id::{PageId, UnitId};
use crate::open::{create_file, open_file};
use crate::page::{HEADER_SIZE, Page, PageType};
use crate::pool::PageMut;
use crate::record::{RecordBuilder, RecordKind, RecordSink, RecordView};
use crate::store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Lsn;

/// The number of the log among a database's files: no data file has it.
const LOG_FILE: u16 = 2;
/// The page that lists the data files.
pub const FILE_LIST: PageId = PageId { file: 1, page: 0 };
/// The filegroup of a file that a restore has made and whose record has not been redone: nothing is
/// allocated in it.
const NO_FILEGROUP: u16 = 0;

/// A data file has come or gone, as the record says that changes the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEvent {
    pub id: u16,
    /// Microseconds since 1970.
    pub time_us: u64,
    /// The new file; `None`: it was taken out.
    pub added: Option<FileSpec>,
}

impl FileEvent {
    fn encode(&self, database: [u8; 16], home: &InstanceHome) -> Result<Vec<u8>, PageError> {
        let mut b = self.time_us.to_le_bytes().to_vec();
        b.extend_from_slice(&self.id.to_le_bytes());
        if let Some(spec) = &self.added {
            b.extend_from_slice(&FileHeader::new(database, home, spec).encode(home)?);
        }
        Ok(b)
    }

    /// What a record says of a file; `None` for all other records. The path is as it was recorded
    /// ([`InstanceHome`]).
    ///
    /// # Errors
    /// [`PageError::Record`] and the like for a damaged record.
    pub fn of(rec: &RecordView<'_>) -> Result<Option<FileEvent>, PageError> {
        if rec.kind() != RecordKind::Change || !rec.is_system() {
            return Ok(None);
        }
        let first = rec.ops().next().transpose()?;
        let payload =
            if first.is_some_and(|op| op.page == FILE_LIST) { rec.payload()? } else { &[] };
        if payload.is_empty() {
            return Ok(None);
        }
        let mut r = Reader { rest: payload };
        let time_us = u64::from_le_bytes(*r.array()?);
        let id = u16::from_le_bytes(*r.array()?);
        let added = match r.rest {
            [] => None,
            body => Some(FileHeader::decode_body(body, Path::new("the log"))?.spec),
        };
        Ok(Some(FileEvent { id, time_us, added }))
    }
}

impl Store {
    /// A number for a new file: none that a file of this store has or had.
    #[must_use]
    pub fn next_file_id(&self) -> u16 {
        (self.file_slots() as u16).max(LOG_FILE + 1)
    }

    /// Makes a file that belongs to the database and is not used yet: see [`Store::list_file`].
    ///
    /// # Errors
    /// [`PageError::Disk`] when it is there already or cannot be made; [`PageError::Invalid`].
    pub fn make_file(&self, spec: &FileSpec) -> Result<(), PageError> {
        self.check_online()?;
        spec.pages()?;
        let header = FileHeader::new(self.database(), self.home(), spec);
        create_file(&**self.disk(), &header, self.home()).map(drop)
    }

    /// Puts a file that [`Store::make_file`] has made into the list of file 1, or takes one out of
    /// it. The caller sees to it that the page is on disk before the file is used or removed.
    ///
    /// # Errors
    /// What the sink says; [`PageError::Invalid`] when the list is too long.
    pub fn list_file(
        &self,
        sink: &mut dyn RecordSink,
        event: &FileEvent,
    ) -> Result<Lsn, PageError> {
        self.change_header(sink, 1, &event.encode(self.database(), self.home())?, |header| {
            header.others.retain(|(other, _)| *other != event.id);
            if let Some(spec) = &event.added {
                header.others.push((event.id, spec.path.clone()));
            }
        })
    }

    /// Opens a file of the list and gives its space to its filegroup at once.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn use_file(&self, id: u16, path: &Path) -> Result<(), PageError> {
        let primary = self.file(PageId::new(1, 0))?;
        let area = RecoveredArea::read(&primary)?;
        let (file, _) = open_file(&**self.disk(), &area, self.database(), id, path, self.home())?;
        area.repair(&file)?;
        let filegroup = file.filegroup();
        self.put_file(id, Some(Arc::new(file)));
        self.forget_fill(filegroup);
        Ok(())
    }

    /// Takes a file out of proportional fill if nothing is allocated in it; false when something
    /// is.
    ///
    /// # Errors
    /// [`PageError::Invalid`] for file 1; no such file; damage of its maps.
    pub fn close_file(&self, id: u16) -> Result<bool, PageError> {
        if id == 1 {
            return Err(PageError::Invalid { what: "the primary file cannot be removed" });
        }
        let file = self.file(PageId::new(id, 0))?;
        file.closing.store(true, Ordering::SeqCst);
        self.forget_fill(file.filegroup());
        let taken = self.taken_extents(&file);
        if !matches!(taken, Ok(0)) {
            file.closing.store(false, Ordering::SeqCst);
        }
        Ok(taken? == 0)
    }

    /// A closed file is used after all, or given up for good.
    pub fn end_close(&self, id: u16, gone: bool) {
        if gone {
            self.unbar(id);
            self.put_file(id, None);
        } else if let Ok(file) = self.file(PageId::new(id, 0)) {
            file.closing.store(false, Ordering::SeqCst);
        }
    }

    /// Changes a file's growth and limit (bytes; `None` = unlimited).
    ///
    /// # Errors
    /// No such file; what the sink says.
    pub fn limit_file(
        &self,
        sink: &mut dyn RecordSink,
        id: u16,
        growth: FileGrowth,
        max_size: Option<u64>,
    ) -> Result<Lsn, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let lsn = self.change_header(sink, id, &[], |header| {
            header.spec.growth = growth;
            header.spec.max_size = max_size;
        })?;
        let mut now = file.now.write();
        (now.growth, now.max_size) = (growth, max_size);
        Ok(lsn)
    }

    /// Gives a file another logical name.
    ///
    /// # Errors
    /// No such file; what the sink says.
    pub fn rename_file(
        &self,
        sink: &mut dyn RecordSink,
        id: u16,
        name: &str,
    ) -> Result<Lsn, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let lsn =
            self.change_header(sink, id, &[], |header| header.spec.name = name.to_string())?;
        file.now.write().name = name.to_string();
        Ok(lsn)
    }

    /// Makes a file at least so many bytes long; the space is free at once.
    ///
    /// # Errors
    /// The disk is full; no such file.
    pub fn grow_file(&self, id: u16, bytes: u64) -> Result<(), PageError> {
        self.check_online()?;
        let file = self.file(PageId::new(id, 0))?;
        let pages = FileSpec { size: bytes, ..file.spec.clone() }.pages()?;
        self.extend_file(&file, pages)
    }

    /// Whether a file of the list was promised and its record has not been redone: nothing counts
    /// on it yet.
    #[must_use]
    pub fn is_promised(&self, id: u16) -> bool {
        self.file(PageId::new(id, 0)).is_ok_and(|file| file.filegroup() == NO_FILEGROUP)
    }

    /// Makes files that the log of a restored database is about to add, and lists them, durably: a
    /// process that opens the database finds them, and redo fills them. Until its record is redone
    /// a file belongs to no filegroup, and [`Store::settle_files`] gives it up if the record never
    /// comes. What is at a place is removed, and one that was promised before and goes elsewhere
    /// now as well.
    ///
    /// # Errors
    /// One cannot be made: its index, and none of them is there. Without an index the list could
    /// not be read or written (it is too long; I/O): the files may be there, and the list on disk
    /// may name them.
    pub fn promise_files(&self, specs: &[FileSpec]) -> Result<(), (Option<usize>, PageError)> {
        let mut list = self.header(1).map_err(|e| (None, e))?.others;
        // One that is there for the same place stays: the list must not name what is not there.
        let listed =
            |spec: &FileSpec| list.iter().any(|(id, path)| *id == spec.id && *path == spec.path);
        let new: Vec<(usize, &FileSpec)> =
            specs.iter().enumerate().filter(|(_, spec)| !listed(spec)).collect();
        for (n, (i, spec)) in new.iter().enumerate() {
            if let Err(e) = self.make_anew(spec) {
                for (_, made) in &new[..n] {
                    // The error that matters is the first.
                    let _ = self.disk().remove(&made.path);
                }
                return Err((Some(*i), e));
            }
        }
        let mut old = Vec::new();
        for (_, spec) in new {
            old.extend(list.extract_if(.., |(id, _)| *id == spec.id));
            list.push((spec.id, spec.path.clone()));
            self.put_file(spec.id, None);
        }
        let done = self.rewrite_list(&list).and_then(|()| self.write_dirty(Lsn::MAX));
        done.map_err(|e| (None, e))?;
        for (_, path) in old {
            // Nobody knows it any more.
            let _ = self.disk().remove(&path);
        }
        Ok(())
    }

    fn make_anew(&self, spec: &FileSpec) -> Result<(), PageError> {
        if self.disk().exists(&spec.path)? {
            self.disk().remove(&spec.path)?;
        }
        self.make_file(&FileSpec { filegroup: NO_FILEGROUP, ..spec.clone() })
    }

    /// After redo: what the header pages say now holds, whatever was read before. Files that the
    /// list names since are opened, those that it does not name any more are given up.
    ///
    /// # Errors
    /// As [`Store::open`]; [`PageError::Invalid`] when the log of a database that is being restored
    /// adds a file that nobody has promised: what is at its place, if anything is, is not the
    /// restored database's.
    pub fn settle_files(&self, restoring: bool) -> Result<(), PageError> {
        let mut list = self.header(1)?.others;
        for (id, path) in &list {
            match self.file(PageId::new(*id, 0)) {
                Ok(_) => {}
                Err(_) if restoring => {
                    return Err(PageError::Invalid {
                        what: "the log adds a data file that was not made",
                    });
                }
                Err(_) => self.use_file(*id, path)?,
            }
        }
        let all = list.len();
        for file in self.all_files() {
            let id = file.spec.id;
            let FileHeader { spec, emptied, grown, .. } = self.header(id)?;
            if spec.filegroup == NO_FILEGROUP {
                list.retain(|(listed, _)| *listed != id);
            }
            if id != 1 && !list.iter().any(|(listed, _)| *listed == id) {
                // What redo has made of its pages must not be left for a checkpoint that does not
                // find the file.
                self.write_dirty(Lsn::MAX)?;
                self.put_file(id, None);
                continue;
            }
            *file.now.write() = FileSpec { path: file.spec.path.clone(), ..spec };
            file.grown.store(grown, Ordering::Relaxed);
            if emptied {
                self.shut(id);
            }
        }
        // A restore goes on with redo.
        self.alloc.settled.store(!restoring, Ordering::Release);
        if list.len() < all { self.rewrite_list(&list) } else { Ok(()) }
    }

    /// Writes another list than the log says. No record: the log is not this database's alone, and
    /// a recovery that redoes it again corrects the list again.
    fn rewrite_list(&self, list: &[(u16, PathBuf)]) -> Result<(), PageError> {
        let mut page = self.write(FILE_LIST)?;
        let header = self.decode_header(&page)?;
        self.inner().mark_dirty(page.frame(), self.log().end());
        put_header(&mut page, &FileHeader { others: list.to_vec(), ..header }, self.home())
    }

    /// Redo has put a header on its page as the log's database had it. This one may be a restored
    /// copy: its identity and the places of its files stay what they are. At once: the page may go
    /// to disk before redo ends.
    pub(crate) fn keep_own(&self, page: &mut PageMut<'_>) -> Result<(), PageError> {
        let logged = self.decode_header(page)?;
        let (database, owner) = (self.database(), self.home().instance);
        let mut header = FileHeader { database, owner, closed: None, ..logged.clone() };
        header.spec.path.clone_from(&self.file(page.page_id())?.spec.path);
        for (id, path) in &mut header.others {
            if let Ok(file) = self.file(PageId::new(*id, 0)) {
                path.clone_from(&file.spec.path);
            }
        }
        put_header(page, &header, self.home())
    }

    /// The header page of a file that was added is what the record says, if the file is there.
    pub(crate) fn redo_file_event(&self, lsn: Lsn, rec: &RecordView<'_>) -> Result<(), PageError> {
        let Some(FileEvent { id, added: Some(spec), .. }) = FileEvent::of(rec)? else {
            return Ok(());
        };
        let at = PageId::new(id, 0);
        let Ok(file) = self.file(at) else { return Ok(()) };
        let mut page = self.write(at)?;
        if page.lsn() >= lsn {
            return Ok(());
        }
        let spec = FileSpec { path: file.spec.path.clone(), ..spec };
        let header = FileHeader::new(self.database(), self.home(), &spec);
        self.inner().mark_dirty(page.frame(), lsn);
        page.page_mut().format(at, PageType::FileHeader, 0, UnitId(0));
        put_header(&mut page, &header, self.home())?;
        page.page_mut().set_lsn(lsn);
        *file.now.write() = spec;
        Ok(())
    }

    /// Notes that this file was the last of its filegroup to grow.
    pub(crate) fn note_grown(&self, file: &DataFile, number: u64) -> Result<(), PageError> {
        let noted = self
            .change_header(&mut self.system(), file.spec.id, &[], |header| header.grown = number);
        noted.map(drop)
    }

    /// The header pages name the instance and the places of now, and say that the database is open;
    /// durable on return. Not logged: all this is of these files and not of the database, whose log
    /// may be restored elsewhere.
    ///
    /// # Errors
    /// I/O, damage of a header page.
    pub fn claim_files(&self) -> Result<(), PageError> {
        let mut changed = false;
        for file in self.all_files() {
            changed |= self.rewrite_header(file.spec.id, |header| {
                header.owner = self.home().instance;
                header.closed = None;
                header.spec.path.clone_from(&file.spec.path);
            })?;
        }
        if changed { self.write_dirty(Lsn::MAX).map(drop) } else { Ok(()) }
    }

    /// Notes where the log ended of a database all of whose pages are on disk, and which is opened
    /// next by [`Store::open`]; durable on return.
    ///
    /// # Errors
    /// I/O.
    pub fn mark_closed(&self, closed: CleanEnd) -> Result<(), PageError> {
        for file in self.all_files() {
            self.rewrite_header(file.spec.id, |header| header.closed = Some(closed))?;
        }
        self.write_dirty(Lsn::MAX).map(drop)
    }

    /// Changes a header page without a record; whether anything has changed.
    fn rewrite_header(
        &self,
        id: u16,
        change: impl FnOnce(&mut FileHeader),
    ) -> Result<bool, PageError> {
        let mut page = self.write(PageId::new(id, 0))?;
        let mut header = self.decode_header(&page)?;
        change(&mut header);
        let body = header.encode(self.home())?;
        if page.body().starts_with(&body) {
            return Ok(false);
        }
        self.inner().mark_dirty(page.frame(), self.log().end());
        put_header(&mut page, &header, self.home())?;
        Ok(true)
    }

    fn decode_header(&self, page: &PageMut<'_>) -> Result<FileHeader, PageError> {
        FileHeader::decode(page as &Page, &self.file(page.page_id())?.spec.path, self.home())
    }

    fn header(&self, id: u16) -> Result<FileHeader, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let page = self.read(PageId::new(id, 0))?;
        FileHeader::decode(&page, &file.spec.path, self.home())
    }

    pub(crate) fn change_header(
        &self,
        sink: &mut dyn RecordSink,
        id: u16,
        payload: &[u8],
        change: impl FnOnce(&mut FileHeader),
    ) -> Result<Lsn, PageError> {
        let at = PageId::new(id, 0);
        let mut page = self.write(at)?;
        let mut header = self.decode_header(&page)?;
        change(&mut header);
        let mut rec = RecordBuilder::new();
        rec.system();
        if !payload.is_empty() {
            rec.payload(payload)?;
        }
        rec.page(at);
        rec.put_bytes(0, &header.encode(self.home())?)?;
        self.change(sink, &mut rec, &mut [&mut page])
    }
}

fn put_header(
    page: &mut PageMut<'_>,
    header: &FileHeader,
    home: &InstanceHome,
) -> Result<(), PageError> {
    let body = header.encode(home)?;
    page.page_mut().bytes_mut()[HEADER_SIZE..][..body.len()].copy_from_slice(&body);
    Ok(())
}
