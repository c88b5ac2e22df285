//! Conditions: what is true, false or unknown of a row, and the walks over their parts.

use crate::lookup::{FEW, Lookup};
use crate::{ColId, Expr, SubRef};
use std::fmt;
use std::sync::Arc;
use syntax::ast::CompareOp;
use types::Collation;
use types::like::LikePattern;

/// A condition: true, false or unknown (`None`).
#[derive(Clone, Debug)]
pub enum Pred {
    Const(Option<bool>),
    /// Both sides have one comparable kind.
    Compare(Box<CompareExpr>),
    And(Vec<Pred>),
    Or(Vec<Pred>),
    Not(Box<Pred>),
    IsNull(Box<Expr>, bool),
    /// `a IS [NOT] DISTINCT FROM b`; the flag says NOT.
    Distinct(Box<CompareExpr>, bool),
    Like(Box<LikeExpr>),
    /// `x IN (a, b, ...)`; the flag says NOT.
    InList(Box<InListExpr>),
    /// `EXISTS (SELECT ...)`.
    Exists(Box<SubRef>),
    /// `x IN (SELECT ...)` and `x op ANY/ALL (SELECT ...)`.
    Quantified(Box<QuantifiedExpr>),
}

/// A comparison.
#[derive(Clone, Debug)]
pub struct CompareExpr {
    pub op: CompareOp,
    pub left: Expr,
    pub right: Expr,
    pub collation: Collation,
}

/// LIKE.
#[derive(Clone, Debug)]
pub struct LikeExpr {
    pub operand: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
    /// The pattern, read once when it is a constant.
    pub compiled: Option<Arc<LikePattern>>,
    /// nvarchar: trailing blanks count.
    pub unicode: bool,
    pub negated: bool,
    pub collation: Collation,
}

/// IN with a list.
#[derive(Clone, Debug)]
pub struct InListExpr {
    pub operand: Expr,
    /// Not changed once it is here, but by [`Pred::leaves_mut`].
    pub list: Vec<Expr>,
    pub negated: bool,
    pub collation: Collation,
    /// The list, where it is of many constants.
    pub(crate) lookup: Option<Arc<Lookup>>,
    /// Of many values with variables among them, which stay the same for a whole run.
    pub(crate) kept: Option<ListNumber>,
}

/// The number under which a run keeps the values of a list ([`crate::KeptList`]), unique in its
/// statement.
#[derive(Clone, Copy)]
pub(crate) struct ListNumber(pub(crate) usize);

/// Lists that are written alike are alike.
impl fmt::Debug for ListNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kept")
    }
}

impl InListExpr {
    /// `operand IN (list)`; both have the type of the comparison.
    pub fn new(operand: Expr, list: Vec<Expr>, negated: bool, collation: Collation) -> InListExpr {
        let constants: Option<Vec<_>> = list.iter().map(Expr::as_const).collect();
        let lookup =
            constants.and_then(|constants| Lookup::of(&constants, collation)).map(Arc::new);
        InListExpr { operand, list, negated, collation, lookup, kept: None }
    }

    /// Whether the elements are few, or no constants: what a value is looked for in is not known
    /// before the list is run.
    pub fn is_compared(&self) -> bool {
        self.lookup.is_none()
    }

    /// Whether the list is long, is made of variables, constants and what is computed of them, and
    /// has the same values for a whole run, as these variables have. `stays`: whether a variable
    /// does.
    pub fn can_be_kept(&self, stays: &dyn Fn(usize) -> bool) -> bool {
        if self.lookup.is_some() || self.list.len() <= FEW {
            return false;
        }
        let (mut same, mut variables) = (true, false);
        for e in &self.list {
            e.leaves(&mut |leaf| match leaf {
                Expr::Const(_) => {}
                Expr::Var(slot) => {
                    variables = true;
                    same = same && stays(*slot);
                }
                _ => same = false,
            });
            same = same && !e.has_subquery() && !e.is_volatile();
        }
        same && variables
    }

    /// The run keeps the values under this number, which no other list of the statement has.
    pub fn keep_as(&mut self, number: usize) {
        self.kept = Some(ListNumber(number));
    }

    /// Whether the run keeps the values: a value is looked up in them.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }
}

/// `x op ANY (SELECT ...)`; IN is `= ANY`, NOT IN is `<> ALL`.
#[derive(Clone, Debug)]
pub struct QuantifiedExpr {
    pub op: CompareOp,
    pub operand: Expr,
    pub all: bool,
    pub query: SubRef,
    pub collation: Collation,
}

impl Pred {
    /// As [`Expr::leaves_mut`].
    pub fn leaves_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Pred::Const(_) => {}
            Pred::Compare(c) | Pred::Distinct(c, _) => {
                c.left.leaves_mut(f);
                c.right.leaves_mut(f);
            }
            Pred::And(list) | Pred::Or(list) => list.iter_mut().for_each(|p| p.leaves_mut(f)),
            Pred::Not(p) => p.leaves_mut(f),
            Pred::IsNull(e, _) => e.leaves_mut(f),
            Pred::Like(l) => {
                l.operand.leaves_mut(f);
                l.pattern.leaves_mut(f);
                if let Some(e) = &mut l.escape {
                    e.leaves_mut(f);
                }
            }
            Pred::InList(l) => {
                l.operand.leaves_mut(f);
                // Constants that are in order already stay what they are.
                if l.lookup.is_none() {
                    l.list.iter_mut().for_each(|e| e.leaves_mut(f));
                }
            }
            Pred::Exists(s) => s.leaves_mut(f),
            Pred::Quantified(q) => {
                q.operand.leaves_mut(f);
                q.query.leaves_mut(f);
            }
        }
    }

    /// As [`Expr::size`].
    pub fn size(&self) -> usize {
        let of_args = |s: &SubRef| s.args.iter().map(|(_, e)| e.size()).sum::<usize>();
        1 + match self {
            Pred::Const(_) => 0,
            Pred::Compare(c) | Pred::Distinct(c, _) => c.left.size() + c.right.size(),
            Pred::And(list) | Pred::Or(list) => list.iter().map(Pred::size).sum(),
            Pred::Not(p) => p.size(),
            Pred::IsNull(e, _) => e.size(),
            Pred::Like(l) => {
                l.operand.size() + l.pattern.size() + l.escape.as_ref().map_or(0, Expr::size)
            }
            Pred::InList(l) => l.operand.size() + l.list.iter().map(Expr::size).sum::<usize>(),
            Pred::Exists(s) => of_args(s),
            Pred::Quantified(q) => q.operand.size() + of_args(&q.query),
        }
    }

    /// As [`Expr::leaves`].
    pub fn leaves(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Pred::Const(_) => {}
            Pred::Compare(c) | Pred::Distinct(c, _) => {
                c.left.leaves(f);
                c.right.leaves(f);
            }
            Pred::And(list) | Pred::Or(list) => list.iter().for_each(|p| p.leaves(f)),
            Pred::Not(p) => p.leaves(f),
            Pred::IsNull(e, _) => e.leaves(f),
            Pred::Like(l) => {
                l.operand.leaves(f);
                l.pattern.leaves(f);
                if let Some(e) = &l.escape {
                    e.leaves(f);
                }
            }
            Pred::InList(l) => {
                l.operand.leaves(f);
                l.list.iter().for_each(|e| e.leaves(f));
            }
            Pred::Exists(s) => s.leaves(f),
            Pred::Quantified(q) => {
                q.operand.leaves(f);
                q.query.leaves(f);
            }
        }
    }

    /// Whether a subquery is somewhere inside.
    pub fn has_subquery(&self) -> bool {
        match self {
            Pred::Const(_) => false,
            Pred::Compare(c) | Pred::Distinct(c, _) => {
                c.left.has_subquery() || c.right.has_subquery()
            }
            Pred::And(list) | Pred::Or(list) => list.iter().any(Pred::has_subquery),
            Pred::Not(p) => p.has_subquery(),
            Pred::IsNull(e, _) => e.has_subquery(),
            Pred::Like(l) => l.operand.has_subquery() || l.pattern.has_subquery(),
            Pred::InList(l) => l.operand.has_subquery() || l.list.iter().any(Expr::has_subquery),
            Pred::Exists(_) | Pred::Quantified(_) => true,
        }
    }

    /// Whether it has a part whose value may change from call to call.
    pub fn is_volatile(&self) -> bool {
        self.changes(true)
    }

    /// As [`Expr::changes`].
    pub(crate) fn changes(&self, subqueries: bool) -> bool {
        let one = |e: &Expr| e.changes(subqueries);
        match self {
            Pred::Const(_) => false,
            Pred::Compare(c) | Pred::Distinct(c, _) => one(&c.left) || one(&c.right),
            Pred::And(list) | Pred::Or(list) => list.iter().any(|p| p.changes(subqueries)),
            Pred::Not(p) => p.changes(subqueries),
            Pred::IsNull(e, _) => one(e),
            Pred::Like(l) => {
                one(&l.operand) || one(&l.pattern) || l.escape.as_ref().is_some_and(one)
            }
            Pred::InList(l) => one(&l.operand) || l.list.iter().any(one),
            Pred::Exists(_) | Pred::Quantified(_) => subqueries,
        }
    }

    /// As [`Expr::is_plain`]; LIKE, which may take long, is not.
    pub fn is_plain(&self) -> bool {
        match self {
            Pred::Const(_) => true,
            Pred::Compare(c) | Pred::Distinct(c, _) => c.left.is_plain() && c.right.is_plain(),
            Pred::And(list) | Pred::Or(list) => list.iter().all(Pred::is_plain),
            Pred::Not(p) => p.is_plain(),
            Pred::IsNull(e, _) => e.is_plain(),
            Pred::InList(l) => {
                l.operand.is_plain() && (l.lookup.is_some() || l.list.iter().all(Expr::is_plain))
            }
            Pred::Like(_) | Pred::Exists(_) | Pred::Quantified(_) => false,
        }
    }

    /// The column ids inside.
    pub fn columns(&self, out: &mut Vec<ColId>) {
        self.leaves(&mut |leaf| {
            if let Expr::Col(id) = leaf
                && !out.contains(id)
            {
                out.push(*id);
            }
        });
    }

    /// A constant that is never true.
    pub fn is_false(&self) -> bool {
        matches!(self, Pred::Const(Some(false) | None))
    }

    /// The conjuncts of a condition, flat.
    pub fn into_conjuncts(self, out: &mut Vec<Pred>) {
        match self {
            Pred::And(list) => list.into_iter().for_each(|p| p.into_conjuncts(out)),
            Pred::Const(Some(true)) => {}
            other => out.push(other),
        }
    }

    /// One condition of conjuncts; `None` for none.
    pub fn from_conjuncts(mut list: Vec<Pred>) -> Option<Pred> {
        match list.len() {
            0 => None,
            1 => list.pop(),
            _ => Some(Pred::And(list)),
        }
    }
}

/// The comparison with its sides exchanged.
pub fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
        same => same,
    }
}
