//! Queries: SELECT with all its clauses, set operations, table references, joins and hints.

use super::{Expr, Ident, ObjectName, OptionItem, OrderItem, Over, Span, Stmt, TypeName};
use compact_str::CompactString;

/// A whole query: `[WITH ctes] body [ORDER BY] [OFFSET/FETCH] [FOR] [OPTION]`. Subqueries have no
/// CTEs and no options.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// `WITH a AS (...), ...`.
    pub ctes: Vec<Cte>,
    /// The SELECTs.
    pub body: QueryBody,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `OFFSET n ROWS`.
    pub offset: Option<Expr>,
    /// `FETCH NEXT n ROWS ONLY`; only with `offset`.
    pub fetch: Option<Expr>,
    /// `FOR XML ...`, `FOR JSON ...`, `FOR BROWSE`.
    pub for_clause: Option<ForClause>,
    /// `OPTION (...)`.
    pub options: Vec<OptionItem>,
    /// Where it stands.
    pub span: Span,
}

/// A common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Ident,
    /// Its columns' names; empty when left out.
    pub columns: Vec<Ident>,
    /// Its query.
    pub query: Query,
}

/// One SELECT, or several joined by set operators. Parentheses leave no node.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// One SELECT.
    Select(Box<Select>),
    /// `left UNION [ALL] right` and the like, left-associative; INTERSECT binds tighter.
    Set { op: SetOp, all: bool, left: Box<QueryBody>, right: Box<QueryBody> },
    /// A part of a set operation with an order of its own, for its TOP or OFFSET; in subqueries
    /// only.
    Ordered(Box<Query>),
}

impl QueryBody {
    /// The first SELECT: the one that names the result's columns.
    #[must_use]
    pub fn first_select(&self) -> &Select {
        let mut body = self;
        loop {
            match body {
                QueryBody::Select(select) => return select,
                QueryBody::Set { left, .. } => body = left,
                QueryBody::Ordered(query) => body = &query.body,
            }
        }
    }
}

/// Set operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// `UNION`.
    Union,
    /// `EXCEPT`.
    Except,
    /// `INTERSECT`.
    Intersect,
}

/// One SELECT without ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// `DISTINCT`.
    pub distinct: bool,
    /// `TOP`.
    pub top: Option<Top>,
    /// The select list; never empty.
    pub items: Vec<SelectItem>,
    /// `INTO table [ON filegroup]`.
    pub into: Option<SelectInto>,
    /// `FROM a, b, ...`; empty without FROM.
    pub from: Vec<TableRef>,
    /// `WHERE`: a condition.
    pub filter: Option<Expr>,
    /// `GROUP BY`.
    pub group_by: Option<GroupBy>,
    /// `HAVING`: a condition.
    pub having: Option<Expr>,
    /// `WINDOW w AS (...)`.
    pub windows: Vec<NamedWindow>,
    /// Where it stands.
    pub span: Span,
}

/// The target of SELECT INTO.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectInto {
    /// The table to make.
    pub table: ObjectName,
    /// `ON filegroup`.
    pub filegroup: Option<Ident>,
}

/// `TOP (n) [PERCENT] [WITH TIES]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// How many, or how many hundredths.
    pub count: Expr,
    /// `PERCENT`.
    pub percent: bool,
    /// `WITH TIES`; only in SELECT.
    pub with_ties: bool,
}

/// One entry of a select list (or of OUTPUT).
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// `*` or `t.*`.
    Wildcard { qualifier: Option<ObjectName>, span: Span },
    /// `x`, `x AS a`, `x a`, `a = x`, `x AS 'a'`.
    Expr { expr: Expr, alias: Option<Ident> },
    /// `@v = x`, `@v += x`.
    Assign { variable: CompactString, op: AssignOp, expr: Expr },
}

impl SelectItem {
    /// Whether it gives a variable a value.
    #[must_use]
    pub fn assigns(&self) -> bool {
        matches!(self, SelectItem::Assign { .. })
    }
}

/// Assignment operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignOp {
    /// `=`.
    Set,
    /// `+=`.
    Add,
    /// `-=`.
    Subtract,
    /// `*=`.
    Multiply,
    /// `/=`.
    Divide,
    /// `%=`.
    Modulo,
    /// `&=`.
    BitAnd,
    /// `|=`.
    BitOr,
    /// `^=`.
    BitXor,
}

/// `WINDOW name AS (...)`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    /// Its name.
    pub name: Ident,
    /// Its definition.
    pub over: Over,
}

/// `GROUP BY [ALL] ... [WITH ROLLUP | WITH CUBE]`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupBy {
    /// The obsolete `ALL`.
    pub all: bool,
    /// What to group by; never empty.
    pub items: Vec<GroupItem>,
    /// `WITH ROLLUP`.
    pub with_rollup: bool,
    /// `WITH CUBE`.
    pub with_cube: bool,
}

/// One entry of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// One expression.
    Expr(Expr),
    /// `(a, b)` as one key of ROLLUP, CUBE or GROUPING SETS; `()` is the empty set.
    Composite(Vec<Expr>),
    /// `ROLLUP (...)`.
    Rollup(Vec<GroupItem>),
    /// `CUBE (...)`.
    Cube(Vec<GroupItem>),
    /// `GROUPING SETS (...)`.
    Sets(Vec<GroupItem>),
}

/// A source of rows in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// What it is.
    pub kind: TableRefKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of row source.
#[derive(Clone, Debug, PartialEq)]
pub enum TableRefKind {
    /// A table, view, synonym, CTE, `inserted` or `deleted`.
    Named {
        name: ObjectName,
        alias: Option<Ident>,
        sample: Option<TableSample>,
        hints: Vec<OptionItem>,
        /// `FOR SYSTEM_TIME ...`.
        system_time: Option<Box<SystemTime>>,
    },
    /// A table variable.
    Variable { name: CompactString, alias: Option<Ident>, hints: Vec<OptionItem> },
    /// A table function: `f(...) [AS] a [(columns)]`, also `OPENJSON(...) WITH (columns)` and
    /// `OPENXML(...) WITH (table)`.
    Function {
        name: ObjectName,
        args: Vec<Expr>,
        schema: RowSchema,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// `x.nodes('...') AS t(c)`.
    Method { call: Box<Expr>, alias: Option<Ident>, columns: Vec<Ident> },
    /// `(SELECT ...) AS a [(columns)]`.
    Derived { query: Box<Query>, alias: Ident, columns: Vec<Ident> },
    /// `(UPDATE ... OUTPUT ...) AS a [(columns)]`: the rows that a change gives.
    Change { stmt: Box<Stmt>, alias: Ident, columns: Vec<Ident> },
    /// `OPENROWSET(BULK 'file', options) AS a [(columns)]`.
    Bulk {
        file: CompactString,
        options: Vec<OptionItem>,
        alias: Option<Ident>,
        columns: Vec<Ident>,
    },
    /// `(VALUES (...), (...)) AS a (columns)`.
    Values { rows: Vec<Vec<Expr>>, alias: Ident, columns: Vec<Ident> },
    /// `left JOIN right ON condition`, `left CROSS JOIN right`.
    Join {
        kind: JoinKind,
        hint: Option<JoinHint>,
        left: Box<TableRef>,
        right: Box<TableRef>,
        on: Option<Expr>,
    },
    /// `left CROSS APPLY right`, `left OUTER APPLY right`.
    Apply { outer: bool, left: Box<TableRef>, right: Box<TableRef> },
    /// `input PIVOT (agg(x) FOR column IN ([a], [b])) AS alias`.
    Pivot {
        input: Box<TableRef>,
        aggregate: Box<Expr>,
        column: Ident,
        values: Vec<Ident>,
        alias: Ident,
    },
    /// `input UNPIVOT (value FOR column IN ([a], [b])) AS alias`.
    Unpivot { input: Box<TableRef>, value: Ident, column: Ident, values: Vec<Ident>, alias: Ident },
}

/// `FOR SYSTEM_TIME ...`: which rows of a system-versioned table. The times are constants or
/// variables.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemTime {
    /// `ALL`.
    All,
    /// `AS OF t`.
    AsOf(Expr),
    /// `FROM a TO b`.
    FromTo(Expr, Expr),
    /// `BETWEEN a AND b`.
    Between(Expr, Expr),
    /// `CONTAINED IN (a, b)`.
    ContainedIn(Expr, Expr),
}

/// `WITH (...)` behind a table function: the columns of its rows.
#[derive(Clone, Debug, PartialEq)]
pub enum RowSchema {
    /// It is not there.
    Own,
    /// Each by its name and type.
    Columns(Vec<FunctionColumn>),
    /// Those of a table.
    Table(ObjectName),
}

/// A column of `WITH (...)` after a table function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionColumn {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: TypeName,
    /// The path in the document.
    pub path: Option<CompactString>,
    /// `AS JSON`.
    pub as_json: bool,
}

/// The kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER] JOIN`.
    Inner,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
    /// `FULL [OUTER] JOIN`.
    Full,
    /// `CROSS JOIN`: no condition.
    Cross,
}

/// Join hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinHint {
    /// `LOOP`.
    Loop,
    /// `HASH`.
    Hash,
    /// `MERGE`.
    Merge,
    /// `REMOTE`.
    Remote,
}

/// `TABLESAMPLE [SYSTEM] (n [PERCENT | ROWS]) [REPEATABLE (seed)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    /// How much.
    pub amount: Expr,
    /// Rows rather than hundredths.
    pub rows: bool,
    /// The seed.
    pub repeatable: Option<Expr>,
}

/// `FOR XML`, `FOR JSON`, `FOR BROWSE`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForClause {
    /// Which.
    pub kind: ForKind,
    /// Mode and directives: `PATH('row')`, `AUTO`, `TYPE`, `ROOT('r')`, `WITHOUT_ARRAY_WRAPPER`.
    pub options: Vec<OptionItem>,
    /// The statement has WITH XMLNAMESPACES.
    pub namespaces: Vec<(CompactString, CompactString)>,
}

/// What a query is FOR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForKind {
    /// `FOR XML`.
    Xml,
    /// `FOR JSON`.
    Json,
    /// `FOR BROWSE`.
    Browse,
}
