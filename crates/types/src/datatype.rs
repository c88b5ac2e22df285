//! SQL data types: kinds, catalog numbers, lengths, precedence. Guarantees: a `DataType` built by
//! `from_name` is within SQL Server's ranges (lengths 1..=8000 bytes or 1..=4000 characters,
//! decimal precision 1..=38 and scale 0..=precision, fractional seconds 0..=7).

mod common;
mod conversions;
mod names;

pub use common::common_type;
pub use conversions::{Conversion, conversion};
pub use names::{NameContext, TypeArg};

use crate::error::SqlError;
use crate::hierarchy;
use crate::msg;

/// A column's, variable's or expression's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DataType {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    /// `precision` 1..=38 digits in all, `scale` of them after the point.
    Decimal {
        precision: u8,
        scale: u8,
        name: DecimalName,
    },
    Float,
    Real,
    SmallMoney,
    Money,
    /// Bytes, 1..=8000.
    Char(u16),
    VarChar(Len),
    /// UTF-16 units, 1..=4000.
    NChar(u16),
    NVarChar(Len),
    /// Bytes, 1..=8000.
    Binary(u16),
    VarBinary(Len),
    Date,
    /// Fractional digits 0..=7.
    Time(u8),
    DateTime,
    SmallDateTime,
    DateTime2(u8),
    DateTimeOffset(u8),
    UniqueIdentifier,
    /// rowversion, whose older name timestamp clients know: eight bytes, of the database's counter
    /// where a column has them.
    RowVersion,
    /// Documents and fragments as text in the normal form that crate `xml` writes.
    Xml,
    /// A path in a tree, as the bytes of [`crate::hierarchy::Path`].
    HierarchyId,
    /// A value that carries its own type; it passes through expressions but cannot be stored in a
    /// row.
    SqlVariant,
}

/// By which of its two names a decimal type is known: clients tell them apart, nothing else does.
/// All names are equal, so that types are compared without them.
#[derive(Clone, Copy, Debug, Default)]
pub enum DecimalName {
    #[default]
    Decimal,
    Numeric,
}

impl PartialEq for DecimalName {
    fn eq(&self, _: &DecimalName) -> bool {
        true
    }
}

impl Eq for DecimalName {}

impl std::hash::Hash for DecimalName {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Length of a variable type: bytes for varchar and varbinary (1..=8000), UTF-16 units for nvarchar
/// (1..=4000).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Len {
    N(u16),
    Max,
    /// text, ntext and image: as long as MAX, but hardly anything takes them
    /// ([`DataType::is_old_lob`]).
    Old,
}

/// Longest char, varchar, binary, varbinary in bytes.
pub const MAX_BYTES: u16 = 8000;
/// Longest nchar, nvarchar in UTF-16 units.
pub const MAX_UNITS: u16 = 4000;

impl Len {
    /// The length, or `None` where there is no limit.
    pub fn limit(self) -> Option<usize> {
        match self {
            Len::N(n) => Some(usize::from(n)),
            Len::Max | Len::Old => None,
        }
    }
}

impl DataType {
    /// decimal: `precision` 1..=38 digits in all, `scale` of them after the point.
    pub const fn decimal(precision: u8, scale: u8) -> DataType {
        DataType::Decimal { precision, scale, name: DecimalName::Decimal }
    }

    /// numeric: the same type by its other name.
    pub const fn numeric(precision: u8, scale: u8) -> DataType {
        DataType::Decimal { precision, scale, name: DecimalName::Numeric }
    }

    /// The name of a decimal type; `decimal` for any other type.
    pub(crate) fn decimal_name(self) -> DecimalName {
        match self {
            DataType::Decimal { name, .. } => name,
            _ => DecimalName::Decimal,
        }
    }

    /// A decimal type by the name of one of its operands, `numeric` before `decimal`; another type
    /// as it is.
    #[must_use]
    pub fn named_as(self, operands: [DataType; 2]) -> DataType {
        let numeric = operands.iter().any(|ty| matches!(ty.decimal_name(), DecimalName::Numeric));
        match self {
            DataType::Decimal { precision, scale, .. } if numeric => {
                DataType::numeric(precision, scale)
            }
            other => other,
        }
    }

    /// `sys.types.system_type_id`.
    pub fn system_type_id(self) -> u8 {
        match self {
            DataType::VarBinary(Len::Old) => 34,
            DataType::VarChar(Len::Old) => 35,
            DataType::NVarChar(Len::Old) => 99,
            DataType::UniqueIdentifier => 36,
            DataType::Date => 40,
            DataType::Time(_) => 41,
            DataType::DateTime2(_) => 42,
            DataType::DateTimeOffset(_) => 43,
            DataType::TinyInt => 48,
            DataType::SmallInt => 52,
            DataType::Int => 56,
            DataType::SmallDateTime => 58,
            DataType::Real => 59,
            DataType::Money => 60,
            DataType::DateTime => 61,
            DataType::Float => 62,
            DataType::SqlVariant => 98,
            DataType::Bit => 104,
            DataType::Decimal { name: DecimalName::Decimal, .. } => 106,
            DataType::Decimal { name: DecimalName::Numeric, .. } => 108,
            DataType::SmallMoney => 122,
            DataType::BigInt => 127,
            DataType::RowVersion => 189,
            DataType::Xml => 241,
            DataType::HierarchyId => 240,
            DataType::VarBinary(_) => 165,
            DataType::VarChar(_) => 167,
            DataType::Binary(_) => 173,
            DataType::Char(_) => 175,
            DataType::NVarChar(_) => 231,
            DataType::NChar(_) => 239,
        }
    }

    /// `sys.types.user_type_id`; the same number for every built-in type but those of .NET.
    pub fn user_type_id(self) -> i32 {
        if self == DataType::HierarchyId { 128 } else { i32::from(self.system_type_id()) }
    }

    /// `sys.columns.max_length`: bytes, -1 for MAX.
    pub fn max_length(self) -> i16 {
        let signed = |n: u16| i16::try_from(n).unwrap_or(i16::MAX);
        match self {
            DataType::Bit | DataType::TinyInt => 1,
            DataType::SmallInt => 2,
            DataType::Int | DataType::Real | DataType::SmallMoney | DataType::SmallDateTime => 4,
            DataType::BigInt
            | DataType::Float
            | DataType::Money
            | DataType::DateTime
            | DataType::RowVersion => 8,
            DataType::Decimal { precision, .. } => i16::from(decimal_bytes(precision)),
            DataType::Char(n) | DataType::Binary(n) => signed(n),
            DataType::NChar(n) => signed(n.saturating_mul(2)),
            DataType::VarChar(Len::N(n)) | DataType::VarBinary(Len::N(n)) => signed(n),
            DataType::NVarChar(Len::N(n)) => signed(n.saturating_mul(2)),
            DataType::VarChar(Len::Max)
            | DataType::VarBinary(Len::Max)
            | DataType::NVarChar(Len::Max)
            | DataType::Xml => -1,
            // Of the pointer that SQL Server's rows have.
            DataType::VarChar(Len::Old)
            | DataType::VarBinary(Len::Old)
            | DataType::NVarChar(Len::Old) => 16,
            DataType::Date => 3,
            DataType::Time(scale) => i16::from(time_bytes(scale)),
            DataType::DateTime2(scale) => i16::from(time_bytes(scale)) + 3,
            DataType::DateTimeOffset(scale) => i16::from(time_bytes(scale)) + 5,
            DataType::UniqueIdentifier => 16,
            DataType::SqlVariant => 8016,
            DataType::HierarchyId => hierarchy::MAX_BYTES as i16,
        }
    }

    /// `sys.columns.precision`: digits of numbers, characters of dates, 0 for the rest.
    pub fn precision(self) -> u8 {
        let fraction = |scale: u8| if scale == 0 { 0 } else { scale + 1 };
        match self {
            DataType::Bit => 1,
            DataType::TinyInt => 3,
            DataType::SmallInt => 5,
            DataType::Int => 10,
            DataType::BigInt => 19,
            DataType::Decimal { precision, .. } => precision,
            DataType::Float => 53,
            DataType::Real => 24,
            DataType::SmallMoney => 10,
            DataType::Money => 19,
            DataType::Date => 10,
            DataType::Time(s) => 8 + fraction(s),
            DataType::DateTime => 23,
            DataType::SmallDateTime => 16,
            DataType::DateTime2(s) => 19 + fraction(s),
            DataType::DateTimeOffset(s) => 26 + fraction(s),
            _ => 0,
        }
    }

    /// `sys.columns.scale`: digits after the point.
    pub fn scale(self) -> u8 {
        match self {
            DataType::Decimal { scale, .. } => scale,
            DataType::SmallMoney | DataType::Money => 4,
            DataType::Time(s) | DataType::DateTime2(s) | DataType::DateTimeOffset(s) => s,
            DataType::DateTime => 3,
            _ => 0,
        }
    }

    /// SQL Server's data type precedence: the operand with the greater number wins.
    pub fn precedence(self) -> u8 {
        match self {
            DataType::HierarchyId => 32,
            DataType::SqlVariant => 31,
            DataType::Xml => 30,
            DataType::DateTimeOffset(_) => 29,
            DataType::DateTime2(_) => 28,
            DataType::DateTime => 27,
            DataType::SmallDateTime => 26,
            DataType::Date => 25,
            DataType::Time(_) => 24,
            DataType::Float => 23,
            DataType::Real => 22,
            DataType::Decimal { .. } => 21,
            DataType::Money => 20,
            DataType::SmallMoney => 19,
            DataType::BigInt => 18,
            DataType::Int => 17,
            DataType::SmallInt => 16,
            DataType::TinyInt => 15,
            DataType::Bit => 14,
            DataType::NVarChar(Len::Old) => 11,
            DataType::VarChar(Len::Old) => 10,
            DataType::VarBinary(Len::Old) => 9,
            DataType::RowVersion => 8,
            DataType::UniqueIdentifier => 7,
            DataType::NVarChar(_) => 6,
            DataType::NChar(_) => 5,
            DataType::VarChar(_) => 4,
            DataType::Char(_) => 3,
            DataType::VarBinary(_) => 2,
            DataType::Binary(_) => 1,
        }
    }

    /// Whether the two differ in length, precision and scale at most.
    pub fn is_kind_of(self, other: DataType) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// Bytes of a column that is not stored with its own length.
    pub(crate) fn fixed_width(self) -> u16 {
        match self {
            DataType::Decimal { precision, .. } => u16::from(decimal_bytes(precision)),
            DataType::Time(scale) => u16::from(time_bytes(scale)),
            DataType::Bit => 1,
            other => u16::try_from(other.max_length()).unwrap_or(0),
        }
    }

    /// MAX types, text, ntext, image and xml: their values may live outside the row.
    pub fn is_lob(self) -> bool {
        self.is_variable() && self.length().is_none()
    }

    /// text, ntext, image.
    pub fn is_old_lob(self) -> bool {
        matches!(
            self,
            DataType::VarChar(Len::Old)
                | DataType::NVarChar(Len::Old)
                | DataType::VarBinary(Len::Old)
        )
    }

    /// The length that catalogs show of a string or binary type, in its own units: -1 for MAX.
    pub fn shown_length(self) -> i32 {
        match self {
            DataType::NVarChar(Len::Old) => 1_073_741_823,
            _ if self.is_old_lob() => i32::MAX,
            _ => self.length().map_or(-1, |n| n as i32),
        }
    }

    /// The MAX type that holds the values of text, ntext or image; another type as it is.
    #[must_use]
    pub fn modern(self) -> DataType {
        match self {
            DataType::VarChar(Len::Old) => DataType::VarChar(Len::Max),
            DataType::NVarChar(Len::Old) => DataType::NVarChar(Len::Max),
            DataType::VarBinary(Len::Old) => DataType::VarBinary(Len::Max),
            other => other,
        }
    }

    /// text, ntext, image, xml: no operator takes them, and few functions.
    pub fn is_opaque(self) -> bool {
        self == DataType::Xml || self.is_old_lob()
    }

    /// Why values of the type have no order and no equality, for types that have none. Errors: 305,
    /// 306.
    pub fn check_comparable(self) -> Result<(), SqlError> {
        if self == DataType::Xml {
            return Err(SqlError::of(msg::XML_NOT_COMPARABLE, []));
        }
        if self.is_old_lob() {
            return Err(SqlError::of(msg::TEXT_NOT_COMPARABLE, []));
        }
        Ok(())
    }

    /// char, varchar, nchar, nvarchar, text, ntext.
    pub fn is_string(self) -> bool {
        matches!(
            self,
            DataType::Char(_) | DataType::VarChar(_) | DataType::NChar(_) | DataType::NVarChar(_)
        )
    }

    /// nchar, nvarchar, ntext.
    pub fn is_unicode(self) -> bool {
        matches!(self, DataType::NChar(_) | DataType::NVarChar(_))
    }

    /// binary, varbinary, rowversion, image.
    pub fn is_binary(self) -> bool {
        matches!(self, DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion)
    }

    /// varchar, nvarchar, varbinary, hierarchyid, and text, ntext, image, xml: stored with their
    /// own length.
    pub fn is_variable(self) -> bool {
        matches!(
            self,
            DataType::VarChar(_)
                | DataType::NVarChar(_)
                | DataType::VarBinary(_)
                | DataType::Xml
                | DataType::HierarchyId
        )
    }

    /// tinyint, smallint, int, bigint.
    pub fn is_integer(self) -> bool {
        matches!(self, DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt)
    }

    /// Numbers, bit and money included.
    pub fn is_number(self) -> bool {
        self.is_integer()
            || matches!(
                self,
                DataType::Bit | DataType::Decimal { .. } | DataType::Float | DataType::Real
            )
            || self.is_money()
    }

    /// smallmoney, money.
    pub fn is_money(self) -> bool {
        matches!(self, DataType::SmallMoney | DataType::Money)
    }

    /// All date and time types.
    pub fn is_temporal(self) -> bool {
        matches!(
            self,
            DataType::Date
                | DataType::Time(_)
                | DataType::DateTime
                | DataType::SmallDateTime
                | DataType::DateTime2(_)
                | DataType::DateTimeOffset(_)
        )
    }

    /// Length of a string or binary type in its own units; `None` for MAX and for all other types.
    pub fn length(self) -> Option<usize> {
        match self {
            DataType::Char(n) | DataType::NChar(n) | DataType::Binary(n) => Some(usize::from(n)),
            DataType::VarChar(l) | DataType::NVarChar(l) | DataType::VarBinary(l) => l.limit(),
            DataType::RowVersion => Some(8),
            DataType::HierarchyId => Some(hierarchy::MAX_BYTES),
            _ => None,
        }
    }

    /// The decimal type that holds every value of this exact number type.
    pub fn as_decimal(self) -> Option<(u8, u8)> {
        match self {
            DataType::Bit => Some((1, 0)),
            DataType::TinyInt => Some((3, 0)),
            DataType::SmallInt => Some((5, 0)),
            DataType::Int => Some((10, 0)),
            DataType::BigInt => Some((19, 0)),
            DataType::SmallMoney => Some((10, 4)),
            DataType::Money => Some((19, 4)),
            DataType::Decimal { precision, scale, .. } => Some((precision, scale)),
            _ => None,
        }
    }
}

/// Stored bytes of a decimal: a sign and 4, 8, 12 or 16 bytes.
pub const fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Stored bytes of a time of day with `scale` fractional digits.
pub const fn time_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests;
