//! The order of runs within rounds, balanced over the rounds: a Williams design. Guarantees: of
//! each two rounds (the first and second, the third and fourth, ...) the one has the opposite order
//! of the other, so that over them every arm has the same mean place; over a whole cycle (as many
//! rounds as arms, twice as many where these are odd) every arm is in every place as often as in
//! any other, and every arm follows every other one as often as any. What is left to chance is
//! drawn from a seed: which arm is which of the design, the sequence of the pairs of rounds, and
//! which of a pair comes first.

use std::time::SystemTime;

/// The arms of a round in their order.
pub fn balanced(seed: u64, arms: usize, round: usize) -> Vec<usize> {
    // The reverse of a row of an even square is another row of it; of an odd one it is a row of a
    // second square.
    let pairs = if arms.is_multiple_of(2) { arms / 2 } else { arms };
    if pairs == 0 {
        return vec![];
    }
    let (cycle, within) = (round / (2 * pairs), round % (2 * pairs));
    let mut random = fastrand::Rng::with_seed(
        seed.wrapping_add((cycle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    );
    let mut names: Vec<usize> = (0..arms).collect();
    random.shuffle(&mut names);
    let mut rows: Vec<(usize, bool)> = (0..pairs).map(|row| (row, random.bool())).collect();
    random.shuffle(&mut rows);
    let (row, turned) = rows[within / 2];
    let mut order: Vec<usize> =
        first_row(arms).into_iter().map(|at| names[(at + row) % arms]).collect();
    if turned != (within % 2 == 1) {
        order.reverse();
    }
    order
}

/// 0, 1, n - 1, 2, n - 2, ...: the differences of neighbours are all different.
fn first_row(n: usize) -> Vec<usize> {
    (0..n).map(|at| if at % 2 == 1 { at.div_ceil(2) } else { (n - at / 2) % n }).collect()
}

/// A seed of its own for what has that name.
pub fn seed_of(seed: u64, name: &str) -> u64 {
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A seed from the clock, of at most nine digits.
pub fn drawn_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    fastrand::Rng::with_seed(since.as_nanos() as u64).u64(1..1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn cycle(arms: usize) -> usize {
        if arms.is_multiple_of(2) { arms } else { 2 * arms }
    }

    #[test]
    fn a_cycle_has_every_arm_in_every_place_and_after_every_other_equally_often() {
        for arms in 1..=18 {
            for seed in [1, 2, 77] {
                let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
                let mut follows: BTreeMap<(usize, usize), usize> = BTreeMap::new();
                for round in cycle(arms)..2 * cycle(arms) {
                    let order = balanced(seed, arms, round);
                    order
                        .iter()
                        .enumerate()
                        .for_each(|(at, arm)| *places.entry((*arm, at)).or_default() += 1);
                    order
                        .windows(2)
                        .for_each(|two| *follows.entry((two[0], two[1])).or_default() += 1);
                }
                let times = cycle(arms) / arms;
                assert_eq!(places.len(), arms * arms, "{arms} arms, seed {seed}");
                assert!(
                    places.values().all(|n| *n == times),
                    "{arms} arms, seed {seed}: {places:?}"
                );
                assert_eq!(follows.len(), arms * (arms - 1), "{arms} arms, seed {seed}");
                assert!(
                    follows.values().all(|n| *n == times),
                    "{arms} arms, seed {seed}: {follows:?}"
                );
            }
        }
    }

    #[test]
    fn each_two_rounds_have_opposite_orders_and_so_equal_mean_places() {
        for arms in 1..=18 {
            let mut sums = vec![0; arms];
            for round in 0..6 {
                let mut order = balanced(5, arms, round);
                order.iter().enumerate().for_each(|(at, arm)| sums[*arm] += at);
                if round % 2 == 1 {
                    order.reverse();
                    assert_eq!(order, balanced(5, arms, round - 1), "{arms} arms, round {round}");
                }
            }
            assert!(sums.iter().all(|s| *s == 3 * (arms - 1)), "{arms} arms: {sums:?}");
        }
    }

    #[test]
    fn the_seed_says_which_order_it_is() {
        let all = |seed| (0..10).map(|round| balanced(seed, 5, round)).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        let different = (0..20).filter(|seed| all(*seed) != all(1)).count();
        assert!(different >= 19, "{different}");
        assert_ne!(seed_of(1, "a/b"), seed_of(1, "a/c"));
        assert_ne!(seed_of(1, "a"), seed_of(2, "a"));
        assert!((1..1_000_000_000).contains(&drawn_seed()));
        assert!(balanced(1, 0, 3).is_empty());
    }

    /// Of two arms either is first as often as the other in any number of pairs of rounds, but not
    /// in one fixed sequence.
    #[test]
    fn the_first_of_a_pair_of_rounds_is_left_to_chance() {
        let firsts: Vec<usize> = (0..40).step_by(2).map(|round| balanced(9, 2, round)[0]).collect();
        let zeros = firsts.iter().filter(|f| **f == 0).count();
        assert!((3..=17).contains(&zeros), "{firsts:?}");
    }
}
