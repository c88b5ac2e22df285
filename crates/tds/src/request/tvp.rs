//! Table-valued parameters.

use types::{Value, msg};

use crate::byte;
use crate::column::{ColumnFlags, push_b_varchar, read_user_type, write_user_type};
use crate::decode::{ValuePlace, decode_value};
use crate::encode::encode_at;
use crate::error::TdsError;
use crate::limits::{Budget, MAX_COLUMNS};
use crate::reader::Reader;
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

const NO_TABLE: u16 = 0xFFFF;
const END: u8 = 0x00;
const ROW: u8 = 0x01;
const ORDER_UNIQUE: u8 = 0x10;
const COLUMN_ORDER: u8 = 0x11;
/// Flag of a column whose values are not sent: the type's default is used.
const DEFAULT_COLUMN: u16 = 0x0200;

/// A column of a table-valued parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableColumn {
    pub user_type: u32,
    pub flags: ColumnFlags,
    pub ty: TypeInfo,
    /// The client sends no values for it.
    pub default: bool,
}

/// A table as a parameter's value.
#[derive(Clone, Debug, Default)]
pub struct TableValue {
    pub schema: String,
    pub type_name: String,
    /// Empty for a NULL table: there are no rows then either.
    pub columns: Vec<TableColumn>,
    /// For each column, in the order in which values were sent, its number from 1; empty for the
    /// natural order.
    pub column_order: Vec<u16>,
    /// All rows' values one after the other, NULL for default columns.
    pub values: Vec<Value>,
}

impl TableValue {
    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        self.values.chunks_exact(self.columns.len().max(1))
    }

    /// Reads a table after its type byte. `Table` for a database name (8047), a token that is none
    /// (8029), too many columns (8050), a column order that is none (8055); 8032 for a type that
    /// tables cannot have.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        version: TdsVersion,
        budget: &mut Budget<'_>,
    ) -> Result<TableValue, TdsError> {
        if !reader.b_varchar()?.is_empty() {
            return Err(TdsError::Table { message: msg::TABLE_PARAMETER_DATABASE });
        }
        let mut table = TableValue {
            schema: reader.b_varchar()?,
            type_name: reader.b_varchar()?,
            ..TableValue::default()
        };
        let count = reader.u16()?;
        if count != NO_TABLE {
            if usize::from(count) > MAX_COLUMNS {
                return Err(TdsError::Table { message: msg::TABLE_PARAMETER_COLUMNS });
            }
            for _ in 0..count {
                budget.charge(size_of::<TableColumn>())?;
                table.columns.push(TableColumn::read(reader, version)?);
            }
        }
        table.read_options(reader)?;
        table.read_rows(reader, budget)?;
        Ok(table)
    }

    /// Sort orders are read over: nothing relies on what a client promises.
    fn read_options(&mut self, reader: &mut Reader<'_>) -> Result<(), TdsError> {
        loop {
            match reader.u8()? {
                END => return Ok(()),
                ORDER_UNIQUE => {
                    let n = usize::from(reader.u16()?);
                    reader.bytes(3 * n)?;
                }
                COLUMN_ORDER => {
                    let count = reader.u16()?;
                    let n = usize::from(count);
                    let invalid = || TdsError::Table { message: msg::TABLE_PARAMETER_ORDER };
                    if n != self.columns.len() {
                        return Err(invalid());
                    }
                    self.column_order = (0..n).map(|_| reader.u16()).collect::<Result<_, _>>()?;
                    let mut sorted = self.column_order.clone();
                    sorted.sort_unstable();
                    if !sorted.iter().copied().eq(1..=count) {
                        return Err(invalid());
                    }
                }
                _ => {
                    return Err(TdsError::Table { message: msg::TABLE_PARAMETER_TOKEN });
                }
            }
        }
    }

    fn read_rows(
        &mut self,
        reader: &mut Reader<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<(), TdsError> {
        loop {
            match reader.u8()? {
                END => return Ok(()),
                ROW if !self.columns.is_empty() => {}
                _ => {
                    return Err(TdsError::Table { message: msg::TABLE_PARAMETER_TOKEN });
                }
            }
            budget.charge(self.columns.len() * size_of::<Value>())?;
            for i in 0..self.columns.len() {
                let value = match &self.columns[i] {
                    TableColumn { default: true, .. } => Value::Null,
                    column => decode_value(reader, &column.ty, ValuePlace::Parameter)?,
                };
                budget.charge(value.heap_bytes())?;
                self.values.push(value);
            }
        }
    }

    /// Appends the table after its type byte.
    pub(crate) fn write(&self, version: TdsVersion, out: &mut Vec<u8>) -> Result<(), TdsError> {
        push_b_varchar("", out);
        push_b_varchar(&self.schema, out);
        push_b_varchar(&self.type_name, out);
        let count = if self.columns.is_empty() { NO_TABLE } else { self.columns.len() as u16 };
        out.extend_from_slice(&count.to_le_bytes());
        for column in &self.columns {
            write_user_type(column.user_type, version, out);
            let default = if column.default { DEFAULT_COLUMN } else { 0 };
            out.extend_from_slice(&(column.flags.0 | default).to_le_bytes());
            column.ty.write(out);
            push_b_varchar("", out);
        }
        if !self.column_order.is_empty() {
            out.push(COLUMN_ORDER);
            out.extend_from_slice(&(self.column_order.len() as u16).to_le_bytes());
            self.column_order.iter().for_each(|c| out.extend_from_slice(&c.to_le_bytes()));
        }
        out.push(END);
        for row in self.rows() {
            out.push(ROW);
            for (value, column) in
                row.iter().zip(&self.columns).filter(|(_, column)| !column.default)
            {
                encode_at(value, &column.ty, ValuePlace::Parameter, out)?;
            }
        }
        out.push(END);
        Ok(())
    }
}

impl TableColumn {
    fn read(reader: &mut Reader<'_>, version: TdsVersion) -> Result<TableColumn, TdsError> {
        let user_type = read_user_type(reader, version)?;
        let flags = reader.u16()?;
        if reader.peek() == Some(byte::TABLE) {
            return Err(TdsError::Unsupported("a table inside a table"));
        }
        let ty = TypeInfo::read_loose(reader, version)?;
        if matches!(ty, TypeInfo::Null | TypeInfo::Fixed(_) | TypeInfo::Short(..)) {
            return Err(TdsError::UnknownType(ty.byte()));
        }
        reader.b_varchar()?;
        let default = flags & DEFAULT_COLUMN != 0;
        Ok(TableColumn { user_type, flags: ColumnFlags(flags & !DEFAULT_COLUMN), ty, default })
    }
}
