//! The small operators: one row, VALUES, system views, filter, projection, concatenation.

use super::large::{LargeRows, may_be_large};
use super::{OpenPlan, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::{ColId, Expr};
use logical::view::{RowSource, ViewRows};
use plan::nodes::{Node, Plan};
use smallvec::SmallVec;
use types::{DataType, SqlError, Value};

/// One row without columns.
#[derive(Default)]
pub struct OneRow {
    done: bool,
}

impl Operator for OneRow {
    fn next(&mut self, _: &Plan, _: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(0);
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        out.push_row();
        Ok(true)
    }
}

/// Fills a new row with the values of expressions over a row.
#[inline]
fn fill(
    new: &mut [Value],
    exprs: &[Expr],
    row: &[Value],
    rt: &mut Rt<'_, '_>,
) -> Result<(), SqlError> {
    for (place, e) in new.iter_mut().zip(exprs) {
        *place = e.eval(row, rt)?;
    }
    Ok(())
}

/// Rows of expressions.
#[derive(Default)]
pub struct Values {
    at: usize,
}

impl Operator for Values {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Values(rows) = &plan.node else { return Err(other_node()) };
        out.reset(rows.first().map_or(0, Vec::len));
        while !out.is_full() && self.at < rows.len() {
            let filled = fill(out.push_row(), &rows[self.at], &[], rt);
            out.or_pop(filled)?;
            self.at += 1;
        }
        Ok(!out.is_empty())
    }
}

/// A system view.
#[derive(Default)]
pub struct View {
    source: Option<Box<dyn RowSource>>,
    /// The rows before, whose memory the next ones take.
    rows: ViewRows,
}

impl Operator for View {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
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
                rt.session().check_admitted(db)?;
                none.insert(if equal.is_empty() {
                    view.start(rt.session(), db, &args, keep)?
                } else {
                    view.seek(rt.session(), db, &args, keep, &equal)?
                })
            }
        };
        self.rows.clear();
        while self.rows.is_empty() {
            rt.check_cancel()?;
            if !source.next(&mut self.rows, &|| rt.check_cancel())? {
                return Ok(false);
            }
        }
        out.exchange(keep.len(), self.rows.len(), &mut self.rows.values);
        let columns = scan.view.columns();
        let is_variant = |(_, at): &(usize, &usize)| columns[**at].1 == DataType::SqlVariant;
        let variants: SmallVec<[usize; 4]> =
            keep.iter().enumerate().filter(is_variant).map(|(i, _)| i).collect();
        if !variants.is_empty() {
            (0..out.len()).for_each(|i| as_variants(out.row_mut(i), &variants));
        }
        Ok(true)
    }
}

/// Makes values of these columns values of sql_variant.
fn as_variants(row: &mut [Value], columns: &[usize]) {
    for at in columns {
        let value = std::mem::take(&mut row[*at]);
        row[*at] = types::variant::of(value, DataType::SqlVariant, types::Collation::DEFAULT);
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
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
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

/// New rows computed from the input's. A value that one column of the new row has as it is, and
/// nothing else reads, is moved; a function of one number is not called again while the number
/// stays the same.
pub struct Project {
    input: Box<dyn Operator>,
    batch: RowSet,
    /// Rows of it that have passed.
    at: usize,
    /// Where a new row may have large values of its own: those of a batch.
    large: Option<LargeRows>,
    /// How each new column gets its values; empty until there are rows for which it is worth to
    /// know.
    ways: Vec<ValueSource>,
}

impl Project {
    /// Over an input.
    pub fn new(input: Box<dyn Operator>) -> Project {
        Project { input, batch: RowSet::default(), at: 0, large: None, ways: Vec::new() }
    }
}

/// Batches of so many rows are worth a look at the expressions.
const WORTH_A_LOOK: usize = 8;

/// How a column of new rows gets its values.
enum ValueSource {
    /// The expression is evaluated.
    Evaluate,
    /// The value of this column is moved.
    Move(ColId),
    /// The expression depends on this column alone, and has had one value for another.
    Again { column: ColId, input: Value, output: Value },
}

impl ValueSource {
    /// The ways of all expressions.
    fn of_all(exprs: &[Expr]) -> Vec<ValueSource> {
        let mut read = Vec::new();
        for e in exprs {
            e.leaves(&mut |leaf| {
                if let Expr::Col(id) = leaf {
                    read.push(*id);
                }
            });
        }
        let once = |id: ColId| read.iter().filter(|other| **other == id).count() == 1;
        let way = |e: &Expr| match e {
            Expr::Col(id) if once(*id) => ValueSource::Move(*id),
            Expr::Call(_) if !e.is_volatile() => match only_column(e) {
                Some(column) => {
                    ValueSource::Again { column, input: Value::Null, output: Value::Null }
                }
                None => ValueSource::Evaluate,
            },
            _ => ValueSource::Evaluate,
        };
        exprs.iter().map(way).collect()
    }

    fn value(
        &mut self,
        e: &Expr,
        row: &mut [Value],
        rt: &mut Rt<'_, '_>,
    ) -> Result<Value, SqlError> {
        match self {
            ValueSource::Evaluate => e.eval(row, rt),
            ValueSource::Move(column) => Ok(std::mem::take(&mut row[*column as usize])),
            ValueSource::Again { column, input, output } => {
                let now = &row[*column as usize];
                // Of other types two values that are equal may still differ (-0.0, letters of
                // either case).
                let number = matches!(
                    now,
                    Value::Int(_) | Value::BigInt(_) | Value::SmallInt(_) | Value::TinyInt(_)
                );
                if !number || now != input {
                    *output = e.eval(row, rt)?;
                    *input = if number { row[*column as usize].clone() } else { Value::Null };
                }
                Ok(output.clone())
            }
        }
    }
}

/// The one column that an expression depends on, and on nothing else of its surroundings.
fn only_column(e: &Expr) -> Option<ColId> {
    let (mut columns, mut others) = (SmallVec::<[ColId; 2]>::new(), false);
    e.leaves(&mut |leaf| match leaf {
        Expr::Col(id) => columns.push(*id),
        Expr::Const(_) => {}
        _ => others = true,
    });
    match columns[..] {
        [column] if !others => Some(column),
        _ => None,
    }
}

impl Operator for Project {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Project { input, exprs } = &plan.node else { return Err(other_node()) };
        out.reset(exprs.len());
        if let Some(large) = &mut self.large {
            large.begin();
        }
        if out.takes_stored() {
            // All expressions are columns: whoever takes the rows finds these in them.
            self.batch.take_stored();
        }
        if self.at >= self.batch.len() {
            if !self.input.next(input, rt, &mut self.batch)? {
                return Ok(false);
            }
            self.at = 0;
            if self.large.is_none() && may_be_large(exprs, rt) {
                self.large = Some(LargeRows::default());
            }
        }
        if self.ways.is_empty() && self.batch.len() >= WORTH_A_LOOK {
            self.ways = ValueSource::of_all(exprs);
        }
        while self.at < self.batch.len() {
            let i = self.at;
            self.at += 1;
            if let Some(stored) = self.batch.stored(i) {
                out.push_row();
                out.store(stored);
                if out.is_full() {
                    break;
                }
                continue;
            }
            let row = self.batch.row_mut(i);
            let new = out.push_row();
            let filled = if let Some(large) = &mut self.large {
                let ways = &mut self.ways;
                let mut places = new.iter_mut().zip(exprs).enumerate();
                places.try_for_each(|(at, (place, e))| {
                    *place = match ways.get_mut(at) {
                        Some(way) => way.value(e, row, rt)?,
                        None => e.eval(row, rt)?,
                    };
                    large.add_value(place, rt)
                })
            } else if self.ways.is_empty() {
                fill(new, exprs, row, rt)
            } else {
                let mut ways = new.iter_mut().zip(exprs).zip(&mut self.ways);
                ways.try_for_each(|((place, e), way)| {
                    *place = way.value(e, row, rt)?;
                    Ok(())
                })
            };
            out.or_pop(filled)?;
            if out.is_full() || self.large.as_ref().is_some_and(LargeRows::is_enough) {
                break;
            }
        }
        Ok(true)
    }
}

/// One input after another, each with its own order of columns.
pub struct Concat {
    at: usize,
    current: Option<Box<dyn Operator>>,
    open: OpenPlan,
}

impl Concat {
    /// Before the first input; `open` starts each.
    pub fn new(open: OpenPlan) -> Concat {
        Concat { at: 0, current: None, open }
    }
}

impl Operator for Concat {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
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
