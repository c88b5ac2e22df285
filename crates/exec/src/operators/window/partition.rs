//! A partition of a window: its rows come in as they are asked for and go when nobody reads them
//! again. Guarantees: rows have the order of their keys; a frame that looks back and ahead by n
//! rows needs memory for n rows; rows that a call needs to the end of the partition go to disk when
//! there is no memory for them.

use types::{SqlError, Value, pack_row};

use super::WindowParts;
use crate::operators::external_sort::{Sorted, Sorter};
use crate::operators::row_store::{Cursor, RowStore};
use crate::operators::rt::Rt;
use crate::operators::{Operator, RowSet};

/// Where rows come from.
enum PartitionSource {
    /// Sorted by the keys. Value of a record: bytes of the partition's part of the key, the packed
    /// row.
    Sorted(Sorted),
    /// Rows that come in order.
    Input {
        input: Box<dyn Operator>,
        batch: RowSet,
        at: usize,
    },
    Ended,
}

/// A record that was read.
#[derive(Default)]
struct NextRecord {
    there: bool,
    key: Vec<u8>,
    /// How much of the key says which partition it is.
    partition: usize,
    row: Vec<u8>,
}

/// The partition whose turn it is.
pub struct Partition {
    source: PartitionSource,
    rows: RowStore,
    /// The first record that is not among the rows.
    ahead: NextRecord,
    /// The key of the last row.
    last_key: Vec<u8>,
    /// Whether all its rows are there.
    complete: bool,
    /// A bit for each row: it has other keys than the row before.
    starts: Vec<u64>,
    /// What [`Partition::other_row`] has read; empty before.
    other: Vec<Value>,
    /// Columns of the input.
    width: usize,
}

impl Partition {
    /// Before the first one. Sorts the input that does not come in order.
    ///
    /// # Errors
    /// Those of the input, the keys, and of run files.
    pub fn new(
        mut input: Box<dyn Operator>,
        on: WindowParts<'_>,
        rt: &mut Rt<'_, '_>,
    ) -> Result<Partition, SqlError> {
        let source = if on.streams {
            PartitionSource::Input { input, batch: RowSet::default(), at: 0 }
        } else {
            PartitionSource::Sorted(sort(&mut *input, on, rt)?)
        };
        let rows = RowStore::new(rt.session().host().run_files().clone(), rt.share());
        let mut partition = Partition {
            source,
            rows,
            ahead: NextRecord::default(),
            last_key: Vec::new(),
            complete: true,
            starts: Vec::new(),
            other: Vec::new(),
            width: on.input.width(),
        };
        partition.read(on, rt)?;
        Ok(partition)
    }

    /// Reads the next record.
    fn read(&mut self, on: WindowParts<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let ahead = &mut self.ahead;
        ahead.there = false;
        match &mut self.source {
            PartitionSource::Sorted(sorted) => {
                if let Some((key, value)) = sorted.next_record()?
                    && let Some((partition, row)) = value.split_first_chunk()
                {
                    ahead.there = true;
                    ahead.partition = u32::from_le_bytes(*partition) as usize;
                    ahead.key.clear();
                    ahead.key.extend_from_slice(key);
                    ahead.row.clear();
                    ahead.row.extend_from_slice(row);
                }
            }
            PartitionSource::Input { input, batch, at } => {
                while *at == batch.len() && input.next(on.input, rt, batch)? {
                    *at = 0;
                    rt.check_cancel()?;
                }
                if *at < batch.len() {
                    ahead.there = true;
                    ahead.key.clear();
                    ahead.partition = on.key(batch.row(*at), rt, &mut ahead.key)?;
                    ahead.row.clear();
                    pack_row(batch.row(*at), &mut ahead.row);
                    *at += 1;
                }
            }
            PartitionSource::Ended => {}
        }
        if !ahead.there {
            self.source = PartitionSource::Ended;
        }
        Ok(())
    }

    /// Goes on to the next partition; false when there is none. The one before has given all its
    /// rows.
    pub fn next(&mut self, on: WindowParts<'_>, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        debug_assert!(self.complete, "rows of a partition are left");
        self.rows.clear();
        self.starts.clear();
        if !self.ahead.there {
            return Ok(false);
        }
        self.complete = false;
        self.take(on, rt)?;
        Ok(true)
    }

    /// Adds the record that was read to the rows.
    fn take(&mut self, on: WindowParts<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let at = self.rows.len();
        if at.is_multiple_of(64) {
            self.starts.push(0);
        }
        if at == 0 || self.ahead.key != self.last_key {
            self.starts[at / 64] |= 1 << (at % 64);
        }
        self.rows.push(&self.ahead.row)?;
        std::mem::swap(&mut self.last_key, &mut self.ahead.key);
        let part = self.ahead.partition;
        self.read(on, rt)?;
        let same = self.ahead.there
            && self.ahead.partition == part
            && self.ahead.key[..part] == self.last_key[..part];
        self.complete = !same;
        Ok(())
    }

    /// Whether the partition has a row; it is there then.
    pub fn has(
        &mut self,
        on: WindowParts<'_>,
        row: usize,
        rt: &mut Rt<'_, '_>,
    ) -> Result<bool, SqlError> {
        while self.rows.len() <= row && !self.complete {
            if self.rows.len().is_multiple_of(1024) {
                rt.check_cancel()?;
            }
            self.take(on, rt)?;
        }
        Ok(row < self.rows.len())
    }

    /// How many of the first `n` rows it has.
    pub fn at_most(
        &mut self,
        on: WindowParts<'_>,
        n: usize,
        rt: &mut Rt<'_, '_>,
    ) -> Result<usize, SqlError> {
        match n.checked_sub(1) {
            Some(last) if !self.has(on, last, rt)? => Ok(self.rows.len()),
            _ => Ok(n),
        }
    }

    /// How many rows it has.
    pub fn count(&mut self, on: WindowParts<'_>, rt: &mut Rt<'_, '_>) -> Result<usize, SqlError> {
        self.at_most(on, usize::MAX, rt)
    }

    /// Whether a row, which is there, has other keys than the one before.
    pub fn starts_peers(&self, row: usize) -> bool {
        self.starts[row / 64] >> (row % 64) & 1 == 1
    }

    /// The row after the last peer of a row.
    pub fn peers_end(
        &mut self,
        on: WindowParts<'_>,
        row: usize,
        rt: &mut Rt<'_, '_>,
    ) -> Result<usize, SqlError> {
        let mut next = row + 1;
        while self.has(on, next, rt)? && !self.starts_peers(next) {
            next += 1;
        }
        Ok(next)
    }

    /// A row that is there.
    ///
    /// # Errors
    /// Those of run files.
    pub fn row(
        &self,
        row: usize,
        cursor: &mut Cursor,
        values: &mut [Value],
    ) -> Result<(), SqlError> {
        self.rows.read(row, cursor, values)
    }

    /// Reads another row than the present one; it must be there. The slice is valid until the next
    /// call.
    ///
    /// # Errors
    /// As [`Partition::row`].
    pub fn other_row(&mut self, row: usize, cursor: &mut Cursor) -> Result<&[Value], SqlError> {
        self.other.resize(self.width, Value::Null);
        self.rows.read(row, cursor, &mut self.other)?;
        Ok(&self.other)
    }

    /// Lets rows before this one go.
    pub fn keep_from(&mut self, row: usize) {
        self.rows.keep_from(row);
    }
}

/// Sorts rows by the keys of a window.
fn sort(
    input: &mut dyn Operator,
    on: WindowParts<'_>,
    rt: &mut Rt<'_, '_>,
) -> Result<Sorted, SqlError> {
    let sorter = Sorter::new(rt.session().host().run_files().clone(), rt.share(), None);
    let mut sorter = sorter.of_session(&rt.session().shared);
    let (mut batch, mut key, mut value) = (RowSet::default(), Vec::new(), Vec::new());
    while input.next(on.input, rt, &mut batch)? {
        rt.check_cancel()?;
        for i in 0..batch.len() {
            let row = batch.row(i);
            key.clear();
            let partition = on.key(row, rt, &mut key)?;
            value.clear();
            value.extend_from_slice(&(partition as u32).to_le_bytes());
            pack_row(row, &mut value);
            sorter.push(&key, &value)?;
        }
    }
    sorter.finish()
}
