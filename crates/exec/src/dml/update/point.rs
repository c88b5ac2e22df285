//! UPDATE of one row by its whole clustered key, where nothing but bytes of fixed-length columns changes: the row is found,
//! computed and changed under one latch of its page, without a copy of the row and without an allocation.
//! Guarantee: what it does is what the usual way would have done. Whatever would need more (a row that is another
//! transaction's, deleted, or may be locked; NULL; a value that cannot be computed) is left to that way, which has not
//! begun by then.

use super::UpdatePlan;
use super::set::SetColumn;
use crate::dml::target::Target;
use crate::operators::context::ExecCtx;
use crate::operators::seek;
use access::{Edit, Edited, Wish};
use expr::random::Random;
use expr::{Env, Expr, Pred, QuantifiedExpr, SubRef};
use plan::nodes::{Path, ScanPlan};
use std::any::Any;
use std::ops::Range;
use storage::{Base, TableMode, access_error};
use types::{Dialect, SqlError, Value};

/// Most values that are decoded of the row.
const WIDTH: usize = 8;

/// Whether a statement's row may be changed this way. What sees the row, or an index of it, is not asked here.
/// Gives the stretch of bytes of the row that changes, from the first of these columns to the last.
pub(super) fn stretch(target: &Target, sets: &[SetColumn]) -> Option<Range<usize>> {
    let Target::Pages(scan) = target else { return None };
    let Path::Point(spec) = &scan.path else { return None };
    let reads = matches!(scan.store.base, Base::Tree(_))
        && scan.mode == TableMode::Current
        && scan.locks.is_none()
        && scan.store.lob.is_none()
        && scan.width() <= WIDTH
        && spec.equal.iter().all(Expr::is_plain)
        && scan.pred.as_ref().is_none_or(Pred::is_plain);
    if !reads || !sets.iter().all(|set| set.expr.is_plain()) {
        return None;
    }
    let places = sets.iter().map(|set| set.patch.as_ref()).collect::<Option<Vec<_>>>()?;
    let from = places.iter().map(|patch| patch.offset).min()?;
    let end = places.iter().map(|patch| patch.offset + patch.width).max()?;
    Some(from..end)
}

/// What plain expressions ask for: variables.
struct Vars<'a>(&'a [Value]);

impl UpdatePlan {
    /// Changes the row; returns how many were changed, or nothing where the usual way is to be taken. The tables are locked.
    pub(super) fn run_point(
        &self,
        stretch: &Range<usize>,
        ctx: &mut ExecCtx<'_>,
    ) -> Result<Option<u64>, SqlError> {
        let Target::Pages(scan) = &self.target else { return Ok(None) };
        let (Path::Point(spec), Base::Tree(tree)) = (&scan.path, &scan.store.base) else { return Ok(None) };
        let mut key = std::mem::take(&mut ctx.session.point_key);
        let found = seek::point(spec, &scan.store.parts, &mut Vars(ctx.vars), &mut key);
        let vars = Vars(ctx.vars);
        let edited = match found {
            Ok(false) => Ok(Edited::Missing),
            Err(error) => Err(error),
            Ok(true) => ctx.session.txn(&self.db).and_then(|txn| {
                let edited = tree.edit(txn, &key, |row, edit| self.wish(scan, stretch, row, vars, edit));
                edited.map_err(|e| access_error(&self.db, e))
            }),
        };
        ctx.session.point_key = key;
        Ok(match edited? {
            Edited::Done => {
                self.store.table.state.updated(1, self.set.bits);
                Some(1)
            }
            Edited::Left | Edited::Missing => Some(0),
            Edited::Undecided => None,
        })
    }

    /// The new bytes of a row.
    #[inline]
    fn wish(
        &self,
        scan: &ScanPlan,
        stretch: &Range<usize>,
        row: &[u8],
        mut vars: Vars<'_>,
        edit: &mut Edit,
    ) -> Wish {
        let layout = &self.store.table.layout;
        let mut slots = [const { Value::Null }; WIDTH];
        let Some(slots) = slots.get_mut(..scan.columns.len()) else { return Wish::Unknown };
        if layout.decode_some(row, &scan.columns, slots).is_err() {
            return Wish::Unknown;
        }
        match scan.pred.as_ref().map(|pred| pred.is_true(slots, &mut vars)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return Wish::Leave,
            Some(Err(_)) => return Wish::Unknown,
        }
        let Some(there) = row.get(stretch.clone()) else { return Wish::Unknown };
        let from = stretch.start;
        edit.at = from;
        edit.bytes.clear();
        edit.bytes.extend_from_slice(there);
        for set in &self.set.sets {
            let Some(patch) = set.patch else { return Wish::Unknown };
            if layout.raw_column(row, set.column).is_none() {
                return Wish::Unknown;
            }
            let place = patch.offset - from..patch.offset - from + patch.width;
            match (set.expr.eval(slots, &mut vars), edit.bytes.get_mut(place)) {
                (Ok(value), Some(place)) if !value.is_null() => {
                    if layout.put_fixed(set.column, &value, place).is_err() {
                        return Wish::Unknown;
                    }
                }
                _ => return Wish::Unknown,
            }
        }
        Wish::Edit
    }
}

#[cold]
fn not_plain() -> SqlError {
    SqlError::internal("a plain expression asked for more than variables")
}

impl Env for Vars<'_> {
    fn var(&self, slot: usize) -> Value {
        self.0.get(slot).cloned().unwrap_or(Value::Null)
    }

    fn param(&self, _: usize) -> Value {
        debug_assert!(false, "a plain expression has no parameters");
        Value::Null
    }

    fn clock(&mut self) -> i128 {
        debug_assert!(false, "a plain expression asks for no time");
        0
    }

    fn once(&mut self, _: usize) -> Result<f64, SqlError> {
        Err(not_plain())
    }

    fn random(&mut self) -> Result<&mut Random, SqlError> {
        Err(not_plain())
    }

    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Err(not_plain())
    }

    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        Err(not_plain())
    }

    fn call(&mut self, _: &dyn expr::Routine, _: Vec<Value>) -> Result<Value, SqlError> {
        Err(not_plain())
    }

    fn warn(&mut self, _: SqlError) -> Result<(), SqlError> {
        Err(not_plain())
    }

    fn check_cancel(&self) -> Result<(), SqlError> {
        Ok(())
    }

    fn reserve(&mut self, _: usize) -> Result<(), SqlError> {
        Err(not_plain())
    }

    fn check_memory(&self, _: usize) -> Result<(), SqlError> {
        Err(not_plain())
    }

    fn host(&mut self) -> Option<&mut dyn Any> {
        None
    }

    fn scalar(&mut self, _: &SubRef, _: &[Value]) -> Result<Value, SqlError> {
        Err(not_plain())
    }

    fn exists(&mut self, _: &SubRef, _: &[Value]) -> Result<bool, SqlError> {
        Err(not_plain())
    }

    fn quantified(&mut self, _: &QuantifiedExpr, _: &[Value]) -> Result<Option<bool>, SqlError> {
        Err(not_plain())
    }
}
