//! One record builder per thread, kept from record to record, so that building a record allocates
//! nothing.

use pages::RecordBuilder;
use std::cell::RefCell;

thread_local! {
    static BUILDER: RefCell<RecordBuilder> = RefCell::default();
}

/// Lends the thread's builder. A nested call gets one of its own.
pub(crate) fn with_record<T>(f: impl FnOnce(&mut RecordBuilder) -> T) -> T {
    BUILDER.with(|own| {
        let (mut own, mut other) = (own.try_borrow_mut(), None);
        f(match &mut own {
            Ok(own) => &mut *own,
            Err(_) => other.get_or_insert_with(RecordBuilder::new),
        })
    })
}

/// The range in which two byte strings differ: `(at, old length, new length)`; the rest is common
/// head and tail.
#[inline]
pub(crate) fn difference(old: &[u8], new: &[u8]) -> (usize, usize, usize) {
    // Most changes are of one int.
    if let (Ok(old), Ok(new)) = (<[u8; 4]>::try_from(old), <[u8; 4]>::try_from(new)) {
        let differs = u32::from_le_bytes(old) ^ u32::from_le_bytes(new);
        let (at, tail) = (differs.trailing_zeros() / 8, differs.leading_zeros() / 8);
        return if differs == 0 {
            (4, 0, 0)
        } else {
            (at as usize, (4 - at - tail) as usize, (4 - at - tail) as usize)
        };
    }
    difference_of_any(old, new)
}

fn difference_of_any(old: &[u8], new: &[u8]) -> (usize, usize, usize) {
    if old.len() == new.len() && old.len() <= SHORT {
        let (mut at, mut end) = (0, old.len());
        while at < end && old[at] == new[at] {
            at += 1;
        }
        while at < end && old[end - 1] == new[end - 1] {
            end -= 1;
        }
        return (at, end - at, end - at);
    }
    let at = common_head(old, new);
    let (o, n) = (&old[at..], &new[at..]);
    let tail = common_tail(o, n);
    (at, o.len() - tail, n.len() - tail)
}

/// Up to this length bytes are compared one by one.
const SHORT: usize = 16;

/// Bytes compared at a time: long rows usually differ in few places.
const CHUNK: usize = 32;

fn common_head(a: &[u8], b: &[u8]) -> usize {
    let chunks =
        a.chunks_exact(CHUNK).zip(b.chunks_exact(CHUNK)).take_while(|(x, y)| x == y).count()
            * CHUNK;
    chunks + a[chunks..].iter().zip(&b[chunks..]).take_while(|(x, y)| x == y).count()
}

fn common_tail(a: &[u8], b: &[u8]) -> usize {
    let chunks =
        a.rchunks_exact(CHUNK).zip(b.rchunks_exact(CHUNK)).take_while(|(x, y)| x == y).count()
            * CHUNK;
    let (a, b) = (&a[..a.len() - chunks], &b[..b.len() - chunks]);
    chunks + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_rebuilds_the_new_bytes() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..3_000 {
            let old: Vec<u8> = (0..rng.usize(0..90)).map(|_| rng.u8(0..3)).collect();
            let mut new = old.clone();
            if rng.bool() {
                let at = rng.usize(0..=new.len());
                let end = rng.usize(at..=new.len());
                new.splice(at..end, (0..rng.usize(0..9)).map(|_| rng.u8(0..3)));
            }
            let (at, o, n) = difference(&old, &new);
            let rebuilt = [&old[..at], &new[at..at + n], &old[at + o..]].concat();
            assert_eq!(rebuilt, new);
            assert_eq!((at, o, n), difference_of_any(&old, &new));
            assert!(old != new || (o == 0 && n == 0));
        }
    }
}
