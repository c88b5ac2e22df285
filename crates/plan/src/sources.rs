//! Which base table a column comes from.
//! Guarantee: in a chain of any number of nodes the answer costs some hundred steps: beyond, inputs
//! remember the tables below them.

use crate::input::Input;
use crate::logical::{Get, JoinKind, Logical};
use expr::{ColId, Expr};
use std::sync::Arc;

/// So many nodes are gone down before an input gathers the tables below it: few plans have as many.
const FAR: usize = 256;

/// The base table that a column comes from, if it comes from one unchanged.
pub fn source(logical: &Logical, id: ColId) -> Option<&Get> {
    source_of(logical, id).map(|get| &**get)
}

fn source_of(mut logical: &Logical, mut id: ColId) -> Option<&Arc<Get>> {
    for steps in 1.. {
        let input = match logical {
            Logical::Get(get) => return get.position(id).map(|_| get),
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Window { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Top { input, .. } => input,
            Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => left,
            Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
                side_of(left, right, id, source_of)
            }
            Logical::Aggregate { input, keys, .. } => {
                let key = keys.iter().find(|key| key.output == id)?;
                let Expr::Col(inner) = key.expr else { return None };
                id = inner;
                input
            }
            _ => return None,
        };
        let known = match input.known_tables() {
            None if steps == FAR => Some(input.tables(Tables::below)),
            known => known,
        };
        if let Some(tables) = known {
            return tables.of(id);
        }
        logical = input;
    }
    None
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
    /// The first and the end of a table's columns, or of one that has been given another number, in
    /// order.
    spans: Vec<(ColId, ColId, Arc<Get>)>,
}

impl Tables {
    fn below(logical: &Logical) -> Tables {
        let mut tables = Tables { spans: Vec::new() };
        tables.gather(logical);
        tables.spans.sort_unstable_by_key(|span| span.0);
        tables
    }

    fn gather(&mut self, logical: &Logical) {
        stack::with_room(|| match logical {
            Logical::Get(get) => self.spans.push((get.first, get.locator(), get.clone())),
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Window { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Distinct { input, .. }
            | Logical::Top { input, .. } => self.gather_input(input),
            Logical::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => self.gather_input(left),
            Logical::Join { left, right, .. } | Logical::Apply { left, right, .. } => {
                self.gather_input(left);
                self.gather_input(right);
            }
            Logical::Aggregate { input, keys, .. } => {
                for key in keys {
                    if let Expr::Col(inner) = key.expr
                        && let Some(get) = source_of(input, inner)
                    {
                        self.spans.push((key.output, key.output + 1, get.clone()));
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

    /// The table of a column.
    fn of(&self, id: ColId) -> Option<&Arc<Get>> {
        let behind = self.spans.partition_point(|span| span.0 <= id);
        let (_, end, get) = self.spans[..behind].last()?;
        (id < *end).then_some(get)
    }
}
