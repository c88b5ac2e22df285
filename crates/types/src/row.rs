//! The stored row body: how a table's values become bytes and back.
//!
//! ```text
//! status A | status B | end of fixed part: u16 | fixed columns | column count: u16 | null bitmap
//!          | variable column count: u16 | end offset of each: u16 | variable data
//! ```
//! The variable part is there only when some variable column is not empty (status A, bit 0x20); an
//! end offset with its high bit set marks bytes that are a pointer to a value outside the row.
//! Status A has bit 0x40 where the value of a column that is not a MAX one is outside. Fixed
//! columns take their space even when NULL; bit columns share bytes; char and varchar are in their
//! collation's code page, nchar and nvarchar UTF-16LE.
//!
//! A bare row ([`RowLayout::bare`]) is for places that tell its length, and whose rows all have the
//! columns of the layout: `fixed columns | null bitmap | end offset of each variable column: u16 |
//! variable data`. Of a layout without columns it has no bytes at all.
//!
//! Guarantees: what `encode` wrote, `decode` gives back; columns added to the layout later read as
//! NULL from older rows; no bytes whatever make `decode` panic.

mod compare;
mod decode;
mod encode;
mod stored;

pub use compare::{CellConstant, CellOrder};
pub use decode::RowParts;
pub use stored::StoredCell;

use crate::collation::Collation;
use crate::datatype::DataType;
use crate::rowcell::Cell;
use crate::value::Value;

/// Most bytes of a row body, pointers to values outside it included.
pub const MAX_ROW: usize = 8060;
/// Bytes before the fixed columns.
const HEADER: usize = 4;
const STATUS_NULL_BITMAP: u8 = 0x10;
const STATUS_VARIABLE: u8 = 0x20;
/// A column that is not a MAX one has a pointer.
const STATUS_OVERFLOW: u8 = 0x40;
const OFF_ROW: u16 = 0x8000;

/// A column as the row format sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnType {
    pub ty: DataType,
    pub nullable: bool,
    pub collation: Collation,
}

/// Whether a row has a value outside it for a column that is not a MAX one.
#[inline]
pub fn has_overflow(row: &[u8]) -> bool {
    row.first().is_some_and(|status| status & STATUS_OVERFLOW != 0)
}

/// What goes into a column: a value, or an opaque pointer to where the value is.
#[derive(Clone, Copy, Debug)]
pub enum EncodeValue<'a> {
    Value(&'a Value),
    LobPointer(&'a [u8]),
}

/// What came out of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    Value(Value),
    /// The pointer that was stored instead of the value.
    Lob(&'a [u8]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RowPlace {
    /// Offset from the row's start, bytes.
    Fixed { offset: u16, width: u16 },
    /// Number among the variable columns.
    Variable { index: u16 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Column {
    cell: Cell,
    place: RowPlace,
}

/// Where each column of a table lies in its rows. Made once per table version, shared by all its
/// rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Vec<Column>,
    types: Vec<ColumnType>,
    /// Offset of the end of the fixed columns.
    fixed_end: usize,
    /// Column numbers of the variable columns.
    variable: Vec<u16>,
    /// Stretches of neighbouring char columns, (start, end): their text is checked in one go.
    runs: Vec<(u16, u16)>,
    /// Rows without a head and without counts.
    bare: bool,
}

impl RowLayout {
    /// Lays out the columns in their order.
    pub fn new(types: &[ColumnType]) -> RowLayout {
        RowLayout::laid_out(types, false)
    }

    /// The same for bare rows: see the module.
    pub fn bare(types: &[ColumnType]) -> RowLayout {
        RowLayout::laid_out(types, true)
    }

    fn laid_out(types: &[ColumnType], bare: bool) -> RowLayout {
        let mut layout = RowLayout {
            columns: Vec::with_capacity(types.len()),
            types: types.to_vec(),
            fixed_end: if bare { 0 } else { HEADER },
            variable: Vec::new(),
            runs: Vec::new(),
            bare,
        };
        // The byte that the next bit column goes into, and the next free bit there.
        let mut bits: Option<(usize, u8)> = None;
        for (number, column) in types.iter().enumerate() {
            let place = if column.ty.is_variable() || column.ty == DataType::SqlVariant {
                layout.variable.push(number as u16);
                RowPlace::Variable { index: (layout.variable.len() - 1) as u16 }
            } else if column.ty == DataType::Bit {
                let (offset, bit) = bits.unwrap_or((layout.fixed_end, 0));
                layout.fixed_end = layout.fixed_end.max(offset + 1);
                bits = (bit < 7).then_some((offset, bit + 1));
                layout.columns.push(Column {
                    cell: Cell::Bit { mask: 1 << bit },
                    place: RowPlace::Fixed { offset: offset as u16, width: 1 },
                });
                continue;
            } else {
                let width = column.ty.fixed_width();
                let offset = layout.fixed_end;
                layout.fixed_end += usize::from(width);
                RowPlace::Fixed { offset: offset as u16, width }
            };
            layout.columns.push(Column { cell: Cell::of(column.ty, column.collation), place });
        }
        layout.find_runs();
        layout
    }

    /// Numbers the stretches of char columns and tells each of them its own.
    fn find_runs(&mut self) {
        for column in &mut self.columns {
            let (Cell::Char { run }, RowPlace::Fixed { offset, width }) =
                (&mut column.cell, column.place)
            else {
                continue;
            };
            let end = offset.saturating_add(width);
            match self.runs.last_mut() {
                Some(last) if last.1 == offset => last.1 = end,
                _ => self.runs.push((offset, end)),
            }
            *run = (self.runs.len() - 1) as u16;
        }
    }

    /// The columns' types, in order.
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// How many columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// True without columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Bytes of a row whose variable columns are all empty.
    pub fn min_row_size(&self) -> usize {
        self.fixed_end + self.count_bytes() + self.columns.len().div_ceil(8)
    }

    /// Bytes of a count of columns.
    fn count_bytes(&self) -> usize {
        if self.bare { 0 } else { 2 }
    }

    /// Bytes of the largest row that this layout could want; above [`MAX_ROW`] some rows will need
    /// values outside the row or fail with 511. MAX columns count as the 8000 bytes that may stay
    /// in the row.
    pub fn max_row_size(&self) -> usize {
        let lengths = self.variable.iter().map(|&c| {
            let ty = self.types[usize::from(c)].ty;
            usize::try_from(ty.max_length()).unwrap_or(8000) + 2
        });
        let variable: usize = lengths.sum();
        self.min_row_size()
            + variable
            + if self.variable.is_empty() { 0 } else { self.count_bytes() }
    }

    /// Bytes of a row in which each variable column takes so many: its value, or the pointer that
    /// stands for it; 0 for NULL and empty ones.
    pub fn row_size(&self, bytes_of: impl Fn(usize) -> usize) -> usize {
        let (mut written, mut data) = (0, 0);
        for (index, &number) in self.variable.iter().enumerate() {
            let bytes = bytes_of(usize::from(number));
            if bytes > 0 {
                written = index + 1;
                data += bytes;
            }
        }
        let ends = if self.bare { self.variable.len() } else { written };
        self.min_row_size() + if written == 0 { 0 } else { self.count_bytes() + 2 * ends + data }
    }

    /// Whether rows of this layout can be copied byte for byte into a table of the other.
    pub fn same_bytes_as(&self, other: &RowLayout) -> bool {
        self.columns == other.columns
            && self.fixed_end == other.fixed_end
            && self.bare == other.bare
    }

    /// Whether a column may hold a pointer instead of its value.
    pub fn is_variable(&self, i: usize) -> bool {
        self.columns.get(i).is_some_and(|c| matches!(c.place, RowPlace::Variable { .. }))
    }

    /// Where a fixed column's bytes lie in every row that has the column: offset and width, for
    /// writing in place. `None` for variable columns and bits.
    pub fn fixed_place(&self, i: usize) -> Option<(usize, usize)> {
        let column = self.columns.get(i)?;
        match (column.place, column.cell) {
            (_, Cell::Bit { .. }) | (RowPlace::Variable { .. }, _) => None,
            (RowPlace::Fixed { offset, width }, _) => {
                Some((usize::from(offset), usize::from(width)))
            }
        }
    }
}
