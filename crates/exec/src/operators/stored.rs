//! Rows of a batch that stay as they are stored, for a client that takes them so: of a query that
//! is one scan, of whose columns the client gets some. Guarantee: no value of such a row lies
//! outside it, and its condition has been tested.

/// The bytes of rows by their places in a batch; the other rows have values.
#[derive(Debug, Default)]
pub struct StoredRows {
    bytes: Vec<u8>,
    /// Where the bytes of a row begin, and how many they are: none of a row that has values.
    rows: Vec<(usize, usize)>,
}

impl StoredRows {
    /// No row.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// Row `i`, the last one of the batch. Those before it that were not put here have values.
    pub fn put(&mut self, i: usize, row: &[u8]) {
        self.truncate(i);
        self.rows.resize(i, (0, 0));
        self.rows.push((self.bytes.len(), row.len()));
        self.bytes.extend_from_slice(row);
    }

    /// Row `i`, if it was put here.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let &(at, len) = self.rows.get(i)?;
        if len == 0 { None } else { self.bytes.get(at..at + len) }
    }

    /// Keeps the first `n` rows.
    #[inline]
    pub fn truncate(&mut self, n: usize) {
        if n < self.rows.len() {
            if let Some((at, _)) = self.rows[n..].iter().find(|(_, len)| *len > 0) {
                self.bytes.truncate(*at);
            }
            self.rows.truncate(n);
        }
    }

    /// Drops the first `n` rows of the batch.
    pub fn drop_front(&mut self, n: usize) {
        self.rows.drain(..n.min(self.rows.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::RowSet;
    use types::{SqlError, Value};

    #[test]
    fn rows_are_found_by_their_places() {
        let mut rows = StoredRows::default();
        rows.put(1, b"one");
        rows.put(3, b"three");
        let all =
            |rows: &StoredRows| (0..5).map(|i| rows.get(i).map(<[u8]>::to_vec)).collect::<Vec<_>>();
        assert_eq!(all(&rows), [None, Some(b"one".to_vec()), None, Some(b"three".to_vec()), None]);
        // The last one is taken back, and another one comes in its place.
        rows.truncate(3);
        rows.put(3, b"drei");
        assert_eq!(all(&rows)[3], Some(b"drei".to_vec()));
        assert_eq!(rows.bytes, b"onedrei");
        rows.drop_front(1);
        assert_eq!(all(&rows), [Some(b"one".to_vec()), None, Some(b"drei".to_vec()), None, None]);
        rows.clear();
        assert_eq!(rows.get(0), None);
    }

    /// A row of a batch is what was pushed last in its place, whichever way.
    #[test]
    fn a_place_is_used_again() {
        let mut set = RowSet::default();
        set.reset(1);
        set.push_row();
        set.store(b"none takes it");
        assert!(!set.takes_stored() && set.stored(0).is_none());
        set.take_stored();
        set.reset(1);
        set.push_row();
        set.store(b"a");
        set.push_row()[0] = Value::Int(2);
        set.push_row();
        set.store(b"c");
        assert_eq!(
            [set.stored(0), set.stored(1), set.stored(2)],
            [Some(&b"a"[..]), None, Some(&b"c"[..])]
        );
        set.pop_row();
        set.push_row()[0] = Value::Int(3);
        assert_eq!((set.stored(2), set.row(2)), (None, &[Value::Int(3)][..]));
        let failed: Result<(), SqlError> = Err(SqlError::internal("of a test"));
        assert!(set.or_pop(failed).is_err());
        set.truncate(1);
        set.push_row()[0] = Value::Int(4);
        assert_eq!((set.stored(0), set.stored(1), set.len()), (Some(&b"a"[..]), None, 2));
        set.reset(1);
        set.push_row()[0] = Value::Int(5);
        assert_eq!(set.stored(0), None);
    }
}
