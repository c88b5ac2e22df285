//! RAND's numbers: the combined generator of L'Ecuyer (1988) as SQL Server runs it, so that a seed
//! gives its numbers. Guarantees: RAND(seed) and the calls after it give SQL Server's values for
//! seeds from 0 on (its documented examples are the tests); results lie between 0 and 1, both
//! excluded.

/// The moduli and multipliers of the two generators, and what their difference is divided by.
const FIRST: (i64, i64) = (2_147_483_563, 40_014);
const SECOND: (i64, i64) = (2_147_483_399, 40_692);
const DIVISOR: f64 = 2_147_483_589.467_280_2;

/// The generator of one session.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    first: i64,
    second: i64,
}

impl Random {
    /// The generator that RAND(seed) leaves behind before its own number.
    pub fn new(seed: i64) -> Random {
        let first = seed.rem_euclid(FIRST.0);
        Random { first: if first == 0 { 12_345 } else { first }, second: 67_890 }
    }

    /// Its next number.
    pub fn draw(&mut self) -> f64 {
        self.first = self.first * FIRST.1 % FIRST.0;
        self.second = self.second * SECOND.1 % SECOND.0;
        let difference = self.first - self.second;
        let number = if difference < 1 { difference + FIRST.0 - 1 } else { difference };
        number as f64 / DIVISOR
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_those_of_sql_server() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            std::array::from_fn::<f64, 3, _>(|_| random.draw())
        };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
        // The examples of the reference and of its readers.
        assert!(close(numbers(1)[0], 0.713591993212924));
        assert!(close(numbers(2)[0], 0.713610626184182));
        let hundred = [0.715436657367485, 0.28463380767982, 0.0131039082850364];
        assert!(numbers(100).iter().zip(hundred).all(|(a, b)| close(*a, b)));
    }
}
