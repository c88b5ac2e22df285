//! Entries of B+tree nodes. How a key is found among them is in [`super::search`].
//!
//! Leaf slot: row header (18), key length u16, key, value. Inner slot: child page id (6),
//! separator; the first slot's separator is empty and stands for minus infinity. Entries are in
//! ascending memcmp order of their keys. Everything that is read from a page is checked: a damaged
//! page gives an error, never a panic.

use crate::error::{AccessError, corrupt};
use pages::{
    MAX_SLOT_LEN, MAX_SLOTS, Page, PageId, PageType, ROW_HEADER, RowHeader, SLOT_SIZE, UnitId,
};

/// Longest key of an entry in bytes: an inner node holds at least four separators of this length.
pub const MAX_KEY_LEN: usize = 1_900;
/// Bytes in front of a leaf entry's key.
pub(crate) const LEAF_HEAD: usize = ROW_HEADER + 2;
/// Bytes in front of an inner entry's key.
pub(super) const INNER_HEAD: usize = 6;
/// Largest key and value of a leaf entry together, in bytes.
pub const MAX_ENTRY_LEN: usize = MAX_SLOT_LEN - LEAF_HEAD;
/// A tree deeper than this is a damaged one.
pub(crate) const MAX_LEVELS: u8 = 32;

/// A leaf entry as it stands on its page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafEntry<'a> {
    pub header: RowHeader,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// Key of a leaf slot's content.
#[inline]
pub(crate) fn leaf_key(content: &[u8]) -> Option<&[u8]> {
    let (len, rest) = content.get(ROW_HEADER..)?.split_first_chunk::<2>()?;
    rest.get(..usize::from(u16::from_le_bytes(*len)))
}

/// Decodes a leaf slot.
#[inline]
pub(crate) fn leaf_entry(page: &Page, slot: u16) -> Result<LeafEntry<'_>, AccessError> {
    let content = page.slot(slot)?;
    let entry = RowHeader::split(content).and_then(|(header, body)| {
        let (len, rest) = body.split_first_chunk::<2>()?;
        let (key, value) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        Some(LeafEntry { header, key, value })
    });
    entry.ok_or_else(|| corrupt(page.id(), "index entry is cut short"))
}

/// Header, key and value of each row of a leaf that can be read, without its tree: for what is left
/// of a damaged database.
pub fn leaf_rows(page: &Page) -> impl Iterator<Item = (RowHeader, &[u8], &[u8])> {
    let leaf = page.page_type() == Some(PageType::Index) && page.level() == 0;
    let slots = if leaf { slots(page).unwrap_or(0) } else { 0 };
    let entries = (0..slots).filter_map(|slot| leaf_entry(page, slot).ok());
    entries.map(|entry| (entry.header, entry.key, entry.value))
}

/// How many slots the page has; `None` if it cannot have so many.
#[inline]
pub(super) fn slots(page: &Page) -> Option<u16> {
    Some(page.slot_count()).filter(|count| usize::from(*count) <= MAX_SLOTS)
}

/// Decodes an inner slot: child and separator.
#[inline]
pub(crate) fn inner_entry(page: &Page, slot: u16) -> Result<(PageId, &[u8]), AccessError> {
    let (child, key) = page
        .slot(slot)?
        .split_first_chunk::<6>()
        .ok_or_else(|| corrupt(page.id(), "inner index entry is cut short"))?;
    Ok((PageId::from_bytes(*child), key))
}

/// Bytes of an inner entry.
pub(crate) fn inner_bytes(child: PageId, key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&child.to_bytes());
    out.extend_from_slice(key);
}

/// Checks that a page is a node of the tree in this unit. Which root the page names does not
/// matter, as a root that moves leaves the other nodes as they are; one that has left the tree
/// names none.
#[inline]
pub(crate) fn check_node(page: &Page, unit: UnitId) -> Result<(), AccessError> {
    let own =
        page.page_type() == Some(PageType::Index) && page.unit() == unit && !page.root().is_none();
    if !own || page.level() >= MAX_LEVELS {
        return Err(corrupt(page.id(), "page is not a node of the index"));
    }
    Ok(())
}

/// Whether a new slot with this content fits.
#[inline]
pub(crate) fn fits(page: &Page, content: usize) -> bool {
    page.free_bytes() >= content + SLOT_SIZE
}

/// The shortest key `s` with `left < s <= right`.
pub(crate) fn separator<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    debug_assert!(left < right, "entries are in ascending order");
    let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    &right[..(common + 1).min(right.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_short_and_divide() {
        assert_eq!(separator(b"abc", b"abd"), b"abd");
        assert_eq!(separator(b"abc", b"b12345"), b"b");
        assert_eq!(separator(b"ab", b"abc"), b"abc");
        assert_eq!(separator(b"", b"xyz"), b"x");
    }

    #[test]
    fn separator_property() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let mut key = || (0..rng.usize(0..6)).map(|_| rng.u8(0..3)).collect::<Vec<u8>>();
            let (mut a, mut b) = (key(), key());
            if a == b {
                continue;
            }
            if a > b {
                std::mem::swap(&mut a, &mut b);
            }
            let s = separator(&a, &b);
            assert!(a.as_slice() < s && s <= b.as_slice(), "{a:?} {s:?} {b:?}");
        }
    }
}
