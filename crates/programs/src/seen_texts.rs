//! Hashes of texts and shapes that were seen a moment ago and are not kept. Guarantee: it takes
//! [`WAYS`] others of the same place, seen since, to forget one: statements that take turns do not
//! make each other forgotten.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Places.
const PLACES: usize = 256;
/// Hashes of one place, the newest first.
const WAYS: usize = 4;

/// The hashes; 0 where there is none.
pub(crate) struct SeenTexts(Box<[[AtomicU64; WAYS]]>);

impl Default for SeenTexts {
    fn default() -> SeenTexts {
        SeenTexts((0..PLACES).map(|_| Default::default()).collect())
    }
}

impl SeenTexts {
    /// Whether this hash was here a moment ago; now it was. Of two threads that ask at once one may
    /// be forgotten.
    pub(crate) fn was_seen(&self, hash: u64) -> bool {
        let place = &self.0[hash as usize % PLACES];
        if place.iter().any(|seen| seen.load(Relaxed) == hash) {
            return true;
        }
        for at in (1..WAYS).rev() {
            place[at].store(place[at - 1].load(Relaxed), Relaxed);
        }
        place[0].store(hash, Relaxed);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_one_place_take_turns() {
        let sightings = SeenTexts::default();
        let same_place = |n: u64| n * PLACES as u64 + 7;
        for n in 1..=WAYS as u64 {
            assert!(!sightings.was_seen(same_place(n)));
        }
        for n in (1..=WAYS as u64).chain(1..=2) {
            assert!(sightings.was_seen(same_place(n)));
        }
        assert!(!sightings.was_seen(same_place(9)));
        assert!(!sightings.was_seen(same_place(1)), "the oldest makes room");
        assert!(sightings.was_seen(same_place(9)) && sightings.was_seen(same_place(4)));
    }
}
