//! Single values as the bytes of a key, whose memcmp order is SQL's order of the values, and the
//! comparisons of GUIDs and bytes that follow the same order. Guarantee: the bytes of one value are
//! never the beginning of those of another value of its kind.

use std::cmp::Ordering;

use crate::decimal::{Decimal, MAX_PRECISION, POW10};

/// Most digits of a decimal after the point.
const MAX_SCALE: u8 = MAX_PRECISION;
/// SQL Server's order of a stored uniqueidentifier's bytes, most significant first.
pub(crate) const GUID_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];

/// The other way round when descending.
pub(crate) fn turn(descending: bool, bytes: &mut [u8]) {
    if descending {
        for byte in bytes {
            *byte = !*byte;
        }
    }
}

/// The bytes of a GUID in their order.
pub(crate) fn put_guid(g: &[u8; 16], out: &mut Vec<u8>) {
    out.extend(GUID_ORDER.iter().map(|&i| g[i]));
}

/// The order of two stored uniqueidentifiers.
pub(crate) fn compare_guids(a: &[u8; 16], b: &[u8; 16]) -> Ordering {
    GUID_ORDER.iter().map(|&i| a[i]).cmp(GUID_ORDER.iter().map(|&i| b[i]))
}

#[inline]
pub(crate) fn ordered_i32(n: i32) -> [u8; 4] {
    ((n as u32) ^ 0x8000_0000).to_be_bytes()
}

pub(crate) fn put_i32(n: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&ordered_i32(n));
}

/// A decimal as 0.ddd * 10^e: sign, e, 38 digits, so that 1.0 and 1.00 are one key.
pub(crate) fn put_any_decimal(d: Decimal, out: &mut Vec<u8>) {
    let mantissa = d.mantissa();
    let magnitude = mantissa.unsigned_abs();
    let digits = magnitude.checked_ilog10().map_or(0, |n| n + 1);
    if digits == 0 {
        out.push(1);
        return;
    }
    // At least 1, as a scale is at most 38.
    let exponent = MAX_SCALE + 1 + digits as u8 - d.scale();
    let shift = usize::from(MAX_SCALE).saturating_sub(digits as usize);
    let magnitude = magnitude * POW10[shift].unsigned_abs();
    let start = out.len() + 1;
    out.push(if mantissa < 0 { 0 } else { 2 });
    out.push(exponent);
    out.extend_from_slice(&magnitude.to_be_bytes());
    turn(mantissa < 0, &mut out[start..]);
}

pub(crate) fn put_float(f: f64, out: &mut Vec<u8>) {
    // -0.0 equals 0.0
    let bits = if f == 0.0 { 0 } else { f.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// The bytes up to the last that is not zero: binary values compare as if padded with zeros.
pub(crate) fn without_trailing_zeros(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    &bytes[..length]
}

/// Binary values compare as if padded with zeros: trailing zeros go, 0 and 1 are escaped, 0 ends.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in without_trailing_zeros(bytes) {
        match byte {
            0 | 1 => out.extend_from_slice(&[1, byte + 1]),
            _ => out.push(byte),
        }
    }
    out.push(0);
}
