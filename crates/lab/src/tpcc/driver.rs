//! Terminals that run transactions at once for some seconds: how many of each kind, how long each
//! took, what was taken back and run again. A failure that is no such one ends the run, unless the
//! server is to be killed in it.

use super::inputs::{Input, Kind, Terminal as Inputs};
use super::plain;
use super::tables::Sizes;
use super::terminal::{Terminal, TxnEnd, TxnFailure};
use crate::LabError;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How terminals run transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As stored procedures.
    Procedures,
    /// Statement by statement, with parameters.
    Statements,
}

impl Mode {
    pub const ALL: [Mode; 2] = [Mode::Procedures, Mode::Statements];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Procedures => "procedures",
            Mode::Statements => "statements",
        }
    }
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub mode: Mode,
    pub warehouses: i32,
    pub sizes: Sizes,
    /// Before anything counts.
    pub ramp: Duration,
    /// What counts.
    pub measured: Duration,
    pub seed: u64,
}

/// What was run.
#[derive(Clone, Debug, Default)]
pub struct DriverOutcome {
    /// Microseconds of each transaction that ended in the measured time, by kind.
    pub us: [Vec<f64>; 5],
    /// New orders that were acknowledged, in the measured time and before it.
    pub acknowledged: i64,
    /// New orders that were taken back as they asked for, in the measured time.
    pub rolled_back: usize,
    /// Transactions that the engine took back, and that were run again.
    pub retries: usize,
    /// Measured seconds.
    pub seconds: f64,
    /// What ended a terminal.
    pub failed: Vec<String>,
}

impl DriverOutcome {
    /// New orders a minute, without those that were taken back.
    pub fn new_orders_per_minute(&self) -> f64 {
        (self.us[Kind::NewOrder as usize].len() - self.rolled_back) as f64 * 60.0 / self.seconds
    }

    fn add(&mut self, other: DriverOutcome) {
        for (all, more) in self.us.iter_mut().zip(other.us) {
            all.extend(more);
        }
        self.acknowledged += other.acknowledged;
        self.rolled_back += other.rolled_back;
        self.retries += other.retries;
        self.failed.extend(other.failed);
    }
}

/// One transaction, again and again until the engine lets it end.
fn one(
    terminal: &mut dyn Terminal,
    input: &Input,
    mode: Mode,
    out: &mut DriverOutcome,
) -> Result<TxnEnd, LabError> {
    loop {
        let ended = match mode {
            Mode::Procedures => terminal.call(input),
            Mode::Statements => plain::run(terminal, input),
        };
        match ended {
            Ok(done) => return Ok(done),
            Err(TxnFailure::Retry) => {
                out.retries += 1;
                if let Err(TxnFailure::Other(error)) = terminal.rollback() {
                    return Err(error);
                }
            }
            Err(TxnFailure::Other(error)) => return Err(error),
        }
    }
}

/// Transactions of one terminal until its time is over, or until one fails.
fn terminal_runs(
    terminal: &mut dyn Terminal,
    index: usize,
    plan: &Plan,
    begin: Instant,
    stop: &AtomicBool,
) -> DriverOutcome {
    let home = (index as i32) % plan.warehouses + 1;
    let mut inputs =
        Inputs::new(plan.seed ^ ((index as u64) << 32), plan.sizes, home, plan.warehouses);
    let mut out = DriverOutcome::default();
    let (from, to) = (begin + plan.ramp, begin + plan.ramp + plan.measured);
    let mut last = Instant::now();
    while last < to && !stop.load(Ordering::Relaxed) {
        let input = inputs.next();
        let done = match one(terminal, &input, plan.mode, &mut out) {
            Ok(done) => done,
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                out.failed.push(error.to_string());
                return out;
            }
        };
        let now = Instant::now();
        let kind = input.kind();
        if kind == Kind::NewOrder && done == TxnEnd::Committed {
            out.acknowledged += 1;
        }
        if now >= from && now <= to {
            out.us[kind as usize].push((now - last).as_secs_f64() * 1e6);
            out.rolled_back += usize::from(done == TxnEnd::RolledBack);
        }
        last = now;
    }
    out
}

/// Runs all terminals at once. `meanwhile` runs beside them, from when all are ready.
pub fn run(
    terminals: Vec<Box<dyn Terminal>>,
    plan: &Plan,
    meanwhile: impl FnOnce() -> Result<(), LabError>,
) -> Result<DriverOutcome, LabError> {
    let barrier = Barrier::new(terminals.len() + 1);
    let stop = AtomicBool::new(false);
    let mut all =
        DriverOutcome { seconds: plan.measured.as_secs_f64(), ..DriverOutcome::default() };
    std::thread::scope(|scope| {
        let (barrier, stop) = (&barrier, &stop);
        let threads: Vec<_> = terminals
            .into_iter()
            .enumerate()
            .map(|(index, mut terminal)| {
                scope.spawn(move || {
                    barrier.wait();
                    terminal_runs(terminal.as_mut(), index, plan, Instant::now(), stop)
                })
            })
            .collect();
        barrier.wait();
        let aside = meanwhile();
        for thread in threads {
            match thread.join() {
                Ok(outcome) => all.add(outcome),
                Err(_) => all.failed.push("a terminal's thread ended by a panic".into()),
            }
        }
        aside
    })?;
    Ok(all)
}
