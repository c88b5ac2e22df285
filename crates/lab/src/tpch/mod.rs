//! `lab tpch`: the 22 queries of TPC-H on Ringwood and, with the feature `peers`, on PostgreSQL, in
//! turns and on one thread each. Rows come from a generator; tables have primary keys only. Each
//! query's rows are compared between the engines, and at scale factor 1 with the published answers.
//!
//! These are no TPC results: no refreshes, no streams, no audit.

#[cfg(feature = "peers")]
mod postgres;
mod ringwood;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::LabError;

/// What to run.
#[derive(Clone, Debug)]
pub struct TpchOptions {
    /// Scale factor: 1 is about 1 GB of rows.
    pub scale: f64,
    /// Rounds: every engine runs every query once a round.
    pub runs: usize,
    /// Numbers of queries; empty for all 22.
    pub queries: Vec<usize>,
    /// PostgreSQL beside Ringwood.
    pub postgres: bool,
    /// Seconds after which a query is stopped.
    pub limit: u64,
    /// Bytes of the buffer pools.
    pub memory: u64,
    /// Folder of the databases and the results. Databases that are there are used again.
    pub folder: PathBuf,
}

/// A query's rows as text, and how long it took; `None` when it was stopped at the limit.
#[derive(Clone, Debug)]
struct QueryRun {
    seconds: f64,
    rows: Option<Vec<Vec<String>>>,
}

/// An engine with the tables loaded.
trait Engine {
    /// Name in text.
    fn name(&self) -> &'static str;
    /// Runs a query that is written for T-SQL.
    fn run(&mut self, query: &str, limit: Duration) -> Result<QueryRun, LabError>;
}

/// One query on one engine.
#[derive(Clone, Debug, Serialize)]
pub struct QueryTimes {
    /// 1 to 22.
    pub query: usize,
    pub engine: String,
    /// Seconds of each round, in order; a time at the limit is a lower bound.
    pub seconds: Vec<f64>,
    pub stopped: bool,
    pub rows: usize,
}

impl QueryTimes {
    /// The middle of the rounds.
    #[must_use]
    pub fn median(&self) -> f64 {
        stats::median(&self.seconds).unwrap_or_default()
    }
}

/// What a run has found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TpchResults {
    pub scale: f64,
    pub times: Vec<QueryTimes>,
    /// Rows that differ between engines or from the published answers.
    pub wrong: Vec<String>,
}

/// Runs the queries; `say` gets a line of progress at a time.
///
/// # Errors
/// A scale factor or a query that there is not; what an engine says.
pub fn run(options: &TpchOptions, say: &mut dyn FnMut(&str)) -> Result<TpchResults, LabError> {
    if !(0.01..=300.0).contains(&options.scale) {
        return Err(LabError::Request(
            "the scale factor is between 0.01 (below it partsupp has duplicate keys) and 300"
                .into(),
        ));
    }
    let queries: Vec<usize> =
        if options.queries.is_empty() { (1..=22).collect() } else { options.queries.clone() };
    if let Some(unknown) = queries.iter().find(|n| !(1..=22).contains(*n)) {
        return Err(LabError::Request(format!("there is no query {unknown}: choose from 1 to 22")));
    }
    std::fs::create_dir_all(&options.folder)?;
    // A server runs in a folder of its own.
    let options = &TpchOptions { folder: options.folder.canonicalize()?, ..options.clone() };
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(ringwood::open(options, say)?)];
    if options.postgres {
        #[cfg(feature = "peers")]
        engines.push(Box::new(postgres::open(options, say)?));
        #[cfg(not(feature = "peers"))]
        return Err(targets::without_peers());
    }
    let mut results = TpchResults { scale: options.scale, ..TpchResults::default() };
    for round in 0..options.runs.max(1) {
        for &query in &queries {
            one(options, query, round, &mut engines, &mut results, say)?;
        }
    }
    let file = std::fs::File::create(options.folder.join("results.json"))?;
    serde_json::to_writer_pretty(file, &results)?;
    Ok(results)
}

/// One query on each engine in turn.
fn one(
    options: &TpchOptions,
    query: usize,
    round: usize,
    engines: &mut [Box<dyn Engine>],
    results: &mut TpchResults,
    say: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    let text = tpch::query(query, options.scale);
    let limit = Duration::from_secs(options.limit);
    let mut line = format!("round {}, Q{query}:", round + 1);
    let mut all: Vec<(&'static str, Vec<Vec<String>>)> = Vec::new();
    for engine in engines {
        let ran = engine.run(&text, limit)?;
        line += &format!("  {} {:.3} s", engine.name(), ran.seconds);
        note(results, query, engine.name(), &ran);
        if let Some(rows) = ran.rows {
            all.push((engine.name(), rows));
        }
    }
    say(&line);
    if round == 0 {
        compare(options.scale, query, &all, &mut results.wrong);
    }
    Ok(())
}

fn note(results: &mut TpchResults, query: usize, engine: &str, ran: &QueryRun) {
    let at = results.times.iter().position(|t| t.query == query && t.engine == engine);
    let at = at.unwrap_or_else(|| {
        results.times.push(QueryTimes {
            query,
            engine: engine.into(),
            seconds: Vec::new(),
            stopped: false,
            rows: 0,
        });
        results.times.len() - 1
    });
    let times = &mut results.times[at];
    times.seconds.push(ran.seconds);
    times.stopped |= ran.rows.is_none();
    times.rows = ran.rows.as_ref().map_or(times.rows, Vec::len);
}

fn compare(
    scale: f64,
    query: usize,
    all: &[(&'static str, Vec<Vec<String>>)],
    wrong: &mut Vec<String>,
) {
    if (scale - 1.0).abs() < 1e-9 {
        for (engine, rows) in all {
            if let Err(e) = tpch::check(query, rows) {
                wrong.push(format!("{engine}, {e}"));
            }
        }
    }
    if let [(a, first), (b, second)] = all
        && let Err(what) = tpch::same_rows(first, second)
    {
        wrong.push(format!("Q{query}: {a} and {b} differ: {what}"));
    }
}

/// The table of a run as text: medians, and the ratio where there are two engines.
#[must_use]
pub fn table(results: &TpchResults) -> String {
    let mut out = format!("TPC-H, scale factor {}: medians in seconds\n", results.scale);
    let mut engines: Vec<&str> = Vec::new();
    for times in &results.times {
        if !engines.contains(&times.engine.as_str()) {
            engines.push(&times.engine);
        }
    }
    out += &format!("{:>5}", "query");
    engines.iter().for_each(|engine| out += &format!("{engine:>12}"));
    out += if engines.len() == 2 { "   ratio  rows\n" } else { "  rows\n" };
    let mut sums = vec![0.0; engines.len()];
    let mut queries: Vec<usize> = results.times.iter().map(|t| t.query).collect();
    queries.sort_unstable();
    queries.dedup();
    for query in queries {
        let of =
            |engine: &str| results.times.iter().find(|t| t.query == query && t.engine == engine);
        out += &format!("{:>5}", format!("Q{query}"));
        let mut medians = Vec::new();
        for (sum, engine) in sums.iter_mut().zip(&engines) {
            let Some(times) = of(engine) else { continue };
            *sum += times.median();
            medians.push(times.median());
            let more = if times.stopped { ">" } else { "" };
            out += &format!("{:>12}", format!("{more}{:.3}", times.median()));
        }
        if let [own, other] = medians[..] {
            out += &format!("{:>8.2}", own / other);
        }
        out += &format!("{:>6}\n", of(engines[0]).map_or(0, |t| t.rows));
    }
    out += &format!("{:>5}", "all");
    sums.iter().for_each(|sum| out += &format!("{sum:>12.3}"));
    if let [own, other] = sums[..] {
        out += &format!("{:>8.2}", own / other);
    }
    out.push('\n');
    results.wrong.iter().for_each(|wrong| out += &format!("WRONG {wrong}\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_on_ringwood() {
        let folder = tempfile::tempdir().unwrap();
        let options = TpchOptions {
            scale: 0.01,
            runs: 2,
            queries: vec![1, 6, 14],
            postgres: false,
            limit: 60,
            memory: 64 << 20,
            folder: folder.path().to_path_buf(),
        };
        let mut lines = 0;
        let results = run(&options, &mut |_| lines += 1).unwrap();
        assert_eq!(results.times.len(), 3);
        assert!(
            results.wrong.is_empty()
                && results.times.iter().all(|t| t.seconds.len() == 2 && !t.stopped)
        );
        assert_eq!(results.times[0].rows, 4);
        assert!(lines >= 6 + 8 && table(&results).contains("Q14"));
        // The databases are used again.
        assert_eq!(run(&options, &mut |_| ()).unwrap().times[1].rows, 1);
        assert!(run(&TpchOptions { queries: vec![23], ..options }, &mut |_| ()).is_err());
    }
}
