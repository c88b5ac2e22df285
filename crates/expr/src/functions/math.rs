//! Mathematical functions. Results outside a float's range are error 3623; exact types keep their
//! scale.

use super::{ArgRule as A, CallCx, Function, Stability, first_type, float, int_arg};
use crate::Expr;
use crate::random::Random;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value, msg};

const fn f(
    name: &'static str,
    count: (u8, u8),
    args: &'static [A],
    result: super::ResultRule,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args,
        result,
        strict: true,
        stability: Stability::Pure,
        nullable: false,
        eval,
    }
}

/// A function of one float.
macro_rules! real {
    ($name:literal, $f:expr) => {
        f($name, (1, 1), &[A::Float], float, |a, _| sound(($f)(float_arg(a, 0))))
    };
}

/// The mathematical functions.
pub const FUNCTIONS: &[Function] = &[
    f("abs", (1, 1), &[A::Number], widened, abs),
    f("ceiling", (1, 1), &[A::Number], whole_type, |a, cx| whole(a, cx, true)),
    f("floor", (1, 1), &[A::Number], whole_type, |a, cx| whole(a, cx, false)),
    f("round", (2, 3), &[A::Number, A::Int], widened, round),
    f("sign", (1, 1), &[A::Number], widened, sign),
    f("power", (2, 2), &[A::Number, A::Float], widened, power),
    f("square", (1, 1), &[A::Float], float, |a, _| sound(float_arg(a, 0) * float_arg(a, 0))),
    real!("sqrt", f64::sqrt),
    real!("exp", f64::exp),
    real!("log10", f64::log10),
    real!("sin", f64::sin),
    real!("cos", f64::cos),
    real!("tan", f64::tan),
    real!("cot", |x: f64| 1.0 / x.tan()),
    real!("asin", f64::asin),
    real!("acos", f64::acos),
    real!("atan", f64::atan),
    f("atn2", (2, 2), &[A::Float], float, |a, _| sound(float_arg(a, 0).atan2(float_arg(a, 1)))),
    f("log", (1, 2), &[A::Float], float, log),
    f("degrees", (1, 1), &[A::Number], widened, |a, cx| {
        scaled(a, cx, 180.0 / std::f64::consts::PI)
    }),
    f("radians", (1, 1), &[A::Number], widened, |a, cx| {
        scaled(a, cx, std::f64::consts::PI / 180.0)
    }),
    f("pi", (0, 0), &[], float, |_, _| Ok(Value::Float(std::f64::consts::PI))),
    // The binder numbers the calls of a statement: each has one value for all rows.
    Function {
        stability: Stability::Statement,
        ..f("rand", (1, 1), &[A::Int], float, |a, cx| {
            let call = usize::try_from(int_arg(a, 0)).unwrap_or(0);
            cx.rt.once(call).map(Value::Float)
        })
    },
    Function {
        stability: Stability::Row,
        ..f("rand_seeded", (1, 1), &[A::Int], float, |a, cx| {
            let random = cx.rt.random()?;
            *random = Random::new(int_arg(a, 0));
            Ok(Value::Float(random.draw()))
        })
    },
];

fn float_arg(args: &[Value], i: usize) -> f64 {
    match args.get(i) {
        Some(Value::Float(f)) => *f,
        _ => 0.0,
    }
}

/// Error 3623 outside the reals.
fn sound(x: f64) -> Result<Value, SqlError> {
    if x.is_nan() {
        return Err(SqlError::of(msg::INVALID_FLOATING_POINT, []));
    }
    if x.is_infinite() { Err(SqlError::overflow(DataType::Float)) } else { Ok(Value::Float(x)) }
}

/// Small integers compute as int; everything else keeps its type.
fn widened(types: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    Ok(match first_type(types, exprs)? {
        DataType::TinyInt | DataType::SmallInt => DataType::Int,
        DataType::Bit | DataType::Real => DataType::Float,
        DataType::SmallMoney => DataType::Money,
        DataType::Decimal { scale, name, .. } => DataType::Decimal { precision: 38, scale, name },
        other => other,
    })
}

fn whole_type(types: &[DataType], exprs: &[Expr]) -> Result<DataType, SqlError> {
    Ok(match first_type(types, exprs)? {
        DataType::Decimal { precision, name, .. } => {
            DataType::Decimal { precision, scale: 0, name }
        }
        _ => widened(types, exprs)?,
    })
}

/// The first argument in the result's type.
fn lifted(args: &[Value], cx: &CallCx<'_>) -> Result<Value, SqlError> {
    if cx.types[0] == cx.ty {
        return Ok(args[0].clone());
    }
    convert(&args[0], cx.types[0], cx.ty, 0, Mode::Explicit)
}

fn abs(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let overflow = || SqlError::overflow(cx.ty);
    Ok(match lifted(args, cx)? {
        Value::Int(n) => Value::Int(n.checked_abs().ok_or_else(overflow)?),
        Value::BigInt(n) => Value::BigInt(n.checked_abs().ok_or_else(overflow)?),
        Value::Money(n) => Value::Money(n.checked_abs().ok_or_else(overflow)?),
        Value::Decimal(d) if d.is_negative() => Value::Decimal(d.negate()),
        Value::Float(x) => Value::Float(x.abs()),
        other => other,
    })
}

fn whole(args: &[Value], cx: &mut CallCx<'_>, up: bool) -> Result<Value, SqlError> {
    let overflow = || SqlError::overflow(cx.ty);
    if let Value::Decimal(d) = &args[0] {
        let truncated = d.truncated();
        let exact = d.mantissa() == truncated * 10i128.pow(u32::from(d.scale()));
        let step = match (exact, up, d.is_negative()) {
            (false, true, false) => 1,
            (false, false, true) => -1,
            _ => 0,
        };
        let result = types::Decimal::new(truncated + step, 38, 0).and_then(|d| d.rescale(38, 0));
        return result.map(Value::Decimal).ok_or_else(overflow);
    }
    Ok(match lifted(args, cx)? {
        Value::Float(x) => Value::Float(if up { x.ceil() } else { x.floor() }),
        Value::Money(n) => {
            let low = n.div_euclid(10_000);
            let units = if up && n.rem_euclid(10_000) != 0 { low + 1 } else { low };
            Value::Money(units.checked_mul(10_000).ok_or_else(overflow)?)
        }
        other => other,
    })
}

fn round(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let overflow = || SqlError::overflow(cx.ty);
    let digits = int_arg(args, 1).clamp(-40, 40) as i32;
    let cut = args.len() > 2 && int_arg(args, 2) != 0;
    let decimal = |d: types::Decimal| {
        if !cut {
            return d.round_to(digits);
        }
        match u8::try_from(digits) {
            Ok(scale) => Some(if scale >= d.scale() { d } else { d.truncate_to(scale) }),
            Err(_) => {
                let unit = 10i128.checked_pow(u32::from(d.scale()) + digits.unsigned_abs())?;
                types::Decimal::new(d.mantissa() / unit * unit, 38, d.scale())
            }
        }
    };
    let integer = |n: i64| {
        let d = types::Decimal::from_i64(n).rescale(38, 0).and_then(decimal);
        d.and_then(|d| i64::try_from(d.mantissa()).ok())
    };
    Ok(match lifted(args, cx)? {
        Value::Int(n) => {
            let n = integer(i64::from(n)).and_then(|n| i32::try_from(n).ok());
            Value::Int(n.ok_or_else(overflow)?)
        }
        Value::BigInt(n) => Value::BigInt(integer(n).ok_or_else(overflow)?),
        Value::Money(n) => {
            let d =
                types::Decimal::new(i128::from(n), 38, 4).and_then(decimal).ok_or_else(overflow)?;
            Value::Money(i64::try_from(d.mantissa()).map_err(|_| overflow())?)
        }
        Value::Decimal(d) => Value::Decimal(decimal(d).ok_or_else(overflow)?),
        Value::Float(x) => {
            let unit = 10f64.powi(digits);
            let scaled = x * unit;
            if !scaled.is_finite() {
                return Ok(Value::Float(x));
            }
            Value::Float((if cut { scaled.trunc() } else { scaled.round() }) / unit)
        }
        other => other,
    })
}

fn sign(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    Ok(match lifted(args, cx)? {
        Value::Int(n) => Value::Int(n.signum()),
        Value::BigInt(n) => Value::BigInt(n.signum()),
        Value::Money(n) => Value::Money(n.signum() * 10_000),
        Value::Float(x) => Value::Float(if x == 0.0 { 0.0 } else { x.signum() }),
        Value::Decimal(d) => {
            let unit = 10i128.pow(u32::from(d.scale()));
            let sign = types::Decimal::new(d.mantissa().signum() * unit, 38, d.scale());
            Value::Decimal(sign.ok_or_else(|| SqlError::overflow(cx.ty))?)
        }
        other => other,
    })
}

fn power(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let base = float_arg(&[convert(&args[0], cx.types[0], DataType::Float, 0, Mode::Explicit)?], 0);
    let exponent = float_arg(args, 1);
    if base == 0.0 && exponent < 0.0 {
        return Err(SqlError::divide_by_zero());
    }
    convert(&sound(base.powf(exponent))?, DataType::Float, cx.ty, 0, Mode::Explicit)
}

fn log(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let x = float_arg(args, 0);
    if x <= 0.0 {
        return sound(f64::NAN);
    }
    sound(if args.len() > 1 { x.ln() / float_arg(args, 1).ln() } else { x.ln() })
}

fn scaled(args: &[Value], cx: &mut CallCx<'_>, factor: f64) -> Result<Value, SqlError> {
    let x = convert(&args[0], cx.types[0], DataType::Float, 0, Mode::Explicit)?;
    let x = sound(float_arg(&[x], 0) * factor)?;
    convert(&x, DataType::Float, cx.ty, 0, Mode::Explicit)
}

thread_local! {
    static RANDOM: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1);
}

/// 64 pseudo-random bits (xorshift*), per thread.
pub fn random_bits() -> u64 {
    let mut x = RANDOM.get();
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    RANDOM.set(x);
    x.wrapping_mul(0x2545_F491_4F6C_DD1D)
}
