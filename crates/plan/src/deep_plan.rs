//! The root of a plan whose operators nest deeply: one look at the stack, when they are started,
//! asked for rows and dropped, serves all of them; those of other plans do with the room that every
//! statement has. It is not shown.

use crate::nodes::{Node, Plan};
use crate::own_node::OwnNode;
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

impl OwnNode for DeepPlan {
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
}
