//! Names of types: as they are written, with their arguments, and as they are shown. Guarantees:
//! see [`DataType::from_name_in`].

use std::fmt;

use super::{DataType, DecimalName, Len, MAX_BYTES, MAX_UNITS};
use crate::error::SqlError;
use crate::msg;

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

impl DataType {
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
    /// Errors: 243 unknown name, 131 and 1001 lengths, 2716 an argument the type does not take,
    /// 2750 to 2752 decimal's precision and scale, 1002 fractional seconds.
    pub fn from_name_in(
        name: &str,
        args: &[TypeArg],
        context: NameContext,
    ) -> Result<DataType, SqlError> {
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
}

impl fmt::Display for DataType {
    /// The SQL name with its arguments: `decimal(12,2)`, `nvarchar(max)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.base_name();
        match *self {
            DataType::Decimal { precision, scale, .. } => write!(f, "{name}({precision},{scale})"),
            DataType::Char(n) | DataType::NChar(n) | DataType::Binary(n) => {
                write!(f, "{name}({n})")
            }
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

fn no_width(name: &str) -> SqlError {
    SqlError::of(msg::COLUMN_WIDTH_NOT_ALLOWED, [&"#1", &name])
}

fn bad_length(n: i64) -> SqlError {
    SqlError::of(msg::LENGTH_OR_PRECISION_INVALID, [&1, &n])
}

fn one_length(name: &str, n: i64, limit: u16) -> Result<u16, SqlError> {
    match u16::try_from(n) {
        Ok(n) if (1..=limit).contains(&n) => Ok(n),
        _ if n < 1 => Err(bad_length(n)),
        _ => Err(SqlError::of(msg::TYPE_SIZE_TOO_LARGE, [&n, &name, &limit])),
    }
}

fn fixed_length(name: &str, args: &[TypeArg], limit: u16, default: u16) -> Result<u16, SqlError> {
    match *args {
        [] => Ok(default),
        [TypeArg::Number(n)] => one_length(name, n, limit),
        _ => Err(no_width(name)),
    }
}

fn variable_length(
    name: &str,
    args: &[TypeArg],
    limit: u16,
    default: u16,
) -> Result<Len, SqlError> {
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
            _ => Err(SqlError::of(msg::SCALE_INVALID, [&1, &n])),
        },
        _ => Err(SqlError::of(msg::SCALE_NOT_ONE_NUMBER, [&1])),
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
        return Err(SqlError::of(msg::PRECISION_TOO_LARGE, [&1, &precision]));
    }
    if !(0..=precision).contains(&scale) {
        return Err(SqlError::of(msg::SCALE_OVER_PRECISION, [&1, &scale, &precision]));
    }
    Ok(DataType::Decimal { precision: precision as u8, scale: scale as u8, name })
}
