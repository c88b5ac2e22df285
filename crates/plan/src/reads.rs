//! What the subqueries of an expression read: tables, and which of their columns.
//! Guarantee: subqueries of subqueries count; what a user's function reads does not.

use crate::rewrite::visit::{NodePart, inputs, own_parts, subqueries_in, subqueries_of};
use bind::Binder;
use expr::{ColId, Expr};
use logical::tree::{Get, Logical, Subquery};
use std::collections::HashSet;
use std::sync::Arc;

/// Tables, and columns.
#[derive(Debug, Default)]
pub struct QueryReads {
    /// Each mention of a table is one.
    pub tables: Vec<Arc<Get>>,
    /// All that are used, of rows around the subqueries too.
    pub columns: HashSet<ColId>,
}

impl QueryReads {
    /// What an expression reads that the binder has bound.
    pub fn of(e: &Expr, binder: &Binder<'_>) -> QueryReads {
        let mut inside = Vec::new();
        subqueries_of(e, &mut inside);
        let mut reads = QueryReads::default();
        reads.add(&inside, &binder.subqueries);
        reads
    }

    fn add(&mut self, numbers: &[usize], subqueries: &[Subquery]) {
        for query in numbers.iter().filter_map(|id| subqueries.get(*id)) {
            self.columns.extend(&query.wanted);
            self.gather(&query.logical, subqueries);
        }
    }

    fn gather(&mut self, logical: &Logical, subqueries: &[Subquery]) {
        stack::with_room(|| {
            match logical {
                Logical::Get(get) => self.tables.push(get.clone()),
                Logical::Concat { inputs, .. } => {
                    inputs.iter().for_each(|(_, ids)| self.columns.extend(ids));
                }
                Logical::SetOp { left, right, .. } => {
                    self.columns.extend(&left.1);
                    self.columns.extend(&right.1);
                }
                Logical::Recursive { anchor, steps, .. } => {
                    self.columns.extend(&anchor.1);
                    steps.iter().for_each(|(_, ids)| self.columns.extend(ids));
                }
                _ => {}
            }
            let (mut used, mut inside) = (Vec::new(), Vec::new());
            own_parts(logical, &mut |part| match part {
                NodePart::Expr(e) => {
                    e.columns(&mut used);
                    subqueries_of(e, &mut inside);
                }
                NodePart::Pred(pred) => {
                    pred.columns(&mut used);
                    subqueries_in(pred, &mut inside);
                }
            });
            self.columns.extend(used);
            self.add(&inside, subqueries);
            inputs(logical).into_iter().for_each(|input| self.gather(input, subqueries));
        });
    }
}
