//! Operators that the rest of a plan knows by one interface: what a node costs, what it is shown as
//! and what is below it, it says itself. A new operator is made this way: its node where it is
//! chosen, its run in `exec/src/operators`.

use crate::nodes::{Node, Plan};
use expr::Expr;
use std::any::Any;
use std::fmt::Debug;

/// A node of the plan that is no variant of [`Node`].
pub trait OwnNode: Any + Debug + Send + Sync {
    /// Its inputs, in the order in which they are shown.
    fn inputs(&self) -> Vec<&Plan>;

    /// Its expressions, in which subqueries may be.
    fn exprs(&self) -> Vec<&Expr>;

    /// What it costs without its inputs when it gives so many rows, in units of [`crate::cost`].
    fn cost(&self, rows: f64) -> f64;

    /// Its physical and its logical name, and its argument, as SHOWPLAN has them.
    fn shown(&self) -> (&'static str, &'static str, String);
}

impl Node {
    /// The node as an operator knows it that runs nodes of this kind.
    pub fn own<T: OwnNode>(&self) -> Option<&T> {
        match self {
            Node::Own(node) => (&**node as &dyn Any).downcast_ref(),
            _ => None,
        }
    }
}
