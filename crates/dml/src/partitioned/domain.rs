//! Which values of a column a CHECK constraint admits, as intervals, and which table of a
//! partitioned view a value belongs to.
//! Guarantees: an interval ends between two values, so that intervals are disjoint or share a
//! value; a constraint that is not made of comparisons of the column with constants has no
//! intervals, and the column partitions nothing by it.

use catalog::ColumnDef;
use expr::{CompareExpr, Constant, Expr, Pred, mirrored};
use std::cmp::Ordering;
use syntax::ast::CompareOp;
use types::convert::{Mode, convert};
use types::ops::compare;
use types::rounding::{KeptOrder, kept};
use types::{Collation, DataType, Dialect, Value};

/// A place between two values: before a value, or behind it.
#[derive(Clone, Debug)]
struct DomainCut {
    value: Value,
    behind: bool,
}

impl DomainCut {
    fn order(&self, other: &DomainCut, collation: Collation) -> Option<Ordering> {
        let values = compare(&self.value, &other.value, collation)?;
        Some(values.then(self.behind.cmp(&other.behind)))
    }
}

/// A set of values: at each cut, in their order, it begins or ends.
#[derive(Clone, Debug)]
pub struct Domain {
    collation: Collation,
    /// The smallest values are in it.
    from_start: bool,
    cuts: Vec<DomainCut>,
}

impl Domain {
    fn all(column: &ColumnDef) -> Domain {
        Domain { collation: column.collation, from_start: true, cuts: Vec::new() }
    }

    /// The values that compare so with a constant.
    fn of(op: CompareOp, value: &Value, column: &ColumnDef) -> Domain {
        let before = || DomainCut { value: value.clone(), behind: false };
        let behind = || DomainCut { value: value.clone(), behind: true };
        let (from_start, cuts) = match op {
            CompareOp::Less => (true, vec![before()]),
            CompareOp::LessEqual => (true, vec![behind()]),
            CompareOp::Greater => (false, vec![behind()]),
            CompareOp::GreaterEqual => (false, vec![before()]),
            CompareOp::Equal => (false, vec![before(), behind()]),
            CompareOp::NotEqual => (true, vec![before(), behind()]),
        };
        Domain { collation: column.collation, from_start, cuts }
    }

    /// All other values.
    #[must_use]
    pub fn complement(self) -> Domain {
        Domain { from_start: !self.from_start, ..self }
    }

    /// The values of both, or of either. None: the values of the two have no order.
    fn combine(self, other: Domain, both: bool) -> Option<Domain> {
        let inside = |a: bool, b: bool| if both { a && b } else { a || b };
        let (mut a, mut b) = (self.from_start, other.from_start);
        let mut result = Domain { from_start: inside(a, b), cuts: Vec::new(), ..self };
        let mut now = result.from_start;
        let (mut left, mut right) =
            (self.cuts.into_iter().peekable(), other.cuts.into_iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Some(result),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(x), Some(y)) => x.order(y, result.collation)?,
            };
            let mut cut = None;
            if order != Ordering::Greater {
                cut = left.next();
                a = !a;
            }
            if order != Ordering::Less {
                cut = right.next();
                b = !b;
            }
            if inside(a, b) != now {
                now = !now;
                result.cuts.extend(cut);
            }
        }
    }

    /// The values of a column that satisfy a condition over nothing but the column.
    pub fn of_condition(pred: &Pred, column: &ColumnDef) -> Option<Domain> {
        let all = |list: &[Pred], both: bool| {
            let mut parts = list.iter().map(|part| Domain::of_condition(part, column));
            let first = parts.next()??;
            parts.try_fold(first, |all, part| all.combine(part?, both))
        };
        stack::with_room(|| match pred {
            Pred::Const(Some(true)) => Some(Domain::all(column)),
            Pred::Const(Some(false)) => Some(Domain::all(column).complement()),
            Pred::And(list) => all(list, true),
            Pred::Or(list) => all(list, false),
            Pred::Not(part) => Domain::of_condition(part, column).map(Domain::complement),
            Pred::Compare(compared) => compared_with_constant(compared, column),
            Pred::InList(list) => {
                let one = |item| {
                    comparison(CompareOp::Equal, &list.operand, item, list.collation, column)
                };
                let mut items = list.list.iter().map(one);
                let first = items.next()??;
                let found = items.try_fold(first, |all, item| all.combine(item?, false))?;
                Some(if list.negated { found.complement() } else { found })
            }
            // The column of a key has no NULL.
            Pred::IsNull(e, negated) if matches!(**e, Expr::Col(_)) => {
                let all = Domain::all(column);
                Some(if *negated { all } else { all.complement() })
            }
            _ => None,
        })
    }
}

fn compared_with_constant(compared: &CompareExpr, column: &ColumnDef) -> Option<Domain> {
    let CompareExpr { op, left, right, collation } = compared;
    comparison(*op, left, right, *collation, column)
        .or_else(|| comparison(mirrored(*op), right, left, *collation, column))
}

/// `side op constant`, where `side` is the column as it is or as it is compared.
fn comparison(
    op: CompareOp,
    side: &Expr,
    constant: &Expr,
    collation: Collation,
    column: &ColumnDef,
) -> Option<Domain> {
    if column.ty.is_string() && collation != column.collation {
        return None;
    }
    let value = value_of(constant)?;
    match side {
        Expr::Col(_) => Some(Domain::of(op, &value, column)),
        Expr::Convert(c) if matches!(c.operand, Expr::Col(_)) && !c.or_null => {
            let (from, to) = (c.from, c.to);
            // Text is compared as it is, of whatever length.
            if from.is_string() && to.is_string() {
                return Some(Domain::of(op, &value, column));
            }
            keeps_order(from, to).then(|| converted(op, &value, (from, to), column))?
        }
        _ => None,
    }
}

/// Whether a larger value of one type is a larger one of the other: no two values become one.
fn keeps_order(from: DataType, to: DataType) -> bool {
    kept(from, to) == Some(KeptOrder::Each)
}

/// `CONVERT(to, column) op value`, as a comparison of the column itself with the value of its type
/// that is next to the constant.
fn converted(
    op: CompareOp,
    value: &Value,
    (from, to): (DataType, DataType),
    column: &ColumnDef,
) -> Option<Domain> {
    let next = convert(value, to, from, 0, Mode::Explicit).ok()?;
    let back = convert(&next, from, to, 0, Mode::Explicit).ok()?;
    let op = match (compare(&back, value, column.collation)?, op) {
        (Ordering::Equal, op) => op,
        // No value of the column is the constant.
        (_, CompareOp::Equal) => return Some(Domain::all(column).complement()),
        (_, CompareOp::NotEqual) => return Some(Domain::all(column)),
        (Ordering::Less, CompareOp::Less | CompareOp::LessEqual) => CompareOp::LessEqual,
        (Ordering::Less, CompareOp::Greater | CompareOp::GreaterEqual) => CompareOp::Greater,
        (Ordering::Greater, CompareOp::Less | CompareOp::LessEqual) => CompareOp::Less,
        (Ordering::Greater, CompareOp::Greater | CompareOp::GreaterEqual) => {
            CompareOp::GreaterEqual
        }
    };
    Some(Domain::of(op, &next, column))
}

/// The value of a constant that is the same whenever and for whomever it is computed.
fn value_of(e: &Expr) -> Option<Value> {
    fn is_constant(e: &Expr) -> bool {
        match e {
            Expr::Const(_) => true,
            Expr::Convert(c) => is_constant(&c.operand),
            Expr::Negate(e, _) => is_constant(e),
            _ => false,
        }
    }
    if !is_constant(e) {
        return None;
    }
    let value = e.eval(&[], &mut Constant { dialect: Some(Dialect::DEFAULT) }).ok()?;
    (!value.is_null()).then_some(value)
}

/// Which of several tables a value belongs to.
#[derive(Debug)]
pub struct Routes {
    collation: Collation,
    /// That of the smallest values.
    first: Option<usize>,
    /// From each cut on, up to the next one.
    cuts: Vec<(DomainCut, Option<usize>)>,
}

impl Routes {
    /// The routes to tables that have these values each; none where a value belongs to two of them.
    pub fn of(domains: &[Domain]) -> Option<Routes> {
        let collation = domains.first()?.collation;
        let mut turns: Vec<(&DomainCut, usize)> = Vec::new();
        for (table, domain) in domains.iter().enumerate() {
            turns.extend(domain.cuts.iter().map(|cut| (cut, table)));
        }
        if let Some((first, _)) = turns.first()
            && turns.iter().any(|(cut, _)| first.order(cut, collation).is_none())
        {
            return None;
        }
        turns.sort_by(|(a, _), (b, _)| a.order(b, collation).unwrap_or(Ordering::Equal));
        let mut inside: Vec<bool> = domains.iter().map(|domain| domain.from_start).collect();
        let mut routes = Routes { collation, first: only(&inside)?, cuts: Vec::new() };
        for (at, (cut, table)) in turns.iter().enumerate() {
            inside[*table] = !inside[*table];
            let again = |(next, _): &(&DomainCut, usize)| {
                cut.order(next, collation) == Some(Ordering::Equal)
            };
            // Between two cuts at one place there is no value.
            if !turns.get(at + 1).is_some_and(again) {
                routes.cuts.push(((*cut).clone(), only(&inside)?));
            }
        }
        Some(routes)
    }

    /// The table of a value; none for NULL, and for one that belongs to no table.
    pub fn find(&self, value: &Value) -> Option<usize> {
        if value.is_null() {
            return None;
        }
        let before = |(cut, _): &(DomainCut, Option<usize>)| match compare(
            &cut.value,
            value,
            self.collation,
        ) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => !cut.behind,
            Some(Ordering::Greater) | None => false,
        };
        match self.cuts.partition_point(before) {
            0 => self.first,
            n => self.cuts.get(n - 1).and_then(|(_, table)| *table),
        }
    }
}

/// The one table that has the values of a stretch, if one has. None: two have.
fn only(inside: &[bool]) -> Option<Option<usize>> {
    let mut tables = (0..inside.len()).filter(|table| inside[*table]);
    let first = tables.next();
    tables.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column() -> ColumnDef {
        ColumnDef {
            column_id: 1,
            name: "k".into(),
            ty: DataType::Int,
            nullable: false,
            collation: Collation::DEFAULT,
            default: None,
            identity: None,
            computed: None,
            generated: None,
            alias: None,
            mask: None,
            traits: catalog::ColumnTraits::default(),
        }
    }

    fn than(op: CompareOp, value: i32) -> Domain {
        Domain::of(op, &Value::Int(value), &column())
    }

    fn between(low: i32, high: i32) -> Domain {
        than(CompareOp::GreaterEqual, low).combine(than(CompareOp::LessEqual, high), true).unwrap()
    }

    #[test]
    fn each_value_has_one_table() {
        let ranges = [than(CompareOp::Less, 10), between(10, 19), than(CompareOp::Equal, 25)];
        let routes = Routes::of(&ranges).unwrap();
        let found: Vec<_> =
            [-5, 9, 10, 19, 20, 24, 25, 26].map(|k| routes.find(&Value::Int(k))).into();
        assert_eq!(found, [Some(0), Some(0), Some(1), Some(1), None, None, Some(2), None]);
        assert_eq!(routes.find(&Value::Null), None);
    }

    #[test]
    fn a_value_of_two_tables_partitions_nothing() {
        assert!(
            Routes::of(&[than(CompareOp::LessEqual, 10), than(CompareOp::GreaterEqual, 10)])
                .is_none()
        );
        assert!(Routes::of(&[than(CompareOp::NotEqual, 3), between(2, 4)]).is_none());
        let rest = between(2, 4).complement();
        assert_eq!(Routes::of(&[rest, between(2, 4)]).unwrap().find(&Value::Int(5)), Some(0));
    }

    #[test]
    fn a_constant_between_two_values_of_the_column() {
        // k < 2.5 and k > 2.5, compared as decimals.
        let types = (DataType::Int, DataType::Float);
        let below = |op| converted(op, &Value::Float(2.5), types, &column()).unwrap();
        let routes = Routes::of(&[below(CompareOp::Less), below(CompareOp::Greater)]).unwrap();
        assert_eq!([2, 3].map(|k| routes.find(&Value::Int(k))), [Some(0), Some(1)]);
        assert!(Routes::of(&[below(CompareOp::Equal)]).unwrap().find(&Value::Int(2)).is_none());
        // -2.5 is cut off to -2, which lies above it.
        let low = converted(CompareOp::Less, &Value::Float(-2.5), types, &column()).unwrap();
        let routes = Routes::of(&[low]).unwrap();
        assert_eq!([-3, -2].map(|k| routes.find(&Value::Int(k))), [Some(0), None]);
    }
}
