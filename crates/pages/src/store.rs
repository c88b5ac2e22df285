//! One open database's pages: reading, changing through log records, redo.

use crate::alloc::AllocState;
use crate::dwb::{self, Doublewrite};
use crate::error::PageError;
use crate::files::{DataFile, FileHeader, FileSpec, read_direct};
use crate::ghosts::GhostHints;
use crate::id::{BOOT_PAGE, DWB_PAGES, PAGE_SIZE, PageId, UnitId};
use crate::log::{LogHandle, SystemSink};
use crate::manage::FILE_LIST;
use crate::op::{ApplyCtx, apply};
use crate::page::{BODY_SIZE, Page, PageType};
use crate::pool::{BufferPool, Inner, Mode, PageIo, PageMut, PageRef, key_of};
use crate::record::{RecordBuilder, RecordSink, RecordView};
use disk::{AlignedBuf, BlockFile, Disk, OpenMode};
use parking_lot::{Mutex, RwLock};
use smallvec::{SmallVec, smallvec};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use wal::{Lsn, WaitSink};

/// Most pages of one read-ahead.
pub const PREFETCH_PAGES: usize = 64;
/// Most bytes of the boot page's content.
pub const MAX_BOOT: usize = BODY_SIZE - 4;

/// A database's data files, its part of the buffer pool, its log.
pub struct Store {
    number: AtomicU16,
    inner: Arc<Inner>,
    /// Keeps the lazy writer alive.
    pool: Arc<BufferPool>,
    log: Arc<dyn LogHandle>,
    disk: Arc<dyn Disk>,
    database: [u8; 16],
    files: RwLock<Vec<Option<Arc<DataFile>>>>,
    dwb: Mutex<Doublewrite>,
    staging: Mutex<Vec<AlignedBuf>>,
    /// Hears of growths.
    waits: OnceLock<Arc<dyn WaitSink>>,
    offline: AtomicBool,
    cause: Mutex<Option<String>>,
    /// Torn pages that redo expects a later record to rebuild.
    awaiting: Mutex<HashSet<PageId>>,
    pub(crate) alloc: AllocState,
    pub(crate) ghosts: GhostHints,
}

/// What a data file is and holds, for catalog views.
#[derive(Clone, Debug)]
pub struct FileInfo {
    pub spec: FileSpec,
    /// Current size in pages.
    pub pages: u32,
    /// I/O counters and the like.
    pub file: Arc<dyn disk::BlockFile>,
}

/// Makes an empty allocation map out of a page of zeros that stands where a map belongs.
pub(crate) fn adopt(id: PageId, page: &mut Page) {
    if page.raw_type() == 0 && (id.is_pfs() || id.is_gam()) {
        page.format(id, if id.is_pfs() { PageType::Pfs } else { PageType::Gam }, 0, UnitId(0));
    }
}

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
            let header = FileHeader { database, spec: spec.clone(), others };
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
        Store::assemble(disk, pool, log, database, files, 0)
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
        let one = [Arc::new(DataFile::new(placeholder(1, primary), disk.open(primary, OpenMode::Open)?)?)];
        dwb::restore(&one[0], &one)?;
        let header = header_of(&one[0], primary)?;
        let first = DataFile::new(
            FileSpec { path: primary.to_path_buf(), ..header.spec.clone() },
            Arc::clone(&one[0].file),
        )?;
        if header.spec.id != 1 {
            return Err(PageError::NotADataFile {
                path: primary.display().to_string(),
                why: "not a primary file",
            });
        }
        let mut files = vec![Arc::new(first)];
        for (id, path) in header.others.iter().filter(|(id, _)| *id != 1) {
            files.push(Arc::new(open_file(&*disk, &files[0], header.database, *id, path)?));
        }
        let rounds = dwb::restore(&files[0], &files)?;
        Store::assemble(disk, pool, log, header.database, files, rounds)
    }

    fn assemble(
        disk: Arc<dyn Disk>,
        pool: Arc<BufferPool>,
        log: Arc<dyn LogHandle>,
        database: [u8; 16],
        files: Vec<Arc<DataFile>>,
        rounds: u64,
    ) -> Result<Arc<Store>, PageError> {
        let last = files.iter().map(|f| f.spec.id).max().unwrap_or(0);
        let mut table = vec![None; last as usize + 1];
        for file in files {
            let at = file.spec.id as usize;
            table[at] = Some(file);
        }
        let store = Arc::new(Store {
            number: AtomicU16::new(0),
            inner: Arc::clone(pool.inner()),
            pool,
            log,
            disk,
            database,
            files: RwLock::new(table),
            dwb: Mutex::new(Doublewrite::new(rounds)),
            staging: Mutex::new(Vec::new()),
            waits: OnceLock::new(),
            offline: AtomicBool::new(false),
            cause: Mutex::new(None),
            awaiting: Mutex::new(HashSet::new()),
            alloc: AllocState::default(),
            ghosts: GhostHints::default(),
        });
        let weak: Weak<dyn PageIo> = Arc::downgrade(&store) as Weak<dyn PageIo>;
        store.number.store(store.inner.register(weak)?, Ordering::Release);
        Ok(store)
    }

    /// Who hears of files that grow by themselves, from now on. Once only.
    pub fn report_growth(&self, sink: Arc<dyn WaitSink>) {
        // A second one changes nothing: the log has one for its life too.
        let _ = self.waits.set(sink);
    }

    pub(crate) fn growth_sink(&self) -> Option<&dyn WaitSink> {
        self.waits.get().map(|sink| &**sink)
    }

    #[inline]
    pub(crate) fn number(&self) -> u16 {
        self.number.load(Ordering::Relaxed)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn dwb(&self) -> &Mutex<Doublewrite> {
        &self.dwb
    }

    /// The log that this store's records go to.
    #[must_use]
    pub fn log(&self) -> &dyn LogHandle {
        &*self.log
    }

    /// A sink for records of the system.
    #[must_use]
    pub fn system(&self) -> SystemSink<'_> {
        SystemSink(&*self.log)
    }

    #[must_use]
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Identity of the database, in every file header.
    #[must_use]
    pub fn database(&self) -> [u8; 16] {
        self.database
    }

    pub(crate) fn file(&self, page: PageId) -> Result<Arc<DataFile>, PageError> {
        let files = self.files.read();
        files.get(page.file as usize).and_then(Clone::clone).ok_or(PageError::NoSuchPage { page })
    }

    /// One more than the largest number that a file has or had.
    pub(crate) fn file_slots(&self) -> usize {
        self.files.read().len()
    }

    /// Takes a file into use, or out of it.
    pub(crate) fn put_file(&self, id: u16, file: Option<Arc<DataFile>>) {
        // Before anybody can take space from it.
        self.forget_space(id);
        let mut files = self.files.write();
        if files.len() <= id as usize {
            files.resize(id as usize + 1, None);
        }
        files[id as usize] = file;
    }

    pub(crate) fn all_files(&self) -> Vec<Arc<DataFile>> {
        self.files.read().iter().flatten().cloned().collect()
    }

    /// The data files.
    #[must_use]
    pub fn files(&self) -> Vec<FileInfo> {
        let info = |f: Arc<DataFile>| FileInfo {
            spec: f.now.read().clone(),
            pages: f.pages(),
            file: Arc::clone(&f.file),
        };
        self.all_files().into_iter().map(info).collect()
    }

    /// Takes the store offline: every later call fails with the first cause.
    pub(crate) fn fail(&self, cause: &PageError) {
        self.cause.lock().get_or_insert_with(|| cause.to_string());
        self.offline.store(true, Ordering::Release);
    }

    /// # Errors
    /// [`PageError::Offline`] after a failed sync, or when a record could not be applied.
    #[inline]
    pub fn check_online(&self) -> Result<(), PageError> {
        if self.offline.load(Ordering::Acquire) { Err(self.offline_error()) } else { Ok(()) }
    }

    #[cold]
    fn offline_error(&self) -> PageError {
        PageError::Offline { cause: self.cause.lock().clone().unwrap_or_default() }
    }

    fn key(&self, id: PageId) -> u64 {
        key_of(self.number(), id)
    }

    /// The page under a shared latch. A thread must not latch a page twice.
    ///
    /// # Errors
    /// Damage (824), I/O (823), no frame (802).
    #[inline]
    pub fn read(&self, id: PageId) -> Result<PageRef<'_>, PageError> {
        self.check_online()?;
        let i = self.inner.fetch(self, self.key(id), Mode::Shared, false)?;
        Ok(PageRef::new(&self.inner, i))
    }

    /// Like [`Store::read`] for large scans: does not make the page worth keeping.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_scan(&self, id: PageId) -> Result<PageRef<'_>, PageError> {
        self.check_online()?;
        let i = self.inner.fetch(self, self.key(id), Mode::Shared, true)?;
        Ok(PageRef::new(&self.inner, i))
    }

    /// The page under an exclusive latch.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn write(&self, id: PageId) -> Result<PageMut<'_>, PageError> {
        self.check_online()?;
        let i = self.inner.fetch(self, self.key(id), Mode::Exclusive, false)?;
        Ok(PageMut::new(&self.inner, i, false))
    }

    /// The page under an exclusive latch if that needs neither waiting nor reading.
    #[must_use]
    pub fn try_write(&self, id: PageId) -> Option<PageMut<'_>> {
        let i = self.inner.try_fetch(self.key(id), Mode::Exclusive)?;
        Some(PageMut::new(&self.inner, i, false))
    }

    /// The page under a shared latch if that needs neither waiting nor reading.
    #[must_use]
    pub fn try_read(&self, id: PageId) -> Option<PageRef<'_>> {
        let i = self.inner.try_fetch(self.key(id), Mode::Shared)?;
        Some(PageRef::new(&self.inner, i))
    }

    /// A frame for a page that the caller is about to format; nothing is read from disk. Dropped without a change, it
    /// is forgotten.
    ///
    /// # Errors
    /// No frame (802); no such file.
    pub fn fresh(&self, id: PageId) -> Result<PageMut<'_>, PageError> {
        self.check_online()?;
        let file = self.file(id)?;
        if id.page >= file.pages() {
            return Err(PageError::NoSuchPage { page: id });
        }
        let (i, blank) = self.inner.fresh(self.key(id))?;
        Ok(PageMut::new(&self.inner, i, blank))
    }

    /// Reads pages ahead of a scan: runs of adjacent pages that are not in the pool, up to [`PREFETCH_PAGES`] in one
    /// I/O. Damage is not reported here but when the page is read.
    ///
    /// # Errors
    /// I/O.
    pub fn prefetch(&self, pages: &[PageId]) -> Result<(), PageError> {
        let mut at = 0;
        while at < pages.len() {
            let mut end = at + 1;
            while end < pages.len()
                && end - at < PREFETCH_PAGES
                && pages[end].file == pages[at].file
                && u64::from(pages[end].page) == u64::from(pages[at].page) + (end - at) as u64
            {
                end += 1;
            }
            self.prefetch_run(&pages[at..end])?;
            at = end;
        }
        Ok(())
    }

    fn prefetch_run(&self, pages: &[PageId]) -> Result<(), PageError> {
        let mut rest = pages;
        loop {
            while rest.first().is_some_and(|&p| self.inner.contains(self.key(p))) {
                rest = &rest[1..];
            }
            // A single page is as well read when it is needed.
            let Some(&first) = rest.first().filter(|_| rest.len() > 1) else { return Ok(()) };
            let file = self.file(first)?;
            let here = rest.iter().take_while(|p| p.page < file.pages());
            let run = self.inner.claim_run(here.map(|&p| self.key(p)));
            if run.is_empty() {
                return Ok(());
            }
            let mut staging = self.take_staging();
            let result = file.read_raw(first.page, &mut staging[..run.len() * PAGE_SIZE]);
            let (images, _) = staging.as_chunks::<PAGE_SIZE>();
            for ((&i, &id), image) in run.iter().zip(rest).zip(images) {
                let good = result.is_ok() && file.verify(id.page, image).is_ok();
                if good {
                    let page = self.inner.frames.page_mut(i);
                    page.bytes_mut().copy_from_slice(image);
                    adopt(id, page);
                }
                self.inner.loaded(i, self.key(id), good);
            }
            self.give_staging(staging);
            result?;
            rest = &rest[run.len()..];
        }
    }

    pub(crate) fn take_staging(&self) -> AlignedBuf {
        self.staging.lock().pop().unwrap_or_else(|| AlignedBuf::new(DWB_PAGES as usize * PAGE_SIZE))
    }

    pub(crate) fn give_staging(&self, buf: AlignedBuf) {
        let mut all = self.staging.lock();
        if all.len() < 4 {
            all.push(buf);
        }
    }

    /// Makes a change: appends the record through `sink` and applies its operations to the pages, which must be
    /// exactly the latched pages that the record names.
    ///
    /// # Errors
    /// What the sink says (log full or offline): nothing has changed then. A record that does not fit its pages is a
    /// fault of the caller, found too late to undo: the store goes offline.
    pub fn change(
        &self,
        sink: &mut dyn RecordSink,
        rec: &mut RecordBuilder,
        pages: &mut [&mut PageMut<'_>],
    ) -> Result<Lsn, PageError> {
        self.check_online()?;
        // Before the append: a checkpoint that begins in between must see the pages as dirty.
        if pages.iter().any(|page| !self.inner.is_dirty(page.frame())) {
            let at = self.log.end();
            for page in pages.iter() {
                self.inner.mark_dirty(page.frame(), at);
            }
        }
        let lsn = sink.append(rec)?;
        if let Err(e) = self.apply_to(lsn, rec, pages) {
            self.fail(&e);
            return Err(e);
        }
        Ok(lsn)
    }

    fn apply_to(
        &self,
        lsn: Lsn,
        rec: &RecordBuilder,
        pages: &mut [&mut PageMut<'_>],
    ) -> Result<(), PageError> {
        let view = RecordView::decode(rec.bytes())?;
        let mut last = 0;
        let mut touched: SmallVec<[bool; 16]> = smallvec![false; pages.len()];
        for op in view.ops() {
            let op = op?;
            if pages.get(last).is_none_or(|p| p.page_id() != op.page) {
                let found = pages.iter().position(|p| p.page_id() == op.page);
                last =
                    found.ok_or(PageError::Apply { lsn, page: op.page, what: "the page is not latched" })?;
            }
            let ctx = ApplyCtx { lsn, txn: view.txn(), index: op.index };
            let page = &mut *pages[last];
            if page.is_blank() && !op.op.rebuilds_page() && !touched[last] {
                return Err(PageError::Apply {
                    lsn,
                    page: op.page,
                    what: "a fresh page is not formatted first",
                });
            }
            apply(page.page_mut(), op.page, &op.op, &ctx).map_err(|e| at_lsn(lsn, op.page, e))?;
            if op.op.rebuilds_page() {
                self.inner.mark_formatted(page.frame());
                page.filled();
            }
            touched[last] = true;
        }
        for (i, page) in pages.iter_mut().enumerate() {
            if touched[i] {
                page.page_mut().set_lsn(lsn);
            }
        }
        Ok(())
    }

    /// Applies a record of the log to the pages that have not seen it. Records come in log order, from one thread or
    /// with the records of each page in order.
    ///
    /// # Errors
    /// Damage that the log cannot repair is found by [`Store::finish_redo`]; here I/O and misfitting records.
    pub fn redo(&self, lsn: Lsn, rec: &RecordView<'_>) -> Result<(), PageError> {
        for id in rec.pages()? {
            self.redo_page(lsn, rec, id)?;
            if id == FILE_LIST {
                self.redo_file_event(lsn, rec)?;
            }
        }
        Ok(())
    }

    fn redo_page(&self, lsn: Lsn, rec: &RecordView<'_>, id: PageId) -> Result<(), PageError> {
        let mut ops = Vec::new();
        for op in rec.ops() {
            let op = op?;
            if op.page == id {
                ops.push(op);
            }
        }
        let rebuilds = ops.first().is_some_and(|op| op.op.rebuilds_page());
        if !rebuilds && self.awaiting.lock().contains(&id) {
            return Ok(());
        }
        // A file that the list does not name any more was empty when it was taken out.
        let Ok(file) = self.file(id) else { return Ok(()) };
        if id.page >= file.pages() {
            // The growth was durable before the record; so this is a file that was cut or restored shorter.
            let _turn = file.grow_turn.lock();
            file.extend_to((id.page / 8 + 1).saturating_mul(8))?;
        }
        let mut page = match self.write(id) {
            Ok(page) => page,
            Err(e) if e.is_damage() && rebuilds => self.fresh(id)?,
            Err(e) if e.is_damage() => {
                self.awaiting.lock().insert(id);
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        if page.lsn() >= lsn {
            return Ok(());
        }
        self.inner.mark_dirty(page.frame(), lsn);
        for op in &ops {
            let ctx = ApplyCtx { lsn, txn: rec.txn(), index: op.index };
            if let Err(e) = apply(page.page_mut(), id, &op.op, &ctx) {
                let e = at_lsn(lsn, id, e);
                self.fail(&e);
                return Err(e);
            }
            if op.op.rebuilds_page() {
                self.inner.mark_formatted(page.frame());
                page.filled();
                self.awaiting.lock().remove(&id);
            }
        }
        if id.page == 0 {
            self.keep_own(&mut page)?;
        }
        page.page_mut().set_lsn(lsn);
        Ok(())
    }

    /// Ends redo.
    ///
    /// # Errors
    /// [`PageError::Corrupt`] when a damaged page was met that no record rebuilt and that is not free: a page that was
    /// freed later is nobody's, and a backup may not hold it.
    pub fn finish_redo(&self) -> Result<(), PageError> {
        let mut waiting: Vec<PageId> = self.awaiting.lock().iter().copied().collect();
        waiting.sort_unstable();
        for page in waiting {
            if self.is_allocated(page)? {
                return Err(PageError::corrupt(page, "the page is damaged and the log does not rebuild it"));
            }
        }
        Ok(())
    }

    /// The database's own data as last written with [`Store::write_boot`]; empty in a new database.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_boot(&self) -> Result<Vec<u8>, PageError> {
        let page = self.read(BOOT_PAGE)?;
        let bad = || PageError::corrupt(BOOT_PAGE, "boot page content");
        if page.page_type() != Some(PageType::Boot) {
            return Err(bad());
        }
        let (len, rest) = page.body().split_first_chunk::<4>().ok_or_else(bad)?;
        Ok(rest.get(..u32::from_le_bytes(*len) as usize).ok_or_else(bad)?.to_vec())
    }

    /// Replaces the database's own data, at most [`MAX_BOOT`] bytes, through the log.
    ///
    /// # Errors
    /// [`PageError::Invalid`] when too long; what the sink says.
    pub fn write_boot(&self, sink: &mut dyn RecordSink, content: &[u8]) -> Result<Lsn, PageError> {
        if content.len() > MAX_BOOT {
            return Err(PageError::Invalid { what: "boot page content is too long" });
        }
        let mut page = self.write(BOOT_PAGE)?;
        let mut rec = RecordBuilder::new();
        rec.system();
        rec.page(BOOT_PAGE);
        rec.put_bytes(0, &(content.len() as u32).to_le_bytes())?;
        rec.put_bytes(4, content)?;
        self.change(sink, &mut rec, &mut [&mut page])
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let number = self.number();
        if number != 0 {
            self.inner.unregister(number);
        }
    }
}

fn at_lsn(lsn: Lsn, page: PageId, e: PageError) -> PageError {
    match e {
        PageError::Corrupt { what, .. } => PageError::Apply { lsn, page, what },
        e => e,
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

pub(crate) fn check_specs(specs: &[FileSpec]) -> Result<(), PageError> {
    let mut ids = HashSet::new();
    if !specs.iter().any(|s| s.id == 1 && s.filegroup == 1) {
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
    primary: &DataFile,
    database: [u8; 16],
    id: u16,
    path: &Path,
) -> Result<DataFile, PageError> {
    let one = [Arc::new(DataFile::new(placeholder(id, path), disk.open(path, OpenMode::Open)?)?)];
    dwb::restore(primary, &one)?;
    let header = header_of(&one[0], path)?;
    if header.database != database || header.spec.id != id {
        return Err(PageError::NotADataFile {
            path: path.display().to_string(),
            why: "it belongs to another database",
        });
    }
    DataFile::new(FileSpec { path: path.to_path_buf(), ..header.spec }, Arc::clone(&one[0].file))
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
