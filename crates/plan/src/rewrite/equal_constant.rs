//! From `a.x = b.x AND a.x = 1` follows `b.x = 1`, through inner joins of any number of tables:
//! each of them is read by the value. So it does in the ON of an outer or semi join from a value of
//! the side whose rows it keeps: `a LEFT JOIN b ON b.x = a.x` under `a.x = 1` needs the rows of `b`
//! with `b.x = 1` alone. The equality stays, for the join; estimates know that it says nothing more
//! (`estimate::is_fixed`).
//! Guarantee: a row that is not given any more is rejected by the condition that the value comes
//! from. Nothing goes from the side of an outer join that may be missing to the other one. Columns
//! are of one type and compared under one collation, as only then what equals the one equals the
//! other.

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::estimate::fixed_by;
use crate::input::Input;
use crate::logical::{JoinKind, Logical};
use crate::sources::origin;
use expr::{ColId, CompareExpr, Expr, Pred};
use std::collections::{BTreeMap, HashMap, HashSet};
use syntax::ast::CompareOp;
use types::{Collation, DataType};

/// The rewrite.
pub static RULE: Rewrite =
    Rewrite { name: "EqualConstant", apply: |logical, pass| node(logical, &Known::new(), &mut 0, pass) };

/// What a column equals in all rows that are of use.
#[derive(Clone)]
struct Fixed {
    /// Of the condition that says so.
    number: usize,
    value: Expr,
    collation: Collation,
    ty: DataType,
}

/// In the order of the columns, so that a query has one plan.
type Known = BTreeMap<ColId, Fixed>;

/// Columns that a condition says are equal.
struct Equality {
    columns: [ColId; 2],
    collation: Collation,
}

impl Equality {
    fn of(pred: &Pred) -> Option<Equality> {
        match pred {
            Pred::Compare(c) if c.op == CompareOp::Equal => match (&c.left, &c.right) {
                (Expr::Col(a), Expr::Col(b)) => Some(Equality { columns: [*a, *b], collation: c.collation }),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Fixed {
    /// Whether a column of a type that equals one with this value equals the value, too.
    fn goes_on(&self, equality: &Equality, ty: DataType) -> bool {
        let same = self.ty == ty || (self.ty.is_string() && ty.is_string());
        same && ty != DataType::SqlVariant && (!ty.is_string() || self.collation == equality.collation)
    }

    fn condition(&self, column: ColId) -> Pred {
        let (left, right) = (Expr::Col(column), self.value.clone());
        Pred::Compare(Box::new(CompareExpr { op: CompareOp::Equal, left, right, collation: self.collation }))
    }
}

/// The type of a column of a base table.
fn type_of(logical: &Logical, id: ColId) -> Option<DataType> {
    let origin = origin(logical, id)?;
    let at = origin.get.position(origin.column)?;
    Some(origin.get.table.columns[at].ty)
}

/// A node whose rows are of use only if these columns have these values, which is tested above it;
/// `next`: the number of the next condition.
fn node(logical: Logical, above: &Known, next: &mut usize, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    stack::with_room(|| match logical {
        Logical::Filter { .. } => tree(logical, above, next, pass),
        Logical::Join { kind, hint: None, .. } if kind != JoinKind::Full => tree(logical, above, next, pass),
        Logical::Project { input, exprs } if exprs.iter().all(|(_, e)| is_plain(e)) => {
            let mut below = above.clone();
            for (made, e) in &exprs {
                if let (Expr::Col(from), Some(fixed)) = (e, above.get(made)) {
                    below.entry(*from).or_insert_with(|| fixed.clone());
                }
            }
            let input = Input::new(node(input.into_inner(), &below, next, pass));
            Logical::Project { input, exprs }
        }
        other => with_inputs(other, &mut |input| node(input, &Known::new(), next, pass)),
    })
}

/// An expression that cannot fail, of whatever rows.
fn is_plain(e: &Expr) -> bool {
    matches!(e, Expr::Col(_)) || e.is_one_value()
}

/// What the conditions of a tree of inner joins say, and of those on whose rows it is made.
#[derive(Default)]
struct Said {
    equalities: Vec<Equality>,
    fixed: Vec<(ColId, Expr, Collation)>,
}

impl Said {
    fn look(&mut self, preds: &[Pred]) {
        for pred in preds {
            if let Some((id, value, collation)) = fixed_by(pred) {
                self.fixed.push((id, value.clone(), collation));
            }
            self.equalities.extend(Equality::of(pred));
        }
    }

    fn gather(&mut self, logical: &Logical) {
        stack::with_room(|| match logical {
            Logical::Filter { input, preds } => {
                self.look(preds);
                self.gather(input);
            }
            Logical::Join { kind: JoinKind::Inner, left, right, on, hint: None } => {
                self.look(on);
                self.gather(left);
                self.gather(right);
            }
            Logical::Join { kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, .. } => {
                self.gather(left);
            }
            _ => {}
        })
    }
}

/// A tree of joins under conditions.
fn tree(logical: Logical, above: &Known, next: &mut usize, pass: &mut Pass<'_, '_>) -> Logical {
    let mut said = Said::default();
    said.gather(&logical);
    let mut known = above.clone();
    for (id, value, collation) in said.fixed {
        if let Some(ty) = type_of(&logical, id)
            && !known.contains_key(&id)
        {
            known.insert(id, Fixed { number: *next, value, collation, ty });
            *next += 1;
        }
    }
    let given: HashSet<ColId> = known.keys().copied().collect();
    spread(&mut known, &said.equalities, &logical);
    let mut extended = Extended { known, given, changed: false };
    let logical = extended.tree(logical, next, pass);
    if extended.changed {
        pass.changed();
    }
    logical
}

/// Adds the columns that equal one with a value.
fn spread(known: &mut Known, equalities: &[Equality], logical: &Logical) {
    let mut beside: HashMap<ColId, Vec<&Equality>> = HashMap::new();
    for equality in equalities {
        equality.columns.iter().for_each(|id| beside.entry(*id).or_default().push(equality));
    }
    let mut reached: Vec<ColId> = known.keys().copied().collect();
    while let Some(id) = reached.pop() {
        let Some(fixed) = known.get(&id).cloned() else { continue };
        for equality in beside.get(&id).into_iter().flatten() {
            let [a, b] = equality.columns;
            let other = if a == id { b } else { a };
            if known.contains_key(&other) {
                continue;
            }
            if let Some(ty) = type_of(logical, other)
                && fixed.goes_on(equality, ty)
            {
                known.insert(other, Fixed { ty, ..fixed.clone() });
                reached.push(other);
            }
        }
    }
}

/// A tree that gets what follows.
struct Extended {
    known: Known,
    /// Columns of which a condition says the value.
    given: HashSet<ColId>,
    changed: bool,
}

impl Extended {
    fn tree(&mut self, logical: Logical, next: &mut usize, pass: &mut Pass<'_, '_>) -> Logical {
        if pass.is_over() {
            return logical;
        }
        stack::with_room(|| match logical {
            Logical::Filter { input, preds } => {
                let preds = self.conditions(preds);
                self.tree(input.into_inner(), next, pass).filtered(preds)
            }
            Logical::Join { kind: JoinKind::Inner, left, right, on, hint: None } => {
                let on = self.conditions(on);
                let left = Input::new(self.tree(left.into_inner(), next, pass));
                let right = Input::new(self.tree(right.into_inner(), next, pass));
                Logical::Join { kind: JoinKind::Inner, left, right, on, hint: None }
            }
            Logical::Join {
                kind: kind @ (JoinKind::Left | JoinKind::Semi | JoinKind::Anti),
                left,
                right,
                on,
                hint,
            } => {
                let (on, found) = match hint {
                    None => self.of_kept_side(on, &left, &right),
                    Some(_) => (on, Known::new()),
                };
                let left = Input::new(self.tree(left.into_inner(), next, pass));
                let right = Input::new(node(right.into_inner(), &found, next, pass));
                Logical::Join { kind, left, right, on, hint }
            }
            other => node(other, &self.known, next, pass),
        })
    }

    /// The conditions of an inner join or a filter.
    fn conditions(&mut self, preds: Vec<Pred>) -> Vec<Pred> {
        let mut all = Vec::with_capacity(preds.len());
        for pred in preds {
            let follows = Equality::of(&pred).and_then(|equality| self.follows(&equality));
            for (column, fixed) in follows.into_iter().flatten() {
                if self.given.insert(column) {
                    self.changed = true;
                    all.push(fixed.condition(column));
                }
            }
            all.push(pred);
        }
        all
    }

    /// The values of two columns that are equal because they have one value.
    fn follows(&self, equality: &Equality) -> Option<[(ColId, Fixed); 2]> {
        let [a, b] = equality.columns;
        let (of_a, of_b) = (self.known.get(&a)?, self.known.get(&b)?);
        let same = of_a.number == of_b.number && a != b && of_a.goes_on(equality, of_b.ty);
        same.then(|| [(a, of_a.clone()), (b, of_b.clone())])
    }

    /// The ON of a join that keeps rows of its left side, and the values of the right side's
    /// columns that it says.
    fn of_kept_side(&mut self, on: Vec<Pred>, left: &Logical, right: &Logical) -> (Vec<Pred>, Known) {
        let (of_left, of_right) = (left.columns(), right.columns());
        let mut found = Known::new();
        let mut all = Vec::with_capacity(on.len());
        for pred in on {
            let value = Equality::of(&pred).and_then(|equality| {
                let [a, b] = equality.columns;
                let (own, other) = match (of_left.contains(a), of_left.contains(b)) {
                    (true, false) => (a, b),
                    (false, true) => (b, a),
                    _ => return None,
                };
                let fixed = self.known.get(&own).filter(|_| of_right.contains(other))?;
                let ty = type_of(right, other)?;
                fixed.goes_on(&equality, ty).then(|| (other, Fixed { ty, ..fixed.clone() }))
            });
            if let Some((column, fixed)) = value
                && !found.contains_key(&column)
            {
                self.changed = true;
                all.push(fixed.condition(column));
                found.insert(column, fixed);
            }
            all.push(pred);
        }
        (all, found)
    }
}
