//! Constants that a value is compared with for equality, one after another: IN lists, and CASE with
//! a branch for each value. They are put in order once, so that the value of a row is looked up in
//! them instead of compared with each; a list with variables once in each run ([`KeptList`]).
//! Guarantee: what [`Lookup::place`] says is what comparing with one constant after another would
//! say; where it cannot tell it says so.

use crate::key::encode;
use crate::large::LARGE;
use crate::{CompareExpr, Expr, Pred};
use std::cmp::Ordering;
use std::mem::discriminant;
use syntax::ast::CompareOp;
use types::{Collation, Value, ops};

/// So many constants are looked through sooner than a value is looked up in them.
pub(crate) const FEW: usize = 8;

/// Constants of one kind.
#[derive(Debug)]
pub struct Lookup {
    keys: Keys,
    /// One of them is NULL, which no value equals.
    has_null: bool,
}

/// The constants that are not NULL, each once and in order, with the number of the first that is
/// so.
#[derive(Debug)]
enum Keys {
    /// Whole numbers, of whatever size.
    Whole(Vec<(i64, u32)>),
    /// Texts, by what their collation compares.
    Texts(Vec<(Box<[u8]>, u32)>),
    /// Other values of one kind.
    Ordered(Vec<(Value, u32)>),
}

/// Where a value stands among the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantPlace {
    /// The number of the first constant that it equals.
    At(usize),
    /// It equals none of them.
    Nowhere,
    /// It has to be compared: it is of another kind, or large.
    Unknown,
}

/// What a run knows of the values of an IN list that are the same for all of it.
#[derive(Debug, Default)]
pub enum KeptList {
    /// Nothing: no value was looked for in it.
    #[default]
    New,
    /// One value was: for one alone it is not worth it to put the list in order.
    Asked,
    /// The values, in order.
    Ordered(Lookup),
    /// They are compared with one after another: they are not of one kind, or one has no value.
    Compared,
}

impl Lookup {
    /// Of constants that are compared under a collation; `None` where they are few, or not all of
    /// one kind that has an order.
    pub(crate) fn of(constants: &[&Value], collation: Collation) -> Option<Lookup> {
        if constants.len() <= FEW || u32::try_from(constants.len()).is_err() {
            return None;
        }
        let given: Vec<(&Value, u32)> =
            constants.iter().copied().zip(0..).filter(|(value, _)| !value.is_null()).collect();
        let has_null = given.len() < constants.len();
        Some(Lookup { keys: Keys::of(&given, collation)?, has_null })
    }

    /// Whether one of the constants is NULL.
    pub(crate) fn has_null(&self) -> bool {
        self.has_null
    }

    /// Where a value that is not NULL stands among the constants; the collation is that of
    /// [`Lookup::of`].
    pub(crate) fn place(&self, value: &Value, collation: Collation) -> ConstantPlace {
        let found = match &self.keys {
            Keys::Whole(all) => {
                let Some(number) = value.as_i64() else { return ConstantPlace::Unknown };
                let at = all.binary_search_by_key(&number, |(one, _)| *one);
                at.ok().map(|at| all[at].1)
            }
            Keys::Texts(all) => {
                if !matches!(value, Value::Str(_)) || value.heap_bytes() >= LARGE {
                    return ConstantPlace::Unknown;
                }
                let key = text_key(value, collation);
                let at = all.binary_search_by(|(one, _)| (**one).cmp(key.as_slice()));
                at.ok().map(|at| all[at].1)
            }
            Keys::Ordered(all) => {
                let alike = all
                    .first()
                    .is_some_and(|(first, _)| discriminant(first) == discriminant(value));
                if !alike {
                    return ConstantPlace::Unknown;
                }
                let at = all.binary_search_by(|(one, _)| order(one, value, collation));
                at.ok().map(|at| all[at].1)
            }
        };
        found.map_or(ConstantPlace::Nowhere, |at| ConstantPlace::At(at as usize))
    }
}

impl Keys {
    fn of(given: &[(&Value, u32)], collation: Collation) -> Option<Keys> {
        let numbers: Option<Vec<(i64, u32)>> =
            given.iter().map(|(value, at)| Some((value.as_i64()?, *at))).collect();
        if let Some(mut all) = numbers {
            all.sort_unstable();
            all.dedup_by_key(|one| one.0);
            return Some(Keys::Whole(all));
        }
        let (first, _) = *given.first()?;
        let alike = |(value, _): &(&Value, u32)| {
            let ordered = ops::compare(value, value, collation) == Some(Ordering::Equal);
            ordered && discriminant(*value) == discriminant(first)
        };
        // Values of sql_variant have orders of their own.
        if matches!(first, Value::Variant(_)) || !given.iter().all(alike) {
            return None;
        }
        if matches!(first, Value::Str(_)) {
            let mut all: Vec<(Box<[u8]>, u32)> =
                given.iter().map(|(value, at)| (text_key(value, collation).into(), *at)).collect();
            all.sort_unstable();
            all.dedup_by(|later, one| later.0 == one.0);
            return Some(Keys::Texts(all));
        }
        let mut all: Vec<(Value, u32)> =
            given.iter().map(|(value, at)| ((*value).clone(), *at)).collect();
        all.sort_by(|a, b| order(&a.0, &b.0, collation).then(a.1.cmp(&b.1)));
        all.dedup_by(|later, one| order(&later.0, &one.0, collation).is_eq());
        Some(Keys::Ordered(all))
    }
}

/// The constants that the first branches of a CASE compare one column or variable with.
#[derive(Debug)]
pub struct BranchLookup {
    /// So many branches.
    pub(crate) count: usize,
    pub(crate) constants: Lookup,
}

impl BranchLookup {
    pub(crate) fn of(branches: &[(Pred, Expr)]) -> Option<BranchLookup> {
        let Some((Pred::Compare(first), _)) = branches.first() else { return None };
        let constants: Vec<&Value> =
            branches.iter().map_while(|(when, _)| constant_of(when, first)).collect();
        let count = constants.len();
        Some(BranchLookup { count, constants: Lookup::of(&constants, first.collation)? })
    }
}

/// The constant of an equality, if it is one of the same column or variable as another comparison.
fn constant_of<'p>(when: &'p Pred, first: &CompareExpr) -> Option<&'p Value> {
    let Pred::Compare(c) = when else { return None };
    let same = match (&c.left, &first.left) {
        (Expr::Col(a), Expr::Col(b)) => a == b,
        (Expr::Var(a), Expr::Var(b)) => a == b,
        _ => false,
    };
    let alike = same && c.op == CompareOp::Equal && c.collation == first.collation;
    c.right.as_const().filter(|_| alike)
}

/// The order of two values of one kind.
fn order(a: &Value, b: &Value, collation: Collation) -> Ordering {
    ops::compare(a, b, collation).unwrap_or(Ordering::Equal)
}

/// Bytes that are equal where a collation calls texts equal.
fn text_key(value: &Value, collation: Collation) -> Vec<u8> {
    let mut key = Vec::with_capacity(32);
    encode(value, collation, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Decimal;

    /// Where comparing with one constant after another finds a value.
    fn compared(constants: &[Value], value: &Value) -> ConstantPlace {
        let equal =
            |one: &Value| ops::compare(value, one, Collation::DEFAULT) == Some(Ordering::Equal);
        constants.iter().position(equal).map_or(ConstantPlace::Nowhere, ConstantPlace::At)
    }

    fn check(constants: &[Value], others: &[Value]) {
        let given: Vec<&Value> = constants.iter().collect();
        let lookup = Lookup::of(&given, Collation::DEFAULT).expect("constants of one kind");
        assert_eq!(lookup.has_null(), constants.iter().any(Value::is_null));
        for value in constants.iter().chain(others).filter(|value| !value.is_null()) {
            assert_eq!(
                lookup.place(value, Collation::DEFAULT),
                compared(constants, value),
                "{value:?} in {constants:?}"
            );
        }
    }

    #[test]
    fn a_value_is_found_where_comparing_finds_it() {
        let whole: Vec<Value> =
            [5, -1, 7, 5, 0, i32::MIN, i32::MAX, 3, 4, 7].map(Value::Int).into();
        check(
            &whole,
            &[Value::Int(1), Value::BigInt(7), Value::TinyInt(3), Value::BigInt(1 << 40)],
        );
        let texts = ["b", "a", "B ", "ab", "", "c", "abc", "x", "y", "Z"].map(Value::str);
        check(
            &texts,
            &[
                Value::str("A  "),
                Value::str("z"),
                Value::str("aB"),
                Value::str("  "),
                Value::str("q"),
            ],
        );
        let decimal = |mantissa, scale| Value::Decimal(Decimal::new(mantissa, 10, scale).unwrap());
        let decimals: Vec<Value> =
            (0..9).map(|n| decimal(n * 10, 1)).chain([decimal(25, 1)]).collect();
        check(&decimals, &[decimal(3, 0), decimal(250, 2), decimal(26, 1), decimal(-1, 0)]);
        let floats: Vec<Value> =
            [0.0, -0.0, 1.5, -3.0, 1e300, 2.0, 4.0, 8.0, 16.0].map(Value::Float).into();
        check(&floats, &[Value::Float(-0.0), Value::Float(1.0)]);
        let mut with_null = whole.clone();
        with_null.insert(2, Value::Null);
        check(&with_null, &[Value::Int(2)]);
    }

    #[test]
    fn what_it_cannot_tell_it_leaves() {
        let few: Vec<Value> = (0..FEW as i32).map(Value::Int).collect();
        assert!(Lookup::of(&few.iter().collect::<Vec<_>>(), Collation::DEFAULT).is_none());
        let mut mixed: Vec<Value> = (0..20).map(Value::Int).collect();
        mixed.push(Value::str("5"));
        assert!(Lookup::of(&mixed.iter().collect::<Vec<_>>(), Collation::DEFAULT).is_none());
        let numbers: Vec<Value> = (0..20).map(Value::Int).collect();
        let lookup = Lookup::of(&numbers.iter().collect::<Vec<_>>(), Collation::DEFAULT).unwrap();
        assert_eq!(lookup.place(&Value::str("5"), Collation::DEFAULT), ConstantPlace::Unknown);
        assert_eq!(lookup.place(&Value::Float(5.0), Collation::DEFAULT), ConstantPlace::Unknown);
    }
}
