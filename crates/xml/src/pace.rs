//! Long work that may be told to stop.
//! Guarantee: who reports its work to a [`Pace`] asks whether to go on about once for every 64 KB
//! that it reads or makes.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Bytes of work between two looks.
const BYTES: usize = 64 << 10;

/// Counts work, and asks from time to time whether it is to go on.
pub struct Pace<'l> {
    go_on: &'l dyn Fn() -> bool,
    left: Cell<usize>,
}

/// The work was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl<'l> Pace<'l> {
    /// Asks `go_on`.
    pub fn new(go_on: &'l dyn Fn() -> bool) -> Pace<'l> {
        Pace { go_on, left: Cell::new(BYTES) }
    }

    /// Reports so many bytes that are about to be read or made.
    #[inline]
    pub(crate) fn step(&self, bytes: usize) -> Result<(), Stopped> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.look(),
        }
    }

    #[cold]
    fn look(&self) -> Result<(), Stopped> {
        self.left.set(BYTES);
        if (self.go_on)() { Ok(()) } else { Err(Stopped) }
    }
}

impl std::fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pace({} bytes left)", self.left.get())
    }
}

/// Does some work that asks `look` whether to go on.
///
/// # Errors
/// That of `look`; what the work gave is dropped then.
pub fn watched<T, E>(
    look: impl Fn() -> Result<(), E>,
    work: impl FnOnce(&Pace<'_>) -> T,
) -> Result<T, E> {
    let stopped = RefCell::new(None);
    let go_on = || match look() {
        Ok(()) => true,
        Err(error) => {
            stopped.replace(Some(error));
            false
        }
    };
    let done = work(&Pace::new(&go_on));
    match stopped.into_inner() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

/// The parts of a text, each at most 4 KB long, reported one by one.
pub(crate) fn pieces<'t>(
    text: &'t str,
    pace: &Pace<'_>,
) -> impl Iterator<Item = Result<&'t str, Stopped>> {
    const PIECE: usize = 4 << 10;
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        Some(pace.step(piece.len()).map(|()| piece))
    })
}

/// A list in order; equal items stay as they stand. Each comparison counts as so many bytes.
pub(crate) fn sorted<T>(
    items: Vec<T>,
    bytes: usize,
    compare: impl Fn(&T, &T) -> Ordering,
    pace: &Pace<'_>,
) -> Result<Vec<T>, Stopped> {
    /// Items that are sorted without a look.
    const RUN: usize = 512;
    let mut items = items.into_iter();
    let mut runs: VecDeque<Vec<T>> = VecDeque::new();
    loop {
        let mut run: Vec<T> = items.by_ref().take(RUN).collect();
        if run.is_empty() {
            break;
        }
        pace.step(run.len().saturating_mul(bytes))?;
        run.sort_by(&compare);
        runs.push_back(run);
    }
    while runs.len() > 1 {
        let mut longer = VecDeque::with_capacity(runs.len().div_ceil(2));
        while let Some(first) = runs.pop_front() {
            longer.push_back(match runs.pop_front() {
                Some(second) => merged(first, second, bytes, &compare, pace)?,
                None => first,
            });
        }
        runs = longer;
    }
    Ok(runs.pop_front().unwrap_or_default())
}

fn merged<T>(
    first: Vec<T>,
    second: Vec<T>,
    bytes: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
    pace: &Pace<'_>,
) -> Result<Vec<T>, Stopped> {
    let mut out = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        pace.step(bytes)?;
        out.extend(if compare(b, a).is_lt() { second.next() } else { first.next() });
    }
    out.extend(first);
    out.extend(second);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_sorted_as_a_stable_sort_does() {
        let pace = Pace::new(&|| true);
        for count in [0, 1, 2, 511, 512, 513, 5000] {
            let items: Vec<(u32, u32)> =
                (0..count).map(|n: u32| (n.wrapping_mul(2_654_435_761) % 97, n)).collect();
            let mut wanted = items.clone();
            wanted.sort_by_key(|item| item.0);
            assert_eq!(sorted(items, 8, |a, b| a.0.cmp(&b.0), &pace), Ok(wanted));
        }
    }

    #[test]
    fn a_look_comes_with_each_64_kb() {
        let looks = Cell::new(0);
        let text = "\u{20AC}".repeat(1 << 20);
        let whole: Result<String, ()> = watched(
            || {
                looks.set(looks.get() + 1);
                Ok(())
            },
            |pace| pieces(&text, pace).map_while(Result::ok).collect(),
        );
        assert_eq!(whole.expect("nobody stopped it").len(), text.len());
        assert!((40..60).contains(&looks.get()), "{} looks", looks.get());
        let stopped =
            watched(|| Err("stop"), |pace| pieces(&text, pace).all(|piece| piece.is_ok()));
        assert_eq!(stopped, Err("stop"));
    }
}
