//! What becomes of the rows of a join, whatever finds the pairs: residual conditions, semi and anti
//! joins, rows without a partner on either side. Guarantee: all join operators treat the kinds of
//! joins alike.

use super::RowSet;
use crate::operators::rt::Rt;
use logical::tree::JoinKind;
use plan::nodes::LoopJoinPlan;
use types::{SqlError, Value};

/// The pairs of a running join.
#[derive(Default)]
pub struct JoinPairs {
    /// The current left row has a partner.
    found: bool,
    /// Right rows that have one.
    matched: Vec<bool>,
    /// The left side is done; FULL JOIN: the next right row to look at.
    rest: Option<usize>,
    scratch: Vec<Value>,
    /// Pairs on which the condition has been tested.
    pub compared: u64,
}

/// Gives only left rows.
fn is_half(join: &LoopJoinPlan) -> bool {
    matches!(join.kind, JoinKind::Semi | JoinKind::Anti)
}

/// Slots of a row of the result.
pub fn width(join: &LoopJoinPlan) -> usize {
    join.left_width + if is_half(join) { 0 } else { join.right_width }
}

impl JoinPairs {
    /// How many right rows there are, once that is known.
    pub fn right_rows(&mut self, rows: usize) {
        self.matched = vec![false; rows];
    }

    /// Tests a left row with right row number `at` and adds what they give. True when the left row
    /// wants no more.
    #[inline]
    pub fn pair(
        &mut self,
        join: &LoopJoinPlan,
        left: &[Value],
        right: &[Value],
        at: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        if let Some(on) = &join.on {
            self.compared += 1;
            self.scratch.clear();
            self.scratch.extend_from_slice(left);
            self.scratch.extend_from_slice(right);
            if !on.is_true(&self.scratch, rt)? {
                return Ok(false);
            }
        }
        self.found = true;
        self.matched[at] = true;
        if is_half(join) {
            return Ok(true);
        }
        out.push_pair(left, right);
        Ok(false)
    }

    /// The current left row has met all its right rows: adds what it gives by itself.
    pub fn end_left(&mut self, join: &LoopJoinPlan, left: &[Value], out: &mut RowSet) {
        match (join.kind, std::mem::take(&mut self.found)) {
            (JoinKind::Semi, true) | (JoinKind::Anti, false) => out.push(left),
            (JoinKind::Left | JoinKind::Full, false) => {
                let row = out.push_row();
                row[..left.len()].clone_from_slice(left);
                row[left.len()..].fill(Value::Null);
            }
            _ => {}
        }
    }

    /// There are no more left rows.
    pub fn end_lefts(&mut self) {
        self.rest = Some(0);
    }

    /// Whether all left rows have passed.
    pub fn lefts_ended(&self) -> bool {
        self.rest.is_some()
    }

    /// FULL JOIN, when the left rows have passed: right rows that met none of them. Their values
    /// are taken.
    pub fn unmatched(
        &mut self,
        join: &LoopJoinPlan,
        rights: &mut [Box<[Value]>],
        out: &mut RowSet,
    ) {
        let (JoinKind::Full, Some(at)) = (join.kind, &mut self.rest) else { return };
        while !out.is_full() && *at < rights.len() {
            if !self.matched[*at] {
                let row = out.push_row();
                row[..join.left_width].fill(Value::Null);
                row[join.left_width..].swap_with_slice(&mut rights[*at]);
            }
            *at += 1;
        }
    }
}
