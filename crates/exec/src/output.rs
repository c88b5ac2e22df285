//! What a batch says to its caller: result sets, ends of statements, messages and errors, changes of the session, in the order
//! they happen. The engine never buffers a result set for its caller: rows stream through [`Sink::row`].

use compact_str::CompactString;
use types::{DataType, SqlError, StoredCell, Value};

pub use plan::ColumnInfo;

/// Receives what a batch produces: what a sink does not take is dropped, but for errors. An error that the sink returns (a
/// client that went away) stops the batch.
pub trait Sink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        let _ = columns;
        Ok(())
    }
    /// Where the columns of a client's cursor come from; behind [`Sink::columns`].
    fn origins(&mut self, origins: &Origins) -> Result<(), SqlError> {
        let _ = origins;
        Ok(())
    }
    /// By which columns, counted from 1, the rows are in order, where ORDER BY names columns of the
    /// result alone; behind [`Sink::columns`] and [`Sink::origins`].
    fn ordered(&mut self, columns: &[u16]) -> Result<(), SqlError> {
        let _ = columns;
        Ok(())
    }
    /// A row of the current result set; valid for the call only.
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let _ = row;
        Ok(())
    }
    /// Whether rows of a query that computes nothing may come by [`Sink::stored_row`], which is less
    /// work for who has no use for their values. A sink that hands rows to another one asks that
    /// one.
    fn takes_stored(&self) -> bool {
        false
    }
    /// A row of the current result set whose cells are borrowed from the stored one; valid for the
    /// call only.
    fn stored_row(&mut self, row: &[StoredCell<'_>]) -> Result<(), SqlError> {
        let values: Vec<Value> = row.iter().map(StoredCell::to_value).collect();
        self.row(&values)
    }
    /// A statement ended, and with it the result set that [`Sink::columns`] began. Not told of DECLARE, assignments to variables,
    /// EXECUTE and control of flow, unless they fail: those are steps.
    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let _ = end;
        Ok(())
    }
    /// A statement ended that only clients of the wire protocol are told of: an assignment to variables, a condition, a jump, the
    /// ends of blocks, a call in a procedure. What it counts is no row that was affected.
    fn step(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let _ = end;
        Ok(())
    }
    /// PRINT, informational messages (severity up to 10).
    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        let _ = message;
        Ok(())
    }
    /// An error that was not caught (severity 11 and more).
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError>;
    /// The session has changed in a way that its client keeps track of.
    fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
        let _ = change;
        Ok(())
    }
    /// A procedure that the batch called with EXECUTE, or that `Session::rpc` called, has ended with a status. Not told
    /// of procedures that procedures call.
    fn procedure_done(&mut self, status: i32) -> Result<(), SqlError> {
        let _ = status;
        Ok(())
    }
    /// An OUTPUT parameter of the procedure that `Session::rpc` called; after [`Sink::procedure_done`].
    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        let _ = parameter;
        Ok(())
    }
}

/// Where the columns of a client's cursor come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The tables, each by the parts of its name: `[database,] schema, table`.
    pub tables: Vec<Vec<CompactString>>,
    /// One for each column.
    pub columns: Vec<Origin>,
}

/// Where a column comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its table among those of [`Origins::tables`]; none for an expression.
    pub table: Option<usize>,
    /// Its name in the table, where the result names it differently.
    pub name: Option<CompactString>,
    /// It is part of a key that tells the table's rows apart.
    pub key: bool,
    /// The query did not ask for it: ROWSTAT.
    pub hidden: bool,
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementEnd {
    pub statement: StatementKind,
    /// What `(n rows affected)` shows; `None` under SET NOCOUNT ON and for statements that have no count.
    pub rows: Option<u64>,
    /// It failed, and its error went to [`Sink::error`].
    pub error: bool,
    /// It ran inside a procedure, a trigger or a text that EXECUTE ran, or was called by `Session::rpc`.
    pub nested: bool,
}

/// What a statement is, as far as clients tell statements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// Queries, assignments to variables, DECLARE CURSOR, FETCH, RETURN of a value.
    Select,
    SelectInto,
    Insert,
    Update,
    Delete,
    Merge,
    /// BULK INSERT and INSERT BULK.
    BulkInsert,
    Truncate,
    BeginTransaction,
    Commit,
    Rollback,
    SaveTransaction,
    /// SET of an option that is turned on.
    SetOn,
    SetOff,
    /// SET of an option that has a value.
    SetValue,
    SetRowCount,
    SetTextSize,
    SetStatisticsOn,
    SetStatisticsOff,
    SetIdentityInsert,
    Use,
    Execute,
    /// The condition of IF and WHILE, each time that it is evaluated.
    Condition,
    /// GOTO, BREAK, CONTINUE.
    Goto,
    /// RETURN without a value.
    Return,
    BeginTry,
    BeginCatch,
    /// The end of a TRY or CATCH block.
    EndBlock,
    Print,
    RaisError,
    WaitFor,
    OpenCursor,
    CloseCursor,
    Deallocate,
    CreateTable,
    AlterTable,
    DropTable,
    /// CREATE INDEX and CREATE STATISTICS.
    CreateIndex,
    AlterIndex,
    /// DROP INDEX and DROP STATISTICS.
    DropIndex,
    UpdateStatistics,
    CreateDatabase,
    AlterDatabase,
    DropDatabase,
    /// CREATE and ALTER VIEW.
    CreateView,
    DropView,
    /// CREATE and ALTER of procedures and functions.
    CreateProcedure,
    DropProcedure,
    DropFunction,
    /// CREATE and ALTER TRIGGER.
    CreateTrigger,
    DropTrigger,
    DropSequence,
    DropSynonym,
    Dbcc,
    Checkpoint,
    Reconfigure,
    /// Principals, permissions, schemas and synonyms: the wire protocol tells only of their errors.
    Security,
    /// Others whose end the wire protocol does not tell: types, sequences, triggers turned on and off, EXECUTE AS, THROW.
    Quiet,
    Other,
}

/// What a client keeps track of. Numbers of transactions are unique while the instance runs, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange<'a> {
    /// USE, and the end of a scope that ran one.
    Database {
        new: &'a str,
        old: &'a str,
    },
    /// SET LANGUAGE.
    Language {
        new: &'a str,
        old: &'a str,
    },
    /// @@TRANCOUNT is no longer 0.
    TransactionBegan(u64),
    TransactionCommitted(u64),
    /// By ROLLBACK, or by the server after an error.
    TransactionRolledBack(u64),
}

/// What a procedure has left in an OUTPUT parameter.
#[derive(Clone, Copy, Debug)]
pub struct OutputParameter<'a> {
    /// Position in the call, from 0.
    pub ordinal: usize,
    /// As the call wrote it; empty for one without a name.
    pub name: &'a str,
    pub ty: DataType,
    pub value: &'a Value,
}
