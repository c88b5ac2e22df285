//! From `a.x = b.x AND a.x = 1` follows `b.x = 1`, through inner joins of any number of tables:
//! each of them is read by the value. The ends of a range and a list of constants (`a.x > 5`,
//! `a.x IN (5, 7)`) go on as well, of a column that has no value. So they do in the ON of an outer
//! or semi join from the side whose rows it keeps: `a LEFT JOIN b ON b.x = a.x` under `a.x = 1`
//! needs the rows of `b` with `b.x = 1` alone. The equality stays, for the join; estimates know
//! that it says nothing more beside a value (`estimate::is_fixed`), and that a limit on both sides
//! takes rows from one of them (`estimate::common_values`).
//! Guarantee: a row that is not given any more is rejected by the condition that the new one comes
//! from. A column gets a few conditions at most, and none that it has. Nothing goes from the side
//! of an outer join that may be missing to the other one. Columns are of one type and compared
//! under one collation, as only then what equals the one is below, above or equal to what the other
//! is.

use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use crate::estimate::{below_filters, fixed_by, limited_by};
use expr::{ColId, Expr, Pred};
use logical::tree::input::Input;
use logical::tree::sources::origin;
use logical::tree::{JoinKind, Logical};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use syntax::ast::CompareOp;
use types::{Collation, DataType};

/// The rewrite.
pub static RULE: Rewrite = Rewrite {
    name: "EqualConstant",
    apply: |logical, pass| node(logical, &Known::new(), &mut 0, pass),
};

/// So many conditions of other columns go on to one.
const MOST: usize = 4;
/// A longer list stays where it is: each copy is tested on rows and looked through by the planner.
const MOST_LISTED: usize = 128;

/// What a condition says of a column in all rows that are of use.
#[derive(Clone)]
struct Fixed {
    /// Of the condition that says so.
    number: usize,
    /// The condition, of the column that it was written for.
    pred: Pred,
    /// It says the column's value, and all there is to say.
    is_value: bool,
    /// What it says, whatever the column.
    said: Arc<str>,
    collation: Collation,
    ty: DataType,
}

/// In the order of the columns, so that a query has one plan.
type Known = BTreeMap<ColId, Vec<Fixed>>;

/// Adds what is said of a column, unless it is known or more than enough is.
fn add(known: &mut Known, column: ColId, fixed: Fixed) -> bool {
    let all = known.entry(column).or_default();
    let is_new = match fixed.is_value {
        true => !all.iter().any(|of| of.is_value),
        false => all.len() < MOST && !all.iter().any(|of| of.is_value || of.said == fixed.said),
    };
    if is_new {
        all.push(fixed);
    }
    is_new
}

/// A condition on one column as one on another.
fn of_column(pred: &Pred, column: ColId) -> Pred {
    let mut pred = pred.clone();
    pred.leaves_mut(&mut |leaf| {
        if let Expr::Col(id) = leaf {
            *id = column;
        }
    });
    pred
}

/// Columns that a condition says are equal.
struct Equality {
    columns: [ColId; 2],
    collation: Collation,
}

impl Equality {
    fn of(pred: &Pred) -> Option<Equality> {
        match pred {
            Pred::Compare(c) if c.op == CompareOp::Equal => match (&c.left, &c.right) {
                (Expr::Col(a), Expr::Col(b)) => {
                    Some(Equality { columns: [*a, *b], collation: c.collation })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl Fixed {
    /// Whether what is said of a column is true of one of a type that equals it, too.
    fn goes_on(&self, equality: &Equality, ty: DataType) -> bool {
        let same = self.ty == ty || (self.ty.is_string() && ty.is_string());
        same && ty != DataType::SqlVariant
            && (!ty.is_string() || self.collation == equality.collation)
    }

    fn condition(&self, column: ColId) -> Pred {
        of_column(&self.pred, column)
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
        Logical::Join { kind, hint: None, .. } if kind != JoinKind::Full => {
            tree(logical, above, next, pass)
        }
        Logical::Project { input, exprs } if exprs.iter().all(|(_, e)| is_plain(e)) => {
            let mut below = above.clone();
            for (made, e) in &exprs {
                if let (Expr::Col(from), Some(all)) = (e, above.get(made)) {
                    all.iter().for_each(|fixed| {
                        add(&mut below, *from, fixed.clone());
                    });
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
    values: Vec<(ColId, Pred, Collation)>,
    limits: Vec<(ColId, Pred, Collation)>,
}

impl Said {
    fn look(&mut self, preds: &[Pred]) {
        for pred in preds {
            if let Some((id, _, collation)) = fixed_by(pred) {
                self.values.push((id, pred.clone(), collation));
            } else if let Some((id, collation)) = limited_by(pred).filter(|_| !is_long(pred)) {
                self.limits.push((id, pred.clone(), collation));
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
            Logical::Join {
                kind: JoinKind::Left | JoinKind::Semi | JoinKind::Anti, left, ..
            } => {
                self.gather(left);
            }
            _ => {}
        })
    }
}

/// Whether a condition is a list that is too long to be tested in several places.
fn is_long(pred: &Pred) -> bool {
    matches!(pred, Pred::InList(list) if list.list.len() > MOST_LISTED)
}

/// A tree of joins under conditions.
fn tree(logical: Logical, above: &Known, next: &mut usize, pass: &mut Pass<'_, '_>) -> Logical {
    let mut said = Said::default();
    said.gather(&logical);
    if said.equalities.is_empty() && matches!(below_filters(&logical), Logical::Get(_)) {
        return logical;
    }
    let mut known = above.clone();
    let values = said.values.into_iter().map(|of| (true, of));
    let limits = said.limits.into_iter().map(|of| (false, of));
    // Values first: of a column that has one no limit counts.
    for (is_value, (id, pred, collation)) in values.chain(limits) {
        if let Some(ty) = type_of(&logical, id) {
            let said = format!("{:?}", of_column(&pred, 0)).into();
            let fixed = Fixed { number: *next, pred, is_value, said, collation, ty };
            *next += usize::from(add(&mut known, id, fixed));
        }
    }
    let numbers = known.iter().flat_map(|(id, all)| all.iter().map(|fixed| (*id, fixed.number)));
    let given: HashSet<(ColId, usize)> = numbers.collect();
    spread(&mut known, &said.equalities, &logical);
    let mut extended = Extended { known, given, changed: false };
    let logical = extended.tree(logical, next, pass);
    if extended.changed {
        pass.changed();
    }
    logical
}

/// Adds the columns that equal one of which something is said.
fn spread(known: &mut Known, equalities: &[Equality], logical: &Logical) {
    let mut beside: HashMap<ColId, Vec<&Equality>> = HashMap::new();
    for equality in equalities {
        equality.columns.iter().for_each(|id| beside.entry(*id).or_default().push(equality));
    }
    let mut reached: Vec<ColId> = known.keys().copied().collect();
    while let Some(id) = reached.pop() {
        let Some(all) = known.get(&id).cloned() else { continue };
        for equality in beside.get(&id).into_iter().flatten() {
            let [a, b] = equality.columns;
            let other = if a == id { b } else { a };
            let Some(ty) = type_of(logical, other) else { continue };
            let mut more = false;
            for fixed in all.iter().filter(|fixed| fixed.goes_on(equality, ty)) {
                more |= add(known, other, Fixed { ty, ..fixed.clone() });
            }
            if more {
                reached.push(other);
            }
        }
    }
}

/// A tree that gets what follows.
struct Extended {
    known: Known,
    /// Columns of which a condition says so already, by its number.
    given: HashSet<(ColId, usize)>,
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
            let follows = Equality::of(&pred).map(|equality| self.follows(&equality));
            for (column, fixed) in follows.into_iter().flatten() {
                if self.given.insert((column, fixed.number)) {
                    self.changed = true;
                    all.push(fixed.condition(column));
                }
            }
            all.push(pred);
        }
        all
    }

    /// What is said of both of two columns that are equal.
    fn follows(&self, equality: &Equality) -> Vec<(ColId, Fixed)> {
        let [a, b] = equality.columns;
        let (Some(of_a), Some(of_b)) = (self.known.get(&a), self.known.get(&b)) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for own in of_a.iter().filter(|_| a != b) {
            let same =
                |other: &&Fixed| other.number == own.number && own.goes_on(equality, other.ty);
            if let Some(other) = of_b.iter().find(same) {
                all.extend([(a, own.clone()), (b, other.clone())]);
            }
        }
        all
    }

    /// The ON of a join that keeps rows of its left side, and what it says of the right side's
    /// columns.
    fn of_kept_side(
        &mut self,
        on: Vec<Pred>,
        left: &Logical,
        right: &Logical,
    ) -> (Vec<Pred>, Known) {
        let (of_left, of_right) = (left.columns(), right.columns());
        let mut found = Known::new();
        let mut all = Vec::with_capacity(on.len());
        for pred in on {
            let follows = Equality::of(&pred).and_then(|equality| {
                let [a, b] = equality.columns;
                let (own, other) = match (of_left.contains(a), of_left.contains(b)) {
                    (true, false) => (a, b),
                    (false, true) => (b, a),
                    _ => return None,
                };
                let said = self.known.get(&own).filter(|_| of_right.contains(other))?;
                let ty = type_of(right, other)?;
                let goes_on = said.iter().filter(|fixed| fixed.goes_on(&equality, ty));
                let of_other = goes_on.map(|fixed| (other, Fixed { ty, ..fixed.clone() }));
                Some(of_other.collect::<Vec<_>>())
            });
            for (column, fixed) in follows.into_iter().flatten() {
                let condition = fixed.condition(column);
                if add(&mut found, column, fixed) {
                    self.changed = true;
                    all.push(condition);
                }
            }
            all.push(pred);
        }
        (all, found)
    }
}
