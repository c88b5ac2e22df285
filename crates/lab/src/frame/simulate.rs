//! Do the intervals keep what they promise on rounds as real machines have them? Simulated runs of
//! five levels, on a machine whose pace drifts from round to round and within them, where the place
//! in the round matters and one level's noise is larger than another's; judged by the code that
//! judges the studies. The tests make a bounded run of it, the example `coverage` a longer one.

use super::claims::claim_result;
use super::order::balanced;
use crate::results::StudyResult;
use crate::study::{CellRef, Claim, Compare};

/// Noise of one measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Logarithms that are normally distributed.
    Normal,
    /// Mostly quiet, now and then twice as long: another process had the processor.
    Spikes,
    /// Never faster than the machine can, with a long tail.
    Exponential,
    /// Two modes: the page cache had it or not.
    TwoModes,
}

impl Noise {
    /// All kinds.
    pub const ALL: [Noise; 4] = [Noise::Normal, Noise::Spikes, Noise::Exponential, Noise::TwoModes];

    /// Whether its logarithms lie symmetrically around 0.
    fn is_symmetric(self) -> bool {
        matches!(self, Noise::Normal | Noise::TwoModes)
    }

    /// The logarithm of the factor of one run.
    fn log(self, random: &mut fastrand::Rng) -> f64 {
        match self {
            Noise::Normal => 0.03 * normal(random),
            Noise::Spikes => {
                0.01 * normal(random) + if random.f64() < 0.1 { 2f64.ln() } else { 0.0 }
            }
            Noise::Exponential => (1.0 - 0.05 * (1.0 - random.f64()).ln()).ln(),
            Noise::TwoModes => 0.005 * normal(random) + if random.bool() { 0.07 } else { -0.07 },
        }
    }
}

/// Nearly normally distributed.
fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// What a machine does to its runs. All but the noise are logarithms of factors.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Noise of each run.
    pub noise: Noise,
    /// Size of the noise of every second level, times that of the others.
    pub unequal: f64,
    /// How far the pace drifts from round to round ...
    pub between: f64,
    /// ... and from run to run within a round; standard deviations.
    pub within: f64,
    /// How much longer a run takes at each place of a round than at the place before.
    pub place: f64,
    /// How much longer the first run of a round takes besides.
    pub first: f64,
}

impl Conditions {
    /// A bad day: everything at once, but for noise of unequal sizes where that is skewed (then
    /// there is no one ratio to cover).
    pub fn bad(noise: Noise) -> Conditions {
        let unequal = if noise.is_symmetric() { 3.0 } else { 1.0 };
        Conditions { noise, unequal, between: 0.2, within: 0.03, place: 0.03, first: 0.05 }
    }
}

/// In which order the levels of a round run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the lab orders them.
    Balanced,
    /// The slow level last, always.
    SlowLast,
}

/// Levels, the slow one first.
const LEVELS: [&str; 5] = ["slow", "1", "2", "3", "4"];
/// How many times as long the slow one takes as each of the others.
const TRUTH: f64 = 1.07;

/// That many rounds.
fn rounds(conditions: &Conditions, order: Order, count: usize, seed: u64) -> StudyResult {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut result = StudyResult::default();
    let mut pace = 0.0;
    for round in 0..count {
        pace += conditions.between * normal(&mut random);
        let mut here = pace;
        let levels = match order {
            // Its chance has nothing to do with that of the noise.
            Order::Balanced => balanced(!seed, LEVELS.len(), round),
            Order::SlowLast => (0..LEVELS.len()).rev().collect(),
        };
        for (place, level) in levels.into_iter().enumerate() {
            here += conditions.within * normal(&mut random) + conditions.place;
            let first = if place == 0 { conditions.first } else { 0.0 };
            let size = if level % 2 == 1 { conditions.unequal } else { 1.0 };
            let truth = if level == 0 { TRUTH.ln() } else { 0.0 };
            let log = truth + here + first + size * conditions.noise.log(&mut random);
            result.record_in(round, "f", LEVELS[level], "m", "s", log.exp());
        }
    }
    result.finish(&|_| None);
    result
}

/// In how many of some simulated studies an interval missed the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissedIntervals {
    /// Studies.
    pub studies: usize,
    /// The ratio of the slow level to another one.
    pub ratio: usize,
    /// The slow level against the best of all.
    pub slow: usize,
    /// One of the best against the best of all.
    pub best: usize,
}

impl MissedIntervals {
    /// Both together.
    pub fn and(self, other: MissedIntervals) -> MissedIntervals {
        MissedIntervals {
            studies: self.studies + other.studies,
            ratio: self.ratio + other.ratio,
            slow: self.slow + other.slow,
            best: self.best + other.best,
        }
    }

    /// The largest share of studies in which one kind of interval missed.
    pub fn most(self) -> f64 {
        self.ratio.max(self.slow).max(self.best) as f64 / self.studies.max(1) as f64
    }
}

/// Simulates that many studies of so many rounds.
pub fn simulate(
    conditions: &Conditions,
    order: Order,
    count: usize,
    studies: usize,
    seed: u64,
) -> MissedIntervals {
    let cell = |level: usize| CellRef::new("f", LEVELS[level], "m");
    let all = || -> Vec<CellRef> { (0..LEVELS.len()).map(cell).collect() };
    let claims = [
        (Compare::Ratio(cell(0), cell(1)), TRUTH),
        (Compare::ToBest(cell(0), all()), TRUTH),
        (Compare::ToBest(cell(1), all()), 1.0),
    ]
    .map(|(compare, truth)| {
        (Claim { compare, ..Claim::at_most("g", "m", cell(0), cell(1), 0.0) }, truth)
    });
    let mut missed = MissedIntervals { studies, ..MissedIntervals::default() };
    for study in 0..studies {
        let own = seed.wrapping_add((study as u64).wrapping_mul(0xd134_2543_de82_ef95));
        let result = rounds(conditions, order, count, own);
        let misses = |(claim, truth): &(Claim, f64)| {
            let interval = claim_result(&result, claim).interval;
            // What has no interval covers nothing. The end at 1 is exact.
            usize::from(
                interval.is_none_or(|(low, high)| low > truth * (1.0 + 1e-12) || *truth > high),
            )
        };
        let [ratio, slow, best] = [&claims[0], &claims[1], &claims[2]].map(misses);
        missed.ratio += ratio;
        missed.slow += slow;
        missed.best += best;
    }
    missed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All kinds of noise, at the numbers of rounds that are asked for.
    #[test]
    fn the_intervals_cover_the_truth_on_a_bad_day() {
        for count in [6, 7, 8, 16] {
            let of = |noise| {
                simulate(&Conditions::bad(noise), Order::Balanced, count, 300, count as u64)
            };
            let missed = Noise::ALL
                .map(of)
                .into_iter()
                .fold(MissedIntervals::default(), MissedIntervals::and);
            // Three standard errors of 1,200 studies are 1.9 %.
            assert!(missed.most() <= 0.05 + 0.019, "{count} rounds: {missed:?}");
        }
    }

    /// The simulation sees what a bad order does: an arm that is always last is charged with its
    /// place.
    #[test]
    fn an_order_that_is_not_balanced_would_not_do() {
        let steep = Conditions { place: 0.1, ..Conditions::bad(Noise::Normal) };
        let missed = simulate(&steep, Order::SlowLast, 16, 100, 1);
        assert!(missed.ratio > 50 && missed.slow > 50, "{missed:?}");
        let missed = simulate(&steep, Order::Balanced, 16, 100, 1);
        assert!(missed.ratio <= 11 && missed.slow <= 11, "{missed:?}");
    }

    /// Nothing but drift between the rounds: the interval is as narrow as the noise allows, not
    /// merely always wide enough.
    #[test]
    fn on_a_good_day_the_intervals_are_not_wider_than_they_say() {
        let good = |noise| Conditions {
            unequal: 1.0,
            within: 0.0,
            place: 0.0,
            first: 0.0,
            ..Conditions::bad(noise)
        };
        let missed = simulate(&good(Noise::Normal), Order::Balanced, 16, 600, 3);
        assert!((0.02..0.08).contains(&(missed.ratio as f64 / 600.0)), "{missed:?}");
    }
}
