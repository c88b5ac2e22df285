//! Orders that are worth keeping while relations are joined ("interesting orders", Selinger et al. 1979): those in which a table comes
//! and by which it is joined, for merges, and the one that is wanted of all rows in the end.

use super::graph::{Graph, Set, only};
use crate::cost::{GROUPED, SORTED, STREAMED};
use crate::logical::Logical;
use expr::{ColId, Expr};
use types::Collation;

/// What the rows of the whole tree are wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub column: ColId,
    pub collation: Collation,
    /// Rows with the same value one after another, and not an order.
    pub grouping: bool,
}

impl Wish {
    /// Of a node, of its input: sorted or grouped by one column.
    pub fn of(logical: &Logical) -> Option<Wish> {
        match logical {
            Logical::Sort { keys, .. } => match &keys[..] {
                [key] if !key.descending => Wish::column(&key.expr, key.collation, false),
                _ => None,
            },
            Logical::Aggregate { keys, .. } => match &keys[..] {
                [key] => Wish::column(&key.expr, key.collation, true),
                _ => None,
            },
            _ => None,
        }
    }

    fn column(expr: &Expr, collation: Collation, grouping: bool) -> Option<Wish> {
        match expr {
            Expr::Col(column) => Some(Wish { column: *column, collation, grouping }),
            _ => None,
        }
    }

    /// What so many rows cost to sort or group that do not come as they are wanted, beyond those that do.
    fn cost(&self, rows: f64) -> f64 {
        if self.grouping { rows * (GROUPED - STREAMED) } else { rows * rows.max(2.0).log2() * SORTED }
    }
}

/// An order by one column, or by any of those that are equal to it.
struct Order {
    /// The class of equal columns; `None`: the column is joined with none.
    class: Option<usize>,
    /// Relations with such a column.
    set: Set,
    /// Relations that come in it.
    sources: Set,
    wanted: bool,
}

/// The orders of a graph, by number.
#[derive(Default)]
pub struct Orders {
    all: Vec<Order>,
    wish: Option<Wish>,
}

impl Orders {
    /// Those that some relation comes in and that are of use.
    pub fn of(graph: &Graph, wish: Option<Wish>) -> Orders {
        let mut all: Vec<Order> = Vec::new();
        for class in 0..graph.class_count() {
            let (set, sources) = (graph.class_set(class), graph.sources(class));
            let wanted = wish.is_some_and(|w| graph.is_of_class(class, w.column, w.collation));
            // A merge needs two sides that come in it.
            if sources.count_ones() > 1 || wanted && sources != 0 {
                all.push(Order { class: Some(class), set, sources, wanted });
            }
        }
        if let Some(wish) = wish
            && !all.iter().any(|order| order.wanted)
            && let Some(source) = graph.comes_as(wish.column, wish.collation)
        {
            all.push(Order { class: None, set: only(source), sources: only(source), wanted: true });
        }
        Orders { all, wish }
    }

    /// The numbers of the orders that a relation comes in.
    pub fn of_relation(&self, relation: usize) -> impl Iterator<Item = usize> {
        let comes = move |order: &Order| order.sources & only(relation) != 0;
        self.all.iter().enumerate().filter(move |(_, order)| comes(order)).map(|(at, _)| at)
    }

    /// Whether a joined set is worth having in an order: more is to be merged by it, or it is wanted.
    pub fn is_useful(&self, order: usize, set: Set) -> bool {
        let order = &self.all[order];
        order.wanted || order.sources & !set != 0
    }

    /// The class by which two sets that come in an order can be merged.
    pub fn merges(&self, order: usize, left: Set, right: Set) -> Option<usize> {
        let Order { class, set, .. } = self.all[order];
        class.filter(|_| set & left != 0 && set & right != 0)
    }

    /// What rows of all relations cost that come in an order, or in none, beyond those that come as they are wanted.
    pub fn afterwards(&self, order: Option<usize>, rows: f64) -> f64 {
        let right = order.is_some_and(|order| self.all[order].wanted);
        self.wish.filter(|_| !right).map_or(0.0, |wish| wish.cost(rows))
    }
}
