//! Hash join: the right input is kept in a hash table, the left one passes by.
//! Rows whose key has a NULL match nothing.

use super::memory::row_bytes;
use super::outer::Pairs;
use super::{BATCH, Operator, RowSet};
use crate::exec::rt::Rt;
use expr::Expr;
use expr::key::{KeyMap, encode};
use plan::logical::JoinKind;
use plan::nodes::HashJoinPlan;
use types::{Collation, SqlError, Value};

const NONE: u32 = u32::MAX;

struct Table {
    rows: Vec<Box<[Value]>>,
    /// The next row with the same key.
    next: Vec<u32>,
    heads: KeyMap<u32>,
}

/// The operator.
pub struct HashJoin<'p> {
    left: Box<dyn Operator + 'p>,
    right: Box<dyn Operator + 'p>,
    plan: &'p HashJoinPlan,
    pairs: Pairs<'p>,
    table: Option<Table>,
    batch: RowSet,
    at: usize,
    /// Where the chain of the current left row goes on.
    chain: u32,
    started: bool,
    key: Vec<u8>,
}

impl<'p> HashJoin<'p> {
    /// Over two inputs.
    pub fn new(left: Box<dyn Operator + 'p>, right: Box<dyn Operator + 'p>, plan: &'p HashJoinPlan) -> Self {
        HashJoin {
            left,
            right,
            plan,
            pairs: Pairs::new(plan.kind, plan.residual.as_ref(), plan.left_width, plan.right_width),
            table: None,
            batch: RowSet::default(),
            at: 0,
            chain: NONE,
            started: false,
            key: Vec::new(),
        }
    }

    fn build(&mut self, rt: &mut Rt<'_, '_>) -> Result<Table, SqlError> {
        let mut table = Table { rows: Vec::new(), next: Vec::new(), heads: KeyMap::default() };
        let keep_all = self.plan.kind == JoinKind::Full;
        let mut batch = RowSet::default();
        while self.right.next(rt, &mut batch)? {
            rt.check_cancel()?;
            for i in 0..batch.len() {
                let sound =
                    key_of(&self.plan.right_keys, &self.plan.collations, batch.row(i), rt, &mut self.key)?;
                if !sound && !keep_all {
                    continue;
                }
                let row: Box<[Value]> = batch.row_mut(i).iter_mut().map(std::mem::take).collect();
                rt.memory.reserve(row_bytes(&row) + self.key.len() + 48)?;
                let at = table.rows.len() as u32;
                table.rows.push(row);
                let mut next = NONE;
                if sound {
                    match table.heads.get_mut(self.key.as_slice()) {
                        Some(head) => next = std::mem::replace(head, at),
                        None => {
                            table.heads.insert(self.key.clone(), at);
                        }
                    }
                }
                table.next.push(next);
            }
        }
        self.pairs.right_rows(table.rows.len());
        Ok(table)
    }

    /// Adds what the current left row gives, until it is done or the batch is full; true when it is done.
    fn left_row(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        let Some(table) = &self.table else { return Ok(true) };
        let left = self.batch.row(self.at);
        if !self.started {
            self.started = true;
            let sound = key_of(&self.plan.left_keys, &self.plan.collations, left, rt, &mut self.key)?;
            let head = if sound { table.heads.get(self.key.as_slice()) } else { None };
            self.chain = head.copied().unwrap_or(NONE);
        }
        while self.chain != NONE {
            if out.len() >= BATCH {
                return Ok(false);
            }
            let at = self.chain as usize;
            self.chain = table.next[at];
            if self.pairs.pair(left, &table.rows[at], at, rt, out)? {
                break;
            }
        }
        self.pairs.end_left(left, out);
        Ok(true)
    }
}

/// The key of a row; false when a part of it is NULL.
fn key_of(
    exprs: &[Expr],
    collations: &[Collation],
    row: &[Value],
    rt: &mut Rt<'_, '_>,
    key: &mut Vec<u8>,
) -> Result<bool, SqlError> {
    key.clear();
    for (e, collation) in exprs.iter().zip(collations) {
        let mut scratch = Value::Null;
        let value = e.eval_ref(row, rt, &mut scratch)?;
        if value.is_null() {
            return Ok(false);
        }
        encode(value, *collation, key);
    }
    Ok(true)
}

impl Operator for HashJoin<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        out.reset(self.pairs.width());
        if self.table.is_none() {
            self.table = Some(self.build(rt)?);
        }
        while out.len() < BATCH && !self.pairs.lefts_ended() {
            if self.at < self.batch.len() {
                if self.left_row(rt, out)? {
                    self.at += 1;
                    self.started = false;
                }
                continue;
            }
            rt.check_cancel()?;
            self.at = 0;
            if !self.left.next(rt, &mut self.batch)? {
                self.batch.truncate(0);
                self.pairs.end_lefts();
            }
        }
        if let Some(table) = &mut self.table {
            self.pairs.unmatched(&mut table.rows, out);
        }
        Ok(!out.is_empty())
    }
}
