//! Bounds of ranges of memcmp-ordered keys.

use std::ops::Bound;

/// The first key above all keys that begin with `prefix`.
pub fn after_prefix(mut prefix: Vec<u8>) -> Bound<Vec<u8>> {
    while let Some(last) = prefix.last_mut() {
        if *last < 0xFF {
            *last += 1;
            return Bound::Excluded(prefix);
        }
        prefix.pop();
    }
    Bound::Unbounded
}

/// Borrowed bounds, as cursors take them.
pub fn borrowed(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}
