//! What a batch works with: variables, options of the session, messages and errors, calls,
//! transactions.

use super::{
    AssignOp, ColumnDef, CursorDef, Expr, Ident, ObjectName, OptionItem, Span, TableElement,
    TypeName,
};
use compact_str::CompactString;

/// One entry of DECLARE.
#[derive(Clone, Debug, PartialEq)]
pub enum Declaration {
    /// `@v [AS] type [= value]`.
    Scalar { name: CompactString, data_type: Box<TypeName>, value: Option<Expr>, span: Span },
    /// `@t [AS] TABLE (...)`.
    Table { name: CompactString, elements: Vec<TableElement>, span: Span },
    /// `@c CURSOR`.
    Cursor { name: CompactString, span: Span },
}

/// `SET @v = x`.
#[derive(Clone, Debug, PartialEq)]
pub struct SetVariable {
    /// The variable, with its `@`.
    pub name: CompactString,
    /// `=` or a compound one; always `=` for cursors.
    pub op: AssignOp,
    /// Its new value.
    pub value: SetValue,
}

/// What a variable can be set to.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// A scalar.
    Expr(Expr),
    /// `CURSOR ... FOR SELECT ...`.
    Cursor(Box<CursorDef>),
}

/// `SET` of a session option.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOption {
    /// `SET NOCOUNT, XACT_ABORT ON`; names in upper case. `STATISTICS IO` and the like are in
    /// `Statistics`.
    Switch { names: Vec<CompactString>, on: bool },
    /// `SET STATISTICS IO, TIME ON`; names in upper case.
    Statistics { names: Vec<CompactString>, on: bool },
    /// `SET IDENTITY_INSERT t ON`.
    IdentityInsert { table: ObjectName, on: bool },
    /// `SET TRANSACTION ISOLATION LEVEL ...`.
    IsolationLevel(IsolationLevel),
    /// `SET LOCK_TIMEOUT 1000`, `ROWCOUNT 10`, `DATEFIRST 1`, `DATEFORMAT dmy`, `LANGUAGE x`,
    /// `DEADLOCK_PRIORITY LOW`, `TEXTSIZE n`, `CONTEXT_INFO 0x..`, `QUERY_GOVERNOR_COST_LIMIT n`.
    /// The name is in upper case; a bare word as value is a column reference of one part.
    Value { name: CompactString, value: Expr },
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// `READ UNCOMMITTED`.
    ReadUncommitted,
    /// `READ COMMITTED`.
    ReadCommitted,
    /// `REPEATABLE READ`.
    RepeatableRead,
    /// `SNAPSHOT`.
    Snapshot,
    /// `SERIALIZABLE`.
    Serializable,
}

/// `WAITFOR`.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitFor {
    /// `WAITFOR DELAY '00:00:05'`: a literal or a variable.
    Delay(Expr),
    /// `WAITFOR TIME '22:00'`.
    Time(Expr),
}

/// `RAISERROR (message, severity, state [, args]) [WITH ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct RaisError {
    /// A number, string or variable.
    pub message: Expr,
    /// Its severity.
    pub severity: Expr,
    /// Its state.
    pub state: Expr,
    /// What replaces `%s` and `%d`.
    pub args: Vec<Expr>,
    /// `WITH LOG`.
    pub log: bool,
    /// `WITH NOWAIT`.
    pub no_wait: bool,
    /// `WITH SETERROR`.
    pub set_error: bool,
}

/// The arguments of THROW.
#[derive(Clone, Debug, PartialEq)]
pub struct ThrowArgs {
    /// Error number.
    pub number: Expr,
    /// Message.
    pub message: Expr,
    /// State.
    pub state: Expr,
}

/// `EXEC`.
#[derive(Clone, Debug, PartialEq)]
pub struct Execute {
    /// `EXEC @rc = ...`.
    pub result: Option<CompactString>,
    /// What to run.
    pub what: ExecuteWhat,
    /// `WITH RECOMPILE` and the like.
    pub options: Vec<OptionItem>,
    /// `WITH RESULT SETS`; none when left out or `UNDEFINED`.
    pub result_sets: Option<ResultSets>,
}

/// `WITH RESULT SETS`: what EXEC is to give.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultSets {
    /// One for each result set; empty for `NONE`.
    pub sets: Vec<ResultSetDef>,
    /// Of the word SETS.
    pub span: Span,
}

/// What one result set is to look like.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultSetDef {
    /// `(name type [COLLATE c] [NULL | NOT NULL], ...)`.
    Columns(Vec<ColumnDef>),
    /// `AS OBJECT name`: the columns of a table, a view or a function.
    Object(ObjectName),
    /// `AS TYPE name`: the columns of a table type.
    Type(ObjectName),
    /// `AS FOR XML`.
    ForXml,
}

/// What EXEC runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteWhat {
    /// A procedure by name; `number` is the one after `;`.
    Procedure { name: ObjectName, number: Option<i64>, args: Vec<ExecuteArg> },
    /// A procedure whose name is in a variable.
    ProcedureVariable { name: CompactString, args: Vec<ExecuteArg> },
    /// `EXEC (text [, args]) [AS USER | LOGIN = 'x'] [AT server]`: the pieces joined by `+`.
    Text { text: Expr, args: Vec<ExecuteArg>, as_whom: Option<ExecuteAs>, at: Option<Ident> },
}

/// One argument of EXEC.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteArg {
    /// `@name = `; `None` is positional.
    pub name: Option<CompactString>,
    /// A constant, variable or `DEFAULT`; a bare word is a string literal.
    pub value: Expr,
    /// `OUTPUT`; `value` is a variable then.
    pub output: bool,
}

/// `EXECUTE AS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecuteAs {
    /// `CALLER`.
    Caller,
    /// `OWNER`; only in a module's WITH.
    Owner,
    /// `SELF`; only in a module's WITH.
    SelfUser,
    /// `USER = 'x'`, or the bare string in a module's WITH.
    User(CompactString),
    /// `LOGIN = 'x'`.
    Login(CompactString),
}

/// What ends EXECUTE AS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecuteAsUntil {
    /// `REVERT`.
    Revert,
    /// `WITH NO REVERT`: the end of the session.
    End,
    /// `WITH COOKIE INTO @x`: `REVERT WITH COOKIE` of what is put into the variable.
    Cookie(CompactString),
}

/// A name, or the variable that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameOrVariable {
    /// A name.
    Name(Ident),
    /// A variable with its `@`.
    Variable(CompactString),
}

/// `BEGIN TRAN`.
#[derive(Clone, Debug, PartialEq)]
pub struct BeginTransaction {
    /// `DISTRIBUTED`.
    pub distributed: bool,
    /// Its name.
    pub name: Option<NameOrVariable>,
    /// `WITH MARK ['text']`: the text is empty when left out.
    pub mark: Option<CompactString>,
}

/// `COMMIT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The name, which has no meaning but is allowed.
    pub name: Option<NameOrVariable>,
    /// `WITH (DELAYED_DURABILITY = ON | OFF)`.
    pub delayed_durability: Option<bool>,
}
