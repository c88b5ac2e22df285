//! Conditions on columns of different indexes that hold together: each index is sought by its own,
//! and only the rows whose locators all of them give are read; all conditions are tested on these.
//! Only where rows are read in versions of one moment or dirty: what is locked or newest is found
//! by one structure.

use super::{AccessWay, MOST_RANGES, Question, ReadShape, Wishes};
use crate::cost::{BUILD, COVERED, PROBE, SEEK, looked_up};
use crate::estimate;
use crate::nodes::{Node, Path, Plan, SeekSpec};
use expr::Pred;
use logical::tree::Get;
use stack::Nested;
use std::sync::Arc;
use storage::TableStore;
use types::{Collation, SqlError};

/// Most indexes that are sought together.
const MOST_INDEXES: usize = 4;

/// Seeks of several indexes, whose rows all have to give.
pub struct Intersection {
    seeks: Vec<IndexSeek>,
    /// Rows that satisfy all conditions.
    rows: f64,
    /// Rows that all of them give.
    found: f64,
    pub cost: f64,
}

/// One of them.
struct IndexSeek {
    index: usize,
    seek: SeekSpec,
    rows: f64,
    /// With this one and those before it.
    together: f64,
}

impl Question<'_> {
    /// The cheapest that is found by taking the indexes with the fewest rows first; `None` where no
    /// two indexes can be sought.
    pub(super) fn intersection(&self, ways: &[AccessWay<'_>]) -> Option<Intersection> {
        let mut sought: Vec<_> = ways.iter().filter_map(|way| self.sought(way)).collect();
        sought.sort_by(|a, b| a.1.rows.total_cmp(&b.1.rows));
        let mut preds: Vec<&Pred> = Vec::new();
        let mut seeks: Vec<IndexSeek> = Vec::new();
        let mut best = None;
        for (more, mut seek) in sought {
            let before = preds.len();
            preds.extend(
                more.into_iter()
                    .filter(|p| !preds.iter().any(|q| std::ptr::eq(*q, *p)))
                    .collect::<Vec<_>>(),
            );
            if preds.len() == before {
                // It is sought by what another one is sought by.
                continue;
            }
            seek.together =
                (self.total * estimate::kept(preds.iter().copied(), &self.input)).max(1.0);
            seeks.push(seek);
            let cost = self.cost_of(&seeks);
            if seeks.len() > 1 && best.is_none_or(|(_, least)| cost < least) {
                best = Some((seeks.len(), cost));
            }
            if seeks.len() == MOST_INDEXES {
                break;
            }
        }
        let (count, cost) = best?;
        seeks.truncate(count);
        let found = seeks.last()?.together;
        Some(Intersection { seeks, rows: self.rows.min(found), found, cost })
    }

    /// A nonclustered index with the conditions that it is sought by.
    fn sought<'s>(&'s self, way: &AccessWay<'_>) -> Option<(Vec<&'s Pred>, IndexSeek)> {
        let index = way.index?;
        let mut found = self.conditions.ranges(&way.order, MOST_RANGES);
        // Of an unknown pattern most rows may be found.
        if found.len() != 1 || found[0].sought.is_empty() || self.doubt(&found) > 1.0 {
            return None;
        }
        let rows = self.fetched_by(way, &found[0]);
        let found = found.pop()?;
        Some((found.sought, IndexSeek { index, seek: found.seek, rows, together: rows }))
    }

    /// Of all seeks, of the hash tables that find what they have in common, and of the rows behind
    /// it.
    fn cost_of(&self, seeks: &[IndexSeek]) -> f64 {
        let sought: f64 = seeks.iter().map(|seek| SEEK + seek.rows * COVERED).sum();
        let pairs = seeks.windows(2);
        let common: f64 = pairs.map(|pair| pair[1].rows * PROBE + pair[0].together * BUILD).sum();
        let found = seeks.last().map_or(1.0, |seek| seek.together);
        let rows = found * looked_up(found, &self.get.table);
        sought + common + rows + self.afterwards(self.rows.min(found), false)
    }
}

/// The plan: the locators that all seeks give, and the rows behind them.
pub fn plan(
    get: &Get,
    store: Arc<TableStore>,
    preds: Vec<Pred>,
    wishes: &Wishes<'_>,
    intersection: Intersection,
) -> Result<Plan, SqlError> {
    let locator = [get.locator()];
    let only = Wishes { needed: &locator, order: &[], grouping: &[], goal: None, exact: false };
    let mut all: Option<Plan> = None;
    for IndexSeek { index, seek, rows, together } in intersection.seeks {
        let path = Path::Index { index, seek, point: false, covering: true };
        let (scan, cols) =
            ReadShape::of(get, Vec::new(), &only)?.scan(get, store.clone(), path, false);
        let plan = Plan { node: Node::Scan(Box::new(scan)), cols, rows, ordered: false };
        all = Some(match all {
            None => plan,
            Some(fewer) => {
                // The right side is kept: the one with fewer rows.
                let (left, right) = (Nested::new(plan), Nested::new(fewer));
                let node = Node::SetOp {
                    left,
                    right,
                    except: false,
                    collations: vec![Collation::DEFAULT],
                };
                Plan { node, cols: locator.to_vec(), rows: together, ordered: false }
            }
        });
    }
    let Some(mut all) = all else { return Err(logical::access_hints::no_plan()) };
    all.rows = intersection.found;
    let (scan, cols) = ReadShape::of(get, preds, wishes)?.scan(get, store, Path::Base, false);
    let node = Node::Lookup { input: Nested::new(all), scan: Box::new(scan) };
    Ok(Plan { node, cols, rows: intersection.rows, ordered: false })
}
