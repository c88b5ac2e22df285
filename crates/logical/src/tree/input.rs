//! The input of a node of the logical plan, with what has been worked out of it: its rows and its
//! columns.
//!
//! The planner asks for both at each level on its way down. Computed again each time, a chain of a
//! thousand joins would take a million steps; so each input remembers them.
//! Guarantees: what is remembered is that of the node as it is: whoever may change the node makes
//! the input forget.

use super::Logical;
use super::sources::Tables;
use crate::columns::{ColumnSet, ColumnSpan};
use stack::Nested;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

/// Spans of a set that is remembered. Sets of more belong to plans whose sources hide columns;
/// remembered at each of its levels, they would take memory that grows with the square of the plan.
const MOST_SPANS: usize = 32;

/// A node below another one.
#[derive(Clone)]
pub struct Input {
    node: Nested<Logical>,
    facts: InputFacts,
}

/// What has been worked out.
#[derive(Clone, Default)]
struct InputFacts {
    rows: OnceLock<f64>,
    /// None: of too many spans.
    columns: OnceLock<Option<ColumnSet>>,
    /// Of few inputs of large plans.
    tables: OnceLock<Arc<Tables>>,
}

impl Input {
    /// A node as an input of another one.
    pub fn new(node: Logical) -> Input {
        Input { node: Nested::new(node), facts: InputFacts::default() }
    }

    /// The node.
    pub fn into_inner(self) -> Logical {
        self.node.into_inner()
    }

    /// The rows that it is expected to give, worked out by `estimate` the first time.
    pub fn rows(&self, estimate: impl FnOnce(&Logical) -> f64) -> f64 {
        *self.facts.rows.get_or_init(|| estimate(&self.node))
    }

    /// The tables below it, if they have been gathered.
    pub(crate) fn known_tables(&self) -> Option<&Tables> {
        self.facts.tables.get().map(|tables| &**tables)
    }

    /// The tables below it, gathered the first time.
    pub fn tables(&self, gather: impl FnOnce(&Logical) -> Tables) -> &Tables {
        self.facts.tables.get_or_init(|| Arc::new(gather(&self.node)))
    }

    /// The columns that it offers, if they are remembered.
    pub(crate) fn few_columns(&self) -> Option<&ColumnSet> {
        let known = self.facts.columns.get_or_init(|| {
            let mut offers = GatheredColumns { spans: Vec::new(), few: true };
            self.node.offers(&mut offers);
            let set = offers.few.then(|| ColumnSet::of(offers.spans))?;
            (set.spans().len() <= MOST_SPANS).then_some(set)
        });
        known.as_ref()
    }
}

/// Columns of nodes while they are gathered.
pub struct GatheredColumns {
    spans: Vec<ColumnSpan>,
    /// Only small sets are wanted, and so far it is one.
    few: bool,
}

impl GatheredColumns {
    /// Adds columns.
    pub fn add(&mut self, first: expr::ColId, end: expr::ColId) {
        self.spans.push((first, end));
    }

    /// Adds those of a node's input.
    pub(crate) fn add_input(&mut self, input: &Input) {
        match input.few_columns() {
            Some(columns) => self.spans.extend_from_slice(columns.spans()),
            None if self.few => self.few = false,
            None => input.offers(self),
        }
    }
}

impl Logical {
    /// The columns that the node offers to what is above it.
    pub fn columns(&self) -> ColumnSet {
        let mut offers = GatheredColumns { spans: Vec::new(), few: false };
        self.offers(&mut offers);
        ColumnSet::of(offers.spans)
    }
}

impl Deref for Input {
    type Target = Logical;

    fn deref(&self) -> &Logical {
        &self.node
    }
}

impl DerefMut for Input {
    fn deref_mut(&mut self) -> &mut Logical {
        self.facts = InputFacts::default();
        &mut self.node
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::JoinKind;

    fn values(rows: usize, first: expr::ColId) -> Logical {
        Logical::Values { rows: vec![Vec::new(); rows], cols: vec![first] }
    }

    #[test]
    fn what_is_changed_is_worked_out_again() {
        let mut input = Input::new(values(5, 3));
        let seven = |_: &Logical| 7.0;
        assert_eq!((input.rows(|_| 5.0), input.columns().spans()), (5.0, &[(3, 4)][..]));
        assert_eq!((input.rows(seven), input.few_columns().is_some()), (5.0, true));
        *input = values(7, 9);
        assert_eq!((input.rows(seven), input.columns().spans()), (7.0, &[(9, 10)][..]));
        assert_eq!(input.few_columns(), Some(&input.columns()));
    }

    #[test]
    fn large_sets_are_gathered_and_not_remembered() {
        let join = |left, at: u32| Logical::Join {
            kind: JoinKind::Inner,
            left: Input::new(left),
            right: Input::new(values(1, at * 2)),
            on: Vec::new(),
            hint: None,
        };
        let all = (1..=1_000).fold(values(1, 0), join);
        let input = Input::new(all);
        assert!(input.few_columns().is_none());
        assert_eq!(input.columns().spans().len(), 1_001);
    }
}
