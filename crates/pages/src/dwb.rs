//! Torn-page protection: a page that is written in place goes first to the doublewrite area of file 1.
//!
//! A batch is one write: the directory page, then the images. It is durable before the first page goes home, and it is
//! overwritten only when all its homes are durable. So at most the pages of the last batch can be torn, and each of
//! them is whole in the area. Pages that the log rebuilds (formatted since their last write) skip the area, unless the
//! last batch names them: the area must not hold an image older than the last write of a page.

use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, DWB_FIRST, DWB_PAGES, PAGE_SIZE, PageId, UnitId};
use crate::page::{HEADER_SIZE, Page, PageType, checksum_of, id_in, sum_in};
use crate::writer::sync_all;
use disk::AlignedBuf;
use std::collections::HashSet;
use std::sync::Arc;

const ENTRY: usize = 10;
const AT_COUNT: usize = 8;
const AT_ENTRIES: usize = 16;

/// The area's state in memory; one writer at a time.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    /// Pages of the last batch.
    last: HashSet<PageId>,
    /// Files whose home writes of the last batch may not be durable.
    pending: Vec<Arc<DataFile>>,
    batch: u64,
    directory: AlignedBuf,
}

impl Doublewrite {
    pub fn new() -> Doublewrite {
        Doublewrite {
            last: HashSet::new(),
            pending: Vec::new(),
            batch: 0,
            directory: AlignedBuf::new(PAGE_SIZE),
        }
    }

    /// Whether the last batch holds an image of the page.
    pub fn holds(&self, page: PageId) -> bool {
        self.last.contains(&page)
    }

    /// Makes the images durable in the area. `homes` are the files that the caller writes to right after.
    pub fn protect(
        &mut self,
        primary: &DataFile,
        images: &[(PageId, &[u8; PAGE_SIZE])],
        homes: Vec<Arc<DataFile>>,
    ) -> Result<(), PageError> {
        debug_assert!(!images.is_empty() && images.len() <= DWB_PAGES as usize);
        sync_all(&self.pending)?;
        self.pending.clear();
        // Whatever happens from here on, the area no longer protects the pages of the batch before.
        self.last.clear();
        self.batch += 1;
        let mut page = Page::zeroed();
        page.format(PageId::new(1, DWB_DIRECTORY), PageType::Doublewrite, 0, UnitId(0));
        let body = &mut page.bytes_mut()[HEADER_SIZE..];
        body[..8].copy_from_slice(&self.batch.to_le_bytes());
        body[AT_COUNT..AT_COUNT + 2].copy_from_slice(&(images.len() as u16).to_le_bytes());
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
        primary.file.write_durable(u64::from(DWB_DIRECTORY) * PAGE_SIZE as u64, &parts)?;
        self.last.extend(images.iter().map(|(id, _)| *id));
        self.pending = homes;
        Ok(())
    }
}

/// Repairs pages that power loss left torn from the last batch, in the files of `files`; returns how many. Run before
/// anything else reads the files.
pub(crate) fn restore(primary: &DataFile, files: &[Arc<DataFile>]) -> Result<usize, PageError> {
    let mut area = AlignedBuf::new((1 + DWB_PAGES as usize) * PAGE_SIZE);
    primary.read_raw(DWB_DIRECTORY, &mut area)?;
    let (pages, _) = area.as_chunks::<PAGE_SIZE>();
    let Some((directory, images)) = pages.split_first() else { return Ok(0) };
    let entries = directory_entries(directory);
    let mut home = AlignedBuf::new(PAGE_SIZE);
    let mut repaired = 0;
    for (image, (id, sum)) in images.iter().zip(entries) {
        if checksum_of(image) != sum || sum_in(image) != sum || id_in(image) != id {
            continue;
        }
        let Some(file) = files.iter().find(|f| f.spec.id == id.file) else { continue };
        if id.page >= file.pages() {
            continue;
        }
        file.read_raw(id.page, &mut home)?;
        let (now, _) = home.as_chunks::<PAGE_SIZE>();
        if now.first().is_some_and(|now| file.verify(id.page, now).is_err()) {
            home.copy_from_slice(image);
            file.file.write_durable(u64::from(id.page) * PAGE_SIZE as u64, &[&home])?;
            repaired += 1;
        }
    }
    Ok(repaired)
}

/// Pages and checksums that a directory names; none when it is torn or was never written.
fn directory_entries(directory: &[u8; PAGE_SIZE]) -> Vec<(PageId, u32)> {
    let own = PageId::new(1, DWB_DIRECTORY);
    if sum_in(directory) != checksum_of(directory)
        || id_in(directory) != own
        || directory[1] != PageType::Doublewrite as u8
    {
        return Vec::new();
    }
    let body = &directory[HEADER_SIZE..];
    let count = u16::from_le_bytes([body[AT_COUNT], body[AT_COUNT + 1]]).min(DWB_PAGES as u16) as usize;
    let (entries, _) = body[AT_ENTRIES..].as_chunks::<ENTRY>();
    let entry = |e: &[u8; ENTRY]| {
        let id = PageId::from_bytes([e[0], e[1], e[2], e[3], e[4], e[5]]);
        (id, u32::from_le_bytes([e[6], e[7], e[8], e[9]]))
    };
    entries.iter().take(count).map(entry).collect()
}

const _: () = assert!(
    DWB_DIRECTORY + 1 == DWB_FIRST && HEADER_SIZE + AT_ENTRIES + ENTRY * DWB_PAGES as usize <= PAGE_SIZE
);
