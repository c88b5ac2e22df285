//! Which indexes a plan uses, each operator of it by itself, and which it would have liked to have:
//! what executions of the plan add to the uses of its tables, once for each operator and execution,
//! whether the operator came to run or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use catalog::usage::{IndexUse, MissingColumns, UseCount};
use catalog::{Db, TableDef};
use plan::cost::{self, SECONDS};
use plan::nodes::{Node, Path, Plan, ScanPlan, WantedIndex};
use plan::{Needs, QueryPlan};
use storage::{Base, TableStore};

/// An index that a plan misses.
#[derive(Clone)]
pub struct MissedIndex {
    pub db: Arc<Db>,
    pub table: Arc<TableDef>,
    pub wanted: WantedIndex,
    /// What the whole plan costs, in seconds, and how much of that the index would save, in
    /// percent.
    pub cost: f64,
    pub impact: f64,
}

impl MissedIndex {
    fn columns(&self) -> MissingColumns {
        let names = |columns: &[usize]| {
            columns.iter().map(|at| self.table.columns[*at].name.clone()).collect()
        };
        MissingColumns {
            equality: names(&self.wanted.equality),
            inequality: names(&self.wanted.inequality),
            included: names(&self.wanted.included),
        }
    }

    /// A plan was made without it.
    pub fn compiled(&self) {
        self.table.state.usage.missed(&self.columns(), 1, UseCount::default(), 0.0, 0.0);
    }
}

/// What a plan uses.
#[derive(Default)]
pub struct PlanUses {
    indexes: Vec<(Arc<TableDef>, i32, IndexUse)>,
    pub missing: Vec<MissedIndex>,
}

impl PlanUses {
    /// What the plan of a query uses.
    pub fn of_query(plan: &QueryPlan) -> PlanUses {
        let mut uses = PlanUses::default();
        uses.root(plan.plan());
        uses.subqueries(plan.needs());
        uses
    }

    /// Of the subqueries of an expression.
    fn of_expression(needs: &Needs) -> PlanUses {
        let mut uses = PlanUses::default();
        uses.subqueries(needs);
        uses
    }

    /// The plan has been executed so often, the last time then.
    pub fn ran(&self, times: UseCount) {
        for (table, index_id, kind) in &self.indexes {
            table.state.usage.used(*index_id, *kind, times);
        }
        for missing in &self.missing {
            missing.table.state.usage.missed(
                &missing.columns(),
                0,
                times,
                missing.cost,
                missing.impact,
            );
        }
    }

    /// The plans of subqueries run too.
    pub fn subqueries(&mut self, needs: &Needs) {
        needs.subqueries.iter().for_each(|plan| self.root(plan));
    }

    /// A whole plan runs too.
    pub fn root(&mut self, plan: &Plan) {
        self.add(plan, 1.0, cost::of(plan).total);
    }

    fn add(&mut self, plan: &Plan, executions: f64, total: f64) {
        match &plan.node {
            Node::Scan(scan) => self.scan(scan, cost::of_scan(scan, plan.rows), executions, total),
            Node::Lookup { scan, .. } => self.base(scan, IndexUse::Lookup),
            _ => {}
        }
        for (number, input) in plan.inputs().into_iter().enumerate() {
            let times = match &plan.node {
                Node::Apply { left, .. } if number == 1 => left.rows.max(1.0),
                _ => 1.0,
            };
            stack::with_room(|| self.add(input, executions * times, total));
        }
    }

    fn base(&mut self, scan: &ScanPlan, kind: IndexUse) {
        let table = &scan.store.table;
        self.indexes.push((table.clone(), table.storage.index_id, kind));
    }

    fn scan(&mut self, scan: &ScanPlan, cost: f64, executions: f64, total: f64) {
        match &scan.path {
            Path::Base => self.base(scan, IndexUse::Scan),
            Path::Clustered(_) | Path::Point(_) if matches!(scan.store.base, Base::Tree(_)) => {
                self.base(scan, IndexUse::Seek);
            }
            Path::Clustered(_) | Path::Point(_) => {}
            Path::Index { index, seek, covering, .. } => {
                let kind = if seek.is_empty() { IndexUse::Scan } else { IndexUse::Seek };
                let id = scan.store.indexes[*index].def.index_id;
                self.indexes.push((scan.store.table.clone(), id, kind));
                if !covering {
                    self.base(scan, IndexUse::Lookup);
                }
            }
        }
        if let Some(wanted) = &scan.missing {
            let saved = (cost - wanted.cost).max(0.0) * executions;
            let impact = if total > 0.0 { (100.0 * saved / total).min(100.0) } else { 0.0 };
            self.missing.push(MissedIndex {
                db: scan.db.clone(),
                table: scan.store.table.clone(),
                wanted: (**wanted).clone(),
                cost: total * SECONDS,
                impact,
            });
        }
    }

    /// A change reads the rows of this scan and nothing else.
    pub fn change_scans(&mut self, scan: &ScanPlan) {
        let rows = plan::statistics::table_rows(&scan.store.table);
        let cost = cost::of_scan(scan, rows);
        self.scan(scan, cost, 1.0, cost);
    }

    /// The indexes that a change of these columns has to follow; of all columns when rows come or
    /// go.
    pub fn updates(&mut self, store: &TableStore, changed: Option<&[usize]>) {
        let table = &store.table;
        self.indexes.push((table.clone(), table.storage.index_id, IndexUse::Update));
        for index in &store.indexes {
            if changed.is_none_or(|columns| storage::write::touches(index, columns)) {
                self.indexes.push((table.clone(), index.def.index_id, IndexUse::Update));
            }
        }
    }
}

/// How often an expression that reads tables was evaluated, until that is added to the uses of its
/// tables.
#[derive(Debug, Default)]
pub(crate) struct Evaluations {
    count: AtomicU64,
    last: AtomicU64,
}

impl Evaluations {
    /// Once more, at this moment (microseconds since 1970).
    #[inline]
    pub fn add(&self, at: u64) {
        self.count.fetch_add(1, Relaxed);
        self.last.store(at, Relaxed);
    }

    /// Adds them up.
    pub fn settle(&self, needs: &Needs) {
        let count = self.count.swap(0, Relaxed);
        if count > 0 {
            PlanUses::of_expression(needs).ran(UseCount { count, last: self.last.load(Relaxed) });
        }
    }
}
