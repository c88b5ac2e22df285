//! The value of a correlated subquery wherever it stands: the groups are joined by a left join, and
//! the value is computed of the group's aggregates, NULL where the outer row has no group, 0 for
//! COUNT. Guarantee: a subquery that a CASE or COALESCE may not come to stays where it is, unless
//! the same one is joined already; so does one that computes what may fail for rows that nobody
//! asks for.

use super::groups::{Groups, put_outer};
use crate::rewrite::rule::Pass;
use expr::{Expr, Pred, SubRef};
use logical::tree::input::Input;
use logical::tree::{JoinKind, Logical};
use std::collections::HashMap;

/// The subqueries of a node that are joined.
pub struct Values<'v, 'p, 'a> {
    outer_rows: f64,
    /// So many of them are asked for.
    asked: f64,
    pass: &'v mut Pass<'p, 'a>,
    /// By the numbers of the subqueries what their values are; `None`: they stay.
    known: HashMap<usize, Option<Expr>>,
    /// What is joined, and on what.
    joins: Vec<(Logical, Vec<Pred>)>,
}

impl<'v, 'p, 'a> Values<'v, 'p, 'a> {
    /// None yet, of a node with so many outer rows, of which so many are wanted.
    pub fn new(
        outer_rows: f64,
        goal: Option<f64>,
        pass: &'v mut Pass<'p, 'a>,
    ) -> Values<'v, 'p, 'a> {
        let asked = goal.map_or(outer_rows, |goal| goal.min(outer_rows));
        Values { outer_rows, asked, pass, known: HashMap::new(), joins: Vec::new() }
    }

    /// The outer rows, each with its groups.
    pub fn joined(self, outer: Logical) -> Logical {
        self.joins.into_iter().fold(outer, |left, (right, on)| {
            let (left, right) = (Input::new(left), Input::new(right));
            Logical::Join { kind: JoinKind::Left, left, right, on, hint: None }
        })
    }

    /// Puts values in the place of subqueries.
    pub fn replace(&mut self, e: &mut Expr) {
        self.value(e, true);
    }

    /// Puts values in the place of subqueries of a condition; whether it has got some.
    pub fn replace_in(&mut self, pred: &mut Pred) -> bool {
        self.condition(pred, true)
    }

    /// `always`: the expression is evaluated for each row.
    fn value(&mut self, e: &mut Expr, always: bool) -> bool {
        match e {
            Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) | Expr::Routine(_) => {
                false
            }
            Expr::Convert(c) => self.value(&mut c.operand, always),
            // Both are evaluated, whatever the first one is.
            Expr::Binary(b) => self.value(&mut b.left, always) | self.value(&mut b.right, always),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => self.value(e, always),
            Expr::Case(c) => {
                let mut found = false;
                for (at, (when, then)) in c.branches.iter_mut().enumerate() {
                    found |= self.condition(when, always && at == 0);
                    found |= self.value(then, false);
                }
                found | self.value(&mut c.otherwise, false)
            }
            Expr::Coalesce(list) => {
                let parts = list.iter_mut().enumerate();
                parts.fold(false, |found, (at, e)| self.value(e, always && at == 0) | found)
            }
            Expr::Call(call) => {
                call.args.iter_mut().fold(false, |found, e| self.value(e, always) | found)
            }
            Expr::Subquery(sub) => match self.known_value(sub, always) {
                Some(value) => {
                    *e = value;
                    true
                }
                None => false,
            },
            Expr::Deep(e) => stack::with_room(|| self.value(e, always)),
        }
    }

    fn condition(&mut self, pred: &mut Pred, always: bool) -> bool {
        match pred {
            Pred::Const(_) | Pred::Exists(_) => false,
            Pred::Compare(c) | Pred::Distinct(c, _) => {
                self.value(&mut c.left, always) | self.value(&mut c.right, always)
            }
            // The terms after the first one are mostly asked as well.
            Pred::And(list) | Pred::Or(list) => stack::with_room(|| {
                list.iter_mut().fold(false, |found, pred| self.condition(pred, always) | found)
            }),
            Pred::Not(pred) => stack::with_room(|| self.condition(pred, always)),
            Pred::IsNull(e, _) => self.value(e, always),
            Pred::Like(like) => self.value(&mut like.operand, always),
            Pred::InList(list) => self.value(&mut list.operand, always),
            Pred::Quantified(q) => self.value(&mut q.operand, always),
        }
    }

    /// What the value of a subquery is when its groups are joined; `always`: they may be.
    fn known_value(&mut self, sub: &SubRef, always: bool) -> Option<Expr> {
        if let Some(known) = self.known.get(&sub.id) {
            return known.clone();
        }
        if !always || super::is_full(self.pass) {
            return None;
        }
        let value = self.join(sub);
        self.known.insert(sub.id, value.clone());
        value
    }

    fn join(&mut self, sub: &SubRef) -> Option<Expr> {
        let (mut groups, column) = Groups::of(sub, self.asked, self.pass.statement)?;
        let made = groups.exprs.iter().flatten().find(|(id, _)| *id == column);
        let mut value = made.map_or(Expr::Col(column), |(_, e)| e.clone());
        if !groups.pay(self.asked, self.outer_rows) || groups.may_fail() || value.is_volatile() {
            return None;
        }
        let renamed = groups.rename(self.pass.statement);
        value.leaves_mut(&mut |leaf| {
            if let Expr::Col(id) = leaf
                && let Some((_, of_group)) = renamed.iter().find(|(old, _)| old == id)
            {
                *leaf = of_group.clone();
            }
        });
        value.leaves_mut(&mut |leaf| put_outer(leaf, &sub.args));
        self.pass.changed();
        self.joins.push((groups.grouped(), groups.on));
        Some(value)
    }
}
