//! The Query Store of a database: the texts of its queries, their plans, and what executions of
//! each plan took, interval by interval of time. It is told of executions by whoever counts them;
//! it counts nothing itself. Guarantees: it is bounded in bytes (MAX_STORAGE_SIZE_MB) and in plans
//! for each query; what it leaves out for want of room it says by becoming read-only, unless
//! SIZE_BASED_CLEANUP_MODE lets it forget what is oldest.

mod options;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use crate::usage::UseCount;
pub use options::{CaptureMode, QueryStoreOptions, StoreState};

/// Microseconds.
const MINUTE: u64 = 60_000_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// What a query, a plan and the figures of an interval take besides their texts.
const QUERY_BYTES: u64 = 512;
const PLAN_BYTES: u64 = 256;
const RUNTIME_BYTES: u64 = 256;
/// Why it is read-only: MAX_STORAGE_SIZE_MB is reached.
pub const FULL: i32 = 65_536;

/// What some executions took of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    pub total: f64,
    /// Sum of the squares.
    pub squares: f64,
    pub last: u64,
    pub least: u64,
    pub greatest: u64,
}

impl Sample {
    fn add(&mut self, more: Sample, first: bool) {
        self.total += more.total;
        self.squares += more.squares;
        self.last = more.last;
        self.least = if first { more.least } else { self.least.min(more.least) };
        self.greatest = self.greatest.max(more.greatest);
    }
}

/// Executions of a plan. Times in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executions {
    pub times: UseCount,
    pub duration: Sample,
    pub processor: Sample,
    pub rows: Sample,
}

/// What tells one query from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryKey {
    pub text: Arc<str>,
    /// The module that it is in; 0 for a text.
    pub object_id: i32,
    /// 0 none, 1 by the user, 2 simple.
    pub parameterized: u8,
}

/// A query of which executions are told.
pub struct QueryReport<'t> {
    pub key: QueryKey,
    pub hash: [u8; 8],
    /// sql_handle of its batch, and its place there.
    pub batch: Vec<u8>,
    pub offsets: (i32, i32),
    /// When its batch was compiled.
    pub compiled: u64,
    pub plan_hash: [u8; 8],
    /// The plan as SHOWPLAN_XML; asked for where it is new.
    pub plan: &'t dyn Fn() -> String,
    pub trivial: bool,
    pub level: u8,
}

/// A query.
#[derive(Clone, Debug)]
pub struct StoredQuery {
    pub text: i64,
    pub key: QueryKey,
    pub hash: [u8; 8],
    pub batch: Vec<u8>,
    pub offsets: (i32, i32),
    pub first_compile: u64,
    pub last_compile: u64,
    pub last_execution: u64,
    pub compiles: u64,
    /// It has not run often or long enough yet to be shown: executions and milliseconds since then.
    pub waiting: Option<(u64, f64, u64)>,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct StoredPlan {
    pub query: i64,
    pub hash: [u8; 8],
    pub document: Arc<str>,
    pub trivial: bool,
    pub level: u8,
    pub first_compile: u64,
    pub last_compile: u64,
    pub last_execution: u64,
    pub compiles: u64,
}

/// What executions of a plan took in an interval.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    pub id: i64,
    pub first: u64,
    pub executions: Executions,
}

/// Everything that is kept.
#[derive(Debug, Default)]
pub struct StoredQueries {
    pub texts: BTreeMap<i64, Arc<str>>,
    pub queries: BTreeMap<i64, StoredQuery>,
    pub plans: BTreeMap<i64, StoredPlan>,
    /// By interval and plan.
    pub runtime: BTreeMap<(i64, i64), Runtime>,
    /// Beginning and end, by number.
    pub intervals: BTreeMap<i64, (u64, u64)>,
    /// Why nothing is noted although it should be; 0 for nothing.
    pub readonly_reason: i32,
    text_of: HashMap<Arc<str>, i64>,
    query_of: HashMap<QueryKey, i64>,
    plan_of: HashMap<(i64, [u8; 8]), i64>,
    bytes: u64,
    /// Numbers that were given: of texts, queries, plans, runtime, intervals.
    given: [i64; 5],
}

/// Of a database.
#[derive(Debug, Default)]
pub struct QueryStore {
    /// A [`StoreState`], so that a session without anything to report does not ask for the
    /// settings.
    state: AtomicU8,
    kept: Mutex<StoredQueries>,
    /// Bytes of what was kept when somebody asked last.
    bytes: AtomicU64,
}

impl QueryStore {
    /// The options are these from now on.
    pub fn set_state(&self, state: StoreState) {
        self.state.store(state as u8, Relaxed);
        if state == StoreState::ReadWrite {
            self.kept.lock().readonly_reason = 0;
        }
    }

    /// Whether executions are to be told.
    #[inline]
    pub fn notes(&self) -> bool {
        self.state.load(Relaxed) == StoreState::ReadWrite as u8
    }

    /// What is kept, while nobody else looks at it.
    pub fn kept(&self) -> MutexGuard<'_, StoredQueries> {
        self.kept.lock()
    }

    /// Memory of what is kept. Never waits: whoever has it may be the one that asks.
    pub fn memory(&self) -> usize {
        if let Some(kept) = self.kept.try_lock() {
            self.bytes.store(kept.bytes, Relaxed);
        }
        usize::try_from(self.bytes.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.kept.lock() = StoredQueries::default();
    }

    /// Executions that have come to their end by now.
    pub fn add(
        &self,
        options: &QueryStoreOptions,
        told: QueryReport<'_>,
        executions: &Executions,
        now: u64,
    ) {
        self.kept.lock().add(options, told, executions, now);
    }

    /// Forgets what has not run for STALE_QUERY_THRESHOLD_DAYS.
    pub fn forget_stale(&self, options: &QueryStoreOptions, now: u64) {
        if options.stale_days == 0 {
            return;
        }
        let limit = now.saturating_sub(options.stale_days as u64 * DAY);
        let mut kept = self.kept.lock();
        let stale =
            |(id, query): (&i64, &StoredQuery)| (query.last_execution < limit).then_some(*id);
        let stale: Vec<i64> = kept.queries.iter().filter_map(stale).collect();
        for id in stale {
            kept.remove_query(id);
        }
        kept.forget_intervals(limit);
    }
}

impl StoredQueries {
    /// Whether a query is shown: one that is waiting is not.
    pub fn is_shown(&self, query: i64) -> bool {
        self.queries.get(&query).is_some_and(|query| query.waiting.is_none())
    }

    /// Bytes of all of it, about.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn number(&mut self, of: usize) -> i64 {
        self.given[of] += 1;
        self.given[of]
    }

    fn add(
        &mut self,
        options: &QueryStoreOptions,
        told: QueryReport<'_>,
        executions: &Executions,
        now: u64,
    ) {
        if !self.has_room(options) {
            self.readonly_reason = FULL;
            return;
        }
        self.readonly_reason = 0;
        let Some(query) = self.query(options, &told, executions, now) else { return };
        let Some(plan) = self.plan(options, query, &told, executions) else { return };
        let interval = self.interval(options, now);
        let id = match self.runtime.get(&(interval, plan)) {
            Some(known) => known.id,
            None => {
                self.bytes += RUNTIME_BYTES;
                self.number(3)
            }
        };
        let began = executions.times.last;
        let empty = Runtime { id, first: began, executions: Executions::default() };
        let runtime = self.runtime.entry((interval, plan)).or_insert(empty);
        let first = runtime.executions.times.count == 0;
        let sum = &mut runtime.executions;
        sum.times.count += executions.times.count;
        sum.times.last = sum.times.last.max(began);
        sum.duration.add(executions.duration, first);
        sum.processor.add(executions.processor, first);
        sum.rows.add(executions.rows, first);
    }

    /// Whether more may be noted: with cleanup the queries go that ran longest ago, until a fifth
    /// is free.
    fn has_room(&mut self, options: &QueryStoreOptions) -> bool {
        let most = options.max_megabytes as u64 * 1_048_576;
        if self.bytes < most {
            return true;
        }
        if !options.cleanup {
            return false;
        }
        let mut all: Vec<(u64, i64)> =
            self.queries.iter().map(|(id, q)| (q.last_execution, *id)).collect();
        all.sort_unstable();
        for (_, id) in all {
            if self.bytes <= most / 5 * 4 {
                break;
            }
            self.remove_query(id);
        }
        self.bytes < most
    }

    fn query(
        &mut self,
        options: &QueryStoreOptions,
        told: &QueryReport<'_>,
        executions: &Executions,
        now: u64,
    ) -> Option<i64> {
        let id = match self.query_of.get(&told.key) {
            Some(known) => *known,
            None => {
                if options.capture == CaptureMode::None {
                    return None;
                }
                let text = self.text(&told.key.text);
                let (id, waits) = (self.number(1), options.capture != CaptureMode::All);
                self.bytes += QUERY_BYTES + told.batch.len() as u64;
                self.query_of.insert(told.key.clone(), id);
                self.queries.insert(
                    id,
                    StoredQuery {
                        text,
                        key: told.key.clone(),
                        hash: told.hash,
                        batch: told.batch.clone(),
                        offsets: told.offsets,
                        first_compile: told.compiled,
                        last_compile: told.compiled,
                        last_execution: 0,
                        compiles: 1,
                        waiting: waits.then_some((0, 0.0, now)),
                    },
                );
                id
            }
        };
        let query = self.queries.get_mut(&id)?;
        query.last_execution = query.last_execution.max(executions.times.last);
        if told.compiled > query.last_compile {
            (query.last_compile, query.compiles) = (told.compiled, query.compiles + 1);
            (query.batch, query.offsets) = (told.batch.clone(), told.offsets);
        }
        if let Some((count, milliseconds, since)) = &mut query.waiting {
            if now.saturating_sub(*since) > options.policy_hours as u64 * HOUR {
                (*count, *milliseconds, *since) = (0, 0.0, now);
            }
            *count += executions.times.count;
            *milliseconds += executions.processor.total / 1000.0;
            let often = *count >= options.policy_executions as u64;
            if often || *milliseconds >= options.policy_execution_ms as f64 {
                query.waiting = None;
            }
        }
        Some(id)
    }

    fn text(&mut self, text: &Arc<str>) -> i64 {
        if let Some(known) = self.text_of.get(text) {
            return *known;
        }
        let id = self.number(0);
        self.bytes += 2 * text.len() as u64;
        self.texts.insert(id, text.clone());
        self.text_of.insert(text.clone(), id);
        id
    }

    fn plan(
        &mut self,
        options: &QueryStoreOptions,
        query: i64,
        told: &QueryReport<'_>,
        executions: &Executions,
    ) -> Option<i64> {
        let key = (query, told.plan_hash);
        let id = match self.plan_of.get(&key) {
            Some(known) => *known,
            None => {
                let own = self.plans.values().filter(|plan| plan.query == query).count();
                if options.max_plans > 0 && own as i64 >= options.max_plans {
                    return None;
                }
                let document: Arc<str> = (told.plan)().into();
                let id = self.number(2);
                self.bytes += PLAN_BYTES + 2 * document.len() as u64;
                self.plan_of.insert(key, id);
                self.plans.insert(
                    id,
                    StoredPlan {
                        query,
                        hash: told.plan_hash,
                        document,
                        trivial: told.trivial,
                        level: told.level,
                        first_compile: told.compiled,
                        last_compile: told.compiled,
                        last_execution: 0,
                        compiles: 1,
                    },
                );
                id
            }
        };
        let plan = self.plans.get_mut(&id)?;
        plan.last_execution = plan.last_execution.max(executions.times.last);
        if told.compiled > plan.last_compile {
            (plan.last_compile, plan.compiles) = (told.compiled, plan.compiles + 1);
        }
        Some(id)
    }

    /// The interval of a moment.
    fn interval(&mut self, options: &QueryStoreOptions, now: u64) -> i64 {
        let length = options.interval_minutes.max(1) as u64 * MINUTE;
        let begin = now - now % length;
        let holds = |(_, (from, to)): &(&i64, &(u64, u64))| *from <= now && now < *to;
        if let Some((id, _)) = self.intervals.iter().rev().find(holds) {
            return *id;
        }
        let id = self.number(4);
        self.intervals.insert(id, (begin, begin + length));
        id
    }

    /// A query, its plans and what they took go. False: there is none.
    pub fn remove_query(&mut self, id: i64) -> bool {
        let Some(query) = self.queries.remove(&id) else { return false };
        self.query_of.remove(&query.key);
        self.bytes = self.bytes.saturating_sub(QUERY_BYTES + query.batch.len() as u64);
        let plans: Vec<i64> =
            self.plans.iter().filter(|(_, plan)| plan.query == id).map(|(id, _)| *id).collect();
        for plan in plans {
            self.remove_plan(plan);
        }
        if self.queries.values().all(|other| other.text != query.text)
            && let Some(text) = self.texts.remove(&query.text)
        {
            self.text_of.remove(&text);
            self.bytes = self.bytes.saturating_sub(2 * text.len() as u64);
        }
        true
    }

    /// A plan and what it took go. False: there is none.
    pub fn remove_plan(&mut self, id: i64) -> bool {
        let Some(plan) = self.plans.remove(&id) else { return false };
        self.plan_of.remove(&(plan.query, plan.hash));
        self.bytes = self.bytes.saturating_sub(PLAN_BYTES + 2 * plan.document.len() as u64);
        self.forget_runtime(id);
        true
    }

    /// What a plan took is forgotten.
    pub fn forget_runtime(&mut self, plan: i64) {
        let before = self.runtime.len();
        self.runtime.retain(|(_, of), _| *of != plan);
        self.bytes =
            self.bytes.saturating_sub((before - self.runtime.len()) as u64 * RUNTIME_BYTES);
    }

    fn forget_intervals(&mut self, limit: u64) {
        let old: Vec<i64> =
            self.intervals.iter().filter(|(_, (_, end))| *end < limit).map(|(id, _)| *id).collect();
        let before = self.runtime.len();
        self.runtime.retain(|(interval, _), _| !old.contains(interval));
        self.bytes =
            self.bytes.saturating_sub((before - self.runtime.len()) as u64 * RUNTIME_BYTES);
        self.intervals.retain(|id, _| !old.contains(id));
    }
}

#[cfg(test)]
mod tests;
