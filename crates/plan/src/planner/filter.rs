//! Conditions on the rows of a node: EXISTS and IN become joins, what asks for no column is tested
//! before the input is read, what cannot go further down is tested above. Guarantee: no condition
//! is lost.

use super::{Context, Planner};
use crate::decorrelate::{self, SemiJoin, WhereContext};
use crate::estimate;
use crate::never_fails::never_fails;
use crate::nodes::{CustomNode, Node, Plan};
use crate::rewrite::rewrite;
use bind::options::JoinMethods;
use expr::{Expr, Pred};
use logical::slots::pred_slots;
use logical::tree::Logical;
use logical::tree::input::Input;
use stack::Nested;
use storage::TableMode;
use types::SqlError;

/// The share of rows that conditions keep of which nothing more is known.
const KEPT: f64 = 0.3;

/// The rows of an input where a condition without columns holds. It is tested once; where it does
/// not hold, the input is not started: `WHERE @all = 1 AND ...` reads nothing for another value.
#[derive(Debug)]
pub struct StartupFilter {
    pub input: Nested<Plan>,
    /// Over no slots.
    pub pred: Pred,
}

impl CustomNode for StartupFilter {
    fn inputs(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn exprs(&self) -> Vec<&Expr> {
        Vec::new()
    }

    fn cost(&self, _: f64) -> f64 {
        0.0
    }

    fn shown(&self) -> (&'static str, &'static str, String) {
        ("Filter", "Filter", "WHERE:(STARTUP EXPR)".into())
    }

    fn passed(&mut self) -> Option<&mut Plan> {
        Some(&mut self.input)
    }
}

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

    /// WHERE: what asks for no column is tested before anything is read.
    pub(super) fn filter(
        &mut self,
        input: Logical,
        preds: Vec<Pred>,
        cx: &Context,
    ) -> Result<Plan, SqlError> {
        if !is_read(&input) || !preds.iter().any(|pred| self.is_of_start(pred)) {
            return self.tested(input, preds, cx);
        }
        let (startup, preds): (Vec<Pred>, Vec<Pred>) =
            preds.into_iter().partition(|pred| self.is_of_start(pred));
        let share = estimate::kept(&startup, &input);
        let plan = self.tested(input, preds, cx)?;
        Ok(started(plan, startup, share))
    }

    /// Whether a condition is the same for all rows of a run and can be tested without one: it asks
    /// for variables that keep their values, or for values of a row around the plan. Of a plan that
    /// runs again and again only the latter is worth it.
    fn is_of_start(&self, pred: &Pred) -> bool {
        let (mut fixed, mut variables, mut outer) = (true, false, false);
        pred.leaves(&mut |leaf| match leaf {
            Expr::Const(_) => {}
            Expr::Param(_) => outer = true,
            Expr::Var(slot) => {
                variables = true;
                fixed &= self.statement.sets.as_ref().is_some_and(|set| !set.contains(slot));
            }
            _ => fixed = false,
        });
        let once = variables && self.statement.inner_plans == 0;
        fixed && (outer || once) && never_fails(pred)
    }

    /// EXISTS and IN of subqueries become semi joins where that is simple.
    fn tested(&mut self, input: Logical, preds: Vec<Pred>, cx: &Context) -> Result<Plan, SqlError> {
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

/// Whether rows are read below that may be left out: not the statement's own ones, nor those that
/// it locks, which a change finds by a plain scan.
fn is_read(input: &Logical) -> bool {
    match estimate::below_filters(input) {
        Logical::One | Logical::Values { .. } | Logical::Work(_) => false,
        Logical::Get(get) => get.mode != TableMode::Current && get.locks.is_none(),
        _ => true,
    }
}

/// A plan under conditions that can be tested before it is started. One row that is found by its
/// key costs no more than an operator: there they are tested on the row.
fn started(mut plan: Plan, startup: Vec<Pred>, share: f64) -> Plan {
    if let Node::Scan(scan) = &mut plan.node
        && scan.path.is_point()
    {
        let mut all = Vec::new();
        if let Some(own) = scan.pred.take() {
            own.into_conjuncts(&mut all);
        }
        all.extend(startup);
        scan.pred = Pred::from_conjuncts(all);
        return plan;
    }
    let Some(pred) = Pred::from_conjuncts(startup) else { return plan };
    let (cols, ordered) = (plan.cols.clone(), plan.ordered);
    let rows = (plan.rows * share).max(1.0);
    let node = Node::Own(Box::new(StartupFilter { input: Nested::new(plan), pred }));
    Plan { node, cols, rows, ordered }
}

/// A plan that gives no rows: its input is never opened.
fn empty(plan: Plan) -> Plan {
    Plan { node: Node::Concat(Nested::new(Vec::new())), ..plan }
}
