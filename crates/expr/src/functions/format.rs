//! FORMAT, PARSE and TRY_PARSE: numbers and dates as text of a culture and back
//! ([`crate::culture`]).

use types::convert::{Mode, convert};
use types::datetime::Moment;
use types::{DataType, Len, SqlError, Value, msg};

use super::{ArgRule as A, CallCx, Function, Stability, int_arg, invalid_argument, text_arg};
use crate::Expr;
use crate::culture::{self, Culture, DigitNumber};
use crate::large::LARGE;

const TEXT: DataType = DataType::NVarChar(Len::N(4000));

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "format",
        min: 2,
        max: 3,
        args: &[A::Any, A::Name],
        result: format_type,
        strict: true,
        // Without a culture it is that of the session's language.
        stability: Stability::Statement,
        nullable: true,
        eval: format,
    },
    // PARSE(text AS type USING culture) and TRY_PARSE: text, culture, NULL of the type, 1 for NULL
    // instead of errors.
    Function {
        name: "parse_as",
        min: 4,
        max: 4,
        args: &[A::Any, A::Name, A::Any, A::Int],
        result: parse_type,
        strict: false,
        // Without a culture it is that of the session's language.
        stability: Stability::Statement,
        nullable: true,
        eval: parse,
    },
];

fn format_type(types: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    let null = matches!(exprs.first(), Some(Expr::Const(Value::Null)));
    match types.first() {
        Some(ty) if !null && (*ty == DataType::Bit || !(ty.is_number() || ty.is_temporal())) => {
            Err(invalid_argument(*ty, 1, "format"))
        }
        _ => Ok(TEXT),
    }
}

/// The culture that an argument names, or else that of the session's language.
fn culture_of(name: Option<&Value>, cx: &mut CallCx<'_>) -> Result<&'static Culture, SqlError> {
    match name.and_then(Value::as_str) {
        Some(name) => Culture::find(name),
        None => Culture::of_language(cx.rt.dialect()?.language()),
    }
}

fn format(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let culture = culture_of(args.get(2), cx)?;
    let format = text_arg(args, 1);
    let of_decimal = |m: i128, scale| {
        culture::format_number(&DigitNumber::of_decimal(m, scale), format, culture)
    };
    let of_integer =
        |n: i64, bytes| culture::format_number(&DigitNumber::of_integer(n, bytes), format, culture);
    let of_float = |x, digits| {
        culture::format_number(&DigitNumber::of_float(x, digits, format), format, culture)
    };
    let text = match &args[0] {
        Value::TinyInt(n) => of_integer(i64::from(*n), 1),
        Value::SmallInt(n) => of_integer(i64::from(*n), 2),
        Value::Int(n) => of_integer(i64::from(*n), 4),
        Value::BigInt(n) => of_integer(*n, 8),
        Value::Decimal(d) => of_decimal(d.mantissa(), d.scale()),
        Value::Money(m) => of_decimal(i128::from(*m), 4),
        Value::SmallMoney(m) => of_decimal(i128::from(*m), 4),
        Value::Float(x) => of_float(*x, culture::FLOAT_DIGITS),
        Value::Real(x) => of_float(f64::from(*x), culture::REAL_DIGITS),
        Value::Time(ticks) => culture::format_span(*ticks, format, culture),
        value => {
            let offset =
                if let Value::DateTimeOffset { offset, .. } = value { Some(*offset) } else { None };
            Moment::of(value)
                .and_then(|moment| culture::format_moment(moment, offset, format, culture))
        }
    };
    let Some(text) = text else { return Ok(Value::Null) };
    Ok(Value::str(types::units::cut(&types::units::joined(text), 0, 4000)))
}

fn parse_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    match types.get(2) {
        Some(ty) if *ty != DataType::Bit && (ty.is_number() || ty.is_temporal()) => Ok(*ty),
        Some(ty) => Err(SqlError::of(msg::PARSE_TYPE, [&ty.message_name()])),
        None => Err(SqlError::internal("PARSE without a type")),
    }
}

fn parse(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let culture = culture_of(args.get(1), cx)?;
    let Some(text) = args[0].as_str() else { return Ok(Value::Null) };
    // No number and no date is so long.
    let value = if text.len() < LARGE { parsed(text, culture, cx.ty) } else { None };
    match value {
        Some(value) => Ok(value),
        None if int_arg(args, 3) != 0 => Ok(Value::Null),
        None => {
            let shown: String = text.chars().take(4000).collect();
            Err(SqlError::of(msg::PARSE_FAILED, [&shown, &cx.ty.message_name(), &culture.name]))
        }
    }
}

fn parsed(text: &str, culture: &Culture, ty: DataType) -> Option<Value> {
    let as_type = |text: &str, through: DataType, style| {
        let value = convert(&Value::str(text), TEXT, through, style, Mode::Explicit).ok()?;
        convert(&value, through, ty, 0, Mode::Explicit).ok()
    };
    if ty.is_temporal() {
        let style = if culture.day_first { 103 } else { 101 };
        return as_type(&culture::date_text(text, culture), ty, style);
    }
    let fraction = !ty.is_integer();
    let text = culture::number_text(text, culture, fraction)?;
    // Amounts with more digits than money keeps are rounded.
    let through = if ty.is_money() { DataType::numeric(38, 10) } else { ty };
    as_type(&text, through, 0)
}
