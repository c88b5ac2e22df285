//! How a table is read: full scan, seek of the clustered index, seek of a nonclustered index with
//! or without a look at the base row, by one range or several; seeks of several indexes together
//! (`union`, `intersection`); in which order the rows come. Costs are in units of one row of a full
//! scan.

mod entry;
mod filtered;
mod intersection;
mod like;
mod missing;
mod order;
mod probe;
mod skip;
mod terms;
mod union;
mod ways;

pub use order::{Ordering, is_ordering, natural_order};
pub use probe::{
    can_seek, can_seek_range, fixed_before, is_possible, joined_read_cost, read_cost, seek_cost,
    seeks_elsewhere, sought_column, with_conditions,
};
pub use skip::cost_past;
pub use terms::{MOST_RANGES, is_sought};

use crate::cost::{self, COMPARED, COVERED, GROUPED, LOOKUP, RANGE, SEEK, SORTED, STREAMED};
use crate::estimate;
use crate::nodes::SeekSpec;
use crate::nodes::{Node, Plan};
use crate::nodes::{Path, ScanPlan, WantedIndex};
use crate::random_plan::RandomChoices;
use crate::statistics::table_rows;
use expr::{ColId, Pred};
use logical::access_hints::no_plan;
use logical::order::SortKey;
use logical::slots::pred_slots;
use logical::tree::{Get, Logical};
use order::{groups, is_of_one_moment, lies_by_key, order};
use std::sync::Arc;
use storage::{TableMode, TableStore};
use terms::{Choice, Conditions, FoundSeek};
use types::{Collation, SqlError};
use ways::{AccessWay, may_cover, prefer_seeks, ways_of};

/// What the rest of the plan wants of a table.
pub struct Wishes<'w> {
    pub needed: &'w [ColId],
    pub order: &'w [SortKey],
    /// Rows with the same values of these columns are wanted one after another; no order is asked
    /// for then.
    pub grouping: &'w [(ColId, Collation)],
    pub goal: Option<u64>,
    /// The order has to hold of the rows: not all lie where their index entries say
    /// (`lies_by_key`).
    pub exact: bool,
}

/// A way to read the table with one of its structures.
struct Candidate {
    /// `None`: the base.
    index: Option<usize>,
    seek: SeekSpec,
    /// Conditions that the seek stands for exactly.
    used: Vec<usize>,
    point: bool,
    covering: bool,
    ordered: bool,
    backward: bool,
    rows: f64,
    cost: f64,
    /// What would be better.
    missing: Option<Box<WantedIndex>>,
}

/// The plan of a table's read under conditions on its columns alone.
pub fn plan(
    get: &Get,
    store: Arc<TableStore>,
    preds: Vec<Pred>,
    wishes: &Wishes<'_>,
    chance: &mut Option<RandomChoices>,
) -> Result<Plan, SqlError> {
    let mut tested: Vec<ColId> = Vec::new();
    preds.iter().for_each(|p| p.columns(&mut tested));
    match choose(get, &store, &preds, &tested, wishes, chance)? {
        ChosenPath::One(candidate) => one(get, store, preds, wishes, candidate),
        ChosenPath::Union(union) => union::plan(get, store, preds, wishes, union),
        ChosenPath::Intersection(all) => intersection::plan(get, store, preds, wishes, all),
    }
}

fn one(
    get: &Get,
    store: Arc<TableStore>,
    preds: Vec<Pred>,
    wishes: &Wishes<'_>,
    choice: Candidate,
) -> Result<Plan, SqlError> {
    let used = choice.used;
    let preds = preds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, p)| p);
    let mut preds: Vec<Pred> = preds.collect();
    let entry = match choice.index {
        Some(index) if !choice.covering => entry::test_of(get, &store.indexes[index], &mut preds)?,
        _ => None,
    };
    let mut given = ReadShape::of(get, preds, wishes)?;
    let path = match choice.index {
        None if choice.seek.is_empty() => Path::Base,
        None if choice.point => Path::Point(choice.seek),
        None => Path::Clustered(choice.seek),
        Some(index) => {
            if choice.covering {
                let entry = &store.indexes[index];
                let positions =
                    given.columns.iter().filter_map(|c| entry.position(usize::from(*c)));
                given.index_columns = positions.map(|c| c as u16).collect();
            }
            Path::Index { index, seek: choice.seek, point: choice.point, covering: choice.covering }
        }
    };
    let (rows, ordered) = (choice.rows, choice.ordered);
    let looks_up = matches!(path, Path::Index { point: false, covering: false, .. });
    let (mut scan, cols) = given.scan(get, store, path, choice.backward);
    (scan.missing, scan.entry) = (choice.missing, entry);
    scan.any_order = looks_up && !ordered && is_of_one_moment(get);
    if ordered || wishes.order.is_empty() {
        scan.goal = wishes.goal.and_then(|rows| usize::try_from(rows).ok());
    }
    Ok(Plan { node: Node::Scan(Box::new(scan)), cols, rows, ordered })
}

/// What a read of a table gives: its columns, and the condition on them.
struct ReadShape {
    /// Column ids of the slots.
    cols: Vec<ColId>,
    columns: Vec<u16>,
    index_columns: Vec<u16>,
    tested: usize,
    only_tested: bool,
    pred: Option<Pred>,
    locator: bool,
}

impl ReadShape {
    /// What is wanted, and the columns of the conditions that are tested on the row.
    fn of(get: &Get, preds: Vec<Pred>, wishes: &Wishes<'_>) -> Result<ReadShape, SqlError> {
        let mut pred = Pred::from_conjuncts(preds);
        // The condition's columns come first: the others are decoded only for rows that satisfy it.
        let mut ids: Vec<ColId> = Vec::new();
        if let Some(pred) = &pred {
            pred.columns(&mut ids);
        }
        ids.retain(|id| *id != get.locator());
        let tested = ids.len();
        let only_tested = !ids.iter().any(|id| wishes.needed.contains(id));
        for id in wishes.needed {
            if get.position(*id).is_some() && !ids.contains(id) {
                ids.push(*id);
            }
        }
        let locator = wishes.needed.contains(&get.locator());
        let columns: Vec<u16> =
            ids.iter().filter_map(|id| get.position(*id)).map(|c| c as u16).collect();
        let mut cols = ids;
        if locator {
            cols.push(get.locator());
        }
        if let Some(pred) = &mut pred {
            pred_slots(pred, &cols)?;
        }
        let index_columns = Vec::new();
        Ok(ReadShape { cols, columns, index_columns, tested, only_tested, pred, locator })
    }

    fn scan(
        self,
        get: &Get,
        store: Arc<TableStore>,
        path: Path,
        backward: bool,
    ) -> (ScanPlan, Vec<ColId>) {
        let scan = ScanPlan {
            db: get.db.clone(),
            store,
            mode: get.mode,
            locks: get.locks,
            path,
            backward,
            columns: self.columns,
            index_columns: self.index_columns,
            tested: self.tested,
            // What is locked or changed is looked at once more.
            only_tested: self.only_tested && !waits(get),
            pred: self.pred,
            computes: false,
            in_place: false,
            entry: None,
            any_order: false,
            locator: self.locator,
            goal: None,
            sample: get.hints.access.sample,
            missing: None,
        };
        (scan, self.cols)
    }
}

/// How a table is read.
enum ChosenPath {
    One(Candidate),
    Union(union::Union),
    Intersection(intersection::Intersection),
}

/// Of a table with fewer rows, which are on a page or two, no columns are taken out of the locators
/// of an index instead of reading the rows.
const FEW: f64 = 100.0;

/// A read of a whole table costs at least what that of so many rows does, where an index is sought
/// by an equality instead: tables are empty when the first plans are made, and plans stay while
/// they grow.
const LEAST: f64 = 4.0;

/// As that, of a read that takes locks or waits for writers: it keeps all from the table. A seek of
/// one row behind an index is better for it whatever the table has.
const LEAST_LOCKED: f64 = 16.0;

/// So many ranges of a seek are looked at one by one to estimate the rows of all of them.
const MOST_SEEN: usize = 128;

/// What is known while the ways to read a table are compared.
struct Question<'q> {
    get: &'q Get,
    preds: &'q [Pred],
    /// The table as a plan, for estimates.
    input: Logical,
    conditions: Conditions<'q>,
    wishes: &'q Wishes<'q>,
    /// Rows of the table, and those that satisfy all conditions.
    total: f64,
    rows: f64,
    /// The rows that a read from end to end is taken for at least.
    least: f64,
    /// Columns are passed over wherever that can be done, whatever it costs.
    skips: bool,
}

/// Whether a read takes locks, or waits for writers of the rows that it meets.
fn waits(get: &Get) -> bool {
    get.locks.is_some() || get.mode == TableMode::Current
}

fn choose(
    get: &Get,
    store: &TableStore,
    preds: &[Pred],
    tested: &[ColId],
    wishes: &Wishes<'_>,
    chance: &mut Option<RandomChoices>,
) -> Result<ChosenPath, SqlError> {
    let total = table_rows(&get.table);
    // A way down the tree for each constant, and more of them than rows: to look each row up in
    // them costs less.
    let most = if get.hints.access.seek.is_some() {
        usize::MAX
    } else {
        (total as usize).max(MOST_RANGES)
    };
    let choices = Choice::all(get, preds, most);
    let conditions = Conditions::of(get, preds, &choices);
    let terms = &conditions.own;
    let mut wanted: Vec<usize> =
        wishes.needed.iter().chain(tested).filter_map(|id| get.position(*id)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut ways = ways_of(get, store, preds, &wanted, may_cover(get, wishes.needed));
    let hints = get.hints.access;
    let hinted = hints.index.is_some() || hints.scan;
    let by_keys = !hinted && get.locks.is_none() && get.mode != TableMode::Current;
    // Seeks of several indexes, which chance takes now and then.
    let mut union = by_keys && !choices.is_empty();
    let mut intersection = by_keys && store.indexes.len() > 1;
    let (mut forced, mut skips) = (false, false);
    let all = ways.len();
    ways.retain(|way| way.obeys(hints, &conditions));
    if get.locks.is_some() && !hints.scan {
        prefer_seeks(&mut ways, &conditions);
    }
    if let Some(chance) = chance.as_mut().filter(|_| ways.len() == all) {
        let kind = chance.one_of(4);
        union &= kind < 2;
        intersection &= kind == 2;
        forced = union || intersection;
        if !forced {
            skips = chance.one_of(2) == 0;
            let any = chance.one_of(ways.len());
            ways.swap(0, any);
            ways.truncate(1);
        }
    } else if !hints.scan && ways.iter().any(|way| way.is_point(terms)) {
        // One row at most: nothing else has to be weighed, and no statistics have to be asked.
        ways.retain(|way| way.is_point(terms));
        (union, intersection) = (false, false);
    }
    let input = Logical::Get(Arc::new(get.clone()));
    let points = !ways.is_empty() && ways.iter().all(|way| way.is_point(terms));
    let rows = if points { 1.0 } else { (total * estimate::kept(preds, &input)).max(1.0) };
    let by_equality = |way: &AccessWay<'_>| way.tree && conditions.equal_columns(&way.order) > 0;
    // The first rows of an order come from an index that has it, whatever it has besides.
    let first_rows = wishes.goal.is_some() && !wishes.order.is_empty();
    let least = match !first_rows && ways.iter().any(by_equality) {
        true if waits(get) => LEAST_LOCKED,
        true => LEAST,
        false => 0.0,
    };
    let question = Question { get, preds, input, conditions, wishes, total, rows, least, skips };
    let candidates = ways.iter().map(|way| question.candidate(way));
    let best = candidates.reduce(|a, b| if b.cost < a.cost { b } else { a });
    let best = best.map(|best| question.past_first_columns(best, &ways));
    let limit = best.as_ref().filter(|_| !forced).map_or(f64::INFINITY, |best| best.cost);
    let union = if union { question.union(&ways) } else { None };
    let intersection = if intersection { question.intersection(&ways) } else { None };
    let several = union.map(|union| (union.cost, ChosenPath::Union(union)));
    let several = several
        .into_iter()
        .chain(intersection.map(|all| (all.cost, ChosenPath::Intersection(all))));
    let several =
        several.filter(|(cost, _)| *cost < limit).reduce(|a, b| if b.0 < a.0 { b } else { a });
    if let Some((_, chosen)) = several {
        return Ok(chosen);
    }
    let mut best = best.ok_or_else(no_plan)?;
    if !hinted && chance.is_none() {
        best.missing = question.missing(&best, &wanted);
    }
    Ok(ChosenPath::One(best))
}

impl Candidate {
    /// The base, from end to end.
    fn scan() -> Candidate {
        Candidate {
            index: None,
            seek: SeekSpec::default(),
            used: Vec::new(),
            point: false,
            covering: true,
            ordered: false,
            backward: false,
            rows: 1.0,
            cost: 0.0,
            missing: None,
        }
    }

    /// Takes the ranges that an index is sought by.
    fn seek(&mut self, found: Vec<FoundSeek<'_>>, common: usize) {
        // The columns that the table's own conditions name come first, so they are the same in all.
        let mut found = found.into_iter();
        let Some(first) = found.next() else { return };
        (self.seek, self.used) = (first.seek, first.used);
        self.seek.others = found.map(|found| found.seek).collect();
        self.seek.common = common;
    }
}

impl Question<'_> {
    /// The table by one of its structures.
    fn candidate(&self, way: &AccessWay<'_>) -> Candidate {
        let candidate = self.candidate_by_ranges(way);
        match self.skipping(way) {
            Some(skipping) if self.skips || skipping.cost < candidate.cost => skipping,
            _ => candidate,
        }
    }

    /// The table by one of its structures: of a long list by a range for each value, where that
    /// costs less.
    fn candidate_by_ranges(&self, way: &AccessWay<'_>) -> Candidate {
        let few = self.candidate_of(way, MOST_RANGES);
        let forced = self.get.hints.access.seek.is_some();
        let pays = |cases: usize| forced || cases as f64 * RANGE * 0.9 < few.cost;
        if !self.conditions.long_choices().any(|(_, cases)| pays(cases)) {
            return few;
        }
        let many = self.candidate_of(way, usize::MAX);
        if forced || many.cost < few.cost { many } else { few }
    }

    /// The table by one of its structures, where choices of so many cases at most give ranges.
    fn candidate_of(&self, way: &AccessWay<'_>, most: usize) -> Candidate {
        let mut choice =
            Candidate { index: way.index, covering: way.covering, ..Candidate::scan() };
        let (mut fetched, mut looked_up) = (self.total, self.total);
        let seeks = way.tree && !self.get.hints.access.scan;
        // One row by the whole key; a clustered index that is not unique has the uniquifier after
        // it.
        choice.point = seeks && way.is_point(&self.conditions.own);
        if seeks {
            let found = self.conditions.ranges(&way.order, most);
            fetched = if choice.point { 1.0 } else { self.fetched(way, &found) };
            looked_up = match way.store {
                Some(index) if !way.covering && !choice.point => {
                    self.looked_up(index, &found, fetched) * self.doubt(&found)
                }
                _ => fetched,
            };
            choice.seek(found, self.conditions.equal_columns(&way.order));
        }
        let seeks = if choice.seek.is_empty() {
            0.0
        } else {
            3.0 + choice.seek.others.len() as f64 * RANGE
        };
        self.weighed(choice, way, (fetched, looked_up), seeks)
    }

    /// A candidate whose seek is known, with what it gives and costs: so many entries are read, so
    /// many rows behind them, and to find the entries costs `seeks`.
    fn weighed(
        &self,
        mut choice: Candidate,
        way: &AccessWay<'_>,
        (mut fetched, looked_up): (f64, f64),
        seeks: f64,
    ) -> Candidate {
        choice.rows = self.rows.min(fetched).max(1.0);
        if choice.seek.is_empty() {
            fetched = fetched.max(self.least);
        }
        let wanted = &self.wishes.order;
        let equal = choice.seek.common_equal();
        let (ordered, backward) = if way.tree {
            order(self.get, way, equal, choice.point, wanted)
        } else {
            (false, false)
        };
        let holds = !self.wishes.exact || lies_by_key(self.get, way);
        choice.ordered = ordered && holds && !wanted.is_empty();
        choice.backward = choice.ordered && backward;
        let grouping = self.wishes.grouping;
        if !grouping.is_empty() {
            choice.ordered = way.tree && groups(self.get, way, equal, choice.point, grouping);
        }
        let mut read = fetched;
        if let Some(goal) = self.wishes.goal
            && (choice.ordered || wanted.is_empty())
        {
            read = read.min((goal as f64 * (fetched / choice.rows)).max(1.0));
        }
        let per_row = match (way.index, way.covering) {
            (None, _) => 1.0,
            (Some(_), true) if way.by_locator && self.total < FEW => 1.0,
            (Some(_), true) => COVERED,
            // An entry that fails its test costs what one of a covering index does.
            (Some(_), false) if choice.ordered || !choice.seek.is_empty() => {
                let share = looked_up / fetched.max(1.0);
                let together = !choice.ordered && !choice.point && is_of_one_moment(self.get);
                let each = match together {
                    true => cost::looked_up(read * share, &self.get.table),
                    false => LOOKUP,
                };
                each * share + COVERED * (1.0 - share)
            }
            (Some(_), false) => LOOKUP,
        };
        // Of the values that are passed over those that come before the rows wanted first.
        let visited = if choice.seek.behind.is_some() { read / fetched.max(1.0) } else { 1.0 };
        choice.cost =
            read * (per_row + self.compared(&choice.used)) + (seeks * visited).max(seeks.min(SEEK));
        choice.cost += self.afterwards(choice.rows, choice.ordered);
        // Of two equal costs the seek's is the surer one: it does not grow with the table. That of
        // each value of a first column may.
        if !choice.seek.is_unbounded() {
            choice.cost *= 0.9;
        }
        choice
    }

    /// What it costs to compare a row with the elements of long lists, one after another, that are
    /// not among the conditions of these places.
    fn compared(&self, used: &[usize]) -> f64 {
        let elements = |(at, pred): (usize, &Pred)| match pred {
            Pred::InList(list) if list.is_compared() && !list.is_kept() && !used.contains(&at) => {
                list.list.len()
            }
            _ => 0,
        };
        let all: usize =
            self.preds.iter().enumerate().map(elements).filter(|n| *n > MOST_RANGES).sum();
        all as f64 * COMPARED
    }

    /// What sorting or grouping of so many rows costs that are read.
    fn afterwards(&self, rows: f64, ordered: bool) -> f64 {
        if !self.wishes.grouping.is_empty() {
            return rows * if ordered { STREAMED } else { GROUPED };
        }
        let sort = !self.wishes.order.is_empty() && !ordered;
        if sort { rows * rows.max(2.0).log2() * SORTED } else { 0.0 }
    }

    /// Rows that are read when these ranges are sought.
    fn fetched(&self, way: &AccessWay<'_>, found: &[FoundSeek<'_>]) -> f64 {
        match found {
            [one] => self.fetched_by(way, one),
            several => {
                let whole = |found: &FoundSeek<'_>| found.seek.equal.len() == way.def.key.len();
                let most = several.len() as f64;
                let rows = self.total * self.share_of_any(several);
                let unique = way.def.unique && several.iter().all(whole);
                rows.clamp(1.0, if unique { most } else { f64::INFINITY })
            }
        }
    }

    /// How many times more rows than are expected may have to be looked up.
    fn doubt(&self, found: &[FoundSeek<'_>]) -> f64 {
        let mut sought = found.iter().flat_map(|found| &found.sought);
        if sought.any(|pred| like::is_unknown(pred, self.get)) { like::DOUBT } else { 1.0 }
    }

    /// The share of the rows that several ranges have together.
    fn share_of_any(&self, several: &[FoundSeek<'_>]) -> f64 {
        let [first, second, ..] = several else { return 1.0 };
        if several.len() <= MOST_SEEN {
            return estimate::share(&any_of(several), &self.input);
        }
        // What they have in common, and the long list of which each is a value: it knows them all.
        let common = |pred: &&&Pred| second.sought.iter().any(|other| std::ptr::eq(**pred, *other));
        let lists = self.conditions.long_choices().filter_map(|(at, _)| self.preds.get(at));
        let sought = first.sought.iter().filter(common).copied().chain(lists);
        estimate::kept(sought, &self.input)
    }

    fn fetched_by(&self, way: &AccessWay<'_>, found: &FoundSeek<'_>) -> f64 {
        if found.sought.is_empty() {
            return self.total;
        }
        // The whole key of a unique index, and more: one row.
        if way.def.unique && found.seek.equal.len() == way.def.key.len() {
            return 1.0;
        }
        (self.total * estimate::kept(found.sought.iter().copied(), &self.input)).max(1.0)
    }
}

/// What ranges stand for, as one condition.
fn any_of(found: &[FoundSeek<'_>]) -> Pred {
    let case = |found: &FoundSeek<'_>| {
        Pred::And(found.sought.iter().map(|pred| (*pred).clone()).collect())
    };
    Pred::Or(found.iter().map(case).collect())
}
