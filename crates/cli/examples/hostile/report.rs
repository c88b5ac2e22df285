//! What came of the run: counts by family and error, the slowest attention and point query, and
//! each bound that was broken with the statement that broke it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::statements::Statement;

/// A statement ends within this time of its attention, a point query of another login within the
/// same.
pub const BOUND: Duration = Duration::from_secs(1);
/// Broken bounds that are told in full.
const TOLD: usize = 50;
/// Characters of a statement that are told.
const SHOWN: usize = 300;

/// What came of one statement.
#[derive(Default)]
pub struct AttackOutcome {
    pub rows: u64,
    /// The first error.
    pub error: Option<i32>,
    pub took: Duration,
    /// From the attention to the end of the answer, if one was sent.
    pub attention: Option<Duration>,
    /// Why the connection is of no more use.
    pub lost: Option<String>,
}

#[derive(Default)]
struct FamilyCounts {
    statements: u64,
    cancelled: u64,
    lost: u64,
    errors: BTreeMap<i32, u64>,
    slowest_attention: Duration,
    /// The statement that it was sent for.
    slowest: String,
}

#[derive(Default)]
struct ReportState {
    families: BTreeMap<&'static str, FamilyCounts>,
    refused: BTreeMap<String, u64>,
    slowest_login: Duration,
    points: u64,
    slowest_point: Duration,
    peak_memory: u64,
    broken: u64,
    told: Vec<Value>,
}

/// The report of a run.
pub struct Report {
    begun: Instant,
    state: Mutex<ReportState>,
}

impl Report {
    /// An empty one.
    pub fn new() -> Report {
        Report { begun: Instant::now(), state: Mutex::default() }
    }

    /// A statement of an attacker has ended.
    pub fn add(&self, statement: &Statement, outcome: AttackOutcome) {
        let mut state = self.state.lock();
        let family = state.families.entry(statement.family).or_default();
        family.statements += 1;
        if let Some(number) = outcome.error {
            *family.errors.entry(number).or_default() += 1;
        }
        family.lost += u64::from(outcome.lost.is_some());
        let Some(attention) = outcome.attention else { return };
        family.cancelled += 1;
        if attention > family.slowest_attention {
            family.slowest_attention = attention;
            family.slowest.clone_from(&statement.name);
        }
        if attention > BOUND {
            let text: String = statement.text.chars().take(SHOWN).collect();
            self.broken(
                &mut state,
                json!({
                    "bound": "a statement ends within 1 s of its attention",
                    "seconds": attention.as_secs_f64(),
                    "statement": statement.name,
                    "ran": outcome.took.as_secs_f64(),
                    "text": text,
                    "lost": outcome.lost,
                }),
            );
        }
    }

    /// An attacker was not let in.
    pub fn refused(&self, error: &str, after: Duration) {
        let mut state = self.state.lock();
        *state.refused.entry(error.into()).or_default() += 1;
        state.slowest_login = state.slowest_login.max(after);
    }

    /// A point query of the other login has ended.
    pub fn point(&self, took: Duration, error: Option<String>, beside: &dyn Fn() -> Vec<String>) {
        let mut state = self.state.lock();
        state.points += 1;
        state.slowest_point = state.slowest_point.max(took);
        if took > BOUND || error.is_some() {
            self.broken(
                &mut state,
                json!({
                    "bound": "a point query of another login ends within 1 s",
                    "seconds": took.as_secs_f64(),
                    "error": error,
                    "beside": beside(),
                }),
            );
        }
    }

    /// The resident memory, in bytes; true when it is a new maximum over `bound`, in steps of 64
    /// MB.
    pub fn memory(&self, now: u64, bound: u64, beside: &dyn Fn() -> Vec<String>) {
        let mut state = self.state.lock();
        let before = state.peak_memory;
        state.peak_memory = before.max(now);
        if now > bound && (before <= bound || now >> 26 > before >> 26) {
            self.broken(
                &mut state,
                json!({
                    "bound": "resident memory",
                    "bytes": now,
                    "beside": beside(),
                }),
            );
        }
    }

    /// The server has ended.
    pub fn ended(&self, status: &str, beside: Vec<String>) {
        let mut state = self.state.lock();
        self.broken(
            &mut state,
            json!({"bound": "the process never ends", "status": status, "beside": beside}),
        );
    }

    fn broken(&self, state: &mut ReportState, mut what: Value) {
        state.broken += 1;
        what["at"] = json!(self.begun.elapsed().as_secs_f64());
        eprintln!("broken: {what}");
        if state.told.len() < TOLD {
            state.told.push(what);
        }
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let state = self.state.lock();
        let statements: u64 = state.families.values().map(|family| family.statements).sum();
        let attention = state
            .families
            .values()
            .map(|family| family.slowest_attention)
            .max()
            .unwrap_or_default();
        format!(
            "{:.0} s: {statements} statements, slowest attention {:.3} s, {} point queries, slowest {:.3} s, \
             memory at most {} MB, {} bounds broken",
            self.begun.elapsed().as_secs_f64(),
            attention.as_secs_f64(),
            state.points,
            state.slowest_point.as_secs_f64(),
            state.peak_memory >> 20,
            state.broken
        )
    }

    /// Everything, and whether all bounds have held.
    pub fn json(&self) -> (Value, bool) {
        let state = self.state.lock();
        let families: BTreeMap<_, _> =
            state.families.iter().map(|(name, family)| (name, family.json())).collect();
        let value = json!({
            "seconds": self.begun.elapsed().as_secs_f64(),
            "families": families,
            "refused_logins": state.refused,
            "slowest_refusal_seconds": state.slowest_login.as_secs_f64(),
            "point_queries": state.points,
            "slowest_point_query_seconds": state.slowest_point.as_secs_f64(),
            "peak_resident_bytes": state.peak_memory,
            "bounds_broken": state.broken,
            "broken": state.told,
        });
        (value, state.broken == 0)
    }
}

impl FamilyCounts {
    fn json(&self) -> Value {
        json!({
            "statements": self.statements,
            "attentions": self.cancelled,
            "slowest_attention_seconds": self.slowest_attention.as_secs_f64(),
            "slowest_attention": self.slowest,
            "connections_lost": self.lost,
            "errors": self.errors,
        })
    }
}
