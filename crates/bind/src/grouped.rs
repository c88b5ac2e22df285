//! What grouping leaves of a name: after GROUP BY only its keys may stand outside aggregates.
//! Guarantees: anything else is 8120, 8121 or 8127, by the clause.

use super::Binder;
use super::scope::Clause;
use expr::same_syntax::same_syntax;
use expr::{Expr, Typed};
use syntax::ast::{self};
use types::{SqlError, msg};

impl Binder<'_> {
    /// After grouping only keys may be named outside aggregates.
    pub fn grouped_column(
        &self,
        depth: usize,
        typed: Typed,
        full: &str,
    ) -> Result<Typed, SqlError> {
        let scope = &self.scopes[depth];
        let after = matches!(scope.clause, Clause::Select | Clause::Having | Clause::OrderBy);
        let Some(grouping) = scope.grouping.as_ref().filter(|_| after) else { return Ok(typed) };
        let Expr::Col(id) = typed.expr else { return self.grouped_value(depth, typed, full) };
        let key =
            grouping.keys.iter().position(|k| matches!(k.source.expr, Expr::Col(k) if k == id));
        if let Some(at) = key {
            let nullable = typed.nullable || grouping.leaves_out(at);
            return Ok(Typed { expr: Expr::Col(grouping.keys[at].output), nullable, ..typed });
        }
        let message = match scope.clause {
            Clause::Having => msg::NOT_GROUPED_IN_HAVING,
            Clause::OrderBy => msg::NOT_GROUPED_IN_ORDER_BY,
            _ => msg::NOT_GROUPED_IN_SELECT,
        };
        Err(SqlError::of(message, [&full]))
    }

    /// The same for the value of a computed column: what it is computed from is grouped.
    fn grouped_value(&self, depth: usize, mut typed: Typed, full: &str) -> Result<Typed, SqlError> {
        let mut ids = Vec::new();
        typed.expr.columns(&mut ids);
        for id in ids {
            let column = Typed { expr: Expr::Col(id), ..typed.clone() };
            let grouped = self.grouped_column(depth, column, full)?.expr;
            typed.expr.leaves_mut(&mut |leaf| {
                if matches!(leaf, Expr::Col(of) if *of == id) {
                    *leaf = grouped.clone();
                }
            });
        }
        Ok(typed)
    }

    /// A key of GROUP BY that is an expression and stands here again, written the same way.
    pub(super) fn group_key(&mut self, e: &ast::Expr) -> Result<Option<Typed>, SqlError> {
        if self.inline.as_ref().is_some_and(|call| call.is_beside(self.scopes.len())) {
            return Ok(None);
        }
        let Some(scope) = self.scopes.last() else { return Ok(None) };
        let Some(grouping) = &scope.grouping else { return Ok(None) };
        if !matches!(scope.clause, Clause::Select | Clause::Having | Clause::OrderBy) {
            return Ok(None);
        }
        let same = |key: &&usize| {
            let key = &grouping.keys[**key];
            !matches!(key.source.expr, Expr::Col(_)) && same_syntax(&key.ast, e)
        };
        let key = grouping.written.candidates(e).iter().find(same).copied();
        Ok(key.map(|at| {
            let key = &grouping.keys[at];
            let nullable = key.source.nullable || grouping.leaves_out(at);
            Typed { expr: Expr::Col(key.output), nullable, ..key.source.clone() }
        }))
    }
}
