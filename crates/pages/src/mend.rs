//! Pages that have decayed: which single bit of a page has changed since it was written.
//!
//! A CRC-32C of 8 KB tells every change of one bit from every other one, so a page of which one bit
//! is wrong can be put right. Other damage is taken for such a change once in some 65,000 cases;
//! the page must also be the one that belongs at its place. So this is for what could not be read
//! at all without it, and whoever uses it says so.

use crate::dwb::RecoveredArea;
use crate::error::PageError;
use crate::files::{DataFile, FileSpec};
use crate::id::{BOOT_PAGE, DWB_DIRECTORY, DWB_FIRST, DWB_PAGES, PAGE_SIZE, PageId, UnitId};
use crate::page::{AT_CHECKSUM, Page, PageType, checksum_of, id_in, sum_in};
use disk::{AlignedBuf, BlockFile, Disk, DiskError, OpenMode};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Pages that are read at once.
const BATCH: usize = 64;

/// What [`walk`] finds at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// As it was written.
    Whole,
    /// This bit of this byte had changed; what is handed over is the page as it was.
    OneBit { byte: usize, bit: u32 },
    /// More has changed; what is handed over is what is there.
    Damaged,
}

/// Puts an image right of which one bit has changed, if it is `id`'s then.
/// Returns the bit, as byte and bit.
#[must_use]
pub fn mend(image: &mut [u8; PAGE_SIZE], id: PageId) -> Option<(usize, u32)> {
    let (byte, bit) = flipped_bit(image)?;
    image[byte] ^= 1 << bit;
    let right = id_in(image) == id
        && sum_in(image) == checksum_of(image)
        && Page::from_bytes(image).page_type().is_some();
    if !right {
        image[byte] ^= 1 << bit;
    }
    right.then_some((byte, bit))
}

/// The bit of a page that would make its checksum right, as byte and bit; at most one can.
fn flipped_bit(image: &[u8; PAGE_SIZE]) -> Option<(usize, u32)> {
    let wrong = checksum_of(image) ^ sum_in(image);
    if wrong.is_power_of_two() {
        let bit = wrong.trailing_zeros();
        return Some((AT_CHECKSUM + bit as usize / 8, bit % 8));
    }
    // What each bit of a byte does to the checksum: of the last byte first, then of the ones before
    // it.
    let mut effects: [u32; 8] = std::array::from_fn(|bit| step(1 << bit));
    for byte in (0..PAGE_SIZE).rev().filter(|at| !(AT_CHECKSUM..AT_CHECKSUM + 4).contains(at)) {
        if let Some(bit) = effects.iter().position(|effect| *effect == wrong) {
            return Some((byte, bit as u32));
        }
        effects = effects.map(|effect| step(effect & 0xff) ^ effect >> 8);
    }
    None
}

/// What a byte does to a CRC-32C, without the inversions.
fn step(byte: u32) -> u32 {
    (0..8).fold(byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 })
}

/// What [`walk`] calls for each page.
pub type PageVisit<'a> =
    dyn FnMut(PageId, PageState, &[u8; PAGE_SIZE]) -> Result<(), PageError> + 'a;

/// Reads all pages of a file that were ever written and hands each over with its place and its
/// state. The doublewrite area and images of pages of other places, which lie in extents that it
/// has borrowed, are left out.
///
/// # Errors
/// What `each` says. A page that cannot be read is one that was not written.
pub fn walk(file: &dyn BlockFile, each: &mut PageVisit<'_>) -> Result<(), PageError> {
    let pages = usize::try_from(file.len()? / PAGE_SIZE as u64).unwrap_or(usize::MAX);
    let mut buf = AlignedBuf::new(BATCH * PAGE_SIZE);
    let mut number = None;
    let mut at = 0;
    while at < pages {
        let count = BATCH.min(pages - at);
        read_batch(file, at, &mut buf[..count * PAGE_SIZE])?;
        let images = buf[..count * PAGE_SIZE].as_chunks_mut::<PAGE_SIZE>().0;
        let number = *number.get_or_insert_with(|| file_number(images));
        for (i, image) in
            images.iter_mut().enumerate().filter(|(_, image)| image.iter().any(|b| *b != 0))
        {
            let Ok(page) = u32::try_from(at + i) else { continue };
            let id = PageId::new(number, page);
            let whole = sum_in(image) == checksum_of(image);
            if in_area(id) || (whole && id_in(image) != id) {
                continue;
            }
            let state = match whole {
                true => PageState::Whole,
                false => mend(image, id)
                    .map_or(PageState::Damaged, |(byte, bit)| PageState::OneBit { byte, bit }),
            };
            each(id, state, image)?;
        }
        at += count;
    }
    Ok(())
}

fn in_area(id: PageId) -> bool {
    id.file == 1 && (DWB_DIRECTORY..DWB_FIRST + DWB_PAGES).contains(&id.page)
}

/// What was wrong with a page that [`mend_file`] has rewritten, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MendedPage {
    pub id: PageId,
    pub byte: usize,
    pub bit: u32,
}

/// The state of a file that nobody has open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// Pages of which one bit had changed.
    pub mended: Vec<MendedPage>,
    /// Pages that are damaged further and are put right from the doublewrite area when the database
    /// is opened.
    pub in_area: Vec<PageId>,
    /// Pages that are damaged beyond that, with the unit that they say to be of; whether they are
    /// in use is not asked.
    pub damaged: Vec<(PageId, UnitId)>,
}

impl FileState {
    /// Whether every page is as it was written.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.mended.is_empty() && self.in_area.is_empty() && self.damaged.is_empty()
    }
}

/// Looks at all pages of a data file, and rewrites those of which one bit has changed if `write`
/// says so. Durable on return.
///
/// # Errors
/// I/O; somebody has the file open.
pub fn mend_file(disk: &dyn Disk, path: &Path, write: bool) -> Result<FileState, PageError> {
    let file = disk.open(path, if write { OpenMode::Open } else { OpenMode::Read })?;
    let mut state = FileState::default();
    let walked = walk(&*file, &mut |id, page, image| {
        match page {
            PageState::Whole => {}
            PageState::Damaged => state.damaged.push((id, Page::from_bytes(image).unit())),
            PageState::OneBit { byte, bit } => {
                state.mended.push(MendedPage { id, byte, bit });
                if write {
                    let at = u64::from(id.page) * PAGE_SIZE as u64;
                    file.write_durable(at, &[&AlignedBuf::from_slice(image)])?;
                }
            }
        }
        Ok(())
    });
    walked.inspect_err(|_| file.release())?;
    if state.damaged.is_empty() {
        file.release();
        return Ok(state);
    }
    let area = area_of(file.clone(), path);
    let in_area = state.damaged.extract_if(.., |(id, _)| area.contains(id));
    state.in_area = in_area.map(|(id, _)| id).collect();
    Ok(state)
}

/// The pages of which the doublewrite area of a primary file has a whole image. Releases the file.
fn area_of(file: Arc<dyn BlockFile>, path: &Path) -> BTreeSet<PageId> {
    // An area that cannot be read has nothing to give.
    let area =
        DataFile::new(FileSpec::unread(1, path), file).and_then(|file| RecoveredArea::read(&file));
    area.map(|area| area.images().keys().copied().collect()).unwrap_or_default()
}

/// The number of a file by its first pages.
fn file_number(images: &[[u8; PAGE_SIZE]]) -> u16 {
    let named = images.iter().take(10).filter(|image| sum_in(image) == checksum_of(image));
    named.map(|image| id_in(image).file).next().unwrap_or(1)
}

/// Reads adjacent pages; those that cannot be read are zeros.
fn read_batch(file: &dyn BlockFile, first: usize, into: &mut [u8]) -> Result<(), PageError> {
    let at = |page: usize| (first + page) as u64 * PAGE_SIZE as u64;
    if file.read_at(at(0), into).is_ok() {
        return Ok(());
    }
    let mut one = AlignedBuf::new(PAGE_SIZE);
    for (page, place) in into.chunks_exact_mut(PAGE_SIZE).enumerate() {
        match file.read_at(at(page), &mut one) {
            Ok(()) => place.copy_from_slice(&one),
            Err(DiskError::Crashed) => return Err(DiskError::Crashed.into()),
            Err(_) => place.fill(0),
        }
    }
    Ok(())
}

/// One page of an open file, put right if one bit of it has changed; `None` where it is damaged.
///
/// # Errors
/// I/O.
pub(crate) fn read_mended(
    file: &dyn BlockFile,
    id: PageId,
) -> Result<Option<Box<Page>>, PageError> {
    let mut buf = AlignedBuf::new(PAGE_SIZE);
    match file.read_at(u64::from(id.page) * PAGE_SIZE as u64, &mut buf) {
        Err(DiskError::ShortRead { .. }) => return Ok(None),
        read => read?,
    }
    let mut page = Page::zeroed();
    page.bytes_mut().copy_from_slice(&buf);
    let whole = page.stored_checksum() == page.compute_checksum();
    Ok((whole || mend(page.bytes_mut(), id).is_some()).then_some(page))
}

/// The database's own data ([`Store::read_boot`](crate::Store::read_boot)) of a primary file that
/// nobody has open for writing, as the last checkpoint left it; `None` where the page is damaged.
///
/// # Errors
/// I/O.
pub fn read_boot_of(file: &dyn BlockFile) -> Result<Option<Vec<u8>>, PageError> {
    let Some(page) = read_mended(file, BOOT_PAGE)? else { return Ok(None) };
    if page.page_type() != Some(PageType::Boot) {
        return Ok(None);
    }
    let content = page.body().split_first_chunk::<4>();
    let content = content.and_then(|(len, rest)| rest.get(..u32::from_le_bytes(*len) as usize));
    Ok(content.map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rng: &mut fastrand::Rng) -> Box<Page> {
        let mut page = Page::zeroed();
        page.format(PageId::new(1, 77), PageType::Index, 0, UnitId(5));
        rng.fill(&mut page.bytes_mut()[crate::page::HEADER_SIZE..]);
        page.set_checksum();
        page
    }

    #[test]
    fn any_single_bit_is_put_right() {
        let mut rng = fastrand::Rng::with_seed(3);
        let whole = page(&mut rng);
        for at in (0..PAGE_SIZE * 8).step_by(7) {
            let mut image = *whole.bytes();
            image[at / 8] ^= 1 << (at % 8);
            assert_eq!(mend(&mut image, PageId::new(1, 77)), Some((at / 8, at as u32 % 8)));
            assert!(image == *whole.bytes(), "bit {at}");
        }
    }

    #[test]
    fn other_damage_and_other_pages_are_left_alone() {
        let mut rng = fastrand::Rng::with_seed(4);
        let whole = page(&mut rng);
        for _ in 0..500 {
            let mut image = *whole.bytes();
            let (a, b) = (rng.usize(0..PAGE_SIZE * 8), rng.usize(0..PAGE_SIZE * 8));
            for at in [a, b] {
                image[at / 8] ^= 1 << (at % 8);
            }
            let before = image;
            assert!(a == b || mend(&mut image, PageId::new(1, 77)).is_none());
            assert!(image == before);
        }
        let mut image = *whole.bytes();
        image[5000] ^= 1;
        assert_eq!(mend(&mut image, PageId::new(1, 78)), None);
    }
}
