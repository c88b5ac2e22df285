//! ORDER BY of a SELECT: a position, a name of the list, else an expression over the sources.
//! Guarantees: a key that stands in the list too is known as that, so that it is computed once.

use super::Binder;
use super::grouping::MOST_KEYS;
use super::scope::Clause;
use crate::select_list::Item;
use catalog::{errors, fold_name};
use compact_str::CompactString;
use expr::same_syntax::{SyntaxIndex, same_syntax};
use expr::{ColId, Expr};
use logical::order::SortKey;
use std::collections::HashMap;
use syntax::ast::{self, ExprKind, SelectItem};
use types::{SqlError, msg};

/// The items of a list by what a key may name them by.
struct ListIndex<'l> {
    items: &'l [Item],
    names: HashMap<CompactString, Vec<usize>>,
    columns: HashMap<ColId, usize>,
    /// Of a list in which no wildcard stands: else places in the text are not those in the list.
    written: SyntaxIndex,
}

impl<'l> ListIndex<'l> {
    fn new(select: &ast::Select, items: &'l [Item]) -> ListIndex<'l> {
        let mut index = ListIndex {
            items,
            names: HashMap::with_capacity(items.len()),
            columns: HashMap::new(),
            written: SyntaxIndex::default(),
        };
        for (at, item) in items.iter().enumerate() {
            index.names.entry(fold_name(&item.name)).or_default().push(at);
            if let Expr::Col(id) = item.typed.expr {
                index.columns.entry(id).or_insert(at);
            }
        }
        if !select.items.iter().any(|i| matches!(i, SelectItem::Wildcard { .. })) {
            for (at, item) in select.items.iter().enumerate() {
                if let SelectItem::Expr { expr, .. } = item {
                    index.written.add(expr, at);
                }
            }
        }
        index
    }

    /// The item that is written like a key.
    fn written(&self, e: &ast::Expr, select: &ast::Select) -> Option<usize> {
        let same = |at: &&usize| match &select.items[**at] {
            SelectItem::Expr { expr, .. } => same_syntax(expr, e),
            _ => false,
        };
        self.written.candidates(e).iter().find(same).copied()
    }

    /// The item of which a key is the position or the name.
    ///
    /// # Errors
    /// 108, 209, 408.
    fn named(&self, e: &ast::Expr) -> Result<Option<usize>, SqlError> {
        match &e.kind {
            ExprKind::Literal(ast::Literal::Integer(n)) => {
                let at = usize::try_from(*n - 1).ok().filter(|at| *at < self.items.len());
                if at.is_none() {
                    return Err(SqlError::of(msg::ORDER_BY_POSITION, [&n]));
                }
                Ok(at)
            }
            ExprKind::Column(c) if c.qualifier.is_none() => {
                let found =
                    self.names.get(&fold_name(&c.name.value)).map_or(&[][..], Vec::as_slice);
                let Some((first, others)) = found.split_first() else { return Ok(None) };
                let column = |at: usize| match self.items[at].typed.expr {
                    Expr::Col(id) => Some(id),
                    _ => None,
                };
                let same = |at: &usize| column(*at).is_some_and(|id| column(*first) == Some(id));
                if !others.iter().all(same) {
                    return Err(SqlError::of(msg::AMBIGUOUS_COLUMN, [&c.name.value]));
                }
                Ok(Some(*first))
            }
            ExprKind::Literal(_) => Err(SqlError::of(msg::ORDER_BY_CONSTANT, [])),
            _ => Ok(None),
        }
    }
}

impl Binder<'_> {
    /// ORDER BY: a position, an alias or name of the select list, else an expression over the
    /// sources.
    pub(super) fn order_keys(
        &mut self,
        select: &ast::Select,
        query: &ast::Query,
        items: &[Item],
    ) -> Result<Vec<(SortKey, Option<usize>)>, SqlError> {
        if query.order_by.is_empty() {
            return Ok(Vec::new());
        }
        if query.order_by.len() > MOST_KEYS {
            return Err(errors::wide_worktable());
        }
        let index = ListIndex::new(select, items);
        let mut keys = Vec::with_capacity(query.order_by.len());
        for item in &query.order_by {
            self.check_cancel()?;
            let (typed, position) = match index.named(&item.expr)? {
                Some(i) => (items[i].typed.clone(), Some(i)),
                None => {
                    self.scope()?.clause = Clause::OrderBy;
                    let typed = self.expr(&item.expr)?;
                    let same = match &typed.expr {
                        Expr::Col(id) => index.columns.get(id).copied(),
                        _ => None,
                    };
                    (typed, same)
                }
            };
            let written = index.written(&item.expr, select);
            if position.is_none() && select.distinct && written.is_none() {
                return Err(SqlError::of(msg::ORDER_BY_NOT_IN_DISTINCT_LIST, []));
            }
            typed.ty.check_comparable()?;
            let key = SortKey {
                expr: typed.expr,
                descending: item.descending,
                collation: typed.collation,
            };
            keys.push((key, position.or(written)));
        }
        Ok(keys)
    }
}
