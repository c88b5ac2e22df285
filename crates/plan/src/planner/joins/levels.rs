//! Conditions above a long chain of joins: each is put at once where it belongs, by the columns
//! that it uses, instead of being asked about at each join on its way down. An inner join takes
//! those on both of its sides, else they are filters.
//! Guarantee: a condition ends where the joins would have let it go, one after another; its cost
//! does not depend on how many there are (but for the logarithm).

use crate::owners::Owners;
use expr::{Expr, Pred};
use logical::tree::input::Input;
use logical::tree::{JoinHint, JoinKind, Logical};
use types::SqlError;

/// Shorter chains are gone down join by join.
const LONG: usize = 64;
/// So many conditions are looked at between two questions for a cancel.
const BETWEEN: usize = 256;

/// The left input of a join or an apply under the conditions that go down to it. Of a long chain
/// they are taken, and put where each belongs; what the nodes below have of their own and belongs
/// further down goes there too.
///
/// # Errors
/// 3617 when cancelled; 701.
pub fn sorted_down(
    left: Logical,
    preds: &mut Vec<Pred>,
    check_cancel: &dyn Fn() -> Result<(), SqlError>,
) -> Result<Logical, SqlError> {
    if preds.is_empty() || !is_long(&left) {
        return Ok(left);
    }
    let mut chain = Chain::of(left);
    chain.sort(std::mem::take(preds), check_cancel)?;
    Ok(chain.joined())
}

/// Whether a node is the top of a long chain: joins, applies and filters, each the left input of
/// the one before.
fn is_long(mut logical: &Logical) -> bool {
    for _ in 0..LONG {
        logical = match logical {
            Logical::Filter { input, .. } => input,
            Logical::Join { left, .. } | Logical::Apply { left, .. } => left,
            _ => return false,
        };
    }
    true
}

/// A node of the chain without its left input.
enum Level {
    Filter,
    Join { kind: JoinKind, right: Input, on: Vec<Pred>, hint: Option<JoinHint> },
    Apply { outer: bool, right: Input, args: Vec<(usize, Expr)> },
}

/// A chain, taken apart. Levels are counted from the top; the bottom comes after them.
struct Chain {
    levels: Vec<Level>,
    bottom: Logical,
    /// Conditions on the rows of each level and of the bottom.
    conditions: Vec<Vec<Pred>>,
    /// Conditions on the right input of each level.
    of_right: Vec<Vec<Pred>>,
    /// Which level has a column in its right input.
    owners: Owners,
}

impl Chain {
    fn of(mut logical: Logical) -> Chain {
        let (mut levels, mut conditions) = (Vec::new(), Vec::new());
        let mut owners = Owners::default();
        let bottom = loop {
            let (left, level, preds) = match logical {
                // What a view or a policy says of a table's rows stays beside it.
                Logical::Filter { input, preds } if is_link(&input) => {
                    (input, Level::Filter, preds)
                }
                Logical::Join { kind, left, right, on, hint } => {
                    (left, Level::Join { kind, right, on, hint }, Vec::new())
                }
                Logical::Apply { outer, left, right, args } => {
                    (left, Level::Apply { outer, right, args }, Vec::new())
                }
                bottom => break bottom,
            };
            if let Level::Join { right, .. } | Level::Apply { right, .. } = &level {
                owners.add(&right.columns(), levels.len());
            }
            levels.push(level);
            conditions.push(preds);
            logical = left.into_inner();
        };
        owners.add(&bottom.columns(), levels.len());
        conditions.push(Vec::new());
        let of_right = levels.iter().map(|_| Vec::new()).collect();
        Chain { levels, bottom, conditions, of_right, owners }
    }

    /// Puts conditions on the whole, and those of the levels, where they belong.
    fn sort(
        &mut self,
        preds: Vec<Pred>,
        check_cancel: &dyn Fn() -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let barriers = self.barriers();
        let mut seen = 0;
        let mut asked = || {
            seen += 1;
            if seen % BETWEEN == 0 { check_cancel() } else { Ok(()) }
        };
        let own: Vec<Vec<Pred>> = self.conditions.iter_mut().map(std::mem::take).collect();
        for pred in preds {
            asked()?;
            self.put(pred, 0, &barriers);
        }
        for (at, own) in own.into_iter().enumerate().take(self.levels.len()) {
            for pred in own {
                asked()?;
                match pred.is_false() {
                    // Without a row there is nothing to plan below it.
                    true => self.conditions[at].push(pred),
                    false => self.put(pred, at, &barriers),
                }
            }
            let Level::Join { kind: JoinKind::Inner | JoinKind::Semi, on, .. } =
                &mut self.levels[at]
            else {
                continue;
            };
            let mut stay = Vec::new();
            for pred in std::mem::take(on) {
                asked()?;
                match self.owners.of(&pred)[..] {
                    [first, ..] if first > at => self.put(pred, at + 1, &barriers),
                    _ => stay.push(pred),
                }
            }
            if let Level::Join { on, .. } = &mut self.levels[at] {
                *on = stay;
            }
        }
        Ok(())
    }

    /// Puts a condition on the rows of a level where it belongs.
    fn put(&mut self, pred: Pred, from: usize, barriers: &[usize]) {
        let at = self.place(&pred, from, barriers);
        match self.levels.get_mut(at) {
            // What has a subquery may be a join itself.
            Some(Level::Join { kind: JoinKind::Inner, on, .. }) if !pred.has_subquery() => {
                match self.owners.of(&pred)[..] {
                    [_] => self.of_right[at].push(pred),
                    _ => on.push(pred),
                }
            }
            _ => self.conditions[at].push(pred),
        }
    }

    /// For each level the first one from there on that lets no condition through: what a FULL
    /// JOIN's sides lack is NULL above it.
    fn barriers(&self) -> Vec<usize> {
        let mut next = self.levels.len();
        let mut barriers = vec![next; next + 1];
        for at in (0..self.levels.len()).rev() {
            if matches!(self.levels[at], Level::Join { kind: JoinKind::Full, .. }) {
                next = at;
            }
            barriers[at] = next;
        }
        barriers
    }

    /// Where a condition on the rows of a level belongs: above the first join whose right side it
    /// uses, or that stops it.
    fn place(&self, pred: &Pred, from: usize, barriers: &[usize]) -> usize {
        let first = self.owners.of(pred).first().copied().unwrap_or(self.levels.len());
        first.min(barriers[from]).max(from)
    }

    fn joined(self) -> Logical {
        let mut conditions = self.conditions.into_iter().rev();
        let mut above = |logical: Logical| logical.filtered(conditions.next().unwrap_or_default());
        let bottom = above(self.bottom);
        self.levels.into_iter().zip(self.of_right).rev().fold(bottom, |left, (level, own)| {
            let node = match level {
                Level::Filter => left,
                Level::Join { kind, right, on, hint } => {
                    let right = match own.is_empty() {
                        true => right,
                        false => Input::new(right.into_inner().filtered(own)),
                    };
                    Logical::Join { kind, left: Input::new(left), right, on, hint }
                }
                Level::Apply { outer, right, args } => {
                    Logical::Apply { outer, left: Input::new(left), right, args }
                }
            };
            above(node)
        })
    }
}

fn is_link(logical: &Logical) -> bool {
    matches!(logical, Logical::Filter { .. } | Logical::Join { .. } | Logical::Apply { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expr::{ColId, CompareExpr};
    use syntax::ast::CompareOp;
    use types::Collation;

    fn values(id: ColId) -> Logical {
        Logical::Values { rows: vec![Vec::new()], cols: vec![id] }
    }

    fn equal(a: ColId, b: ColId) -> Pred {
        let (op, left, right) = (CompareOp::Equal, Expr::Col(a), Expr::Col(b));
        Pred::Compare(Box::new(CompareExpr { op, left, right, collation: Collation::DEFAULT }))
    }

    /// Column 0 at the bottom, then a join for each kind, the last one at the top, with the column
    /// of its number.
    fn chain(kinds: &[JoinKind], on: impl Fn(ColId) -> Vec<Pred>) -> Chain {
        let join = |left, (kind, id): (&JoinKind, ColId)| Logical::Join {
            kind: *kind,
            left: Input::new(left),
            right: Input::new(values(id)),
            on: on(id),
            hint: None,
        };
        Chain::of(kinds.iter().zip(1..).fold(values(0), join))
    }

    /// Where conditions end: after how many joins, from the bottom.
    fn ends(chain: &Chain, preds: &[Pred]) -> Vec<usize> {
        let barriers = chain.barriers();
        preds.iter().map(|pred| chain.levels.len() - chain.place(pred, 0, &barriers)).collect()
    }

    #[test]
    fn a_condition_ends_above_the_first_join_that_brings_a_column_of_it() {
        let mut kinds = vec![JoinKind::Inner; 100];
        kinds[70] = JoinKind::Left;
        let preds = [
            equal(0, 0),
            equal(0, 1),
            equal(50, 3),
            equal(71, 2),
            equal(100, 0),
            Pred::Const(None),
        ];
        let inner = chain(&kinds, |_| Vec::new());
        assert_eq!(ends(&inner, &preds), [0, 1, 50, 71, 100, 0]);
        // What a FULL JOIN's sides lack is NULL above it.
        kinds[29] = JoinKind::Full;
        let full = chain(&kinds, |_| Vec::new());
        assert_eq!(ends(&full, &preds), [30, 30, 50, 71, 100, 30]);
    }

    #[test]
    fn what_joins_say_of_those_below_them_goes_down() {
        let kinds = [JoinKind::Inner, JoinKind::Inner, JoinKind::Left, JoinKind::Semi];
        let mut chain = chain(&kinds, |id| vec![equal(id, 0), equal(0, 1)]);
        chain.sort(vec![equal(2, 2)], &|| Ok(())).unwrap();
        let numbers = |lists: &[Vec<Pred>]| lists.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(
            (numbers(&chain.conditions), numbers(&chain.of_right)),
            (vec![0; 5], vec![0, 0, 1, 0])
        );
        let on: Vec<usize> = chain
            .levels
            .iter()
            .map(|level| match level {
                Level::Join { on, .. } => on.len(),
                _ => 0,
            })
            .collect();
        // The second and the last have given theirs to the first join; the LEFT JOIN keeps its own.
        assert_eq!(on, [1, 2, 1, 4]);
        let below = |logical: Logical| match logical {
            Logical::Join { left, .. } => left.into_inner(),
            other => panic!("{other:?}"),
        };
        let bottom = (0..4).fold(chain.joined(), |logical, _| below(logical));
        assert!(matches!(bottom, Logical::Values { .. }));
    }
}
