//! Decoding stored rows, values outside them included.

use super::{Base, TableMode, TableStore, access_error, corrupt_row, rid_value, value_rid};
use access::lob::{LobPointer, LobSpace};
use access::{AccessError, Beside, ReadMode, Rid, RowBatch};
use catalog::Db;
use catalog::errors::data_moved;
use types::row::has_overflow;
use types::{Corrupt, Field, RowLayout, SqlError, Value};

impl TableStore {
    /// One column of a base row.
    #[inline]
    pub fn column(&self, db: &Db, row: &[u8], column: usize) -> Result<Value, SqlError> {
        self.column_read(db, TableMode::Snapshot, row, column)
    }

    #[inline]
    fn column_read(
        &self,
        db: &Db,
        mode: TableMode,
        row: &[u8],
        column: usize,
    ) -> Result<Value, SqlError> {
        match self.table.layout.decode_column(row, column) {
            Ok(value) => Ok(value),
            Err(Corrupt::OffRow { .. }) => self.off_row(db, mode, row, column),
            Err(e) => Err(corrupt_row(&self.table, &e)),
        }
    }

    /// Columns of a base row into the first places of `out`.
    #[inline]
    pub fn columns(
        &self,
        db: &Db,
        row: &[u8],
        wanted: &[u16],
        out: &mut [Value],
    ) -> Result<(), SqlError> {
        self.columns_read(db, TableMode::Snapshot, row, wanted, out)
    }

    /// The same of a row that was read in a mode that may be a dirty one.
    ///
    /// # Errors
    /// 601 where the row's writer has been rolled back since, and its values outside the row are
    /// gone.
    #[inline]
    pub fn columns_read(
        &self,
        db: &Db,
        mode: TableMode,
        row: &[u8],
        wanted: &[u16],
        out: &mut [Value],
    ) -> Result<(), SqlError> {
        match self.table.layout.decode_some(row, wanted, out) {
            Ok(()) => Ok(()),
            Err(Corrupt::OffRow { .. }) => {
                for (column, place) in wanted.iter().zip(out) {
                    *place = self.column_read(db, mode, row, usize::from(*column))?;
                }
                Ok(())
            }
            Err(e) => Err(corrupt_row(&self.table, &e)),
        }
    }

    /// All columns of a base row.
    pub fn all_columns(&self, db: &Db, row: &[u8], out: &mut [Value]) -> Result<(), SqlError> {
        match self.table.layout.decode_all(row, out) {
            Ok(()) => Ok(()),
            Err(Corrupt::OffRow { .. }) => {
                for (column, place) in out.iter_mut().enumerate().take(self.table.columns.len()) {
                    *place = self.column(db, row, column)?;
                }
                Ok(())
            }
            Err(e) => Err(corrupt_row(&self.table, &e)),
        }
    }

    /// Bytes of the large values among some columns of a base row, which are read apart from it.
    pub fn large_bytes(&self, row: &[u8], wanted: &[u16]) -> usize {
        let layout = &self.table.layout;
        let Ok(parts) = layout.parts(row) else { return 0 };
        let large =
            wanted.iter().map(|at| usize::from(*at)).filter(|at| self.lob_columns.contains(at));
        let pointers = large.filter_map(|at| layout.pointer(&parts, at));
        let bytes =
            pointers.filter_map(|bytes| LobPointer::from_bytes(bytes).ok().map(|found| found.len));
        bytes.fold(0, |sum, len| sum.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)))
    }

    fn off_row(
        &self,
        db: &Db,
        mode: TableMode,
        row: &[u8],
        column: usize,
    ) -> Result<Value, SqlError> {
        let large = self.lob_columns.contains(&column);
        let space = if large { self.lob.as_ref() } else { self.overflow_space(db)? };
        match read_off_row(space, &self.table.layout, row, column) {
            Ok(Some(value)) => Ok(value),
            // Undo frees at once what a transaction has written, and its pages may be another
            // value's by now.
            Ok(None) | Err(AccessError::Lob { .. }) if mode == TableMode::Dirty => {
                Err(data_moved())
            }
            Ok(None) => Err(corrupt_row(&self.table, &Corrupt::OffRow { column })),
            Err(e) => Err(access_error(db, e)),
        }
    }

    /// The pointers to values outside a row.
    pub fn pointers(&self, row: &[u8], out: &mut Pointers) {
        let layout = &self.table.layout;
        let Ok(parts) = layout.parts(row) else { return };
        let find = |columns: &[usize], out: &mut Vec<LobPointer>| {
            let pointers = columns.iter().filter_map(|column| layout.pointer(&parts, *column));
            out.extend(pointers.filter_map(|bytes| LobPointer::from_bytes(bytes).ok()));
        };
        find(&self.lob_columns, &mut out.large);
        if has_overflow(row) {
            find(&self.overflow_columns, &mut out.overflow);
        }
    }
}

/// Pointers from rows to values outside them, by the space that they lead to.
#[derive(Clone, Debug, Default)]
pub struct Pointers {
    /// Of MAX columns.
    pub large: Vec<LobPointer>,
    /// Of other columns, of rows that were too long.
    pub overflow: Vec<LobPointer>,
}

impl Pointers {
    /// None of a row.
    pub fn clear(&mut self) {
        self.large.clear();
        self.overflow.clear();
    }
}

fn read_off_row(
    lob: Option<&LobSpace>,
    layout: &RowLayout,
    row: &[u8],
    column: usize,
) -> Result<Option<Value>, AccessError> {
    let Ok(Field::Lob(bytes)) = layout.decode_field(row, column) else { return Ok(None) };
    let pointer = LobPointer::from_bytes(bytes)?;
    let Some(lob) = lob else { return Ok(None) };
    // No value is longer: what says so is not believed, and gets no room before it is read.
    const LONGEST: u64 = 3 << 30;
    let mut bytes = Vec::with_capacity(usize::try_from(pointer.len.min(LONGEST)).unwrap_or(0));
    lob.read(pointer, &mut bytes)?;
    Ok(layout.value_from_bytes(column, &bytes).ok())
}

/// The base row of a locator, as the only row of `batch`.
pub fn fetch(
    db: &Db,
    store: &TableStore,
    locator: &Value,
    mode: ReadMode<'_>,
    batch: &mut RowBatch,
) -> Result<bool, SqlError> {
    let found = match (&store.base, locator) {
        (Base::Heap(heap), Value::BigInt(n)) => {
            heap.fetch(Rid::from_bytes(n.to_le_bytes()), mode, batch)
        }
        (Base::Tree(tree), Value::Bytes(key)) => tree.fetch(key, mode, batch),
        _ => return Err(SqlError::internal("a locator of another table")),
    };
    found.map_err(|e| access_error(db, e))
}

/// Where a base row is, borrowed from what names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPlace<'k> {
    Rid(Rid),
    Key(&'k [u8]),
}

impl<'k> RowPlace<'k> {
    /// From a value of a plan.
    ///
    /// # Errors
    /// It is none of a row.
    pub fn of(value: &'k Value) -> Result<RowPlace<'k>, SqlError> {
        match value {
            Value::Bytes(key) => Ok(RowPlace::Key(key)),
            other => match value_rid(other) {
                Some(rid) => Ok(RowPlace::Rid(rid)),
                None => Err(SqlError::internal("a value that is no locator")),
            },
        }
    }

    /// As a value of a plan.
    pub fn value(self) -> Value {
        match self {
            RowPlace::Rid(rid) => rid_value(rid),
            RowPlace::Key(key) => Value::bytes(key),
        }
    }
}

/// As [`fetch`], for one who fetches many rows: `beside` knows where those before were.
///
/// # Errors
/// As [`fetch`].
pub fn fetch_beside(
    (db, store): (&Db, &TableStore),
    beside: &mut Beside,
    place: RowPlace<'_>,
    mode: ReadMode<'_>,
    batch: &mut RowBatch,
) -> Result<bool, SqlError> {
    let found = match (&store.base, place) {
        (Base::Heap(heap), RowPlace::Rid(rid)) => heap.fetch(rid, mode, batch),
        (Base::Tree(tree), RowPlace::Key(key)) => tree.fetch_beside(beside, key, mode, batch),
        _ => return Err(SqlError::internal("a locator of another table")),
    };
    found.map_err(|e| access_error(db, e))
}
