//! Sorting in place in pieces, so that a sort of millions of entries can be stopped in between.
//!
//! Splitters from a sample divide the entries into up to 256 buckets, as in a sample sort (Frazer
//! and McKellar 1970); entries are moved in cycles within the list, as in the American flag sort
//! (McIlroy, Bostic and McIlroy 1993); then the buckets are sorted one by one. A bucket with more
//! than half of the entries, because the sample was a bad one, is halved at its median.
//!
//! Guarantees: the caller's function is called after every few pieces of [`PIECE`] entries, and
//! before each selection of a median; the depth of the recursion is at most twice the logarithm
//! of the number of entries, whatever they are; one byte of memory an entry.

use std::cmp::Ordering;

use types::SqlError;

/// Entries that are sorted in one go: some milliseconds.
const PIECE: usize = 1 << 16;
/// Most buckets: their numbers are bytes.
const MOST_BUCKETS: usize = 256;
/// Entries that are looked at for each splitter.
const SAMPLES: usize = 8;

/// Sorts a list; `go_on` says whether the sort is still wanted. The order of equal entries is not
/// kept.
///
/// # Errors
/// Those of `go_on`: the list has the same entries then, in any order.
pub fn sort_in_pieces<T: Copy>(
    list: &mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
    go_on: &mut impl FnMut() -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    go_on()?;
    if list.len() <= 2 * PIECE {
        list.sort_unstable_by(compare);
        return Ok(());
    }
    let len = list.len();
    let splitters = splitters(list, compare);
    let ends = distribute(list, &splitters, compare, go_on)?;
    let mut start = 0;
    for end in ends {
        let bucket = &mut list[start..end];
        if bucket.len() > (len / 2).max(2 * PIECE) {
            go_on()?;
            let (below, _, above) = bucket.select_nth_unstable_by(bucket.len() / 2, compare);
            sort_in_pieces(below, compare, go_on)?;
            sort_in_pieces(above, compare, go_on)?;
        } else {
            sort_in_pieces(bucket, compare, go_on)?;
        }
        start = end;
    }
    Ok(())
}

/// Entries that divide the list into buckets of about a piece.
fn splitters<T: Copy>(list: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut sample: Vec<T> = sampled(list.len()).map(|at| list[at]).collect();
    sample.sort_unstable_by(compare);
    (SAMPLES..sample.len()).step_by(SAMPLES).map(|at| sample[at]).collect()
}

/// The places of the sample in a list of this length. They are not at equal distances: the list may
/// have a period.
fn sampled(len: usize) -> impl Iterator<Item = usize> {
    let count = (len / PIECE).clamp(2, MOST_BUCKETS) * SAMPLES;
    let stride = len / count;
    let within = move |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % stride;
    (0..count).map(move |i| i * stride + within(i))
}

/// Moves each entry into the bucket between its splitters; where the buckets end.
fn distribute<T: Copy>(
    list: &mut [T],
    splitters: &[T],
    compare: &impl Fn(&T, &T) -> Ordering,
    go_on: &mut impl FnMut() -> Result<(), SqlError>,
) -> Result<Vec<usize>, SqlError> {
    let mut buckets = Vec::with_capacity(list.len());
    let mut ends = vec![0; splitters.len() + 1];
    for piece in list.chunks(PIECE) {
        go_on()?;
        for entry in piece {
            let is_below = |splitter: &T| compare(splitter, entry) != Ordering::Greater;
            let bucket = splitters.partition_point(is_below);
            ends[bucket] += 1;
            buckets.push(bucket as u8);
        }
    }
    let mut next = Vec::with_capacity(ends.len());
    let mut sum = 0;
    for end in &mut ends {
        next.push(sum);
        sum += *end;
        *end = sum;
    }
    let mut moved = 0_usize;
    for bucket in 0..ends.len() {
        while next[bucket] < ends[bucket] {
            let from = next[bucket];
            let of = usize::from(buckets[from]);
            let to = next[of];
            next[of] += 1;
            if of != bucket {
                list.swap(from, to);
                buckets.swap(from, to);
            }
            moved += 1;
            if moved.is_multiple_of(PIECE) {
                go_on()?;
            }
        }
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut list: Vec<(u64, u32)>) {
        let mut expected = list.clone();
        expected.sort_unstable();
        let mut asked = 0;
        let len = list.len();
        sort_in_pieces(&mut list, &|a, b| a.cmp(b), &mut || {
            asked += 1;
            Ok(())
        })
        .unwrap();
        assert!(list == expected, "{len} entries");
        assert!(asked >= len / (2 * PIECE), "asked {asked} times for {len}");
        assert!(asked <= 8 + 32 * len / PIECE, "asked {asked} times for {len}");
    }

    #[test]
    fn a_list_made_to_have_a_bad_sample_is_halved() {
        let len = 1_000_000;
        let mut list: Vec<(u64, u32)> = (0..len).map(|n| (1_000, n as u32)).collect();
        sampled(len).for_each(|at| list[at].0 = 0);
        sorted(list);
    }

    #[test]
    fn any_list_is_sorted() {
        let mut random = fastrand::Rng::with_seed(7);
        for len in [0, 1, 2 * PIECE, 2 * PIECE + 1, 700_001] {
            sorted((0..len).map(|n| (random.u64(..), n as u32)).collect());
            sorted((0..len).map(|n| (n as u64, n as u32)).collect());
            sorted((0..len).rev().map(|n| (n as u64, n as u32)).collect());
            // Few values, a period, one value.
            sorted((0..len).map(|n| (random.u64(0..3), n as u32)).collect());
            sorted((0..len).map(|n| (n as u64 % 1024, n as u32)).collect());
            sorted((0..len).map(|_| (5, 5)).collect());
        }
    }

    #[test]
    fn it_stops_when_it_is_told() {
        let mut list: Vec<u32> = (0..1_000_000).rev().collect();
        for most in [0, 1, 10, 20] {
            let mut left = most;
            let stopped = sort_in_pieces(&mut list, &|a, b| a.cmp(b), &mut || match left {
                0 => Err(SqlError::new(3617, 16, 1, "stopped")),
                _ => {
                    left -= 1;
                    Ok(())
                }
            });
            assert_eq!(stopped.unwrap_err().number, 3617);
            let mut all = list.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1_000_000), "every entry is still there");
        }
    }
}
