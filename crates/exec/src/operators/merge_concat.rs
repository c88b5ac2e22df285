//! Merge of inputs that each come in one order: UNION ALL under ORDER BY. Guarantees: rows come in
//! that order, rows that are equal in it in the order of their inputs; of each input one batch is
//! kept.

use super::own::{OpenCustom, OwnOperator, own_rows_first};
use super::sort::compare_rows;
use super::{OpenPlan, Operator, RowSet};
use crate::operators::rt::Rt;
use plan::nodes::{Plan, SortSlot};
use plan::planner::concat::MergeConcat as Node;
use std::cmp::Ordering;
use types::{SqlError, Value};

/// The operators of this file.
pub(super) const ALL: &[OpenCustom] = &[own_rows_first::<MergeConcat>];

/// The operator.
struct MergeConcat {
    inputs: Vec<Input>,
    /// Numbers of the inputs that have a row, by their present rows; the one whose row comes next
    /// is the last.
    waiting: Vec<usize>,
    begun: bool,
}

struct Input {
    operator: Box<dyn Operator>,
    batch: RowSet,
    at: usize,
}

impl Input {
    fn row(&self) -> &[Value] {
        self.batch.row(self.at)
    }

    /// Goes to the next row; false when there is none.
    fn advance(&mut self, plan: &Plan, rt: &mut Rt<'_, '_>) -> Result<bool, SqlError> {
        self.at += 1;
        if self.at < self.batch.len() {
            return Ok(true);
        }
        rt.check_cancel()?;
        self.at = 0;
        self.operator.next(plan, rt, &mut self.batch)
    }
}

impl MergeConcat {
    /// Puts an input that has a row among those that wait.
    fn wait(&mut self, input: usize, keys: &[SortSlot]) {
        let row = self.inputs[input].row();
        let later = |other: &usize| {
            compare_rows(keys, self.inputs[*other].row(), row).then(other.cmp(&input))
                == Ordering::Greater
        };
        let at = self.waiting.partition_point(later);
        self.waiting.insert(at, input);
    }
}

impl OwnOperator for MergeConcat {
    type Node = Node;

    fn open(node: &Node, open: OpenPlan) -> MergeConcat {
        let input = |plan| Input { operator: open(plan), batch: RowSet::default(), at: 0 };
        let inputs = node.inputs.iter().map(input).collect();
        MergeConcat { inputs, waiting: Vec::new(), begun: false }
    }

    fn next(
        &mut self,
        node: &Node,
        width: usize,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        out.reset(width);
        if !std::mem::replace(&mut self.begun, true) {
            for at in 0..self.inputs.len() {
                let input = &mut self.inputs[at];
                if input.operator.next(&node.inputs[at], rt, &mut input.batch)? {
                    self.wait(at, &node.keys);
                }
            }
        }
        while !out.is_full()
            && let Some(at) = self.waiting.pop()
        {
            let input = &mut self.inputs[at];
            out.push_row().clone_from_slice(input.row());
            if input.advance(&node.inputs[at], rt)? {
                self.wait(at, &node.keys);
            }
        }
        Ok(!out.is_empty())
    }
}
