//! Proportional fill: extents go to the files of a filegroup in proportion to their free space,
//! several in a row to each, so that pages that are written together lie together.

/// Deals out turns of some extents to files so that each gets its share as evenly spread as
/// possible. Pure: no clock, no randomness.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fill {
    weights: Vec<i64>,
    credit: Vec<i64>,
    total: i64,
    /// Extents of a turn.
    turn: u32,
    /// Whose turn it is, and what is left of it.
    current: usize,
    left: u32,
    dealt: u32,
}

/// Extents after which the weights are to be calculated anew.
const RECALCULATE: u32 = 8192;
/// Most extents of a turn, 4 MB: beyond the largest write there is nothing to gain from neighbours.
const TURN_MAX: u64 = 64;
/// A file gets its free space in so many turns at least.
const TURNS: u64 = 16;

impl Fill {
    /// `free` extents of each file.
    pub fn new(free: &[u64]) -> Fill {
        // Limited so that sums stay far from overflow; a file holds less than 2^29 extents.
        let weights: Vec<i64> = free.iter().map(|&f| f.min(1 << 40) as i64).collect();
        let total: i64 = weights.iter().sum();
        let turn = (total as u64 / (TURNS * weights.len().max(1) as u64)).clamp(1, TURN_MAX) as u32;
        Fill { credit: vec![0; weights.len()], total, weights, turn, current: 0, left: 0, dealt: 0 }
    }

    pub fn is_stale(&self, files: usize) -> bool {
        self.weights.len() != files || self.dealt >= RECALCULATE || self.total == 0
    }

    /// Extents came from the file whose turn it is.
    pub fn took(&mut self, count: u32) {
        self.left = self.left.saturating_sub(count);
        self.dealt += count;
    }

    /// Which file the next extents come from; `None` when no file has free space.
    pub fn next(&mut self) -> Option<usize> {
        if self.total == 0 {
            return None;
        }
        if self.left > 0 {
            return Some(self.current);
        }
        for (credit, weight) in self.credit.iter_mut().zip(&self.weights) {
            *credit += weight;
        }
        let best = (0..self.weights.len())
            .filter(|&i| self.weights[i] > 0)
            .max_by_key(|&i| (self.credit[i], -(i as i64)))?;
        self.credit[best] -= self.total;
        (self.current, self.left) = (best, self.turn);
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The files that give so many times so many extents.
    fn deal(fill: &mut Fill, times: usize, count: u32) -> Vec<usize> {
        let mut deal = || {
            let file = fill.next();
            fill.took(count);
            file
        };
        (0..times).filter_map(|_| deal()).collect()
    }

    proptest! {
        #[test]
        fn shares_are_proportional_at_every_moment(free in prop::collection::vec(0u64..1000, 1..8), turns in 1usize..2000) {
            let total: u64 = free.iter().sum();
            let mut fill = Fill::new(&free);
            let row = f64::from(fill.turn);
            prop_assert!(row * 16.0 * free.len() as f64 <= (total as f64).max(16.0 * free.len() as f64));
            let mut got = vec![0f64; free.len()];
            for turn in 1..=turns {
                match fill.next() {
                    None => prop_assert_eq!(total, 0),
                    Some(i) => {
                        prop_assert!(free[i] > 0, "a full file was chosen");
                        fill.took(1);
                        got[i] += 1.0;
                        for (g, f) in got.iter().zip(&free) {
                            let due = turn as f64 * *f as f64 / total as f64;
                            // Smooth round robin never runs ahead or behind by more turns than
                            // there are files.
                            prop_assert!((g - due).abs() <= free.len() as f64 * row, "got {g}, due {due}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn twice_the_space_gets_twice_the_extents() {
        let mut fill = Fill::new(&[40, 20]);
        let turns = deal(&mut fill, 6, 1);
        assert_eq!(turns.iter().filter(|&&f| f == 0).count(), 4);
        assert!(Fill::new(&[0, 0]).next().is_none());
    }

    #[test]
    fn large_files_get_neighbouring_extents() {
        let mut fill = Fill::new(&[10_000, 10_000]);
        let extents = deal(&mut fill, 32, 8);
        // 64 extents in a row, eight at a time.
        assert!(extents.chunks(8).all(|turn| turn.iter().all(|f| f == &turn[0])), "{extents:?}");
        assert_eq!(extents.iter().filter(|&&f| f == 0).count(), 16);
    }
}
