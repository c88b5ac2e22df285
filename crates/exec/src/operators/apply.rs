//! Apply: the right plan runs once per left row, with parameters set from it. CROSS and OUTER
//! APPLY, and index nested loop joins, whose inner plan is a seek on the parameters.

use super::{OpenPlan, Operator, RowSet, other_node};
use crate::operators::rt::Rt;
use logical::tree::JoinKind;
use plan::nodes::{ApplyPlan, Node, Plan};
use types::{SqlError, Value};

/// The operator.
pub struct Apply {
    left: Box<dyn Operator>,
    batch: RowSet,
    at: usize,
    inner: Option<Box<dyn Operator>>,
    inner_rows: RowSet,
    inner_at: usize,
    found: bool,
    scratch: Vec<Value>,
    open: OpenPlan,
}

impl Apply {
    /// Over a left input; `open` starts the right one for each row.
    pub fn new(left: Box<dyn Operator>, open: OpenPlan) -> Apply {
        Apply {
            left,
            batch: RowSet::default(),
            at: 0,
            inner: None,
            inner_rows: RowSet::default(),
            inner_at: 0,
            found: false,
            scratch: Vec::new(),
            open,
        }
    }

    fn left_row(
        &mut self,
        plan: &ApplyPlan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let left = self.batch.row(self.at);
        if self.inner.is_none() {
            for (slot, e) in &plan.args {
                let value = e.eval(left, rt)?;
                rt.set_param(*slot, value);
            }
            self.inner = Some((self.open)(&plan.right));
            self.inner_rows.truncate(0);
            self.inner_at = 0;
            self.found = false;
        }
        let half = matches!(plan.kind, JoinKind::Semi | JoinKind::Anti);
        let Some(inner) = &mut self.inner else { return Ok(true) };
        'rows: loop {
            while self.inner_at < self.inner_rows.len() {
                if out.is_full() {
                    return Ok(false);
                }
                let right = self.inner_rows.row(self.inner_at);
                self.inner_at += 1;
                if let Some(residual) = &plan.residual {
                    self.scratch.clear();
                    self.scratch.extend_from_slice(left);
                    self.scratch.extend_from_slice(right);
                    if !residual.is_true(&self.scratch, rt)? {
                        continue;
                    }
                }
                self.found = true;
                if half {
                    break 'rows;
                }
                out.push_pair(left, right);
            }
            self.inner_at = 0;
            if !inner.next(&plan.right, rt, &mut self.inner_rows)? {
                break;
            }
        }
        match (plan.kind, self.found) {
            (JoinKind::Semi, true) | (JoinKind::Anti, false) => out.push(left),
            (JoinKind::Left, false) => {
                let row = out.push_row();
                row[..left.len()].clone_from_slice(left);
                row[left.len()..].fill(Value::Null);
            }
            _ => {}
        }
        Ok(true)
    }
}

impl Operator for Apply {
    fn next(
        &mut self,
        plan: &Plan,
        rt: &mut Rt<'_, '_>,
        out: &mut RowSet,
    ) -> Result<bool, SqlError> {
        let Node::Apply { left, plan } = &plan.node else { return Err(other_node()) };
        let half = matches!(plan.kind, JoinKind::Semi | JoinKind::Anti);
        out.reset(plan.left_width + if half { 0 } else { plan.right.width() });
        while !out.is_full() {
            if self.at < self.batch.len() {
                if self.left_row(plan, rt, out)? {
                    self.at += 1;
                    self.inner = None;
                }
                continue;
            }
            rt.check_cancel()?;
            self.at = 0;
            if !self.left.next(left, rt, &mut self.batch)? {
                self.batch.truncate(0);
                break;
            }
        }
        Ok(!out.is_empty())
    }
}
