//! ORDER BY of a SELECT: a position, a name of the list, else an expression over the sources.
//! Guarantees: a key that stands in the list too is known as that, so that it is computed once.

use super::Binder;
use super::scope::Clause;
use crate::bind::select_list::Item;
use crate::logical::SortKey;
use catalog::fold_name;
use expr::Expr;
use expr::bind_ops;
use syntax::ast::{self, ExprKind, SelectItem};
use types::SqlError;

impl Binder<'_> {
    /// ORDER BY: a position, an alias or name of the select list, else an expression over the sources.
    pub(super) fn order_keys(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        items: &[Item],
    ) -> Result<Vec<(SortKey, Option<usize>)>, SqlError> {
        let mut keys = Vec::new();
        for item in &query.order_by {
            let position = self.order_position(&item.expr, items)?;
            let (typed, position) = match position {
                Some(i) => (items[i].typed.clone(), Some(i)),
                None => {
                    self.scope()?.clause = Clause::OrderBy;
                    let typed = self.expr(&item.expr)?;
                    let same = items.iter().position(|i| match (&i.typed.expr, &typed.expr) {
                        (Expr::Col(a), Expr::Col(b)) => a == b,
                        _ => false,
                    });
                    (typed, same)
                }
            };
            if position.is_none() && select.distinct && !self.among_items(&item.expr, select) {
                let text = "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
                return Err(SqlError::new(145, 15, 1, text));
            }
            typed.ty.check_comparable()?;
            let position = position.or_else(|| self.item_of(&item.expr, select));
            let key = SortKey { expr: typed.expr, descending: item.descending, collation: typed.collation };
            keys.push((key, position));
        }
        Ok(keys)
    }

    fn item_of(&self, e: &ast::Expr, select: &ast::Select) -> Option<usize> {
        // Positions agree only while no wildcard has spread the list.
        if select.items.iter().any(|i| matches!(i, SelectItem::Wildcard { .. })) {
            return None;
        }
        select.items.iter().position(|i| match i {
            SelectItem::Expr { expr, .. } => bind_ops::same_syntax(expr, e),
            _ => false,
        })
    }

    fn among_items(&self, e: &ast::Expr, select: &ast::Select) -> bool {
        self.item_of(e, select).is_some()
    }

    fn order_position(&mut self, e: &ast::Expr, items: &[Item]) -> Result<Option<usize>, SqlError> {
        match &e.kind {
            ExprKind::Literal(ast::Literal::Integer(n)) => {
                let at = usize::try_from(*n - 1).ok().filter(|at| *at < items.len());
                if at.is_none() {
                    let text = format!(
                        "The ORDER BY position number {n} is out of range of the number of items in the select list."
                    );
                    return Err(SqlError::new(108, 16, 1, text));
                }
                Ok(at)
            }
            ExprKind::Column(c) if c.qualifier.is_none() => {
                let name = fold_name(&c.name.value);
                let mut found = items.iter().enumerate().filter(|(_, i)| fold_name(&i.name) == name);
                let first = found.next().map(|(at, _)| at);
                let differing = found.any(|(at, _)| {
                    let first = first.unwrap_or(at);
                    !matches!((&items[at].typed.expr, &items[first].typed.expr), (Expr::Col(a), Expr::Col(b)) if a == b)
                });
                if differing {
                    let text = format!("Ambiguous column name '{}'.", c.name.value);
                    return Err(SqlError::new(209, 16, 1, text));
                }
                Ok(first)
            }
            ExprKind::Literal(_) => {
                let text = "A constant expression was encountered in the ORDER BY list, position 1.";
                Err(SqlError::new(408, 15, 1, text))
            }
            _ => Ok(None),
        }
    }
}
