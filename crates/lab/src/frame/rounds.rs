//! How many rounds a run of studies has. They are fixed before the run: one number, or a plan of
//! looks with a largest number, whose intervals are surer so that looking more than once does not
//! make them wrong more often. On a modelled device some more may be run, which make up for rounds
//! that measured this machine.

use crate::LabError;
use stats::{CONFIDENCE, fewest};

/// The rounds of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// Numbers of rounds after which it is looked at the bounds, ascending.
    looks: Vec<usize>,
}

impl Rounds {
    /// That many.
    pub fn fixed(rounds: usize) -> Rounds {
        Rounds { looks: vec![rounds.max(1)] }
    }

    /// At least `first`; then twice as many as at the last look, and at most `most`, as long as a
    /// bound is undecided.
    ///
    /// The 5 % by which an interval may be wrong are divided evenly over the looks (a
    /// group-sequential plan with Bonferroni's bound), so all intervals that could be shown are
    /// right together in 95 % of runs, whenever it stops. Errors: there is no more than one look,
    /// or the first has too few rounds for an interval that is so sure.
    pub fn until_decided(first: usize, most: usize) -> Result<Rounds, LabError> {
        if most <= first {
            return Err(LabError::Request(format!(
                "--until-decided {most}: more rounds than --runs {first} are needed to go on after the first look"
            )));
        }
        let mut looks: Vec<usize> = std::iter::successors(Some(first.max(1)), |n| Some(n * 2))
            .take_while(|n| *n < most)
            .collect();
        looks.push(most);
        let rounds = Rounds { looks };
        let needed = fewest(rounds.confidence());
        if first < needed {
            return Err(LabError::Request(format!(
                "--until-decided {most} with --runs {first} looks {} times, for which the first look needs at least --runs {needed}",
                rounds.looks.len()
            )));
        }
        Ok(rounds)
    }

    /// The most that are planned.
    pub fn most(&self) -> usize {
        self.looks.last().copied().unwrap_or(1)
    }

    /// How many more make up for those of which a run measured this machine, which may be the ones
    /// that make up for others: as many, and half as many as are planned at most, rounded up. How
    /// late requests were decides it and not what was measured, so that intervals stay as sure as
    /// they are.
    pub fn made_up(&self, late: usize) -> usize {
        late.min(self.most().div_ceil(2))
    }

    /// All looks, ascending.
    pub fn looks(&self) -> &[usize] {
        &self.looks
    }

    /// How sure the interval of each look is.
    pub fn confidence(&self) -> f64 {
        1.0 - (1.0 - CONFIDENCE) / self.looks.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_and_share_the_error() {
        assert_eq!((Rounds::fixed(6).looks(), Rounds::fixed(6).confidence()), (&[6][..], 0.95));
        let rounds = Rounds::until_decided(8, 50).unwrap();
        assert_eq!((rounds.looks(), rounds.most()), (&[8, 16, 32, 50][..], 50));
        assert!((rounds.confidence() - 0.9875).abs() < 1e-12);
        assert_eq!(Rounds::until_decided(7, 8).unwrap().looks(), [7, 8]);
    }

    #[test]
    fn half_as_many_rounds_at_most_make_up_for_others() {
        for (most, late, more) in [(6, 0, 0), (6, 2, 2), (6, 3, 3), (6, 9, 3), (1, 1, 1), (5, 5, 3)]
        {
            assert_eq!(Rounds::fixed(most).made_up(late), more, "{late} of {most}");
        }
    }

    #[test]
    fn a_first_look_without_an_interval_is_refused() {
        let error = Rounds::until_decided(6, 48).unwrap_err().to_string();
        assert!(error.contains("looks 4 times") && error.contains("at least --runs 8"), "{error}");
        assert!(Rounds::until_decided(8, 8).is_err());
        for (first, most) in [(8, 64), (9, 1000), (7, 14)] {
            let rounds = Rounds::until_decided(first, most).unwrap();
            let pairs = vec![(1.0, 1.0); first];
            assert!(stats::paired_interval_at(&pairs, rounds.confidence()).is_some(), "{first}");
        }
    }
}
