//! Correlated EXISTS and IN as semi and anti joins, where the subquery's outer references stand
//! only in the conditions of its WHERE. Everything else runs once per row, or once per statement.
//! Guarantee: what is joined gives the same rows whenever it runs, and depends on no outer row but
//! by the join's conditions.

use super::logical::{JoinKind, Logical, TopSpec};
use crate::access_path::seek_cost;
use crate::estimate;
use crate::nodes::Subquery;
use crate::rewrite::stable::{is_stable, is_stable_condition};
use crate::rewrite::visit::{Part, inputs, mentions, part_mentions};
use crate::statistics::table_rows;
use expr::{ColId, CompareExpr, ConvertExpr, Expr, Manner, Pred, QuantifiedExpr, SubRef};
use syntax::ast::CompareOp;
use types::Value;
use types::convert::Mode;

/// With fewer outer rows what is more than a read of tables runs for each.
const FEW_ROWS: f64 = 10.0;
/// What a run that an index helps costs at least.
const SOUGHT_RUN: f64 = 50.0;
/// A larger value is not put in the place of its column.
const MOST_NODES: usize = 1_000;

/// What is joined, and on what.
type Joined = (Logical, Vec<Pred>);

/// The join that a condition of WHERE is, or the condition back. `outer_rows`: the rows that it is
/// asked of.
pub fn semi_join(
    pred: Pred,
    outer_rows: &dyn Fn() -> f64,
    subqueries: &[Subquery],
) -> Result<(JoinKind, Logical, Vec<Pred>), Box<Pred>> {
    let known = Known { outer_rows, subqueries };
    let joined = match &pred {
        Pred::Exists(sub) => known.exists(sub).map(|joined| (JoinKind::Semi, joined)),
        Pred::Not(inner) => match &**inner {
            Pred::Exists(sub) => known.exists(sub).map(|joined| (JoinKind::Anti, joined)),
            _ => None,
        },
        Pred::Quantified(test) => known.is_one_of(test).map(|joined| (JoinKind::Semi, joined)),
        _ => None,
    };
    match joined {
        Some((kind, (right, on))) => Ok((kind, right, on)),
        None => Err(Box::new(pred)),
    }
}

/// What is known of the statement around a subquery.
struct Known<'k> {
    outer_rows: &'k dyn Fn() -> f64,
    subqueries: &'k [Subquery],
}

impl Known<'_> {
    fn exists(&self, sub: &SubRef) -> Option<Joined> {
        let query = self.correlated(sub)?;
        self.joined(sub, &Source::of(&query.logical, true)?, None)
    }

    /// `x IN (SELECT ...)`: a row of it equals x.
    fn is_one_of(&self, test: &QuantifiedExpr) -> Option<Joined> {
        if test.op != CompareOp::Equal || test.all || test.operand.has_subquery() {
            return None;
        }
        let sub = &test.query;
        let query = self.correlated(sub)?;
        let source = Source::of(&query.logical, false)?;
        let [column] = query.wanted[..] else { return None };
        let mut right = source.value(column)?;
        if let Some((from, to)) = sub.convert {
            right = Expr::Convert(Box::new(ConvertExpr {
                operand: right,
                from,
                to,
                style: 0,
                mode: Mode::Implicit,
                or_null: false,
                manner: Manner::default(),
                collation: test.collation,
            }));
        }
        let (op, left, collation) = (CompareOp::Equal, test.operand.clone(), test.collation);
        let equal = Pred::Compare(Box::new(CompareExpr { op, left, right, collation }));
        self.joined(sub, &source, Some(equal))
    }

    /// The query of a subquery that depends on the row around it alone.
    fn correlated(&self, sub: &SubRef) -> Option<&Subquery> {
        let correlated = !sub.cacheable && !sub.args.is_empty();
        self.subqueries.get(sub.id).filter(|_| correlated)
    }

    /// A source with those of its conditions that are of it alone, joined on the others and on one
    /// more.
    fn joined(&self, sub: &SubRef, source: &Source<'_>, more: Option<Pred>) -> Option<Joined> {
        let slots: Vec<usize> = sub.args.iter().map(|(slot, _)| *slot).collect();
        if mentions(source.input, &slots, self.subqueries) {
            return None;
        }
        let (mut on, mut inside) = (Vec::new(), Vec::new());
        for pred in source.preds {
            let outer = part_mentions(&Part::Pred(pred), &slots, self.subqueries);
            match pred.has_subquery() {
                false if outer => on.push(pred.clone()),
                false => inside.push(pred.clone()),
                true if !outer && is_stable_condition(pred, self.subqueries) => inside.push(pred.clone()),
                true => return None,
            }
        }
        on.extend(more);
        let plain = is_plain(source.input);
        if on.is_empty() || !(plain || self.is_joined_well(source.input, &on)) {
            return None;
        }
        for pred in &mut on {
            pred.leaves_mut(&mut |leaf| {
                if let Expr::Param(slot) = leaf
                    && let Some((_, outer)) = sub.args.iter().find(|(s, _)| s == slot)
                {
                    *leaf = outer.clone();
                }
            });
        }
        Some((source.input.clone().filtered(inside), on))
    }

    /// Whether a source that is more than a read of tables is better computed once than for each
    /// outer row, where an index may find the rows that are of use.
    fn is_joined_well(&self, input: &Logical, on: &[Pred]) -> bool {
        if !is_stable(input, self.subqueries) {
            return false;
        }
        let rows = (self.outer_rows)();
        rows > FEW_ROWS && (!on.iter().any(|pred| is_sought(pred, input)) || rows * SOUGHT_RUN >= read(input))
    }
}

/// The conditions of a subquery's WHERE and what they are tested on.
struct Source<'l> {
    input: &'l Logical,
    preds: &'l [Pred],
    /// The columns that the query makes above it, the last ones first.
    made: Vec<&'l [(ColId, Expr)]>,
}

impl<'l> Source<'l> {
    /// Of a query; `exists`: it only matters whether it has a row.
    fn of(logical: &'l Logical, exists: bool) -> Option<Source<'l>> {
        stack::with_room(|| match logical {
            Logical::Project { input, exprs } => {
                let mut source = Source::of(input, exists)?;
                source.made.insert(0, exprs);
                Some(source)
            }
            Logical::Sort { input, .. } => Source::of(input, exists),
            Logical::Distinct { input, .. } if exists => Source::of(input, exists),
            Logical::Top { input, top } if exists && gives_a_row(top) => Source::of(input, exists),
            Logical::Filter { input, preds } => Some(Source { input, preds, made: Vec::new() }),
            _ => None,
        })
    }

    /// A column of the query as an expression over the input.
    fn value(&self, column: ColId) -> Option<Expr> {
        let mut value = Expr::Col(column);
        for made in &self.made {
            value.leaves_mut(&mut |leaf| {
                if let Expr::Col(id) = leaf
                    && let Some((_, e)) = made.iter().find(|(made, _)| made == id)
                {
                    *leaf = e.clone();
                }
            });
            if value.size() > MOST_NODES {
                return None;
            }
        }
        (!value.has_subquery() && !value.is_volatile()).then_some(value)
    }
}

/// Whether a TOP lets the first row through.
fn gives_a_row(top: &TopSpec) -> bool {
    let count = top.count.as_ref().and_then(Expr::as_const).and_then(Value::as_i64);
    !top.percent && top.offset.is_none() && count.is_some_and(|count| count > 0)
}

/// Whether nothing but tables is read, joined without subqueries.
fn is_plain(logical: &Logical) -> bool {
    stack::with_room(|| match logical {
        Logical::Get(_) | Logical::View(_) | Logical::Work(_) => true,
        Logical::Join { left, right, on, .. } => {
            is_plain(left) && is_plain(right) && !on.iter().any(Pred::has_subquery)
        }
        _ => false,
    })
}

/// Whether an equality gives a value to a column that an index of its table begins with.
fn is_sought(pred: &Pred, input: &Logical) -> bool {
    let Pred::Compare(c) = pred else { return false };
    let sought = |e: &Expr| match e {
        Expr::Col(id) => {
            estimate::source(input, *id).is_some_and(|get| seek_cost(get, &[], &[*id]).is_some())
        }
        _ => false,
    };
    c.op == CompareOp::Equal && (sought(&c.left) || sought(&c.right))
}

/// The rows of all tables that a plan reads.
fn read(logical: &Logical) -> f64 {
    stack::with_room(|| match logical {
        Logical::Get(get) => table_rows(&get.table),
        other => inputs(other).into_iter().map(read).sum(),
    })
}
