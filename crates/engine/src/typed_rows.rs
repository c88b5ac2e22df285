//! Rows that come as values, from a program or as a table argument, with their values converted to
//! the types of the table's columns. Guarantee: a value that does not fit names its column.

use types::convert::{Mode, convert_with};
use types::{DataType, Dialect, SqlError, Value, msg};

use catalog::TableDef;
use dml::bulk::BulkRows;

/// Rows with their values converted to the columns' types.
pub(crate) struct TypedRows<'a> {
    pub rows: &'a mut dyn BulkRows,
    pub table: &'a TableDef,
    /// Positions of the columns that the rows have.
    pub columns: &'a [usize],
    /// How texts of dates are read.
    pub dialect: Dialect,
    /// Characters that a char or varchar column has not are an error (4864); otherwise they become
    /// others, as in INSERT.
    pub exact: bool,
}

impl BulkRows for TypedRows<'_> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        if !self.rows.next(row)? {
            return Ok(false);
        }
        for (value, at) in row.iter_mut().zip(self.columns) {
            let column = &self.table.columns[*at];
            if !is_of(value, column.ty) {
                *value =
                    self.converted(value, column).map_err(|e| named(e, self.table, *at, value))?;
            }
        }
        Ok(true)
    }
}

/// Whether a value needs no conversion: types without length or scale.
fn is_of(value: &Value, ty: DataType) -> bool {
    matches!(
        (value, ty),
        (Value::Null, _)
            | (Value::Bit(_), DataType::Bit)
            | (Value::TinyInt(_), DataType::TinyInt)
            | (Value::SmallInt(_), DataType::SmallInt)
            | (Value::Int(_), DataType::Int)
            | (Value::BigInt(_), DataType::BigInt)
            | (Value::Float(_), DataType::Float)
            | (Value::Real(_), DataType::Real)
            | (Value::Money(_), DataType::Money)
            | (Value::SmallMoney(_), DataType::SmallMoney)
            | (Value::Date(_), DataType::Date)
            | (Value::DateTime { .. }, DataType::DateTime)
            | (Value::SmallDateTime { .. }, DataType::SmallDateTime)
            | (Value::Guid(_), DataType::UniqueIdentifier)
            | (Value::Bytes(_), DataType::VarBinary(types::Len::Max))
    )
}

impl TypedRows<'_> {
    fn converted(&self, value: &Value, column: &catalog::ColumnDef) -> Result<Value, SqlError> {
        let (ty, page) = (column.ty, column.collation.code_page());
        if let (true, Value::Str(text), true, false) =
            (self.exact, value, ty.is_string(), ty.is_unicode())
            && page.replaced(text).is_some()
        {
            return Err(SqlError::of(msg::BULK_NOT_IN_CODE_PAGE, []));
        }
        convert_with(value, value.natural_type(), ty, 0, Mode::Assignment, self.dialect, page)
    }
}

/// An error with the column that it belongs to.
fn named(e: SqlError, table: &TableDef, at: usize, value: &Value) -> SqlError {
    let column = &table.columns[at];
    match e.number {
        2628 | 8152 => {
            let part = types::convert::fitting_part(value, column.ty, column.collation.code_page());
            SqlError::truncation_in(&table.full_name(), &column.name, &part)
        }
        4864 => SqlError::of(msg::BULK_CONVERSION_OF_COLUMN, [&(at + 1), &column.name]),
        _ => {
            let text = format!("{} (column {}, {})", e.message, at + 1, column.name);
            SqlError::new(e.number, e.severity, e.state, text)
        }
    }
}
