//! UPDATE of one row by its whole clustered key, where nothing but bytes of fixed-length columns
//! changes: the row is found, computed and changed under one latch of its page, without a copy of
//! the row and without an allocation. Guarantee: what it does is what the usual way would have
//! done. Whatever would need more (a row that is another transaction's, deleted, or may be locked;
//! NULL; a value that cannot be computed) is left to that way, which has not begun by then.

use super::UpdatePlan;
use crate::set::SetColumn;
use crate::target::RowsTarget;
use access::{EditOutcome, EditWish, ExpectedEntry, ValueEdit};
use exec::operators::context::ExecCtx;
use exec::operators::plain::PlainVars;
use exec::operators::seek;
use expr::{Expr, Pred};
use plan::nodes::{Path, ScanPlan};
use session::state::kept_memory::{KeptMemory, PointRoom};
use std::ops::Range;
use storage::{Base, TableMode, access_error};
use types::{RowParts, SqlError, Value};

/// Most values that are decoded of the row.
const WIDTH: usize = 8;

/// Whether a statement's row may be changed this way. What sees the row, or an index of it, is not
/// asked here. Gives the stretch of bytes of the row that changes, from the first of these columns
/// to the last.
pub(super) fn stretch(target: &RowsTarget, sets: &[SetColumn]) -> Option<Range<usize>> {
    let RowsTarget::Pages(scan) = target else { return None };
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

/// The row of a statement that is about to run: its key, and where it is expected. Made before the
/// statement begins, so that the row comes from memory while the statement begins and takes its
/// locks.
pub struct ExpectedRow {
    /// The key is in it.
    room: Box<PointRoom>,
    /// Whether a row can have the key; an error is left to the usual way.
    key: Result<bool, SqlError>,
    expected: Option<ExpectedEntry>,
}

impl UpdatePlan {
    /// Looks for the row of a statement that [`UpdatePlan::is_point`] and is to run with these
    /// variables.
    #[inline]
    pub fn look_ahead(&self, memory: &mut KeptMemory, vars: &[Value]) -> Option<ExpectedRow> {
        let RowsTarget::Pages(scan) = &self.target else { return None };
        let (Path::Point(spec), Base::Tree(tree)) = (&scan.path, &scan.store.base) else {
            return None;
        };
        let mut room = PointRoom::take(memory);
        let key = seek::point(spec, &scan.store.parts, &mut PlainVars(vars), &mut room.key);
        let expected = if let Ok(true) = key { tree.look_ahead(&room.key) } else { None };
        Some(ExpectedRow { room, key, expected })
    }

    /// Changes the row; returns how many were changed, or nothing where the usual way is to be
    /// taken. The tables are locked.
    pub(super) fn run_point(
        &self,
        stretch: &Range<usize>,
        ctx: &mut ExecCtx<'_>,
        ahead: Option<ExpectedRow>,
    ) -> Result<Option<u64>, SqlError> {
        let RowsTarget::Pages(scan) = &self.target else { return Ok(None) };
        let Base::Tree(tree) = &scan.store.base else { return Ok(None) };
        let Some(ahead) = ahead.or_else(|| self.look_ahead(&mut ctx.session.memory, ctx.vars))
        else {
            return Ok(None);
        };
        let ExpectedRow { mut room, key: found, expected } = ahead;
        let PointRoom { key, values, .. } = &mut *room;
        let vars = PlainVars(ctx.vars);
        let edited = match found {
            Ok(false) => Ok(EditOutcome::Missing),
            // Perhaps a warning only.
            Err(_) => Ok(EditOutcome::Undecided),
            Ok(true) => ctx.session.txn(&self.db).and_then(|txn| {
                let wish = |row: &[u8], edit: &mut ValueEdit| {
                    self.wish(scan, stretch, (row, values), vars, edit)
                };
                tree.edit(txn, key, expected, wish).map_err(|e| access_error(&self.db, e))
            }),
        };
        room.give(&mut ctx.session.memory);
        let edited = edited?;
        if matches!(edited, EditOutcome::Left | EditOutcome::Missing) {
            // It does not tell what it has read.
            ctx.session.transactions.has_changed_nothing();
        }
        Ok(match edited {
            EditOutcome::Done => {
                self.store.table.state.updated(1, self.set.bits);
                Some(1)
            }
            EditOutcome::Left | EditOutcome::Missing => Some(0),
            EditOutcome::Undecided => None,
        })
    }

    /// The new bytes of a row.
    #[inline]
    fn wish(
        &self,
        scan: &ScanPlan,
        stretch: &Range<usize>,
        (row, slots): (&[u8], &mut Vec<Value>),
        mut vars: PlainVars<'_>,
        edit: &mut ValueEdit,
    ) -> EditWish {
        let layout = &self.store.table.layout;
        let Ok(parts) = RowParts::of(row) else { return EditWish::Unknown };
        if slots.len() != scan.columns.len() {
            slots.resize(scan.columns.len(), Value::Null);
        }
        if layout.decode_parts(&parts, &scan.columns, slots).is_err() {
            return EditWish::Unknown;
        }
        match scan.pred.as_ref().map(|pred| pred.is_true(slots, &mut vars)) {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => return EditWish::Leave,
            Some(Err(_)) => return EditWish::Unknown,
        }
        let Some(there) = row.get(stretch.clone()) else { return EditWish::Unknown };
        let from = stretch.start;
        edit.at = from;
        match there.first_chunk::<4>() {
            // Mostly it is an int, and a copy of a length that is known is no call.
            Some(int) if there.len() == 4 => edit.bytes.extend_from_slice(int),
            _ => edit.bytes.extend_from_slice(there),
        }
        for set in &self.set.sets {
            let Some(patch) = set.patch else { return EditWish::Unknown };
            if !layout.has_fixed(&parts, set.column) {
                return EditWish::Unknown;
            }
            let place = patch.offset - from..patch.offset - from + patch.width;
            let Some(place) = edit.bytes.get_mut(place) else { return EditWish::Unknown };
            match &set.expr.eval(slots, &mut vars) {
                Ok(value) if !value.is_null() => {
                    if layout.put_fixed(set.column, value, place).is_err() {
                        return EditWish::Unknown;
                    }
                }
                _ => return EditWish::Unknown,
            }
        }
        EditWish::Edit
    }
}
