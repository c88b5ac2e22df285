//! SET's correlated subqueries as joins with the rows that are changed, where a SELECT of the same
//! values would join them: the values come with the rows. So do values of subqueries that would
//! meet what the statement has done to other rows: they are computed of all rows first.
//! Guarantee: a value is of the row as it is when it is changed. Where somebody has changed a
//! column that it is made of since the row was found, it is computed again, by its subquery.

use super::SetClause;
use catalog::{IndexDef, TableDef};
use expr::{CaseExpr, ColId, CompareExpr, Expr, Pred};
use logical::tree::{Get, Logical};
use plan::physical;
use plan::reads::QueryReads;
use plan::statement::Statement;
use syntax::ast::CompareOp;
use types::{Collation, SqlError, Value};

/// The rows with values of SET.
pub struct JoinedValues {
    pub logical: Logical,
    /// The values' columns and the mark.
    pub columns: Vec<ColId>,
    /// A column that is set where the values of a row are no longer of it.
    pub mark: ColId,
    /// The columns of the target that the values are made of.
    pub of: Vec<ColId>,
}

impl SetClause {
    /// Whether some value has a subquery.
    pub fn has_subquery(&self) -> bool {
        self.sets.iter().any(|set| set.expr.has_subquery())
    }

    /// Takes values from joins with the rows where that costs less than a subquery for each row
    /// (`all`), and those that have to be known before a row is changed; none where there are none.
    ///
    /// # Errors
    /// 3617.
    pub fn join(
        &mut self,
        binder: &mut Statement<'_>,
        get: &Get,
        rows: Logical,
        all: bool,
    ) -> Result<Option<JoinedValues>, SqlError> {
        // A variable that is set has another value at each row, as it is changed.
        if !self.vars.is_empty() {
            return Ok(None);
        }
        let (mut wanted, mut ahead) = (Vec::new(), Vec::new());
        for (at, set) in self.sets.iter().enumerate() {
            let may_be = |e: &Expr| !e.is_volatile_beside_subqueries() && is_comparable(e, get);
            if !set.expr.has_subquery() || !may_be(&set.expr) {
                continue;
            }
            let meets_changes = self.is_met_by(&QueryReads::of(&set.expr, binder), get);
            if all || meets_changes {
                let id = binder.new_col();
                wanted.push((at, id));
                ahead.extend(meets_changes.then_some(id));
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let mark = binder.new_col();
        let values =
            wanted.iter().map(|(at, id)| (*id, computed(&self.sets[*at].expr).clone())).collect();
        let Some((logical, mut columns)) =
            physical::joined_values(binder, rows, values, &ahead, mark)?
        else {
            return Ok(None);
        };
        let mut of = Vec::new();
        for (at, id) in wanted.into_iter().filter(|(_, id)| columns.contains(id)) {
            let expr = computed_mut(&mut self.sets[at].expr);
            expr.columns(&mut of);
            let own = std::mem::replace(expr, Expr::Const(Value::Null));
            *expr =
                Expr::Case(Box::new(CaseExpr::new(vec![(is_marked(mark), own)], Expr::Col(id))));
        }
        of.retain(|id| get.position(*id).is_some());
        of.sort_unstable();
        of.dedup();
        columns.push(mark);
        Ok(Some(JoinedValues { logical, columns, mark, of }))
    }

    /// Whether something that is read while the rows of a table are changed one by one meets the
    /// changes: the set columns, or rows that are away until the last one has been changed.
    fn is_met_by(&self, reads: &QueryReads, target: &Get) -> bool {
        let is_target = |get: &Get| {
            (get.db.id(), get.table.object_id) == (target.db.id(), target.table.object_id)
        };
        let uses =
            |get: &Get, column: &usize| reads.columns.contains(&(get.first + *column as ColId));
        let is_away = has_late_keys(&target.table, &self.changed);
        reads
            .tables
            .iter()
            .filter(|get| is_target(get))
            .any(|get| is_away || self.changed.iter().any(|column| uses(get, column)))
    }
}

/// Whether keys of the changed rows go in when all old ones are out: those of the clustered index,
/// and of a unique one ([`storage::write::RemainingWrite`]).
fn has_late_keys(table: &TableDef, changed: &[usize]) -> bool {
    let holds = |index: &IndexDef| {
        let filter = index.filter.iter().flat_map(|filter| filter.columns());
        let mut columns = index.key.iter().map(|(column, _)| *column).chain(filter);
        columns.any(|column| changed.contains(&column))
            || index.included.iter().any(|column| changed.contains(column))
    };
    table.storage.key.iter().any(|(column, _)| changed.contains(column))
        || table.indexes.iter().any(|index| index.unique && holds(index))
}

/// What is converted to the column's type. The conversion stays with the change, which knows the
/// column's name for its errors.
fn computed(e: &Expr) -> &Expr {
    match e {
        Expr::Convert(c) => &c.operand,
        _ => e,
    }
}

/// As [`computed`].
fn computed_mut(e: &mut Expr) -> &mut Expr {
    match e {
        Expr::Convert(c) => &mut c.operand,
        other => other,
    }
}

/// Whether it can be seen if one of the target's columns that a value is made of has become
/// another.
fn is_comparable(e: &Expr, get: &Get) -> bool {
    let mut used = Vec::new();
    e.columns(&mut used);
    let types = used.iter().filter_map(|id| get.position(*id)).map(|at| get.table.columns[at].ty);
    types.into_iter().all(|ty| !ty.is_lob() && ty.check_comparable().is_ok())
}

fn is_marked(mark: ColId) -> Pred {
    let (op, left, right) = (CompareOp::Equal, Expr::Col(mark), Expr::Const(Value::Bit(true)));
    Pred::Compare(Box::new(CompareExpr { op, left, right, collation: Collation::DEFAULT }))
}
