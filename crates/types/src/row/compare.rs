//! Cells of a row beside a constant: how the value of a column compares with it, told by the stored
//! bytes. Most rows that a scan reads are only compared: for them no value is made.
//!
//! Guarantees: an order that is told is the one that [`ops::compare`] tells of the decoded value
//! and the constant. Where the bytes do not tell it (a pointer, a text that has to be decoded
//! first, no value of the type) it is `Unknown`: the value has to be decoded, which also says what
//! is wrong with it. No bytes make it panic.

use std::cmp::Ordering;

use super::{RowLayout, RowParts, RowPlace};
use crate::codepage::{decode_byte, encode_char};
use crate::collation::{Collation, without_blanks};
use crate::key_bytes::without_trailing_zeros;
use crate::ops;
use crate::rowcell::{Cell, decode_fixed_into};
use crate::units::is_ascii;
use crate::value::Value;

/// What a cell is to a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellOrder {
    /// The cell is NULL.
    Null,
    /// The order of the cell's value to the constant.
    Is(Ordering),
    /// Another value; which of them comes first was not asked.
    Differs,
    /// The value has to be decoded.
    Unknown,
}

/// A constant in the form in which cells of one column are compared with it.
#[derive(Clone, Debug)]
pub struct CellConstant {
    column: usize,
    collation: Collation,
    /// ASCII letters that differ in their case are equal.
    fold: bool,
    form: ConstantForm,
}

/// Texts are without the blanks at their ends.
#[derive(Clone, Debug)]
enum ConstantForm {
    /// Beside whole numbers of any size, bits among them.
    Whole(i64),
    /// Other numbers, times and the like: made of the cell's bytes, which takes no memory.
    Fixed(Value),
    /// Without the zeros at its end.
    Bytes(Box<[u8]>),
    /// Of a collation with a weight for each character, beside code page 1252: the constant's bytes
    /// there, and the first character that the page lacks, with which no cell agrees.
    Latin { bytes: Box<[u8]>, beyond: Option<char> },
    /// Of a collation with a weight for each character, beside UTF-16: no character has two units.
    Wide(Box<[u16]>),
    /// ASCII beside a code page, where texts of ASCII are equal as their bytes are; no order.
    Ascii(Box<[u8]>),
    /// The same beside UTF-16.
    WideAscii(Box<[u8]>),
    /// Beside a code page, in any collation: cells of ASCII are texts as they stand.
    Text(Box<str>),
}

impl ConstantForm {
    fn of_text(
        cell: Cell,
        text: &str,
        collation: Collation,
        ordered: bool,
    ) -> Option<ConstantForm> {
        let text = without_blanks(text);
        let ascii = || Box::<[u8]>::from(text.as_bytes());
        let same_as_bytes = !ordered && is_ascii(text.as_bytes()) && collation.is_plain_for_ascii();
        match cell {
            Cell::Char { .. } | Cell::VarChar { .. } if collation.has_weights() => {
                Some(ConstantForm::Latin {
                    bytes: text.chars().map_while(encode_char).collect(),
                    beyond: text.chars().find(|c| encode_char(*c).is_none()),
                })
            }
            Cell::NChar | Cell::NVarChar { .. } if collation.has_weights() => {
                let units = text.chars().map(|c| u16::try_from(u32::from(c)).ok());
                units.collect::<Option<Vec<u16>>>().map(|units| ConstantForm::Wide(units.into()))
            }
            Cell::NChar | Cell::NVarChar { .. } => {
                same_as_bytes.then(|| ConstantForm::WideAscii(ascii()))
            }
            Cell::Char { .. }
            | Cell::VarChar { .. }
            | Cell::PageChar(_)
            | Cell::PageVarChar { .. } => Some(if same_as_bytes {
                ConstantForm::Ascii(ascii())
            } else {
                ConstantForm::Text(text.into())
            }),
            _ => None,
        }
    }
}

/// The whole number of a cell; `None` of other cells, and where bytes are missing.
#[inline]
fn whole_number(cell: Cell, bytes: &[u8]) -> Option<i64> {
    Some(match cell {
        Cell::Bit { mask } => i64::from(*bytes.first()? & mask != 0),
        Cell::TinyInt => i64::from(*bytes.first()?),
        Cell::SmallInt => i64::from(i16::from_le_bytes(*bytes.first_chunk()?)),
        Cell::Int => i64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
        Cell::BigInt => i64::from_le_bytes(*bytes.first_chunk()?),
        _ => return None,
    })
}

/// Whether a cell decodes to values of this one's kind, which take no memory.
fn is_fixed_kind(cell: Cell, value: &Value) -> bool {
    matches!(
        (cell, value),
        (Cell::Decimal { .. }, Value::Decimal(_))
            | (Cell::Float, Value::Float(_))
            | (Cell::Real, Value::Real(_))
            | (Cell::SmallMoney, Value::SmallMoney(_))
            | (Cell::Money, Value::Money(_))
            | (Cell::Date, Value::Date(_))
            | (Cell::Time(_), Value::Time(_))
            | (Cell::DateTime, Value::DateTime { .. })
            | (Cell::SmallDateTime, Value::SmallDateTime { .. })
            | (Cell::DateTime2(_), Value::DateTime2 { .. })
            | (Cell::DateTimeOffset(_), Value::DateTimeOffset { .. })
            | (Cell::Guid, Value::Guid(_))
    )
}

impl CellConstant {
    /// A constant for the cells of a column, which are compared with it in a collation. Unless
    /// `ordered`, all that is asked is whether they are equal. `None` where cells are to be
    /// decoded: the constant is NULL or of another kind than the column (whole numbers are of one,
    /// whatever their size), or the bytes would tell of none.
    pub fn of(
        layout: &RowLayout,
        column: usize,
        constant: &Value,
        collation: Collation,
        ordered: bool,
    ) -> Option<CellConstant> {
        let cell = layout.columns.get(column)?.cell;
        let form = match (cell, constant) {
            (_, Value::Str(text)) => ConstantForm::of_text(cell, text, collation, ordered)?,
            (Cell::Binary | Cell::VarBinary { .. }, Value::Bytes(bytes)) => {
                ConstantForm::Bytes(without_trailing_zeros(bytes).into())
            }
            (cell, constant) if is_fixed_kind(cell, constant) => {
                ConstantForm::Fixed(constant.clone())
            }
            (
                Cell::Bit { .. } | Cell::TinyInt | Cell::SmallInt | Cell::Int | Cell::BigInt,
                constant,
            ) => ConstantForm::Whole(constant.as_i64()?),
            _ => return None,
        };
        Some(CellConstant { column, collation, fold: collation.is_case_insensitive(), form })
    }

    /// The order of a cell's bytes to the constant.
    #[inline]
    fn order_of(&self, cell: Cell, bytes: &[u8]) -> CellOrder {
        match &self.form {
            ConstantForm::Whole(constant) => {
                let order = whole_number(cell, bytes).map(|number| number.cmp(constant));
                order.map_or(CellOrder::Unknown, CellOrder::Is)
            }
            ConstantForm::Fixed(constant) => {
                let mut value = Value::Null;
                let decoded = decode_fixed_into(cell, bytes, &mut value);
                let order = decoded.and_then(|()| ops::compare(&value, constant, self.collation));
                order.map_or(CellOrder::Unknown, CellOrder::Is)
            }
            ConstantForm::Bytes(constant) => {
                CellOrder::Is(without_trailing_zeros(bytes).cmp(constant))
            }
            ConstantForm::Latin { bytes: constant, beyond } => {
                CellOrder::Is(self.latin_order(bytes, constant, *beyond))
            }
            ConstantForm::Wide(constant) => self.wide_order(bytes, constant),
            ConstantForm::Ascii(constant) => {
                if self.is_same(bytes, constant) {
                    CellOrder::Is(Ordering::Equal)
                } else if is_ascii(bytes) {
                    CellOrder::Differs
                } else {
                    CellOrder::Unknown
                }
            }
            ConstantForm::WideAscii(constant) => self.wide_ascii(bytes, constant),
            ConstantForm::Text(constant) => {
                let text = Some(bytes).filter(|bytes| is_ascii(bytes));
                let text = text.and_then(|bytes| std::str::from_utf8(bytes).ok());
                let order = text.map(|text| self.collation.compare(text, constant));
                order.map_or(CellOrder::Unknown, CellOrder::Is)
            }
        }
    }

    /// Whether bytes of ASCII are the constant's, blanks at the end and case apart.
    #[inline]
    fn is_same(&self, bytes: &[u8], constant: &[u8]) -> bool {
        let Some((head, rest)) = bytes.split_at_checked(constant.len()) else { return false };
        let same = if self.fold { head.eq_ignore_ascii_case(constant) } else { head == constant };
        same && rest.iter().all(|byte| *byte == b' ')
    }

    /// The order of a text of code page 1252. Blanks at its end need not be cut off: a blank has
    /// the lowest weight, as the end of a text comes before every other character.
    #[inline]
    fn latin_order(&self, bytes: &[u8], constant: &[u8], beyond: Option<char>) -> Ordering {
        let weight = |byte: u8| self.collation.weight(decode_byte(byte));
        for (own, other) in bytes.iter().zip(constant) {
            if own == other || (self.fold && own.eq_ignore_ascii_case(other)) {
                continue;
            }
            let order = weight(*own).cmp(&weight(*other));
            if order.is_ne() {
                return order;
            }
        }
        match (bytes.get(constant.len()..), beyond) {
            (None, _) | (Some([]), Some(_)) => Ordering::Less,
            (Some([next, ..]), Some(c)) => weight(*next).cmp(&self.collation.weight(c)),
            (Some(rest), None) if rest.iter().all(|byte| *byte == b' ') => Ordering::Equal,
            (Some(_), None) => Ordering::Greater,
        }
    }

    /// As [`CellConstant::latin_order`], of a text of UTF-16. What has two units is decoded.
    #[inline]
    fn wide_order(&self, bytes: &[u8], constant: &[u16]) -> CellOrder {
        let (units, odd) = bytes.as_chunks::<2>();
        if !odd.is_empty() {
            return CellOrder::Unknown;
        }
        for (own, other) in units.iter().zip(constant) {
            let own = u16::from_le_bytes(*own);
            if own == *other || (self.fold && is_same_letter(own, *other)) {
                continue;
            }
            let (Some(own), Some(other)) = (character(own), character(*other)) else {
                return CellOrder::Unknown;
            };
            let order = self.collation.weight(own).cmp(&self.collation.weight(other));
            if order.is_ne() {
                return CellOrder::Is(order);
            }
        }
        CellOrder::Is(match units.get(constant.len()..) {
            None => Ordering::Less,
            Some(rest) if rest.iter().all(|unit| *unit == [b' ', 0]) => Ordering::Equal,
            Some(_) => Ordering::Greater,
        })
    }

    /// Whether a text of UTF-16 is the constant, where both are ASCII.
    #[inline]
    fn wide_ascii(&self, bytes: &[u8], constant: &[u8]) -> CellOrder {
        let (units, odd) = bytes.as_chunks::<2>();
        let ascii = units.iter().fold(0, |all, [low, high]| all | high | (low & 0x80)) == 0;
        if !ascii || !odd.is_empty() {
            return CellOrder::Unknown;
        }
        let Some((head, rest)) = units.split_at_checked(constant.len()) else {
            return CellOrder::Differs;
        };
        let same = |([own, _], other): (&[u8; 2], &u8)| {
            own == other || (self.fold && own.eq_ignore_ascii_case(other))
        };
        if head.iter().zip(constant).all(same) && rest.iter().all(|[low, _]| *low == b' ') {
            CellOrder::Is(Ordering::Equal)
        } else {
            CellOrder::Differs
        }
    }
}

/// The character of a unit; none of half of one.
fn character(unit: u16) -> Option<char> {
    char::from_u32(u32::from(unit))
}

/// Whether two units are one letter of ASCII.
#[inline]
fn is_same_letter(own: u16, other: u16) -> bool {
    match (u8::try_from(own), u8::try_from(other)) {
        (Ok(own), Ok(other)) => own.eq_ignore_ascii_case(&other),
        _ => false,
    }
}

impl RowLayout {
    /// The order of a cell of a row to a constant that was made for its column.
    #[inline]
    pub fn compare_cell(&self, parts: &RowParts<'_>, constant: &CellConstant) -> CellOrder {
        let Some(column) = self.columns.get(constant.column) else { return CellOrder::Unknown };
        if parts.is_null(constant.column) {
            return CellOrder::Null;
        }
        match self.cell_bytes(parts, constant.column) {
            Some(bytes) => constant.order_of(column.cell, bytes),
            None => CellOrder::Unknown,
        }
    }

    /// Whether a cell is NULL, wherever its value is; nothing where there is no such column.
    #[inline]
    pub fn is_null_cell(&self, parts: &RowParts<'_>, column: usize) -> Option<bool> {
        (column < self.columns.len()).then(|| parts.is_null(column))
    }

    /// The bytes of a cell that is not NULL; `None` for pointers and rows that are not sound.
    #[inline]
    pub(super) fn cell_bytes<'a>(&self, parts: &RowParts<'a>, i: usize) -> Option<&'a [u8]> {
        match self.columns.get(i)?.place {
            RowPlace::Fixed { offset, width } => {
                let (from, to) = (usize::from(offset), usize::from(offset) + usize::from(width));
                if to > parts.fixed_end { None } else { parts.row.get(from..to) }
            }
            RowPlace::Variable { index } => match parts.variable(i, usize::from(index)) {
                Ok((bytes, false)) => Some(bytes),
                _ => None,
            },
        }
    }
}
