//! INSERT ... EXECUTE: the rows of all result sets of what is called go into a table. Guarantees:
//! it is one statement: what the call has done is taken back with the rows; ROLLBACK (3915), COMMIT
//! of a transaction from before (3916) and another INSERT ... EXECUTE (8164) inside are errors;
//! memory does not grow with the rows.

use compact_str::CompactString;
use syntax::ast::{Execute, Expr, ExprKind, Insert, InsertSource, Span, Stmt, StmtKind};
use types::{DataType, ResultRows, SqlError, Value, msg, pack_row};

use super::run::{Failure, Flow, Run};
use bind::env::VarScope;
use catalog::errors;
use dml::bulk::{BulkRows, load_rows_of};
use exec::operators::row_store::{Cursor, RowStore};
use session::output::{
    ColumnInfo, OutputParameter, SessionChange, Sink, StatementEnd, StatementKind,
};

/// Rows of a result set: its columns' types, and where its rows begin.
struct Set {
    types: Vec<DataType>,
    first: usize,
}

/// Takes the result sets; all else goes on to the client.
struct Capture<'s> {
    client: &'s mut dyn Sink,
    sets: Vec<Set>,
    rows: RowStore,
    packed: Vec<u8>,
}

impl Sink for Capture<'_> {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        self.sets
            .push(Set { types: columns.iter().map(|c| c.ty).collect(), first: self.rows.len() });
        Ok(())
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.packed.clear();
            pack_row(row, &mut self.packed);
            self.rows.push(&self.packed)
        })
    }

    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        // The client hears of the INSERT alone, but for errors.
        if end.error { self.client.done(end) } else { Ok(()) }
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.client.message(message)
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.client.error(error)
    }

    fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
        self.client.changed(change)
    }

    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        self.client.output_parameter(parameter)
    }
}

/// The rows of one result set.
struct SetRows<'r> {
    rows: &'r RowStore,
    cursor: Cursor,
    next: usize,
    end: usize,
}

impl BulkRows for SetRows<'_> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        if self.next == self.end {
            return Ok(false);
        }
        self.rows.read(self.next, &mut self.cursor, row)?;
        self.next += 1;
        Ok(true)
    }
}

impl Run<'_> {
    pub(super) fn insert_exec(&mut self, at: usize, insert: &Insert) -> Result<(), Failure> {
        let InsertSource::Execute(execute) = &insert.source else {
            return Err(SqlError::internal("INSERT ... EXECUTE was expected").into());
        };
        if self.core.run.insert_exec.is_some() {
            return Err(SqlError::of(msg::INSERT_EXEC_NESTED, []).into());
        }
        if !insert.output.is_empty() {
            return Err(SqlError::of(msg::OUTPUT_IN_INSERT_EXEC, []).into());
        }
        if insert.top.is_some() {
            return Err(errors::not_supported("INSERT TOP (n) ... EXECUTE").into());
        }
        if self.core.transactions.client.doomed {
            return Err(errors::doomed().into());
        }
        self.core.run.notes.clear();
        self.core.begin_statement(true)?;
        self.core.tell_transactions(self.sink)?;
        let result = self.call_and_insert(at, insert, execute);
        let catching = self.catches();
        // Only an error of the call itself has an effect of its own.
        let (result, effect) = match result {
            Ok(rows) => (Ok(rows), None),
            Err(failure) => (Err(failure.error), Some(failure.effect)),
        };
        let result =
            result.and_then(|rows| self.core.fire_triggers(self.sink, catching).map(|()| rows));
        let rows = self.core.end_statement(result).map_err(|error| match effect {
            Some(effect) => Failure { error, effect },
            None => error.into(),
        })?;
        self.tell_notes(at)?;
        self.core.succeeded(rows);
        self.done(StatementKind::Insert, Some(rows))
    }

    fn call_and_insert(
        &mut self,
        at: usize,
        insert: &Insert,
        execute: &Execute,
    ) -> Result<u64, Failure> {
        let host = self.core.host().clone();
        let share = self.core.shared.grants.add(self.core.query_memory()).share();
        let scope = self.core.enter_inner();
        let around = self.core.trancount();
        self.core.run.insert_exec = Some(around);
        let mut capture = Capture {
            client: &mut *self.sink,
            sets: Vec::new(),
            rows: RowStore::new(host.run_files().clone(), share),
            packed: Vec::new(),
        };
        let mut inner = Run::new(self.core, &mut capture, self.batch, self.vars, self.outer_try);
        inner.at = at;
        let called = inner.execute(at, execute);
        let called = match called {
            Ok(Flow::Next) => Ok(()),
            Ok(Flow::Abort) => Err(errors::batch_ended().into()),
            Err(failure) => Err(failure),
        };
        let Capture { sets, rows, .. } = capture;
        self.core.run.insert_exec = None;
        let left = self.core.leave_inner(scope, called.is_err());
        called?;
        left?;
        let mut inserted = 0;
        for (i, set) in sets.iter().enumerate() {
            let end = sets.get(i + 1).map_or(rows.len(), |next| next.first);
            let mut source =
                SetRows { rows: &rows, cursor: Cursor::default(), next: set.first, end };
            inserted += self.insert_set(insert, &set.types, &mut source)?;
        }
        Ok(inserted)
    }

    /// Inserts the rows of one result set: as `INSERT ... VALUES (@1, @2, ...)` once for each.
    fn insert_set(
        &mut self,
        insert: &Insert,
        types: &[DataType],
        rows: &mut SetRows<'_>,
    ) -> Result<u64, SqlError> {
        let mut vars = VarScope::new();
        let mut values = Vec::with_capacity(types.len());
        for (i, ty) in types.iter().enumerate() {
            let name = CompactString::from(format!("@{}", i + 1));
            vars.declare(&name, *ty)?;
            values.push(Expr { kind: ExprKind::Variable(name), span: Span::default() });
        }
        let with_values = Insert { source: InsertSource::Values(vec![values]), ..insert.clone() };
        let stmt = Stmt { kind: StmtKind::Insert(Box::new(with_values)), span: Span::default() };
        load_rows_of(self.core, &stmt, &vars, rows).map_err(|e| match e.number {
            // The words for VALUES are others.
            109 | 110 => SqlError::of(msg::COLUMN_COUNT_MISMATCH, []),
            _ => e,
        })
    }
}
