//! Proportional fill: extents go to the files of a filegroup in proportion to their free space,
//! several in a row to each, so that pages that are written together lie together. The devices of
//! the files take turns of a few megabytes, so that all of them have work. Files of one device have
//! nothing to gain from that, and each change between them moves its heads: they take longer turns.

/// The turns of some with weights, each as evenly spread as possible. Pure: no clock, no
/// randomness.
#[derive(Clone, Debug, Default)]
struct Shares {
    weights: Vec<i64>,
    credit: Vec<i64>,
    total: i64,
    /// Extents of a turn.
    turn: u32,
    /// The device or file that has the turn, and what is left of it.
    current: usize,
    left: u32,
}

/// Deals out turns of some extents to files so that each gets its share.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtentDealer {
    files: usize,
    devices: Shares,
    /// The files of each device, by their place among all, and their shares of it.
    on_device: Vec<(Vec<usize>, Shares)>,
    dealt: u32,
}

/// Extents after which the weights are to be calculated again.
const RECALCULATE: u32 = 8192;
/// Most extents of a device's turn, 4 MB: beyond the largest write there is nothing to gain from
/// neighbours but fewer movements of heads.
const TURN_MAX: u64 = 64;
/// Most extents of a file's turn among those of its device, 64 MB: a device writes that much in the
/// time of a hundred seeks.
const STAY_MAX: u64 = 1024;
/// A file gets its free space in so many turns at least.
const TURNS: u64 = 16;

impl Shares {
    /// Turns of at most `most` extents.
    fn new(weights: Vec<i64>, turn: u64, most: u64) -> Shares {
        let (credit, total) = (vec![0; weights.len()], weights.iter().sum());
        let turn = turn.clamp(1, most) as u32;
        Shares { weights, credit, total, turn, current: 0, left: 0 }
    }

    /// Gives the next turn; `None` when nobody has a weight.
    fn next(&mut self) -> Option<usize> {
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

    fn took(&mut self, count: u32) {
        self.left = self.left.saturating_sub(count);
    }
}

impl ExtentDealer {
    /// `free` extents of each file, and the device that it is on.
    pub fn new(free: &[(u64, u64)]) -> ExtentDealer {
        let mut devices: Vec<u64> = free.iter().map(|&(_, device)| device).collect();
        devices.sort_unstable();
        devices.dedup();
        // Limited so that sums stay far from overflow; a file holds less than 2^29 extents.
        let weight = |at: &usize| free[*at].0.min(1 << 40) as i64;
        // The free space of so many files in turns.
        let turn = |files: usize, total: i64| total as u64 / (TURNS * files.max(1) as u64);
        let on = |device: &u64| {
            let files: Vec<usize> = (0..free.len()).filter(|&at| free[at].1 == *device).collect();
            let weights: Vec<i64> = files.iter().map(weight).collect();
            let stay = turn(files.len(), weights.iter().sum());
            (files, Shares::new(weights, stay, STAY_MAX))
        };
        let on_device: Vec<(Vec<usize>, Shares)> = devices.iter().map(on).collect();
        let weights: Vec<i64> = on_device.iter().map(|(_, files)| files.total).collect();
        let all = turn(free.len(), weights.iter().sum());
        let devices = Shares::new(weights, all, TURN_MAX);
        ExtentDealer { files: free.len(), devices, on_device, dealt: 0 }
    }

    pub fn is_stale(&self, files: usize) -> bool {
        self.files != files || self.dealt >= RECALCULATE || self.devices.total == 0
    }

    /// Extents came from the file whose turn it is.
    pub fn took(&mut self, count: u32) {
        if let Some((_, files)) = self.on_device.get_mut(self.devices.current) {
            files.took(count);
        }
        self.devices.took(count);
        self.dealt += count;
    }

    /// Which file the next extents come from; `None` when no file has free space.
    pub fn next(&mut self) -> Option<usize> {
        let device = self.devices.next()?;
        let (files, shares) = self.on_device.get_mut(device)?;
        files.get(shares.next()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The files that give so many times so many extents.
    fn deal(fill: &mut ExtentDealer, times: usize, count: u32) -> Vec<usize> {
        let mut deal = || {
            let file = fill.next();
            fill.took(count);
            file
        };
        (0..times).filter_map(|_| deal()).collect()
    }

    /// How often the next extents come from another file.
    fn changes(files: &[usize]) -> usize {
        files.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// Files of one device.
    fn on_one(free: &[u64]) -> ExtentDealer {
        ExtentDealer::new(&free.iter().map(|&free| (free, 7)).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn shares_are_proportional_at_every_moment(
            files in prop::collection::vec((0u64..1000, 0u64..3), 1..8), turns in 1usize..2000
        ) {
            let total: u64 = files.iter().map(|&(free, _)| free).sum();
            let mut fill = ExtentDealer::new(&files);
            let longest = fill.on_device.iter().map(|(_, files)| files.turn).max().unwrap_or(1);
            let row = f64::from(longest.max(fill.devices.turn));
            let mut got = vec![0f64; files.len()];
            for turn in 1..=turns {
                match fill.next() {
                    None => prop_assert_eq!(total, 0),
                    Some(i) => {
                        prop_assert!(files[i].0 > 0, "a full file was chosen");
                        fill.took(1);
                        got[i] += 1.0;
                        for (g, (free, _)) in got.iter().zip(&files) {
                            let due = turn as f64 * *free as f64 / total as f64;
                            // Smooth round robin never runs ahead or behind by more turns than
                            // there are files, and so does that of the devices.
                            let most = 2.0 * files.len() as f64 * row;
                            prop_assert!((g - due).abs() <= most, "got {g}, due {due}");
                        }
                    }
                }
            }
        }

        #[test]
        fn turns_are_short_where_there_is_little(free in prop::collection::vec(0u64..9000, 1..20)) {
            let total: u64 = free.iter().sum();
            let fill = on_one(&free);
            let turn = u64::from(fill.on_device[0].1.turn);
            prop_assert!(turn * TURNS * free.len() as u64 <= total.max(TURNS * free.len() as u64));
            prop_assert!(turn <= STAY_MAX && u64::from(fill.devices.turn) <= TURN_MAX);
        }
    }

    #[test]
    fn twice_the_space_gets_twice_the_extents() {
        let mut fill = on_one(&[40, 20]);
        let turns = deal(&mut fill, 6, 1);
        assert_eq!(turns.iter().filter(|&&f| f == 0).count(), 4);
        assert!(on_one(&[0, 0]).next().is_none());
    }

    #[test]
    fn devices_take_turns_of_neighbouring_extents() {
        let mut fill = ExtentDealer::new(&[(10_000, 1), (10_000, 2)]);
        let extents = deal(&mut fill, 32, 8);
        // 64 extents in a row, eight at a time.
        assert!(extents.chunks(8).all(|turn| turn.iter().all(|f| f == &turn[0])), "{extents:?}");
        assert_eq!(extents.iter().filter(|&&f| f == 0).count(), 16);
    }

    /// Sixteen files of 256 MB on one array, of which half is filled: a change of file is a seek.
    #[test]
    fn files_of_one_device_are_seldom_changed() {
        let mut fill = on_one(&[4096; 16]);
        let extents = deal(&mut fill, 4096, 8);
        assert!(changes(&extents) < 16 * 16 / 2, "{} changes", changes(&extents));
        for file in 0..16 {
            assert_eq!(extents.iter().filter(|&&f| f == file).count(), 4096 / 16, "file {file}");
        }
    }

    /// Eight files on each of two arrays: both have work all the time, and neither changes its file
    /// often.
    #[test]
    fn several_files_on_each_of_several_devices() {
        let files: Vec<(u64, u64)> = (0..16).map(|file| (4096, file % 2)).collect();
        let mut fill = ExtentDealer::new(&files);
        let extents = deal(&mut fill, 1024, 8);
        let on = |device: usize| -> Vec<usize> {
            extents.iter().copied().filter(|file| file % 2 == device).collect()
        };
        assert!(extents.chunks(16).all(|two| two.iter().filter(|&&f| f % 2 == 0).count() == 8));
        assert!(changes(&on(0)) <= 16 && changes(&on(1)) <= 16);
    }
}
