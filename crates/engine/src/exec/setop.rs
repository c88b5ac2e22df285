//! EXCEPT and INTERSECT: distinct rows of the left that are not, or are, among the right's.

use super::{Operator, RowSet};
use crate::exec::rt::Rt;
use expr::key::{KeySet, encode};
use types::{Collation, SqlError};

/// The operator.
pub struct SetOp<'p> {
    pub left: Box<dyn Operator + 'p>,
    pub right: Box<dyn Operator + 'p>,
    pub except: bool,
    pub collations: &'p [Collation],
    pub right_rows: Option<KeySet>,
    pub given: KeySet,
    pub batch: RowSet,
}

fn key_of(row: &[types::Value], collations: &[Collation], key: &mut Vec<u8>) {
    key.clear();
    for (value, collation) in row.iter().zip(collations) {
        encode(value, *collation, key);
    }
}

impl SetOp<'_> {
    fn fill(&mut self, rt: &mut Rt<'_, '_>) -> Result<KeySet, SqlError> {
        let mut set = KeySet::default();
        let mut key = Vec::new();
        while self.right.next(rt, &mut self.batch)? {
            rt.check_cancel()?;
            for i in 0..self.batch.len() {
                key_of(self.batch.row(i), self.collations, &mut key);
                rt.memory.reserve(key.len() + 48)?;
                set.insert(key.clone());
            }
        }
        Ok(set)
    }
}

impl Operator for SetOp<'_> {
    fn next(&mut self, rt: &mut Rt<'_, '_>, out: &mut RowSet) -> Result<bool, SqlError> {
        if self.right_rows.is_none() {
            self.right_rows = Some(self.fill(rt)?);
        }
        let Some(right) = &self.right_rows else { return Ok(false) };
        let mut key = Vec::new();
        loop {
            out.reset(self.collations.len());
            if !self.left.next(rt, &mut self.batch)? {
                return Ok(false);
            }
            for i in 0..self.batch.len() {
                key_of(self.batch.row(i), self.collations, &mut key);
                if right.contains(key.as_slice()) != self.except && !self.given.contains(key.as_slice()) {
                    rt.memory.reserve(key.len() + 48)?;
                    self.given.insert(key.clone());
                    out.push(self.batch.row(i));
                }
            }
            if !out.is_empty() {
                return Ok(true);
            }
            rt.check_cancel()?;
        }
    }
}
