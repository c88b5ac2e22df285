//! Outer joins whose rows without a partner are all rejected further up: a LEFT JOIN or an OUTER
//! APPLY is an inner one then, a FULL JOIN a LEFT JOIN, or an inner one. An inner join may be
//! ordered with others, and may begin with either side.
//!
//! On the way down go the conditions that every row of use satisfies: those of WHERE, and of inner
//! and semi joins. They pass nodes that give rows of their input as they are, and become conditions
//! on the input's columns where a node gives them other names.

use super::null_rejection::is_never_true;
use super::rule::{Pass, Rewrite};
use super::visit::with_inputs;
use expr::{ColId, Expr, Pred};
use logical::columns::ColumnSet;
use logical::tree::input::Input;
use logical::tree::{JoinHint, JoinKind, Logical};
use stack::Nested;

/// The rewrite.
pub static RULE: Rewrite =
    Rewrite { name: "OuterJoin", apply: |logical, pass| node(logical, None, pass) };

/// So many conditions above a join are looked at, the nearest ones.
const MOST_CONDITIONS: usize = 1_000;
/// A larger expression is not put in the place of its column.
const MOST_NODES: usize = 64;

/// Conditions that the rows of a node have to satisfy, or they are of no use further up.
struct Above<'a> {
    preds: &'a [Pred],
    next: Option<&'a Above<'a>>,
}

impl<'a> Above<'a> {
    fn new(preds: &'a [Pred], next: Option<&'a Above<'a>>) -> Above<'a> {
        Above { preds, next }
    }

    fn all(&self) -> impl Iterator<Item = &Pred> {
        let levels = std::iter::successors(Some(self), |above| above.next);
        levels.flat_map(|above| above.preds).take(MOST_CONDITIONS)
    }

    /// Whether no row is of use in which these columns are all NULL.
    fn rejects(&self, nulls: &ColumnSet) -> bool {
        self.all().any(|pred| !matches!(pred, Pred::Const(_)) && is_never_true(pred, nulls))
    }

    /// The conditions on a node's input, where the node makes columns of expressions over it;
    /// `None` where they are the same.
    fn below(&self, made: &dyn Fn(ColId) -> Option<Expr>) -> Option<Vec<Pred>> {
        let mut changed = false;
        let mut preds = Vec::new();
        for pred in self.all() {
            let mut pred = pred.clone();
            pred.leaves_mut(&mut |leaf| {
                if let Expr::Col(id) = leaf
                    && let Some(e) = made(*id)
                {
                    *leaf = e;
                    changed = true;
                }
            });
            preds.push(pred);
        }
        changed.then_some(preds)
    }
}

fn node(logical: Logical, above: Option<&Above<'_>>, pass: &mut Pass<'_, '_>) -> Logical {
    if pass.is_over() {
        return logical;
    }
    stack::with_room(|| match logical {
        Logical::Filter { input, preds } => {
            let input = node(input.into_inner(), Some(&Above::new(&preds, above)), pass);
            Logical::Filter { input: Input::new(input), preds }
        }
        Logical::Join { kind, left, right, on, hint } => {
            joined((kind, hint), left, right, on, above, pass)
        }
        Logical::Apply { outer, left, right, args } => {
            let inner = !outer || above.is_some_and(|above| above.rejects(&right.columns()));
            if inner && outer {
                pass.changed();
            }
            let left = Input::new(node(left.into_inner(), above, pass));
            let right = Input::new(node(right.into_inner(), above.filter(|_| inner), pass));
            Logical::Apply { outer: !inner, left, right, args }
        }
        Logical::Project { input, exprs } => {
            let made =
                |id: ColId| exprs.iter().find(|(made, _)| *made == id).and_then(|(_, e)| small(e));
            let input = Input::new(renamed(input.into_inner(), above, &made, pass));
            Logical::Project { input, exprs }
        }
        // Without a key there is a row of no rows.
        Logical::Aggregate { input, keys, aggregates, scalar: false, totals }
            if totals.is_empty() && !keys.is_empty() =>
        {
            let made = |id: ColId| {
                keys.iter().find(|key| key.output == id).and_then(|key| small(&key.expr))
            };
            let input = Input::new(renamed(input.into_inner(), above, &made, pass));
            Logical::Aggregate { input, keys, aggregates, scalar: false, totals }
        }
        Logical::Concat { inputs, cols } => {
            let mut all = Vec::with_capacity(inputs.len());
            for (input, ids) in inputs.into_inner() {
                let made =
                    |id: ColId| cols.iter().position(|col| *col == id).map(|at| Expr::Col(ids[at]));
                all.push((renamed(input, above, &made, pass), ids));
            }
            Logical::Concat { inputs: Nested::new(all), cols }
        }
        Logical::Distinct { .. } | Logical::Sort { .. } => {
            with_inputs(logical, &mut |input| node(input, above, pass))
        }
        other => with_inputs(other, &mut |input| node(input, None, pass)),
    })
}

/// A copy of an expression that is not large.
fn small(e: &Expr) -> Option<Expr> {
    (e.size() <= MOST_NODES).then(|| e.clone())
}

/// The input of a node that makes columns of expressions over it.
fn renamed(
    input: Logical,
    above: Option<&Above<'_>>,
    made: &dyn Fn(ColId) -> Option<Expr>,
    pass: &mut Pass<'_, '_>,
) -> Logical {
    match above.and_then(|above| above.below(made)) {
        None => node(input, above, pass),
        Some(preds) => node(input, Some(&Above::new(&preds, None)), pass),
    }
}

fn joined(
    (kind, hint): (JoinKind, Option<JoinHint>),
    mut left: Input,
    mut right: Input,
    on: Vec<Pred>,
    above: Option<&Above<'_>>,
    pass: &mut Pass<'_, '_>,
) -> Logical {
    let rejects = |side: &Input| above.is_some_and(|above| above.rejects(&side.columns()));
    let was = kind;
    let kind = match kind {
        JoinKind::Left if rejects(&right) => JoinKind::Inner,
        // The columns of the right side are NULL in rows of the left one without a partner.
        JoinKind::Full => match (rejects(&right), rejects(&left)) {
            (false, false) => JoinKind::Full,
            (false, true) => JoinKind::Left,
            (true, true) => JoinKind::Inner,
            (true, false) => {
                std::mem::swap(&mut left, &mut right);
                JoinKind::Left
            }
        },
        kind => kind,
    };
    if kind != was {
        pass.changed();
    }
    let both = Above::new(&on, above);
    let only_on = Above::new(&on, None);
    let (for_left, for_right) = match kind {
        JoinKind::Inner => (Some(&both), Some(&both)),
        JoinKind::Semi => (Some(&both), Some(&only_on)),
        // A left row stays without a partner; a right row that the condition rejects is none.
        JoinKind::Left | JoinKind::Anti => (above, Some(&only_on)),
        JoinKind::Full => (None, None),
    };
    let left = Input::new(node(left.into_inner(), for_left, pass));
    let right = Input::new(node(right.into_inner(), for_right, pass));
    Logical::Join { kind, left, right, on, hint }
}
