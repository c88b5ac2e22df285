//! The doublewrite area as a database finds it when it is opened, and the repair of torn pages from it.
//!
//! Guarantees: only whole images count, of each page the newest; areas of older versions (batches of one round, one behind
//! the other from the area's start) are read too.

use super::{AT_COUNT, AT_ENTRIES, AT_FLOOR, AT_MARK, AT_ROUND_ENTRIES, AT_SLOT, ENTRY, MARK, SLOTS};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, DWB_PAGES, PAGE_SIZE, PageId};
use crate::page::{HEADER_SIZE, PageType, checksum_of, id_in, sum_in};
use disk::{AlignedBuf, Data, Request, transfer};
use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::ops::Range;

/// What the area had when the database was opened.
#[derive(Debug)]
pub(crate) struct Recovered {
    area: AlignedBuf,
    /// In the order in which they were written.
    batches: Vec<Directory>,
}

impl Recovered {
    /// Reads the area of file 1, before anything else reads the files.
    pub fn read(primary: &DataFile) -> Result<Recovered, PageError> {
        primary.file.sync()?;
        let mut area = AlignedBuf::new(SLOTS * PAGE_SIZE);
        primary.read_raw(DWB_DIRECTORY, &mut area)?;
        let batches = batches(area.as_chunks().0);
        Ok(Recovered { area, batches })
    }

    /// Of a new file.
    pub fn nothing() -> Recovered {
        Recovered { area: AlignedBuf::new(0), batches: Vec::new() }
    }

    /// Number, slots and pages of each batch, in the order in which they were written.
    pub fn batches(&self) -> impl Iterator<Item = (u64, Range<usize>, Vec<PageId>)> {
        self.batches.iter().map(|batch| {
            let end = (batch.slot + 1 + batch.entries.len()).min(SLOTS);
            (batch.number, batch.slot..end, batch.entries.iter().map(|(id, _)| *id).collect())
        })
    }

    /// The newest whole image of each page.
    pub fn images(&self) -> BTreeMap<PageId, &[u8; PAGE_SIZE]> {
        let pages: &[[u8; PAGE_SIZE]] = self.area.as_chunks().0;
        let mut newest = BTreeMap::new();
        for batch in &self.batches {
            let images = pages.get(batch.slot + 1..).unwrap_or_default();
            for (image, (id, sum)) in images.iter().zip(&batch.entries) {
                if checksum_of(image) == *sum && sum_in(image) == *sum && id_in(image) == *id {
                    newest.insert(*id, image);
                }
                // Else the batch was not durable, and none of its pages had gone home, or the slot has a newer batch's
                // image: then the home was durable before.
            }
        }
        newest
    }

    /// Repairs pages of a file that power loss left torn. What an earlier process left in the device's cache is durable on
    /// return: redo takes what it reads for written, and the slots that protect it are used again.
    pub fn repair(&self, file: &DataFile) -> Result<(), PageError> {
        file.file.sync()?;
        let images = self.images();
        let own = images.range(PageId::new(file.spec.id, 0)..=PageId::new(file.spec.id, u32::MAX));
        let own: Vec<_> = own.filter(|(id, _)| id.page < file.pages()).collect();
        let mut homes = AlignedBuf::new(own.len() * PAGE_SIZE);
        let mut torn: Vec<usize> = Vec::new();
        let mut slices: Vec<IoSliceMut<'_>> =
            homes.chunks_exact_mut(PAGE_SIZE).map(IoSliceMut::new).collect();
        let mut requests: Vec<Request<'_>> = Vec::with_capacity(own.len());
        for (home, (id, _)) in slices.chunks_mut(1).zip(&own) {
            let offset = u64::from(id.page) * PAGE_SIZE as u64;
            requests.push(Request { file: &*file.file, offset, data: Data::Read(home) });
        }
        transfer(&mut requests, &mut |i, request, result| {
            let Data::Read(bufs) = &request.data else { return };
            let now = bufs.first().and_then(|buf| buf.as_chunks().0.first());
            // What cannot be read is written anew too.
            if result.is_err() || now.is_none_or(|now| file.verify(own[i].0.page, now).is_err()) {
                torn.push(i);
            }
        });
        for (id, image) in torn.into_iter().map(|i| own[i]) {
            let at = u64::from(id.page) * PAGE_SIZE as u64;
            file.file.write_durable(at, &[&AlignedBuf::from_slice(&image[..])])?;
        }
        Ok(())
    }
}

/// The directories that count, oldest batch first: what is over by the word of a later one has no part in a repair, as its
/// homes were durable, but may be older than they are.
fn batches(area: &[[u8; PAGE_SIZE]]) -> Vec<Directory> {
    let directory = |slot: usize| area.get(slot).and_then(|page| Directory::of(page, slot));
    // Of an older version: the round at the area's start. What lies behind its end is of rounds before.
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(batch) = directory(at).filter(|batch| usize::from(batch.place) == found.len()) {
        if found.first().is_some_and(|first: &Directory| first.number != batch.number) {
            break;
        }
        at += 1 + batch.entries.len();
        found.push(batch);
    }
    let own = (0..area.len()).filter_map(directory).filter(|batch| batch.place == MARK);
    found.extend(own.filter(|batch| batch.named_slot == batch.slot));
    let floor = found.iter().map(|batch| batch.floor).max().unwrap_or(0);
    found.retain(|batch| batch.number >= floor);
    // Within a round the places rise already.
    found.sort_by_key(|batch| batch.number);
    found
}

/// A batch's directory.
#[derive(Debug)]
struct Directory {
    number: u64,
    /// [`MARK`], or the place in its round.
    place: u16,
    /// Where it says that it is, and where it is.
    named_slot: usize,
    slot: usize,
    /// Batches with lower numbers were over when this one was written.
    floor: u64,
    /// Pages and checksums.
    entries: Vec<(PageId, u32)>,
}

impl Directory {
    /// What a page of the area says if it is one; none when it is torn or was never written.
    fn of(page: &[u8; PAGE_SIZE], slot: usize) -> Option<Directory> {
        let own = PageId::new(1, DWB_DIRECTORY);
        if page[1] != PageType::Doublewrite as u8 || id_in(page) != own || sum_in(page) != checksum_of(page) {
            return None;
        }
        let body = &page[HEADER_SIZE..];
        let word = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        let long = |at: usize| body[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let number = long(0)?;
        let place = word(AT_MARK);
        let floor = if place == MARK { long(AT_FLOOR)? } else { 0 };
        let count = word(AT_COUNT).min(DWB_PAGES as u16) as usize;
        let at = if place == MARK { AT_ENTRIES } else { AT_ROUND_ENTRIES };
        let (entries, _) = body[at..].as_chunks::<ENTRY>();
        let entry = |e: &[u8; ENTRY]| {
            let id = PageId::from_bytes([e[0], e[1], e[2], e[3], e[4], e[5]]);
            (id, u32::from_le_bytes([e[6], e[7], e[8], e[9]]))
        };
        let entries = entries.iter().take(count).map(entry).collect();
        Some(Directory { number, place, named_slot: word(AT_SLOT).into(), slot, floor, entries })
    }
}
