//! Keys of rows as hash tables take them, computed for a batch of rows at a time. Guarantees: two
//! keys are equal exactly when SQL calls their values equal (`expr::key`); a key of one integer is
//! a word and takes no bytes; where NULL equals nothing, a key with a NULL in it is none.

use super::super::RowSet;
use crate::operators::rt::Rt;
use expr::Expr;
use expr::key::encode;
use smallvec::SmallVec;
use types::{Collation, SqlError, Value};

/// A key: an integer, or the hash of bytes and the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    pub word: u64,
    pub bytes: &'a [u8],
}

impl Key<'_> {
    /// Its hash.
    #[inline]
    pub fn hash(&self) -> u64 {
        hash_of(self.word, self.bytes.len())
    }
}

/// The hash of a key whose bytes are so many.
#[inline]
pub fn hash_of(word: u64, bytes: usize) -> u64 {
    if bytes == 0 { fold(word ^ SEEDS[0], SEEDS[1]) } else { word }
}

/// Part `level` of a hash, 0 to 15: parts of different levels have little to do with each other.
pub fn part_of(hash: u64, level: u32) -> usize {
    (fold(hash ^ SEEDS[2].rotate_left(level * 11), SEEDS[3]) >> 60) as usize
}

/// Digits of pi.
const SEEDS: [u64; 4] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7345, 0xA409_3822_299F_31D1, 0x082E_FA98_EC4E_6C89];

/// Both halves of a product: each bit of the factors touches many bits.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = SEEDS[0] ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = fold(word.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)) ^ hash, SEEDS[1]);
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    fold(u64::from_le_bytes(last) ^ hash, SEEDS[3])
}

#[derive(Clone, Copy)]
enum KeySource<'p> {
    Slot(usize),
    Expr(&'p Expr),
}

/// What the keys of an operator's rows are made of; made again for each batch from the operator's
/// node.
pub struct KeyParts<'p> {
    parts: SmallVec<[(KeySource<'p>, Collation); 4]>,
    /// NULL equals NULL.
    nulls_equal: bool,
}

impl<'p> KeyParts<'p> {
    /// A key of expressions over the row.
    pub fn of(
        parts: impl Iterator<Item = (&'p Expr, Collation)>,
        nulls_equal: bool,
    ) -> KeyParts<'p> {
        let source = |e: &'p Expr| match e {
            Expr::Col(slot) => KeySource::Slot(*slot as usize),
            other => KeySource::Expr(other),
        };
        KeyParts { parts: parts.map(|(e, c)| (source(e), c)).collect(), nulls_equal }
    }

    /// A key of every slot of the row; NULL equals NULL.
    pub fn whole_row(collations: &[Collation]) -> KeyParts<'p> {
        let parts = collations.iter().enumerate().map(|(slot, c)| (KeySource::Slot(slot), *c));
        KeyParts { parts: parts.collect(), nulls_equal: true }
    }
}

/// Keys of a batch of rows.
#[derive(Default)]
pub struct Keys {
    words: Vec<u64>,
    /// Where each key's bytes end; `NONE` in the top bit: there is no key.
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

const NONE: u64 = 1 << 63;

impl Keys {
    /// Forgets them.
    pub fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
        self.bytes.clear();
    }

    /// The keys of a batch.
    ///
    /// # Errors
    /// Those of its expressions.
    pub fn fill(
        &mut self,
        parts: &KeyParts<'_>,
        batch: &RowSet,
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        self.clear();
        if let [(KeySource::Slot(slot), collation)] = parts.parts[..] {
            for i in 0..batch.len() {
                let value = &batch.row(i)[slot];
                match value.as_i64() {
                    Some(n) => self.push_word(n as u64),
                    None if value.is_null() && !parts.nulls_equal => self.push_none(),
                    None => {
                        encode(value, collation, &mut self.bytes);
                        self.end();
                    }
                }
            }
            return Ok(());
        }
        for i in 0..batch.len() {
            self.push_row(parts, batch.row(i), rt)?;
        }
        Ok(())
    }

    fn push_row(
        &mut self,
        parts: &KeyParts<'_>,
        row: &[Value],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        for (source, collation) in &parts.parts {
            let mut scratch = Value::Null;
            let value = match source {
                KeySource::Slot(slot) => &row[*slot],
                KeySource::Expr(e) => e.eval_ref(row, rt, &mut scratch)?,
            };
            if value.is_null() && !parts.nulls_equal {
                self.push_none();
                return Ok(());
            }
            if parts.parts.len() == 1
                && let Some(n) = value.as_i64()
            {
                self.push_word(n as u64);
                return Ok(());
            }
            encode(value, *collation, &mut self.bytes);
        }
        self.end();
        Ok(())
    }

    /// Adds a key that was computed before.
    pub fn push(&mut self, key: Option<Key<'_>>) {
        match key {
            Some(key) => {
                self.bytes.extend_from_slice(key.bytes);
                self.push_word(key.word);
            }
            None => self.push_none(),
        }
    }

    #[inline]
    fn push_word(&mut self, word: u64) {
        self.words.push(word);
        self.ends.push(self.bytes.len() as u64);
    }

    fn push_none(&mut self) {
        self.bytes.truncate(self.start(self.ends.len()));
        self.words.push(0);
        self.ends.push(self.bytes.len() as u64 | NONE);
    }

    fn end(&mut self) {
        let start = self.start(self.ends.len());
        self.words.push(hash_bytes(&self.bytes[start..]));
        self.ends.push(self.bytes.len() as u64);
    }

    #[inline]
    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { (self.ends[i - 1] & !NONE) as usize }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// A row's key, if it has one.
    #[inline]
    pub fn get(&self, i: usize) -> Option<Key<'_>> {
        let end = self.ends[i];
        let key = || Key { word: self.words[i], bytes: &self.bytes[self.start(i)..end as usize] };
        (end & NONE == 0).then(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hashes_of_neighbours_differ_and_parts_are_even() {
        let mut hashes = HashSet::new();
        let mut counts = [[0; 16]; 3];
        for n in 0..16_000u64 {
            for key in [
                Key { word: n, bytes: &[] },
                Key { word: hash_bytes(&n.to_le_bytes()), bytes: b"x" },
            ] {
                assert!(hashes.insert(key.hash()));
                for (level, counts) in counts.iter_mut().enumerate() {
                    counts[part_of(key.hash(), level as u32)] += 1;
                }
            }
        }
        assert!(counts.iter().flatten().all(|n| (1700..2300).contains(n)), "{counts:?}");
    }

    #[test]
    fn parts_of_one_level_are_split_by_the_next() {
        let hashes = (0..40_000u64).map(|n| hash_of(n, 0)).filter(|h| part_of(*h, 0) == 3);
        let mut counts = [0; 16];
        hashes.for_each(|h| counts[part_of(h, 1)] += 1);
        assert!(counts.iter().all(|n| (100..220).contains(n)), "{counts:?}");
    }
}
