//! The change of one row by UPDATE or MERGE: new values, CHECK, the row and its index entries,
//! OUTPUT, what is kept for later steps. Guarantee: keys that the row takes in unique indexes go in
//! when every row of the statement has given up its old ones.

use std::sync::Arc;

use super::super::change::{ChangePlan, KeptChange};
use super::super::output::{OutputOutlet, OutputRow};
use super::super::row_change::wait_for;
use super::super::set::{SetClause, VarValue};
use super::super::values::{column_value, null_error};
use access::Outcome;
use catalog::Db;
use exec::operators::rt::Rt;
use session::query_memory::row_bytes;
use session::state::changes::Action;
use storage::TableStore;
use storage::write::{
    RemainingWrite, RowWriter, StoredRow, ValueChange, WriteContext, wait_for_lock,
};
use types::{SqlError, Value};

/// Rows of a table that are being changed.
pub struct RowUpdate<'p> {
    pub db: &'p Arc<Db>,
    pub store: &'p TableStore,
    change: &'p ChangePlan,
    pub set: &'p SetClause,
    writer: RowWriter,
    /// New values of the set columns.
    pub values: Vec<Value>,
    /// Those of the next row, where they were computed before any row was changed.
    pub ahead: Option<Vec<Value>>,
    old: Vec<Value>,
    pub new: Vec<Value>,
    /// New keys that go in when all old ones are out, with the rows' values and what was set.
    rests: Vec<(RemainingWrite, Box<[Value]>, &'p SetClause)>,
    /// Rows for what follows the change.
    kept: Option<Box<KeptChange>>,
}

impl<'p> RowUpdate<'p> {
    /// No row yet.
    pub fn new(
        db: &'p Arc<Db>,
        store: &'p TableStore,
        change: &'p ChangePlan,
        set: &'p SetClause,
    ) -> RowUpdate<'p> {
        let width = store.table.columns.len();
        RowUpdate {
            db,
            store,
            change,
            set,
            writer: RowWriter::default(),
            values: Vec::with_capacity(set.sets.len()),
            ahead: None,
            old: vec![Value::Null; width],
            new: vec![Value::Null; width],
            rests: Vec::new(),
            kept: change.begin(),
        }
    }

    /// Computes the new values of a row.
    ///
    /// # Errors
    /// 515; those of the values.
    pub fn compute(&mut self, slots: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        if let Some(values) = self.ahead.take() {
            self.values = values;
            return Ok(());
        }
        let table = &self.store.table;
        self.values.clear();
        for set in &self.set.sets {
            let value = column_value(&set.expr, slots, rt, self.db, table, set.column)?;
            if value.is_null() && !table.columns[set.column].nullable && !self.change.is_instead() {
                return Err(null_error(self.db, table, set.column, "UPDATE"));
            }
            self.values.push(value);
        }
        Ok(())
    }

    /// Assigns variables, once for each row that was changed: `new` holds its columns.
    ///
    /// # Errors
    /// Those of the values.
    pub fn assign(&mut self, slots: &[Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        for (slot, value) in &self.set.vars {
            let value = match value {
                VarValue::Expr(e) => e.eval(slots, rt)?,
                VarValue::Set(at, e) => {
                    e.eval(std::slice::from_ref(&self.new[self.set.sets[*at].column]), rt)?
                }
            };
            rt.set_var(*slot, value);
        }
        Ok(())
    }

    /// Changes a row that was just read; false when it was changed by someone else in between.
    ///
    /// # Errors
    /// 515, 547, 2601, 2627; those of the values.
    pub fn one(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: StoredRow<'_>,
        slots: &[Value],
        out: &mut OutputOutlet<'_>,
    ) -> Result<bool, SqlError> {
        if self.set.sets.is_empty() {
            self.assign(slots, rt)?;
            return Ok(true);
        }
        self.prepare(rt, row.bytes, slots)?;
        self.write(rt, row, slots, out)
    }

    /// Computes what a row that was just read becomes: `new`.
    ///
    /// # Errors
    /// 515; those of the values.
    pub fn prepare(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: &[u8],
        slots: &[Value],
    ) -> Result<(), SqlError> {
        self.compute(slots, rt)?;
        let (db, store) = (self.db, self.store);
        store.all_columns(db, row, &mut self.old)?;
        self.new.clone_from_slice(&self.old);
        for (set, value) in self.set.sets.iter().zip(&mut self.values) {
            self.new[set.column] = std::mem::take(value);
        }
        for (column, e) in &self.set.computed {
            let value = column_value(e, &self.new, rt, db, &store.table, *column)?;
            if value.is_null()
                && !store.table.columns[*column].nullable
                && !self.change.is_instead()
            {
                return Err(null_error(db, &store.table, *column, "UPDATE"));
            }
            self.new[*column] = value;
        }
        Ok(())
    }

    /// Writes the row that was prepared; false when it was changed by someone else in between.
    ///
    /// # Errors
    /// 547, 2601, 2627.
    pub fn write(
        &mut self,
        rt: &mut Rt<'_, '_>,
        row: StoredRow<'_>,
        slots: &[Value],
        out: &mut OutputOutlet<'_>,
    ) -> Result<bool, SqlError> {
        let (db, store) = (self.db, self.store);
        if self.change.is_instead() {
            self.changed(RemainingWrite::Nothing, slots, rt, out)?;
            return Ok(true);
        }
        self.change.check(&self.new, rt)?;
        let txn = rt.session().txn(db)?;
        let change = ValueChange { old: &self.old, new: &self.new, columns: &self.set.changed };
        match self.writer.update(&mut WriteContext { db, txn, store }, row, change)? {
            Outcome::Done(rest) => {
                self.changed(rest, slots, rt, out)?;
                Ok(true)
            }
            Outcome::Wait(other) => {
                wait_for(db, rt, other)?;
                Ok(false)
            }
            Outcome::Locked => {
                wait_for_lock(db, rt.session().txn(db)?)?;
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    fn changed(
        &mut self,
        rest: RemainingWrite,
        slots: &[Value],
        rt: &mut Rt<'_, '_>,
        out: &mut OutputOutlet<'_>,
    ) -> Result<(), SqlError> {
        self.assign(slots, rt)?;
        let row = OutputRow {
            deleted: &self.old,
            inserted: &self.new,
            row: slots,
            action: Action::Update,
        };
        out.give(&row, rt)?;
        if let Some(kept) = &mut self.kept {
            kept.deleted(&self.old, rt)?;
            kept.inserted(&self.new, rt)?;
        }
        if rest != RemainingWrite::Nothing {
            rt.reserve(row_bytes(&self.new))?;
            self.rests.push((rest, self.new.as_slice().into(), self.set));
        }
        Ok(())
    }

    /// All rows are changed: their new keys go in. Gives what was kept of them.
    ///
    /// # Errors
    /// 2601, 2627.
    pub fn finish(mut self, rt: &mut Rt<'_, '_>) -> Result<Option<Box<KeptChange>>, SqlError> {
        for (rest, new, set) in &self.rests {
            rt.check_cancel()?;
            let txn = rt.session().txn(self.db)?;
            let mut cx = WriteContext { db: self.db, txn, store: self.store };
            self.writer.finish_update(&mut cx, rest, new, &set.changed)?;
        }
        Ok(self.kept)
    }
}
