//! An expression with what the binder knows of it: its type, whether it can be NULL, whose
//! collation it has, how it is shown.

use crate::Expr;
use types::{Collation, DataType, Dialect, Value};

/// How a session takes errors of computations; by default each is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorRules {
    /// ANSI_WARNINGS and ARITHABORT OFF: an arithmetic error becomes NULL.
    pub lenient: bool,
    /// ANSI_WARNINGS OFF: what is too long for a column is cut.
    pub cuts: bool,
    /// NUMERIC_ROUNDABORT ON: digits that a decimal has no place for are an error.
    pub exact: bool,
}

impl ErrorRules {
    /// That of two sides together.
    pub(crate) fn with(self, other: ErrorRules) -> ErrorRules {
        ErrorRules {
            lenient: self.lenient || other.lenient,
            cuts: self.cuts || other.cuts,
            exact: self.exact || other.exact,
        }
    }
}

/// An expression with what the binder knows of it.
#[derive(Clone, Debug)]
pub struct Typed {
    pub expr: Expr,
    pub ty: DataType,
    pub nullable: bool,
    /// A constant NULL has this type and takes no other: it is a column's, of CAST, or computed.
    pub fixed: bool,
    pub collation: Collation,
    /// Where the collation comes from.
    pub label: Label,
    /// The dialect of the session that it is compiled for, where it is known: conversions of
    /// constants are then computed at once.
    pub dialect: Option<Dialect>,
    /// How the session takes errors of what is computed with it.
    pub manner: ErrorRules,
}

/// Where an expression's collation comes from, and so how strong it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// A constant, a variable, what is no text: it has the database's and gives way to any other.
    Default,
    /// A column's.
    Implicit,
    /// COLLATE was written.
    Explicit,
    /// Two columns' collations met in an operator, and neither wins: text cannot be compared by it.
    Conflict(Collation, Collation, &'static str),
}

impl Typed {
    /// The expression as a column's value of a collation is.
    pub fn of_collation(self, collation: Collation) -> Typed {
        Typed { collation, label: Label::Implicit, ..self }
    }

    /// A value of a variable or parameter, which has a type also where it is NULL.
    #[must_use]
    pub fn of_fixed_type(self) -> Typed {
        Typed { fixed: true, ..self }
    }

    /// Char or varchar, whose bytes depend on the code page.
    pub fn is_narrow(&self) -> bool {
        self.ty.is_string() && !self.ty.is_unicode() && self.ty != DataType::Xml
    }

    /// An expression of a type, with no collation of its own: the binder gives it that of the
    /// database.
    pub fn new(expr: Expr, ty: DataType, nullable: bool) -> Typed {
        Typed {
            expr,
            ty,
            nullable,
            fixed: false,
            collation: Collation::DEFAULT,
            label: Label::Default,
            dialect: None,
            manner: ErrorRules::default(),
        }
    }

    /// A bare NULL: it takes any type.
    pub fn is_null_literal(&self) -> bool {
        !self.fixed && matches!(self.expr, Expr::Const(Value::Null))
    }
}
