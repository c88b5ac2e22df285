//! Typed scalar expressions, conditions, functions and aggregates, and their evaluation over a row.
//!
//! The binder turns syntax into [`Expr`] and [`Pred`] and inserts every conversion ([`bind_ops`]),
//! so that evaluation ([`eval`]) never decides a type. Before planning, [`Expr::Col`] holds a
//! statement-wide column id; the planner rewrites it to a slot of the row that the expression is
//! evaluated over. What an expression needs besides the row comes through [`Env`]: this crate knows
//! no tables, no plans and no sessions, and a subquery is only a number to it. Guarantees:
//! conditions follow three-valued logic; numbers never allocate; evaluation order of AND/OR is left
//! to right with short cuts; a constant subexpression that cannot fail is evaluated once, at
//! compile time.

pub mod aggregate;
pub mod bind_ops;
mod computed;
mod culture;
pub mod document;
mod env;
pub mod eval;
pub mod functions;
mod in_place;
pub mod ints;
pub mod json;
pub mod key;
pub mod large;
mod lookup;
pub mod mask;
pub mod order;
mod parsed;
mod pred;
pub mod random;
pub mod same_syntax;
mod typed;
pub mod zones;

use functions::Stability;
use lookup::BranchLookup;
use stack::Nested;
use std::sync::Arc;
use types::convert::Mode;
use types::ops::BinaryOp as ArithOp;
use types::{CodePage, Collation, DataType, Value};

pub use env::{Constant, Env};
pub use in_place::{ConditionResult, InPlace};
pub use lookup::KeptList;
pub use parsed::Parsed;
pub use pred::{CompareExpr, InListExpr, LikeExpr, Pred, QuantifiedExpr, mirrored};
pub use typed::{ErrorRules, Label, Typed};

/// A column's number, unique within a statement, given by the binder.
pub type ColId = u32;

/// A scalar expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A variable's slot.
    Var(usize),
    /// A value that the enclosing row supplies: an outer column of a correlated subquery or an
    /// inner seek key.
    Param(usize),
    /// A column id, after planning a slot.
    Col(ColId),
    /// A conversion.
    Convert(Box<ConvertExpr>),
    /// Arithmetic, bitwise operators, concatenation; both sides already have the operation's
    /// operand types.
    Binary(Box<BinaryExpr>),
    /// `-x`.
    Negate(Box<Expr>, DataType),
    /// `~x`.
    BitNot(Box<Expr>, DataType),
    /// CASE, IIF, NULLIF.
    Case(Box<CaseExpr>),
    /// COALESCE: the first that is not NULL.
    Coalesce(Vec<Expr>),
    /// A function of the table in [`functions`].
    Call(Box<CallExpr>),
    /// A function whose body is statements.
    Routine(Box<RoutineCall>),
    /// `(SELECT ...)` as a value: NULL without a row, error 512 with several.
    Subquery(Box<SubRef>),
    /// The expression inside. The binder puts one between the levels of what is nested deeply, at
    /// most [`MOST_LEVELS`] apart: who goes through it asks for room on the stack, so that nobody
    /// has to at every node.
    Deep(Nested<Expr>),
}

/// Levels of a written expression that may be walked without asking for room on the stack.
pub const MOST_LEVELS: u32 = 64;

/// CAST, CONVERT and the conversions that the binder inserts.
#[derive(Clone, Debug)]
pub struct ConvertExpr {
    pub operand: Expr,
    pub from: DataType,
    pub to: DataType,
    pub style: i32,
    pub mode: Mode,
    /// TRY_CAST: an error becomes NULL.
    pub or_null: bool,
    pub manner: ErrorRules,
    /// Of the text that it makes or takes.
    pub collation: Collation,
}

/// An operator with two operands.
#[derive(Clone, Debug)]
pub struct BinaryExpr {
    pub op: ArithOp,
    /// The result's type.
    pub ty: DataType,
    pub left: Expr,
    pub right: Expr,
    /// An arithmetic error becomes NULL.
    pub lenient: bool,
    /// Of a result of char or varchar.
    pub page: CodePage,
}

/// Branches are tried in order.
#[derive(Clone, Debug)]
pub struct CaseExpr {
    pub branches: Vec<(Pred, Expr)>,
    pub otherwise: Expr,
    /// The constants of the first branches, where many of these compare one column or variable with
    /// constants.
    lookup: Option<Arc<BranchLookup>>,
}

impl CaseExpr {
    /// The value of the first branch whose condition is true, or else the last one.
    pub fn new(branches: Vec<(Pred, Expr)>, otherwise: Expr) -> CaseExpr {
        let lookup = BranchLookup::of(&branches).map(Arc::new);
        CaseExpr { branches, otherwise, lookup }
    }
}

/// A call of a scalar function.
#[derive(Clone, Debug)]
pub struct CallExpr {
    pub function: &'static functions::Function,
    pub args: Vec<Expr>,
    pub types: Vec<DataType>,
    /// The result's type.
    pub ty: DataType,
    pub collation: Collation,
    /// An arithmetic error becomes NULL.
    pub lenient: bool,
}

/// A user's function, which runs where statements run.
pub trait Routine: std::fmt::Debug + Send + Sync {
    /// What runs it knows what it is.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A call of a user's function; the arguments have its parameters' types.
#[derive(Clone, Debug)]
pub struct RoutineCall {
    pub routine: Arc<dyn Routine>,
    pub args: Vec<Expr>,
    /// NULL in, NULL out, and the function is not called.
    pub strict: bool,
}

/// A subquery in an expression. Its plan is entry `id` of the statement's list of subqueries, which
/// the run knows.
#[derive(Clone, Debug)]
pub struct SubRef {
    pub id: usize,
    /// Parameters to set from the row around it.
    pub args: Vec<(usize, Expr)>,
    /// Depends on nothing outside: its result is kept.
    pub cacheable: bool,
    /// Its column's conversion for the comparison around it.
    pub convert: Option<(DataType, DataType)>,
}

impl SubRef {
    /// As [`Expr::leaves_mut`]: the outer values are the children.
    pub fn leaves_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.args.iter_mut().for_each(|(_, e)| e.leaves_mut(f));
    }

    /// As [`Expr::leaves`].
    pub fn leaves(&self, f: &mut dyn FnMut(&Expr)) {
        self.args.iter().for_each(|(_, e)| e.leaves(f));
    }
}

impl Expr {
    /// The constant that this is.
    pub fn as_const(&self) -> Option<&Value> {
        match self {
            Expr::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Calls `f` on every leaf (constants, variables, parameters, columns), depth first; the outer
    /// values that a subquery is given count as children, its inside does not.
    pub fn leaves_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => f(self),
            Expr::Convert(c) => c.operand.leaves_mut(f),
            Expr::Binary(b) => {
                b.left.leaves_mut(f);
                b.right.leaves_mut(f);
            }
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.leaves_mut(f),
            Expr::Case(c) => {
                for (when, then) in &mut c.branches {
                    when.leaves_mut(f);
                    then.leaves_mut(f);
                }
                c.otherwise.leaves_mut(f);
            }
            Expr::Coalesce(list) => list.iter_mut().for_each(|e| e.leaves_mut(f)),
            Expr::Call(c) => c.args.iter_mut().for_each(|e| e.leaves_mut(f)),
            Expr::Routine(c) => c.args.iter_mut().for_each(|e| e.leaves_mut(f)),
            Expr::Subquery(s) => s.leaves_mut(f),
            Expr::Deep(e) => stack::with_room(|| e.leaves_mut(f)),
        }
    }

    /// Calls `f` on every leaf.
    pub fn leaves(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => f(self),
            Expr::Convert(c) => c.operand.leaves(f),
            Expr::Binary(b) => {
                b.left.leaves(f);
                b.right.leaves(f);
            }
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.leaves(f),
            Expr::Case(c) => {
                for (when, then) in &c.branches {
                    when.leaves(f);
                    then.leaves(f);
                }
                c.otherwise.leaves(f);
            }
            Expr::Coalesce(list) => list.iter().for_each(|e| e.leaves(f)),
            Expr::Call(c) => c.args.iter().for_each(|e| e.leaves(f)),
            Expr::Routine(c) => c.args.iter().for_each(|e| e.leaves(f)),
            Expr::Subquery(s) => s.leaves(f),
            Expr::Deep(e) => stack::with_room(|| e.leaves(f)),
        }
    }

    /// How many nodes it has.
    pub fn size(&self) -> usize {
        let list = |list: &[Expr]| list.iter().map(Expr::size).sum::<usize>();
        1 + match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => 0,
            Expr::Convert(c) => c.operand.size(),
            Expr::Binary(b) => b.left.size() + b.right.size(),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.size(),
            Expr::Case(c) => {
                let branches = c.branches.iter().map(|(when, then)| when.size() + then.size());
                branches.sum::<usize>() + c.otherwise.size()
            }
            Expr::Coalesce(all) => list(all),
            Expr::Call(c) => list(&c.args),
            Expr::Routine(c) => list(&c.args),
            Expr::Subquery(s) => s.args.iter().map(|(_, e)| e.size()).sum(),
            Expr::Deep(e) => stack::with_room(|| e.size()),
        }
    }

    /// Whether the value depends on no row: constants, variables and parameters only.
    pub fn is_row_free(&self) -> bool {
        let mut free = true;
        self.leaves(&mut |leaf| free &= !matches!(leaf, Expr::Col(_)));
        free && !self.has_subquery()
    }

    /// Whether it has one value for a whole read of a table: it depends on no row of it, and
    /// evaluating it once does. A subquery that is given nothing of the row is fixed however it is
    /// made: it runs once for all rows.
    pub fn is_fixed(&self) -> bool {
        match self {
            Expr::Subquery(sub) => sub.args.iter().all(|(_, e)| e.is_fixed()),
            Expr::Convert(c) => c.operand.is_fixed(),
            Expr::Binary(b) => b.left.is_fixed() && b.right.is_fixed(),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.is_fixed(),
            Expr::Deep(e) => stack::with_room(|| e.is_fixed()),
            Expr::Coalesce(list) => list.iter().all(Expr::is_fixed),
            Expr::Call(c) => {
                c.function.stability != Stability::Row && c.args.iter().all(Expr::is_fixed)
            }
            Expr::Routine(c) => c.args.iter().all(Expr::is_fixed),
            other => other.is_row_free() && !other.is_volatile(),
        }
    }

    /// Whether a subquery, or a function whose body is statements, is somewhere inside: what reads
    /// tables itself.
    pub fn has_subquery(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => false,
            Expr::Convert(c) => c.operand.has_subquery(),
            Expr::Binary(b) => b.left.has_subquery() || b.right.has_subquery(),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.has_subquery(),
            Expr::Deep(e) => stack::with_room(|| e.has_subquery()),
            Expr::Case(c) => {
                c.otherwise.has_subquery()
                    || c.branches
                        .iter()
                        .any(|(when, then)| when.has_subquery() || then.has_subquery())
            }
            Expr::Coalesce(list) => list.iter().any(Expr::has_subquery),
            Expr::Call(c) => c.args.iter().any(Expr::has_subquery),
            Expr::Routine(_) | Expr::Subquery(_) => true,
        }
    }

    /// Whether it computes with constants, variables and columns alone: no function, no subquery,
    /// no value of a row around it, no date as text. It asks its [`Env`] for nothing but variables.
    pub fn is_plain(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Col(_) => true,
            Expr::Param(_) | Expr::Call(_) | Expr::Routine(_) | Expr::Subquery(_) => false,
            // What makes large values asks for memory.
            Expr::Convert(c) => !c.to.is_lob() && !c.depends_on_dialect() && c.operand.is_plain(),
            Expr::Binary(b) => !b.ty.is_lob() && b.left.is_plain() && b.right.is_plain(),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.is_plain(),
            Expr::Deep(e) => stack::with_room(|| e.is_plain()),
            Expr::Case(c) => {
                c.otherwise.is_plain()
                    && c.branches.iter().all(|(when, then)| when.is_plain() && then.is_plain())
            }
            Expr::Coalesce(list) => list.iter().all(Expr::is_plain),
        }
    }

    /// A constant, a variable or a parameter: one value for all rows.
    pub fn is_one_value(&self) -> bool {
        matches!(self, Expr::Const(_) | Expr::Var(_) | Expr::Param(_))
    }

    /// Whether evaluating it twice in a statement may give two values (NEWID) or has an effect
    /// (RAND with a seed).
    pub fn is_volatile(&self) -> bool {
        self.changes(true)
    }

    /// As [`Expr::is_volatile`], of what is not in its subqueries.
    pub fn is_volatile_beside_subqueries(&self) -> bool {
        self.changes(false)
    }

    /// `subqueries`: whether each of them counts as one that changes.
    pub(crate) fn changes(&self, subqueries: bool) -> bool {
        let one = |e: &Expr| e.changes(subqueries);
        match self {
            Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) => false,
            Expr::Convert(c) => one(&c.operand),
            Expr::Binary(b) => one(&b.left) || one(&b.right),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => e.changes(subqueries),
            Expr::Deep(e) => stack::with_room(|| e.changes(subqueries)),
            // A subquery of a branch's condition runs once for its values however it is made.
            Expr::Case(c) => {
                let branch = |(when, then): &(Pred, Expr)| one(then) || when.changes(false);
                one(&c.otherwise) || c.branches.iter().any(branch)
            }
            Expr::Coalesce(list) => list.iter().any(one),
            Expr::Call(c) => c.function.stability == Stability::Row || c.args.iter().any(one),
            Expr::Routine(_) => true,
            Expr::Subquery(_) => subqueries,
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
}
