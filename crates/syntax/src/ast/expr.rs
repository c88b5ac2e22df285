//! Expressions: scalar ones and conditions share one type, and the parser guarantees that
//! conditions appear only where T-SQL allows them (see [`Expr::is_condition`]), so `WHERE`, `IF`,
//! `ON` and the operands of `AND`/`OR`/`NOT` hold conditions and every other place holds scalars.

use super::{Ident, Identity, Literal, ObjectName, Query, Span, TypeName};
use compact_str::CompactString;

/// The method's name in what `SET x.modify(...)` becomes: the changed value is assigned. No text
/// can have it.
pub const MODIFY: &str = "$modify";

/// An expression and where it stands. Parentheses leave no node; the span covers what was inside
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// `{d '...'}`, `{t '...'}`, `{ts '...'}` or `{guid '...'}`.
    OdbcLiteral { kind: OdbcKind, text: CompactString },
    /// The keyword `DEFAULT`: only in VALUES, in SET of an UPDATE or MERGE, and as a procedure's
    /// argument.
    Default,
    /// A column: `c`, `t.c`, `s.t.c`, `d.s.t.c`. Also bare words that only the function they are in
    /// can explain, such as the date part of `DATEADD(day, 1, d)`.
    Column(ColumnRef),
    /// `@x`; the name keeps its `@`.
    Variable(CompactString),
    /// `@@ROWCOUNT`; the name keeps its `@@`, in the case it was written in.
    GlobalVariable(CompactString),
    /// `-x`, `+x`, `~x`.
    Unary { op: UnaryOp, operand: Box<Expr> },
    /// Arithmetic, bitwise and concatenation.
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr> },
    /// `CASE`, both forms: with `operand` the branches' `when` are scalars, without it conditions.
    Case { operand: Option<Box<Expr>>, branches: Vec<CaseBranch>, otherwise: Option<Box<Expr>> },
    /// `CAST(x AS t)`, `TRY_CAST`.
    Cast { operand: Box<Expr>, target: Box<TypeName>, or_null: bool },
    /// `CONVERT(t, x [, style])`, `TRY_CONVERT`.
    Convert { target: Box<TypeName>, operand: Box<Expr>, style: Option<Box<Expr>>, or_null: bool },
    /// `PARSE(x AS t [USING culture])`, `TRY_PARSE`.
    Parse { operand: Box<Expr>, target: Box<TypeName>, culture: Option<Box<Expr>>, or_null: bool },
    /// A function, aggregate or window function; `COALESCE`, `NULLIF`, `IIF`, `LEFT` and the like
    /// are here too.
    Function(Box<FunctionCall>),
    /// `NEXT VALUE FOR seq [OVER (ORDER BY ...)]`.
    NextValueFor { sequence: Box<ObjectName>, over: Option<Box<Over>> },
    /// `IDENTITY(t [, seed, increment])` of SELECT INTO.
    Identity { target: Box<TypeName>, identity: Box<Identity> },
    /// `x COLLATE name`.
    Collate { operand: Box<Expr>, collation: Ident },
    /// `x AT TIME ZONE zone`.
    AtTimeZone { operand: Box<Expr>, zone: Box<Expr> },
    /// `x.method(args)` on a variable or a parenthesised expression.
    Method {
        target: Box<Expr>,
        method: Ident,
        args: Vec<Expr>,
        /// The statement's namespaces, as a query declares them.
        prolog: CompactString,
    },
    /// `type::Method(args)`, and `type::Property` without arguments.
    StaticMember { of_type: Box<ObjectName>, member: Ident, args: Option<Vec<Expr>> },
    /// `(SELECT ...)` as a value.
    Subquery(Box<Query>),

    // From here on: conditions.
    /// `a = b` and its kin.
    Compare { op: CompareOp, left: Box<Expr>, right: Box<Expr> },
    /// `a = ANY (SELECT ...)`, `a > ALL (SELECT ...)`; `SOME` is `ANY`.
    Quantified { op: CompareOp, left: Box<Expr>, all: bool, query: Box<Query> },
    /// `a AND b AND c`: two operands or more, flat.
    And(Vec<Expr>),
    /// `a OR b OR c`: two operands or more, flat.
    Or(Vec<Expr>),
    /// `NOT a`.
    Not(Box<Expr>),
    /// `x IS [NOT] NULL`.
    IsNull { operand: Box<Expr>, negated: bool },
    /// `a IS [NOT] DISTINCT FROM b`.
    IsDistinct { left: Box<Expr>, right: Box<Expr>, negated: bool },
    /// `x [NOT] BETWEEN low AND high`.
    Between { operand: Box<Expr>, low: Box<Expr>, high: Box<Expr>, negated: bool },
    /// `x [NOT] IN (a, b, ...)`: one element or more.
    InList { operand: Box<Expr>, list: Vec<Expr>, negated: bool },
    /// `x [NOT] IN (SELECT ...)`.
    InQuery { operand: Box<Expr>, query: Box<Query>, negated: bool },
    /// `x [NOT] LIKE pattern [ESCAPE c]`.
    Like { operand: Box<Expr>, pattern: Box<Expr>, escape: Option<Box<Expr>>, negated: bool },
    /// `EXISTS (SELECT ...)`.
    Exists(Box<Query>),
    /// `UPDATE(column)` inside a trigger.
    ColumnUpdated(Ident),
    /// `CONTAINS(...)` or `FREETEXT(...)`.
    FullText(Box<FunctionCall>),
}

impl Expr {
    /// Whether this is a condition (true, false or unknown) rather than a value.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        matches!(
            self.kind,
            ExprKind::Compare { .. }
                | ExprKind::Quantified { .. }
                | ExprKind::And(_)
                | ExprKind::Or(_)
                | ExprKind::Not(_)
                | ExprKind::IsNull { .. }
                | ExprKind::IsDistinct { .. }
                | ExprKind::Between { .. }
                | ExprKind::InList { .. }
                | ExprKind::InQuery { .. }
                | ExprKind::Like { .. }
                | ExprKind::Exists(_)
                | ExprKind::ColumnUpdated(_)
                | ExprKind::FullText(_)
        )
    }
}

/// The kinds of ODBC literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdbcKind {
    /// `{d 'yyyy-mm-dd'}`.
    Date,
    /// `{t 'hh:mm:ss'}`.
    Time,
    /// `{ts 'yyyy-mm-dd hh:mm:ss'}`.
    Timestamp,
    /// `{guid '...'}`.
    Guid,
}

/// A column reference of one to four parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// The table, alias or `inserted`/`deleted` before the column's name.
    pub qualifier: Option<Box<ObjectName>>,
    /// The column. `$IDENTITY`, `$ROWGUID` and `$ACTION` keep their `$`.
    pub name: Ident,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`; as in SQL Server it binds weaker than `*`, `/` and `%`.
    Minus,
    /// `+`.
    Plus,
    /// `~`.
    BitNot,
}

/// Operators that make a value of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`: sum or concatenation.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `||`: concatenation.
    Concat,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`.
    Equal,
    /// `<>`, `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`, `!>`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`, `!<`.
    GreaterEqual,
}

impl CompareOp {
    /// Whether an order of its two sides satisfies it.
    #[inline]
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            CompareOp::Equal => order.is_eq(),
            CompareOp::NotEqual => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessEqual => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterEqual => order.is_ge(),
        }
    }
}

/// `WHEN a THEN b`.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    /// A value to compare with, or a condition.
    pub when: Expr,
    /// The result.
    pub then: Expr,
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// The name; for niladic ones such as `CURRENT_TIMESTAMP` as written.
    pub name: ObjectName,
    /// The arguments; empty with `star`.
    pub args: Vec<Expr>,
    /// `f(DISTINCT x)`.
    pub distinct: bool,
    /// `COUNT(*)`.
    pub star: bool,
    /// Called without parentheses: `CURRENT_TIMESTAMP`, `USER`.
    pub niladic: bool,
    /// `{fn f(x)}`.
    pub odbc: bool,
    /// `f(x) IGNORE NULLS`; `RESPECT NULLS` is the default. Of JSON_OBJECT and JSON_ARRAY: `ABSENT
    /// ON NULL`.
    pub ignore_nulls: bool,
    /// `WITHIN GROUP (ORDER BY ...)`.
    pub within_group: Vec<OrderItem>,
    /// `OVER (...)`.
    pub over: Option<Over>,
    /// Of what may be a method of a column: the statement's namespaces, as a query declares them.
    pub prolog: CompactString,
}

/// `OVER ([name] [PARTITION BY ...] [ORDER BY ...] [frame])`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Over {
    /// A window of the WINDOW clause, as in `OVER w` or `OVER (w ORDER BY x)`.
    pub window: Option<Ident>,
    /// `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `ROWS` or `RANGE`.
    pub frame: Option<Frame>,
}

/// A window frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// `RANGE` rather than `ROWS`.
    pub range: bool,
    /// Its first bound.
    pub start: FrameBound,
    /// Its last bound; `None` means the current row.
    pub end: Option<FrameBound>,
}

/// One bound of a window frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`.
    UnboundedPreceding,
    /// `n PRECEDING`.
    Preceding(Box<Expr>),
    /// `CURRENT ROW`.
    CurrentRow,
    /// `n FOLLOWING`.
    Following(Box<Expr>),
    /// `UNBOUNDED FOLLOWING`.
    UnboundedFollowing,
}

/// One key of an ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// The key: an expression, an alias or a position.
    pub expr: Expr,
    /// `DESC`.
    pub descending: bool,
}
