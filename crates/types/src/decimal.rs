//! Fixed-point numbers of up to 38 digits. Guarantees: a `Decimal`'s mantissa always has at most
//! `precision` digits; arithmetic follows SQL Server's result precision and scale; anything that
//! does not fit is an error, never a wrong number.

use std::cmp::Ordering;
use std::fmt;

use ethnum::I256;

use crate::datatype::DataType;
use crate::error::SqlError;

/// Most digits of a decimal.
pub const MAX_PRECISION: u8 = 38;

/// Powers of ten from 10^0 to 10^38.
pub(crate) const POW10: [i128; 39] = {
    let mut table = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// A decimal number: mantissa * 10^-scale. Compared by value, so 1.0 equals 1.00.
#[derive(Clone, Copy)]
pub struct Decimal {
    // Two halves instead of one i128: an i128's alignment of 16 would grow every Value from 32 to
    // 48 bytes.
    high: i64,
    low: u64,
    precision: u8,
    scale: u8,
}

/// Why a text is not a decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDecimalError {
    #[error("not a number")]
    Syntax,
    #[error("more than 38 digits before the point")]
    Overflow,
}

/// Divides and rounds half away from zero.
fn divide_rounded(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    if rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs() {
        quotient + if (value < 0) == (divisor < 0) { 1 } else { -1 }
    } else {
        quotient
    }
}

/// 10^n for n in 0..=76.
fn wide_pow10(n: u32) -> I256 {
    let low = n.min(38);
    I256::from(POW10[low as usize]) * I256::from(POW10[(n - low).min(38) as usize])
}

impl Decimal {
    /// A decimal of a given type, or `None` when the mantissa has more than `precision` digits or
    /// the type is outside precision 1..=38, scale 0..=precision.
    #[inline]
    pub fn new(mantissa: i128, precision: u8, scale: u8) -> Option<Decimal> {
        if !(1..=MAX_PRECISION).contains(&precision) || scale > precision {
            return None;
        }
        if mantissa.unsigned_abs() >= POW10[usize::from(precision)].unsigned_abs() {
            return None;
        }
        Some(Decimal::raw(mantissa, precision, scale))
    }

    /// A decimal whose mantissa is known to fit.
    #[inline]
    pub(crate) fn raw(mantissa: i128, precision: u8, scale: u8) -> Decimal {
        debug_assert!(mantissa.unsigned_abs() < POW10[usize::from(precision)].unsigned_abs());
        Decimal { high: (mantissa >> 64) as i64, low: mantissa as u64, precision, scale }
    }

    /// Zero of a type.
    pub fn zero(precision: u8, scale: u8) -> Decimal {
        debug_assert!((1..=MAX_PRECISION).contains(&precision) && scale <= precision);
        Decimal::raw(0, precision, scale)
    }

    /// The smallest decimal type that holds an integer.
    pub fn from_i64(value: i64) -> Decimal {
        let digits = value.unsigned_abs().checked_ilog10().map_or(1, |d| d as u8 + 1);
        Decimal::raw(i128::from(value), digits, 0)
    }

    /// The digits as an integer.
    #[inline]
    pub fn mantissa(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    /// Digits in all, 1..=38.
    pub fn precision(self) -> u8 {
        self.precision
    }

    /// Digits after the point, 0..=precision.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// The value's own type.
    pub fn data_type(self) -> DataType {
        DataType::decimal(self.precision, self.scale)
    }

    /// True for 0, 0.0, ...
    pub fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// True below zero.
    pub fn is_negative(self) -> bool {
        self.high < 0
    }

    /// The value in another type, rounded half away from zero; `None` when it has too many digits
    /// for it.
    pub fn rescale(self, precision: u8, scale: u8) -> Option<Decimal> {
        if scale == self.scale {
            return Decimal::new(self.mantissa(), precision, scale);
        }
        let mantissa = if scale > self.scale {
            self.mantissa().checked_mul(*POW10.get(usize::from(scale - self.scale))?)?
        } else {
            divide_rounded(self.mantissa(), POW10[usize::from(self.scale - scale)])
        };
        Decimal::new(mantissa, precision, scale)
    }

    /// The integer part, toward zero.
    pub fn truncated(self) -> i128 {
        self.mantissa() / POW10[usize::from(self.scale)]
    }

    /// The same digits with fewer after the point, toward zero; the scale stays, the digits become
    /// 0.
    #[must_use]
    pub fn truncate_to(self, scale: u8) -> Decimal {
        if scale >= self.scale {
            return self;
        }
        let unit = POW10[usize::from(self.scale - scale)];
        Decimal::raw(self.mantissa() / unit * unit, self.precision, self.scale)
    }

    /// ROUND(x, digits): the scale stays; negative digits round before the point. `None` on
    /// overflow.
    pub fn round_to(self, digits: i32) -> Option<Decimal> {
        let drop = i64::from(self.scale) - i64::from(digits);
        if drop <= 0 {
            return Some(self);
        }
        match usize::try_from(drop).ok().and_then(|d| POW10.get(d)) {
            Some(&unit) => {
                let mantissa = divide_rounded(self.mantissa(), unit).checked_mul(unit)?;
                Decimal::new(mantissa, self.precision, self.scale)
            }
            None => Some(Decimal::raw(0, self.precision, self.scale)),
        }
    }

    /// The same value with the other sign.
    #[must_use]
    pub fn negate(self) -> Decimal {
        Decimal::raw(-self.mantissa(), self.precision, self.scale)
    }

    /// Nearest float.
    pub fn to_f64(self) -> f64 {
        let mantissa = self.mantissa();
        // Both operands exact, so one correctly rounded division.
        if mantissa.unsigned_abs() < 1 << 53 && self.scale <= 22 {
            return mantissa as f64 / 10f64.powi(i32::from(self.scale));
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// A float's exact value rounded to a type; `None` when it does not fit or is not finite.
    pub fn from_f64(value: f64, precision: u8, scale: u8) -> Option<Decimal> {
        if !value.is_finite() || value.abs() >= 1e39 {
            return None;
        }
        let text = format!("{value:.*}", usize::from(scale.min(MAX_PRECISION)));
        Decimal::parse(&text).ok()?.rescale(precision, scale)
    }

    /// Reads `[+|-]digits[.digits]` with blanks around it; precision and scale are those of the
    /// text (at least 1 digit). Digits after the 38th are rounded away when they come after the
    /// point.
    pub fn parse(text: &str) -> Result<Decimal, ParseDecimalError> {
        let text = text.trim();
        let (negative, digits) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let (mut mantissa, mut scale, mut significant) = (0i128, 0u8, 0u8);
        let (mut any, mut point, mut dropped) = (false, false, None);
        for &byte in digits {
            match byte {
                b'.' if !point => point = true,
                b'0'..=b'9' => {
                    any = true;
                    let digit = byte - b'0';
                    if significant == MAX_PRECISION || scale == MAX_PRECISION {
                        if !point {
                            return Err(ParseDecimalError::Overflow);
                        }
                        dropped.get_or_insert(digit);
                        continue;
                    }
                    mantissa = mantissa * 10 + i128::from(digit);
                    significant += u8::from(mantissa != 0);
                    scale += u8::from(point);
                }
                _ => return Err(ParseDecimalError::Syntax),
            }
        }
        if !any {
            return Err(ParseDecimalError::Syntax);
        }
        if dropped.is_some_and(|d| d >= 5) && mantissa < POW10[38] - 1 {
            mantissa += 1;
        }
        let mantissa = if negative { -mantissa } else { mantissa };
        let precision = significant.max(scale).max(1);
        Decimal::new(mantissa, precision, scale)
            .or_else(|| Decimal::new(mantissa, MAX_PRECISION, scale))
            .ok_or(ParseDecimalError::Overflow)
    }

    fn wide(self, scale: u8) -> I256 {
        I256::from(self.mantissa()) * I256::from(POW10[usize::from(scale - self.scale)])
    }

    /// Sum in the type that [`add_type`] gives.
    pub fn checked_add(self, other: Decimal) -> Result<Decimal, SqlError> {
        let (precision, scale) = add_type(self.parts(), other.parts());
        self.add_as(other, precision, scale)
    }

    /// Difference in the type that [`add_type`] gives.
    pub fn checked_sub(self, other: Decimal) -> Result<Decimal, SqlError> {
        self.checked_add(other.negate())
    }

    /// Sum in a given type. Error: 8115.
    #[inline]
    pub(crate) fn add_as(
        self,
        other: Decimal,
        precision: u8,
        scale: u8,
    ) -> Result<Decimal, SqlError> {
        if self.scale == other.scale && scale == self.scale {
            let sum = self.mantissa().checked_add(other.mantissa());
            return sum
                .and_then(|sum| Decimal::new(sum, precision, scale))
                .ok_or_else(|| overflow(precision, scale));
        }
        let common = self.scale.max(other.scale);
        if common == scale
            && let (Some(a), Some(b)) = (self.mantissa_at(scale), other.mantissa_at(scale))
            && let Some(sum) = a.checked_add(b)
        {
            return Decimal::new(sum, precision, scale).ok_or_else(|| overflow(precision, scale));
        }
        narrow(self.wide(common) + other.wide(common), common, precision, scale)
    }

    /// The mantissa at a scale that is not smaller, when both are numbers of 64 bits: few numbers
    /// are not, and wider products take several times as long.
    #[inline]
    fn mantissa_at(self, scale: u8) -> Option<i128> {
        let unit = i64::try_from(POW10[usize::from(scale - self.scale)]).ok()?;
        Some(i128::from(self.small()?) * i128::from(unit))
    }

    /// The mantissa of 64 bits.
    #[inline]
    fn small(self) -> Option<i64> {
        let low = self.low as i64;
        (low >> 63 == self.high).then_some(low)
    }

    /// Product in the type that [`multiply_type`] gives, rounded when the scale had to be cut.
    /// Error: 8115.
    pub fn checked_mul(self, other: Decimal) -> Result<Decimal, SqlError> {
        let (precision, scale) = multiply_type(self.parts(), other.parts());
        self.mul_as(other, precision, scale)
    }

    /// Product in a given type. Error: 8115.
    #[inline]
    pub(crate) fn mul_as(
        self,
        other: Decimal,
        precision: u8,
        scale: u8,
    ) -> Result<Decimal, SqlError> {
        let from = self.scale + other.scale;
        let product = || match (self.small(), other.small()) {
            (Some(a), Some(b)) => Some(i128::from(a) * i128::from(b)),
            _ => self.mantissa().checked_mul(other.mantissa()),
        };
        if from == scale
            && let Some(product) = product()
        {
            return Decimal::new(product, precision, scale)
                .ok_or_else(|| overflow(precision, scale));
        }
        narrow(I256::from(self.mantissa()) * I256::from(other.mantissa()), from, precision, scale)
    }

    /// Quotient in the type that [`divide_type`] gives, truncated as SQL Server does. Errors: 8134,
    /// 8115.
    pub fn checked_div(self, other: Decimal) -> Result<Decimal, SqlError> {
        let (precision, scale) = divide_type(self.parts(), other.parts());
        self.div_as(other, precision, scale)
    }

    /// Quotient in a given type. Errors: 8134, 8115.
    pub fn div_as(self, other: Decimal, precision: u8, scale: u8) -> Result<Decimal, SqlError> {
        if other.is_zero() {
            return Err(SqlError::divide_by_zero());
        }
        let fail = || overflow(precision, scale);
        let shift = i32::from(scale) - i32::from(self.scale) + i32::from(other.scale);
        let (mut dividend, mut divisor) =
            (I256::from(self.mantissa()), I256::from(other.mantissa()));
        if shift >= 0 {
            // Beyond 256 bits the quotient by a divisor of 38 digits has more than 38 digits as
            // well.
            dividend = dividend.checked_mul(wide_pow10(shift as u32)).ok_or_else(fail)?;
        } else {
            divisor = divisor.checked_mul(wide_pow10(shift.unsigned_abs())).ok_or_else(fail)?;
        }
        let quotient = i128::try_from(dividend / divisor).map_err(|_| fail())?;
        Decimal::new(quotient, precision, scale).ok_or_else(fail)
    }

    /// Remainder in a given type. Errors: 8134, 8115.
    pub(crate) fn rem_as(
        self,
        other: Decimal,
        precision: u8,
        scale: u8,
    ) -> Result<Decimal, SqlError> {
        if other.is_zero() {
            return Err(SqlError::divide_by_zero());
        }
        let common = self.scale.max(other.scale);
        narrow(self.wide(common) % other.wide(common), common, precision, scale)
    }

    fn parts(self) -> (u8, u8) {
        (self.precision, self.scale)
    }
}

fn overflow(precision: u8, scale: u8) -> SqlError {
    SqlError::overflow(DataType::decimal(precision, scale))
}

/// Brings a wide mantissa from one scale to a smaller or greater one, rounding half away from zero.
#[inline(never)]
fn narrow(value: I256, from: u8, precision: u8, scale: u8) -> Result<Decimal, SqlError> {
    let fail = || overflow(precision, scale);
    let value = if from > scale {
        let unit = wide_pow10(u32::from(from - scale));
        let (quotient, rest) = (value / unit, value % unit);
        if rest.abs() >= unit - rest.abs() {
            quotient + if value < I256::ZERO { -I256::ONE } else { I256::ONE }
        } else {
            quotient
        }
    } else {
        value.checked_mul(wide_pow10(u32::from(scale - from))).ok_or_else(fail)?
    };
    let mantissa = i128::try_from(value).map_err(|_| fail())?;
    Decimal::new(mantissa, precision, scale).ok_or_else(fail)
}

type DecimalParts = (u8, u8);

/// Precision and scale of a sum or difference.
pub fn add_type((p1, s1): DecimalParts, (p2, s2): DecimalParts) -> DecimalParts {
    let integral = (p1 - s1).max(p2 - s2);
    let scale = s1.max(s2);
    let precision = integral + scale + 1;
    if precision <= MAX_PRECISION {
        return (precision, scale);
    }
    (MAX_PRECISION, scale.min(MAX_PRECISION - integral))
}

/// Precision and scale of a product.
pub fn multiply_type((p1, s1): DecimalParts, (p2, s2): DecimalParts) -> DecimalParts {
    cut(u16::from(p1) + u16::from(p2) + 1, u16::from(s1) + u16::from(s2))
}

/// Precision and scale of a quotient.
pub fn divide_type((p1, s1): DecimalParts, (p2, s2): DecimalParts) -> DecimalParts {
    let scale = (u16::from(s1) + u16::from(p2) + 1).max(6);
    cut(u16::from(p1 - s1) + u16::from(s2) + scale, scale)
}

/// Precision and scale of a remainder.
pub fn modulo_type((p1, s1): DecimalParts, (p2, s2): DecimalParts) -> DecimalParts {
    let scale = s1.max(s2);
    cut(u16::from((p1 - s1).min(p2 - s2)) + u16::from(scale), u16::from(scale))
}

/// The 38-digit cap of products and quotients: the integral part is kept, the scale gives way down
/// to 6.
fn cut(precision: u16, scale: u16) -> DecimalParts {
    let limit = u16::from(MAX_PRECISION);
    if precision <= limit {
        return (precision.max(1) as u8, scale as u8);
    }
    let integral = precision - scale;
    let scale = if integral < 32 { scale.min(limit - integral) } else { scale.min(6) };
    (MAX_PRECISION, scale as u8)
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa().cmp(&other.mantissa());
        }
        let common = self.scale.max(other.scale);
        self.wide(common).cmp(&other.wide(common))
    }
}

impl fmt::Display for Decimal {
    /// All digits of the scale, at least one before the point: `-0.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mantissa = self.mantissa();
        let sign = if mantissa < 0 { "-" } else { "" };
        let magnitude = mantissa.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{magnitude}");
        }
        let unit = POW10[usize::from(self.scale)].unsigned_abs();
        let width = usize::from(self.scale);
        write!(f, "{sign}{}.{:0width$}", magnitude / unit, magnitude % unit)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}({},{})", self.precision, self.scale)
    }
}

#[cfg(test)]
mod tests;
