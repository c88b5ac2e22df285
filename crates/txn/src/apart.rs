//! A value on cache lines of its own: what every transaction changes does not take what lies beside
//! it, and is only read, out of the caches of the other cores.
//! Guarantee: nothing else lies within 128 bytes of it (two lines, as they are fetched together).

use std::ops::Deref;

/// A value that many threads change, apart from what they only read.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(T);

impl<T> Apart<T> {
    /// Puts a value apart.
    pub const fn new(value: T) -> Apart<T> {
        Apart(value)
    }
}

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU8;

    #[test]
    fn neighbours_are_on_other_lines() {
        struct ChangedAndRead {
            changed: Apart<AtomicU8>,
            read: u8,
        }
        let both = ChangedAndRead { changed: Apart::new(AtomicU8::new(1)), read: 2 };
        let at = |place: *const u8| place.addr() / 128;
        let changed = std::ptr::from_ref(&*both.changed).cast::<u8>();
        assert_ne!(at(changed), at(std::ptr::from_ref(&both.read)));
        assert_eq!(changed.addr() % 128, 0);
    }
}
