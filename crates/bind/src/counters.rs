//! What an instance's compilations have come to: sys.dm_exec_query_optimizer_info.
//! Guarantee: only compilations touch it; a plan that is kept costs nothing here.

use parking_lot::Mutex;
use std::time::Duration;

use crate::applied::AppliedRewrites;

/// What kind of statement was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledKind {
    /// Queries, and expressions with queries in them.
    Query,
    Insert,
    Update,
    Delete,
    Merge,
}

/// One compilation that has made a plan.
#[derive(Debug)]
pub struct Compilation<'c> {
    pub kind: CompiledKind,
    pub elapsed: Duration,
    /// Of the plan, in seconds.
    pub cost: f64,
    /// The plan needed no choice: rows of the statement itself, or found by whole keys of unique
    /// indexes.
    pub trivial: bool,
    pub tables: usize,
    /// Views that it names.
    pub views: usize,
    pub subqueries: usize,
    pub hints: UsedHints,
    pub applied: &'c AppliedRewrites,
}

/// Hints that are counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsedHints {
    /// Of joins, groups and unions, in OPTION or beside JOIN.
    pub any: u64,
    /// FORCE ORDER.
    pub order: bool,
    /// Joins whose operator is prescribed.
    pub joins: u64,
    /// MAXRECURSION, when it is more than 0.
    pub recursion: Option<u32>,
}

/// How often something happened, and the sum of what it came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub occurrences: u64,
    pub sum: f64,
}

impl Tally {
    fn add(&mut self, value: f64) {
        self.occurrences += 1;
        self.sum += value;
    }

    fn add_if(&mut self, happened: bool) {
        self.occurrences += u64::from(happened);
    }
}

/// All compilations together.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Seconds.
    pub elapsed: Tally,
    pub cost: Tally,
    pub tables: Tally,
    /// Steps of the search for an order of joins.
    pub tasks: Tally,
    pub trivial: Tally,
    pub inserts: Tally,
    pub updates: Tally,
    pub deletes: Tally,
    pub merges: Tally,
    pub subqueries: Tally,
    pub views: Tally,
    pub hints: Tally,
    pub order_hints: Tally,
    pub join_hints: Tally,
    pub recursion: Tally,
    /// By the number of the rewrite: compilations in which it changed something, and the places.
    pub rewrites: Vec<Tally>,
}

/// The totals of an instance.
#[derive(Debug, Default)]
pub struct OptimizerCounters(Mutex<Totals>);

impl OptimizerCounters {
    /// Counts a compilation.
    pub fn add(&self, made: &Compilation<'_>) {
        let mut totals = self.0.lock();
        totals.elapsed.add(made.elapsed.as_secs_f64());
        totals.cost.add(made.cost);
        totals.tables.add(made.tables as f64);
        totals.tasks.add(made.applied.steps as f64);
        totals.trivial.add_if(made.trivial);
        totals.inserts.add_if(made.kind == CompiledKind::Insert);
        totals.updates.add_if(made.kind == CompiledKind::Update);
        totals.deletes.add_if(made.kind == CompiledKind::Delete);
        totals.merges.add_if(made.kind == CompiledKind::Merge);
        totals.subqueries.add_if(made.subqueries > 0);
        totals.views.occurrences += made.views as u64;
        totals.hints.occurrences += made.hints.any;
        totals.order_hints.add_if(made.hints.order);
        totals.join_hints.occurrences += made.hints.joins;
        if let Some(rounds) = made.hints.recursion {
            totals.recursion.add(f64::from(rounds));
        }
        for (rule, places) in made.applied.changes() {
            if totals.rewrites.len() <= rule {
                totals.rewrites.resize(rule + 1, Tally::default());
            }
            totals.rewrites[rule].add(places as f64);
        }
    }

    /// The totals of this moment.
    pub fn totals(&self) -> Totals {
        self.0.lock().clone()
    }
}
