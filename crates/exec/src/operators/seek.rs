//! Seeks: the keys that a condition asks for become bounds of memcmp-ordered bytes. Guarantee: a
//! bound never leaves out a row that satisfies the condition it stands for; conditions that a bound
//! does not stand for exactly are tested again on the row.

use crate::operators::rt::Rt;
use expr::{Env, Expr};
use plan::nodes::{SeekEnd, SeekSpec};
use std::cmp::Ordering;
use std::ops::Bound;
use storage::keys::after_prefix;
use types::convert::{Mode, convert};
use types::rounding::{kept, reach};
use types::{DataType, KeyPart, SqlError, Value, encode_key_part, ops};

/// Bounds of a range of keys.
#[derive(Clone, Debug)]
pub struct Range {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

/// How a value fits a column's type.
enum Fit {
    Exact(Value),
    /// Lies between two values of the column's type, of which this is one, or outside its range.
    Between(Option<Value>),
    Null,
}

#[inline]
fn fit(value: Value, ty: DataType) -> Fit {
    if value.is_plainly(ty) { Fit::Exact(value) } else { fit_other(value, ty) }
}

fn fit_other(value: Value, ty: DataType) -> Fit {
    if value.is_null() {
        return Fit::Null;
    }
    if ty == DataType::SqlVariant {
        return Fit::Exact(types::variant::of(value, ty, types::Collation::DEFAULT));
    }
    let own = value.natural_type();
    let same_family = (own.is_string() && ty.is_string()) || (own.is_binary() && ty.is_binary());
    if same_family || own == ty {
        return Fit::Exact(value);
    }
    // Without a zone of its own a column is of that of UTC.
    let value = match value {
        Value::DateTimeOffset { days, ticks, .. } => {
            Value::DateTimeOffset { days, ticks, offset: 0 }
        }
        other => other,
    };
    let Ok(there) = convert(&value, own, ty, 0, Mode::Explicit) else { return Fit::Between(None) };
    match convert(&there, ty, own, 0, Mode::Explicit) {
        Ok(back)
            if ops::compare(&back, &value, types::Collation::BIN2) == Some(Ordering::Equal) =>
        {
            Fit::Exact(there)
        }
        // What is next to it on either side bounds the same values, itself included.
        Ok(_) if kept(ty, own).is_some() && ty != DataType::Bit => Fit::Between(Some(there)),
        _ => Fit::Between(None),
    }
}

/// Lower bound: from the first key that begins with `prefix`, or after the last one.
fn from_prefix(prefix: Vec<u8>, inclusive: bool) -> Bound<Vec<u8>> {
    if inclusive {
        return Bound::Included(prefix);
    }
    match after_prefix(prefix) {
        Bound::Excluded(next) => Bound::Included(next),
        other => other,
    }
}

/// The range of keys for the first range of a seek now; `None` when no row can satisfy it.
pub fn range(
    spec: &SeekSpec,
    parts: &[KeyPart],
    rt: &mut Rt<'_, '_>,
) -> Result<Option<Range>, SqlError> {
    let mut prefix = Vec::with_capacity(32);
    for ((e, null_ok), part) in spec.equal.iter().zip(&spec.null_ok).zip(parts) {
        match fit(e.eval(&[], rt)?, part.ty) {
            Fit::Exact(value) => encode_key_part(&value, part, &mut prefix),
            Fit::Null if *null_ok => encode_key_part(&Value::Null, part, &mut prefix),
            Fit::Between(_) | Fit::Null => return Ok(None),
        }
    }
    let whole = if prefix.is_empty() { Bound::Unbounded } else { Bound::Included(prefix.clone()) };
    let end = if prefix.is_empty() { Bound::Unbounded } else { after_prefix(prefix.clone()) };
    let mut range = Range { lower: whole, upper: end };
    let Some(part) = parts.get(spec.equal.len()) else { return Ok(Some(range)) };
    // In a descending column the larger values come first.
    let (first, last) =
        if part.descending { (&spec.upper, &spec.lower) } else { (&spec.lower, &spec.upper) };
    for (end, is_first) in [(first, true), (last, false)] {
        let Some(end) = end else { continue };
        let (value, inclusive) = match value_at(end, part.ty, is_first != part.descending, rt)? {
            At::Value(value, inclusive) => (value, inclusive),
            At::Nowhere => return Ok(None),
            // The condition is tested on the row.
            At::End => continue,
        };
        let mut key = prefix.clone();
        encode_key_part(&value, part, &mut key);
        if is_first {
            range.lower = from_prefix(key, inclusive);
        } else {
            range.upper = if inclusive { after_prefix(key) } else { Bound::Excluded(key) };
        }
    }
    Ok(Some(range))
}

/// Where a range of a column's values ends.
enum At {
    /// At a value, which is in it or not.
    Value(Value, bool),
    /// With the last value of the type.
    End,
    /// Nothing is compared with NULL and true.
    Nowhere,
}

/// Where a range ends now; `is_low`: at its smallest value.
fn value_at(
    end: &SeekEnd,
    ty: DataType,
    is_low: bool,
    rt: &mut Rt<'_, '_>,
) -> Result<At, SqlError> {
    let value = end.value.eval(&[], rt)?;
    let Some(to) = end.rounded else {
        return Ok(match fit(value, ty) {
            Fit::Exact(value) => At::Value(value, end.inclusive),
            Fit::Between(Some(next)) => At::Value(next, true),
            Fit::Between(None) => At::End,
            Fit::Null => At::Nowhere,
        });
    };
    if value.is_null() {
        return Ok(At::Nowhere);
    }
    let (least, greatest) = reach(&value, ty, to);
    let last = if is_low { least } else { greatest };
    Ok(last.map_or(At::End, |value| At::Value(value, true)))
}

/// So many ranges are made between two questions for a cancel.
const BETWEEN: usize = 1024;

/// The ranges of keys for a seek now, in the order of their keys; no key is in two of them.
pub fn ranges(
    spec: &SeekSpec,
    parts: &[KeyPart],
    rt: &mut Rt<'_, '_>,
) -> Result<Vec<Range>, SqlError> {
    let mut all = Vec::with_capacity(1 + spec.others.len());
    for (number, one) in spec.ranges().enumerate() {
        if number % BETWEEN == 0 {
            rt.check_cancel()?;
        }
        all.extend(range(one, parts, rt)?);
    }
    all.sort_by(|a, b| by_lower(&a.lower, &b.lower));
    let mut apart: Vec<Range> = Vec::with_capacity(all.len());
    for range in all {
        match apart.last_mut() {
            Some(last) if !is_before(&last.upper, &range.lower) => {
                if by_upper(&last.upper, &range.upper).is_lt() {
                    last.upper = range.upper;
                }
            }
            _ => apart.push(range),
        }
    }
    debug_assert!(apart.windows(2).all(|pair| is_before(&pair[0].upper, &pair[1].lower)));
    Ok(apart)
}

/// Which of two lower bounds lets smaller keys in.
fn by_lower(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Less,
        (_, Bound::Unbounded) => Ordering::Greater,
        (Bound::Included(a), Bound::Excluded(b)) => a.cmp(b).then(Ordering::Less),
        (Bound::Excluded(a), Bound::Included(b)) => a.cmp(b).then(Ordering::Greater),
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a.cmp(b)
        }
    }
}

/// Which of two upper bounds lets larger keys in.
fn by_upper(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    match (a, b) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (Bound::Included(a), Bound::Excluded(b)) => a.cmp(b).then(Ordering::Greater),
        (Bound::Excluded(a), Bound::Included(b)) => a.cmp(b).then(Ordering::Less),
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a.cmp(b)
        }
    }
}

/// Whether no key is below an upper bound and above a lower one.
pub(crate) fn is_before(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(a), Bound::Included(b)) => a < b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a <= b
        }
    }
}

/// The whole key of a point seek now; `None` when no row can have it.
#[inline]
pub fn point<E: Env>(
    spec: &SeekSpec,
    parts: &[KeyPart],
    rt: &mut E,
    key: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    key.clear();
    // By numbers: to put three lists side by side costs more than to encode a number.
    for (at, e) in spec.equal.iter().enumerate() {
        let (Some(null_ok), Some(part)) = (spec.null_ok.get(at), parts.get(at)) else { break };
        // Mostly a parameter of the column's type: it is not copied.
        if let Expr::Var(slot) = e
            && let Some(value) = rt.var_ref(*slot)
            && value.is_plainly(part.ty)
        {
            encode_key_part(value, part, key);
            continue;
        }
        let value = e.eval(&[], rt)?;
        match fit(value, part.ty) {
            Fit::Exact(value) => encode_key_part(&value, part, key),
            Fit::Null if *null_ok => encode_key_part(&Value::Null, part, key),
            Fit::Between(_) | Fit::Null => return Ok(false),
        }
    }
    Ok(true)
}
