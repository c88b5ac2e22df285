//! Locators of rows that are to be looked up together: they are put in the order in which the rows
//! lie, so that a page with several of them is visited once and each row is found beside the one
//! before it, and their pages are asked for before the first is read.
//! Guarantees: few locators stay in the order in which they came: a page or two are not worth it.
//! Each group is larger than the one before it, from a few hundred to some thousands, so that the
//! first rows come soon; what goes beyond [`FREE`] is taken from the statement's grant, and where
//! it is refused the groups stay as they are.

use crate::operators::rt::Rt;
use access::{Beside, ReadMode, Rid, RowBatch};
use pages::PageId;
use plan::nodes::ScanPlan;
use session::query_memory::Share;
use storage::{Base, RowPlace, access_error};
use types::SqlError;

/// Locators of the first group, and of the second.
const FIRST: usize = 256;
const FREE: usize = 1024;
/// Most that are looked up together.
const MOST: usize = 8192;
/// Bytes of their keys.
const FREE_BYTES: usize = 64 << 10;
const MOST_BYTES: usize = 128 << 10;
/// Fewest that are put in order.
pub(super) const FEW: usize = 64;
/// So many have their pages asked for at once.
const ASKED: usize = 1024;
/// While all pages of a group are in memory, so many groups are not asked for.
const CALM: u32 = 8;

/// A locator.
#[derive(Clone, Copy, Debug)]
struct PendingRow {
    /// Of a row of a heap all of its RID, else the first eight bytes of its key, in their order.
    head: u64,
    /// Where the key lies among the bytes of all of them.
    at: u32,
    len: u32,
}

impl PendingRow {
    fn of_rid(rid: Rid) -> PendingRow {
        let head = u64::from(rid.page.file) << 48 | u64::from(rid.page.page) << 16;
        PendingRow { head: head | u64::from(rid.slot), at: 0, len: 0 }
    }

    #[inline]
    fn rid(self) -> Rid {
        let page = PageId { file: (self.head >> 48) as u16, page: (self.head >> 16) as u32 };
        Rid { page, slot: self.head as u16 }
    }

    #[inline]
    fn key(self, keys: &[u8]) -> &[u8] {
        keys.get(self.at as usize..(self.at + self.len) as usize).unwrap_or_default()
    }
}

/// The first eight bytes of a key as a number; fewer are filled up with zeros.
#[inline]
fn head_of(key: &[u8]) -> u64 {
    if let Some(bytes) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes);
    }
    key.iter().enumerate().map(|(at, byte)| u64::from(*byte) << (56 - 8 * at)).sum()
}

/// What comes of the next locator.
pub(super) enum NextRow<'p> {
    /// There is none.
    None,
    /// Its row is not there, for who reads.
    Missing,
    Found(RowPlace<'p>),
}

/// The locators.
#[derive(Debug, Default)]
pub(super) struct Pending {
    places: Vec<PendingRow>,
    keys: Vec<u8>,
    /// How many have been taken, and of how many the pages were asked for.
    at: usize,
    asked: usize,
    /// So many are looked up together.
    most: usize,
    /// Of what goes beyond [`FREE`].
    share: Option<Share>,
    /// Groups for which no pages need to be asked for.
    calm: u32,
    /// Where the rows were that were looked up.
    pub beside: Beside,
}

impl Pending {
    /// Whether all have been taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at >= self.places.len()
    }

    /// Whether as many are here as are looked up together.
    #[inline]
    pub fn is_full(&self) -> bool {
        let bytes = if self.most > FREE { MOST_BYTES } else { FREE_BYTES };
        self.places.len() >= self.most || self.keys.len() >= bytes
    }

    /// Another group begins, larger than the one before it; or of so few as are wanted.
    pub fn begin(&mut self, few: Option<usize>, rt: &mut Rt<'_, '_>) {
        self.most = match few {
            Some(few) => few.min(FREE),
            None if self.most < FIRST => FIRST,
            None if self.most < FREE => FREE,
            None if self.has_share(rt) => MOST,
            None => FREE,
        };
        self.clear();
    }

    fn clear(&mut self) {
        self.places.clear();
        self.keys.clear();
        (self.at, self.asked) = (0, 0);
    }

    /// Whether there is memory for large groups.
    fn has_share(&mut self, rt: &mut Rt<'_, '_>) -> bool {
        if self.share.is_none() {
            let mut share = rt.share();
            if share.take(MOST * size_of::<PendingRow>() + MOST_BYTES) {
                self.places.reserve_exact(MOST.saturating_sub(self.places.len()));
                self.keys.reserve_exact(MOST_BYTES.saturating_sub(self.keys.len()));
            }
            self.share = Some(share);
        }
        self.share.as_ref().is_some_and(|share| share.used() > 0)
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, place: RowPlace<'_>) {
        self.places.push(match place {
            RowPlace::Rid(rid) => PendingRow::of_rid(rid),
            RowPlace::Key(key) => {
                let (at, len) = (self.keys.len() as u32, key.len() as u32);
                self.keys.extend_from_slice(key);
                PendingRow { head: head_of(key), at, len }
            }
        });
    }

    /// Whether no pages need to be asked for, for one who wants nothing else of the next group.
    pub fn is_calm(&mut self) -> bool {
        let calm = self.calm > 0;
        self.calm = self.calm.saturating_sub(1);
        calm
    }

    /// The group is complete: puts it in order and asks for its first pages.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn order(&mut self, plan: &ScanPlan) -> Result<(), SqlError> {
        if self.places.len() < FEW {
            self.asked = self.places.len();
            return Ok(());
        }
        let keys = &self.keys[..];
        // Keys with one head come in the order of all their bytes: filled up with zeros, a head is
        // never larger than that of a larger key.
        self.places.sort_unstable_by(|a, b| {
            a.head.cmp(&b.head).then_with(|| a.key(keys).cmp(b.key(keys)))
        });
        self.ask(plan)
    }

    /// Asks for the next pages.
    fn ask(&mut self, plan: &ScanPlan) -> Result<(), SqlError> {
        let from = self.asked;
        self.asked = self.places.len().min(from + ASKED);
        if self.calm > 0 {
            self.calm -= 1;
            return Ok(());
        }
        let places = self.places[from..self.asked].iter();
        let missing = match &plan.store.base {
            Base::Heap(heap) => heap.ask_for(places.map(|place| place.rid())),
            Base::Tree(tree) => {
                let keys = places.map(|place| place.key(&self.keys));
                tree.ask_for(keys).map_err(|e| access_error(&plan.db, e))?
            }
        };
        if missing == 0 {
            self.calm = CALM;
        }
        Ok(())
    }

    /// Takes the next one and reads its row, as the only one of `batch`.
    ///
    /// # Errors
    /// Damaged pages, I/O.
    pub fn read_next(
        &mut self,
        plan: &ScanPlan,
        mode: ReadMode<'_>,
        batch: &mut RowBatch,
    ) -> Result<NextRow<'_>, SqlError> {
        if self.at == self.asked && !self.is_empty() {
            self.ask(plan)?;
        }
        let Some(place) = self.places.get(self.at) else { return Ok(NextRow::None) };
        self.at += 1;
        let row = match &plan.store.base {
            Base::Heap(_) => RowPlace::Rid(place.rid()),
            Base::Tree(_) => RowPlace::Key(place.key(&self.keys)),
        };
        let of = (&*plan.db, &*plan.store);
        let found = storage::fetch_beside(of, &mut self.beside, row, mode, batch)?;
        Ok(if found { NextRow::Found(row) } else { NextRow::Missing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_page_come_together() {
        let rid = |page, slot| Rid { page: PageId { file: 1, page }, slot };
        let mut all = [rid(300, 1), rid(2, 9), rid(300, 0), rid(2, 1)].map(PendingRow::of_rid);
        all.sort_unstable_by_key(|place| place.head);
        let found = all.map(PendingRow::rid);
        assert_eq!(found, [rid(2, 1), rid(2, 9), rid(300, 0), rid(300, 1)]);
        let far = Rid { page: PageId { file: u16::MAX, page: u32::MAX - 1 }, slot: 700 };
        assert_eq!(PendingRow::of_rid(far).rid(), far);
    }

    #[test]
    fn heads_are_in_the_order_of_keys() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut key = || (0..rng.usize(0..12)).map(|_| rng.u8(0..3)).collect::<Vec<u8>>();
        for _ in 0..2_000 {
            let (a, b) = (key(), key());
            let by_head = head_of(&a).cmp(&head_of(&b)).then_with(|| a.cmp(&b));
            assert_eq!(by_head, a.cmp(&b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_group_ends_with_what_is_wanted() {
        let mut pending = Pending { most: 10, ..Pending::default() };
        for n in 0..10u64 {
            assert!(!pending.is_full());
            pending.push(RowPlace::Key(&n.to_be_bytes()));
        }
        assert!(pending.is_full() && !pending.is_empty());
        pending.clear();
        assert!(pending.is_empty() && !pending.is_full());
        pending.most = FREE;
        pending.push(RowPlace::Key(&[0; FREE_BYTES]));
        assert!(pending.is_full(), "long keys");
        pending.most = MOST;
        assert!(!pending.is_full());
    }
}
