//! Aggregates in subqueries whose column is one of a block around: they are aggregates of that
//! block, wherever in its subqueries they stand, and what is below it takes their value as a
//! parameter.
//! Guarantees: an aggregate is of the innermost block that its columns are of (without columns, of
//! the one in which it stands); one of an outer column names no other (8124). A block that has no
//! other aggregates becomes one that groups.

use super::Binder;
use super::contains::{as_aggregate, contains, has_aggregate, named_columns};
use super::scope::{Clause, Grouping};
use catalog::fold_name;
use expr::aggregate::AggKind;
use expr::{Expr, Typed};
use std::cell::RefCell;
use syntax::ast;
use types::{SqlError, msg};

/// A column of a block in sight: the block, the source in it and the place there.
type ColumnPlace = (usize, usize, usize);

impl Binder<'_> {
    /// Whether an aggregate of the innermost block stands in an expression.
    pub(super) fn has_own_aggregate(&mut self, e: &ast::Expr) -> bool {
        if self.scopes.len() <= 1 || !has_aggregate(e) {
            return has_aggregate(e);
        }
        let here = self.scopes.len() - 1;
        let binder = RefCell::new(self);
        contains(e, &|e: &ast::Expr| {
            as_aggregate(e).is_some_and(|call| {
                let columns = binder.borrow_mut().aggregated_columns(call);
                columns.last().is_none_or(|(block, ..)| *block == here)
            })
        })
    }

    /// The columns that an aggregate's arguments name, those of the innermost block last; what is
    /// no column is not among them.
    fn aggregated_columns(&mut self, call: &ast::FunctionCall) -> Vec<ColumnPlace> {
        let mut places = Vec::new();
        for column in named_columns(&call.args) {
            let folded = fold_name(&column.name.value);
            for block in (0..self.scopes.len()).rev() {
                if !self.scopes[block].visible {
                    continue;
                }
                if let Some((source, at)) = self.places_at(block, &column, &folded).first().copied()
                {
                    places.push((block, source, at));
                    break;
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The value of an aggregate that is one of a block around the innermost; none of one that is
    /// not.
    ///
    /// # Errors
    /// 8124; 4101 of the left side of an APPLY; those of the place where the block's subquery
    /// stands (130, 144, 147, 157).
    pub(super) fn outer_aggregate(
        &mut self,
        kind: AggKind,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Option<Typed>, SqlError> {
        let Some(here) = self.scopes.len().checked_sub(1).filter(|here| *here > 0) else {
            return Ok(None);
        };
        if call.args.iter().any(has_aggregate) {
            // Of whichever block: an aggregate of an aggregate.
            return Ok(None);
        }
        let columns = self.aggregated_columns(call);
        let Some((owner, ..)) = columns.last().copied() else { return Ok(None) };
        let applied = |block: usize| self.scopes[block].applying;
        if columns.len() > 1 && columns.iter().any(|(block, ..)| *block < here && !applied(*block))
        {
            return Err(several_columns());
        }
        if owner == here {
            return Ok(None);
        }
        if applied(owner) {
            return Err(SqlError::of(msg::OUTER_AGGREGATE_IN_APPLY, []));
        }
        if self.scopes[owner + 1..].iter().any(|scope| scope.clause == Clause::Aggregate) {
            return Err(super::call::nested_aggregate());
        }
        let scope = &self.scopes[owner];
        if scope.listing && scope.grouping.is_none() {
            // What of the block has been bound as if it did not group has to be bound again.
            self.late_grouping = Some(owner);
            return Err(SqlError::internal("a block that groups was bound as one that does not"));
        }
        let below = self.scopes.split_off(owner + 1);
        let bound = self.own_aggregate(kind, name, call);
        self.scopes.extend(below);
        Ok(Some(self.carried(owner, bound?)))
    }

    /// Lets the innermost block group, of which an aggregate in a subquery has turned out to be;
    /// false where none has. `subqueries`: there were so many when its list began.
    pub(super) fn begins_to_group(
        &mut self,
        blocks: usize,
        subqueries: usize,
    ) -> Result<bool, SqlError> {
        if self.late_grouping.is_none() || self.late_grouping != blocks.checked_sub(1) {
            return Ok(false);
        }
        self.late_grouping = None;
        self.scopes.truncate(blocks);
        self.subqueries.truncate(subqueries);
        let scope = self.scope()?;
        scope.listing = false;
        scope.grouping = Some(Grouping::default());
        scope.windows.clear();
        scope.allow_windows = false;
        scope.windowed = false;
        Ok(true)
    }

    /// An aggregate's value as a column of its block.
    pub(super) fn aggregated(
        &mut self,
        aggregate: expr::aggregate::Aggregate,
    ) -> Result<Typed, SqlError> {
        let Some(grouping) = &mut self.scope()?.grouping else {
            return Err(SqlError::of(msg::AGGREGATE_IN_SET, []));
        };
        let counts = matches!(aggregate.kind, AggKind::Count | AggKind::CountBig);
        let typed = Typed::new(Expr::Col(aggregate.output), aggregate.ty, !counts);
        let typed = typed.of_collation(aggregate.collation);
        grouping.aggregates.push(aggregate);
        Ok(typed)
    }
}

/// 8124.
fn several_columns() -> SqlError {
    SqlError::of(msg::OUTER_AGGREGATE_SEVERAL_COLUMNS, [])
}
