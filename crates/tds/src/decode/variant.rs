//! sql_variant from bytes. Guarantee: a value that was read has its own type, with its length and
//! collation.

use std::borrow::Cow;

use types::datatype::{decimal_bytes, time_bytes};
use types::{DataType, Value};

use super::{content, scalar};
use crate::byte;
use crate::error::TdsError;
use crate::reader::Reader;
use crate::text::WireCollation;
use crate::typeinfo::{FixedType, Size, TypeInfo};
use crate::typewire::MAX_VARIANT_DATA;

/// Reads a sql_variant. Errors: 8011 to 8014 of SQL Server are `VariantLength` and `TypeMetadata`
/// of type 0x62.
pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Value, TdsError> {
    let total = reader.u32()? as usize;
    if total == 0 {
        return Ok(Value::Null);
    }
    let mut inner = Reader::new(reader.bytes(total)?, "sql_variant");
    let metadata = || TdsError::TypeMetadata(byte::VARIANT);
    let (id, properties) =
        (inner.u8().map_err(|_| metadata())?, inner.u8().map_err(|_| metadata())?);
    let mut properties = Reader::new(
        inner.bytes(usize::from(properties)).map_err(|_| metadata())?,
        "properties of sql_variant",
    );
    let ty = base_type(id, &mut properties).map_err(|error| match error {
        TdsError::Truncated { .. } => metadata(),
        other => other,
    })?;
    if !properties.is_empty() {
        return Err(metadata());
    }
    let data = inner.rest();
    let (base, collation) =
        (ty.data_type(), ty.collation().and_then(WireCollation::known).unwrap_or_default());
    let too_long = |size: u16| data.len() > usize::from(size);
    match ty {
        TypeInfo::Char(size, _)
        | TypeInfo::VarChar(Size::Bytes(size), _)
        | TypeInfo::NChar(size, _)
        | TypeInfo::NVarChar(Size::Bytes(size), _)
        | TypeInfo::Binary(size)
        | TypeInfo::VarBinary(Size::Bytes(size)) => {
            if too_long(size) || data.len() > MAX_VARIANT_DATA {
                return Err(TdsError::TypeLength(byte::VARIANT));
            }
            content(Cow::Borrowed(data), &ty)
        }
        TypeInfo::Decimal { precision, .. }
            if data.len() > usize::from(decimal_bytes(precision)) =>
        {
            Err(TdsError::TypeLength(byte::VARIANT))
        }
        TypeInfo::Fixed(fixed) => scalar(data, &fixed.nullable()),
        other => scalar(data, &other),
    }
    .map(|value| types::variant::of(value, base.unwrap_or(DataType::SqlVariant), collation))
    .map_err(|error| match error {
        TdsError::TypeLength(_) => TdsError::TypeLength(byte::VARIANT),
        other => other,
    })
}

fn base_type(id: u8, properties: &mut Reader<'_>) -> Result<TypeInfo, TdsError> {
    if let Some(fixed) = FixedType::from_byte(id) {
        return Ok(TypeInfo::Fixed(fixed));
    }
    let metadata = TdsError::TypeMetadata(byte::VARIANT);
    let mut scale = |make: fn(u8) -> TypeInfo| match properties.u8()? {
        scale @ 0..=7 => Ok(make(scale)),
        _ => Err(TdsError::TypeMetadata(byte::VARIANT)),
    };
    debug_assert!(time_bytes(7) == 5);
    Ok(match id {
        byte::GUID => TypeInfo::Guid,
        byte::DATE => TypeInfo::Date,
        byte::TIME => scale(TypeInfo::Time)?,
        byte::DATETIME2 => scale(TypeInfo::DateTime2)?,
        byte::DATETIMEOFFSET => scale(TypeInfo::DateTimeOffset)?,
        byte::DECIMAL | byte::NUMERIC => match properties.array()? {
            [precision @ 1..=38, scale] if scale <= precision => {
                TypeInfo::Decimal { precision, scale, numeric: id == byte::NUMERIC }
            }
            _ => return Err(metadata),
        },
        byte::BINARY => TypeInfo::Binary(properties.u16()?),
        byte::VARBINARY => TypeInfo::VarBinary(Size::Bytes(properties.u16()?)),
        byte::CHAR | byte::VARCHAR | byte::NCHAR | byte::NVARCHAR => {
            let collation = WireCollation(properties.array()?);
            let size = properties.u16()?;
            match id {
                byte::CHAR => TypeInfo::Char(size, collation),
                byte::VARCHAR => TypeInfo::VarChar(Size::Bytes(size), collation),
                byte::NCHAR => TypeInfo::NChar(size, collation),
                _ => TypeInfo::NVarChar(Size::Bytes(size), collation),
            }
        }
        _ => return Err(metadata),
    })
}
