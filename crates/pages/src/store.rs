//! One open database's pages: reading them, and changing them through log records.

pub(crate) mod alloc;
mod change;
mod freed;
mod ghosts;
mod panics;
mod read_ahead;

pub(crate) use change::at_lsn;

use crate::dwb::{Doublewrite, MOST_ENTRIES, RecoveredArea};
use crate::error::PageError;
use crate::files::{DataFile, FileSpec};
use crate::home::InstanceHome;
use crate::id::{BOOT_PAGE, PAGE_SIZE, PageId};
use crate::log::{LogHandle, SystemSink};
use crate::page::{BODY_SIZE, PageType};
use crate::pool::{BufferPool, Mode, PageIo, PageMut, PageRef, PoolInner, key_of};
use crate::record::{RecordBuilder, RecordSink};
use alloc::AllocState;
use disk::{AlignedBuf, Disk};
use freed::FreedPages;
use ghosts::GhostHints;
use parking_lot::{Mutex, RwLock};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use wal::{Lsn, WaitSink};

/// Pages of a buffer for copies: enough for the largest batch, so that each is kept for the next
/// one. Of a new one the system clears all that is used first, a quarter of the time in which the
/// pages of a checkpoint are copied and written.
const KEPT_STAGING: usize = MOST_ENTRIES + 1;
/// Most bytes of the boot page's content.
pub const MAX_BOOT: usize = BODY_SIZE - 4;

/// A database's data files, its part of the buffer pool, its log.
pub struct Store {
    number: AtomicU16,
    inner: Arc<PoolInner>,
    /// Keeps the lazy writer alive.
    pool: Arc<BufferPool>,
    log: Arc<dyn LogHandle>,
    disk: Arc<dyn Disk>,
    database: [u8; 16],
    home: InstanceHome,
    files: RwLock<Vec<Option<Arc<DataFile>>>>,
    dwb: Doublewrite,
    staging: Mutex<Vec<AlignedBuf>>,
    /// Hears of growths.
    waits: OnceLock<Arc<dyn WaitSink>>,
    offline: AtomicBool,
    cause: Mutex<Option<String>>,
    /// The oldest change that the pool has forgotten since.
    lost: Mutex<Option<Lsn>>,
    /// What is called then.
    on_failure: OnceLock<OnFailure>,
    /// Torn pages that redo expects a later record to rebuild.
    pub(crate) awaiting: Mutex<HashSet<PageId>>,
    pub(crate) alloc: AllocState,
    ghosts: GhostHints,
    freed: FreedPages,
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

impl Store {
    pub(crate) fn assemble(
        disk: Arc<dyn Disk>,
        pool: Arc<BufferPool>,
        log: Arc<dyn LogHandle>,
        database: [u8; 16],
        files: Vec<Arc<DataFile>>,
        area: &RecoveredArea,
        home: InstanceHome,
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
            home,
            files: RwLock::new(table),
            dwb: Doublewrite::new(area),
            staging: Mutex::new(Vec::new()),
            waits: OnceLock::new(),
            offline: AtomicBool::new(false),
            cause: Mutex::new(None),
            lost: Mutex::new(None),
            on_failure: OnceLock::new(),
            awaiting: Mutex::new(HashSet::new()),
            alloc: AllocState::default(),
            ghosts: GhostHints::default(),
            freed: FreedPages::default(),
        });
        let weak: Weak<dyn PageIo> = Arc::downgrade(&store) as Weak<dyn PageIo>;
        store.number.store(store.inner.register(weak)?, Ordering::Release);
        Ok(store)
    }

    /// What is called when a file grows by itself, from now on. Once only.
    pub fn report_growth(&self, sink: Arc<dyn WaitSink>) {
        // A second one changes nothing: the log has one for its life too.
        let _ = self.waits.set(sink);
    }

    pub(crate) fn growth_sink(&self) -> Option<&dyn WaitSink> {
        self.waits.get().map(|sink| &**sink)
    }

    /// The store's number in its pool: traces of reads name it by this.
    #[must_use]
    #[inline]
    pub fn number(&self) -> u16 {
        self.number.load(Ordering::Relaxed)
    }

    pub(crate) fn inner(&self) -> &PoolInner {
        &self.inner
    }

    pub(crate) fn inner_arc(&self) -> &Arc<PoolInner> {
        &self.inner
    }

    pub(crate) fn dwb(&self) -> &Doublewrite {
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

    pub(crate) fn home(&self) -> &InstanceHome {
        &self.home
    }

    /// Gives all files up: nothing is written any more, and others may open them.
    pub fn release_files(&self) {
        self.all_files().iter().for_each(|file| file.file.release());
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
        self.dwb.forget_file(id);
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
        self.stop(|| cause.to_string());
    }

    /// The same for a failure elsewhere in the database. Its pages make room for those of others
    /// from now on, written or not.
    pub fn give_up(&self, cause: &str) {
        self.stop(|| cause.to_owned());
    }

    fn stop(&self, cause: impl FnOnce() -> String) {
        let text = self.cause.lock().get_or_insert_with(cause).clone();
        if !self.offline.swap(true, Ordering::AcqRel)
            && let Some(tell) = self.on_failure.get()
        {
            tell(&text);
        }
    }

    /// Tells `tell` when the store goes offline, once. It is called by the thread that met the
    /// failure, which may hold latches and locks of the store: it must use neither. Only the first
    /// one that is given counts.
    pub fn on_failure(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        // A store has one owner.
        let _ = self.on_failure.set(Box::new(tell));
    }

    /// # Errors
    /// [`PageError::Offline`] after a failed sync, or when a record could not be applied.
    #[inline]
    pub fn check_online(&self) -> Result<(), PageError> {
        if self.offline.load(Ordering::Acquire) { Err(self.offline_error()) } else { Ok(()) }
    }

    /// Changes from this record on are not in the pool any more, nor in a file.
    pub(crate) fn note_forgotten(&self, from: Lsn) {
        let mut lost = self.lost.lock();
        *lost = Some(lost.map_or(from, |lsn| lsn.min(from)));
    }

    /// The oldest of them: redo has to begin there.
    pub(crate) fn lost(&self) -> Option<Lsn> {
        *self.lost.lock()
    }

    #[cold]
    fn offline_error(&self) -> PageError {
        PageError::Offline { cause: self.cause.lock().clone().unwrap_or_default() }
    }

    #[inline]
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
    #[inline]
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

    /// Whether the page is in the pool or on its way to it, as of now.
    #[must_use]
    pub fn is_here(&self, id: PageId) -> bool {
        self.inner.contains(self.key(id))
    }

    /// A frame for a page that the caller is about to format; nothing is read from disk. Dropped
    /// without a change, it is forgotten.
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

    /// A buffer for copies of so many pages, which are no more than the largest batch has.
    pub(crate) fn take_staging(&self, pages: usize) -> AlignedBuf {
        debug_assert!(pages <= KEPT_STAGING, "a batch of {pages} pages");
        let kept = self.staging.lock().pop();
        kept.unwrap_or_else(|| AlignedBuf::new(pages.max(KEPT_STAGING) * PAGE_SIZE))
    }

    /// Gives it back.
    pub(crate) fn give_staging(&self, buf: AlignedBuf) {
        let mut all = self.staging.lock();
        if all.len() < 4 {
            all.push(buf);
        }
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

/// Is told why the store has gone offline.
type OnFailure = Box<dyn Fn(&str) + Send + Sync>;

impl Drop for Store {
    fn drop(&mut self) {
        let number = self.number();
        if number != 0 {
            self.inner.unregister(number);
        }
    }
}
