//! The relations of a tree of inner joins, the conditions between them, and what follows for any
//! set of them: how many rows it has and whether it hangs together.
//!
//! Equalities of columns form classes: of a class with members in several relations of a set, one
//! equality less than there are members holds, whichever they are. So an equality that follows from
//! two others costs nothing and counts for nothing, and relations are connected by what follows as
//! well as by what is written.
//!
//! Guarantee: the rows of a set do not depend on the order in which it was joined.

use std::cell::RefCell;
use std::collections::HashMap;

use types::Collation;

use crate::access_path::{
    Ordering, joined_read_cost, natural_order, seek_cost, seeks_elsewhere, sought_column,
    with_conditions,
};
use crate::estimate;
use expr::{ColId, CompareExpr, Expr, Pred};
use logical::columns::ColumnSet;
use logical::tree::{Get, Logical};
use syntax::ast::CompareOp;

/// Relations by number.
pub type RelationSet = u128;

/// Most relations whose order is looked for.
pub const MOST_RELATIONS: usize = 128;

/// The share of pairs of rows that a condition keeps of which nothing more is known.
const OTHER: f64 = 0.3;

/// The set of one relation.
pub fn only(at: usize) -> RelationSet {
    1 << at
}

/// The numbers in a set.
pub fn members(mut set: RelationSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(at)
    })
}

/// Something that is joined with others.
pub struct Relation {
    pub logical: Logical,
    pub offers: ColumnSet,
    /// Conditions on it alone.
    pub own: Vec<Pred>,
    /// Rows that satisfy them.
    pub rows: f64,
}

impl Relation {
    /// The base table that it is.
    pub fn table(&self) -> Option<&Get> {
        estimate::base(&self.logical)
    }

    fn side(&self) -> estimate::EstimatedSide<'_> {
        estimate::EstimatedSide { logical: &self.logical, preds: &self.own, rows: self.rows }
    }

    /// The cost of reading it, in rows of a scan.
    pub fn cost(&self) -> f64 {
        with_conditions(&self.logical, &self.own)
            .map_or(self.rows, |(get, own)| joined_read_cost(get, &own))
    }

    /// The order in which it comes when it is a table that is read as it lies.
    fn order(&self) -> Vec<Ordering> {
        match with_conditions(&self.logical, &self.own) {
            Some((get, own)) if !seeks_elsewhere(get, &own) => natural_order(get),
            _ => Vec::new(),
        }
    }
}

/// A condition over several relations.
pub struct Condition {
    pub pred: Pred,
    pub uses: RelationSet,
}

/// Columns that are equal to each other, at most one of each relation.
struct Class {
    collation: Collation,
    members: Vec<ClassMember>,
    set: RelationSet,
    /// The share of their values that the limits of all members leave.
    left: f64,
}

struct ClassMember {
    relation: usize,
    column: ColId,
    /// Different values among the relation's rows.
    distinct: f64,
}

impl Class {
    fn of(&self, relation: usize) -> Option<&ClassMember> {
        self.members.iter().find(|m| m.relation == relation)
    }

    /// The share of all combinations of rows that are equal, for the members in a set.
    fn share(&self, set: RelationSet) -> f64 {
        let (mut all, mut least) = (1.0, f64::INFINITY);
        for member in self.members.iter().filter(|m| set & only(m.relation) != 0) {
            all *= member.distinct;
            least = least.min(member.distinct);
        }
        if least.is_finite() { least / all } else { 1.0 }
    }
}

/// Two relations that several classes connect: their columns depend on each other.
struct DependentPair {
    set: RelationSet,
    /// By how much the product of the classes' shares is wrong.
    factor: f64,
}

/// Classes of equal columns that rows are ordered by, one after another; whether each descends
/// while the first one ascends.
pub type Sequence = Vec<(usize, bool)>;

/// The share of pairs of rows that are the same in the classes of an order, by the two relations
/// and the order's number.
type MergedShares = HashMap<(usize, usize, usize), f64>;

/// Costs of seeks, by relation and by the classes and other conditions whose values are given.
type Seeks = HashMap<(usize, Vec<usize>), Option<f64>>;

/// Relations and what connects them.
pub struct Graph {
    pub relations: Vec<Relation>,
    classes: Vec<Class>,
    /// Conditions that are no part of a class.
    pub others: Vec<Condition>,
    pairs: Vec<DependentPair>,
    /// For each relation those that a condition connects with it.
    near: Vec<RelationSet>,
    /// Costs of seeks that have been asked for.
    seeks: RefCell<Seeks>,
    /// Shares of pairs that have been asked for.
    merged: RefCell<MergedShares>,
}

impl Graph {
    /// The graph of relations and the conditions over more than one of them.
    pub fn new(relations: Vec<Relation>, conditions: Vec<Condition>) -> Graph {
        let mut graph = Graph::as_written(relations, Vec::new());
        for condition in conditions {
            if !graph.join_class(&condition) {
                graph.others.push(condition);
            }
        }
        graph.measure_classes();
        graph.find_pairs();
        graph.find_near();
        graph
    }

    /// The graph of relations that are joined as they are written: nothing follows from the
    /// conditions.
    pub fn as_written(relations: Vec<Relation>, others: Vec<Condition>) -> Graph {
        debug_assert!(relations.len() <= MOST_RELATIONS);
        let near = vec![0; relations.len()];
        let (classes, pairs) = (Vec::new(), Vec::new());
        let (seeks, merged) = (RefCell::default(), RefCell::default());
        Graph { relations, classes, others, pairs, near, seeks, merged }
    }

    fn relation_of(&self, column: ColId) -> Option<usize> {
        self.relations.iter().position(|r| r.offers.contains(column))
    }

    /// Adds an equality to the classes; false when it is none, or would put two columns of one
    /// relation into a class.
    fn join_class(&mut self, condition: &Condition) -> bool {
        let Pred::Compare(compare) = &condition.pred else { return false };
        let Some((a, b)) = estimate::equality(&condition.pred) else { return false };
        let collation = compare.collation;
        let (of_a, of_b) = (self.relation_of(a), self.relation_of(b));
        let (Some(of_a), Some(of_b)) = (of_a, of_b) else { return false };
        let holds = |class: &Class, column: ColId| {
            class.collation == collation && class.members.iter().any(|m| m.column == column)
        };
        let mut parts: Vec<usize> = (0..self.classes.len())
            .filter(|at| holds(&self.classes[*at], a) || holds(&self.classes[*at], b))
            .collect();
        let mut members: Vec<(usize, ColId)> = vec![(of_a, a), (of_b, b)];
        for at in &parts {
            members.extend(self.classes[*at].members.iter().map(|m| (m.relation, m.column)));
        }
        members.sort_unstable();
        members.dedup();
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return false;
        }
        while let Some(at) = parts.pop() {
            self.classes.swap_remove(at);
        }
        let set = members.iter().fold(0, |set, (relation, _)| set | only(*relation));
        let member = |(relation, column)| ClassMember { relation, column, distinct: 1.0 };
        let members = members.into_iter().map(member).collect();
        self.classes.push(Class { collation, members, set, left: 1.0 });
        true
    }

    /// Different values of each member. A column that is equal to a key has no more than the key's
    /// table has rows.
    fn measure_classes(&mut self) {
        for class in &mut self.classes {
            let keys = class.members.iter().filter_map(|m| {
                estimate::unique_rows(&self.relations[m.relation].logical, &[m.column])
            });
            let bound = keys.reduce(f64::min).unwrap_or(f64::INFINITY);
            let limits = class
                .members
                .iter()
                .map(|m| estimate::values_left(&self.relations[m.relation].side(), m.column));
            class.left = limits.reduce(f64::max).unwrap_or(1.0);
            for member in &mut class.members {
                let relation = &self.relations[member.relation];
                if estimate::is_fixed(&relation.logical, &relation.own, member.column) {
                    member.distinct = 1.0;
                    continue;
                }
                let values = estimate::distinct_of(&relation.side(), member.column, class.left);
                member.distinct = values.min(bound).clamp(1.0, relation.rows.max(1.0));
            }
        }
    }

    fn find_pairs(&mut self) {
        for a in 0..self.relations.len() {
            for b in a + 1..self.relations.len() {
                let set = only(a) | only(b);
                let both: Vec<&Class> =
                    self.classes.iter().filter(|c| c.set & set == set).collect();
                if both.len() > 1 {
                    let factor = self.together(a, b, &both);
                    self.pairs.push(DependentPair { set, factor });
                }
            }
        }
    }

    /// By how much more pairs of rows of two relations match in all these classes than if they were
    /// independent.
    fn together(&self, a: usize, b: usize, classes: &[&Class]) -> f64 {
        let set = only(a) | only(b);
        let mut shares: Vec<f64> = classes.iter().map(|class| class.share(set)).collect();
        let product: f64 = shares.iter().product();
        let joint = [a, b].into_iter().filter_map(|at| {
            let columns: Vec<ColId> =
                classes.iter().filter_map(|c| c.of(at)).map(|m| m.column).collect();
            let relation = &self.relations[at];
            estimate::unique_rows(&relation.logical, &columns)
                .or_else(|| known_together(relation, &columns))
        });
        let common: f64 = classes.iter().map(|class| class.left).product();
        let share = joint.reduce(f64::max).map(|values| 1.0 / (values * common).max(1.0));
        // Nothing is known: each further class counts by the square root of the one before, as
        // conditions of one table do.
        let share = share.unwrap_or_else(|| {
            shares.sort_by(f64::total_cmp);
            let mut weight = 1.0;
            shares.iter().fold(1.0, |all, share| {
                let all = all * share.powf(weight);
                weight /= 2.0;
                all
            })
        });
        (share / product).max(1.0)
    }

    fn find_near(&mut self) {
        let sets = self.classes.iter().map(|c| c.set).chain(self.others.iter().map(|c| c.uses));
        let sets: Vec<RelationSet> = sets.collect();
        for set in sets {
            members(set).for_each(|at| self.near[at] |= set & !only(at));
        }
    }

    /// Relations that a condition connects with one of the set.
    pub fn near(&self, set: RelationSet) -> RelationSet {
        members(set).fold(0, |near, at| near | self.near[at]) & !set
    }

    /// Lets a pair of relations be joined although no condition connects them.
    pub fn connect(&mut self, a: usize, b: usize) {
        self.near[a] |= only(b);
        self.near[b] |= only(a);
    }

    /// The rows of the joined relations of a set.
    pub fn rows(&self, set: RelationSet) -> f64 {
        let all: f64 = members(set).map(|at| self.relations[at].rows).product();
        let classes =
            self.classes.iter().filter(|c| (c.set & set).count_ones() > 1).map(|c| c.share(set));
        let others = self.others.iter().filter(|c| c.uses & !set == 0).map(|_| OTHER);
        let pairs = self.pairs.iter().filter(|p| p.set & !set == 0).map(|p| p.factor);
        let share: f64 = classes.chain(others).chain(pairs).product();
        (all * share).clamp(1.0, 1e30)
    }

    /// What it costs to seek a relation's rows for one row of a set; `None` when it is no table or
    /// has no index for it.
    pub fn seek_cost(&self, set: RelationSet, relation: usize) -> Option<f64> {
        self.relations[relation].table()?;
        let of_class = |at: &usize| {
            let class = &self.classes[*at];
            class.set & set != 0 && class.set & only(relation) != 0
        };
        let of_other = |at: &usize| {
            let uses = self.others[*at].uses;
            uses & only(relation) != 0 && uses & !only(relation) & !set == 0
        };
        let classes = (0..self.classes.len()).filter(of_class);
        let others = (0..self.others.len()).filter(of_other).map(|at| self.classes.len() + at);
        let given: Vec<usize> = classes.chain(others).collect();
        let mut seeks = self.seeks.borrow_mut();
        *seeks.entry((relation, given)).or_insert_with_key(|(_, given)| {
            let relation = &self.relations[relation];
            let (get, own) = with_conditions(&relation.logical, &relation.own)?;
            let columns: Vec<ColId> =
                given.iter().filter_map(|at| self.given_column(*at, get)).collect();
            seek_cost(get, &own, &columns)
        })
    }

    /// The column of a table that a class (by its number) or another condition (by its number after
    /// the classes') gives a value.
    fn given_column(&self, at: usize, get: &Get) -> Option<ColId> {
        if let Some(class) = self.classes.get(at) {
            return class
                .members
                .iter()
                .map(|m| m.column)
                .find(|column| get.position(*column).is_some());
        }
        match &self.others[at - self.classes.len()].pred {
            Pred::Compare(c) if c.op == CompareOp::Equal => {
                let of = |e: &Expr, other: &Expr| {
                    let mut columns = Vec::new();
                    other.columns(&mut columns);
                    let free = columns.iter().all(|column| get.position(*column).is_none());
                    sought_column(get, e, c.collation).filter(|_| free)
                };
                of(&c.left, &c.right).or_else(|| of(&c.right, &c.left))
            }
            _ => None,
        }
    }

    /// Whether a class has the column.
    pub fn is_of_class(&self, class: usize, column: ColId, collation: Collation) -> bool {
        let class = &self.classes[class];
        class.collation == collation && class.members.iter().any(|m| m.column == column)
    }

    /// The classes of columns by which a relation comes in order when it is read as it is cheapest.
    pub fn sequence(&self, relation: usize) -> Sequence {
        let order = self.relations[relation].order();
        let class_of = |ordering: &Ordering| {
            self.classes.iter().position(|class| {
                ordering.is_under(class.collation)
                    && class.of(relation).is_some_and(|member| member.column == ordering.column)
            })
        };
        let first = order.first().is_some_and(|ordering| ordering.descending);
        order.iter().map_while(|o| Some((class_of(o)?, o.descending != first))).collect()
    }

    /// The relation of a column, if it comes in its order.
    pub fn comes_as(&self, column: ColId, collation: Collation) -> Option<usize> {
        let comes = |at: &usize| {
            let order = self.relations[*at].order();
            order.first().is_some_and(|o| o.column == column && o.is_under(collation))
        };
        self.relation_of(column).filter(comes)
    }

    /// Pairs of rows of two sets, so many rows each, that a merge by the classes of an order (by
    /// its number) finds and on which other equalities have to be tested; none where there are no
    /// others.
    pub fn tested_pairs(
        &self,
        (left, left_rows): (RelationSet, f64),
        (right, right_rows): (RelationSet, f64),
        (order, classes): (usize, &[(usize, bool)]),
    ) -> f64 {
        let spans = |set: RelationSet| set & left != 0 && set & right != 0;
        let equalities = self.classes.iter().filter(|class| spans(class.set)).count();
        if equalities == classes.len() {
            return 0.0;
        }
        let Some((first, _)) = classes.first() else { return left_rows * right_rows };
        let source = |set: RelationSet| {
            let members = self.classes[*first].members.iter();
            members.map(|m| m.relation).find(|relation| set & only(*relation) != 0)
        };
        let (Some(a), Some(b)) = (source(left), source(right)) else {
            return left_rows * right_rows;
        };
        let mut merged = self.merged.borrow_mut();
        let share =
            *merged.entry((a, b, order)).or_insert_with(|| self.merged_share(a, b, classes));
        left_rows * right_rows * share
    }

    /// The share of all pairs of rows of two relations that are the same in these classes.
    fn merged_share(&self, a: usize, b: usize, classes: &[(usize, bool)]) -> f64 {
        let columns = classes.iter().filter_map(|(class, _)| {
            let class = &self.classes[*class];
            Some((class.of(a)?.column, class.of(b)?.column))
        });
        let columns: Vec<(ColId, ColId)> = columns.collect();
        let (left, right) = (self.relations[a].side(), self.relations[b].side());
        estimate::pairs(&left, &right, &columns) / (left.rows * right.rows).max(1.0)
    }

    /// The equalities of the classes between two sets: those that are written or follow; that of
    /// one class before the others.
    pub fn equalities(
        &self,
        left: RelationSet,
        right: RelationSet,
        first: Option<usize>,
    ) -> Vec<Pred> {
        let others = (0..self.classes.len()).filter(|at| Some(*at) != first);
        let all = first.into_iter().chain(others).map(|at| &self.classes[at]);
        let between = all.filter(|c| c.set & left != 0 && c.set & right != 0);
        let member = |class: &Class, set: RelationSet| {
            class.members.iter().find(|m| set & only(m.relation) != 0).map(|m| Expr::Col(m.column))
        };
        let equality = |class: &Class| {
            let (left, right) = (member(class, left)?, member(class, right)?);
            let compare =
                CompareExpr { op: CompareOp::Equal, left, right, collation: class.collation };
            Some(Pred::Compare(Box::new(compare)))
        };
        between.filter_map(equality).collect()
    }
}

/// Different combinations of values of columns, from statistics over them.
fn known_together(relation: &Relation, columns: &[ColId]) -> Option<f64> {
    let get = relation.table()?;
    let id = |column: &ColId| get.position(*column).map(|at| get.table.columns[at].column_id);
    let ids: Option<Vec<i32>> = columns.iter().map(id).collect();
    get.table.state.statistics.distinct(&ids?)
}
