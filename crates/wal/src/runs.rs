//! Runs of the map, packed: a log of thousands of growths is opened with few reads.
//!
//! A run is five numbers of variable length, 7 bits in a byte, the lowest first, the top bit clear
//! in the last byte only: VLF size in units of 8 KB, count, and the create LSN (VLF, block, slot),
//! its VLF as the difference from the previous run's (the first: from 0). Index and offset follow
//! from the previous runs. Most runs take 6 to 8 bytes, none more than 23.

use crate::Lsn;
use crate::options::AREA;
use crate::vlf::EqualVlfs;

/// The numbers of a run.
fn numbers(run: &EqualVlfs, before: Option<&EqualVlfs>) -> [u32; 5] {
    let Lsn { vlf, block, slot } = run.create_lsn;
    // In a restored log growths may have any create LSNs, also descending ones: the difference
    // wraps.
    let since = vlf.wrapping_sub(before.map_or(0, |run| run.create_lsn.vlf));
    [(run.vlf_size / AREA) as u32, run.count, since, block, slot.into()]
}

fn len_of(number: u32) -> usize {
    (32 - number.leading_zeros()).div_ceil(7).max(1) as usize
}

/// How many of the first runs fit into so many bytes.
pub(crate) fn how_many(runs: &[EqualVlfs], room: usize) -> usize {
    let mut left = room;
    for (i, run) in runs.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|before| runs.get(before));
        let len = numbers(run, before).map(len_of).iter().sum();
        let Some(rest) = left.checked_sub(len) else { return i };
        left = rest;
    }
    runs.len()
}

/// Packs runs that fit.
pub(crate) fn pack(runs: &[EqualVlfs], out: &mut [u8]) {
    let mut bytes = out.iter_mut();
    let mut before = None;
    for run in runs {
        for mut number in numbers(run, before) {
            for left in (0..len_of(number)).rev() {
                let Some(byte) = bytes.next() else {
                    return debug_assert!(false, "runs that do not fit");
                };
                *byte = number as u8 & 0x7f | if left > 0 { 0x80 } else { 0 };
                number >>= 7;
            }
        }
        before = Some(run);
    }
}

/// Reads `count` runs, the first of which has this index and offset. `None` if they cannot be
/// valid.
pub(crate) fn unpack(
    bytes: &[u8],
    count: usize,
    first_index: u32,
    first_offset: u64,
) -> Option<Vec<EqualVlfs>> {
    let mut bytes = bytes.iter();
    let mut number = || {
        let mut number = 0u64;
        for shift in (0..5).map(|i| 7 * i) {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(number).ok();
            }
        }
        None
    };
    let (mut index, mut offset, mut vlf) = (first_index, first_offset, 0u32);
    let mut runs = Vec::new();
    for _ in 0..count {
        let (vlf_size, count) = (u64::from(number()?) * AREA, number()?);
        if vlf_size <= AREA || count == 0 {
            return None;
        }
        vlf = vlf.wrapping_add(number()?);
        let create_lsn = Lsn { vlf, block: number()?, slot: u16::try_from(number()?).ok()? };
        runs.push(EqualVlfs {
            first_index: index,
            first_offset: offset,
            vlf_size,
            count,
            create_lsn,
        });
        index = index.checked_add(count)?;
        offset = offset.checked_add(vlf_size.checked_mul(u64::from(count))?)?;
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUN_MAX: usize = 4 * 5 + 3;

    fn map(sizes: &[(u64, u32, Lsn)]) -> Vec<EqualVlfs> {
        let mut map = crate::vlf::VlfMap::default();
        sizes.iter().for_each(|&(size, count, lsn)| map.push(size * AREA, count, lsn));
        map.runs().to_vec()
    }

    #[test]
    fn growths_of_one_kind_are_small() {
        let lsn = |i: u32| Lsn { vlf: 40 + 2 * i, block: 16 + i % 128, slot: 1 + i as u16 % 700 };
        let runs = map(&(0..500).map(|i| (8, 2, lsn(i))).collect::<Vec<_>>());
        assert_eq!(how_many(&runs, 4000), 500);
        assert_eq!(how_many(&runs, 0), 0);
        let largest = map(&[(u64::from(u32::MAX), u32::MAX, Lsn::MAX)]);
        assert_eq!((how_many(&largest, RUN_MAX - 1), how_many(&largest, RUN_MAX)), (0, 1));
    }

    proptest! {
        #[test]
        fn runs_come_back(
            sizes in prop::collection::vec(
                (2..1u64 << 20, 1..1u32 << 16, any::<(u32, u32, u16)>()), 1..60),
            room in 0..900usize,
        ) {
            let sizes: Vec<_> = sizes
                .into_iter()
                .map(|(size, count, (vlf, block, slot))| (size, count, Lsn { vlf, block, slot }))
                .collect();
            let runs = map(&sizes);
            let mut bytes = vec![0xee; room];
            let fit = how_many(&runs, room);
            pack(&runs[..fit], &mut bytes);
            let back = unpack(&bytes, fit, runs[0].first_index, runs[0].first_offset);
            prop_assert_eq!(back.as_deref(), Some(&runs[..fit]));
            prop_assert!(fit == runs.len() || room < (fit + 1) * RUN_MAX);
        }

        #[test]
        fn any_bytes_are_refused_or_right(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0..100usize) {
            if let Some(runs) = unpack(&bytes, count, 0, AREA) {
                prop_assert_eq!(runs.len(), count);
            }
        }
    }
}
