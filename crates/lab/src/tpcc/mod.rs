//! `lab run tpcc`: the transactions of TPC-C (specification 5.11) over the wire, as stored
//! procedures and statement by statement, by some numbers of connections; consistency conditions 1
//! to 4 after it, and after a SIGKILL in the middle of it. Engines take turns within one run. These
//! are no TPC results: no keying and think times, no audit, no prices.

mod consistency;
mod driver;
mod engine;
mod inputs;
mod mssql;
mod plain;
#[cfg(feature = "peers")]
mod postgres;
mod random;
mod rows;
mod tables;
mod terminal;

pub use driver::Mode;
pub use tables::Sizes;

use crate::frame::{balanced, seed_of};
use crate::results::{Results, ResultsOrigin, RoundsResult, StudyResult};
use crate::{LabError, machine, report};
use driver::{DriverOutcome, Plan};
use engine::Engine;
use inputs::Kind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use targets::Hook;
use targets::own_server::OwnServer;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct TpccOptions {
    pub warehouses: u32,
    pub sizes: Sizes,
    /// Numbers of connections, each a level.
    pub connections: Vec<u32>,
    pub modes: Vec<Mode>,
    /// Rounds; fewer than 6 have no intervals.
    pub runs: usize,
    /// Seconds of each run that count, and before them.
    pub seconds: f64,
    pub ramp: f64,
    /// Engines: `ringwood` (a server of the lab's own), `postgres`, `postgres-shipped` (with the
    /// checkpoints of its defaults), the address of a server; empty = ringwood.
    pub targets: Vec<String>,
    /// The command that ends and starts that server.
    pub restart_with: Option<String>,
    /// Bytes of the buffer pools of the lab's own servers.
    pub memory: u64,
    /// The ringwood command.
    pub program: PathBuf,
    pub seed: u64,
    pub commit: String,
    pub command: String,
}

fn find(name: &str, options: &TpccOptions, scratch: &Path) -> Result<Box<dyn Engine>, LabError> {
    if targets::is_address(name) {
        return Ok(Box::new(mssql::Mssql::given(name, options.restart_with.clone().map(Hook))?));
    }
    match name {
        "ringwood" => {
            let folder = scratch.join("ringwood");
            Ok(Box::new(mssql::Mssql::own(OwnServer::new(
                options.program.clone(),
                folder,
                Some(options.memory),
            ))))
        }
        #[cfg(feature = "peers")]
        "postgres" | "postgres-shipped" => {
            use targets::own_postgres::OwnPostgres;
            let most = options.connections.iter().max().copied().unwrap_or(1);
            let server = OwnPostgres::new(scratch.join(name), options.memory, most);
            let server = if name == "postgres" { server } else { server.with_shipped_settings() };
            Ok(Box::new(postgres::Postgres(server)))
        }
        #[cfg(not(feature = "peers"))]
        "postgres" | "postgres-shipped" => Err(targets::without_peers()),
        _ => Err(LabError::Request(format!(
            "tpcc runs on ringwood, postgres, postgres-shipped or mssql://..., not on {name}"
        ))),
    }
}

/// Runs it; progress goes to `say`. Results are in `out` after each round.
/// Errors: an engine fails, or a consistency condition does not hold.
pub fn run(
    options: &TpccOptions,
    out: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<Results, LabError> {
    if options.warehouses == 0 || options.connections.contains(&0) || options.modes.is_empty() {
        return Err(LabError::Request("tpcc needs a warehouse, connections and a mode".into()));
    }
    std::fs::create_dir_all(out)?;
    let scratch = out.join("scratch-tpcc");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch)?;
    let scratch = scratch.canonicalize()?;
    let names = if options.targets.is_empty() {
        vec!["ringwood".to_owned()]
    } else {
        options.targets.clone()
    };
    let mut engines = Vec::new();
    for name in &names {
        engines.push(find(name, options, &scratch)?);
    }
    let origin = ResultsOrigin {
        begun: machine::utc_now(),
        commit: options.commit.clone(),
        command: options.command.clone(),
        seed: Some(options.seed),
        ..ResultsOrigin::default()
    };
    let mut results = Results {
        ringwood: env!("CARGO_PKG_VERSION").into(),
        origin,
        machine: machine::Machine::probe(out),
        studies: vec![empty(options)],
    };
    let ran = AllRounds { options, out }.all(&mut engines, &mut results, say);
    drop(engines);
    // The servers have ended, and their folders with them.
    if let Err(why) = std::fs::remove_dir_all(&scratch) {
        say(&format!("{} is left behind: {why}", scratch.display()));
    }
    ran.map(|()| results)
}

fn empty(options: &TpccOptions) -> StudyResult {
    StudyResult {
        study: "tpcc".into(),
        scale: format!("{} warehouses", options.warehouses),
        target: "all".into(),
        device: targets::device::REAL.into(),
        question:
            "How many transactions of TPC-C run over the wire, as procedures and statement by statement?"
                .into(),
        source: "TPC-C standard specification 5.11 (no TPC result: no keying and think times, no audit)"
            .into(),
        setup: vec![format!(
            "{} warehouses ({} items, {} customers a district), terminals' home warehouses in turn; no keying and think times; mix of 10 new orders, \
             10 payments and one of each other in 23; READ COMMITTED, durable commits; {} s before and {} s of each run that count; {} rounds, in \
             each the engines one after the other in an order that is balanced over the rounds, all others stopped; the tables grow from run to run",
            options.warehouses,
            options.sizes.items,
            options.sizes.customers,
            options.ramp,
            options.seconds,
            options.runs
        )],
        rounds: Some(RoundsResult {
            looks: vec![options.runs],
            done: 0,
            confidence: stats::CONFIDENCE,
            fresh_every: 1,
        }),
        ..StudyResult::default()
    }
}

/// The factor of a mode and number of connections; engines are its levels.
fn factor(mode: Mode, connections: u32) -> String {
    let s = if connections == 1 { "" } else { "s" };
    format!("{}, {connections} connection{s}", mode.name())
}

/// Puts a run's figures into its cells.
fn record(
    study: &mut StudyResult,
    round: usize,
    factor: &str,
    title: &str,
    outcome: &mut DriverOutcome,
) {
    let mut put = |measure: &str, unit: &str, value: f64| {
        study.record_in(round, factor, title, measure, unit, value)
    };
    put("new orders a minute (tpmC)", "/min", outcome.new_orders_per_minute());
    let all: usize = outcome.us.iter().map(Vec::len).sum();
    put("transactions", "/s", all as f64 / outcome.seconds);
    for kind in Kind::ALL {
        for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            if let Some(value) = stats::percentile(&mut outcome.us[kind as usize], share) {
                put(&format!("{}, {name}", kind.name()), "us", value);
            }
        }
    }
    put("taken back and run again", "transactions", outcome.retries as f64);
    put("rolled back as asked", "transactions", outcome.rolled_back as f64);
}

/// All rounds of all engines.
struct AllRounds<'a> {
    options: &'a TpccOptions,
    out: &'a Path,
}

impl AllRounds<'_> {
    fn plan(&self, mode: Mode, seed: u64) -> Plan {
        let options = self.options;
        Plan {
            mode,
            warehouses: options.warehouses as i32,
            sizes: options.sizes,
            ramp: Duration::from_secs_f64(options.ramp),
            measured: Duration::from_secs_f64(options.seconds),
            seed,
        }
    }

    fn all(
        &self,
        engines: &mut [Box<dyn Engine>],
        results: &mut Results,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let options = self.options;
        for engine in engines.iter_mut() {
            engine.start()?;
            engine.load(options.warehouses as i32, options.sizes, say)?;
            consistency::check(engine.connect()?.as_mut())?;
            results.studies[0].setup.extend(engine.said()?);
            engine.stop()?;
        }
        let mut random = fastrand::Rng::with_seed(options.seed);
        for round in 0..options.runs {
            for index in balanced(options.seed, engines.len(), round) {
                self.turn(
                    engines[index].as_mut(),
                    round,
                    &mut random,
                    &mut results.studies[0],
                    say,
                )?;
            }
            self.write(results, engines, round + 1)?;
        }
        for engine in engines.iter_mut() {
            self.kill(engine.as_mut(), &mut results.studies[0], say)?;
        }
        self.write(results, engines, options.runs)
    }

    /// Each mode and number of connections once on one engine, and the conditions after it.
    fn turn(
        &self,
        engine: &mut dyn Engine,
        round: usize,
        random: &mut fastrand::Rng,
        study: &mut StudyResult,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let options = self.options;
        let levels: Vec<(Mode, u32)> = options
            .modes
            .iter()
            .flat_map(|m| options.connections.iter().map(|c| (*m, *c)))
            .collect();
        engine.start()?;
        for level in balanced(seed_of(options.seed, engine.title()), levels.len(), round) {
            let (mode, connections) = levels[level];
            let factor = factor(mode, connections);
            say(&format!("round {} of {}: {}, {factor}", round + 1, options.runs, engine.title()));
            engine.checkpoint()?;
            let terminals =
                (0..connections).map(|_| engine.connect()).collect::<Result<Vec<_>, _>>()?;
            let mut outcome = driver::run(terminals, &self.plan(mode, random.u64(..)), || Ok(()))?;
            if let Some(why) = outcome.failed.first() {
                return Err(LabError::Request(format!("{}, {factor}: {why}", engine.title())));
            }
            record(study, round, &factor, engine.title(), &mut outcome);
        }
        consistency::check(engine.connect()?.as_mut()).map_err(|e| {
            LabError::Request(format!("{} after round {}: {e}", engine.title(), round + 1))
        })?;
        engine.stop()
    }

    /// Kills the engine in the middle of a run of most connections. Afterwards the conditions hold,
    /// and no order is missing that was acknowledged.
    fn kill(
        &self,
        engine: &mut dyn Engine,
        study: &mut StudyResult,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        let options = self.options;
        let title = engine.title();
        let connections = options.connections.iter().max().copied().unwrap_or(1);
        for mode in &options.modes {
            say(&format!("{title}: SIGKILL in a run of {}", factor(*mode, connections)));
            engine.start()?;
            let before = consistency::orders(engine.connect()?.as_mut())?;
            let terminals =
                (0..connections).map(|_| engine.connect()).collect::<Result<Vec<_>, _>>()?;
            let half = Duration::from_secs_f64((options.ramp + options.seconds) / 2.0);
            let killed = driver::run(terminals, &self.plan(*mode, options.seed), || {
                std::thread::sleep(half);
                engine.kill()
            });
            let outcome = match killed {
                Ok(outcome) => outcome,
                Err(LabError::Unsupported(why)) => {
                    study.missing.push(format!("{title}, consistency after a SIGKILL: {why}"));
                    return engine.stop();
                }
                Err(other) => return Err(other),
            };
            if outcome.failed.is_empty() {
                return Err(LabError::Request(format!(
                    "{title}: no terminal has seen that the server was killed"
                )));
            }
            engine.restart()?;
            let mut terminal = engine.connect()?;
            consistency::check(terminal.as_mut())
                .map_err(|e| LabError::Request(format!("{title} after a SIGKILL: {e}")))?;
            let entered = consistency::orders(terminal.as_mut())? - before;
            // One more of each terminal may be there that nobody was told of.
            let most = outcome.acknowledged + i64::from(connections);
            if !(outcome.acknowledged..=most).contains(&entered) {
                return Err(LabError::Request(format!(
                    "{title} after a SIGKILL: {} orders were acknowledged, {entered} are there",
                    outcome.acknowledged
                )));
            }
            drop(terminal);
            engine.stop()?;
            study.setup.push(format!(
                "{title}, SIGKILL in a run of {}: conditions 1 to 4 hold after it, and all {} orders are there that were acknowledged",
                factor(*mode, connections),
                outcome.acknowledged
            ));
        }
        Ok(())
    }

    /// Writes what there is after a round.
    fn write(
        &self,
        results: &mut Results,
        engines: &[Box<dyn Engine>],
        round: usize,
    ) -> Result<(), LabError> {
        let study = &mut results.studies[0];
        if let Some(rounds) = &mut study.rounds {
            rounds.done = round;
        }
        let baseline = engines.first().map_or("", |e| e.title());
        let factors: Vec<String> = study.cells.iter().map(|c| c.factor.clone()).collect();
        study.finish(&|factor| {
            factors.iter().find(|f| *f == factor).map(|f| (f.as_str(), baseline))
        });
        study.meaning = meaning(study, baseline);
        report::write_all(results, self.out)
    }
}

/// New orders a minute of each level, against the first engine where there are more.
fn meaning(study: &StudyResult, baseline: &str) -> String {
    let rates = study.cells.iter().filter(|c| c.unit == "/min");
    let parts: Vec<String> = rates
        .map(|c| match c.ratio_to_baseline {
            Some(ratio) if c.level != baseline => {
                format!("{} {} {:.0} ({ratio:.2} of {baseline}'s)", c.factor, c.level, c.median)
            }
            _ => format!("{} {} {:.0}", c.factor, c.level, c.median),
        })
        .collect();
    format!(
        "New orders a minute: {}. Consistency conditions 1 to 4 hold after each turn.",
        parts.join("; ")
    )
}
