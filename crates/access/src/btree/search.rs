//! The search for a key in a node of a B+tree. What is cut short is an error, never a panic.
//!
//! The search compares the first eight bytes of keys as numbers, and of keys of up to sixteen bytes
//! the next eight where the first are equal. In a leaf it looks first where the key would be if the
//! keys in between were spread evenly: ascending numbers are found at the first look instead of the
//! seventh. Inner nodes are halved: how full their leaves are differs, so the first look would
//! miss, and they are near in the processor's caches.

use super::node::{INNER_HEAD, LEAF_HEAD, slots};
use crate::error::{AccessError, corrupt};
use pages::Page;
use std::cmp::Ordering;

/// The key that is looked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// Its first eight bytes as a number, filled up with zeros, and the next eight.
    head: u64,
    next: u64,
    key: &'a [u8],
}

impl<'a> Wanted<'a> {
    #[inline]
    fn of(key: &'a [u8]) -> Wanted<'a> {
        let next = if key.len() > WORD { head_of(&key[WORD..]) } else { 0 };
        Wanted { head: head_of(key), next, key }
    }
}

/// Bytes that are compared as one number.
const WORD: usize = 8;

/// The key in one slot, as the search compares it: mostly by its first eight bytes alone.
#[derive(Clone, Copy)]
struct SlotKey {
    head: u64,
    /// Where it lies on the page.
    from: usize,
    len: usize,
}

/// The first eight bytes of a key as a number that is ordered as they are.
#[inline]
pub(crate) fn head_of(key: &[u8]) -> u64 {
    if let Some(bytes) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    // In words that overlap: to copy a few bytes, and then to read them as one number, takes longer
    // than both.
    if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << (64 - 8 * key.len());
    }
    key.iter().enumerate().map(|(at, byte)| u64::from(*byte) << (56 - 8 * at)).sum()
}

/// The first eight of `len` bytes from a place of a page on, as a number that is ordered as they
/// are; fewer are filled up with zeros. `None` where the page ends before them.
#[inline]
fn word_at(page: &Page, from: usize, len: usize) -> Option<u64> {
    let bytes = page.bytes();
    // What follows a short key on the page is cut off again.
    match bytes.get(from..from + WORD) {
        Some(&[a, b, c, d, e, f, g, h]) => {
            let word = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            Some(if len < WORD { word & !(u64::MAX >> (8 * len)) } else { word })
        }
        _ => Some(head_of(bytes.get(from..from + len)?)),
    }
}

impl SlotKey {
    /// Of a slot with `HEAD` bytes in front of the key: leaf or inner entry. The page has the slot,
    /// see [`slots`]. `None` where it is cut short.
    #[inline]
    fn at<const HEAD: usize>(page: &Page, slot: u16) -> Option<SlotKey> {
        let (off, len) = page.place_of(slot)?;
        let (from, rest) = (off + HEAD, len.checked_sub(HEAD)?);
        let len = match HEAD {
            LEAF_HEAD => {
                let &[low, high] = page.bytes().get(from - 2..from)? else { return None };
                let len = usize::from(u16::from_le_bytes([low, high]));
                if len > rest {
                    return None;
                }
                len
            }
            _ => rest,
        };
        Some(SlotKey { head: word_at(page, from, len)?, from, len })
    }

    #[inline]
    fn cmp(&self, page: &Page, wanted: &Wanted<'_>) -> Option<Ordering> {
        if self.head != wanted.head {
            return Some(self.head.cmp(&wanted.head));
        }
        // Filled up with zeros, two keys that differ do so in the order of their bytes: what
        // follows the end of one is zeros or more in the other, which is larger anyhow. If they do
        // not differ then, the shorter one is a prefix of the other.
        if self.len <= 2 * WORD && wanted.key.len() <= 2 * WORD {
            let next = match self.len.checked_sub(WORD) {
                Some(rest @ 1..) => word_at(page, self.from + WORD, rest)?,
                _ => 0,
            };
            return Some(next.cmp(&wanted.next).then(self.len.cmp(&wanted.key.len())));
        }
        Some(page.bytes().get(self.from..self.from + self.len)?.cmp(wanted.key))
    }
}

/// Fewer slots than this are halved at once.
const FEW: u16 = 6;
/// Slots beside the first guess among which the key is looked for then; twice as many each time
/// that it is further away.
const NEAR: u16 = 2;

/// The separators around a node, as numbers: what the way down to it tells of where a key is in it.
/// A hint: no answer depends on it, but with it the search need not look at both ends of the node,
/// which lie far apart in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Between {
    low: Option<u64>,
    high: Option<u64>,
}

impl Between {
    /// Between two separators' numbers.
    #[inline]
    pub(crate) fn of(low: u64, high: Option<u64>) -> Between {
        Between { low: Some(low), high }
    }

    pub(crate) fn low(self) -> Option<u64> {
        self.low
    }

    pub(crate) fn high(self) -> Option<u64> {
        self.high
    }

    /// The way goes on by this slot of an inner node.
    #[inline]
    pub(crate) fn narrow(&mut self, page: &Page, slot: u16) {
        let Some(count) = slots(page) else { return };
        let head = |slot| SlotKey::at::<INNER_HEAD>(page, slot).map(|key| key.head);
        if slot > 0 && slot < count {
            self.low = head(slot);
        }
        if slot + 1 < count {
            self.high = head(slot + 1);
        }
    }
}

/// In a leaf.
#[inline]
fn find(page: &Page, wanted: Wanted<'_>, between: Between) -> Option<(u16, bool)> {
    let order = |slot: u16| SlotKey::at::<LEAF_HEAD>(page, slot)?.cmp(page, &wanted);
    let (mut low, mut high) = (0, slots(page)?);
    if high > FEW {
        let mut ends =
            between.low.zip(between.high).map(|(least, most)| ((low, least), (high, most)));
        if ends.is_none() {
            let (least, most) =
                (SlotKey::at::<LEAF_HEAD>(page, low)?, SlotKey::at::<LEAF_HEAD>(page, high - 1)?);
            match most.cmp(page, &wanted)? {
                Ordering::Less => return Some((high, false)),
                Ordering::Equal => return Some((high - 1, true)),
                Ordering::Greater => high -= 1,
            }
            match least.cmp(page, &wanted)? {
                Ordering::Less => low += 1,
                other => return Some((low, other.is_eq())),
            }
            // Slot `low - 1` is below the key, slot `high` above it.
            ends = Some(((low - 1, least.head), (high, most.head)));
        }
        if let Some(guess) =
            ends.and_then(|(least, most)| interpolate(least, most, wanted.head, (low, high)))
        {
            let mut step = NEAR;
            match order(guess)? {
                Ordering::Equal => return Some((guess, true)),
                Ordering::Less => {
                    low = guess + 1;
                    while high - low > step {
                        match order(low + step)? {
                            Ordering::Equal => return Some((low + step, true)),
                            Ordering::Less => (low, step) = (low + step + 1, 2 * step),
                            Ordering::Greater => {
                                high = low + step;
                                break;
                            }
                        }
                    }
                }
                Ordering::Greater => {
                    high = guess;
                    while high - low > step {
                        match order(high - step)? {
                            Ordering::Equal => return Some((high - step, true)),
                            Ordering::Greater => (high, step) = (high - step, 2 * step),
                            Ordering::Less => {
                                low = high - step + 1;
                                break;
                            }
                        }
                    }
                }
            }
        }
    }
    while low < high {
        let mid = low + (high - low) / 2;
        match order(mid)? {
            Ordering::Less => low = mid + 1,
            Ordering::Equal => return Some((mid, true)),
            Ordering::Greater => high = mid,
        }
    }
    Some((low, false))
}

/// In an inner node, from slot 1 on: slot 0 stands for minus infinity. Tells `between` what
/// separators the key lies between that have been looked at: those beside the place, unless the key
/// is one of them.
#[inline]
fn find_child(page: &Page, wanted: Wanted<'_>, between: &mut Between) -> Option<(u16, bool)> {
    let (first, count) = (1, slots(page)?);
    let (mut low, mut high) = (first, count);
    // Slots from here on are above the key by their numbers alone.
    let mut above = count;
    let (mut below, mut next) = (0, 0);
    // New rows are mostly added at the end.
    let mut at = high.saturating_sub(1);
    // By the numbers alone: nearly always they tell, and a loop of nothing else is short.
    while low < high {
        let head = SlotKey::at::<INNER_HEAD>(page, at)?.head;
        if head < wanted.head {
            (low, below) = (at + 1, head);
        } else {
            high = at;
            if head > wanted.head {
                (above, next) = (at, head);
            }
        }
        at = low + (high - low) / 2;
    }
    if low > first {
        between.low = Some(below);
    }
    if above < count {
        between.high = Some(next);
    }
    // Those with the key's own number, if there are any.
    let mut high = above;
    while low < high {
        let at = low + (high - low) / 2;
        let there = SlotKey::at::<INNER_HEAD>(page, at)?;
        match there.cmp(page, &wanted)? {
            Ordering::Less => (low, between.low) = (at + 1, Some(there.head)),
            Ordering::Equal => return Some((at, true)),
            Ordering::Greater => (high, between.high) = (at, Some(there.head)),
        }
    }
    Some((low, false))
}

/// The slot in `low..high` where the number would be if the ones between two slots with their
/// numbers were spread evenly; none where those are equal, or the range is empty.
#[inline]
fn interpolate(
    (first, least): (u16, u64),
    (last, most): (u16, u64),
    wanted: u64,
    (low, high): (u16, u16),
) -> Option<u16> {
    let (range, slots) = (most.checked_sub(least)?, u64::from(last.checked_sub(first)?));
    if range == 0 || low >= high {
        return None;
    }
    // A page has less than 2,048 slots: after the shift the product fits.
    let shift = if range >> 52 == 0 { 0 } else { 12 };
    let offset =
        (wanted.checked_sub(least)? >> shift).min(range >> shift) * slots / (range >> shift);
    Some((first + offset as u16).clamp(low, high - 1))
}

/// The slot of a leaf where the key is if the keys around it are spread evenly between the
/// separators; none where those are not known, or the leaf is small. Reads no entry.
#[inline]
pub(crate) fn likely_slot(page: &Page, key: &[u8], between: Between) -> Option<u16> {
    let count = slots(page).filter(|count| *count > FEW)?;
    interpolate((0, between.low?), (count, between.high?), head_of(key), (0, count))
}

/// Whether a leaf's slot has this key.
#[inline]
pub(crate) fn has_key(page: &Page, slot: u16, key: &[u8]) -> bool {
    let wanted = Wanted::of(key);
    slots(page).is_some_and(|count| slot < count)
        && SlotKey::at::<LEAF_HEAD>(page, slot).and_then(|there| there.cmp(page, &wanted))
            == Some(Ordering::Equal)
}

/// The number of the separator in a slot of an inner node.
pub(crate) fn inner_head(page: &Page, slot: u16) -> Option<u64> {
    Some(slot).filter(|slot| slots(page).is_some_and(|count| *slot < count))?;
    SlotKey::at::<INNER_HEAD>(page, slot).map(|key| key.head)
}

/// First slot of a leaf whose key is `>= key`, and whether it is equal.
#[inline]
pub(crate) fn lower_bound(page: &Page, key: &[u8]) -> Result<(u16, bool), AccessError> {
    lower_bound_between(page, key, Between::default())
}

/// As [`lower_bound`], with what the way to the leaf has told.
#[inline]
pub(crate) fn lower_bound_between(
    page: &Page,
    key: &[u8],
    between: Between,
) -> Result<(u16, bool), AccessError> {
    find(page, Wanted::of(key), between)
        .ok_or_else(|| corrupt(page.id(), "index entry is cut short"))
}

/// First slot of a leaf whose key is `> key`.
pub(crate) fn upper_bound(page: &Page, key: &[u8]) -> Result<u16, AccessError> {
    let (at, equal) = lower_bound(page, key)?;
    Ok(at + u16::from(equal))
}

/// Slot of the child that holds `key`: the last one whose separator is `<= key`.
pub(crate) fn child_for(page: &Page, key: &[u8]) -> Result<u16, AccessError> {
    child_between(page, key, &mut Between::default())
}

/// As [`child_for`]; `between` learns of the separators around the child.
#[inline]
pub(crate) fn child_between(
    page: &Page,
    key: &[u8],
    between: &mut Between,
) -> Result<u16, AccessError> {
    let (at, equal) = search_children(page, key, between)?;
    if equal {
        between.narrow(page, at);
        return Ok(at);
    }
    Ok(at - 1)
}

/// As [`child_between`], for a key that is probably in the child of a slot or in one soon behind
/// it: those are looked at first, each time twice as far away.
pub(crate) fn child_from(
    page: &Page,
    from: u16,
    key: &[u8],
    between: &mut Between,
) -> Result<u16, AccessError> {
    match gallop(page, from, Wanted::of(key)) {
        Some(at) => {
            between.narrow(page, at);
            Ok(at)
        }
        None => child_between(page, key, between),
    }
}

/// The last slot of an inner node, from `from` on, whose separator is not above the key. `None`
/// where that of `from` is, or where a separator is cut short.
fn gallop(page: &Page, from: u16, wanted: Wanted<'_>) -> Option<u16> {
    let is_above = |slot| Some(SlotKey::at::<INNER_HEAD>(page, slot)?.cmp(page, &wanted)?.is_gt());
    let mut high = slots(page).filter(|count| from < *count)?;
    // Slot 0 stands for minus infinity.
    if from > 0 && is_above(from)? {
        return None;
    }
    // Slot `low` is not above the key, slot `high` is, or is behind the last one.
    let (mut low, mut step) = (from, 1);
    while low + step < high {
        if is_above(low + step)? {
            high = low + step;
        } else {
            (low, step) = (low + step, 2 * step);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_above(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(low)
}

/// Slot of the child that holds the largest keys `< key`: the last one whose separator is `< key`.
pub(crate) fn child_before(page: &Page, key: &[u8]) -> Result<u16, AccessError> {
    Ok(search_children(page, key, &mut Between::default())?.0 - 1)
}

/// The first slot after slot 0, which stands for minus infinity, whose separator is `>= key`, and
/// whether it is equal.
#[inline]
fn search_children(
    page: &Page,
    key: &[u8],
    between: &mut Between,
) -> Result<(u16, bool), AccessError> {
    if page.slot_count() == 0 {
        return Err(corrupt(page.id(), "inner index page without a child"));
    }
    find_child(page, Wanted::of(key), between)
        .ok_or_else(|| corrupt(page.id(), "index entry is cut short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pages::{ApplyCtx, Lsn, PageId, PageOp, PageType, TxnId, UnitId, apply};

    /// A node with these keys, and at slot 0 minus infinity if it is an inner one.
    fn node(level: u8, keys: &[Vec<u8>]) -> Box<Page> {
        let (id, none) = (PageId::new(1, 300), PageId::NONE);
        let ctx = ApplyCtx { lsn: Lsn { vlf: 1, block: 16, slot: 1 }, txn: TxnId(1), index: 0 };
        let mut page = Page::zeroed();
        let mut put = |op: PageOp<'_>| apply(&mut page, id, &op, &ctx).unwrap();
        put(PageOp::Format {
            kind: PageType::Index,
            level,
            unit: UnitId(5),
            prev: none,
            next: none,
            root: id,
        });
        for (slot, key) in keys.iter().enumerate() {
            let slot = slot as u16;
            if level == 0 {
                put(PageOp::Insert {
                    slot,
                    flags: 0,
                    key: Some(key),
                    value: &[9; 3][..key.len() % 4],
                });
            } else {
                let content = [&[7; INNER_HEAD], key.as_slice()].concat();
                put(PageOp::InsertRaw { slot, content: &content });
            }
        }
        page
    }

    /// The search finds what a look at every slot finds, whatever the keys are like.
    #[test]
    fn search_is_a_linear_search() {
        let mut rng = fastrand::Rng::with_seed(5);
        for round in 0..600 {
            let kind = round % 8;
            let key = |n: u32, rng: &mut fastrand::Rng| match kind {
                0 => n.to_be_bytes().to_vec(),
                1 => [&[1][..], &n.to_be_bytes()].concat(),
                // Long common prefixes.
                2 => [&[b'p'; 11][..], &n.to_be_bytes()].concat(),
                // Zeros at the end, and keys that are prefixes of others.
                3 => vec![0; n as usize % 12],
                4 => (0..rng.usize(0..12)).map(|_| rng.u8(0..3)).collect(),
                // Equal in their first eight bytes, up to the sixteenth and beyond it.
                5 => [&[7; 8][..], &n.to_be_bytes()[..], &vec![0; n as usize % 7]].concat(),
                6 => {
                    (0..rng.usize(6..20)).map(|at| if at < 8 { 5 } else { rng.u8(0..2) }).collect()
                }
                // One far away from the others.
                _ => if n.is_multiple_of(50) { u64::MAX - u64::from(n) } else { u64::from(n) }
                    .to_be_bytes()
                    .to_vec(),
            };
            let range = if rng.bool() { 150 } else { 4_000_000_000 };
            let count = rng.u32(0..150);
            let dense = rng.bool();
            let mut some = |n: u32| key(if dense { n } else { rng.u32(0..range) }, &mut rng);
            let mut keys: Vec<Vec<u8>> = (0..count).map(&mut some).collect();
            let wanted: Vec<Vec<u8>> = (0..60).map(|n| some(n * 3)).collect();
            keys.sort();
            keys.dedup();
            let leaf = node(0, &keys);
            let mut separators = keys.clone();
            separators.retain(|key| !key.is_empty());
            separators.insert(0, Vec::new());
            let inner = node(1, &separators);
            for wanted in wanted.iter().chain(&keys) {
                let at = keys.partition_point(|key| key < wanted);
                let equal = keys.get(at) == Some(wanted);
                assert_eq!(
                    lower_bound(&leaf, wanted).unwrap(),
                    (at as u16, equal),
                    "{wanted:?} in {keys:?}"
                );
                // No answer depends on the hint, right or wrong.
                let right = Between {
                    low: keys.first().map(|key| head_of(key)),
                    high: keys.last().map(|key| head_of(key)),
                };
                let wrong = Between { low: Some(rng.u64(..)), high: Some(rng.u64(..)) };
                for hint in [right, wrong] {
                    let found = lower_bound_between(&leaf, wanted, hint).unwrap();
                    assert_eq!(found, (at as u16, equal), "{wanted:?} in {keys:?}, {hint:?}");
                }
                let child = separators.partition_point(|key| key <= wanted) - 1;
                let mut between = Between::default();
                let found = child_between(&inner, wanted, &mut between).unwrap();
                assert_eq!(found, child as u16, "{wanted:?} in {separators:?}");
                // The search learns what a look at the neighbours tells.
                let mut looked = Between::default();
                looked.narrow(&inner, found);
                assert_eq!((between.low, between.high), (looked.low, looked.high), "{wanted:?}");
                // So it is wherever the search begins.
                let (mut behind, from) = (Between::default(), rng.u16(0..separators.len() as u16));
                let found = child_from(&inner, from, wanted, &mut behind).unwrap();
                assert_eq!(found, child as u16, "{wanted:?} in {separators:?} from {from}");
                assert_eq!((behind.low, behind.high), (looked.low, looked.high), "{wanted:?}");
                let before = separators[1..].partition_point(|key| key < wanted);
                assert_eq!(child_before(&inner, wanted).unwrap(), before as u16);
            }
        }
    }

    #[test]
    fn heads_are_ordered_as_their_keys() {
        for len in 0..=9usize {
            let key: Vec<u8> = (1..=len as u8).map(|n| n.wrapping_mul(37)).collect();
            let mut bytes = [0; 8];
            bytes[..len.min(8)].copy_from_slice(&key[..len.min(8)]);
            assert_eq!(head_of(&key), u64::from_be_bytes(bytes), "{key:?}");
        }
    }
}
