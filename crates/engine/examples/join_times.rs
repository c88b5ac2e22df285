//! Whether the plans that are chosen for joins are about as fast as what their authors could have
//! forced: random joins over skewed, repeated and dependent keys, each as it is planned and with
//! each operator of OPTION and the written order. Tells of each query whose chosen plan takes over
//! 3 times the best forced one and more than 10 ms.
//! `./bench join-plans [--queries N --seed S --rows R --json]`

#[path = "support/instance.rs"]
mod instance;
#[path = "support/join_queries.rs"]
mod join_queries;

use std::time::Instant;

use self::instance::with_instance;
use join_queries::{FORCED, Joins, tables};
use ringwood_engine::{ColumnInfo, Session, Sink, SqlError};

/// The chosen plan may take so many times the best one.
const WORSE: f64 = 3.0;
/// Milliseconds that do not matter.
const LITTLE: f64 = 10.0;
/// Runs of each plan; the least time counts.
const RUNS: usize = 2;

/// Keeps the first error.
#[derive(Default)]
struct Quiet {
    error: Option<SqlError>,
}

impl Sink for Quiet {
    fn columns(&mut self, _: &[ColumnInfo]) -> Result<(), SqlError> {
        Ok(())
    }
    fn done(&mut self, _: ringwood_engine::StatementEnd) -> Result<(), SqlError> {
        Ok(())
    }
    fn message(&mut self, _: &SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn error(&mut self, e: &SqlError) -> Result<(), SqlError> {
        self.error.get_or_insert_with(|| e.clone());
        Ok(())
    }
}

/// What the command line says.
struct Wanted {
    queries: u64,
    seed: u64,
    rows: u32,
    json: bool,
}

impl Wanted {
    fn read() -> Result<Wanted, Box<dyn std::error::Error>> {
        let mut wanted = Wanted { queries: 200, seed: 1, rows: 2_000, json: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a number"));
            match arg.as_str() {
                "--queries" => wanted.queries = value()?.parse()?,
                "--seed" => wanted.seed = value()?.parse()?,
                "--rows" => wanted.rows = value()?.parse()?,
                "--json" => wanted.json = true,
                other => return Err(format!("unknown argument {other}").into()),
            }
        }
        Ok(wanted)
    }
}

/// Runs a batch that must not fail.
fn run(session: &mut Session, sql: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut said = Quiet::default();
    session.execute(sql, &mut said);
    match said.error {
        Some(e) => Err(format!("Msg {}: {} in {sql}", e.number, e.message).into()),
        None => Ok(()),
    }
}

/// Milliseconds of the fastest of some runs; none when the hints leave no plan.
fn timed(session: &mut Session, sql: &str) -> Result<Option<f64>, Box<dyn std::error::Error>> {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let (begin, mut said) = (Instant::now(), Quiet::default());
        session.execute(sql, &mut said);
        match said.error {
            Some(e) if e.number == 8622 => return Ok(None),
            Some(e) => return Err(format!("Msg {}: {} in {sql}", e.number, e.message).into()),
            None => best = best.min(begin.elapsed().as_secs_f64() * 1e3),
        }
    }
    Ok(Some(best))
}

/// Tells of a query whose plan is a bad one.
fn tell(wanted: &Wanted, seed: u64, sql: &str, chosen: f64, (force, best): (&str, f64)) {
    if wanted.json {
        println!(
            "{{\"seed\":{seed},\"chosen_ms\":{chosen:.2},\"best_ms\":{best:.2},\"best\":\"{force}\",\"query\":\"{sql}\"}}"
        );
    } else {
        println!("seed {seed}: {chosen:.1} ms, {best:.1} ms with {force}\n    {sql}");
    }
}

fn measure(session: &mut Session, wanted: &Wanted) -> Result<(), Box<dyn std::error::Error>> {
    run(session, "CREATE DATABASE bench")?;
    session.use_database("bench")?;
    run(session, &tables(wanted.rows))?;
    let (mut bad, mut most) = (0, 0.0f64);
    for seed in wanted.seed..wanted.seed + wanted.queries {
        let sql = Joins::new(seed).query();
        let chosen = timed(session, &sql)?.ok_or("a query without hints has no plan")?;
        let mut best: Option<(&str, f64)> = None;
        for force in FORCED {
            if let Some(time) = timed(session, &format!("{sql} OPTION ({force})"))?
                && best.is_none_or(|(_, known)| time < known)
            {
                best = Some((force, time));
            }
        }
        let Some((force, time)) = best else { continue };
        if chosen > LITTLE {
            most = most.max(chosen / time);
        }
        if chosen > LITTLE && chosen > time * WORSE {
            bad += 1;
            tell(wanted, seed, &sql, chosen, (force, time));
        }
    }
    if wanted.json {
        println!("{{\"queries\":{},\"worse\":{bad},\"most\":{most:.2}}}", wanted.queries);
    } else {
        println!(
            "{} queries, {bad} of them over {WORSE} times the best; at most {most:.2}",
            wanted.queries
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = Wanted::read()?;
    with_instance("joins", 512 << 20, |instance| measure(&mut instance.session()?, &wanted))
}
