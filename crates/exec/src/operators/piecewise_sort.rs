//! Sorting in place in pieces, so that a sort of millions of entries can be stopped in between: splitters from a sample put the entries
//! into up to 256 buckets, as a sample sort does (Frazer and McKellar 1970), moved in cycles within the list (as in McIlroy, Bostic and
//! McIlroy's American flag sort, 1993); the buckets are sorted one by one.
//! Guarantees: whoever sorts is asked at least once for every [`PIECE`] entries that are moved or sorted; one byte of memory an entry.

use std::cmp::Ordering;

use types::SqlError;

/// Entries that are sorted in one go: some milliseconds.
const PIECE: usize = 1 << 16;
/// Most buckets: their numbers are bytes.
const MOST_BUCKETS: usize = 256;
/// Entries that are looked at for each splitter.
const SAMPLES: usize = 8;

/// Sorts a list; `go_on` says whether the sort is still wanted. The order of equal entries is not kept.
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
        // Entries that are all the same are in one bucket, however often it is divided.
        if bucket.len() == len {
            bucket.sort_unstable_by(compare);
        } else {
            sort_in_pieces(bucket, compare, go_on)?;
        }
        start = end;
    }
    Ok(())
}

/// Entries that divide the list into buckets of about a piece.
fn splitters<T: Copy>(list: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let buckets = (list.len() / PIECE).clamp(2, MOST_BUCKETS);
    let stride = list.len() / (buckets * SAMPLES);
    // Not at equal distances: the list may have a period.
    let within = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % stride;
    let mut sample: Vec<T> = (0..buckets * SAMPLES).map(|i| list[i * stride + within(i)]).collect();
    sample.sort_unstable_by(compare);
    (1..buckets).map(|bucket| sample[bucket * SAMPLES]).collect()
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
            let bucket = splitters.partition_point(|splitter| compare(splitter, entry) != Ordering::Greater);
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
