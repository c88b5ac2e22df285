//! TYPE_INFO to and from bytes.

use types::datatype::{MAX_BYTES, decimal_bytes};

use crate::byte;
use crate::error::TdsError;
use crate::reader::Reader;
use crate::text::WireCollation;
use crate::typeinfo::{FixedType, Short, Size, TypeInfo};
use crate::version::TdsVersion;

/// Most bytes of data in a sql_variant.
pub(crate) const MAX_VARIANT_DATA: usize = 8000;
/// Longest sql_variant, its description included: what SQL Server puts into TYPE_INFO.
const MAX_VARIANT: u32 = 8009;
/// Largest precision of a decimal.
const MAX_PRECISION: u8 = 38;
/// How exactly lengths must be those of values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Exact,
    Loose,
}
/// The length in TYPE_INFO that means MAX.
const MAX_MARK: u16 = 0xFFFF;

impl TypeInfo {
    /// The type byte.
    pub(crate) fn byte(&self) -> u8 {
        match self {
            TypeInfo::Null => byte::NULL,
            TypeInfo::Fixed(fixed) => fixed.wire().0,
            TypeInfo::Bit => byte::BIT_N,
            TypeInfo::Int(_) => byte::INT_N,
            TypeInfo::Float(_) => byte::FLOAT_N,
            TypeInfo::Money(_) => byte::MONEY_N,
            TypeInfo::DateTime(_) => byte::DATETIME_N,
            TypeInfo::Guid => byte::GUID,
            TypeInfo::Decimal { numeric: false, .. } => byte::DECIMAL,
            TypeInfo::Decimal { numeric: true, .. } => byte::NUMERIC,
            TypeInfo::Date => byte::DATE,
            TypeInfo::Time(_) => byte::TIME,
            TypeInfo::DateTime2(_) => byte::DATETIME2,
            TypeInfo::DateTimeOffset(_) => byte::DATETIMEOFFSET,
            TypeInfo::Char(..) => byte::CHAR,
            TypeInfo::VarChar(..) => byte::VARCHAR,
            TypeInfo::NChar(..) => byte::NCHAR,
            TypeInfo::NVarChar(..) | TypeInfo::AsText(..) => byte::NVARCHAR,
            TypeInfo::Binary(_) => byte::BINARY,
            TypeInfo::VarBinary(_) => byte::VARBINARY,
            TypeInfo::Text(_) => byte::TEXT,
            TypeInfo::NText(_) => byte::NTEXT,
            TypeInfo::Image => byte::IMAGE,
            TypeInfo::Xml => byte::XML,
            TypeInfo::Hierarchy => byte::UDT,
            TypeInfo::Variant => byte::VARIANT,
            TypeInfo::Short(Short::Char, _) => byte::SHORT_CHAR,
            TypeInfo::Short(Short::VarChar, _) => byte::SHORT_VARCHAR,
            TypeInfo::Short(Short::Binary, _) => byte::SHORT_BINARY,
            TypeInfo::Short(Short::VarBinary, _) => byte::SHORT_VARBINARY,
        }
    }

    /// Appends the description of a parameter.
    pub fn write_parameter(&self, out: &mut Vec<u8>) {
        match self {
            TypeInfo::Hierarchy => {
                out.push(byte::UDT);
                write_names(out);
            }
            other => other.write(out),
        }
    }

    /// Appends the description.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.byte());
        let sized = |size: u16, out: &mut Vec<u8>| out.extend_from_slice(&size.to_le_bytes());
        match *self {
            TypeInfo::Null | TypeInfo::Fixed(_) | TypeInfo::Date => {}
            TypeInfo::Bit => out.push(1),
            TypeInfo::Int(size)
            | TypeInfo::Float(size)
            | TypeInfo::Money(size)
            | TypeInfo::DateTime(size)
            | TypeInfo::Short(_, size) => out.push(size),
            TypeInfo::Guid => out.push(16),
            TypeInfo::Decimal { precision, scale, .. } => {
                out.extend_from_slice(&[decimal_bytes(precision), precision, scale]);
            }
            TypeInfo::Time(scale)
            | TypeInfo::DateTime2(scale)
            | TypeInfo::DateTimeOffset(scale) => out.push(scale),
            TypeInfo::Char(size, collation) | TypeInfo::NChar(size, collation) => {
                sized(size, out);
                out.extend_from_slice(&collation.0);
            }
            TypeInfo::VarChar(size, collation) | TypeInfo::NVarChar(size, collation) => {
                sized(size.mark(), out);
                out.extend_from_slice(&collation.0);
            }
            TypeInfo::AsText(_, collation) => {
                sized(self.text_size(), out);
                out.extend_from_slice(&collation.0);
            }
            TypeInfo::Binary(size) => sized(size, out),
            TypeInfo::VarBinary(size) => sized(size.mark(), out),
            TypeInfo::Text(collation) => {
                out.extend_from_slice(&0x7FFF_FFFFu32.to_le_bytes());
                out.extend_from_slice(&collation.0);
            }
            TypeInfo::NText(collation) => {
                out.extend_from_slice(&0x7FFF_FFFEu32.to_le_bytes());
                out.extend_from_slice(&collation.0);
            }
            TypeInfo::Image => out.extend_from_slice(&0x7FFF_FFFFu32.to_le_bytes()),
            TypeInfo::Xml => out.push(0),
            TypeInfo::Hierarchy => write_hierarchy(out),
            TypeInfo::Variant => out.extend_from_slice(&MAX_VARIANT.to_le_bytes()),
        }
    }

    /// Bytes of nvarchar that a type sent as text declares.
    pub(crate) fn text_size(&self) -> u16 {
        match self {
            TypeInfo::AsText(ty, _) => u16::from(ty.precision()) * 2,
            _ => 0,
        }
    }

    /// Reads the description of a parameter, whose value follows. Errors: as [`TypeInfo::read`];
    /// 8016 for a value of a type that is said to take no bytes.
    pub fn read_parameter(
        reader: &mut Reader<'_>,
        version: TdsVersion,
    ) -> Result<TypeInfo, TdsError> {
        if reader.peek() == Some(byte::UDT) {
            reader.u8()?;
            return named_udt(reader);
        }
        let described = reader.clone();
        let ty = TypeInfo::read_loose(reader, version)?;
        match of_no_bytes(described) {
            Some(id) if reader.peek().is_some_and(|len| len != 0) => Err(TdsError::TypeLength(id)),
            _ => Ok(ty),
        }
    }

    /// Reads a description. Errors: 8009 for an unknown type byte (a table type, which only
    /// parameters have, counts as unknown here), 8016 and 8017 for lengths, precisions and scales;
    /// CLR types are `Unsupported`.
    pub fn read(reader: &mut Reader<'_>, version: TdsVersion) -> Result<TypeInfo, TdsError> {
        TypeInfo::read_as(reader, version, Lengths::Exact)
    }

    /// The same as clients describe what they send: lengths and precisions that no NULL needs may
    /// be 0, the type is the widest then, and what the length of a decimal is to be says its
    /// precision.
    pub(crate) fn read_loose(
        reader: &mut Reader<'_>,
        version: TdsVersion,
    ) -> Result<TypeInfo, TdsError> {
        TypeInfo::read_as(reader, version, Lengths::Loose)
    }

    fn read_as(
        reader: &mut Reader<'_>,
        version: TdsVersion,
        lengths: Lengths,
    ) -> Result<TypeInfo, TdsError> {
        let one_of =
            |reader: &mut Reader<'_>, id, allowed: &[u8]| one_of(reader, id, allowed, lengths);
        let id = reader.u8()?;
        if let Some(fixed) = FixedType::from_byte(id) {
            return Ok(TypeInfo::Fixed(fixed));
        }
        Ok(match id {
            byte::NULL => TypeInfo::Null,
            byte::BIT_N => one_of(reader, id, &[1]).map(|_| TypeInfo::Bit)?,
            byte::INT_N => TypeInfo::Int(one_of(reader, id, &[1, 2, 4, 8])?),
            byte::FLOAT_N => TypeInfo::Float(one_of(reader, id, &[4, 8])?),
            byte::MONEY_N => TypeInfo::Money(one_of(reader, id, &[4, 8])?),
            byte::DATETIME_N => TypeInfo::DateTime(one_of(reader, id, &[4, 8])?),
            byte::GUID => one_of(reader, id, &[16]).map(|_| TypeInfo::Guid)?,
            byte::DECIMAL | byte::OLD_DECIMAL => decimal(reader, id, false, lengths)?,
            byte::NUMERIC | byte::OLD_NUMERIC => decimal(reader, id, true, lengths)?,
            byte::DATE => TypeInfo::Date,
            byte::TIME => TypeInfo::Time(fraction(reader, id)?),
            byte::DATETIME2 => TypeInfo::DateTime2(fraction(reader, id)?),
            byte::DATETIMEOFFSET => TypeInfo::DateTimeOffset(fraction(reader, id)?),
            byte::CHAR => TypeInfo::Char(bytes(reader, id)?, collation(reader)?),
            byte::VARCHAR => TypeInfo::VarChar(size(reader, id, version)?, collation(reader)?),
            byte::NCHAR => TypeInfo::NChar(even(bytes(reader, id)?, id)?, collation(reader)?),
            byte::NVARCHAR => {
                let size = size(reader, id, version)?;
                if let Size::Bytes(n) = size {
                    even(n, id)?;
                }
                TypeInfo::NVarChar(size, collation(reader)?)
            }
            byte::BINARY => TypeInfo::Binary(bytes(reader, id)?),
            byte::VARBINARY => TypeInfo::VarBinary(size(reader, id, version)?),
            byte::TEXT => reader.u32().and_then(|_| collation(reader)).map(TypeInfo::Text)?,
            byte::NTEXT => reader.u32().and_then(|_| collation(reader)).map(TypeInfo::NText)?,
            byte::IMAGE => reader.u32().map(|_| TypeInfo::Image)?,
            byte::XML => xml(reader)?,
            byte::VARIANT => reader.u32().map(|_| TypeInfo::Variant)?,
            byte::SHORT_CHAR => TypeInfo::Short(Short::Char, reader.u8()?),
            byte::SHORT_VARCHAR => TypeInfo::Short(Short::VarChar, reader.u8()?),
            byte::SHORT_BINARY => TypeInfo::Short(Short::Binary, reader.u8()?),
            byte::SHORT_VARBINARY => TypeInfo::Short(Short::VarBinary, reader.u8()?),
            byte::UDT => udt(reader)?,
            unknown => return Err(TdsError::UnknownType(unknown)),
        })
    }
}

impl Size {
    fn mark(self) -> u16 {
        match self {
            Size::Bytes(n) => n,
            Size::Max => MAX_MARK,
        }
    }
}

/// One of the lengths that a type has, in ascending order.
fn one_of(
    reader: &mut Reader<'_>,
    id: u8,
    allowed: &[u8],
    lengths: Lengths,
) -> Result<u8, TdsError> {
    let size = reader.u8()?;
    match allowed.last() {
        Some(widest) if size == 0 && lengths == Lengths::Loose => Ok(*widest),
        _ if allowed.contains(&size) => Ok(size),
        _ => Err(TdsError::TypeLength(id)),
    }
}

/// The type that begins here, if it has a length of one byte, which says that it takes none: it has
/// no values but NULL.
fn of_no_bytes(mut described: Reader<'_>) -> Option<u8> {
    const WITH_LENGTH: [u8; 10] = [
        byte::BIT_N,
        byte::INT_N,
        byte::FLOAT_N,
        byte::MONEY_N,
        byte::DATETIME_N,
        byte::GUID,
        byte::DECIMAL,
        byte::NUMERIC,
        byte::OLD_DECIMAL,
        byte::OLD_NUMERIC,
    ];
    let [id, len] = described.array().ok()?;
    (WITH_LENGTH.contains(&id) && len == 0).then_some(id)
}

/// The length on the wire is not looked at beyond its range: clients send 17 for any precision.
fn decimal(
    reader: &mut Reader<'_>,
    id: u8,
    numeric: bool,
    lengths: Lengths,
) -> Result<TypeInfo, TdsError> {
    let [len, mut precision, scale] = reader.array()?;
    if lengths == Lengths::Exact && !(1..=17).contains(&len) {
        return Err(TdsError::TypeLength(id));
    }
    if lengths == Lengths::Loose && precision == 0 {
        precision = MAX_PRECISION;
    }
    if !(1..=MAX_PRECISION).contains(&precision) || scale > precision {
        return Err(TdsError::TypeMetadata(id));
    }
    Ok(TypeInfo::Decimal { precision, scale, numeric })
}

fn fraction(reader: &mut Reader<'_>, id: u8) -> Result<u8, TdsError> {
    let scale = reader.u8()?;
    if scale <= 7 { Ok(scale) } else { Err(TdsError::TypeMetadata(id)) }
}

fn bytes(reader: &mut Reader<'_>, id: u8) -> Result<u16, TdsError> {
    let size = reader.u16()?;
    if size <= MAX_BYTES { Ok(size) } else { Err(TdsError::TypeLength(id)) }
}

fn size(reader: &mut Reader<'_>, id: u8, version: TdsVersion) -> Result<Size, TdsError> {
    match reader.u16()? {
        MAX_MARK if version >= TdsVersion::V7_2 => Ok(Size::Max),
        size if size <= MAX_BYTES => Ok(Size::Bytes(size)),
        _ => Err(TdsError::TypeLength(id)),
    }
}

fn even(size: u16, id: u8) -> Result<u16, TdsError> {
    if size.is_multiple_of(2) { Ok(size) } else { Err(TdsError::TypeLength(id)) }
}

fn collation(reader: &mut Reader<'_>) -> Result<WireCollation, TdsError> {
    reader.array().map(WireCollation)
}

/// The names by which clients know the type.
const ASSEMBLY: &str = "Microsoft.SqlServer.Types.SqlHierarchyId, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, \
                        PublicKeyToken=89845dcd8080cc91";

/// A column's description: its longest value, database, schema and name, and the class of .NET.
fn write_hierarchy(out: &mut Vec<u8>) {
    out.extend_from_slice(&(types::hierarchy::MAX_BYTES as u16).to_le_bytes());
    write_names(out);
    out.extend_from_slice(&(ASSEMBLY.len() as u16).to_le_bytes());
    out.extend(ASSEMBLY.encode_utf16().flat_map(u16::to_le_bytes));
}

/// Database, schema and name.
fn write_names(out: &mut Vec<u8>) {
    for name in ["master", "sys", "hierarchyid"] {
        out.push(name.len() as u8);
        out.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    }
}

/// A type of .NET as a column has it.
fn udt(reader: &mut Reader<'_>) -> Result<TypeInfo, TdsError> {
    reader.u16()?;
    let ty = named_udt(reader)?;
    reader.us_varchar()?;
    Ok(ty)
}

/// Database, schema and name of a type of .NET: all that a parameter has of it.
fn named_udt(reader: &mut Reader<'_>) -> Result<TypeInfo, TdsError> {
    reader.b_varchar()?;
    reader.b_varchar()?;
    match reader.b_varchar()?.eq_ignore_ascii_case("hierarchyid") {
        true => Ok(TypeInfo::Hierarchy),
        false => Err(TdsError::Unsupported("a CLR user-defined type")),
    }
}

/// A schema collection's names are read over: values are checked by whoever knows the schema.
fn xml(reader: &mut Reader<'_>) -> Result<TypeInfo, TdsError> {
    if reader.u8()? != 0 {
        reader.b_varchar()?;
        reader.b_varchar()?;
        reader.us_varchar()?;
    }
    Ok(TypeInfo::Xml)
}
