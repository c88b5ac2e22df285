//! Names of columns: found from the innermost block outwards. Guarantees: a name is one column or
//! an error (126, 128, 207, 209, 4104); a column of an outer block is a parameter of the block
//! below it.

use super::Binder;
use super::scope::Clause;
use super::source::Pseudo;
use super::sources::ColumnPlaces;
use super::xml;
use catalog::fold_name;
use compact_str::CompactString;
use expr::{ColId, Expr, Typed};
use syntax::ast::{self};
use types::{SqlError, msg};

impl Binder<'_> {
    /// Resolves a column name, from the innermost block outwards.
    pub fn column(&mut self, column: &ast::ColumnRef) -> Result<Typed, SqlError> {
        if self.clause() == Clause::None && self.scopes.len() <= 1 {
            return Err(self.no_column_here(column));
        }
        let folded = fold_name(&column.name.value);
        for depth in (0..self.scopes.len()).rev() {
            if !self.scopes[depth].visible {
                continue;
            }
            let found = match self.column_at(depth, column, &folded) {
                Ok(found) => found,
                Err(error) => return self.unresolved(error),
            };
            if let Some(found) = found {
                if let Expr::Col(id) = found.expr
                    && self.node_columns.contains(&id)
                    && !self.node_access
                {
                    return Err(xml::node_by_itself(&column.name.value));
                }
                return Ok(self.carried(depth, found));
            }
        }
        self.unresolved(match &column.qualifier {
            None if column.name.value.starts_with('$') && !column.name.quoted => {
                SqlError::of(msg::INVALID_PSEUDOCOLUMN, [&column.name.value])
            }
            None => SqlError::of(msg::INVALID_COLUMN, [&column.name.value]),
            Some(qualifier) if self.source_exists(qualifier) => {
                SqlError::of(msg::INVALID_COLUMN, [&column.name.value])
            }
            Some(qualifier) => {
                let name = format!("{qualifier}.{}", column.name.value);
                SqlError::of(msg::NOT_BOUND, [&name])
            }
        })
    }

    fn no_column_here(&self, column: &ast::ColumnRef) -> SqlError {
        let name = match &column.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", column.name.value),
            None => column.name.value.to_string(),
        };
        SqlError::of(msg::NAME_NOT_PERMITTED, [&name])
    }

    fn source_exists(&self, qualifier: &ast::ObjectName) -> bool {
        self.scopes.iter().any(|scope| scope.sources.iter().any(|s| s.is_named(qualifier)))
    }

    fn column_at(
        &mut self,
        depth: usize,
        column: &ast::ColumnRef,
        folded: &str,
    ) -> Result<Option<Typed>, SqlError> {
        let places = self.places_at(depth, column, folded);
        let Some((source, at)) = places.first().copied() else { return Ok(None) };
        if places.len() > 1 {
            return Err(SqlError::of(msg::AMBIGUOUS_COLUMN, [&column.name.value]));
        }
        let source = &self.scopes[depth].sources[source];
        let found = &source.columns[at];
        let (id, typed, full) =
            (found.id, found.typed(), format!("{}.{}", source.name, found.name));
        self.rights.mentions(id);
        self.grouped_column(depth, typed, &full).map(Some)
    }

    /// The columns of a block that a name means.
    pub(super) fn places_at(
        &mut self,
        depth: usize,
        column: &ast::ColumnRef,
        folded: &str,
    ) -> ColumnPlaces {
        let scope = &mut self.scopes[depth];
        if let Some(pseudo) = Pseudo::of_name(&column.name) {
            let named =
                |at: usize| column.qualifier.as_ref().is_none_or(|q| scope.sources[at].is_named(q));
            let sources = (0..scope.sources.len()).filter(|at| named(*at));
            let columns = |at: usize| {
                let all = scope.sources[at].columns.iter().enumerate();
                all.filter(|(_, c)| c.pseudo == Some(pseudo)).map(move |(column, _)| (at, column))
            };
            return sources.flat_map(columns).collect();
        }
        let Some(qualifier) = &column.qualifier else {
            let mut places = scope.sources.by_column(folded);
            places.retain(|(source, _)| *source >= scope.prefixed);
            return places;
        };
        let named = scope.sources.by_name(&fold_name(&qualifier.name.value));
        let named = named.into_iter().filter(|at| scope.sources[*at].is_named(qualifier));
        let columns = |at: usize| {
            let all = scope.sources[at].columns.iter().enumerate();
            all.filter(|(_, c)| c.folded == folded).map(move |(column, _)| (at, column))
        };
        named.flat_map(columns).collect()
    }

    /// What a column is called in a result that gives it no other name: as the query spells it;
    /// `$IDENTITY` and `$ROWGUID` are called as the column is.
    pub(super) fn heading(&mut self, column: &ast::ColumnRef) -> CompactString {
        if Pseudo::of_name(&column.name).is_some() {
            for depth in (0..self.scopes.len()).rev() {
                if let Some((source, at)) = self.places_at(depth, column, "").first().copied() {
                    return self.scopes[depth].sources[source].columns[at].name.clone();
                }
            }
        }
        column.name.value.clone()
    }

    /// What is made of columns of an outer block becomes one of parameters of the block below it.
    pub(super) fn carried(&mut self, depth: usize, mut found: Typed) -> Typed {
        if depth + 1 == self.scopes.len() {
            return found;
        }
        for scope in &mut self.scopes[depth + 1..] {
            scope.correlated = true;
        }
        let mut ids = Vec::new();
        found.expr.columns(&mut ids);
        for id in ids {
            let slot = self.param_of(depth, id);
            found.expr.leaves_mut(&mut |leaf| {
                if matches!(leaf, Expr::Col(of) if *of == id) {
                    *leaf = Expr::Param(slot);
                }
            });
        }
        found
    }

    /// The parameter that a column of a block is below it.
    fn param_of(&mut self, depth: usize, id: ColId) -> usize {
        let known = self.scopes[depth + 1].outer.iter();
        let known = known
            .clone()
            .find(|(_, e)| matches!(e, Expr::Col(c) if *c == id))
            .map(|(slot, _)| *slot);
        known.unwrap_or_else(|| {
            let slot = self.new_param();
            self.scopes[depth + 1].outer.push((slot, Expr::Col(id)));
            slot
        })
    }
}
