//! The rows of a file that is imported, whatever its format: fields, the reader of one row after
//! the other, and why nothing was imported.

use engine::{SqlError, Value};

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    /// Text that is read as the column's type.
    Text(String),
    /// A value with a type of its own.
    Value(Value),
}

/// The rows of a file.
pub trait ImportRows {
    /// Names of the fields, when the file has them.
    fn names(&self) -> Option<&[String]>;

    /// Types of the columns, when the file says them itself.
    fn types(&self) -> Option<Vec<String>> {
        None
    }

    /// Reads the next row into `row`; false at the end.
    fn next(&mut self, row: &mut Vec<Cell>) -> Result<bool, ImportFailure>;

    /// Where the last row began, for messages: `row 7 (line 9)`.
    fn place(&self) -> String;
}

/// Why nothing was imported.
#[derive(Debug)]
pub enum ImportFailure {
    Sql(SqlError),
    /// With the file's name in front.
    File(String),
    Text(String),
}

impl From<SqlError> for ImportFailure {
    fn from(error: SqlError) -> ImportFailure {
        ImportFailure::Sql(error)
    }
}
