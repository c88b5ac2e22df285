//! Orders that are worth keeping while relations are joined ("interesting orders", Selinger et al.
//! 1979): those in which a table comes and by which it is joined, for merges, and the one that is
//! wanted of all rows in the end.
//!
//! An order is a list of classes of equal columns. A merge goes by all that the orders of its sides
//! begin with, and its rows come in that.

use super::graph::{Graph, RelationSet, Sequence, only};
use crate::cost::{GROUPED, SORTED, STREAMED};
use expr::{ColId, Expr};
use logical::tree::Logical;
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
    /// The order that a node wishes of its input: sorted or grouped by one column.
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

    /// What so many rows cost to sort or group that do not come as they are wanted, beyond those
    /// that do.
    fn cost(&self, rows: f64) -> f64 {
        if self.grouping {
            rows * (GROUPED - STREAMED)
        } else {
            rows * rows.max(2.0).log2() * SORTED
        }
    }
}

/// An order by one column after another, or by any of those that are equal to it.
struct Order {
    /// The classes of equal columns; none: the column is joined with none.
    classes: Sequence,
    /// Relations whose order begins with the same class.
    sources: RelationSet,
    /// Relations that come in it.
    relations: RelationSet,
    wanted: bool,
}

/// The orders of a graph, by number.
#[derive(Default)]
pub struct Orders {
    all: Vec<Order>,
    /// What the orders of two numbers begin with, as an order.
    meets: Vec<Vec<Option<usize>>>,
    wish: Option<Wish>,
}

/// How many first elements two sequences share.
fn common(a: &[(usize, bool)], b: &[(usize, bool)]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Orders {
    /// Those that some relation comes in and that are of use.
    pub fn of(graph: &Graph, wish: Option<Wish>) -> Orders {
        let sequences: Vec<Sequence> =
            (0..graph.relations.len()).map(|at| graph.sequence(at)).collect();
        let mut orders = Orders { wish, ..Orders::default() };
        let wanted = |sequence: &[(usize, bool)]| {
            let is = |w: Wish| {
                sequence.first().is_some_and(|(c, _)| graph.is_of_class(*c, w.column, w.collation))
            };
            wish.is_some_and(is)
        };
        for (at, own) in sequences.iter().enumerate() {
            // A merge needs two sides that come in it.
            let others = sequences.iter().enumerate().filter(|(other, _)| *other != at);
            let shared: Vec<usize> = others.map(|(_, other)| common(own, other)).collect();
            let longest = shared.iter().copied().max().unwrap_or(0).max(usize::from(wanted(own)));
            for length in shared {
                orders.add(&own[..length], 0, wanted(own));
            }
            orders.add(&own[..longest], only(at), wanted(own));
        }
        if let Some(wish) = wish
            && !orders.all.iter().any(|order| order.wanted)
            && let Some(source) = graph.comes_as(wish.column, wish.collation)
        {
            let (sources, relations) = (only(source), only(source));
            orders.all.push(Order { classes: Sequence::new(), sources, relations, wanted: true });
        }
        orders.find_sources();
        orders.find_meets();
        orders
    }

    fn add(&mut self, classes: &[(usize, bool)], relations: RelationSet, wanted: bool) {
        if classes.is_empty() {
            return;
        }
        match self.all.iter_mut().find(|order| order.classes == classes) {
            Some(order) => order.relations |= relations,
            None => {
                self.all.push(Order { classes: classes.to_vec(), sources: 0, relations, wanted })
            }
        }
    }

    fn find_sources(&mut self) {
        let firsts: Vec<(Option<(usize, bool)>, RelationSet)> = self
            .all
            .iter()
            .map(|order| (order.classes.first().copied(), order.relations))
            .collect();
        for order in &mut self.all {
            let first = order.classes.first().copied();
            let same = firsts.iter().filter(|(other, _)| first.is_some() && *other == first);
            order.sources |= same.fold(0, |set: RelationSet, (_, relations)| set | relations);
        }
    }

    fn find_meets(&mut self) {
        let meet = |a: &Order, b: &Order| {
            let shared = &a.classes[..common(&a.classes, &b.classes)];
            self.all.iter().position(|order| !shared.is_empty() && order.classes == shared)
        };
        self.meets =
            self.all.iter().map(|a| self.all.iter().map(|b| meet(a, b)).collect()).collect();
    }

    /// The numbers of the orders that a relation comes in.
    pub fn of_relation(&self, relation: usize) -> impl Iterator<Item = usize> {
        let comes = move |order: &Order| order.relations & only(relation) != 0;
        self.all.iter().enumerate().filter(move |(_, order)| comes(order)).map(|(at, _)| at)
    }

    /// Whether a joined set is worth having in an order: more is to be merged by it, or it is
    /// wanted.
    pub fn is_useful(&self, order: usize, set: RelationSet) -> bool {
        let order = &self.all[order];
        order.wanted || order.sources & !set != 0
    }

    /// The order that two sides are merged by which come in these, and in which the rows of the
    /// merge come.
    pub fn meet(&self, left: usize, right: usize) -> Option<usize> {
        self.meets[left][right]
    }

    /// The classes of an order.
    pub fn classes(&self, order: usize) -> &[(usize, bool)] {
        &self.all[order].classes
    }

    /// What rows of all relations cost that come in an order, or in none, beyond those that come as
    /// they are wanted.
    pub fn afterwards(&self, order: Option<usize>, rows: f64) -> f64 {
        let right = order.is_some_and(|order| self.all[order].wanted);
        self.wish.filter(|_| !right).map_or(0.0, |wish| wish.cost(rows))
    }
}
