//! SQL data types: names, catalog numbers, precedence, the common type of two, and which conversions exist.
//! Guarantees: a `DataType` built by `from_name` is within SQL Server's ranges (lengths 1..=8000 bytes or
//! 1..=4000 characters, decimal precision 1..=38 and scale 0..=precision, fractional seconds 0..=7).

use std::fmt;

use crate::error::SqlError;
use crate::hierarchy;

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
    /// rowversion, whose older name timestamp clients know: eight bytes, of the database's counter where a column has them.
    RowVersion,
    /// Documents and fragments as text in the normal form that crate `xml` writes.
    Xml,
    /// A path in a tree, as the bytes of [`crate::hierarchy::Path`].
    HierarchyId,
    /// A value that carries its own type; it passes through expressions but cannot be stored in a row.
    SqlVariant,
}

/// By which of its two names a decimal type is known: clients tell them apart, nothing else does. All names are equal, so that
/// types are compared without them.
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

/// Length of a variable type: bytes for varchar and varbinary (1..=8000), UTF-16 units for nvarchar (1..=4000).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Len {
    N(u16),
    Max,
    /// text, ntext and image: as long as MAX, but hardly anything takes them ([`DataType::is_old_lob`]).
    Old,
}

/// One argument of a type name: `varchar(20)`, `varchar(max)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeArg {
    Number(i64),
    Max,
}

/// Where a type name stands: it decides the length of a bare `varchar`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameContext {
    /// Column, variable or parameter: length 1.
    Declaration,
    /// CAST and CONVERT: length 30.
    Cast,
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
    pub fn decimal_name(self) -> DecimalName {
        match self {
            DataType::Decimal { name, .. } => name,
            _ => DecimalName::Decimal,
        }
    }

    /// A decimal type by the name of one of its operands, `numeric` before `decimal`; another type as it is.
    #[must_use]
    pub fn named_as(self, operands: [DataType; 2]) -> DataType {
        let numeric = operands.iter().any(|ty| matches!(ty.decimal_name(), DecimalName::Numeric));
        match self {
            DataType::Decimal { precision, scale, .. } if numeric => DataType::numeric(precision, scale),
            other => other,
        }
    }

    /// The type's bare name.
    pub fn base_name(self) -> &'static str {
        match self {
            DataType::Bit => "bit",
            DataType::TinyInt => "tinyint",
            DataType::SmallInt => "smallint",
            DataType::Int => "int",
            DataType::BigInt => "bigint",
            DataType::Decimal { name: DecimalName::Decimal, .. } => "decimal",
            DataType::Decimal { name: DecimalName::Numeric, .. } => "numeric",
            DataType::Float => "float",
            DataType::Real => "real",
            DataType::SmallMoney => "smallmoney",
            DataType::Money => "money",
            DataType::Char(_) => "char",
            DataType::VarChar(Len::Old) => "text",
            DataType::NVarChar(Len::Old) => "ntext",
            DataType::VarBinary(Len::Old) => "image",
            DataType::VarChar(_) => "varchar",
            DataType::NChar(_) => "nchar",
            DataType::NVarChar(_) => "nvarchar",
            DataType::Binary(_) => "binary",
            DataType::VarBinary(_) => "varbinary",
            DataType::Date => "date",
            DataType::Time(_) => "time",
            DataType::DateTime => "datetime",
            DataType::SmallDateTime => "smalldatetime",
            DataType::DateTime2(_) => "datetime2",
            DataType::DateTimeOffset(_) => "datetimeoffset",
            DataType::UniqueIdentifier => "uniqueidentifier",
            DataType::RowVersion => "timestamp",
            DataType::Xml => "xml",
            DataType::HierarchyId => "hierarchyid",
            DataType::SqlVariant => "sql_variant",
        }
    }

    /// The name that run-time messages use: `numeric` for decimals, the bare name for the rest.
    pub fn message_name(self) -> &'static str {
        match self {
            DataType::Decimal { .. } => "numeric",
            other => other.base_name(),
        }
    }

    /// The type for a name as written, with its arguments. Bare string types have length 1.
    pub fn from_name(name: &str, args: &[TypeArg]) -> Result<DataType, SqlError> {
        DataType::from_name_in(name, args, NameContext::Declaration)
    }

    /// As [`DataType::from_name`], with the default length that the context gives.
    ///
    /// Errors: 243 unknown name, 131 and 1001 lengths, 2716 an argument the type does not take, 2750 to 2752
    /// decimal's precision and scale, 1002 fractional seconds.
    pub fn from_name_in(name: &str, args: &[TypeArg], context: NameContext) -> Result<DataType, SqlError> {
        let lower = name.trim().to_ascii_lowercase();
        let words: Vec<&str> = lower.split_ascii_whitespace().collect();
        let plain = |ty: DataType| if args.is_empty() { Ok(ty) } else { Err(no_width(&lower)) };
        let default = if context == NameContext::Cast { 30 } else { 1 };
        let bytes = |args| fixed_length(&lower, args, MAX_BYTES, default);
        let units = |args| fixed_length(&lower, args, MAX_UNITS, default);
        match words.join(" ").as_str() {
            "bit" => plain(DataType::Bit),
            "tinyint" => plain(DataType::TinyInt),
            "smallint" => plain(DataType::SmallInt),
            "int" | "integer" => plain(DataType::Int),
            "bigint" => plain(DataType::BigInt),
            "decimal" | "dec" => decimal_args(args, DecimalName::Decimal),
            "numeric" => decimal_args(args, DecimalName::Numeric),
            "float" | "double precision" => float_args(&lower, args),
            "real" => plain(DataType::Real),
            "smallmoney" => plain(DataType::SmallMoney),
            "money" => plain(DataType::Money),
            "char" | "character" => Ok(DataType::Char(bytes(args)?)),
            "varchar" | "char varying" | "character varying" => {
                Ok(DataType::VarChar(variable_length(&lower, args, MAX_BYTES, default)?))
            }
            "text" => plain(DataType::VarChar(Len::Old)),
            "nchar" | "national char" | "national character" => Ok(DataType::NChar(units(args)?)),
            "nvarchar" | "national char varying" | "national character varying" => {
                Ok(DataType::NVarChar(variable_length(&lower, args, MAX_UNITS, default)?))
            }
            "ntext" | "national text" => plain(DataType::NVarChar(Len::Old)),
            "sysname" => plain(DataType::NVarChar(Len::N(128))),
            "binary" => Ok(DataType::Binary(bytes(args)?)),
            "varbinary" | "binary varying" => {
                Ok(DataType::VarBinary(variable_length(&lower, args, MAX_BYTES, default)?))
            }
            "image" => plain(DataType::VarBinary(Len::Old)),
            "date" => plain(DataType::Date),
            "time" => Ok(DataType::Time(fraction_arg(args)?)),
            "datetime" => plain(DataType::DateTime),
            "smalldatetime" => plain(DataType::SmallDateTime),
            "datetime2" => Ok(DataType::DateTime2(fraction_arg(args)?)),
            "datetimeoffset" => Ok(DataType::DateTimeOffset(fraction_arg(args)?)),
            "uniqueidentifier" => plain(DataType::UniqueIdentifier),
            "rowversion" | "timestamp" => plain(DataType::RowVersion),
            "xml" => plain(DataType::Xml),
            "hierarchyid" => plain(DataType::HierarchyId),
            "sql_variant" => plain(DataType::SqlVariant),
            _ => Err(SqlError::unknown_type(name)),
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
            DataType::VarChar(Len::Old) | DataType::VarBinary(Len::Old) | DataType::NVarChar(Len::Old) => 16,
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
            DataType::VarChar(Len::Old) | DataType::NVarChar(Len::Old) | DataType::VarBinary(Len::Old)
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

    /// Why values of the type have no order and no equality, for types that have none. Errors: 305, 306.
    pub fn check_comparable(self) -> Result<(), SqlError> {
        if self == DataType::Xml {
            let text =
                "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
            return Err(SqlError::new(305, 16, 1, text));
        }
        if self.is_old_lob() {
            let text = "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE \
                        operator.";
            return Err(SqlError::new(306, 16, 2, text));
        }
        Ok(())
    }

    /// char, varchar, nchar, nvarchar, text, ntext.
    pub fn is_string(self) -> bool {
        matches!(self, DataType::Char(_) | DataType::VarChar(_) | DataType::NChar(_) | DataType::NVarChar(_))
    }

    /// nchar, nvarchar, ntext.
    pub fn is_unicode(self) -> bool {
        matches!(self, DataType::NChar(_) | DataType::NVarChar(_))
    }

    /// binary, varbinary, rowversion, image.
    pub fn is_binary(self) -> bool {
        matches!(self, DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion)
    }

    /// varchar, nvarchar, varbinary, hierarchyid, and text, ntext, image, xml: stored with their own length.
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
            || matches!(self, DataType::Bit | DataType::Decimal { .. } | DataType::Float | DataType::Real)
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

impl fmt::Display for DataType {
    /// The SQL name with its arguments: `decimal(12,2)`, `nvarchar(max)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.base_name();
        match *self {
            DataType::Decimal { precision, scale, .. } => write!(f, "{name}({precision},{scale})"),
            DataType::Char(n) | DataType::NChar(n) | DataType::Binary(n) => write!(f, "{name}({n})"),
            DataType::VarChar(l) | DataType::NVarChar(l) | DataType::VarBinary(l) => match l {
                Len::N(n) => write!(f, "{name}({n})"),
                Len::Max => write!(f, "{name}(max)"),
                Len::Old => f.write_str(name),
            },
            DataType::Time(s) | DataType::DateTime2(s) | DataType::DateTimeOffset(s) => {
                write!(f, "{name}({s})")
            }
            _ => f.write_str(name),
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

fn no_width(name: &str) -> SqlError {
    SqlError::new(
        2716,
        16,
        1,
        format!("Column, parameter, or variable #1: Cannot specify a column width on data type {name}."),
    )
}

fn bad_length(n: i64) -> SqlError {
    SqlError::new(1001, 15, 1, format!("Line 1: Length or precision specification {n} is invalid."))
}

fn one_length(name: &str, n: i64, limit: u16) -> Result<u16, SqlError> {
    match u16::try_from(n) {
        Ok(n) if (1..=limit).contains(&n) => Ok(n),
        _ if n < 1 => Err(bad_length(n)),
        _ => Err(SqlError::new(
            131,
            15,
            3,
            format!(
                "The size ({n}) given to the type '{name}' exceeds the maximum allowed for any data type ({limit})."
            ),
        )),
    }
}

fn fixed_length(name: &str, args: &[TypeArg], limit: u16, default: u16) -> Result<u16, SqlError> {
    match *args {
        [] => Ok(default),
        [TypeArg::Number(n)] => one_length(name, n, limit),
        _ => Err(no_width(name)),
    }
}

fn variable_length(name: &str, args: &[TypeArg], limit: u16, default: u16) -> Result<Len, SqlError> {
    match *args {
        [TypeArg::Max] => Ok(Len::Max),
        _ => fixed_length(name, args, limit, default).map(Len::N),
    }
}

fn fraction_arg(args: &[TypeArg]) -> Result<u8, SqlError> {
    match *args {
        [] => Ok(7),
        [TypeArg::Number(n)] => match u8::try_from(n) {
            Ok(n) if n <= 7 => Ok(n),
            _ => Err(SqlError::new(1002, 15, 1, format!("Line 1: Specified scale {n} is invalid."))),
        },
        _ => Err(SqlError::new(1002, 15, 1, "Line 1: Specified scale is invalid.")),
    }
}

fn float_args(name: &str, args: &[TypeArg]) -> Result<DataType, SqlError> {
    match *args {
        [] => Ok(DataType::Float),
        [TypeArg::Number(1..=24)] => Ok(DataType::Real),
        [TypeArg::Number(25..=53)] => Ok(DataType::Float),
        [TypeArg::Number(n)] => Err(bad_length(n)),
        _ => Err(no_width(name)),
    }
}

fn decimal_args(args: &[TypeArg], name: DecimalName) -> Result<DataType, SqlError> {
    let (precision, scale) = match *args {
        [] => (18, 0),
        [TypeArg::Number(p)] => (p, 0),
        [TypeArg::Number(p), TypeArg::Number(s)] => (p, s),
        _ => return Err(no_width("decimal")),
    };
    if precision < 1 {
        return Err(bad_length(precision));
    }
    if precision > 38 {
        return Err(SqlError::new(
            2750,
            16,
            1,
            format!(
                "Column or parameter #1: Specified column precision {precision} is greater than the maximum \
                 precision of 38."
            ),
        ));
    }
    if !(0..=precision).contains(&scale) {
        return Err(SqlError::new(
            2751,
            16,
            1,
            format!(
                "Column or parameter #1: Specified column scale {scale} is greater than the specified \
                 precision of {precision}."
            ),
        ));
    }
    Ok(DataType::Decimal { precision: precision as u8, scale: scale as u8, name })
}

/// The type that two branches of CASE, COALESCE, UNION or a comparison meet in: the one of higher precedence,
/// widened so that it holds values of both.
///
/// Errors: 206 when the lower type does not convert implicitly to the higher.
pub fn common_type(a: DataType, b: DataType) -> Result<DataType, SqlError> {
    if a == b {
        return Ok(a.named_as([a, b]));
    }
    let (high, low) = if a.precedence() >= b.precedence() { (a, b) } else { (b, a) };
    match conversion(low, high) {
        Conversion::Implicit => Ok(widened(high, low)),
        Conversion::ExplicitOnly | Conversion::None => Err(SqlError::type_clash(low, high)),
    }
}

fn widened(high: DataType, low: DataType) -> DataType {
    match high {
        _ if high.is_old_lob() => high,
        DataType::Decimal { precision, scale, .. } => match low.as_decimal() {
            Some((p, s)) => {
                let integral = (precision - scale).max(p - s);
                let scale = scale.max(s).min(38 - integral);
                DataType::decimal(integral + scale, scale).named_as([high, low])
            }
            None => high,
        },
        DataType::Time(s) => DataType::Time(s.max(fraction_of(low))),
        DataType::DateTime2(s) => DataType::DateTime2(s.max(fraction_of(low))),
        DataType::DateTimeOffset(s) => DataType::DateTimeOffset(s.max(fraction_of(low))),
        _ if high.is_string() || high.is_binary() => widened_string(high, low),
        _ => high,
    }
}

fn fraction_of(ty: DataType) -> u8 {
    if ty.is_temporal() { ty.scale() } else { 0 }
}

fn widened_string(high: DataType, low: DataType) -> DataType {
    let unbounded = high.is_lob() || low.is_lob();
    let longest = high.length().unwrap_or(0).max(low.length().unwrap_or(0));
    let cap = |limit: u16| u16::try_from(longest).unwrap_or(limit).min(limit);
    let len = |limit: u16| if unbounded { Len::Max } else { Len::N(cap(limit)) };
    match high {
        DataType::Char(_) => DataType::Char(cap(MAX_BYTES)),
        // A fixed type of higher precedence still becomes variable when the other side is.
        DataType::NChar(_) if low.is_variable() => DataType::NVarChar(len(MAX_UNITS)),
        DataType::NChar(_) => DataType::NChar(cap(MAX_UNITS)),
        DataType::Binary(_) => DataType::Binary(cap(MAX_BYTES)),
        DataType::RowVersion => high,
        DataType::VarChar(_) => DataType::VarChar(len(MAX_BYTES)),
        DataType::NVarChar(_) => DataType::NVarChar(len(MAX_UNITS)),
        _ => DataType::VarBinary(len(MAX_BYTES)),
    }
}

/// Whether one type converts to another, and how explicitly it must be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    Implicit,
    ExplicitOnly,
    None,
}

/// SQL Server's conversion matrix.
pub fn conversion(from: DataType, to: DataType) -> Conversion {
    use Conversion::{ExplicitOnly, Implicit, None};
    use DataType as T;
    if from == DataType::Xml || to == DataType::Xml {
        return xml_conversion(from, to);
    }
    if from == DataType::HierarchyId || to == DataType::HierarchyId {
        return hierarchy_conversion(from, to);
    }
    if from.is_old_lob() || to.is_old_lob() {
        return old_lob_conversion(from, to);
    }
    if from.is_kind_of(to) {
        return Implicit;
    }
    match (from, to) {
        (f, T::SqlVariant) => {
            if f.is_lob() || f == T::RowVersion {
                None
            } else {
                Implicit
            }
        }
        (T::SqlVariant, _) => ExplicitOnly,
        (
            T::RowVersion,
            T::Date | T::Time(_) | T::DateTime2(_) | T::DateTimeOffset(_) | T::UniqueIdentifier,
        ) => None,
        (T::RowVersion, t) if t.is_unicode() => None,
        (T::UniqueIdentifier | T::Float | T::Real, T::RowVersion) => None,
        (f, T::RowVersion) if f.is_temporal() && !matches!(f, T::DateTime | T::SmallDateTime) => None,
        (f, t) if f.is_string() => {
            if t.is_binary() {
                ExplicitOnly
            } else {
                Implicit
            }
        }
        (f, t) if f.is_binary() => match t {
            _ if t.is_string() || t.is_binary() => Implicit,
            T::Float | T::Real => None,
            T::Date | T::Time(_) | T::DateTime2(_) | T::DateTimeOffset(_) => ExplicitOnly,
            _ => Implicit,
        },
        (f, t) if f.is_number() => match t {
            _ if t.is_number() => Implicit,
            _ if t.is_string() => {
                if f.is_money() {
                    ExplicitOnly
                } else {
                    Implicit
                }
            }
            T::DateTime | T::SmallDateTime => Implicit,
            _ if t.is_binary() => {
                if matches!(f, T::Float | T::Real) {
                    ExplicitOnly
                } else {
                    Implicit
                }
            }
            _ => None,
        },
        (T::UniqueIdentifier, t) => {
            if t.is_string() || t.is_binary() {
                Implicit
            } else {
                None
            }
        }
        (f, t) if f.is_temporal() => temporal_conversion(f, t),
        _ => None,
    }
}

/// Strings and bytes become xml by themselves, xml becomes them when it is asked for.
fn xml_conversion(from: DataType, to: DataType) -> Conversion {
    let text = |ty: DataType| (ty.is_string() || ty.is_binary()) && ty != DataType::RowVersion;
    match (from, to) {
        (DataType::Xml, DataType::Xml) => Conversion::Implicit,
        (DataType::Xml, to) if text(to) && !to.is_old_lob() => Conversion::ExplicitOnly,
        (from, DataType::Xml) if text(from) && from != DataType::VarBinary(Len::Old) => Conversion::Implicit,
        _ => Conversion::None,
    }
}

/// Strings and bytes become hierarchyid by themselves, hierarchyid becomes them when it is asked for.
fn hierarchy_conversion(from: DataType, to: DataType) -> Conversion {
    let text =
        |ty: DataType| (ty.is_string() || ty.is_binary()) && !ty.is_old_lob() && ty != DataType::RowVersion;
    match (from, to) {
        (DataType::HierarchyId, DataType::HierarchyId) => Conversion::Implicit,
        (DataType::HierarchyId, to) if text(to) => Conversion::ExplicitOnly,
        (from, DataType::HierarchyId) if text(from) => Conversion::Implicit,
        _ => Conversion::None,
    }
}

/// text and ntext are other strings, image other bytes; there is no way between them and anything else.
fn old_lob_conversion(from: DataType, to: DataType) -> Conversion {
    let strings = from.is_string() && to.is_string();
    let bytes = from.is_binary() && to.is_binary();
    // Characters have always been put into image columns.
    let stored = from.is_string() && !from.is_unicode() && !from.is_old_lob() && to.is_binary();
    if strings || bytes || stored { Conversion::Implicit } else { Conversion::None }
}

fn temporal_conversion(from: DataType, to: DataType) -> Conversion {
    use Conversion::{ExplicitOnly, Implicit, None};
    use DataType as T;
    match (from, to) {
        (_, t) if t.is_string() => Implicit,
        (_, t) if t.is_binary() => ExplicitOnly,
        (T::Date, T::Time(_)) | (T::Time(_), T::Date) => None,
        (_, t) if t.is_temporal() => Implicit,
        (T::DateTime | T::SmallDateTime, t) if t.is_number() => ExplicitOnly,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        use TypeArg::{Max, Number};
        let cases: [(&str, &[TypeArg], &str); 12] = [
            ("INTEGER", &[], "int"),
            ("numeric", &[Number(12), Number(2)], "numeric(12,2)"),
            ("dec", &[], "decimal(18,0)"),
            ("double  precision", &[], "float"),
            ("float", &[Number(24)], "real"),
            ("character varying", &[Number(20)], "varchar(20)"),
            ("nvarchar", &[Max], "nvarchar(max)"),
            ("sysname", &[], "nvarchar(128)"),
            ("time", &[], "time(7)"),
            ("datetime2", &[Number(0)], "datetime2(0)"),
            ("char", &[], "char(1)"),
            ("image", &[], "image"),
        ];
        for (name, args, shown) in cases {
            assert_eq!(DataType::from_name(name, args).unwrap().to_string(), shown);
        }
        let in_cast = DataType::from_name_in("varchar", &[], NameContext::Cast).unwrap();
        assert_eq!(in_cast, DataType::VarChar(Len::N(30)));
    }

    #[test]
    fn bad_names_and_arguments() {
        use TypeArg::{Max, Number};
        let number = |name: &str, args: &[TypeArg]| DataType::from_name(name, args).unwrap_err().number;
        assert_eq!(number("blob", &[]), 243);
        assert_eq!(number("int", &[Number(4)]), 2716);
        assert_eq!(number("varchar", &[Number(8001)]), 131);
        assert_eq!(number("nvarchar", &[Number(4001)]), 131);
        assert_eq!(number("char", &[Number(0)]), 1001);
        assert_eq!(number("char", &[Max]), 2716);
        assert_eq!(number("decimal", &[Number(39)]), 2750);
        assert_eq!(number("decimal", &[Number(5), Number(6)]), 2751);
        assert_eq!(number("time", &[Number(8)]), 1002);
    }

    #[test]
    fn common_types() {
        let dec = DataType::decimal;
        let n = |n| DataType::NVarChar(Len::N(n));
        let v = |n| DataType::VarChar(Len::N(n));
        assert_eq!(common_type(DataType::Int, dec(5, 2)).unwrap(), dec(12, 2));
        assert_eq!(common_type(dec(38, 10), dec(38, 20)).unwrap(), dec(38, 10));
        assert_eq!(common_type(v(10), n(5)).unwrap(), n(10));
        assert_eq!(common_type(v(8000), n(5)).unwrap(), n(4000));
        assert_eq!(common_type(DataType::Char(3), v(2)).unwrap(), v(3));
        assert_eq!(common_type(DataType::VarChar(Len::Max), n(5)).unwrap(), DataType::NVarChar(Len::Max));
        assert_eq!(common_type(v(10), DataType::Int).unwrap(), DataType::Int);
        assert_eq!(common_type(DataType::Date, DataType::Int).unwrap_err().number, 206);
        assert_eq!(common_type(DataType::Money, DataType::BigInt).unwrap(), DataType::Money);
    }

    #[test]
    fn catalog_figures() {
        assert_eq!(DataType::DateTime2(7).precision(), 27);
        assert_eq!(DataType::Time(0).precision(), 8);
        assert_eq!(DataType::DateTimeOffset(7).max_length(), 10);
        assert_eq!(DataType::NChar(10).max_length(), 20);
        assert_eq!(DataType::VarChar(Len::Max).max_length(), -1);
        assert_eq!(DataType::decimal(12, 2).max_length(), 9);
    }
}
