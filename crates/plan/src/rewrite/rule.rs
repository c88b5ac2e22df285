//! What a rewrite is.

use crate::statement::Statement;
use logical::tree::Logical;

/// A rewrite of whole plans. It is never needed: the planner makes a plan without it, a slower one.
pub struct Rewrite {
    /// A word: OPTION (QUERYRULEOFF name) leaves it out, sys.dm_exec_query_optimizer_info shows
    /// what it did.
    pub name: &'static str,
    /// An equivalent plan; the pass is told of every place that is changed.
    pub apply: fn(Logical, &mut Pass<'_, '_>) -> Logical,
}

/// One application of a rewrite to a plan.
pub struct Pass<'p, 'a> {
    /// Gives new columns, and knows the statement's subqueries and hints.
    pub statement: &'p mut Statement<'a>,
    changes: u64,
}

impl<'p, 'a> Pass<'p, 'a> {
    /// Before it begins.
    pub fn new(statement: &'p mut Statement<'a>) -> Pass<'p, 'a> {
        Pass { statement, changes: 0 }
    }

    /// The session was told to stop, or there is no memory: what has not been rewritten stays as it
    /// is.
    pub fn is_over(&self) -> bool {
        self.statement.check_cancel().is_err()
    }

    /// A place of the plan is another one now.
    pub fn changed(&mut self) {
        self.changes += 1;
    }

    /// How many places were changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}
