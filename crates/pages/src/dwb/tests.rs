//! The doublewrite area on the simulated disk: batches side by side, power loss at any I/O, areas of older versions.

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

fn recovered(file: &DataFile) -> Recovered {
    Recovered::read(file).expect("the area")
}

fn found(file: &DataFile) -> Vec<(u32, u8)> {
    recovered(file).images().iter().map(|(id, image)| (id.page, image[PAGE_SIZE / 2])).collect()
}

fn new_area() -> Doublewrite {
    Doublewrite::new(&Recovered::nothing())
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
    whom: For,
) -> Result<Protected, PageError> {
    let named: Vec<_> = images.iter().map(|(id, image)| (*id, &image.as_chunks().0[0])).collect();
    area.protect(primary, &named, homes.to_vec(), whom, &no_room)
}

fn protect(
    area: &Doublewrite,
    file: &Arc<DataFile>,
    pages: Range<u32>,
    mark: u8,
) -> Result<Protected, PageError> {
    let ids = pages.map(|page| PageId::new(1, 1000 + page));
    let images = ids.map(|id| (id, image(id, mark))).collect();
    try_protect(area, file, &images, std::slice::from_ref(file), For::Eviction)
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

    // Room for the fourth large one is made by a sync of the first, which is home; the second stays.
    let large: Vec<Protected> = (0..3)
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
    let batch = |n: u32, whom| {
        let ids = (n * 100..n * 100 + 63).map(|page| PageId::new(1, page));
        let images = ids.map(|id| (id, image(id, 1))).collect();
        try_protect(&area, &file, &images, std::slice::from_ref(&file), whom)
    };
    let checkpoint: Vec<Protected> = (0..3).map(|n| batch(n, For::Checkpoint).expect("room")).collect();
    assert!(batch(3, For::Checkpoint).is_err());
    let eviction = batch(4, For::Eviction).expect("room");
    assert!(batch(5, For::Eviction).is_err());
    area.written(eviction);
    area.written(batch(5, For::Eviction).expect("room again, though the checkpoint's homes are not written"));
    drop(checkpoint);
}

/// Whoever waits for room gets it when another thread's homes are written.
#[test]
fn a_batch_waits_for_room() {
    let disk = SimDisk::new(1);
    let file = primary(&disk);
    let area = new_area();
    let open: Vec<Protected> =
        (0..4).map(|n| protect(&area, &file, n * 63..n * 63 + 63, 1).expect("room")).collect();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let id = PageId::new(1, 700);
            let page = image(id, 5);
            let named = [(id, &page.as_chunks().0[0])];
            area.protect(&file, &named, vec![file.clone()], For::Checkpoint, &|| Ok(()))
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
    // As large as the first batch of before: the second one of that lies right behind it, and was over at the opening.
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
    let images: Vec<_> = pages.iter().map(|&(page, mark)| image(PageId::new(1, page), mark)).collect();
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
    let parts: Vec<&[u8]> = std::iter::once(&directory[..]).chain(images.iter().map(|i| &i[..])).collect();
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
        let batch = try_protect(&area, &first, &images, std::slice::from_ref(file), For::Eviction);
        file.file.write_at(500 * PAGE_SIZE as u64, &images[&id]).expect("a write");
        file.written(wal::Lsn::MAX);
        area.written(batch.expect("protected"));
    }
    // These fill the area: the last one finds no room before the homes of the first ones are durable.
    area.written(protect(&area, &first, 0..63, 1).expect("protected"));
    let _open = [100, 200, 300].map(|at| protect(&area, &first, at..at + 63, 1).expect("protected"));
    assert!(!area.holds(id));
    assert_eq!((old.unsynced(), new.unsynced()), (None, None));
    let after = disk.crash_keeping(|_| false);
    let mut now = AlignedBuf::new(PAGE_SIZE);
    let file = after.open(Path::new("/c.ndf"), OpenMode::Open).expect("the file");
    file.read_at(500 * PAGE_SIZE as u64, &mut now).expect("a page");
    assert_eq!(now[..], image(id, 7)[..]);
}

/// What cannot be read is written anew if the area has it, and left to those who want it if not.
#[test]
fn unreadable_pages_do_not_keep_the_database_down() {
    let disk = SimDisk::new(4);
    let file = primary(&disk);
    let area = new_area();
    let images: BTreeMap<_, _> =
        [700, 704].map(|page| (PageId::new(1, page), image(PageId::new(1, page), 9))).into();
    let _open =
        try_protect(&area, &file, &images, std::slice::from_ref(&file), For::Eviction).expect("protected");
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
type Open = (Protected, BTreeMap<PageId, AlignedBuf>);

/// Writes the homes of some batches, all in flight together.
fn write_homes(area: &Doublewrite, files: &[Arc<DataFile>; 2], open: Vec<Open>) -> Result<(), PageError> {
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

/// Protects and writes batches of random pages until the disk dies, up to three at a time and one of eviction.
fn write_until_the_end(
    area: &Doublewrite,
    files: &[Arc<DataFile>; 2],
    rng: &mut fastrand::Rng,
) -> Result<(), PageError> {
    let mut open: Vec<Open> = Vec::new();
    for _ in 0..60 {
        let most = if rng.bool() { 8 } else { BATCH_IMAGES + 1 };
        let busy = |id: &PageId| open.iter().any(|(_, images)| images.contains_key(id));
        let images: BTreeMap<PageId, AlignedBuf> = (0..rng.usize(1..most))
            .map(|_| (PageId::new(rng.u16(1..3), rng.u32(400..PAGES)), rng.u8(..)))
            .filter(|(id, _)| !busy(id))
            .map(|(id, mark)| (id, image(id, mark)))
            .collect();
        if images.is_empty() {
            continue;
        }
        let whom = if open.len() < 3 { For::Checkpoint } else { For::Eviction };
        let batch = try_protect(area, &files[0], &images, files, whom)?;
        open.push((batch, images));
        while open.len() > 3 || !open.is_empty() && rng.u8(..3) == 0 {
            rng.shuffle(&mut open);
            let some = open.split_off(rng.usize(0..open.len()));
            write_homes(area, files, some)?;
        }
    }
    write_homes(area, files, open)
}

/// Whatever write or sync the power fails at, after a kill too, and again while what it left is written over: every page is
/// whole after the repair.
#[test]
fn no_page_stays_torn() {
    let runs = std::env::var("RINGWOOD_DWB_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(15);
    for seed in 0..runs {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut disk = SimDisk::new(seed);
        let mut files = [1, 2].map(|id| open(&disk, id, OpenMode::Create));
        for life in 0..3 {
            // Killed with the power on: the next one finds all of it, but not on the device yet.
            let killed = rng.bool();
            if !killed {
                disk.crash_at(disk.io_count() + rng.u64(1..2000));
            }
            // It ends as it must, or it was too short.
            let area = Doublewrite::new(&recovered(&files[0]));
            let ended = write_until_the_end(&area, &files, &mut rng);
            assert!(!matches!(ended, Err(PageError::Invalid { .. })), "seed {seed}: no room");
            if !killed {
                disk = disk.crash(seed * 3 + life);
            }
            // The end of a process ends its locks.
            files.iter().for_each(|file| file.file.release());
            files = [1, 2].map(|id| open(&disk, id, OpenMode::Open));
            let area = recovered(&files[0]);
            files.iter().for_each(|file| area.repair(file).expect("repaired"));
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
