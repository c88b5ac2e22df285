//! What a view, common table expression or derived table in FROM is made of, as far as rows can be
//! changed through it. Guarantee: a column of such a source that is a column of a table as it is
//! has that column's id, so nothing but ids says what a change of it changes.

use super::source::FromSource;
use catalog::{Db, ModuleDef};
use compact_str::CompactString;
use expr::{ColId, Pred};
use logical::tree::{Get, JoinKind, Logical, OutColumn};
use std::sync::Arc;

/// What kind of query a source is.
#[derive(Clone, Debug)]
pub enum SourceQuery {
    View(Arc<Db>, Arc<ModuleDef>),
    CommonTable,
    Derived,
}

/// Why no row of a query is a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Aggregates, GROUP BY, DISTINCT.
    Grouped,
    /// UNION, EXCEPT, INTERSECT.
    Union,
    /// Rows of no table.
    Made,
}

/// A source of FROM that is a query.
#[derive(Clone, Debug)]
pub struct QuerySource {
    name: CompactString,
    ids: Vec<ColId>,
    pub origin: SourceQuery,
    /// First column ids of the tables whose rows it shows.
    pub tables: Vec<ColId>,
    /// When there are none.
    pub barrier: Option<Barrier>,
    /// Columns that aggregates give.
    pub aggregates: Vec<ColId>,
    /// The views that it spans, itself among them.
    pub views: Vec<(Arc<Db>, Arc<ModuleDef>)>,
    /// What changed rows must satisfy: the conditions of views WITH CHECK OPTION, when it spans
    /// one.
    pub check: Option<Vec<Pred>>,
}

/// What the tree of a query says about its rows.
#[derive(Default)]
struct QueryShape {
    tables: Vec<ColId>,
    barrier: Option<Barrier>,
    aggregates: Vec<ColId>,
}

impl QueryShape {
    fn of(logical: &Logical) -> QueryShape {
        let mut shape = QueryShape::default();
        shape.add(logical);
        if !shape.tables.is_empty() {
            shape.barrier = None;
        }
        shape
    }

    fn add(&mut self, logical: &Logical) {
        stack::with_room(|| {
            let barrier = match logical {
                Logical::Get(get) => return self.tables.push(get.first),
                Logical::Filter { input, .. }
                | Logical::Project { input, .. }
                | Logical::Sort { input, .. }
                | Logical::Top { input, .. }
                | Logical::Window { input, .. } => return self.add(input),
                Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => {
                    return self.add(left);
                }
                Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
                    self.add(left);
                    return self.add(right);
                }
                Logical::Aggregate { aggregates, .. } => {
                    self.aggregates.extend(aggregates.iter().map(|a| a.output));
                    Barrier::Grouped
                }
                Logical::Distinct { .. } => Barrier::Grouped,
                Logical::Concat { .. } | Logical::SetOp { .. } | Logical::Recursive { .. } => {
                    Barrier::Union
                }
                // Rows that are made up.
                _ => Barrier::Made,
            };
            self.barrier = self.barrier.or(Some(barrier));
        })
    }
}

/// The conditions that the rows of a tree satisfy, as far as their columns are seen above it.
pub fn conditions(logical: &Logical, out: &mut Vec<Pred>) {
    stack::with_room(|| match logical {
        Logical::Filter { input, preds } => {
            out.extend(preds.iter().cloned());
            conditions(input, out);
        }
        Logical::Project { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Top { input, .. }
        | Logical::Window { input, .. } => conditions(input, out),
        Logical::Join { kind: JoinKind::Inner, left, right, on, .. } => {
            out.extend(on.iter().cloned());
            conditions(left, out);
            conditions(right, out);
        }
        _ => {}
    })
}

/// The table of a tree with this first column id, where its rows are the tree's.
pub fn find_table(logical: &mut Logical, first: ColId) -> Option<&mut Get> {
    stack::with_room(|| match logical {
        Logical::Get(get) => (get.first == first).then(|| Arc::make_mut(get)),
        Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Top { input, .. }
        | Logical::Window { input, .. } => find_table(input, first),
        Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
            find_table(left, first).or_else(|| find_table(right, first))
        }
        _ => None,
    })
}

impl QuerySource {
    /// A source with a query's columns; `nested`: the queries in it. `checks`: it is a view WITH
    /// CHECK OPTION.
    pub fn new(
        name: &str,
        origin: SourceQuery,
        checks: bool,
        nested: Vec<QuerySource>,
        logical: &Logical,
        columns: &[OutColumn],
    ) -> QuerySource {
        let mut views: Vec<_> =
            nested.iter().flat_map(|source| source.views.iter().cloned()).collect();
        if let SourceQuery::View(db, view) = &origin {
            views.push((db.clone(), view.clone()));
        }
        let check = match checks {
            true => {
                let mut all = Vec::new();
                conditions(logical, &mut all);
                Some(all)
            }
            false => {
                nested.into_iter().filter_map(|source| source.check).reduce(|mut all, more| {
                    all.extend(more);
                    all
                })
            }
        };
        let QueryShape { tables, barrier, aggregates } = QueryShape::of(logical);
        let ids = columns.iter().map(|c| c.id).collect();
        let name = catalog::fold_name(name);
        QuerySource { name, ids, origin, tables, barrier, aggregates, views, check }
    }

    /// Whether it is what a source of FROM names.
    pub fn is(&self, source: &FromSource) -> bool {
        self.name == source.name && self.ids.iter().copied().eq(source.columns.iter().map(|c| c.id))
    }
}
