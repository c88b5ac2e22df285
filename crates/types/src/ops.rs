//! Operators: comparison, arithmetic, bitwise, concatenation and the types of their results.
//! Guarantees: results never wrap and never become infinite: they are 8115 or 8134 instead; NULL
//! beside anything gives NULL.

use std::cmp::Ordering;

use crate::codepage::CodePage;
use crate::collation::Collation;
use crate::convert::{Mode, fit_bytes, fit_string, narrow_integer};
use crate::datatype::{DataType, Len, MAX_BYTES, MAX_UNITS};
use crate::datetime::DAY_TICKS_300;
use crate::decimal::{self, Decimal};
use crate::error::SqlError;
use crate::key_bytes::{compare_guids, without_trailing_zeros};
use crate::units;
use crate::value::Value;

/// SQL's order of two values of one type; `None` when either is NULL or the kinds differ.
#[inline]
pub fn compare(a: &Value, b: &Value, collation: Collation) -> Option<Ordering> {
    use Value as V;
    Some(match (a, b) {
        (V::Int(a), V::Int(b)) => a.cmp(b),
        (V::Str(a), V::Str(b)) => collation.compare(a, b),
        (V::BigInt(a), V::BigInt(b)) | (V::Money(a), V::Money(b)) => a.cmp(b),
        (V::Decimal(a), V::Decimal(b)) => a.cmp(b),
        (V::Bit(a), V::Bit(b)) => a.cmp(b),
        (V::TinyInt(a), V::TinyInt(b)) => a.cmp(b),
        (V::SmallInt(a), V::SmallInt(b)) => a.cmp(b),
        (V::SmallMoney(a), V::SmallMoney(b)) => a.cmp(b),
        (V::Float(a), V::Float(b)) => a.partial_cmp(b)?,
        (V::Real(a), V::Real(b)) => a.partial_cmp(b)?,
        (V::Bytes(a), V::Bytes(b)) => without_trailing_zeros(a).cmp(without_trailing_zeros(b)),
        (V::Date(a), V::Date(b)) => a.cmp(b),
        (V::Time(a), V::Time(b)) => a.cmp(b),
        (V::DateTime { days: a, ticks: s }, V::DateTime { days: b, ticks: t }) => {
            (a, s).cmp(&(b, t))
        }
        (V::SmallDateTime { days: a, minutes: s }, V::SmallDateTime { days: b, minutes: t }) => {
            (a, s).cmp(&(b, t))
        }
        (V::DateTime2 { days: a, ticks: s }, V::DateTime2 { days: b, ticks: t }) => {
            (a, s).cmp(&(b, t))
        }
        (
            V::DateTimeOffset { days: a, ticks: s, .. },
            V::DateTimeOffset { days: b, ticks: t, .. },
        ) => (a, s).cmp(&(b, t)),
        (V::Guid(a), V::Guid(b)) => compare_guids(a, b),
        (V::Variant(_), _) | (_, V::Variant(_)) => crate::variant::compare(a, b)?,
        // Integers of several sizes meet in sql_variant.
        _ => a.as_i64()?.cmp(&b.as_i64()?),
    })
}

/// A binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
}

impl BinaryOp {
    /// The operator's name in messages 402 and 8117.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "subtract",
            BinaryOp::Mul => "multiply",
            BinaryOp::Div => "divide",
            BinaryOp::Mod => "modulo",
            BinaryOp::BitAnd => "'&'",
            BinaryOp::BitOr => "'|'",
            BinaryOp::BitXor => "'^'",
        }
    }

    fn is_bitwise(self) -> bool {
        matches!(self, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
    }
}

/// What an operator does with two types: what each operand is converted to first, and the type of
/// the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTypes {
    pub left: DataType,
    pub right: DataType,
    pub result: DataType,
}

impl OpTypes {
    fn all(ty: DataType) -> OpTypes {
        OpTypes { left: ty, right: ty, result: ty }
    }
}

/// The type of `left op right`. Errors as [`operand_types`].
pub fn result_type(op: BinaryOp, left: DataType, right: DataType) -> Result<DataType, SqlError> {
    operand_types(op, left, right).map(|types| types.result)
}

/// The conversions and the result of `left op right`.
///
/// Errors: 8117 a type that the operator never takes, 402 two types that it does not take together,
/// 206 types that do not convert to each other.
pub fn operand_types(op: BinaryOp, left: DataType, right: DataType) -> Result<OpTypes, SqlError> {
    let no_operand = |ty: DataType| {
        matches!(ty, DataType::UniqueIdentifier | DataType::HierarchyId | DataType::SqlVariant)
    };
    for ty in [left, right] {
        if no_operand(ty) {
            return Err(SqlError::operand_invalid(ty, op.name()));
        }
    }
    let texts = (left.is_string() || left.is_binary()) && (right.is_string() || right.is_binary());
    if texts {
        return if op == BinaryOp::Add && left.is_string() == right.is_string() {
            Ok(concat_types(left, right))
        } else if left.is_string() == right.is_string() {
            Err(SqlError::operand_invalid(left, op.name()))
        } else {
            Err(SqlError::incompatible(left, right, op.name()))
        };
    }
    if left.is_temporal() || right.is_temporal() {
        return temporal_types(op, left, right);
    }
    // One number at least from here on; a string or binary beside it becomes that number's type.
    let (left, right) = match (left.is_number(), right.is_number()) {
        (true, false) => (left, left),
        (false, true) => (right, right),
        _ => (left, right),
    };
    numeric_types(op, left, right)
}

fn concat_types(left: DataType, right: DataType) -> OpTypes {
    let lob = left.is_lob() || right.is_lob();
    let fixed = !left.is_variable() && !right.is_variable();
    let total = left.length().unwrap_or(0) + right.length().unwrap_or(0);
    let cap = |limit: u16| u16::try_from(total).unwrap_or(limit).min(limit);
    let len = |limit: u16| if lob { Len::Max } else { Len::N(cap(limit)) };
    let unicode = left.is_unicode() || right.is_unicode();
    let result = match (left.is_binary(), unicode, fixed) {
        (true, _, true) => DataType::Binary(cap(MAX_BYTES)),
        (true, _, false) => DataType::VarBinary(len(MAX_BYTES)),
        (_, true, true) => DataType::NChar(cap(MAX_UNITS)),
        (_, true, false) => DataType::NVarChar(len(MAX_UNITS)),
        (_, false, true) => DataType::Char(cap(MAX_BYTES)),
        (_, false, false) => DataType::VarChar(len(MAX_BYTES)),
    };
    // The operands keep their lengths; only their character set changes.
    let side = |ty: DataType| match (unicode, ty) {
        (true, DataType::Char(n)) => DataType::NChar(n.min(MAX_UNITS)),
        (true, DataType::VarChar(Len::N(n))) if n <= MAX_UNITS => DataType::NVarChar(Len::N(n)),
        (true, DataType::VarChar(_)) => DataType::NVarChar(Len::Max),
        _ => ty,
    };
    OpTypes { left: side(left), right: side(right), result }
}

fn temporal_types(op: BinaryOp, left: DataType, right: DataType) -> Result<OpTypes, SqlError> {
    let old = |ty: DataType| matches!(ty, DataType::DateTime | DataType::SmallDateTime);
    if left.is_temporal() && right.is_temporal() && !(old(left) && old(right)) {
        return Err(if left.is_kind_of(right) {
            SqlError::operand_invalid(left, op.name())
        } else {
            SqlError::incompatible(left, right, op.name())
        });
    }
    let (date, other) = if left.is_temporal() { (left, right) } else { (right, left) };
    if !old(date) {
        return Err(if other.is_number() {
            SqlError::type_clash(other, date)
        } else {
            SqlError::incompatible(left, right, op.name())
        });
    }
    if !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
        return Err(SqlError::operand_invalid(date, op.name()));
    }
    Ok(OpTypes::all(if other == DataType::DateTime { other } else { date }))
}

fn numeric_types(op: BinaryOp, left: DataType, right: DataType) -> Result<OpTypes, SqlError> {
    let integral = |ty: DataType| ty.is_integer() || ty == DataType::Bit;
    let high = if left.precedence() >= right.precedence() { left } else { right };
    if op.is_bitwise() {
        if !(integral(left) && integral(right)) {
            let wrong = if integral(left) { right } else { left };
            return Err(SqlError::operand_invalid(wrong, op.name()));
        }
        return Ok(OpTypes::all(high));
    }
    if high == DataType::Bit {
        return Err(SqlError::operand_invalid(high, op.name()));
    }
    if op == BinaryOp::Mod && matches!(high, DataType::Float | DataType::Real) {
        return Err(if left == right {
            SqlError::operand_invalid(left, op.name())
        } else {
            SqlError::incompatible(left, right, op.name())
        });
    }
    if !matches!(high, DataType::Decimal { .. }) {
        return Ok(OpTypes::all(high));
    }
    let (Some(l), Some(r)) = (left.as_decimal(), right.as_decimal()) else {
        return Err(SqlError::incompatible(left, right, op.name()));
    };
    let (precision, scale) = match op {
        BinaryOp::Mul => decimal::multiply_type(l, r),
        BinaryOp::Div => decimal::divide_type(l, r),
        BinaryOp::Mod => decimal::modulo_type(l, r),
        _ => decimal::add_type(l, r),
    };
    let exact =
        |(precision, scale): (u8, u8)| DataType::decimal(precision, scale).named_as([left, right]);
    Ok(OpTypes { left: exact(l), right: exact(r), result: exact((precision, scale)) })
}

/// `left op right` on operands that have the types of [`operand_types`]; NULL beside anything gives
/// NULL. The page is that of a result of char or varchar.
///
/// Errors: 8134 division by zero, 8115 a result outside its type, 3624 operands that were not
/// converted.
#[inline]
pub fn evaluate(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    result: DataType,
    page: CodePage,
) -> Result<Value, SqlError> {
    use Value as V;
    match (left, right) {
        (V::Null, _) | (_, V::Null) => Ok(V::Null),
        (V::Int(a), V::Int(b)) => int_op(op, *a, *b, result),
        (V::BigInt(a), V::BigInt(b)) => {
            checked_i64(op, *a, *b)?.map(V::BigInt).ok_or_else(|| SqlError::overflow(result))
        }
        (V::SmallInt(_), V::SmallInt(_))
        | (V::TinyInt(_), V::TinyInt(_))
        | (V::Bit(_), V::Bit(_)) => {
            let (a, b) = (left.as_i64().unwrap_or(0), right.as_i64().unwrap_or(0));
            let n = checked_i64(op, a, b)?;
            n.and_then(|n| narrow_integer(n, result)).ok_or_else(|| SqlError::overflow(result))
        }
        (V::Decimal(a), V::Decimal(b)) => decimal_op(op, *a, *b, result),
        (V::Float(a), V::Float(b)) => float_op(op, *a, *b, result),
        (V::Real(a), V::Real(b)) => float_op(op, f64::from(*a), f64::from(*b), result),
        (V::Money(a), V::Money(b)) => money_op(op, *a, *b, result),
        (V::SmallMoney(a), V::SmallMoney(b)) => money_op(op, i64::from(*a), i64::from(*b), result),
        (V::Str(a), V::Str(b)) if op == BinaryOp::Add => concat(a, b, result, page),
        (V::Bytes(a), V::Bytes(b)) if op == BinaryOp::Add => {
            let joined: Vec<u8> = a.iter().chain(b.iter()).copied().collect();
            fit_bytes(joined.into(), result, Mode::Implicit)
        }
        (V::DateTime { days: d1, ticks: t1 }, V::DateTime { days: d2, ticks: t2 }) => {
            let day = i64::from(DAY_TICKS_300);
            let total = |d: i32, t: u32| i64::from(d) * day + i64::from(t);
            date_sum(op, total(*d1, *t1), total(*d2, *t2), day, result)
        }
        (
            V::SmallDateTime { days: d1, minutes: m1 },
            V::SmallDateTime { days: d2, minutes: m2 },
        ) => {
            let total = |d: u16, m: u16| i64::from(d) * 1440 + i64::from(m);
            date_sum(op, total(*d1, *m1), total(*d2, *m2), 1440, result)
        }
        _ => Err(SqlError::internal(format!("operands of {} were not converted", op.name()))),
    }
}

fn int_op(op: BinaryOp, a: i32, b: i32, result: DataType) -> Result<Value, SqlError> {
    let n = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        _ => checked_i64(op, i64::from(a), i64::from(b))?.and_then(|n| i32::try_from(n).ok()),
    };
    n.map(Value::Int).ok_or_else(|| SqlError::overflow(result))
}

fn checked_i64(op: BinaryOp, a: i64, b: i64) -> Result<Option<i64>, SqlError> {
    if b == 0 && matches!(op, BinaryOp::Div | BinaryOp::Mod) {
        return Err(SqlError::divide_by_zero());
    }
    Ok(match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div(b),
        // The smallest number modulo -1 is 0, though the division overflows.
        BinaryOp::Mod => Some(a.wrapping_rem(b)),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
    })
}

/// Most operators on decimals are these three.
#[inline]
fn decimal_op(op: BinaryOp, a: Decimal, b: Decimal, result: DataType) -> Result<Value, SqlError> {
    match (op, result) {
        (BinaryOp::Add, DataType::Decimal { precision, scale, .. }) => {
            a.add_as(b, precision, scale)
        }
        (BinaryOp::Sub, DataType::Decimal { precision, scale, .. }) => {
            a.add_as(b.negate(), precision, scale)
        }
        (BinaryOp::Mul, DataType::Decimal { precision, scale, .. }) => {
            a.mul_as(b, precision, scale)
        }
        _ => return other_decimal_op(op, a, b, result),
    }
    .map(Value::Decimal)
}

fn other_decimal_op(
    op: BinaryOp,
    a: Decimal,
    b: Decimal,
    result: DataType,
) -> Result<Value, SqlError> {
    let DataType::Decimal { precision, scale, .. } = result else {
        return Err(SqlError::internal("decimals give a decimal"));
    };
    match op {
        BinaryOp::Div => a.div_as(b, precision, scale),
        BinaryOp::Mod => a.rem_as(b, precision, scale),
        _ => Err(SqlError::operand_invalid(result, op.name())),
    }
    .map(Value::Decimal)
}

fn float_op(op: BinaryOp, a: f64, b: f64, result: DataType) -> Result<Value, SqlError> {
    let f = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b == 0.0 => return Err(SqlError::divide_by_zero()),
        BinaryOp::Div => a / b,
        _ => return Err(SqlError::operand_invalid(result, op.name())),
    };
    let value = match result {
        DataType::Real => Value::Real(f as f32),
        _ => Value::Float(f),
    };
    let finite = if let Value::Real(r) = value { r.is_finite() } else { f.is_finite() };
    if finite { Ok(value) } else { Err(SqlError::overflow(result)) }
}

fn money_op(op: BinaryOp, a: i64, b: i64, result: DataType) -> Result<Value, SqlError> {
    let (wide_a, wide_b) = (i128::from(a), i128::from(b));
    if b == 0 && matches!(op, BinaryOp::Div | BinaryOp::Mod) {
        return Err(SqlError::divide_by_zero());
    }
    let units = match op {
        BinaryOp::Add => wide_a + wide_b,
        BinaryOp::Sub => wide_a - wide_b,
        BinaryOp::Mul => {
            let product = wide_a * wide_b;
            (product + if product < 0 { -5_000 } else { 5_000 }) / 10_000
        }
        BinaryOp::Div => wide_a * 10_000 / wide_b,
        BinaryOp::Mod => wide_a % wide_b,
        _ => return Err(SqlError::operand_invalid(result, op.name())),
    };
    let fits = match result {
        DataType::SmallMoney => i32::try_from(units).ok().map(Value::SmallMoney),
        _ => i64::try_from(units).ok().map(Value::Money),
    };
    fits.ok_or_else(|| SqlError::overflow(result))
}

fn concat(a: &str, b: &str, result: DataType, page: CodePage) -> Result<Value, SqlError> {
    let joined = units::concat(a, b);
    // No character takes more bytes in a code page than in UTF-8: what fits as it is fits.
    if !result.is_unicode() && result.length().is_none_or(|limit| joined.len() <= limit) {
        return Ok(Value::Str(joined));
    }
    fit_string(joined, result, Mode::Implicit, page)
}

/// Sum or difference of two datetimes counted from 1900-01-01 in units of which `day` make a day.
fn date_sum(op: BinaryOp, a: i64, b: i64, day: i64, result: DataType) -> Result<Value, SqlError> {
    let total = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        _ => return Err(SqlError::operand_invalid(result, op.name())),
    };
    let (days, rest) = (total.div_euclid(day), total.rem_euclid(day));
    let value = match result {
        DataType::DateTime if (-53_690..=2_958_463).contains(&days) => {
            Some(Value::DateTime { days: days as i32, ticks: rest as u32 })
        }
        DataType::SmallDateTime => {
            u16::try_from(days).ok().map(|days| Value::SmallDateTime { days, minutes: rest as u16 })
        }
        _ => None,
    };
    value.ok_or_else(|| SqlError::overflow(result))
}

/// The type of `-x`: tinyint, which has no negative numbers, becomes smallint. Error: 8117.
pub fn negate_type(ty: DataType) -> Result<DataType, SqlError> {
    match ty {
        DataType::TinyInt => Ok(DataType::SmallInt),
        DataType::Bit => Err(SqlError::operand_invalid(ty, "minus")),
        _ if ty.is_number() => Ok(ty),
        _ => Err(SqlError::operand_invalid(ty, "minus")),
    }
}

/// `-x` of a value that has [`negate_type`]'s type. Error: 8115 for the smallest number of a type.
pub fn negate(value: &Value, ty: DataType) -> Result<Value, SqlError> {
    let negated = match *value {
        Value::Null => Some(Value::Null),
        Value::TinyInt(n) => Some(Value::SmallInt(-i16::from(n))),
        Value::SmallInt(n) => n.checked_neg().map(Value::SmallInt),
        Value::Int(n) => n.checked_neg().map(Value::Int),
        Value::BigInt(n) => n.checked_neg().map(Value::BigInt),
        Value::Decimal(d) => Some(Value::Decimal(d.negate())),
        Value::Float(f) => Some(Value::Float(-f)),
        Value::Real(f) => Some(Value::Real(-f)),
        Value::Money(m) => m.checked_neg().map(Value::Money),
        Value::SmallMoney(m) => m.checked_neg().map(Value::SmallMoney),
        _ => return Err(SqlError::operand_invalid(ty, "minus")),
    };
    negated.ok_or_else(|| SqlError::overflow(ty))
}

/// `~x` of integers and bit, in the operand's own type. Error: 8117.
pub fn bit_not(value: &Value, ty: DataType) -> Result<Value, SqlError> {
    match *value {
        Value::Null => Ok(Value::Null),
        Value::Bit(b) => Ok(Value::Bit(!b)),
        Value::TinyInt(n) => Ok(Value::TinyInt(!n)),
        Value::SmallInt(n) => Ok(Value::SmallInt(!n)),
        Value::Int(n) => Ok(Value::Int(!n)),
        Value::BigInt(n) => Ok(Value::BigInt(!n)),
        _ => Err(SqlError::operand_invalid(ty, "'~'")),
    }
}

/// Equality of two values of the same kind, byte for byte and NULL equal to NULL: what tests and
/// caches need. SQL's equality is [`compare`] with a collation.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Variant(a), Value::Variant(b)) => a == b,
            (Value::DateTimeOffset { offset: a, .. }, Value::DateTimeOffset { offset: b, .. })
                if a != b =>
            {
                false
            }
            (a, b) => compare(a, b, Collation::BIN2).is_some_and(|o| o.is_eq()),
        }
    }
}
