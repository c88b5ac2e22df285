//! The doublewrite area on the simulated disk: batches side by side, power loss at any I/O, areas
//! of older versions.

use super::*;
use crate::page::seal_image;
use disk::{Data, Disk, OpenMode, Request, transfer};
use sim::SimDisk;
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::Path;

const PAGES: u32 = 800;

fn open(disk: &SimDisk, id: u16, mode: OpenMode) -> Arc<DataFile> {
    let path = Path::new(["/a.mdf", "/b.ndf"][usize::from(id) - 1]);
    let file = disk.open(path, mode).expect("a file");
    if mode == OpenMode::Create {
        file.write_zeros(0, u64::from(PAGES) * PAGE_SIZE as u64).expect("space");
    }
    Arc::new(DataFile::new(crate::files::FileSpec::unread(id, path), file).expect("a data file"))
}

fn primary(disk: &SimDisk) -> Arc<DataFile> {
    open(disk, 1, OpenMode::Create)
}

fn image(id: PageId, mark: u8) -> AlignedBuf {
    let mut page = Page::zeroed();
    page.format(id, PageType::Data, 0, UnitId(1));
    page.bytes_mut()[PAGE_SIZE / 2] = mark;
    seal_image(page.bytes_mut());
    AlignedBuf::from_slice(page.bytes())
}

fn recovered(file: &DataFile) -> RecoveredArea {
    RecoveredArea::read(file).expect("the area")
}

fn found(file: &DataFile) -> Vec<(u32, u8)> {
    recovered(file).images().iter().map(|(id, image)| (id.page, image[PAGE_SIZE / 2])).collect()
}

fn new_area() -> Doublewrite {
    Doublewrite::new(&RecoveredArea::nothing())
}

/// Nobody must wait in these tests.
fn no_room() -> Result<(), PageError> {
    Err(PageError::Invalid { what: "no room" })
}

fn try_protect(
    area: &Doublewrite,
    primary: &Arc<DataFile>,
    images: &BTreeMap<PageId, AlignedBuf>,
    homes: &[Arc<DataFile>],
    purpose: BatchPurpose,
) -> Result<ProtectedBatch, PageError> {
    let named: Vec<_> = images.iter().map(|(id, image)| (*id, &image.as_chunks().0[0])).collect();
    area.protect(primary, &named, homes.to_vec(), purpose, &no_room)
}

fn protect(
    area: &Doublewrite,
    file: &Arc<DataFile>,
    pages: Range<u32>,
    mark: u8,
) -> Result<ProtectedBatch, PageError> {
    let ids = pages.map(|page| PageId::new(1, 1000 + page));
    let images = ids.map(|id| (id, image(id, mark))).collect();
    try_protect(area, file, &images, std::slice::from_ref(file), BatchPurpose::Eviction)
}

#[test]
fn batches_lie_side_by_side_and_the_newest_image_counts() {
    let disk = SimDisk::new(1);
    let file = primary(&disk);
    let area = new_area();
    let first = protect(&area, &file, 0..2, 1).expect("protected");
    area.written(first);
    let second = protect(&area, &file, 1..3, 2).expect("protected");
    assert_eq!(found(&file), [(1000, 1), (1001, 2), (1002, 2)]);
    assert!(area.holds(PageId::new(1, 1000)) && !area.holds(PageId::new(1, 1003)));

    // Room for the fourth large one is made by a sync of the first, which is home; the second
    // stays.
    let large: Vec<ProtectedBatch> = (0..3)
        .map(|i| protect(&area, &file, 100 * (i + 1)..100 * (i + 1) + 63, 3).expect("protected"))
        .collect();
    assert_eq!(found(&file).len(), 4 + 3 * 63 - 1);
    assert!(protect(&area, &file, 500..563, 4).is_err(), "no batch is home");
    large.into_iter().for_each(|batch| area.written(batch));
    let _open = protect(&area, &file, 500..563, 4).expect("room after a sync");
    // The first batch is over by the word of the last one; the second is not.
    let left = found(&file);
    assert!(!left.contains(&(1000, 1)) && left.contains(&(1001, 2)) && left.contains(&(1562, 4)));
    area.written(second);
}

#[test]
fn a_checkpoint_leaves_room_for_eviction() {
    let disk = SimDisk::new(1);
    let file = primary(&disk);
    let area = new_area();
    let batch = |n: u32, purpose| {
        let ids = (n * 100..n * 100 + 63).map(|page| PageId::new(1, page));
        let images = ids.map(|id| (id, image(id, 1))).collect();
        try_protect(&area, &file, &images, std::slice::from_ref(&file), purpose)
    };
    let checkpoint: Vec<ProtectedBatch> =
        (0..3).map(|n| batch(n, BatchPurpose::Checkpoint).expect("room")).collect();
    assert!(batch(3, BatchPurpose::Checkpoint).is_err());
    let eviction = batch(4, BatchPurpose::Eviction).expect("room");
    assert!(batch(5, BatchPurpose::Eviction).is_err());
    area.written(eviction);
    area.written(
        batch(5, BatchPurpose::Eviction)
            .expect("room again, though the checkpoint's homes are not written"),
    );
    drop(checkpoint);
}

/// A thread that waits for space in the area gets it when another thread's pages are written home.
#[test]
fn a_batch_waits_for_room() {
    let disk = SimDisk::new(1);
    let file = primary(&disk);
    let area = new_area();
    let open: Vec<ProtectedBatch> =
        (0..4).map(|n| protect(&area, &file, n * 63..n * 63 + 63, 1).expect("room")).collect();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let id = PageId::new(1, 700);
            let page = image(id, 5);
            let named = [(id, &page.as_chunks().0[0])];
            area.protect(&file, &named, vec![file.clone()], BatchPurpose::Checkpoint, &|| Ok(()))
                .map(|b| area.written(b))
        });
        std::thread::sleep(Duration::from_millis(30));
        assert!(!waiting.is_finished());
        for batch in open {
            file.written(wal::Lsn::MAX);
            area.written(batch);
        }
        waiting.join().expect("no panic").expect("room");
    });
}

/// The next opening goes on with numbers that nothing in the area has.
#[test]
fn batches_are_numbered_on_after_a_restart() {
    let disk = SimDisk::new(2);
    let file = primary(&disk);
    assert_eq!(recovered(&file).batches().count(), 0);
    let area = new_area();
    let _open = [0..1, 1..2, 2..3].map(|pages| protect(&area, &file, pages, 1).expect("protected"));
    let area = Doublewrite::new(&recovered(&file));
    assert!(area.holds(PageId::new(1, 1002)), "as long as the area has it");
    // As large as the first batch of before: the second one of that lies right after it, and was
    // over at the opening.
    let _open = protect(&area, &file, 0..1, 2).expect("protected");
    assert_eq!(found(&file), [(1000, 2)]);
    assert!(recovered(&file).batches().all(|(number, _, _)| number == 4));
}

/// A batch that is not whole counts for what is whole in it.
#[test]
fn torn_images_and_directories_do_not_count() {
    let disk = SimDisk::new(3);
    let file = primary(&disk);
    let area = new_area();
    let _open = [1, 2, 3].map(|mark| protect(&area, &file, 0..2, mark).expect("protected"));
    let at = |slot: u64| (u64::from(DWB_DIRECTORY) + slot) * PAGE_SIZE as u64 + 5000;
    disk.rot(Path::new("/a.mdf"), at(8)).expect("an image of the third batch");
    assert_eq!(found(&file), [(1000, 3), (1001, 2)]);
    disk.rot(Path::new("/a.mdf"), at(6)).expect("the third directory");
    assert_eq!(found(&file), [(1000, 2), (1001, 2)]);
}

/// A directory and its images as versions before wrote them.
fn old_batch(file: &DataFile, slot: usize, round: u64, place: u16, pages: &[(u32, u8)]) -> usize {
    let images: Vec<_> =
        pages.iter().map(|&(page, mark)| image(PageId::new(1, page), mark)).collect();
    let mut page = Page::zeroed();
    page.format(PageId::new(1, DWB_DIRECTORY), PageType::Doublewrite, 0, UnitId(0));
    let body = &mut page.bytes_mut()[HEADER_SIZE..];
    body[..8].copy_from_slice(&round.to_le_bytes());
    body[8..10].copy_from_slice(&(images.len() as u16).to_le_bytes());
    body[10..12].copy_from_slice(&place.to_le_bytes());
    for (i, image) in images.iter().enumerate() {
        let entry = &mut body[16 + i * 10..][..10];
        entry[..6].copy_from_slice(&PageId::new(1, pages[i].0).to_bytes());
        entry[6..].copy_from_slice(&sum_in(&image.as_chunks().0[0]).to_le_bytes());
    }
    page.set_checksum();
    let directory = AlignedBuf::from_slice(page.bytes());
    let parts: Vec<&[u8]> =
        std::iter::once(&directory[..]).chain(images.iter().map(|i| &i[..])).collect();
    let at = (DWB_DIRECTORY as usize + slot) * PAGE_SIZE;
    file.file.write_durable(at as u64, &parts).expect("written");
    slot + parts.len()
}

#[test]
fn areas_of_older_versions_are_read() {
    let disk = SimDisk::new(3);
    let file = primary(&disk);
    let next = old_batch(&file, 0, 7, 0, &[(500, 1), (501, 1)]);
    let next = old_batch(&file, next, 7, 1, &[(501, 2)]);
    // What an earlier round has left behind.
    old_batch(&file, next, 6, 2, &[(500, 9), (600, 9)]);
    assert_eq!(found(&file), [(500, 1), (501, 2)]);
    let torn = AlignedBuf::from_slice(&[7; PAGE_SIZE]);
    file.file.write_at(501 * PAGE_SIZE as u64, &torn).expect("written");
    recovered(&file).repair(&file).expect("repaired");
    let mut now = AlignedBuf::new(PAGE_SIZE);
    file.read_raw(501, &mut now).expect("a page");
    assert!(now[..] == image(PageId::new(1, 501), 2)[..]);
    // New batches come after it, and end it.
    let area = Doublewrite::new(&recovered(&file));
    assert!(area.holds(PageId::new(1, 501)));
    let _open = protect(&area, &file, 0..1, 3).expect("protected");
    assert_eq!(found(&file), [(1000, 3)]);
    // The first batch's image stays where it is until its slots are taken.
    assert!(area.holds(PageId::new(1, 501)));
    for at in [100, 200, 300] {
        area.written(protect(&area, &file, at..at + 63, 4).expect("protected"));
    }
    area.written(protect(&area, &file, 400..463, 4).expect("protected"));
    assert!(!area.holds(PageId::new(1, 501)));
}

/// A file has come in the place of another while batches of both wait for a sync: it covers both.
#[test]
fn a_sync_covers_every_file_that_had_the_number() {
    let disk = SimDisk::new(4);
    let first = primary(&disk);
    let old = open(&disk, 2, OpenMode::Create);
    let raw = disk.open(Path::new("/c.ndf"), OpenMode::Create).expect("a file");
    raw.write_zeros(0, u64::from(PAGES) * PAGE_SIZE as u64).expect("space");
    let new = Arc::new(DataFile::new(old.spec.clone(), raw).expect("a data file"));
    let area = new_area();
    let id = PageId::new(2, 500);
    for file in [&old, &new] {
        let images = BTreeMap::from([(id, image(id, 7))]);
        let batch =
            try_protect(&area, &first, &images, std::slice::from_ref(file), BatchPurpose::Eviction);
        file.file.write_at(500 * PAGE_SIZE as u64, &images[&id]).expect("a write");
        file.written(wal::Lsn::MAX);
        area.written(batch.expect("protected"));
    }
    // These fill the area: the last one finds no room before the homes of the first ones are
    // durable.
    area.written(protect(&area, &first, 0..63, 1).expect("protected"));
    let _open =
        [100, 200, 300].map(|at| protect(&area, &first, at..at + 63, 1).expect("protected"));
    assert!(!area.holds(id));
    assert_eq!((old.unsynced(), new.unsynced()), (None, None));
    let after = disk.crash_keeping(|_| false);
    let mut now = AlignedBuf::new(PAGE_SIZE);
    let file = after.open(Path::new("/c.ndf"), OpenMode::Open).expect("the file");
    file.read_at(500 * PAGE_SIZE as u64, &mut now).expect("a page");
    assert_eq!(now[..], image(id, 7)[..]);
}

/// What cannot be read is rewritten if the area has it, and left to the readers that want it if
/// not.
#[test]
fn unreadable_pages_do_not_keep_the_database_down() {
    let disk = SimDisk::new(4);
    let file = primary(&disk);
    let area = new_area();
    let images: BTreeMap<_, _> =
        [700, 704].map(|page| (PageId::new(1, page), image(PageId::new(1, page), 9))).into();
    let _open =
        try_protect(&area, &file, &images, std::slice::from_ref(&file), BatchPurpose::Eviction)
            .expect("protected");
    let recovered = recovered(&file);
    disk.fail_on(Path::new("/a.mdf"), sim::OpKind::Read, 1, sim::Fault::Io);
    recovered.repair(&file).expect("repaired");
    let mut now = AlignedBuf::new(PAGE_SIZE);
    for (id, image) in &images {
        file.read_raw(id.page, &mut now).expect("readable");
        assert!(now[..] == image[..], "{id:?}");
    }
}

/// A batch whose images are durable and whose homes are not written.
type OpenBatch = (ProtectedBatch, BTreeMap<PageId, AlignedBuf>);

/// Writes the homes of some batches, all in flight together.
fn write_homes(
    area: &Doublewrite,
    files: &[Arc<DataFile>; 2],
    open: Vec<OpenBatch>,
) -> Result<(), PageError> {
    let pages: Vec<(PageId, &AlignedBuf)> =
        open.iter().flat_map(|(_, images)| images.iter().map(|(id, image)| (*id, image))).collect();
    let slices: Vec<IoSlice<'_>> = pages.iter().map(|(_, image)| IoSlice::new(image)).collect();
    let home = |id: PageId| &files[usize::from(id.file) - 1];
    let each = slices.chunks(1).zip(&pages);
    let mut requests: Vec<Request<'_>> = each
        .map(|(one, (id, _))| {
            let offset = u64::from(id.page) * PAGE_SIZE as u64;
            Request { file: &*home(*id).file, offset, data: Data::Write(one) }
        })
        .collect();
    let mut result = Ok(());
    transfer(&mut requests, &mut |_, _, ended| result = result.clone().and(ended));
    result?;
    files.iter().for_each(|file| file.written(wal::Lsn::MAX));
    open.into_iter().for_each(|(batch, _)| area.written(batch));
    Ok(())
}

/// Runs of file 1 that tests borrow: first page and number.
const RUNS: [(u32, u32); 4] = [(280, 24), (304, 24), (328, 24), (352, 40)];
/// Homes lie after them.
const HOMES: Range<u32> = 400..PAGES;

fn numbered(id: PageId, version: u32) -> AlignedBuf {
    let mut page = Page::zeroed();
    page.format(id, PageType::Data, 0, UnitId(1));
    page.bytes_mut()[PAGE_SIZE / 2..][..4].copy_from_slice(&version.to_le_bytes());
    seal_image(page.bytes_mut());
    AlignedBuf::from_slice(page.bytes())
}

/// Writers of random pages, and what they may expect after a crash.
struct WriterLoad<'a> {
    area: &'a Doublewrite,
    files: &'a [Arc<DataFile>; 2],
    rng: &'a mut fastrand::Rng,
    version: u32,
    open: Vec<(BatchPurpose, OpenBatch)>,
    lent: bool,
    /// Versions whose homes are written, and are durable.
    written: BTreeMap<PageId, u32>,
    durable: BTreeMap<PageId, u32>,
    /// Written without an image since the last sync: the log would rebuild them.
    formatted: Vec<PageId>,
}

impl WriterLoad<'_> {
    fn pages(&mut self, most: usize) -> BTreeMap<PageId, AlignedBuf> {
        let mut pages = BTreeMap::new();
        for _ in 0..self.rng.usize(1..=most) {
            let id = PageId::new(self.rng.u16(1..3), self.rng.u32(HOMES));
            if !self.open.iter().any(|(_, (_, images))| images.contains_key(&id)) {
                self.version += 1;
                pages.insert(id, numbered(id, self.version));
            }
        }
        pages
    }

    fn note(&mut self, images: &BTreeMap<PageId, AlignedBuf>) {
        for (id, image) in images {
            let version = image[PAGE_SIZE / 2..].first_chunk().map(|v| u32::from_le_bytes(*v));
            self.written.insert(*id, version.expect("four bytes"));
        }
    }

    /// Writes the homes of some of the batches.
    fn end_some(&mut self) -> Result<(), PageError> {
        self.rng.shuffle(&mut self.open);
        let some = self.open.split_off(self.rng.usize(0..self.open.len()));
        for (_, (_, images)) in &some {
            self.note(images);
        }
        write_homes(self.area, self.files, some.into_iter().map(|(_, open)| open).collect())
    }

    fn sync(&mut self) -> Result<(), PageError> {
        for file in self.files {
            file.written(wal::Lsn::MAX);
            file.sync()?;
        }
        self.durable.clone_from(&self.written);
        self.formatted.clear();
        Ok(())
    }

    /// Pages that the log would rebuild go home alone.
    fn format(&mut self) -> Result<(), PageError> {
        let (area, files) = (self.area, self.files);
        let mut pages = self.pages(6);
        pages.retain(|id, _| !area.holds(*id));
        for (id, image) in &pages {
            self.formatted.push(*id);
            files[usize::from(id.file) - 1]
                .file
                .write_at(u64::from(id.page) * PAGE_SIZE as u64, image)?;
        }
        self.note(&pages);
        Ok(())
    }

    /// Borrows the runs, or gives them back when their batches are home: then others write there at
    /// once.
    fn borrow_or_end(&mut self) -> Result<(), PageError> {
        if !self.lent {
            self.lent = true;
            return self.area.lend(&self.files[0], &RUNS);
        }
        if self.open.iter().any(|(purpose, _)| *purpose == BatchPurpose::Borrower) {
            return Ok(());
        }
        self.sync()?;
        self.area.end_loan(&self.files[0])?;
        self.lent = false;
        for page in RUNS[0].0..RUNS[3].0 {
            if self.rng.bool() {
                let other = numbered(PageId::new(1, page), 0);
                self.files[0].file.write_at(u64::from(page) * PAGE_SIZE as u64, &other)?;
            }
        }
        Ok(())
    }

    /// Until the disk dies, with up to three batches of checkpoints at a time, as many of a
    /// borrower, and one of eviction.
    fn run(&mut self) -> Result<(), PageError> {
        for _ in 0..80 {
            match self.rng.u8(..10) {
                0 => self.format()?,
                1 => self.borrow_or_end()?,
                _ => self.protect()?,
            }
            while self.open.len() > 5 || !self.open.is_empty() && self.rng.u8(..3) == 0 {
                self.end_some()?;
            }
        }
        while !self.open.is_empty() {
            self.end_some()?;
        }
        Ok(())
    }

    fn protect(&mut self) -> Result<(), PageError> {
        let open =
            |of: BatchPurpose| self.open.iter().filter(|(purpose, _)| *purpose == of).count();
        let purpose = match () {
            () if self.lent && open(BatchPurpose::Borrower) < 3 && self.rng.bool() => {
                BatchPurpose::Borrower
            }
            () if open(BatchPurpose::Checkpoint) < 3 => BatchPurpose::Checkpoint,
            () if open(BatchPurpose::Eviction) == 0 => BatchPurpose::Eviction,
            () => return Ok(()),
        };
        let most = match purpose {
            _ if self.rng.bool() => 8,
            BatchPurpose::Borrower => 23,
            _ => BATCH_IMAGES,
        };
        let images = self.pages(most);
        if !images.is_empty() {
            match try_protect(self.area, &self.files[0], &images, self.files, purpose) {
                Ok(batch) => self.open.push((purpose, (batch, images))),
                // It would wait; eviction must not.
                Err(PageError::Invalid { .. }) if purpose == BatchPurpose::Checkpoint => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Whatever write or sync the power fails at, after a kill too, and again while what it left is
/// written over: every page is whole after the repair, and none is older than it was durable.
#[test]
fn no_page_stays_torn() {
    let runs = std::env::var("RINGWOOD_DWB_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(15);
    for seed in 0..runs {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut disk = SimDisk::new(seed);
        let mut files = [1, 2].map(|id| open(&disk, id, OpenMode::Create));
        let (mut version, mut durable) = (0, BTreeMap::new());
        for life in 0..4 {
            // Killed with the power on: the next one finds all of it, but not on the device yet.
            let killed = rng.bool();
            if !killed {
                disk.crash_at(disk.io_count() + rng.u64(1..2000));
            }
            // It ends as it must, or it was too short.
            let area = Doublewrite::new(&recovered(&files[0]));
            let written = durable.clone();
            let (open_batches, formatted) = (Vec::new(), Vec::new());
            let mut load = WriterLoad {
                area: &area,
                files: &files,
                rng: &mut rng,
                version,
                open: open_batches,
                lent: false,
                written,
                durable,
                formatted,
            };
            let ended = load.run();
            assert!(!matches!(ended, Err(PageError::Invalid { .. })), "seed {seed}: no room");
            let formatted = std::mem::take(&mut load.formatted);
            let must = std::mem::take(&mut load.durable);
            version = load.version;
            if !killed {
                disk = disk.crash(seed * 4 + life);
            }
            // The end of a process ends its locks.
            files.iter().for_each(|file| file.file.release());
            files = [1, 2].map(|id| open(&disk, id, OpenMode::Open));
            let area = recovered(&files[0]);
            files.iter().for_each(|file| area.repair(file).expect("repaired"));
            area.end_loan(&files[0]).expect("the end of the loan");
            durable = BTreeMap::new();
            let mut now = AlignedBuf::new(PAGE_SIZE);
            for (file, page) in files.iter().flat_map(|file| HOMES.map(move |page| (file, page))) {
                let id = PageId::new(file.spec.id, page);
                file.read_raw(page, &mut now).expect("a page");
                let before = must.get(&id).copied().unwrap_or(0);
                let whole = file.verify(page, &now.as_chunks().0[0]).is_ok();
                let found =
                    now[PAGE_SIZE / 2..].first_chunk().map_or(0, |v| u32::from_le_bytes(*v));
                let rebuilt = formatted.contains(&id) && !whole;
                let never_written = before == 0 && now.iter().all(|byte| *byte == 0);
                assert!(
                    whole || rebuilt || never_written,
                    "seed {seed}, life {life}: page {id} is torn"
                );
                assert!(
                    !whole || found >= before,
                    "seed {seed}, life {life}: page {id} {found} < {before}"
                );
                if rebuilt {
                    // As redo does, or the next life would find what this one has torn.
                    file.file
                        .write_at(u64::from(page) * PAGE_SIZE as u64, &numbered(id, before))
                        .expect("a write");
                }
                durable.insert(id, if whole { found } else { before });
            }
            files.iter().for_each(|file| file.file.sync().expect("synced"));
        }
    }
}

/// Only what the last loan says counts, and nothing after its end.
#[test]
fn borrowed_runs_count_while_they_are_lent() {
    let disk = SimDisk::new(5);
    let file = primary(&disk);
    let area = new_area();
    let batch = |page: u32, mark: u8| {
        let images = (page..page + 23).map(|page| PageId::new(1, page));
        let images = images.map(|id| (id, image(id, mark))).collect();
        try_protect(&area, &file, &images, std::slice::from_ref(&file), BatchPurpose::Borrower)
    };
    assert!(batch(500, 1).is_err(), "nothing is lent");
    area.lend(&file, &RUNS).expect("lent");
    let open = [500, 530, 560, 590].map(|page| batch(page, 1).expect("room"));
    assert!(batch(620, 1).is_err(), "all runs are in use");
    assert_eq!(found(&file).len(), 4 * 23);
    // The area itself has room as always, and the floor of its batches ends no loan.
    let _eviction = protect(&area, &file, 0..63, 2).expect("room");
    assert_eq!(found(&file).len(), 4 * 23 + 63);
    open.into_iter().for_each(|batch| area.written(batch));
    area.written(batch(500, 3).expect("room after a sync"));
    assert!(found(&file).contains(&(500, 3)) && area.holds(PageId::new(1, 500)));
    file.sync().expect("durable homes");
    area.end_loan(&file).expect("the end");
    assert!(!area.holds(PageId::new(1, 500)));
    assert_eq!(found(&file).len(), 63);
    // The next loan has none of what the last one has left in the same runs.
    area.lend(&file, &RUNS).expect("lent");
    assert_eq!(found(&file).len(), 63);
    // A process that dies with a loan: the next one ends it when all is repaired.
    area.written(batch(700, 4).expect("room"));
    let left = recovered(&file);
    assert_eq!(left.images().len(), 63 + 23);
    left.end_loan(&file).expect("the end");
    assert_eq!(found(&file), [], "all is over");
    assert_eq!(recovered(&file).last_number(), left.last_number());
}

/// The page that names borrowed extents may list them in any order.
#[test]
fn borrowed_runs_are_found_in_any_order() {
    let disk = SimDisk::new(8);
    let file = primary(&disk);
    let area = new_area();
    area.lend(&file, &[(352, 24), (280, 24)]).expect("lent");
    for (page, mark) in [(500, 1), (530, 2)] {
        let ids = (page..page + 20).map(|page| PageId::new(1, page));
        let images = ids.map(|id| (id, image(id, mark))).collect();
        let _open =
            try_protect(&area, &file, &images, std::slice::from_ref(&file), BatchPurpose::Borrower)
                .expect("room");
    }
    let wanted: Vec<(u32, u8)> =
        (500..520).map(|page| (page, 1)).chain((530..550).map(|page| (page, 2))).collect();
    assert_eq!(found(&file), wanted);
}

/// A full borrowed batch is found whole; a torn image of it counts for nothing.
#[test]
fn the_largest_borrowed_batch_is_found_whole() {
    let disk = SimDisk::new(6);
    let file = primary(&disk);
    let area = new_area();
    let (first, pages) = (280, LOAN_IMAGES as u32 + 1);
    area.lend(&file, &[(first, pages)]).expect("lent");
    let images: BTreeMap<_, _> = (1000..1000 + LOAN_IMAGES as u32)
        .map(|page| PageId::new(1, page))
        .map(|id| (id, image(id, 9)))
        .collect();
    let batch =
        try_protect(&area, &file, &images, std::slice::from_ref(&file), BatchPurpose::Borrower);
    let all: Vec<(u32, u8)> = images.keys().map(|id| (id.page, 9)).collect();
    assert_eq!(found(&file), all);
    area.written(batch.expect("room"));
    let last = u64::from(first + pages - 1) * PAGE_SIZE as u64;
    file.file.write_at(last, &AlignedBuf::new(PAGE_SIZE)).expect("a write");
    assert_eq!(found(&file), all[..all.len() - 1], "an image that is torn counts for nothing");
}
