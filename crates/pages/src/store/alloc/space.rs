//! Which extents of a file are free: a bitmap in memory, built from the GAM pages when it is first
//! needed.

use crate::id::{ExtentId, GAM_EXTENTS};
use std::ops::Range;

/// Free extents of one file. The bitmap runs ahead of the GAM: an extent is taken here first,
/// logged second.
#[derive(Debug)]
pub(crate) struct FreeExtents {
    pub loaded: bool,
    words: Vec<u64>,
    extents: u32,
    free: u64,
    hint: u32,
    /// From this extent on none is given out.
    limit: u32,
    /// Free extents that are lent to a checkpoint: nobody else gets them.
    lent: Vec<Range<u32>>,
}

impl Default for FreeExtents {
    fn default() -> FreeExtents {
        FreeExtents {
            loaded: false,
            words: Vec::new(),
            extents: 0,
            free: 0,
            hint: 0,
            limit: u32::MAX,
            lent: Vec::new(),
        }
    }
}

impl FreeExtents {
    /// Makes the bitmap for a file of so many extents; `used` says which are taken according to the
    /// GAM.
    pub fn build(&mut self, file: u16, extents: u32, used: impl Fn(u32) -> bool) {
        *self = FreeExtents { loaded: true, limit: self.limit, ..FreeExtents::default() };
        self.grow(file, extents, used);
    }

    /// The file has so many extents now.
    pub fn grow(&mut self, file: u16, extents: u32, used: impl Fn(u32) -> bool) {
        self.words.resize(extents.div_ceil(64) as usize, 0);
        for extent in self.extents..extents {
            if !used(extent) && !(ExtentId { file, extent }).is_system() {
                self.set(extent, true);
                self.free += 1;
            }
        }
        self.extents = self.extents.max(extents);
    }

    /// One more than the last extent in use; extents with fixed pages alone do not count.
    pub fn end(&self, file: u16) -> u32 {
        let used = |extent: &u32| {
            self.is_used(*extent) && !(ExtentId { file, extent: *extent }).is_system()
        };
        (0..self.extents).rev().find(used).map_or(0, |last| last + 1)
    }

    /// Extents in use before `end`.
    pub fn used_below(&self, end: u32) -> u32 {
        (0..end.min(self.extents)).filter(|extent| self.is_used(*extent)).count() as u32
    }

    fn is_used(&self, extent: u32) -> bool {
        !self.get(extent) && !self.lent.iter().any(|run| run.contains(&extent))
    }

    /// Whether extents from this one on are lent.
    pub fn lent_from(&self, extent: u32) -> bool {
        self.lent.iter().any(|run| run.end > extent)
    }

    /// The extents from `extents` on are no more. False, and nothing has changed, when one of them
    /// is in use or lent.
    pub fn cut(&mut self, file: u16, extents: u32) -> bool {
        if self.end(file) > extents || self.lent_from(extents) {
            return false;
        }
        for extent in extents..self.extents {
            if self.get(extent) {
                self.set(extent, false);
                self.free -= 1;
            }
        }
        self.extents = self.extents.min(extents);
        self.words.truncate(extents.div_ceil(64) as usize);
        true
    }

    /// From this extent on none is given out; `u32::MAX` for no limit.
    pub fn limit(&mut self, extent: u32) {
        self.limit = extent;
    }

    /// Extents in use from `from` on; those with fixed pages alone do not count.
    pub fn used_from(&self, file: u16, from: u32) -> u64 {
        let used = |extent: &u32| {
            self.is_used(*extent) && !(ExtentId { file, extent: *extent }).is_system()
        };
        (from..self.extents).filter(used).count() as u64
    }

    /// Extents that are not in use.
    pub fn unused(&self) -> u64 {
        self.free + self.lent.iter().map(|run| run.len() as u64).sum::<u64>()
    }

    /// Extents that can be taken.
    pub fn free(&self) -> u64 {
        if self.limit >= self.extents {
            return self.free;
        }
        let whole = (self.limit / 64) as usize;
        let front: u64 = self.words.iter().take(whole).map(|w| u64::from(w.count_ones())).sum();
        let rest = self.words.get(whole).map_or(0, |w| w & ((1 << (self.limit % 64)) - 1));
        front + u64::from(rest.count_ones())
    }

    pub fn extents(&self) -> u32 {
        self.extents
    }

    fn get(&self, extent: u32) -> bool {
        extent < self.extents && self.words[extent as usize / 64] >> (extent % 64) & 1 != 0
    }

    fn set(&mut self, extent: u32, free: bool) {
        let word = &mut self.words[extent as usize / 64];
        let mask = 1u64 << (extent % 64);
        if free {
            *word |= mask;
        } else {
            *word &= !mask;
        }
    }

    fn first_free(&self, from: u32) -> Option<u32> {
        let mut at = from as usize / 64;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        loop {
            if word != 0 {
                return Some((at * 64) as u32 + word.trailing_zeros());
            }
            at += 1;
            word = *self.words.get(at)?;
        }
    }

    /// Takes up to `most` adjacent extents of one GAM interval: first extent and number.
    pub fn take(&mut self, most: u32) -> Option<(u32, u32)> {
        let open = |first: &u32| *first < self.limit;
        let first =
            self.first_free(self.hint).filter(open).or_else(|| self.first_free(0).filter(open))?;
        let mut count = 1;
        while count < most
            && first + count < self.limit
            && (first + count) / GAM_EXTENTS == first / GAM_EXTENTS
            && self.get(first + count)
        {
            count += 1;
        }
        for extent in first..first + count {
            self.set(extent, false);
        }
        self.free -= u64::from(count);
        self.hint = first + count;
        Some((first, count))
    }

    /// Lends so many adjacent extents, the first that there are: they stay free, but nobody gets
    /// them.
    pub fn lend(&mut self, count: u32) -> Option<Range<u32>> {
        let end = self.limit.min(self.extents);
        let mut first = self.first_free(0)?;
        while first.checked_add(count)? <= end {
            match (first..first + count).find(|extent| !self.get(*extent)) {
                Some(taken) => first = self.first_free(taken)?,
                None => {
                    let run = first..first + count;
                    run.clone().for_each(|extent| self.set(extent, false));
                    self.free -= u64::from(count);
                    self.lent.push(run.clone());
                    return Some(run);
                }
            }
        }
        None
    }

    /// A loan ends.
    pub fn end_loan(&mut self, run: &Range<u32>) {
        let before = self.lent.len();
        self.lent.retain(|lent| lent != run);
        // Not when the bitmap was built again meanwhile.
        if self.lent.len() < before {
            self.put(run.start, run.end - run.start);
        }
    }

    /// Gives extents back.
    pub fn put(&mut self, first: u32, count: u32) {
        for extent in first..first + count {
            debug_assert!(!self.get(extent), "extent {extent} is free already");
            if extent < self.extents && !self.get(extent) {
                self.set(extent, true);
                self.free += 1;
            }
        }
        self.hint = self.hint.min(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_runs_and_gives_them_back() {
        let mut free = FreeExtents::default();
        free.build(2, 200, |e| e == 10);
        assert_eq!(free.free(), 197, "two system extents and one used");
        assert_eq!(free.take(8), Some((2, 8)));
        assert_eq!(free.take(8), Some((11, 8)));
        free.put(2, 8);
        assert_eq!(free.take(100), Some((2, 8)));
        let mut total = 0;
        while let Some((_, n)) = free.take(7) {
            total += n;
        }
        assert_eq!((total, free.free()), (181, 0));
        free.grow(2, 203, |_| false);
        assert_eq!(free.take(8), Some((200, 3)));
    }

    #[test]
    fn a_cut_takes_free_extents_from_the_end() {
        let mut free = FreeExtents::default();
        free.build(2, 200, |e| e == 10 || e == 130);
        assert_eq!((free.end(2), free.used_below(131)), (131, 4));
        assert!(!free.cut(2, 130), "extent 130 is in use");
        assert!(free.cut(2, 140));
        assert_eq!((free.extents(), free.free()), (140, 136));
        free.put(130, 1);
        assert!(free.cut(2, 11));
        assert_eq!((free.free(), free.take(100)), (8, Some((2, 8))));
        assert_eq!(free.take(1), None);
        free.grow(2, 70, |_| false);
        assert_eq!((free.free(), free.take(100)), (59, Some((11, 59))));
    }

    #[test]
    fn nothing_is_taken_behind_the_limit() {
        let mut free = FreeExtents::default();
        free.build(2, 200, |e| e == 10 || e == 130);
        free.limit(70);
        assert_eq!((free.free(), free.used_from(2, 70)), (67, 1));
        assert_eq!(free.take(100), Some((2, 8)));
        assert_eq!(free.take(100), Some((11, 59)));
        assert_eq!((free.take(1), free.free()), (None, 0));
        free.put(130, 1);
        assert_eq!((free.take(1), free.used_from(2, 70)), (None, 0));
        free.limit(u32::MAX);
        assert_eq!((free.free(), free.take(200)), (130, Some((70, 130))));
    }

    #[test]
    fn what_is_lent_is_free_and_nobody_gets_it() {
        let mut free = FreeExtents::default();
        free.build(2, 200, |e| e == 10 || e == 130);
        let run = free.lend(16).expect("behind the one in use");
        assert_eq!((run.clone(), free.free(), free.unused(), free.end(2)), (11..27, 180, 196, 131));
        assert_eq!((free.take(100), free.take(100)), (Some((2, 8)), Some((27, 100))));
        free.put(27, 100);
        assert_eq!((free.used_below(131), free.used_from(2, 11)), (12, 1));
        free.put(130, 1);
        assert!(!free.cut(2, 20) && free.cut(2, 27), "lent extents are not cut off");
        free.end_loan(&run);
        free.end_loan(&run);
        assert_eq!((free.free(), free.take(100)), (16, Some((11, 16))));
        free.put(11, 16);
        free.limit(20);
        assert_eq!((free.lend(10), free.lend(9)), (None, Some(11..20)));
    }

    #[test]
    fn runs_end_at_the_gam_interval() {
        let mut free = FreeExtents::default();
        free.build(2, GAM_EXTENTS + 10, |e| e < GAM_EXTENTS - 2);
        assert_eq!(free.take(8), Some((GAM_EXTENTS - 2, 2)));
        assert_eq!(
            free.take(8),
            Some((GAM_EXTENTS + 1, 8)),
            "the interval's first extent holds its GAM"
        );
    }
}
