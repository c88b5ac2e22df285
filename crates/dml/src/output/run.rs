//! OUTPUT while its statement runs: rows go to the client many at a time as they are made, or when
//! the statement's constraints have held, if something is still to be tested behind the rows; those
//! for a table when the statement has done its own work if it reads or changes that table.
//! Guarantee: the rows before the row at which a statement fails go to the client before the error,
//! but for those that wait.

use super::{IntoPlan, OutputPlan};
use crate::loader::Loader;
use crate::new_row::NewRows;
use exec::operators::context::{ExecCtx, RowSink};
use exec::operators::row_store::{Cursor, RowStore};
use exec::operators::rt::Rt;
use session::output::MadeRows;
use session::query_memory::row_bytes;
use session::state::changes::Action;
use types::{SqlError, Value, pack_row};

/// Whether rows go to the client.
pub fn to_client(output: Option<&OutputPlan>) -> bool {
    output.is_some_and(|plan| plan.client.is_some())
}

/// A change of one row, for OUTPUT. An image that there is not is empty.
pub struct OutputRow<'r> {
    pub deleted: &'r [Value],
    pub inserted: &'r [Value],
    /// The statement's row.
    pub row: &'r [Value],
    pub action: Action,
}

/// OUTPUT while its statement runs. It is passed on with every change, and most have no OUTPUT:
/// what belongs to it is apart.
pub struct Outlet<'p>(Option<Box<OutputRun<'p>>>);

/// What the client gets once the change has ended.
#[must_use]
pub struct Waiting<'p>(Option<Box<OutputRun<'p>>>);

impl Waiting<'_> {
    /// The change has ended: the constraints have held.
    ///
    /// # Errors
    /// Those of the client, and of run files.
    #[inline]
    pub fn send(self) -> Result<(), SqlError> {
        match self.0 {
            None => Ok(()),
            Some(mut run) => run.send_held(),
        }
    }
}

/// A statement's OUTPUT.
struct OutputRun<'p> {
    plan: &'p OutputPlan,
    client: &'p mut dyn RowSink,
    /// Boxed: it is large, and most have none.
    into: Option<Box<IntoRun<'p>>>,
    slots: Vec<Value>,
    /// Rows that go to the client together.
    made: MadeRows,
    /// Rows for the client wait until the change has ended.
    holds: bool,
    /// Those that do, packed.
    held: Option<RowStore>,
    packed: Vec<u8>,
}

/// A statement that fails has given the client its rows up to there.
impl Drop for OutputRun<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A client that is gone is told nothing of the statement's own error either.
            let _ = self.flush();
        }
    }
}

struct IntoRun<'p> {
    loader: Loader<'p>,
    values: Vec<Value>,
    /// Rows that wait for the end.
    waiting: Vec<Box<[Value]>>,
}

impl<'p> Outlet<'p> {
    /// Locks the table that rows go into.
    ///
    /// # Errors
    /// 544, 545; those of the lock.
    #[inline]
    pub fn begin(
        plan: Option<&'p OutputPlan>,
        ctx: &mut ExecCtx<'_>,
        client: &'p mut dyn RowSink,
    ) -> Result<Outlet<'p>, SqlError> {
        match plan {
            None => Ok(Outlet(None)),
            Some(plan) => OutputRun::begin(plan, ctx, client).map(|run| Outlet(Some(run))),
        }
    }

    /// Whether rows for the client wait until the change has ended.
    #[inline]
    pub fn holding(mut self, holds: bool) -> Outlet<'p> {
        if let Some(run) = &mut self.0 {
            run.holds = holds;
        }
        self
    }

    /// Gives a changed row.
    ///
    /// # Errors
    /// Those of the expressions, of the client, of the table.
    #[inline]
    pub fn give(&mut self, row: &OutputRow<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        match &mut self.0 {
            None => Ok(()),
            Some(run) => run.give(row, rt),
        }
    }

    /// All rows were given: those for a table are in it after this, those for the client are its.
    /// What waits goes to the client when the change has ended.
    ///
    /// # Errors
    /// Those of the table, and of the client.
    #[inline]
    pub fn finish(mut self, rt: &mut Rt<'_, '_>) -> Result<Waiting<'p>, SqlError> {
        if let Some(run) = &mut self.0 {
            run.finish(rt)?;
        }
        Ok(Waiting(self.0))
    }
}

impl<'p> OutputRun<'p> {
    fn begin(
        plan: &'p OutputPlan,
        ctx: &mut ExecCtx<'_>,
        client: &'p mut dyn RowSink,
    ) -> Result<Box<OutputRun<'p>>, SqlError> {
        let into = match &plan.into {
            None => None,
            Some(into) => Some(into.begin(ctx)?),
        };
        Ok(Box::new(OutputRun {
            plan,
            client,
            into,
            slots: Vec::new(),
            made: MadeRows::default(),
            holds: false,
            held: None,
            packed: Vec::new(),
        }))
    }

    fn give(&mut self, row: &OutputRow<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let plan = self.plan;
        let slots = &mut self.slots;
        slots.clear();
        slots.extend_from_slice(row.deleted);
        slots.resize(plan.width, Value::Null);
        slots.extend_from_slice(row.inserted);
        slots.resize(2 * plan.width, Value::Null);
        slots.extend_from_slice(row.row);
        slots.push(Value::str(row.action.word()));
        if let (Some(into), Some(run)) = (&plan.into, &mut self.into) {
            run.add(into, slots, rt)?;
        }
        let Some(output) = &plan.client else { return Ok(()) };
        rt.session().acknowledge_reads()?;
        let many = self.made.add(|values| {
            output.exprs.iter().try_for_each(|e| {
                values.push(e.eval(slots, rt)?);
                Ok(())
            })
        })?;
        if self.holds {
            self.hold(rt)
        } else if many {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Values of a row for the client.
    fn width(&self) -> usize {
        self.plan.client.as_ref().map_or(0, |output| output.exprs.len())
    }

    /// Sends the rows that are made.
    fn flush(&mut self) -> Result<(), SqlError> {
        let width = self.width();
        self.made.flush(width, |rows| self.client.rows(rows))
    }

    /// Keeps the row that is made until the change has ended.
    fn hold(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        let width = self.width();
        if self.held.is_none() {
            let files = rt.session().host().run_files().clone();
            self.held = Some(RowStore::new(files, rt.share()));
        }
        let (Some(held), packed) = (&mut self.held, &mut self.packed) else { return Ok(()) };
        self.made.flush(width, |rows| {
            rows.each(|row| {
                packed.clear();
                pack_row(row, packed);
                held.push(packed)
            })
        })
    }

    fn finish(&mut self, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.flush()?;
        match (self.into.take(), &self.plan.into) {
            (Some(run), Some(into)) => (*run).finish(into, rt),
            _ => Ok(()),
        }
    }

    /// The rows that were kept go to the client.
    fn send_held(&mut self) -> Result<(), SqlError> {
        let Some(rows) = self.held.take() else { return Ok(()) };
        let (mut cursor, mut values) = (Cursor::default(), vec![Value::Null; self.width()]);
        for row in 0..rows.len() {
            rows.read(row, &mut cursor, &mut values)?;
            let many = self.made.add(|made| {
                made.extend(values.iter_mut().map(std::mem::take));
                Ok(())
            })?;
            if many {
                self.flush()?;
            }
        }
        self.flush()
    }
}

impl IntoPlan {
    fn begin(&self, ctx: &mut ExecCtx<'_>) -> Result<Box<IntoRun<'_>>, SqlError> {
        let NewRows { db, store, .. } = &self.rows;
        self.rows.check_identity(ctx)?;
        ctx.session.lock_table(db, &store.table, self.lock)?;
        db.check_writable()?;
        Ok(Box::new(IntoRun {
            loader: Loader::new(db, store),
            values: vec![Value::Null; store.table.columns.len()],
            waiting: Vec::new(),
        }))
    }
}

impl IntoRun<'_> {
    fn add(
        &mut self,
        into: &IntoPlan,
        slots: &[Value],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        into.rows.compute(&into.exprs, slots, rt, &mut self.values)?;
        if into.waits {
            rt.reserve(row_bytes(&self.values))?;
            self.waiting.push(self.values.as_slice().into());
            return Ok(());
        }
        into.rows.complete(&mut self.values, false, rt)?;
        self.loader.add(rt, &self.values)
    }

    fn finish(mut self, into: &IntoPlan, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        for row in &mut self.waiting {
            into.rows.complete(row, false, rt)?;
            self.loader.add(rt, row)?;
        }
        let count = self.loader.finish(rt)?;
        rt.session().inserted(&into.rows.db, &into.rows.store.table, count);
        Ok(())
    }
}
