//! Which sources of FROM are queries: the binder notes each, for statements that change rows
//! through one.

use super::Binder;
use super::module::checks_changes;
use super::source::Source;
use super::updatable::{Origin, QuerySource};
use logical::tree::{Logical, OutColumn};

impl Binder<'_> {
    /// Notes a source that is a query; `inside`: how many were known before it was bound.
    pub(super) fn note_query(
        &mut self,
        name: &str,
        origin: Origin,
        inside: usize,
        logical: &Logical,
        columns: &[OutColumn],
    ) {
        let nested = self.query_sources.split_off(inside);
        let checks = matches!(&origin, Origin::View(_, view) if checks_changes(view));
        self.query_sources.push(QuerySource::new(name, origin, checks, nested, logical, columns));
    }

    /// What a source of FROM is, when it is a query.
    pub fn query_of(&self, source: &Source) -> Option<&QuerySource> {
        self.query_sources.iter().rev().find(|query| query.is(source))
    }
}
