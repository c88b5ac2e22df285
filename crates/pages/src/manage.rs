//! Data files that come, change and go while the database is open.
//!
//! File 1's header page lists the files; each file's own header page has its growth and limit. Both change through the
//! log like any page, but are read from disk before redo runs: [`Store::settle_files`] compares again after redo.
//! Guarantees: a file takes part in proportional fill only when it is whole and the list names it; a file is given up
//! only when nothing is allocated in it; its number is not used again while the store is open.

use crate::error::PageError;
use crate::files::{DataFile, FileGrowth, FileHeader, FileSpec};
use crate::id::PageId;
use crate::page::{HEADER_SIZE, Page};
use crate::record::{RecordBuilder, RecordSink};
use crate::store::{Store, create_file, open_file};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::Lsn;

/// The number of the log among a database's files: no data file has it.
const LOG_FILE: u16 = 2;

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
        let header = FileHeader { database: self.database(), spec: spec.clone(), others: Vec::new() };
        create_file(&**self.disk(), &header).map(drop)
    }

    /// Puts a file that [`Store::make_file`] has made into the list of file 1, or takes one out of it. The caller sees
    /// to it that the page is on disk before the file is used or removed.
    ///
    /// # Errors
    /// What the sink says; [`PageError::Invalid`] when the list is too long.
    pub fn list_file(
        &self,
        sink: &mut dyn RecordSink,
        id: u16,
        path: &Path,
        listed: bool,
    ) -> Result<Lsn, PageError> {
        self.change_header(sink, 1, |header| {
            header.others.retain(|(other, _)| *other != id);
            if listed {
                header.others.push((id, path.to_path_buf()));
            }
        })
    }

    /// Opens a file of the list and gives its space to its filegroup at once.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn use_file(&self, id: u16, path: &Path) -> Result<(), PageError> {
        let primary = self.file(PageId::new(1, 0))?;
        let file = open_file(&**self.disk(), &primary, self.database(), id, path)?;
        let filegroup = file.spec.filegroup;
        self.put_file(id, Some(Arc::new(file)));
        self.forget_fill(filegroup);
        Ok(())
    }

    /// Takes a file out of proportional fill if nothing is allocated in it; false when something is.
    ///
    /// # Errors
    /// [`PageError::Invalid`] for file 1; no such file; damage of its maps.
    pub fn close_file(&self, id: u16) -> Result<bool, PageError> {
        if id == 1 {
            return Err(PageError::Invalid { what: "the primary file cannot be removed" });
        }
        let file = self.file(PageId::new(id, 0))?;
        file.closing.store(true, Ordering::SeqCst);
        self.forget_fill(file.spec.filegroup);
        let taken = self.taken_extents(&file);
        if !matches!(taken, Ok(0)) {
            file.closing.store(false, Ordering::SeqCst);
        }
        Ok(taken? == 0)
    }

    /// A closed file is used after all, or given up for good.
    pub fn end_close(&self, id: u16, gone: bool) {
        if gone {
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
        let lsn = self.change_header(sink, id, |header| {
            header.spec.growth = growth;
            header.spec.max_size = max_size;
        })?;
        *file.limits.write() = (growth, max_size);
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

    /// After redo: what the header pages say now holds, whatever was read before. Files that the list names since are
    /// opened, those that it does not name any more are given up; files that are elsewhere than the log says (they were
    /// restored to another place) stay where they are.
    ///
    /// # Errors
    /// As [`Store::open`]; [`PageError::Invalid`] when the log of a database that is being restored adds a file: what is
    /// at its place, if anything is, is not the restored database's.
    pub fn settle_files(&self, restoring: bool) -> Result<(), PageError> {
        let mut list = self.header(1)?.others;
        let mut moved = false;
        for (id, path) in &mut list {
            match self.file(PageId::new(*id, 0)) {
                Ok(file) => {
                    moved |= *path != file.spec.path;
                    path.clone_from(&file.spec.path);
                }
                Err(_) if restoring => {
                    let what = "the log adds a data file: restore a backup that was taken after that";
                    return Err(PageError::Invalid { what });
                }
                Err(_) => self.use_file(*id, path)?,
            }
        }
        if moved {
            self.correct_list(&list)?;
        }
        for file in self.all_files() {
            let id = file.spec.id;
            if id != 1 && !list.iter().any(|(listed, _)| *listed == id) {
                self.put_file(id, None);
                continue;
            }
            let spec = self.header(id)?.spec;
            *file.limits.write() = (spec.growth, spec.max_size);
        }
        Ok(())
    }

    /// Writes other paths into the list than the log says. No record: the log is not this database's alone, and whoever
    /// redoes it again corrects them again.
    fn correct_list(&self, list: &[(u16, PathBuf)]) -> Result<(), PageError> {
        let at = PageId::new(1, 0);
        let file = self.file(at)?;
        let mut page = self.write(at)?;
        let header = FileHeader::decode(&page as &Page, &file.spec.path)?;
        let body = FileHeader { others: list.to_vec(), ..header }.encode()?;
        self.inner().mark_dirty(page.frame(), self.log().end());
        page.page_mut().bytes_mut()[HEADER_SIZE..][..body.len()].copy_from_slice(&body);
        Ok(())
    }

    fn header(&self, id: u16) -> Result<FileHeader, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let page = self.read(PageId::new(id, 0))?;
        FileHeader::decode(&page, &file.spec.path)
    }

    fn change_header(
        &self,
        sink: &mut dyn RecordSink,
        id: u16,
        change: impl FnOnce(&mut FileHeader),
    ) -> Result<Lsn, PageError> {
        let file = self.file(PageId::new(id, 0))?;
        let at = PageId::new(id, 0);
        let mut page = self.write(at)?;
        let mut header = FileHeader::decode(&page as &Page, &file.spec.path)?;
        change(&mut header);
        let mut rec = RecordBuilder::new();
        rec.system();
        rec.page(at);
        rec.put_bytes(0, &header.encode()?)?;
        self.change(sink, &mut rec, &mut [&mut page])
    }
}

impl DataFile {
    /// Its description with the growth and limit that hold now.
    pub fn current_spec(&self) -> FileSpec {
        let (growth, max_size) = *self.limits.read();
        FileSpec { growth, max_size, ..self.spec.clone() }
    }
}
