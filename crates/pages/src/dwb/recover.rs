//! The doublewrite area as a database finds it when it is opened, and the repair of torn pages from
//! it.
//!
//! Guarantees: only whole images count, of each page the newest; areas of older versions (batches
//! of one round, one after the other from the area's start) are read too.

use super::loan::write_loan;
use super::{
    AT_COUNT, AT_ENTRIES, AT_FLOOR, AT_MARK, AT_ROUND_ENTRIES, AT_SLOT, BatchPlace, ENTRY, LOAN,
    LOAN_SLOT, MARK, MOST_ENTRIES, SLOTS,
};
use crate::error::PageError;
use crate::files::DataFile;
use crate::id::{DWB_DIRECTORY, PAGE_SIZE, PageId};
use crate::page::{HEADER_SIZE, PageType, checksum_of, id_in, sum_in};
use disk::{AlignedBuf, Data, Request, transfer};
use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::ops::Range;

/// What the area had when the database was opened.
#[derive(Debug)]
pub(crate) struct RecoveredArea {
    /// Adjacent slots from this one on: the area, and what there is in borrowed extents.
    parts: Vec<(usize, AlignedBuf)>,
    /// In the order in which they were written.
    batches: Vec<Directory>,
    /// Extents were borrowed.
    lent: bool,
    last_number: u64,
}

impl RecoveredArea {
    /// Reads the area of file 1, before anything else reads the files.
    pub fn read(primary: &DataFile) -> Result<RecoveredArea, PageError> {
        primary.file.sync()?;
        let mut area = AlignedBuf::new(SLOTS * PAGE_SIZE);
        primary.read_raw(DWB_DIRECTORY, &mut area)?;
        let mut found = directories(area.as_chunks().0);
        let loan =
            area.as_chunks().0.get(LOAN_SLOT).and_then(|page| Directory::of(page, LOAN_SLOT));
        let loan = loan.filter(|loan| loan.place == LOAN && loan.named_slot == LOAN_SLOT);
        let mut last_number = 0;
        let mut lent = false;
        let mut parts = vec![(0, area)];
        if let Some(loan) = &loan {
            last_number = loan.number;
            lent = !loan.entries.is_empty();
            for (run, pages) in loan.runs() {
                if let Some((directory, part)) = borrowed(primary, loan, run, pages)? {
                    found.push(directory);
                    parts.push((run, part));
                }
            }
        }
        let floor = found.iter().chain(&loan).map(|batch| batch.floor).max().unwrap_or(0);
        last_number = found.iter().map(|batch| batch.number).fold(last_number, u64::max);
        // What is over by the word of a later one has no part in a repair, as its homes were
        // durable, but may be older than they are.
        found.retain(|batch| batch.number >= floor);
        // Within a round of an older version the places rise already.
        found.sort_by_key(|batch| batch.number);
        Ok(RecoveredArea { parts, batches: found, lent, last_number })
    }

    /// Of a new file.
    pub fn nothing() -> RecoveredArea {
        RecoveredArea { parts: Vec::new(), batches: Vec::new(), lent: false, last_number: 0 }
    }

    /// No batch has a higher one.
    pub fn last_number(&self) -> u64 {
        self.last_number + u64::from(self.lent)
    }

    /// Number, slots and pages of each batch in the area, in the order in which they were written.
    pub fn batches(&self) -> impl Iterator<Item = (u64, Range<usize>, Vec<PageId>)> {
        self.batches.iter().filter(|batch| batch.slot < SLOTS).map(|batch| {
            let end = (batch.slot + 1 + batch.entries.len()).min(SLOTS);
            (batch.number, batch.slot..end, batch.entries.iter().map(|(id, _)| *id).collect())
        })
    }

    fn images_of(&self, batch: &Directory) -> &[[u8; PAGE_SIZE]] {
        // The area is one part; a borrowed run begins with its batch.
        let first = if batch.slot < SLOTS { 0 } else { batch.slot };
        let part = self.parts.iter().find(|(start, _)| *start == first);
        let pages = part.map(|(first, part)| (part.as_chunks().0, batch.slot - first));
        pages.and_then(|(pages, at)| pages.get(at + 1..)).unwrap_or_default()
    }

    /// Ends the loan of a process that has ended, after the repair of all files: their homes are
    /// durable. The extents may get other contents now.
    ///
    /// # Errors
    /// I/O.
    pub fn end_loan(&self, primary: &DataFile) -> Result<(), PageError> {
        if !self.lent {
            return Ok(());
        }
        let number = self.last_number();
        write_loan(primary, &BatchPlace { number, slot: LOAN_SLOT, floor: number }, &[])
    }

    /// The newest whole image of each page.
    pub fn images(&self) -> BTreeMap<PageId, &[u8; PAGE_SIZE]> {
        let mut newest = BTreeMap::new();
        for batch in &self.batches {
            for (image, (id, sum)) in self.images_of(batch).iter().zip(&batch.entries) {
                if checksum_of(image) == *sum && sum_in(image) == *sum && id_in(image) == *id {
                    newest.insert(*id, image);
                }
                // Else the batch was not durable, and none of its pages had gone home, or the slot
                // has a newer batch's image: then the home was durable before.
            }
        }
        newest
    }

    /// Repairs pages of a file that power loss left torn. What an earlier process left in the
    /// device's cache is durable on return: redo takes what it reads for written, and the slots
    /// that protect it are used again.
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
            // What cannot be read is rewritten too.
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

/// The batch in a borrowed run, if it has one of this loan.
fn borrowed(
    primary: &DataFile,
    loan: &Directory,
    run: usize,
    pages: usize,
) -> Result<Option<(Directory, AlignedBuf)>, PageError> {
    let first = u32::try_from(DWB_DIRECTORY as usize + run).ok();
    let inside = |first: &u32| run >= SLOTS && *first as usize + pages <= primary.pages() as usize;
    let Some(first) = first.filter(inside).filter(|_| pages > 0) else { return Ok(None) };
    let mut part = AlignedBuf::new(PAGE_SIZE);
    primary.read_raw(first, &mut part)?;
    let directory = part.as_chunks().0.first().and_then(|page| Directory::of(page, run));
    let own = |d: &Directory| d.place == MARK && d.named_slot == run && d.number > loan.number;
    let Some(directory) = directory.filter(own).filter(|d| d.entries.len() < pages) else {
        return Ok(None);
    };
    let mut part = AlignedBuf::new((1 + directory.entries.len()) * PAGE_SIZE);
    primary.read_raw(first, &mut part)?;
    Ok(Some((directory, part)))
}

/// The directories of the area.
fn directories(area: &[[u8; PAGE_SIZE]]) -> Vec<Directory> {
    let directory = |slot: usize| area.get(slot).and_then(|page| Directory::of(page, slot));
    // Of an older version: the round at the area's start. What lies after its end is of rounds
    // before.
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
    found
}

/// A batch's directory.
#[derive(Debug)]
struct Directory {
    number: u64,
    /// [`MARK`], [`LOAN`], or the place in its round.
    place: u16,
    /// Where it says that it is, and where it is.
    named_slot: usize,
    slot: usize,
    /// Batches with lower numbers were over when this one was written.
    floor: u64,
    /// Pages and checksums; of a loan see [`runs`](Self::runs).
    entries: Vec<(PageId, u32)>,
}

impl Directory {
    /// What a page of the area says if it is one; none when it is torn or was never written.
    fn of(page: &[u8; PAGE_SIZE], slot: usize) -> Option<Directory> {
        let own = PageId::new(1, DWB_DIRECTORY);
        if page[1] != PageType::Doublewrite as u8
            || id_in(page) != own
            || sum_in(page) != checksum_of(page)
        {
            return None;
        }
        let body = &page[HEADER_SIZE..];
        let word = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        let long = |at: usize| body[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let number = long(0)?;
        let place = word(AT_MARK);
        let own = place == MARK || place == LOAN;
        let floor = if own { long(AT_FLOOR)? } else { 0 };
        let count = word(AT_COUNT).min(MOST_ENTRIES as u16) as usize;
        let at = if own { AT_ENTRIES } else { AT_ROUND_ENTRIES };
        let (entries, _) = body[at..].as_chunks::<ENTRY>();
        let entry = |e: &[u8; ENTRY]| {
            let id = PageId::from_bytes([e[0], e[1], e[2], e[3], e[4], e[5]]);
            (id, u32::from_le_bytes([e[6], e[7], e[8], e[9]]))
        };
        let entries = entries.iter().take(count).map(entry).collect();
        let named_slot = u32::from_le_bytes(*body[AT_SLOT..].first_chunk()?) as usize;
        Some(Directory { number, place, named_slot, slot, floor, entries })
    }

    /// The runs of a loan: first slot and number of slots.
    fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.entries.iter().map(|(start, slots)| {
            let start = start.to_bytes();
            let start = u32::from_le_bytes([start[0], start[1], start[2], start[3]]);
            (start as usize, *slots as usize)
        })
    }
}
