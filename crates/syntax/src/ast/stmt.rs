//! The kinds of statement. What each consists of is in the file of its topic.

use super::*;
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
        principal: ExecuteAs,
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
    /// CHECKPOINT, KILL, RECONFIGURE, SETUSER: `parser/commands.rs` has them.
    Command(Command),
    /// `SHUTDOWN [WITH NOWAIT]`.
    Shutdown {
        no_wait: bool,
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

/// Something of T-SQL that is not supported.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// What it is, as messages name it.
    pub what: CompactString,
    /// It is a part of a statement, not the whole.
    pub part: bool,
}
