//! What conditions say of single columns of a table, and the ranges of an index that follow: one
//! for a conjunction, several for an OR or a list, whose cases each make the seek longer.
//! Guarantee: the ranges hold every row that satisfies the conditions; conditions that they do not
//! stand for exactly are kept to be tested on the row.

use super::like;
use crate::conversions::keeps_apart;
use crate::nodes::{SeekEnd, SeekSpec};
use expr::{ColId, CompareExpr, Expr, Pred, mirrored};
use logical::tree::Get;
use std::borrow::Cow;
use syntax::ast::CompareOp;
use types::rounding::{KeptOrder, kept};
use types::{Collation, DataType, Value};

/// Cases of an OR or a list up to which every seek that they make longer is one by their ranges,
/// and most ranges of several of them together. A longer one by itself gives as many ranges as it
/// has cases, where these cost less than to read what they leave out.
pub const MOST_RANGES: usize = 32;

/// A key column, equal to something.
pub struct EqualTerm<'p> {
    /// Where the condition stands in its conjunction.
    pub at: usize,
    pub pred: &'p Pred,
    pub column: usize,
    /// None: it is NULL.
    pub value: Option<&'p Expr>,
}

/// One end of a range of a column.
struct RangeTerm<'p> {
    pred: &'p Pred,
    column: usize,
    op: CompareOp,
    value: Cow<'p, Expr>,
    /// As [`SeekEnd::rounded`].
    rounded: Option<DataType>,
}

/// What the conditions of a conjunction say of single columns.
#[derive(Default)]
pub struct Terms<'p> {
    pub equal: Vec<EqualTerm<'p>>,
    range: Vec<RangeTerm<'p>>,
}

impl<'p> Terms<'p> {
    /// The terms of a conjunction.
    pub fn of(get: &Get, preds: &'p [Pred]) -> Terms<'p> {
        let mut terms = Terms::default();
        for (at, pred) in preds.iter().enumerate() {
            match pred {
                Pred::IsNull(e, false) => {
                    if let Expr::Col(id) = **e
                        && let Some(column) = get.position(id)
                    {
                        terms.equal.push(EqualTerm { at, pred, column, value: None });
                    }
                }
                Pred::Compare(c) => {
                    let Some(Sargable { column, op, value, rounded }) = sargable(get, c) else {
                        continue;
                    };
                    let mut range = |op| {
                        let value = Cow::Borrowed(value);
                        terms.range.push(RangeTerm { pred, column, op, value, rounded });
                    };
                    match op {
                        CompareOp::NotEqual => {}
                        CompareOp::Equal if rounded.is_some() => {
                            // The values that become this one.
                            range(CompareOp::GreaterEqual);
                            range(CompareOp::LessEqual);
                        }
                        CompareOp::Equal => {
                            terms.equal.push(EqualTerm { at, pred, column, value: Some(value) });
                        }
                        op => range(op),
                    }
                }
                Pred::Like(like) => {
                    let Some((column, [start, end])) = like::range_of(get, like) else { continue };
                    for (op, value) in
                        [(CompareOp::GreaterEqual, start), (CompareOp::LessEqual, end)]
                    {
                        let value = Cow::Owned(value);
                        terms.range.push(RangeTerm { pred, column, op, value, rounded: None });
                    }
                }
                _ => {}
            }
        }
        terms
    }

    fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.range.is_empty()
    }

    /// The columns that have an end of a range by a comparison, each with its condition.
    pub fn ranged(&self) -> impl Iterator<Item = (usize, &'p Pred)> {
        let compared = self.range.iter().filter(|term| matches!(term.pred, Pred::Compare(_)));
        compared.map(|term| (term.column, term.pred))
    }
}

/// An OR or a list of values: one of its cases holds.
pub struct Choice<'p> {
    /// Where the condition stands in its conjunction.
    pub at: usize,
    /// Each a conjunction.
    pub cases: Vec<Cow<'p, [Pred]>>,
}

impl<'p> Choice<'p> {
    /// Those of a conjunction's conditions that may give several ranges: each case says something
    /// of a column. `most`: lists of more constants than that are no choices.
    pub fn all(get: &Get, preds: &'p [Pred], most: usize) -> Vec<Choice<'p>> {
        let sought =
            |cases: &[Cow<'_, [Pred]>]| cases.iter().all(|case| !Terms::of(get, case).is_empty());
        let of = |(at, pred)| {
            cases(pred, most).filter(|cases| sought(cases)).map(|cases| Choice { at, cases })
        };
        preds.iter().enumerate().filter_map(of).collect()
    }

    /// Whether every case is one equality: ranges that stand for them stand for all of it.
    pub fn is_equalities(&self) -> bool {
        let equality = |case: &Cow<'_, [Pred]>| match &**case {
            [Pred::Compare(c)] => {
                c.op == CompareOp::Equal && rounded(&c.left).or(rounded(&c.right)).is_none()
            }
            [Pred::IsNull(_, negated)] => !negated,
            _ => false,
        };
        self.cases.iter().all(equality)
    }
}

fn cases(pred: &Pred, most: usize) -> Option<Vec<Cow<'_, [Pred]>>> {
    match pred {
        Pred::Or(list) => {
            // An OR or a list within it is so many cases more.
            let mut all = Vec::with_capacity(list.len());
            for pred in list {
                match pred {
                    Pred::Or(_) | Pred::InList(_) => all.extend(cases(pred, most)?),
                    Pred::And(list) => all.push(Cow::Borrowed(&list[..])),
                    one => all.push(Cow::Borrowed(std::slice::from_ref(one))),
                }
            }
            Some(all)
        }
        Pred::InList(list) if !list.negated && (list.is_compared() || list.list.len() <= most) => {
            let case = |value: &Expr| {
                let (left, right) = (list.operand.clone(), value.clone());
                let compare =
                    CompareExpr { op: CompareOp::Equal, left, right, collation: list.collation };
                Cow::Owned(vec![Pred::Compare(Box::new(compare))])
            };
            Some(list.list.iter().map(case).collect())
        }
        _ => None,
    }
}

/// A seek by one range, and what it came from.
#[derive(Clone)]
pub struct FoundSeek<'p> {
    pub seek: SeekSpec,
    /// Conditions of the table's own conjunction that it stands for exactly, by their places there.
    pub used: Vec<usize>,
    /// All conditions that it was made of.
    pub sought: Vec<&'p Pred>,
}

impl FoundSeek<'_> {
    /// How much is known of a key: equal columns, then ends of a range.
    fn length(&self) -> (usize, usize) {
        let ends = usize::from(self.seek.lower.is_some()) + usize::from(self.seek.upper.is_some());
        (self.seek.equal.len(), ends)
    }
}

/// The range of an index, by the order of its entries, for conjunctions that hold together; the
/// first is the table's own.
fn found<'p>(key: &[(usize, bool)], terms: &[&Terms<'p>]) -> FoundSeek<'p> {
    let mut found = FoundSeek { seek: SeekSpec::default(), used: Vec::new(), sought: Vec::new() };
    let seek = &mut found.seek;
    let is_again = |place: usize| key[..place].iter().any(|(before, _)| *before == key[place].0);
    for (place, (column, _)) in key.iter().enumerate() {
        let mut all = terms
            .iter()
            .enumerate()
            .flat_map(|(at, terms)| terms.equal.iter().map(move |t| (at, t)));
        let Some((of, term)) = all.find(|(_, t)| t.column == *column) else { break };
        seek.equal.push(term.value.cloned().unwrap_or(Expr::Const(Value::Null)));
        seek.null_ok.push(term.value.is_none());
        // Behind the key of an index stands that of the clustered one, which may have its columns
        // again.
        if is_again(place) {
            continue;
        }
        found.sought.push(term.pred);
        if of == 0 {
            found.used.push(term.at);
        }
    }
    while seek.equal.len().checked_sub(1).is_some_and(is_again) {
        seek.equal.pop();
        seek.null_ok.pop();
    }
    if let Some((column, _)) = key.get(seek.equal.len()) {
        for terms in terms {
            add_range(seek, terms, *column, &mut found.sought);
        }
    }
    found
}

/// Adds the range of a key column; `sought` gets its conditions.
fn add_range<'p>(
    seek: &mut SeekSpec,
    terms: &Terms<'p>,
    column: usize,
    sought: &mut Vec<&'p Pred>,
) {
    for term in terms.range.iter().filter(|t| t.column == column) {
        let (end, inclusive) = match term.op {
            CompareOp::Greater => (&mut seek.lower, false),
            CompareOp::GreaterEqual => (&mut seek.lower, true),
            CompareOp::Less => (&mut seek.upper, false),
            CompareOp::LessEqual => (&mut seek.upper, true),
            CompareOp::Equal | CompareOp::NotEqual => continue,
        };
        if end.is_none() {
            let value = term.value.clone().into_owned();
            *end = Some(SeekEnd { value, inclusive, rounded: term.rounded });
            if !sought.iter().any(|known| std::ptr::eq(*known, term.pred)) {
                sought.push(term.pred);
            }
        }
    }
}

/// A conjunction's conditions on a table.
pub struct Conditions<'p> {
    pub own: Terms<'p>,
    pub choices: &'p [Choice<'p>],
    /// Of each choice what its cases say.
    pub cases: Vec<Vec<Terms<'p>>>,
}

impl<'p> Conditions<'p> {
    /// The conditions of a conjunction whose choices are known.
    pub fn of(get: &Get, preds: &'p [Pred], choices: &'p [Choice<'p>]) -> Conditions<'p> {
        let cases = choices
            .iter()
            .map(|choice| choice.cases.iter().map(|case| Terms::of(get, case)).collect());
        Conditions { own: Terms::of(get, preds), choices, cases: cases.collect() }
    }

    /// The ranges of an index: one, or several of which each is longer by every choice that was
    /// made use of; only choices of so many cases at most are. Conditions that they stand for
    /// exactly, choices among them, are in the first one's `used`.
    pub fn ranges(&self, key: &[(usize, bool)], most: usize) -> Vec<FoundSeek<'p>> {
        let mut all = vec![(vec![&self.own], found(key, &[&self.own]))];
        let mut left: Vec<usize> =
            (0..self.choices.len()).filter(|at| self.cases[*at].len() <= most).collect();
        let mut used = Vec::new();
        while let Some((place, longer)) = self.longer(key, &left, &all) {
            let choice = &self.choices[left.remove(place)];
            if choice.is_equalities() {
                used.push(choice.at);
            }
            all = longer;
        }
        let mut all: Vec<FoundSeek<'p>> = all.into_iter().map(|(_, found)| found).collect();
        if let Some(first) = all.first_mut() {
            first.used.extend(used);
        }
        all
    }

    /// The range of an index by the conjunction's own conditions alone.
    pub fn own_range(&self, key: &[(usize, bool)]) -> FoundSeek<'p> {
        found(key, &[&self.own])
    }

    /// Whether they give ranges of an index, by the order of its entries, over so many columns at
    /// least.
    pub fn seeks(&self, key: &[(usize, bool)], least: usize) -> bool {
        let columns = |found: &FoundSeek<'_>| {
            let (equal, ends) = found.length();
            equal + usize::from(ends > 0)
        };
        self.ranges(key, usize::MAX).iter().all(|found| columns(found) >= least.max(1))
    }

    /// The choices of more than [`MOST_RANGES`] cases: their places among the conditions, and how
    /// many cases.
    pub fn long_choices(&self) -> impl Iterator<Item = (usize, usize)> {
        let all =
            self.choices.iter().zip(&self.cases).map(|(choice, cases)| (choice.at, cases.len()));
        all.filter(|(_, cases)| *cases > MOST_RANGES)
    }

    /// The first of these choices that makes all ranges longer, by its place, and the ranges then.
    fn longer<'t>(
        &'t self,
        key: &[(usize, bool)],
        choices: &[usize],
        all: &[TermsSeek<'t, 'p>],
    ) -> Option<(usize, Vec<TermsSeek<'t, 'p>>)> {
        let longer = |(place, choice): (usize, &usize)| {
            split(key, all, &self.cases[*choice]).map(|longer| (place, longer))
        };
        choices.iter().enumerate().find_map(longer)
    }

    /// So many leading columns of an index have one value by the conjunction's own conditions.
    pub fn equal_columns(&self, key: &[(usize, bool)]) -> usize {
        let named =
            |(column, _): &&(usize, bool)| self.own.equal.iter().any(|term| term.column == *column);
        key.iter().take_while(named).count()
    }

    /// The range of an index for one case of a choice that makes use of it; the conjunction's own
    /// conditions help.
    pub fn range_of_case(
        &self,
        key: &[(usize, bool)],
        choice: usize,
        case: usize,
    ) -> Option<FoundSeek<'p>> {
        let alone = found(key, &[&self.own]);
        let with = found(key, &[&self.own, &self.cases[choice][case]]);
        (with.length() > alone.length()).then_some(with)
    }
}

/// Conjunctions that hold together, with their range.
type TermsSeek<'t, 'p> = (Vec<&'t Terms<'p>>, FoundSeek<'p>);

/// Each range for each case of a choice, where that makes all of them longer.
fn split<'t, 'p>(
    key: &[(usize, bool)],
    all: &[TermsSeek<'t, 'p>],
    cases: &'t [Terms<'p>],
) -> Option<Vec<TermsSeek<'t, 'p>>> {
    if all.len() > 1 && all.len() * cases.len() > MOST_RANGES {
        return None;
    }
    let mut longer = Vec::with_capacity(all.len() * cases.len());
    for (terms, before) in all {
        for case in cases {
            let terms: Vec<&Terms<'p>> = terms.iter().copied().chain([case]).collect();
            let now = found(key, &terms);
            if now.length() <= before.length() {
                return None;
            }
            longer.push((terms, now));
        }
    }
    Some(longer)
}

/// Whether all subqueries of a condition are compared with a column and the same for all rows: it
/// can be sought.
pub fn is_sought(get: &Get, pred: &Pred) -> bool {
    match pred {
        Pred::Compare(c) => sargable(get, c).is_some(),
        Pred::InList(list) => !list.operand.has_subquery() && list.list.iter().all(Expr::is_fixed),
        Pred::And(list) | Pred::Or(list) => {
            list.iter().all(|pred| !pred.has_subquery() || is_sought(get, pred))
        }
        _ => false,
    }
}

/// A comparison of a column with something that does not depend on the row.
struct Sargable<'p> {
    column: usize,
    op: CompareOp,
    value: &'p Expr,
    /// As [`SeekEnd::rounded`].
    rounded: Option<DataType>,
}

fn sargable<'p>(get: &Get, c: &'p CompareExpr) -> Option<Sargable<'p>> {
    let one = |column: &Expr, op: CompareOp, value: &'p Expr| {
        let (column, rounded) = match rounded(column) {
            Some((id, ty)) => (get.position(id)?, Some(ty)),
            None => (seekable_column(get, column, c.collation)?, None),
        };
        value.is_fixed().then_some(Sargable { column, op, value, rounded })
    };
    one(&c.left, c.op, &c.right).or_else(|| one(&c.right, mirrored(c.op), &c.left))
}

/// A column converted to a type in which several of its values may be one, and that type: a value
/// of it is a range of the column's.
fn rounded(e: &Expr) -> Option<(ColId, DataType)> {
    match e {
        Expr::Convert(c) => match (&c.operand, kept(c.from, c.to)) {
            (Expr::Col(id), Some(KeptOrder::Rounded | KeptOrder::Near)) => Some((*id, c.to)),
            _ => None,
        },
        _ => None,
    }
}

/// The column itself, or widened in a way that keeps its order and its values apart.
pub(super) fn seekable_column(get: &Get, e: &Expr, collation: Collation) -> Option<usize> {
    match e {
        Expr::Col(id) => {
            let column = get.position(*id)?;
            let def = &get.table.columns[column];
            (!def.ty.is_string() || def.collation == collation).then_some(column)
        }
        Expr::Convert(c) if keeps_apart(c.from, c.to) => match &c.operand {
            Expr::Col(id) => get.position(*id),
            _ => None,
        },
        _ => None,
    }
}
