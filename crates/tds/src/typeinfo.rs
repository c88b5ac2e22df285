//! TYPE_INFO: the types of columns and parameters. Guarantees: a `TypeInfo` that was read is within
//! SQL Server's ranges; one made for a protocol version only uses types that this version has.

use types::datatype::DecimalName;
use types::{Collation, DataType, Len};

use crate::text::WireCollation;
use crate::version::TdsVersion;

/// The declared length of a variable type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Size {
    /// Bytes, 0..=8000.
    Bytes(u16),
    /// MAX: values come in chunks.
    Max,
}

/// The types without NULL and without a length in front of the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FixedType {
    TinyInt,
    Bit,
    SmallInt,
    Int,
    SmallDateTime,
    Real,
    Money,
    DateTime,
    Float,
    SmallMoney,
    BigInt,
}

/// Strings and bytes with a length of one byte, from before version 7.0; read, never written by a
/// server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Short {
    Char,
    VarChar,
    Binary,
    VarBinary,
}

/// A type as COLMETADATA, parameters and bulk loads describe it. Sizes are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum TypeInfo {
    /// 0x1F: a NULL of no type.
    Null,
    Fixed(FixedType),
    Bit,
    /// 1, 2, 4 or 8.
    Int(u8),
    /// 4 or 8.
    Float(u8),
    /// 4 or 8.
    Money(u8),
    /// 4 (smalldatetime) or 8 (datetime).
    DateTime(u8),
    Guid,
    /// `numeric` only tells the two type bytes apart.
    Decimal {
        precision: u8,
        scale: u8,
        numeric: bool,
    },
    Date,
    /// Fractional digits, 0..=7.
    Time(u8),
    DateTime2(u8),
    DateTimeOffset(u8),
    Char(u16, WireCollation),
    VarChar(Size, WireCollation),
    NChar(u16, WireCollation),
    NVarChar(Size, WireCollation),
    Binary(u16),
    VarBinary(Size),
    Text(WireCollation),
    NText(WireCollation),
    Image,
    Xml,
    /// hierarchyid, the one type of .NET there is.
    Hierarchy,
    Variant,
    Short(Short, u8),
    /// A type that the client's version does not have, as nvarchar on the wire.
    AsText(DataType, WireCollation),
}

impl FixedType {
    /// The type byte and the bytes of a value.
    pub(crate) fn wire(self) -> (u8, usize) {
        match self {
            FixedType::TinyInt => (0x30, 1),
            FixedType::Bit => (0x32, 1),
            FixedType::SmallInt => (0x34, 2),
            FixedType::Int => (0x38, 4),
            FixedType::SmallDateTime => (0x3A, 4),
            FixedType::Real => (0x3B, 4),
            FixedType::Money => (0x3C, 8),
            FixedType::DateTime => (0x3D, 8),
            FixedType::Float => (0x3E, 8),
            FixedType::SmallMoney => (0x7A, 4),
            FixedType::BigInt => (0x7F, 8),
        }
    }

    /// The type of a type byte.
    pub(crate) fn from_byte(byte: u8) -> Option<FixedType> {
        Some(match byte {
            0x30 => FixedType::TinyInt,
            0x32 => FixedType::Bit,
            0x34 => FixedType::SmallInt,
            0x38 => FixedType::Int,
            0x3A => FixedType::SmallDateTime,
            0x3B => FixedType::Real,
            0x3C => FixedType::Money,
            0x3D => FixedType::DateTime,
            0x3E => FixedType::Float,
            0x7A => FixedType::SmallMoney,
            0x7F => FixedType::BigInt,
            _ => return None,
        })
    }

    /// The same type with a length in front of its values, and with NULL.
    pub fn nullable(self) -> TypeInfo {
        match self {
            FixedType::TinyInt => TypeInfo::Int(1),
            FixedType::Bit => TypeInfo::Bit,
            FixedType::SmallInt => TypeInfo::Int(2),
            FixedType::Int => TypeInfo::Int(4),
            FixedType::SmallDateTime => TypeInfo::DateTime(4),
            FixedType::Real => TypeInfo::Float(4),
            FixedType::Money => TypeInfo::Money(8),
            FixedType::DateTime => TypeInfo::DateTime(8),
            FixedType::Float => TypeInfo::Float(8),
            FixedType::SmallMoney => TypeInfo::Money(4),
            FixedType::BigInt => TypeInfo::Int(8),
        }
    }
}

impl TypeInfo {
    /// How a server describes a column of a type to a client of a version. With `nullable` false,
    /// numbers and old dates take the form without a length byte. Below 7.3 the newer dates become
    /// nvarchar; below 7.2 the MAX types become text, ntext and image: as SQL Server does for such
    /// clients.
    pub fn of(ty: DataType, nullable: bool, collation: Collation, version: TdsVersion) -> TypeInfo {
        let wire = WireCollation::from(collation);
        let fixed =
            |fixed: FixedType| if nullable { fixed.nullable() } else { TypeInfo::Fixed(fixed) };
        let has_max = version >= TdsVersion::V7_2;
        let has_dates = version >= TdsVersion::V7_3A;
        match ty {
            DataType::Bit => fixed(FixedType::Bit),
            DataType::TinyInt => fixed(FixedType::TinyInt),
            DataType::SmallInt => fixed(FixedType::SmallInt),
            DataType::Int => fixed(FixedType::Int),
            DataType::BigInt => fixed(FixedType::BigInt),
            DataType::Float => fixed(FixedType::Float),
            DataType::Real => fixed(FixedType::Real),
            DataType::SmallMoney => fixed(FixedType::SmallMoney),
            DataType::Money => fixed(FixedType::Money),
            DataType::DateTime => fixed(FixedType::DateTime),
            DataType::SmallDateTime => fixed(FixedType::SmallDateTime),
            DataType::Decimal { precision, scale, name } => {
                let numeric = matches!(name, DecimalName::Numeric);
                TypeInfo::Decimal { precision, scale, numeric }
            }
            DataType::Char(n) => TypeInfo::Char(n, wire),
            DataType::VarChar(Len::N(n)) => TypeInfo::VarChar(Size::Bytes(n), wire),
            DataType::VarChar(Len::Max) if has_max => TypeInfo::VarChar(Size::Max, wire),
            DataType::VarChar(Len::Max | Len::Old) => TypeInfo::Text(wire),
            DataType::NChar(n) => TypeInfo::NChar(n.saturating_mul(2), wire),
            DataType::NVarChar(Len::N(n)) => {
                TypeInfo::NVarChar(Size::Bytes(n.saturating_mul(2)), wire)
            }
            DataType::NVarChar(Len::Max) if has_max => TypeInfo::NVarChar(Size::Max, wire),
            DataType::NVarChar(Len::Max | Len::Old) => TypeInfo::NText(wire),
            DataType::Binary(n) => TypeInfo::Binary(n),
            DataType::RowVersion => TypeInfo::Binary(8),
            DataType::VarBinary(Len::N(n)) => TypeInfo::VarBinary(Size::Bytes(n)),
            DataType::VarBinary(Len::Max) if has_max => TypeInfo::VarBinary(Size::Max),
            DataType::VarBinary(Len::Max | Len::Old) => TypeInfo::Image,
            DataType::Date if has_dates => TypeInfo::Date,
            DataType::Time(scale) if has_dates => TypeInfo::Time(scale),
            DataType::DateTime2(scale) if has_dates => TypeInfo::DateTime2(scale),
            DataType::DateTimeOffset(scale) if has_dates => TypeInfo::DateTimeOffset(scale),
            DataType::Date
            | DataType::Time(_)
            | DataType::DateTime2(_)
            | DataType::DateTimeOffset(_) => TypeInfo::AsText(ty, wire),
            DataType::HierarchyId if has_max => TypeInfo::Hierarchy,
            DataType::HierarchyId => {
                TypeInfo::VarBinary(Size::Bytes(types::hierarchy::MAX_BYTES as u16))
            }
            DataType::Xml if has_max => TypeInfo::Xml,
            DataType::Xml => TypeInfo::NText(wire),
            DataType::UniqueIdentifier => TypeInfo::Guid,
            DataType::SqlVariant => TypeInfo::Variant,
        }
    }

    /// The SQL type: of a parameter, or of a column that a bulk load brings. `None` for a NULL
    /// without a type.
    pub fn data_type(&self) -> Option<DataType> {
        Some(match *self {
            TypeInfo::Null => return None,
            TypeInfo::Fixed(fixed) => return fixed.nullable().data_type(),
            TypeInfo::Bit => DataType::Bit,
            TypeInfo::Int(1) => DataType::TinyInt,
            TypeInfo::Int(2) => DataType::SmallInt,
            TypeInfo::Int(4) => DataType::Int,
            TypeInfo::Int(_) => DataType::BigInt,
            TypeInfo::Float(4) => DataType::Real,
            TypeInfo::Float(_) => DataType::Float,
            TypeInfo::Money(4) => DataType::SmallMoney,
            TypeInfo::Money(_) => DataType::Money,
            TypeInfo::DateTime(4) => DataType::SmallDateTime,
            TypeInfo::DateTime(_) => DataType::DateTime,
            TypeInfo::Guid => DataType::UniqueIdentifier,
            TypeInfo::Decimal { precision, scale, numeric: false } => {
                DataType::decimal(precision, scale)
            }
            TypeInfo::Decimal { precision, scale, numeric: true } => {
                DataType::numeric(precision, scale)
            }
            TypeInfo::Date => DataType::Date,
            TypeInfo::Time(scale) => DataType::Time(scale),
            TypeInfo::DateTime2(scale) => DataType::DateTime2(scale),
            TypeInfo::DateTimeOffset(scale) => DataType::DateTimeOffset(scale),
            TypeInfo::Char(n, _) => DataType::Char(n.max(1)),
            TypeInfo::VarChar(size, _) => DataType::VarChar(size.len(1)),
            TypeInfo::NChar(n, _) => DataType::NChar((n / 2).max(1)),
            TypeInfo::NVarChar(size, _) => DataType::NVarChar(size.len(2)),
            TypeInfo::Binary(n) => DataType::Binary(n.max(1)),
            TypeInfo::VarBinary(size) => DataType::VarBinary(size.len(1)),
            TypeInfo::Text(_) => DataType::VarChar(Len::Max),
            TypeInfo::NText(_) | TypeInfo::Xml => DataType::NVarChar(Len::Max),
            TypeInfo::Image => DataType::VarBinary(Len::Max),
            TypeInfo::Hierarchy => DataType::HierarchyId,
            TypeInfo::Variant => DataType::SqlVariant,
            TypeInfo::Short(Short::Char, n) => DataType::Char(u16::from(n).max(1)),
            TypeInfo::Short(Short::VarChar, n) => DataType::VarChar(Len::N(u16::from(n).max(1))),
            TypeInfo::Short(Short::Binary, n) => DataType::Binary(u16::from(n).max(1)),
            TypeInfo::Short(Short::VarBinary, n) => {
                DataType::VarBinary(Len::N(u16::from(n).max(1)))
            }
            TypeInfo::AsText(ty, _) => ty,
        })
    }

    /// The collation of a string type.
    pub fn collation(&self) -> Option<WireCollation> {
        match *self {
            TypeInfo::Char(_, collation)
            | TypeInfo::VarChar(_, collation)
            | TypeInfo::NChar(_, collation)
            | TypeInfo::NVarChar(_, collation)
            | TypeInfo::Text(collation)
            | TypeInfo::NText(collation)
            | TypeInfo::AsText(_, collation) => Some(collation),
            _ => None,
        }
    }

    /// text, ntext or image: their columns carry a table's name.
    pub fn is_old_large_object(&self) -> bool {
        matches!(self, TypeInfo::Text(_) | TypeInfo::NText(_) | TypeInfo::Image)
    }

    /// Whether values come in chunks (PLP).
    pub(crate) fn is_chunked(&self) -> bool {
        matches!(
            self,
            TypeInfo::VarChar(Size::Max, _)
                | TypeInfo::NVarChar(Size::Max, _)
                | TypeInfo::VarBinary(Size::Max)
                | TypeInfo::Xml
                | TypeInfo::Hierarchy
        )
    }

    /// Bytes that a NULL takes in a ROW.
    #[inline]
    pub(crate) fn null_len(&self) -> usize {
        match self {
            TypeInfo::Null | TypeInfo::Fixed(_) => 0,
            _ if self.is_chunked() => 8,
            TypeInfo::Variant => 4,
            TypeInfo::Char(..)
            | TypeInfo::VarChar(..)
            | TypeInfo::NChar(..)
            | TypeInfo::NVarChar(..)
            | TypeInfo::Binary(_)
            | TypeInfo::VarBinary(_)
            | TypeInfo::AsText(..) => 2,
            _ => 1,
        }
    }

    /// Bytes of a value at most; nothing for one that may be of any length, and for a variant.
    pub(crate) fn longest(&self) -> Option<usize> {
        match *self {
            TypeInfo::Char(bytes, _)
            | TypeInfo::NChar(bytes, _)
            | TypeInfo::Binary(bytes)
            | TypeInfo::VarChar(Size::Bytes(bytes), _)
            | TypeInfo::NVarChar(Size::Bytes(bytes), _)
            | TypeInfo::VarBinary(Size::Bytes(bytes)) => Some(usize::from(bytes)),
            TypeInfo::Short(_, bytes) => Some(usize::from(bytes)),
            TypeInfo::AsText(..) => Some(usize::from(self.text_size())),
            TypeInfo::VarChar(Size::Max, _)
            | TypeInfo::NVarChar(Size::Max, _)
            | TypeInfo::VarBinary(Size::Max)
            | TypeInfo::Text(_)
            | TypeInfo::NText(_)
            | TypeInfo::Image
            | TypeInfo::Xml
            | TypeInfo::Hierarchy
            | TypeInfo::Variant => None,
            // A decimal of 38 digits is the longest of them.
            TypeInfo::Null
            | TypeInfo::Fixed(_)
            | TypeInfo::Bit
            | TypeInfo::Int(_)
            | TypeInfo::Float(_)
            | TypeInfo::Money(_)
            | TypeInfo::DateTime(_)
            | TypeInfo::Guid
            | TypeInfo::Decimal { .. }
            | TypeInfo::Date
            | TypeInfo::Time(_)
            | TypeInfo::DateTime2(_)
            | TypeInfo::DateTimeOffset(_) => Some(17),
        }
    }

    /// SQL's name, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            TypeInfo::Null => "NULL",
            TypeInfo::Xml => "xml",
            TypeInfo::Text(_) => "text",
            TypeInfo::NText(_) => "ntext",
            TypeInfo::Image => "image",
            other => other.data_type().map_or("NULL", DataType::message_name),
        }
    }
}

impl Size {
    fn len(self, unit: u16) -> Len {
        match self {
            Size::Bytes(n) => Len::N((n / unit).max(1)),
            Size::Max => Len::Max,
        }
    }
}
