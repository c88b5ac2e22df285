//! Choices at random, for plans that are to be any of those that are possible: a number leads to
//! the same choices each time.

/// SplitMix64 (Steele, Lea, Flood 2014): enough for choices, and no more state than its seed.
#[derive(Clone, Debug)]
pub struct RandomChoices(u64);

impl RandomChoices {
    /// The choices that a number leads to.
    pub fn new(seed: u64) -> RandomChoices {
        RandomChoices(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `count` (at least 1) things.
    pub fn one_of(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}
