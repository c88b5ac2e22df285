//! Merge join: both inputs come in the order of their keys, ascending with NULL first or descending
//! with NULL last. The left rows pass by; the right rows that have the key of the present one are
//! kept until a left row has another key. Guarantees: nothing else is kept, and what is kept beyond
//! a few rows of one key goes to disk when there is no memory for it; rows come out in the order of
//! the left input.

use super::row_store::{Cursor, RowStore};
use super::{BATCH, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use expr::Expr;
use expr::order::order_of;
use logical::tree::JoinKind;
use plan::nodes::{KeyOrder, MergeJoinPlan, Node, Plan};
use std::cmp::Ordering;
use types::{SqlError, Value, pack_row};

/// Right rows of one key that are kept as they are; more are packed.
const UNPACKED: usize = 256;

/// The operator.
pub struct MergeJoin {
    left: Side,
    right: Side,
    /// The right rows of one key.
    group: Group,
    /// The next row of the group for the present left row.
    inner: usize,
    /// The present left row has met a partner.
    found: bool,
    stage: Stage,
    scratch: Vec<Value>,
    /// Pairs on which the condition has been tested.
    compared: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A left row is to be compared with the right side.
    Next,
    /// It meets the rows of the group.
    Group,
    /// The left side has ended: FULL JOIN gives what is left of the right one.
    Rest,
    Done,
}

/// An input, with the key of its present row.
struct Side {
    input: Box<dyn Operator>,
    batch: RowSet,
    at: usize,
    key: Vec<Value>,
    /// There is a present row.
    there: bool,
    begun: bool,
}

impl Side {
    fn new(input: Box<dyn Operator>) -> Side {
        Side { input, batch: RowSet::default(), at: 0, key: Vec::new(), there: false, begun: false }
    }

    /// Goes to the next row.
    fn advance(
        &mut self,
        (plan, keys): (&Plan, &[Expr]),
        orders: &[KeyOrder],
        rt: &mut Rt<'_, '_>,
    ) -> Result<(), SqlError> {
        if self.begun && !self.there {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.begun, true);
        if !first {
            self.at += 1;
        }
        if first || self.at >= self.batch.len() {
            rt.check_cancel()?;
            self.at = 0;
            self.there = self.input.next(plan, rt, &mut self.batch)?;
            if !self.there {
                self.batch.truncate(0);
                return Ok(());
            }
        }
        self.key.resize(keys.len(), Value::Null);
        let row = self.batch.row(self.at);
        // The keys so far are those of the row before.
        let mut same = !first;
        for ((e, value), order) in keys.iter().zip(&mut self.key).zip(orders) {
            let mut scratch = Value::Null;
            let now = e.eval_ref(row, rt, &mut scratch)?;
            if cfg!(debug_assertions) && same {
                let step = in_order(value, now, *order);
                assert!(
                    step.is_le(),
                    "an input of a merge join is not in order: {value:?} before {now:?}"
                );
                same = step.is_eq();
            }
            value.clone_from(now);
        }
        Ok(())
    }

    fn row(&self) -> &[Value] {
        self.batch.row(self.at)
    }
}

/// The order of two values of a key: ascending with NULL first, or the other way round.
#[inline]
fn in_order(left: &Value, right: &Value, by: KeyOrder) -> Ordering {
    let order = match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        _ => order_of(left, right, by.collation),
    };
    if by.descending { order.reverse() } else { order }
}

/// The order of two keys.
#[inline]
fn order(left: &[Value], right: &[Value], orders: &[KeyOrder]) -> Ordering {
    for ((a, b), by) in left.iter().zip(right).zip(orders) {
        let order = in_order(a, b, *by);
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// Right rows with one key.
#[derive(Default)]
struct Group {
    key: Vec<Value>,
    rows: RowSet,
    /// Those after the first few, packed.
    more: Option<(RowStore, Cursor)>,
    /// FULL JOIN: which have met a partner.
    marks: Vec<u64>,
    len: usize,
}

impl Group {
    fn clear(&mut self, width: usize) {
        self.rows.reset(width);
        self.marks.clear();
        self.len = 0;
        if let Some((store, cursor)) = &mut self.more {
            store.clear();
            cursor.clear();
        }
    }

    fn push(&mut self, row: &mut [Value], rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.len += 1;
        if self.rows.len() < UNPACKED {
            self.rows.push_row().swap_with_slice(row);
            return Ok(());
        }
        let (store, _) = match &mut self.more {
            Some(more) => more,
            none => {
                let share = rt.share();
                none.insert((
                    RowStore::new(rt.session().host().run_files().clone(), share),
                    Cursor::default(),
                ))
            }
        };
        let mut packed = Vec::new();
        pack_row(row, &mut packed);
        store.push(&packed)
    }

    /// Puts a row into slots.
    fn read(&mut self, at: usize, slots: &mut [Value]) -> Result<(), SqlError> {
        match (&mut self.more, at.checked_sub(UNPACKED)) {
            (Some((store, cursor)), Some(at)) => store.read(at, cursor, slots),
            _ => {
                slots.clone_from_slice(self.rows.row(at));
                Ok(())
            }
        }
    }

    fn mark(&mut self, at: usize) {
        if self.marks.len() <= at / 64 {
            self.marks.resize(at / 64 + 1, 0);
        }
        self.marks[at / 64] |= 1 << (at % 64);
    }

    fn is_marked(&self, at: usize) -> bool {
        self.marks.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// The operator's node.
struct Shape<'p> {
    left: &'p Plan,
    right: &'p Plan,
    join: &'p MergeJoinPlan,
}

impl Shape<'_> {
    fn is_half(&self) -> bool {
        matches!(self.join.kind, JoinKind::Semi | JoinKind::Anti)
    }

    fn width(&self) -> usize {
        self.join.left_width + if self.is_half() { 0 } else { self.join.right_width }
    }

    fn is_full(&self) -> bool {
        self.join.kind == JoinKind::Full
    }

    /// One partner is as good as all: the right rows need not be kept.
    fn only_asks(&self) -> bool {
        self.is_half() && self.join.residual.is_none()
    }

    /// A right row that meets nothing; its values are taken.
    fn lone_right(&self, row: &mut [Value], out: &mut RowSet) {
        let slots = out.push_row();
        slots[..self.join.left_width].fill(Value::Null);
        slots[self.join.left_width..].swap_with_slice(row);
    }
}

impl MergeJoin {
    /// Over two inputs in order.
    pub fn new(left: Box<dyn Operator>, right: Box<dyn Operator>) -> MergeJoin {
        MergeJoin {
            left: Side::new(left),
            right: Side::new(right),
            group: Group::default(),
            inner: 0,
            found: false,
            stage: Stage::Next,
            scratch: Vec::new(),
            compared: 0,
        }
    }

    fn advance_left(&mut self, shape: &Shape<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.left.advance((shape.left, &shape.join.left_keys), &shape.join.orders, rt)
    }

    fn advance_right(&mut self, shape: &Shape<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.right.advance((shape.right, &shape.join.right_keys), &shape.join.orders, rt)
    }

    /// Finds the right rows for the present left row; gives what lies before them, for FULL JOIN,
    /// until the result is full.
    fn next_left(
        &mut self,
        shape: &Shape<'_>,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Stage, SqlError> {
        if !self.left.begun {
            self.advance_left(shape, rt)?;
            self.advance_right(shape, rt)?;
        }
        let orders = &shape.join.orders;
        (self.inner, self.found) = (0, false);
        if !self.left.there {
            return Ok(if shape.is_full() { Stage::Rest } else { Stage::Done });
        }
        if self.left.key.iter().any(Value::is_null) {
            // It equals nothing: the group, if there is one, is that of another key.
            return self.end_left(shape, rt, out);
        }
        if self.group.len > 0 {
            if order(&self.left.key, &self.group.key, orders).is_eq() {
                return Ok(Stage::Group);
            }
            if !self.give_group(shape, out)? {
                return Ok(Stage::Next);
            }
        }
        while self.right.there {
            match order(&self.right.key, &self.left.key, orders) {
                Ordering::Less => {
                    if shape.is_full() {
                        shape.lone_right(self.right.batch.row_mut(self.right.at), out);
                    }
                    self.advance_right(shape, rt)?;
                    if out.is_full() {
                        return Ok(Stage::Next);
                    }
                }
                Ordering::Equal if shape.only_asks() => {
                    self.found = true;
                    return self.end_left(shape, rt, out);
                }
                Ordering::Equal => {
                    self.collect(shape, rt)?;
                    return Ok(Stage::Group);
                }
                Ordering::Greater => break,
            }
        }
        // Nothing more can come of the right side.
        if !self.right.there && matches!(shape.join.kind, JoinKind::Inner | JoinKind::Semi) {
            return Ok(Stage::Done);
        }
        self.end_left(shape, rt, out)
    }

    /// Keeps the right rows that have the key of the present one.
    fn collect(&mut self, shape: &Shape<'_>, rt: &mut Rt<'_, '_>) -> Result<(), SqlError> {
        self.group.clear(shape.join.right_width);
        self.group.key.clone_from(&self.right.key);
        while self.right.there
            && order(&self.right.key, &self.group.key, &shape.join.orders).is_eq()
        {
            self.group.push(self.right.batch.row_mut(self.right.at), rt)?;
            self.advance_right(shape, rt)?;
        }
        Ok(())
    }

    /// The present left row meets the rows of the group, until the result is full.
    fn join_group(
        &mut self,
        shape: &Shape<'_>,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Stage, SqlError> {
        let left_width = shape.join.left_width;
        while self.inner < self.group.len {
            if out.is_full() {
                return Ok(Stage::Group);
            }
            let at = self.inner;
            self.inner += 1;
            if let Some(on) = &shape.join.residual {
                self.compared += 1;
                self.scratch.resize(left_width + shape.join.right_width, Value::Null);
                let (left, right) = self.scratch.split_at_mut(left_width);
                left.clone_from_slice(self.left.row());
                self.group.read(at, right)?;
                if !on.is_true(&self.scratch, rt)? {
                    if at.is_multiple_of(BATCH) {
                        rt.check_cancel()?;
                    }
                    continue;
                }
            }
            self.found = true;
            if shape.is_full() {
                self.group.mark(at);
            }
            if shape.is_half() {
                break;
            }
            let (left, right) = out.push_row().split_at_mut(left_width);
            left.clone_from_slice(self.left.row());
            let read = self.group.read(at, right);
            out.or_pop(read)?;
        }
        self.end_left(shape, rt, out)
    }

    /// The present left row has met all it can meet: what it gives by itself, and on to the next
    /// one.
    fn end_left(
        &mut self,
        shape: &Shape<'_>,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Stage, SqlError> {
        let gives = match shape.join.kind {
            JoinKind::Semi => self.found,
            JoinKind::Anti | JoinKind::Left | JoinKind::Full => !self.found,
            JoinKind::Inner => false,
        };
        if gives {
            let (left, rest) = out.push_row().split_at_mut(shape.join.left_width);
            left.swap_with_slice(self.left.batch.row_mut(self.left.at));
            rest.fill(Value::Null);
        }
        self.advance_left(shape, rt)?;
        Ok(Stage::Next)
    }

    /// Lets the group go; FULL JOIN: gives its rows that met nothing, until the result is full.
    /// True when it is gone.
    fn give_group(&mut self, shape: &Shape<'_>, out: &mut RowSet) -> Result<bool, SqlError> {
        if shape.is_full() {
            // Rows that were given are marked, so that it can go on where it was.
            for at in 0..self.group.len {
                if self.group.is_marked(at) {
                    continue;
                }
                if out.is_full() {
                    return Ok(false);
                }
                self.group.mark(at);
                let (left, right) = out.push_row().split_at_mut(shape.join.left_width);
                left.fill(Value::Null);
                let read = self.group.read(at, right);
                out.or_pop(read)?;
            }
        }
        self.group.clear(shape.join.right_width);
        Ok(true)
    }

    /// FULL JOIN, when the left rows have passed.
    fn rest(
        &mut self,
        shape: &Shape<'_>,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<Stage, SqlError> {
        if self.group.len > 0 && !self.give_group(shape, out)? {
            return Ok(Stage::Rest);
        }
        while self.right.there {
            if out.is_full() {
                return Ok(Stage::Rest);
            }
            shape.lone_right(self.right.batch.row_mut(self.right.at), out);
            self.advance_right(shape, rt)?;
        }
        Ok(Stage::Done)
    }
}

impl Operator for MergeJoin {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::MergeJoin { left, right, plan: join } = &plan.node else {
            return Err(other_node());
        };
        let shape = &Shape { left, right, join };
        out.reset(shape.width());
        while !out.is_full() {
            self.stage = match self.stage {
                Stage::Next => self.next_left(shape, rt, out)?,
                Stage::Group => self.join_group(shape, rt, out)?,
                Stage::Rest => self.rest(shape, rt, out)?,
                Stage::Done => break,
            };
        }
        Ok(!out.is_empty())
    }

    fn compared(&self) -> u64 {
        self.compared
    }
}
