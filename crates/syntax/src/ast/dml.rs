//! Changes of rows: INSERT, UPDATE, DELETE, MERGE, BULK INSERT, TRUNCATE.

use super::{
    AssignOp, ColumnDef, Cte, CursorName, Execute, Expr, Ident, ObjectName, OptionItem, Query,
    SelectItem, Span, TableRef, Top,
};
use compact_str::CompactString;

/// The target of INSERT, UPDATE, DELETE and MERGE.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A table or view, or the alias of one in FROM.
    Name(ObjectName),
    /// A table variable.
    Variable(CompactString),
    /// `OPENQUERY(...)` and the like.
    Function { name: ObjectName, args: Vec<Expr> },
}

/// `INSERT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// `WITH ctes`.
    pub ctes: Vec<Cte>,
    /// `TOP (n)`.
    pub top: Option<Top>,
    /// Where to.
    pub target: Target,
    /// `WITH (TABLOCK)`.
    pub hints: Vec<OptionItem>,
    /// The column list; empty when left out.
    pub columns: Vec<Ident>,
    /// `OUTPUT`.
    pub output: Vec<Output>,
    /// Where from.
    pub source: InsertSource,
    /// `OPTION (...)` of the statement when the source is not a query; a query carries its own.
    pub options: Vec<OptionItem>,
}

/// The rows of an INSERT.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `VALUES (...), (...)`; never empty; an element may be `DEFAULT`.
    Values(Vec<Vec<Expr>>),
    /// `SELECT ...`.
    Query(Box<Query>),
    /// `EXEC ...`.
    Execute(Box<Execute>),
    /// `DEFAULT VALUES`.
    DefaultValues,
}

impl InsertSource {
    /// Whether the rows are those that a procedure or a text gives.
    pub fn is_execute(&self) -> bool {
        matches!(self, InsertSource::Execute(_))
    }
}

/// `OUTPUT items [INTO target [(columns)]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// What to return; never empty.
    pub items: Vec<SelectItem>,
    /// Where to put it; `None` sends it to the client.
    pub into: Option<OutputInto>,
}

/// The target of an OUTPUT clause.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputInto {
    /// A table or a table variable.
    pub target: Target,
    /// Its columns; empty when left out.
    pub columns: Vec<Ident>,
}

/// `UPDATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// `WITH ctes`.
    pub ctes: Vec<Cte>,
    /// `TOP (n)`.
    pub top: Option<Top>,
    /// What to change.
    pub target: Target,
    /// Hints on the target.
    pub hints: Vec<OptionItem>,
    /// `SET`; never empty.
    pub assignments: Vec<Assignment>,
    /// `OUTPUT`.
    pub output: Vec<Output>,
    /// `FROM`; empty when left out.
    pub from: Vec<TableRef>,
    /// `WHERE`.
    pub filter: Option<Filter>,
    /// `OPTION (...)`.
    pub options: Vec<OptionItem>,
}

/// One entry of SET in UPDATE or MERGE.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `col = x`, `col += x`, `@v = col = x`; `value` may be `DEFAULT`.
    Column { variable: Option<CompactString>, column: super::ColumnRef, op: AssignOp, value: Expr },
    /// `@v = x`, `@v += x`.
    Variable { variable: CompactString, op: AssignOp, value: Expr },
    /// `col.WRITE(expression, offset, length)`.
    Write { column: super::ColumnRef, args: Vec<Expr> },
}

impl Assignment {
    /// Whether it gives a variable a value.
    #[must_use]
    pub fn assigns(&self) -> bool {
        match self {
            Assignment::Column { variable, .. } => variable.is_some(),
            Assignment::Variable { .. } => true,
            Assignment::Write { .. } => false,
        }
    }
}

/// WHERE of UPDATE and DELETE.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A condition.
    Condition(Expr),
    /// `CURRENT OF cursor`.
    CurrentOf(CursorName),
}

/// `DELETE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// `WITH ctes`.
    pub ctes: Vec<Cte>,
    /// `TOP (n)`.
    pub top: Option<Top>,
    /// What to delete from.
    pub target: Target,
    /// Hints on the target.
    pub hints: Vec<OptionItem>,
    /// `OUTPUT`.
    pub output: Vec<Output>,
    /// The second FROM; empty when left out.
    pub from: Vec<TableRef>,
    /// `WHERE`.
    pub filter: Option<Filter>,
    /// `OPTION (...)`.
    pub options: Vec<OptionItem>,
}

/// `MERGE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// `WITH ctes`.
    pub ctes: Vec<Cte>,
    /// `TOP (n)`.
    pub top: Option<Top>,
    /// What to change.
    pub target: Target,
    /// Hints on the target.
    pub hints: Vec<OptionItem>,
    /// The target's alias.
    pub alias: Option<Ident>,
    /// `USING`.
    pub source: TableRef,
    /// `ON`.
    pub on: Expr,
    /// `WHEN ... THEN ...`; never empty.
    pub clauses: Vec<MergeClause>,
    /// `OUTPUT`.
    pub output: Vec<Output>,
    /// `OPTION (...)`.
    pub options: Vec<OptionItem>,
}

/// `WHEN [NOT] MATCHED [BY ...] [AND condition] THEN action`.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// When.
    pub when: MergeWhen,
    /// `AND condition`.
    pub condition: Option<Expr>,
    /// What to do.
    pub action: MergeAction,
    /// Where it stands.
    pub span: Span,
}

/// The cases of MERGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWhen {
    /// `MATCHED`.
    Matched,
    /// `NOT MATCHED [BY TARGET]`.
    NotMatchedByTarget,
    /// `NOT MATCHED BY SOURCE`.
    NotMatchedBySource,
}

/// The actions of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// `UPDATE SET ...`.
    Update(Vec<Assignment>),
    /// `DELETE`.
    Delete,
    /// `INSERT [(columns)] VALUES (...)`; `values` is empty for DEFAULT VALUES.
    Insert { columns: Vec<Ident>, values: Vec<Expr> },
}

/// `BULK INSERT table FROM 'file' [WITH (...)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkInsert {
    /// Where to.
    pub table: ObjectName,
    /// The file.
    pub file: CompactString,
    /// `WITH (...)`; `ORDER (a, b)` keeps its columns in `nested`.
    pub options: Vec<OptionItem>,
}

/// `INSERT BULK table (columns) [WITH (...)]`, what clients send before a bulk load stream.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertBulk {
    /// Where to.
    pub table: ObjectName,
    /// The columns that follow in the stream.
    pub columns: Vec<ColumnDef>,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
}

/// `TRUNCATE TABLE name [WITH (PARTITIONS (...))]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// Which table.
    pub table: ObjectName,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
}
