//! The error a user sees: SQL Server's number, severity, state and text, with constructors for the errors
//! that conversions, arithmetic and the row format raise. Guarantees: texts and numbers are SQL Server's own;
//! the line is 0 until the statement that knows it fills it in.

use std::fmt::Display;
use std::ops::{Deref, DerefMut};

use compact_str::CompactString;
use messages::Message;

use crate::datatype::DataType;

/// An error as `Msg number, Level severity, State state, Line line` shows it.
///
/// A pointer: nearly all results are no errors, and what is handed on from call to call is as small as the value then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct SqlError(Box<Raised>);

const _: () = assert!(size_of::<Result<(), SqlError>>() == size_of::<usize>());

/// What an error says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// SQL Server's message number.
    pub number: i32,
    /// 0..=25; 11..=16 are the user's to correct.
    pub severity: u8,
    /// Where in the server it was raised; part of the printed error.
    pub state: u8,
    /// The message text with its parameters filled in.
    pub message: String,
    /// Line within the batch or procedure, counted from 1; 0 = not known yet.
    pub line: u32,
    /// The procedure or trigger that it was raised in; empty outside of one.
    procedure: CompactString,
    /// Errors that a client is told behind this one: further ones of a text that is not T-SQL.
    pub after: Vec<SqlError>,
}

impl Deref for SqlError {
    type Target = Raised;

    #[inline]
    fn deref(&self) -> &Raised {
        &self.0
    }
}

impl DerefMut for SqlError {
    #[inline]
    fn deref_mut(&mut self) -> &mut Raised {
        &mut self.0
    }
}

/// Longest piece of a user's value that is repeated in a message, in characters.
const SHOWN_VALUE: usize = 100;

fn shown(value: &str) -> &str {
    match value.char_indices().nth(SHOWN_VALUE) {
        Some((end, _)) => &value[..end],
        None => value,
    }
}

impl SqlError {
    /// A message of the list with its values, in its usual state, without a line yet.
    #[cold]
    pub fn of<const VALUES: usize>(message: Message<VALUES>, values: [&dyn Display; VALUES]) -> SqlError {
        SqlError::new(message.number(), message.severity(), message.state(), message.text(values))
    }

    /// An error that somebody else has worded: RAISERROR and THROW, another server, a text without
    /// a number. What Ringwood says itself is a message of the list ([`SqlError::of`]).
    pub fn new(number: i32, severity: u8, state: u8, message: impl Into<String>) -> SqlError {
        let message = message.into();
        SqlError(Box::new(Raised {
            number,
            severity,
            state,
            message,
            line: 0,
            procedure: CompactString::default(),
            after: Vec::new(),
        }))
    }

    /// The text alone.
    pub fn into_message(self) -> String {
        self.0.message
    }

    /// The same error in another state.
    #[must_use]
    pub fn state(mut self, state: u8) -> SqlError {
        self.state = state;
        self
    }

    /// The same error at a line, unless it already has one.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> SqlError {
        if self.line == 0 {
            self.line = line;
        }
        self
    }

    /// The same error in a procedure, unless its line is known: then so is its place.
    #[must_use]
    pub fn in_procedure(mut self, name: &str) -> SqlError {
        if self.line == 0 && !name.is_empty() {
            self.procedure = name.into();
        }
        self
    }

    /// The procedure or trigger that it was raised in; empty outside of one.
    pub fn procedure(&self) -> &str {
        &self.procedure
    }

    /// 8134: division (or modulo) by zero.
    pub fn divide_by_zero() -> SqlError {
        SqlError::new(8134, 16, 1, "Divide by zero error encountered.")
    }

    /// 8115: the result of an expression does not fit its type.
    pub fn overflow(to: DataType) -> SqlError {
        SqlError::overflow_from("expression", to)
    }

    /// 8115 that names the source: `numeric`, `int`, `varchar`, `float` or `expression`.
    pub fn overflow_from(from: &str, to: DataType) -> SqlError {
        let to = to.message_name();
        SqlError::new(8115, 16, 2, format!("Arithmetic overflow error converting {from} to data type {to}."))
    }

    /// 220: an integer does not fit tinyint or smallint.
    pub fn integer_overflow(to: DataType, value: i64) -> SqlError {
        let to = to.message_name();
        SqlError::new(220, 16, 1, format!("Arithmetic overflow error for data type {to}, value = {value}."))
    }

    /// 232: a float does not fit the target type.
    pub fn float_overflow(to: DataType, value: f64) -> SqlError {
        let to = to.message_name();
        SqlError::new(232, 16, 3, format!("Arithmetic overflow error for type {to}, value = {value:.6}."))
    }

    /// 244 for tinyint and smallint, 248 for int: digits in a string exceed the integer's range.
    pub fn string_overflows_integer(from: DataType, value: &str, to: DataType) -> SqlError {
        let (from, value) = (from.message_name(), shown(value));
        let start = format!("The conversion of the {from} value '{value}' overflowed an");
        match to {
            DataType::TinyInt => {
                SqlError::new(244, 16, 1, format!("{start} INT1 column. Use a larger integer column."))
            }
            DataType::SmallInt => {
                SqlError::new(244, 16, 2, format!("{start} INT2 column. Use a larger integer column."))
            }
            _ => SqlError::new(248, 16, 1, format!("{start} int column.")),
        }
    }

    /// 245: the string is not a number.
    pub fn conversion_failed(from: DataType, value: &str, to: DataType) -> SqlError {
        let (from, to, value) = (from.message_name(), to.message_name(), shown(value));
        SqlError::new(
            245,
            16,
            1,
            format!("Conversion failed when converting the {from} value '{value}' to data type {to}."),
        )
    }

    /// 8114: the string is not a bigint, decimal, float or real.
    pub fn error_converting(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.message_name(), to.message_name());
        SqlError::new(8114, 16, 5, format!("Error converting data type {from} to {to}."))
    }

    /// 235, 293: the string is not money.
    pub fn money_syntax(to: DataType) -> SqlError {
        match to {
            DataType::SmallMoney => SqlError::new(
                293,
                16,
                0,
                "Cannot convert char value to smallmoney. The char value has incorrect syntax.",
            ),
            _ => SqlError::new(
                235,
                16,
                0,
                "Cannot convert a char value to money. The char value has incorrect syntax.",
            ),
        }
    }

    /// 236, 294: the money that the string tells is too much.
    pub fn money_overflow(to: DataType) -> SqlError {
        match to {
            DataType::SmallMoney => SqlError::new(
                294,
                16,
                0,
                "The conversion from char data type to smallmoney data type resulted in a smallmoney overflow error.",
            ),
            _ => SqlError::new(
                236,
                16,
                0,
                "The conversion from char data type to money resulted in a money overflow error.",
            ),
        }
    }

    /// 234: the target string is too short for a money value.
    pub fn money_space(to: DataType) -> SqlError {
        let to = to.message_name();
        SqlError::new(
            234,
            16,
            2,
            format!("There is insufficient result space to convert a money value to {to}."),
        )
    }

    /// 8169: the string is not a uniqueidentifier.
    pub fn guid_syntax() -> SqlError {
        SqlError::new(
            8169,
            16,
            2,
            "Conversion failed when converting from a character string to uniqueidentifier.",
        )
    }

    /// 8170: the target string is shorter than 36 characters.
    pub fn guid_space(to: DataType) -> SqlError {
        let to = to.message_name();
        SqlError::new(
            8170,
            16,
            2,
            format!("Insufficient result space to convert uniqueidentifier value to {to}."),
        )
    }

    /// 241: the string is not a date or time.
    pub fn date_syntax() -> SqlError {
        SqlError::new(241, 16, 1, "Conversion failed when converting date and/or time from character string.")
    }

    /// 295: the string is not a smalldatetime.
    pub fn smalldatetime_syntax() -> SqlError {
        SqlError::new(
            295,
            16,
            3,
            "Conversion failed when converting character string to smalldatetime data type.",
        )
    }

    /// 242: a date outside the target's range.
    pub fn date_out_of_range(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.message_name(), to.message_name());
        SqlError::new(
            242,
            16,
            3,
            format!(
                "The conversion of a {from} data type to a {to} data type resulted in an out-of-range value."
            ),
        )
    }

    /// 517: DATEADD left the type's range.
    pub fn dateadd_overflow(ty: DataType) -> SqlError {
        let ty = ty.message_name();
        SqlError::new(517, 16, 3, format!("Adding a value to a '{ty}' column caused an overflow."))
    }

    /// 535: DATEDIFF's count does not fit.
    pub fn datediff_overflow() -> SqlError {
        SqlError::new(
            535,
            16,
            0,
            "The datediff function resulted in an overflow. The number of dateparts separating two date/time \
             instances is too large. Try to use datediff with a less precise datepart.",
        )
    }

    /// 155: not a date part of this function.
    pub fn not_a_datepart(name: &str, function: &str) -> SqlError {
        SqlError::new(155, 15, 1, format!("'{}' is not a recognized {function} option.", shown(name)))
    }

    /// 9810: a date part that the type does not have.
    pub fn datepart_unsupported(part: &str, function: &str, ty: DataType) -> SqlError {
        let ty = ty.message_name();
        SqlError::new(
            9810,
            16,
            1,
            format!("The datepart {part} is not supported by date function {function} for data type {ty}."),
        )
    }

    /// 289: DATEFROMPARTS and its kin.
    pub fn construct_date(ty: DataType) -> SqlError {
        let ty = ty.message_name();
        SqlError::new(
            289,
            16,
            1,
            format!(
                "Cannot construct data type {ty}, some of the arguments have values which are not valid."
            ),
        )
    }

    /// 281: a style that the conversion does not have.
    pub fn bad_style(style: i32, from: DataType) -> SqlError {
        let from = from.message_name();
        SqlError::new(
            281,
            16,
            1,
            format!("{style} is not a valid style number when converting from {from} to a character string."),
        )
    }

    /// 257: only CAST or CONVERT may do this.
    pub fn implicit_not_allowed(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.base_name(), to.base_name());
        SqlError::new(
            257,
            16,
            3,
            format!(
                "Implicit conversion from data type {from} to {to} is not allowed. Use the CONVERT function to \
                 run this query."
            ),
        )
    }

    /// 206: the types do not go together at all.
    pub fn type_clash(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.base_name(), to.base_name());
        SqlError::new(206, 16, 2, format!("Operand type clash: {from} is incompatible with {to}"))
    }

    /// 529: not even CAST can do this.
    pub fn explicit_not_allowed(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.base_name(), to.base_name());
        SqlError::new(
            529,
            16,
            2,
            format!("Explicit conversion from data type {from} to {to} is not allowed."),
        )
    }

    /// 402: an operator that two types do not share.
    pub fn incompatible(left: DataType, right: DataType, operator: &str) -> SqlError {
        let (left, right) = (left.base_name(), right.base_name());
        SqlError::new(
            402,
            16,
            1,
            format!("The data types {left} and {right} are incompatible in the {operator} operator."),
        )
    }

    /// 8117: an operand type that an operator does not take.
    pub fn operand_invalid(ty: DataType, operator: &str) -> SqlError {
        let ty = ty.base_name();
        SqlError::new(8117, 16, 1, format!("Operand data type {ty} is invalid for {operator} operator."))
    }

    /// 2628 before table and column are known; the caller makes [`SqlError::truncation_in`] of it.
    pub fn truncation(value: &str) -> SqlError {
        SqlError::new(
            2628,
            16,
            1,
            format!("String or binary data would be truncated. Truncated value: '{}'.", shown(value)),
        )
    }

    /// 2628 with table and column: what an INSERT or UPDATE makes of a truncation, `value` being the part that
    /// would have fitted.
    pub fn truncation_in(table: &str, column: &str, value: &str) -> SqlError {
        SqlError::new(
            2628,
            16,
            1,
            format!(
                "String or binary data would be truncated in table '{table}', column '{column}'. Truncated \
                 value: '{}'.",
                shown(value)
            ),
        )
    }

    /// 511: the row does not fit a page.
    pub fn row_too_large(size: usize, limit: usize) -> SqlError {
        SqlError::new(
            511,
            16,
            1,
            format!(
                "Cannot create a row of size {size} which is greater than the allowable maximum row size of \
                 {limit}."
            ),
        )
    }

    /// 243: no such type.
    pub fn unknown_type(name: &str) -> SqlError {
        SqlError::new(243, 16, 1, format!("Type {} is not a defined system type.", shown(name)))
    }

    /// 3624: a bug of ours that must not go further than this statement.
    pub fn internal(what: impl AsRef<str>) -> SqlError {
        SqlError::new(
            3624,
            20,
            1,
            format!("A system assertion check has failed: {}. The statement was ended.", what.as_ref()),
        )
    }
}

/// Bytes of a stored row that cannot be what `encode` wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// The row ends before its own header, bitmap or offset array does.
    #[error("row of {len} bytes is too short for its header (needs {needed})")]
    Short { len: usize, needed: usize },
    /// A fixed column lies beyond the end of the fixed part.
    #[error("column {column} lies outside the fixed part of the row")]
    Fixed { column: usize },
    /// A variable column's end is before its start or beyond the row.
    #[error("column {column} has an impossible end offset")]
    Offset { column: usize },
    /// A stored number, date or string has no meaning in the column's type.
    #[error("column {column} holds bytes that are no value of its type")]
    Value { column: usize },
    /// The column's value lives elsewhere and was asked for as if it were in the row.
    #[error("column {column} is an off-row pointer")]
    OffRow { column: usize },
    /// The layout has no such column.
    #[error("no column {column} in this layout")]
    NoColumn { column: usize },
}
