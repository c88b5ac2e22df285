//! What a batch says to its caller: result sets, ends of statements, messages and errors, changes
//! of the session, in the order they happen.
//! Guarantees: the engine never keeps a result set for its caller, rows go to [`Sink::rows`] some
//! at a time as they are made; rows before an error are told before the error.

use compact_str::CompactString;
use types::{DataType, ResultRows, SqlError, Value};

pub use plan::ColumnInfo;

/// Receives what a batch produces: what a sink does not take is dropped, but for errors. An error
/// that the sink returns (a client that went away) stops the batch.
pub trait Sink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        let _ = columns;
        Ok(())
    }
    /// Where the columns of a client's cursor come from; behind [`Sink::columns`].
    fn origins(&mut self, origins: &ColumnOrigins) -> Result<(), SqlError> {
        let _ = origins;
        Ok(())
    }
    /// By which columns, counted from 1, the rows are in order, where ORDER BY names columns of the
    /// result alone; behind [`Sink::columns`] and [`Sink::origins`].
    fn ordered(&mut self, columns: &[u16]) -> Result<(), SqlError> {
        let _ = columns;
        Ok(())
    }
    /// Rows of the current result set, at least one; valid for the call only. They come as their
    /// query makes them: nobody holds rows back for those that follow, but for small ones of OUTPUT
    /// and of a client's cursor, until there are many or the statement ends. All of them are the
    /// sink's when it returns; an error says that it wants no more, of these or others.
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        let _ = rows;
        Ok(())
    }
    /// Whether rows of a query that computes nothing may come as they are stored
    /// ([`types::RowItems::Cells`]), which is less work for who has no use for their values. A sink
    /// that hands rows to another one asks that one.
    fn takes_stored(&self) -> bool {
        false
    }
    /// A statement ended, and with it the result set that [`Sink::columns`] began. Not told of
    /// DECLARE, assignments to variables, EXECUTE and control of flow, unless they fail: those are
    /// steps.
    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        let _ = end;
        Ok(())
    }
    /// A statement ended that only clients of the wire protocol are told of: an assignment to
    /// variables, a condition, a jump, the ends of blocks, a call in a procedure. What it counts is
    /// no row that was affected.
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
    /// A procedure that the batch called with EXECUTE, or that `Session::rpc` called, has ended
    /// with a status. Not told of procedures that procedures call.
    fn procedure_done(&mut self, status: i32) -> Result<(), SqlError> {
        let _ = status;
        Ok(())
    }
    /// An OUTPUT parameter of the procedure that `Session::rpc` called; after
    /// [`Sink::procedure_done`].
    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        let _ = parameter;
        Ok(())
    }
}

/// Gives a sink rows that lie each by itself.
///
/// # Errors
/// The sink's.
pub fn give_each<'r>(
    sink: &mut dyn Sink,
    rows: impl IntoIterator<Item = &'r Vec<Value>>,
) -> Result<(), SqlError> {
    rows.into_iter().try_for_each(|row| sink.rows(&ResultRows::one(row)))
}

/// Room for rows that are made one by one, of others or by a change. They go on together as long as
/// they are small.
#[derive(Debug, Default)]
pub struct MadeRows {
    values: Vec<Value>,
    /// Rows in it, and what they hold, in it and outside of it.
    count: usize,
    bytes: usize,
}

/// What rows hold that go on together. It is charged to nobody, as other things are that are as
/// small.
const TOGETHER: usize = 64 << 10;

impl MadeRows {
    /// Adds a row: the values that `make` appends. True: what is there is to go on now. A row that
    /// cannot be made is none.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn add(
        &mut self,
        make: impl FnOnce(&mut Vec<Value>) -> Result<(), SqlError>,
    ) -> Result<bool, SqlError> {
        let at = self.values.len();
        if let Err(error) = make(&mut self.values) {
            self.values.truncate(at);
            return Err(error);
        }
        self.count += 1;
        let bytes = |value: &Value| size_of::<Value>() + value.heap_bytes();
        self.bytes += self.values.iter().skip(at).map(bytes).sum::<usize>();
        Ok(self.bytes >= TOGETHER)
    }

    /// Sends what is there, rows of `width` values; after an error they are gone all the same.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn flush(
        &mut self,
        width: usize,
        send: impl FnOnce(&ResultRows<'_>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if self.count == 0 {
            return Ok(());
        }
        let sent = send(&ResultRows::of_values(self.count, width, &self.values));
        self.values.clear();
        (self.count, self.bytes) = (0, 0);
        sent
    }

    /// Gives `sink` a row of `width` values for each of `rows`: those that `make` appends. The rows
    /// before one that cannot be made go on before its error.
    ///
    /// # Errors
    /// Those of `make`, and of the sink.
    pub fn give(
        &mut self,
        rows: &ResultRows<'_>,
        width: usize,
        sink: &mut dyn Sink,
        mut make: impl FnMut(&[Value], &mut Vec<Value>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let given = rows.each(|row| match self.add(|values| make(row, values))? {
            true => self.flush(width, |rows| sink.rows(rows)),
            false => Ok(()),
        });
        let sent = self.flush(width, |rows| sink.rows(rows));
        sent.and(given)
    }
}

/// The first error that is told: by itself a sink that keeps nothing else, or the part of a sink
/// that errors go to.
#[derive(Clone, Debug, Default)]
pub struct FirstError(Option<SqlError>);

impl FirstError {
    /// The error, if there was one.
    pub fn get(&self) -> Option<&SqlError> {
        self.0.as_ref()
    }

    /// The error by itself, if there was one.
    pub fn into_error(self) -> Option<SqlError> {
        self.0
    }

    /// A value, unless there was an error.
    ///
    /// # Errors
    /// The first one.
    pub fn or<T>(self, value: T) -> Result<T, SqlError> {
        self.0.map_or(Ok(value), Err)
    }
}

impl Sink for FirstError {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.get_or_insert_with(|| error.clone());
        Ok(())
    }
}

/// Where the columns of a client's cursor come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnOrigins {
    /// The tables, each by the parts of its name: `[database,] schema, table`.
    pub tables: Vec<Vec<CompactString>>,
    /// One for each column.
    pub columns: Vec<ColumnOrigin>,
}

/// Where a column comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// Its table among those of [`ColumnOrigins::tables`]; none for an expression.
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
    /// What `(n rows affected)` shows; `None` under SET NOCOUNT ON and for statements that have no
    /// count.
    pub rows: Option<u64>,
    /// It failed, and its error went to [`Sink::error`].
    pub error: bool,
    /// It ran inside a procedure, a trigger or a text that EXECUTE ran, or was called by
    /// `Session::rpc`.
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
    /// Others whose end the wire protocol does not tell: types, sequences, triggers turned on and
    /// off, EXECUTE AS, THROW.
    Quiet,
    Other,
}

/// What a client keeps track of. Numbers of transactions are unique while the instance runs, never
/// 0.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the rows of each call; fails at a call.
    #[derive(Default)]
    struct Calls {
        rows: Vec<usize>,
        fails_at: Option<usize>,
    }

    impl Sink for Calls {
        fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
            self.rows.push(rows.len());
            if self.fails_at == Some(self.rows.len()) {
                Err(SqlError::internal("gone"))
            } else {
                Ok(())
            }
        }
        fn error(&mut self, _: &SqlError) -> Result<(), SqlError> {
            Ok(())
        }
    }

    #[test]
    fn made_rows_go_on_together_while_they_are_small() {
        let values: Vec<Value> = (0..10).map(Value::Int).collect();
        let rows = ResultRows::of_values(10, 1, &values);
        let give = |made: &mut MadeRows, calls: &mut Calls, bytes: usize, wrong: i32| {
            made.give(&rows, 2, calls, |row, out| {
                out.push(row[0].clone());
                if row[0].as_i64() == Some(wrong.into()) {
                    return Err(SqlError::internal("wrong"));
                }
                out.push(Value::str("x".repeat(bytes)));
                Ok(())
            })
        };
        let mut made = MadeRows::default();
        for (bytes, wrong, calls, given) in [
            (1, -1, vec![10], true),
            (40_000, -1, vec![2; 5], true),
            (100_000, -1, vec![1; 10], true),
            // The rows before the one that is wrong come.
            (1, 3, vec![3], false),
            (40_000, 3, vec![2, 1], false),
            (1, 0, vec![], false),
            (1, -1, vec![10], true),
        ] {
            let mut sink = Calls::default();
            assert_eq!(give(&mut made, &mut sink, bytes, wrong).is_ok(), given, "{bytes} {wrong}");
            assert_eq!(sink.rows, calls, "{bytes} {wrong}");
        }
        // What takes no more gets no more, and its own error is the one.
        let mut sink = Calls { fails_at: Some(2), ..Calls::default() };
        let error = give(&mut made, &mut sink, 40_000, 9).err();
        assert!(error.is_some_and(|e| e.message.contains("gone")));
        assert_eq!(sink.rows, [2, 2]);
    }

    /// Rows without anything outside of them hold memory as well.
    #[test]
    fn many_small_rows_go_on_before_they_are_much() {
        for width in [1, 7, 1000] {
            let mut made = MadeRows::default();
            let mut rows = 1;
            let add = |made: &mut MadeRows| {
                made.add(|values| {
                    values.extend((0..width).map(Value::Int));
                    Ok(())
                })
            };
            while !add(&mut made).unwrap() {
                rows += 1;
            }
            let bytes = rows * width as usize * size_of::<Value>();
            let row = width as usize * size_of::<Value>();
            assert!((TOGETHER..TOGETHER + row).contains(&bytes), "{rows} rows of {width}");
        }
    }
}
