//! Rows that an operator keeps: packed records one after another in pieces of memory, each with its
//! key and a link to another. Guarantees: a record stays where it is; nothing is taken beyond the
//! share unless it is forced.

use super::key::Key;
use session::query_memory::Share;
use types::{SqlError, Value, pack_row, unpack_row};

/// Bytes of a piece of memory, once there is more than a little.
const CHUNK: usize = 1 << 20;
const FIRST_CHUNK: usize = 4 << 10;
/// A record: link, word of the key, bytes of the key, of the row; both follow.
const HEADER: usize = 24;
/// Marks of a link.
const MARKED: u64 = 1 << 63;
const KEYLESS: u64 = 1 << 62;

/// A record's place: the piece, the offset in it; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(u64);

impl Place {
    pub const NONE: Place = Place(0);

    /// 48 bits.
    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Place {
        Place(bits & ((1 << 48) - 1))
    }

    #[inline]
    fn split(self) -> (usize, usize) {
        let at = self.0 - 1;
        ((at >> 20) as usize, (at & (CHUNK as u64 - 1)) as usize)
    }
}

/// The records.
#[derive(Default)]
pub struct Rows {
    chunks: Vec<Vec<u8>>,
    count: usize,
    packed: Vec<u8>,
}

/// A record as it is read.
pub struct Record<'a> {
    pub place: Place,
    pub key: Option<Key<'a>>,
    pub row: &'a [u8],
}

impl Rows {
    /// Forgets the records and gives their memory back.
    pub fn clear(&mut self, share: &mut Share) {
        self.chunks.drain(..).for_each(|chunk| share.give(chunk.capacity()));
        self.count = 0;
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a row; none when there is no memory for it. A first row is always taken.
    pub fn push(
        &mut self,
        key: Option<Key<'_>>,
        row: &[Value],
        share: &mut Share,
    ) -> Option<Place> {
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        pack_row(row, &mut packed);
        let place = self.push_packed(key, &packed, share);
        self.packed = packed;
        place
    }

    /// Adds a packed row; none when there is no memory for it. A first row is always taken.
    pub fn push_packed(
        &mut self,
        key: Option<Key<'_>>,
        row: &[u8],
        share: &mut Share,
    ) -> Option<Place> {
        let need = need(key, row);
        if !self.has_room(need) {
            let mut size = self.next_chunk(need);
            if !share.take(size) {
                if !self.chunks.is_empty() {
                    return None;
                }
                size = need;
                share.force(size);
            }
            self.chunks.push(Vec::with_capacity(size));
        }
        Some(self.append(key, row))
    }

    /// Adds a packed row, whatever memory there is.
    pub fn push_forced(&mut self, key: Option<Key<'_>>, row: &[u8], share: &mut Share) -> Place {
        let need = need(key, row);
        if !self.has_room(need) {
            let size = self.next_chunk(need);
            share.force(size);
            self.chunks.push(Vec::with_capacity(size));
        }
        self.append(key, row)
    }

    #[inline]
    fn has_room(&self, need: usize) -> bool {
        self.chunks.last().is_some_and(|c| c.capacity() - c.len() >= need && c.len() < CHUNK)
    }

    fn next_chunk(&self, need: usize) -> usize {
        (FIRST_CHUNK << self.chunks.len().min(8)).min(CHUNK).max(need)
    }

    fn append(&mut self, key: Option<Key<'_>>, row: &[u8]) -> Place {
        let bytes = key.map_or(&[][..], |key| key.bytes);
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let place = Place(((index as u64) << 20 | chunk.len() as u64) + 1);
        let link = if key.is_none() { KEYLESS } else { 0 };
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&link.to_le_bytes());
        header[8..16].copy_from_slice(&key.map_or(0, |key| key.word).to_le_bytes());
        header[16..20].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        header[20..].copy_from_slice(&(row.len() as u32).to_le_bytes());
        chunk.extend_from_slice(&header);
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(row);
        self.count += 1;
        place
    }

    #[inline]
    fn rest(&self, place: Place) -> &[u8] {
        let (chunk, at) = place.split();
        &self.chunks[chunk][at..]
    }

    /// The record's link, and whether its key is this one.
    #[inline]
    pub fn compare(&self, place: Place, key: &Key<'_>) -> (Place, bool) {
        let rest = self.rest(place);
        let Some(header) = rest.first_chunk::<HEADER>() else { return (Place::NONE, false) };
        let (link, bytes) = (word(header, 0), length(header, 16));
        let same = word(header, 8) == key.word
            && bytes == key.bytes.len()
            && (bytes == 0 || rest[HEADER..HEADER + bytes] == *key.bytes);
        (Place::from_bits(link), same)
    }

    /// The packed row of a record.
    #[inline]
    pub fn row(&self, place: Place) -> &[u8] {
        let rest = self.rest(place);
        let Some(header) = rest.first_chunk::<HEADER>() else { return &[] };
        let start = HEADER + length(header, 16);
        &rest[start..start + length(header, 20)]
    }

    /// Unpacks the row of a record.
    #[inline]
    pub fn unpack(&self, place: Place, values: &mut [Value]) -> Result<(), SqlError> {
        unpack(self.row(place), values)
    }

    fn link_mut(&mut self, place: Place) -> Option<&mut [u8; 8]> {
        let (chunk, at) = place.split();
        self.chunks[chunk][at..].first_chunk_mut::<8>()
    }

    /// Links a record to another; its marks stay.
    pub fn set_link(&mut self, place: Place, to: Place) {
        if let Some(link) = self.link_mut(place) {
            let marks = u64::from_le_bytes(*link) & (MARKED | KEYLESS);
            *link = (marks | to.0).to_le_bytes();
        }
    }

    /// Marks a record.
    pub fn mark(&mut self, place: Place) {
        if let Some(link) = self.link_mut(place) {
            *link = (u64::from_le_bytes(*link) | MARKED).to_le_bytes();
        }
    }

    /// Whether it was marked.
    pub fn is_marked(&self, place: Place) -> bool {
        self.rest(place)
            .first_chunk::<8>()
            .is_some_and(|link| u64::from_le_bytes(*link) & MARKED != 0)
    }

    /// The first record.
    pub fn first(&self) -> Place {
        if self.count == 0 { Place::NONE } else { Place(1) }
    }

    /// The record that was added after another.
    pub fn after(&self, place: Place) -> Place {
        let (chunk, at) = place.split();
        let rest = &self.chunks[chunk][at..];
        let Some(header) = rest.first_chunk::<HEADER>() else { return Place::NONE };
        let end = at + HEADER + length(header, 16) + length(header, 20);
        if end < self.chunks[chunk].len() {
            Place(place.0 + (end - at) as u64)
        } else if chunk + 1 < self.chunks.len() {
            Place(((chunk as u64 + 1) << 20) + 1)
        } else {
            Place::NONE
        }
    }

    /// A record.
    pub fn record(&self, place: Place) -> Record<'_> {
        let rest = self.rest(place);
        let header = rest.first_chunk::<HEADER>().copied().unwrap_or_default();
        let (row, end) = (HEADER + length(&header, 16), length(&header, 20));
        let key = Key { word: word(&header, 8), bytes: &rest[HEADER..row] };
        let keyed = word(&header, 0) & KEYLESS == 0;
        Record { place, key: keyed.then_some(key), row: &rest[row..row + end] }
    }

    /// All records in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        (0..self.chunks.len()).flat_map(|chunk| self.chunk(chunk))
    }

    /// How many pieces of memory.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The records of a piece of memory.
    pub fn chunk(&self, chunk: usize) -> impl Iterator<Item = Record<'_>> {
        let mut at = Place(((chunk as u64) << 20) + 1);
        std::iter::from_fn(move || {
            if at == Place::NONE || at.split().0 != chunk {
                return None;
            }
            let record = self.record(at);
            at = self.after(at);
            Some(record)
        })
    }
}

fn need(key: Option<Key<'_>>, row: &[u8]) -> usize {
    HEADER + key.map_or(0, |key| key.bytes.len()) + row.len()
}

/// Unpacks a row.
#[inline]
pub fn unpack(row: &[u8], values: &mut [Value]) -> Result<(), SqlError> {
    unpack_row(row, values)
        .map_err(|e| SqlError::internal(format!("a kept row cannot be read: {e}")))
}

#[inline]
fn word(header: &[u8; HEADER], at: usize) -> u64 {
    header[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b))
}

#[inline]
fn length(header: &[u8; HEADER], at: usize) -> usize {
    header[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) as usize
}
