//! Groups of an aggregation: their keys and the states of their aggregates.
//! Guarantee: groups come out in the order in which they were first met.

use super::hash::key::{Key, Keys, part_of};
use super::hash::rows::{Place, unpack};
use super::hash::table::HashTable;
use super::partition::PARTS;
use expr::aggregate::{Accumulator, Aggregate};
use session::query_memory::Share;
use types::{SqlError, Value, pack_row};

/// The groups. A group's row is its number and its values.
#[derive(Default)]
pub struct Groups {
    table: HashTable,
    /// Those of each group after those of the last one.
    states: Vec<Accumulator>,
    /// Bytes that the states of each group have grown by; kept only where states grow.
    grown: Vec<usize>,
    packed: Vec<u8>,
}

impl Groups {
    /// How many.
    pub fn len(&self) -> usize {
        self.table.rows.len()
    }

    /// The groups of a batch's keys; none for those that are new.
    pub fn find_all(&self, keys: &Keys, found: &mut Vec<Place>) {
        self.table.find_all(keys, found);
    }

    /// The group of a key.
    pub fn find(&self, key: &Key<'_>) -> Place {
        self.table.find(key)
    }

    /// The number of a group.
    #[inline]
    pub fn number(&self, place: Place) -> usize {
        self.table.rows.row(place).first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) as usize
    }

    /// Adds a group; none when there is no memory for it. A first one is always taken, one that is
    /// forced too.
    pub fn add(
        &mut self,
        key: Key<'_>,
        values: &[Value],
        aggregates: &[Aggregate],
        share: &mut Share,
        forced: bool,
    ) -> Option<usize> {
        let number = self.len();
        self.packed.clear();
        self.packed.extend_from_slice(&(number as u32).to_le_bytes());
        pack_row(values, &mut self.packed);
        if !self.room(aggregates.len(), share, forced) || u32::try_from(number).is_err() {
            return None;
        }
        if forced {
            self.table.insert_forced(key, &self.packed, share);
        } else {
            self.table.insert(key, &self.packed, share)?;
        }
        self.states.extend(aggregates.iter().map(Aggregate::start));
        Some(number)
    }

    /// Room for one more group's states.
    fn room(&mut self, count: usize, share: &mut Share, forced: bool) -> bool {
        let need = self.states.len() + count;
        if need <= self.states.capacity() {
            return true;
        }
        let capacity = (need * 2).max(16);
        let bytes = (capacity - self.states.capacity()) * size_of::<Accumulator>();
        if self.states.is_empty() || forced {
            share.force(bytes);
        } else if !share.take(bytes) {
            return false;
        }
        self.states.reserve_exact(capacity - self.states.len());
        true
    }

    /// The states of a group.
    #[inline]
    pub fn states(&mut self, number: usize, count: usize) -> &mut [Accumulator] {
        &mut self.states[number * count..(number + 1) * count]
    }

    /// The states of a group have grown.
    pub fn grow(&mut self, number: usize, bytes: usize) {
        if self.grown.len() <= number {
            self.grown.resize(number + 1, 0);
        }
        self.grown[number] += bytes;
    }

    /// Divides the groups by a part of their keys' hashes.
    pub fn split(self, level: u32, count: usize, share: &mut Share) -> Vec<Groups> {
        let mut parts: Vec<Groups> = (0..PARTS).map(|_| Groups::default()).collect();
        let Groups { mut table, states, grown, .. } = self;
        let capacity = states.capacity();
        let mut states = states.into_iter();
        for (number, record) in table.rows.iter().enumerate() {
            let Some(key) = record.key else { continue };
            let part = &mut parts[part_of(key.hash(), level)];
            let at = part.len();
            part.packed.clear();
            part.packed.extend_from_slice(&(at as u32).to_le_bytes());
            part.packed.extend_from_slice(record.row.get(4..).unwrap_or_default());
            part.table.insert_forced(key, &part.packed, share);
            let before = part.states.capacity();
            part.states.extend(states.by_ref().take(count));
            share.force((part.states.capacity() - before) * size_of::<Accumulator>());
            if let Some(bytes) = grown.get(number) {
                part.grow(at, *bytes);
            }
        }
        table.clear(share);
        share.give(capacity * size_of::<Accumulator>());
        parts
    }

    /// No more rows come: the groups one after another.
    pub fn finish(mut self) -> Finished {
        let states = std::mem::take(&mut self.states);
        let bytes = states.capacity() * size_of::<Accumulator>() + self.grown.iter().sum::<usize>();
        Finished {
            at: self.table.rows.first(),
            table: self.table,
            states: states.into_iter(),
            bytes,
        }
    }
}

/// Groups that take no more rows.
#[derive(Default)]
pub struct Finished {
    table: HashTable,
    at: Place,
    states: std::vec::IntoIter<Accumulator>,
    bytes: usize,
}

impl Finished {
    /// The next group's values and results into a row; false when there is none.
    ///
    /// # Errors
    /// Those of the aggregates.
    pub fn next(
        &mut self,
        keys: usize,
        aggregates: &[Aggregate],
        row: &mut [Value],
    ) -> Result<bool, SqlError> {
        if self.at == Place::NONE {
            return Ok(false);
        }
        let (values, results) = row.split_at_mut(keys);
        unpack(self.table.rows.row(self.at).get(4..).unwrap_or_default(), values)?;
        for ((place, aggregate), state) in results.iter_mut().zip(aggregates).zip(&mut self.states)
        {
            *place = aggregate.finish(state)?;
        }
        self.at = self.table.rows.after(self.at);
        Ok(true)
    }

    /// Gives the memory back.
    pub fn clear(&mut self, share: &mut Share) {
        self.table.clear(share);
        share.give(std::mem::take(&mut self.bytes));
        self.states = Vec::new().into_iter();
    }
}
