//! Which column of which base table a column is, by whatever numbers it goes on the way.
//! Guarantee: in a chain of any number of nodes the answer costs some hundred steps: beyond, inputs
//! remember the tables below them.

use super::input::Input;
use super::{Get, JoinKind, Logical};
use expr::{ColId, Expr};
use std::sync::Arc;

/// So many nodes are gone down before an input gathers the tables below it: few plans have as many.
const FAR: usize = 256;

/// So many values of a list are looked through for a column that has another number above it.
const MOST_RENAMED: usize = 64;

/// What a column is that comes from a base table unchanged.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'l> {
    pub get: &'l Arc<Get>,
    /// The number that it has as a column of the table.
    pub column: ColId,
    /// The grouping nearest to the table that it is a key of, if it is one of any.
    pub grouped: Option<Grouped<'l>>,
}

/// A grouping on the way of a column.
#[derive(Clone, Copy, Debug)]
pub struct Grouped<'l> {
    /// The node as an input of another one; none where nothing is above it.
    pub groups: Option<&'l Input>,
    /// What is grouped.
    pub input: &'l Input,
}

/// The base table that a column comes from, if it comes from one unchanged.
pub fn source(logical: &Logical, id: ColId) -> Option<&Get> {
    origin(logical, id).map(|origin| &**origin.get)
}

/// What a column is, if it comes from a base table unchanged.
pub fn origin(mut logical: &Logical, mut id: ColId) -> Option<Origin<'_>> {
    let (mut within, mut grouped) = (None, None);
    for steps in 1.. {
        let input = match logical {
            Logical::Get(get) => {
                return get.position(id).map(|_| Origin { get, column: id, grouped });
            }
            Logical::Project { input, exprs } => {
                id = below(exprs, id);
                input
            }
            Logical::Filter { input, .. }
            | Logical::Window { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Top { input, .. } => input,
            Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => left,
            Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
                side_of(left, right, id, origin)
            }
            Logical::Aggregate { input, keys, .. } => {
                let key = keys.iter().find(|key| key.output == id)?;
                let Expr::Col(inner) = key.expr else { return None };
                id = inner;
                grouped = Some(Grouped { groups: within, input });
                input
            }
            _ => return None,
        };
        let known = match input.known_tables() {
            None if steps == FAR => Some(input.tables(Tables::below)),
            known => known,
        };
        if let Some(tables) = known {
            return tables.of(id).map(|(get, column)| Origin { get, column, grouped });
        }
        logical = input;
        within = Some(input);
    }
    None
}

/// The number that a column has below a list of values.
fn below(exprs: &[(ColId, Expr)], id: ColId) -> ColId {
    match exprs.iter().take(MOST_RENAMED).find(|(made, _)| *made == id) {
        Some((_, Expr::Col(inner))) => *inner,
        _ => id,
    }
}

/// The input that a column comes from: the right one's columns tell where they are few, else the
/// search in it.
pub fn side_of<'l, T>(
    left: &'l Input,
    right: &'l Input,
    id: ColId,
    search: impl Fn(&'l Logical, ColId) -> Option<T>,
) -> &'l Input {
    let in_right = match right.few_columns() {
        Some(columns) => columns.contains(id),
        None => stack::with_room(|| search(right, id)).is_some(),
    };
    if in_right { right } else { left }
}

/// The base tables whose columns come through a node unchanged.
#[derive(Debug)]
pub struct Tables {
    /// In the order of the numbers.
    spans: Vec<Span>,
}

/// A table's columns, or one that has been given another number.
#[derive(Clone, Debug)]
struct Span {
    first: ColId,
    end: ColId,
    /// The table's own number of the first one.
    column: ColId,
    get: Arc<Get>,
}

impl Tables {
    fn below(logical: &Logical) -> Tables {
        let mut tables = Tables { spans: Vec::new() };
        tables.gather(logical);
        tables.spans.sort_unstable_by_key(|span| span.first);
        tables
    }

    fn gather(&mut self, logical: &Logical) {
        stack::with_room(|| match logical {
            Logical::Get(get) => {
                let (first, end, get) = (get.first, get.locator(), get.clone());
                self.spans.push(Span { first, end, column: first, get });
            }
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Window { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Top { input, .. } => self.gather_input(input),
            Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => {
                self.gather_input(left)
            }
            Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
                self.gather_input(left);
                self.gather_input(right);
            }
            Logical::Aggregate { input, keys, .. } => {
                for key in keys {
                    if let Expr::Col(inner) = key.expr
                        && let Some(Origin { get, column, .. }) = origin(input, inner)
                    {
                        let (first, end, get) = (key.output, key.output + 1, get.clone());
                        self.spans.push(Span { first, end, column, get });
                    }
                }
            }
            _ => {}
        });
    }

    fn gather_input(&mut self, input: &Input) {
        match input.known_tables() {
            Some(tables) => self.spans.extend_from_slice(&tables.spans),
            None => self.gather(input),
        }
    }

    /// The table of a column, and the table's own number of it.
    fn of(&self, id: ColId) -> Option<(&Arc<Get>, ColId)> {
        let behind = self.spans.partition_point(|span| span.first <= id);
        let span = self.spans[..behind].last()?;
        (id < span.end).then(|| (&span.get, span.column + (id - span.first)))
    }
}
