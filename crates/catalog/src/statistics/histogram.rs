//! A histogram of one column: at most [`MOST_STEPS`] steps, each with the largest value of a range,
//! how many rows have it, and how many rows and different values lie between it and the step
//! before. Values are compared by their normalised keys, so that one code serves every type and
//! collation.
//!
//! Guarantees: steps ascend; the smallest and the largest value that were seen are steps; a value
//! that more than 1 / [`MOST_STEPS`] of the rows have is a step of its own; the rows of all steps
//! add up to the rows of the table.

use types::Value;

/// SQL Server's bound, without the step of NULL.
pub const MOST_STEPS: usize = 200;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramStep {
    /// The largest value; NULL for the step of rows without one, which is the first.
    pub value: Value,
    /// Its normalised key.
    pub key: Vec<u8>,
    /// Rows above the step before and below this value.
    pub range_rows: f64,
    /// Rows with this value.
    pub equal_rows: f64,
    /// Different values of `range_rows`.
    pub range_values: f64,
}

/// Steps in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    pub steps: Vec<HistogramStep>,
}

/// Where a key lies.
enum KeyPlace {
    Below,
    /// It is the value of a step.
    At(usize),
    /// Within the range of a step.
    In(usize),
    Above,
}

impl Histogram {
    fn place(&self, key: &[u8]) -> KeyPlace {
        match self.steps.binary_search_by(|step| step.key.as_slice().cmp(key)) {
            Ok(at) => KeyPlace::At(at),
            Err(0) => KeyPlace::Below,
            Err(at) if at == self.steps.len() => KeyPlace::Above,
            Err(at) => KeyPlace::In(at),
        }
    }

    /// Rows with a value; `None` when it lies outside of what was seen.
    pub fn equal_rows(&self, key: &[u8]) -> Option<f64> {
        match self.place(key) {
            KeyPlace::At(at) => Some(self.steps[at].equal_rows),
            KeyPlace::In(at) => {
                let step = &self.steps[at];
                Some(if step.range_values < 0.5 {
                    0.0
                } else {
                    step.range_rows / step.range_values
                })
            }
            KeyPlace::Below | KeyPlace::Above => None,
        }
    }

    /// Rows without a value.
    pub(crate) fn null_rows(&self) -> f64 {
        self.steps.first().filter(|step| step.value.is_null()).map_or(0.0, |step| step.equal_rows)
    }

    /// Rows with a value below `key`, or below and equal; rows without one are not among them.
    pub(crate) fn rows_below(&self, key: &[u8], inclusive: bool) -> f64 {
        let whole = |steps: &[HistogramStep]| {
            steps.iter().map(|s| s.range_rows + s.equal_rows).sum::<f64>()
        };
        let rows = match self.place(key) {
            KeyPlace::Below => return 0.0,
            KeyPlace::Above => whole(&self.steps),
            KeyPlace::At(at) => {
                let own = &self.steps[at];
                whole(&self.steps[..at])
                    + own.range_rows
                    + if inclusive { own.equal_rows } else { 0.0 }
            }
            KeyPlace::In(at) => {
                let before =
                    at.checked_sub(1).map_or(&[][..], |before| self.steps[before].key.as_slice());
                let share = share_between(before, &self.steps[at].key, key);
                whole(&self.steps[..at]) + self.steps[at].range_rows * share
            }
        };
        (rows - self.null_rows()).max(0.0)
    }
}

/// How far `key` lies between two others, by the eight bytes after what all three have in common:
/// exact for numbers and times, good enough for text.
fn share_between(low: &[u8], high: &[u8], key: &[u8]) -> f64 {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |bytes: &[u8]| {
        let mut eight = [0; 8];
        let rest = bytes.get(common..).unwrap_or_default();
        let count = rest.len().min(8);
        eight[..count].copy_from_slice(&rest[..count]);
        u64::from_be_bytes(eight) as f64
    };
    let (low, high, key) = (number(low), number(high), number(key));
    if high > low { ((key - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
}

/// One value of a sample.
#[derive(Clone, Debug)]
pub struct SampledValue<'a> {
    pub value: &'a Value,
    pub key: &'a [u8],
    /// Rows of the sample with it.
    pub rows: f64,
}

/// Makes a histogram of the values of a sample, ascending. `scale`: rows of the table for each row
/// of the sample; `spread`: different values of the table for each one of the sample.
pub fn build(entries: &[SampledValue<'_>], scale: f64, spread: f64) -> Histogram {
    let rows: f64 = entries.iter().filter(|e| !e.value.is_null()).map(|e| e.rows).sum();
    let few = entries.len() <= MOST_STEPS;
    // Each step but the first and last takes at least so many rows: there are never more than the
    // bound.
    let wanted = rows / (MOST_STEPS - 2) as f64;
    let last = entries.len().saturating_sub(1);
    let mut steps: Vec<HistogramStep> = Vec::new();
    let (mut range_rows, mut range_values) = (0.0, 0.0);
    for (at, entry) in entries.iter().enumerate() {
        let first = steps.is_empty() || steps.len() == 1 && steps[0].value.is_null();
        if few || first || at == last || range_rows + entry.rows >= wanted {
            let range = range_rows * scale;
            steps.push(HistogramStep {
                value: entry.value.clone(),
                key: entry.key.to_vec(),
                range_rows: range,
                equal_rows: entry.rows * scale,
                range_values: (range_values * spread).min(range),
            });
            (range_rows, range_values) = (0.0, 0.0);
        } else {
            range_rows += entry.rows;
            range_values += 1.0;
        }
    }
    debug_assert!(steps.len() <= MOST_STEPS + 1, "{} steps", steps.len());
    debug_assert!(steps.windows(2).all(|pair| pair[0].key < pair[1].key), "steps ascend");
    Histogram { steps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Collation, DataType, KeyPart, encode_key_part};

    fn key(n: i32) -> Vec<u8> {
        let mut out = Vec::new();
        let part = KeyPart { ty: DataType::Int, descending: false, collation: Collation::DEFAULT };
        encode_key_part(&Value::Int(n), &part, &mut out);
        out
    }

    fn histogram(values: &[(i32, f64)], nulls: f64) -> Histogram {
        let owned: Vec<(Value, Vec<u8>, f64)> =
            values.iter().map(|(n, rows)| (Value::Int(*n), key(*n), *rows)).collect();
        let null = (Value::Null, vec![0], nulls);
        let all = std::iter::once(&null).filter(|n| n.2 > 0.0).chain(&owned);
        let entries: Vec<SampledValue<'_>> =
            all.map(|(value, key, rows)| SampledValue { value, key, rows: *rows }).collect();
        build(&entries, 1.0, 1.0)
    }

    #[test]
    fn few_values_are_known_exactly() {
        let h = histogram(&[(1, 10.0), (5, 20.0), (9, 30.0)], 7.0);
        assert_eq!(h.steps.len(), 4);
        assert_eq!(
            (h.null_rows(), h.equal_rows(&key(5)), h.equal_rows(&key(6))),
            (7.0, Some(20.0), Some(0.0))
        );
        assert_eq!((h.equal_rows(&key(0)).is_some(), h.equal_rows(&key(10))), (true, None));
        assert_eq!((h.rows_below(&key(5), false), h.rows_below(&key(5), true)), (10.0, 30.0));
        assert_eq!((h.rows_below(&key(100), true), h.rows_below(&key(-4), true)), (60.0, 0.0));
    }

    #[test]
    fn many_values_become_ranges() {
        let values: Vec<(i32, f64)> = (0..10_000).map(|n| (n, 1.0)).collect();
        let h = histogram(&values, 0.0);
        assert!(h.steps.len() <= MOST_STEPS, "{}", h.steps.len());
        assert_eq!(h.equal_rows(&key(4_321)), Some(1.0));
        for n in [0, 1, 777, 5_000, 9_998, 9_999] {
            let below = h.rows_below(&key(n), false);
            assert!((below - f64::from(n)).abs() < 2.0, "{below} rows below {n}");
        }
        let all: f64 = h.steps.iter().map(|s| s.range_rows + s.equal_rows).sum();
        assert_eq!(all, 10_000.0);
    }

    #[test]
    fn what_is_frequent_has_a_step_of_its_own() {
        let values: Vec<(i32, f64)> =
            (0..5_000).map(|n| (n, if n == 1_234 { 2_000.0 } else { 1.0 })).collect();
        let h = histogram(&values, 0.0);
        assert_eq!(h.equal_rows(&key(1_234)), Some(2_000.0));
        assert!(h.equal_rows(&key(1_235)).unwrap() < 3.0);
    }

    #[test]
    fn places_between_keys() {
        assert_eq!(share_between(&[1, 0], &[1, 100], &[1, 50]), 0.5);
        assert_eq!(share_between(&[], &[7], &[7]), 1.0);
        assert_eq!(share_between(&[3], &[3], &[3]), 0.5);
    }
}
