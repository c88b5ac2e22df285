//! The rows that a user's function gives: it runs to its end before the first of them goes out.
//! Guarantee: memory does not grow with the rows.

use super::row_store::{Cursor, RowStore};
use super::rt::Rt;
use super::{Operator, RowSet, other_node};
use plan::nodes::{Node, Plan};
use session::output::Sink;
use session::query_memory::Share;
use types::{ResultRows, SqlError, Value, pack_row};

/// The sink of a function that gives no rows.
pub struct NoRows;

impl Sink for NoRows {
    fn error(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
}

/// Keeps the wanted columns of what a function gives.
struct Kept<'k> {
    rows: RowStore,
    keep: &'k [usize],
    wanted: Vec<Value>,
    packed: Vec<u8>,
}

impl Sink for Kept<'_> {
    fn error(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.wanted.clear();
            self.wanted
                .extend(self.keep.iter().map(|at| row.get(*at).cloned().unwrap_or(Value::Null)));
            self.packed.clear();
            pack_row(&self.wanted, &mut self.packed);
            self.rows.push(&self.packed)
        })
    }
}

/// The table that a function fills.
#[derive(Default)]
pub struct Routine {
    rows: Option<RowStore>,
    cursor: Cursor,
    at: usize,
}

impl Operator for Routine {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Routine { scan, keep } = &plan.node else { return Err(other_node()) };
        out.reset(keep.len());
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                let mut args = Vec::with_capacity(scan.args.len());
                for e in &scan.args {
                    args.push(e.eval(&[], rt)?);
                }
                let share: Share = rt.share();
                let rows = RowStore::new(rt.session().host().run_files().clone(), share);
                let mut kept = Kept { rows, keep, wanted: Vec::new(), packed: Vec::new() };
                rt.session().call_function(&*scan.routine, args, &mut kept)?;
                none.insert(kept.rows)
            }
        };
        while !out.is_full() && self.at < rows.len() {
            rows.read(self.at, &mut self.cursor, out.push_row())?;
            self.at += 1;
        }
        Ok(!out.is_empty())
    }
}
