//! The small operators: one row, VALUES, system views, filter, projection, concatenation.

use super::{BATCH, Open, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::{ColId, Expr};
use plan::nodes::{Node, Plan};
use plan::view::RowSource;
use smallvec::SmallVec;
use types::{DataType, SqlError, Value};

/// One row without columns.
#[derive(Default)]
pub struct One {
    done: bool,
}

impl Operator for One {
    fn next(&mut self, _: &Plan, _: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(0);
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        out.push_row();
        Ok(true)
    }
}

/// Rows of expressions.
#[derive(Default)]
pub struct Values {
    at: usize,
}

impl Operator for Values {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::Values(rows) = &plan.node else { return Err(other_node()) };
        out.reset(rows.first().map_or(0, Vec::len));
        while out.len() < BATCH && self.at < rows.len() {
            for (place, e) in out.push_row().iter_mut().zip(&rows[self.at]) {
                *place = e.eval(&[], rt)?;
            }
            self.at += 1;
        }
        Ok(!out.is_empty())
    }
}

/// A system view.
#[derive(Default)]
pub struct View {
    source: Option<Box<dyn RowSource>>,
    rows: std::vec::IntoIter<Vec<Value>>,
}

impl Operator for View {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::View { scan, keep, equal: wanted } = &plan.node else { return Err(other_node()) };
        out.reset(keep.len());
        let source = match &mut self.source {
            Some(source) => source,
            none => {
                let mut args: SmallVec<[Value; 4]> = SmallVec::new();
                for e in &scan.args {
                    args.push(e.eval(&[], rt)?);
                }
                let mut equal: SmallVec<[(usize, Value); 4]> = SmallVec::new();
                for (at, e) in wanted {
                    // An error is the condition's, for the rows that it is tested with.
                    if let Ok(value) = e.eval(&[], rt) {
                        equal.push((*at, value));
                    }
                }
                let (view, db) = (scan.view, &scan.db);
                none.insert(if equal.is_empty() {
                    view.start(rt.session(), db, &args, keep)?
                } else {
                    view.seek(rt.session(), db, &args, keep, &equal)?
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
        let columns = scan.view.columns();
        let is_variant = |(_, at): &(usize, &usize)| columns[**at].1 == DataType::SqlVariant;
        let variants: SmallVec<[usize; 4]> =
            keep.iter().enumerate().filter(is_variant).map(|(i, _)| i).collect();
        for mut row in self.rows.by_ref().take(BATCH) {
            for at in &variants {
                let value = std::mem::take(&mut row[*at]);
                row[*at] = types::variant::of(value, DataType::SqlVariant, types::Collation::DEFAULT);
            }
            out.push_row().swap_with_slice(&mut row);
        }
        Ok(true)
    }
}

/// Rows that satisfy a condition.
pub struct Filter {
    input: Box<dyn Operator>,
    batch: RowSet,
}

impl Filter {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Filter {
        Filter { input, batch: RowSet::default() }
    }
}

impl Operator for Filter {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::Filter { input, pred } = &plan.node else { return Err(other_node()) };
        loop {
            if !self.input.next(input, rt, &mut self.batch)? {
                out.reset(self.batch.width());
                return Ok(false);
            }
            out.reset(self.batch.width());
            for i in 0..self.batch.len() {
                if pred.is_true(self.batch.row(i), rt)? {
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

/// New rows computed from the input's. Values that one column of the new row has as they are, and nothing else reads, are moved.
pub struct Project {
    input: Box<dyn Operator>,
    batch: RowSet,
    /// For each new column the one that is moved there; empty until there are rows for which it is worth to know.
    moved: Vec<Option<ColId>>,
}

impl Project {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Project {
        Project { input, batch: RowSet::default(), moved: Vec::new() }
    }
}

/// Batches of so many rows have their values moved.
const WORTH_MOVING: usize = 8;

/// For each expression the column that it is, if no other part of the expressions reads that column.
fn moved_columns(exprs: &[Expr]) -> Vec<Option<ColId>> {
    let mut read = Vec::new();
    for e in exprs {
        e.leaves(&mut |leaf| {
            if let Expr::Col(id) = leaf {
                read.push(*id);
            }
        });
    }
    let once = |id: &ColId| read.iter().filter(|other| *other == id).count() == 1;
    exprs.iter().map(|e| if let Expr::Col(id) = e { Some(*id).filter(once) } else { None }).collect()
}

impl Operator for Project {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::Project { input, exprs } = &plan.node else { return Err(other_node()) };
        out.reset(exprs.len());
        if !self.input.next(input, rt, &mut self.batch)? {
            return Ok(false);
        }
        if self.moved.is_empty() && self.batch.len() >= WORTH_MOVING {
            self.moved = moved_columns(exprs);
        }
        for i in 0..self.batch.len() {
            let row = self.batch.row_mut(i);
            let new = out.push_row();
            for (at, e) in exprs.iter().enumerate() {
                new[at] = match self.moved.get(at) {
                    Some(&Some(id)) => std::mem::replace(&mut row[id as usize], Value::Null),
                    _ => e.eval(row, rt)?,
                };
            }
        }
        Ok(true)
    }
}

/// One input after another, each with its own order of columns.
pub struct Concat {
    at: usize,
    current: Option<Box<dyn Operator>>,
    open: Open,
}

impl Concat {
    /// Before the first input; `open` starts each.
    pub fn new(open: Open) -> Concat {
        Concat { at: 0, current: None, open }
    }
}

impl Operator for Concat {
    fn next(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Node::Concat(inputs) = &plan.node else { return Err(other_node()) };
        while let Some(input) = inputs.get(self.at) {
            let current = self.current.get_or_insert_with(|| (self.open)(input));
            if current.next(input, rt, out)? {
                return Ok(true);
            }
            self.current = None;
            self.at += 1;
        }
        Ok(false)
    }
}
