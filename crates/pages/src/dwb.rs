//! Torn-page protection: a page that is written in place goes first to the doublewrite area of file 1.
//!
//! The area holds batches one behind the other, each a directory page and the images that it names, written at once and durable
//! before the first of its pages goes home. When there is no room behind the last batch, all homes are made durable and a
//! new round begins at the area's start: files are synced once a round, however few pages a batch has. A batch belongs to
//! the round if its directory has the round's number and its own place in it; what a round before has left behind has another.
//!
//! So at most the pages of one round can be torn, and the newest image of each is whole in the area. Pages that the log
//! rebuilds (formatted since their last write) skip the area, unless the round names them: the area must not hold an image
//! older than the last write of a page.

use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, DWB_FIRST, DWB_PAGES, PAGE_SIZE, PageId, UnitId};
use crate::page::{HEADER_SIZE, Page, PageType, checksum_of, id_in, sum_in};
use crate::writer::sync_all;
use disk::AlignedBuf;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

const ENTRY: usize = 10;
const AT_COUNT: usize = 8;
const AT_PLACE: usize = 10;
const AT_ENTRIES: usize = 16;
/// Looking for damage reads pages of a file together that are at most so far apart, and at most so many pages.
const NEAR: u32 = 8;
const SPAN: u32 = 128;
/// Pages of the area, directories included.
const AREA_PAGES: usize = 1 + DWB_PAGES as usize;

/// The area's state in memory; one writer at a time.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    /// Number of the round; 0 before the first.
    round: u64,
    /// Batches of the round, and the area's pages that they take.
    batches: u16,
    used: usize,
    /// Pages of the round.
    held: HashSet<PageId>,
    /// Files whose home writes of the round may not be durable.
    pending: Vec<Arc<DataFile>>,
    directory: AlignedBuf,
}

impl Doublewrite {
    /// Of a file whose area has seen so many rounds.
    pub fn new(rounds: u64) -> Doublewrite {
        Doublewrite {
            round: rounds,
            batches: 0,
            // Nothing goes behind what is there: its round is over.
            used: AREA_PAGES,
            held: HashSet::new(),
            pending: Vec::new(),
            directory: AlignedBuf::new(PAGE_SIZE),
        }
    }

    /// Whether the round holds an image of the page.
    pub fn holds(&self, page: PageId) -> bool {
        self.held.contains(&page)
    }

    /// Makes the images durable in the area. `homes` are the files that the caller writes to right after.
    pub fn protect(
        &mut self,
        primary: &DataFile,
        images: &[(PageId, &[u8; PAGE_SIZE])],
        homes: Vec<Arc<DataFile>>,
    ) -> Result<(), PageError> {
        debug_assert!(!images.is_empty() && images.len() <= DWB_PAGES as usize);
        if self.used + 1 + images.len() > AREA_PAGES {
            sync_all(&self.pending)?;
            self.pending.clear();
            // Whatever happens from here on, the area no longer protects the pages of the round before.
            self.held.clear();
            self.round += 1;
            (self.batches, self.used) = (0, 0);
        }
        let mut page = Page::zeroed();
        page.format(PageId::new(1, DWB_DIRECTORY), PageType::Doublewrite, 0, UnitId(0));
        let body = &mut page.bytes_mut()[HEADER_SIZE..];
        body[..AT_COUNT].copy_from_slice(&self.round.to_le_bytes());
        body[AT_COUNT..AT_PLACE].copy_from_slice(&(images.len() as u16).to_le_bytes());
        body[AT_PLACE..AT_PLACE + 2].copy_from_slice(&self.batches.to_le_bytes());
        for (i, (id, image)) in images.iter().enumerate() {
            let at = AT_ENTRIES + i * ENTRY;
            body[at..at + 6].copy_from_slice(&id.to_bytes());
            body[at + 6..at + 10].copy_from_slice(&sum_in(image).to_le_bytes());
        }
        page.set_checksum();
        self.directory.copy_from_slice(page.bytes());
        let mut parts: Vec<&[u8]> = Vec::with_capacity(images.len() + 1);
        parts.push(&self.directory);
        parts.extend(images.iter().map(|(_, image)| &image[..]));
        let at = (DWB_DIRECTORY as usize + self.used) * PAGE_SIZE;
        primary.file.write_durable(at as u64, &parts)?;
        self.batches += 1;
        self.used += parts.len();
        self.held.extend(images.iter().map(|(id, _)| *id));
        for home in homes {
            // The file, not its number: another one may have had that before, and still wait here.
            if !self.pending.iter().any(|file| Arc::ptr_eq(file, &home)) {
                self.pending.push(home);
            }
        }
        Ok(())
    }
}

/// What the area had when the database was opened.
pub(crate) struct Recovered {
    area: AlignedBuf,
}

impl Recovered {
    /// Reads the area of file 1, before anything else reads the files.
    pub fn read(primary: &DataFile) -> Result<Recovered, PageError> {
        primary.file.sync()?;
        let mut area = AlignedBuf::new(AREA_PAGES * PAGE_SIZE);
        primary.read_raw(DWB_DIRECTORY, &mut area)?;
        Ok(Recovered { area })
    }

    fn pages(&self) -> &[[u8; PAGE_SIZE]] {
        self.area.as_chunks().0
    }

    /// How many rounds the area has seen: one that was cut short in its first write leaves the batches of the one before, and
    /// of others behind them.
    pub fn rounds(&self) -> u64 {
        let directories = self.pages().iter().filter_map(Directory::of);
        directories.map(|directory| directory.round).max().unwrap_or(0)
    }

    /// Repairs pages of a file that power loss left torn from the last round. What an earlier process left in the device's cache
    /// is durable on return: redo takes what it reads for written, and the round that protects it ends with the next batch.
    pub fn repair(&self, file: &DataFile) -> Result<(), PageError> {
        file.file.sync()?;
        let images = newest_images(self.pages());
        let own = images.range(PageId::new(file.spec.id, 0)..=PageId::new(file.spec.id, u32::MAX));
        let own: Vec<_> = own.filter(|(id, _)| id.page < file.pages()).collect();
        let mut home = AlignedBuf::new(SPAN as usize * PAGE_SIZE);
        let mut rest = &own[..];
        while let Some((first, _)) = rest.first() {
            let mut last = first.page;
            let together = |(id, _): &&(&PageId, _)| {
                let near = id.page - last <= NEAR && id.page - first.page < SPAN;
                last = if near { id.page } else { last };
                near
            };
            let (group, more) = rest.split_at(rest.iter().take_while(together).count());
            rest = more;
            let span = (last - first.page + 1) as usize * PAGE_SIZE;
            let all = file.read_raw(first.page, &mut home[..span]).is_ok();
            for (id, image) in group {
                // Another page among them cannot be read: that is for those who want it. This one is written anew.
                let read = all || file.read_raw(id.page, &mut home[..PAGE_SIZE]).is_ok();
                let now = home.as_chunks().0[if all { (id.page - first.page) as usize } else { 0 }];
                if !read || file.verify(id.page, &now).is_err() {
                    let at = u64::from(id.page) * PAGE_SIZE as u64;
                    file.file.write_durable(at, &[&AlignedBuf::from_slice(&image[..])])?;
                }
            }
        }
        Ok(())
    }
}

/// The newest whole image of each page that the round at the area's start names.
fn newest_images(area: &[[u8; PAGE_SIZE]]) -> BTreeMap<PageId, &[u8; PAGE_SIZE]> {
    let mut newest = BTreeMap::new();
    let (mut at, mut place, mut round) = (0, 0, None);
    while let Some(directory) = area.get(at).and_then(Directory::of) {
        if directory.place != place || *round.get_or_insert(directory.round) != directory.round {
            break;
        }
        let images = area.get(at + 1..).unwrap_or_default();
        for (image, (id, sum)) in images.iter().zip(&directory.entries) {
            if checksum_of(image) == *sum && sum_in(image) == *sum && id_in(image) == *id {
                newest.insert(*id, image);
            }
            // Else the batch was not durable, and none of its pages had gone home: an image before it is the newest.
        }
        at += 1 + directory.entries.len();
        place += 1;
    }
    newest
}

/// A batch's directory.
struct Directory {
    round: u64,
    place: u16,
    /// Pages and checksums.
    entries: Vec<(PageId, u32)>,
}

impl Directory {
    /// What a page of the area says if it is one; none when it is torn or was never written.
    fn of(page: &[u8; PAGE_SIZE]) -> Option<Directory> {
        let own = PageId::new(1, DWB_DIRECTORY);
        if sum_in(page) != checksum_of(page) || id_in(page) != own || page[1] != PageType::Doublewrite as u8 {
            return None;
        }
        let body = &page[HEADER_SIZE..];
        let word = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        let round = body.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
        let count = word(AT_COUNT).min(DWB_PAGES as u16) as usize;
        let (entries, _) = body[AT_ENTRIES..].as_chunks::<ENTRY>();
        let entry = |e: &[u8; ENTRY]| {
            let id = PageId::from_bytes([e[0], e[1], e[2], e[3], e[4], e[5]]);
            (id, u32::from_le_bytes([e[6], e[7], e[8], e[9]]))
        };
        let entries = entries.iter().take(count).map(entry).collect();
        Some(Directory { round, place: word(AT_PLACE), entries })
    }
}

const _: () = assert!(
    DWB_DIRECTORY + 1 == DWB_FIRST && HEADER_SIZE + AT_ENTRIES + ENTRY * DWB_PAGES as usize <= PAGE_SIZE
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::seal_image;
    use disk::{Disk, OpenMode};
    use sim::SimDisk;
    use std::path::Path;

    const PAGES: u32 = 800;

    fn open(disk: &SimDisk, id: u16, mode: OpenMode) -> Arc<DataFile> {
        let path = Path::new(["/a.mdf", "/b.ndf"][usize::from(id) - 1]);
        let file = disk.open(path, mode).expect("a file");
        if mode == OpenMode::Create {
            file.write_zeros(0, u64::from(PAGES) * PAGE_SIZE as u64).expect("space");
        }
        Arc::new(DataFile::new(crate::open::placeholder(id, path), file).expect("a data file"))
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

    fn found(file: &DataFile) -> Vec<(u32, u8)> {
        let mut area = AlignedBuf::new(AREA_PAGES * PAGE_SIZE);
        file.read_raw(DWB_DIRECTORY, &mut area).expect("the area");
        let (pages, _) = area.as_chunks::<PAGE_SIZE>();
        newest_images(pages).iter().map(|(id, image)| (id.page, image[PAGE_SIZE / 2])).collect()
    }

    fn protect(area: &mut Doublewrite, file: &Arc<DataFile>, pages: std::ops::Range<u32>, mark: u8) {
        let ids = pages.map(|page| PageId::new(1, 1000 + page));
        let images: Vec<_> = ids.map(|id| (id, image(id, mark))).collect();
        let images: Vec<_> = images.iter().map(|(id, image)| (*id, &image.as_chunks().0[0])).collect();
        area.protect(file, &images, vec![Arc::clone(file)]).expect("protected");
    }

    #[test]
    fn batches_of_a_round_go_behind_each_other_and_the_newest_image_counts() {
        let disk = SimDisk::new(1);
        let file = primary(&disk);
        let mut area = Doublewrite::new(0);
        protect(&mut area, &file, 0..2, 1);
        protect(&mut area, &file, 1..3, 2);
        assert_eq!(found(&file), [(1000, 1), (1001, 2), (1002, 2)]);
        assert!(area.holds(PageId::new(1, 1000)) && !area.holds(PageId::new(1, 1003)));

        // No room for 256 pages behind them: a new round, which hides what is left of the one before.
        protect(&mut area, &file, 100..356, 3);
        protect(&mut area, &file, 5..6, 4);
        assert_eq!(found(&file), [(1005, 4)]);
        assert!(!area.holds(PageId::new(1, 1100)));
        protect(&mut area, &file, 7..9, 5);
        assert_eq!(found(&file), [(1005, 4), (1007, 5), (1008, 5)]);
    }

    /// The next opening goes on with numbers that nothing in the area has, the remains of older rounds included.
    #[test]
    fn rounds_are_numbered_on_after_a_restart() {
        let disk = SimDisk::new(2);
        let file = primary(&disk);
        let rounds = || Recovered::read(&file).expect("the area").rounds();
        assert_eq!(rounds(), 0);
        let mut area = Doublewrite::new(0);
        protect(&mut area, &file, 0..1, 1);
        protect(&mut area, &file, 1..2, 1);
        protect(&mut area, &file, 2..3, 1);
        let mut area = Doublewrite::new(rounds());
        // As large as the first batch of the round before: the second one of that lies right behind it.
        protect(&mut area, &file, 0..1, 2);
        assert_eq!(found(&file), [(1000, 2)]);
    }

    /// A batch that is not whole counts for what is whole in it; what lies behind it does not count.
    #[test]
    fn a_torn_batch_ends_the_round() {
        let disk = SimDisk::new(3);
        let file = primary(&disk);
        let mut area = Doublewrite::new(0);
        for mark in 1..4 {
            protect(&mut area, &file, 0..2, mark);
        }
        let at = |page: u64| (u64::from(DWB_DIRECTORY) + page) * PAGE_SIZE as u64 + 5000;
        disk.rot(Path::new("/a.mdf"), at(8)).expect("an image of the third batch");
        assert_eq!(found(&file), [(1000, 3), (1001, 2)]);
        disk.rot(Path::new("/a.mdf"), at(3)).expect("the second directory");
        assert_eq!(found(&file), [(1000, 1), (1001, 1)]);
    }

    /// A file has come in the place of another while the round that knows that one goes on: both are durable when it ends.
    #[test]
    fn a_round_syncs_every_file_that_had_the_number() {
        let disk = SimDisk::new(4);
        let first = primary(&disk);
        let old = open(&disk, 2, OpenMode::Create);
        let raw = disk.open(Path::new("/c.ndf"), OpenMode::Create).expect("a file");
        raw.write_zeros(0, u64::from(PAGES) * PAGE_SIZE as u64).expect("space");
        let new = Arc::new(DataFile::new(old.spec.clone(), raw).expect("a data file"));
        let mut area = Doublewrite::new(0);
        for file in [&old, &new] {
            let id = PageId::new(2, 500);
            let page = image(id, 7);
            area.protect(&first, &[(id, &page.as_chunks().0[0])], vec![Arc::clone(file)]).expect("protected");
            file.file.write_at(500 * PAGE_SIZE as u64, &page).expect("a write");
            file.written(wal::Lsn::MAX);
        }
        // It fills the area: the next one begins a round, and no page of the one before is protected any more.
        protect(&mut area, &first, 0..250, 1);
        protect(&mut area, &first, 0..200, 1);
        assert!(!area.holds(PageId::new(2, 500)));
        assert_eq!((old.unsynced(), new.unsynced()), (None, None));
        let after = disk.crash_keeping(|_| false);
        let mut now = AlignedBuf::new(PAGE_SIZE);
        let file = after.open(Path::new("/c.ndf"), OpenMode::Open).expect("the file");
        file.read_at(500 * PAGE_SIZE as u64, &mut now).expect("a page");
        assert_eq!(now[..], image(PageId::new(2, 500), 7)[..]);
    }

    /// Protects and writes batches of random pages until the disk dies.
    fn write_until_the_end(
        rounds: u64,
        files: &[Arc<DataFile>; 2],
        rng: &mut fastrand::Rng,
    ) -> Result<(), PageError> {
        let mut area = Doublewrite::new(rounds);
        for _ in 0..40 {
            let most = if rng.bool() { 8 } else { 200 };
            let count = rng.usize(1..most);
            let pages: BTreeMap<PageId, AlignedBuf> = (0..count)
                .map(|_| (PageId::new(rng.u16(1..3), rng.u32(400..PAGES)), rng.u8(..)))
                .map(|(id, mark)| (id, image(id, mark)))
                .collect();
            let images: Vec<_> = pages.iter().map(|(id, image)| (*id, &image.as_chunks().0[0])).collect();
            let home = |id: PageId| &files[usize::from(id.file) - 1];
            let mut homes: Vec<Arc<DataFile>> = Vec::new();
            for (id, _) in &images {
                if !homes.iter().any(|file| file.spec.id == id.file) {
                    homes.push(home(*id).clone());
                }
            }
            area.protect(&files[0], &images, homes)?;
            for (id, image) in &images {
                home(*id).file.write_at(u64::from(id.page) * PAGE_SIZE as u64, &image[..])?;
                home(*id).written(wal::Lsn::MAX);
            }
        }
        Ok(())
    }

    /// What cannot be read is written anew if the area has it, and left to those who want it if not.
    #[test]
    fn unreadable_pages_do_not_keep_the_database_down() {
        let disk = SimDisk::new(4);
        let file = primary(&disk);
        let mut area = Doublewrite::new(0);
        let images = [700, 704].map(|page| (PageId::new(1, page), image(PageId::new(1, page), 9)));
        let named: Vec<_> = images.iter().map(|(id, image)| (*id, &image.as_chunks().0[0])).collect();
        area.protect(&file, &named, vec![Arc::clone(&file)]).expect("protected");
        let recovered = Recovered::read(&file).expect("the area");
        // The pages together, then one of them.
        for n in [1, 2] {
            disk.fail_on(Path::new("/a.mdf"), sim::OpKind::Read, n, sim::Fault::Io);
        }
        recovered.repair(&file).expect("repaired");
        let mut now = AlignedBuf::new(PAGE_SIZE);
        for (id, image) in &images {
            file.read_raw(id.page, &mut now).expect("readable");
            assert!(now[..] == image[..], "{id:?}");
        }
    }

    /// Whatever write or sync the power fails at, after a kill too, and again while what it left is written over: every page is
    /// whole after the repair.
    #[test]
    fn no_page_stays_torn() {
        for seed in 0..25 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut disk = SimDisk::new(seed);
            let mut files = [1, 2].map(|id| open(&disk, id, OpenMode::Create));
            let mut rounds = 0;
            for life in 0..3 {
                // Killed with the power on: the next one finds all of it, but not on the device yet.
                let killed = rng.bool();
                if !killed {
                    disk.crash_at(disk.io_count() + rng.u64(1..1500));
                }
                // It ends as it must, or it was too short.
                let _ = write_until_the_end(rounds, &files, &mut rng);
                if !killed {
                    disk = disk.crash(seed * 3 + life);
                }
                files = [1, 2].map(|id| open(&disk, id, OpenMode::Open));
                let area = Recovered::read(&files[0]).expect("the area");
                files.iter().for_each(|file| area.repair(file).expect("repaired"));
                rounds = area.rounds();
                let mut now = AlignedBuf::new(PAGE_SIZE);
                for (file, page) in files.iter().flat_map(|file| (400..PAGES).map(move |page| (file, page))) {
                    file.read_raw(page, &mut now).expect("a page");
                    let never_written = now.iter().all(|byte| *byte == 0);
                    let whole = never_written || file.verify(page, &now.as_chunks().0[0]).is_ok();
                    assert!(whole, "seed {seed}, life {life}: page {}:{page}", file.spec.id);
                }
            }
        }
    }
}
