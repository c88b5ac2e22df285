//! Names that a query block can see: its FROM sources, the groups and windows it makes, and the
//! blocks around it. Guarantees: a name resolves to one column id or to an error with SQL Server's
//! number (207, 209, 4104, 8120); a column of an outer block becomes a parameter of the subquery
//! that mentions it.

use super::sources::Sources;
use expr::aggregate::Aggregate;
use expr::same_syntax::{SyntaxIndex, same_syntax};
use expr::{ColId, Expr, Typed};
use logical::window::WindowCall;
use syntax::ast;

/// Where in a SELECT an expression stands; decides which error an ungrouped column gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    #[default]
    Select,
    On,
    Where,
    GroupBy,
    Having,
    OrderBy,
    /// Inside the argument of an aggregate.
    Aggregate,
    /// An OUTPUT clause.
    Output,
    /// The definition of a computed column or a CHECK constraint.
    Definition,
    /// Where there is no row: VALUES, variables, TOP.
    None,
}

/// GROUP BY of a block: keys, aggregates met so far.
#[derive(Clone, Debug, Default)]
pub struct Grouping {
    /// The key's syntax, its expression over the sources, and the column that carries it after
    /// grouping.
    pub keys: Vec<GroupKey>,
    /// The keys as they are written.
    pub written: SyntaxIndex,
    pub aggregates: Vec<Aggregate>,
    /// Where there is more than one set of keys.
    pub sets: Option<GroupingSets>,
}

impl Grouping {
    /// The key that is written like an expression.
    pub(crate) fn key_written(&self, e: &ast::Expr) -> Option<usize> {
        self.written.candidates(e).iter().copied().find(|key| same_syntax(&self.keys[*key].ast, e))
    }

    /// Adds a key.
    pub(crate) fn add_key(&mut self, key: GroupKey) {
        self.written.add(&key.ast, self.keys.len());
        self.keys.push(key);
    }

    /// Whether rows of some set are without this key, so that it is NULL in them.
    pub(crate) fn leaves_out(&self, key: usize) -> bool {
        self.sets.as_ref().is_some_and(|sets| sets.masks.iter().any(|mask| mask >> key & 1 == 0))
    }
}

/// The sets of keys that ROLLUP, CUBE and GROUPING SETS mean; there are at least two.
#[derive(Clone, Debug)]
pub struct GroupingSets {
    /// Bit `i` of a set: it has key `i`.
    pub masks: Vec<u64>,
    /// The column of a set's number beside the input, and after the aggregation.
    pub number: ColId,
    /// Beside it the first of one column for each key: 1 where the set has it.
    pub flags: ColId,
    pub output: ColId,
}

/// One key of GROUP BY.
#[derive(Clone, Debug)]
pub struct GroupKey {
    pub ast: ast::Expr,
    pub source: Typed,
    pub output: ColId,
}

/// One query block while it is bound.
#[derive(Debug, Default)]
pub struct Scope {
    pub sources: Sources,
    /// So many of them, from the first, have columns that only a name with their prefix means.
    pub prefixed: usize,
    /// False while FROM is bound: siblings are not visible except to APPLY and ON.
    pub visible: bool,
    pub clause: Clause,
    /// While the right side of an APPLY in its FROM is bound.
    pub applying: bool,
    /// Its list, HAVING or ORDER BY is bound: an aggregate of it may still make it group.
    pub listing: bool,
    /// Set once the block is known to group.
    pub grouping: Option<Grouping>,
    /// OVER calls met so far.
    pub windows: Vec<WindowCall>,
    /// The WINDOW clause.
    pub named_windows: Vec<ast::NamedWindow>,
    /// Parameters that this block needs of the block around it: slot and the outer value.
    pub outer: Vec<(usize, Expr)>,
    /// Some value inside comes from a block around this one.
    pub correlated: bool,
    /// Whether OVER is allowed (select list and ORDER BY only).
    pub allow_windows: bool,
    /// While a call with OVER is bound.
    pub windowed: bool,
}
