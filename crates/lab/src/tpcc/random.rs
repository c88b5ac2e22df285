//! Random values by clauses 2.1.6 and 4.3.2 of TPC-C's specification, revision 5.11.

use super::tables::Sizes;
use targets::customers::last_name;

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// C of NURand for last names while the tables are loaded, and while transactions run: their
/// difference must be 65 to 119, but neither 96 nor 112 (clause 2.1.6.1).
const LOAD_C: i32 = 157;
const RUN_C: i32 = 223;
/// C of NURand for customers and items: any.
const CUSTOMER_C: i32 = 391;
const ITEM_C: i32 = 4_711;

/// A stream of random values; the same seed gives the same ones.
pub struct Random {
    rng: fastrand::Rng,
    sizes: Sizes,
}

impl Random {
    pub fn new(seed: u64, sizes: Sizes) -> Random {
        Random { rng: fastrand::Rng::with_seed(seed), sizes }
    }

    /// One of `low..=high`.
    pub fn number(&mut self, low: i32, high: i32) -> i32 {
        self.rng.i32(low..=high)
    }

    /// Whether something happens that does in so many of a hundred.
    pub fn percent(&mut self, share: i32) -> bool {
        self.number(1, 100) <= share
    }

    fn nurand(&mut self, a: i32, c: i32, low: i32, high: i32) -> i32 {
        let (first, second) = (self.number(0, a), self.number(low, high));
        ((first | second) + c) % (high - low + 1) + low
    }

    /// A customer of a district.
    pub fn customer(&mut self) -> i32 {
        self.nurand(1023, CUSTOMER_C, 1, self.sizes.customers)
    }

    /// An item.
    pub fn item(&mut self) -> i32 {
        self.nurand(8191, ITEM_C, 1, self.sizes.items)
    }

    /// Names that the first customers of a district have one each.
    fn names(&self) -> i32 {
        self.sizes.customers.min(1_000)
    }

    /// The last name of a customer whose number in the district is that.
    pub fn name_of(&mut self, customer: i32) -> String {
        let number = if customer <= self.names() {
            customer - 1
        } else {
            self.nurand(255, LOAD_C, 0, self.names() - 1)
        };
        last_name(number as usize)
    }

    /// A last name to look for.
    pub fn name(&mut self) -> String {
        let number = self.nurand(255, RUN_C, 0, self.names() - 1);
        last_name(number as usize)
    }

    /// Letters and digits.
    pub fn text(&mut self, shortest: i32, longest: i32) -> String {
        let length = self.number(shortest, longest);
        (0..length)
            .map(|_| char::from(ALPHANUMERIC[self.rng.usize(..ALPHANUMERIC.len())]))
            .collect()
    }

    /// Digits.
    pub fn digits(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b'0' + self.rng.u8(..10))).collect()
    }

    /// I_DATA and S_DATA: one of ten has ORIGINAL in it.
    pub fn data(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.percent(10) {
            let at = self.rng.usize(..=text.len() - 8);
            text.replace_range(at..at + 8, "ORIGINAL");
        }
        text
    }

    /// The numbers from 1 to `last`, shuffled.
    pub fn permutation(&mut self, last: i32) -> Vec<i32> {
        let mut numbers: Vec<i32> = (1..=last).collect();
        self.rng.shuffle(&mut numbers);
        numbers
    }

    /// In another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        self.rng.shuffle(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_their_ranges_and_differ_enough() {
        let mut random = Random::new(3, Sizes::STANDARD);
        let mut customers = vec![0; 3_001];
        for _ in 0..30_000 {
            let (customer, item) = (random.customer(), random.item());
            assert!((1..=3_000).contains(&customer) && (1..=100_000).contains(&item));
            customers[customer as usize] += 1;
            let name = random.name();
            assert!((9..=15).contains(&name.len()), "{name}");
        }
        // Not uniform: the most frequent customer comes far more often than the mean of 10.
        assert!(customers.iter().max() > Some(&30));
        assert!((65..=119).contains(&(RUN_C - LOAD_C)) && ![96, 112].contains(&(RUN_C - LOAD_C)));
        let with: usize = (0..5_000).filter(|_| random.data().contains("ORIGINAL")).count();
        assert!((350..650).contains(&with), "{with}");
        assert_eq!(random.name_of(372), "PRICALLYOUGHT");
    }
}
