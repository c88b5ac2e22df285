//! A hash table over kept rows: an array of heads of chains, the links in the rows. A head carries
//! a filter of 16 bits of what is in its chain (Leis, Boncz, Kemper, Neumann, "Morsel-Driven
//! Parallelism", 2014, section 4.2), so that a key that is not there is mostly found out without
//! touching a row. Guarantee: rows of one key are met in the order in which they were added when
//! the heads were made at once.

use super::key::{Key, Keys};
use super::rows::{Place, Rows};
use session::query_memory::Share;

/// The table.
#[derive(Default)]
pub struct HashTable {
    pub rows: Rows,
    heads: Vec<u64>,
    /// Shift of a hash that gives its chain.
    shift: u32,
}

/// The bit of a hash in a head's filter; of other bits than its chain.
#[inline]
fn filter(hash: u64) -> u64 {
    1 << (48 + (hash & 15))
}

impl HashTable {
    /// Forgets everything and gives its memory back.
    pub fn clear(&mut self, share: &mut Share) {
        self.rows.clear(share);
        share.give(self.heads.capacity() * 8);
        self.heads = Vec::new();
    }

    /// Makes the heads for so many rows and links them all; false when there is no memory for that.
    pub fn link_all(&mut self, rows: usize, share: &mut Share, forced: bool) -> bool {
        let size = rows.max(8).next_power_of_two() * 2;
        if forced {
            share.force(size * 8);
        } else if !share.take(size * 8) {
            return false;
        }
        share.give(self.heads.capacity() * 8);
        self.heads = vec![0; size];
        self.shift = 64 - size.trailing_zeros();
        // From the last row to the first: the first of a key then heads its chain.
        let mut links = Vec::new();
        for chunk in (0..self.rows.chunks()).rev() {
            links.clear();
            let keyed =
                self.rows.chunk(chunk).filter_map(|r| r.key.map(|key| (r.place, key.hash())));
            links.extend(keyed);
            for (place, hash) in links.iter().rev() {
                self.link(*place, *hash);
            }
        }
        true
    }

    fn link(&mut self, place: Place, hash: u64) {
        let head = &mut self.heads[(hash >> self.shift) as usize];
        let (filters, first) = (*head & !((1 << 48) - 1), Place::from_bits(*head));
        *head = filters | filter(hash) | place.bits();
        self.rows.set_link(place, first);
    }

    /// Adds a packed row and links it; none when there is no memory for it. A first one is always
    /// taken.
    pub fn insert(&mut self, key: Key<'_>, row: &[u8], share: &mut Share) -> Option<Place> {
        if self.rows.len() * 2 >= self.heads.len() {
            let first = self.heads.is_empty();
            if !self.link_all(self.rows.len() * 2, share, first) {
                return None;
            }
        }
        let place = self.rows.push_packed(Some(key), row, share)?;
        self.link(place, key.hash());
        Some(place)
    }

    /// Adds a packed row and links it, whatever memory there is.
    pub fn insert_forced(&mut self, key: Key<'_>, row: &[u8], share: &mut Share) {
        if self.rows.len() * 2 >= self.heads.len() {
            self.link_all(self.rows.len() * 2, share, true);
        }
        let place = self.rows.push_forced(Some(key), row, share);
        self.link(place, key.hash());
    }

    /// The first row with a key.
    #[inline]
    pub fn find(&self, key: &Key<'_>) -> Place {
        let first = self.candidate(key);
        self.from(first, key)
    }

    /// The head of a key's chain, if the key may be in it.
    #[inline]
    fn candidate(&self, key: &Key<'_>) -> Place {
        let hash = key.hash();
        match self.heads.get((hash >> self.shift) as usize) {
            Some(head) if head & filter(hash) != 0 => Place::from_bits(*head),
            _ => Place::NONE,
        }
    }

    /// The first row with a key in a chain from a place on.
    #[inline]
    fn from(&self, mut place: Place, key: &Key<'_>) -> Place {
        while place != Place::NONE {
            let (next, same) = self.rows.compare(place, key);
            if same {
                break;
            }
            place = next;
        }
        place
    }

    /// The next row with the same key.
    #[inline]
    pub fn next(&self, place: Place, key: &Key<'_>) -> Place {
        self.from(self.rows.compare(place, key).0, key)
    }

    /// The first rows of all keys of a batch: first all heads are read, then the rows, so that
    /// waits for memory overlap.
    pub fn find_all(&self, keys: &Keys, found: &mut Vec<Place>) {
        found.clear();
        found.extend(
            (0..keys.len()).map(|i| keys.get(i).map_or(Place::NONE, |key| self.candidate(&key))),
        );
        for (i, place) in found.iter_mut().enumerate() {
            if *place != Place::NONE
                && let Some(key) = keys.get(i)
            {
                *place = self.from(*place, &key);
            }
        }
    }
}
