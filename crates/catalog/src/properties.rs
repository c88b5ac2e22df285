//! Extended properties: named values that applications give a database, its filegroups and files,
//! schemas, objects, columns, parameters, indexes, types and principals (MS_Description is what
//! tools show as a comment). They are read where they are kept: no copy in memory. Guarantee:
//! `read` of what `row_of` wrote gives the same properties.

use access::ReadMode;
use compact_str::CompactString;
use types::convert::{Mode, convert};
use types::{Collation, DataType, Len, SqlError, Value, codepage};

use crate::rows::damaged;
use crate::store::{StoreError, SysTrees};
use crate::systables::SysTable;
use crate::type_text::type_of_text;

/// Largest value: bytes as SQL Server counts them.
pub const MAX_BYTES: usize = 7500;

/// What can have properties, with the numbers of sys.extended_properties.class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PropertyClass {
    Database = 0,
    /// An object or constraint; with a minor_id above 0 one of its columns.
    Object = 1,
    Parameter = 2,
    Schema = 3,
    Principal = 4,
    Type = 6,
    Index = 7,
    /// A filegroup; its id is that of sys.filegroups.
    Dataspace = 20,
    /// A data file; its id is the file_id of sys.database_files.
    DatabaseFile = 22,
    /// How sensitive a column is: ADD SENSITIVITY CLASSIFICATION. No class of
    /// sys.extended_properties.
    Sensitivity = 200,
}

impl PropertyClass {
    const ALL: [PropertyClass; 10] = [
        PropertyClass::Database,
        PropertyClass::Object,
        PropertyClass::Parameter,
        PropertyClass::Schema,
        PropertyClass::Principal,
        PropertyClass::Type,
        PropertyClass::Index,
        PropertyClass::Dataspace,
        PropertyClass::DatabaseFile,
        PropertyClass::Sensitivity,
    ];

    /// class_desc.
    pub fn description(self) -> &'static str {
        match self {
            PropertyClass::Database => "DATABASE",
            PropertyClass::Object => "OBJECT_OR_COLUMN",
            PropertyClass::Parameter => "PARAMETER",
            PropertyClass::Schema => "SCHEMA",
            PropertyClass::Principal => "DATABASE_PRINCIPAL",
            PropertyClass::Type => "TYPE",
            PropertyClass::Index => "INDEX",
            PropertyClass::Dataspace => "DATASPACE",
            PropertyClass::DatabaseFile => "DATABASE_FILE",
            PropertyClass::Sensitivity => "OBJECT_OR_COLUMN",
        }
    }

    /// Whether major_id is the id of an object, so that the properties go with it.
    pub fn is_of_object(self) -> bool {
        matches!(self, PropertyClass::Object | PropertyClass::Parameter | PropertyClass::Index)
    }
}

/// The object, column or other thing that has a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PropertyHolder {
    pub class: PropertyClass,
    /// 0 for a database, else the id of the object, schema, principal, type, filegroup or file.
    pub major: i32,
    /// column_id, parameter_id or index_id, else 0.
    pub minor: i32,
}

/// A property.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Tells the properties of one holder apart, on disk.
    pub number: i32,
    pub name: CompactString,
    /// A sql_variant.
    pub value: Value,
}

/// Reads the properties of a holder, or of all holders whose row's key begins with `prefix`
/// ([`SysTable::Properties`]).
///
/// # Errors
/// What the storage says; 8966 rows that cannot be read.
pub fn read(
    trees: &SysTrees,
    prefix: &[Value],
    mode: ReadMode<'_>,
) -> Result<Vec<(PropertyHolder, Property)>, StoreError> {
    let rows = trees.rows(SysTable::Properties, prefix, mode)?;
    rows.iter()
        .map(|row| property_of(row).ok_or_else(|| damaged("an extended property", 0)))
        .collect()
}

/// The row of a property.
///
/// # Errors
/// Those of a value that cannot be written as bytes: none of the types that a sql_variant has.
pub fn row_of(holder: PropertyHolder, property: &Property) -> Result<Vec<Value>, SqlError> {
    let (ty, bytes) = match types::variant::parts(&property.value) {
        (Value::Null, ..) => (Value::Null, Value::Null),
        (value, ty, _) => {
            let ty = kept_as(value, ty);
            (Value::str(ty.to_string()), Value::bytes(bytes_of(value, ty)?))
        }
    };
    let mut row = key_of(holder);
    row.push(Value::Int(property.number));
    row.extend([Value::str(&property.name), ty, bytes]);
    Ok(row)
}

/// The prefix of the keys of a holder's rows.
pub fn key_of(holder: PropertyHolder) -> Vec<Value> {
    vec![Value::TinyInt(holder.class as u8), Value::Int(holder.major), Value::Int(holder.minor)]
}

/// CONVERT's style that loses nothing of a value of this type as text.
fn style(ty: DataType) -> i32 {
    match ty {
        DataType::Float | DataType::Real => 3,
        DataType::Money | DataType::SmallMoney => 2,
        _ if ty.is_string() || ty.is_binary() => 0,
        DataType::Date
        | DataType::Time(_)
        | DataType::DateTime
        | DataType::SmallDateTime
        | DataType::DateTime2(_)
        | DataType::DateTimeOffset(_) => 121,
        _ => 0,
    }
}

const TEXT: DataType = DataType::VarChar(Len::N(200));

/// The type that a value is kept with: its own, or that of a text in Unicode where code page 1252
/// has not all of its characters.
fn kept_as(value: &Value, ty: DataType) -> DataType {
    let fits = |text: &str| text.chars().all(|c| codepage::encode_char(c).is_some());
    match value {
        Value::Str(text) if !ty.is_unicode() && !fits(text) => value.natural_type(),
        _ => ty,
    }
}

/// Bytes of a text or of bytes, as they are kept; of nothing else there can be too many.
pub fn size(value: &Value) -> usize {
    let (value, ty, _) = types::variant::parts(value);
    match value {
        Value::Str(text) if kept_as(value, ty).is_unicode() => 2 * types::units::utf16_len(text),
        Value::Str(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

fn bytes_of(value: &Value, ty: DataType) -> Result<Vec<u8>, SqlError> {
    Ok(match value {
        Value::Str(text) if !ty.is_unicode() => {
            let mut bytes = Vec::with_capacity(text.len());
            codepage::encode(text, &mut bytes);
            bytes
        }
        Value::Str(text) => types::units::units(text).flat_map(u16::to_le_bytes).collect(),
        Value::Bytes(bytes) => bytes.to_vec(),
        other => {
            let ty = other.natural_type();
            let text = convert(other, ty, TEXT, style(ty), Mode::Explicit)?;
            text.as_str().unwrap_or_default().as_bytes().to_vec()
        }
    })
}

fn value_of(ty: &str, bytes: &[u8]) -> Option<Value> {
    let ty = type_of_text(ty).ok()?;
    if ty.is_string() || ty.is_binary() {
        let value = match ty.is_string() {
            true if ty.is_unicode() => Value::Str(types::rowcell::wide_text(bytes)?),
            true => Value::Str(bytes.iter().map(|byte| codepage::decode_byte(*byte)).collect()),
            false => Value::bytes(bytes.to_vec()),
        };
        let natural = value.natural_type() == ty;
        return Some(if natural {
            value
        } else {
            types::variant::of(value, ty, Collation::DEFAULT)
        });
    }
    let text = Value::str(std::str::from_utf8(bytes).ok()?);
    convert(&text, TEXT, ty, style(ty), Mode::Explicit).ok()
}

fn property_of(row: &[Value]) -> Option<(PropertyHolder, Property)> {
    let int = |at: usize| row.get(at)?.as_i64().and_then(|n| i32::try_from(n).ok());
    let class = int(0)?;
    let class = PropertyClass::ALL.into_iter().find(|known| *known as i32 == class)?;
    let holder = PropertyHolder { class, major: int(1)?, minor: int(2)? };
    let value = match (row.get(5)?.as_str(), row.get(6)?.as_bytes()) {
        (Some(ty), Some(bytes)) => value_of(ty, bytes)?,
        _ => Value::Null,
    };
    Some((holder, Property { number: int(3)?, name: row.get(4)?.as_str()?.into(), value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_type_survive() {
        let holder = PropertyHolder { class: PropertyClass::Object, major: 7, minor: 2 };
        let varchar = DataType::VarChar(Len::N(7500));
        let values = [
            Value::Null,
            Value::str("a comment with 😀"),
            Value::str(""),
            Value::bytes(vec![0, 255, 7]),
            Value::Int(-5),
            Value::BigInt(i64::MIN),
            Value::Bit(true),
            Value::Float(0.1 + 0.2),
            Value::Real(0.1),
            Value::Money(-123_456),
            Value::Date(700_000),
            Value::Time(863_999_999_999),
            Value::DateTime { days: 40_000, ticks: 1_234_567 },
            Value::SmallDateTime { days: 40_000, minutes: 77 },
            Value::DateTime2 { days: 700_000, ticks: 1_234_567 },
            Value::DateTimeOffset { days: 700_000, ticks: 1_234_567, offset: -210 },
            Value::Guid([9; 16]),
            types::variant::of(Value::str("x".repeat(7500)), varchar, Collation::DEFAULT),
            types::variant::of(Value::str("€ é"), varchar, Collation::DEFAULT),
            types::variant::of(Value::str("x"), DataType::NChar(1), Collation::DEFAULT),
        ];
        for value in values {
            let property = Property { number: 3, name: "Name".into(), value };
            let row = row_of(holder, &property).unwrap();
            let bytes = SysTable::Properties.encode(&row).unwrap();
            let read = property_of(&SysTable::Properties.decode(&bytes).unwrap());
            let (found, read) = read.unwrap_or_else(|| panic!("{property:?}"));
            assert_eq!(found, holder);
            assert_eq!(
                (format!("{:?}", read.value), read.name),
                (format!("{:?}", property.value), property.name)
            );
        }
    }
}
