//! The root of a plan whose operators nest deeply: one look at the stack, when they are started,
//! asked for rows and dropped, serves all of them; those of other plans do with the room that every
//! statement has. It is not shown.

use crate::nodes::{CustomNode, Node, Plan};
use catalog::errors;
use expr::Expr;
use stack::Nested;
use types::SqlError;

/// Operators that may be below one another without it.
const FEW: usize = 24;
/// Most operators below one another.
const MOST: usize = 16_384;
/// Stack of one of them, in bytes: what the largest takes between a call of it and its call of the
/// next.
const LEVEL: usize = if cfg!(debug_assertions) { 16 << 10 } else { 8 << 10 };

/// The node.
#[derive(Debug)]
pub struct DeepPlan {
    pub input: Nested<Plan>,
    height: usize,
}

impl DeepPlan {
    /// The stack that its operators take, in bytes.
    pub fn room(&self) -> usize {
        self.height * LEVEL
    }

    /// The plan as it is to run.
    ///
    /// # Errors
    /// 8623.
    pub(crate) fn root(plan: Plan) -> Result<Plan, SqlError> {
        let height = plan.height();
        if height <= FEW {
            return Ok(plan);
        }
        if height > MOST {
            return Err(errors::too_complex());
        }
        let (cols, rows, ordered) = (plan.cols.clone(), plan.rows, plan.ordered);
        let node = Node::Own(Box::new(DeepPlan { input: Nested::new(plan), height }));
        Ok(Plan { node, cols, rows, ordered })
    }
}

impl CustomNode for DeepPlan {
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
        ("Segment", "Segment", String::new())
    }

    fn passed(&mut self) -> Option<&mut Plan> {
        Some(&mut self.input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many operators below one another.
    fn of_height(height: usize) -> Plan {
        let plan = |node| Plan { node, cols: Vec::new(), rows: 1.0, ordered: false };
        let above = |input| plan(Node::Project { input: Nested::new(input), exprs: Vec::new() });
        (1..height).fold(plan(Node::One), |input, _| above(input))
    }

    #[test]
    fn operators_nest_to_16384() {
        for height in [1, 24] {
            let plan = DeepPlan::root(of_height(height)).expect("a plan");
            assert!(plan.node.own::<DeepPlan>().is_none(), "{height}");
        }
        for height in [25, 16_384] {
            let plan = DeepPlan::root(of_height(height)).expect("a plan");
            let room = plan.node.own::<DeepPlan>().map(DeepPlan::room);
            assert_eq!(room, Some(height * LEVEL), "{height}");
        }
        let refused = DeepPlan::root(of_height(16_385)).map(drop).map_err(|e| e.number);
        assert_eq!(refused, Err(8623));
    }
}
