//! Columns as COLMETADATA describes them, to and from bytes.

use crate::error::TdsError;
use crate::limits::MAX_COLUMNS;
use crate::reader::Reader;
use crate::text;
use crate::token;
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// The side that writes COLMETADATA: the name of a text column's table is written differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sender {
    /// A count of parts and the parts, from 7.2 on.
    Server,
    /// One text, in bulk load data of every client and version, whatever the specification says.
    BulkLoad,
}

/// Flags of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct ColumnFlags(pub u16);

impl ColumnFlags {
    pub const NULLABLE: ColumnFlags = ColumnFlags(0x0001);
    pub const CASE_SENSITIVE: ColumnFlags = ColumnFlags(0x0002);
    /// Read/write: a column of a table.
    pub const UPDATABLE: ColumnFlags = ColumnFlags(0x0004);
    /// Not known whether updatable: what SQL Server says of most columns of a query.
    pub const UPDATABLE_UNKNOWN: ColumnFlags = ColumnFlags(0x0008);
    pub const IDENTITY: ColumnFlags = ColumnFlags(0x0010);
    pub const COMPUTED: ColumnFlags = ColumnFlags(0x0020);
    /// Added by the server for browse mode.
    pub const HIDDEN: ColumnFlags = ColumnFlags(0x2000);
    /// Part of the key, in browse mode.
    pub const KEY: ColumnFlags = ColumnFlags(0x4000);

    /// Both sets of flags.
    #[must_use]
    pub const fn with(self, other: ColumnFlags) -> ColumnFlags {
        ColumnFlags(self.0 | other.0)
    }

    /// These flags and, if the condition holds, the others.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: ColumnFlags) -> ColumnFlags {
        if condition { self.with(other) } else { self }
    }

    /// Whether all of the others are set.
    pub const fn contains(self, other: ColumnFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One column. `S` is how it holds its texts: borrowed ones are enough to write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column<S = String> {
    /// Empty for a column without a name.
    pub name: S,
    /// 0 except for alias types and timestamp (80).
    pub user_type: u32,
    pub flags: ColumnFlags,
    pub ty: TypeInfo,
    /// Parts of the table's name; only text, ntext and image columns have it on the wire.
    pub table: Vec<S>,
}

impl Column {
    /// A column without a user type and a table.
    pub fn new(name: impl Into<String>, ty: TypeInfo, flags: ColumnFlags) -> Column {
        Column { name: name.into(), user_type: 0, flags, ty, table: Vec::new() }
    }
}

impl<S: AsRef<str>> Column<S> {
    /// Appends everything but the name.
    pub(crate) fn write_type(&self, version: TdsVersion, out: &mut Vec<u8>) {
        write_user_type(self.user_type, version, out);
        out.extend_from_slice(&self.flags.0.to_le_bytes());
        self.ty.write(out);
    }

    /// Appends the column's description.
    pub(crate) fn write(&self, version: TdsVersion, sender: Sender, out: &mut Vec<u8>) {
        self.write_type(version, out);
        if self.ty.is_old_large_object() {
            if version >= TdsVersion::V7_2 && sender == Sender::Server {
                out.push(self.table.len().min(4) as u8);
                for part in self.table.iter().take(4) {
                    push_us_varchar(part.as_ref(), out);
                }
            } else {
                push_us_varchar(self.table.last().map_or("", S::as_ref), out);
            }
        }
        push_b_varchar(self.name.as_ref(), out);
    }
}

impl Column {
    /// Reads a column's description.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        version: TdsVersion,
        sender: Sender,
    ) -> Result<Column, TdsError> {
        let user_type = read_user_type(reader, version)?;
        let flags = ColumnFlags(reader.u16()?);
        let ty = match sender {
            Sender::Server => TypeInfo::read(reader, version)?,
            Sender::BulkLoad => TypeInfo::read_loose(reader, version)?,
        };
        let mut table = Vec::new();
        if ty.is_old_large_object() {
            let has_count = version >= TdsVersion::V7_2 && sender == Sender::Server;
            let parts = if has_count { reader.u8()? } else { 1 };
            for _ in 0..parts {
                table.push(reader.us_varchar()?);
            }
        }
        Ok(Column { name: reader.b_varchar()?, user_type, flags, ty, table })
    }

    /// Appends COLMETADATA.
    pub(crate) fn write_all(
        columns: &[Column],
        version: TdsVersion,
        sender: Sender,
        out: &mut Vec<u8>,
    ) {
        debug_assert!(columns.len() <= 4 * MAX_COLUMNS);
        out.push(token::COLMETADATA);
        out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        columns.iter().for_each(|column| column.write(version, sender, out));
    }

    /// Reads the columns of COLMETADATA, after its token byte; none for the count 0xFFFF.
    pub(crate) fn read_all(
        reader: &mut Reader<'_>,
        version: TdsVersion,
        sender: Sender,
    ) -> Result<Vec<Column>, TdsError> {
        let count = usize::from(reader.u16()?);
        if count == 0xFFFF {
            return Ok(Vec::new());
        }
        if count > 4 * MAX_COLUMNS {
            return Err(reader.malformed("number of columns"));
        }
        (0..count).map(|_| Column::read(reader, version, sender)).collect()
    }
}

pub(crate) fn write_user_type(user_type: u32, version: TdsVersion, out: &mut Vec<u8>) {
    if version >= TdsVersion::V7_2 {
        out.extend_from_slice(&user_type.to_le_bytes());
    } else {
        out.extend_from_slice(&(user_type as u16).to_le_bytes());
    }
}

pub(crate) fn read_user_type(
    reader: &mut Reader<'_>,
    version: TdsVersion,
) -> Result<u32, TdsError> {
    if version >= TdsVersion::V7_2 { reader.u32() } else { reader.u16().map(u32::from) }
}

/// Appends text after its units in one byte; what is over 255 units is cut off.
pub(crate) fn push_b_varchar(text: &str, out: &mut Vec<u8>) {
    let text = text::first_utf16(text, 255);
    let at = out.len();
    out.push(0);
    text::push_utf16(text, out);
    out[at] = ((out.len() - at - 1) / 2) as u8;
}

/// Appends text after its units in two bytes; what is over 65535 units is cut off.
pub(crate) fn push_us_varchar(text: &str, out: &mut Vec<u8>) {
    let text = text::first_utf16(text, usize::from(u16::MAX));
    let at = out.len();
    out.extend_from_slice(&[0, 0]);
    text::push_utf16(text, out);
    let units = ((out.len() - at - 2) / 2) as u16;
    out[at..at + 2].copy_from_slice(&units.to_le_bytes());
}
