//! Proportional fill: extents go to the files of a filegroup in proportion to their free space.

/// Deals out turns to files so that each gets its share as evenly spread as possible. Pure: no clock, no randomness.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fill {
    weights: Vec<i64>,
    credit: Vec<i64>,
    total: i64,
    dealt: u32,
}

/// Turns after which the weights are to be calculated anew.
const RECALCULATE: u32 = 8192;

impl Fill {
    /// `free` extents of each file.
    pub fn new(free: &[u64]) -> Fill {
        // Limited so that sums stay far from overflow; a file holds less than 2^29 extents.
        let weights: Vec<i64> = free.iter().map(|&f| f.min(1 << 40) as i64).collect();
        Fill { credit: vec![0; weights.len()], total: weights.iter().sum(), weights, dealt: 0 }
    }

    pub fn is_stale(&self, files: usize) -> bool {
        self.weights.len() != files || self.dealt >= RECALCULATE || self.total == 0
    }

    /// Which file comes next; `None` when no file has free space.
    pub fn next(&mut self) -> Option<usize> {
        if self.total == 0 {
            return None;
        }
        for (credit, weight) in self.credit.iter_mut().zip(&self.weights) {
            *credit += weight;
        }
        let best = (0..self.weights.len())
            .filter(|&i| self.weights[i] > 0)
            .max_by_key(|&i| (self.credit[i], -(i as i64)))?;
        self.credit[best] -= self.total;
        self.dealt += 1;
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_proportional_at_every_moment(free in prop::collection::vec(0u64..1000, 1..8), turns in 1usize..2000) {
            let total: u64 = free.iter().sum();
            let mut fill = Fill::new(&free);
            let mut got = vec![0f64; free.len()];
            for turn in 1..=turns {
                match fill.next() {
                    None => prop_assert_eq!(total, 0),
                    Some(i) => {
                        prop_assert!(free[i] > 0, "a full file was chosen");
                        got[i] += 1.0;
                        for (g, f) in got.iter().zip(&free) {
                            let due = turn as f64 * *f as f64 / total as f64;
                            // Smooth round robin never runs ahead or behind by more than the number of files.
                            prop_assert!((g - due).abs() <= free.len() as f64, "got {g}, due {due}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn twice_the_space_gets_twice_the_extents() {
        let mut fill = Fill::new(&[200, 100]);
        let turns: Vec<usize> = (0..6).filter_map(|_| fill.next()).collect();
        assert_eq!(turns.iter().filter(|&&f| f == 0).count(), 4);
        assert!(Fill::new(&[0, 0]).next().is_none());
    }
}
