//! The errors that conversions, arithmetic and the row format raise, each by a constructor that
//! takes the types and values its text names. Guarantee: of a user's value no more than its first
//! characters is repeated.

use crate::datatype::DataType;
use crate::error::SqlError;
use crate::msg;

/// Longest piece of a user's value that is repeated in a message, in characters.
const SHOWN_VALUE: usize = 100;

fn shown(value: &str) -> &str {
    match value.char_indices().nth(SHOWN_VALUE) {
        Some((end, _)) => &value[..end],
        None => value,
    }
}

impl SqlError {
    /// 8134: division (or modulo) by zero.
    pub fn divide_by_zero() -> SqlError {
        SqlError::of(msg::DIVIDE_BY_ZERO, [])
    }

    /// 8115: the result of an expression does not fit its type.
    pub fn overflow(to: DataType) -> SqlError {
        SqlError::overflow_from("expression", to)
    }

    /// 8115 that names the source: `numeric`, `int`, `varchar`, `float` or `expression`.
    pub(crate) fn overflow_from(from: &str, to: DataType) -> SqlError {
        let to = to.message_name();
        SqlError::of(msg::ARITHMETIC_OVERFLOW, [&from, &to]).state(2)
    }

    /// 220: an integer does not fit tinyint or smallint.
    pub(crate) fn integer_overflow(to: DataType, value: i64) -> SqlError {
        let to = to.message_name();
        SqlError::of(msg::INTEGER_OVERFLOW, [&to, &value])
    }

    /// 232: a float does not fit the target type.
    pub(crate) fn float_overflow(to: DataType, value: f64) -> SqlError {
        let to = to.message_name();
        SqlError::of(msg::FLOAT_OVERFLOW, [&to, &format_args!("{value:.6}")])
    }

    /// 244 for tinyint and smallint, 248 for int: digits in a string exceed the integer's range.
    pub(crate) fn string_overflows_integer(from: DataType, value: &str, to: DataType) -> SqlError {
        let (from, value) = (from.message_name(), shown(value));
        match to {
            DataType::TinyInt => {
                SqlError::of(msg::STRING_OVERFLOWS_SMALL_INTEGER, [&from, &value, &"INT1"])
            }
            DataType::SmallInt => {
                SqlError::of(msg::STRING_OVERFLOWS_SMALL_INTEGER, [&from, &value, &"INT2"]).state(2)
            }
            _ => SqlError::of(msg::STRING_OVERFLOWS_INT, [&from, &value]),
        }
    }

    /// 245: the string is not a number.
    pub(crate) fn conversion_failed(from: DataType, value: &str, to: DataType) -> SqlError {
        let (from, to, value) = (from.message_name(), to.message_name(), shown(value));
        SqlError::of(msg::CONVERSION_FAILED, [&from, &value, &to])
    }

    /// 8114: the string is not a bigint, decimal, float or real.
    pub fn error_converting(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.message_name(), to.message_name());
        SqlError::of(msg::ERROR_CONVERTING, [&from, &to]).state(5)
    }

    /// 235, 293: the string is not money.
    pub fn money_syntax(to: DataType) -> SqlError {
        match to {
            DataType::SmallMoney => SqlError::of(msg::SMALLMONEY_SYNTAX, []),
            _ => SqlError::of(msg::MONEY_SYNTAX, []),
        }
    }

    /// 236, 294: the money that the string tells is too much.
    pub(crate) fn money_overflow(to: DataType) -> SqlError {
        match to {
            DataType::SmallMoney => SqlError::of(msg::SMALLMONEY_OVERFLOW, []),
            _ => SqlError::of(msg::MONEY_OVERFLOW, []),
        }
    }

    /// 234: the target string is too short for a money value.
    pub(crate) fn money_space(to: DataType) -> SqlError {
        let to = to.message_name();
        SqlError::of(msg::MONEY_RESULT_SPACE, [&to])
    }

    /// 8169: the string is not a uniqueidentifier.
    pub(crate) fn guid_syntax() -> SqlError {
        SqlError::of(msg::GUID_SYNTAX, [])
    }

    /// 8170: the target string is shorter than 36 characters.
    pub(crate) fn guid_space(to: DataType) -> SqlError {
        let to = to.message_name();
        SqlError::of(msg::GUID_RESULT_SPACE, [&to])
    }

    /// 241: the string is not a date or time.
    pub(crate) fn date_syntax() -> SqlError {
        SqlError::of(msg::DATE_SYNTAX, [])
    }

    /// 295: the string is not a smalldatetime.
    pub(crate) fn smalldatetime_syntax() -> SqlError {
        SqlError::of(msg::SMALLDATETIME_SYNTAX, [])
    }

    /// 242: a date outside the target's range.
    pub(crate) fn date_out_of_range(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.message_name(), to.message_name());
        SqlError::of(msg::DATE_OUT_OF_RANGE, [&from, &to])
    }

    /// 517: DATEADD left the type's range.
    pub fn dateadd_overflow(ty: DataType) -> SqlError {
        let ty = ty.message_name();
        SqlError::of(msg::DATEADD_OVERFLOW, [&ty])
    }

    /// 535: DATEDIFF's count does not fit.
    pub(crate) fn datediff_overflow() -> SqlError {
        SqlError::of(msg::DATEDIFF_OVERFLOW, [])
    }

    /// 155: not a date part of this function.
    pub fn not_a_datepart(name: &str, function: &str) -> SqlError {
        SqlError::of(msg::UNKNOWN_OPTION, [&shown(name), &function])
    }

    /// 9810: a date part that the type does not have.
    pub fn datepart_unsupported(part: &str, function: &str, ty: DataType) -> SqlError {
        let ty = ty.message_name();
        SqlError::of(msg::DATEPART_NOT_SUPPORTED, [&part, &function, &ty])
    }

    /// 289: DATEFROMPARTS and its kin.
    pub fn construct_date(ty: DataType) -> SqlError {
        let ty = ty.message_name();
        SqlError::of(msg::CANNOT_CONSTRUCT_DATE, [&ty])
    }

    /// 281: a style that the conversion does not have.
    pub(crate) fn bad_style(style: i32, from: DataType) -> SqlError {
        let from = from.message_name();
        SqlError::of(msg::INVALID_STYLE, [&style, &from])
    }

    /// 257: only CAST or CONVERT may do this.
    pub fn implicit_not_allowed(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.base_name(), to.base_name());
        SqlError::of(msg::IMPLICIT_CONVERSION_NOT_ALLOWED, [&from, &to])
    }

    /// 206: the types do not go together at all.
    pub fn type_clash(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.base_name(), to.base_name());
        SqlError::of(msg::TYPE_CLASH, [&from, &to])
    }

    /// 529: not even CAST can do this.
    pub fn explicit_not_allowed(from: DataType, to: DataType) -> SqlError {
        let (from, to) = (from.base_name(), to.base_name());
        SqlError::of(msg::EXPLICIT_CONVERSION_NOT_ALLOWED, [&from, &to])
    }

    /// 402: an operator that two types do not share.
    pub fn incompatible(left: DataType, right: DataType, operator: &str) -> SqlError {
        let (left, right) = (left.base_name(), right.base_name());
        SqlError::of(msg::TYPES_INCOMPATIBLE_IN_OPERATOR, [&left, &right, &operator])
    }

    /// 8117: an operand type that an operator does not take.
    pub fn operand_invalid(ty: DataType, operator: &str) -> SqlError {
        let ty = ty.base_name();
        SqlError::of(msg::OPERAND_TYPE, [&ty, &operator])
    }

    /// 2628 before table and column are known; the caller makes [`SqlError::truncation_in`] of it.
    pub fn truncation(value: &str) -> SqlError {
        SqlError::of(msg::TRUNCATED_VALUE, [&shown(value)])
    }

    /// 2628 with table and column: what an INSERT or UPDATE makes of a truncation, `value` being
    /// the part that would have fitted.
    pub fn truncation_in(table: &str, column: &str, value: &str) -> SqlError {
        SqlError::of(msg::TRUNCATED, [&table, &column, &shown(value)])
    }

    /// 511: the row does not fit a page.
    pub fn row_too_large(size: usize, limit: usize) -> SqlError {
        SqlError::of(msg::ROW_TOO_LARGE, [&size, &limit])
    }

    /// 243: no such type.
    pub fn unknown_type(name: &str) -> SqlError {
        SqlError::of(msg::UNKNOWN_SYSTEM_TYPE, [&shown(name)])
    }
}
