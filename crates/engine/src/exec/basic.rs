//! The small operators: one row, VALUES, system views, filter, projection, concatenation.

use super::{BATCH, Open, Operator, RowSet};
use crate::exec::rt::Rt;
use expr::{Expr, Pred};
use plan::logical::ViewScan;
use plan::nodes::Plan;
use plan::view::RowSource;
use smallvec::SmallVec;
use types::{SqlError, Value};

/// One row without columns.
pub struct One {
    pub done: bool,
}

impl Operator for One {
    fn next(&mut self, _: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(0);
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        out.push_row();
        Ok(true)
    }
}

/// Rows of expressions.
pub struct Values<'p> {
    pub rows: &'p [Vec<Expr>],
    pub at: usize,
}

impl Operator for Values<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.rows.first().map_or(0, Vec::len));
        while out.len() < BATCH && self.at < self.rows.len() {
            for (place, e) in out.push_row().iter_mut().zip(&self.rows[self.at]) {
                *place = e.eval(&[], rt)?;
            }
            self.at += 1;
        }
        Ok(!out.is_empty())
    }
}

/// A system view.
pub struct View<'p> {
    pub scan: &'p ViewScan,
    /// Positions of the view's columns that are wanted.
    pub keep: &'p [usize],
    /// Columns by which its rows are sought.
    equal: &'p [(usize, Expr)],
    source: Option<Box<dyn RowSource>>,
    rows: std::vec::IntoIter<Vec<Value>>,
}

impl<'p> View<'p> {
    /// A view that has not been asked yet.
    pub fn new(scan: &'p ViewScan, keep: &'p [usize], equal: &'p [(usize, Expr)]) -> View<'p> {
        View { scan, keep, equal, source: None, rows: Vec::new().into_iter() }
    }
}

impl Operator for View<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.keep.len());
        let source = match &mut self.source {
            Some(source) => source,
            none => {
                let mut args: SmallVec<[Value; 4]> = SmallVec::new();
                for e in &self.scan.args {
                    args.push(e.eval(&[], rt)?);
                }
                let mut equal: SmallVec<[(usize, Value); 4]> = SmallVec::new();
                for (at, e) in self.equal {
                    // An error is the condition's, for the rows that it is tested with.
                    if let Ok(value) = e.eval(&[], rt) {
                        equal.push((*at, value));
                    }
                }
                let (view, db) = (self.scan.view, &self.scan.db);
                none.insert(if equal.is_empty() {
                    view.start(rt.session(), db, &args, self.keep)?
                } else {
                    view.seek(rt.session(), db, &args, self.keep, &equal)?
                })
            }
        };
        while self.rows.as_slice().is_empty() {
            rt.check_cancel()?;
            match source.next()? {
                Some(rows) => self.rows = rows.into_iter(),
                None => return Ok(false),
            }
        }
        for mut row in self.rows.by_ref().take(BATCH) {
            out.push_row().swap_with_slice(&mut row);
        }
        Ok(true)
    }
}

/// Rows that satisfy a condition.
pub struct Filter<'p> {
    pub input: Box<dyn Operator + 'p>,
    pub pred: &'p Pred,
    pub batch: RowSet,
}

impl Operator for Filter<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        loop {
            if !self.input.next(rt, &mut self.batch)? {
                out.reset(self.batch.width());
                return Ok(false);
            }
            out.reset(self.batch.width());
            for i in 0..self.batch.len() {
                if self.pred.is_true(self.batch.row(i), rt)? {
                    for (place, value) in out.push_row().iter_mut().zip(self.batch.row_mut(i)) {
                        std::mem::swap(place, value);
                    }
                }
            }
            if !out.is_empty() {
                return Ok(true);
            }
            rt.check_cancel()?;
        }
    }
}

/// New rows computed from the input's.
pub struct Project<'p> {
    pub input: Box<dyn Operator + 'p>,
    pub exprs: &'p [Expr],
    pub batch: RowSet,
}

impl Operator for Project<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.exprs.len());
        if !self.input.next(rt, &mut self.batch)? {
            return Ok(false);
        }
        for i in 0..self.batch.len() {
            let row = self.batch.row(i);
            for (place, e) in out.push_row().iter_mut().zip(self.exprs) {
                *place = e.eval(row, rt)?;
            }
        }
        Ok(true)
    }
}

/// One input after another, each with its own order of columns.
pub struct Concat<'p> {
    pub inputs: &'p [Plan],
    pub at: usize,
    pub current: Option<Box<dyn Operator + 'p>>,
    pub open: Open,
}

impl Operator for Concat<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        while let Some(plan) = self.inputs.get(self.at) {
            let current = self.current.get_or_insert_with(|| (self.open)(plan));
            if current.next(rt, out)? {
                return Ok(true);
            }
            self.current = None;
            self.at += 1;
        }
        Ok(false)
    }
}
