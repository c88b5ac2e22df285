//! Conditions on the rows of a node: EXISTS and IN become joins, what cannot go further down is
//! tested above. Guarantee: no condition is lost.

use super::{Context, Planner};
use crate::decorrelate::{self, SemiJoin, WhereContext};
use crate::nodes::{Node, Plan};
use crate::rewrite::rewrite;
use bind::options::JoinMethods;
use expr::Pred;
use logical::slots::pred_slots;
use logical::tree::Logical;
use logical::tree::input::Input;
use stack::Nested;
use types::SqlError;

/// The share of rows that conditions keep of which nothing more is known.
const KEPT: f64 = 0.3;

impl Planner<'_, '_> {
    /// A filter operator for what could not go further down.
    pub(super) fn above(&mut self, plan: Plan, preds: Vec<Pred>) -> Result<Plan, SqlError> {
        self.keeping(KEPT, plan, preds)
    }

    /// As [`Planner::above`], with the share of the rows that the conditions keep.
    pub(super) fn keeping(
        &mut self,
        share: f64,
        plan: Plan,
        preds: Vec<Pred>,
    ) -> Result<Plan, SqlError> {
        let Some(mut pred) = Pred::from_conjuncts(preds) else { return Ok(plan) };
        pred_slots(&mut pred, &plan.cols)?;
        let (cols, ordered) = (plan.cols.clone(), plan.ordered);
        let rows = (plan.rows * share).max(1.0);
        Ok(Plan { node: Node::Filter { input: Nested::new(plan), pred }, cols, rows, ordered })
    }

    /// WHERE: EXISTS and IN of subqueries become semi joins where that is simple.
    pub(super) fn filter(
        &mut self,
        input: Logical,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        let mut input = input;
        let mut rest = Vec::new();
        let beside: Vec<Pred> = match preds.iter().any(Pred::has_subquery) {
            true => preds.iter().filter(|pred| !pred.has_subquery()).cloned().collect(),
            false => Vec::new(),
        };
        let once =
            self.statement.inner_plans == 0 && self.statement.join_methods == JoinMethods::ALL;
        let wishes = !cx.order.is_empty() || !cx.grouping.is_empty() || cx.goal.is_some();
        for pred in preds {
            if pred.is_false() {
                // Nothing can come: the input is planned for its columns only.
                let plan = self.node(input, Vec::new(), &cx.unordered())?;
                let (cols, node) =
                    (plan.cols.clone(), Node::Filter { input: Nested::new(plan), pred });
                return Ok(empty(Plan { node, cols, rows: 0.0, ordered: true }));
            }
            let subqueries = &self.statement.subqueries;
            let place = WhereContext { input: &input, beside: &beside, subqueries, once, wishes };
            match decorrelate::semi_join(pred, &place) {
                Ok(SemiJoin { kind, right, on, unless }) => {
                    rest.extend(
                        unless.into_iter().map(|unless| self.statement.without_rows(unless)),
                    );
                    let right = rewrite(right, self.statement)?;
                    input = Logical::Join {
                        kind,
                        left: Input::new(input),
                        right: Input::new(right),
                        on,
                        hint: None,
                    };
                }
                Err(pred) => rest.push(*pred),
            }
        }
        self.node(input, rest, cx)
    }
}

/// A plan that gives no rows: its input is never opened.
fn empty(plan: Plan) -> Plan {
    Plan { node: Node::Concat(Nested::new(Vec::new())), ..plan }
}
