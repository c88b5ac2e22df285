//! An OR over columns of different indexes: each case is sought in an index of its own, which gives
//! the locators of its rows; each locator once, they lead to the rows, on which all conditions are
//! tested. Only where rows are read in versions of one moment or dirty: what is locked or newest is
//! found by one structure.

use super::terms::FoundSeek;
use super::{AccessWay, Question, ReadShape, Wishes};
use crate::cost::{COVERED, GROUPED, SEEK, looked_up};
use crate::estimate;
use crate::nodes::{Node, Path, Plan, SeekSpec};
use expr::Pred;
use logical::tree::Get;
use stack::Nested;
use std::sync::Arc;
use storage::TableStore;
use types::{Collation, SqlError};

/// Most indexes that are sought together.
const MOST_CASES: usize = 16;

/// Seeks of several indexes.
pub struct Union {
    cases: Vec<CaseSeek>,
    /// Rows that satisfy all conditions.
    rows: f64,
    /// Rows of any of the cases.
    found: f64,
    pub cost: f64,
}

/// One of them.
struct CaseSeek {
    /// `None`: the clustered index.
    index: Option<usize>,
    seek: SeekSpec,
    rows: f64,
    cost: f64,
}

impl Question<'_> {
    /// The cheapest union; `None` where no OR has an index for each of its cases.
    pub(super) fn union(&self, ways: &[AccessWay<'_>]) -> Option<Union> {
        let all =
            (0..self.conditions.choices.len()).filter_map(|choice| self.union_of(choice, ways));
        all.reduce(|a, b| if b.cost < a.cost { b } else { a })
    }

    fn union_of(&self, choice: usize, ways: &[AccessWay<'_>]) -> Option<Union> {
        let count = self.conditions.cases[choice].len();
        if count > MOST_CASES {
            return None;
        }
        let cases: Option<Vec<CaseSeek>> =
            (0..count).map(|case| self.case(choice, case, ways)).collect();
        let cases = cases?;
        let found: f64 = cases.iter().map(|case| case.rows).sum();
        let found = found.min(self.total);
        let sought: f64 = cases.iter().map(|case| case.cost + case.rows * GROUPED).sum();
        let rows = self.rows.min(found).max(1.0);
        let cost =
            sought + found * looked_up(found, &self.get.table) + self.afterwards(rows, false);
        Some(Union { cases, rows, found, cost })
    }

    /// The cheapest seek for one case.
    fn case(&self, choice: usize, case: usize, ways: &[AccessWay<'_>]) -> Option<CaseSeek> {
        let seek = |way: &AccessWay<'_>| {
            let found = self.conditions.range_of_case(&way.order, choice, case)?;
            let rows = self.rows_of(way, &found);
            let each = if way.index.is_some() { COVERED } else { 1.0 };
            Some(CaseSeek { index: way.index, seek: found.seek, rows, cost: SEEK + rows * each })
        };
        let seeks = ways.iter().filter(|way| way.tree).filter_map(seek);
        seeks.reduce(|a, b| if b.cost < a.cost { b } else { a })
    }

    fn rows_of(&self, way: &AccessWay<'_>, found: &FoundSeek<'_>) -> f64 {
        if way.def.unique && found.seek.equal.len() == way.def.key.len() {
            return 1.0;
        }
        (self.total * estimate::kept(found.sought.iter().copied(), &self.input)).max(1.0)
    }
}

/// The plan: locators of each case, each once, and the rows behind them.
pub fn plan(
    get: &Get,
    store: Arc<TableStore>,
    preds: Vec<Pred>,
    wishes: &Wishes<'_>,
    union: Union,
) -> Result<Plan, SqlError> {
    let locator = [get.locator()];
    let only = Wishes { needed: &locator, order: &[], grouping: &[], goal: None, exact: false };
    let mut inputs = Vec::with_capacity(union.cases.len());
    for case in union.cases {
        let path = match case.index {
            None => Path::Clustered(case.seek),
            Some(index) => Path::Index { index, seek: case.seek, point: false, covering: true },
        };
        let (scan, cols) =
            ReadShape::of(get, Vec::new(), &only)?.scan(get, store.clone(), path, false);
        inputs.push(Plan {
            node: Node::Scan(Box::new(scan)),
            cols,
            rows: case.rows,
            ordered: false,
        });
    }
    let plan = |node, rows| Plan { node, cols: locator.to_vec(), rows, ordered: false };
    let rows = inputs.iter().map(|input| input.rows).sum();
    let all = plan(Node::Concat(Nested::new(inputs)), rows);
    let collations = vec![Collation::DEFAULT];
    let each =
        plan(Node::Distinct { input: Nested::new(all), collations, streams: false }, union.found);
    let (scan, cols) = ReadShape::of(get, preds, wishes)?.scan(get, store, Path::Base, false);
    let node = Node::Lookup { input: Nested::new(each), scan: Box::new(scan) };
    Ok(Plan { node, cols, rows: union.rows, ordered: false })
}
