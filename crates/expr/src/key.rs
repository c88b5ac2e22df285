//! Keys of hash tables: bytes that are equal exactly when SQL calls the values equal. Guarantees:
//! strings that a collation calls equal have one key; decimals of different scale but equal value
//! too; NULL has a key of its own (grouping treats NULLs as equal; joins leave them out before).

use smallvec::SmallVec;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use types::{Collation, Value};

/// The key of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueKey(SmallVec<[u8; 24]>);

impl ValueKey {
    /// The key of a value under a collation.
    pub fn new(value: &Value, collation: Collation) -> ValueKey {
        let mut buffer = Vec::new();
        encode(value, collation, &mut buffer);
        ValueKey(SmallVec::from_slice(&buffer))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Hash for ValueKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

/// Appends the key of a value; keys of several values may follow one another.
pub fn encode(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bit(_)
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_) => {
            out.push(1);
            out.extend_from_slice(&value.as_i64().unwrap_or(0).to_le_bytes());
        }
        Value::Decimal(d) => {
            let (mut mantissa, mut scale) = (d.mantissa(), d.scale());
            while scale > 0 && mantissa % 10 == 0 {
                mantissa /= 10;
                scale -= 1;
            }
            out.push(2);
            out.extend_from_slice(&mantissa.to_le_bytes());
            out.push(scale);
        }
        Value::Float(f) => {
            out.push(3);
            out.extend_from_slice(&(*f + 0.0).to_bits().to_le_bytes());
        }
        Value::Real(f) => {
            out.push(4);
            out.extend_from_slice(&(*f + 0.0).to_bits().to_le_bytes());
        }
        Value::Money(m) => {
            out.push(5);
            out.extend_from_slice(&m.to_le_bytes());
        }
        Value::SmallMoney(m) => {
            out.push(5);
            out.extend_from_slice(&i64::from(*m).to_le_bytes());
        }
        Value::Str(s) => {
            out.push(6);
            collation.sort_key(s, out);
        }
        Value::Bytes(b) => {
            let end = b.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            out.push(7);
            out.extend_from_slice(&(end as u32).to_le_bytes());
            out.extend_from_slice(&b[..end]);
        }
        Value::Guid(g) => {
            out.push(8);
            out.extend_from_slice(g);
        }
        Value::Variant(_) => {
            out.push(16);
            types::variant::key(value, out);
        }
        other => encode_moment(other, out),
    }
}

fn encode_moment(value: &Value, out: &mut Vec<u8>) {
    let (tag, a, b) = match *value {
        Value::Date(days) => (9, i64::from(days), 0),
        Value::Time(ticks) => (10, ticks as i64, 0),
        Value::DateTime { days, ticks } => (11, i64::from(days), i64::from(ticks)),
        Value::SmallDateTime { days, minutes } => (12, i64::from(days), i64::from(minutes)),
        Value::DateTime2 { days, ticks } => (13, i64::from(days), ticks as i64),
        Value::DateTimeOffset { days, ticks, .. } => (14, i64::from(days), ticks as i64),
        _ => (15, 0, 0),
    };
    out.push(tag);
    out.extend_from_slice(&a.to_le_bytes());
    out.extend_from_slice(&b.to_le_bytes());
}

/// A fast hash for trusted, in-memory tables (not for data that lives on).
#[derive(Default)]
pub struct FastHasher(u64);

const K: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        let mut h = self.0;
        h ^= h >> 32;
        h = h.wrapping_mul(K);
        h ^ (h >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let word = chunk.try_into().map_or(0, u64::from_le_bytes);
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(K);
        }
        let mut last = [0u8; 8];
        let rest = chunks.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(last) ^ ((rest.len() as u64) << 56))
            .wrapping_mul(K);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(K);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

/// For `HashMap` and `HashSet`.
pub type FastBuild = BuildHasherDefault<FastHasher>;
/// Set of key bytes.
pub type KeySet = std::collections::HashSet<Vec<u8>, FastBuild>;

#[cfg(test)]
mod tests {
    use super::*;
    use types::Decimal;

    #[test]
    fn equal_values_have_equal_keys() {
        let key = |v: Value| ValueKey::new(&v, Collation::DEFAULT);
        assert_eq!(key(Value::str("Abc  ")), key(Value::str("aBC")));
        assert_ne!(key(Value::str("abd")), key(Value::str("abc")));
        let d = |m, s| Value::Decimal(Decimal::new(m, 10, s).unwrap());
        assert_eq!(key(d(100, 2)), key(d(1, 0)));
        assert_ne!(key(d(101, 2)), key(d(1, 0)));
        assert_eq!(key(Value::Float(0.0)), key(Value::Float(-0.0)));
        assert_eq!(key(Value::Int(3)), key(Value::BigInt(3)));
        assert_eq!(key(Value::bytes(vec![1, 0])), key(Value::bytes(vec![1])));
        assert_ne!(key(Value::Null), key(Value::Int(0)));
    }
}
