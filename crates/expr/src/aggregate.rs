//! Aggregate functions: result types and accumulators. Guarantees: NULLs are left out (COUNT(*)
//! counts rows); an empty group gives NULL, or 0 for COUNT; integer sums overflow with 8115 as SQL
//! Server's do; decimals add up exactly.

use crate::key::ValueKey;
use crate::large::{LONGEST, check_length, too_long};
use crate::order::order_of;
use crate::{ColId, Env, Expr};
use compact_str::CompactString;
use std::cmp::Ordering;
use std::collections::HashSet;
use types::{Collation, DataType, Decimal, Len, SqlError, Value, msg, ops};

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggKind {
    Count,
    CountBig,
    Sum,
    Avg,
    Min,
    Max,
    Stdev,
    StdevP,
    Var,
    VarP,
    StringAgg,
    ChecksumAgg,
    /// PERCENTILE_CONT and PERCENTILE_DISC: the argument is WITHIN GROUP's key, the separator the
    /// share of the rows.
    PercentileCont,
    PercentileDisc,
}

impl AggKind {
    /// The aggregate of a lower-case name.
    pub fn from_name(name: &str) -> Option<AggKind> {
        Some(match name {
            "count" => AggKind::Count,
            "count_big" | "approx_count_distinct" => AggKind::CountBig,
            "sum" => AggKind::Sum,
            "avg" => AggKind::Avg,
            "min" => AggKind::Min,
            "max" => AggKind::Max,
            "stdev" => AggKind::Stdev,
            "stdevp" => AggKind::StdevP,
            "var" => AggKind::Var,
            "varp" => AggKind::VarP,
            "string_agg" => AggKind::StringAgg,
            "checksum_agg" => AggKind::ChecksumAgg,
            "percentile_cont" | "approx_percentile_cont" => AggKind::PercentileCont,
            "percentile_disc" | "approx_percentile_disc" => AggKind::PercentileDisc,
            _ => return None,
        })
    }

    /// Whether it is a percentile, which has its key in WITHIN GROUP.
    pub fn is_percentile(self) -> bool {
        matches!(self, AggKind::PercentileCont | AggKind::PercentileDisc)
    }

    /// The result's type for an argument's. Errors: 8117 when the aggregate does not take the type.
    pub fn result_type(self, arg: DataType, name: &str) -> Result<DataType, SqlError> {
        let invalid = || SqlError::of(msg::OPERAND_TYPE, [&arg.message_name(), &name]);
        if arg.is_old_lob()
            || (arg == DataType::Xml && !matches!(self, AggKind::Count | AggKind::CountBig))
        {
            return Err(invalid());
        }
        Ok(match self {
            AggKind::Count | AggKind::ChecksumAgg => DataType::Int,
            AggKind::CountBig => DataType::BigInt,
            AggKind::Min | AggKind::Max => {
                if arg == DataType::Bit {
                    return Err(invalid());
                }
                arg
            }
            AggKind::StringAgg => match arg {
                DataType::NVarChar(Len::Max) => arg,
                ty if ty.is_unicode() => DataType::NVarChar(Len::N(4000)),
                DataType::VarChar(Len::Max) => arg,
                ty if ty.is_string() => DataType::VarChar(Len::N(8000)),
                _ => DataType::NVarChar(Len::N(4000)),
            },
            AggKind::Sum | AggKind::Avg => match arg {
                DataType::TinyInt | DataType::SmallInt | DataType::Int => DataType::Int,
                DataType::BigInt => DataType::BigInt,
                DataType::Decimal { scale, name, .. } => {
                    let scale = if self == AggKind::Avg { scale.max(6) } else { scale };
                    DataType::Decimal { precision: 38, scale, name }
                }
                DataType::Money | DataType::SmallMoney => DataType::Money,
                DataType::Float | DataType::Real => DataType::Float,
                _ => return Err(invalid()),
            },
            AggKind::PercentileDisc => arg,
            AggKind::Stdev
            | AggKind::StdevP
            | AggKind::Var
            | AggKind::VarP
            | AggKind::PercentileCont => {
                if !arg.is_number() || arg == DataType::Bit {
                    return Err(invalid());
                }
                DataType::Float
            }
        })
    }
}

/// An aggregate of a block.
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub kind: AggKind,
    /// `None` for COUNT(*).
    pub arg: Option<Expr>,
    pub distinct: bool,
    /// The result's type.
    pub ty: DataType,
    pub collation: Collation,
    /// STRING_AGG's separator; the share of a percentile.
    pub separator: Option<Expr>,
    /// STRING_AGG's WITHIN GROUP: key, descending. Of a percentile only the direction.
    pub order: Vec<(Expr, bool)>,
    /// The column that carries the result.
    pub output: ColId,
}

/// One aggregate's state for one group.
#[derive(Clone, Debug)]
pub struct Accumulator {
    seen: Option<HashSet<ValueKey>>,
    state: AggregateState,
}

#[derive(Clone, Debug)]
enum AggregateState {
    Count(i64),
    Exact {
        sum: i128,
        scale: u8,
        n: i64,
    },
    Float {
        sum: f64,
        n: i64,
    },
    /// Welford's running mean and sum of squared differences.
    Spread {
        mean: f64,
        squares: f64,
        n: i64,
    },
    Extreme(Value),
    Text {
        parts: Vec<(Vec<Value>, CompactString)>,
        separator: Option<CompactString>,
    },
    Checksum {
        value: i32,
        any: bool,
    },
    Values {
        list: Vec<Value>,
        share: f64,
    },
}

impl Aggregate {
    /// A state for a new group.
    pub fn start(&self) -> Accumulator {
        let exact = |scale| AggregateState::Exact { sum: 0, scale, n: 0 };
        let state = match (self.kind, self.ty) {
            (AggKind::Count | AggKind::CountBig, _) => AggregateState::Count(0),
            (AggKind::Sum | AggKind::Avg, DataType::Float) => {
                AggregateState::Float { sum: 0.0, n: 0 }
            }
            (AggKind::Sum | AggKind::Avg, DataType::Decimal { .. }) => exact(u8::MAX),
            (AggKind::Sum | AggKind::Avg, _) => exact(0),
            (AggKind::Min | AggKind::Max, _) => AggregateState::Extreme(Value::Null),
            (AggKind::StringAgg, _) => AggregateState::Text { parts: Vec::new(), separator: None },
            (kind, _) if kind.is_percentile() => {
                AggregateState::Values { list: Vec::new(), share: 0.0 }
            }
            (AggKind::ChecksumAgg, _) => AggregateState::Checksum { value: 0, any: false },
            _ => AggregateState::Spread { mean: 0.0, squares: 0.0, n: 0 },
        };
        Accumulator { seen: self.distinct.then(HashSet::new), state }
    }

    /// Takes one row into a group.
    pub fn update(
        &self,
        acc: &mut Accumulator,
        row: &[Value],
        rt: &mut dyn Env,
    ) -> Result<(), SqlError> {
        let Some(arg) = &self.arg else {
            if let AggregateState::Count(n) = &mut acc.state {
                *n += 1;
            }
            return Ok(());
        };
        let mut scratch = Value::Null;
        let value = arg.eval_ref(row, rt, &mut scratch)?;
        if value.is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut acc.seen {
            let key = ValueKey::new(value, self.collation);
            let bytes = std::mem::size_of::<ValueKey>() + value.heap_bytes();
            if !seen.insert(key) {
                return Ok(());
            }
            rt.reserve(bytes)?;
        }
        match &mut acc.state {
            AggregateState::Count(n) => *n += 1,
            AggregateState::Exact { sum, scale, n } => add_exact(sum, scale, n, value, self.ty)?,
            AggregateState::Float { sum, n } => {
                *sum += to_f64(value);
                *n += 1;
            }
            AggregateState::Spread { mean, squares, n } => {
                *n += 1;
                let x = to_f64(value);
                let delta = x - *mean;
                *mean += delta / *n as f64;
                *squares += delta * (x - *mean);
            }
            AggregateState::Extreme(best) => self.keep_better(best, value),
            AggregateState::Checksum { value: sum, any } => {
                *sum ^= value.as_i64().unwrap_or(0) as i32;
                *any = true;
            }
            AggregateState::Values { list, share } => {
                if list.is_empty() {
                    *share = share_of(self.separator.as_ref(), row, rt)?;
                }
                rt.reserve(std::mem::size_of::<Value>() + value.heap_bytes())?;
                list.push(value.clone());
            }
            AggregateState::Text { .. } => {
                let text = value.as_str().unwrap_or("").into();
                self.add_text(acc, text, row, rt)?;
            }
        }
        Ok(())
    }

    fn add_text(
        &self,
        acc: &mut Accumulator,
        text: CompactString,
        row: &[Value],
        rt: &mut dyn Env,
    ) -> Result<(), SqlError> {
        let mut keys = Vec::with_capacity(self.order.len());
        for (key, _) in &self.order {
            keys.push(key.eval(row, rt)?);
        }
        let AggregateState::Text { parts, separator } = &mut acc.state else { return Ok(()) };
        if separator.is_none()
            && let Some(e) = &self.separator
        {
            *separator = Some(e.eval(row, rt)?.as_str().unwrap_or("").into());
        }
        // The part, and its place in the whole.
        let between = separator.as_ref().map_or(0, |separator| separator.len());
        rt.reserve(2 * text.len() + between + 64)?;
        parts.push((keys, text));
        Ok(())
    }

    /// Takes the rows of another state into this one. Neither is DISTINCT; those of STRING_AGG come
    /// after.
    pub fn merge(&self, acc: &mut Accumulator, other: &Accumulator) -> Result<(), SqlError> {
        debug_assert!(
            acc.seen.is_none() && other.seen.is_none(),
            "states of DISTINCT are not merged"
        );
        match (&mut acc.state, &other.state) {
            (AggregateState::Count(n), AggregateState::Count(more)) => *n += more,
            (
                AggregateState::Exact { sum, scale, n },
                AggregateState::Exact { sum: more, scale: their, n: m },
            ) if *m > 0 => {
                let overflow = || SqlError::overflow(self.ty);
                if *n == 0 {
                    *scale = *their;
                }
                // The values have one type, hence one scale, but for decimals that were computed.
                let more = match *scale == *their {
                    true => *more,
                    false => {
                        let more =
                            Decimal::new(*more, 38, (*their).min(38)).ok_or_else(overflow)?;
                        more.rescale(38, *scale).ok_or_else(overflow)?.mantissa()
                    }
                };
                *sum = sum.checked_add(more).ok_or_else(overflow)?;
                *n += m;
            }
            (AggregateState::Float { sum, n }, AggregateState::Float { sum: more, n: m }) => {
                *sum += more;
                *n += m;
            }
            (
                AggregateState::Spread { mean, squares, n },
                AggregateState::Spread { mean: other, squares: s, n: m },
            ) if *m > 0 => {
                // Chan, Golub, LeVeque (1979): the pairwise form of Welford's update.
                let (a, b, delta) = (*n as f64, *m as f64, other - *mean);
                *squares += s + delta * delta * a * b / (a + b);
                *mean += delta * b / (a + b);
                *n += m;
            }
            (AggregateState::Extreme(best), AggregateState::Extreme(value)) => {
                self.keep_better(best, value)
            }
            (
                AggregateState::Checksum { value, any },
                AggregateState::Checksum { value: more, any: some },
            ) => {
                *value ^= more;
                *any |= some;
            }
            (
                AggregateState::Values { list, share },
                AggregateState::Values { list: more, share: theirs },
            ) => {
                if list.is_empty() {
                    *share = *theirs;
                }
                list.extend(more.iter().cloned());
            }
            (
                AggregateState::Text { parts, separator },
                AggregateState::Text { parts: more, separator: theirs },
            ) => {
                parts.extend(more.iter().cloned());
                if separator.is_none() {
                    separator.clone_from(theirs);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn keep_better(&self, best: &mut Value, value: &Value) {
        let wanted = if self.kind == AggKind::Min { Ordering::Less } else { Ordering::Greater };
        if !value.is_null()
            && (best.is_null() || ops::compare(value, best, self.collation) == Some(wanted))
        {
            best.clone_from(value);
        }
    }

    /// The group's result.
    pub fn finish(&self, acc: Accumulator) -> Result<Value, SqlError> {
        match acc.state {
            AggregateState::Count(n) if self.kind == AggKind::CountBig => Ok(Value::BigInt(n)),
            AggregateState::Count(n) => {
                i32::try_from(n).map(Value::Int).map_err(|_| SqlError::overflow(DataType::Int))
            }
            AggregateState::Exact { n: 0, .. } | AggregateState::Float { n: 0, .. } => {
                Ok(Value::Null)
            }
            AggregateState::Exact { sum, scale, n } => self.finish_exact(sum, scale, n),
            AggregateState::Float { sum, n } if self.kind == AggKind::Avg => {
                Ok(Value::Float(sum / n as f64))
            }
            AggregateState::Float { sum, .. } if sum.is_finite() => Ok(Value::Float(sum)),
            AggregateState::Float { .. } => Err(SqlError::overflow(DataType::Float)),
            AggregateState::Spread { squares, n, .. } => Ok(self.finish_spread(squares, n)),
            AggregateState::Extreme(best) => Ok(best),
            AggregateState::Checksum { any: false, .. } => Ok(Value::Null),
            AggregateState::Checksum { value, .. } => Ok(Value::Int(value)),
            AggregateState::Values { list, share } => Ok(self.finish_percentile(list, share)),
            AggregateState::Text { parts, separator } => {
                self.finish_text(parts, &separator.unwrap_or_default())
            }
        }
    }

    fn finish_exact(&self, sum: i128, scale: u8, n: i64) -> Result<Value, SqlError> {
        let average = self.kind == AggKind::Avg;
        let overflow = || SqlError::overflow(self.ty);
        // Of an average, too, the sum must fit the result's type.
        let divisor = if average { n } else { 1 };
        let whole = || i64::try_from(sum).map(|sum| sum / divisor).map_err(|_| overflow());
        match self.ty {
            DataType::Int => {
                let sum = i32::try_from(sum).map_err(|_| overflow())?;
                i32::try_from(i64::from(sum) / divisor).map(Value::Int).map_err(|_| overflow())
            }
            DataType::BigInt => whole().map(Value::BigInt),
            DataType::Money => whole().map(Value::Money),
            DataType::Decimal { precision, scale: to, .. } => {
                let total = Decimal::new(sum, 38, scale.min(38)).ok_or_else(overflow)?;
                let result = if average {
                    total.div_as(Decimal::from_i64(n), precision, to)?
                } else {
                    total.rescale(precision, to).ok_or_else(overflow)?
                };
                Ok(Value::Decimal(result))
            }
            _ => Err(SqlError::internal("an exact sum of an inexact type")),
        }
    }

    fn finish_spread(&self, squares: f64, n: i64) -> Value {
        let population = matches!(self.kind, AggKind::StdevP | AggKind::VarP);
        let divisor = if population { n } else { n - 1 };
        if divisor <= 0 {
            return Value::Null;
        }
        let variance = squares / divisor as f64;
        let root = matches!(self.kind, AggKind::Stdev | AggKind::StdevP);
        Value::Float(if root { variance.sqrt() } else { variance })
    }

    /// Between the two values around the place (CONT), or the first value at or behind it (DISC).
    fn finish_percentile(&self, mut list: Vec<Value>, share: f64) -> Value {
        let descending = self.order.first().is_some_and(|(_, descending)| *descending);
        list.sort_by(|a, b| {
            let order = order_of(a, b, self.collation);
            if descending { order.reverse() } else { order }
        });
        let Some(last) = list.len().checked_sub(1) else { return Value::Null };
        if self.kind == AggKind::PercentileDisc {
            let place = (share * list.len() as f64).ceil().max(1.0) as usize;
            return list[(place - 1).min(last)].clone();
        }
        let place = share * last as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        let (low, high) = (to_f64(&list[below.min(last)]), to_f64(&list[above.min(last)]));
        Value::Float(if below == above {
            low
        } else {
            low + (place - place.floor()) * (high - low)
        })
    }

    fn finish_text(
        &self,
        mut parts: Vec<(Vec<Value>, CompactString)>,
        separator: &str,
    ) -> Result<Value, SqlError> {
        if parts.is_empty() {
            return Ok(Value::Null);
        }
        parts.sort_by(|(a, _), (b, _)| {
            let keys = a.iter().zip(b).zip(&self.order).map(|((a, b), (_, descending))| {
                let order = order_of(a, b, self.collation);
                if *descending { order.reverse() } else { order }
            });
            keys.fold(Ordering::Equal, Ordering::then)
        });
        let between = separator.len().saturating_mul(parts.len() - 1);
        let length =
            parts.iter().map(|(_, part)| part.len()).sum::<usize>().saturating_add(between);
        // A unit of two bytes takes at most four in UTF-8.
        if length > LONGEST / 2 * 4 {
            return Err(too_long());
        }
        let mut text = String::with_capacity(length);
        for (i, (_, part)) in parts.iter().enumerate() {
            if i > 0 {
                types::units::push_text(&mut text, separator);
            }
            types::units::push_text(&mut text, part);
        }
        let limit = self.ty.length().unwrap_or(usize::MAX);
        if text.len() > limit && types::units::utf16_len(&text) > limit {
            return Err(SqlError::of(msg::STRING_AGG_TOO_LONG, []));
        }
        let value = Value::Str(text.into());
        check_length(&value, self.ty, self.collation.code_page())?;
        Ok(value)
    }
}

fn add_exact(
    sum: &mut i128,
    scale: &mut u8,
    n: &mut i64,
    value: &Value,
    ty: DataType,
) -> Result<(), SqlError> {
    let overflow = || SqlError::overflow(ty);
    let term = match value {
        Value::Decimal(d) => {
            if *scale == u8::MAX {
                *scale = d.scale();
            }
            if d.scale() == *scale {
                d.mantissa()
            } else {
                d.rescale(38, *scale).ok_or_else(overflow)?.mantissa()
            }
        }
        Value::Money(m) => i128::from(*m),
        Value::SmallMoney(m) => i128::from(*m),
        other => i128::from(other.as_i64().unwrap_or(0)),
    };
    *sum = sum.checked_add(term).ok_or_else(overflow)?;
    *n += 1;
    Ok(())
}

fn to_f64(value: &Value) -> f64 {
    match value {
        Value::Float(f) => *f,
        Value::Real(f) => f64::from(*f),
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::SmallMoney(m) => f64::from(*m) / 10_000.0,
        other => other.as_i64().unwrap_or(0) as f64,
    }
}

/// The share of a percentile. Error: 8727 outside of 0 to 1.
fn share_of(share: Option<&Expr>, row: &[Value], rt: &mut dyn Env) -> Result<f64, SqlError> {
    match share.map(|e| e.eval(row, rt)).transpose()? {
        Some(Value::Float(share)) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(SqlError::of(msg::PERCENTILE_RANGE, [])),
    }
}
