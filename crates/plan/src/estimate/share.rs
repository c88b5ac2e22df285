//! The share of a table's rows that a condition keeps: from the histogram of its column where there
//! is one, else a guess by the kind of condition. Guarantee: a share lies between 0 and 1.

use std::sync::Arc;

use catalog::statistics::MeasuredValues;
use catalog::statistics::store::key_part;
use expr::{ColId, CompareExpr, Expr, InListExpr, LikeExpr, Pred, mirrored};
use syntax::ast::CompareOp;
use types::rounding::{self, KeptOrder, reach};
use types::{DataType, Value, encode_key_part};

use super::constant::{constant, known_pattern};
use super::{filtered, having};
use crate::statistics;
use logical::tree::sources::source;
use logical::tree::{Get, Logical};

/// Guesses by the kind of condition, where nothing is known of the values.
const EQUAL: f64 = 0.05;
const RANGE: f64 = 0.3;
const LIKE: f64 = 0.1;
pub(super) const OTHER: f64 = 0.3;
const NOT_NULL: f64 = 0.9;
/// So many conditions of a conjunction, or branches of an OR, say what the whole says: each is
/// looked up among the inputs.
const MOST_LOOKED_AT: usize = 128;
/// So many elements of a list are looked at one by one, and so many where the column's values are
/// known.
const FEW_LISTED: usize = 100;
const MOST_LISTED: usize = 10_000;
/// Steps of a histogram that tell how many texts a pattern matches.
const STEPS_FOR_PATTERNS: usize = 20;

/// The share of a plan's rows that conditions keep together: the most selective counts in full,
/// each further one by the square root of what the one before it did, because conditions of one
/// table depend on each other (SQL Server's exponential back-off). The two ends of one column's
/// range are one condition.
pub fn kept<'p>(preds: impl IntoIterator<Item = &'p Pred>, input: &Logical) -> f64 {
    let mut ranges: Vec<Range> = Vec::new();
    let mut equals: Vec<(ColId, f64)> = Vec::new();
    let mut shares: Vec<f64> = Vec::new();
    let mut preds: Vec<&Pred> = preds.into_iter().take(MOST_LOOKED_AT).collect();
    while let Some(share) = filtered::taken(&mut preds, input) {
        shares.push(share);
    }
    for pred in preds {
        match range_of(pred, input) {
            Some(range) => match ranges.iter_mut().find(|r| r.column == range.column) {
                Some(known) => known.narrow(&range),
                None => ranges.push(range),
            },
            None => match equal_column(pred) {
                Some(column) => equals.push((column, share(pred, input))),
                None => shares.push(share(pred, input)),
            },
        }
    }
    shares.extend(ranges.iter().map(Range::share));
    shares.extend(together(&mut equals, input));
    shares.extend(equals.iter().map(|(_, share)| *share));
    shares.sort_by(f64::total_cmp);
    let mut weight = 1.0;
    shares.iter().take(4).fold(1.0, |all, share| {
        let all = all * share.powf(weight);
        weight /= 2.0;
        all
    })
}

/// The column that a condition gives one value.
fn equal_column(pred: &Pred) -> Option<ColId> {
    match pred {
        Pred::Compare(c) => {
            with_constant(c).filter(|(_, op, _)| *op == CompareOp::Equal).map(|(id, ..)| id)
        }
        _ => None,
    }
}

/// Takes from equalities those of which it is known how many combinations of values their columns
/// have, and gives the share of the rows that they keep together: a value that is more frequent
/// than the others of its column makes it larger.
fn together(equals: &mut Vec<(ColId, f64)>, input: &Logical) -> Option<f64> {
    let get = match &equals[..] {
        [(first, _), _, ..] => source(input, *first)?,
        _ => return None,
    };
    let id_of = |column: ColId| Some(get.table.columns[get.position(column)?].column_id);
    let ids: Vec<i32> = equals.iter().filter_map(|(column, _)| id_of(*column)).collect();
    let columns: Vec<ColId> = equals.iter().map(|(column, _)| *column).collect();
    if let Some(rows) = super::unique_rows(input, &columns) {
        let least = equals.iter().fold(1.0 / rows, |least, (_, share)| least.min(*share));
        equals.clear();
        return Some(least);
    }
    let (known, distinct) = statistics::together(&get.db, &get.table, &ids)?;
    let (mut share, mut least) = (1.0 / distinct, 1.0f64);
    let of_known =
        |(column, _): &mut (ColId, f64)| id_of(*column).is_some_and(|id| known.contains(&id));
    for (column, own) in equals.extract_if(.., of_known) {
        if let Some(average) = known_average(column, input) {
            share *= own / average;
        }
        least = least.min(own);
    }
    Some(share.min(least))
}

/// The share of the rows with any one value of a column.
fn known_average(column: ColId, input: &Logical) -> Option<f64> {
    known(column, input)?.measured.densities.first().copied().filter(|average| *average > 0.0)
}

/// The part of a column's values between two bounds, as shares of the rows below them.
pub(super) struct Range {
    column: ColId,
    low: f64,
    high: f64,
    /// No range keeps less.
    least: f64,
}

impl Range {
    pub(super) fn narrow(&mut self, other: &Range) {
        self.low = self.low.max(other.low);
        self.high = self.high.min(other.high);
    }

    pub(super) fn share(&self) -> f64 {
        (self.high - self.low).clamp(self.least, 1.0)
    }
}

/// What is known of a column that comes from a base table.
pub(super) struct KnownColumn<'l> {
    pub get: &'l Get,
    pub at: usize,
    pub measured: Arc<MeasuredValues>,
}

pub(super) fn known(id: ColId, input: &Logical) -> Option<KnownColumn<'_>> {
    let get = source(input, id)?;
    let at = get.position(id)?;
    let measured = statistics::of_column(&get.db, &get.table, at)?;
    Some(KnownColumn { get, at, measured })
}

impl KnownColumn<'_> {
    fn constant(&self, e: &Expr) -> Option<Value> {
        constant(e, self.get)
    }

    /// The part of the values that a comparison of the column keeps, if it is no equality.
    pub(super) fn range(&self, c: &CompareExpr) -> Option<Range> {
        let (column, op, other) = with_constant(c)?;
        if matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            return None;
        }
        let key = self.key(&self.constant(other)?)?;
        let below = |inclusive| self.measured.share_below(&key, inclusive);
        let top = 1.0 - self.measured.share_null();
        let (low, high) = match op {
            CompareOp::Less => (0.0, below(false)),
            CompareOp::LessEqual => (0.0, below(true)),
            CompareOp::Greater => (below(true), top),
            _ => (below(false), top),
        };
        Some(Range { column, low, high, least: 1.0 / self.measured.rows.max(1.0) })
    }

    /// The share of the rows whose value equals what the column is compared with; of any one value
    /// where that is not known.
    pub(super) fn equal(&self, c: &CompareExpr) -> Option<f64> {
        let (_, _, other) = with_constant(c)?;
        match self.constant(other).and_then(|value| self.key(&value)) {
            Some(key) => Some(self.measured.share_equal(&key)),
            None => self.measured.densities.first().copied(),
        }
    }

    /// The normalised key of a constant, as one of the column's values.
    pub(super) fn key(&self, value: &Value) -> Option<Vec<u8>> {
        let column = &self.get.table.columns[self.at];
        let mut key = Vec::new();
        // Decimals of one key have one scale.
        let as_is = value.is_kind_of(column.ty) && !matches!(value, Value::Decimal(_));
        if as_is {
            encode_key_part(value, &key_part(column), &mut key);
        } else {
            let (from, to) = (value.natural_type(), column.ty);
            let value = types::convert(value, from, to, 0, types::Mode::Explicit).ok()?;
            encode_key_part(&value, &key_part(column), &mut key);
        }
        Some(key)
    }
}

/// The column itself, or in a wider type.
pub(super) fn column_of(e: &Expr) -> Option<ColId> {
    match e {
        Expr::Col(id) => Some(*id),
        Expr::Convert(c) => match (&c.operand, rounding::kept(c.from, c.to)) {
            (Expr::Col(id), Some(KeptOrder::Each)) => Some(*id),
            _ => None,
        },
        _ => None,
    }
}

/// A column in a type in which several of its values may be one, with its own type and that one.
fn rounded_column(e: &Expr) -> Option<(ColId, DataType, DataType)> {
    match e {
        Expr::Convert(c) => match (&c.operand, rounding::kept(c.from, c.to)) {
            (Expr::Col(id), Some(KeptOrder::Rounded | KeptOrder::Near)) => {
                Some((*id, c.from, c.to))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The part of a column's values of which a comparison of the column in such a type may be true.
fn rounded_range(c: &CompareExpr, input: &Logical) -> Option<Range> {
    let ((column, from, to), op, other) = match (rounded_column(&c.left), rounded_column(&c.right))
    {
        (Some(column), _) if c.right.is_fixed() => (column, c.op, &c.right),
        (_, Some(column)) if c.left.is_fixed() => (column, mirrored(c.op), &c.left),
        _ => return None,
    };
    if op == CompareOp::NotEqual {
        return None;
    }
    let known = known(column, input)?;
    let value = known.constant(other)?;
    let (least, greatest) = reach(&value, from, to);
    let top = 1.0 - known.measured.share_null();
    let place = |end: Option<Value>, inclusive| {
        let key = known.key(&end?)?;
        Some(known.measured.share_below(&key, inclusive))
    };
    let below = |end| place(end, false).unwrap_or(0.0);
    let through = |end| place(end, true).unwrap_or(top);
    let (low, high) = match op {
        CompareOp::Less => (0.0, below(least)),
        CompareOp::LessEqual => (0.0, through(greatest)),
        CompareOp::Greater => (through(greatest), top),
        CompareOp::GreaterEqual => (below(least), top),
        _ => (below(least), through(greatest)),
    };
    Some(Range { column, low, high, least: 1.0 / known.measured.rows.max(1.0) })
}

/// A comparison of a column with something that is the same for all rows.
pub(super) fn with_constant(c: &CompareExpr) -> Option<(ColId, CompareOp, &Expr)> {
    let one = |column: &Expr, op, other| Some((column_of(column)?, op, other));
    if c.right.is_fixed() {
        one(&c.left, c.op, &c.right)
    } else if c.left.is_fixed() {
        one(&c.right, mirrored(c.op), &c.left)
    } else {
        None
    }
}

fn range_of(pred: &Pred, input: &Logical) -> Option<Range> {
    let Pred::Compare(c) = pred else { return None };
    if let Some(range) = rounded_range(c, input) {
        return Some(range);
    }
    let (column, op, _) = with_constant(c)?;
    if matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
        return None;
    }
    known(column, input)?.range(c)
}

/// The share of the rows that a condition keeps.
pub fn share(pred: &Pred, input: &Logical) -> f64 {
    let share = match pred {
        Pred::Const(Some(true)) => 1.0,
        Pred::Const(_) => 0.0,
        Pred::Compare(c) => compared(pred, c, input),
        Pred::And(list) => kept(list, input),
        Pred::Or(list) => {
            let seen = list.iter().take(MOST_LOOKED_AT);
            let missed: f64 = seen.map(|p| 1.0 - share(p, input)).product();
            1.0 - missed.powf(list.len() as f64 / list.len().clamp(1, MOST_LOOKED_AT) as f64)
        }
        Pred::Not(p) => (1.0 - share(p, input)).max(0.05),
        Pred::IsNull(e, negated) => {
            let null = column_of(e)
                .and_then(|id| known(id, input))
                .map(|known| known.measured.share_null());
            let null = null.unwrap_or(1.0 - NOT_NULL);
            if *negated { 1.0 - null } else { null }
        }
        Pred::Like(like) => {
            let share = liked(like, input);
            if like.negated { 1.0 - share } else { share }
        }
        Pred::InList(list) => {
            let share = listed(list, input);
            if list.negated { 1.0 - share } else { share }
        }
        Pred::Distinct(..) | Pred::Exists(_) | Pred::Quantified(_) => OTHER,
    };
    share.clamp(0.0, 1.0)
}

fn compared(pred: &Pred, c: &CompareExpr, input: &Logical) -> f64 {
    if let Some(range) = range_of(pred, input) {
        return range.share();
    }
    let Some((column, op, other)) = with_constant(c) else {
        return match c.op {
            CompareOp::Equal => EQUAL,
            CompareOp::NotEqual => NOT_NULL,
            _ => RANGE,
        };
    };
    match op {
        CompareOp::Equal => equal(column, other, input),
        CompareOp::NotEqual => 1.0 - equal(column, other, input),
        op => having::share(column, op, other, input).unwrap_or(RANGE),
    }
}

/// The share of the rows with one value of a column, of a known or of any one.
fn equal(column: ColId, value: &Expr, input: &Logical) -> f64 {
    if let Some(rows) = super::unique_rows(input, &[column]) {
        return 1.0 / rows;
    }
    let Some(known) = known(column, input) else {
        return super::view_values(input, column).map_or(EQUAL, |(values, _)| 1.0 / values);
    };
    match known.constant(value).and_then(|value| known.key(&value)) {
        Some(key) => known.measured.share_equal(&key),
        None => known.measured.densities.first().copied().unwrap_or(EQUAL),
    }
}

fn listed(list: &InListExpr, input: &Logical) -> f64 {
    let count = list.list.len();
    let column = column_of(&list.operand);
    let known_column = column.and_then(|column| known(column, input));
    let Some(known) = known_column.filter(|_| count > FEW_LISTED) else {
        let one = |e: &Expr| column.map_or(EQUAL, |column| equal(column, e, input));
        // Nothing but their number tells of the others.
        let seen: f64 = list.list.iter().take(FEW_LISTED).map(one).sum();
        return (seen * (count as f64 / count.clamp(1, FEW_LISTED) as f64)).min(1.0);
    };
    // One of them may be more frequent than all others.
    let average = known.measured.densities.first().copied().unwrap_or(EQUAL);
    let one = |e: &Expr| match known.constant(e) {
        Some(value) if value.is_null() => 0.0,
        Some(value) => known.key(&value).map_or(average, |key| known.measured.share_equal(&key)),
        None => average,
    };
    let seen: f64 = list.list.iter().take(MOST_LISTED).map(one).sum();
    (seen * (count as f64 / count.min(MOST_LISTED) as f64)).min(1.0)
}

/// LIKE: the range of what the pattern begins with; without a beginning, what it says of the texts
/// in the histogram.
fn liked(like: &LikeExpr, input: &Logical) -> f64 {
    let Expr::Col(id) = &like.operand else { return LIKE };
    let Some(known) = known(*id, input) else { return LIKE };
    let Some(pattern) = known_pattern(like, known.get) else { return LIKE };
    let steps = &known.measured.histogram.steps;
    if !pattern.prefix().is_empty() {
        let mut after = String::from(pattern.prefix());
        after.push(char::MAX);
        let keys = known.key(&Value::str(pattern.prefix())).zip(known.key(&Value::str(&after)));
        let Some((low, high)) = keys else { return LIKE };
        let share =
            known.measured.share_below(&high, true) - known.measured.share_below(&low, false);
        return share.max(1.0 / known.measured.rows.max(1.0));
    }
    if steps.len() < STEPS_FOR_PATTERNS {
        return LIKE;
    }
    let matches = |value: &Value| {
        value.as_str().is_some_and(|text| pattern.matches(text, like.collation, like.unicode))
    };
    let hits = steps.iter().filter(|step| matches(&step.value)).count() as f64;
    (hits.max(0.5)) / steps.len() as f64
}
