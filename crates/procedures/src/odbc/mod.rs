//! The catalog procedures of ODBC's and JDBC's drivers: sp_tables, sp_tableswc, sp_columns,
//! sp_pkeys, sp_fkeys, sp_statistics, sp_special_columns, sp_stored_procedures, sp_sproc_columns,
//! sp_datatype_info. Guarantee: columns, their types and the order of rows are those that SQL
//! Server documents; a call with names costs what the objects of these names cost.

pub mod columns;
pub mod datatypes;
pub mod keys;
pub mod procedures;
pub mod relations;
pub mod special;
pub mod statistics;
pub mod tables;

use ::types::datatype::DecimalName;
use ::types::{Collation, DataType, Len, LikePattern, SqlError, Value, msg};

use catalog::fold_name;
use session::state::SessionCore;

const REMARKS: DataType = DataType::VarChar(Len::N(254));

/// Which names are wanted.
pub enum Names {
    All,
    One(String),
    Like(LikePattern),
}

impl Names {
    /// One name, or those that a pattern matches; none given means all.
    pub fn new(given: Option<&str>, pattern: bool) -> Result<Names, SqlError> {
        Ok(match given {
            None | Some("%") => Names::All,
            Some(text) if pattern && text.contains(['%', '_', '[']) => {
                Names::Like(LikePattern::new(text, None)?)
            }
            Some(name) => Names::One(fold_name(name.trim_end()).to_string()),
        })
    }

    pub fn has(&self, name: &str) -> bool {
        match self {
            Names::All => true,
            Names::One(wanted) => fold_name(name) == wanted.as_str(),
            Names::Like(pattern) => pattern.matches(name, Collation::DEFAULT, true),
        }
    }
}

/// A qualifier names the current database or nothing. Error: 15250.
pub(super) fn check_qualifier(core: &SessionCore, qualifier: Option<&str>) -> Result<(), SqlError> {
    match qualifier {
        Some(name) if !name.is_empty() && fold_name(name) != fold_name(&core.db().name()) => {
            Err(SqlError::of(msg::NOT_CURRENT_DATABASE, []))
        }
        _ => Ok(()),
    }
}

/// Which generation of clients a procedure speaks to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Those that do not know date, time, datetime2 and datetimeoffset: they get them as nvarchar.
    Old,
    /// Since SQL Server 2008.
    Since2008,
}

/// A type as ODBC describes it.
pub(super) struct OdbcType {
    pub data_type: i16,
    pub precision: i32,
    pub length: i32,
    pub scale: Option<i16>,
    pub radix: Option<i16>,
    pub sql_data_type: i16,
    pub datetime_sub: Option<i16>,
    pub octets: Option<i32>,
    pub ss_data_type: u8,
}

/// The numbers of a type: (DATA_TYPE of ODBC 3, its number in TDS when NULL is allowed, when it is
/// not).
fn numbers(ty: DataType) -> (i16, u8, u8) {
    match ty {
        DataType::VarChar(Len::Old) => (-1, 35, 35),
        DataType::NVarChar(Len::Old) => (-10, 35, 35),
        DataType::VarBinary(Len::Old) => (-4, 34, 34),
        DataType::Bit => (-7, 50, 50),
        DataType::TinyInt => (-6, 38, 48),
        DataType::SmallInt => (5, 38, 52),
        DataType::Int => (4, 38, 56),
        DataType::BigInt => (-5, 108, 63),
        DataType::Decimal { name: DecimalName::Decimal, .. } => (3, 106, 106),
        DataType::Decimal { name: DecimalName::Numeric, .. } => (2, 108, 108),
        DataType::Float => (6, 109, 62),
        DataType::Real => (7, 109, 59),
        DataType::Money => (3, 110, 60),
        DataType::SmallMoney => (3, 110, 122),
        DataType::Char(_) => (1, 39, 47),
        DataType::VarChar(_) => (12, 39, 39),
        DataType::NChar(_) => (-8, 39, 39),
        DataType::NVarChar(_) => (-9, 39, 39),
        DataType::Binary(_) => (-2, 37, 45),
        DataType::RowVersion => (-2, 37, 45),
        DataType::Xml => (-152, 0, 0),
        DataType::HierarchyId => (-151, 0, 0),
        DataType::VarBinary(_) => (-3, 37, 37),
        DataType::Date => (91, 0, 0),
        DataType::Time(_) => (-154, 0, 0),
        DataType::DateTime2(_) => (93, 0, 0),
        DataType::DateTimeOffset(_) => (-155, 0, 0),
        DataType::DateTime => (93, 111, 61),
        DataType::SmallDateTime => (93, 111, 58),
        DataType::UniqueIdentifier => (-11, 37, 37),
        DataType::SqlVariant => (-150, 39, 39),
    }
}

/// Describes a type to a client that speaks ODBC 2 or 3.
pub(super) fn odbc_type(ty: DataType, nullable: bool, version: i64, level: Level) -> OdbcType {
    let (number, null, not_null) = numbers(ty);
    let precision = match ty {
        DataType::UniqueIdentifier => 36,
        DataType::SqlVariant => 8000,
        DataType::HierarchyId => ty.max_length().into(),
        _ if ty.is_string() || ty.is_binary() => ty.shown_length().max(0),
        _ => i32::from(ty.precision()),
    };
    let bytes = match ty.is_old_lob() {
        true => precision * if ty.is_unicode() { 2 } else { 1 },
        false => i32::from(ty.max_length().max(0)),
    };
    let length = match ty {
        DataType::Decimal { .. } => precision + 2,
        DataType::Money => 21,
        DataType::SmallMoney => 12,
        DataType::DateTime | DataType::SmallDateTime | DataType::DateTime2(_) => 16,
        DataType::Date => 6,
        DataType::Time(_) => 12,
        DataType::DateTimeOffset(_) => 20,
        DataType::SqlVariant => 8000,
        _ => bytes,
    };
    let exact = ty.as_decimal().is_some() && ty != DataType::Bit;
    let mut out = OdbcType {
        data_type: number,
        precision,
        length,
        scale: match ty {
            DataType::SqlVariant => Some(0),
            _ if exact || ty.is_temporal() => Some(i16::from(ty.scale())),
            _ => None,
        },
        radix: match ty {
            DataType::Float | DataType::Real => Some(2),
            _ => (exact || ty == DataType::SqlVariant).then_some(10),
        },
        sql_data_type: if number > 90 { 9 } else { number },
        datetime_sub: match number {
            91 => Some(1),
            93 => Some(3),
            -154 | -155 => Some(0),
            _ => None,
        },
        octets: (ty.is_string() || ty.is_binary()).then_some(bytes),
        ss_data_type: if nullable { null } else { not_null },
    };
    let new = matches!(
        ty,
        DataType::Date | DataType::Time(_) | DataType::DateTime2(_) | DataType::DateTimeOffset(_)
    );
    if new && level == Level::Old {
        out.data_type = -9;
        out.sql_data_type = -9;
        out.length = precision * 2;
        (out.scale, out.datetime_sub) = (None, None);
    } else if version < 3 {
        out.data_type = match number {
            91 => 9,
            93 => 11,
            other => other,
        };
    }
    out
}

/// TYPE_NAME of a column: the alias type's name where it was declared with one.
pub(super) fn type_name(ty: DataType, identity: bool, alias: Option<&str>) -> String {
    match (ty, identity) {
        _ if let Some(alias) = alias => alias.to_owned(),
        (DataType::Decimal { .. }, true) => format!("{}() identity", ty.base_name()),
        (_, true) => format!("{} identity", ty.base_name()),
        (_, false) => ty.base_name().to_owned(),
    }
}

pub(super) fn small(value: Option<i16>) -> Value {
    value.map_or(Value::Null, Value::SmallInt)
}

pub(super) fn text(value: impl AsRef<str>) -> Value {
    Value::str(value)
}
