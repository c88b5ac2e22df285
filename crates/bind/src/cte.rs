//! Common table expressions: names that WITH brings in sight. Guarantees: inside one only those
//! before it are in sight, and no block around it; each mention is bound again.

use super::updatable::SourceQuery;
use super::{Binder, recursive};
use catalog::fold_name;
use logical::tree::{CteDef, Logical};
use std::sync::Arc;
use syntax::ast;
use types::SqlError;

impl Binder<'_> {
    /// Whether a bare name means a common table expression.
    pub fn is_cte(&self, name: &str) -> bool {
        self.find_cte(name).is_some()
    }

    pub(super) fn find_cte(&self, name: &str) -> Option<Arc<CteDef>> {
        let name = fold_name(name);
        self.ctes.iter().rev().find(|cte| cte.name == name).cloned()
    }

    pub(super) fn cte(
        &mut self,
        cte: &Arc<CteDef>,
        alias: Option<&ast::Ident>,
    ) -> Result<Logical, SqlError> {
        // Inside, only the CTEs before it are in sight, and no block around it.
        let hidden = self.ctes.split_off(cte.visible);
        let scopes = std::mem::take(&mut self.scopes);
        let known = self.query_sources.len();
        self.open_ctes.push(cte.name.clone());
        let bound = match recursive::parts(cte) {
            Some((anchors, steps)) => self.nested(|b| b.recursive_cte(cte, &anchors, &steps)),
            None => self
                .nested(|b| b.inner_query(&cte.query))
                .map_err(|e| recursive::in_subquery(cte, e)),
        };
        self.open_ctes.pop();
        self.scopes = scopes;
        self.ctes.truncate(cte.visible);
        self.ctes.extend(hidden);
        let (bound, _) = bound?;
        let name = alias.map_or(cte.name.as_str(), |a| a.value.as_str());
        self.add_derived(name, &cte.columns, &bound.columns)?;
        self.note_query(name, SourceQuery::CommonTable, known, &bound.logical, &bound.columns);
        Ok(bound.logical)
    }
}
