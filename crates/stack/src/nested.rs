//! A box for a node inside a node of its own type. How deep such a tree is, a user decides; so what
//! the compiler writes for it (to drop and to clone it) asks for room on the stack at each level.

use crate::with_room;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Owns a node. It has the size of a [`Box`].
pub struct Nested<T>(Option<Box<T>>);

impl<T> Nested<T> {
    /// Of a node.
    pub fn new(inner: T) -> Nested<T> {
        Nested(Some(Box::new(inner)))
    }

    /// The node.
    pub fn into_inner(mut self) -> T {
        match self.0.take() {
            Some(inner) => *inner,
            None => unreachable!("only a box that has ended is empty"),
        }
    }
}

impl<T> Deref for Nested<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(inner) => inner,
            None => unreachable!("only a box that has ended is empty"),
        }
    }
}

impl<T> DerefMut for Nested<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(inner) => inner,
            None => unreachable!("only a box that has ended is empty"),
        }
    }
}

impl<T> Drop for Nested<T> {
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            with_room(move || drop(inner));
        }
    }
}

impl<T: Clone> Clone for Nested<T> {
    fn clone(&self) -> Nested<T> {
        with_room(|| Nested(self.0.clone()))
    }
}

impl<T: fmt::Debug> fmt::Debug for Nested<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_room(|| (**self).fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Chain(Option<Nested<Chain>>, [u8; 64]);

    #[test]
    fn a_chain_of_a_million_is_cloned_and_dropped_on_a_small_stack() {
        let run = || {
            let mut chain = Chain(None, [0; 64]);
            for _ in 0..1_000_000 {
                chain = Chain(Some(Nested::new(chain)), [1; 64]);
            }
            let copy = chain.clone();
            drop(chain);
            assert_eq!(copy.1, [1; 64]);
            let (mut at, mut levels) = (&copy, 0);
            while let Some(below) = &at.0 {
                (at, levels) = (below, levels + 1);
            }
            levels
        };
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(run).unwrap();
        assert_eq!(thread.join().unwrap(), 1_000_000);
        assert_eq!(size_of::<Nested<Chain>>(), size_of::<Box<Chain>>());
    }
}
