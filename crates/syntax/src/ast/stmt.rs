//! Statements: data modification, control of flow, variables, transactions, cursors and administration.
//! DDL is in `ddl.rs`, logins and permissions in `security.rs`.

use super::ddl::*;
use super::security::*;
use super::{
    AssignOp, Cte, Expr, Ident, ObjectName, OptionItem, Query, SelectItem, Span, TableRef, Top, TypeName,
};
use compact_str::CompactString;

/// A statement and where it stands: from its first word to its last, a closing `;` left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands; `span.line` is the line that errors report.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    // Data
    Select(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    BulkInsert(Box<BulkInsert>),
    InsertBulk(Box<InsertBulk>),
    Truncate(Truncate),

    // Variables and options
    /// `DECLARE @a int = 1, @t TABLE (...)`: never empty.
    Declare(Vec<Declaration>),
    SetVariable(SetVariable),
    SetOption(SetOption),

    // Control of flow
    If {
        condition: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    While {
        condition: Expr,
        body: Box<Stmt>,
    },
    Break,
    Continue,
    /// `BEGIN ... END`: never empty.
    Block(Vec<Stmt>),
    /// `BEGIN TRY ... END TRY BEGIN CATCH ... END CATCH`; `catch` may be empty.
    TryCatch {
        body: Vec<Stmt>,
        catch: Vec<Stmt>,
    },
    Return(Option<Expr>),
    Goto(Ident),
    Label(Ident),
    WaitFor(WaitFor),
    Print(Expr),
    RaisError(Box<RaisError>),
    /// `THROW [number, message, state]`.
    Throw(Option<Box<ThrowArgs>>),
    Execute(Box<Execute>),
    /// `EXECUTE AS USER = 'x'`, `EXECUTE AS CALLER`.
    ExecuteAs {
        whom: ExecuteAs,
        until: ExecuteAsUntil,
    },
    /// `REVERT [WITH COOKIE = @x]`.
    Revert {
        cookie: Option<CompactString>,
    },
    /// What T-SQL has and this parser reads without understanding it.
    Foreign(Foreign),

    // Transactions
    BeginTransaction(BeginTransaction),
    Commit(Commit),
    /// `ROLLBACK [TRAN | WORK] [name | @v]`.
    Rollback(Option<NameOrVariable>),
    /// `SAVE TRAN name`.
    SaveTransaction(NameOrVariable),
    /// `CHECKPOINT [seconds]`.
    Checkpoint(Option<Expr>),

    // Cursors
    DeclareCursor(Box<DeclareCursor>),
    /// `OPEN c`.
    OpenCursor(CursorName),
    Fetch(Box<Fetch>),
    /// `CLOSE c`.
    CloseCursor(CursorName),
    /// `DEALLOCATE c`.
    Deallocate(CursorName),

    // Databases and administration
    Use(Ident),
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase {
        names: Vec<Ident>,
        if_exists: bool,
    },
    Dbcc(Box<Dbcc>),
    Backup(Box<Backup>),
    Restore(Box<Restore>),
    Kill(Kill),
    /// `SHUTDOWN [WITH NOWAIT]`.
    Shutdown {
        no_wait: bool,
    },
    /// `RECONFIGURE [WITH OVERRIDE]`.
    Reconfigure {
        with_override: bool,
    },

    // Tables, indexes, modules and the rest of DDL
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    AlterIndex(Box<AlterIndex>),
    DropIndex(DropIndex),
    CreateStatistics(Box<CreateStatistics>),
    UpdateStatistics(Box<UpdateStatistics>),
    CreateView(Box<CreateView>),
    CreateProcedure(Box<CreateProcedure>),
    CreateFunction(Box<CreateFunction>),
    CreateTrigger(Box<CreateTrigger>),
    /// `ENABLE TRIGGER`, `DISABLE TRIGGER`.
    SwitchTrigger(SwitchTrigger),
    CreateSchema(Box<CreateSchema>),
    CreateType(Box<CreateType>),
    CreateSequence(Box<SequenceDef>),
    AlterSequence(Box<SequenceDef>),
    CreateSynonym {
        name: ObjectName,
        target: ObjectName,
    },
    /// `ALTER SCHEMA s TRANSFER name`.
    TransferSchema {
        schema: Ident,
        object: Securable,
    },
    /// DROP of everything but databases and indexes.
    Drop(DropObjects),

    // Security
    CreatePrincipal(Box<Principal>),
    AlterPrincipal(Box<Principal>),
    CreateCredential(Box<Credential>),
    Permission(Box<Permission>),
    AlterAuthorization(Box<AlterAuthorization>),
    Sensitivity(Box<Sensitivity>),
    SecurityPolicy(Box<SecurityPolicy>),
}

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
    /// `SET NOCOUNT, XACT_ABORT ON`; names in upper case. `STATISTICS IO` and the like are in `Statistics`.
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

/// A cursor's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorName {
    /// `GLOBAL`.
    pub global: bool,
    /// A name or a cursor variable.
    pub name: NameOrVariable,
}

/// `DECLARE c CURSOR ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursor {
    /// Its name.
    pub name: Ident,
    /// The rest.
    pub cursor: CursorDef,
}

/// `[options] CURSOR [options] FOR query [FOR ...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorDef {
    /// `INSENSITIVE`, `SCROLL`, `LOCAL`, `FAST_FORWARD`, ...: upper case, in the order written.
    pub options: Vec<CompactString>,
    /// Its query.
    pub query: Query,
    /// `FOR READ ONLY`.
    pub read_only: bool,
    /// `FOR UPDATE [OF columns]`: the list is empty when left out.
    pub for_update: Option<Vec<Ident>>,
}

/// `FETCH [NEXT ...] [FROM] c [INTO @a, @b]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// Which row.
    pub from: FetchFrom,
    /// The cursor.
    pub cursor: CursorName,
    /// Where to; empty sends the row to the client.
    pub into: Vec<CompactString>,
}

/// The row that FETCH asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum FetchFrom {
    /// `NEXT`, the default.
    Next,
    /// `PRIOR`.
    Prior,
    /// `FIRST`.
    First,
    /// `LAST`.
    Last,
    /// `ABSOLUTE n`.
    Absolute(Expr),
    /// `RELATIVE n`.
    Relative(Expr),
}

/// `DBCC name [(args)] [WITH options]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dbcc {
    /// In upper case.
    pub name: CompactString,
    /// Strings, numbers, variables; a bare word is a column reference, `a.b` one with a qualifier.
    pub args: Vec<Expr>,
    /// `NO_INFOMSGS`, `TABLERESULTS`, ....
    pub options: Vec<OptionItem>,
}

/// `BACKUP DATABASE | LOG`.
#[derive(Clone, Debug, PartialEq)]
pub struct Backup {
    /// The log rather than the database.
    pub log: bool,
    /// Which database.
    pub database: NameOrVariable,
    /// `FILE = 'x'`, `FILEGROUP = 'x'`, `READ_WRITE_FILEGROUPS`.
    pub files: Vec<OptionItem>,
    /// `TO`.
    pub devices: Vec<Device>,
    /// `MIRROR TO`, one list per mirror.
    pub mirrors: Vec<Vec<Device>>,
    /// `WITH`.
    pub options: Vec<OptionItem>,
}

/// `RESTORE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Restore {
    /// What.
    pub kind: RestoreKind,
    /// Which database; `None` for HEADERONLY and its kin.
    pub database: Option<NameOrVariable>,
    /// `FILE = 'x'`, `FILEGROUP = 'x'`, `PAGE = '1:57'`.
    pub files: Vec<OptionItem>,
    /// `FROM`; empty for `RESTORE DATABASE d WITH RECOVERY`.
    pub devices: Vec<Device>,
    /// `FROM DATABASE_SNAPSHOT = name`.
    pub snapshot: Option<CompactString>,
    /// `WITH`: `MOVE` entries are in `moves`.
    pub options: Vec<OptionItem>,
    /// `MOVE 'logical' TO 'path'`.
    pub moves: Vec<MoveFile>,
}

/// `MOVE 'logical' TO 'path'`: constants or variables.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveFile {
    /// The file's logical name.
    pub logical: Expr,
    /// Where it goes.
    pub path: Expr,
}

/// What RESTORE restores or shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreKind {
    /// `DATABASE`.
    Database,
    /// `LOG`.
    Log,
    /// `HEADERONLY`.
    HeaderOnly,
    /// `FILELISTONLY`.
    FileListOnly,
    /// `LABELONLY`.
    LabelOnly,
    /// `VERIFYONLY`.
    VerifyOnly,
}

/// A backup device.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// `DISK = 'path'`.
    Disk(Expr),
    /// `URL = 'address'`.
    Url(Expr),
    /// `TAPE = 'name'`.
    Tape(Expr),
    /// A device made by `sp_addumpdevice`.
    Logical(NameOrVariable),
}

/// `KILL session [WITH STATUSONLY]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    /// A session's number or a unit of work.
    pub session: Expr,
    /// `WITH STATUSONLY`.
    pub status_only: bool,
}

/// `TRUNCATE TABLE name [WITH (PARTITIONS (...))]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// Which table.
    pub table: ObjectName,
    /// `WITH (...)`.
    pub options: Vec<OptionItem>,
}

/// Something of T-SQL that is not supported.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// What it is, as messages name it.
    pub what: CompactString,
    /// It is a part of a statement, not the whole.
    pub part: bool,
}
