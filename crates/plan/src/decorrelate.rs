//! Correlated EXISTS, IN and NOT IN as semi and anti joins, where the subquery's outer references
//! stand only in the conditions of its WHERE. Everything else runs once per row, or once per
//! statement; of what runs once, NOT IN is an anti join as well where the join runs once, too.
//!
//! `x NOT IN (SELECT y ...)` holds where no row of the query has `x = y` or leaves that unknown:
//! the join's condition is `x = y OR x IS NULL OR y IS NULL`, without what cannot be. A query that
//! needs nothing of the row is joined on `x = y` alone; whether it has a NULL or, for an x that is
//! NULL, any row is asked once ([`RejectingQuery`]). Guarantee: what is joined gives the same rows
//! whenever it runs, and depends on no outer row but by the join's conditions.

use crate::access_path::{read_cost, seek_cost, sought_column};
use crate::estimate;
use crate::nulls::is_never_null;
use crate::rewrite::stable::{is_stable, is_stable_condition, is_stable_value};
use crate::rewrite::visit::{NodePart, inputs, mentions, part_mentions};
use crate::statistics::table_rows;
use bind::subquery::RejectingQuery;
use expr::{ColId, CompareExpr, ConvertExpr, ErrorRules, Expr, Pred, QuantifiedExpr, SubRef};
use logical::tree::sources;
use logical::tree::{JoinKind, Logical, Subquery, TopSpec};
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
type JoinedInput = (Logical, Vec<Pred>);

/// What a condition of WHERE is as a join.
pub struct SemiJoin {
    pub kind: JoinKind,
    pub right: Logical,
    pub on: Vec<Pred>,
    /// What rows have to satisfy besides.
    pub unless: Vec<RejectingQuery>,
}

/// Where a condition of WHERE stands.
pub struct WhereContext<'p> {
    /// The rows that it is asked of.
    pub input: &'p Logical,
    /// Conditions on them beside it that have no subqueries.
    pub beside: &'p [Pred],
    /// Those of the statement.
    pub subqueries: &'p [Subquery],
    /// The plan runs once in a run of the statement, and no hint says how it joins.
    pub once: bool,
    /// The rows are wanted in an order, or group by group, or only the first of them.
    pub wishes: bool,
}

/// The join that a condition of WHERE is, or the condition back.
pub fn semi_join(pred: Pred, place: &WhereContext<'_>) -> Result<SemiJoin, Box<Pred>> {
    let joined = |kind: JoinKind, joined: Option<JoinedInput>| {
        joined.map(|(right, on)| SemiJoin { kind, right, on, unless: Vec::new() })
    };
    let found = match &pred {
        Pred::Exists(sub) => joined(JoinKind::Semi, place.exists(sub)),
        Pred::Not(inner) => match &**inner {
            Pred::Exists(sub) => joined(JoinKind::Anti, place.exists(sub)),
            Pred::Quantified(test) if is_in(test) => place.is_none_of(test),
            _ => None,
        },
        Pred::Quantified(test) if is_in(test) => joined(JoinKind::Semi, place.is_one_of(test)),
        Pred::Quantified(test) if is_not_in(test) => place.is_none_of(test),
        _ => None,
    };
    found.ok_or_else(|| Box::new(pred))
}

/// `= ANY`.
fn is_in(test: &QuantifiedExpr) -> bool {
    test.op == CompareOp::Equal && !test.all
}

/// Whether a join can find rows by a condition.
fn is_equality(pred: &Pred) -> bool {
    matches!(pred, Pred::Compare(c) if c.op == CompareOp::Equal)
}

/// `<> ALL`.
fn is_not_in(test: &QuantifiedExpr) -> bool {
    test.op == CompareOp::NotEqual && test.all
}

impl WhereContext<'_> {
    fn exists(&self, sub: &SubRef) -> Option<JoinedInput> {
        let query = self.correlated(sub)?;
        self.joined(sub, &FilteredInput::of(&query.logical, true)?, None)
    }

    /// `x IN (SELECT ...)`: a row of it equals x.
    fn is_one_of(&self, test: &QuantifiedExpr) -> Option<JoinedInput> {
        let query = self.correlated(&test.query)?;
        let source = FilteredInput::of(&query.logical, false)?;
        let equal = equality(test, query, &source)?;
        self.joined(&test.query, &source, Some(Pred::Compare(Box::new(equal))))
    }

    /// `x NOT IN (SELECT ...)`: no row of it equals x, or may be taken for one that does.
    fn is_none_of(&self, test: &QuantifiedExpr) -> Option<SemiJoin> {
        let Some(query) = self.correlated(&test.query) else { return self.is_none_of_all(test) };
        let source = FilteredInput::of(&query.logical, false)?;
        let equal = self.stable_equality(test, query, &source)?;
        let never_null = [
            is_never_null(&equal.left, self.input, self.beside),
            is_never_null(&equal.right, source.input, source.preds),
        ];
        let sides = [equal.left.clone(), equal.right.clone()];
        let mut cases = vec![Pred::Compare(Box::new(equal))];
        let unknown = sides.into_iter().zip(never_null).filter(|(_, never)| !never);
        cases.extend(unknown.map(|(side, _)| Pred::IsNull(Box::new(side), false)));
        let meets = if cases.len() == 1 { cases.pop()? } else { Pred::Or(cases) };
        let (right, on) = self.joined(&test.query, &source, Some(meets))?;
        // Without an equality each row would be compared with all of the query's, which are kept
        // for that; a run for each row may seek, and keeps nothing.
        on.iter().any(is_equality).then_some(())?;
        Some(SemiJoin { kind: JoinKind::Anti, right, on, unless: Vec::new() })
    }

    /// As [`WhereContext::is_none_of`], of a query that needs nothing of the row: its values are
    /// looked up among those that are kept, for which it is read once. A join does that as well,
    /// with a memory that may be too small; where an index has few rows of x it does not read all
    /// of the query.
    fn is_none_of_all(&self, test: &QuantifiedExpr) -> Option<SemiJoin> {
        let sub = &test.query;
        let alone = sub.cacheable && sub.args.is_empty() && !test.operand.has_subquery();
        let mut used = Vec::new();
        test.operand.columns(&mut used);
        if !(self.once && alone) || used.is_empty() || goes_down(self.input, &used) {
            return None;
        }
        let query = self.subqueries.get(sub.id)?;
        let source = FilteredInput::of_all(&query.logical);
        let is_simple =
            |pred: &Pred| !pred.has_subquery() && is_stable_condition(pred, self.subqueries);
        if !is_plain(source.input) || !source.preds.iter().all(is_simple) {
            return None;
        }
        let equal = self.stable_equality(test, query, &source)?;
        let sought = is_better_sought(&equal, &source, self.rows());
        if !sought && (self.wishes || self.rows() <= FEW_ROWS) {
            return None;
        }
        let right = source.input.clone().filtered(source.preds.to_vec());
        let mut unless = Vec::new();
        if !is_never_null(&equal.right, source.input, source.preds) {
            // They are looked for beside the join: where an index has them together.
            let Expr::Col(id) = equal.right else { return None };
            seek_cost(sources::source(source.input, id)?, &[], &[id])?;
            let is_null = Pred::IsNull(Box::new(equal.right.clone()), false);
            unless
                .push(RejectingQuery { null: None, query: right.clone().filtered(vec![is_null]) });
        }
        if !is_never_null(&equal.left, self.input, self.beside) {
            unless.push(RejectingQuery { null: Some(equal.left.clone()), query: right.clone() });
        }
        let on = vec![Pred::Compare(Box::new(equal))];
        Some(SemiJoin { kind: JoinKind::Anti, right, on, unless })
    }

    /// As [`equality`], of values that are the same for each of their uses: more than one thing is
    /// asked of them.
    fn stable_equality(
        &self,
        test: &QuantifiedExpr,
        query: &Subquery,
        source: &FilteredInput<'_>,
    ) -> Option<CompareExpr> {
        let equal = equality(test, query, source)?;
        let is_stable = |e: &Expr| is_stable_value(e, self.subqueries);
        (is_stable(&equal.left) && is_stable(&equal.right)).then_some(equal)
    }

    /// The rows that are asked, under the conditions beside this one.
    fn rows(&self) -> f64 {
        (estimate::rows(self.input) * estimate::kept(self.beside, self.input)).max(1.0)
    }

    /// The query of a subquery that depends on the row around it alone.
    fn correlated(&self, sub: &SubRef) -> Option<&Subquery> {
        let correlated = !sub.cacheable && !sub.args.is_empty();
        self.subqueries.get(sub.id).filter(|_| correlated)
    }

    /// A source with those of its conditions that are of it alone, joined on the others and on one
    /// more.
    fn joined(
        &self,
        sub: &SubRef,
        source: &FilteredInput<'_>,
        more: Option<Pred>,
    ) -> Option<JoinedInput> {
        let slots: Vec<usize> = sub.args.iter().map(|(slot, _)| *slot).collect();
        if mentions(source.input, &slots, self.subqueries) {
            return None;
        }
        let (mut on, mut inside) = (Vec::new(), Vec::new());
        for pred in source.preds {
            let outer = part_mentions(&NodePart::Pred(pred), &slots, self.subqueries);
            match pred.has_subquery() {
                false if outer => on.push(pred.clone()),
                false => inside.push(pred.clone()),
                true if !outer && is_stable_condition(pred, self.subqueries) => {
                    inside.push(pred.clone())
                }
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
        let rows = estimate::rows(self.input);
        rows > FEW_ROWS
            && (!on.iter().any(|pred| is_sought(pred, input)) || rows * SOUGHT_RUN >= read(input))
    }
}

/// The conditions of a subquery's WHERE and what they are tested on.
struct FilteredInput<'l> {
    input: &'l Logical,
    preds: &'l [Pred],
    /// The columns that the query makes above it, the last ones first.
    made: Vec<&'l [(ColId, Expr)]>,
}

impl<'l> FilteredInput<'l> {
    /// Of a query; `exists`: it only matters whether it has a row.
    fn of(logical: &'l Logical, exists: bool) -> Option<FilteredInput<'l>> {
        stack::with_room(|| match logical {
            Logical::Project { input, exprs } => {
                let mut source = FilteredInput::of(input, exists)?;
                source.made.insert(0, exprs);
                Some(source)
            }
            Logical::Sort { input, .. } => FilteredInput::of(input, exists),
            Logical::Distinct { input, .. } if exists => FilteredInput::of(input, exists),
            Logical::Top { input, top } if exists && gives_a_row(top) => {
                FilteredInput::of(input, exists)
            }
            Logical::Filter { input, preds } => {
                Some(FilteredInput { input, preds, made: Vec::new() })
            }
            _ => None,
        })
    }

    /// As [`FilteredInput::of`], of any query: where it has no WHERE, all of its rows.
    fn of_all(logical: &'l Logical) -> FilteredInput<'l> {
        stack::with_room(|| match logical {
            Logical::Project { input, exprs } => {
                let mut source = FilteredInput::of_all(input);
                source.made.insert(0, exprs);
                source
            }
            Logical::Sort { input, .. } => FilteredInput::of_all(input),
            Logical::Filter { input, preds } => FilteredInput { input, preds, made: Vec::new() },
            input => FilteredInput { input, preds: &[], made: Vec::new() },
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

/// That the value equals the one of a row of the query, over the rows and its source.
fn equality(
    test: &QuantifiedExpr,
    query: &Subquery,
    source: &FilteredInput<'_>,
) -> Option<CompareExpr> {
    if test.operand.has_subquery() {
        return None;
    }
    let [column] = query.wanted[..] else { return None };
    let mut right = source.value(column)?;
    if let Some((from, to)) = test.query.convert {
        right = Expr::Convert(Box::new(ConvertExpr {
            operand: right,
            from,
            to,
            style: 0,
            mode: Mode::Implicit,
            or_null: false,
            manner: ErrorRules::default(),
            collation: test.collation,
        }));
    }
    Some(CompareExpr {
        op: CompareOp::Equal,
        left: test.operand.clone(),
        right,
        collation: test.collation,
    })
}

/// Whether seeks of a query's table by the values of so many rows cost less than to read it.
fn is_better_sought(equal: &CompareExpr, source: &FilteredInput<'_>, rows: f64) -> bool {
    let Logical::Get(get) = source.input else { return false };
    let column = sought_column(get, &equal.right, equal.collation);
    let one = column.and_then(|column| seek_cost(get, source.preds, &[column]));
    one.is_some_and(|one| rows * one < read_cost(get, source.preds))
}

/// Whether a condition with these columns is asked of a side of a join instead.
fn goes_down(input: &Logical, columns: &[ColId]) -> bool {
    let has_all = |side: &Logical| {
        let offered = side.columns();
        columns.iter().all(|id| offered.contains(*id))
    };
    match estimate::below_filters(input) {
        Logical::Join { kind: JoinKind::Full, .. } => false,
        Logical::Join { kind, left, right, .. } => {
            has_all(left) || (*kind == JoinKind::Inner && has_all(right))
        }
        Logical::Apply { left, .. } => has_all(left),
        _ => false,
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
            sources::source(input, *id).is_some_and(|get| seek_cost(get, &[], &[*id]).is_some())
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
