//! A SQL value in memory. Guarantees: at most 32 bytes, no allocation for numbers, dates and
//! strings of up to 24 bytes; a value knows its kind but not its declared length, precision of a
//! fraction or collation: those belong to the [`DataType`] beside it.

use std::sync::Arc;

pub use compact_str::CompactString;

use crate::collation::Collation;
use crate::datatype::{DataType, Len};
use crate::decimal::Decimal;

/// One value; char, varchar, nchar and nvarchar are all `Str`, binary and varbinary are `Bytes`.
#[derive(Clone, Debug, Default)]
pub enum Value {
    #[default]
    Null,
    Bit(bool),
    TinyInt(u8),
    SmallInt(i16),
    Int(i32),
    BigInt(i64),
    Decimal(Decimal),
    /// Finite; SQL has neither NaN nor infinity.
    Float(f64),
    Real(f32),
    /// In 1/10000.
    Money(i64),
    /// In 1/10000.
    SmallMoney(i32),
    /// As [`crate::units`] holds texts; fixed-length types carry their padding.
    Str(CompactString),
    Bytes(Arc<[u8]>),
    /// Days since 0001-01-01, 0..=3652058.
    Date(i32),
    /// 100 ns since midnight, 0..864_000_000_000.
    Time(u64),
    DateTime {
        /// Days since 1900-01-01, -53690 (1753-01-01) ..= 2958463 (9999-12-31).
        days: i32,
        /// 1/300 s since midnight, 0..25_920_000.
        ticks: u32,
    },
    SmallDateTime {
        /// Days since 1900-01-01.
        days: u16,
        /// Minutes since midnight, 0..1440.
        minutes: u16,
    },
    DateTime2 {
        /// Days since 0001-01-01, 0..=3652058.
        days: i32,
        /// 100 ns since midnight, 0..864_000_000_000.
        ticks: u64,
    },
    DateTimeOffset {
        /// Days since 0001-01-01, in UTC.
        days: i32,
        /// 100 ns since midnight, in UTC.
        ticks: u64,
        /// Minutes east of UTC, -840..=840.
        offset: i16,
    },
    /// In stored order: the first three groups little-endian.
    Guid([u8; 16]),
    /// A value of sql_variant with its base type.
    Variant(Arc<Variant>),
}

const _: () = assert!(std::mem::size_of::<Value>() <= 32);

/// A value with its base type.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Never a variant itself, never NULL.
    value: Value,
    ty: DataType,
    collation: Collation,
}

impl Variant {
    /// The value itself.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The base type.
    pub fn ty(&self) -> DataType {
        self.ty
    }

    /// Of a text.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// Bytes beside the type's own: for memory accounting.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Variant>() + self.value.heap_bytes()
    }
}

/// A value of a type as sql_variant. The value is of the type's kind; NULL stays NULL.
pub fn of_variant(value: Value, ty: DataType, collation: Collation) -> Value {
    match value {
        Value::Null | Value::Variant(_) => value,
        value if ty == DataType::SqlVariant => {
            let ty = value.natural_type();
            Value::Variant(Arc::new(Variant { value, ty, collation }))
        }
        value => Value::Variant(Arc::new(Variant { value, ty, collation })),
    }
}

/// The value, its base type and collation; of a bare value its natural type.
pub fn parts(value: &Value) -> (&Value, DataType, Collation) {
    match value {
        Value::Variant(v) => (&v.value, v.ty, v.collation),
        bare => (bare, bare.natural_type(), Collation::DEFAULT),
    }
}

impl Value {
    /// A string value.
    pub fn str(text: impl AsRef<str>) -> Value {
        Value::Str(CompactString::new(text))
    }

    /// A binary value.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value::Bytes(bytes.into())
    }

    /// True for NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The bytes of a binary value.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(b) => Some(b),
            _ => None,
        }
    }

    /// Bit, tinyint, smallint, int or bigint as one integer.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Bit(b) => Some(i64::from(b)),
            Value::TinyInt(n) => Some(i64::from(n)),
            Value::SmallInt(n) => Some(i64::from(n)),
            Value::Int(n) => Some(i64::from(n)),
            Value::BigInt(n) => Some(n),
            _ => None,
        }
    }

    /// A bit's truth.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Bit(b) => Some(b),
            _ => None,
        }
    }

    /// The type that this value has on its own (a sql_variant's base type); NULL is int, as SQL
    /// Server types a bare NULL.
    pub fn natural_type(&self) -> DataType {
        let length = |n: usize, limit: u16| match u16::try_from(n) {
            Ok(n) if n <= limit => Len::N(n.max(1)),
            _ => Len::Max,
        };
        match self {
            Value::Null | Value::Int(_) => DataType::Int,
            Value::Bit(_) => DataType::Bit,
            Value::TinyInt(_) => DataType::TinyInt,
            Value::SmallInt(_) => DataType::SmallInt,
            Value::BigInt(_) => DataType::BigInt,
            Value::Decimal(d) => d.data_type(),
            Value::Float(_) => DataType::Float,
            Value::Real(_) => DataType::Real,
            Value::Money(_) => DataType::Money,
            Value::SmallMoney(_) => DataType::SmallMoney,
            Value::Str(s) => DataType::NVarChar(length(crate::codepage::utf16_len(s), 4000)),
            Value::Bytes(b) => DataType::VarBinary(length(b.len(), 8000)),
            Value::Date(_) => DataType::Date,
            Value::Time(_) => DataType::Time(7),
            Value::DateTime { .. } => DataType::DateTime,
            Value::SmallDateTime { .. } => DataType::SmallDateTime,
            Value::DateTime2 { .. } => DataType::DateTime2(7),
            Value::DateTimeOffset { .. } => DataType::DateTimeOffset(7),
            Value::Guid(_) => DataType::UniqueIdentifier,
            Value::Variant(v) => v.ty(),
        }
    }

    /// Whether this is a value of the type that stays as it is where the type has neither length,
    /// precision nor scale. False where one look does not tell.
    #[inline]
    pub fn is_plainly(&self, ty: DataType) -> bool {
        matches!(
            (self, ty),
            (Value::Int(_), DataType::Int)
                | (Value::BigInt(_), DataType::BigInt)
                | (Value::SmallInt(_), DataType::SmallInt)
                | (Value::TinyInt(_), DataType::TinyInt)
                | (Value::Bit(_), DataType::Bit)
                | (Value::Date(_), DataType::Date)
                | (Value::Guid(_), DataType::UniqueIdentifier)
        )
    }

    /// Whether this value may stand in a column of the type: its kind fits (lengths are not looked
    /// at).
    pub fn is_kind_of(&self, ty: DataType) -> bool {
        match self {
            Value::Null => true,
            Value::Str(_) => ty.is_string() || ty == DataType::Xml || ty == DataType::SqlVariant,
            Value::Bytes(_) => {
                ty.is_binary() || matches!(ty, DataType::HierarchyId | DataType::SqlVariant)
            }
            Value::Variant(_) => ty == DataType::SqlVariant,
            other => ty == DataType::SqlVariant || other.natural_type().is_kind_of(ty),
        }
    }

    /// Becomes a text; a long one goes into the memory of the string that is there, if that has
    /// about its size. (For short ones a new string is faster: it needs no memory.)
    #[inline(always)]
    pub fn set_text(&mut self, text: &str) {
        if text.len() > size_of::<CompactString>()
            && let Value::Str(old) = self
            && (text.len()..=2 * text.len()).contains(&old.capacity())
        {
            old.clear();
            old.push_str(text);
            return;
        }
        *self = Value::Str(CompactString::new(text));
    }

    /// Bytes on the heap beside the value itself, for memory accounting.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Str(s) if s.is_heap_allocated() => s.capacity(),
            Value::Bytes(b) => b.len(),
            Value::Variant(v) => v.heap_bytes(),
            _ => 0,
        }
    }
}
